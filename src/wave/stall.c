/* Delays within calls: a rank waits though everybody that it waits for is in time. The message
 * passing library was late itself (its progress, the network), or the thread had no processor. */
#include "wave/trace.h"

#include "base/array.h"

#include <stdlib.h>

/* A wait of which no traced wave is the cause. */
struct stall {
    uint32_t rank;
    int32_t iteration;
    int64_t end, length; /* ns */
};

static int compare_stalls(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Whether `rank` was late by so much that one that waits for it could be idle until `end`. */
static bool was_late(const struct lull_wave_tracing *tracing, uint32_t rank, int32_t iteration,
                     int64_t end, int64_t least)
{
    const int32_t from = iteration > LULL_WAVE_AHEAD ? iteration - LULL_WAVE_AHEAD : 0;
    for (int32_t i = from; i <= iteration; i++) {
        const struct lull_wave_outlier *at =
            lull_wave_outlier_of(tracing->outliers, rank, (uint32_t)i);
        if (at &&
            (at->delay > least || at->collective > least || (at->idle > least && at->end < end)))
            return true;
    }
    return false;
}

/* Whom each rank waits for: the links of the graph, turned round. */
struct sources {
    uint64_t *first; /* [n_ranks + 1] */
    uint32_t *ranks;
};

static bool find_sources(const struct lull_wave_graph *graph, struct sources *ret_sources)
{
    uint32_t n = graph->n_ranks;
    uint64_t *first = calloc(n + (size_t)2, sizeof *first);
    uint32_t *ranks = malloc((graph->first[n] + 1) * sizeof *ranks);
    *ret_sources = (struct sources){first, ranks};
    if (!first || !ranks)
        return false;
    for (uint64_t l = 0; l < graph->first[n]; l++)
        first[graph->links[l].peer + 2]++;
    for (uint32_t r = 0; r < n; r++)
        first[r + 2] += first[r + 1];
    for (uint32_t r = 0; r < n; r++) /* first[r + 1] goes from the begin of rank r to its end */
        for (uint64_t l = graph->first[r]; l < graph->first[r + 1]; l++)
            ranks[first[graph->links[l].peer + 1]++] = r;
    return true;
}

/* Whether a rank waits for others, and none of them was late. */
static bool is_unexplained(const struct lull_wave_tracing *tracing, const struct sources *sources,
                           const struct stall *stall)
{
    uint64_t begin = sources->first[stall->rank], end = sources->first[stall->rank + 1];
    for (uint64_t s = begin; s < end; s++)
        if (was_late(tracing, sources->ranks[s], stall->iteration, stall->end,
                     stall->length / LULL_WAVE_LEAST_LEFT))
            return false;
    return end > begin;
}

/* All long waits that no wave has taken, in the order in which they ended; false: no memory. */
static bool list_stalls(const struct lull_wave_tracing *tracing, struct stall **ret_list,
                        size_t *ret_count)
{
    const struct lull_wave_outliers *outliers = tracing->outliers;
    size_t count = 0, room = 0;
    struct stall *list = NULL;
    for (uint32_t r = 0; r < tracing->field->n_ranks; r++)
        for (uint64_t o = outliers->first[r]; o < outliers->first[r + 1]; o++) {
            const struct lull_wave_outlier *at = &outliers->list[o];
            const int32_t iteration = (int32_t)at->iteration;
            if (at->idle <= outliers->usual.least_stall ||
                at->iteration < tracing->field->first_origin ||
                lull_wave_is_taken(tracing, r, iteration))
                continue;
            if (!lull_array_reserve(&list, &room, count + 1, sizeof *list)) {
                free(list);
                return false;
            }
            list[count++] = (struct stall){r, iteration, at->end, at->idle};
        }
    if (count)
        qsort(list, count, sizeof *list, compare_stalls);
    *ret_list = list;
    *ret_count = count;
    return true;
}

static bool trace_stall(struct lull_wave_tracing *tracing, const struct stall *stall,
                        struct lull_arena *arena)
{
    const int64_t wait = stall->length + tracing->field->rows[stall->rank].usual_wait;
    struct lull_wave *wave = &tracing->waves[tracing->n_waves];
    *wave = (struct lull_wave){.rank = stall->rank,
                               .iteration = stall->iteration,
                               .begin = stall->end - wait,
                               .length = stall->length,
                               .within_call = true};
    if (!lull_wave_path_make(tracing->field->n_ranks, arena, &wave->path))
        return false;
    tracing->n_waves++;
    return lull_wave_trace(tracing, tracing->n_waves - 1);
}

/* The first of the waits that are left over begins a wave if no other rank explains it; the wave is
 * traced before the next one is judged. */
bool lull_wave_trace_stalls(struct lull_wave_tracing *tracing, struct lull_arena *arena)
{
    struct stall *list;
    struct sources sources = {NULL, NULL};
    size_t count;
    if (!list_stalls(tracing, &list, &count))
        return false;
    bool good = count == 0 || find_sources(tracing->graph, &sources);
    for (size_t i = 0; i < count && good && tracing->n_waves < LULL_WAVE_MOST; i++)
        if (!lull_wave_is_taken(tracing, list[i].rank, list[i].iteration) &&
            is_unexplained(tracing, &sources, &list[i]))
            good = trace_stall(tracing, &list[i], arena);
    free(sources.first);
    free(sources.ranks);
    free(list);
    return good;
}
