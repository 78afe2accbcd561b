/* SPDX-License-Identifier: BSD-3-Clause */
#include "wave/outlier.h"

#include "base/array.h"
#include "base/sorted.h"
#include "team/team.h"
#include "wave/field.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 1 << 18 };  /* cells from which the noise is judged, at most */
#define FALSE_ALARMS   1e-3 /* how many delays per run may be noise */
#define FALSE_IDLENESS 1e-3 /* the share of usual waits that may be taken for idleness */
#define LEAST_SHARE    0.01 /* less than this share of an iteration is never idleness */

int64_t lull_wave_idle(const struct lull_wave_row *row, uint32_t iteration)
{
    return row->cells[iteration].wait - row->usual_wait;
}

const struct lull_wave_outlier *lull_wave_outlier_of(const struct lull_wave_outliers *outliers,
                                                     uint32_t rank, uint32_t iteration)
{
    const struct lull_wave_outlier *list = outliers->list + outliers->first[rank];
    const uint64_t n = outliers->first[rank + 1] - outliers->first[rank];
    const size_t at = lull_sorted_first_u32(
        list, n, sizeof *list, offsetof(struct lull_wave_outlier, iteration), iteration);
    return at < n && list[at].iteration == iteration ? &list[at] : NULL;
}

/* Compares an iteration with what is usual for the rank. This member must have the cells of the
 * row. */
static struct lull_wave_outlier look(const struct lull_wave_row *row, uint32_t iteration)
{
    struct lull_wave_outlier at = {.iteration = iteration,
                                   .begin =
                                       iteration > 0 ? row->cells[iteration - 1].end : row->begin,
                                   .end = row->cells[iteration].end,
                                   .idle = lull_wave_idle(row, iteration),
                                   .delay = lull_wave_work(row, iteration) - row->usual_work};
    uint32_t c;
    for (uint32_t n = lull_wave_collectives(row, iteration, &c); n > 0; n--, c++) {
        const struct lull_wave_collective *within = &row->collectives[c];
        at.collective += within->end - within->begin - row->usual_collective;
        at.operation = within->operation;
    }
    return at;
}

/* ---- what is usual -------------------------------------------------------------------------- */

/* Every step-th cell of the field, where the ranks follow each other. Times in ns: by how much the
 * waits and the work were longer than usual, how long the waits were, and the whole iterations. */
struct sample {
    int64_t *idle, *delay, *wait, *span; /* [count] */
    size_t count, room;
    const struct lull_wave_field *field;
    uint64_t step;
};

static struct sample sample_of(const struct lull_wave_field *field)
{
    const uint64_t cells = (uint64_t)field->n_ranks * field->n_iterations;
    struct sample sample = {.field = field, .step = cells / SAMPLE + 1};
    if (field->n_iterations % sample.step == 0)
        sample.step++; /* else it would be the same iterations of each rank */
    sample.room = cells / sample.step + 2;
    return sample;
}

static bool take_sample(struct sample *sample)
{
    const struct lull_wave_field *field = sample->field;
    const uint64_t n = field->n_iterations, end = field->own_end * n, step = sample->step;
    sample->idle = malloc(4 * sample->room * sizeof *sample->idle);
    if (!sample->idle)
        return false;
    sample->delay = sample->idle + sample->room;
    sample->wait = sample->delay + sample->room;
    sample->span = sample->wait + sample->room;
    for (uint64_t c = (field->own * n + step - 1) / step * step; c < end; c += step) {
        const struct lull_wave_row *row = &field->rows[c / n];
        const struct lull_wave_outlier at = look(row, (uint32_t)(c % n));
        sample->idle[sample->count] = at.idle;
        sample->delay[sample->count] = at.delay;
        sample->wait[sample->count] = at.idle + row->usual_wait;
        sample->span[sample->count++] = at.end - at.begin;
    }
    return true;
}

static bool put_sample(void *context, struct lull_flow *flow)
{
    const struct sample *sample = context;
    const uint64_t count = sample->count;
    return lull_flow_put(flow, &count, sizeof count) &&
           lull_flow_put(flow, sample->idle, count * sizeof *sample->idle) &&
           lull_flow_put(flow, sample->delay, count * sizeof *sample->delay) &&
           lull_flow_put(flow, sample->wait, count * sizeof *sample->wait) &&
           lull_flow_put(flow, sample->span, count * sizeof *sample->span);
}

static bool get_sample(void *context, uint32_t member, struct lull_flow *flow)
{
    struct sample *sample = context;
    uint64_t count;
    (void)member;
    if (!lull_flow_get(flow, &count, sizeof count) || count > sample->room - sample->count)
        return false;
    const size_t at = sample->count, size = count * sizeof *sample->idle;
    sample->count += count;
    return lull_flow_get(flow, &sample->idle[at], size) &&
           lull_flow_get(flow, &sample->delay[at], size) &&
           lull_flow_get(flow, &sample->wait[at], size) &&
           lull_flow_get(flow, &sample->span[at], size);
}

/* The time that a share `alpha` of the values exceeds, if no wave is among them. Found from an
 * exponential tail through the median and the 80 % quantile, so that up to a fifth of the values
 * may belong to waves. */
static double tail(int64_t *values, size_t count, double alpha)
{
    double low = (double)lull_wave_select(values, count, count / 2);
    double high = (double)lull_wave_select(values, count, (size_t)((double)count * 0.8));
    return high + (high - low) / log(0.5 / 0.2) * fmax(0, log(0.2 / alpha));
}

/* Sets all of what is usual but the means. The cycle is a median for now; take_means replaces it.
 */
static void judge(const struct sample *sample, int64_t least, struct lull_wave_usual *usual)
{
    const size_t count = sample->count;
    const double cells = (double)sample->field->n_ranks * sample->field->n_iterations;
    const double cycle = (double)lull_wave_select(sample->span, count, count / 2);
    usual->cycle = cycle;
    usual->comm = (double)lull_wave_select(sample->wait, count, count / 20);
    usual->least_idle =
        (int64_t)fmax(tail(sample->idle, count, FALSE_IDLENESS), LEAST_SHARE * cycle) + 1;
    usual->least_delay = (int64_t)fmax(tail(sample->delay, count, FALSE_ALARMS / cells),
                                       least > 0 ? (double)least - 1 : 0.99 * cycle);
    usual->least_stall =
        (int64_t)fmax(tail(sample->idle, count, FALSE_ALARMS / cells), (double)usual->least_delay);
}

/* Finds on the first member what judge finds, and tells it to all. */
static lull_status find_limits(const struct lull_wave_field *field, int64_t least,
                               struct lull_wave_usual *usual, struct lull_error *err)
{
    struct sample sample = sample_of(field);
    lull_status status =
        take_sample(&sample)
            ? LULL_OK
            : lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a sample of the waits");
    const struct lull_freight freight = {put_sample, get_sample, &sample, "a sample of the waits"};
    status = lull_team_agree(field->team, status, err);
    if (status == LULL_OK)
        status = lull_team_bring(field->team, &freight, err);
    if (status == LULL_OK && lull_team_is_first(field->team))
        judge(&sample, least, usual);
    if (status == LULL_OK)
        status = lull_team_broadcast(field->team, usual, sizeof *usual, err);
    free(sample.idle);
    return status;
}

/* ---- what is unusual ------------------------------------------------------------------------ */

/* Sums over the iterations that belong to no wave. */
struct sums {
    struct lull_wide_sum span, work, wait; /* ns */
    int64_t count;
};
static_assert(sizeof(struct sums) == 7 * sizeof(int64_t), "summed as integers");

static void take_means(const struct sums *sums, struct lull_wave_usual *usual)
{
    const int64_t count = sums->count;
    if (count)
        usual->cycle = lull_wide_sum_value(&sums->span) / (double)count;
    usual->work = count ? lull_wide_sum_value(&sums->work) / (double)count : NAN;
    usual->wait = count ? lull_wide_sum_value(&sums->wait) / (double)count : NAN;
}

struct search {
    const struct lull_wave_field *field;
    const struct lull_wave_usual *usual;
    int64_t least; /* an iteration with something longer than usual by more ns is an outlier */
    struct sums sums;
    uint64_t *counts; /* [n_ranks]: how many outliers each rank has */
    struct lull_wave_outlier *list;
    size_t count, room;
};

static bool append(struct search *search, const struct lull_wave_outlier *items, size_t count)
{
    if (!lull_array_reserve(&search->list, &search->room, search->count + count,
                            sizeof *search->list))
        return false;
    if (count)
        memcpy(&search->list[search->count], items, count * sizeof *items);
    search->count += count;
    return true;
}

static bool search_rank(struct search *search, uint32_t rank)
{
    const struct lull_wave_row *row = &search->field->rows[rank];
    int64_t spans = 0, works = 0, waits = 0;
    for (uint32_t i = 0; i < search->field->n_iterations; i++) {
        const struct lull_wave_outlier at = look(row, i);
        const int64_t span = at.end - at.begin;
        const int64_t longer = span - row->usual_work - row->usual_wait;
        if (i > 0 && longer <= search->usual->least_delay) {
            spans += span;
            works += at.delay + row->usual_work;
            waits += at.idle + row->usual_wait;
            search->sums.count++;
        }
        if (at.idle <= search->least && at.delay <= search->least && at.collective <= search->least)
            continue;
        if (!append(search, &at, 1))
            return false;
        search->counts[rank]++;
    }
    lull_wide_sum_add(&search->sums.span, spans);
    lull_wide_sum_add(&search->sums.work, works);
    lull_wide_sum_add(&search->sums.wait, waits);
    return true;
}

static bool put_found(void *context, struct lull_flow *flow)
{
    const struct search *search = context;
    const struct lull_wave_field *field = search->field;
    const uint32_t own[2] = {field->own, field->own_end};
    return lull_flow_put(flow, own, sizeof own) &&
           lull_flow_put(flow, &search->counts[own[0]],
                         (own[1] - own[0]) * sizeof *search->counts) &&
           lull_flow_put_items(flow, search->list, search->count, sizeof *search->list);
}

static bool get_found(void *context, uint32_t member, struct lull_flow *flow)
{
    struct search *search = context;
    uint32_t theirs[2];
    size_t count;
    (void)member;
    if (!lull_flow_get(flow, theirs, sizeof theirs) ||
        !lull_flow_get(flow, &search->counts[theirs[0]],
                       (theirs[1] - theirs[0]) * sizeof *search->counts))
        return false;
    struct lull_wave_outlier *items = lull_flow_get_items(flow, sizeof *items, &count);
    const bool good = items && append(search, items, count);
    free(items);
    return good;
}

static bool search_own(struct search *search)
{
    const struct lull_wave_field *field = search->field;
    search->counts = calloc(field->n_ranks + (size_t)1, sizeof *search->counts);
    bool good = search->counts != NULL;
    for (uint32_t r = field->own; good && r < field->own_end; r++)
        good = search_rank(search, r);
    return good;
}

static bool keep(const struct search *search, struct lull_arena *arena,
                 struct lull_wave_outliers *ret_outliers)
{
    const uint32_t n_ranks = search->field->n_ranks;
    uint64_t *first = lull_arena_try(arena, n_ranks + (size_t)1, sizeof *first);
    struct lull_wave_outlier *list = lull_arena_try(arena, search->count + 1, sizeof *list);
    if (!first || !list)
        return false;
    first[0] = 0;
    for (uint32_t r = 0; r < n_ranks; r++)
        first[r + 1] = first[r] + search->counts[r];
    if (search->count)
        memcpy(list, search->list, search->count * sizeof *list);
    ret_outliers->first = first;
    ret_outliers->list = list;
    return true;
}

/* The limit of an outlier, in ns: a smaller difference from the usual matters to no wave. */
static int64_t least_of(const struct lull_wave_usual *usual)
{
    int64_t least = usual->least_stall / LULL_WAVE_LEAST_LEFT;
    least = usual->least_delay < least ? usual->least_delay : least;
    return usual->least_idle < least ? usual->least_idle : least;
}

static lull_status no_memory_for_outliers(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for unusual iterations");
}

static lull_status find_all(struct search *search, struct lull_error *err)
{
    struct lull_team *team = search->field->team;
    const struct lull_freight freight = {put_found, get_found, search, "unusual iterations"};
    lull_status status = search_own(search) ? LULL_OK : no_memory_for_outliers(err);
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = lull_team_sum(team, &search->sums.span.low, 7, err);
    return status == LULL_OK ? lull_team_bring(team, &freight, err) : status;
}

lull_status lull_wave_outliers_find(const struct lull_wave_field *field, int64_t least,
                                    struct lull_arena *arena,
                                    struct lull_wave_outliers *ret_outliers, struct lull_error *err)
{
    struct lull_wave_usual *usual = &ret_outliers->usual;
    struct search search = {.field = field, .usual = usual};
    *ret_outliers = (struct lull_wave_outliers){.list = NULL};
    lull_status status = find_limits(field, least, usual, err);
    if (status != LULL_OK)
        return status;
    search.least = least_of(usual);
    status = find_all(&search, err);
    if (status == LULL_OK) {
        const bool kept = !lull_team_is_first(field->team) || keep(&search, arena, ret_outliers);
        status = lull_team_agree(field->team, kept ? LULL_OK : no_memory_for_outliers(err), err);
    }
    free(search.counts);
    free(search.list);
    take_means(&search.sums, usual);
    return status;
}
