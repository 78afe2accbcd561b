/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/replay_document.h"

#include "base/text.h"
#include "study/circumstances.h"
#include "study/replay/replayed_run.h"
#include "view/document_parts.h"
#include "view/metrics/metrics_tables.h"

#include <math.h>

static int64_t runtime_of(const struct lull_runs *runs, uint32_t run)
{
    return runs->runs[run].breakdown->runtime_ns;
}

static struct lull_cell runtime_ratio_cell(int64_t top, int64_t bottom)
{
    return bottom > 0 ? lull_cell_number((double)top / (double)bottom, 3)
                      : lull_cell_absent("no time");
}

/* Adds a table with one row for each point. */
static void add_replay_sweep(struct lull_document *document, const struct lull_replay_study *study,
                             struct lull_arena *arena)
{
    const struct lull_sweep *sweep = study->sweep;
    struct lull_table *table = lull_document_table(document, "sweep", "What if", LULL_BY_COLUMN);
    lull_table_corner(table, "Network");
    for (uint32_t axis = 0; axis < sweep->n_axes; axis++)
        lull_table_column(table, sweep->axes[axis].key, sweep->axes[axis].key);
    lull_table_column(table, "runtime", "Runtime");
    lull_table_column(table, "speedup", "Times as fast as measured");
    for (uint64_t p = 0; p < sweep->n_points; p++) {
        const struct lull_supposed_point *point = &study->points[p];
        const char *id = lull_arena_printf(arena, "%llu", (unsigned long long)p);
        uint32_t row = lull_table_row(table, id, point->network, LULL_NO_ROW);
        for (uint32_t axis = 0; axis < sweep->n_axes; axis++)
            lull_table_set(table, row, axis, lull_cell_text(lull_sweep_value(sweep, p, axis)));
        lull_table_set(table, row, sweep->n_axes, lull_cell_time(point->runtime));
        lull_table_set(table, row, sweep->n_axes + 1,
                       runtime_ratio_cell(runtime_of(&study->runs, 0), point->runtime));
    }
}

static void add_runtimes(struct lull_document *document, const struct lull_runs *runs)
{
    struct lull_table *table = lull_document_table(document, "replay", "Replay", LULL_BY_ROW);
    lull_table_corner(table, "Quantity");
    uint32_t runtime = lull_table_row(table, "runtime", "Runtime", LULL_NO_ROW);
    uint32_t error = lull_table_row(table, "difference", "Difference from measured", LULL_NO_ROW);
    uint32_t speedup = 0; /* only set if there are what-ifs */
    if (runs->count > 2)
        speedup = lull_table_row(table, "speedup", "Times as fast as replayed", LULL_NO_ROW);
    for (uint32_t i = 0; i < runs->count; i++) {
        int64_t ns = runtime_of(runs, i);
        uint32_t column = lull_table_column(table, runs->runs[i].name, runs->runs[i].name);
        lull_table_set(table, runtime, column, lull_cell_time(ns));
        if (i > 0)
            lull_table_set(table, error, column,
                           lull_cell_share((double)ns / (double)runtime_of(runs, 0) - 1));
        if (i > 1)
            lull_table_set(table, speedup, column, runtime_ratio_cell(runtime_of(runs, 1), ns));
    }
}

static const char *rate(double bandwidth, struct lull_arena *arena)
{
    char text[32];
    if (isinf(bandwidth))
        return "without limit";
    if (bandwidth >= 1e9)
        return lull_arena_printf(arena, "%.3g GB/s", bandwidth * 1e-9);
    snprintf(text, sizeof text, "%.3g MB/s", bandwidth * 1e-6);
    return lull_arena_strdup(arena, text);
}

/* Tells what messages cost: "latency 1.2 us, bandwidth 3.4 GB/s"; twice if they cost something else
 * inside of nodes than between them. */
static const char *describe_costs(const struct lull_network *network, struct lull_arena *arena)
{
    char latency[32], far[32];
    const double *in = network->values[LULL_LEVEL_NODE];
    const double *between = network->values[LULL_LEVEL_CLUSTER];
    lull_format_time(llround(in[0]), latency, sizeof latency);
    lull_format_time(llround(between[0]), far, sizeof far);
    if (in[0] == between[0] && in[1] == between[1])
        return lull_arena_printf(arena, "latency %s, bandwidth %s", latency, rate(in[1], arena));
    return lull_arena_printf(arena, "inside nodes latency %s, bandwidth %s; between nodes %s, %s",
                             latency, rate(in[1], arena), far, rate(between[1], arena));
}

static const char *describe_network(const struct lull_network *network, struct lull_arena *arena)
{
    const char *costs = describe_costs(network, arena);
    return network->algorithms
               ? lull_arena_printf(arena, "%s, algorithms=%s", costs, network->algorithms)
               : costs;
}

/* Whether messages cost nothing, as is the case if too few were seen to know their cost. */
static bool is_free(const struct lull_network *network)
{
    bool is_free = true;
    for (unsigned level = 0; level < LULL_LEVELS; level++)
        is_free &= network->values[level][0] == 0 && isinf(network->values[level][1]);
    return is_free;
}

/* What messages of collective operations cost all the same. */
static const char *describe_delay(const struct lull_network *network, struct lull_arena *arena)
{
    char each[32];
    if (network->collective_delay <= 0)
        return "";
    lull_format_time((int64_t)network->collective_delay, each, sizeof each);
    return lull_arena_printf(arena, ", and those of collective operations %s each, as measured",
                             each);
}

static const char *describe_difference(int64_t measured, int64_t replayed, struct lull_arena *arena)
{
    const double percent = 100 * fabs((double)replayed / (double)measured - 1);
    if (percent < 0.005)
        return "as long as measured.";
    return lull_arena_printf(
        arena,
        "%.2f %% %s time than measured: what is asked of the replay is uncertain by as much.",
        percent, replayed < measured ? "less" : "more");
}

/* Kernels of NCCL that a replay does not know to the end. */
static void add_note_of_exchanges(struct lull_document *document,
                                  const struct lull_known_exchanges *exchanges)
{
    if (exchanges->known < exchanges->all)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%zu of %zu kernels of NCCL take as long as measured: the run does not "
                           "tell with which others they belong together.",
                           exchanges->all - exchanges->known, exchanges->all);
    if (exchanges->by_network && exchanges->sized < exchanges->known)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%zu kernels of NCCL wait for their ranks and then take as long as "
                           "measured: the run does not tell their bytes.",
                           exchanges->known - exchanges->sized);
}

static void add_replay_notes(struct lull_document *document, const struct lull_replay_study *study,
                             struct lull_arena *arena)
{
    int64_t measured = runtime_of(&study->runs, 0), replayed = runtime_of(&study->runs, 1);
    if (is_free(&study->measured))
        lull_document_note(document, LULL_NOTE_INFO,
                           "The trace does not show what its network costs, as it has too few "
                           "messages of any size: in the replay they cost nothing%s.",
                           describe_delay(&study->measured, arena));
    else
        lull_document_note(document, LULL_NOTE_INFO,
                           "The measured network, as the messages of the trace show it: %s.",
                           describe_network(&study->measured, arena));
    lull_document_note(
        document, LULL_NOTE_INFO, "Replayed on it, the run takes %s%s",
        describe_difference(measured, replayed, arena),
        lull_cores_excuse(study->runs.runs[0].trace,
                          (double)replayed < (1 - LULL_REPLAY_MISSES_MOST) * (double)measured,
                          arena));
    add_note_of_exchanges(document, &study->exchanges);
}

/* ---- against a measured run ---------------------------------------------------------------- */

enum { AGAINST_PREDICTED, AGAINST_MEASURED, AGAINST_ERROR, AGAINST_POINTS }; /* columns */

static struct lull_cell share_cell(double share)
{
    return isnan(share) ? lull_cell_absent("no time") : lull_cell_share(share);
}

static void set_times_against(struct lull_table *table, uint32_t row,
                              const int64_t times[LULL_AGAINST_SIDES])
{
    lull_table_set(table, row, AGAINST_PREDICTED, lull_cell_time(times[LULL_PREDICTED]));
    lull_table_set(table, row, AGAINST_MEASURED, lull_cell_time(times[LULL_MEASURED]));
    lull_table_set(table, row, AGAINST_ERROR, share_cell(lull_against_error(times)));
}

static void set_shares(struct lull_table *table, uint32_t row,
                       const double shares[LULL_AGAINST_SIDES])
{
    const double points = 100 * (shares[LULL_PREDICTED] - shares[LULL_MEASURED]);
    lull_table_set(table, row, AGAINST_PREDICTED, share_cell(shares[LULL_PREDICTED]));
    lull_table_set(table, row, AGAINST_MEASURED, share_cell(shares[LULL_MEASURED]));
    lull_table_set(table, row, AGAINST_POINTS,
                   isnan(points) ? lull_cell_absent("no time") : lull_cell_number(points, 1));
}

static void add_against(struct lull_document *document, const struct lull_against *against,
                        struct lull_arena *arena)
{
    struct lull_table *table =
        lull_document_table(document, "against", "Prediction and measurement", LULL_BY_ROW);
    lull_table_corner(table, "Quantity");
    lull_table_column(table, "predicted", "Predicted");
    lull_table_column(table, "measured", "Measured");
    lull_table_column(table, "error", "Error");
    lull_table_column(table, "points", "Percentage points");
    set_times_against(table, lull_table_row(table, "runtime", "Runtime", LULL_NO_ROW),
                      against->runtime);
    set_shares(table, lull_table_row(table, "mpi_share", "Share of MPI", LULL_NO_ROW),
               against->mpi_share);
    for (uint32_t p = 0; p < against->n_processes; p++) {
        const struct lull_against_process *process = &against->processes[p];
        const char *time = lull_arena_printf(arena, "time_%u", process->rank);
        const char *share = lull_arena_printf(arena, "mpi_share_%u", process->rank);
        const char *label = lull_arena_printf(arena, "Time of rank %u", process->rank);
        set_times_against(table, lull_table_row(table, time, label, LULL_NO_ROW), process->time);
        label = lull_arena_printf(arena, "Share of MPI of rank %u", process->rank);
        set_shares(table, lull_table_row(table, share, label, LULL_NO_ROW), process->mpi_share);
    }
    lull_document_note(
        document, LULL_NOTE_INFO, "The prediction of %s misses its runtime by %.2f %%.",
        against->runs.runs[0].path, 100 * fabs(lull_against_error(against->runtime)));
}

/* ---- what was supposed --------------------------------------------------------------------- */

static void write_words(struct lull_json *json, const void *data)
{
    const char *const *words = data;
    lull_json_array_begin(json);
    for (; *words; words++)
        lull_json_string(json, *words);
    lull_json_array_end(json);
}

struct lull_document *lull_replay_document(const struct lull_replay_study *study,
                                           enum lull_scheme_choice scheme,
                                           const struct lull_notices *notices,
                                           struct lull_arena *arena)
{
    const struct lull_runs *runs = &study->runs;
    bool hybrid = lull_pop_is_hybrid(runs->runs[0].input);
    bool additive = lull_choice_is_additive(scheme, hybrid);
    struct lull_document *document = lull_document_create(arena, "lull-replay/1", "");
    lull_document_add_notices(document, notices);
    if (study->words)
        lull_document_attach(document, "supposed", write_words, study->words);
    if (study->sweep)
        add_replay_sweep(document, study, arena);
    add_runtimes(document, runs);
    if (study->against)
        add_against(document, study->against, arena);
    lull_table_of_scheme(document, runs, lull_scheme_of(additive, hybrid), arena);
    add_replay_notes(document, study, arena);
    return document;
}
