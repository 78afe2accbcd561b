/* How even the work is: rows over time, and how many threads have which share of useful time. */
#include "stats/histogram.h"
#include "view/report/report_parts.h"

#include <math.h>
#include <string.h>

enum { LOAD_BINS = 1 << LULL_TIMELINE_COARSE, MOST_ROWS = 1024, CLASSES = 10 };

enum { LOAD_USEFUL, LOAD_INSTRUCTIONS, LOAD_IPC, LOAD_FREQUENCY, LOAD_LAYERS };

/* ---- rows over time ------------------------------------------------------------------------ */

/* Processes, or the threads of the only one; where there are too many, nodes or bands. */
static bool is_shown(const struct lull_timeline *timeline, uint32_t row, uint8_t kind)
{
    if (kind != LULL_TIMELINE_ROW_KINDS)
        return timeline->rows[row].kind == kind;
    const uint32_t parent = timeline->rows[row].parent;
    return parent == LULL_NONE;
}

static uint8_t shown_kind(const struct lull_timeline *timeline)
{
    uint32_t of_kind[LULL_TIMELINE_ROW_KINDS] = {0};
    for (uint32_t r = 0; r < timeline->n_rows; r++)
        of_kind[timeline->rows[r].kind]++;
    const uint8_t kind =
        of_kind[LULL_TIMELINE_PROCESS] > 1 ? LULL_TIMELINE_PROCESS : LULL_TIMELINE_THREAD;
    if (of_kind[kind] == 0)
        return LULL_TIMELINE_PROCESS;
    return of_kind[kind] <= MOST_ROWS ? kind : LULL_TIMELINE_ROW_KINDS;
}

static double ratio(double above, double below)
{
    return below > 0 ? above / below : NAN;
}

static void fill_row(const struct lull_timeline *timeline, uint32_t row,
                     double *values[LOAD_LAYERS])
{
    int64_t ns[LOAD_BINS * LULL_STEP_ACTIVITIES];
    uint64_t counts[LULL_TIMELINE_COUNTS][LOAD_BINS];
    lull_timeline_cells(timeline, row, LULL_TIMELINE_COARSE, 0, LOAD_BINS, ns);
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
        memset(counts[which], 0, sizeof counts[which]);
        lull_timeline_counts(timeline, row, which, counts[which]);
    }
    for (uint32_t bin = 0; bin < LOAD_BINS; bin++) {
        const double useful = (double)ns[bin * LULL_STEP_ACTIVITIES + LULL_USEFUL];
        const double all = (double)timeline->rows[row].n_leaves *
                           (double)(lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin + 1) -
                                    lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin));
        const double instructions = (double)(int64_t)counts[LULL_TIMELINE_INSTRUCTIONS][bin];
        const double cycles = (double)(int64_t)counts[LULL_TIMELINE_CYCLES][bin];
        values[LOAD_USEFUL][bin] = ratio(useful, all);
        values[LOAD_INSTRUCTIONS][bin] = instructions;
        values[LOAD_IPC][bin] = ratio(instructions, cycles);
        values[LOAD_FREQUENCY][bin] = ratio(cycles, useful);
    }
}

static const char *const *bin_names(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, LOAD_BINS, sizeof *names);
    for (uint32_t bin = 0; bin < LOAD_BINS; bin++)
        names[bin] = lull_arena_printf(
            arena, "%.4g s",
            1e-9 * (double)lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin));
    return names;
}

static bool has_load_layer(const struct lull_timeline *timeline, int layer)
{
    const bool instructions = timeline->has_counts[LULL_TIMELINE_INSTRUCTIONS];
    const bool cycles = timeline->has_counts[LULL_TIMELINE_CYCLES];
    return layer == LOAD_USEFUL || (layer == LOAD_INSTRUCTIONS && instructions) ||
           (layer == LOAD_IPC && instructions && cycles) || (layer == LOAD_FREQUENCY && cycles);
}

static void add_map(struct lull_document *document, const struct lull_run *run,
                    const struct lull_timeline *timeline, struct lull_arena *arena)
{
    static const struct lull_picture_layer about[LOAD_LAYERS] = {
        [LOAD_USEFUL] = {"useful", "Share of the time that is useful", "ratio", NULL},
        [LOAD_INSTRUCTIONS] = {"instructions", "Instructions in useful time", "count", NULL},
        [LOAD_IPC] = {"ipc", "Instructions per cycle", "", NULL},
        [LOAD_FREQUENCY] = {"frequency", "Cycles per useful nanosecond", "GHz", NULL}};
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    struct lull_picture_layer *layers = lull_arena_zero(arena, LOAD_LAYERS, sizeof *layers);
    const char **names = lull_arena_zero(arena, timeline->n_rows, sizeof *names);
    const uint8_t kind = shown_kind(timeline);
    double *values[LOAD_LAYERS], *at[LOAD_LAYERS];
    for (uint32_t r = 0; r < timeline->n_rows; r++)
        if (is_shown(timeline, r, kind))
            names[matrix->n_rows++] = lull_report_row_name(timeline, r, arena);
    for (int l = 0; l < LOAD_LAYERS; l++)
        at[l] = values[l] =
            lull_arena_zero(arena, (size_t)matrix->n_rows * LOAD_BINS, sizeof *values[l]);
    for (uint32_t r = 0; r < timeline->n_rows; r++) {
        if (!is_shown(timeline, r, kind))
            continue;
        fill_row(timeline, r, at);
        for (int l = 0; l < LOAD_LAYERS; l++)
            at[l] += LOAD_BINS;
    }
    for (int l = 0; l < LOAD_LAYERS; l++) {
        if (!has_load_layer(timeline, l))
            continue;
        layers[matrix->n_layers] = about[l];
        layers[matrix->n_layers++].values = values[l];
    }
    matrix->id = lull_arena_printf(arena, "load:%s", run->name);
    matrix->title = lull_arena_printf(arena, "Work of %s over time", run->name);
    matrix->about = "Each column is 1/64 of the time; counters are spread evenly between readings.";
    matrix->row_axis = kind == LULL_TIMELINE_PROCESS  ? "process"
                       : kind == LULL_TIMELINE_THREAD ? "thread"
                                                      : "group";
    matrix->column_axis = "time";
    matrix->row_names = names;
    matrix->column_names = bin_names(timeline, arena);
    matrix->n_columns = LOAD_BINS;
    matrix->layers = layers;
    lull_document_matrix(document, matrix);
}

/* ---- histogram ----------------------------------------------------------------------------- */

static double useful_share(const struct lull_breakdown *breakdown,
                           const struct lull_thread_breakdown *thread)
{
    const int64_t window = breakdown->processes[thread->process].window_ns;
    const int64_t useful = thread->times.ns[LULL_USEFUL][0] + thread->times.ns[LULL_USEFUL][1];
    return window > 0 ? (double)useful / (double)window : 0;
}

/* Of CPU threads, in classes of a tenth; all of the time belongs to the last one. */
static void add_histogram(struct lull_document *document, const struct lull_run *run,
                          struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    struct lull_histogram histogram = lull_histogram_create(arena, 0, 1, false, CLASSES);
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        if (breakdown->threads[t].kind == LULL_LOCATION_THREAD)
            lull_histogram_add(&histogram, useful_share(breakdown, &breakdown->threads[t]));
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "load_balance:%s", run->name),
        lull_arena_printf(arena, "Threads of %s by their useful share", run->name), LULL_BY_COLUMN);
    lull_table_corner(table, "Useful share");
    lull_table_column(table, "threads", "threads");
    for (int i = CLASSES - 1; i >= 0; i--) {
        const uint64_t count = histogram.bins[i] + (i == CLASSES - 1 ? histogram.above : 0);
        uint32_t row = lull_table_row(table, lull_arena_printf(arena, "0.%d", i),
                                      lull_arena_printf(arena, "%d to %d %%", 10 * i, 10 * i + 10),
                                      LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(count));
    }
}

void lull_report_add_load(struct lull_document *document, const struct lull_run *run,
                          const struct lull_report_run *of, struct lull_arena *arena)
{
    add_histogram(document, run, arena);
    if (of->timeline && of->timeline->begin < of->timeline->end)
        add_map(document, run, of->timeline, arena);
}
