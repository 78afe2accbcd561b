/* Delays, and what they made idle. */
#include "wave/detect.h"

#include "base/array.h"
#include "wave/select.h"
#include "wave/trace.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLE = 1 << 18 };  /* cells from which the noise is judged */
#define FALSE_ALARMS   1e-3 /* delays per run that are noise */
#define FALSE_IDLENESS 1e-3 /* share of the waits beside a wave that are taken for it */
#define LEAST_SHARE    0.01 /* of an iteration: less is no idleness, however silent the system */

int64_t lull_wave_idle(const struct lull_wave_field *field, uint32_t rank, uint32_t iteration)
{
    const struct lull_wave_row *row = &field->rows[rank];
    return row->cells[iteration].wait - row->usual_wait;
}

int64_t lull_wave_delay(const struct lull_wave_field *field, uint32_t rank, uint32_t iteration)
{
    const struct lull_wave_row *row = &field->rows[rank];
    return lull_wave_work(row, iteration) - row->usual_work;
}

/* ---- what is usual ----------------------------------------------------------------------------
 */

/* A time that a share `alpha` of the values passes, by an exponential tail through the median and
 * the 80 % quantile: up to a fifth of the values may be waves. */
static double tail(int64_t *values, size_t count, double alpha)
{
    double low = (double)lull_wave_select(values, count, count / 2);
    double high = (double)lull_wave_select(values, count, (size_t)((double)count * 0.8));
    return high + (high - low) / log(0.5 / 0.2) * fmax(0, log(0.2 / alpha));
}

struct sums {
    double span, work, wait;
    uint64_t count;
};

/* Means over the cells that belong to no wave. */
static void add_row(const struct lull_wave_field *field, uint32_t rank,
                    const struct lull_wave_usual *usual, struct sums *sums)
{
    const struct lull_wave_row *row = &field->rows[rank];
    for (uint32_t i = 1; i < field->n_iterations; i++) {
        int64_t work = lull_wave_work(row, i), wait = row->cells[i].wait;
        int64_t span = row->cells[i].end - row->cells[i - 1].end;
        if (span - row->usual_work - row->usual_wait > usual->least_delay)
            continue;
        sums->span += (double)span;
        sums->work += (double)work;
        sums->wait += (double)wait;
        sums->count++;
    }
}

static lull_status find_usual(const struct lull_wave_field *field, int64_t least,
                              struct lull_wave_usual *usual, struct lull_error *err)
{
    uint64_t cells = (uint64_t)field->n_ranks * field->n_iterations;
    uint64_t step = cells / SAMPLE + 1, count = 0;
    if (field->n_iterations % step == 0)
        step++; /* not the same iteration of each rank */
    int64_t *values = malloc((cells / step + 2) * 2 * sizeof *values);
    if (!values)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a sample of the waits");
    int64_t *works = values + cells / step + 2;
    int64_t *spans = works;
    for (uint64_t c = 0; c < cells; c += step, count++) {
        uint32_t rank = (uint32_t)(c / field->n_iterations);
        uint32_t iteration = (uint32_t)(c % field->n_iterations);
        const struct lull_wave_row *row = &field->rows[rank];
        values[count] = row->cells[iteration].wait;
        spans[count] =
            row->cells[iteration].end - (iteration ? row->cells[iteration - 1].end : row->begin);
    }
    usual->comm = (double)lull_wave_select(values, count, count / 20);
    double cycle = (double)lull_wave_select(spans, count, count / 2);
    count = 0;
    for (uint64_t c = 0; c < cells; c += step, count++) {
        uint32_t rank = (uint32_t)(c / field->n_iterations);
        uint32_t iteration = (uint32_t)(c % field->n_iterations);
        values[count] = lull_wave_idle(field, rank, iteration);
        works[count] = lull_wave_delay(field, rank, iteration);
    }
    usual->least_idle = (int64_t)fmax(tail(values, count, FALSE_IDLENESS), LEAST_SHARE * cycle) + 1;
    double longest_wait = tail(values, count, FALSE_ALARMS / (double)cells);
    usual->least_delay = (int64_t)fmax(tail(works, count, FALSE_ALARMS / (double)cells),
                                       least > 0 ? (double)least - 1 : 0.99 * cycle);
    usual->least_stall = (int64_t)fmax(longest_wait, (double)usual->least_delay);
    free(values);
    struct sums sums = {0};
    for (uint32_t r = 0; r < field->n_ranks; r++)
        add_row(field, r, usual, &sums);
    usual->cycle = sums.count ? sums.span / (double)sums.count : cycle;
    usual->work = sums.count ? sums.work / (double)sums.count : NAN;
    usual->wait = sums.count ? sums.wait / (double)sums.count : NAN;
    return LULL_OK;
}

/* ---- delays -----------------------------------------------------------------------------------
 */

struct delays {
    struct lull_wave *list;
    size_t count, room;
};

static int compare_lengths(const void *a, const void *b)
{
    const struct lull_wave *x = a, *y = b;
    return x->length > y->length ? -1 : x->length < y->length;
}

static int compare_places(const void *a, const void *b)
{
    const struct lull_wave *x = a, *y = b;
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static lull_status find_delays(const struct lull_wave_field *field,
                               const struct lull_wave_usual *usual, struct delays *delays,
                               struct lull_error *err)
{
    for (uint32_t r = 0; r < field->n_ranks; r++)
        for (uint32_t i = field->first_origin; i < field->n_iterations; i++) {
            int64_t length = lull_wave_delay(field, r, i);
            if (length <= usual->least_delay)
                continue;
            struct lull_wave *last = delays->count ? &delays->list[delays->count - 1] : NULL;
            if (last && last->rank == r && last->iteration + 1 == (int32_t)i) {
                last->length += length; /* one that lasts for several iterations */
                continue;
            }
            if (!lull_array_reserve(&delays->list, &delays->room, delays->count + 1,
                                    sizeof *delays->list))
                return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the delays");
            const struct lull_wave_row *row = &field->rows[r];
            delays->list[delays->count++] =
                (struct lull_wave){.rank = r,
                                   .iteration = (int32_t)i,
                                   .begin = i > 0 ? row->cells[i - 1].end : row->begin,
                                   .length = length};
        }
    return LULL_OK;
}

/* ---- all waves ----------------------------------------------------------------------------------
 */

/* Delays in computations first; what they do not explain may have begun within a call. */
static lull_status trace_all(const struct lull_wave_field *field,
                             const struct lull_wave_graph *graph, struct lull_arena *arena,
                             struct lull_waves *waves, struct lull_error *err)
{
    struct lull_wave_tracing tracing = {.field = field,
                                        .graph = graph,
                                        .least_idle = waves->usual.least_idle,
                                        .waves = waves->waves,
                                        .n_waves = waves->count};
    bool good = true;
    for (uint32_t w = 0; w < waves->count && good; w++)
        good = lull_wave_path_make(field->n_ranks, arena, &waves->waves[w].path);
    tracing.heads = calloc(field->n_iterations + (size_t)1, sizeof *tracing.heads);
    good = good && tracing.heads && lull_wave_trace(&tracing, 0) &&
           lull_wave_trace_stalls(&tracing, waves->usual.least_stall, arena);
    waves->count = tracing.n_waves;
    free(tracing.heads);
    free(tracing.visits);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "not enough memory to follow the waves");
}

/* Delays that nobody waited for are no waves. */
static void drop_alone(const struct lull_wave_field *field, struct lull_waves *waves)
{
    uint32_t kept = 0;
    for (uint32_t w = 0; w < waves->count; w++) {
        struct lull_wave *wave = &waves->waves[w];
        for (uint32_t r = 0; r < field->n_ranks; r++)
            wave->n_ranks += r != wave->rank && wave->path.arrivals[r] >= 0;
        if (wave->n_ranks == 0)
            waves->delays_alone++;
        else
            waves->waves[kept++] = *wave;
    }
    waves->count = kept;
}

static lull_status describe_all(const struct lull_wave_view *view, struct lull_waves *waves,
                                struct lull_arena *arena, struct lull_error *err)
{
    for (uint32_t w = 0; w < waves->count; w++) {
        lull_status status = lull_wave_describe(view, &waves->waves[w], arena, err);
        if (status != LULL_OK)
            return status;
    }
    for (uint32_t w = 0; w < waves->count; w++) {
        lull_wave_find_end(view, &waves->waves[w], true);
        lull_wave_find_end(view, &waves->waves[w], false);
    }
    return LULL_OK;
}

lull_status lull_waves_find(const struct lull_wave_field *field,
                            const struct lull_wave_graph *graph,
                            const struct lull_wave_options *options, struct lull_arena *arena,
                            struct lull_waves *ret_waves, struct lull_error *err)
{
    struct lull_waves waves = {.count = 0};
    struct delays delays = {NULL, 0, 0};
    lull_status status = find_usual(field, options->least, &waves.usual, err);
    if (status == LULL_OK)
        status = find_delays(field, &waves.usual, &delays, err);
    if (status == LULL_OK) {
        waves.count = (uint32_t)(delays.count < LULL_WAVE_MOST ? delays.count : LULL_WAVE_MOST);
        waves.left_out = (uint32_t)(delays.count - waves.count);
        if (waves.left_out)
            qsort(delays.list, delays.count, sizeof *delays.list, compare_lengths);
        if (waves.count)
            qsort(delays.list, waves.count, sizeof *delays.list, compare_places);
        waves.waves = lull_arena_zero(arena, LULL_WAVE_MOST, sizeof *waves.waves);
        for (uint32_t w = 0; w < waves.count; w++)
            waves.waves[w] = delays.list[w];
        status = trace_all(field, graph, arena, &waves, err);
    }
    free(delays.list);
    if (status != LULL_OK)
        return status;
    drop_alone(field, &waves);
    qsort(waves.waves, waves.count, sizeof *waves.waves, compare_places);
    const struct lull_wave_view view = {
        field,       graph,       &waves.usual,
        waves.waves, waves.count, options->confidence > 0 ? options->confidence : 0.95};
    status = describe_all(&view, &waves, arena, err);
    if (status == LULL_OK)
        *ret_waves = waves;
    return status;
}
