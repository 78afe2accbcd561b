#include "study/replay/against.h"

#include <math.h>

double lull_against_error(const int64_t sides[LULL_AGAINST_SIDES])
{
    if (sides[LULL_MEASURED] <= 0)
        return (double)NAN;
    return (double)sides[LULL_PREDICTED] / (double)sides[LULL_MEASURED] - 1;
}

lull_status lull_against_load(const char *path, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_against *ret_against, struct lull_error *err)
{
    struct lull_runs_options wanted = *options;
    wanted.companion = NULL;
    wanted.no_replay = true;
    *ret_against = (struct lull_against){0};
    lull_status status = lull_runs_load(&path, 1, &wanted, notices, arena, &ret_against->runs, err);
    if (status != LULL_OK)
        return status;
    const struct lull_run *run = &ret_against->runs.runs[0];
    if (!run->trace)
        return lull_fail(err, LULL_ERR_RANGE, "%s: is a saved profile, expected a trace", path);
    ret_against->disturbance = run->trace->disturbed;
    return LULL_OK;
}

void lull_against_close(struct lull_against *against)
{
    lull_runs_close(&against->runs);
}

lull_status lull_against_disturbance(const struct lull_against *against, struct lull_arena *arena,
                                     const struct lull_disturbance **ret_disturbance,
                                     struct lull_error *err)
{
    const struct lull_run *run = &against->runs.runs[0];
    *ret_disturbance = NULL;
    if (!against->disturbance)
        return LULL_OK;
    struct lull_disturbance *disturbance = lull_arena_alloc(arena, sizeof *disturbance);
    *disturbance = lull_disturbance_none(arena, run->trace->disturbed_seed);
    lull_status status = lull_disturbance_add_lines(disturbance, against->disturbance, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s: what it was disturbed with", run->path);
    *ret_disturbance = disturbance;
    return LULL_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Of the masters among some threads. */
static double mpi_share(const struct lull_thread_breakdown *threads, uint32_t n_threads)
{
    int64_t mpi = 0, all = 0;
    for (uint32_t t = 0; t < n_threads; t++) {
        const struct lull_thread_breakdown *thread = &threads[t];
        if (!thread->master)
            continue;
        for (unsigned a = 0; a < LULL_ACTIVITIES; a++) {
            const int64_t ns = thread->times.ns[a][0] + thread->times.ns[a][1];
            all += ns;
            mpi += a >= LULL_MPI_P2P && a <= LULL_MPI_OTHER ? ns : 0;
        }
    }
    return all > 0 ? (double)mpi / (double)all : (double)NAN;
}

static double share_of_process(const struct lull_breakdown *breakdown, uint32_t process)
{
    const struct lull_process_breakdown *of = &breakdown->processes[process];
    return mpi_share(breakdown->threads + of->first_thread, of->n_threads);
}

/* The process of that rank, by halving: processes are in the order of applications and ranks.
 * LULL_NONE: there is none. */
static uint32_t process_of(const struct lull_trace *trace, uint32_t application, uint32_t rank)
{
    uint32_t low = 0, high = trace->n_processes;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct lull_process *process = &trace->processes[middle];
        if (process->application < application ||
            (process->application == application && process->rank < rank))
            low = middle + 1;
        else
            high = middle;
    }
    const struct lull_process *found = &trace->processes[low];
    return low < trace->n_processes && found->application == application && found->rank == rank &&
                   found->n_threads > 0
               ? low
               : LULL_NONE;
}

/* From MPI_Init to MPI_Finalize, through the warp if there is one. */
static int64_t time_of_process(const struct lull_trace *trace, uint32_t process,
                               const struct lull_warp *warp, int64_t whole)
{
    if (!trace->has_main || process == LULL_NONE)
        return whole;
    const struct lull_process *of = &trace->processes[process];
    if (of->main_end <= of->main_begin)
        return whole;
    if (!warp)
        return of->main_end - of->main_begin;
    return lull_warp_time(warp, process, of->main_end) -
           lull_warp_time(warp, process, of->main_begin);
}

lull_status lull_against_compare(struct lull_against *against, const struct lull_run *predicted,
                                 const struct lull_warp *warp, const struct lull_trace *origin,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_error *err)
{
    const struct lull_run *sides[] = {predicted, &against->runs.runs[0]};
    const struct lull_run *measured = sides[LULL_MEASURED];
    const uint32_t n = measured->breakdown->n_processes;
    if (predicted->breakdown->n_processes != n)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has %u processes, expected %u as %s has",
                         measured->path, n, predicted->breakdown->n_processes, predicted->path);
    against->n_processes = n;
    against->processes = lull_arena_zero(arena, n, sizeof *against->processes);
    for (unsigned side = 0; side < LULL_AGAINST_SIDES; side++) {
        const struct lull_breakdown *breakdown = sides[side]->breakdown;
        against->runtime[side] = breakdown->runtime_ns;
        against->mpi_share[side] = mpi_share(breakdown->threads, breakdown->n_threads);
    }
    for (uint32_t p = 0; p < n; p++) {
        const uint32_t rank = measured->breakdown->processes[p].rank;
        if (predicted->breakdown->processes[p].rank != rank)
            return lull_fail(err, LULL_ERR_RANGE, "%s: has rank %u where %s has rank %u",
                             measured->path, rank, predicted->path,
                             predicted->breakdown->processes[p].rank);
        against->processes[p] = (struct lull_against_process){
            .rank = rank,
            .time = {time_of_process(origin, process_of(origin, application, rank), warp,
                                     against->runtime[LULL_PREDICTED]),
                     time_of_process(measured->trace,
                                     process_of(measured->trace, application, rank), NULL,
                                     against->runtime[LULL_MEASURED])},
            .mpi_share = {share_of_process(predicted->breakdown, p),
                          share_of_process(measured->breakdown, p)}};
    }
    return LULL_OK;
}
