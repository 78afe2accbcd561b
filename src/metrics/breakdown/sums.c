/* From sums to a breakdown: the rules are those of the activity room, applied to regions
 * instead of spans. User code takes over what surrounds it, which sums do not tell: it counts as
 * useful, but for a worker outside of parallel regions, as no runtime calls user code in any other
 * way than by a task, which is a region of its own. */
#include "metrics/breakdown/sums.h"

#include "metrics/breakdown/merge.h"
#include "metrics/breakdown/outline.h"
#include "trace/trace.h"

#include <string.h>

struct region_sum {
    uint64_t visits;
    int64_t exclusive_ns, useful_ns;
};

/* What surrounds the main part of a run. */
static bool surrounds(const struct lull_region *region)
{
    static const char *const names[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(region->name, names[i]) == 0)
            return true;
    return false;
}

struct taking {
    const struct lull_trace *trace;
    struct lull_breakdown *to;
    bool main_part;
    int64_t lasts;              /* what a thread's times add up to */
    struct region_sum *regions; /* [n_regions of the trace]; NULL: not wanted */
};

static uint8_t outside_activity(const struct lull_location *location)
{
    bool idle = location->kind == LULL_LOCATION_DEVICE || location->role == LULL_THREAD_WORKER;
    return idle ? LULL_IDLE : LULL_USEFUL;
}

static void add_counts(const struct taking *taking, struct lull_thread_breakdown *thread,
                       uint8_t activity, const uint64_t *counts)
{
    for (uint32_t c = 0; c < taking->trace->n_counters; c++)
        thread->counters[(size_t)c * LULL_ACTIVITIES + activity] += counts[c];
}

static void add_region(const struct taking *taking, const struct lull_location *location,
                       const struct lull_region_sum *sum, struct lull_thread_breakdown *thread)
{
    const struct lull_region *region = &taking->trace->regions[sum->region];
    for (unsigned parallel = 0; parallel < 2; parallel++) {
        uint8_t activity = lull_activity_on(region, location->kind);
        if (activity == LULL_ACTIVITIES)
            activity = parallel ? LULL_USEFUL : outside_activity(location);
        thread->times.ns[activity][parallel] += sum->ns[parallel];
        add_counts(taking, thread, activity, sum->counts[parallel]);
        if (!taking->regions)
            continue;
        struct region_sum *to = &taking->regions[sum->region];
        to->visits += sum->visits[parallel];
        to->exclusive_ns += sum->ns[parallel];
        to->useful_ns += activity == LULL_USEFUL ? sum->ns[parallel] : 0;
    }
}

static void add_location(const struct taking *taking, const struct lull_location *location,
                         const struct lull_sums *sums, struct lull_thread_breakdown *thread)
{
    const uint8_t outside = outside_activity(location);
    const uint8_t gone = outside == LULL_IDLE ? LULL_IDLE : LULL_OTHER;
    thread->disabled_ns = sums->paused;
    thread->times.ns[gone][0] += taking->lasts - (sums->end - sums->begin) + sums->absent;
    thread->times.ns[outside][0] += sums->outside;
    thread->times.ns[LULL_FLUSH][0] += sums->flush[0];
    thread->times.ns[LULL_FLUSH][1] += sums->flush[1];
    add_counts(taking, thread, outside, sums->counts_outside);
    for (uint32_t i = 0; i < sums->n_regions; i++)
        if (!taking->main_part || !surrounds(&taking->trace->regions[sums->regions[i].region]))
            add_region(taking, location, &sums->regions[i], thread);
}

static lull_status take_locations(const struct taking *taking,
                                  const struct lull_breakdown_options *options,
                                  struct lull_error *err)
{
    const struct lull_trace *trace = taking->trace;
    uint32_t thread = 0;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (trace->processes[location->process].application != options->application)
            continue;
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_sums sums;
        status = lull_trace_read_sums(trace, l, scratch, &sums, err);
        if (status == LULL_OK)
            add_location(taking, location, &sums, &taking->to->threads[thread++]);
        lull_arena_destroy(scratch);
        if (options->progress)
            options->progress(options->progress_context, (double)(l + 1) / trace->n_locations);
    }
    return status;
}

static void fill_summed_regions(const struct taking *taking, struct lull_arena *arena)
{
    const struct lull_trace *trace = taking->trace;
    struct lull_breakdown *to = taking->to;
    to->regions = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *to->regions);
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        const struct region_sum *sum = &taking->regions[r];
        if (sum->visits == 0 && sum->exclusive_ns == 0)
            continue;
        to->regions[to->n_regions++] = (struct lull_region_breakdown){
            .name = lull_arena_strdup(arena, region->name),
            .site = lull_arena_strdup(arena, region->site),
            .paradigm = region->paradigm,
            .role = region->role,
            .activity = region->activity,
            .visits = sum->visits,
            .exclusive_ns = sum->exclusive_ns,
            .useful_ns = sum->useful_ns,
        };
    }
}

lull_status lull_breakdown_of_sums(const struct lull_trace *trace,
                                   const struct lull_breakdown_options *options,
                                   struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                   struct lull_error *err)
{
    struct lull_breakdown *breakdown = lull_breakdown_outline(trace, options->application, arena);
    breakdown->from_sums = true;
    struct taking taking = {.trace = trace,
                            .to = breakdown,
                            .main_part = options->main_part,
                            .lasts = options->life_ns ? options->life_ns : trace->duration};
    if (options->regions)
        taking.regions =
            lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *taking.regions);
    lull_status status = take_locations(&taking, options, err);
    if (status != LULL_OK)
        return status;
    if (options->regions)
        fill_summed_regions(&taking, arena);
    status = lull_breakdown_join(breakdown, NULL, arena, breakdown, err);
    if (status == LULL_OK)
        *ret_breakdown = breakdown;
    return status;
}
