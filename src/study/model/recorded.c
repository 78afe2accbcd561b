#include "study/model/recorded.h"

#include <math.h>
#include <string.h>

/* Of the windows that were analysed. */
static double master_seconds(const struct lull_breakdown *breakdown, uint32_t process)
{
    const struct lull_process_breakdown *p = &breakdown->processes[process];
    int64_t ns = 0;
    for (uint32_t t = p->first_thread; t < p->first_thread + p->n_cpu_threads; t++)
        for (unsigned a = 0; breakdown->threads[t].master && a < LULL_ACTIVITIES; a++)
            ns += breakdown->threads[t].times.ns[a][0] + breakdown->threads[t].times.ns[a][1];
    return (double)ns / 1e9;
}

static lull_status take_time(const struct lull_run *run, const char *region,
                             struct lull_region_time *ret_time, struct lull_error *err)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    struct lull_region_time time = {0};
    uint64_t visits = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++)
        if (strcmp(breakdown->regions[r].name, region) == 0)
            visits += breakdown->regions[r].visits;
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        double seconds = master_seconds(breakdown, p);
        time.mean += seconds / breakdown->n_processes;
        time.longest = fmax(time.longest, seconds);
    }
    time.visits = (double)visits / breakdown->n_processes;
    if (visits == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: region '%s' was never entered", run->path,
                         region);
    *ret_time = time;
    return LULL_OK;
}

lull_status lull_recorded_region(void *context, const char *run, const char *region,
                                 struct lull_region_time *ret_time, struct lull_error *err)
{
    const struct lull_recorded_reader *reader = context;
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct lull_runs_options options = *reader->options;
    struct lull_runs runs;
    options.region = region;
    options.regions = options.no_replay = true;
    lull_status status = lull_runs_load(&run, 1, &options, reader->notices, scratch, &runs, err);
    if (status == LULL_OK)
        status = take_time(&runs.runs[0], region, ret_time, err);
    lull_runs_close(&runs);
    lull_arena_destroy(scratch);
    return status;
}
