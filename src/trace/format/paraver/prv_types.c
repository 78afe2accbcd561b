/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/paraver/prv_types.h"

#include "base/sorted.h"
#include "trace/classify.h"
#include "trace/format/paraver/paraver.h"

#include <stdlib.h>
#include <string.h>

/* ==== tables ================================================================================== */

struct prv_known_value {
    uint32_t type;
    uint32_t value;
    const char *label;
    uint8_t role;
};

#define ENTRIES_OF(array) (sizeof(array) / sizeof *(array))

/* ---- types ----------------------------------------------------------------------------------- */

#define REGION(number, label, paradigm, role)                                                  \
    {                                                                                          \
        number, label, LULL_PRV_REGION, 0, LULL_PARADIGM_##paradigm, LULL_ROLE_##role, 0, 0, 0 \
    }
#define REGION_WITH(number, label, paradigm, role, parallel, nests, prefixed)                    \
    {                                                                                            \
        number, label, LULL_PRV_REGION, 0, LULL_PARADIGM_##paradigm, LULL_ROLE_##role, parallel, \
            nests, prefixed                                                                      \
    }
#define PARAMETER(number, label, which)                         \
    {                                                           \
        number, label, LULL_PRV_PARAMETER, which, 0, 0, 0, 0, 0 \
    }
#define OWN(number, label, event)                                                            \
    {                                                                                        \
        LULL_PRV_OWN_EVENTS + number, label, LULL_PRV_OWN, LULL_EVENT_##event, 0, 0, 0, 0, 0 \
    }

/* Sources: the constants that Extrae writes into its .pcf files. Which OpenMP types count as "in
 * parallel" follows the published definition of the POP tools (60000001, 60000005, 60000018,
 * 60000023), and for the newer family their counterparts. */
const struct lull_prv_known_type lull_prv_known_types[] = {
    /* newer OpenMP family: 60000 .. 60019 */
    REGION_WITH(60002, "OpenMP parallel", OPENMP, PARALLEL, true, true, true),
    REGION_WITH(60003, "OpenMP worksharing", OPENMP, LOOP, false, true, true),
    REGION_WITH(60004, "OpenMP synchronization", OPENMP, BARRIER, false, true, true),
    REGION_WITH(60005, "OpenMP lock status", OPENMP, LOCK, false, false, true),
    REGION_WITH(60007, "OpenMP ordered", OPENMP, ORDERED, false, false, true),
    REGION_WITH(60008, "OpenMP taskgroup", OPENMP, TASK_WAIT, false, false, true),
    REGION_WITH(60009, "OpenMP tasking", OPENMP, TASK, false, true, true),
    REGION_WITH(60010, "OpenMP target", DEVICE, FUNCTION, false, true, true),
    REGION_WITH(60012, "OpenMP outlined function", USER, FUNCTION, true, true, false),
    /* tracing itself */
    REGION_WITH(LULL_PRV_FLUSH, "flush", MEASUREMENT, ARTIFICIAL, false, true, false),
    REGION_WITH(40000004, "I/O", IO, FILE_IO, false, true, true),
    {LULL_PRV_TRACING, "Tracing", LULL_PRV_SWITCH, 0, 0, 0, 0, 0, 0},
    /* MPI */
    REGION(LULL_PRV_MPI_P2P, "MPI point-to-point", MPI, POINT2POINT),
    REGION(LULL_PRV_MPI_COLLECTIVE, "MPI collective", MPI, COLL_OTHER),
    REGION(LULL_PRV_MPI_OTHER, "MPI other", MPI, FUNCTION),
    REGION(LULL_PRV_MPI_RMA, "MPI one-sided", MPI, RMA),
    REGION(LULL_PRV_MPI_IO, "MPI I/O", MPI, FILE_IO),
    {50000061, "MPI communicator alias", LULL_PRV_IGNORED, 0, 0, 0, 0, 0, 0},
    PARAMETER(LULL_PRV_RMA_SIZE, "MPI one-sided size", LULL_PRV_BYTES),
    PARAMETER(LULL_PRV_RMA_TARGET, "MPI one-sided target", LULL_PRV_TARGET),
    PARAMETER(LULL_PRV_SEND_SIZE, "Send size in MPI collective", LULL_PRV_SENT),
    PARAMETER(LULL_PRV_RECEIVE_SIZE, "Receive size in MPI collective", LULL_PRV_RECEIVED),
    PARAMETER(LULL_PRV_IS_ROOT, "Root in MPI collective", LULL_PRV_ROOT),
    PARAMETER(LULL_PRV_COMMUNICATOR, "Communicator in MPI collective", LULL_PRV_COMM),
    /* classic OpenMP family */
    REGION_WITH(60000001, "OpenMP parallel", OPENMP, PARALLEL, true, true, true),
    REGION_WITH(60000002, "OpenMP worksharing", OPENMP, LOOP, false, true, true),
    REGION_WITH(60000005, "OpenMP barrier", OPENMP, BARRIER, true, false, true),
    REGION_WITH(60000006, "OpenMP named critical", OPENMP, CRITICAL, false, false, true),
    REGION_WITH(60000007, "OpenMP unnamed critical", OPENMP, CRITICAL, false, false, true),
    REGION_WITH(60000009, "OpenMP lock", OPENMP, LOCK, false, false, true),
    REGION_WITH(60000011, "OpenMP work", OPENMP, SCHEDULE, false, false, true),
    REGION_WITH(60000016, "OpenMP join", OPENMP, IMPLICIT_BARRIER, false, false, true),
    REGION_WITH(60000018, "OpenMP outlined function", USER, FUNCTION, true, true, false),
    REGION_WITH(LULL_PRV_USER_FUNCTION, "User function", USER, FUNCTION, false, true, false),
    REGION_WITH(60000020, "pthread function", USER, FUNCTION, false, true, false),
    REGION_WITH(60000021, "OpenMP task creation", OPENMP, TASK_CREATE, false, false, true),
    REGION_WITH(60000022, "OpenMP taskwait", OPENMP, TASK_WAIT, false, false, true),
    REGION_WITH(60000023, "OpenMP task function", USER, FUNCTION, true, true, false),
    REGION_WITH(60000025, "OpenMP taskgroup start", OPENMP, SCHEDULE, false, false, true),
    REGION_WITH(60000026, "OpenMP taskgroup end", OPENMP, TASK_WAIT, false, false, true),
    REGION_WITH(60000029, "OpenMP taskloop", OPENMP, TASK_CREATE, false, false, true),
    REGION_WITH(60000030, "OpenMP set number of threads", OPENMP, SCHEDULE, false, false, true),
    REGION_WITH(60000031, "OpenMP get number of threads", OPENMP, SCHEDULE, false, false, true),
    REGION_WITH(60000033, "OpenMP ordered", OPENMP, ORDERED, false, false, true),
    REGION_WITH(60000034, "OpenMP target", DEVICE, FUNCTION, false, true, true),
    /* pthreads */
    REGION_WITH(61000000, "pthread call", PTHREAD, FUNCTION, false, false, false),
    /* lull's own */
    OWN(1, "Fork (threads + 1)", FORK),
    OWN(2, "Join", JOIN),
    OWN(3, "Team begin", TEAM_BEGIN),
    OWN(4, "Team end", TEAM_END),
    OWN(5, "Thread begin", THREAD_BEGIN),
    OWN(6, "Thread end", THREAD_END),
    OWN(7, "Task create (task + 1)", TASK_CREATE),
    OWN(8, "Task switch (task + 1)", TASK_SWITCH),
    OWN(9, "Task complete (task + 1)", TASK_COMPLETE),
    OWN(10, "Lock acquire (lock + 1)", LOCK_ACQUIRE),
    OWN(11, "Lock release (lock + 1)", LOCK_RELEASE),
    OWN(12, "Collective begin (operation + 1)", COLLECTIVE_BEGIN),
    OWN(13, "Collective end (operation + 1)", COLLECTIVE_END),
    OWN(14, "One-sided transfer (operation + 1)", RMA),
    OWN(15, "I/O transfer (operation + 1)", IO),
    OWN(16, "Send without receive", SEND),
    OWN(17, "Receive without send", RECV),
    OWN(18, "Submit to a device (operation + 1)", SUBMIT),
    OWN(19, "Dependent operation of a device (operation + 1)", DEPEND),
    OWN(20, "Wait for a device (operation + 1)", DEVICE_WAIT),
    OWN(21, "Operation of a device (operation + 1)", OPERATION),
    PARAMETER(LULL_PRV_OWN_ROOT, "Root of collective (rank + 1)", LULL_PRV_ROOT_RANK),
    PARAMETER(LULL_PRV_OWN_TAG, "Tag of message", LULL_PRV_TAG),
    PARAMETER(LULL_PRV_OWN_LOCATION, "Stream, or thread that submitted (number in its task)",
              LULL_PRV_LOCATION),
    PARAMETER(LULL_PRV_OWN_CALL_TYPE, "Type of the call that submitted", LULL_PRV_CALL_TYPE),
    PARAMETER(LULL_PRV_OWN_CALL_VALUE, "Call that submitted", LULL_PRV_CALL_VALUE),
    PARAMETER(LULL_PRV_OWN_OTHER, "Operation that another one depends on", LULL_PRV_OTHER),
    PARAMETER(LULL_PRV_OWN_SEQUENCE, "Number of an exchange between devices", LULL_PRV_SEQUENCE),
    PARAMETER(LULL_PRV_OWN_PEER, "Peer of an exchange between devices (rank + 1)", LULL_PRV_PEER),
    {LULL_PRV_OWN_STREAMS, "Streams of devices (by the number of the thread in this file)",
     LULL_PRV_IGNORED, 0, 0, 0, 0, 0, 0},
};

const size_t lull_prv_n_known_types = ENTRIES_OF(lull_prv_known_types);

static int compare_type(const void *key, const void *entry)
{
    uint64_t number = *(const uint64_t *)key;
    uint64_t other = ((const struct lull_prv_known_type *)entry)->number;
    return number < other ? -1 : number > other;
}

const struct lull_prv_known_type *lull_prv_known_type(uint64_t number)
{
    return bsearch(&number, lull_prv_known_types, ENTRIES_OF(lull_prv_known_types),
                   sizeof *lull_prv_known_types, compare_type);
}

/* ---- values ---------------------------------------------------------------------------------- */

#define VALUE(type, value, label, role)      \
    {                                        \
        type, value, label, LULL_ROLE_##role \
    }

/* Sorted by type and value. Extrae tells of critical sections and locks as four states of a thread:
 * waiting for the lock, inside of it (user code), giving it back, and 0, none of these. Waiting and
 * giving back are lock time. */
static const struct prv_known_value prv_known_values[] = {
    VALUE(60002, 1, "region fork and join", SCHEDULE),
    VALUE(60002, 2, "region", PARALLEL),
    VALUE(60002, 3, "loop fork and join", SCHEDULE),
    VALUE(60002, 4, "loop", PARALLEL),
    VALUE(60002, 5, "sections fork and join", SCHEDULE),
    VALUE(60002, 6, "sections", PARALLEL),
    VALUE(60002, 7, "teams fork and join", SCHEDULE),
    VALUE(60002, 8, "teams", PARALLEL),
    VALUE(60003, 9, "next chunk", SCHEDULE),
    VALUE(60003, 10, "loop", LOOP),
    VALUE(60003, 11, "static loop", LOOP),
    VALUE(60003, 12, "dynamic loop", LOOP),
    VALUE(60003, 13, "guided loop", LOOP),
    VALUE(60003, 14, "runtime loop", LOOP),
    VALUE(60003, 15, "ordered static loop", LOOP),
    VALUE(60003, 16, "ordered dynamic loop", LOOP),
    VALUE(60003, 17, "ordered guided loop", LOOP),
    VALUE(60003, 18, "ordered runtime loop", LOOP),
    VALUE(60003, 19, "static doacross", LOOP),
    VALUE(60003, 20, "dynamic doacross", LOOP),
    VALUE(60003, 21, "guided doacross", LOOP),
    VALUE(60003, 22, "runtime doacross", LOOP),
    VALUE(60003, 23, "section", SECTION),
    VALUE(60003, 24, "single", SINGLE),
    VALUE(60003, 25, "master", MASTER),
    VALUE(60004, 26, "barrier", BARRIER),
    VALUE(60004, 27, "join", IMPLICIT_BARRIER),
    VALUE(60004, 28, "join without waiting", SCHEDULE),
    VALUE(60004, 29, "atomic", ATOMIC),
    VALUE(60004, 30, "critical", CRITICAL),
    VALUE(60004, 31, "named critical", CRITICAL),
    VALUE(60004, 32, "ordered", ORDERED),
    VALUE(60004, 33, "taskgroup", CODE),
    VALUE(60004, 34, "taskwait", TASK_WAIT),
    VALUE(60004, 35, "doacross post", SCHEDULE),
    VALUE(60004, 36, "doacross wait", ORDERED),
    VALUE(60005, 37, "obtaining", LOCK),
    VALUE(60005, 38, "taken", CRITICAL_BODY),
    VALUE(60005, 39, "releasing", LOCK),
    VALUE(60007, 40, "waiting", ORDERED),
    VALUE(60007, 41, "inside", ORDERED_BODY),
    VALUE(60007, 42, "signalling", ORDERED),
    VALUE(60008, 43, "opening", SCHEDULE),
    VALUE(60008, 44, "inside", CODE),
    VALUE(60008, 45, "waiting", TASK_WAIT),
    VALUE(60009, 46, "task creation", TASK_CREATE),
    VALUE(60009, 47, "task", TASK),
    VALUE(60009, 48, "taskloop creation", TASK_CREATE),
    VALUE(60009, 49, "taskloop", TASK),
    VALUE(60000001, 1, "loop", PARALLEL),
    VALUE(60000001, 2, "sections", PARALLEL),
    VALUE(60000001, 3, "region", PARALLEL),
    VALUE(60000002, 4, "loop", LOOP),
    VALUE(60000002, 5, "sections", SECTIONS),
    VALUE(60000002, 6, "single", SINGLE),
    VALUE(60000006, 3, "lock", CRITICAL),
    VALUE(60000006, 5, "unlock", CRITICAL),
    VALUE(60000006, 6, "locked", CRITICAL_BODY),
    VALUE(60000007, 3, "lock", CRITICAL),
    VALUE(60000007, 5, "unlock", CRITICAL),
    VALUE(60000007, 6, "locked", CRITICAL_BODY),
    VALUE(60000009, 3, "lock", LOCK),
    VALUE(60000009, 5, "unlock", LOCK),
    VALUE(60000009, 6, "locked", CRITICAL_BODY),
    VALUE(60000033, 3, "waiting", ORDERED),
    VALUE(60000033, 5, "signalling", ORDERED),
    VALUE(60000033, 6, "inside", ORDERED_BODY),
};

static const size_t prv_n_known_values = ENTRIES_OF(prv_known_values);

/* ---- states ---------------------------------------------------------------------------------- */

/* What the numbers of states mean. A state is coarse (5 is a barrier as well as a lock): where a
 * region is open, it says better what a thread does. Numbers from 101 on are lull's own. */
const struct lull_prv_known_state lull_prv_known_states[] = {
    {0, LULL_IDLE, "Idle"},
    {1, LULL_USEFUL, "Running"},
    {2, LULL_OTHER, "Not created"},
    {3, LULL_MPI_P2P, "Waiting a message"},
    {4, LULL_MPI_P2P, "Blocking Send"},
    {5, LULL_OMP_SYNC, "Synchronization"},
    {6, LULL_MPI_P2P, "Test/Probe"},
    {7, LULL_OMP_SCHEDULE, "Scheduling and Fork/Join"},
    {8, LULL_MPI_P2P, "Wait/WaitAll"},
    {9, LULL_OTHER, "Blocked"},
    {10, LULL_MPI_P2P, "Immediate Send"},
    {11, LULL_MPI_P2P, "Immediate Receive"},
    {12, LULL_IO, "I/O"},
    {13, LULL_MPI_COLLECTIVE, "Group Communication"},
    {14, LULL_OTHER, "Tracing Disabled"},
    {15, LULL_MPI_OTHER, "Others"},
    {16, LULL_MPI_P2P, "Send Receive"},
    {17, LULL_DEVICE, "Memory transfer"},
    {18, LULL_OTHER, "Profiling"},
    {19, LULL_OTHER, "On-line analysis"},
    {20, LULL_MPI_ONE_SIDED, "Remote memory access"},
    {21, LULL_MPI_ONE_SIDED, "Atomic memory operation"},
    {22, LULL_MPI_ONE_SIDED, "Memory ordering operation"},
    {23, LULL_MPI_ONE_SIDED, "Distributed locking"},
    {24, LULL_OMP_SCHEDULE, "Overhead"},
    {25, LULL_MPI_ONE_SIDED, "One-sided op"},
    {26, LULL_OTHER, "Startup latency"},
    {27, LULL_OTHER, "Waiting links"},
    {28, LULL_OTHER, "Data copy"},
    {29, LULL_OTHER, "RTT"},
    {30, LULL_OTHER, "Allocating memory"},
    {31, LULL_OTHER, "Freeing memory"},
    {101, LULL_MPI_IO, "MPI I/O"},
    {102, LULL_OMP_LOCK, "Waiting for a lock"},
    {103, LULL_FLUSH, "Flushing the trace"},
    {104, LULL_OTHER, "Not accounted"},
};

const size_t lull_prv_n_known_states = ENTRIES_OF(lull_prv_known_states);

/* ---- MPI calls ------------------------------------------------------------------------------- */

const struct lull_prv_known_name lull_prv_mpi_calls[] = {
    {1, "MPI_Send"},
    {2, "MPI_Recv"},
    {3, "MPI_Isend"},
    {4, "MPI_Irecv"},
    {5, "MPI_Wait"},
    {6, "MPI_Waitall"},
    {7, "MPI_Bcast"},
    {8, "MPI_Barrier"},
    {9, "MPI_Reduce"},
    {10, "MPI_Allreduce"},
    {11, "MPI_Alltoall"},
    {12, "MPI_Alltoallv"},
    {13, "MPI_Gather"},
    {14, "MPI_Gatherv"},
    {15, "MPI_Scatter"},
    {16, "MPI_Scatterv"},
    {17, "MPI_Allgather"},
    {18, "MPI_Allgatherv"},
    {19, "MPI_Comm_rank"},
    {20, "MPI_Comm_size"},
    {21, "MPI_Comm_create"},
    {22, "MPI_Comm_dup"},
    {23, "MPI_Comm_split"},
    {25, "MPI_Comm_free"},
    {30, "MPI_Scan"},
    {31, "MPI_Init"},
    {32, "MPI_Finalize"},
    {33, "MPI_Bsend"},
    {34, "MPI_Ssend"},
    {35, "MPI_Rsend"},
    {36, "MPI_Ibsend"},
    {37, "MPI_Issend"},
    {38, "MPI_Irsend"},
    {39, "MPI_Test"},
    {41, "MPI_Sendrecv"},
    {42, "MPI_Sendrecv_replace"},
    {43, "MPI_Cart_create"},
    {59, "MPI_Waitany"},
    {60, "MPI_Waitsome"},
    {61, "MPI_Probe"},
    {62, "MPI_Iprobe"},
    {65, "MPI_Put"},
    {66, "MPI_Get"},
    {67, "MPI_Accumulate"},
    {80, "MPI_Reduce_scatter"},
    {123, "MPI_Start"},
    {124, "MPI_Startall"},
    {154, "MPI_Ireduce"},
    {155, "MPI_Iallreduce"},
    {156, "MPI_Ibarrier"},
    {157, "MPI_Ibcast"},
    {158, "MPI_Ialltoall"},
    {159, "MPI_Ialltoallv"},
    {160, "MPI_Iallgather"},
    {168, "MPI_Reduce_scatter_block"},
    {170, "MPI_Alltoallw"},
    {194, "MPI_Comm_split_type"},
};

const size_t lull_prv_n_mpi_calls = ENTRIES_OF(lull_prv_mpi_calls);

/* ---- counters -------------------------------------------------------------------------------- */

const struct lull_prv_known_name lull_prv_known_counters[] = {
    {42000000, "PAPI_L1_DCM"},  {42000002, "PAPI_L2_DCM"},  {42000008, "PAPI_L3_TCM"},
    {42000046, "PAPI_BR_MSP"},  {42000050, "PAPI_TOT_INS"}, {42000055, "PAPI_BR_INS"},
    {42000059, "PAPI_TOT_CYC"}, {42000107, "PAPI_REF_CYC"},
};

const size_t lull_prv_n_known_counters = ENTRIES_OF(lull_prv_known_counters);

/* ==== types =================================================================================== */

/* Makes the definitions from labels and tables: regions, states, counters, markers, and the look-up
 * that the scan uses.
 *
 * Definitions must be complete before the scan. So every region type has one more region for values
 * that are named nowhere, and there is one marker for types that are named nowhere. */

enum {
    MOST_COUNTERS = 1024, /* each takes a bit and room for a reading per location */
    DENSE_VALUES = 4096
};

struct type_builder {
    struct lull_trace *trace;
    struct lull_paraver *paraver;
    const struct lull_prv_labels *labels;
    struct lull_prv_types *types;
    size_t types_capacity, regions_capacity, counters_capacity, markers_capacity, states_capacity;
};

/* ---- which types there are ------------------------------------------------------------------- */

struct candidate {
    uint64_t number;
    const struct lull_prv_label_type *label; /* NULL: not in the .pcf */
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    /* Types with a label come first; of two labels for one type the first in the file does. */
    if (!left->label || !right->label)
        return (left->label == NULL) - (right->label == NULL);
    return left->label < right->label ? -1 : left->label > right->label;
}

/* Collects the types of labels, tables and sample, sorted by number, each once. */
static struct candidate *collect(const struct type_builder *builder,
                                 const struct lull_prv_sample *sample, size_t *ret_count)
{
    size_t most = builder->labels->n_types + lull_prv_n_known_types + sample->n_types, n = 0;
    struct candidate *all = lull_arena_zero(builder->trace->arena, most, sizeof *all);
    for (size_t i = 0; i < builder->labels->n_types; i++)
        all[n++] = (struct candidate){builder->labels->types[i].number, &builder->labels->types[i]};
    for (size_t i = 0; i < lull_prv_n_known_types; i++)
        all[n++].number = lull_prv_known_types[i].number;
    for (size_t i = 0; i < sample->n_types; i++)
        all[n++].number = sample->types[i];
    qsort(all, n, sizeof *all, compare_candidates);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || all[kept - 1].number != all[i].number)
            all[kept++] = all[i];
    *ret_count = kept;
    return all;
}

/* ---- regions --------------------------------------------------------------------------------- */

struct lull_region lull_prv_make_region(const char *name, const struct lull_prv_known_type *known,
                                        uint8_t role)
{
    struct lull_region region = {.name = name,
                                 .file = "",
                                 .paradigm = known->paradigm,
                                 .role = role,
                                 .parallel = known->parallel};
    if (known->number == LULL_PRV_MPI_COLLECTIVE) {
        /* The type says that it is a collective, and the name says which. */
        struct lull_region named = {.name = name, .file = "", .paradigm = LULL_PARADIGM_MPI};
        lull_classify_region(&named);
        if (named.role != LULL_ROLE_FUNCTION)
            region.role = named.role;
    }
    return region;
}

static uint32_t add_region(struct type_builder *builder, const char *name,
                           const struct lull_prv_known_type *known, uint8_t role)
{
    struct lull_trace *trace = builder->trace;
    trace->regions = lull_arena_grow(trace->arena, trace->regions, &builder->regions_capacity,
                                     trace->n_regions + 1, sizeof *trace->regions);
    trace->regions[trace->n_regions] = lull_prv_make_region(name, known, role);
    return trace->n_regions++;
}

static const struct prv_known_value *find_value(uint64_t type, uint64_t value)
{
    for (size_t i = 0; i < prv_n_known_values; i++)
        if (prv_known_values[i].type == type && prv_known_values[i].value == value)
            return &prv_known_values[i];
    return NULL;
}

static void add_value(struct type_builder *builder, struct lull_prv_type *type,
                      const struct lull_prv_known_type *known, uint64_t value, const char *label,
                      size_t *capacity)
{
    struct lull_arena *arena = builder->trace->arena;
    const struct prv_known_value *meaning = find_value(type->number, value);
    if (known->prefixed && value < LULL_PRV_OWN_VALUES)
        label = lull_arena_printf(arena, "%s: %s", type->label, label);
    type->values =
        lull_arena_grow(arena, type->values, capacity, type->n_values + 1, sizeof *type->values);
    type->values[type->n_values++] = (struct lull_prv_value){
        value, add_region(builder, label, known, meaning ? meaning->role : known->role)};
}

/* The MPI type under which a call is recorded. */
static uint64_t type_of_call(const char *name)
{
    struct lull_region region = {.name = name, .file = ""};
    lull_classify_region(&region);
    switch (region.activity) {
    case LULL_MPI_P2P:
        return LULL_PRV_MPI_P2P;
    case LULL_MPI_COLLECTIVE:
        return LULL_PRV_MPI_COLLECTIVE;
    case LULL_MPI_ONE_SIDED:
        return LULL_PRV_MPI_RMA;
    case LULL_MPI_IO:
        return LULL_PRV_MPI_IO;
    default:
        return LULL_PRV_MPI_OTHER;
    }
}

/* Adds the values that the tables know, for a type whose values the .pcf does not list. */
static void add_known_values(struct type_builder *builder, struct lull_prv_type *type,
                             const struct lull_prv_known_type *known, size_t *capacity)
{
    for (size_t i = 0; i < prv_n_known_values; i++) {
        const struct prv_known_value *value = &prv_known_values[i];
        if (value->type == type->number)
            add_value(builder, type, known, value->value, value->label, capacity);
    }
    if (known->paradigm != LULL_PARADIGM_MPI)
        return;
    for (size_t i = 0; i < lull_prv_n_mpi_calls; i++) {
        const struct lull_prv_known_name *call = &lull_prv_mpi_calls[i];
        if (type_of_call(call->name) == type->number)
            add_value(builder, type, known, call->number, call->name, capacity);
    }
}

static int compare_values(const void *a, const void *b)
{
    const struct lull_prv_value *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? -1 : 1;
    return left->region < right->region ? -1 : left->region > right->region;
}

static void index_values(struct type_builder *builder, struct lull_prv_type *type)
{
    qsort(type->values, type->n_values, sizeof *type->values, compare_values);
    uint64_t most = 0;
    for (uint32_t i = 0; i < type->n_values; i++)
        if (type->values[i].value < DENSE_VALUES)
            most = type->values[i].value + 1;
    type->n_dense = (uint32_t)most;
    type->dense = lull_arena_zero(builder->trace->arena, most, sizeof *type->dense);
    memset(type->dense, 0xff, most * sizeof *type->dense); /* LULL_NONE */
    for (uint32_t i = type->n_values; i-- > 0;)
        if (type->values[i].value < most)
            type->dense[type->values[i].value] = type->values[i].region;
}

static void fill_region_type(struct type_builder *builder, struct lull_prv_type *type,
                             const struct lull_prv_known_type *known,
                             const struct lull_prv_label_type *label)
{
    size_t capacity = 0;
    type->nests = known->nests;
    type->collective = known->number == LULL_PRV_MPI_COLLECTIVE;
    /* All its values are one region, which has the name that lull gives it. */
    bool single = known->number == LULL_PRV_FLUSH;
    bool listed = false;
    for (size_t i = 0; !single && label && i < label->n_values; i++)
        listed |= label->values[i].number != 0;
    for (size_t i = 0; listed && i < label->n_values; i++)
        if (label->values[i].number != 0)
            add_value(builder, type, known, label->values[i].number, label->values[i].text,
                      &capacity);
    if (!listed && !single)
        add_known_values(builder, type, known, &capacity);
    type->index = add_region(builder, single ? known->label : type->label, known, known->role);
    if (type->n_values > 0)
        index_values(builder, type);
}

/* ---- counters and markers -------------------------------------------------------------------- */

/* "PAPI_TOT_INS ([Instr completed])" and "(PAPI_TOT_INS) Instr completed" become "PAPI_TOT_INS". */
static const char *short_name(struct lull_arena *arena, const char *label)
{
    size_t inside = *label == '(' ? strcspn(label + 1, " \t)") : 0;
    if (inside > 0 && label[inside + 1] == ')')
        return lull_arena_strndup(arena, label + 1, inside);
    const char *end = label + strcspn(label, " \t");
    const char *rest = end + strspn(end, " \t");
    if (end == label || (*rest != '[' && *rest != '('))
        return label;
    return lull_arena_strndup(arena, label, (size_t)(end - label));
}

static const char *known_counter(uint64_t number)
{
    for (size_t i = 0; i < lull_prv_n_known_counters; i++)
        if (lull_prv_known_counters[i].number == number)
            return lull_prv_known_counters[i].name;
    return NULL;
}

/* The name of a counter: its label if that is PAPI's name of an event, or else the name that the
 * tables have for its type, or else the label. */
static const char *counter_name(struct lull_arena *arena, const struct lull_prv_type *type,
                                bool labelled)
{
    const char *known = known_counter(type->number);
    const char *name = labelled ? short_name(arena, type->label) : type->label;
    return known && strncmp(name, "PAPI_", 5) != 0 ? known : name;
}

static void add_counter(struct type_builder *builder, struct lull_prv_type *type, bool labelled)
{
    struct lull_trace *trace = builder->trace;
    trace->counters = lull_arena_grow(trace->arena, trace->counters, &builder->counters_capacity,
                                      trace->n_counters + 1, sizeof *trace->counters);
    type->kind = LULL_PRV_COUNTER;
    type->index = trace->n_counters;
    trace->counters[trace->n_counters++] = (struct lull_counter){
        .name = counter_name(trace->arena, type, labelled), .unit = "", .source_id = type->number};
}

static uint32_t add_marker(struct type_builder *builder, const char *name, uint64_t source_id)
{
    struct lull_trace *trace = builder->trace;
    trace->markers = lull_arena_grow(trace->arena, trace->markers, &builder->markers_capacity,
                                     trace->n_markers + 1, sizeof *trace->markers);
    trace->markers[trace->n_markers] = (struct lull_marker){.name = name, .source_id = source_id};
    return trace->n_markers++;
}

/* ---- types ----------------------------------------------------------------------------------- */

bool lull_prv_own_region(uint64_t number, struct lull_prv_known_type *ret_known)
{
    if (number < LULL_PRV_OWN_REGIONS || number >= LULL_PRV_OWN_REGIONS_END)
        return false;
    uint32_t code = (uint32_t)(number - LULL_PRV_OWN_REGIONS);
    unsigned paradigm = code / 10000, role = code / 100 % 100, parallel = code % 100;
    if (paradigm >= LULL_PARADIGMS || role >= LULL_ROLES || parallel > 1)
        return false;
    *ret_known = (struct lull_prv_known_type){.kind = LULL_PRV_REGION,
                                              .paradigm = (uint8_t)paradigm,
                                              .role = (uint8_t)role,
                                              .parallel = parallel,
                                              .nests = true};
    return true;
}

static void add_type(struct type_builder *builder, const struct candidate *candidate)
{
    struct lull_arena *arena = builder->trace->arena;
    struct lull_prv_types *types = builder->types;
    struct lull_prv_known_type own;
    const struct lull_prv_known_type *known = lull_prv_known_type(candidate->number);
    if (!known && lull_prv_own_region(candidate->number, &own))
        known = &own;
    bool labelled = candidate->label && candidate->label->text[0];
    types->types = lull_arena_grow(arena, types->types, &builder->types_capacity,
                                   types->n_types + 1, sizeof *types->types);
    struct lull_prv_type *type = &types->types[types->n_types++];
    type->number = candidate->number;
    if (labelled)
        type->label = candidate->label->text;
    else
        type->label = known && known->label ? known->label
                                            : lull_arena_printf(arena, "event type %llu",
                                                                (unsigned long long)type->number);
    if (known) {
        type->kind = known->kind;
        type->index = known->index;
        if (known->kind == LULL_PRV_REGION)
            fill_region_type(builder, type, known, candidate->label);
    } else if (lull_prv_is_counter(type->number) && builder->trace->n_counters < MOST_COUNTERS) {
        add_counter(builder, type, labelled);
    } else {
        type->kind = LULL_PRV_MARKER;
        type->index = add_marker(builder, type->label, type->number);
    }
}

/* ---- look-up --------------------------------------------------------------------------------- */

/* The digits of a type as the scan meets them (lull_prv_align); 0: there are more than eight. */
static uint64_t text_key(uint64_t number)
{
    uint64_t key = 0;
    if (number > 99999999)
        return 0;
    for (unsigned bit = 56; number > 0; number /= 10, bit -= 8)
        key |= (number % 10) << bit;
    return key;
}

/* Builds the look-up of types. False: memory ran out. */
static bool build_index(struct type_builder *builder)
{
    struct lull_prv_types *types = builder->types;
    struct lull_arena *arena = builder->trace->arena;
    unsigned bits = 8;
    while ((UINT64_C(1) << bits) < (uint64_t)types->n_types * 4)
        bits++;
    types->mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    types->shift = 64 - bits;
    size_t size = (size_t)types->mask + 1;
    types->by_text = lull_arena_zero(arena, size, sizeof *types->by_text);
    for (uint32_t i = 0; i < types->n_types; i++) {
        uint64_t number = types->types[i].number, key = text_key(number);
        if (!lull_hash_add(&types->by_number, &number, sizeof number, i, NULL))
            return false;
        if (key == 0)
            continue;
        uint32_t at = lull_prv_hash(key, types->shift);
        while (types->by_text[at].key)
            at = (at + 1) & types->mask;
        types->by_text[at] = (struct lull_prv_text_key){key, i};
    }
    return true;
}

uint32_t lull_prv_type_index(const struct lull_prv_types *types, uint64_t number)
{
    const uint64_t *index = lull_hash_find(&types->by_number, &number, sizeof number);
    return index ? (uint32_t)*index : LULL_NONE;
}

uint32_t lull_prv_type_region(const struct lull_prv_type *type, uint64_t value, bool *ret_named)
{
    *ret_named = true;
    if (value < type->n_dense && type->dense[value] != LULL_NONE)
        return type->dense[value];
    const size_t n = value < type->n_dense ? 0 : type->n_values;
    const size_t at = lull_sorted_first_u64(type->values, n, sizeof *type->values,
                                            offsetof(struct lull_prv_value, value), value);
    if (at < type->n_values && type->values[at].value == value)
        return type->values[at].region;
    *ret_named = type->n_values == 0;
    return type->index;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void add_state(struct type_builder *builder, uint32_t number, const char *name,
                      uint8_t activity)
{
    struct lull_trace *trace = builder->trace;
    trace->states = lull_arena_grow(trace->arena, trace->states, &builder->states_capacity,
                                    trace->n_states + 1, sizeof *trace->states);
    trace->states[trace->n_states++] =
        (struct lull_state){.name = name, .number = number, .activity = activity};
}

static int compare_states(const void *a, const void *b)
{
    const struct lull_state *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

static bool has_state(const struct lull_trace *trace, uint32_t count, uint64_t number)
{
    for (uint32_t s = 0; s < count; s++)
        if (trace->states[s].number == number)
            return true;
    return false;
}

/* Adds the states of the tables, under the names of the .pcf, and those that only the .pcf has. The
 * last state is for numbers that neither has. */
static void add_states(struct type_builder *builder)
{
    const struct lull_prv_labels *labels = builder->labels;
    struct lull_trace *trace = builder->trace;
    for (size_t i = 0; i < lull_prv_n_known_states; i++) {
        const struct lull_prv_known_state *known = &lull_prv_known_states[i];
        const char *name = known->label;
        for (size_t l = labels->n_states; l-- > 0;)
            if (labels->states[l].number == known->number)
                name = labels->states[l].text;
        add_state(builder, known->number, name, known->activity);
    }
    for (size_t l = 0; l < labels->n_states && trace->n_states < 1000; l++)
        if (labels->states[l].number < UINT32_MAX &&
            !has_state(trace, trace->n_states, labels->states[l].number))
            add_state(builder, (uint32_t)labels->states[l].number, labels->states[l].text,
                      LULL_OTHER);
    add_state(builder, UINT32_MAX, "state named nowhere", LULL_OTHER);
    qsort(trace->states, trace->n_states, sizeof *trace->states, compare_states);
}

/* ---- roles of threads ------------------------------------------------------------------------ */

/* Decides what threads other than the first of a process are: OpenMP's, unless the trace uses
 * pthreads only. A type counts as used if it has a label or occurs in the sample; that the tables
 * define it says nothing. */
static void decide_roles_by_types(struct type_builder *builder, const struct candidate *candidates,
                                  size_t n, const struct lull_prv_sample *sample)
{
    bool openmp = false, pthreads = false;
    for (size_t i = 0; i < n; i++) {
        const struct lull_prv_known_type *known = lull_prv_known_type(candidates[i].number);
        bool used = candidates[i].label != NULL;
        for (size_t s = 0; !used && s < sample->n_types; s++)
            used = sample->types[s] == candidates[i].number;
        openmp |= used && known && (known->paradigm == LULL_PARADIGM_OPENMP || known->parallel);
        pthreads |= used && (candidates[i].number == 61000000 || candidates[i].number == 60000020);
    }
    struct lull_trace *trace = builder->trace;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        trace->locations[l].role = trace->locations[l].number == 0 ? LULL_THREAD_MASTER
                                   : openmp || !pthreads           ? LULL_THREAD_WORKER
                                                                   : LULL_THREAD_FREE;
}

bool lull_prv_build_types(struct lull_trace *trace, struct lull_paraver *paraver,
                          const struct lull_prv_labels *labels,
                          const struct lull_prv_sample *sample)
{
    struct type_builder builder = {
        .trace = trace, .paraver = paraver, .labels = labels, .types = &paraver->types};
    size_t n;
    struct candidate *candidates = collect(&builder, sample, &n);
    for (size_t i = 0; i < n; i++)
        add_type(&builder, &candidates[i]);
    paraver->types.unnamed_marker = add_marker(&builder, "event types named nowhere", 0);
    bool indexed = build_index(&builder);
    add_states(&builder);
    decide_roles_by_types(&builder, candidates, n, sample);
    trace->has_states = sample->states;
    return indexed;
}
