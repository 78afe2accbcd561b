/* Two machine files side by side: which numbers differ beyond their intervals. */
#include "view/machine/machine_document.h"

#include <math.h>
#include <string.h>

#define LEAST_DIFFERENCE 0.01 /* relative, of numbers without an interval, and per cycle */

/* Per cycle what differs shows, however far the clocks were apart. */
static bool differ_in_cycles(const struct lull_number *a, const struct lull_number *b)
{
    return (a->in_cycles_high < b->in_cycles_low || b->in_cycles_high < a->in_cycles_low) &&
           fabs(a->in_cycles - b->in_cycles) >
               LEAST_DIFFERENCE * fmax(fabs(a->in_cycles), fabs(b->in_cycles));
}

static bool differ(const struct lull_number *a, const struct lull_number *b)
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

struct outcome {
    size_t same, different, only_a, only_b;
};

static void add_row(struct lull_table *table, const struct lull_number *a,
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
    struct lull_table *table = lull_document_table(
        document, "different", "Numbers that differ beyond their intervals", LULL_BY_COLUMN);
    lull_table_corner(table, "Number");
    lull_table_column(table, "a", a_name);
    lull_table_column(table, "b", b_name);
    lull_table_column(table, "ratio", "ratio");
    lull_table_column(table, "ratio_in_cycles", "ratio\nin cycles");
    lull_table_column(table, "a_verdict", "verdict");
    lull_table_column(table, "b_verdict", "verdict");
    return table;
}

struct lull_document *lull_bench_comparison(const struct lull_machine *a, const char *a_name,
                                            const struct lull_machine *b, const char *b_name,
                                            struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-bench-compare/1", "");
    struct outcome outcome = {0};
    struct lull_table *table = NULL;
    for (size_t i = 0; i < a->numbers.count; i++) {
        const struct lull_number *of_a = &a->numbers.items[i];
        const struct lull_number *of_b = lull_machine_find(b, of_a->name);
        if (!comparable(of_a, of_b)) {
            outcome.only_a++;
        } else if (!differ(of_a, of_b)) {
            outcome.same++;
        } else {
            outcome.different++;
            table = table ? table : make_table(document, a_name, b_name);
            add_row(table, of_a, of_b);
        }
    }
    outcome.only_b = b->numbers.count - outcome.same - outcome.different;
    lull_document_fact(document, "different", "Different", lull_cell_count(outcome.different));
    lull_document_fact(document, "same", "Within their intervals", lull_cell_count(outcome.same));
    lull_document_fact(document, "only_a", "Only in the first", lull_cell_count(outcome.only_a));
    lull_document_fact(document, "only_b", "Only in the second", lull_cell_count(outcome.only_b));
    return document;
}
