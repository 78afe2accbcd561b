/* SPDX-License-Identifier: BSD-3-Clause */
#include "wave/graph.h"

#include "base/sorted.h"
#include "wave/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PHASE = UINT16_MAX };

/* ---- links --------------------------------------------------------------------------------- */

static int compare_messages(const void *a, const void *b)
{
    const struct lull_wave_message *x = a, *y = b;
    if (x->send != y->send)
        return x->send ? -1 : 1;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return x->phase < y->phase ? -1 : x->phase > y->phase;
}

struct work {
    const struct lull_wave_field *field;
    struct lull_wave_message **sorted; /* [n_ranks]: sends, then receives, each by peer */
    const struct lull_network *network;
    uint32_t eager; /* parameter of the network */
    struct lull_wave_graph *graph;
    uint64_t *first;
    struct lull_wave_link *links;
};

/* The n-th receive of `rank` from `peer` in an iteration. */
static const struct lull_wave_message *find_receive(const struct work *work, uint32_t rank,
                                                    uint32_t peer, uint32_t n)
{
    const uint32_t count = work->field->rows[rank].n_messages;
    const struct lull_wave_message *messages = work->sorted[rank];
    const struct lull_wave_message wanted = {.peer = peer};
    struct lull_bisection at = {.end = count};
    while (lull_bisect(&at))
        at.in_front = compare_messages(&messages[at.middle], &wanted) < 0;
    const size_t found = at.begin + n;
    return found < count && !messages[found].send && messages[found].peer == peer ? &messages[found]
                                                                                  : NULL;
}

static bool is_eager(const struct work *work, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct lull_network *network = work->network;
    if (!network || work->eager >= network->class->n_parameters)
        return true;
    enum lull_level level = work->network->class->parameters[work->eager].per_level
                                ? lull_placement_level(&network->placement, from, to)
                                : 0;
    return (double)bytes <= network->values[level][work->eager];
}

static void add_link(struct work *work, uint32_t from, uint32_t phase, uint32_t to,
                     uint32_t to_phase, uint64_t *places)
{
    if (phase > MOST_PHASE || to_phase > MOST_PHASE)
        return;
    if (work->links)
        work->links[places[from]] =
            (struct lull_wave_link){to, (uint16_t)phase, (uint16_t)to_phase};
    places[from]++;
}

/* Adds the number of links of each rank to places[rank]. Where there is room for the links, also
 * writes them, those of a rank from index places[rank] on. */
static void go_over_messages(struct work *work, uint64_t *places)
{
    for (uint32_t r = 0; r < work->field->n_ranks; r++) {
        uint32_t same = 0;
        for (uint32_t m = 0; m < work->field->rows[r].n_messages; m++) {
            const struct lull_wave_message *sent = &work->sorted[r][m];
            if (!sent->send)
                break;
            same = m > 0 && sent[-1].peer == sent->peer ? same + 1 : 0;
            if (sent->peer == r || sent->peer >= work->field->n_ranks)
                continue;
            const struct lull_wave_message *received = find_receive(work, sent->peer, r, same);
            if (!received)
                continue;
            add_link(work, r, sent->phase, sent->peer, received->phase, places);
            if (!is_eager(work, r, sent->peer, sent->bytes)) {
                work->graph->rendezvous = true;
                add_link(work, sent->peer, received->phase, r, sent->phase, places);
            }
        }
    }
}

static bool sort_messages(struct work *work, struct lull_arena *arena)
{
    uint32_t n_ranks = work->field->n_ranks;
    work->sorted = lull_arena_try(arena, n_ranks, sizeof *work->sorted);
    for (uint32_t r = 0; work->sorted && r < n_ranks; r++) {
        const struct lull_wave_row *row = &work->field->rows[r];
        work->sorted[r] = lull_arena_try(arena, row->n_messages + (size_t)1, sizeof **work->sorted);
        if (!work->sorted[r])
            return false;
        memcpy(work->sorted[r], row->messages, row->n_messages * sizeof **work->sorted);
        qsort(work->sorted[r], row->n_messages, sizeof **work->sorted, compare_messages);
    }
    return work->sorted;
}

/* ---- what the graph looks like ------------------------------------------------------------- */

int64_t lull_wave_offset(const struct lull_wave_graph *graph, uint32_t from, uint32_t to)
{
    int64_t offset = (int64_t)to - from, n = graph->n_ranks;
    if (!graph->periodic)
        return offset;
    return offset > n / 2 ? offset - n : offset < -((n - 1) / 2) ? offset + n : offset;
}

static bool has_offset(const struct lull_wave_graph *graph, uint32_t rank, int64_t offset)
{
    for (uint64_t l = graph->first[rank]; l < graph->first[rank + 1]; l++)
        if ((int64_t)graph->links[l].peer - rank == offset)
            return true;
    return false;
}

/* Whether ranks are a ring. A link over more than half of the ranks closes a ring if its way round
 * the other side is as long as some link of the rank in the middle. On a ring 9 of 10 such links
 * do. */
static bool is_periodic(const struct lull_wave_graph *graph)
{
    uint64_t closing = 0, alike = 0;
    int64_t n = graph->n_ranks;
    for (uint32_t r = 0; r < graph->n_ranks; r++)
        for (uint64_t l = graph->first[r]; l < graph->first[r + 1]; l++) {
            int64_t offset = (int64_t)graph->links[l].peer - r;
            if (2 * llabs(offset) <= n)
                continue;
            closing++;
            alike += has_offset(graph, graph->n_ranks / 2, offset > 0 ? offset - n : offset + n);
        }
    return closing > 0 && 10 * alike >= 9 * closing;
}

/* The sum over the phases of the largest offset that a link of the rank has. The links of a rank
 * must be sorted by phase. */
static int64_t kappa_of_rank(const struct lull_wave_graph *graph, uint32_t rank, bool up)
{
    int64_t sum = 0;
    for (uint64_t l = graph->first[rank]; l < graph->first[rank + 1];) {
        uint16_t phase = graph->links[l].phase;
        int64_t most = 0;
        for (; l < graph->first[rank + 1] && graph->links[l].phase == phase; l++) {
            int64_t offset = lull_wave_offset(graph, rank, graph->links[l].peer);
            offset = up ? offset : -offset;
            most = offset > most ? offset : most;
        }
        sum += most;
    }
    return sum;
}

static double kappa(const struct lull_wave_graph *graph, bool up, int64_t *work)
{
    for (uint32_t r = 0; r < graph->n_ranks; r++)
        work[r] = kappa_of_rank(graph, r, up);
    return (double)lull_wave_select(work, graph->n_ranks, graph->n_ranks / 2);
}

static int compare_links(const void *a, const void *b)
{
    const struct lull_wave_link *x = a, *y = b;
    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    return x->peer < y->peer ? -1 : x->peer > y->peer;
}

static lull_status no_memory_for_graph(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the graph of messages");
}

lull_status lull_wave_graph_make(const struct lull_wave_field *field,
                                 const struct lull_network *network, struct lull_arena *arena,
                                 const struct lull_wave_graph **ret_graph, struct lull_error *err)
{
    uint32_t n = field->n_ranks;
    struct lull_wave_graph *graph = lull_arena_zero(arena, 1, sizeof *graph);
    struct work work = {.field = field, .network = network, .graph = graph};
    if (network) {
        work.eager = lull_network_parameter(network->class, "eager");
        if (work.eager >= network->class->n_parameters)
            work.eager = lull_network_parameter(network->class, "S");
    }
    uint64_t *first = lull_arena_try(arena, n + (size_t)1, sizeof *first);
    uint64_t *places = lull_arena_try(arena, n + (size_t)1, sizeof *places);
    int64_t *scratch = lull_arena_try(arena, n + (size_t)1, sizeof *scratch);
    if (!first || !places || !scratch || !sort_messages(&work, arena))
        return no_memory_for_graph(err);
    go_over_messages(&work, places);
    for (uint32_t r = 0; r < n; r++) {
        first[r + 1] = first[r] + places[r];
        places[r] = first[r];
    }
    work.links = lull_arena_try(arena, first[n] + 1, sizeof *work.links);
    if (!work.links)
        return no_memory_for_graph(err);
    go_over_messages(&work, places);
    for (uint32_t r = 0; r < n; r++)
        qsort(work.links + first[r], first[r + 1] - first[r], sizeof *work.links, compare_links);
    graph->n_ranks = n;
    graph->first = first;
    graph->links = work.links;
    graph->periodic = is_periodic(graph);
    graph->kappa_up = kappa(graph, true, scratch);
    graph->kappa_down = kappa(graph, false, scratch);
    *ret_graph = graph;
    return LULL_OK;
}

/* ---- shortest paths ------------------------------------------------------------------------ */

/* The moment from which a link's peer is delayed, if the rank itself is delayed from `moment` on. A
 * rank that is delayed from behind phase p of iteration i on has the moment i * 2^32 + p + 1. */
static uint64_t moment_through(uint64_t moment, const struct lull_wave_link *link)
{
    uint64_t iteration = moment >> 32, phase = moment & UINT32_MAX;
    if (link->phase < phase)
        iteration++;
    return iteration << 32 | (link->peer_phase + UINT64_C(1));
}

/* Ranks whose links are to be looked at; no rank is there twice. */
struct queue {
    uint32_t *ranks; /* a ring of n_ranks */
    bool *there;
    uint32_t n_ranks, begin, count;
};

static void push(struct queue *queue, uint32_t rank)
{
    if (queue->there[rank])
        return;
    queue->there[rank] = true;
    queue->ranks[(queue->begin + (uint64_t)queue->count++) % queue->n_ranks] = rank;
}

static uint32_t pop(struct queue *queue)
{
    uint32_t rank = queue->ranks[queue->begin];
    queue->begin = (queue->begin + 1) % queue->n_ranks;
    queue->count--;
    queue->there[rank] = false;
    return rank;
}

/* Finds the earliest moment of each rank, from those of the ranks in the queue (the algorithm of
 * Bellman and Ford, with a queue). */
static void relax(const struct lull_wave_graph *graph, uint64_t *moments, int32_t *offsets,
                  struct queue *queue)
{
    while (queue->count) {
        uint32_t rank = pop(queue);
        for (uint64_t l = graph->first[rank]; l < graph->first[rank + 1]; l++) {
            const struct lull_wave_link *link = &graph->links[l];
            uint64_t moment = moment_through(moments[rank], link);
            if (moment >= moments[link->peer])
                continue;
            moments[link->peer] = moment;
            offsets[link->peer] =
                offsets[rank] + (int32_t)lull_wave_offset(graph, rank, link->peer);
            push(queue, link->peer);
        }
    }
}

bool lull_wave_path_make(uint32_t n_ranks, struct lull_arena *arena,
                         struct lull_wave_path *ret_path)
{
    ret_path->arrivals = lull_arena_try(arena, n_ranks, sizeof *ret_path->arrivals);
    ret_path->offsets = lull_arena_try(arena, n_ranks, sizeof *ret_path->offsets);
    ret_path->carriers = lull_arena_try(arena, n_ranks, sizeof *ret_path->carriers);
    for (uint32_t r = 0; ret_path->arrivals && r < n_ranks; r++)
        ret_path->arrivals[r] = -1;
    return ret_path->arrivals && ret_path->offsets && ret_path->carriers;
}

lull_status lull_wave_predict(const struct lull_wave_graph *graph, uint32_t rank, int32_t begin,
                              struct lull_arena *arena, struct lull_wave_path *ret_path,
                              struct lull_error *err)
{
    uint32_t n = graph->n_ranks;
    struct queue queue = {.n_ranks = n};
    struct lull_wave_path path;
    uint64_t *moments = malloc((n + (size_t)1) * sizeof *moments);
    queue.ranks = malloc((n + (size_t)1) * sizeof *queue.ranks);
    queue.there = calloc(n + (size_t)1, sizeof *queue.there);
    bool good = moments && queue.ranks && queue.there && lull_wave_path_make(n, arena, &path);
    for (uint32_t r = 0; good && r < n; r++)
        moments[r] = UINT64_MAX;
    if (good) {
        moments[rank] = (uint64_t)begin << 32;
        push(&queue, rank);
        relax(graph, moments, path.offsets, &queue);
        for (uint32_t r = 0; r < n; r++)
            if (moments[r] != UINT64_MAX)
                path.arrivals[r] = (int32_t)(moments[r] >> 32);
        *ret_path = path;
    }
    free(moments);
    free(queue.ranks);
    free(queue.there);
    return good ? LULL_OK : no_memory_for_graph(err);
}

lull_status lull_wave_hops(const struct lull_wave_graph *graph, uint32_t rank, uint32_t *ret_hops,
                           struct lull_error *err)
{
    uint32_t n = graph->n_ranks, begin = 0, end = 1;
    uint32_t *queue = malloc((n + (size_t)1) * sizeof *queue);
    if (!queue)
        return no_memory_for_graph(err);
    for (uint32_t r = 0; r < n; r++)
        ret_hops[r] = UINT32_MAX;
    ret_hops[rank] = 0;
    queue[0] = rank;
    while (begin < end) {
        uint32_t at = queue[begin++];
        for (uint64_t l = graph->first[at]; l < graph->first[at + 1]; l++) {
            uint32_t peer = graph->links[l].peer;
            if (ret_hops[peer] != UINT32_MAX)
                continue;
            ret_hops[peer] = ret_hops[at] + 1;
            queue[end++] = peer;
        }
    }
    free(queue);
    return LULL_OK;
}
