/* The consumer of steps behind a breakdown: the ledgers of threads, and parallel regions by
 * execution.
 */
#include "metrics/breakdown/collector.h"

#include <stdlib.h>
#include <string.h>

/* A worker's span of a parallel region is handed over in so many pieces at most, or what waits for
 * it would grow with its length. They are cut at times of the run's own, so that the sums do not
 * depend on how a format is read. */
enum { PIECES = 4096 };

#define KINDS                                                          \
    (LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEP_MASK(LULL_STEP_TICK) | \
     LULL_STEP_MASK(LULL_STEP_END))

static const uint8_t cause_of[LULL_ACTIVITIES] = {
    [LULL_USEFUL] = LULL_CAUSE_USEFUL,      [LULL_MPI_P2P] = LULL_CAUSE_MPI,
    [LULL_MPI_COLLECTIVE] = LULL_CAUSE_MPI, [LULL_MPI_ONE_SIDED] = LULL_CAUSE_MPI,
    [LULL_MPI_IO] = LULL_CAUSE_MPI,         [LULL_MPI_OTHER] = LULL_CAUSE_MPI,
    [LULL_OMP_SYNC] = LULL_CAUSE_SYNC,      [LULL_OMP_SCHEDULE] = LULL_CAUSE_SCHEDULE,
    [LULL_OMP_LOCK] = LULL_CAUSE_LOCK,      [LULL_IDLE] = LULL_CAUSE_OTHER,
    [LULL_DEVICE] = LULL_CAUSE_OTHER,       [LULL_IO] = LULL_CAUSE_OTHER,
    [LULL_FLUSH] = LULL_CAUSE_OTHER,        [LULL_OTHER] = LULL_CAUSE_OTHER,
};

/* ---- steps --------------------------------------------------------------------------------- */

/* What has gone into the parallel slots since the last span: they change inside of spans alone. */
static inline void end_span(struct location *location, const struct lull_step *step, int64_t begin,
                            struct lull_span *ret_span)
{
    int64_t sums[LULL_CAUSES] = {0};
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++)
        sums[cause_of[activity]] += step->parallel_ns[activity];
    ret_span->begin = begin;
    ret_span->end = step->time;
    for (int cause = 0; cause < LULL_CAUSES; cause++) {
        ret_span->ns[cause] = sums[cause] - location->handed_over[cause];
        location->handed_over[cause] = sums[cause];
    }
}

/* A worker's span ends, or a piece of it. */
static lull_status end_piece(struct location *location, const struct lull_step *step,
                             struct lull_error *err)
{
    struct lull_span span;
    end_span(location, step, location->told ? location->told_to : step->forked.time, &span);
    location->told = step->kind == LULL_STEP_TICK;
    location->told_to = step->time;
    return lull_executions_add(location->executions, location->thread, &span, err);
}

/* The master's execution ends. */
static lull_status end_execution(struct location *location, const struct lull_step *step,
                                 struct lull_error *err)
{
    struct lull_span span;
    lull_status status = LULL_OK;
    if (!location->told)
        status = lull_executions_open(location->executions, &step->forked, err);
    if (status != LULL_OK)
        return status;
    location->told = false;
    end_span(location, step, step->forked.time, &span);
    lull_executions_close(location->executions, &span, step->region);
    return LULL_OK;
}

static void end_location(const struct lull_collector *collector, struct location *location,
                         const struct lull_ledger *ledger)
{
    memcpy(location->ns, ledger->ns, sizeof location->ns);
    if (ledger->counters)
        memcpy(location->counters, ledger->counters,
               (size_t)collector->trace->n_counters * LULL_ACTIVITIES * sizeof *location->counters);
}

static lull_status take_step(const struct lull_collector *collector, struct location *location,
                             const struct lull_step *step, const struct lull_ledger *ledger,
                             struct lull_error *err)
{
    switch (step->kind) {
    case LULL_STEP_JOIN:
    case LULL_STEP_TICK:
        return location->thread > 0 ? end_piece(location, step, err)
                                    : end_execution(location, step, err);
    case LULL_STEP_END:
        end_location(collector, location, ledger);
        return LULL_OK;
    default:
        return LULL_OK;
    }
}

/* The location has been read up to here. Of a parallel region that is still open others get to know
 * from its master; what it holds of a worker comes later. */
static lull_status pass_on(struct location *location, const struct lull_ledger *ledger, bool ended,
                           struct lull_error *err)
{
    int64_t until = ended ? INT64_MAX : ledger->now;
    bool open = !ended && ledger->forked.time != LULL_NOT_FORKED;
    if (open && location->thread > 0) {
        until = location->told ? location->told_to : ledger->forked.time;
    } else if (open && !location->told) {
        lull_status status = lull_executions_open(location->executions, &ledger->forked, err);
        if (status != LULL_OK)
            return status;
        location->told = true;
    }
    return lull_executions_pass(location->executions, location->thread, until, err);
}

/* What is handed over is passed on at the end of a block. */
static lull_status take_breakdown_steps(void *context, unsigned worker,
                                        const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    const struct lull_collector *collector = context;
    struct location *location = &collector->locations[steps->location];
    for (uint32_t i = 0; i < steps->count; i++) {
        lull_status status = LULL_OK;
        if (KINDS >> steps->steps[i].kind & 1)
            status = take_step(collector, location, &steps->steps[i], steps->ledger, err);
        if (status != LULL_OK)
            return status;
    }
    unsigned last = steps->count ? steps->steps[steps->count - 1].kind : LULL_STEP_KINDS;
    if (!location->executions)
        return LULL_OK;
    return pass_on(location, steps->ledger, last == LULL_STEP_END, err);
}

struct lull_consumer lull_collector_consumer(struct lull_collector *collector)
{
    return (struct lull_consumer){
        .context = collector, .wants = KINDS, .wants_ledger = true, .steps = take_breakdown_steps};
}

void lull_collector_prepare(const struct lull_collector *collector, struct lull_pass_options *pass)
{
    pass->windows = collector->options->windows;
    pass->application = collector->options->application;
    pass->tick = collector->trace->duration / PIECES + 1;
    pass->regions = collector->regions;
    pass->range = lull_pass_range(collector->options->division);
}

/* ---- making -------------------------------------------------------------------------------- */

static bool add_process_ledgers(struct lull_collector *collector, uint32_t p)
{
    const struct lull_trace *trace = collector->trace;
    const struct lull_process *process = &trace->processes[p];
    if (process->n_threads &&
        !(collector->executions[p] = lull_executions_create(process->n_threads)))
        return false;
    for (uint32_t i = 0; i < process->n_locations; i++) {
        struct location *location = &collector->locations[process->first_location + i];
        location->thread = i;
        if (i < process->n_threads)
            location->executions = collector->executions[p];
        if (trace->n_counters &&
            !(location->counters =
                  calloc((size_t)trace->n_counters * LULL_ACTIVITIES, sizeof *location->counters)))
            return false;
    }
    return true;
}

static bool fill_collector(struct lull_collector *collector)
{
    const struct lull_trace *trace = collector->trace;
    collector->locations = calloc(trace->n_locations + (size_t)1, sizeof *collector->locations);
    collector->executions =
        calloc(trace->n_processes + (size_t)1, sizeof(struct lull_executions *));
    if (collector->options->regions)
        collector->regions =
            calloc((size_t)collector->workers * trace->n_regions + 1, sizeof *collector->regions);
    if (!collector->locations || !collector->executions ||
        (collector->options->regions && !collector->regions))
        return false;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == collector->options->application &&
            !add_process_ledgers(collector, p))
            return false;
    return true;
}

lull_status lull_collector_create(const struct lull_trace *trace,
                                  const struct lull_breakdown_options *options, unsigned workers,
                                  struct lull_collector **ret_collector, struct lull_error *err)
{
    struct lull_collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a breakdown");
    collector->trace = trace;
    collector->options = options;
    collector->workers = workers;
    if (!fill_collector(collector)) {
        lull_collector_destroy(collector);
        return lull_fail(err, LULL_ERR_MEMORY,
                         "%s: not enough memory for the breakdown of %u locations", trace->path,
                         trace->n_locations);
    }
    *ret_collector = collector;
    return LULL_OK;
}

void lull_collector_destroy(struct lull_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t l = 0; collector->locations && l < collector->trace->n_locations; l++)
        free(collector->locations[l].counters);
    for (uint32_t p = 0; collector->executions && p < collector->trace->n_processes; p++)
        lull_executions_destroy(collector->executions[p]);
    free(collector->locations);
    free(collector->executions);
    free(collector->regions);
    free(collector);
}
