/* Noise: detours against brute force and by hand, draws against their moments. */
#include "sim/noise/noise.h"
#include "sim/spec.h"
#include "stats/random.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct lull_arena *arena;

static int set_up(void **state)
{
    *state = arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

static const struct lull_noise *create(const struct lull_noise_spec *spec)
{
    const struct lull_noise *noise = NULL;
    struct lull_error err = {""};
    fail_if(lull_noise_create(spec, arena, &noise, &err) != LULL_OK, "%s", err.text);
    return noise;
}

static const struct lull_noise *make(const char *name, double a, double b)
{
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find(name));
    spec.values[0] = a;
    spec.values[1] = b;
    return create(&spec);
}

/* Nanosecond by nanosecond: the processor works when it is not `away`, which repeats. */
static int64_t brute_force(const bool *away, int64_t period, int64_t at, int64_t work)
{
    int64_t passed = 0;
    for (int64_t done = 0; done < work; passed++)
        done += !away[(at + passed) % period];
    return passed - work;
}

static void periodic_detours(void **state)
{
    (void)state;
    for (int64_t period = 1; period <= 9; period++)
        for (int64_t length = 0; length < period; length++) {
            bool away[9] = {false};
            struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("periodic"));
            spec.values[0] = (double)period;
            spec.values[1] = (double)length;
            spec.synchronised = true;
            const struct lull_noise *noise = create(&spec);
            memset(away, 1, (size_t)length);
            for (int64_t at = 0; at < 2 * period; at++)
                for (int64_t work = 0; work < 40; work++) {
                    struct lull_noise_rank rank = {0};
                    assert_int_equal(lull_noise_extend(noise, 1, 5, &rank, at, work),
                                     brute_force(away, period, at, work));
                }
        }
}

static void recorded_detours(void **state)
{
    (void)state;
    struct lull_random random;
    uint64_t seed = 20;
    print_message("seed %llu\n", (unsigned long long)seed);
    lull_random_seed(&random, seed);
    for (unsigned trial = 0; trial < 300; trial++) {
        struct lull_recorded_detour detours[40];
        struct lull_noise_recording recording = {.detours = detours};
        bool away[40];
        recording.duration = 1 + (int64_t)lull_random_below(&random, 40);
        for (int64_t t = 0; t < recording.duration; t++) {
            away[t] = lull_random_below(&random, 3) == 0;
            if (away[t] && recording.lost + 1 == recording.duration)
                away[t] = false; /* some time must be left */
            if (!away[t])
                continue;
            /* Neighbours are one detour or several that touch. */
            bool joins = t > 0 && away[t - 1] && lull_random_below(&random, 2);
            if (joins)
                detours[recording.count - 1].length++;
            else
                detours[recording.count++] = (struct lull_recorded_detour){t, 1, recording.lost};
            recording.lost++;
        }
        for (int64_t at = 0; at < recording.duration; at++)
            for (int64_t work = 0; work < 100; work++)
                assert_int_equal(lull_noise_recording_extend(&recording, at, work),
                                 brute_force(away, recording.duration, at, work));
    }
}

/* Ranks are shifted by different parts of the period, and a rank always by the same. */
static void phases(void **state)
{
    (void)state;
    enum { RANKS = 4000, PERIOD = 100 };
    const struct lull_noise *noise = make("periodic", PERIOD, 10);
    unsigned count[11] = {0};
    for (uint32_t r = 0; r < RANKS; r++) {
        struct lull_noise_rank rank = {0};
        int64_t added = lull_noise_extend(noise, 9, r, &rank, 7, 1);
        assert_true(added >= 0 && added <= 10);
        count[added]++;
        assert_int_equal(lull_noise_extend(noise, 9, r, &rank, 7 + 5 * PERIOD, 1), added);
    }
    /* One start in a hundred for each of 1 .. 10 left of a detour: 40 ranks, deviation 6.3. */
    for (unsigned i = 1; i <= 10; i++)
        assert_in_range(count[i], 15, 65);
}

static void check_moments(const struct lull_noise *noise, double mean, double sd)
{
    enum { DRAWS = 20000 };
    struct lull_noise_rank rank = {0};
    double sum = 0, squares = 0;
    bool share;
    for (unsigned i = 0; i < DRAWS; i++) {
        double added = (double)lull_noise_extend(noise, 3, 77, &rank, i, 1000);
        assert_true(added >= 0);
        sum += added;
        squares += (added - mean) * (added - mean);
    }
    assert_true(fabs(sum / DRAWS - mean) <= 4 * sd / sqrt(DRAWS) + 0.5);
    assert_true(fabs(sqrt(squares / DRAWS) - sd) <= 0.05 * sd);
    assert_true(fabs(lull_noise_mean(noise, &share) - mean) <= 1e-6 * mean);
    assert_false(share);
    assert_int_equal(rank.draws, DRAWS);
}

static void random_amounts(void **state)
{
    (void)state;
    check_moments(make("constant", 5000, NAN), 5000, 0);
    check_moments(make("exponential", 50000, NAN), 50000, 50000);
    check_moments(make("uniform", 1000, 9000), 5000, 8000 / sqrt(12));
    check_moments(make("gamma", 50000, 4), 50000, 25000);
    check_moments(make("gamma", 50000, 0.25), 50000, 100000);
    check_moments(make("bernoulli", 1000, 0.1), 1000, 3000);
    check_moments(make("normal", 50000, 5000), 50000, 5000);
}

static void amounts_per_time(void **state)
{
    (void)state;
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("constant"));
    struct lull_noise_rank rank = {0};
    spec.values[0] = 30;
    spec.per = 1000;
    const struct lull_noise *noise = create(&spec);
    assert_int_equal(lull_noise_extend(noise, 1, 0, &rank, 0, 1000), 30);
    assert_int_equal(lull_noise_extend(noise, 1, 0, &rank, 0, 2500), 75);
    assert_int_equal(lull_noise_extend(noise, 1, 0, &rank, 0, 0), 0);
    spec.values[0] = 1e18;
    spec.per = 1;
    assert_int_equal(lull_noise_extend(create(&spec), 1, 0, &rank, 0, INT64_C(1) << 60), INT64_C(1)
                                                                                             << 62);
}

static void chosen_ranks(void **state)
{
    (void)state;
    const struct lull_rank_range ranges[] = {{10, 20}, {0, 0}, {15, 22}, {5, 5}};
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("constant"));
    spec.values[0] = 1;
    spec.ranges = ranges;
    spec.n_ranges = 4;
    const struct lull_noise *noise = create(&spec);
    for (uint32_t r = 0; r < 30; r++) {
        struct lull_noise_rank rank = {0};
        assert_int_equal(lull_noise_extend(noise, 1, r, &rank, 0, 10),
                         r == 0 || r == 5 || (r >= 10 && r <= 22));
    }
}

/* The n-th draw of a rank depends on seed, rank and n. */
static void draws_are_independent(void **state)
{
    (void)state;
    const struct lull_noise *noise = make("exponential", 1e12, NAN);
    enum { N = 300 };
    static int64_t seen[N * N];
    for (uint32_t r = 0; r < N; r++) {
        struct lull_noise_rank rank = {0}, again = {0};
        for (unsigned i = 0; i < N; i++) {
            seen[r * N + i] = lull_noise_extend(noise, 1, r, &rank, 0, 10);
            assert_int_equal(lull_noise_extend(noise, 1, r, &again, 99, 5), seen[r * N + i]);
        }
    }
    /* Neighbouring ranks and neighbouring draws: correlation within 4 standard errors of 0. */
    double along = 0, across = 0, squares = 0;
    for (unsigned i = 0; i < N * N - N; i++) {
        double x = (double)seen[i] / 1e12 - 1;
        along += x * ((double)seen[i + 1] / 1e12 - 1);
        across += x * ((double)seen[i + N] / 1e12 - 1);
        squares += x * x;
    }
    assert_true(fabs(along / squares) < 4.0 / N && fabs(across / squares) < 4.0 / N);
}

static const char *refusal(const char *name, double a, double b)
{
    static struct lull_error err;
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find(name));
    const struct lull_noise *noise = NULL;
    spec.values[0] = a;
    spec.values[1] = b;
    assert_int_equal(lull_noise_create(&spec, arena, &noise, &err), LULL_ERR_RANGE);
    assert_null(noise);
    return err.text;
}

static void refuses_nonsense(void **state)
{
    (void)state;
    assert_null(lull_noise_find("loud"));
    assert_string_equal(refusal("exponential", NAN, NAN), "noise 'exponential' needs mean (mean)");
    assert_string_equal(refusal("exponential", -1, NAN),
                        "noise 'exponential': mean is -1, expected 0 to 1e+18");
    assert_string_equal(
        refusal("periodic", 10, 10),
        "noise 'periodic': duration is 10 ns, expected less than the period of 10 ns");
    assert_string_equal(refusal("uniform", 10, 5),
                        "noise 'uniform': the upper bound is 5, expected a number not below the "
                        "lower bound");
    assert_string_equal(refusal("recorded", NAN, NAN), "noise 'recorded' needs file");
}

static lull_status read_spec(const char *text, const struct lull_noise **ret_noise,
                             struct lull_error *err)
{
    struct lull_spec *spec = NULL;
    lull_status status = lull_spec_parse(text, arena, &spec, err);
    return status == LULL_OK ? lull_noise_read(spec, 100, arena, ret_noise, err) : status;
}

static int64_t extend_of_spec(const char *text, uint32_t rank, int64_t begin, int64_t duration)
{
    const struct lull_noise *noise = NULL;
    struct lull_noise_rank state = {0};
    struct lull_error err = {""};
    fail_if(read_spec(text, &noise, &err) != LULL_OK, "%s", err.text);
    return lull_noise_extend(noise, 1, rank, &state, begin, duration);
}

static void reads_specs(void **state)
{
    (void)state;
    assert_int_equal(extend_of_spec("none", 0, 0, 100), 0);
    assert_int_equal(extend_of_spec("constant:mean=2us", 0, 0, 100), 2000);
    assert_int_equal(extend_of_spec("constant:mean=2us,per=operation", 0, 0, 100), 2000);
    assert_int_equal(extend_of_spec("constant:mean=2us,per=1ms", 0, 0, 10000), 20);
    assert_int_equal(extend_of_spec("constant:mean=5,ranks=0+5+10-20", 15, 0, 1), 5);
    assert_int_equal(extend_of_spec("constant:mean=5,ranks=0+5+10-20", 6, 0, 1), 0);
    assert_int_equal(extend_of_spec("periodic:period=1ms,duration=1us,phase=synchronised", 3, 0, 1),
                     1000);
}

static void refuses_bad_specs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"loud", "'loud'"},
        {"exponential", "noise 'exponential' needs mean"},
        {"exponential:mean=-1us", "mean is -1us"},
        {"exponential:mean=1us,phase=random", "phase"},
        {"constant:mean=1us,ranks=100", "ranks"},
        {"constant:mean=1us,per=0", "per is 0"},
        {"periodic:period=1us,duration=1us", "expected less than the period"},
        {"recorded", "needs file"},
        {"recorded:file=/does/not/exist", "/does/not/exist"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct lull_noise *noise = NULL;
        struct lull_error err = {""};
        assert_int_not_equal(read_spec(bad[i].text, &noise, &err), LULL_OK);
        assert_null(noise);
        fail_if(!strstr(err.text, bad[i].message), "'%s': %s", bad[i].text, err.text);
    }
}

static char path[] = "/tmp/lull-noise-XXXXXX";

static lull_status read_text(const char *text, struct lull_noise_recording *recording,
                             struct lull_error *err)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    lull_status status = lull_noise_recording_read(path, arena, recording, err);
    unlink(path);
    return status;
}

static void reads_recordings(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"lull_noise\": 1, \"duration\": 1000, \"detours\": [[10, 5], [15, 1], [900, 100]]}",
        "begin,length\n10,5\n\n# duration=1000\n15, 1\r\n900,100",
        "# a comment\n# duration=1000\n10,5\n15,1\n900,100\n",
    };
    close(mkstemp(path));
    for (unsigned i = 0; i < 3; i++) {
        struct lull_noise_recording recording;
        struct lull_error err = {""};
        fail_if(read_text(texts[i], &recording, &err) != LULL_OK, "%s", err.text);
        assert_int_equal(recording.duration, 1000);
        assert_int_equal(recording.lost, 106);
        assert_int_equal(recording.count, 3);
        assert_int_equal(recording.detours[2].begin, 900);
        assert_int_equal(recording.detours[2].length, 100);
        assert_int_equal(recording.detours[2].before, 6);
    }
}

static void refuses_bad_recordings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", ": neither a detour nor a duration"},
        {"{", ": line 1: "},
        {"{\"detours\": []}", ": expected \"lull_noise\": 1"},
        {"{\"lull_noise\": 1}", ": expected \"detours\", an array"},
        {"{\"lull_noise\": 1, \"detours\": [[1, 2], [3]]}",
         ": detour 1: expected [begin, length] in whole ns"},
        {"{\"lull_noise\": 1, \"duration\": -1, \"detours\": []}",
         ": expected \"duration\" in whole ns, above 0"},
        {"10,5\n12,1\n", ": line 2: a detour begins at 12 ns, before the last one ends at 15 ns"},
        {"10,0\n", ": line 1: a detour of 0 ns, expected more than 0"},
        {"10,5\nbegin,length\n", ": line 2: expected begin,length in whole ns"},
        {"0,5\n", ": detours leave no time in between"},
        {"0,5\n# duration=4\n", ": duration is 4 ns, but the last detour ends at 5 ns"},
        {"# duration=0\n", ": line 1: expected a duration in whole ns, above 0"},
        {"10,99999999999999999999\n", ": line 1: expected begin,length in whole ns"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_noise_recording recording;
        struct lull_error err = {""};
        assert_int_equal(read_text(bad[i].text, &recording, &err), LULL_ERR_FORMAT);
        fail_if(!strstr(err.text, bad[i].message), "'%s': %s", bad[i].text, err.text);
    }
}

TEST_GROUP(test_noise)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periodic_detours),
        cmocka_unit_test(recorded_detours),
        cmocka_unit_test(phases),
        cmocka_unit_test(random_amounts),
        cmocka_unit_test(amounts_per_time),
        cmocka_unit_test(chosen_ranks),
        cmocka_unit_test(draws_are_independent),
        cmocka_unit_test(refuses_nonsense),
        cmocka_unit_test(reads_specs),
        cmocka_unit_test(refuses_bad_specs),
        cmocka_unit_test(reads_recordings),
        cmocka_unit_test(refuses_bad_recordings),
    };
    return run_cases(tests, set_up, tear_down);
}
