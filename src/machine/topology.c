/* SPDX-License-Identifier: BSD-3-Clause */
/* The host by hwloc. First the whole system is loaded, because the number of cores that share a
 * cache counts also those that this process may not use. Then the topology is restricted to what
 * the process may use. */
#include "machine/topology.h"

#include "lull_features.h"

#if LULL_HAVE_HWLOC

#include "machine/processor.h"

#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LEVELS = 8 };

/* ---- caches ---------------------------------------------------------------------------------- */

static uint32_t cores_in(hwloc_topology_t handle, hwloc_const_cpuset_t set)
{
    int count = hwloc_get_nbobjs_inside_cpuset_by_type(handle, set, HWLOC_OBJ_CORE);
    return count > 0 ? (uint32_t)count : 0;
}

static enum lull_known inclusive(hwloc_obj_t cache)
{
    const char *text = hwloc_obj_get_info_by_name(cache, "Inclusive");
    if (!text)
        return LULL_UNKNOWN;
    return strcmp(text, "1") == 0 ? LULL_YES : LULL_NO;
}

static void gather_caches(struct lull_topology *topology, hwloc_topology_t handle,
                          struct lull_arena *arena)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE};
    topology->caches = lull_arena_zero(arena, MOST_LEVELS, sizeof *topology->caches);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hwloc_obj_t first = hwloc_get_obj_by_type(handle, types[i], 0);
        if (!first || first->attr->cache.size == 0)
            continue;
        const struct hwloc_cache_attr_s *attributes = &first->attr->cache;
        topology->caches[topology->n_caches++] = (struct lull_machine_cache){
            .level = attributes->depth,
            .kind = attributes->type == HWLOC_OBJ_CACHE_DATA ? "data" : "unified",
            .bytes = attributes->size,
            .ways = attributes->associativity > 0 ? (uint32_t)attributes->associativity : 0,
            .line_bytes = attributes->linesize,
            .instances = (uint32_t)hwloc_get_nbobjs_by_type(handle, types[i]),
            .shared_cores = cores_in(handle, first->cpuset),
            .inclusive = inclusive(first),
            .source = "hwloc"};
    }
}

/* Fills in sizes that the system hides or does not know from the processor itself. This works for
 * the running system only. */
static void complete_caches(struct lull_topology *topology)
{
    struct lull_machine_cache own[MOST_LEVELS];
    size_t count = lull_processor_caches(own, MOST_LEVELS);
    if (topology->n_caches == 0) {
        memcpy(topology->caches, own, count * sizeof *own);
        topology->n_caches = count;
        return;
    }
    for (size_t i = 0; i < topology->n_caches; i++) {
        struct lull_machine_cache *cache = &topology->caches[i];
        for (size_t k = 0; k < count; k++)
            if (own[k].level == cache->level && own[k].bytes == cache->bytes &&
                cache->inclusive == LULL_UNKNOWN)
                cache->inclusive = own[k].inclusive;
    }
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* The index of an object that holds a core; 0 where there is none of that type. */
static uint32_t index_of(hwloc_obj_t object)
{
    return object ? object->logical_index : 0;
}

static hwloc_obj_t last_level_above(hwloc_topology_t handle, hwloc_obj_t core)
{
    hwloc_obj_t found = NULL;
    for (hwloc_obj_t up = core; up; up = up->parent)
        if (hwloc_obj_type_is_dcache(up->type))
            found = up;
    return found ? found : hwloc_get_ancestor_obj_by_type(handle, HWLOC_OBJ_PACKAGE, core);
}

static hwloc_obj_t numa_of(hwloc_topology_t handle, hwloc_obj_t core)
{
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_NUMANODE, node)) != NULL)
        if (hwloc_bitmap_isincluded(core->cpuset, node->cpuset))
            return node;
    return NULL;
}

static void gather_cores(struct lull_topology *topology, hwloc_topology_t handle,
                         struct lull_arena *arena)
{
    /* Where the system does not tell cores from hardware threads, each of these is a core. */
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = hwloc_get_nbobjs_by_type(handle, type);
    topology->cores =
        lull_arena_zero(arena, count > 0 ? (size_t)count : 1, sizeof *topology->cores);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(handle, type, (unsigned)i);
        int threads = hwloc_bitmap_weight(core->cpuset);
        hwloc_obj_t last = last_level_above(handle, core);
        if (threads <= 0)
            continue;
        struct lull_topology_core *to = &topology->cores[topology->n_cores++];
        to->cpu = (uint32_t)hwloc_bitmap_first(core->cpuset);
        to->threads = (uint32_t)threads;
        to->package = index_of(hwloc_get_ancestor_obj_by_type(handle, HWLOC_OBJ_PACKAGE, core));
        to->numa = index_of(numa_of(handle, core));
        to->cache = last && last->type != HWLOC_OBJ_PACKAGE ? last->logical_index : to->package;
        topology->n_packages =
            to->package + 1 > topology->n_packages ? to->package + 1 : topology->n_packages;
        topology->n_last_level =
            to->cache + 1 > topology->n_last_level ? to->cache + 1 : topology->n_last_level;
    }
}

static void gather_numa(struct lull_topology *topology, hwloc_topology_t handle,
                        struct lull_arena *arena)
{
    int count = hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_NUMANODE);
    topology->n_numa = count > 0 ? (uint32_t)count : 1;
    topology->count_numa = count > 0 ? (size_t)count : 0;
    topology->numa = lull_arena_zero(arena, topology->n_numa, sizeof *topology->numa);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t node = hwloc_get_obj_by_type(handle, HWLOC_OBJ_NUMANODE, (unsigned)i);
        topology->numa[i] = (struct lull_machine_numa){.os_index = node->os_index,
                                                       .bytes = node->attr->numanode.local_memory,
                                                       .cores = cores_in(handle, node->cpuset)};
        topology->memory_bytes += node->attr->numanode.local_memory;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Restricts the topology to the processors that the control group allows and the process is bound
 * to. */
static bool restrict_to_usable(struct lull_topology *topology, hwloc_topology_t handle)
{
    hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(handle));
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (!usable || !bound)
        return false;
    if (hwloc_topology_is_thissystem(handle) &&
        hwloc_get_cpubind(handle, bound, HWLOC_CPUBIND_PROCESS) == 0 &&
        hwloc_bitmap_intersects(bound, usable))
        hwloc_bitmap_and(usable, usable, bound);
    topology->restricted =
        !hwloc_bitmap_isequal(usable, hwloc_topology_get_topology_cpuset(handle));
    bool done = !topology->restricted || hwloc_topology_restrict(handle, usable, 0) == 0;
    hwloc_bitmap_free(usable);
    hwloc_bitmap_free(bound);
    return done;
}

static lull_status open_with(hwloc_topology_t handle, struct lull_arena *arena,
                             struct lull_topology **ret_topology, struct lull_error *err)
{
    struct lull_topology *topology = lull_arena_zero(arena, 1, sizeof *topology);
    topology->handle = handle;
    hwloc_topology_set_flags(handle, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(handle) != 0) {
        hwloc_topology_destroy(handle);
        return lull_fail(err, LULL_ERR_IO, "the topology of this machine cannot be read");
    }
    gather_caches(topology, handle, arena);
    if (hwloc_topology_is_thissystem(handle))
        complete_caches(topology);
    if (restrict_to_usable(topology, handle))
        gather_cores(topology, handle, arena);
    gather_numa(topology, handle, arena);
    if (hwloc_topology_is_thissystem(handle) && sysconf(_SC_PHYS_PAGES) > 0)
        topology->memory_bytes =
            (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (topology->n_cores == 0) {
        hwloc_topology_destroy(handle);
        return lull_fail(err, LULL_ERR_RANGE, "there is no core that may be used");
    }
    *ret_topology = topology;
    return LULL_OK;
}

lull_status lull_topology_open(struct lull_arena *arena, struct lull_topology **ret_topology,
                               struct lull_error *err)
{
    hwloc_topology_t handle;
    if (hwloc_topology_init(&handle) != 0)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    return open_with(handle, arena, ret_topology, err);
}

lull_status lull_topology_open_fake(const char *description, struct lull_arena *arena,
                                    struct lull_topology **ret_topology, struct lull_error *err)
{
    hwloc_topology_t handle;
    if (hwloc_topology_init(&handle) != 0)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    size_t length = strlen(description);
    bool is_xml = length > 4 && strcmp(description + length - 4, ".xml") == 0;
    int status = is_xml ? hwloc_topology_set_xml(handle, description)
                        : hwloc_topology_set_synthetic(handle, description);
    if (status != 0) {
        hwloc_topology_destroy(handle);
        return lull_fail(err, LULL_ERR_FORMAT, "'%s' does not describe a topology", description);
    }
    return open_with(handle, arena, ret_topology, err);
}

void lull_topology_close(struct lull_topology *topology)
{
    if (topology)
        hwloc_topology_destroy(topology->handle);
}

lull_status lull_topology_pin(const struct lull_topology *topology, size_t core,
                              struct lull_error *err)
{
    hwloc_topology_t handle = topology->handle;
    if (!hwloc_topology_is_thissystem(handle))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "this is not the topology of the running system");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    hwloc_bitmap_only(set, topology->cores[core].cpu);
    int status = hwloc_set_cpubind(handle, set, HWLOC_CPUBIND_THREAD);
    int reason = errno;
    hwloc_bitmap_free(set);
    errno = reason;
    return status == 0 ? LULL_OK
                       : lull_fail_errno(err, "cannot pin a thread to processor %u",
                                         topology->cores[core].cpu);
}

#else

static lull_status not_built(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_UNSUPPORTED,
                     "this lull was built without hwloc, which it needs to measure a machine");
}

lull_status lull_topology_open(struct lull_arena *arena, struct lull_topology **ret_topology,
                               struct lull_error *err)
{
    (void)arena;
    (void)ret_topology;
    return not_built(err);
}

lull_status lull_topology_open_fake(const char *description, struct lull_arena *arena,
                                    struct lull_topology **ret_topology, struct lull_error *err)
{
    (void)description;
    return lull_topology_open(arena, ret_topology, err);
}

void lull_topology_close(struct lull_topology *topology)
{
    (void)topology;
}

lull_status lull_topology_pin(const struct lull_topology *topology, size_t core,
                              struct lull_error *err)
{
    (void)topology;
    (void)core;
    return not_built(err);
}

#endif
