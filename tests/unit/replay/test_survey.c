/* What a survey finds of a run, worked out by hand: roots that only the root tells, and clocks. */
#include "replay/survey.h"
#include "support/memory_trace.h"
#include "support/test.h"

enum { BCAST, BARRIER };
static const char *const names[] = {"MPI_Bcast", "MPI_Barrier", NULL};

static void take_part(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                      int64_t end, int32_t root)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, region),
                                  memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, 0),
                                  memory_event(end, LULL_EVENT_COLLECTIVE_END, 0),
                                  memory_event(end, LULL_EVENT_LEAVE, region)};
    for (int i = 1; i < 3; i++) {
        events[i].op = region == BCAST ? LULL_COLLECTIVE_BCAST : LULL_COLLECTIVE_BARRIER;
        events[i].collective.request = LULL_NO_REQUEST;
        events[i].collective.root = root;
    }
    for (int i = 0; i < 4; i++)
        memory_trace_add(trace, location, &events[i]);
}

static struct lull_survey *survey_of(const struct lull_trace *trace)
{
    struct lull_survey *survey;
    struct lull_error err = {""};
    fail_if(lull_survey_take(trace, 0, false, &survey, &err) != LULL_OK, "%s", err.text);
    return survey;
}

/* The second operation has process 1 as its root, the third nobody known. */
static void roots_are_numbered_by_communicator(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(3, 1, 100, names);
    memory_trace_world(trace, 3);
    for (uint32_t p = 0; p < 3; p++) {
        take_part(trace, p, BARRIER, 10, 20, LULL_ANY);
        take_part(trace, p, BCAST, 30, 40, p == 1 ? 1 : LULL_ANY);
        take_part(trace, p, BCAST, 50, 60, LULL_ANY);
    }
    struct lull_survey *survey = survey_of(trace);
    assert_int_equal(lull_survey_root(survey, 0, 0), LULL_NONE);
    assert_int_equal(lull_survey_root(survey, 0, 1), 1);
    assert_int_equal(lull_survey_root(survey, 0, 2), LULL_NONE);
    for (uint32_t p = 0; p < 3; p++)
        assert_int_equal(lull_survey_shift(survey, p), 0);
    lull_survey_destroy(survey);
    lull_trace_close(trace);
}

/* Process 1 leaves each barrier 500 ns before process 0 has entered it: its clock is behind. The
 * exits differ by 1000, 1010 and 1050 ns, of which the median counts; process 2 agrees with 0. */
static void clocks_that_contradict_each_other_are_shifted(void **state)
{
    (void)state;
    static const int64_t exits[2][3] = {{5000, 6000, 7000}, {4000, 4990, 5950}};
    struct lull_trace *trace = memory_trace_simple(3, 1, 9000, names);
    memory_trace_world(trace, 3);
    for (int i = 0; i < 3; i++) {
        take_part(trace, 0, BARRIER, exits[0][i] - 500, exits[0][i], LULL_ANY);
        take_part(trace, 1, BARRIER, exits[1][i] - 500, exits[1][i], LULL_ANY);
        take_part(trace, 2, BARRIER, exits[0][i] - 100, exits[0][i], LULL_ANY);
    }
    struct lull_survey *survey = survey_of(trace);
    assert_int_equal(lull_survey_shift(survey, 0), 0);
    assert_int_equal(lull_survey_shift(survey, 1), 1010);
    assert_int_equal(lull_survey_shift(survey, 2), 0);
    lull_survey_destroy(survey);
    lull_trace_close(trace);
}

/* Of one barrier, which process 1 leaves 1000 ns and process 2 3000 ns before process 0. */
static void one_operation_tells_the_shift(void **state)
{
    (void)state;
    static const int64_t exits[] = {5000, 4000, 2000};
    struct lull_trace *trace = memory_trace_simple(3, 1, 9000, names);
    memory_trace_world(trace, 3);
    for (uint32_t p = 0; p < 3; p++)
        take_part(trace, p, BARRIER, exits[p] - 100, exits[p], LULL_ANY);
    struct lull_survey *survey = survey_of(trace);
    assert_int_equal(lull_survey_shift(survey, 0), 0);
    assert_int_equal(lull_survey_shift(survey, 1), 1000);
    assert_int_equal(lull_survey_shift(survey, 2), 3000);
    lull_survey_destroy(survey);
    lull_trace_close(trace);
}

TEST_GROUP(test_survey)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_numbered_by_communicator),
        cmocka_unit_test(clocks_that_contradict_each_other_are_shifted),
        cmocka_unit_test(one_operation_tells_the_shift),
    };
    return run_cases(tests, NULL, NULL);
}
