/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/diff_document.h"

#include "base/text.h"
#include "view/document_parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_STEPS = 14 };

static int64_t change_of(const struct lull_diff_row *row)
{
    return row->after_ns - row->before_ns;
}

/* A time with its sign: "+1.234 ms". */
static const char *signed_time(int64_t ns, struct lull_arena *arena)
{
    char text[32];
    lull_format_time(llabs(ns), text, sizeof text);
    return lull_arena_printf(arena, "%s%s", ns < 0 ? "-" : "+", text);
}

static const char *runs_of(const struct lull_history_entry *runs, uint32_t count,
                           struct lull_arena *arena)
{
    return count == 1 ? runs[0].run
                      : lull_arena_printf(arena, "%s and %u more", runs[0].run, count - 1);
}

/* Whether a difference could be certain at all: the runs could have been in more than one order. */
static bool tells_noise(const struct lull_diff *diff)
{
    return diff->n_before + diff->history->count > 1 && diff->n_after + diff->n_before > 2;
}

static const char *verdict_of(const struct lull_diff *diff, const struct lull_difference *found,
                              double change)
{
    if (!tells_noise(diff))
        return "no verdict";
    if (!found->certain)
        return "not certain";
    return change > 0 ? "more" : "less";
}

static void add_diff_facts(struct lull_document *document, const struct lull_diff *diff,
                           struct lull_arena *arena)
{
    const double change = diff->after_s - diff->before_s;
    lull_document_fact(document, "before", "A",
                       lull_cell_text(runs_of(diff->before, diff->n_before, arena)));
    lull_document_fact(document, "after", "B",
                       lull_cell_text(runs_of(diff->after, diff->n_after, arena)));
    lull_document_fact(document, "runtime_before", "Runtime of A",
                       lull_cell_quantity(diff->before_s, "s"));
    lull_document_fact(document, "runtime_after", "Runtime of B",
                       lull_cell_quantity(diff->after_s, "s"));
    lull_document_fact(document, "runtime_change", "B against A",
                       lull_cell_share(change / diff->before_s));
    lull_document_fact(document, "runtime_verdict", "Verdict on the runtime",
                       lull_cell_text(!diff->runtime.certain || !tells_noise(diff)
                                          ? verdict_of(diff, &diff->runtime, change)
                                      : change > 0 ? "longer"
                                                   : "shorter"));
    if (isfinite(diff->runtime.probability) && tells_noise(diff))
        lull_document_fact(document, "runtime_probability", "  by chance with a probability of",
                           lull_cell_number(diff->runtime.probability, 4));
    if (!diff->runtime.has_interval)
        return;
    lull_document_fact(document, "runtime_shift", "Typical difference",
                       lull_cell_quantity(diff->runtime.shift, "s"));
    lull_document_fact(document, "runtime_low", "  with 95 % from",
                       lull_cell_quantity(diff->runtime.low, "s"));
    lull_document_fact(document, "runtime_high", "  to",
                       lull_cell_quantity(diff->runtime.high, "s"));
}

static void add_cause_difference(struct lull_table *table, uint32_t row,
                                 const struct lull_diff *diff, const struct lull_diff_row *of)
{
    const struct lull_difference *found = &of->difference;
    if (!of->part)
        return;
    if (found->has_interval) {
        lull_table_set(table, row, 6, lull_cell_time(llround(1e9 * found->low)));
        lull_table_set(table, row, 7, lull_cell_time(llround(1e9 * found->high)));
    }
    if (tells_noise(diff))
        lull_table_set(table, row, 8, lull_cell_number(found->probability, 4));
    if (tells_noise(diff) && isfinite(found->asked))
        lull_table_set(table, row, 9, lull_cell_number(found->asked, 4));
    lull_table_set(table, row, 10, lull_cell_text(verdict_of(diff, found, (double)change_of(of))));
}

static void set_times_of_both(struct lull_table *table, uint32_t row, int64_t before, int64_t after)
{
    lull_table_set(table, row, 2, lull_cell_time(before));
    lull_table_set(table, row, 3, lull_cell_time(after));
    lull_table_set(table, row, 4, lull_cell_time(after - before));
}

static void add_diff_row(struct lull_table *table, const struct lull_diff *diff,
                         const struct lull_diff_row *of, int64_t *sum, struct lull_arena *arena)
{
    const struct lull_part *part = of->part;
    const char *nowhere = diff->by_activity ? "all regions" : "outside of regions";
    const char *region = !part ? "smaller parts" : *part->region ? part->region : nowhere;
    const char *id = part ? lull_part_describe(part, arena) : "smaller";
    const uint32_t row = lull_table_row(table, id, region, LULL_NO_ROW);
    if (part) {
        lull_table_set(table, row, 0, lull_cell_text(lull_part_cause(part)));
        lull_table_set(table, row, 1, lull_cell_text(part->site));
    }
    *sum += change_of(of);
    set_times_of_both(table, row, of->before_ns, of->after_ns);
    lull_table_set(table, row, 5, lull_cell_time(*sum));
    add_cause_difference(table, row, diff, of);
}

static void add_diff_rows(struct lull_document *document, const struct lull_diff *diff,
                          struct lull_arena *arena)
{
    static const char *const columns[][2] = {
        {"cause", "time in"}, {"site", "called from"}, {"before", "A"},       {"after", "B"},
        {"change", "B - A"},  {"sum", "sum"},          {"low", "95 % from"},  {"high", "to"},
        {"probability", "p"}, {"asked", "p asked"},    {"verdict", "verdict"}};
    int64_t sum = 0;
    struct lull_table *table = lull_document_table(
        document, "parts", "Time of all threads, mean of the runs", LULL_BY_COLUMN);
    lull_table_corner(table, "Region");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t r = 0; r < diff->n_rows; r++)
        add_diff_row(table, diff, &diff->rows[r], &sum, arena);
    lull_table_rule(table);
    const uint32_t row = lull_table_row(table, "all", "all", LULL_NO_ROW);
    set_times_of_both(table, row, diff->before_ns, diff->after_ns);
}

static void add_diff_functions(struct lull_document *document, const struct lull_diff *diff)
{
    static const char *const columns[][2] = {
        {"before", "A"}, {"after", "B"}, {"change", "B - A"}, {"low", "95 % from"}, {"high", "to"}};
    if (!diff->functions)
        return;
    struct lull_table *table = lull_document_table(
        document, "functions",
        "Useful time of all threads by function, mean of the runs, by samples", LULL_BY_COLUMN);
    lull_table_corner(table, "Function");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        lull_table_column(table, columns[i][0], columns[i][1]);
    for (uint32_t f = 0; f < diff->n_functions; f++) {
        const struct lull_diff_function *function = &diff->functions[f];
        const char *id = function->id ? function->id : "smaller functions";
        const uint32_t row = lull_table_row(table, id, id, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_time(function->before_ns));
        lull_table_set(table, row, 1, lull_cell_time(function->after_ns));
        lull_table_set(table, row, 2, lull_cell_time(function->after_ns - function->before_ns));
        if (!function->id)
            continue;
        lull_table_set(table, row, 3, lull_cell_time(llround(function->low_ns)));
        lull_table_set(table, row, 4, lull_cell_time(llround(function->high_ns)));
    }
}

/* Names the function whose time has changed most, where its interval is on one side of 0. */
static void note_of_functions(struct lull_document *document, const struct lull_diff *diff)
{
    const struct lull_diff_function *first = diff->functions;
    if (!first || !first->id)
        return;
    const int64_t change = first->after_ns - first->before_ns;
    char by[32], low[32], high[32];
    lull_format_time(llabs(change), by, sizeof by);
    lull_format_time(llround(fmin(fabs(first->low_ns), fabs(first->high_ns))), low, sizeof low);
    lull_format_time(llround(fmax(fabs(first->low_ns), fabs(first->high_ns))), high, sizeof high);
    if (first->low_ns > 0 || first->high_ns < 0)
        lull_document_note(
            document, LULL_NOTE_INFO, "%s computes %s %s in B (95 %%: %s to %s)%s.", first->id, by,
            change > 0 ? "more" : "less", low, high,
            diff->functions_of_runs
                ? ""
                : ", as far as the number of samples tells: what differs between two "
                  "runs by chance is not in that interval");
}

static void add_computation(struct lull_document *document, const struct lull_diff *diff)
{
    const struct lull_diff_computation *computation = &diff->computation;
    if (computation->absent) {
        lull_document_note(document, LULL_NOTE_INFO,
                           "What the difference of the computation comes from is not known: %s.",
                           computation->absent);
        return;
    }
    const struct {
        const char *id, *label;
        int64_t ns;
    } factors[] = {{"instructions", "instructions", computation->instructions_ns},
                   {"ipc", "instructions per cycle", computation->ipc_ns},
                   {"frequency", "frequency", computation->frequency_ns}};
    struct lull_table *table = lull_document_table(
        document, "computation", "Difference of the computation, of all threads", LULL_BY_COLUMN);
    lull_table_corner(table, "By");
    lull_table_column(table, "change", "B - A");
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        const uint32_t row = lull_table_row(table, factors[i].id, factors[i].label, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_time(factors[i].ns));
    }
}

struct lull_document *lull_diff_document(const struct lull_diff *diff,
                                         const struct lull_notices *notices,
                                         struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-diff/1", "");
    lull_document_add_notices(document, notices);
    add_diff_facts(document, diff, arena);
    add_diff_rows(document, diff, arena);
    add_diff_functions(document, diff);
    add_computation(document, diff);
    note_of_functions(document, diff);
    if (diff->by_activity)
        lull_document_note(document, LULL_NOTE_INFO,
                           "By activity alone, because the regions of some run are not known.");
    if (!tells_noise(diff))
        lull_document_note(document, LULL_NOTE_INFO,
                           "No verdict: one run on each side does not tell the noise; several, or "
                           "--against FILE with their history, would.");
    else if (diff->more_runs > 0)
        lull_document_note(
            document, LULL_NOTE_INFO,
            "Some rows are not certain only because so many are compared (p is above what Holm's "
            "procedure asks): %u runs on either side could decide.",
            diff->more_runs);
    if (tells_noise(diff) && diff->history->count)
        lull_document_note(document, LULL_NOTE_INFO,
                           "For what is certain %u runs of the history stand beside A.",
                           diff->history->count);
    return document;
}

/* ---- the picture ----------------------------------------------------------------------------- */

static const char *step_label(const struct lull_diff_row *row, struct lull_arena *arena)
{
    enum { MOST_LABEL_COLUMNS = 56 };
    const char *label = row->part ? lull_part_describe(row->part, arena) : "smaller parts";
    size_t length = 0, shown = 0;
    while (label[length] && shown < MOST_LABEL_COLUMNS)
        shown += ((unsigned char)label[++length] & 0xc0) != 0x80;
    return label[length] ? lull_arena_printf(arena, "%.*s...", (int)length, label) : label;
}

const struct lull_waterfall *lull_diff_waterfall(const struct lull_diff *diff,
                                                 struct lull_arena *arena)
{
    struct lull_waterfall *waterfall = lull_arena_zero(arena, 1, sizeof(*waterfall));
    struct lull_waterfall_step *steps = lull_arena_zero(arena, MOST_STEPS + 3, sizeof(*steps));
    char text[32];
    size_t count = 0;
    int64_t at = diff->before_ns;
    lull_format_time(at, text, sizeof text);
    steps[count++] =
        (struct lull_waterfall_step){lull_arena_printf(arena, "A: %s", diff->before[0].run), 0,
                                     (double)at, lull_arena_strdup(arena, text)};
    for (uint32_t r = 0; r < diff->n_rows && r < MOST_STEPS; r++) {
        const int64_t change = change_of(&diff->rows[r]);
        if (change == 0)
            continue;
        steps[count++] =
            (struct lull_waterfall_step){step_label(&diff->rows[r], arena), (double)at,
                                         (double)(at + change), signed_time(change, arena)};
        at += change;
    }
    if (at != diff->after_ns) {
        steps[count++] =
            (struct lull_waterfall_step){"all others", (double)at, (double)diff->after_ns,
                                         signed_time(diff->after_ns - at, arena)};
    }
    lull_format_time(diff->after_ns, text, sizeof text);
    steps[count++] =
        (struct lull_waterfall_step){lull_arena_printf(arena, "B: %s", diff->after[0].run), 0,
                                     (double)diff->after_ns, lull_arena_strdup(arena, text)};
    *waterfall = (struct lull_waterfall){"Time of all threads, from A to B", steps, count};
    return waterfall;
}
