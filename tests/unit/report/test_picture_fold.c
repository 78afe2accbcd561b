/* Rows that are folded into those that they are in: these keep their names and their cells. */
#include "report/page/page_data.h"
#include "support/page_case.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct page_run run = {"run", 3, 2, 4, 6, 1, 500000, true, true, "sweep"};

static uint32_t depth_of(const struct lull_picture_timeline *timeline, uint32_t row)
{
    uint32_t depth = 0;
    for (; row != LULL_PICTURE_NO_ROW; row = timeline->rows[row].parent)
        depth++;
    return depth;
}

static void check_cells(const struct lull_picture_timeline *one, uint32_t row,
                        const struct lull_picture_timeline *other, uint32_t other_row)
{
    int64_t ns[4 * LULL_PICTURE_ACTIVITIES], other_ns[4 * LULL_PICTURE_ACTIVITIES];
    one->cells(one->data, row, 2, 0, 4, ns);
    other->cells(other->data, other_row, 2, 0, 4, other_ns);
    assert_memory_equal(ns, other_ns, 4 * one->n_activities * sizeof *ns);
}

/* The row above (or equal to) `row` that has the depth. */
static uint32_t above(const struct lull_picture_timeline *timeline, uint32_t row, uint32_t depth)
{
    while (depth_of(timeline, row) > depth)
        row = timeline->rows[row].parent;
    return row;
}

static uint32_t row_of_leaf(const struct lull_picture_timeline *timeline, uint32_t leaf)
{
    uint32_t row = 0;
    while (timeline->rows[row].leaf != leaf)
        row++;
    return row;
}

static void test_fold(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_picture_timeline *whole = page_case_timeline(arena, &run);
    assert_ptr_equal(lull_page_fold(whole, 3, arena), whole); /* nodes, ranks, threads */
    for (uint32_t depth = 1; depth < 3; depth++) {
        const struct lull_picture_timeline *folded = lull_page_fold(whole, depth, arena);
        uint32_t n = 0, leaves = 0;
        for (uint32_t row = 0; row < whole->n_rows; row++) {
            if (depth_of(whole, row) > depth)
                continue;
            assert_string_equal(folded->rows[n].name, whole->rows[row].name);
            assert_int_equal(depth_of(folded, n), depth_of(whole, row));
            assert_int_equal(folded->rows[n].leaf,
                             depth_of(whole, row) == depth ? leaves++ : LULL_PICTURE_NO_ROW);
            check_cells(folded, n++, whole, row);
        }
        assert_int_equal(folded->n_rows, n);
        assert_int_equal(folded->n_leaves, leaves);
        assert_int_equal(folded->n_places, whole->n_places);
        assert_true(whole->n_places > 0);
        for (uint32_t p = 0; p < folded->n_places; p++) {
            const uint32_t from = row_of_leaf(whole, whole->places[p].leaf);
            const uint32_t to = row_of_leaf(folded, folded->places[p].leaf);
            assert_string_equal(folded->rows[to].name, whole->rows[above(whole, from, depth)].name);
        }
    }
    lull_arena_destroy(arena);
}

TEST_GROUP(test_picture_fold)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fold)};
    return run_cases(tests, NULL, NULL);
}
