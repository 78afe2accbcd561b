/* Iterations as the program marks them. */
#include "support/test.h"
#include "wave/field.h"

#include <stddef.h>
#include <stdlib.h>

/* A call that waits from `begin` to `end` for `messages` messages. */
static void wait_for(struct lull_wave_builder *builder, uint32_t messages, int64_t begin,
                     int64_t end)
{
    for (uint32_t m = 0; m < messages; m++)
        assert_true(lull_wave_builder_message(builder, m % 2, 3 + m, 100 + m));
    assert_true(lull_wave_builder_wait(builder, begin, end));
}

/* Iterations with 1, 2, 3, ... waits of ever other messages, as of a solver that needs other
 * numbers of steps each time. */
static void fill(struct lull_wave_builder *builder)
{
    wait_for(builder, 7, 100, 130); /* while the program starts */
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(lull_wave_builder_mark(builder));
        for (uint32_t k = 0; k <= i; k++)
            wait_for(builder, 1 + k + i * i, 1000 * (i + 1) + 10 * k, 1000 * (i + 1) + 10 * k + 4);
    }
}

static void free_row(struct lull_wave_row *row)
{
    free(row->cells);
    free(row->messages);
    free(row->collectives);
}

static void test_marks_are_iterations(void **state)
{
    (void)state;
    struct lull_wave_builder builder = {0};
    struct lull_wave_row row;
    fill(&builder);
    assert_true(lull_wave_builder_finish(&builder, 50, true, &row));
    assert_int_equal(row.n_cells, 6);
    assert_int_equal(row.begin, 130);
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(row.cells[i].end, 1000 * (i + 1) + 10 * i + 4);
        assert_int_equal(row.cells[i].wait, 4 * (i + 1));
    }
    /* The iteration in the middle has four waits, of 10 to 13 messages. */
    assert_int_equal(row.n_phases, 4);
    assert_int_equal(row.n_messages, 10 + 11 + 12 + 13);
    assert_int_equal(row.messages[row.n_messages - 1].phase, 3);
    free_row(&row);
    fill(&builder);
    assert_true(lull_wave_builder_finish(&builder, 50, false, &row));
    assert_int_equal(row.n_cells, 0); /* nothing of it repeats */
    free_row(&row);
}

/* As at the end of a region in a Paraver trace, whose value 0 is a marker, too. */
static void test_marks_without_messages(void **state)
{
    (void)state;
    struct lull_wave_builder builder = {0};
    struct lull_wave_row row;
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(lull_wave_builder_mark(&builder));
        wait_for(&builder, 2, 100 * i + 10, 100 * i + 20);
        assert_true(lull_wave_builder_mark(&builder));
    }
    assert_true(lull_wave_builder_collective(&builder, 1, 250, 260));
    assert_true(lull_wave_builder_finish(&builder, 0, true, &row));
    assert_int_equal(row.n_cells, 5);
    assert_int_equal(row.begin, 0);
    assert_int_equal(row.n_collectives, 1);
    assert_int_equal(row.collectives[0].iteration, 3);
    free_row(&row);
}

static void test_too_few_marks(void **state)
{
    (void)state;
    struct lull_wave_builder builder = {0};
    struct lull_wave_row row;
    for (uint32_t i = 0; i < 9; i++) {
        if (i % 5 == 0)
            assert_true(lull_wave_builder_mark(&builder));
        wait_for(&builder, 1, 100 * i, 100 * i + 1);
    }
    assert_true(lull_wave_builder_finish(&builder, 0, true, &row));
    assert_int_equal(row.n_cells, 0);
    free_row(&row);
    assert_true(lull_wave_builder_finish(&builder, 0, true, &row)); /* nothing at all */
    assert_int_equal(row.n_cells, 0);
    free_row(&row);
}

TEST_GROUP(test_marked)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_are_iterations),
        cmocka_unit_test(test_marks_without_messages),
        cmocka_unit_test(test_too_few_marks),
    };
    return run_cases(tests, NULL, NULL);
}
