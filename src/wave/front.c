/* How fast a front moves, how it decays, and why it ends. */
#include "wave/detect.h"

#include "stats/fit/regress.h"
#include "stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Of a rank when a wave arrives there: it is idle longer than usual. */
static const struct lull_wave_outlier *outlier_of(const struct lull_wave_view *view, uint32_t rank,
                                                  int32_t iteration)
{
    return lull_wave_outlier_of(&view->waves->outliers, rank, (uint32_t)iteration);
}

int64_t lull_wave_idle_at_arrival(const struct lull_waves *waves, const struct lull_wave *wave,
                                  uint32_t rank)
{
    return lull_wave_outlier_of(&waves->outliers, rank, (uint32_t)wave->path.arrivals[rank])->idle;
}

/* ---- the leading edge -------------------------------------------------------------------------
 */

/* Where the front is: at the end of iteration x it had got y ranks far. */
struct edge {
    double *x, *y;
    uint32_t *leaders; /* the rank that far; of the first point the origin */
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
    int64_t distance;
    int32_t iteration; /* in which it is there, on a ring; else INT32_MAX */
};

/* How far the front can get at most; on a ring that is where it was when it met the other one,
 * after which it only reaches what that has left behind. */
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

/* The points at which the front moved on as far as it could. Those at the end of the world, where
 * there is no room for the distance `step` that it should go in an iteration, are left out (but for
 * the first one), and so are those behind a collective operation, in which it jumps. */
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

/* The slope of points with Student's interval, and at least what rounding to whole ranks leaves. */
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

/* A front that crosses everything at once has a speed of at least that. */
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

/* ---- decay ------------------------------------------------------------------------------------
 */

/* The idleness of the leading ranks of a direction, and by how much it changes. Those behind them
 * are reached on several paths, of which the slowest counts, so that they are idle for longer than
 * one path alone would make them. */
struct drops {
    double fall, distance; /* from the first to the last iteration */
    double sum, squares;   /* of the changes */
    uint64_t count;
};

/* Iterations in which little more than what is usual is left would be a selection: of waves that
 * just can be seen. On a ring it is left out where both fronts arrive: a rank there is idle until
 * the later one comes. */
static void add_drops(const struct lull_wave_view *view, const struct arrival *list, size_t count,
                      struct reach reach, struct drops *drops)
{
    double first = NAN, last = NAN, first_distance = NAN, last_distance = NAN;
    for (size_t i = 0; i < count && !list[i].carrier && list[i].iteration < reach.iteration; i++) {
        if (i + 1 < count && list[i + 1].iteration == list[i].iteration)
            continue; /* not the leading one */
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

/* The idleness of a wave is a sum of random changes, so its errors are those of their sum. */
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

/* ---- describing -------------------------------------------------------------------------------
 */

/* By when each leader was idle no longer. */
static struct lull_wave_value speed_in_time(const struct lull_wave_view *view,
                                            const struct edge *edge,
                                            struct lull_wave_value per_iteration)
{
    size_t count = edge->count - 1;
    double cycle = view->waves->outliers.usual.cycle / 1e9;
    if (count >= 2) {
        double *x = edge->x + 1; /* not needed any more */
        for (size_t i = 0; i < count; i++)
            x[i] = (double)outlier_of(view, edge->leaders[i + 1], (int32_t)x[i])->end / 1e9;
        struct lull_wave_value speed = slope(x, edge->y + 1, count, view->confidence);
        if (x[count - 1] > x[0])
            return speed;
    }
    return (struct lull_wave_value){per_iteration.value / cycle, per_iteration.low / cycle,
                                    per_iteration.high / cycle};
}

/* The last rank; if it waited in a collective operation, that ended the wave behind the last one
 * that waited for a message. */
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

static bool describe_front(const struct lull_wave_view *view, struct lull_wave *wave, bool up,
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

/* The farthest that was reached by each iteration, in messages. */
static struct lull_wave_value hops_of(const struct lull_wave_view *view, struct lull_wave *wave,
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

lull_status lull_wave_describe(const struct lull_wave_view *view, struct lull_wave *wave,
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

/* ---- ends -------------------------------------------------------------------------------------
 */

static bool met_other(const struct lull_wave_view *view, const struct lull_wave *wave,
                      uint32_t rank, int32_t iteration)
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

/* The ranks behind the front that its last ranks send to. */
static enum lull_wave_end end_behind(const struct lull_wave_view *view,
                                     const struct lull_wave *wave, uint32_t rank, bool up)
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

void lull_wave_find_end(const struct lull_wave_view *view, struct lull_wave *wave, bool up)
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
