#include "trace/format/paraver/tables.h"

#include <stdlib.h>

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

/* Sources: the constants that Extrae writes into its .pcf files; which OpenMP types count as
 * "in parallel" follows the published definition of the POP tools (60000001, 60000005, 60000018,
 * 60000023), and for the newer family its counterparts. */
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
    PARAMETER(LULL_PRV_OWN_ROOT, "Root of collective (rank + 1)", LULL_PRV_ROOT_RANK),
    PARAMETER(LULL_PRV_OWN_TAG, "Tag of message", LULL_PRV_TAG),
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

/* Critical sections and locks of Extrae are four states of one thread: waiting for the lock, inside
 * (user code), giving it back, and 0. Waiting and giving back are lock time. */
const struct lull_prv_known_value lull_prv_known_values[] = {
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
const size_t lull_prv_n_known_values = ENTRIES_OF(lull_prv_known_values);

/* ---- states ---------------------------------------------------------------------------------- */

/* A state is coarse (5 is a barrier as well as a lock); where a region is open, that says it
 * better. Numbers from 101 on are lull's own. */
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
