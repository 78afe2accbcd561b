/* Who takes part in a collective operation and whom each rank needs, worked out by hand. */
#include "match/circle.h"
#include "support/test.h"

enum { RANGE, LISTED, LOW, HIGH, SELF, ONE_A, ONE_B, THREADS, N_COMMS };

/* Communicators over the processes 0 to 7: LOW and HIGH are the two groups of one, ONE_A and ONE_B
 * those of one whose groups have one process each. */
static const uint32_t listed[] = {3, 0, 7}, high[] = {6, 4, 5};
static struct lull_comm comms[N_COMMS] = {
    [RANGE] = {.size = 4, .first = 2, .remote = LULL_NONE, .paradigm = LULL_PARADIGM_MPI},
    [LISTED] = {.size = 3, .members = listed, .remote = LULL_NONE, .paradigm = LULL_PARADIGM_MPI},
    [LOW] = {.size = 2, .first = 0, .remote = HIGH, .paradigm = LULL_PARADIGM_MPI},
    [HIGH] = {.size = 3, .members = high, .remote = LOW, .paradigm = LULL_PARADIGM_MPI},
    [SELF] = {.size = 1, .first = 5, .remote = LULL_NONE, .paradigm = LULL_PARADIGM_MPI},
    [ONE_A] = {.size = 1, .first = 1, .remote = ONE_B, .paradigm = LULL_PARADIGM_MPI},
    [ONE_B] = {.size = 1, .first = 2, .remote = ONE_A, .paradigm = LULL_PARADIGM_MPI},
    [THREADS] = {.size = 4, .first = 0, .remote = LULL_NONE, .paradigm = LULL_PARADIGM_OPENMP}};
static const struct lull_trace trace = {.comms = comms, .n_comms = N_COMMS};

/* ==== ranks =================================================================================== */

/* The processes of the ranks are those listed, the ones from `n_first` on of the second group, and
 * `stranger` is none of them. */
static void check_ranks(uint32_t comm, const uint32_t *processes, uint32_t size, uint32_t n_first,
                        uint32_t stranger)
{
    assert_int_equal(lull_circle_size(&trace, comm), size);
    assert_int_equal(lull_circle_side_size(&trace, comm, 0), n_first);
    assert_int_equal(lull_circle_side_size(&trace, comm, 1), size - n_first);
    for (uint32_t rank = 0; rank < size; rank++) {
        assert_int_equal(lull_circle_process(&trace, comm, rank), processes[rank]);
        assert_int_equal(lull_circle_rank(&trace, comm, processes[rank]), rank);
        assert_int_equal(lull_circle_side(&trace, comm, rank), rank < n_first ? 0 : 1);
    }
    assert_int_equal(lull_circle_process(&trace, comm, size), LULL_NONE);
    assert_int_equal(lull_circle_rank(&trace, comm, stranger), LULL_NONE);
}

static void one_group_has_its_ranks(void **state)
{
    (void)state;
    const uint32_t range[] = {2, 3, 4, 5};
    check_ranks(RANGE, range, 4, 4, 1);
    check_ranks(RANGE, range, 4, 4, 6);
    check_ranks(LISTED, listed, 3, 3, 4);
    assert_false(lull_circle_is_between(&trace, RANGE));
    assert_false(lull_circle_is_between(&trace, LISTED));
}

static void the_remote_group_follows_the_local_one(void **state)
{
    (void)state;
    const uint32_t from_low[] = {0, 1, 6, 4, 5}, from_high[] = {6, 4, 5, 0, 1};
    check_ranks(LOW, from_low, 5, 2, 3);
    check_ranks(HIGH, from_high, 5, 3, 3);
    assert_true(lull_circle_is_between(&trace, LOW));
    assert_true(lull_circle_is_between(&trace, HIGH));
}

/* ==== operations ============================================================================== */

static void operations_of_other_paradigms_are_not_followed(void **state)
{
    (void)state;
    assert_true(lull_circle_knows(&trace, RANGE, LULL_COLLECTIVE_BARRIER));
    assert_true(lull_circle_knows(&trace, ONE_B, LULL_COLLECTIVE_FREE));
    assert_false(lull_circle_knows(&trace, RANGE, LULL_COLLECTIVE_UNKNOWN));
    assert_false(lull_circle_knows(&trace, THREADS, LULL_COLLECTIVE_BARRIER));
    assert_false(lull_circle_knows(&trace, N_COMMS, LULL_COLLECTIVE_BARRIER));
    assert_false(lull_circle_knows(&trace, LULL_NONE, LULL_COLLECTIVE_BARRIER));
}

static void one_process_is_alone_unless_there_is_another_group(void **state)
{
    (void)state;
    assert_true(lull_circle_is_alone(&trace, SELF));
    assert_false(lull_circle_is_alone(&trace, ONE_A));
    assert_false(lull_circle_is_alone(&trace, RANGE));
}

static void series_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(lull_circle_series(LULL_COLLECTIVE_BARRIER, true), 0);
    assert_int_equal(lull_circle_series(LULL_COLLECTIVE_SCAN, true), 0);
    assert_int_equal(lull_circle_series(LULL_COLLECTIVE_BARRIER, false), 1);
    assert_int_equal(lull_circle_series(LULL_COLLECTIVE_BCAST, false), 2);
}

/* What process 4 does: rank 2 of RANGE; of LOW and HIGH one of the group of three. */
enum { SELF_IS = 4, OTHER = 3, NO_ROOT = LULL_ANY };

struct part_case {
    uint8_t op;
    int32_t root;
    bool moves;
    uint8_t needs;
    bool is_root;
    uint8_t awaits;
};

static void check_parts(uint32_t comm, const struct part_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct lull_circle_part part =
            lull_circle_part_of(&trace, comm, cases[i].op, SELF_IS, cases[i].root, cases[i].moves);
        fail_if(part.needs != cases[i].needs ||
                    lull_circle_needs(&trace, comm, cases[i].op) != cases[i].needs,
                "case %zu: needs", i);
        fail_if(part.is_root != cases[i].is_root, "case %zu: root", i);
        fail_if(part.awaits != cases[i].awaits, "case %zu: awaits", i);
    }
}

/* The root is who is named; whether data was moved does not matter. */
static void a_root_in_one_group_is_named(void **state)
{
    (void)state;
    static const struct part_case cases[] = {
        {LULL_COLLECTIVE_BARRIER, NO_ROOT, false, LULL_NEEDS_ALL, false, LULL_AWAITS_ALL},
        {LULL_COLLECTIVE_ALLREDUCE, NO_ROOT, true, LULL_NEEDS_ALL, false, LULL_AWAITS_ALL},
        {LULL_COLLECTIVE_BCAST, SELF_IS, true, LULL_NEEDS_ROOT, true, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_BCAST, SELF_IS, false, LULL_NEEDS_ROOT, true, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_BCAST, OTHER, true, LULL_NEEDS_ROOT, false, LULL_AWAITS_ROOT},
        {LULL_COLLECTIVE_BCAST, NO_ROOT, true, LULL_NEEDS_ROOT, false, LULL_AWAITS_ROOT},
        {LULL_COLLECTIVE_BCAST, NO_ROOT, false, LULL_NEEDS_ROOT, false, LULL_AWAITS_ROOT},
        {LULL_COLLECTIVE_REDUCE, SELF_IS, false, LULL_ROOT_NEEDS_ALL, true, LULL_AWAITS_ALL},
        {LULL_COLLECTIVE_REDUCE, OTHER, true, LULL_ROOT_NEEDS_ALL, false, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_SCAN, NO_ROOT, true, LULL_NEEDS_LOWER, false, LULL_AWAITS_LOWER},
        {LULL_COLLECTIVE_CREATE, NO_ROOT, false, LULL_NEEDS_ALL, false, LULL_AWAITS_ALL},
        {LULL_COLLECTIVE_FREE, NO_ROOT, false, LULL_NEEDS_NOBODY, false, LULL_AWAITS_NOBODY}};
    check_parts(RANGE, cases, sizeof cases / sizeof *cases);
}

/* Between groups nobody in the root's group names a root. The root is who moves data all the same;
 * the others of its group wait for nobody where data goes from the root to the other group. */
static void a_root_between_groups_moves_data(void **state)
{
    (void)state;
    static const struct part_case cases[] = {
        {LULL_COLLECTIVE_BARRIER, NO_ROOT, false, LULL_NEEDS_OTHERS, false, LULL_AWAITS_OTHERS},
        {LULL_COLLECTIVE_ALLREDUCE, NO_ROOT, true, LULL_NEEDS_OTHERS, false, LULL_AWAITS_OTHERS},
        {LULL_COLLECTIVE_BCAST, NO_ROOT, true, LULL_NEEDS_ROOT, true, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_BCAST, NO_ROOT, false, LULL_NEEDS_ROOT, false, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_BCAST, 0, true, LULL_NEEDS_ROOT, false, LULL_AWAITS_ROOT},
        {LULL_COLLECTIVE_BCAST, 0, false, LULL_NEEDS_ROOT, false, LULL_AWAITS_ROOT},
        {LULL_COLLECTIVE_REDUCE, NO_ROOT, true, LULL_ROOT_NEEDS_OTHERS, true, LULL_AWAITS_OTHERS},
        {LULL_COLLECTIVE_REDUCE, NO_ROOT, false, LULL_ROOT_NEEDS_OTHERS, false, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_REDUCE, 0, true, LULL_ROOT_NEEDS_OTHERS, false, LULL_AWAITS_NOBODY},
        {LULL_COLLECTIVE_CREATE, NO_ROOT, false, LULL_NEEDS_ALL, false, LULL_AWAITS_ALL},
        {LULL_COLLECTIVE_CREATE, NO_ROOT, true, LULL_NEEDS_ALL, false, LULL_AWAITS_ALL},
        {LULL_COLLECTIVE_FREE, NO_ROOT, false, LULL_NEEDS_NOBODY, false, LULL_AWAITS_NOBODY}};
    check_parts(LOW, cases, sizeof cases / sizeof *cases);
    check_parts(HIGH, cases, sizeof cases / sizeof *cases);
}

TEST_GROUP(test_circle)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_group_has_its_ranks),
        cmocka_unit_test(the_remote_group_follows_the_local_one),
        cmocka_unit_test(operations_of_other_paradigms_are_not_followed),
        cmocka_unit_test(one_process_is_alone_unless_there_is_another_group),
        cmocka_unit_test(series_are_told_apart),
        cmocka_unit_test(a_root_in_one_group_is_named),
        cmocka_unit_test(a_root_between_groups_moves_data)};
    return run_cases(tests, NULL, NULL);
}
