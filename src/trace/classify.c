/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/classify.h"

#include "trace/trace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ==== mpi ===================================================================================== */

/* MPI functions by name, in C and Fortran spelling. */

struct mpi_function {
    const char *name; /* lower case, without mpi_ */
    uint8_t role;
    uint8_t collective;
};

/* Sorted by name. Non-blocking and persistent forms of collectives are found by taking off "i" and
 * "_init"; win_* and file_* that are not listed by their prefix. */
static const struct mpi_function mpi_functions[] = {
#include "mpi_functions.h"
};

static int compare_mpi(const void *key, const void *entry)
{
    return strcmp(key, ((const struct mpi_function *)entry)->name);
}

static const struct mpi_function *find_mpi(const char *name)
{
    return bsearch(name, mpi_functions, sizeof mpi_functions / sizeof *mpi_functions,
                   sizeof *mpi_functions, compare_mpi);
}

static void cut_suffix(char *text, const char *suffix)
{
    size_t length = strlen(text), cut = strlen(suffix);
    if (length > cut && strcmp(text + length - cut, suffix) == 0)
        text[length - cut] = '\0';
}

/* "PMPI_Isend", "mpi_isend_", "MPI_Isend_c", "mpi_isend_f08" -> "isend"; false if it is no MPI
 * function. */
static bool mpi_base_name(const char *name, char *base, size_t size)
{
    if (strncasecmp(name, "pmpi_", 5) == 0 || strncasecmp(name, "pmpix_", 6) == 0)
        name++;
    const bool extends = strncasecmp(name, "mpix_", 5) == 0; /* MPIX_Barrier_init */
    if (!extends && strncasecmp(name, "mpi_", 4) != 0)
        return false;
    size_t length = 0;
    for (name += extends ? 5 : 4;
         length + 1 < size && (isalnum((unsigned char)*name) || *name == '_'); name++)
        base[length++] = (char)tolower((unsigned char)*name);
    base[length] = '\0';
    while (length > 0 && base[length - 1] == '_')
        base[--length] = '\0';
    cut_suffix(base, "_f08ts");
    cut_suffix(base, "_f08");
    cut_suffix(base, "_c");
    return true;
}

static const struct mpi_function *lookup_mpi(char *base)
{
    const struct mpi_function *found = find_mpi(base);
    if (!found && base[0] == 'i') /* ibcast, ineighbor_alltoall */
        found = find_mpi(base + 1);
    if (!found) { /* bcast_init */
        cut_suffix(base, "_init");
        found = find_mpi(base);
    }
    return found;
}

/* Paradigm, role and collective of a region that is called like an MPI function; false for any
 * other. */
static bool classify_mpi(struct lull_region *region)
{
    char base[64];
    if (!mpi_base_name(region->name, base, sizeof base))
        return false;
    region->paradigm = LULL_PARADIGM_MPI;
    const struct mpi_function *function = lookup_mpi(base);
    uint8_t role = LULL_ROLE_FUNCTION;
    region->collective = LULL_COLLECTIVE_UNKNOWN;
    if (function) {
        role = function->role;
        region->collective = function->collective;
    } else if (strncmp(base, "win_", 4) == 0) {
        role = LULL_ROLE_RMA;
    } else if (strncmp(base, "file_", 5) == 0) {
        role = LULL_ROLE_FILE_IO;
    }
    if (region->role == LULL_ROLE_FUNCTION || region->role == LULL_ROLE_WRAPPER)
        region->role = role;
    return true;
}

/* ==== shmem =================================================================================== */

/* Functions of OpenSHMEM by name: one-sided communication, and collective operations of several
 * processes. Each is there for many types, whose names stand in front: shmem_int_sum_to_all. */

static const struct kind {
    const char *end; /* of the name, behind the type's */
    uint8_t role;
    uint8_t collective;
} kinds[] = {
    {"init", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"init_thread", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"finalize", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"global_exit", LULL_ROLE_FUNCTION, LULL_COLLECTIVE_UNKNOWN},
    {"barrier", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"barrier_all", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"sync", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"sync_all", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"sync_deprecated", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_BARRIER},
    {"broadcast", LULL_ROLE_COLL_ONE2ALL, LULL_COLLECTIVE_BCAST},
    {"fcollect", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLGATHER},
    {"collect", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLGATHERV},
    {"alltoall", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLTOALL},
    {"alltoalls", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLTOALL},
    {"to_all", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLREDUCE},
    {"reduce", LULL_ROLE_COLL_ALL2ALL, LULL_COLLECTIVE_ALLREDUCE},
    {"malloc", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"malloc_with_hint", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"malloc_with_hints", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"calloc", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"align", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"realloc", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"free", LULL_ROLE_RMA, LULL_COLLECTIVE_FREE},
    {"split_strided", LULL_ROLE_COLL_OTHER, LULL_COLLECTIVE_CREATE},
    {"split_2d", LULL_ROLE_COLL_OTHER, LULL_COLLECTIVE_CREATE},
    {"create_ctx", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"create", LULL_ROLE_RMA, LULL_COLLECTIVE_CREATE},
    {"destroy", LULL_ROLE_RMA, LULL_COLLECTIVE_FREE},
};

/* Ends of names of what is one-sided and of no other kind. */
static const char *const one_sided[] = {
    "put",  "get",   "iput", "iget", "p",    "g",    "signal", "swap",   "cswap",  "set",   "add",
    "inc",  "and",   "or",   "xor",  "fadd", "finc", "fetch",  "mem",    "quiet",  "fence", "lock",
    "wait", "until", "test", "all",  "any",  "some", "vector", "putmem", "getmem", "nb",    "nbi",
};

/* Whether the name is `end`, or something, "_" and `end`. */
static bool has_ending(const char *name, size_t length, const char *end)
{
    const size_t n = strlen(end);
    return length >= n && strncmp(name + length - n, end, n) == 0 &&
           (length == n || name[length - n - 1] == '_');
}

static bool is_one_sided(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof one_sided / sizeof *one_sided; i++)
        if (has_ending(name, length, one_sided[i]))
            return true;
    return false;
}

/* Without what says of which size it is: "put32", "fcollectmem", "put16_nbi". */
static size_t length_without_size(const char *name)
{
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, "_nbi") == 0)
        length -= 4;
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    return length > 3 && strncmp(name + length - 3, "mem", 3) == 0 ? length - 3 : length;
}

/* The same of OpenSHMEM, which counts as MPI: its communication is one-sided. */
static bool classify_shmem(struct lull_region *region)
{
    const char *name = region->name + (strncmp(region->name, "pshmem", 6) == 0);
    if (strcmp(name, "start_pes") == 0)
        name = "shmem_init";
    if (strncmp(name, "shmem_", 6) != 0 && strncmp(name, "shmemx_", 7) != 0)
        return false;
    name = strchr(name, '_') + 1;
    const size_t length = length_without_size(name);
    uint8_t role = LULL_ROLE_RMA, collective = LULL_COLLECTIVE_UNKNOWN;
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !has_ending(name, length, kinds[i].end))
        i++;
    if (i < sizeof kinds / sizeof *kinds) {
        role = kinds[i].role;
        collective = kinds[i].collective;
    } else if (!is_one_sided(name, length)) {
        return false;
    }
    region->paradigm = LULL_PARADIGM_MPI;
    region->collective = collective;
    if (region->role == LULL_ROLE_FUNCTION || region->role == LULL_ROLE_WRAPPER)
        region->role = role;
    return true;
}

/* ==== classify ================================================================================ */

/* ---- constructs known by name ---------------------------------------------------------------- */

struct construct {
    const char *name; /* lower case */
    uint8_t role;
    int8_t locks; /* as in struct lull_region */
};

/* Looked up by the longest prefix: longer names first where one begins with another. */
static const struct construct omp_constructs[] = {
    {"parallel for", LULL_ROLE_PARALLEL, 0},
    {"parallel", LULL_ROLE_PARALLEL, 0},
    {"for", LULL_ROLE_LOOP, 0},
    {"do", LULL_ROLE_LOOP, 0},
    {"loop", LULL_ROLE_LOOP, 0},
    {"workshare", LULL_ROLE_WORKSHARE, 0},
    {"sections", LULL_ROLE_SECTIONS, 0},
    {"section", LULL_ROLE_SECTION, 0},
    {"single sblock", LULL_ROLE_SINGLE_BODY, 0},
    {"single", LULL_ROLE_SINGLE, 0},
    {"masked", LULL_ROLE_MASTER, 0},
    {"master", LULL_ROLE_MASTER, 0},
    {"critical sblock", LULL_ROLE_CRITICAL_BODY, 0},
    {"critical", LULL_ROLE_CRITICAL, 0},
    {"atomic", LULL_ROLE_ATOMIC, 0},
    {"implicit barrier", LULL_ROLE_IMPLICIT_BARRIER, 0},
    {"ibarrier", LULL_ROLE_IMPLICIT_BARRIER, 0},
    {"barrier", LULL_ROLE_BARRIER, 0},
    {"flush", LULL_ROLE_FLUSH, 0},
    {"ordered sblock", LULL_ROLE_ORDERED_BODY, 0},
    {"ordered", LULL_ROLE_ORDERED, 0},
    {"create task", LULL_ROLE_TASK_CREATE, 0},
    {"create untied task", LULL_ROLE_TASK_CREATE, 0},
    {"task create", LULL_ROLE_TASK_CREATE, 0},
    {"untied task create", LULL_ROLE_TASK_CREATE, 0},
    {"task run", LULL_ROLE_TASK, 0},
    {"untied  task run", LULL_ROLE_TASK, 0},
    {"untied task run", LULL_ROLE_TASK, 0},
    {"task wait", LULL_ROLE_TASK_WAIT, 0},
    {"taskwait", LULL_ROLE_TASK_WAIT, 0},
    {"taskgroup", LULL_ROLE_TASK_WAIT, 0},
    {"taskyield", LULL_ROLE_SCHEDULE, 0},
    {"task", LULL_ROLE_TASK, 0},
    {"untied task", LULL_ROLE_TASK, 0},
    {"set lock", LULL_ROLE_LOCK, 1},
    {"set nest lock", LULL_ROLE_LOCK, 1},
    {"test lock", LULL_ROLE_LOCK, 0},
    {"test nest lock", LULL_ROLE_LOCK, 0},
    {"unset lock", LULL_ROLE_LOCK, -1},
    {"unset nest lock", LULL_ROLE_LOCK, -1},
};

/* Functions of the OpenMP library, behind "omp_"; only where the tracer says that it is OpenMP. */
static const struct construct omp_functions[] = {
    {"set_lock", LULL_ROLE_LOCK, 1},    {"set_nest_lock", LULL_ROLE_LOCK, 1},
    {"test_lock", LULL_ROLE_LOCK, 0},   {"test_nest_lock", LULL_ROLE_LOCK, 0},
    {"unset_lock", LULL_ROLE_LOCK, -1}, {"unset_nest_lock", LULL_ROLE_LOCK, -1},
};

static const struct construct pthread_functions[] = {
    {"create", LULL_ROLE_THREAD_CREATE, 0}, {"join", LULL_ROLE_THREAD_WAIT, 0},
    {"mutex", LULL_ROLE_LOCK, 0},           {"spin", LULL_ROLE_LOCK, 0},
    {"rwlock", LULL_ROLE_LOCK, 0},          {"cond", LULL_ROLE_BARRIER, 0},
    {"barrier", LULL_ROLE_BARRIER, 0},
};

/* Regions in which a tracer records itself. */
static const struct construct tracer_regions[] = {
    {"flush", LULL_ROLE_ARTIFICIAL, 0},
    {"buffer flush", LULL_ROLE_ARTIFICIAL, 0},
    {"trace buffer flush", LULL_ROLE_ARTIFICIAL, 0},
    {"eztrace finalize", LULL_ROLE_ARTIFICIAL, 0},
};

#define LOOK_UP(table, name) look_up(table, sizeof(table) / sizeof *(table), name)

static const struct construct *look_up(const struct construct *table, size_t count,
                                       const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(name, table[i].name, strlen(table[i].name)) == 0)
            return &table[i];
    return NULL;
}

/* The construct behind "OpenMP " or "!$omp ", or NULL. */
static const char *omp_construct_name(const char *name)
{
    if (strncasecmp(name, "OpenMP ", 7) == 0)
        return name + 7;
    if (strncasecmp(name, "!$omp ", 6) == 0)
        return name + 6;
    return NULL;
}

static void take_role(struct lull_region *region, const struct construct *construct)
{
    if (!construct)
        return;
    if (region->role == LULL_ROLE_FUNCTION)
        region->role = construct->role;
    if (region->role == LULL_ROLE_LOCK)
        region->locks = construct->locks;
}

/* Whether the name may decide: the tracer says the same, or nothing. One that tells functions found
 * by the compiler from others knows better: "mpi_setup" is the user's. */
static bool may_be(const struct lull_region *region, unsigned paradigm)
{
    return region->paradigm == paradigm || region->paradigm == LULL_PARADIGM_USER ||
           region->paradigm == LULL_PARADIGM_OTHER;
}

/* Tracers that know nothing of kernels make them functions of the device's paradigm. */
static bool is_kernel(const struct lull_region *region)
{
    return region->role == LULL_ROLE_KERNEL ||
           (region->paradigm == LULL_PARADIGM_DEVICE && region->role == LULL_ROLE_FUNCTION);
}

bool lull_is_exchange(const char *kernel)
{
    if (strncmp(kernel, "_Z", 2) == 0)
        kernel += 2 + strspn(kernel + 2, "0123456789");
    return strncmp(kernel, "nccl", 4) == 0;
}

static void classify_by_name(struct lull_region *region)
{
    if (is_kernel(region) && lull_is_exchange(region->name)) {
        region->role = LULL_ROLE_DATA_TRANSFER;
        region->paradigm = LULL_PARADIGM_DEVICE;
        return;
    }
    const char *construct = omp_construct_name(region->name);
    if (may_be(region, LULL_PARADIGM_MPI) && classify_mpi(region))
        return;
    /* "shmem_" is what programs call much of their own. */
    if (may_be(region, LULL_PARADIGM_MPI) && region->paradigm != LULL_PARADIGM_USER &&
        classify_shmem(region))
        return;
    if (construct && may_be(region, LULL_PARADIGM_OPENMP)) {
        region->paradigm = LULL_PARADIGM_OPENMP;
        take_role(region, LOOK_UP(omp_constructs, construct));
    } else if (region->paradigm == LULL_PARADIGM_OPENMP &&
               strncasecmp(region->name, "omp_", 4) == 0) {
        take_role(region, LOOK_UP(omp_functions, region->name + 4));
    } else if (may_be(region, LULL_PARADIGM_PTHREAD) && strncmp(region->name, "pthread_", 8) == 0) {
        region->paradigm = LULL_PARADIGM_PTHREAD;
        take_role(region, LOOK_UP(pthread_functions, region->name + 8));
    } else if (region->paradigm == LULL_PARADIGM_USER &&
               strcasecmp(region->name, "eztrace finalize") == 0) {
        region->paradigm = LULL_PARADIGM_MEASUREMENT;
    }
}

/* ---- activity -------------------------------------------------------------------------------- */

static uint8_t mpi_activity(const struct lull_region *region)
{
    switch (region->role) {
    case LULL_ROLE_POINT2POINT:
        return LULL_MPI_P2P;
    case LULL_ROLE_COLL_ONE2ALL:
    case LULL_ROLE_COLL_ALL2ONE:
    case LULL_ROLE_COLL_ALL2ALL:
    case LULL_ROLE_BARRIER: /* Score-P calls MPI_Barrier so */
    case LULL_ROLE_IMPLICIT_BARRIER:
        return LULL_MPI_COLLECTIVE;
    case LULL_ROLE_COLL_OTHER: /* Score-P gives this role to scans and to communicator creation */
        return region->collective == LULL_COLLECTIVE_CREATE ||
                       region->collective == LULL_COLLECTIVE_FREE
                   ? LULL_MPI_OTHER
                   : LULL_MPI_COLLECTIVE;
    case LULL_ROLE_RMA:
        return LULL_MPI_ONE_SIDED;
    case LULL_ROLE_FILE_IO:
        return LULL_MPI_IO;
    default:
        return LULL_MPI_OTHER;
    }
}

/* OpenMP and pthreads. What is not listed is user code that a construct surrounds. */
static uint8_t thread_activity(unsigned role)
{
    switch (role) {
    case LULL_ROLE_BARRIER:
    case LULL_ROLE_IMPLICIT_BARRIER:
    case LULL_ROLE_TASK_WAIT:
    case LULL_ROLE_THREAD_WAIT:
        return LULL_OMP_SYNC;
    case LULL_ROLE_CRITICAL:
    case LULL_ROLE_ATOMIC:
    case LULL_ROLE_ORDERED:
    case LULL_ROLE_LOCK:
        return LULL_OMP_LOCK;
    case LULL_ROLE_TASK_CREATE:
    case LULL_ROLE_THREAD_CREATE:
    case LULL_ROLE_SCHEDULE:
    case LULL_ROLE_FLUSH:
        return LULL_OMP_SCHEDULE;
    default:
        return LULL_USEFUL;
    }
}

static uint8_t activity_of(const struct lull_region *region)
{
    switch (region->paradigm) {
    case LULL_PARADIGM_MPI:
        return mpi_activity(region);
    case LULL_PARADIGM_OPENMP:
    case LULL_PARADIGM_PTHREAD:
        return thread_activity(region->role);
    case LULL_PARADIGM_DEVICE:
        return region->role == LULL_ROLE_KERNEL ? LULL_USEFUL : LULL_DEVICE;
    case LULL_PARADIGM_IO:
        return LULL_IO;
    case LULL_PARADIGM_MEASUREMENT:
        return LOOK_UP(tracer_regions, region->name) && strcasestr(region->name, "flush")
                   ? LULL_FLUSH
                   : LULL_OTHER;
    default:
        return region->role == LULL_ROLE_FILE_IO ? LULL_IO : LULL_USEFUL;
    }
}

void lull_classify_region(struct lull_region *region)
{
    region->collective = LULL_COLLECTIVE_UNKNOWN;
    classify_by_name(region);
    region->activity = activity_of(region);
    region->user = region->activity == LULL_USEFUL && (region->paradigm == LULL_PARADIGM_USER ||
                                                       region->paradigm == LULL_PARADIGM_COMPILER ||
                                                       region->paradigm == LULL_PARADIGM_OTHER);
    if (region->paradigm == LULL_PARADIGM_OPENMP && region->role == LULL_ROLE_PARALLEL)
        region->parallel = true;
}

bool lull_is_communicator(const struct lull_device *device)
{
    return strcmp(device->runtime, "NCCL") == 0;
}

/* "communicator 1f2e3d of 8 ranks" (record/device/nccl/nccl.c). */
uint32_t lull_communicator_ranks(const struct lull_device *device)
{
    static const char end[] = " ranks";
    const char *of = strstr(device->name, " of ");
    char *behind;
    if (!of || of[4] < '1' || of[4] > '9')
        return 0;
    const unsigned long ranks = strtoul(of + 4, &behind, 10);
    return ranks <= INT32_MAX && strcmp(behind, end) == 0 ? (uint32_t)ranks : 0;
}

/* "rank 3" (record/device/nccl/nccl.c). */
uint32_t lull_communicator_rank(const char *stream)
{
    static const char begin[] = "rank ";
    char *behind;
    if (strncmp(stream, begin, strlen(begin)) != 0 || stream[strlen(begin)] < '0' ||
        stream[strlen(begin)] > '9')
        return LULL_NONE;
    const unsigned long rank = strtoul(stream + strlen(begin), &behind, 10);
    return rank < INT32_MAX && *behind == '\0' ? (uint32_t)rank : LULL_NONE;
}

bool lull_is_default_stream(const char *runtime, const char *number)
{
    const char *its = strcmp(runtime, "CUDA") == 0   ? "7"
                      : strcmp(runtime, "ROCm") == 0 ? "0"
                                                     : NULL;
    return its && number[0] == its[0] && (number[1] == '\0' || number[1] == ' ');
}

uint8_t lull_activity_on(const struct lull_region *region, unsigned location_kind)
{
    if (location_kind == LULL_LOCATION_DEVICE) {
        if (is_kernel(region))
            return LULL_USEFUL;
        if (region->role == LULL_ROLE_DATA_TRANSFER)
            return LULL_DEVICE;
    } else if (region->paradigm == LULL_PARADIGM_DEVICE) {
        return LULL_DEVICE;
    }
    return region->user ? LULL_ACTIVITIES : region->activity;
}

uint8_t lull_classify_counter(const char *name)
{
    static const struct {
        const char *name;
        uint8_t role;
    } known[] = {
        {"PAPI_TOT_INS", LULL_COUNTER_INSTRUCTIONS},
        {"PAPI_TOT_CYC", LULL_COUNTER_CYCLES},
        {"instructions", LULL_COUNTER_INSTRUCTIONS},
        {"cycles", LULL_COUNTER_CYCLES},
        {"cpu-cycles", LULL_COUNTER_CYCLES},
        {"INST_RETIRED:ANY", LULL_COUNTER_INSTRUCTIONS},
        {"processor-time", LULL_COUNTER_PROCESSOR_TIME},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].name);
        /* Extrae's .pcf: "PAPI_TOT_INS [Instr completed]" */
        if (strncasecmp(name, known[i].name, length) == 0 &&
            (name[length] == '\0' || name[length] == ' '))
            return known[i].role;
    }
    return LULL_COUNTER_OTHER;
}

/* ==== complete ================================================================================ */

/* lull_trace_complete: checks the definitions that a reader collected and derives the rest. */

static lull_status assign_locations(struct lull_trace *trace, struct lull_error *err)
{
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->processes[p].n_locations = trace->processes[p].n_threads = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (location->process >= trace->n_processes)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: location '%s' belongs to no process",
                             trace->path, location->name);
        struct lull_process *process = &trace->processes[location->process];
        if (process->n_locations == 0)
            process->first_location = l;
        else if (process->first_location + process->n_locations != l)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: locations of process %u are not listed together", trace->path,
                             location->process);
        process->n_locations++;
        process->n_threads += location->kind == LULL_LOCATION_THREAD;
    }
    return LULL_OK;
}

static lull_status check_processes(struct lull_trace *trace, struct lull_error *err)
{
    uint32_t applications = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_process *process = &trace->processes[p];
        if (process->node != LULL_NONE && process->node >= trace->n_nodes)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: process %u is on unknown node %u",
                             trace->path, p, process->node);
        if (process->application >= applications)
            applications = process->application + 1;
    }
    trace->n_applications = applications ? applications : 1;
    return LULL_OK;
}

static lull_status check_comms(const struct lull_trace *trace, struct lull_error *err)
{
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        const struct lull_comm *comm = &trace->comms[c];
        bool team = comm->paradigm == LULL_PARADIGM_OPENMP;
        uint32_t bound = team ? trace->n_locations : trace->n_processes;
        bool good = comm->members || (comm->first <= bound && comm->size <= bound - comm->first);
        for (uint32_t r = 0; good && comm->members && r < comm->size; r++)
            good = comm->members[r] < bound;
        if (!good)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: communicator '%s' has an unknown member",
                             trace->path, comm->name);
        if (comm->remote != LULL_NONE && comm->remote >= trace->n_comms)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: communicator '%s' has no remote group",
                             trace->path, comm->name);
    }
    return LULL_OK;
}

/* A thread that is not the master is an OpenMP worker where there is OpenMP, else the program's
 * own. */
static void decide_unknown_roles(struct lull_trace *trace)
{
    bool openmp = false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        openmp |= trace->regions[r].paradigm == LULL_PARADIGM_OPENMP;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_location *location = &trace->locations[l];
        if (location->role != LULL_THREAD_UNKNOWN)
            continue;
        if (trace->processes[location->process].first_location == l)
            location->role = LULL_THREAD_MASTER;
        else
            location->role = openmp ? LULL_THREAD_WORKER : LULL_THREAD_FREE;
    }
}

lull_status lull_trace_complete(struct lull_trace *trace, struct lull_error *err)
{
    if (trace->n_processes == 0 || trace->n_locations == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: no process is defined", trace->path);
    if (trace->duration < 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: the run ends before it begins", trace->path);
    lull_status status = assign_locations(trace, err);
    if (status == LULL_OK)
        status = check_processes(trace, err);
    if (status == LULL_OK)
        status = check_comms(trace, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_region *region = &trace->regions[r];
        lull_classify_region(region);
        if (!region->site)
            region->site = "";
        if (!*region->site || region->whole >= r ||
            strcmp(region->name, trace->regions[region->whole].name) != 0)
            region->whole = LULL_NONE;
    }
    for (uint32_t c = 0; c < trace->n_counters; c++)
        if (trace->counters[c].role == LULL_COUNTER_OTHER)
            trace->counters[c].role = lull_classify_counter(trace->counters[c].name);
    decide_unknown_roles(trace);
    return LULL_OK;
}
