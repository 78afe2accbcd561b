/* Making a core, taking its sums out, and releasing it. */
#include "metrics/breakdown/merge.h"
#include "metrics/breakdown/place.h"

#include <stdlib.h>
#include <string.h>

/* A worker's span is cut into so many pieces at most. */
enum { PIECES = 4096 };

static void free_place(struct place *place)
{
    if (!place)
        return;
    free(place->stack);
    free(place->counters);
    free(place->read_at);
    free(place);
}

static struct place *make_place(const struct lull_core *core, uint32_t index)
{
    const struct lull_trace *trace = core->trace;
    const struct lull_location *location = &trace->locations[index];
    const struct lull_process *process = &trace->processes[location->process];
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        return NULL;
    place->process = location->process;
    place->thread = index - process->first_location;
    place->kind = location->kind;
    place->codes = core->codes[location->kind];
    place->role = location->role;
    place->state = NO_STATE;
    place->state_end = place->call_end = place->flush_end = NEVER;
    place->last = OUTSIDE;
    place->window_at = core->whole.begin;
    if (core->windows)
        place->window_at = core->windows->counts[place->process]
                               ? core->windows->intervals[place->process][0].begin
                               : NEVER;
    if (place->thread < process->n_threads)
        place->executions = core->executions[place->process];
    place->cut_at = place->executions && place->thread > 0 ? core->piece : NEVER;
    place->detail = core->sums || trace->n_counters;
    if (trace->n_counters) {
        place->counters =
            calloc((size_t)trace->n_counters * LULL_ACTIVITIES, sizeof *place->counters);
        place->read_at = calloc(trace->n_counters, sizeof *place->read_at);
        if (!place->counters || !place->read_at) {
            free_place(place);
            return NULL;
        }
    }
    lull_place_refresh(core, place);
    return place;
}

static bool make_places(struct lull_core *core)
{
    const struct lull_trace *trace = core->trace;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (process->application != core->application)
            continue;
        if (process->n_threads &&
            !(core->executions[p] = lull_executions_create(process->n_threads)))
            return false;
        for (uint32_t i = 0; i < process->n_locations; i++) {
            uint32_t location = process->first_location + i;
            if (!(core->places[location] = make_place(core, location)))
                return false;
        }
    }
    return true;
}

static struct region_code *make_codes(const struct lull_trace *trace, unsigned location_kind)
{
    struct region_code *codes = calloc(trace->n_regions + (size_t)1, sizeof *codes);
    for (uint32_t i = 0; codes && i < trace->n_regions; i++) {
        uint8_t activity = lull_activity_on(&trace->regions[i], location_kind);
        codes[i].activity = activity == LULL_ACTIVITIES ? INHERIT : activity;
        codes[i].parallel = trace->regions[i].parallel;
    }
    return codes;
}

static bool fill_core(struct lull_core *core, bool regions)
{
    const struct lull_trace *trace = core->trace;
    core->codes[LULL_LOCATION_THREAD] = make_codes(trace, LULL_LOCATION_THREAD);
    core->codes[LULL_LOCATION_DEVICE] = make_codes(trace, LULL_LOCATION_DEVICE);
    core->places = calloc(trace->n_locations + (size_t)1, sizeof(struct place *));
    core->executions = calloc(trace->n_processes + (size_t)1, sizeof(struct lull_executions *));
    if (!core->codes[LULL_LOCATION_THREAD] || !core->codes[LULL_LOCATION_DEVICE] || !core->places ||
        !core->executions)
        return false;
    if (regions) {
        core->sums =
            calloc((size_t)core->workers * trace->n_regions + 1, sizeof(struct region_sum));
        if (!core->sums)
            return false;
    }
    return make_places(core);
}

lull_status lull_core_create(const struct lull_trace *trace,
                             const struct lull_breakdown_options *options, unsigned workers,
                             struct lull_core **ret_core, struct lull_error *err)
{
    struct lull_core *core = calloc(1, sizeof *core);
    if (!core)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a breakdown");
    core->trace = trace;
    core->windows = options->windows;
    core->application = options->application;
    core->workers = workers;
    core->whole = (struct lull_interval){0, trace->duration};
    core->piece = trace->duration / PIECES + 1;
    if (!fill_core(core, options->regions)) {
        lull_core_destroy(core);
        return lull_fail(err, LULL_ERR_MEMORY,
                         "%s: not enough memory for the breakdown of %u locations", trace->path,
                         trace->n_locations);
    }
    *ret_core = core;
    return LULL_OK;
}

void lull_core_destroy(struct lull_core *core)
{
    if (!core)
        return;
    for (uint32_t i = 0; core->places && i < core->trace->n_locations; i++)
        free_place(core->places[i]);
    for (uint32_t i = 0; core->executions && i < core->trace->n_processes; i++)
        lull_executions_destroy(core->executions[i]);
    free(core->places);
    free(core->executions);
    free(core->codes[LULL_LOCATION_THREAD]);
    free(core->codes[LULL_LOCATION_DEVICE]);
    free(core->sums);
    free(core);
}

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

struct lull_breakdown *lull_core_outline(const struct lull_trace *trace, uint32_t application,
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

static void fill_thread(const struct lull_core *core, const struct place *place,
                        struct lull_thread_breakdown *thread)
{
    const size_t n = (size_t)core->trace->n_counters * LULL_ACTIVITIES;
    thread->disabled_ns = place->ns[SLOT(DISABLED, 0)] + place->ns[SLOT(DISABLED, 1)];
    if (n)
        memcpy(thread->counters, place->counters, n * sizeof *thread->counters);
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        thread->times.ns[activity][0] = place->ns[SLOT(activity, 0)];
        thread->times.ns[activity][1] = place->ns[SLOT(activity, 1)];
    }
}

/* In the order of the outline. */
static void fill_threads(const struct lull_core *core, struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = core->trace;
    uint32_t thread = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        for (uint32_t i = 0; i < trace->processes[p].n_locations; i++) {
            const struct place *place = core->places[trace->processes[p].first_location + i];
            if (place)
                fill_thread(core, place, &breakdown->threads[thread++]);
        }
}

static struct region_sum sum_of_region(const struct lull_core *core, uint32_t region)
{
    struct region_sum sum = {0};
    for (unsigned worker = 0; worker < core->workers; worker++) {
        const struct region_sum *part =
            &core->sums[(size_t)worker * core->trace->n_regions + region];
        sum.visits += part->visits;
        sum.inclusive_ns += part->inclusive_ns;
        sum.exclusive_ns += part->exclusive_ns;
        sum.useful_ns += part->useful_ns;
    }
    return sum;
}

static void fill_regions(const struct lull_core *core, struct lull_arena *arena,
                         struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = core->trace;
    if (!core->sums)
        return;
    breakdown->regions = lull_arena_zero(arena, trace->n_regions, sizeof *breakdown->regions);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        struct region_sum sum = sum_of_region(core, i);
        if (sum.visits == 0 && sum.inclusive_ns == 0)
            continue;
        breakdown->regions[breakdown->n_regions++] = (struct lull_region_breakdown){
            .name = lull_arena_strdup(arena, region->name),
            .site = lull_arena_strdup(arena, region->site),
            .paradigm = region->paradigm,
            .role = region->role,
            .activity = region->activity,
            .visits = sum.visits,
            .inclusive_ns = sum.inclusive_ns,
            .exclusive_ns = sum.exclusive_ns,
            .useful_ns = sum.useful_ns,
        };
    }
}

static void fill_parallels(const struct lull_core *core, struct lull_arena *arena,
                           struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = core->trace;
    size_t capacity = 0;
    uint32_t process = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != core->application)
            continue;
        const struct lull_parallel_breakdown *sums = NULL;
        const uint32_t *regions = NULL;
        uint32_t n =
            core->executions[p] ? lull_executions_result(core->executions[p], &sums, &regions) : 0;
        breakdown->parallels =
            lull_arena_grow(arena, breakdown->parallels, &capacity, breakdown->n_parallels + n,
                            sizeof *breakdown->parallels);
        for (uint32_t i = 0; i < n; i++) {
            struct lull_parallel_breakdown *to = &breakdown->parallels[breakdown->n_parallels++];
            *to = sums[i];
            to->process = process;
            to->name = regions[i] == LULL_NONE
                           ? "parallel region"
                           : lull_arena_strdup(arena, trace->regions[regions[i]].name);
        }
        process++;
    }
}

lull_status lull_core_result(struct lull_core *core, struct lull_arena *arena,
                             struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    struct lull_breakdown *breakdown = lull_core_outline(core->trace, core->application, arena);
    fill_threads(core, breakdown);
    fill_regions(core, arena, breakdown);
    fill_parallels(core, arena, breakdown);
    lull_status status = lull_breakdown_join(breakdown, NULL, arena, breakdown, err);
    if (status == LULL_OK)
        *ret_breakdown = breakdown;
    return status;
}
