/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/history_document.h"

#include "base/text.h"
#include "report/document.h"
#include "report/pictures.h"
#include "study/history/gate.h"
#include "view/document_parts.h"

#include <math.h>
#include <string.h>

/* ==== the sentences of a gate ================================================================= */

/* Whether the values of a metric are seconds. */
static bool metric_is_time(const char *metric)
{
    return strcmp(metric, "runtime") == 0 || strcmp(metric, "core_time") == 0 ||
           strcmp(metric, "useful_time") == 0 || strncmp(metric, "region:", 7) == 0 ||
           strncmp(metric, "function:", 9) == 0;
}

/* A value of a metric as a cell. */
static struct lull_cell cell_of_metric(const char *metric, double value)
{
    if (!isfinite(value))
        return lull_cell_absent("none");
    return metric_is_time(metric) ? lull_cell_quantity(value, "s") : lull_cell_number(value, 4);
}

static const char *metric_text(const char *metric, double value, struct lull_arena *arena)
{
    char text[32];
    if (!metric_is_time(metric))
        return lull_arena_printf(arena, "%.4g", value);
    return lull_arena_strdup(arena,
                             lull_format_time((int64_t)llround(1e9 * value), text, sizeof text));
}

static const char *plural(uint32_t count, const char *noun, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%u %s%s", count, noun, count == 1 ? "" : "s");
}

/* Tells the value, the limit, and where the limit comes from: "runtime is 1.26 s (median of 10
 * runs), the limit is 1.05 s, ...". */
static const char *tell_values(const struct lull_gate_case *judged,
                               const struct lull_history *history, struct lull_arena *arena)
{
    const char *metric = judged->condition->metric;
    const char *text = lull_arena_printf(
        arena, "%s is %s (%s%s), the limit is %s", metric,
        metric_text(metric, judged->value, arena), judged->runs > 1 ? "median of " : "",
        plural(judged->runs, "run", arena), metric_text(metric, judged->limit, arena));
    if (!judged->baseline_runs)
        return text;
    char time[32];
    const char *since =
        judged->since
            ? lull_arena_printf(arena, " since the level changed at %s",
                                lull_history_time_text(history->entries[judged->since].time, time))
            : "";
    return lull_arena_printf(arena, "%s, the baseline %s (%s%s)", text,
                             metric_text(metric, judged->baseline, arena),
                             plural(judged->baseline_runs, "run", arena), since);
}

/* What is missing for a verdict, if there is none. */
static const char *check_open_sentence(const struct lull_gate_case *judged,
                                       struct lull_arena *arena)
{
    if (judged->why)
        return judged->why;
    if (judged->more == LULL_MORE_NEVER && judged->baseline_runs)
        return "more runs alone would not decide: a limit farther away, or a longer history, would";
    if (judged->more == LULL_MORE_NEVER)
        return "more runs would not decide: the runs lie on both sides of the limit";
    return lull_arena_printf(arena, "%s, if like these, would decide",
                             plural(judged->more, "more run", arena));
}

/* What a case found, as a sentence. `history` is the one that the gate judged by. */
static const char *check_sentence(const struct lull_gate_case *judged,
                                  const struct lull_history *history, struct lull_arena *arena)
{
    if (judged->why)
        return lull_arena_printf(arena, "%s: %s", judged->condition->metric, judged->why);
    const char *text = tell_values(judged, history, arena);
    if (judged->verdict == LULL_GATE_UNKNOWN)
        return lull_arena_printf(arena, "%s; %s", text, check_open_sentence(judged, arena));
    return text;
}

/* How a part has changed: "computation in solve takes 1.25 s of all threads instead of 1 s (+25
 * %)". */
static const char *check_move_sentence(const struct lull_move *move, struct lull_arena *arena)
{
    char before[32], after[32];
    lull_format_time(move->before_ns, before, sizeof before);
    lull_format_time(move->after_ns, after, sizeof after);
    const char *part = lull_part_describe(move->part, arena);
    if (move->before_ns <= 0)
        return lull_arena_printf(arena, "%s takes %s of all threads, before it took none", part,
                                 after);
    return lull_arena_printf(arena, "%s takes %s of all threads instead of %s (%+.1f %%)", part,
                             after, before,
                             100 * ((double)move->after_ns / (double)move->before_ns - 1));
}

/* ==== a check ================================================================================= */

enum { MOST_MOVES = 5 };

/* How many of the first parts are told: MOST_MOVES at most, up to the first that has not
 * changed. */
static uint32_t count_moves(const struct lull_gate *gate)
{
    uint32_t count = 0;
    while (count < gate->n_moves && count < MOST_MOVES &&
           gate->moves[count].after_ns != gate->moves[count].before_ns)
        count++;
    return count;
}

static const char *describe_key(const struct lull_history_key *key, struct lull_arena *arena)
{
    const char *parts[] = {key->program, key->input, key->machine, key->layout}, *text = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (*parts[i])
            text = lull_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", parts[i]);
    return text;
}

/* ---- the document ---------------------------------------------------------------------------- */

static struct lull_cell more_cell(const struct lull_gate_case *judged)
{
    if (judged->verdict != LULL_GATE_UNKNOWN)
        return (struct lull_cell){0};
    if (judged->why)
        return (struct lull_cell){0};
    return judged->more == LULL_MORE_NEVER ? lull_cell_absent("more runs would not decide")
                                           : lull_cell_count(judged->more);
}

static void add_cases(struct lull_document *document, const struct lull_gate *gate)
{
    static const char *const columns[][2] = {{"verdict", "verdict"},     {"value", "value"},
                                             {"limit", "limit"},         {"baseline", "baseline"},
                                             {"runs", "runs"},           {"history", "history"},
                                             {"more_runs", "more runs"}, {"probability", "p"}};
    struct lull_table *table =
        lull_document_table(document, "conditions", "Conditions", LULL_BY_COLUMN);
    lull_table_corner(table, "Fails if");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < gate->n_cases; i++) {
        const struct lull_gate_case *judged = &gate->cases[i];
        const char *metric = judged->condition->metric;
        const uint32_t row =
            lull_table_row(table, judged->condition->text, judged->condition->text, LULL_NO_ROW);
        const struct lull_cell cells[] = {
            lull_cell_text(lull_gate_verdict_name(judged->verdict)),
            judged->runs ? cell_of_metric(metric, judged->value) : lull_cell_absent(judged->why),
            cell_of_metric(metric, judged->limit),
            judged->baseline_runs ? cell_of_metric(metric, judged->baseline)
                                  : lull_cell_absent("no history"),
            lull_cell_count(judged->runs),
            lull_cell_count(judged->baseline_runs),
            more_cell(judged),
            isfinite(judged->probability) ? lull_cell_number(judged->probability, 4)
                                          : (struct lull_cell){0},
        };
        for (uint32_t c = 0; c < sizeof cells / sizeof *cells; c++)
            lull_table_set(table, row, c, cells[c]);
    }
}

static void add_moves(struct lull_document *document, const struct lull_gate *gate,
                      struct lull_arena *arena)
{
    static const char *const columns[][2] = {{"cause", "time in"},
                                             {"site", "called from"},
                                             {"before", "before"},
                                             {"after", "now"},
                                             {"change", "change"}};
    const uint32_t count = count_moves(gate);
    if (!count)
        return;
    struct lull_table *table =
        lull_document_table(document, "moved", "What moved most, of all threads", LULL_BY_COLUMN);
    lull_table_corner(table, "Region");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_move *move = &gate->moves[i];
        const char *region = *move->part->region ? move->part->region : "outside of regions";
        const char *id = lull_part_describe(move->part, arena);
        const uint32_t row = lull_table_row(table, id, region, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(lull_part_cause(move->part)));
        lull_table_set(table, row, 1, lull_cell_text(move->part->site));
        lull_table_set(table, row, 2, lull_cell_time(move->before_ns));
        lull_table_set(table, row, 3, lull_cell_time(move->after_ns));
        lull_table_set(table, row, 4, lull_cell_time(move->after_ns - move->before_ns));
    }
}

struct lull_document *lull_check_document(const struct lull_check_study *study,
                                          const struct lull_notices *notices,
                                          struct lull_arena *arena)
{
    const struct lull_gate *gate = &study->gate;
    struct lull_document *document = lull_document_create(arena, "lull-check/1", "");
    lull_document_add_notices(document, notices);
    lull_document_fact(document, "verdict", "Verdict",
                       lull_cell_text(lull_gate_verdict_name(gate->verdict)));
    lull_document_fact(document, "series", "Runs of",
                       lull_cell_text(describe_key(&study->runs[0].key, arena)));
    if (study->n_confirming)
        lull_document_fact(document, "confirming", "Made again",
                           lull_cell_count(study->n_confirming));
    add_cases(document, gate);
    if (gate->verdict == LULL_GATE_PASS)
        return document;
    add_moves(document, gate, arena);
    for (uint32_t i = 0; i < gate->n_cases; i++)
        if (gate->cases[i].verdict == LULL_GATE_UNKNOWN)
            lull_document_note(document, LULL_NOTE_INFO, "%s: %s.", gate->cases[i].condition->text,
                               check_open_sentence(&gate->cases[i], arena));
    if (gate->verdict == LULL_GATE_FAIL && count_moves(gate))
        lull_document_note(document, LULL_NOTE_INFO, "First to look at: %s.",
                           check_move_sentence(&gate->moves[0], arena));
    return document;
}

/* ---- for other programs ---------------------------------------------------------------------- */

static enum lull_check_status status_of(enum lull_gate_verdict verdict)
{
    static const enum lull_check_status all[] = {LULL_CHECK_PASSED, LULL_CHECK_FAILED,
                                                 LULL_CHECK_OPEN};
    return all[verdict];
}

static struct lull_check check_of(const struct lull_gate_case *judged,
                                  const struct lull_check_study *study, struct lull_arena *arena)
{
    const struct lull_gate *gate = &study->gate;
    struct lull_check check = {.name = judged->condition->text,
                               .status = status_of(judged->verdict),
                               .message = check_sentence(judged, &study->history, arena),
                               .file = ""};
    if (judged->verdict != LULL_GATE_FAIL || !count_moves(gate))
        return check;
    check.message = lull_arena_printf(arena, "%s; %s", check.message,
                                      check_move_sentence(&gate->moves[0], arena));
    check.file = gate->moves[0].part->file;
    check.line = gate->moves[0].part->line;
    return check;
}

static void add_values(struct lull_checks *checks, const struct lull_check_study *study,
                       struct lull_arena *arena)
{
    const struct lull_history_entry *first = &study->runs[0];
    struct lull_check_value *values = lull_arena_zero(arena, first->n_values + 1, sizeof(*values));
    for (uint32_t i = 0; i < first->n_values; i++) {
        if (first->values[i].absent)
            continue;
        double *found;
        uint32_t *indices;
        const uint32_t count = lull_history_values(study->runs, study->n_runs, first->values[i].id,
                                                   arena, &found, &indices);
        values[checks->n_values++] = (struct lull_check_value){
            first->values[i].id, lull_history_median(found, count, arena)};
    }
    checks->values = values;
}

static void add_labels(struct lull_checks *checks, const struct lull_history_key *key,
                       struct lull_arena *arena)
{
    const struct lull_check_label all[] = {{"program", key->program},
                                           {"input", key->input},
                                           {"machine", key->machine},
                                           {"layout", key->layout}};
    struct lull_check_label *labels = lull_arena_zero(arena, sizeof all / sizeof *all, sizeof *all);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i].value)
            labels[checks->n_labels++] = all[i];
    checks->labels = labels;
}

const struct lull_checks *lull_check_checks(const struct lull_check_study *study,
                                            struct lull_arena *arena)
{
    const struct lull_gate *gate = &study->gate;
    struct lull_checks *checks = lull_arena_zero(arena, 1, sizeof(*checks));
    struct lull_check *all = lull_arena_zero(arena, gate->n_cases + 1, sizeof(*all));
    const char **remarks = lull_arena_zero(arena, MOST_MOVES + 1, sizeof(*remarks));
    for (uint32_t i = 0; i < gate->n_cases; i++)
        all[i] = check_of(&gate->cases[i], study, arena);
    for (uint32_t i = 0; gate->verdict != LULL_GATE_PASS && i < count_moves(gate); i++)
        remarks[i] = check_move_sentence(&gate->moves[i], arena);
    checks->suite = describe_key(&study->runs[0].key, arena);
    checks->status = status_of(gate->verdict);
    checks->checks = all;
    checks->count = gate->n_cases;
    checks->remarks = remarks;
    add_values(checks, study, arena);
    add_labels(checks, &study->runs[0].key, arena);
    return checks;
}

/* ==== a series ================================================================================ */

static const char *time_of_entry(const struct lull_history_entry *entry, struct lull_arena *arena)
{
    char text[32];
    return lull_arena_strdup(arena, lull_history_time_text(entry->time, text));
}

static void add_key(struct lull_document *document, const struct lull_history *series)
{
    const struct lull_history_key *key = &series->entries[0].key;
    const struct {
        const char *id, *label, *value;
    } facts[] = {{"program", "Program", key->program},
                 {"input", "Input", key->input},
                 {"machine", "Machine", key->machine},
                 {"layout", "Processes x threads", key->layout}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (*facts[i].value)
            lull_document_fact(document, facts[i].id, facts[i].label,
                               lull_cell_text(facts[i].value));
    lull_document_fact(document, "runs", "Runs", lull_cell_count(series->count));
}

static struct lull_cell level_change_cell(const struct lull_history_level *level)
{
    if (level[-1].median == 0)
        return lull_cell_absent("the level before is 0");
    return lull_cell_share(level->median / level[-1].median - 1);
}

static void add_history_levels(struct lull_document *document, const struct lull_history *series,
                               const char *metric, struct lull_arena *arena)
{
    static const char *const columns[][2] = {
        {"commit", "commit"}, {"runs", "runs"}, {"median", "median"}, {"change", "change"}};
    struct lull_history_level *levels;
    const uint32_t count = lull_history_levels(series, metric, arena, &levels);
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "levels:%s", metric),
                            lull_arena_printf(arena, "Levels of %s", metric), LULL_BY_COLUMN);
    lull_table_corner(table, "From");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_history_entry *first = &series->entries[levels[i].first];
        const char *time = time_of_entry(first, arena);
        const uint32_t row = lull_table_row(table, time, time, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(first->commit));
        lull_table_set(table, row, 1, lull_cell_count(levels[i].runs));
        lull_table_set(table, row, 2, cell_of_metric(metric, levels[i].median));
        if (i)
            lull_table_set(table, row, 3, level_change_cell(&levels[i]));
    }
}

static void add_runs(struct lull_document *document, const struct lull_history *series,
                     const char *const *metrics, size_t n_metrics, struct lull_arena *arena)
{
    struct lull_table *table = lull_document_table(document, "runs", "Runs", LULL_BY_COLUMN);
    lull_table_corner(table, "Time");
    lull_table_column(table, "commit", "commit");
    lull_table_column(table, "run", "run");
    for (size_t m = 0; m < n_metrics; m++)
        lull_table_column(table, metrics[m], metrics[m]);
    for (uint32_t i = 0; i < series->count; i++) {
        const struct lull_history_entry *entry = &series->entries[i];
        const char *time = time_of_entry(entry, arena);
        const uint32_t row = lull_table_row(table, time, time, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(entry->commit));
        lull_table_set(table, row, 1, lull_cell_text(entry->run));
        for (size_t m = 0; m < n_metrics; m++)
            lull_table_set(table, row, 2 + (uint32_t)m,
                           cell_of_metric(metrics[m], lull_history_value_of(entry, metrics[m])));
    }
}

struct lull_document *lull_history_document(const struct lull_history *series,
                                            const char *const *metrics, size_t n_metrics,
                                            struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-series/1", "");
    add_key(document, series);
    for (size_t m = 0; m < n_metrics; m++)
        add_history_levels(document, series, metrics[m], arena);
    add_runs(document, series, metrics, n_metrics, arena);
    for (size_t m = 0; m < n_metrics; m++)
        lull_document_chart(document, lull_arena_printf(arena, "chart:%s", metrics[m]),
                            lull_history_chart(series, metrics[m], arena));
    lull_document_note(document, LULL_NOTE_INFO,
                       "A level ends where the runs after it differ more than noise explains, "
                       "wrongly in 1 %% of the histories without a change.");
    return document;
}

const struct lull_chart *lull_history_chart(const struct lull_history *series, const char *metric,
                                            struct lull_arena *arena)
{
    struct lull_history_level *levels;
    const uint32_t n_levels = lull_history_levels(series, metric, arena, &levels);
    struct lull_chart_point *points = lull_arena_zero(arena, series->count + 1, sizeof *points);
    for (uint32_t i = 0; i < series->count; i++)
        points[i] = (struct lull_chart_point){
            i + 1, lull_history_value_of(&series->entries[i], metric), NAN, NAN};
    struct lull_chart *chart =
        lull_chart_create(arena, lull_arena_printf(arena, "%s over the runs", metric));
    lull_chart_x_axis(chart, "run", "", LULL_CHART_NUMBERS);
    lull_chart_y_axis(chart, metric, metric_is_time(metric) ? "s" : "", LULL_CHART_LINEAR);
    lull_chart_series(chart, "run", LULL_CHART_POINTS, points, series->count);
    for (uint32_t i = 0; i < n_levels; i++) {
        const struct lull_chart_point ends[] = {{levels[i].first + 1, levels[i].median, NAN, NAN},
                                                {levels[i].last + 1, levels[i].median, NAN, NAN}};
        const struct lull_history_entry *first = &series->entries[levels[i].first];
        lull_chart_series(chart, i ? "" : "level (median)", LULL_CHART_CURVE, ends, 2);
        if (i)
            lull_chart_mark(chart, levels[i].first + 1,
                            *first->commit ? lull_arena_strndup(arena, first->commit, 10)
                                           : time_of_entry(first, arena));
    }
    return chart;
}
