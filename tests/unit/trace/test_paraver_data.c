/* data/paraver/hybrid.prv against sums done by hand from its lines. */
#include "metrics/breakdown.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

struct expected {
    int64_t useful_outside, useful_inside, idle, other;
    int64_t schedule_inside, lock_inside, point_to_point, collective, flush;
    uint64_t useful_instructions, useful_cycles;
};

/* Rank 0, master: Running 0-100, 310-400, 450-600, 800-980 outside and 110-300 inside (the parallel
 * region is 100-310). Its worker is inside while it executes the outlined function, 110-255. */
static const struct expected threads[] = {
    {.useful_outside = 100 + 90 + 150 + 180,
     .useful_inside = 190,
     .schedule_inside = 10 + 10,
     .point_to_point = 50,
     .collective = 200,
     .flush = 20,
     .useful_instructions = 200 + 380 + 180 + 300 + 360,
     .useful_cycles = 100 + 190 + 90 + 150 + 180},
    {.useful_inside = 90 + 40,
     .idle = 45 + 700,
     .other = 110,
     .lock_inside = 10 + 5,
     .useful_instructions = 90 + 44,
     .useful_cycles = 90 + 40},
    {.useful_outside = 300 + 240 + 200,
     .point_to_point = 160,
     .collective = 100,
     .useful_instructions = 700 + 500 + 400,
     .useful_cycles = 300 + 240 + 200},
    {.idle = 1000},
};

static void check_thread(const struct lull_breakdown *breakdown, uint32_t t)
{
    const struct lull_thread_breakdown *thread = &breakdown->threads[t];
    const struct expected *expected = &threads[t];
    const int64_t(*ns)[2] = (const int64_t(*)[2])thread->times.ns;
    assert_int_equal(ns[LULL_USEFUL][0], expected->useful_outside);
    assert_int_equal(ns[LULL_USEFUL][1], expected->useful_inside);
    assert_int_equal(ns[LULL_IDLE][0], expected->idle);
    assert_int_equal(ns[LULL_OTHER][0], expected->other);
    assert_int_equal(ns[LULL_OMP_SCHEDULE][1], expected->schedule_inside);
    assert_int_equal(ns[LULL_OMP_LOCK][1], expected->lock_inside);
    assert_int_equal(ns[LULL_MPI_P2P][0], expected->point_to_point);
    assert_int_equal(ns[LULL_MPI_COLLECTIVE][0], expected->collective);
    assert_int_equal(ns[LULL_FLUSH][0], expected->flush);
    unsigned roles = 0;
    for (uint32_t c = 0; c < breakdown->n_counters; c++) {
        uint64_t sum = thread->counters[c * LULL_ACTIVITIES + LULL_USEFUL];
        if (breakdown->counters[c].role == LULL_COUNTER_INSTRUCTIONS)
            assert_int_equal(sum, expected->useful_instructions);
        else if (breakdown->counters[c].role == LULL_COUNTER_CYCLES)
            assert_int_equal(sum, expected->useful_cycles);
        roles |= 1u << breakdown->counters[c].role;
    }
    assert_int_equal(roles, 1u << LULL_COUNTER_INSTRUCTIONS | 1u << LULL_COUNTER_CYCLES);
}

static void test_hybrid(void **state)
{
    (void)state;
    struct lull_error err = {""};
    struct lull_trace *trace;
    struct lull_breakdown *breakdown;
    const struct lull_breakdown_options options = {.reading =
                                                       &(const struct lull_reading){.workers = 1}};
    fail_if(lull_trace_open("data/paraver/hybrid.prv", &trace, &err) != LULL_OK, "%s", err.text);
    fail_if(lull_breakdown_compute(trace, &options, trace->arena, &breakdown, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(breakdown->n_threads, 4);
    assert_int_equal(breakdown->n_counters, 2);
    assert_int_equal(breakdown->duration_ns, 1000);
    assert_int_equal(breakdown->n_nodes, 2);
    assert_string_equal(trace->nodes[1].name, "beta");
    for (uint32_t t = 0; t < 4; t++)
        check_thread(breakdown, t);
    lull_trace_close(trace);
}

TEST_GROUP(test_paraver_data)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hybrid)};
    return run_cases(tests, NULL, NULL);
}
