#include "view/machine/machine_charts.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct machine_drawing {
    struct lull_arena *arena;
    const struct lull_machine *machine;
};

static const char *what_machine(const struct machine_drawing *drawing)
{
    const struct lull_machine *machine = drawing->machine;
    return machine->name        ? machine->name
           : machine->cpu.model ? machine->cpu.model
           : machine->host.name ? machine->host.name
                                : "";
}

/* "48 KiB" for what is "48.00 KiB" elsewhere. */
static const char *short_size(uint64_t bytes, struct lull_arena *arena)
{
    char text[32];
    double number = 0;
    lull_format_size(bytes, text, sizeof text);
    const char *unit = strchr(text, ' ');
    if (!unit || sscanf(text, "%lf", &number) != 1)
        return lull_arena_strdup(arena, text);
    return lull_arena_printf(arena, "%g%s", number, unit);
}

static void mark_caches(struct lull_chart *chart, const struct machine_drawing *drawing)
{
    for (size_t i = 0; i < drawing->machine->n_caches; i++) {
        const struct lull_machine_cache *cache = &drawing->machine->caches[i];
        if (cache->bytes)
            lull_chart_mark(chart, (double)cache->bytes,
                            lull_arena_printf(drawing->arena, "L%u %s", cache->level,
                                              short_size(cache->bytes, drawing->arena)));
    }
}

static void add_machine_series(struct lull_chart *chart, const struct lull_series *series,
                               const char *label, enum lull_chart_style style,
                               struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, series->n_points + 1, sizeof *points);
    for (size_t i = 0; i < series->n_points; i++)
        points[i] = (struct lull_chart_point){series->points[i].x, series->points[i].y,
                                              series->points[i].low, series->points[i].high};
    lull_chart_series(chart, label, style, points, series->n_points);
}

static struct lull_chart *draw_sweep(const struct machine_drawing *drawing)
{
    const struct lull_series *series = lull_machine_series(drawing->machine, "sweep.load.1");
    if (!series || series->n_points == 0)
        return NULL;
    struct lull_chart *chart = lull_chart_create(
        drawing->arena,
        lull_arena_printf(drawing->arena, "Load bandwidth of one core, %s", what_machine(drawing)));
    lull_chart_x_axis(chart, "working set", "B", LULL_CHART_SIZES);
    lull_chart_y_axis(chart, "bandwidth", "B/s", LULL_CHART_LINEAR);
    add_machine_series(chart, series, "load", LULL_CHART_LINE, drawing->arena);
    mark_caches(chart, drawing);
    return chart;
}

/* ---- over cores ---------------------------------------------------------------------------- */

static int by_x(const void *a, const void *b)
{
    const struct lull_chart_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* All numbers "<base>.<threads>". */
static size_t gather(const struct machine_drawing *drawing, const char *base,
                     struct lull_chart_point *points)
{
    size_t count = 0, length = strlen(base);
    for (size_t i = 0; i < drawing->machine->numbers.count; i++) {
        const struct lull_number *number = &drawing->machine->numbers.items[i];
        if (strncmp(number->name, base, length) != 0 || number->name[length] != '.')
            continue;
        char *end;
        unsigned long threads = strtoul(number->name + length + 1, &end, 10);
        if (*end || end == number->name + length + 1)
            continue;
        points[count++] =
            (struct lull_chart_point){(double)threads, number->value, number->low, number->high};
    }
    if (count > 1)
        qsort(points, count, sizeof *points, by_x);
    return count;
}

static struct lull_chart *draw_cores(const struct machine_drawing *drawing)
{
    static const char *const kernels[] = {"load", "copy", "triad", "ntstore"};
    struct lull_chart *chart = lull_chart_create(
        drawing->arena, lull_arena_printf(drawing->arena, "Memory bandwidth over cores, %s",
                                          what_machine(drawing)));
    lull_chart_x_axis(chart, "cores", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "bandwidth, explicit bytes", "B/s", LULL_CHART_LINEAR);
    struct lull_chart_point *points =
        lull_arena_zero(drawing->arena, drawing->machine->numbers.count + 1, sizeof *points);
    bool any = false;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        size_t count =
            gather(drawing, lull_arena_printf(drawing->arena, "memory.%s", kernels[i]), points);
        if (count < 2)
            continue;
        any = true;
        lull_chart_series(chart, kernels[i], LULL_CHART_LINE, points, count);
    }
    return any ? chart : NULL;
}

/* ---- messages ------------------------------------------------------------------------------ */

static double message_time(const struct lull_network_level *level, double bytes)
{
    for (size_t i = 0; i < level->n_ranges; i++)
        if (bytes <= (double)level->ranges[i].to)
            return level->ranges[i].latency.value + bytes / level->ranges[i].bandwidth.value;
    return NAN;
}

/* The fit as a curve with a gap at every change of protocol. */
static void add_fit(struct lull_chart *chart, const struct lull_network_level *level, double low,
                    double high, struct lull_arena *arena)
{
    enum { FIT_STEPS = 200 };
    struct lull_chart_point points[FIT_STEPS + 1];
    for (int i = 0; i <= FIT_STEPS; i++) {
        double bytes = low * pow(high / low, (double)i / FIT_STEPS);
        points[i] = (struct lull_chart_point){bytes, message_time(level, bytes), NAN, NAN};
    }
    lull_chart_series(chart, lull_arena_printf(arena, "%s, fit", level->name), LULL_CHART_CURVE,
                      points, FIT_STEPS + 1);
}

/* Curves "pingpong.<level>" of the time of a message over its size, with the fits of the levels. */
static struct lull_chart *draw_messages(const struct machine_drawing *drawing)
{
    struct lull_chart *chart =
        lull_chart_create(drawing->arena, lull_arena_printf(drawing->arena, "Time of a message, %s",
                                                            what_machine(drawing)));
    lull_chart_x_axis(chart, "size", "B", LULL_CHART_SIZES);
    lull_chart_y_axis(chart, "time", "s", LULL_CHART_LOG);
    bool any = false;
    for (size_t i = 0; i < drawing->machine->n_network; i++) {
        const struct lull_network_level *level = &drawing->machine->network[i];
        const struct lull_series *series = lull_machine_series(
            drawing->machine, lull_arena_printf(drawing->arena, "pingpong.%s", level->name));
        if (!series || series->n_points < 2)
            continue;
        any = true;
        add_machine_series(chart, series, level->name, LULL_CHART_POINTS, drawing->arena);
        add_fit(chart, level, fmax(1, series->points[0].x), series->points[series->n_points - 1].x,
                drawing->arena);
        if (level->has_eager_limit)
            lull_chart_mark(chart, (double)level->eager_limit,
                            lull_arena_printf(drawing->arena, "eager up to %s (%s)",
                                              short_size(level->eager_limit, drawing->arena),
                                              level->name));
    }
    return any ? chart : NULL;
}

static struct lull_chart *draw_noise(const struct machine_drawing *drawing)
{
    struct lull_chart *chart =
        lull_chart_create(drawing->arena, lull_arena_printf(drawing->arena, "Detours by length, %s",
                                                            what_machine(drawing)));
    lull_chart_x_axis(chart, "length of a detour", "s", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "detours", "", LULL_CHART_LOG);
    bool any = false;
    for (size_t i = 0; i < drawing->machine->n_noise; i++) {
        const struct lull_machine_noise *noise = &drawing->machine->noise[i];
        struct lull_chart_point *points =
            lull_arena_zero(drawing->arena, noise->n_bins + 1, sizeof *points);
        for (size_t k = 0; k < noise->n_bins; k++)
            points[k] = (struct lull_chart_point){
                noise->edges[k], noise->bins[k] ? (double)noise->bins[k] : NAN, NAN, NAN};
        any |= noise->n_bins > 0;
        lull_chart_series(chart, lull_arena_printf(drawing->arena, "core %u", noise->core),
                          drawing->machine->n_noise == 1 ? LULL_CHART_BARS : LULL_CHART_LINE,
                          points, noise->n_bins);
    }
    return any ? chart : NULL;
}

size_t lull_machine_charts(const struct lull_machine *machine, struct lull_arena *arena,
                           struct lull_machine_chart ret_charts[LULL_MACHINE_CHARTS])
{
    static const struct {
        const char *name;
        struct lull_chart *(*draw)(const struct machine_drawing *); /* NULL: there are no numbers */
    } charts[LULL_MACHINE_CHARTS] = {{"bandwidth-working-set", draw_sweep},
                                     {"memory-cores", draw_cores},
                                     {"messages", draw_messages},
                                     {"noise", draw_noise}};
    const struct machine_drawing drawing = {arena, machine};
    size_t count = 0;
    for (size_t i = 0; i < LULL_MACHINE_CHARTS; i++) {
        const struct lull_chart *chart = charts[i].draw(&drawing);
        if (chart)
            ret_charts[count++] = (struct lull_machine_chart){charts[i].name, chart};
    }
    return count;
}

lull_status lull_machine_charts_save(const char *folder, const struct lull_machine *machine,
                                     struct lull_arena *arena, struct lull_error *err)
{
    struct lull_machine_chart charts[LULL_MACHINE_CHARTS];
    size_t count = lull_machine_charts(machine, arena, charts);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return lull_fail_errno(err, "%s: cannot make the folder", folder);
    if (!lull_is_directory(folder))
        return lull_fail(err, LULL_ERR_IO, "%s: is a file, expected a folder for charts", folder);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < count; i++)
        status = lull_chart_save(lull_arena_printf(arena, "%s/%s.svg", folder, charts[i].name),
                                 charts[i].chart, err);
    return status;
}
