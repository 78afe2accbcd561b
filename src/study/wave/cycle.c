#include "study/wave/cycle.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

enum { ALIKE = 4 }; /* iterations of one length, at least, after which a run repeats itself */

struct rank {
    int64_t begun, span; /* ns: of the last iteration, and of the one before it */
    uint64_t iteration;
    uint32_t alike; /* iterations in a row that took `span` */
};

struct begun {
    int64_t sum; /* ns, of all ranks' beginnings of an iteration */
    uint32_t count;
};

struct lull_wave_cycle {
    struct lull_sim_sink sink;
    struct rank *ranks;
    struct begun *iterations;
    size_t room, n_iterations;
    uint32_t n_ranks, period;
    bool may_stop, stopped;
};

/* All ranks are in one iteration or the next one, and the last iterations of all, each of those of
 * a period among them, took the same time. A rank's iteration ends at the latest of sums of other
 * ranks' beginnings and constants; since all of them have moved by the same time, so has the
 * latest, and will again. */
static bool repeats(const struct lull_wave_cycle *cycle, uint64_t iteration)
{
    const uint32_t least = cycle->period > ALIKE ? cycle->period : ALIKE;
    for (uint32_t r = 0; r < cycle->n_ranks; r++) {
        const struct rank *rank = &cycle->ranks[r];
        if (rank->alike < least || rank->span != cycle->ranks[0].span ||
            rank->iteration > iteration + 1)
            return false;
    }
    return true;
}

static lull_status take_start(void *context, uint32_t stream, const struct lull_op *op,
                              int64_t time, struct lull_error *err)
{
    struct lull_wave_cycle *cycle = context;
    if (op->kind != LULL_OP_MARK)
        return LULL_OK;
    struct rank *rank = &cycle->ranks[stream];
    uint64_t iteration = op->bytes;
    if (!lull_array_reserve(&cycle->iterations, &cycle->room, iteration + 1,
                            sizeof *cycle->iterations))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the iterations");
    while (cycle->n_iterations <= iteration)
        cycle->iterations[cycle->n_iterations++] = (struct begun){0, 0};
    cycle->iterations[iteration].sum += time;
    cycle->iterations[iteration].count++;
    rank->alike = time - rank->begun == rank->span ? rank->alike + 1 : 1;
    rank->span = time - rank->begun;
    rank->begun = time;
    rank->iteration = iteration;
    cycle->stopped = cycle->may_stop && cycle->iterations[iteration].count == cycle->n_ranks &&
                     repeats(cycle, iteration);
    return cycle->stopped ? lull_fail(err, LULL_ERR_CANCELLED, "the run repeats itself") : LULL_OK;
}

struct lull_wave_cycle *lull_wave_cycle_create(uint32_t n_ranks, uint32_t period, bool may_stop)
{
    struct lull_wave_cycle *cycle = calloc(1, sizeof *cycle);
    struct rank *ranks = calloc(n_ranks + (size_t)1, sizeof *ranks);
    if (!cycle || !ranks) {
        free(cycle);
        free(ranks);
        return NULL;
    }
    *cycle = (struct lull_wave_cycle){.sink = {.context = cycle, .start = take_start},
                                      .ranks = ranks,
                                      .n_ranks = n_ranks,
                                      .period = period,
                                      .may_stop = may_stop};
    return cycle;
}

const struct lull_sim_sink *lull_wave_cycle_sink(struct lull_wave_cycle *cycle)
{
    return &cycle->sink;
}

bool lull_wave_cycle_stopped(const struct lull_wave_cycle *cycle)
{
    return cycle->stopped;
}

double lull_wave_cycle_mean(const struct lull_wave_cycle *cycle,
                            const struct lull_sim_result *result)
{
    if (cycle->stopped)
        return (double)cycle->ranks[0].span;
    size_t n = cycle->n_iterations, middle = n / 2 + 1;
    if (middle >= n)
        return NAN;
    if (n - middle > cycle->period)
        middle += (n - middle) % cycle->period;
    int64_t end = 0;
    for (uint32_t r = 0; r < cycle->n_ranks; r++)
        end += result->ranks[r].end;
    return (double)(end - cycle->iterations[middle].sum) / cycle->n_ranks / (double)(n - middle);
}

void lull_wave_cycle_destroy(struct lull_wave_cycle *cycle)
{
    if (!cycle)
        return;
    free(cycle->ranks);
    free(cycle->iterations);
    free(cycle);
}
