/* A breakdown of a run by itself: a pass with one consumer, or sums. */
#include "metrics/breakdown/breakdown.h"

#include "metrics/breakdown/sums.h"

static lull_status check_application(const struct lull_trace *trace, uint32_t application,
                                     struct lull_error *err)
{
    for (uint32_t i = 0; i < trace->n_processes; i++) {
        if (trace->processes[i].application == application)
            return LULL_OK;
    }
    return lull_fail(err, LULL_ERR_RANGE, "%s: there is no process of application %u", trace->path,
                     application);
}

static bool wants_sums(const struct lull_trace *trace, const struct lull_breakdown_options *options)
{
    if (options->source != LULL_FROM_ANY)
        return options->source == LULL_FROM_SUMS;
    return !options->windows && trace->events != LULL_EVENTS_ALL && trace->has_sums;
}

static lull_status check_events(const struct lull_trace *trace,
                                const struct lull_breakdown_options *options,
                                struct lull_error *err)
{
    if (trace->events != LULL_EVENTS_NONE)
        return LULL_OK;
    if (options->windows)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: holds sums of the whole run and no events (a profile), which do not "
                         "tell a part of it",
                         trace->path);
    return lull_fail(err, LULL_ERR_RANGE,
                     "%s: holds no events (a profile), and not the sums of all threads",
                     trace->path);
}

lull_status lull_breakdown_find_source(const struct lull_trace *trace,
                                       const struct lull_breakdown_options *options,
                                       uint8_t *ret_source, struct lull_error *err)
{
    lull_status status = check_application(trace, options->application, err);
    if (status != LULL_OK)
        return status;
    bool sums = wants_sums(trace, options);
    status = sums ? LULL_OK : check_events(trace, options, err);
    if (status == LULL_OK)
        *ret_source = sums ? LULL_FROM_SUMS : LULL_FROM_EVENTS;
    return status;
}

static struct lull_team *team_of(const struct lull_breakdown_options *options)
{
    return options->division ? options->division->team : NULL;
}

static lull_status compute_from_events(const struct lull_trace *trace,
                                       const struct lull_breakdown_options *options,
                                       struct lull_arena *arena,
                                       struct lull_breakdown **ret_breakdown,
                                       struct lull_error *err)
{
    struct lull_pass_options pass = {.workers = options->workers,
                                     .application = options->application,
                                     .range = lull_pass_range(options->division),
                                     .progress = options->progress,
                                     .progress_context = options->progress_context};
    struct lull_collector *collector = NULL;
    lull_status status =
        lull_collector_create(trace, options, lull_pass_workers(trace, &pass), &collector, err);
    if (status == LULL_OK) {
        lull_collector_prepare(collector, &pass);
        const struct lull_consumer consumer = lull_collector_consumer(collector);
        status = lull_pass_run(trace, &pass, &consumer, 1, err);
    }
    status = lull_team_agree(team_of(options), status, err);
    if (status == LULL_OK)
        status = lull_collector_gather(collector, err);
    *ret_breakdown = NULL;
    if (status == LULL_OK && lull_team_is_first(team_of(options)))
        status = lull_collector_result(collector, arena, ret_breakdown, err);
    lull_collector_destroy(collector);
    return status;
}

lull_status lull_breakdown_compute(const struct lull_trace *trace,
                                   const struct lull_breakdown_options *options,
                                   struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                   struct lull_error *err)
{
    uint8_t source;
    lull_status status = lull_breakdown_find_source(trace, options, &source, err);
    if (status != LULL_OK)
        return status;
    if (source == LULL_FROM_SUMS && !lull_team_is_first(team_of(options))) {
        *ret_breakdown = NULL; /* they are few, and the first reads them */
        return LULL_OK;
    }
    return source == LULL_FROM_SUMS
               ? lull_breakdown_of_sums(trace, options, arena, ret_breakdown, err)
               : compute_from_events(trace, options, arena, ret_breakdown, err);
}
