/* Delays, and what they made idle. */
#include "wave/detect.h"

#include "base/array.h"
#include "wave/trace.h"

#include <stdlib.h>

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
                               const struct lull_wave_outliers *outliers, struct delays *delays,
                               struct lull_error *err)
{
    for (uint32_t r = 0; r < field->n_ranks; r++)
        for (uint64_t o = outliers->first[r]; o < outliers->first[r + 1]; o++) {
            const struct lull_wave_outlier *at = &outliers->list[o];
            const int32_t iteration = (int32_t)at->iteration;
            if (at->delay <= outliers->usual.least_delay || at->iteration < field->first_origin)
                continue;
            struct lull_wave *last = delays->count ? &delays->list[delays->count - 1] : NULL;
            if (last && last->rank == r && last->iteration + 1 == iteration) {
                last->length += at->delay;
                last->twice = true;
                continue;
            }
            if (!lull_array_reserve(&delays->list, &delays->room, delays->count + 1,
                                    sizeof *delays->list))
                return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the delays");
            delays->list[delays->count++] = (struct lull_wave){
                .rank = r, .iteration = iteration, .begin = at->begin, .length = at->delay};
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
                                        .outliers = &waves->outliers,
                                        .waves = waves->waves,
                                        .n_waves = waves->count};
    bool good = true;
    for (uint32_t w = 0; w < waves->count && good; w++)
        good = lull_wave_path_make(field->n_ranks, arena, &waves->waves[w].path);
    tracing.heads = calloc(field->n_iterations + (size_t)1, sizeof *tracing.heads);
    good = good && tracing.heads && lull_wave_trace(&tracing, 0) &&
           lull_wave_trace_stalls(&tracing, arena);
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
                            const struct lull_wave_outliers *outliers,
                            const struct lull_wave_options *options, struct lull_arena *arena,
                            struct lull_waves *ret_waves, struct lull_error *err)
{
    struct lull_waves waves = {.outliers = *outliers};
    struct delays delays = {NULL, 0, 0};
    lull_status status = find_delays(field, outliers, &delays, err);
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
    const struct lull_wave_view view = {field, graph, &waves,
                                        options->confidence > 0 ? options->confidence : 0.95};
    status = describe_all(&view, &waves, arena, err);
    if (status == LULL_OK)
        *ret_waves = waves;
    return status;
}
