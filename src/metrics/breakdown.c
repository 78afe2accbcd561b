/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/breakdown.h"

#include <stdlib.h>
#include <string.h>

/* ==== joining ================================================================================= */

/* Breakdowns are joined by laying the items of all parts side by side, sorting them by what
 * identifies them, and folding neighbours that are equal. The result depends on the sums alone, so
 * that merging is associative and commutative. */

struct join {
    const struct lull_breakdown *parts[2];
    int n_parts;
    struct lull_arena *arena;
    struct lull_breakdown *to;
    uint32_t *counter_maps[2]; /* index in the part -> index in `to` */
    uint32_t *process_maps[2];
    bool overflow;
    struct lull_error *err;
};

static void add(struct join *join, int64_t *to, int64_t value)
{
    if (__builtin_add_overflow(*to, value, to))
        join->overflow = true;
}

static size_t total(const struct join *join, size_t offset_of_count)
{
    size_t sum = 0;
    for (int i = 0; i < join->n_parts; i++)
        sum += *(const uint32_t *)((const char *)join->parts[i] + offset_of_count);
    return sum;
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* ---- counters -------------------------------------------------------------------------------- */

static int by_counter_name(const void *a, const void *b)
{
    const struct lull_breakdown_counter *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)x->role - (int)y->role;
}

static uint32_t *map_counters(struct join *join, const struct lull_breakdown *part)
{
    uint32_t *map = lull_arena_zero(join->arena, part->n_counters, sizeof *map);
    for (uint32_t i = 0; i < part->n_counters; i++) {
        const struct lull_breakdown_counter *found =
            bsearch(&part->counters[i], join->to->counters, join->to->n_counters,
                    sizeof *join->to->counters, by_counter_name);
        map[i] = (uint32_t)(found - join->to->counters);
    }
    return map;
}

static lull_status join_counters(struct join *join)
{
    struct lull_breakdown *to = join->to;
    size_t n = total(join, offsetof(struct lull_breakdown, n_counters)), kept = 0;
    to->counters = lull_arena_zero(join->arena, n, sizeof *to->counters);
    n = 0;
    for (int i = 0; i < join->n_parts; i++) {
        for (uint32_t c = 0; c < join->parts[i]->n_counters; c++) {
            to->counters[n] = join->parts[i]->counters[c];
            to->counters[n].name = lull_arena_strdup(join->arena, to->counters[n].name);
            n++;
        }
    }
    if (n)
        qsort(to->counters, n, sizeof *to->counters, by_counter_name);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(to->counters[kept - 1].name, to->counters[i].name) == 0) {
            if (to->counters[kept - 1].role != to->counters[i].role)
                return lull_fail(join->err, LULL_ERR_RANGE,
                                 "counter '%s' means different things in the parts of the run",
                                 to->counters[i].name);
            continue;
        }
        to->counters[kept++] = to->counters[i];
    }
    to->n_counters = (uint32_t)kept;
    for (int i = 0; i < join->n_parts; i++)
        join->counter_maps[i] = map_counters(join, join->parts[i]);
    return LULL_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int compare_process_ranks(const void *a, const void *b)
{
    const struct lull_process_breakdown *x = a, *y = b;
    return compare_u32(x->rank, y->rank);
}

/* The same process in two parts of a run. */
static void join_process(struct lull_process_breakdown *to,
                         const struct lull_process_breakdown *from)
{
    if (from->node < to->node)
        to->node = from->node;
    if (from->memory.peak > to->memory.peak)
        to->memory = from->memory;
}

static void join_processes(struct join *join)
{
    struct lull_breakdown *to = join->to;
    size_t n = total(join, offsetof(struct lull_breakdown, n_processes)), kept = 0;
    to->processes = lull_arena_zero(join->arena, n, sizeof *to->processes);
    n = 0;
    for (int i = 0; i < join->n_parts; i++) {
        for (uint32_t p = 0; p < join->parts[i]->n_processes; p++)
            to->processes[n++] = join->parts[i]->processes[p];
    }
    if (n)
        qsort(to->processes, n, sizeof *to->processes, compare_process_ranks);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || to->processes[kept - 1].rank != to->processes[i].rank) {
            to->processes[kept] = to->processes[i];
            to->processes[kept].name = lull_arena_strdup(join->arena, to->processes[i].name);
            kept++;
        } else {
            join_process(&to->processes[kept - 1], &to->processes[i]);
        }
    }
    to->n_processes = (uint32_t)kept;
    for (int i = 0; i < join->n_parts; i++) {
        const struct lull_breakdown *part = join->parts[i];
        uint32_t *map = lull_arena_zero(join->arena, part->n_processes, sizeof *map);
        for (uint32_t p = 0; p < part->n_processes; p++) {
            const struct lull_process_breakdown *found =
                bsearch(&part->processes[p], to->processes, to->n_processes, sizeof *to->processes,
                        compare_process_ranks);
            map[p] = (uint32_t)(found - to->processes);
        }
        join->process_maps[i] = map;
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

static int compare_threads(const void *a, const void *b)
{
    const struct lull_thread_breakdown *x = a, *y = b;
    int order = compare_u32(x->process, y->process);
    if (!order)
        order = (int)x->kind - (int)y->kind;
    return order ? order : compare_u32(x->number, y->number);
}

static uint64_t *lay_counters(const struct join *join, int part, const uint64_t *from)
{
    uint64_t *to =
        lull_arena_zero(join->arena, (size_t)join->to->n_counters * LULL_ACTIVITIES, sizeof *to);
    for (uint32_t c = 0; c < join->parts[part]->n_counters; c++) {
        uint64_t *row = to + (size_t)join->counter_maps[part][c] * LULL_ACTIVITIES;
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++)
            row[activity] += from[(size_t)c * LULL_ACTIVITIES + activity];
    }
    return to;
}

static void fold_thread(struct join *join, struct lull_thread_breakdown *to,
                        const struct lull_thread_breakdown *from)
{
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        add(join, &to->times.ns[activity][0], from->times.ns[activity][0]);
        add(join, &to->times.ns[activity][1], from->times.ns[activity][1]);
    }
    add(join, &to->disabled_ns, from->disabled_ns);
    for (size_t i = 0; i < (size_t)join->to->n_counters * LULL_ACTIVITIES; i++)
        to->counters[i] += from->counters[i];
}

static lull_status join_threads(struct join *join)
{
    struct lull_breakdown *to = join->to;
    size_t n = total(join, offsetof(struct lull_breakdown, n_threads)), kept = 0;
    to->threads = lull_arena_zero(join->arena, n, sizeof *to->threads);
    n = 0;
    for (int i = 0; i < join->n_parts; i++) {
        for (uint32_t t = 0; t < join->parts[i]->n_threads; t++) {
            struct lull_thread_breakdown *thread = &to->threads[n++];
            *thread = join->parts[i]->threads[t];
            thread->process = join->process_maps[i][thread->process];
            thread->counters = lay_counters(join, i, thread->counters);
        }
    }
    if (n)
        qsort(to->threads, n, sizeof *to->threads, compare_threads);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || compare_threads(&to->threads[kept - 1], &to->threads[i]) != 0) {
            to->threads[kept++] = to->threads[i];
            continue;
        }
        if (to->threads[kept - 1].master != to->threads[i].master)
            return lull_fail(join->err, LULL_ERR_RANGE,
                             "thread %u of rank %u is the master in one part of the run only",
                             to->threads[i].number, to->processes[to->threads[i].process].rank);
        fold_thread(join, &to->threads[kept - 1], &to->threads[i]);
    }
    to->n_threads = (uint32_t)kept;
    return LULL_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

static int compare_calls(const struct lull_region_breakdown *x,
                         const struct lull_region_breakdown *y)
{
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->site, y->site);
}

static int by_region(const void *a, const void *b)
{
    const struct lull_region_breakdown *x = a, *y = b;
    int order = compare_calls(x, y);
    if (!order)
        order = (int)x->paradigm - (int)y->paradigm;
    if (!order)
        order = (int)x->role - (int)y->role;
    return order ? order : (int)x->activity - (int)y->activity;
}

static void fold_region(struct join *join, struct lull_region_breakdown *to,
                        const struct lull_region_breakdown *from)
{
    to->visits += from->visits;
    add(join, &to->inclusive_ns, from->inclusive_ns);
    add(join, &to->exclusive_ns, from->exclusive_ns);
    add(join, &to->useful_ns, from->useful_ns);
}

static void join_regions(struct join *join)
{
    struct lull_breakdown *to = join->to;
    size_t n = total(join, offsetof(struct lull_breakdown, n_regions)), kept = 0;
    bool wanted = false;
    for (int i = 0; i < join->n_parts; i++)
        wanted |= join->parts[i]->regions != NULL;
    if (!wanted)
        return;
    to->regions = lull_arena_zero(join->arena, n, sizeof *to->regions);
    n = 0;
    for (int i = 0; i < join->n_parts; i++) {
        for (uint32_t r = 0; r < join->parts[i]->n_regions; r++)
            to->regions[n++] = join->parts[i]->regions[r];
    }
    if (n)
        qsort(to->regions, n, sizeof *to->regions, by_region);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && compare_calls(&to->regions[kept - 1], &to->regions[i]) == 0) {
            fold_region(join, &to->regions[kept - 1], &to->regions[i]);
            continue;
        }
        to->regions[kept] = to->regions[i];
        to->regions[kept].name = lull_arena_strdup(join->arena, to->regions[i].name);
        to->regions[kept].site = lull_arena_strdup(join->arena, to->regions[i].site);
        kept++;
    }
    to->n_regions = (uint32_t)kept;
}

/* ---- parallel regions ------------------------------------------------------------------------ */

static int by_parallel(const void *a, const void *b)
{
    const struct lull_parallel_breakdown *x = a, *y = b;
    int order = compare_u32(x->process, y->process);
    return order ? order : strcmp(x->name, y->name);
}

static void fold_parallel(struct join *join, struct lull_parallel_breakdown *to,
                          const struct lull_parallel_breakdown *from)
{
    to->executions += from->executions;
    add(join, &to->duration_ns, from->duration_ns);
    add(join, &to->useful_ns, from->useful_ns);
    add(join, &to->max_useful_ns, from->max_useful_ns);
    add(join, &to->schedule_ns, from->schedule_ns);
    add(join, &to->lock_ns, from->lock_ns);
    add(join, &to->sync_ns, from->sync_ns);
    add(join, &to->mpi_ns, from->mpi_ns);
    add(join, &to->other_ns, from->other_ns);
}

static void join_parallels(struct join *join)
{
    struct lull_breakdown *to = join->to;
    size_t n = total(join, offsetof(struct lull_breakdown, n_parallels)), kept = 0;
    to->parallels = lull_arena_zero(join->arena, n, sizeof *to->parallels);
    n = 0;
    for (int i = 0; i < join->n_parts; i++) {
        for (uint32_t p = 0; p < join->parts[i]->n_parallels; p++) {
            to->parallels[n] = join->parts[i]->parallels[p];
            to->parallels[n].process = join->process_maps[i][to->parallels[n].process];
            n++;
        }
    }
    if (n)
        qsort(to->parallels, n, sizeof *to->parallels, by_parallel);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_parallel(&to->parallels[kept - 1], &to->parallels[i]) == 0) {
            fold_parallel(join, &to->parallels[kept - 1], &to->parallels[i]);
            continue;
        }
        to->parallels[kept] = to->parallels[i];
        to->parallels[kept].name = lull_arena_strdup(join->arena, to->parallels[i].name);
        kept++;
    }
    to->n_parallels = (uint32_t)kept;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int by_device_id(const void *a, const void *b)
{
    const struct lull_device_breakdown *x = a, *y = b;
    return strcmp(x->id, y->id);
}

/* Streams are counted in each part: the larger number is that of the whole, unless parts have different streams. */
static void fold_device(struct join *join, struct lull_device_breakdown *to,
                        const struct lull_device_breakdown *from)
{
    to->n_streams = from->n_streams > to->n_streams ? from->n_streams : to->n_streams;
    to->n_processes = from->n_processes > to->n_processes ? from->n_processes : to->n_processes;
    if (from->absent)
        to->absent = lull_arena_strdup(join->arena, from->absent);
    add(join, &to->kernel_ns, from->kernel_ns);
    add(join, &to->busy_ns, from->busy_ns);
    add(join, &to->copy_ns, from->copy_ns);
    add(join, &to->copy_beside_ns, from->copy_beside_ns);
    add(join, &to->exchange_ns, from->exchange_ns);
    add(join, &to->exchange_beside_ns, from->exchange_beside_ns);
    for (int loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        add(join, &to->lost_ns[loss], from->lost_ns[loss]);
    to->n_behind_waits += from->n_behind_waits;
    for (int loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        add(join, &to->behind_wait_ns[loss], from->behind_wait_ns[loss]);
    for (int hold = 0; hold < LULL_DEVICE_HOLDS; hold++) {
        add(join, &to->held[hold].held_ns, from->held[hold].held_ns);
        add(join, &to->held[hold].overlap_ns, from->held[hold].overlap_ns);
        add(join, &to->held[hold].shorter_ns, from->held[hold].shorter_ns);
    }
}

static void join_devices(struct join *join)
{
    struct lull_breakdown *to = join->to;
    size_t n = total(join, offsetof(struct lull_breakdown, n_devices)), kept = 0;
    to->devices = lull_arena_zero(join->arena, n, sizeof *to->devices);
    n = 0;
    for (int i = 0; i < join->n_parts; i++) {
        for (uint32_t d = 0; d < join->parts[i]->n_devices; d++)
            to->devices[n++] = join->parts[i]->devices[d];
    }
    if (n)
        qsort(to->devices, n, sizeof *to->devices, by_device_id);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_device_id(&to->devices[kept - 1], &to->devices[i]) == 0) {
            fold_device(join, &to->devices[kept - 1], &to->devices[i]);
            continue;
        }
        to->devices[kept] = to->devices[i];
        to->devices[kept].id = lull_arena_strdup(join->arena, to->devices[i].id);
        to->devices[kept].name = lull_arena_strdup(join->arena, to->devices[i].name);
        if (to->devices[i].absent)
            to->devices[kept].absent = lull_arena_strdup(join->arena, to->devices[i].absent);
        kept++;
    }
    to->n_devices = (uint32_t)kept;
}

/* ---- what follows from the rest -------------------------------------------------------------- */

int64_t lull_thread_window(const struct lull_thread_breakdown *thread)
{
    int64_t sum = thread->disabled_ns;
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        if (__builtin_add_overflow(sum, thread->times.ns[activity][0], &sum) ||
            __builtin_add_overflow(sum, thread->times.ns[activity][1], &sum))
            return -1;
    }
    return sum;
}

static int by_number(const void *a, const void *b)
{
    return compare_u32(*(const uint32_t *)a, *(const uint32_t *)b);
}

static uint32_t count_nodes(const struct join *join)
{
    const struct lull_breakdown *to = join->to;
    uint32_t *nodes = lull_arena_zero(join->arena, to->n_processes, sizeof *nodes);
    uint32_t n = 0, different = 0;
    for (uint32_t i = 0; i < to->n_processes; i++) {
        if (to->processes[i].node != LULL_NONE)
            nodes[n++] = to->processes[i].node;
    }
    if (n)
        qsort(nodes, n, sizeof *nodes, by_number);
    for (uint32_t i = 0; i < n; i++)
        different += i == 0 || nodes[i] != nodes[i - 1];
    return different;
}

/* The time in which a thread computed, or a device's stream was busy. */
static int64_t busy_time(const struct lull_thread_breakdown *thread)
{
    const struct lull_times *times = &thread->times;
    int64_t busy = times->ns[LULL_USEFUL][0] + times->ns[LULL_USEFUL][1];
    if (thread->kind == LULL_LOCATION_DEVICE)
        busy += times->ns[LULL_DEVICE][0] + times->ns[LULL_DEVICE][1];
    return busy;
}

static int64_t busiest_device(const struct lull_breakdown *breakdown)
{
    int64_t busiest = 0;
    for (uint32_t i = 0; i < breakdown->n_devices; i++)
        busiest = breakdown->devices[i].busy_ns > busiest ? breakdown->devices[i].busy_ns : busiest;
    return busiest;
}

/* The runtime, without pauses of masters as far as no other thread goes on meanwhile. */
static int64_t find_runtime(const struct lull_breakdown *breakdown)
{
    int64_t masters = 0, busiest = busiest_device(breakdown), longest = 0;
    bool has_master = false;
    for (uint32_t i = 0; i < breakdown->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[i];
        int64_t measured = lull_thread_window(thread) - thread->disabled_ns;
        int64_t busy = busy_time(thread);
        longest = measured > longest ? measured : longest;
        busiest = busy > busiest ? busy : busiest;
        if (!thread->master)
            continue;
        has_master = true;
        masters = measured > masters ? measured : masters;
    }
    if (!has_master)
        return longest;
    return masters > busiest ? masters : busiest;
}

static void clear_derived(struct lull_process_breakdown *process)
{
    process->first_thread = process->n_threads = process->n_cpu_threads = 0;
    process->window_ns = 0;
}

static lull_status derive(struct join *join)
{
    struct lull_breakdown *to = join->to;
    for (uint32_t i = 0; i < to->n_processes; i++)
        clear_derived(&to->processes[i]);
    for (uint32_t i = 0; i < to->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &to->threads[i];
        struct lull_process_breakdown *process = &to->processes[thread->process];
        int64_t window = lull_thread_window(thread);
        if (window < 0)
            join->overflow = true;
        else if (window > to->duration_ns)
            return lull_fail(join->err, LULL_ERR_RANGE,
                             "thread %u of rank %u has times of %.9g s, more than the %.9g s of "
                             "the run: is a part there twice?",
                             thread->number, process->rank, 1e-9 * (double)window,
                             1e-9 * (double)to->duration_ns);
        if (process->n_threads++ == 0)
            process->first_thread = i;
        process->n_cpu_threads += thread->kind == LULL_LOCATION_THREAD;
        process->window_ns = window > process->window_ns ? window : process->window_ns;
    }
    for (uint32_t i = 0; i < to->n_devices; i++)
        if (to->devices[i].busy_ns > to->duration_ns)
            return lull_fail(join->err, LULL_ERR_RANGE,
                             "device '%s' was busy for %.9g s, more than the %.9g s of the run: is "
                             "a part there twice?",
                             to->devices[i].id, 1e-9 * (double)to->devices[i].busy_ns,
                             1e-9 * (double)to->duration_ns);
    if (!join->overflow)
        to->runtime_ns = find_runtime(to);
    to->n_nodes = count_nodes(join);
    return LULL_OK;
}

lull_status lull_breakdown_join(const struct lull_breakdown *a, const struct lull_breakdown *b,
                                struct lull_arena *arena, struct lull_breakdown *ret_joined,
                                struct lull_error *err)
{
    struct lull_breakdown joined = {
        .run = a->run,
        .ideal_runtime_ns = b ? 0 : a->ideal_runtime_ns,
        .replayed_runtime_ns = b ? 0 : a->replayed_runtime_ns,
        .replayed_error_ns = b ? 0 : a->replayed_error_ns,
        .ideal_absent = b || !a->ideal_absent ? NULL : lull_arena_strdup(arena, a->ideal_absent),
        .duration_ns = b && b->duration_ns > a->duration_ns ? b->duration_ns : a->duration_ns,
        .from_sums = a->from_sums || (b && b->from_sums),
    };
    struct join join = {
        .parts = {a, b}, .n_parts = b ? 2 : 1, .arena = arena, .to = &joined, .err = err};
    lull_status status = join_counters(&join);
    if (status != LULL_OK)
        return status;
    join_processes(&join);
    status = join_threads(&join);
    if (status != LULL_OK)
        return status;
    join_devices(&join);
    join_regions(&join);
    join_parallels(&join);
    status = derive(&join);
    if (status != LULL_OK)
        return status;
    if (join.overflow)
        return lull_fail(err, LULL_ERR_RANGE, "the times of the run add up to more than 292 years");
    *ret_joined = joined;
    return LULL_OK;
}

lull_status lull_breakdown_merge(struct lull_breakdown *whole, const struct lull_breakdown *part,
                                 struct lull_arena *arena, struct lull_error *err)
{
    return lull_breakdown_join(whole, part, arena, whole, err);
}

/* ==== names =================================================================================== */

const char *lull_device_loss_id(unsigned loss)
{
    static const char *const ids[LULL_DEVICE_LOSSES] = {[LULL_LOST_COPYING] = "copying",
                                                        [LULL_LOST_EXCHANGING] = "exchanging",
                                                        [LULL_LOST_HOST] = "host",
                                                        [LULL_LOST_MPI] = "mpi",
                                                        [LULL_LOST_RUNTIME] = "runtime",
                                                        [LULL_LOST_LAUNCH] = "launch",
                                                        [LULL_LOST_OTHER_DEVICE] = "other_device",
                                                        [LULL_LOST_NO_WORK] = "no_work",
                                                        [LULL_LOST_UNKNOWN] = "unknown"};
    return ids[loss];
}

/* ==== a breakdown before its numbers ========================================================== */

static void outline_process(const struct lull_trace *trace, const struct lull_process *from,
                            struct lull_arena *arena, struct lull_breakdown *breakdown)
{
    uint32_t index = breakdown->n_processes++;
    breakdown->processes[index] = (struct lull_process_breakdown){
        .name = lull_arena_strdup(arena, from->name),
        .rank = from->rank,
        .node = from->node,
        .first_thread = breakdown->n_threads,
        .n_threads = from->n_locations,
        .n_cpu_threads = from->n_threads,
        .memory = from->memory,
    };
    for (uint32_t i = 0; i < from->n_locations; i++) {
        const struct lull_location *location = &trace->locations[from->first_location + i];
        breakdown->threads[breakdown->n_threads++] = (struct lull_thread_breakdown){
            .process = index,
            .number = location->number,
            .kind = location->kind,
            .master = i == 0 && from->n_threads > 0,
            .counters = lull_arena_zero(arena, (size_t)trace->n_counters * LULL_ACTIVITIES,
                                        sizeof(uint64_t)),
        };
    }
}

struct lull_breakdown *lull_breakdown_outline(const struct lull_trace *trace, uint32_t application,
                                              struct lull_arena *arena)
{
    struct lull_breakdown *breakdown = lull_arena_zero(arena, 1, sizeof *breakdown);
    breakdown->run = lull_arena_strdup(arena, trace->path ? trace->path : "");
    breakdown->duration_ns = trace->duration;
    breakdown->processes = lull_arena_zero(arena, trace->n_processes, sizeof *breakdown->processes);
    breakdown->threads = lull_arena_zero(arena, trace->n_locations, sizeof *breakdown->threads);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == application)
            outline_process(trace, &trace->processes[p], arena, breakdown);
    breakdown->counters = lull_arena_zero(arena, trace->n_counters, sizeof *breakdown->counters);
    breakdown->n_counters = trace->n_counters;
    for (uint32_t i = 0; i < trace->n_counters; i++) {
        breakdown->counters[i].name = lull_arena_strdup(arena, trace->counters[i].name);
        breakdown->counters[i].role = trace->counters[i].role;
    }
    return breakdown;
}
