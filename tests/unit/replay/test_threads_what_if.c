/* What if the threads of parallel regions lost nothing, worked out by hand: one process with two or
 * three threads, in ns. */
#include "replay/what_if/what_if.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

enum { PARALLEL, BARRIER, CRITICAL, YIELD, OTHER_PARALLEL, SOLVE };
static const char *const names[] = {"!$omp parallel",
                                    "!$omp implicit barrier",
                                    "!$omp critical",
                                    "!$omp taskyield",
                                    "!$omp parallel b",
                                    "solve",
                                    NULL};

/* A region from begin to end; those inside follow. */
struct visit {
    int64_t begin, end;
    uint32_t region;
};

/* What a thread does: visits by their begin. */
static void add_visits(struct lull_trace *trace, uint32_t location, const struct visit *visits,
                       size_t n)
{
    const struct visit *open[8];
    size_t depth = 0;
    for (size_t i = 0; i <= n; i++) {
        while (depth > 0 && (i == n || open[depth - 1]->end <= visits[i].begin)) {
            const struct visit *last = open[--depth];
            const struct lull_event leave = memory_event(last->end, LULL_EVENT_LEAVE, last->region);
            memory_trace_add(trace, location, &leave);
        }
        if (i == n)
            return;
        const struct lull_event enter =
            memory_event(visits[i].begin, LULL_EVENT_ENTER, visits[i].region);
        memory_trace_add(trace, location, &enter);
        open[depth++] = &visits[i];
    }
}
#define ADD(trace, location, ...)                                    \
    add_visits(trace, location, (const struct visit[]){__VA_ARGS__}, \
               sizeof((const struct visit[]){__VA_ARGS__}) / sizeof(struct visit))

static int64_t replay(const struct lull_trace *trace, const struct lull_what_if_options *wanted)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err = {""};
    struct lull_what_if *what_if = NULL;
    struct lull_replay_options options = {0};
    struct lull_program *program = NULL;
    struct lull_network network;
    struct lull_sim_result result;
    const struct lull_sim_options simulation = {.network = &network};
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_what_if_create(trace, wanted, NULL, &what_if, &err) != LULL_OK ||
                lull_what_if_conclude(what_if, &options, &err) != LULL_OK ||
                lull_replay_open(trace, &options, &program, &err) != LULL_OK ||
                lull_simulate(program, &simulation, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    const int64_t runtime = result.runtime;
    lull_program_close(program);
    lull_what_if_destroy(what_if);
    lull_arena_destroy(arena);
    return runtime;
}

enum {
    BALANCED = 1 << LULL_THREADS_BALANCED,
    NO_LOCKS = 1 << LULL_THREADS_NO_LOCKS,
    NO_SCHEDULING = 1 << LULL_THREADS_NO_SCHEDULING,
    NO_SERIAL = 1 << LULL_THREADS_NO_SERIAL
};

/* How long it takes if a share of what these changes take away is gone, of all regions or (not NULL) of
 * one. */
static int64_t with_share(const struct lull_trace *trace, unsigned changes, const char *region,
                          double share)
{
    struct lull_what_if_options wanted = {0};
    for (uint8_t change = 0; change < LULL_THREADS_CHANGES; change++)
        if (changes >> change & 1)
            wanted.threads[wanted.n_threads++] =
                (struct lull_what_if_threads){change, region, share};
    return replay(trace, &wanted);
}

/* ... or all of it. */
static int64_t with(const struct lull_trace *trace, unsigned changes, const char *region)
{
    return with_share(trace, changes, region, 0);
}

/* From 100 to 500 the master is busy for 100 and then in the barrier; its worker begins 10 later,
 * and computes for 380. Both would be there after 240 each and the worker's 10: 250 instead of 390.
 * Without scheduling the worker comes 10 earlier; with both they come after 240. */
static void test_uneven_threads(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 1000, names);
    ADD(trace, 0, {100, 500, PARALLEL}, {200, 490, BARRIER});
    ADD(trace, 1, {110, 495, PARALLEL}, {490, 495, BARRIER});
    assert_int_equal(with(trace, 0, NULL), 1000);
    assert_int_equal(with(trace, BALANCED, NULL), 860);
    assert_int_equal(with(trace, NO_SCHEDULING, NULL), 990);
    assert_int_equal(with(trace, BALANCED | NO_SCHEDULING, NULL), 850);
    assert_int_equal(with(trace, NO_LOCKS, NULL), 1000);
    /* 100 before and 500 behind the region, by two threads */
    assert_int_equal(with(trace, NO_SERIAL, NULL), 700);
    assert_int_equal(with(trace, NO_SERIAL | BALANCED, NULL), 560);
    /* half of 140, of 10 and of 300 less */
    assert_int_equal(with_share(trace, BALANCED, NULL, 0.5), 930);
    assert_int_equal(with_share(trace, NO_SCHEDULING, NULL, 0.5), 995);
    assert_int_equal(with_share(trace, NO_SERIAL, NULL, 0.5), 850);
    assert_int_equal(with_share(trace, BALANCED, NULL, 1), 860);
    lull_trace_close(trace);
}

/* Two parts. In the first the worker waits 40 for a lock and comes last, after 160; in the second,
 * from 270 on, the master waits 30 and comes last, after 100, the worker after 80. Without locks
 * the first takes 120 and the second 80, so that 40 and 20 are saved. */
static void test_locks(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 500, names);
    ADD(trace, 0, {100, 400, PARALLEL}, {200, 270, BARRIER}, {300, 330, CRITICAL},
        {370, 400, BARRIER});
    ADD(trace, 1, {100, 400, PARALLEL}, {150, 190, CRITICAL}, {260, 270, BARRIER},
        {350, 400, BARRIER});
    assert_int_equal(with(trace, NO_LOCKS, NULL), 440);
    assert_int_equal(with(trace, NO_SCHEDULING, NULL), 500);
    /* Without half of their waits the first takes 140, and the second 85: the master's. */
    assert_int_equal(with_share(trace, NO_LOCKS, NULL, 0.5), 500 - 20 - 15);
    lull_trace_close(trace);
}

/* The same to get iterations: of the thread that comes first it matters to nobody. */
static void test_scheduling(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 500, names);
    ADD(trace, 0, {100, 300, PARALLEL}, {120, 150, YIELD}, {180, 300, BARRIER});
    ADD(trace, 1, {100, 300, PARALLEL}, {200, 225, YIELD}, {290, 300, BARRIER});
    assert_int_equal(with(trace, NO_SCHEDULING, NULL), 475);
    lull_trace_close(trace);
}

/* Balance goes from barrier to barrier: either thread is late once, by 100, and each part takes 50
 * less. Over all they compute alike. */
static void test_parts(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 500, names);
    ADD(trace, 0, {0, 400, PARALLEL}, {50, 150, BARRIER}, {300, 310, BARRIER});
    ADD(trace, 1, {0, 400, PARALLEL}, {150, 160, BARRIER}, {210, 310, BARRIER});
    /* Computed: 50 and 150; 150 and 50. */
    assert_int_equal(with(trace, BALANCED, NULL), 400);
    lull_trace_close(trace);
}

/* The second thread comes to one barrier more: the whole is one part, in which they are busy for
 * 300 and 80. */
static void test_different_barriers(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 400, names);
    ADD(trace, 0, {0, 310, PARALLEL}, {300, 310, BARRIER});
    ADD(trace, 1, {0, 310, PARALLEL}, {30, 100, BARRIER}, {150, 310, BARRIER});
    assert_int_equal(with(trace, BALANCED, NULL), 400 - (300 - 190));
    lull_trace_close(trace);
}

/* Only what is named; a thread that takes no part does not count. */
static void test_named(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 3, 1000, names);
    ADD(trace, 0, {100, 300, PARALLEL}, {150, 300, BARRIER}, {400, 700, OTHER_PARALLEL},
        {700, 900, SOLVE});
    ADD(trace, 1, {100, 300, PARALLEL}, {290, 300, BARRIER}, {400, 500, OTHER_PARALLEL});
    /* 50 and 190 make 120 each; 300 and 100 make 200 each */
    assert_int_equal(with(trace, BALANCED, NULL), 1000 - 70 - 100);
    assert_int_equal(with(trace, BALANCED, "!$omp parallel"), 1000 - 70);
    assert_int_equal(with(trace, BALANCED, "!$omp parallel b"), 1000 - 100);
    assert_int_equal(with(trace, NO_SERIAL, "solve"), 800 + 67);
    lull_trace_close(trace);
}

/* What is told is always shorter: threads in balance, and nothing to do, change nothing. */
static void test_nothing_to_gain(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 2, 500, names);
    ADD(trace, 0, {100, 300, PARALLEL}, {200, 300, BARRIER});
    ADD(trace, 1, {100, 300, PARALLEL}, {200, 300, BARRIER});
    assert_int_equal(with(trace, BALANCED | NO_LOCKS | NO_SCHEDULING, NULL), 500);
    lull_trace_close(trace);
}

/* What is typed, and how it is spelled again. */
static void test_shares_as_text(void **state)
{
    static const struct {
        const char *text, *region;
        double share;
    } cases[] = {{NULL, NULL, 0},
                 {"solve", "solve", 0},
                 {"share=0.25", NULL, 0.25},
                 {"share=0.25,region=f<int, 2>", "f<int, 2>", 0.25},
                 {"share", "share", 0}};
    static const char *const wrong[] = {"share=",      "share=0",     "share=1.5",
                                        "share=0.5,",  "share=0.5,r", "share=0.5,region=",
                                        "share=0.5 x", "share=nan",   "share=-1"};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err;
    const char *region;
    double share;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_what_if_options options = {.n_threads = 1};
        const char **words;
        assert_int_equal(
            lull_what_if_extent_read(cases[i].text, "--no-serial", arena, &region, &share, &err),
            LULL_OK);
        assert_true(share == cases[i].share);
        assert_true(region ? cases[i].region && strcmp(region, cases[i].region) == 0
                           : !cases[i].region);
        options.threads[0] = (struct lull_what_if_threads){LULL_THREADS_NO_SERIAL, region, share};
        assert_int_equal(lull_what_if_spell(&options, arena, &words), 1);
        assert_string_equal(
            words[0], cases[i].text ? lull_arena_printf(arena, "--no-serial=%s", cases[i].text)
                                    : "--no-serial");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            lull_what_if_extent_read(wrong[i], "--no-serial", arena, &region, &share, &err),
            LULL_ERR_RANGE);
        assert_non_null(strstr(err.text, "--no-serial is 'share="));
    }
    lull_arena_destroy(arena);
}

static void check_refused(const struct lull_trace *trace, const struct lull_what_if_options *wanted,
                          const char *expected)
{
    struct lull_what_if *what_if = NULL;
    struct lull_error err;
    assert_int_equal(lull_what_if_create(trace, wanted, NULL, &what_if, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, expected);
}

static void test_refused(void **state)
{
    (void)state;
    struct lull_what_if_options wanted = {.n_threads = 1,
                                          .threads = {{LULL_THREADS_BALANCED, "!$omp paralel", 0}}};
    struct lull_trace *trace = memory_trace_simple(1, 2, 500, names);
    check_refused(trace, &wanted,
                  "memory: has no parallel region '!$omp paralel'; did you mean '!$omp parallel'?");
    wanted.threads[0].region = "solve";
    check_refused(trace, &wanted, "memory: has no parallel region 'solve'");
    wanted.threads[0] = (struct lull_what_if_threads){LULL_THREADS_NO_SERIAL, "solv", 0};
    check_refused(trace, &wanted, "memory: has no region 'solv'; did you mean 'solve'?");
    lull_trace_close(trace);
    wanted.threads[0].region = NULL;
    trace = memory_trace_simple(2, 1, 500, names);
    check_refused(trace, &wanted, "memory: has one thread in each process");
    lull_trace_close(trace);
    trace = memory_trace_simple(1, 2, 500, (const char *const[]){"solve", NULL});
    check_refused(trace, &wanted, "memory: has no parallel regions of OpenMP");
    lull_trace_close(trace);
}

TEST_GROUP(test_threads_what_if)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven_threads),     cmocka_unit_test(test_locks),
        cmocka_unit_test(test_scheduling),         cmocka_unit_test(test_parts),
        cmocka_unit_test(test_different_barriers), cmocka_unit_test(test_named),
        cmocka_unit_test(test_nothing_to_gain),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_shares_as_text),
    };
    return run_cases(tests, NULL, NULL);
}
