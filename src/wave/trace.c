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

int64_t lull_wave_idle_in_collectives(const struct lull_wave_row *row, uint32_t iteration,
                                      uint8_t *ret_operation)
{
    uint32_t c;
    int64_t sum = 0;
    for (uint32_t n = lull_wave_collectives(row, iteration, &c); n > 0; n--, c++) {
        sum += row->collectives[c].end - row->collectives[c].begin - row->usual_collective;
        *ret_operation = row->collectives[c].operation;
    }
    return sum;
}

/* The iteration, from `from` on, in which a rank was idle longest. A wave of which so much is gone
 * at once is gone. */
static struct idleness find_idleness(const struct lull_wave_tracing *tracing, uint32_t rank,
                                     int32_t from, int64_t before)
{
    const struct lull_wave_row *row = &tracing->field->rows[rank];
    int64_t least = before / LULL_WAVE_LEAST_LEFT;
    int64_t most = least > tracing->least_idle ? least : tracing->least_idle;
    struct idleness found = {-1, 0, 0};
    for (int32_t i = from; i <= from + LULL_WAVE_AHEAD && i < (int32_t)tracing->field->n_iterations;
         i++) {
        int64_t idle = lull_wave_idle(tracing->field, rank, (uint32_t)i);
        if (idle > most && !lull_wave_is_taken(tracing, rank, i)) {
            most = idle;
            found = (struct idleness){i, 0, idle};
        }
        uint8_t operation;
        if (!row->n_collectives)
            continue;
        idle = lull_wave_idle_in_collectives(row, (uint32_t)i, &operation);
        if (idle > most && !lull_wave_is_taken(tracing, rank, i)) {
            most = idle;
            found = (struct idleness){i, (uint8_t)(operation + 1), idle};
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
