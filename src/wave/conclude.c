/* A field of all that was collected: how many iterations there are, and what is usual in them. */
#include "base/parallel.h"
#include "wave/collector.h"
#include "wave/select.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

uint32_t lull_wave_collectives(const struct lull_wave_row *row, uint32_t iteration,
                               uint32_t *ret_first)
{
    uint32_t low = 0, high = row->n_collectives;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row->collectives[middle].iteration < iteration)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_first = low;
    while (high < row->n_collectives && row->collectives[high].iteration == iteration)
        high++;
    return high - low;
}

int64_t lull_wave_work(const struct lull_wave_row *row, uint32_t iteration)
{
    const struct lull_wave_cell *cell = &row->cells[iteration];
    int64_t begin = iteration > 0 ? cell[-1].end : row->begin;
    int64_t work = cell->end - begin - cell->wait;
    uint32_t c = 0;
    for (uint32_t n = lull_wave_collectives(row, iteration, &c); n > 0; n--, c++)
        work -= row->collectives[c].end - row->collectives[c].begin;
    return work;
}

/* ---- how many iterations --------------------------------------------------------------------- */

/* What is asked of all ranks: of each the largest. */
struct answers {
    int64_t messages; /* whether there are any */
    int64_t without;  /* the first rank without iterations, from the end: n_ranks - rank */
    int64_t fewest;   /* iterations of a rank, from the end: UINT32_MAX - number */
};
static_assert(sizeof(struct answers) == 3 * sizeof(int64_t), "compared as integers");

static void keep_larger(int64_t *largest, int64_t value)
{
    *largest = value > *largest ? value : *largest;
}

/* False: no memory. */
static bool ask_own(struct lull_wave_collector *collector, struct answers *answers)
{
    const struct lull_wave_field *field = &collector->field;
    for (uint32_t r = field->own; r < field->own_end; r++) {
        answers->messages |= collector->builders[r].n_phases || field->rows[r].n_messages;
        if (!collector->trace && !lull_wave_collector_end_rank(collector, r))
            return false;
        answers->messages |= field->rows[r].n_messages != 0;
        keep_larger(&answers->fewest, (int64_t)UINT32_MAX - field->rows[r].n_cells);
        if (field->rows[r].n_cells == 0)
            keep_larger(&answers->without, (int64_t)field->n_ranks - r);
    }
    return true;
}

/* All members decide alike. */
static lull_status count_iterations(struct lull_wave_collector *collector, struct lull_error *err)
{
    struct lull_wave_field *field = &collector->field;
    struct answers answers = {0, 0, 0};
    lull_status status =
        ask_own(collector, &answers) ? LULL_OK : lull_wave_no_memory(collector, err);
    status = lull_team_agree(field->team, status, err);
    if (status == LULL_OK)
        status = lull_team_max_to_all(field->team, &answers.messages, 3, err);
    if (status != LULL_OK)
        return status;
    if (!answers.messages)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: ranks exchange no messages in calls that wait for them",
                         collector->name);
    if (answers.without)
        return lull_fail(err, LULL_ERR_FORMAT,
                         collector->marker != LULL_NONE
                             ? "%s: rank %u: less than three iterations with messages are marked"
                             : "%s: rank %u: no iterations: its messages do not repeat three times",
                         collector->name, (unsigned)(field->n_ranks - answers.without));
    field->n_iterations = (uint32_t)(UINT32_MAX - answers.fewest);
    return LULL_OK;
}

/* ---- what is usual --------------------------------------------------------------------------- */

struct medians {
    struct lull_wave_field *field;
    atomic_uint next;
    atomic_bool failed;
};

static void find_medians(void *context, unsigned worker)
{
    struct medians *medians = context;
    const struct lull_wave_field *field = medians->field;
    (void)worker;
    int64_t *values = malloc((field->n_iterations + (size_t)1) * sizeof *values);
    if (!values)
        atomic_store(&medians->failed, true);
    for (uint32_t r; values && (r = atomic_fetch_add(&medians->next, 1)) < field->own_end;) {
        struct lull_wave_row *row = &field->rows[r];
        uint32_t n = field->n_iterations;
        for (uint32_t i = 0; i < n; i++)
            values[i] = row->cells[i].wait;
        row->usual_wait = lull_wave_select(values, n, n / 2);
        for (uint32_t i = 0; i < n; i++)
            values[i] = lull_wave_work(row, i);
        row->usual_work = lull_wave_select(values, n, n / 2);
        n = row->n_collectives < n ? row->n_collectives : n;
        for (uint32_t i = 0; i < n; i++)
            values[i] = row->collectives[i].end - row->collectives[i].begin;
        row->usual_collective = n ? lull_wave_select(values, n, (n - 1) / 2) : 0;
    }
    free(values);
}

/* ---- all ------------------------------------------------------------------------------------- */

lull_status lull_wave_collector_conclude(struct lull_wave_collector *collector,
                                         const struct lull_wave_field **ret_field,
                                         struct lull_error *err)
{
    struct lull_wave_field *field = &collector->field;
    if (field->n_ranks < 2)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has one rank, and no one to pass a wave on to",
                         collector->name);
    lull_status status = count_iterations(collector, err);
    if (status != LULL_OK)
        return status;
    struct medians medians = {.field = field, .next = field->own};
    lull_parallel_run(lull_worker_count(), find_medians, &medians);
    if (atomic_load(&medians.failed))
        status = lull_wave_no_memory(collector, err);
    status = lull_team_agree(field->team, status, err);
    if (status == LULL_OK)
        status = lull_wave_collector_gather_heads(collector, err);
    *ret_field = status == LULL_OK ? field : NULL;
    return status;
}
