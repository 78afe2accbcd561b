/* The rule on slow loops: made evidence whose numbers are worked out by hand, and loops of which nothing is
 * told. */
#include "diagnose/diagnose.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static uint32_t ask_loops(const struct lull_evidence_loop *loops, uint32_t n,
                          struct lull_finding **ret_findings)
{
    static struct lull_process process = {
        .name = "rank 0", .node = LULL_NONE, .n_threads = 1, .n_locations = 1};
    static struct lull_location location = {.name = "rank 0"};
    static struct lull_process_breakdown of_process = {
        .name = "rank 0", .node = LULL_NONE, .n_cpu_threads = 1};
    static struct lull_thread_breakdown thread;
    const struct lull_trace trace = {.processes = &process,
                                     .n_processes = 1,
                                     .locations = &location,
                                     .n_locations = 1,
                                     .duration = 100 * SECOND};
    const struct lull_breakdown breakdown = {.runtime_ns = 100 * SECOND,
                                             .duration_ns = 100 * SECOND,
                                             .processes = &of_process,
                                             .n_processes = 1,
                                             .threads = &thread,
                                             .n_threads = 1};
    const struct lull_evidence evidence = {
        .path = "run", .trace = &trace, .breakdown = &breakdown, .loops = loops, .n_loops = n};
    return lull_diagnose(&evidence, arena, ret_findings);
}

static const struct lull_evidence_loop slow = {.name = "heat.c:10-12",
                                               .function = "step",
                                               .file = "heat.c",
                                               .line = 10,
                                               .useful_ns = 40 * SECOND,
                                               .of_useful = 0.4,
                                               .measured = 8e-9,
                                               .allowed = 2e-9,
                                               .of_limit = 0.25,
                                               .of_limit_most = 0.3,
                                               .limit = "memory"};

/* 40 s at a quarter of what the model allows: three quarters are lost, 30 s of one thread. */
static void a_slow_loop_is_told(void **state)
{
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(ask_loops(&slow, 1, &findings), 1);
    assert_string_equal(lull_finding_rule_id(&findings[0]), "slow_loop");
    assert_int_equal(findings[0].lost_ns, 30 * SECOND);
    assert_int_equal(findings[0].bound_ns, 30 * SECOND);
    assert_string_equal(findings[0].sentence,
                        "The loop heat.c:10-12 in step takes 40 % of the useful time, and runs "
                        "at 25 % of what the model allows.");
    assert_non_null(strstr(findings[0].cause,
                           "An iteration takes 8 ns, where its limit, memory, allows 2 ns."));
    assert_string_equal(findings[0].next, "lull model kernel --of run --machine FILE");
    assert_non_null(findings[0].gain.absent);
}

/* Half of the model and more, and 5 % of the time and less, are no findings. */
static void others_are_not(void **state)
{
    struct lull_evidence_loop loops[] = {slow, slow};
    struct lull_finding *findings;
    (void)state;
    loops[0].of_limit_most = 0.5; /* as there are few samples */
    loops[1].of_useful = 0.05;
    assert_int_equal(ask_loops(loops, 2, &findings), 0);
    loops[1].of_useful = 0.051;
    assert_int_equal(ask_loops(loops, 2, &findings), 1);
    assert_int_equal(ask_loops(NULL, 0, &findings), 0);
}

static void another_machine_is_said(void **state)
{
    struct lull_evidence_loop loop = slow;
    struct lull_finding *findings;
    (void)state;
    loop.other_machine = true;
    assert_int_equal(ask_loops(&loop, 1, &findings), 1);
    assert_non_null(strstr(findings[0].sentence, "on another machine"));
}

static void how_it_was_compiled_is_the_cause(void **state)
{
    struct lull_evidence_loop loop = slow;
    struct lull_finding *findings;
    (void)state;
    loop.compilation = "Its instructions have no vectors.";
    assert_int_equal(ask_loops(&loop, 1, &findings), 1);
    assert_non_null(strstr(findings[0].cause, " allows 2 ns. Its instructions have no vectors."));
    assert_null(strstr(findings[0].cause, "powers of two"));
}

TEST_GROUP(test_slow_loop_rule)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(a_slow_loop_is_told),
        ARENA_TEST(others_are_not),
        ARENA_TEST(another_machine_is_said),
        ARENA_TEST(how_it_was_compiled_is_the_cause),
    };
    return run_cases(tests, NULL, NULL);
}
