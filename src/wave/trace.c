/* What a delay made idle, rank by rank along the messages. */
#include "wave/trace.h"

#include "base/array.h"

/* A rank that is idle, and why. */
struct idleness {
    int32_t iteration; /* -1: it is not */
    uint8_t carrier;   /* as in struct lull_wave_path */
    int64_t ns;
};

static bool visit(struct lull_wave_tracing *tracing, uint32_t wave, uint32_t rank,
                  struct idleness idle, int32_t offset)
{
    if (!lull_array_reserve(&tracing->visits, &tracing->visits_room, tracing->n_visits + 1,
                            sizeof *tracing->visits))
        return false;
    const struct lull_wave_path *path = &tracing->waves[wave].path;
    path->arrivals[rank] = idle.iteration;
    path->offsets[rank] = offset;
    path->carriers[rank] = idle.carrier;
    tracing->visits[tracing->n_visits++] =
        (struct lull_wave_visit){wave, rank, tracing->heads[idle.iteration], idle.ns};
    tracing->heads[idle.iteration] = (uint32_t)tracing->n_visits;
    return true;
}

bool lull_wave_is_taken(const struct lull_wave_tracing *tracing, uint32_t rank, int32_t iteration)
{
    for (uint32_t w = 0; w < tracing->n_waves; w++)
        if (tracing->waves[w].path.arrivals[rank] == iteration)
            return true;
    return false;
}

/* The iteration, from `from` on, in which a rank was idle longest. A wave of which so much is gone
 * at once is gone. */
static struct idleness find_idleness(const struct lull_wave_tracing *tracing, uint32_t rank,
                                     int32_t from, int64_t before)
{
    const int64_t least = before / LULL_WAVE_LEAST_LEFT;
    const int64_t least_idle = tracing->outliers->usual.least_idle;
    int64_t most = least > least_idle ? least : least_idle;
    struct idleness found = {-1, 0, 0};
    for (int32_t i = from; i <= from + LULL_WAVE_AHEAD && i < (int32_t)tracing->field->n_iterations;
         i++) {
        const struct lull_wave_outlier *at =
            lull_wave_outlier_of(tracing->outliers, rank, (uint32_t)i);
        if (!at || (at->idle <= most && at->collective <= most) ||
            lull_wave_is_taken(tracing, rank, i))
            continue;
        if (at->idle > most) {
            most = at->idle;
            found = (struct idleness){i, 0, at->idle};
        }
        if (at->collective > most) {
            most = at->collective;
            found = (struct idleness){i, (uint8_t)(at->operation + 1), at->collective};
        }
    }
    return found;
}

static bool follow(struct lull_wave_tracing *tracing, const struct lull_wave_visit *visited,
                   int32_t iteration)
{
    const struct lull_wave_graph *graph = tracing->graph;
    const struct lull_wave_path *path = &tracing->waves[visited->wave].path;
    uint32_t rank = visited->rank;
    for (uint64_t l = graph->first[rank]; l < graph->first[rank + 1]; l++) {
        uint32_t peer = graph->links[l].peer;
        if (path->arrivals[peer] >= 0)
            continue;
        struct idleness idle = find_idleness(tracing, peer, iteration, visited->idle);
        int32_t offset = path->offsets[rank] + (int32_t)lull_wave_offset(graph, rank, peer);
        if (idle.iteration >= 0 && !visit(tracing, visited->wave, peer, idle, offset))
            return false;
    }
    return true;
}

bool lull_wave_trace(struct lull_wave_tracing *tracing, uint32_t first)
{
    for (uint32_t w = first; w < tracing->n_waves; w++)
        if (!visit(tracing, w, tracing->waves[w].rank,
                   (struct idleness){tracing->waves[w].iteration, 0, tracing->waves[w].length}, 0))
            return false;
    for (uint32_t i = 0; i < tracing->field->n_iterations; i++)
        while (tracing->heads[i]) {
            const struct lull_wave_visit visited = tracing->visits[tracing->heads[i] - 1];
            tracing->heads[i] = visited.next;
            if (!follow(tracing, &visited, (int32_t)i))
                return false;
        }
    return true;
}
