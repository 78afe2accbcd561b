/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/machine_document.h"

#include "base/file.h"
#include "base/text.h"
#include "bench/benchmark.h"
#include "machine/machine.h"
#include "report/chart.h"
#include "stats/hypothesis_test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== two machines ============================================================================ */

/* Two machine files side by side: which numbers differ by more than repeated visits do. */

/* Relative; of numbers without an interval, and of numbers per cycle. */
#define LEAST_DIFFERENCE 0.01
#define LEVEL            0.05 /* the probability that any number is called different by chance */

static bool has_visits(const struct lull_number *a, const struct lull_number *b)
{
    return a->n_visits > 0 && b->n_visits > 0 && isnan(a->in_cycles) == isnan(b->in_cycles);
}

/* The middle of a number's visits, which are per cycle if that is known. */
static double middle_of(const struct lull_number *number)
{
    return isnan(number->in_cycles) ? number->value : number->in_cycles;
}

static bool far_apart(const struct lull_number *a, const struct lull_number *b)
{
    double x = middle_of(a), y = middle_of(b);
    return fabs(x - y) > LEAST_DIFFERENCE * fmax(fabs(x), fabs(y));
}

/* Whether two numbers differ per cycle, so that different clocks do not count. */
static bool differ_in_cycles(const struct lull_number *a, const struct lull_number *b)
{
    return (a->in_cycles_high < b->in_cycles_low || b->in_cycles_high < a->in_cycles_low) &&
           far_apart(a, b);
}

/* Whether two numbers differ by their intervals. For numbers whose visits are not known. */
static bool intervals_differ(const struct lull_number *a, const struct lull_number *b)
{
    bool a_knows = !isnan(a->low), b_knows = !isnan(b->low);
    if (a_knows && b_knows)
        return a->high < b->low || b->high < a->low || differ_in_cycles(a, b);
    if (a_knows)
        return b->value < a->low || b->value > a->high;
    if (b_knows)
        return a->value < b->low || a->value > b->high;
    return fabs(a->value - b->value) > LEAST_DIFFERENCE * fmax(fabs(a->value), fabs(b->value));
}

static bool comparable(const struct lull_number *a, const struct lull_number *b)
{
    return a && b && strcmp(a->unit, b->unit) == 0 && !isnan(a->value) && !isnan(b->value);
}

/* A number that both files have. */
struct pair {
    const struct lull_number *a, *b;
    bool different;
};

struct outcome {
    struct pair *pairs;
    size_t n_pairs, n_tested, only_a;
    /* Visits of the second machine that lie inside the intervals of the first, and all visits of
     * the second. */
    size_t inside, visits;
    double stated; /* how many should lie inside, by the confidence of the intervals */
};

static void add_compared_number(struct lull_table *table, const struct lull_number *a,
                                const struct lull_number *b)
{
    uint32_t row = lull_table_row(table, a->name, a->name, LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_quantity(a->value, a->unit));
    lull_table_set(table, row, 1, lull_cell_quantity(b->value, b->unit));
    if (a->value > 0)
        lull_table_set(table, row, 2, lull_cell_number(b->value / a->value, 3));
    if (a->in_cycles > 0 && b->in_cycles > 0)
        lull_table_set(table, row, 3, lull_cell_number(b->in_cycles / a->in_cycles, 3));
    lull_table_set(table, row, 4, lull_cell_text(lull_verdict_name(a->verdict)));
    lull_table_set(table, row, 5, lull_cell_text(lull_verdict_name(b->verdict)));
}

static struct lull_table *make_table(struct lull_document *document, const char *a_name,
                                     const char *b_name)
{
    struct lull_table *table =
        lull_document_table(document, "different", "Numbers that differ", LULL_BY_COLUMN);
    lull_table_corner(table, "Number");
    lull_table_column(table, "a", a_name);
    lull_table_column(table, "b", b_name);
    lull_table_column(table, "ratio", "ratio");
    lull_table_column(table, "ratio_in_cycles", "ratio\nin cycles");
    lull_table_column(table, "a_verdict", "verdict");
    lull_table_column(table, "b_verdict", "verdict");
    return table;
}

/* Finds how many visits of the second machine lie inside the intervals of the first, and how many
 * these intervals state. Visits per cycle are compared with the interval per cycle. */
static void calibrate(struct outcome *outcome, const struct lull_number *a,
                      const struct lull_number *b)
{
    bool cycles = !isnan(a->in_cycles);
    double low = cycles ? a->in_cycles_low : a->low, high = cycles ? a->in_cycles_high : a->high;
    if (isnan(low) || !(a->confidence > 0))
        return;
    for (size_t i = 0; i < b->n_visits; i++)
        outcome->inside += b->visits[i] >= low && b->visits[i] <= high;
    outcome->visits += b->n_visits;
    outcome->stated += a->confidence * (double)b->n_visits;
}

/* Tests all numbers whose visits are known. The probability that any test errs is LEVEL at most. */
static void test_visits(struct outcome *outcome, struct lull_arena *arena)
{
    double *probabilities = lull_arena_zero(arena, outcome->n_pairs + 1, sizeof *probabilities);
    bool *rejected = lull_arena_zero(arena, outcome->n_pairs + 1, sizeof *rejected);
    for (size_t i = 0; i < outcome->n_pairs; i++) {
        const struct lull_number *a = outcome->pairs[i].a, *b = outcome->pairs[i].b;
        if (!has_visits(a, b))
            continue;
        probabilities[outcome->n_tested++] =
            lull_rank_test(a->visits, a->n_visits, b->visits, b->n_visits);
        calibrate(outcome, a, b);
    }
    lull_holm(probabilities, outcome->n_tested, LEVEL, rejected, NULL);
    for (size_t i = 0, test = 0; i < outcome->n_pairs; i++) {
        struct pair *pair = &outcome->pairs[i];
        pair->different = has_visits(pair->a, pair->b)
                              ? rejected[test++] && far_apart(pair->a, pair->b)
                              : intervals_differ(pair->a, pair->b);
    }
}

static void find_pairs(const struct lull_machine *a, const struct lull_machine *b,
                       struct outcome *outcome)
{
    for (size_t i = 0; i < a->numbers.count; i++) {
        const struct lull_number *of_a = &a->numbers.items[i];
        const struct lull_number *of_b = lull_machine_find(b, of_a->name);
        if (comparable(of_a, of_b))
            outcome->pairs[outcome->n_pairs++] = (struct pair){.a = of_a, .b = of_b};
        else
            outcome->only_a++;
    }
}

static void add_comparison_notes(struct lull_document *document, const struct outcome *outcome)
{
    if (outcome->n_tested > 0)
        lull_document_note(
            document, LULL_NOTE_INFO,
            "%zu numbers were compared by their visits (rank test of Mann and "
            "Whitney), %zu by their intervals. Different are those that the test "
            "tells apart, with a probability of %.0f %% for any error in all of them "
            "together (Holm), and whose medians are more than %.0f %% apart.",
            outcome->n_tested, outcome->n_pairs - outcome->n_tested, 100 * LEVEL,
            100 * LEAST_DIFFERENCE);
    if (outcome->visits > 0)
        lull_document_note(
            document, LULL_NOTE_INFO,
            "%.1f %% of the second's visits lie in the intervals of the first, which "
            "state %.1f %% for visits of the same run: what is less changed between "
            "the runs.",
            100 * (double)outcome->inside / (double)outcome->visits,
            100 * outcome->stated / (double)outcome->visits);
}

struct lull_document *lull_bench_comparison(const struct lull_machine *a, const char *a_name,
                                            const struct lull_machine *b, const char *b_name,
                                            struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-bench-compare/1", "");
    struct outcome outcome = {
        .pairs = lull_arena_zero(arena, a->numbers.count + 1, sizeof(struct pair))};
    struct lull_table *table = NULL;
    size_t different = 0;
    find_pairs(a, b, &outcome);
    test_visits(&outcome, arena);
    for (size_t i = 0; i < outcome.n_pairs; i++) {
        if (!outcome.pairs[i].different)
            continue;
        different++;
        table = table ? table : make_table(document, a_name, b_name);
        add_compared_number(table, outcome.pairs[i].a, outcome.pairs[i].b);
    }
    lull_document_fact(document, "different", "Different", lull_cell_count(different));
    lull_document_fact(document, "same", "Not told apart",
                       lull_cell_count(outcome.n_pairs - different));
    lull_document_fact(document, "only_a", "Only in the first", lull_cell_count(outcome.only_a));
    lull_document_fact(document, "only_b", "Only in the second",
                       lull_cell_count(b->numbers.count - outcome.n_pairs));
    add_comparison_notes(document, &outcome);
    return document;
}

/* ==== charts ================================================================================== */

struct machine_chart {
    const char *name; /* "memory-cores" */
    const struct lull_chart *chart;
};

enum { MACHINE_CHARTS = 4 };

struct machine_drawing {
    struct lull_arena *arena;
    const struct lull_machine *machine;
};

static const char *what_machine(const struct machine_drawing *drawing)
{
    const char *label = lull_machine_label(drawing->machine);
    return label ? label : "";
}

/* A size without needless decimals: "48 KiB" for what is "48.00 KiB" elsewhere. */
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

/* ---- over cores ------------------------------------------------------------------------------ */

static int by_x(const void *a, const void *b)
{
    const struct lull_chart_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* Gathers all numbers "<base>.<threads>" as points over the threads. Returns how many there are. */
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

/* ---- messages -------------------------------------------------------------------------------- */

static double message_time(const struct lull_network_level *level, double bytes)
{
    for (size_t i = 0; i < level->n_ranges; i++)
        if (bytes <= (double)level->ranges[i].to)
            return level->ranges[i].latency.value + bytes / level->ranges[i].bandwidth.value;
    return NAN;
}

/* Adds the fitted time of messages as a curve, with a gap at every change of protocol. */
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

/* Draws the time of a message over its size, from the series "pingpong.<level>", with the fits of
 * the levels. */
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

/* Draws the charts that the machine has numbers for; they live in `arena`. Returns how many. */
static size_t machine_charts(const struct lull_machine *machine, struct lull_arena *arena,
                             struct machine_chart ret_charts[MACHINE_CHARTS])
{
    static const struct {
        const char *name;
        /* NULL: there are no such numbers. */
        struct lull_chart *(*draw)(const struct machine_drawing *);
    } charts[MACHINE_CHARTS] = {{"bandwidth-working-set", draw_sweep},
                                {"memory-cores", draw_cores},
                                {"messages", draw_messages},
                                {"noise", draw_noise}};
    const struct machine_drawing drawing = {arena, machine};
    size_t count = 0;
    for (size_t i = 0; i < MACHINE_CHARTS; i++) {
        const struct lull_chart *chart = charts[i].draw(&drawing);
        if (chart)
            ret_charts[count++] = (struct machine_chart){charts[i].name, chart};
    }
    return count;
}

lull_status lull_machine_charts_save(const char *folder, const struct lull_machine *machine,
                                     struct lull_arena *arena, struct lull_error *err)
{
    struct machine_chart charts[MACHINE_CHARTS];
    size_t count = machine_charts(machine, arena, charts);
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

/* ==== one machine ============================================================================= */

struct lull_document *lull_bench_list(struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-bench-list/1", "");
    struct lull_table *table =
        lull_document_table(document, "benchmarks", "Benchmarks", LULL_BY_COLUMN);
    lull_table_corner(table, "Name");
    uint32_t group = lull_table_column(table, "group", "group");
    uint32_t summary = lull_table_column(table, "summary", "what it measures");
    for (size_t i = 0; lull_benchmarks[i]; i++) {
        const struct lull_benchmark *benchmark = lull_benchmarks[i];
        uint32_t row = lull_table_row(table, benchmark->name, benchmark->name, LULL_NO_ROW);
        lull_table_set(table, row, group, lull_cell_text(benchmark->group));
        lull_table_set(table, row, summary, lull_cell_text(benchmark->summary));
    }
    return document;
}

/* ---- tables of numbers ----------------------------------------------------------------------- */

/* The tables of numbers. A number is in the first one with a pattern that its name begins with, or
 * contains if the pattern begins with '.'. */
static const struct section {
    const char *id, *title;
    const char *patterns[6];
} sections[] = {
    {"clock", "Clock", {"clock."}},
    {"compute", "Arithmetic on registers", {"peak.", "divide."}},
    {"latency", "Latency of dependent loads", {".latency."}},
    {"openmp", "OpenMP", {"openmp."}},
    {"messages", "MPI, two ranks", {"mpi.pingpong.", "mpi.overlap."}},
    {"mpi", "MPI, all ranks", {"mpi."}},
    {"noise", "Noise", {"noise."}},
    {"bandwidth", "Bandwidth, explicit bytes", {"L", "memory."}},
    {"vectors", "Vectors within and across cache lines, first cache", {"within.", "crossing."}},
    {"other", "Other numbers", {""}},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

static size_t section_of(const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        for (size_t k = 0; k < 6 && sections[i].patterns[k]; k++) {
            const char *pattern = sections[i].patterns[k];
            if (*pattern == '.' ? strstr(name, pattern) != NULL
                                : strncmp(name, pattern, strlen(pattern)) == 0)
                return i;
        }
    return SECTIONS - 1;
}

struct columns {
    uint32_t value, low, high, mean, cycles, allocate, blocks, rounds, verdict;
};

/* The columns that only some tables have. */
struct optional {
    bool allocates, has_cycles, has_mean, is_time;
};

static struct optional optional_columns(const struct lull_machine *machine, size_t section)
{
    struct optional optional = {false};
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (section_of(number->name) != section)
            continue;
        optional.allocates |= !isnan(number->with_write_allocate);
        optional.has_cycles |= !isnan(number->in_cycles);
        optional.has_mean |= !isnan(number->mean);
        optional.is_time |= strcmp(number->unit, "s") == 0;
    }
    return optional;
}

static struct columns make_columns(struct lull_table *table, const struct optional *optional)
{
    struct columns columns = {.value = lull_table_column(table, "value", "value"),
                              .low = lull_table_column(table, "low", "from"),
                              .high = lull_table_column(table, "high", "to")};
    if (optional->has_mean)
        columns.mean = lull_table_column(table, "mean", "mean of\nblocks");
    if (optional->has_cycles)
        columns.cycles =
            lull_table_column(table, "in_cycles", optional->is_time ? "cycles" : "per\ncycle");
    if (optional->allocates)
        columns.allocate = lull_table_column(table, "with_write_allocate", "with\nwrite-allocate");
    columns.blocks = lull_table_column(table, "samples", "blocks");
    columns.rounds = lull_table_column(table, "rounds", "rounds");
    columns.verdict = lull_table_column(table, "verdict", "verdict");
    return columns;
}

static void set_quantity(struct lull_table *table, uint32_t row, uint32_t column, double value,
                         const char *unit)
{
    if (isnan(value))
        return;
    bool is_share = unit && strcmp(unit, "1") == 0;
    lull_table_set(table, row, column,
                   is_share ? lull_cell_share(value) : lull_cell_quantity(value, unit));
}

static void add_number(struct lull_table *table, const struct columns *columns,
                       const struct lull_number *number, const struct optional *optional)
{
    uint32_t row = lull_table_row(table, number->name, number->name, LULL_NO_ROW);
    set_quantity(table, row, columns->value, number->value, number->unit);
    set_quantity(table, row, columns->low, number->low, number->unit);
    set_quantity(table, row, columns->high, number->high, number->unit);
    if (optional->has_mean)
        set_quantity(table, row, columns->mean, number->mean, number->unit);
    if (optional->has_cycles && !isnan(number->in_cycles))
        lull_table_set(table, row, columns->cycles,
                       lull_cell_number(number->in_cycles, number->in_cycles < 10 ? 3 : 1));
    if (optional->allocates)
        set_quantity(table, row, columns->allocate, number->with_write_allocate, number->unit);
    if (number->samples)
        lull_table_set(table, row, columns->blocks, lull_cell_count(number->samples));
    if (number->rounds)
        lull_table_set(table, row, columns->rounds, lull_cell_count(number->rounds));
    lull_table_set(table, row, columns->verdict,
                   lull_cell_text(lull_verdict_name(number->verdict)));
    if (number->note)
        lull_table_row_about(table, row, number->note);
}

static void add_section(struct lull_document *document, const struct lull_machine *machine,
                        size_t section)
{
    struct lull_table *table = NULL;
    struct columns columns = {0};
    const struct optional optional = optional_columns(machine, section);
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (section_of(number->name) != section)
            continue;
        if (!table) {
            table = lull_document_table(document, sections[section].id, sections[section].title,
                                        LULL_BY_COLUMN);
            lull_table_corner(table, "Number");
            columns = make_columns(table, &optional);
        }
        add_number(table, &columns, number, &optional);
    }
}

/* ---- in short ------------------------------------------------------------------------------ */

/* How many cores or ranks a number is of: what stands behind its last dot, as in memory.triad.8. */
static unsigned long cores_of_number(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? strtoul(dot + 1, NULL, 10) : 0;
}

enum pick { OF_ONE, OF_ALL, BEST_OF_ONE, BEST_OF_ALL };

static bool is_picked(const struct lull_number *number, const struct lull_number *before,
                      unsigned pick)
{
    const unsigned long cores = cores_of_number(number->name);
    if (isnan(number->value) || ((pick == OF_ONE || pick == BEST_OF_ONE) && cores > 1) ||
        ((pick == OF_ALL || pick == BEST_OF_ALL) && cores < 2))
        return false;
    if (!before)
        return true;
    const unsigned long so_far = cores_of_number(before->name);
    return cores > so_far ||
           (cores == so_far && pick >= BEST_OF_ONE && number->value > before->value);
}

/* The number whose name begins so and has this part, of one core or of most. */
static const struct lull_number *pick_number(const struct lull_machine *machine, const char *begin,
                                             const char *part, unsigned pick)
{
    const struct lull_number *found = NULL;
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (strncmp(number->name, begin, strlen(begin)) == 0 && strstr(number->name, part) &&
            is_picked(number, found, pick))
            found = number;
    }
    return found;
}

/* What users look for first. */
static void add_bench_summary(struct lull_document *document, const struct lull_machine *machine)
{
    static const struct {
        const char *label, *begin, *part;
        unsigned pick;
    } lines[] = {
        {"Clock", "clock.", "", OF_ONE},
        {"Arithmetic of a core, double precision", "peak.dp.", "", BEST_OF_ONE},
        {"Arithmetic of all cores, double precision", "peak.dp.", "", BEST_OF_ALL},
        {"Memory bandwidth of a core, triad", "memory.triad.", "", OF_ONE},
        {"Memory bandwidth of all cores, triad", "memory.triad.", "", OF_ALL},
        {"Memory latency", "memory.latency.", "", OF_ONE},
        {"OpenMP parallel region, all threads, gcc", "openmp.gcc.parallel.", "", OF_ALL},
        {"OpenMP parallel region, all threads, clang", "openmp.clang.parallel.", "", OF_ALL},
        {"MPI message of 0 bytes", "mpi.pingpong.", ".0.", OF_ALL},
        {"MPI barrier, all ranks", "mpi.barrier.", "", OF_ALL},
        {"Time that others take of the cores", "noise.share.", "", OF_ALL},
    };
    struct lull_table *table = NULL;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct lull_number *number =
            pick_number(machine, lines[i].begin, lines[i].part, lines[i].pick);
        if (!number)
            continue;
        if (!table) {
            table = lull_document_table(document, "summary", "In short", LULL_BY_COLUMN);
            lull_table_corner(table, "What");
            lull_table_column(table, "value", "value");
            lull_table_column(table, "number", "number");
        }
        const uint32_t row = lull_table_row(table, number->name, lines[i].label, LULL_NO_ROW);
        const bool is_share = strcmp(number->unit, "1") == 0;
        lull_table_set(table, row, 0,
                       is_share ? lull_cell_share(number->value)
                                : lull_cell_quantity(number->value, number->unit));
        lull_table_set(table, row, 1, lull_cell_text(number->name));
    }
}

/* ---- network and noise ----------------------------------------------------------------------- */

static void add_network(struct lull_document *document, const struct lull_machine *machine,
                        struct lull_arena *arena)
{
    if (machine->n_network == 0)
        return;
    struct lull_table *table = lull_document_table(
        document, "network", "Network, time = latency + size / bandwidth", LULL_BY_COLUMN);
    lull_table_corner(table, "Level");
    uint32_t from = lull_table_column(table, "from", "from"),
             to = lull_table_column(table, "to", "to");
    uint32_t latency = lull_table_column(table, "latency", "latency");
    uint32_t bandwidth = lull_table_column(table, "bandwidth", "bandwidth");
    uint32_t protocol = lull_table_column(table, "protocol", "protocol");
    for (size_t i = 0; i < machine->n_network; i++) {
        const struct lull_network_level *level = &machine->network[i];
        for (size_t k = 0; k < level->n_ranges; k++) {
            const struct lull_network_range *range = &level->ranges[k];
            const char *id = lull_arena_printf(arena, "%s.%zu", level->name, k + 1);
            uint32_t row = lull_table_row(table, id, level->name, LULL_NO_ROW);
            lull_table_set(table, row, from, lull_cell_bytes(range->from));
            if (range->to != UINT64_MAX)
                lull_table_set(table, row, to, lull_cell_bytes(range->to));
            set_quantity(table, row, latency, range->latency.value, "s");
            set_quantity(table, row, bandwidth, range->bandwidth.value, "B/s");
            if (range->protocol)
                lull_table_set(table, row, protocol, lull_cell_text(range->protocol));
        }
    }
}

static void add_machine_noise(struct lull_document *document, const struct lull_machine *machine,
                              struct lull_arena *arena)
{
    if (machine->n_noise == 0)
        return;
    struct lull_table *table =
        lull_document_table(document, "noise_cores", "Noise of a core", LULL_BY_COLUMN);
    lull_table_corner(table, "Core");
    uint32_t share = lull_table_column(table, "share", "share");
    uint32_t power = lull_table_column(table, "power", "power");
    uint32_t detours = lull_table_column(table, "detours", "detours");
    uint32_t duration = lull_table_column(table, "duration", "recorded");
    for (size_t i = 0; i < machine->n_noise; i++) {
        const struct lull_machine_noise *noise = &machine->noise[i];
        const char *name = lull_arena_printf(arena, "%u", noise->core);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        if (!isnan(noise->share.value))
            lull_table_set(table, row, share, lull_cell_share(noise->share.value));
        set_quantity(table, row, power, noise->power.value, "s");
        lull_table_set(table, row, detours, lull_cell_count(noise->n_detours));
        set_quantity(table, row, duration, noise->duration, "s");
    }
}

/* ---- facts and notes ------------------------------------------------------------------------- */

static void fact(struct lull_document *document, const char *id, const char *label,
                 const char *text)
{
    if (text)
        lull_document_fact(document, id, label, lull_cell_text(text));
}

static const char *describe_cache(const struct lull_machine_cache *cache, struct lull_arena *arena)
{
    char size[32];
    const char *text =
        cache->bytes ? lull_format_size(cache->bytes, size, sizeof size) : "size unknown";
    text = lull_arena_strdup(arena, text);
    if (cache->ways)
        text = lull_arena_printf(arena, "%s, %u ways", text, cache->ways);
    if (cache->line_bytes)
        text = lull_arena_printf(arena, "%s, lines of %u B", text, cache->line_bytes);
    if (cache->shared_cores > 1)
        text = lull_arena_printf(arena, "%s, shared by %u cores", text, cache->shared_cores);
    if (cache->inclusive != LULL_UNKNOWN)
        text = lull_arena_printf(arena, "%s, %sinclusive", text,
                                 cache->inclusive == LULL_YES ? "" : "not ");
    return text;
}

static void add_cpu(struct lull_document *document, const struct lull_machine *machine,
                    struct lull_arena *arena)
{
    const struct lull_machine_cpu *cpu = &machine->cpu;
    fact(document, "cpu", "Processor", cpu->model);
    if (cpu->cores)
        lull_document_fact(document, "cores", "Cores", lull_cell_count(cpu->cores));
    if (cpu->packages > 1)
        lull_document_fact(document, "packages", "Sockets", lull_cell_count(cpu->packages));
    if (cpu->numa_domains > 1)
        lull_document_fact(document, "numa_domains", "Memory domains",
                           lull_cell_count(cpu->numa_domains));
    for (size_t i = 0; i < machine->n_caches; i++) {
        const struct lull_machine_cache *cache = &machine->caches[i];
        const char *id = lull_arena_printf(arena, "l%u", cache->level);
        fact(document, id, lull_arena_printf(arena, "L%u cache", cache->level),
             describe_cache(cache, arena));
    }
    if (machine->memory_bytes)
        lull_document_fact(document, "memory", "Memory", lull_cell_bytes(machine->memory_bytes));
}

static void add_provenance(struct lull_document *document, const struct lull_machine *machine)
{
    const struct lull_machine_provenance *from = &machine->provenance;
    fact(document, "host", "Host", machine->host.name);
    fact(document, "hypervisor", "Hypervisor", machine->host.hypervisor);
    fact(document, "source", "Published in", from->source);
    fact(document, "date", "Date", from->date);
    fact(document, "effort", "Effort", from->effort);
    fact(document, "kernel", "Kernel", from->kernel);
    fact(document, "compiler", "Compiler", from->compiler);
    fact(document, "mpi", "MPI", from->mpi);
    fact(document, "openmp", "OpenMP", from->openmp);
    fact(document, "openmp_environment", "OpenMP environment", from->openmp_environment);
    if (strcmp(from->kind, "measured") == 0) {
        fact(document, "governor", "Governor", from->governor ? from->governor : "unknown");
        fact(document, "turbo", "Turbo", from->turbo ? from->turbo : "unknown");
    }
    fact(document, "clock_source", "Clock", from->clock_source);
    fact(document, "pinning", "Pinning", from->pinning);
    fact(document, "pages", "Pages", from->pages);
    for (size_t i = 0; i < from->n_remarks; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s.", from->remarks[i]);
}

static void add_verdicts(struct lull_document *document, const struct lull_machine *machine)
{
    size_t counts[LULL_VERDICT_PUBLISHED + 1] = {0}, all = machine->numbers.count;
    for (size_t i = 0; i < all; i++)
        counts[machine->numbers.items[i].verdict]++;
    if (counts[LULL_VERDICT_NOT_CONVERGED])
        lull_document_note(document, LULL_NOTE_INFO,
                           "%zu of %zu numbers have not converged: they are known less well than "
                           "asked. --full, or a quieter machine, makes them surer.",
                           counts[LULL_VERDICT_NOT_CONVERGED], all);
    if (counts[LULL_VERDICT_NOISY])
        lull_document_note(document, LULL_NOTE_INFO,
                           "%zu of %zu numbers were taken while something else used the cores.",
                           counts[LULL_VERDICT_NOISY], all);
}

/* Names the curves that a machine has, for which there is no table. */
static void add_curves(struct lull_document *document, const struct lull_machine *machine,
                       struct lull_arena *arena)
{
    const char *names = "";
    for (size_t i = 0; i < machine->n_series; i++)
        names = lull_arena_printf(arena, "%s%s%s", names, i ? ", " : "", machine->series[i].name);
    if (machine->n_series)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Curves (%s) are in the machine file, -o, and drawn with --charts.",
                           names);
}

struct lull_document *lull_bench_document(const struct lull_machine *machine,
                                          struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-bench/1", "");
    fact(document, "name", "Machine", machine->name);
    add_cpu(document, machine, arena);
    add_provenance(document, machine);
    add_bench_summary(document, machine);
    for (size_t i = 0; i < SECTIONS; i++)
        add_section(document, machine, i);
    add_network(document, machine, arena);
    add_machine_noise(document, machine, arena);
    add_curves(document, machine, arena);
    add_verdicts(document, machine);
    return document;
}
