/* How often a gate errs: runs without a change that fail, and slower ones that do not. */
#include "study/history/gate.h"
#include "support/arena_case.h"
#include "support/seed.h"
#include "support/series.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>

enum { HISTORY = 30, RUNS = 10, ROUNDS = 1000 };

static struct lull_history_entry all[HISTORY + RUNS];
static struct lull_history_value values[HISTORY + RUNS];

/* A history and the runs after it: 1 s with 2 % of noise, the runs `slower`. */
static void draw(struct lull_random *random, enum noise_kind kind, double slower)
{
    double noise[HISTORY + RUNS];
    noise_draw(random, kind, HISTORY + RUNS, noise);
    for (int i = 0; i < HISTORY + RUNS; i++) {
        values[i] = (struct lull_history_value){
            "runtime", (1 + 0.02 * noise[i]) * (i < HISTORY ? 1 : slower), NULL};
        all[i] = (struct lull_history_entry){.values = &values[i], .n_values = 1, .time = i};
    }
}

/* Of `expected` verdicts, three standard errors more or fewer where there are fewer rounds than the
 * test makes usually, which its bounds are for. */
static unsigned slack_of(unsigned expected)
{
    return lull_test_rounds(ROUNDS) == ROUNDS ? 0 : (unsigned)ceil(3 * sqrt(expected));
}

static unsigned count_verdicts(const char *text, enum noise_kind kind, double slower,
                               enum lull_gate_verdict verdict)
{
    static const struct lull_gate_options options = {.false_alarms = 0.01, .missed = 0.05};
    const struct lull_history history = {.entries = all, .count = HISTORY};
    struct lull_random random;
    const unsigned rounds = lull_test_rounds(ROUNDS);
    unsigned count = 0, judged = 0;
    lull_random_seed(&random, lull_test_seed() + kind);
    for (unsigned i = 0; i < rounds; i++) {
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_condition condition;
        struct lull_gate gate;
        assert_int_equal(lull_condition_read(text, scratch, &condition, NULL), LULL_OK);
        draw(&random, kind, slower);
        lull_gate_judge(&condition, 1, all + HISTORY, RUNS, &history, &options, scratch, &gate);
        count += gate.verdict == verdict;
        judged += !gate.cases[0].why && gate.cases[0].baseline_runs > 1;
        lull_arena_destroy(scratch);
    }
    assert_reached("there is a baseline", judged, rounds * 9 / 10, rounds);
    return count;
}

/* The strictest gate there is: any slowdown. */
static void test_false_alarms(void **state)
{
    const unsigned rounds = lull_test_rounds(ROUNDS), most = rounds / 100;
    (void)state;
    for (int kind = 0; kind < NOISE_KINDS; kind++) {
        const unsigned failed =
            count_verdicts("runtime > baseline", (enum noise_kind)kind, 1, LULL_GATE_FAIL);
        fail_if(failed > most + slack_of(most),
                "%u of %u histories of noise %d fail without a change", failed, rounds, kind);
    }
}

static void test_regressions(void **state)
{
    const unsigned rounds = lull_test_rounds(ROUNDS), missed = 5 * rounds / 100;
    (void)state;
    const unsigned found = count_verdicts("runtime > baseline", NOISE_NORMAL, 1.05, LULL_GATE_FAIL);
    fail_if(rounds - found > missed + slack_of(missed), "%u of %u regressions of 5 %% are found",
            found, rounds);
}

/* What lies at the limit passes as often as said at most, what lies far from it nearly always. */
static void test_passes(void **state)
{
    const unsigned rounds = lull_test_rounds(ROUNDS), most = 5 * rounds / 100;
    (void)state;
    const unsigned wrong =
        count_verdicts("runtime > 1.05 * baseline", NOISE_NORMAL, 1.05, LULL_GATE_PASS);
    const unsigned right =
        count_verdicts("runtime > 1.05 * baseline", NOISE_NORMAL, 1, LULL_GATE_PASS);
    fail_if(wrong > most + slack_of(most) || rounds - right > most + slack_of(most),
            "%u of %u pass at the limit, %u without a change", wrong, rounds, right);
}

TEST_GROUP(test_gate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_regressions),
        cmocka_unit_test(test_passes),
    };
    return run_cases(tests, NULL, NULL);
}
