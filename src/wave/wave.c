/* SPDX-License-Identifier: BSD-3-Clause */
#include "wave/wave.h"

#include "base/array.h"
#include "stats/regression.h"
#include "stats/special.h"
#include "wave/graph.h"
#include "wave/outlier.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { WAVE_MOST = 64 }; /* more delays than that are not followed */

/* What the description of one wave may look at. */
struct wave_view {
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    const struct lull_waves *waves; /* all of them */
    double confidence;
};

/* ==== front =================================================================================== */

/* The description of a front: how fast it moves, how it decays, and why it ends. */

static const struct lull_wave_value no_value = {NAN, NAN, NAN};

const char *lull_wave_end_id(unsigned end)
{
    static const char *const ids[LULL_WAVE_ENDS] = {
        "none", "boundary", "itself", "other_wave", "collective", "run", "slack", "noise"};
    return ids[end];
}

const char *lull_wave_end_text(unsigned end)
{
    static const char *const texts[LULL_WAVE_ENDS] = {
        [LULL_WAVE_END_NONE] = "did not go this way",   [LULL_WAVE_END_BOUNDARY] = "boundary",
        [LULL_WAVE_END_ITSELF] = "met its other front", [LULL_WAVE_END_OTHER] = "met another wave",
        [LULL_WAVE_END_COLLECTIVE] = "collective",      [LULL_WAVE_END_RUN] = "end of the run",
        [LULL_WAVE_END_SLACK] = "absorbed by slack",    [LULL_WAVE_END_NOISE] = "lost in noise",
    };
    return texts[end];
}

/* The outlier of a rank in the iteration in which a wave arrives there; there always is one. */
static const struct lull_wave_outlier *outlier_of(const struct wave_view *view, uint32_t rank,
                                                  int32_t iteration)
{
    return lull_wave_outlier_of(&view->waves->outliers, rank, (uint32_t)iteration);
}

int64_t lull_wave_idle_at_arrival(const struct lull_waves *waves, const struct lull_wave *wave,
                                  uint32_t rank)
{
    return lull_wave_outlier_of(&waves->outliers, rank, (uint32_t)wave->path.arrivals[rank])->idle;
}

/* ---- the leading edge ---------------------------------------------------------------------- */

/* Where a front is: at the end of iteration x[i] it had got y[i] ranks far. */
struct edge {
    double *x, *y;     /* [count] */
    uint32_t *leaders; /* [count]: the rank at this distance; leaders[0] is the origin */
    size_t count;
};

struct arrival {
    int32_t iteration;
    uint32_t rank;
    int64_t distance;
    uint8_t carrier;
};

static int compare_arrivals(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? -1 : 1;
    return x->distance < y->distance ? -1 : x->distance > y->distance;
}

/* The ranks of one direction that were reached, by iteration, then distance; NULL: no memory. */
static struct arrival *list_arrivals(uint32_t n_ranks, const struct lull_wave_path *path, bool up,
                                     size_t *ret_count)
{
    struct arrival *list = malloc((n_ranks + (size_t)1) * sizeof *list);
    size_t count = 0;
    for (uint32_t r = 0; list && r < n_ranks; r++) {
        int64_t distance = up ? path->offsets[r] : -(int64_t)path->offsets[r];
        if (distance > 0 && path->arrivals[r] >= 0)
            list[count++] = (struct arrival){path->arrivals[r], r, distance, path->carriers[r]};
    }
    if (list)
        qsort(list, count, sizeof *list, compare_arrivals);
    *ret_count = count;
    return list;
}

struct reach {
    int64_t distance;  /* ranks */
    int32_t iteration; /* on a ring the iteration in which the front is there; else INT32_MAX */
};

/* How far a front can get at most. On a ring this is where it was when it met the other front: from
 * then on it only reaches ranks that the other front has passed over. */
static struct reach reach_of(const struct lull_wave_graph *graph, uint32_t origin,
                             const struct lull_wave_path *path, bool up)
{
    if (!graph->periodic)
        return (struct reach){up ? (int64_t)graph->n_ranks - 1 - origin : origin, INT32_MAX};
    size_t n[2];
    struct arrival *lists[2] = {list_arrivals(graph->n_ranks, path, false, &n[0]),
                                list_arrivals(graph->n_ranks, path, true, &n[1])};
    int64_t most[2] = {0, 0};
    struct reach met = {INT64_MAX, INT32_MAX};
    for (size_t d = 0, u = 0;
         lists[0] && lists[1] && met.iteration == INT32_MAX && d + u < n[0] + n[1];) {
        int32_t at = d < n[0] ? lists[0][d].iteration : INT32_MAX;
        if (u < n[1] && lists[1][u].iteration < at)
            at = lists[1][u].iteration;
        for (; d < n[0] && lists[0][d].iteration == at; d++)
            most[0] = lists[0][d].distance > most[0] ? lists[0][d].distance : most[0];
        for (; u < n[1] && lists[1][u].iteration == at; u++)
            most[1] = lists[1][u].distance > most[1] ? lists[1][u].distance : most[1];
        if (most[0] + most[1] >= (int64_t)graph->n_ranks - 1)
            met = (struct reach){most[up], at};
    }
    free(lists[0]);
    free(lists[1]);
    return met;
}

static void free_edge(struct edge *edge)
{
    free(edge->x); /* and y, behind it */
    free(edge->leaders);
}

/* The points at which a front moved on, as far as nothing stopped it. Left out are points so close
 * to the last rank that there is no room for `step`, the distance that the front should go in an
 * iteration (but the first point stays), and points behind a collective operation, in which the
 * front jumps. False: no memory. */
static bool make_edge(uint32_t origin, int32_t begin, const struct arrival *list, size_t count,
                      struct reach reach, double step, struct edge *edge)
{
    double *numbers = malloc((count + 2) * 2 * sizeof *numbers);
    uint32_t *leaders = malloc((count + 2) * sizeof *leaders);
    if (!numbers || !leaders) {
        free(numbers);
        free(leaders);
        return false;
    }
    *edge = (struct edge){numbers, numbers + count + 2, leaders, 1};
    edge->x[0] = begin - 1;
    edge->y[0] = 0;
    edge->leaders[0] = origin;
    for (size_t i = 0; i < count; i++) {
        size_t last = edge->count - 1;
        if ((double)list[i].distance <= edge->y[last])
            continue;
        if (list[i].carrier)
            break;
        if (last == 0 || edge->x[last] != list[i].iteration) {
            if (last > 0 && (edge->y[last] + fmax(step, 1) > (double)reach.distance ||
                             list[i].iteration >= reach.iteration))
                break;
            last = edge->count++;
        }
        edge->x[last] = list[i].iteration;
        edge->y[last] = (double)list[i].distance;
        edge->leaders[last] = list[i].rank;
    }
    return true;
}

/* The slope of points. Its interval is Student's, but at least as wide as rounding to whole ranks
 * makes it. */
static struct lull_wave_value slope(const double *x, const double *y, size_t count,
                                    double confidence)
{
    struct lull_line line;
    if (count < 2 || lull_fit_line(x, y, NULL, count, confidence, &line, NULL) != LULL_OK)
        return no_value;
    double rounding = 1 / (x[count - 1] - x[0]);
    double half = count > 2 ? fmax(line.slope_error, rounding) : rounding;
    return (struct lull_wave_value){line.slope, line.slope - half, line.slope + half};
}

/* The speed of an edge. A front that gets as far as it can in one iteration has at least this
 * speed. */
static struct lull_wave_value edge_speed(const struct edge *edge, int64_t reach, double confidence)
{
    struct lull_wave_value speed = slope(edge->x, edge->y, edge->count, confidence);
    if (edge->count == 2 && edge->y[1] >= (double)reach)
        speed.high = INFINITY;
    return speed;
}

struct lull_wave_value lull_wave_speed(const struct lull_wave_graph *graph, uint32_t rank,
                                       int32_t begin, const struct lull_wave_path *path, bool up,
                                       int64_t *ret_distance)
{
    size_t count = 0;
    struct edge edge;
    struct lull_wave_value speed = no_value;
    struct arrival *list = list_arrivals(graph->n_ranks, path, up, &count);
    struct reach reach = reach_of(graph, rank, path, up);
    *ret_distance = 0;
    for (size_t i = 0; i < count; i++)
        *ret_distance = list[i].distance > *ret_distance ? list[i].distance : *ret_distance;
    if (list && count &&
        make_edge(rank, begin, list, count, reach, up ? graph->kappa_up : graph->kappa_down,
                  &edge)) {
        speed = edge_speed(&edge, reach.distance, 0.95);
        free_edge(&edge);
    }
    free(list);
    return speed;
}

/* ---- decay --------------------------------------------------------------------------------- */

/* By how much the idleness of the leading ranks of a wave falls, in ns. Only the leading rank of an
 * iteration counts: the ranks behind it are reached on several paths, of which the slowest decides,
 * so that they are idle for longer than one path alone would make them. */
struct drops {
    double fall, distance; /* from the first leading rank to the last, both fronts added up */
    double sum, squares;   /* of the falls from one leading rank to the next */
    uint64_t count;        /* of these falls */
};

/* Adds the falls of one front. It stops where the idleness comes near to the usual: iterations that
 * can still be seen there would be a biased choice, of those in which the wave happened to fall
 * less. It also stops where the fronts meet on a ring: a rank there is idle until the later front
 * comes. */
static void add_drops(const struct wave_view *view, const struct arrival *list, size_t count,
                      struct reach reach, struct drops *drops)
{
    double first = NAN, last = NAN, first_distance = NAN, last_distance = NAN;
    for (size_t i = 0; i < count && !list[i].carrier && list[i].iteration < reach.iteration; i++) {
        if (i + 1 < count && list[i + 1].iteration == list[i].iteration)
            continue; /* another rank is farther in this iteration */
        double idle = (double)outlier_of(view, list[i].rank, list[i].iteration)->idle;
        double distance = (double)list[i].distance;
        if (idle < 1.5 * (double)view->waves->outliers.usual.least_idle)
            break;
        if (isnan(first)) {
            first = idle;
            first_distance = distance;
        } else if (distance > last_distance) {
            drops->sum += last - idle;
            drops->squares += (last - idle) * (last - idle);
            drops->count++;
        } else {
            continue;
        }
        last = idle;
        last_distance = distance;
    }
    if (last_distance > first_distance) {
        drops->fall += first - last;
        drops->distance += last_distance - first_distance;
    }
}

/* The decay per rank. The fall of a wave is a sum of random changes, so its error is that of their
 * sum. */
static struct lull_wave_value decay_of(const struct drops *drops, double confidence)
{
    if (drops->count == 0 || !(drops->distance > 0))
        return no_value;
    struct lull_wave_value decay = {drops->fall / drops->distance, -INFINITY, INFINITY};
    if (drops->count > 1) {
        double n = (double)drops->count, mean = drops->sum / n;
        double variance = fmax(0, (drops->squares - n * mean * mean) / (n - 1));
        double half = lull_student_quantile(0.5 + confidence / 2, n - 1) * sqrt(n * variance) /
                      drops->distance;
        decay.low = decay.value - half;
        decay.high = decay.value + half;
    }
    return decay;
}

/* ---- describing ---------------------------------------------------------------------------- */

/* The speed of a front in ranks per second, from the times at which the leaders were idle no
 * longer; where these are too few, from the usual length of an iteration. Overwrites the edge's x.
 */
static struct lull_wave_value speed_in_time(const struct wave_view *view, const struct edge *edge,
                                            struct lull_wave_value per_iteration)
{
    size_t count = edge->count - 1;
    double cycle = view->waves->outliers.usual.cycle / 1e9;
    if (count >= 2) {
        double *x = edge->x + 1;
        for (size_t i = 0; i < count; i++)
            x[i] = (double)outlier_of(view, edge->leaders[i + 1], (int32_t)x[i])->end / 1e9;
        struct lull_wave_value speed = slope(x, edge->y + 1, count, view->confidence);
        if (x[count - 1] > x[0])
            return speed;
    }
    return (struct lull_wave_value){per_iteration.value / cycle, per_iteration.low / cycle,
                                    per_iteration.high / cycle};
}

/* Finds the last rank of a front that waited for a message. If a rank farther away waited in a
 * collective operation, this operation ended the front. */
static void take_last(const struct arrival *list, size_t count, struct lull_wave_front *front)
{
    int64_t most[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        bool message = !list[i].carrier;
        if (list[i].distance <= most[message])
            continue;
        most[message] = list[i].distance;
        if (message) {
            front->last_rank = list[i].rank;
            front->last_iteration = list[i].iteration;
        } else {
            front->operation = list[i].carrier - 1;
        }
    }
    front->distance = most[true];
    if (most[false] > most[true])
        front->end = LULL_WAVE_END_COLLECTIVE;
}

static bool describe_front(const struct wave_view *view, struct lull_wave *wave, bool up,
                           struct drops *drops)
{
    struct lull_wave_front *front = up ? &wave->up : &wave->down;
    struct edge edge;
    size_t count;
    struct arrival *list = list_arrivals(view->graph->n_ranks, &wave->path, up, &count);
    struct reach reach = reach_of(view->graph, wave->rank, &wave->path, up);
    *front = (struct lull_wave_front){
        .ranks_per_iteration = no_value, .ranks_per_second = no_value, .n_ranks = (uint32_t)count};
    if (!list ||
        (count && !make_edge(wave->rank, wave->iteration, list, count, reach,
                             up ? view->graph->kappa_up : view->graph->kappa_down, &edge))) {
        free(list);
        return false;
    }
    if (count) {
        take_last(list, count, front);
        front->ranks_per_iteration = edge_speed(&edge, reach.distance, view->confidence);
        front->ranks_per_second = speed_in_time(view, &edge, front->ranks_per_iteration);
        add_drops(view, list, count, reach, drops);
        free_edge(&edge);
    }
    free(list);
    return true;
}

/* The speed of a wave in messages per iteration, from the farthest rank, counted in messages, that
 * it reached in each iteration. */
static struct lull_wave_value hops_of(const struct wave_view *view, struct lull_wave *wave,
                                      const uint32_t *hops)
{
    uint32_t n = view->field->n_iterations, count = 1, most = 0;
    double *x = calloc(2 * (n + (size_t)2), sizeof *x);
    uint32_t *farthest = calloc(n + (size_t)1, sizeof *farthest);
    struct lull_wave_value speed = no_value;
    for (uint32_t r = 0; x && farthest && r < view->field->n_ranks; r++)
        if (hops[r] != UINT32_MAX) {
            most = hops[r] > most ? hops[r] : most;
            if (wave->path.arrivals[r] >= 0 && hops[r] > farthest[wave->path.arrivals[r]])
                farthest[wave->path.arrivals[r]] = hops[r];
        }
    if (x && farthest) {
        double *y = x + n + 2;
        x[0] = wave->iteration - 1;
        for (uint32_t i = (uint32_t)wave->iteration; i < n; i++)
            if (farthest[i] > y[count - 1]) {
                x[count] = i;
                y[count++] = farthest[i];
            }
        struct edge edge = {x, y, NULL, count > 2 && y[count - 1] >= most ? count - 1 : count};
        speed = edge_speed(&edge, most, view->confidence);
    }
    free(x);
    free(farthest);
    return speed;
}

/* Sets fronts, hops and decay of a wave whose arrivals are known. */
static lull_status wave_describe(const struct wave_view *view, struct lull_wave *wave,
                                 struct lull_arena *arena, struct lull_error *err)
{
    struct drops drops = {0};
    uint32_t *hops = lull_arena_try(arena, view->field->n_ranks, sizeof *hops);
    if (!hops || !describe_front(view, wave, true, &drops) ||
        !describe_front(view, wave, false, &drops))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to describe the waves");
    wave->decay = decay_of(&drops, view->confidence);
    lull_status status = lull_wave_hops(view->graph, wave->rank, hops, err);
    if (status == LULL_OK)
        wave->hops_per_iteration = hops_of(view, wave, hops);
    return status;
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* Whether another wave has reached a rank, up to two iterations after the given one. */
static bool met_other(const struct wave_view *view, const struct lull_wave *wave, uint32_t rank,
                      int32_t iteration)
{
    for (uint32_t w = 0; w < view->waves->count; w++) {
        const struct lull_wave *other = &view->waves->waves[w];
        if (other->rank == wave->rank && other->iteration == wave->iteration)
            continue;
        int32_t at = other->path.arrivals[rank];
        if (at >= 0 && at <= iteration + 2 && at >= other->iteration)
            return true;
    }
    return false;
}

/* Why a front ended at `rank`, although there are ranks beyond: from the ranks that `rank` sends to
 * and that the wave did not reach. */
static enum lull_wave_end end_behind(const struct wave_view *view, const struct lull_wave *wave,
                                     uint32_t rank, bool up)
{
    const struct lull_wave_graph *graph = view->graph;
    enum lull_wave_end end = LULL_WAVE_END_BOUNDARY;
    int32_t iteration = wave->path.arrivals[rank];
    int64_t idle = rank == wave->rank ? wave->length : outlier_of(view, rank, iteration)->idle;
    for (uint64_t l = graph->first[rank]; l < graph->first[rank + 1]; l++) {
        uint32_t next = graph->links[l].peer;
        int64_t further = lull_wave_offset(graph, rank, next);
        if (wave->path.arrivals[next] >= 0 || (up ? further <= 0 : further >= 0))
            continue;
        if (met_other(view, wave, next, iteration))
            return LULL_WAVE_END_OTHER;
        if (iteration + 1 >= (int32_t)view->field->n_iterations)
            return LULL_WAVE_END_RUN;
        end = view->field->rows[next].usual_wait > idle / 2 ? LULL_WAVE_END_SLACK
                                                            : LULL_WAVE_END_NOISE;
    }
    return end;
}

/* Finds why a front ended. All waves must be described before. */
static void wave_find_end(const struct wave_view *view, struct lull_wave *wave, bool up)
{
    struct lull_wave_front *front = up ? &wave->up : &wave->down;
    int64_t reach = reach_of(view->graph, wave->rank, &wave->path, up).distance;
    if (front->end == LULL_WAVE_END_COLLECTIVE || front->n_ranks == 0)
        return;
    if (front->distance < reach)
        front->end = end_behind(view, wave, front->last_rank, up);
    else
        front->end = view->graph->periodic ? LULL_WAVE_END_ITSELF : LULL_WAVE_END_BOUNDARY;
}

/* ==== trace =================================================================================== */

/* Tracing: which ranks a delay made idle, rank by rank along the messages. */

enum { WAVE_AHEAD = 2 }; /* iterations after the sender's in which a rank may become idle */

/* A rank that a wave has reached, and whose links are still to be followed. Those of an iteration
 * form a list. */
struct wave_visit {
    uint32_t wave, rank, next; /* `next`: index of the next one in the list plus 1; 0: the end */
    int64_t idle;              /* ns */
};

struct wave_tracing {
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    const struct lull_wave_outliers *outliers;
    struct lull_wave *waves; /* room for WAVE_MOST */
    uint32_t n_waves;
    struct wave_visit *visits;
    size_t n_visits, visits_room;
    uint32_t *heads; /* [n_iterations]: index plus 1 of the first visit in the list; 0: none */
};

/* A rank that is idle, and why. */
struct idleness {
    int32_t iteration; /* -1: it is not */
    uint8_t carrier;   /* as in struct lull_wave_path */
    int64_t ns;
};

/* A wave reaches a rank, `offset` ranks above its origin. False: no memory. */
static bool visit(struct wave_tracing *tracing, uint32_t wave, uint32_t rank, struct idleness idle,
                  int32_t offset)
{
    if (!lull_array_reserve(&tracing->visits, &tracing->visits_room, tracing->n_visits + 1,
                            sizeof *tracing->visits))
        return false;
    const struct lull_wave_path *path = &tracing->waves[wave].path;
    path->arrivals[rank] = idle.iteration;
    path->offsets[rank] = offset;
    path->carriers[rank] = idle.carrier;
    tracing->visits[tracing->n_visits++] =
        (struct wave_visit){wave, rank, tracing->heads[idle.iteration], idle.ns};
    tracing->heads[idle.iteration] = (uint32_t)tracing->n_visits;
    return true;
}

/* Whether a rank is idle in an iteration because of a wave that is traced, or a wave begins there.
 */
static bool wave_is_taken(const struct wave_tracing *tracing, uint32_t rank, int32_t iteration)
{
    for (uint32_t w = 0; w < tracing->n_waves; w++)
        if (tracing->waves[w].path.arrivals[rank] == iteration)
            return true;
    return false;
}

/* In which iteration, from `from` to WAVE_AHEAD more, a rank was idle longest. `before` is how many
 * ns the rank before it was idle: a wave that loses too much of that in one step
 * (LULL_WAVE_LEAST_LEFT) has ended. */
static struct idleness find_idleness(const struct wave_tracing *tracing, uint32_t rank,
                                     int32_t from, int64_t before)
{
    const int64_t least = before / LULL_WAVE_LEAST_LEFT;
    const int64_t least_idle = tracing->outliers->usual.least_idle;
    int64_t most = least > least_idle ? least : least_idle;
    struct idleness found = {-1, 0, 0};
    for (int32_t i = from; i <= from + WAVE_AHEAD && i < (int32_t)tracing->field->n_iterations;
         i++) {
        const struct lull_wave_outlier *at =
            lull_wave_outlier_of(tracing->outliers, rank, (uint32_t)i);
        if (!at || (at->idle <= most && at->collective <= most) || wave_is_taken(tracing, rank, i))
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

/* Visits the ranks to which a wave goes on from a rank that it has reached. False: no memory. */
static bool follow(struct wave_tracing *tracing, const struct wave_visit *visited,
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

/* Finds the paths of the waves from `first` on, which have reached nobody yet. They are traced
 * together, one iteration after the other, so that a rank's idleness goes to the wave that comes
 * first. False: no memory. */
static bool wave_trace(struct wave_tracing *tracing, uint32_t first)
{
    for (uint32_t w = first; w < tracing->n_waves; w++)
        if (!visit(tracing, w, tracing->waves[w].rank,
                   (struct idleness){tracing->waves[w].iteration, 0, tracing->waves[w].length}, 0))
            return false;
    for (uint32_t i = 0; i < tracing->field->n_iterations; i++)
        while (tracing->heads[i]) {
            const struct wave_visit visited = tracing->visits[tracing->heads[i] - 1];
            tracing->heads[i] = visited.next;
            if (!follow(tracing, &visited, (int32_t)i))
                return false;
        }
    return true;
}

/* ==== stall =================================================================================== */

/* Delays within calls: a rank waits though all ranks that it waits for are in time. Then the
 * message-passing library was late itself (its progress, the network), or the thread had no
 * processor. */

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

/* Whether `rank` was late shortly before, by more than `least` ns, so that a rank that waits for it
 * could be idle until `end`. */
static bool was_late(const struct wave_tracing *tracing, uint32_t rank, int32_t iteration,
                     int64_t end, int64_t least)
{
    const int32_t from = iteration > WAVE_AHEAD ? iteration - WAVE_AHEAD : 0;
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
    for (uint32_t r = 0; r < n; r++) /* first[r + 1] moves from the begin of rank r to its end */
        for (uint64_t l = graph->first[r]; l < graph->first[r + 1]; l++)
            ranks[first[graph->links[l].peer + 1]++] = r;
    return true;
}

/* Whether the rank of a stall waits for others, none of which was late. */
static bool is_unexplained(const struct wave_tracing *tracing, const struct sources *sources,
                           const struct stall *stall)
{
    uint64_t begin = sources->first[stall->rank], end = sources->first[stall->rank + 1];
    for (uint64_t s = begin; s < end; s++)
        if (was_late(tracing, sources->ranks[s], stall->iteration, stall->end,
                     stall->length / LULL_WAVE_LEAST_LEFT))
            return false;
    return end > begin;
}

/* Lists all waits that are longer than usual by more than least_stall and belong to no wave, sorted
 * by iteration and then by their ends. False: no memory. */
static bool list_stalls(const struct wave_tracing *tracing, struct stall **ret_list,
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
                wave_is_taken(tracing, r, iteration))
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

static bool trace_stall(struct wave_tracing *tracing, const struct stall *stall,
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
    return wave_trace(tracing, tracing->n_waves - 1);
}

/* Adds the waves that began within a call. Of the long waits that belong to no wave, the first
 * begins a wave if no other rank explains it; this wave is traced before the next wait is judged,
 * since it may explain it. False: no memory. */
static bool wave_trace_stalls(struct wave_tracing *tracing, struct lull_arena *arena)
{
    struct stall *list;
    struct sources sources = {NULL, NULL};
    size_t count;
    if (!list_stalls(tracing, &list, &count))
        return false;
    bool good = count == 0 || find_sources(tracing->graph, &sources);
    for (size_t i = 0; i < count && good && tracing->n_waves < WAVE_MOST; i++)
        if (!wave_is_taken(tracing, list[i].rank, list[i].iteration) &&
            is_unexplained(tracing, &sources, &list[i]))
            good = trace_stall(tracing, &list[i], arena);
    free(sources.first);
    free(sources.ranks);
    free(list);
    return good;
}

/* ==== detect ================================================================================== */

/* ---- delays -------------------------------------------------------------------------------- */

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

/* Lists the delays in computations as waves that have reached nobody yet. Delays of a rank in
 * iterations one behind the other are one. */
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
            if (last && last->rank == r && last->n_delayed < LULL_WAVE_DELAYED_MOST &&
                last->iteration + (int32_t)last->n_delayed == iteration) {
                last->length += at->delay;
                last->n_delayed++;
                continue;
            }
            if (!lull_array_reserve(&delays->list, &delays->room, delays->count + 1,
                                    sizeof *delays->list))
                return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the delays");
            delays->list[delays->count++] = (struct lull_wave){.rank = r,
                                                               .iteration = iteration,
                                                               .n_delayed = 1,
                                                               .begin = at->begin,
                                                               .length = at->delay};
        }
    return LULL_OK;
}

/* ---- all waves ----------------------------------------------------------------------------- */

/* Traces the delays in computations first: idleness that they do not explain may have begun within
 * a call. */
static lull_status trace_all(const struct lull_wave_field *field,
                             const struct lull_wave_graph *graph, struct lull_arena *arena,
                             struct lull_waves *waves, struct lull_error *err)
{
    struct wave_tracing tracing = {.field = field,
                                   .graph = graph,
                                   .outliers = &waves->outliers,
                                   .waves = waves->waves,
                                   .n_waves = waves->count};
    bool good = true;
    for (uint32_t w = 0; w < waves->count && good; w++)
        good = lull_wave_path_make(field->n_ranks, arena, &waves->waves[w].path);
    tracing.heads = calloc(field->n_iterations + (size_t)1, sizeof *tracing.heads);
    good = good && tracing.heads && wave_trace(&tracing, 0) && wave_trace_stalls(&tracing, arena);
    waves->count = tracing.n_waves;
    free(tracing.heads);
    free(tracing.visits);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "not enough memory to follow the waves");
}

/* Drops delays that made no other rank idle: they are no waves. */
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

static lull_status describe_all(const struct wave_view *view, struct lull_waves *waves,
                                struct lull_arena *arena, struct lull_error *err)
{
    for (uint32_t w = 0; w < waves->count; w++) {
        lull_status status = wave_describe(view, &waves->waves[w], arena, err);
        if (status != LULL_OK)
            return status;
    }
    for (uint32_t w = 0; w < waves->count; w++) {
        wave_find_end(view, &waves->waves[w], true);
        wave_find_end(view, &waves->waves[w], false);
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
        waves.count = (uint32_t)(delays.count < WAVE_MOST ? delays.count : WAVE_MOST);
        waves.left_out = (uint32_t)(delays.count - waves.count);
        if (waves.left_out)
            qsort(delays.list, delays.count, sizeof *delays.list, compare_lengths);
        if (waves.count)
            qsort(delays.list, waves.count, sizeof *delays.list, compare_places);
        waves.waves = lull_arena_zero(arena, WAVE_MOST, sizeof *waves.waves);
        for (uint32_t w = 0; w < waves.count; w++)
            waves.waves[w] = delays.list[w];
        status = trace_all(field, graph, arena, &waves, err);
    }
    free(delays.list);
    if (status != LULL_OK)
        return status;
    drop_alone(field, &waves);
    qsort(waves.waves, waves.count, sizeof *waves.waves, compare_places);
    const struct wave_view view = {field, graph, &waves,
                                   options->confidence > 0 ? options->confidence : 0.95};
    status = describe_all(&view, &waves, arena, err);
    if (status == LULL_OK)
        *ret_waves = waves;
    return status;
}
