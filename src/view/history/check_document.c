#include "view/history/check_document.h"

#include "study/history/gate.h"
#include "view/history/check_text.h"
#include "view/notices_document.h"

#include <math.h>

enum { MOST_MOVES = 5 };

/* Those that are worth telling, of the first ones. */
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
            judged->runs ? lull_metric_cell(metric, judged->value) : lull_cell_absent(judged->why),
            lull_metric_cell(metric, judged->limit),
            judged->baseline_runs ? lull_metric_cell(metric, judged->baseline)
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
                               lull_check_open_sentence(&gate->cases[i], arena));
    if (gate->verdict == LULL_GATE_FAIL && count_moves(gate))
        lull_document_note(document, LULL_NOTE_INFO, "First to look at: %s.",
                           lull_check_move_sentence(&gate->moves[0], arena));
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
                               .message = lull_check_sentence(judged, &study->history, arena),
                               .file = ""};
    if (judged->verdict != LULL_GATE_FAIL || !count_moves(gate))
        return check;
    check.message = lull_arena_printf(arena, "%s; %s", check.message,
                                      lull_check_move_sentence(&gate->moves[0], arena));
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
        remarks[i] = lull_check_move_sentence(&gate->moves[i], arena);
    checks->suite = describe_key(&study->runs[0].key, arena);
    checks->status = status_of(gate->verdict);
    checks->checks = all;
    checks->count = gate->n_cases;
    checks->remarks = remarks;
    add_values(checks, study, arena);
    add_labels(checks, &study->runs[0].key, arena);
    return checks;
}
