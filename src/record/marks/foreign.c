#include "record/marks/foreign.h"

#include "base/fnv.h"
#include "record/aside.h"
#include "record/keep.h"
#include "record/private.h"
#include "record/site/map.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

/* ---- the tool's library -----------------------------------------------------------------------
 */

static int take_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_adds;
    return 1;
}

/* A forked child must not walk through the files: the C library leaves the lock that another thread
 * of the parent had there. It looks once, behind us. */
static bool forked;

void *rec_original(struct rec_original *original)
{
    void *found = __atomic_load_n(&original->found, __ATOMIC_ACQUIRE);
    uint64_t loaded = UINT64_MAX;
    if (found)
        return found;
    if (!forked)
        dl_iterate_phdr(take_loaded, &loaded);
    if (__atomic_load_n(&original->looked, __ATOMIC_RELAXED) == loaded)
        return NULL;
    const struct rec_aside aside = rec_step_aside();
    found = dlsym(RTLD_NEXT, original->name);
    void *library = found || forked ? NULL : rec_private_library(original->library, original->name);
    if (library)
        found = dlsym(library, original->name);
    __atomic_store_n(&original->looked, loaded, __ATOMIC_RELAXED);
    __atomic_store_n(&original->found, found, __ATOMIC_RELEASE);
    rec_step_back(&aside);
    return found;
}

/* ---- handles ----------------------------------------------------------------------------------
 */

struct own_handle {
    const char *name;
    bool own;
};

static pthread_mutex_t own_handles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map handle_names;
static struct rec_map made_handles; /* hash of name and size -> a handle of our own */

/* Tables that were being changed are whole for whoever reads them. */
void rec_handles_forked(void)
{
    forked = true;
    pthread_mutex_init(&own_handles_lock, NULL);
}

static const struct own_handle *find_handle(const void *handle)
{
    return (const struct own_handle *)rec_map_get(&handle_names, (uintptr_t)handle);
}

static const char *keep_handle_name(const void *handle, const char *name, bool own)
{
    struct own_handle *fresh = rec_keep(sizeof *fresh);
    char *text = rec_keep(strlen(name) + 1);
    if (!fresh || !text)
        return NULL;
    *fresh = (struct own_handle){strcpy(text, name), own};
    pthread_mutex_lock(&own_handles_lock);
    const bool good = rec_map_put(&handle_names, (uintptr_t)handle, (uintptr_t)fresh);
    pthread_mutex_unlock(&own_handles_lock);
    return good ? text : NULL;
}

void rec_handle_is(const void *handle, const char *name)
{
    const struct own_handle *known = handle ? find_handle(handle) : NULL;
    if (handle && name && (!known || strcmp(known->name, name) != 0))
        keep_handle_name(handle, name, false);
}

const char *rec_handle_name(const void *handle)
{
    const struct own_handle *known = handle ? find_handle(handle) : NULL;
    return known ? known->name : NULL;
}

bool rec_handle_is_own(const void *handle)
{
    const struct own_handle *known = handle ? find_handle(handle) : NULL;
    return known && known->own;
}

void *rec_handle_make(const char *name, size_t size)
{
    const uintptr_t key = (uintptr_t)lull_fnv(LULL_FNV_BEGIN ^ size, name, strlen(name)) | 1;
    const char **handle = (const char **)rec_map_get(&made_handles, key);
    if (handle && strcmp(rec_handle_name(handle), name) == 0)
        return handle;
    handle = rec_keep(sizeof *handle + size);
    const char *text = handle ? keep_handle_name(handle, name, true) : NULL;
    if (!text)
        return NULL;
    *handle = text;
    pthread_mutex_lock(&own_handles_lock);
    rec_map_put(&made_handles, key, (uintptr_t)handle);
    pthread_mutex_unlock(&own_handles_lock);
    return handle;
}
