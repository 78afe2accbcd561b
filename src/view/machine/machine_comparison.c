/* Two machine files side by side: which numbers differ by more than visits do. */
#include "stats/hypothesis_test.h"
#include "view/machine/machine_document.h"

#include <math.h>
#include <string.h>

#define LEAST_DIFFERENCE 0.01 /* relative, of numbers without an interval, and per cycle */

#define LEVEL 0.05 /* probability that any number is called different by chance */

static bool has_visits(const struct lull_number *a, const struct lull_number *b)
{
    return a->n_visits > 0 && b->n_visits > 0 && isnan(a->in_cycles) == isnan(b->in_cycles);
}

/* What the visits are of: per cycle where that is known, so that clocks do not count. */
static double middle_of(const struct lull_number *number)
{
    return isnan(number->in_cycles) ? number->value : number->in_cycles;
}

static bool far_apart(const struct lull_number *a, const struct lull_number *b)
{
    double x = middle_of(a), y = middle_of(b);
    return fabs(x - y) > LEAST_DIFFERENCE * fmax(fabs(x), fabs(y));
}

/* Per cycle what differs shows, however far the clocks were apart. */
static bool differ_in_cycles(const struct lull_number *a, const struct lull_number *b)
{
    return (a->in_cycles_high < b->in_cycles_low || b->in_cycles_high < a->in_cycles_low) &&
           far_apart(a, b);
}

/* Of numbers whose visits are not known. */
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

/* A number of both files. */
struct pair {
    const struct lull_number *a, *b;
    bool different;
};

struct outcome {
    struct pair *pairs;
    size_t n_pairs, n_tested, only_a;
    size_t inside, visits; /* visits of the second in the intervals of the first, and all of them */
    double stated;         /* how many are expected inside */
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

/* How far the intervals of the first keep what they state. Visits per cycle are in the interval per
 * cycle. */
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

/* All tests together err with probability LEVEL at most. */
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
    lull_holm(probabilities, outcome->n_tested, LEVEL, rejected);
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
