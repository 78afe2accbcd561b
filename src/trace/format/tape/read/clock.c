/* The clock of a process: from ticks to ns of the run, in straight pieces. */
#include "trace/format/tape/tape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much farther two clocks can come apart than was measured, where they were compared once: what
 * a time server slews one by, for both (adjtimex(2): 500 ppm). */
#define MOST_DRIFT 1e-3

static int compare_points(const void *a, const void *b)
{
    const struct lull_tape_clock_point *x = a, *y = b;
    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct lull_tape_offset *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Wraps for garbage; exact for what is less than 2^53 ns, or 104 days, apart. */
static double between(int64_t from, int64_t to)
{
    return (double)(int64_t)((uint64_t)to - (uint64_t)from);
}

/* By the line through the two measurements around, or the nearest two. */
static int64_t moved(const struct lull_tape_scope *scope, int64_t ns)
{
    const struct lull_tape_offset *a = scope->offsets, *last = a + scope->n_offsets - 1;
    while (a + 1 < last && ns >= a[1].ns)
        a++;
    double delta = 0;
    if (a < last && a[1].ns > a->ns)
        delta = between(a->ns, ns) * (between(a->to_run, a[1].to_run) / between(a->ns, a[1].ns));
    if (!(fabs(delta) < 0x1p62))
        delta = 0;
    return (int64_t)((uint64_t)ns + (uint64_t)a->to_run + (uint64_t)(int64_t)delta);
}

/* Two clocks are as far apart as both are from that of the run. */
static void add_error(struct lull_trace *trace, double error)
{
    struct lull_tape_data *data = trace->format_data;
    double *worst = data->worst_clocks;
    if (error > worst[0]) {
        worst[1] = worst[0];
        worst[0] = error;
    } else if (error > worst[1]) {
        worst[1] = error;
    }
    trace->clock_error = fmax(trace->clock_error, worst[0] + worst[1]);
}

/* The points become those of the run's clock; the errors add up. */
static void move_points(struct lull_trace *trace, struct lull_tape_scope *scope)
{
    if (scope->n_offsets == 0 || scope->n_points == 0)
        return;
    qsort(scope->offsets, scope->n_offsets, sizeof *scope->offsets, compare_offsets);
    double error = 0;
    for (size_t i = 0; i < scope->n_offsets; i++)
        error = fmax(error, scope->offsets[i].error);
    if (scope->n_offsets == 1)
        error += MOST_DRIFT *
                 fmax(fabs(between(scope->offsets->ns, scope->points[scope->n_points - 1].ns)),
                      fabs(between(scope->offsets->ns, scope->points->ns)));
    for (size_t i = 0; i < scope->n_points; i++)
        scope->points[i].ns = moved(scope, scope->points[i].ns);
    add_error(trace, scope->points_error + error);
}

static void set_segment(struct lull_tape_segment *segment, const struct lull_tape_clock_point *from,
                        double slope)
{
    int exponent;
    frexp(slope, &exponent);
    segment->base_ticks = from->ticks;
    segment->base_ns = from->ns;
    segment->shift = (unsigned)(62 - exponent);
    segment->multiplier = (uint64_t)ldexp(slope, 62 - exponent);
}

static bool is_rate(double slope)
{
    return slope > 1e-6 && slope < 1e6;
}

/* Of a process that died before its clock was read a second time: the rate is known roughly. */
static lull_status make_one_segment(struct lull_trace *trace, const char *path,
                                    struct lull_tape_scope *scope, struct lull_error *err)
{
    if (!is_rate(scope->ns_per_tick))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: clock has one point and no rate, expected two points or more", path);
    scope->segments = lull_arena_zero(trace->arena, 1, sizeof *scope->segments);
    set_segment(scope->segments, scope->points, scope->ns_per_tick);
    scope->n_segments = 1;
    return LULL_OK;
}

static lull_status make_clock(struct lull_trace *trace, const char *path,
                              struct lull_tape_scope *scope, struct lull_error *err)
{
    size_t n = scope->n_points;
    if (n == 0)
        return LULL_OK;
    qsort(scope->points, n, sizeof *scope->points, compare_points);
    move_points(trace, scope);
    if (n == 1)
        return make_one_segment(trace, path, scope, err);
    scope->segments = lull_arena_zero(trace->arena, n - 1, sizeof *scope->segments);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct lull_tape_clock_point *a = &scope->points[i], *b = a + 1;
        double slope = (double)((uint64_t)b->ns - (uint64_t)a->ns) / (double)(b->ticks - a->ticks);
        if (b->ns <= a->ns || !is_rate(slope))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: clock does not run forward at %llu ticks",
                             path, (unsigned long long)a->ticks);
        set_segment(&scope->segments[i], a, slope);
    }
    scope->n_segments = n - 1;
    return LULL_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int compare_clocks(const void *a, const void *b)
{
    const struct lull_tape_scope *x = *(const struct lull_tape_scope *const *)a,
                                 *y = *(const struct lull_tape_scope *const *)b;
    if (x->clock != y->clock)
        return x->clock < y->clock ? -1 : 1;
    return (x->n_offsets < y->n_offsets) - (x->n_offsets > y->n_offsets);
}

/* One process of each node has compared its clock: the others there take what it has measured. */
static lull_status share_offsets(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_scope **sorted = malloc(sizeof(void *) * trace->n_processes);
    if (!sorted)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        sorted[p] = &data->scopes[p];
    qsort(sorted, trace->n_processes, sizeof *sorted, compare_clocks);
    const struct lull_tape_scope *first = NULL;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_tape_scope *scope = sorted[p];
        if (!first || scope->clock != first->clock)
            first = scope;
        if (scope->clock == 0 || scope->n_offsets > 0 || first->n_offsets == 0)
            continue;
        scope->offsets = lull_arena_zero(trace->arena, first->n_offsets, sizeof *scope->offsets);
        memcpy(scope->offsets, first->offsets, first->n_offsets * sizeof *scope->offsets);
        scope->n_offsets = first->n_offsets;
    }
    free(sorted);
    return LULL_OK;
}

/* Whether the clocks of two processes are known to be one. Recorders of earlier versions tell the
 * node alone. */
static bool is_one_clock(const struct lull_trace *trace, uint32_t p, uint32_t q)
{
    const struct lull_tape_data *data = trace->format_data;
    if (data->scopes[p].clock != 0 && data->scopes[q].clock != 0)
        return data->scopes[p].clock == data->scopes[q].clock;
    return trace->processes[p].node == trace->processes[q].node;
}

/* A process with another clock than the first one, of which one or both were not compared. */
static void judge_clocks(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t p = 1; p < trace->n_processes; p++) {
        const struct lull_tape_scope *scope = &data->scopes[p];
        if (scope->n_points == 0 || is_one_clock(trace, p, 0) ||
            (scope->n_offsets > 0 && (data->scopes[0].n_offsets > 0 || scope->clock == 0)))
            continue;
        trace->clock_error = -1;
        lull_trace_add_quirk(trace,
                             "clocks of different nodes were not compared; times of one may be far"
                             " from those of another",
                             "%s", trace->processes[p].name);
    }
}

lull_status lull_tape_make_clocks(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_status status = share_offsets(trace, err);
    char path[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/definitions", trace->path);
    if (status == LULL_OK)
        status = make_clock(trace, path, &data->run, err);
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++) {
        uint32_t number = data->process_numbers[p];
        snprintf(path, sizeof path, "%s/%u/%u.definitions", trace->path, number / LULL_TAPE_GROUP,
                 number);
        status = make_clock(trace, path, &data->scopes[p], err);
    }
    if (status == LULL_OK)
        judge_clocks(trace);
    return status;
}

int64_t lull_tape_ns(const struct lull_tape_scope *scope, uint64_t ticks, size_t *segment)
{
    while (*segment + 1 < scope->n_segments && ticks >= scope->segments[*segment + 1].base_ticks)
        ++*segment;
    const struct lull_tape_segment *s = &scope->segments[*segment];
    if (ticks >= s->base_ticks)
        return (int64_t)((uint64_t)s->base_ns +
                         (uint64_t)((unsigned __int128)(ticks - s->base_ticks) * s->multiplier >>
                                    s->shift));
    return (int64_t)((uint64_t)s->base_ns -
                     (uint64_t)((unsigned __int128)(s->base_ticks - ticks) * s->multiplier >>
                                s->shift));
}
