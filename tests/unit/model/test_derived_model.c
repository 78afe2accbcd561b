/* Derived models of planted runs, read and evaluated where nothing ran: work in whole rows, and
 * noise about unequal ranks and iterations. */
#include "model/derive/derived.h"
#include "model/program/closed_form.h"
#include "support/model_text.h"
#include "support/seed.h"
#include "support/test.h"

#include "stats/distribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    *state = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

static struct lull_program_model derive(const struct lull_measured_runs *runs,
                                        struct lull_arena *arena)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    lull_derived_write(runs, arena, out);
    fclose(out);
    struct lull_program_model model = model_of_text(text, arena);
    free(text);
    return model;
}

/* Seconds of the terms whose names begin so. */
static double seconds_of(struct lull_program_model *model, const char *begin,
                         struct lull_term_cost *ret_total)
{
    double values[16], seconds = 0;
    struct lull_term_cost terms[16];
    struct lull_error err = {""};
    lull_model_values(model, values);
    fail_if(lull_model_evaluate(model, values, terms, &err) != LULL_OK, "%s", err.text);
    for (uint32_t t = 0; t < model->n_terms; t++)
        if (strncmp(model->terms[t].name, begin, strlen(begin)) == 0)
            seconds += terms[t].seconds;
    *ret_total = lull_model_total(model, terms);
    return seconds;
}

enum { RUNS = 3, MOST_RUNS = 5, ROWS = 45, TIMES = 10 };

struct planted {
    double (*longest)(double processes); /* in an iteration, seconds, with a core of its own */
    double cores;                        /* of which all have the same part; 0: not known */
    double turn;    /* what a message takes beyond its 2 us and 10 GB/s where cores are shared */
    double blunder; /* by how much longer the first run was measured than it is, and the last of
                       five */
    size_t n_runs;  /* 0: RUNS */
    double crowded; /* longer computations for each other process of a core */
    bool waits;     /* computations contain waiting for a core */
    bool kept;      /* one process was kept to one core, and computes a tenth longer */
};

/* A chain on 1, 2, 4 (8 and 16) processes whose neighbours swap rows of 360 bytes TIMES times, with
 * 45 rows of 1 ms. */
static struct lull_program_model derive_planted(const struct planted *planted,
                                                struct lull_arena *arena)
{
    double cores = planted->cores;
    const size_t n_runs = planted->n_runs ? planted->n_runs : RUNS;
    static const char *const names[MOST_RUNS] = {"a", "b", "c", "d", "e"};
    struct lull_link links[MOST_RUNS][2 * 15];
    struct lull_links of_runs[MOST_RUNS];
    double size[MOST_RUNS], seconds[MOST_RUNS], useful[MOST_RUNS], most[MOST_RUNS];
    const double known[MOST_RUNS] = {planted->kept ? 1 : cores, cores, cores, cores, cores};
    const double threads[MOST_RUNS] = {1, 1, 1, 1, 1};
    for (size_t i = 0; i < n_runs; i++) {
        uint32_t p = UINT32_C(1) << i, count = 0;
        for (uint32_t r = 0; r + 1 < p; r++) {
            links[i][count++] = (struct lull_link){r, r + 1, TIMES, TIMES * 360};
            links[i][count++] = (struct lull_link){r + 1, r, TIMES, TIMES * 360};
        }
        of_runs[i] = (struct lull_links){.processes = p, .items = links[i], .count = count};
        size[i] = ROWS;
        double share = cores > 0 && p > cores ? p / cores : 1, neighbours = fmin((double)i, 2);
        double longer = 1 + planted->crowded * (share - 1) + (planted->kept && p == 1 ? 0.1 : 0);
        useful[i] = TIMES * ROWS * 1e-3 / p * longer;
        most[i] = TIMES * planted->longest(p) * longer;
        double others = p > 1 ? (p * useful[i] - most[i]) / (p - 1) : useful[i];
        seconds[i] = share * (others + TIMES * neighbours * (2e-6 + 360 / 1e10)) + most[i] - others;
        seconds[i] += share > 1 ? TIMES * neighbours * planted->turn : 0;
        seconds[i] *= p == 1 || p == 16 ? 1 + planted->blunder : 1;
    }
    struct lull_measured_region all = {.name = "", .useful = useful};
    const struct lull_measured_runs runs = {.title = "rows",
                                            .size_name = "rows",
                                            .n_runs = n_runs,
                                            .names = names,
                                            .links = of_runs,
                                            .size = size,
                                            .seconds = seconds,
                                            .cores = known,
                                            .threads = threads,
                                            .useful = useful,
                                            .most_useful = most,
                                            .had_cores = !planted->waits,
                                            .regions = &all,
                                            .n_regions = 1};
    return derive(&runs, arena);
}

static struct lull_program_model derive_rows(double (*longest)(double processes), double cores,
                                             struct lull_arena *arena)
{
    return derive_planted(&(struct planted){.longest = longest, .cores = cores}, arena);
}

static double longest_of(struct lull_program_model *model, const char *processes,
                         struct lull_term_cost *ret_total)
{
    model_set(model, processes);
    return seconds_of(model, "computation", ret_total) + seconds_of(model, "imbalance", ret_total);
}

static double whole_rows(double processes)
{
    return ceil(ROWS / processes) * 1e-3;
}

/* On 6 processes three have 8 rows and three have 7. */
static void test_rows(void **state)
{
    static const struct {
        const char *processes;
        double longest; /* rows */
        double messages;
    } cases[] = {{"P=3", 15, 4}, {"P=5", 9, 8}, {"P=6", 8, 10}, {"P=7", 7, 12}, {"P=40", 2, 78}};
    struct lull_program_model model = derive_rows(whole_rows, 0, *state);
    struct lull_term_cost total;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double longest = longest_of(&model, cases[i].processes, &total);
        fail_if(!(fabs(longest - TIMES * cases[i].longest * 1e-3) <= 1e-9),
                "%s: the longest computation is %.12g s, expected %g rows", cases[i].processes,
                longest, cases[i].longest);
        assert_true(total.messages == TIMES * cases[i].messages);
        assert_true(total.bytes == TIMES * cases[i].messages * 360);
    }
    lull_program_model_close(&model);
}

static double half_more(double processes)
{
    return ROWS * 1e-3 / processes * (processes > 1 ? 1.5 : 1);
}

/* Half more than the mean is not what rounding of rows makes; one process is alone with the mean.
 */
static void test_unequal(void **state)
{
    struct lull_program_model model = derive_rows(half_more, 0, *state);
    struct lull_term_cost total;
    assert_true(fabs(longest_of(&model, "P=1", &total) - 0.45) < 1e-9);
    assert_true(fabs(longest_of(&model, "P=2", &total) - 0.3375) < 1e-9);
    assert_true(fabs(longest_of(&model, "P=9", &total) - 0.075) < 1e-9);
    lull_program_model_close(&model);
}

static double own_work(double processes)
{
    return 0.01 + 0.035 / processes;
}

/* One process does 10 ms of its own beside its share, as the runs on 1, 2 and 4 show. */
static void test_own_work(void **state)
{
    struct lull_program_model model = derive_rows(own_work, 0, *state);
    struct lull_term_cost total;
    assert_true(fabs(longest_of(&model, "P=1", &total) - 0.45) < 1e-9);
    assert_true(fabs(longest_of(&model, "P=8", &total) - 0.14375) < 1e-9);
    assert_true(fabs(longest_of(&model, "P=100", &total) - 0.1035) < 1e-9);
    lull_program_model_close(&model);
}

/* Four processes had two cores: on eight, each has a quarter of one. With cores enough they take
 * what they take alone, whatever the runs had. */
static void test_shared_cores(void **state)
{
    struct lull_program_model model = derive_rows(own_work, 2, *state);
    struct lull_term_cost total;
    double longest = TIMES * (0.01 + 0.035 / 8);
    double even = (TIMES * 0.045 - longest) / 7, own = longest - even;
    double messages = TIMES * 2 * (2e-6 + 360 / 1e10);
    longest_of(&model, "P=8", &total);
    assert_true(fabs(total.seconds - (4 * (even + messages) + own)) < 1e-8);
    assert_true(fabs(total.parts[LULL_RESOURCE_CORES] - 3 * (even + messages)) < 1e-8);
    model_set(&model, "cores=4");
    longest_of(&model, "P=8", &total);
    assert_true(fabs(total.seconds - (2 * (even + messages) + own)) < 1e-8);
    model_set(&model, "cores=0");
    longest_of(&model, "P=8", &total);
    assert_true(fabs(total.seconds - (even + messages + own)) < 1e-8);
    lull_program_model_close(&model);
}

/* Where cores are shared a message takes 30 us more, once, however many share one. */
static void test_turn(void **state)
{
    struct lull_program_model model =
        derive_planted(&(struct planted){own_work, .cores = 2, .turn = 30e-6}, *state);
    struct lull_term_cost total;
    double longest = TIMES * (0.01 + 0.035 / 8);
    double even = (TIMES * 0.045 - longest) / 7, own = longest - even;
    double messages = TIMES * 2 * (2e-6 + 360 / 1e10), turns = TIMES * 2 * 30e-6;
    longest_of(&model, "P=8", &total);
    assert_true(fabs(total.seconds - (4 * (even + messages) + turns + own)) < 1e-8);
    model_set(&model, "cores=4");
    longest_of(&model, "P=8", &total);
    assert_true(fabs(total.seconds - (2 * (even + messages) + turns + own)) < 1e-8);
    model_set(&model, "cores=0");
    longest_of(&model, "P=8", &total);
    assert_true(fabs(total.seconds - (even + messages + own)) < 1e-8);
    lull_program_model_close(&model);
}

/* Computations on four processes that share two cores take a tenth longer: with four processes of a
 * core three tenths, with cores enough nothing. */
static void test_crowding(void **state)
{
    struct planted planted = {.longest = own_work, .cores = 2, .crowded = 0.1};
    struct lull_program_model model = derive_planted(&planted, *state);
    struct lull_term_cost total;
    double longest = TIMES * (0.01 + 0.035 / 8);
    assert_true(fabs(longest_of(&model, "P=2", &total) - TIMES * 0.0275) < 1e-7);
    assert_true(fabs(longest_of(&model, "P=4", &total) - 1.1 * TIMES * 0.01875) < 1e-7);
    assert_true(fabs(longest_of(&model, "P=8", &total) - 1.3 * longest) < 1e-7);
    double even = 1.3 * (TIMES * 0.045 - longest) / 7, own = 1.3 * longest - even;
    double messages = TIMES * 2 * (2e-6 + 360 / 1e10);
    assert_true(fabs(total.seconds - (4 * (even + messages) + own)) < 1e-7);
    model_set(&model, "cores=0");
    assert_true(fabs(longest_of(&model, "P=8", &total) - longest) < 1e-7);
    lull_program_model_close(&model);
}

/* How much longer eight processes compute on two cores than on as many as they like. */
static double crowding_of(const struct planted *planted, struct lull_arena *arena)
{
    struct lull_program_model model = derive_planted(planted, arena);
    struct lull_term_cost total;
    double shared = longest_of(&model, "P=8", &total);
    double alone = longest_of(&model, "cores=0", &total);
    lull_program_model_close(&model);
    return shared / alone;
}

/* A run that was kept to fewer cores has more of what they share; computations that contain waiting
 * do not tell; and shorter ones are no crowding. */
static void test_what_tells_of_crowding(void **state)
{
    const struct planted kept = {.longest = own_work, .cores = 2, .crowded = 0.1, .kept = true};
    const struct planted waits = {.longest = own_work, .cores = 2, .crowded = 0.1, .waits = true};
    const struct planted less = {.longest = own_work, .cores = 2, .crowded = -0.1};
    assert_true(fabs(crowding_of(&kept, *state) - 1.3) < 1e-5);
    assert_true(fabs(crowding_of(&waits, *state) - 1) < 1e-9);
    assert_true(fabs(crowding_of(&less, *state) - 1) < 1e-9);
}

static double uncertainty_of(struct lull_program_model *model)
{
    double values[16], uncertainty = NAN;
    struct lull_error err = {""};
    lull_model_values(model, values);
    fail_if(lull_model_uncertainty(model, values, &uncertainty, &err) != LULL_OK, "%s", err.text);
    return uncertainty;
}

/* One of three runs is 2 % off, the others are met. A coefficient of the computation and the time
 * of a message leave one degree of freedom, for which Student's quantile is 12.7062. */
static void test_uncertainty(void **state)
{
    struct planted planted = {.longest = own_work, .blunder = 0.02};
    struct lull_program_model model = derive_planted(&planted, *state);
    double expected = exp(12.7062 * log(1.02) * sqrt(1 + 1.0 / 3)) - 1;
    assert_true(fabs(uncertainty_of(&model) - expected) < 1e-4);
    lull_program_model_close(&model);
    planted.cores = 1; /* which two of the runs share, and are met to rounding; one has it alone */
    model = derive_planted(&planted, *state);
    model_set(&model, "P=8");
    assert_true(isinf(uncertainty_of(&model)));
    model_set(&model, "cores=0");
    assert_true(isinf(uncertainty_of(&model)));
    lull_program_model_close(&model);
}

/* Of eight processes on a core the runs tell, of sixteen it is presumed that each other makes as
 * much longer: 2.5 instead of 1.7 times as long may as well be 1.7, or 3.3. */
static void test_uncertain_crowding(void **state)
{
    const struct planted planted = {
        .longest = own_work, .cores = 2, .crowded = 0.1, .blunder = 0.02, .n_runs = MOST_RUNS};
    struct lull_program_model model = derive_planted(&planted, *state);
    struct lull_term_cost total;
    model_set(&model, "P=4");
    double few = uncertainty_of(&model);
    assert_true(few > 0 && few < 9);
    model_set(&model, "P=16");
    assert_true(fabs(uncertainty_of(&model) - few) < 1e-6);
    assert_true(fabs(longest_of(&model, "P=32", &total) - 2.5 * TIMES * own_work(32)) < 1e-7);
    assert_true(fabs(uncertainty_of(&model) - few - 0.8 / 1.7) < 1e-4);
    lull_program_model_close(&model);
}

/* Ranks of different speed, every tenth iteration with more work, and exponential noise. */
static void test_noise(void **state)
{
    enum { RANKS = 16, ITERATIONS = 2000 };
    struct lull_measured_marks marks[RANKS];
    struct lull_distribution noise;
    struct lull_derived_disturbance found;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    lull_distribution_exponential(1e-4, &noise, NULL);
    for (size_t r = 0; r < RANKS; r++) {
        double *useful = lull_arena_zero(*state, 2 * ITERATIONS, sizeof *useful), at = 0;
        for (size_t i = 0; i < ITERATIONS; i++) { /* two marks, the first without computation */
            useful[2 * i] = at;
            at += 1e-3 + 1e-5 * (double)r + (i % 10 == 0 ? 5e-3 : 0) +
                  lull_distribution_sample(&noise, &random);
            useful[2 * i + 1] = at;
        }
        marks[r] = (struct lull_measured_marks){
            .useful = useful, .kept = 2 * ITERATIONS, .count = 2 * ITERATIONS};
    }
    assert_true(lull_disturbance_find(marks, RANKS, ITERATIONS, &found));
    const struct lull_quantiles quantiles = {found.quantiles, found.probabilities, found.count};
    /* the deviation of 32,000 draws is known to about 1 % */
    fail_if(!(fabs(found.sd - 1e-4) <= 0.05e-4), "standard deviation %g s, planted 1e-4 s",
            found.sd);
    assert_true(fabs(lull_expected_maximum_of_quantiles(&quantiles, 1)) < 1e-15);
    static const double draws[] = {16, 256};
    for (size_t i = 0; i < 2; i++) {
        double want = lull_expected_maximum(&noise, draws[i]) - 1e-4;
        double got = lull_expected_maximum_of_quantiles(&quantiles, draws[i]);
        fail_if(!(fabs(got - want) <= 0.05 * want),
                "%g draws: expected maximum %g s, of what was planted %g s", draws[i], got, want);
    }
    marks[3].kept = ITERATIONS; /* of half of the iterations */
    assert_true(lull_disturbance_find(marks, RANKS, ITERATIONS, &found));
    assert_int_equal(found.n_samples, RANKS * (ITERATIONS / 2 - 1));
    assert_true(fabs(found.sd - 1e-4) <= 0.05e-4);
    marks[3].kept = 15;
    assert_false(lull_disturbance_find(marks, RANKS, ITERATIONS, &found)); /* seven iterations */
    marks[3].kept = 2 * ITERATIONS;
    assert_false(lull_disturbance_find(marks, RANKS, 7, &found));   /* too few */
    assert_false(lull_disturbance_find(marks, RANKS, 150, &found)); /* no whole number of marks */
    assert_false(lull_disturbance_find(marks, 1, ITERATIONS, &found));
}

/* Three ranks with two marks an iteration, of which another one comes last each time, by turns: it
 * is in MPI for 7 us, or for 50 us in one of seven iterations, the others for 30 us more. */
static void test_least_in_mpi(void **state)
{
    enum { RANKS = 3, ITERATIONS = 101 };
    struct lull_measured_marks marks[RANKS];
    for (size_t r = 0; r < RANKS; r++) {
        double *useful = lull_arena_zero(*state, 2 * ITERATIONS, sizeof *useful), at = 0;
        double *when = lull_arena_zero(*state, 2 * ITERATIONS, sizeof *when), now = 0.5;
        for (size_t i = 0; i < ITERATIONS; i++) {
            useful[2 * i] = useful[2 * i + 1] = at;
            when[2 * i] = now;
            when[2 * i + 1] = now + 1e-6;
            at += 1e-3;
            now += 1e-3 + (i % 7 == 3 ? 50e-6 : 7e-6) + (i % RANKS == r ? 0 : 30e-6);
        }
        marks[r] = (struct lull_measured_marks){useful, 2 * ITERATIONS, 2 * ITERATIONS, when};
    }
    assert_true(fabs(lull_time_in_mpi_least(marks, RANKS, ITERATIONS, *state) - 7e-6) < 1e-9);
    assert_true(isnan(lull_time_in_mpi_least(marks, 1, ITERATIONS, *state)));
    marks[1].at = NULL;
    assert_true(isnan(lull_time_in_mpi_least(marks, RANKS, ITERATIONS, *state)));
}

/* The text of a model of chains on 2, 4 and 8 processes, with a number of messages of 360 bytes to
 * each neighbour. */
static char *text_of_messages(uint64_t (*messages)(uint32_t processes), struct lull_arena *arena)
{
    static const char *const names[RUNS] = {"a", "b", "c"};
    struct lull_link links[RUNS][2 * 7];
    struct lull_links of_runs[RUNS];
    double size[RUNS], seconds[RUNS], useful[RUNS];
    const double cores[RUNS] = {8, 8, 8}, threads[RUNS] = {1, 1, 1};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (uint32_t i = 0; i < RUNS; i++) {
        const uint32_t p = UINT32_C(2) << i;
        const uint64_t n = messages(p);
        uint32_t count = 0;
        for (uint32_t r = 0; r + 1 < p; r++) {
            links[i][count++] = (struct lull_link){r, r + 1, n, n * 360};
            links[i][count++] = (struct lull_link){r + 1, r, n, n * 360};
        }
        of_runs[i] = (struct lull_links){.processes = p, .items = links[i], .count = count};
        size[i] = ROWS;
        useful[i] = 1.0 / p;
        seconds[i] = useful[i] + 0.01;
    }
    struct lull_measured_region all = {.name = "", .useful = useful};
    const struct lull_measured_runs runs = {.title = "rows",
                                            .size_name = "rows",
                                            .n_runs = RUNS,
                                            .names = names,
                                            .links = of_runs,
                                            .size = size,
                                            .seconds = seconds,
                                            .cores = cores,
                                            .threads = threads,
                                            .useful = useful,
                                            .most_useful = useful,
                                            .had_cores = true,
                                            .regions = &all,
                                            .n_regions = 1};
    lull_derived_write(&runs, arena, out);
    fclose(out);
    return text;
}

static uint64_t always_ten(uint32_t processes)
{
    (void)processes;
    return 10;
}

static uint64_t ten_per_process(uint32_t processes)
{
    return 10 * (uint64_t)processes;
}

/* One message in an iteration is not written; a number that grows with the processes is. */
static void test_counts_of_messages(void **state)
{
    char *text = text_of_messages(always_ten, *state);
    assert_non_null(strstr(text, "measured_iterations = 10\n"));
    assert_null(strstr(text, "count = ("));
    free(text);
    text = text_of_messages(ten_per_process, *state);
    assert_non_null(strstr(text, "count = (10 * p.P) / measured_iterations"));
    free(text);
}

/* A chain on 2, 4 and 8 processes: 20 messages of tag 3 up the ranks and 20 of tag 4 down, one of
 * tag 9 from each process to rank 0 at the end, and 6 of each process to itself. */
static char *text_of_patterns(struct lull_arena *arena)
{
    enum { TAGS = 3 };
    static const char *const names[RUNS] = {"a", "b", "c"};
    struct lull_link links[RUNS][TAGS][7];
    struct lull_links of_tags[RUNS * TAGS], of_runs[RUNS];
    double size[RUNS], seconds[RUNS], useful[RUNS];
    const double cores[RUNS] = {8, 8, 8}, threads[RUNS] = {1, 1, 1};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (uint32_t i = 0; i < RUNS; i++) {
        const uint32_t p = UINT32_C(2) << i;
        for (uint32_t r = 0; r + 1 < p; r++) {
            links[i][0][r] = (struct lull_link){r, r + 1, 20, 20 * 360};
            links[i][1][r] = (struct lull_link){r + 1, r, 20, 20 * 360};
            links[i][2][r] = (struct lull_link){r + 1, 0, 1, 5000};
        }
        for (uint32_t t = 0; t < TAGS; t++)
            of_tags[i * TAGS + t] =
                (struct lull_links){.processes = p, .items = links[i][t], .count = p - 1};
        of_runs[i] = lull_links_join(&of_tags[i * TAGS], TAGS, p, arena);
        of_runs[i].own = 6 * p;
        size[i] = ROWS;
        useful[i] = 1.0 / p;
        seconds[i] = useful[i] + 0.01;
    }
    struct lull_measured_region all = {.name = "", .useful = useful};
    const struct lull_measured_runs runs = {
        .title = "rows",
        .size_name = "rows",
        .n_runs = RUNS,
        .names = names,
        .links = of_runs,
        .tagged = {.tags = {3, 4, 9}, .n_tags = TAGS, .links = of_tags},
        .size = size,
        .seconds = seconds,
        .cores = cores,
        .threads = threads,
        .useful = useful,
        .most_useful = useful,
        .had_cores = true,
        .regions = &all,
        .n_regions = 1};
    lull_derived_write(&runs, arena, out);
    fclose(out);
    return text;
}

/* A gather at the end leaves the halo swaps a chain. On 5 processes each of the 20 iterations has
 * 2 * 4 messages of the chain, and the 4 of the gather come once. */
static void test_patterns(void **state)
{
    char *text = text_of_patterns(*state);
    assert_non_null(strstr(text, "-- Messages: chain, those of tags 3, 4.\n"
                                 "-- Messages: star, up, those of tag 9.\n"));
    assert_non_null(strstr(text, "measured_iterations = 20\n"));
    assert_non_null(strstr(text, "messages of processes to themselves, which no term has:\n"
                                 "    -- 12 of a, 24 of b, 48 of c)\n"));
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_term_cost total;
    model_set(&model, "P=5");
    seconds_of(&model, "tree", &total);
    fail_if(!(fabs(total.messages - (20 * 8 + 4)) <= 1e-9), "%g messages", total.messages);
    fail_if(!(fabs(total.bytes - (20 * 8 * 360 + 4 * 5000)) <= 1e-6), "%g bytes", total.bytes);
    free(text);
}

TEST_GROUP(test_derived_model)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unequal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_cores, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_crowding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_tells_of_crowding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uncertainty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uncertain_crowding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_least_in_mpi, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counts_of_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patterns, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
