#include "trace/classify/classify.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- constructs known by name ---------------------------------------------------------------- */

struct construct {
    const char *name; /* lower case */
    uint8_t role;
};

/* Looked up by the longest prefix: longer names first where one begins with another. */
static const struct construct omp_constructs[] = {
    {"parallel for", LULL_ROLE_PARALLEL},
    {"parallel", LULL_ROLE_PARALLEL},
    {"for", LULL_ROLE_LOOP},
    {"do", LULL_ROLE_LOOP},
    {"loop", LULL_ROLE_LOOP},
    {"workshare", LULL_ROLE_WORKSHARE},
    {"sections", LULL_ROLE_SECTIONS},
    {"section", LULL_ROLE_SECTION},
    {"single sblock", LULL_ROLE_SINGLE_BODY},
    {"single", LULL_ROLE_SINGLE},
    {"masked", LULL_ROLE_MASTER},
    {"master", LULL_ROLE_MASTER},
    {"critical sblock", LULL_ROLE_CRITICAL_BODY},
    {"critical", LULL_ROLE_CRITICAL},
    {"atomic", LULL_ROLE_ATOMIC},
    {"implicit barrier", LULL_ROLE_IMPLICIT_BARRIER},
    {"ibarrier", LULL_ROLE_IMPLICIT_BARRIER},
    {"barrier", LULL_ROLE_BARRIER},
    {"flush", LULL_ROLE_FLUSH},
    {"ordered sblock", LULL_ROLE_ORDERED_BODY},
    {"ordered", LULL_ROLE_ORDERED},
    {"create task", LULL_ROLE_TASK_CREATE},
    {"create untied task", LULL_ROLE_TASK_CREATE},
    {"task create", LULL_ROLE_TASK_CREATE},
    {"untied task create", LULL_ROLE_TASK_CREATE},
    {"task run", LULL_ROLE_TASK},
    {"untied  task run", LULL_ROLE_TASK},
    {"untied task run", LULL_ROLE_TASK},
    {"task wait", LULL_ROLE_TASK_WAIT},
    {"taskwait", LULL_ROLE_TASK_WAIT},
    {"taskgroup", LULL_ROLE_TASK_WAIT},
    {"taskyield", LULL_ROLE_SCHEDULE},
    {"task", LULL_ROLE_TASK},
    {"untied task", LULL_ROLE_TASK},
    {"set lock", LULL_ROLE_LOCK},
    {"set nest lock", LULL_ROLE_LOCK},
    {"test lock", LULL_ROLE_LOCK},
    {"test nest lock", LULL_ROLE_LOCK},
    {"unset lock", LULL_ROLE_LOCK},
    {"unset nest lock", LULL_ROLE_LOCK},
};

/* Functions of the OpenMP library, behind "omp_"; only where the tracer says that it is OpenMP. */
static const struct construct omp_functions[] = {
    {"set_lock", LULL_ROLE_LOCK},   {"set_nest_lock", LULL_ROLE_LOCK},
    {"test_lock", LULL_ROLE_LOCK},  {"test_nest_lock", LULL_ROLE_LOCK},
    {"unset_lock", LULL_ROLE_LOCK}, {"unset_nest_lock", LULL_ROLE_LOCK},
};

static const struct construct pthread_functions[] = {
    {"create", LULL_ROLE_THREAD_CREATE}, {"join", LULL_ROLE_THREAD_WAIT},
    {"mutex", LULL_ROLE_LOCK},           {"spin", LULL_ROLE_LOCK},
    {"rwlock", LULL_ROLE_LOCK},          {"cond", LULL_ROLE_BARRIER},
    {"barrier", LULL_ROLE_BARRIER},
};

/* Regions in which a tracer records itself. */
static const struct construct tracer_regions[] = {
    {"flush", LULL_ROLE_ARTIFICIAL},
    {"buffer flush", LULL_ROLE_ARTIFICIAL},
    {"trace buffer flush", LULL_ROLE_ARTIFICIAL},
    {"eztrace finalize", LULL_ROLE_ARTIFICIAL},
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
    if (construct && region->role == LULL_ROLE_FUNCTION)
        region->role = construct->role;
}

/* Whether the name may decide: the tracer says the same, or nothing. One that tells functions found
 * by the compiler from others knows better: "mpi_setup" is the user's. */
static bool may_be(const struct lull_region *region, unsigned paradigm)
{
    return region->paradigm == paradigm || region->paradigm == LULL_PARADIGM_USER ||
           region->paradigm == LULL_PARADIGM_OTHER;
}

static void classify_by_name(struct lull_region *region)
{
    const char *construct = omp_construct_name(region->name);
    if (may_be(region, LULL_PARADIGM_MPI) && lull_classify_mpi(region))
        return;
    /* "shmem_" is what programs call much of their own. */
    if (may_be(region, LULL_PARADIGM_MPI) && region->paradigm != LULL_PARADIGM_USER &&
        lull_classify_shmem(region))
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

/* Tracers that know nothing of kernels make them functions of the device's paradigm. */
static bool is_kernel(const struct lull_region *region)
{
    return region->role == LULL_ROLE_KERNEL ||
           (region->paradigm == LULL_PARADIGM_DEVICE && region->role == LULL_ROLE_FUNCTION);
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
