#include "record/caller.h"

#include "record/aside.h"
#include "record/private.h"
#include "record/site/map.h"

#include <link.h>
#include <string.h>

/* Beginnings of the names of libraries whose threads and calls are their own affair. */
static const char *const runtime_names[] = {
    "libgomp",  "libomp",  "libiomp",   "libmpi",    "libopen-", "libpmix",   "libprrte",
    "libevent", "libpmi",  "libuc",     "libfabric", "libibv",   "librdmacm", "libpsm",
    "libhwloc", "libcuda", "libnvidia", "libmlx",    "libefa",   "mca_",
};

/* Of this file, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_own_library(const void *place)
{
    return (uintptr_t)place >= (uintptr_t)__ehdr_start && (uintptr_t)place < (uintptr_t)_end;
}

struct runtime_search {
    uintptr_t place;
    bool runtime;
};

static int look_at_file(struct dl_phdr_info *info, size_t size, void *context)
{
    struct runtime_search *search = context;
    (void)size;
    if (!rec_file_holds(info, search->place))
        return 0;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    for (size_t i = 0; i < sizeof runtime_names / sizeof *runtime_names; i++)
        search->runtime |= strncmp(name, runtime_names[i], strlen(runtime_names[i])) == 0;
    return 1;
}

bool rec_is_runtime(const void *caller)
{
    enum { PROGRAM = 1, RUNTIME };
    static struct rec_map places;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const uintptr_t known = rec_map_get(&places, (uintptr_t)caller);
    if (REC_LIKELY(known != 0))
        return known == RUNTIME;
    if (is_own_library(caller))
        return true;
    const struct rec_aside aside = rec_step_aside();
    struct runtime_search search = {.place = (uintptr_t)caller};
    dl_iterate_phdr(look_at_file, &search); /* unlike dladdr it waits for no constructor */
    pthread_mutex_lock(&lock);
    rec_map_put(&places, (uintptr_t)caller, search.runtime ? RUNTIME : PROGRAM);
    pthread_mutex_unlock(&lock);
    rec_step_back(&aside);
    return search.runtime;
}
