/* What a program is disturbed with on purpose, from what users type; the numbers that the recorder
 * gets are those that a simulation draws one by one. */
#include "sim/disturbance.h"

#include "sim/setup.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_error err;

static struct lull_disturbance taken(const char *const *specs)
{
    struct lull_disturbance disturbance = lull_disturbance_none(arena, 7);
    for (; *specs; specs++)
        fail_if(lull_disturbance_add(&disturbance, *specs, &err) != LULL_OK, "%s: %s", *specs,
                err.text);
    return disturbance;
}

#define TAKE(...) taken((const char *const[]){__VA_ARGS__, NULL})

static void test_words(void **state)
{
    (void)state;
    struct lull_disturbance d = TAKE("hockney:latency=1ms,bandwidth=2GB/s", "exponential:mean=50us",
                                     "3@i10:20ms", "0@5ms:30us", "iteration:call=MPI_Allreduce");
    assert_true(d.has_network && d.latency == 1e6 && d.bandwidth == 2e9);
    assert_non_null(d.noise);
    assert_int_equal(d.n_delays, 2);
    assert_true(d.delays[0].rank == 3 && d.delays[0].at_iteration && d.delays[0].when == 10 &&
                d.delays[0].length == 20000000);
    assert_true(d.delays[1].rank == 0 && !d.delays[1].at_iteration && d.delays[1].when == 5000000 &&
                d.delays[1].length == 30000);
    assert_string_equal(d.iterations, "MPI_Allreduce");
    assert_int_equal(d.seed, 7);
    assert_string_equal(d.text, "hockney:latency=1ms,bandwidth=2GB/s\nexponential:mean=50us\n"
                                "3@i10:20ms\n0@5ms:30us\niteration:call=MPI_Allreduce");
}

static void test_lines(void **state)
{
    (void)state;
    struct lull_disturbance d = TAKE("hockney:latency=10us", "bernoulli:mean=1us,p=0.5", "1@0:1us");
    struct lull_disturbance again = lull_disturbance_none(arena, 7);
    assert_int_equal(lull_disturbance_add_lines(&again, d.text, &err), LULL_OK);
    assert_string_equal(again.text, d.text);
    assert_true(again.has_network && again.latency == 10000 && again.n_delays == 1);
    assert_int_equal(lull_disturbance_add_lines(&again, "", &err), LULL_OK);
    assert_string_equal(again.text, d.text);
}

/* What cannot be injected is told before anything runs. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *first, *text, *expected;
    } cases[] = {
        {NULL, "loggops:L=2us", "'loggops' cannot be injected: of the networks, hockney can"},
        {NULL, "hockney:latency=1us,eager=4KiB", "eager"},
        {NULL, "hockney:latency=fast", "latency"},
        {NULL, "hockney:node.latency=1us", "node.latency"},
        {"hockney:latency=1us", "hockney:latency=2us", "there is a network already"},
        {"constant:mean=1us", "constant:mean=2us", "there is a noise already"},
        {NULL, "exponential:p=2", "exponential"},
        {NULL, "2@x5:1ms", "'2@x5:1ms' is no delay"},
        {NULL, "iteration:call=step", "call is 'step'"},
        {NULL, "iteration:name=MPI_Send", "name"},
        {NULL, "thunder", "'thunder' is nothing to be injected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_disturbance d = lull_disturbance_none(arena, 1);
        if (cases[i].first)
            assert_int_equal(lull_disturbance_add(&d, cases[i].first, &err), LULL_OK);
        assert_int_equal(lull_disturbance_add(&d, cases[i].text, &err), LULL_ERR_RANGE);
        fail_if(!strstr(err.text, cases[i].expected) || strchr(err.text, '\n'),
                "%s: '%s', expected '%s' in it", cases[i].text, err.text, cases[i].expected);
    }
}

/* Of ranks that a run has not. */
static void test_ranks(void **state)
{
    (void)state;
    const struct lull_disturbance delay = TAKE("3@i10:20ms"),
                                  noise = TAKE("exponential:mean=1us,ranks=2-9"),
                                  all = TAKE("exponential:mean=1us"), none = TAKE("none");
    assert_int_equal(lull_disturbance_check(&delay, 4, &err), LULL_OK);
    assert_int_equal(lull_disturbance_check(&delay, 3, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "delay of rank 3: the run has 3 ranks");
    assert_int_equal(lull_disturbance_check(&noise, 3, &err), LULL_OK);
    assert_int_equal(lull_disturbance_check(&noise, 2, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_disturbance_check(&all, 1, &err), LULL_OK);
    assert_int_equal(lull_disturbance_check(&none, 1, &err), LULL_OK);
}

static void test_draws(void **state)
{
    (void)state;
    static const char *const specs[] = {"exponential:mean=50us", "gamma:mean=1ms,shape=4",
                                        "constant:mean=3us",     "bernoulli:mean=1us,p=0.1",
                                        "uniform:max=9us",       "normal:mean=5us,sd=1us"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const struct lull_disturbance d = TAKE(specs[i]);
        struct lull_noise_numbers numbers;
        struct lull_noise_rank rank = {0};
        assert_true(lull_disturbance_noise(&d, 5, 1000, &numbers));
        assert_true(numbers.n_draws == 1000 && numbers.per == 0 && numbers.detours.count == 0);
        for (uint32_t n = 0; n < 1000; n++)
            assert_int_equal(numbers.draws[n], lull_noise_extend(d.noise, 7, 5, &rank, 0, 12345));
    }
}

/* An amount for each ms of computation. */
static void test_per_time(void **state)
{
    (void)state;
    const struct lull_disturbance d = TAKE("exponential:mean=50us,per=1ms");
    struct lull_noise_numbers numbers;
    struct lull_noise_rank rank = {0};
    assert_true(lull_disturbance_noise(&d, 0, 100, &numbers));
    assert_true(numbers.per == 1e6);
    for (uint32_t n = 0; n < 100; n++)
        assert_int_equal(numbers.draws[n], lull_noise_extend(d.noise, 7, 0, &rank, 0, 1000000));
}

static void test_detours(void **state)
{
    (void)state;
    const struct lull_disturbance d = TAKE("periodic:period=1ms,duration=100us,ranks=0-2");
    struct lull_noise_numbers numbers;
    struct lull_noise_rank rank = {0};
    assert_true(lull_disturbance_noise(&d, 2, 100, &numbers));
    assert_true(numbers.n_draws == 0 && numbers.detours.count == 1 &&
                numbers.detours.duration == 1000000);
    assert_true(numbers.detours.detours[0].begin == 0 &&
                numbers.detours.detours[0].length == 100000);
    /* At the end of a detour, 50 us of work are not lengthened; at its begin all of it is lost. */
    const int64_t begin = 2000000 - numbers.phase;
    assert_int_equal(lull_noise_extend(d.noise, 7, 2, &rank, begin + 100000, 50000), 0);
    assert_int_equal(lull_noise_extend(d.noise, 7, 2, &rank, begin, 50000), 100000);
    assert_false(lull_disturbance_noise(&d, 3, 100, &numbers));
}

static void test_network(void **state)
{
    (void)state;
    const struct lull_disturbance none = TAKE("1@0:1us"), one = TAKE("hockney:latency=30us"),
                                  fast = TAKE("hockney:latency=1us,bandwidth=inf");
    struct lull_network network;
    struct lull_spec *spec;
    assert_null(lull_disturbance_network(&none));
    const struct lull_disturbance *const both[] = {&one, &fast};
    for (int i = 0; i < 2; i++) {
        const char *text = lull_disturbance_network(both[i]);
        assert_int_equal(lull_spec_parse(text, arena, &spec, &err), LULL_OK);
        assert_int_equal(lull_network_read(spec, NULL, 2, arena, &network, &err), LULL_OK);
        const double *v = network.values[LULL_LEVEL_CLUSTER];
        assert_true(v[lull_network_parameter(network.class, "latency")] == both[i]->latency);
        assert_true(isinf(v[lull_network_parameter(network.class, "eager")]));
        assert_true(i == 0 ? v[lull_network_parameter(network.class, "bandwidth")] == 1e10
                           : isinf(v[lull_network_parameter(network.class, "bandwidth")]));
    }
}

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

TEST_GROUP(test_disturbance)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),   cmocka_unit_test(test_lines),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_draws),
        cmocka_unit_test(test_ranks),   cmocka_unit_test(test_per_time),
        cmocka_unit_test(test_detours), cmocka_unit_test(test_network)};
    return run_cases(tests, set_up, tear_down);
}
