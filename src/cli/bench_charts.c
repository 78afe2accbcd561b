#include "cli/bench_charts.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "report/chart.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sink {
    const char *folder;
    struct lull_arena *arena;
    const struct lull_machine *machine;
};

static int save(const struct sink *sink, const struct lull_chart *chart, const char *name)
{
    const char *path = lull_arena_printf(sink->arena, "%s/%s.svg", sink->folder, name);
    struct lull_error err;
    struct lull_output *output;
    if (lull_output_begin(path, false, true, &output, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    FILE *out = fopen(lull_output_path(output), "we");
    if (out)
        lull_chart_write(chart, out);
    bool failed = !out || ferror(out);
    int reason = errno;
    if (out)
        failed |= fclose(out) != 0;
    if (failed) {
        lull_output_discard(output);
        return lull_cli_fail("%s: cannot write: %s", path, strerror(reason));
    }
    return lull_output_commit(output, &err) == LULL_OK ? LULL_EXIT_OK
                                                       : lull_cli_fail("%s", err.text);
}

static const char *what_machine(const struct sink *sink)
{
    const struct lull_machine *machine = sink->machine;
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

static void mark_caches(struct lull_chart *chart, const struct sink *sink)
{
    for (size_t i = 0; i < sink->machine->n_caches; i++) {
        const struct lull_machine_cache *cache = &sink->machine->caches[i];
        if (cache->bytes)
            lull_chart_mark(chart, (double)cache->bytes,
                            lull_arena_printf(sink->arena, "L%u %s", cache->level,
                                              short_size(cache->bytes, sink->arena)));
    }
}

static void add_series(struct lull_chart *chart, const struct lull_series *series,
                       const char *label, enum lull_chart_style style, struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, series->n_points + 1, sizeof *points);
    for (size_t i = 0; i < series->n_points; i++)
        points[i] = (struct lull_chart_point){series->points[i].x, series->points[i].y,
                                              series->points[i].low, series->points[i].high};
    lull_chart_series(chart, label, style, points, series->n_points);
}

static int draw_sweep(const struct sink *sink)
{
    const struct lull_series *series = lull_machine_series(sink->machine, "sweep.load.1");
    if (!series || series->n_points == 0)
        return LULL_EXIT_OK;
    struct lull_chart *chart = lull_chart_create(
        sink->arena,
        lull_arena_printf(sink->arena, "Load bandwidth of one core, %s", what_machine(sink)));
    lull_chart_x_axis(chart, "working set", "B", LULL_CHART_SIZES);
    lull_chart_y_axis(chart, "bandwidth", "B/s", LULL_CHART_LINEAR);
    add_series(chart, series, "load", LULL_CHART_LINE, sink->arena);
    mark_caches(chart, sink);
    return save(sink, chart, "bandwidth-working-set");
}

/* ---- over cores ---------------------------------------------------------------------------- */

static int by_x(const void *a, const void *b)
{
    const struct lull_chart_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* All numbers "<base>.<threads>". */
static size_t gather(const struct sink *sink, const char *base, struct lull_chart_point *points)
{
    size_t count = 0, length = strlen(base);
    for (size_t i = 0; i < sink->machine->numbers.count; i++) {
        const struct lull_number *number = &sink->machine->numbers.items[i];
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

static int draw_cores(const struct sink *sink)
{
    static const char *const kernels[] = {"load", "copy", "triad", "ntstore"};
    struct lull_chart *chart = lull_chart_create(
        sink->arena,
        lull_arena_printf(sink->arena, "Memory bandwidth over cores, %s", what_machine(sink)));
    lull_chart_x_axis(chart, "cores", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "bandwidth, explicit bytes", "B/s", LULL_CHART_LINEAR);
    struct lull_chart_point *points =
        lull_arena_zero(sink->arena, sink->machine->numbers.count + 1, sizeof *points);
    bool any = false;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        size_t count =
            gather(sink, lull_arena_printf(sink->arena, "memory.%s", kernels[i]), points);
        if (count < 2)
            continue;
        any = true;
        lull_chart_series(chart, kernels[i], LULL_CHART_LINE, points, count);
    }
    return any ? save(sink, chart, "memory-cores") : LULL_EXIT_OK;
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
    enum { STEPS = 200 };
    struct lull_chart_point points[STEPS + 1];
    for (int i = 0; i <= STEPS; i++) {
        double bytes = low * pow(high / low, (double)i / STEPS);
        points[i] = (struct lull_chart_point){bytes, message_time(level, bytes), NAN, NAN};
    }
    lull_chart_series(chart, lull_arena_printf(arena, "%s, fit", level->name), LULL_CHART_CURVE,
                      points, STEPS + 1);
}

/* Curves "pingpong.<level>" of the time of a message over its size, with the fits of the levels. */
static int draw_messages(const struct sink *sink)
{
    struct lull_chart *chart = lull_chart_create(
        sink->arena, lull_arena_printf(sink->arena, "Time of a message, %s", what_machine(sink)));
    lull_chart_x_axis(chart, "size", "B", LULL_CHART_SIZES);
    lull_chart_y_axis(chart, "time", "s", LULL_CHART_LOG);
    bool any = false;
    for (size_t i = 0; i < sink->machine->n_network; i++) {
        const struct lull_network_level *level = &sink->machine->network[i];
        const struct lull_series *series = lull_machine_series(
            sink->machine, lull_arena_printf(sink->arena, "pingpong.%s", level->name));
        if (!series || series->n_points < 2)
            continue;
        any = true;
        add_series(chart, series, level->name, LULL_CHART_POINTS, sink->arena);
        add_fit(chart, level, fmax(1, series->points[0].x), series->points[series->n_points - 1].x,
                sink->arena);
        if (level->has_eager_limit)
            lull_chart_mark(chart, (double)level->eager_limit,
                            lull_arena_printf(sink->arena, "eager up to %s (%s)",
                                              short_size(level->eager_limit, sink->arena),
                                              level->name));
    }
    return any ? save(sink, chart, "messages") : LULL_EXIT_OK;
}

static int draw_noise(const struct sink *sink)
{
    struct lull_chart *chart = lull_chart_create(
        sink->arena, lull_arena_printf(sink->arena, "Detours by length, %s", what_machine(sink)));
    lull_chart_x_axis(chart, "length of a detour", "s", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "detours", "", LULL_CHART_LOG);
    bool any = false;
    for (size_t i = 0; i < sink->machine->n_noise; i++) {
        const struct lull_machine_noise *noise = &sink->machine->noise[i];
        struct lull_chart_point *points =
            lull_arena_zero(sink->arena, noise->n_bins + 1, sizeof *points);
        for (size_t k = 0; k < noise->n_bins; k++)
            points[k] = (struct lull_chart_point){
                noise->edges[k], noise->bins[k] ? (double)noise->bins[k] : NAN, NAN, NAN};
        any |= noise->n_bins > 0;
        lull_chart_series(chart, lull_arena_printf(sink->arena, "core %u", noise->core),
                          sink->machine->n_noise == 1 ? LULL_CHART_BARS : LULL_CHART_LINE, points,
                          noise->n_bins);
    }
    return any ? save(sink, chart, "noise") : LULL_EXIT_OK;
}

int lull_bench_charts(const struct lull_machine *machine, const char *folder,
                      struct lull_arena *arena)
{
    static int (*const charts[])(const struct sink *) = {draw_sweep, draw_cores, draw_messages,
                                                         draw_noise};
    const struct sink sink = {folder, arena, machine};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return lull_cli_fail("%s: cannot make the folder: %s", folder, strerror(errno));
    if (!lull_is_directory(folder))
        return lull_cli_fail("%s: is a file, expected a folder for charts", folder);
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        int status = charts[i](&sink);
        if (status != LULL_EXIT_OK)
            return status;
    }
    return LULL_EXIT_OK;
}
