/* Threads that the program makes by itself become locations; those of runtimes either do when they
 * run the program's code (OpenMP) or are of no interest (progress threads of MPI). */
#include "record/core.h"
#include "record/omp/team.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void *start_function(void *);
typedef int create_function(pthread_t *, const pthread_attr_t *, start_function *, void *);
typedef int join_function(pthread_t, void **);

REC_EXPORT create_function pthread_create;
REC_EXPORT join_function pthread_join;

/* Beginnings of the names of libraries whose threads are their own affair. */
static const char *const runtimes[] = {
    "libgomp",  "libomp",  "libiomp",   "libmpi",    "libopen-", "libpmix",   "libprrte",
    "libevent", "libpmi",  "libuc",     "libfabric", "libibv",   "librdmacm", "libpsm",
    "libhwloc", "libcuda", "libnvidia", "libmlx",    "libefa",   "mca_",      "liblull-record",
};

static uint32_t create_region, join_region;

static uint32_t region_of(uint32_t *id, const char *name, uint32_t role)
{
    uint32_t known = __atomic_load_n(id, __ATOMIC_ACQUIRE);
    if (REC_LIKELY(known != 0))
        return known;
    const struct rec_region region = {
        .paradigm = LULL_TAPE_PARADIGM_PTHREAD, .role = role, .name = name};
    return rec_define_region_once(id, &region);
}

static bool is_runtime(const void *caller)
{
    Dl_info info;
    if (dladdr(caller, &info) == 0 || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *name = slash ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (strncmp(name, runtimes[i], strlen(runtimes[i])) == 0)
            return true;
    return false;
}

struct beginning {
    start_function *start;
    void *argument;
};

static void *begin(void *argument)
{
    struct beginning beginning = *(struct beginning *)argument;
    free(argument);
    rec_thread_begin(REC_ROLE_FREE);
    return beginning.start(beginning.argument);
}

/* Found when it is first needed: other libraries' constructors make threads, too. */
static create_function *real_create(void)
{
    static create_function *found; /* atomic */
    create_function *create = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (create)
        return create;
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &symbol, sizeof create);
    __atomic_store_n(&found, create, __ATOMIC_RELAXED);
    return create;
}

static join_function *real_join(void)
{
    static join_function *found; /* atomic */
    join_function *join = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (join)
        return join;
    void *symbol = dlsym(RTLD_NEXT, "pthread_join");
    memcpy(&join, &symbol, sizeof join);
    __atomic_store_n(&found, join, __ATOMIC_RELAXED);
    return join;
}

/* An OpenMP construct may be open around, where threads are made on its account. */
static uint64_t open_call(struct rec_thread *self, uint32_t region)
{
    if (self->omp)
        rec_omp_unfold(self);
    return rec_open_call(self, region);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, start_function *start,
                   void *argument)
{
    struct rec_thread *self = rec_process.on ? rec_current() : &rec_nobody;
    const bool recorded = rec_admits(self);
    struct beginning *beginning = NULL;
    /* Who calls may be a sanitizer in between. */
    if (!(self->gate & REC_GATE_INSIDE) && !rec_omp_is_forking(self) &&
        !is_runtime(__builtin_return_address(0)))
        beginning = malloc(sizeof *beginning);
    if (!beginning)
        return real_create()(thread, attributes, start, argument);
    *beginning = (struct beginning){start, argument};
    uint32_t region = region_of(&create_region, "pthread_create", LULL_TAPE_ROLE_THREAD_CREATE);
    uint64_t now = recorded ? open_call(self, region) : 0;
    int result = real_create()(thread, attributes, begin, beginning);
    if (recorded)
        rec_call(self, region, now, rec_now() - now);
    if (result != 0)
        free(beginning);
    return result;
}

int pthread_join(pthread_t thread, void **result)
{
    struct rec_thread *self = rec_process.on ? rec_current() : &rec_nobody;
    if (!rec_admits(self) || is_runtime(__builtin_return_address(0)))
        return real_join()(thread, result);
    uint32_t region = region_of(&join_region, "pthread_join", LULL_TAPE_ROLE_THREAD_WAIT);
    uint64_t now = open_call(self, region);
    int code = real_join()(thread, result);
    rec_call(self, region, now, rec_now() - now);
    return code;
}
