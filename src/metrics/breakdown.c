/* A scan with the core as its visitor. */
#include "metrics/breakdown.h"

#include "metrics/breakdown_core.h"

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
