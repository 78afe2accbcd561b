/* A scan with the core as its visitor. */
#include "metrics/breakdown/breakdown.h"

#include "metrics/breakdown/core.h"
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

static lull_status scan_into(const struct lull_trace *trace, struct lull_core *core,
                             const struct lull_scan_options *scan, struct lull_error *err)
{
    const struct lull_visitor visitor = {
        .context = core,
        .begin = lull_core_begin,
        .block = lull_core_block,
        .end = lull_core_end,
    };
    return lull_scan(trace, scan, &visitor, err);
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

lull_status lull_breakdown_compute(const struct lull_trace *trace,
                                   const struct lull_breakdown_options *options,
                                   struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                   struct lull_error *err)
{
    const struct lull_scan_options scan = {
        .mask = LULL_MASK_TIME,
        .workers = options->workers,
        .application = options->application,
        .progress = options->progress,
        .progress_context = options->progress_context,
    };
    lull_status status = check_application(trace, options->application, err);
    if (status == LULL_OK && wants_sums(trace, options))
        return lull_breakdown_of_sums(trace, options, arena, ret_breakdown, err);
    if (status == LULL_OK)
        status = check_events(trace, options, err);
    if (status != LULL_OK)
        return status;
    struct lull_core *core = NULL;
    status = lull_core_create(trace, options, lull_scan_workers(trace, &scan), &core, err);
    if (status != LULL_OK)
        return status;
    status = scan_into(trace, core, &scan, err);
    if (status == LULL_OK)
        status = lull_core_result(core, arena, ret_breakdown, err);
    lull_core_destroy(core);
    return status;
}
