/* What a wave cost: by how much a simulated run is longer than the same one without the delay,
 * which lasts for one iteration or for two. */
#include "study/wave/wave_study.h"
#include "support/arena_case.h"
#include "support/folder.h"
#include "support/replay_case.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

static void check(const char *delays)
{
    struct replay_case_wish wish = {.pattern = "chain:ranks=12,iterations=30,exec=1ms"};
    struct lull_notices notices = {.arena = arena};
    struct lull_wave_run run;
    struct lull_error err;
    folder_make();
    int64_t longer = -replay_case_simulate(&wish, NULL);
    wish.delays = delays;
    longer += replay_case_simulate(&wish, folder_path("run"));
    assert_true(longer > 0);
    fail_if(lull_wave_run_make(folder_path("run"), &(struct lull_wave_run_options){0}, &notices,
                               arena, &run, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(run.measured.waves.count, 1);
    fail_if(fabs(run.costs[0] - (double)longer) > 1e-3 * (double)longer,
            "a wave cost %.0f ns, expected %lld", run.costs[0], (long long)longer);
    lull_wave_run_close(&run);
    folder_remove();
}

static void test_one_iteration(void **state)
{
    (void)state;
    check("5@i10:5ms");
}

static void test_two_iterations(void **state)
{
    (void)state;
    check("5@i10:5ms 5@i11:3ms");
    check("5@i10:2ms 5@i11:7ms");
}

TEST_GROUP(test_wave_cost)
{
    const struct CMUnitTest tests[] = {ARENA_TEST(test_one_iteration),
                                       ARENA_TEST(test_two_iterations)};
    return run_cases(tests, NULL, NULL);
}
