/* Rules on the memory of processes: made runs whose numbers are worked out by hand, and twins in which
 * the rules keep silent. */
#include "diagnose/diagnose.h"
#include "stats/random.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

#define GIB    (UINT64_C(1) << 30)
#define SECOND INT64_C(1000000000)

enum { RANKS = 4 };

/* Four ranks with a thread each, on two nodes with 64 GiB each, of which rank 0 and 1 are on the first;
 * every rank has 10 GiB. The run takes 100 s. */
struct made {
    struct lull_process processes[RANKS];
    struct lull_location locations[RANKS];
    struct lull_node nodes[2];
    struct lull_trace trace;
    struct lull_process_breakdown of_processes[RANKS];
    struct lull_thread_breakdown threads[RANKS];
    struct lull_breakdown breakdown;
};

static struct made *make(void)
{
    struct made *made = lull_arena_zero(arena, 1, sizeof *made);
    for (uint32_t r = 0; r < RANKS; r++) {
        const char *name = lull_arena_printf(arena, "rank %u", r);
        made->processes[r] = (struct lull_process){.name = name,
                                                   .rank = r,
                                                   .node = r / 2,
                                                   .first_location = r,
                                                   .n_locations = 1,
                                                   .n_threads = 1,
                                                   .memory = {.peak = 10 * GIB, .node = 64 * GIB}};
        made->locations[r] =
            (struct lull_location){.name = name, .process = r, .usage = {.user = 1}};
        made->of_processes[r] = (struct lull_process_breakdown){
            .name = name, .rank = r, .node = r / 2, .first_thread = r, .n_cpu_threads = 1};
    }
    made->nodes[0] = (struct lull_node){.name = "n1", .parent = LULL_NONE};
    made->nodes[1] = (struct lull_node){.name = "n2", .parent = LULL_NONE};
    made->trace = (struct lull_trace){.processes = made->processes,
                                      .n_processes = RANKS,
                                      .locations = made->locations,
                                      .n_locations = RANKS,
                                      .nodes = made->nodes,
                                      .n_nodes = 2,
                                      .duration = 100 * SECOND};
    made->breakdown = (struct lull_breakdown){.runtime_ns = 100 * SECOND,
                                              .duration_ns = 100 * SECOND,
                                              .processes = made->of_processes,
                                              .n_processes = RANKS,
                                              .threads = made->threads,
                                              .n_threads = RANKS};
    return made;
}

static uint32_t ask_made(const struct made *made, struct lull_finding **ret_findings)
{
    const struct lull_evidence evidence = {
        .path = "run", .trace = &made->trace, .breakdown = &made->breakdown};
    return lull_diagnose(&evidence, arena, ret_findings);
}

static double fact_of(const struct lull_finding *finding, const char *id)
{
    for (uint32_t i = 0; i < finding->n_facts; i++)
        if (strcmp(finding->facts[i].id, id) == 0)
            return finding->facts[i].value;
    return NAN;
}

/* ---- memory_limit ---------------------------------------------------------------------------- */

/* Ranks 2 and 3 had 32 and 28 of the 64 GiB of n2: 94 %. Of processes with 30 GiB each one fits into
 * four fifths of that, and has 47 %. With 57 GiB, which is 89 %, nothing is told. */
static void node_nearly_full(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    (void)state;
    made->processes[2].memory.peak = 32 * GIB;
    made->processes[3].memory.peak = 28 * GIB;
    assert_int_equal(ask_made(made, &finding), 1);
    assert_string_equal(lull_finding_rule_id(finding), "memory_limit");
    assert_string_equal(finding->sentence, "2 processes on n2 had up to 60.00 GiB of the 64.00 GiB "
                                           "that the node has (94 %).");
    assert_non_null(strstr(finding->cause, "The largest process, rank 2, had 32.00 GiB. With 1 "
                                           "instead of 2, each with as much, 47 %"));
    assert_int_equal(finding->place.node, 1);
    assert_int_equal(finding->lost_ns, 0);
    assert_true(fact_of(finding, "memory") == 60.0 * GIB && fact_of(finding, "processes") == 2);
    assert_true(fact_of(finding, "share") == 60.0 / 64);
    made->processes[3].memory.peak = 25 * GIB;
    assert_int_equal(ask_made(made, &finding), 0);
}

/* Rank 1 alone may have 10.5 GiB, and had 10. */
static void group_nearly_full(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    (void)state;
    made->processes[1].memory.limit = 21 * GIB / 2;
    made->processes[1].memory.group = 7;
    assert_int_equal(ask_made(made, &finding), 1);
    assert_string_equal(lull_finding_rule_id(finding), "memory_limit");
    assert_string_equal(finding->sentence,
                        "A process on n1 had up to 10.00 GiB of the 10.50 GiB that "
                        "its control group may have (95 %).");
    assert_non_null(strstr(finding->cause, "a higher limit"));
    made->processes[1].memory.limit = 12 * GIB;
    assert_int_equal(ask_made(made, &finding), 0);
}

/* Nobody knows how much there is, or how much they had. */
static void unknown_memory(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++)
        made->processes[r].memory = (struct lull_process_memory){.peak = 100 * GIB};
    assert_int_equal(ask_made(made, &finding), 0);
    for (uint32_t r = 0; r < RANKS; r++)
        made->processes[r].memory = (struct lull_process_memory){.node = 64 * GIB};
    assert_int_equal(ask_made(made, &finding), 0);
}

/* ---- swapping -------------------------------------------------------------------------------- */

/* Of rank 0 and rank 3, which had 20 GiB together, 3 GiB were swapped out; 500 page faults read a
 * disk. */
static void needed_again(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    (void)state;
    made->processes[0].memory.swapped = GIB;
    made->processes[3].memory.swapped = 2 * GIB;
    made->locations[2].usage.major = 500;
    assert_int_equal(ask_made(made, &finding), 1);
    assert_string_equal(lull_finding_rule_id(finding), "swapping");
    assert_string_equal(finding->sentence,
                        "3.000 GiB of the memory of 2 processes were swapped out, "
                        "most of rank 3 (2.000 GiB).");
    assert_int_equal(finding->place.rank, 3);
    assert_true(fact_of(finding, "disk") == 500 && fact_of(finding, "swapped") == 3.0 * GIB);
    assert_non_null(strstr(finding->cause, "500 times"));
}

/* What nobody needed again, and less than a hundredth, is not told. */
static void not_needed_again(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    (void)state;
    made->processes[0].memory.swapped = GIB;
    assert_int_equal(ask_made(made, &finding), 0);
    made->locations[0].usage.major = 500;
    made->processes[0].memory.swapped = GIB / 11;
    assert_int_equal(ask_made(made, &finding), 0);
}

/* ---- memory_growth --------------------------------------------------------------------------- */

#define MIB ((uint64_t)1 << 20)

/* Readings once a second: 10 GiB, so many MiB more in each second up to a time, so many of every second reading that are
 * given back, and as many at random. */
struct course {
    double rate;
    int until; /* s */
    double sawtooth, noise;
};

static void read_memory_of(struct made *made, uint32_t rank, const struct course *course,
                           struct lull_random *random)
{
    struct lull_process *process = &made->processes[rank];
    process->readings = lull_arena_zero(arena, 101, sizeof *process->readings);
    process->n_readings = 101;
    for (int s = 0; s <= 100; s++) {
        const double mib = course->rate * (s < course->until ? s : course->until) +
                           (s % 2 ? course->sawtooth : 0) +
                           (random ? course->noise * lull_random_uniform(random) : 0);
        process->readings[s] =
            (struct lull_memory_reading){s * SECOND, 10 * GIB + (uint64_t)(mib * (double)MIB)};
    }
}

/* Rank 1 has 16 MiB more each second, beside 1 GiB that it allocates and frees again; rank 0 has 8 MiB
 * more. At the end they have 10 GiB + 1600 MiB and 10 GiB + 800 MiB. Of the 64 GiB of n1 42656 MiB are
 * left, which 24 MiB/s use up in 1777 s. */
static void leak(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    (void)state;
    read_memory_of(made, 0, &(struct course){.rate = 8, .until = 100}, NULL);
    read_memory_of(made, 1, &(struct course){.rate = 16, .until = 100, .sawtooth = 1024}, NULL);
    read_memory_of(made, 2, &(struct course){.sawtooth = 1024}, NULL);
    assert_int_equal(ask_made(made, &finding), 1);
    assert_string_equal(lull_finding_rule_id(finding), "memory_growth");
    assert_string_equal(finding->sentence,
                        "The memory of rank 1 grows all the time: by 16.00 MiB in each second "
                        "(16.00 MiB to 16.00 MiB). That of 1 other does, too, by less.");
    assert_non_null(strstr(finding->cause,
                           "The 64.00 GiB that n1 has will be used up after another "
                           "1777.3 s (1777.3 s to 1777.3 s)."));
    assert_true(fabs(fact_of(finding, "growth") - 16.0 * (double)MIB) < 1);
    assert_true(fabs(fact_of(finding, "left") - 1e9 * 42656 / 24) < 1e6);
    assert_true(fact_of(finding, "processes") == 2);
    assert_int_equal(finding->place.rank, 1);
    made->processes[1].memory.limit = 12 * GIB; /* of which it has 448 MiB left: 28 s */
    made->processes[1].memory.group = 5;
    assert_int_equal(ask_made(made, &finding), 1);
    assert_non_null(strstr(finding->cause, "The 12.00 GiB that its control group may have on n1 "));
    assert_true(fabs(fact_of(finding, "left") - 28e9) < 1e6);
}

/* The twins: it grows up to the middle only; what grows is given back; it grows by less than a hundredth; its recorder
 * may have taken it; there are too few readings; it grows before the part that is looked at. */
static void no_leak(void **state)
{
    struct made *made = make();
    struct lull_finding *finding;
    struct lull_interval late = {50 * SECOND, 100 * SECOND}, early = {0, 50 * SECOND};
    struct lull_interval *intervals[RANKS] = {&late, &late, &late, &late};
    uint32_t counts[RANKS] = {1, 1, 1, 1};
    struct lull_windows windows = {RANKS, intervals, counts};
    const struct lull_reading reading = {.windows = &windows};
    const struct lull_evidence evidence = {
        .path = "run", .trace = &made->trace, .reading = &reading, .breakdown = &made->breakdown};
    (void)state;
    read_memory_of(made, 0, &(struct course){.rate = 16, .until = 60}, NULL);
    assert_int_equal(ask_made(made, &finding), 0);
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 0);
    for (uint32_t r = 0; r < RANKS; r++)
        intervals[r] = &early;
    assert_int_equal(lull_diagnose(&evidence, arena, &finding), 1);
    assert_true(fabs(fact_of(finding, "growth") - 16.0 * (double)MIB) < 1);
    read_memory_of(made, 0, &(struct course){.sawtooth = 2048}, NULL);
    assert_int_equal(ask_made(made, &finding), 0);
    read_memory_of(made, 0, &(struct course){.rate = 2, .until = 100}, NULL);
    assert_int_equal(ask_made(made, &finding), 0);
    read_memory_of(made, 0, &(struct course){.rate = 16, .until = 100}, NULL);
    assert_int_equal(ask_made(made, &finding), 1);
    for (uint32_t i = 0; i < made->processes[0].n_readings; i++)
        made->processes[0].readings[i].bytes /= 4096;
    assert_int_equal(ask_made(made, &finding), 0);
    read_memory_of(made, 0, &(struct course){.rate = 16, .until = 100}, NULL);
    made->processes[0].n_readings = 31;
    assert_int_equal(ask_made(made, &finding), 0);
}

/* With noise the interval has the true growth in 95 of 100 runs: in 190 of 200, give or take three standard
 * deviations of a binomial distribution, which are 9. */
static void interval_of_growth(void **state)
{
    enum { RUNS = 200 };
    const struct course course = {.rate = 16, .until = 100, .noise = 40};
    struct lull_random random;
    unsigned holds = 0;
    (void)state;
    lull_random_seed(&random, 42);
    for (unsigned run = 0; run < RUNS; run++) {
        struct made *made = make();
        struct lull_finding *finding;
        read_memory_of(made, 0, &course, &random);
        if (ask_made(made, &finding) == 0)
            continue; /* the noise hides it: silent */
        const double rate = 16.0 * (double)MIB;
        holds += fact_of(finding, "growth_low") <= rate && rate <= fact_of(finding, "growth_high");
    }
    assert_in_range(holds, 181, 199);
}

TEST_GROUP(test_memory_rules)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(node_nearly_full), ARENA_TEST(group_nearly_full),  ARENA_TEST(unknown_memory),
        ARENA_TEST(needed_again),     ARENA_TEST(not_needed_again),   ARENA_TEST(leak),
        ARENA_TEST(no_leak),          ARENA_TEST(interval_of_growth),
    };
    return run_cases(tests, NULL, NULL);
}
