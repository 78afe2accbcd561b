/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/marker.h"

#include "base/fnv.h"
#include "record/inject.h"
#include "record/keep.h"
#include "record/libraries.h"
#include "record/omp/team.h"
#include "record/region_memory.h"
#include "record/site/map.h"
#include "record/store/definitions.h"
#include "record/thread/pause.h"

#include <dlfcn.h>
#include <link.h>
#include <lull/lull.h>
#include <pthread.h>
#include <string.h>

/* ==== the program's marks ===================================================================== */

/* Regions and iterations that programs mark, by lull.h or for other tools. */

enum { MARK_PLACES = 4096, MOST_MARKED = 64 };

/* Regions by their names, found without a lock: a hash table with open addressing. */
static struct {
    const char *name; /* atomic; NULL: free */
    uint32_t id;
} mark_places[MARK_PLACES];

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

/* The marked regions that are open on the thread; 0: the region's begin was not recorded. Of each what
 * record/region_memory.h has for its end. */
static __thread struct {
    uint32_t depth;
    uint32_t regions[MOST_MARKED];
    uint8_t measured[MOST_MARKED];
} marked;

/* These two stand in place of strdup and strcmp. In a program under the thread sanitizer those are
 * the sanitizer's functions, which do not see that a name is published under a lock and with
 * acquire and release, and would blame the program for a race. */
static const char *keep_text(const char *text)
{
    char *kept = rec_keep(strlen(text) + 1), *to = kept;
    while (to && (*to++ = *text++)) {
    }
    return kept;
}

static bool same_text(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (!*a)
            return true;
    return false;
}

/* With the lock held. The name is written last: other threads read a place once its name is
 * there. */
static uint32_t take_mark_place(uint32_t at, const char *name)
{
    const char *kept = keep_text(name);
    const struct rec_region region = {
        .paradigm = LULL_TAPE_PARADIGM_USER, .role = LULL_TAPE_ROLE_FUNCTION, .name = name};
    if (!kept)
        return 0;
    mark_places[at].id = rec_define_region(&region);
    __atomic_store_n(&mark_places[at].name, kept, __ATOMIC_RELEASE);
    return mark_places[at].id;
}

/* The place of a name, or the free one where it belongs; MARK_PLACES: neither. */
static uint32_t find_place(const char *name)
{
    uint64_t hash = lull_fnv(LULL_FNV_BEGIN, name, strlen(name));
    for (uint32_t i = 0; i < MARK_PLACES; i++) {
        uint32_t at = (uint32_t)((hash + i) % MARK_PLACES);
        const char *there = __atomic_load_n(&mark_places[at].name, __ATOMIC_ACQUIRE);
        if (!there || same_text(there, name))
            return at;
    }
    return MARK_PLACES;
}

/* The region of a name; 0: it could not be defined, now or at its first visit. */
static uint32_t region_of_mark(const char *name)
{
    uint32_t at = find_place(name);
    if (at < MARK_PLACES && __atomic_load_n(&mark_places[at].name, __ATOMIC_ACQUIRE))
        return mark_places[at].id;
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&places_lock);
    at = find_place(name);
    uint32_t id = 0;
    if (at < MARK_PLACES)
        id = mark_places[at].name ? mark_places[at].id : take_mark_place(at, name);
    pthread_mutex_unlock(&places_lock);
    rec_step_back(&aside);
    return id;
}

/* ---- what the header calls ------------------------------------------------------------------- */

/* Between close_gate and open_gate nothing is recorded that a signal handler does: it would come
 * into the middle of a record. */
static inline void close_gate(struct rec_thread *self)
{
    rec_gate_shut(self);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void open_gate(struct rec_thread *self)
{
    atomic_signal_fence(memory_order_seq_cst);
    rec_gate_open(self);
}

static void begin_mark(const char *name)
{
    if (rec_window_has_iterations)
        rec_window_begin(name);
    struct rec_thread *self = rec_current();
    uint32_t region = rec_admits(self) && name ? region_of_mark(name) : 0;
    if (marked.depth < MOST_MARKED)
        marked.regions[marked.depth] = region;
    else
        region = 0;
    const uint32_t depth = marked.depth++;
    if (region == 0)
        return;
    if (REC_UNLIKELY(rec_region_memory_on))
        marked.measured[depth] = (uint8_t)rec_region_memory_enter(region);
    close_gate(self);
    if (self->omp)
        rec_omp_unfold(self);
    rec_reserve(self, REC_MOST_SLOTS);
    rec_enter(self, region, rec_now());
    open_gate(self);
}

static void end_newest(void)
{
    if (marked.depth == 0)
        return;
    uint32_t region = --marked.depth < MOST_MARKED ? marked.regions[marked.depth] : 0;
    if (region == 0)
        return;
    struct rec_thread *self = rec_current();
    if (rec_goes_on(self)) {
        close_gate(self);
        rec_reserve(self, REC_MOST_SLOTS);
        rec_leave(self, region, rec_now());
        open_gate(self);
    }
    if (REC_UNLIKELY(rec_region_memory_on) && marked.measured[marked.depth] > 0 && rec_process.on)
        rec_region_memory_leave(marked.measured[marked.depth]);
}

void rec_mark_begin(const char *name)
{
    begin_mark(name);
}

void rec_mark_end(void)
{
    end_newest();
    if (rec_window_has_iterations)
        rec_window_end();
}

static void end_mark(const char *name)
{
    (void)name;
    rec_mark_end();
}

static void mark_iteration(struct rec_thread *self, long number)
{
    static uint32_t marker; /* atomic */
    if (!rec_admits(self))
        return;
    uint32_t id = __atomic_load_n(&marker, __ATOMIC_RELAXED);
    if (id == 0) { /* two threads may define it twice, which does no harm */
        id = rec_define_marker("iteration");
        __atomic_store_n(&marker, id, __ATOMIC_RELAXED);
    }
    rec_reserve(self, REC_MOST_SLOTS);
    if (id != 0)
        rec_number(self, LULL_TAPE_NUMBER_MARKER, id, (uint64_t)number, rec_now());
}

static void iteration(long number)
{
    if (rec_window_has_iterations)
        rec_window_iteration(number);
    mark_iteration(rec_current(), number);
    if (REC_UNLIKELY(rec_process.disturbs))
        rec_inject_mark((uint64_t)number);
}

REC_EXPORT const struct lull_marker_functions *lull_marker_functions(void);

const struct lull_marker_functions *lull_marker_functions(void)
{
    static const struct lull_marker_functions functions = {
        sizeof functions, begin_mark, end_mark, iteration, rec_pause, rec_resume};
    return rec_process.on ? &functions : NULL;
}

/* ==== the library and handles of another tool ================================================= */

/* ---- the tool's library ---------------------------------------------------------------------- */

static int take_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_adds;
    return 1;
}

/* A forked child must not walk through the loaded files: it might wait for ever for a lock of the C
 * library that another thread of the parent held. So a child looks for a function once, with
 * RTLD_NEXT alone. */
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

/* ---- handles --------------------------------------------------------------------------------- */

struct own_handle {
    const char *name;
    bool own;
};

static pthread_mutex_t own_handles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map handle_names;
static struct rec_map made_handles; /* hash of name and size -> a handle of our own */

/* The tables themselves need no repair: readers find a table that is being changed whole
 * (record/site/map.h). */
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
