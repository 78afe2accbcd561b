/* What --noise takes and refuses: each number at its bound, and just beyond. */
#include "sim/noise/noise.h"
#include "sim/spec.h"
#include "support/test.h"

static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    return 0;
}

static lull_status take(const char *text)
{
    struct lull_spec *spec;
    const struct lull_noise *noise;
    struct lull_error err;
    lull_status status = lull_spec_parse(text, arena, &spec, &err);
    return status == LULL_OK ? lull_noise_read(spec, 2, arena, &noise, &err) : status;
}

/* No time at all is an amount of noise, less than none is not. */
static void test_least(void **state)
{
    (void)state;
    static const char *const good[] = {
        "constant:mean=0",          "exponential:mean=0",
        "gamma:mean=0,shape=0.001", "bernoulli:mean=0,p=1",
        "normal:mean=0,sd=0",       "normal:mean=0,sd=5us",
        "normal:mean=5us,sd=0",     "normal:mean=1us,sd=1us,min=0,max=9us",
        "uniform:min=0,max=0",      "periodic:period=1ns,duration=0"};
    static const char *const bad[] = {"constant:mean=-1ns",
                                      "exponential:mean=-1ns",
                                      "gamma:mean=-1ns,shape=1",
                                      "gamma:mean=1ns,shape=0.0009",
                                      "bernoulli:mean=-1ns,p=1",
                                      "bernoulli:mean=1ns,p=1.1",
                                      "normal:mean=-1ns,sd=0",
                                      "normal:mean=0,sd=-1ns",
                                      "normal:mean=0,sd=0,min=-1ns",
                                      "normal:mean=0,sd=0,max=-1ns",
                                      "uniform:min=-1ns,max=0",
                                      "periodic:period=0,duration=0",
                                      "periodic:period=1ns,duration=-1ns"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        fail_if(take(good[i]) != LULL_OK, "%s is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fail_if(take(bad[i]) == LULL_OK, "%s is not refused", bad[i]);
}

TEST_GROUP(test_noise_bounds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_least, set_up, tear_down)};
    return run_cases(tests, NULL, NULL);
}
