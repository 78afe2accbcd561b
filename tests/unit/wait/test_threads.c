/* Threads that wait for each other: by hand, and random phases between barriers against sums over
 * whole phases. Events are handed over in random blocks, in any order of the threads. */
#include "activity/pass.h"
#include "stats/random.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "wait/wait.h"

#include <stddef.h>
#include <stdlib.h>

static const char *const names[] = {"alpha", "beta", "team", "barrier",  "critical",
                                    "body",  "task", "join", "implicit", "fork",
                                    "idle",  "lock", NULL};
enum {
    ALPHA,
    BETA,
    TEAM,
    BARRIER,
    CRITICAL,
    BODY,
    TASK,
    JOIN,
    IMPLICIT,
    FORK,
    IDLE,
    LOCK,
    REGIONS
};
/* THREADS: by hand; MOST_THREADS: of random runs. */
enum { THREADS = 3, MOST_THREADS = 17, LENGTH = 1 << 30 };

struct feed {
    struct lull_trace *trace;
    uint32_t threads;
    int64_t clocks[MOST_THREADS];
};

static struct lull_trace *make_trace(uint32_t threads)
{
    static const uint8_t roles[REGIONS] = {[TEAM] = LULL_ROLE_PARALLEL,
                                           [BARRIER] = LULL_ROLE_BARRIER,
                                           [CRITICAL] = LULL_ROLE_CRITICAL,
                                           [BODY] = LULL_ROLE_CRITICAL_BODY,
                                           [TASK] = LULL_ROLE_TASK,
                                           [JOIN] = LULL_ROLE_THREAD_WAIT,
                                           [IMPLICIT] = LULL_ROLE_IMPLICIT_BARRIER,
                                           [LOCK] = LULL_ROLE_LOCK};
    static const uint8_t activities[REGIONS] = {
        [BARRIER] = LULL_OMP_SYNC,  [CRITICAL] = LULL_OMP_LOCK, [JOIN] = LULL_OMP_SYNC,
        [IMPLICIT] = LULL_OMP_SYNC, [FORK] = LULL_OMP_SCHEDULE, [IDLE] = LULL_IDLE,
        [LOCK] = LULL_OMP_LOCK};
    struct lull_trace *trace = memory_trace_simple(1, threads, LENGTH, names);
    for (uint32_t r = TEAM; r < REGIONS; r++) {
        struct lull_region *region = (struct lull_region *)&trace->regions[r];
        region->paradigm = r == JOIN ? LULL_PARADIGM_PTHREAD : LULL_PARADIGM_OPENMP;
        region->role = roles[r];
        region->activity = activities[r];
        region->user = false;
    }
    return trace;
}

static struct feed *feed_of_threads(uint32_t threads)
{
    struct feed *feed = calloc(1, sizeof *feed);
    assert_non_null(feed);
    feed->trace = make_trace(threads);
    feed->threads = threads;
    return feed;
}

static struct feed *feed_create(void)
{
    return feed_of_threads(THREADS);
}

static void put(struct feed *feed, uint32_t thread, unsigned kind, int64_t time, uint64_t number)
{
    struct lull_event event = memory_event(time, kind, (uint32_t)number);
    if (kind == LULL_EVENT_LOCK_ACQUIRE || kind == LULL_EVENT_LOCK_RELEASE ||
        kind == LULL_EVENT_THREAD_CREATE || kind == LULL_EVENT_THREAD_BEGIN ||
        kind == LULL_EVENT_THREAD_END) {
        event.id = LULL_NONE;
        event.number = number;
    } else if (kind == LULL_EVENT_THREAD_WAIT_BEGIN || kind == LULL_EVENT_THREAD_WAIT_END) {
        event.op = LULL_THREAD_WAIT_JOIN;
        event.meeting.number = number;
    }
    memory_trace_add(feed->trace, thread, &event);
}

/* Up to `end`, as the thread's time goes on. */
static void span(struct feed *feed, uint32_t thread, uint32_t region, int64_t end)
{
    if (end <= feed->clocks[thread])
        return;
    put(feed, thread, LULL_EVENT_ENTER, feed->clocks[thread], region);
    put(feed, thread, LULL_EVENT_LEAVE, end, region);
    feed->clocks[thread] = end;
}

static void barrier(struct feed *feed, uint32_t thread, int64_t end)
{
    span(feed, thread, BARRIER, end);
}

static void hand_over(struct feed *feed, struct lull_random *random,
                      struct lull_wait_result *ret_result)
{
    const struct lull_wait_options options = {.threads = true};
    const struct lull_pass_options pass_options = {.reading = NULL};
    struct lull_waits *waits;
    struct lull_pass *pass;
    uint32_t at[MOST_THREADS] = {0}, left = feed->threads;
    bool ended[MOST_THREADS] = {false};
    assert_int_equal(lull_waits_create(feed->trace, &options, &waits, NULL), LULL_OK);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    assert_int_equal(lull_pass_create(feed->trace, &pass_options, 1, &consumer, 1, &pass, NULL),
                     LULL_OK);
    for (uint32_t t = 0; t < feed->threads; t++)
        assert_int_equal(lull_pass_begin(pass, 0, t, NULL), LULL_OK);
    while (left > 0) {
        const uint32_t t = (uint32_t)lull_random_below(random, feed->threads);
        const uint32_t most = 1 + (uint32_t)lull_random_below(random, 7);
        uint32_t count;
        const struct lull_event *events = memory_trace_events(feed->trace, t, &count);
        const uint32_t rest = count - at[t];
        const struct lull_block block = {
            .location = t, .count = rest < most ? rest : most, .events = events + at[t]};
        if (ended[t])
            continue;
        if (block.count > 0)
            assert_int_equal(lull_pass_block(pass, 0, &block, NULL), LULL_OK);
        at[t] += block.count;
        ended[t] = at[t] == count;
        if (ended[t])
            assert_int_equal(lull_pass_end(pass, 0, t, NULL), LULL_OK);
        left -= ended[t];
    }
    lull_pass_destroy(pass);
    assert_int_equal(lull_waits_conclude(waits, feed->trace->arena, ret_result, NULL), LULL_OK);
    assert_null(ret_result->absent);
    lull_waits_destroy(waits);
}

static int64_t charged(const struct lull_wait_result *result, uint32_t thread, uint32_t region,
                       uint8_t kind)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < result->n_charges; i++) {
        const struct lull_wait_charge *charge = &result->charges[i];
        if (charge->place.thread == thread && charge->kind == kind &&
            (region == REGIONS || charge->place.region == region))
            sum += charge->ns;
    }
    return sum;
}

/* ---- by hand ------------------------------------------------------------------------------- */

static void seed_by_hand(struct lull_random *random)
{
    lull_random_seed(random, 3);
}

/* They come at 100, 300 and 250, and leave at 310, 305 and 330. Then they come at 400, 505 and 380,
 * and the second one is late by what it did in beta. */
static void barriers(void **state)
{
    static const int64_t comes[2][THREADS] = {{100, 300, 250}, {400, 505, 380}};
    static const int64_t leaves[2][THREADS] = {{310, 305, 330}, {510, 507, 510}};
    struct feed *feed = feed_create();
    struct lull_random random;
    struct lull_wait_result result;
    (void)state;
    seed_by_hand(&random);
    for (uint32_t t = 0; t < THREADS; t++) {
        put(feed, t, LULL_EVENT_TEAM_BEGIN, 0, 0);
        for (int k = 0; k < 2; k++) {
            span(feed, t, k == 1 && t == 1 ? BETA : ALPHA, comes[k][t]);
            barrier(feed, t, leaves[k][t]);
        }
    }
    hand_over(feed, &random, &result);
    /* 200 + 50 for alpha; 105 + 125 for beta, less what they did not wait for */
    assert_int_equal(charged(&result, 1, ALPHA, LULL_WAIT_THREAD_BARRIER), 250);
    assert_int_equal(charged(&result, 1, BETA, LULL_WAIT_THREAD_BARRIER), 230);
    assert_int_equal(result.waited_ns, 480);
    assert_int_equal(result.locations[0].waited_ns[LULL_WAIT_THREAD_BARRIER], 305);
    assert_int_equal(result.locations[0].threads_rest_ns, 10 + 5);
    assert_int_equal(result.locations[1].threads_rest_ns, 5 + 2);
    assert_int_equal(result.locations[2].threads_ns, 80 + 130);
    lull_trace_close(feed->trace);
    free(feed);
}

/* The first comes at 100 and runs a task in the barrier from 200 to 240; the last comes at 300. */
static void a_task_in_a_barrier(void **state)
{
    struct feed *feed = feed_create();
    struct lull_random random;
    struct lull_wait_result result;
    (void)state;
    seed_by_hand(&random);
    for (uint32_t t = 0; t < THREADS; t++)
        put(feed, t, LULL_EVENT_TEAM_BEGIN, 0, 0);
    span(feed, 0, ALPHA, 100);
    put(feed, 0, LULL_EVENT_ENTER, 100, BARRIER);
    put(feed, 0, LULL_EVENT_ENTER, 200, TASK);
    put(feed, 0, LULL_EVENT_LEAVE, 240, TASK);
    put(feed, 0, LULL_EVENT_LEAVE, 310, BARRIER);
    for (uint32_t t = 1; t < THREADS; t++) {
        span(feed, t, ALPHA, t == 1 ? 150 : 300);
        barrier(feed, t, 305);
    }
    hand_over(feed, &random, &result);
    assert_int_equal(result.locations[0].waited_ns[LULL_WAIT_THREAD_BARRIER], 160);
    assert_int_equal(result.locations[0].threads_rest_ns, 10);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_THREAD_BARRIER], 150);
    assert_int_equal(charged(&result, 2, REGIONS, LULL_WAIT_THREAD_BARRIER), 310);
    lull_trace_close(feed->trace);
    free(feed);
}

/* The master comes to the end at 100 and forks again at 330; the others come at 180 and 300, and
 * nothing is told of them until then. */
static void begin_region_twice(struct feed *feed, bool told)
{
    static const int64_t comes[THREADS] = {100, 180, 300};
    for (uint32_t t = 0; t < THREADS; t++) {
        put(feed, t, LULL_EVENT_TEAM_BEGIN, 0, 0);
        span(feed, t, ALPHA, comes[t]);
        if (told)
            span(feed, t, IMPLICIT, 302);
        else if (t == 0)
            span(feed, t, FORK, 305);
        span(feed, t, told ? FORK : ALPHA, told ? 305 : 0);
        put(feed, t, LULL_EVENT_TEAM_END, feed->clocks[t], 0);
        span(feed, t, t ? IDLE : BETA, 330);
        put(feed, t, LULL_EVENT_TEAM_BEGIN, 330, 0);
        span(feed, t, ALPHA, 400);
        put(feed, t, LULL_EVENT_TEAM_END, 400, 0);
        span(feed, t, t ? IDLE : BETA, 500);
    }
}

static void the_end_of_a_region(void **state)
{
    static const int64_t waited[THREADS] = {200, 120, 0};
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct feed *feed = feed_create();
        struct lull_random random;
        struct lull_wait_result result;
        seed_by_hand(&random);
        begin_region_twice(feed, told);
        hand_over(feed, &random, &result);
        assert_int_equal(charged(&result, 2, ALPHA, LULL_WAIT_THREAD_BARRIER), 320);
        for (uint32_t i = 0; i < result.n_charges; i++)
            assert_int_equal(result.charges[i].parallel, LULL_NONE); /* no region is told */
        assert_int_equal(result.waited_ns, 320);
        for (uint32_t t = 0; t < THREADS; t++) {
            const struct lull_wait_location *sums = &result.locations[t];
            assert_int_equal(sums->waited_ns[LULL_WAIT_THREAD_BARRIER], waited[t]);
            assert_int_equal(sums->threads_ends_ns, told ? 0 : waited[t]);
            assert_int_equal(sums->threads_rest_ns, told ? 2 : 0);
            assert_int_equal(sums->threads_ns, waited[t] + sums->threads_rest_ns);
        }
        lull_trace_close(feed->trace);
        free(feed);
    }
}

static void critical(struct feed *feed, uint32_t thread, int64_t has, int64_t ends)
{
    span(feed, thread, CRITICAL, has);
    span(feed, thread, BODY, ends);
}

/* One wants it at 99, the others at 100: it is had from 100 to 150, from 152 to 200, from 200 to 240. */
static void who_has_a_lock(void **state)
{
    struct feed *feed = feed_create();
    struct lull_random random;
    struct lull_wait_result result;
    (void)state;
    seed_by_hand(&random);
    for (uint32_t t = 0; t < THREADS; t++)
        span(feed, t, ALPHA, t == 2 ? 99 : 100);
    critical(feed, 2, 100, 150);
    critical(feed, 0, 152, 200);
    critical(feed, 1, 200, 240);
    hand_over(feed, &random, &result);
    assert_int_equal(charged(&result, 2, BODY, LULL_WAIT_LOCK), 100);
    assert_int_equal(charged(&result, 0, BODY, LULL_WAIT_LOCK), 48);
    assert_int_equal(result.locations[0].waited_ns[LULL_WAIT_LOCK], 50);
    assert_int_equal(result.locations[0].threads_rest_ns, 2);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_LOCK], 98);
    assert_int_equal(result.locations[1].threads_rest_ns, 2);
    lull_trace_close(feed->trace);
    free(feed);
}

static void set_lock(struct feed *feed, uint32_t thread, int64_t begin, int64_t has, int64_t end,
                     uint64_t number)
{
    put(feed, thread, LULL_EVENT_ENTER, begin, LOCK);
    put(feed, thread, LULL_EVENT_LOCK_ACQUIRE, has, number);
    put(feed, thread, LULL_EVENT_LEAVE, end, LOCK);
}

/* The first thread has lock 7 from 101 to 300, the second waits for it from 150 on, and has it at
 * 305. The last one has another lock meanwhile, twice. */
static void who_has_which_lock(void **state)
{
    struct feed *feed = feed_create();
    struct lull_random random;
    struct lull_wait_result result;
    (void)state;
    seed_by_hand(&random);
    for (uint32_t t = 0; t < THREADS; t++)
        put(feed, t, LULL_EVENT_ENTER, 0, ALPHA);
    set_lock(feed, 0, 100, 101, 102, 7);
    put(feed, 0, LULL_EVENT_LOCK_RELEASE, 300, 7);
    set_lock(feed, 1, 150, 305, 310, 7);
    put(feed, 1, LULL_EVENT_LOCK_RELEASE, 320, 7);
    set_lock(feed, 2, 160, 165, 170, 9);
    set_lock(feed, 2, 170, 172, 174, 9);
    put(feed, 2, LULL_EVENT_LOCK_RELEASE, 200, 9);
    put(feed, 2, LULL_EVENT_LOCK_RELEASE, 290, 9);
    for (uint32_t t = 0; t < THREADS; t++)
        put(feed, t, LULL_EVENT_LEAVE, 400, ALPHA);
    hand_over(feed, &random, &result);
    assert_int_equal(charged(&result, 0, ALPHA, LULL_WAIT_LOCK), 150);
    assert_int_equal(result.waited_ns, 150);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_LOCK], 150);
    assert_int_equal(result.locations[1].threads_rest_ns, 10);
    assert_int_equal(result.locations[2].threads_rest_ns, 14);
    lull_trace_close(feed->trace);
    free(feed);
}

/* The first thread makes the second at 50, and waits for it from 100 to 410; it ends at 400. */
static void the_end_of_a_thread(void **state)
{
    struct feed *feed = feed_create();
    struct lull_random random;
    struct lull_wait_result result;
    (void)state;
    seed_by_hand(&random);
    span(feed, 0, ALPHA, 50);
    put(feed, 0, LULL_EVENT_THREAD_CREATE, 50, 9);
    span(feed, 0, ALPHA, 100);
    put(feed, 0, LULL_EVENT_THREAD_WAIT_BEGIN, 100, 9);
    span(feed, 0, JOIN, 410);
    put(feed, 0, LULL_EVENT_THREAD_WAIT_END, 410, 9);
    feed->clocks[1] = 60;
    put(feed, 1, LULL_EVENT_THREAD_BEGIN, 60, 9);
    span(feed, 1, BETA, 400);
    put(feed, 1, LULL_EVENT_THREAD_END, 400, 9);
    hand_over(feed, &random, &result);
    assert_int_equal(charged(&result, 1, BETA, LULL_WAIT_THREAD_JOIN), 300);
    assert_int_equal(result.locations[0].waited_ns[LULL_WAIT_THREAD_JOIN], 300);
    assert_int_equal(result.locations[0].threads_rest_ns, 10);
    lull_trace_close(feed->trace);
    free(feed);
}

/* ---- random phases ------------------------------------------------------------------------- */

struct phase {
    int64_t work[MOST_THREADS][2]; /* by region */
    int64_t lag[MOST_THREADS];     /* with which they left the barrier before */
    int64_t comes[MOST_THREADS];
};

struct expected {
    int64_t late[MOST_THREADS]; /* in all */
    double region[MOST_THREADS][2];
    int64_t waited[MOST_THREADS];
    uint32_t waits;
};

/* What the last one did more of than who waits. */
static void expect_wait(const struct phase *phase, uint32_t last, uint32_t t,
                        struct expected *expected)
{
    const int64_t wait = phase->comes[last] - phase->comes[t];
    double excess[3], sum = 0;
    for (int r = 0; r < 2; r++)
        excess[r] = (double)(phase->work[last][r] - phase->work[t][r]);
    excess[2] = (double)(phase->lag[last] - phase->lag[t]);
    for (int r = 0; r < 3; r++)
        sum += excess[r] > 0 ? excess[r] : 0;
    for (int r = 0; r < 2; r++)
        expected->region[last][r] += excess[r] > 0 ? (double)wait * excess[r] / sum : 0;
    expected->late[last] += wait;
    expected->waited[t] += wait;
    expected->waits++;
}

static void draw_phase(struct feed *feed, struct lull_random *random, struct phase *phase,
                       struct expected *expected)
{
    uint32_t last = 0;
    for (uint32_t t = 0; t < feed->threads; t++) {
        for (int r = 0; r < 2; r++) {
            phase->work[t][r] = (int64_t)lull_random_below(random, 400);
            if (r == 1) /* no two come at the same time */
                phase->work[t][r] += (t + 32 - (feed->clocks[t] + phase->work[t][r]) % 32) % 32;
            span(feed, t, r == 0 ? ALPHA : BETA, feed->clocks[t] + phase->work[t][r]);
        }
        phase->comes[t] = feed->clocks[t];
        last = phase->comes[t] > phase->comes[last] ? t : last;
    }
    const int64_t met = phase->comes[last];
    for (uint32_t t = 0; t < feed->threads; t++) {
        if (phase->comes[t] < met)
            expect_wait(phase, last, t, expected);
        phase->lag[t] = 1 + (int64_t)lull_random_below(random, 50);
        barrier(feed, t, met + phase->lag[t]);
    }
}

static void random_phases(void **state)
{
    enum { PHASES = 200, RUNS = 20 };
    struct lull_random random;
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    for (int run = 0; run < RUNS; run++) {
        struct feed *feed =
            feed_of_threads(2 + (uint32_t)lull_random_below(&random, MOST_THREADS - 1));
        struct lull_wait_result result;
        struct expected expected = {0};
        struct phase phase = {0};
        for (uint32_t t = 0; t < feed->threads; t++)
            put(feed, t, LULL_EVENT_TEAM_BEGIN, 0, 0);
        for (int p = 0; p < PHASES; p++)
            draw_phase(feed, &random, &phase, &expected);
        hand_over(feed, &random, &result);
        for (uint32_t t = 0; t < feed->threads; t++) {
            assert_int_equal(result.locations[t].waited_ns[LULL_WAIT_THREAD_BARRIER],
                             expected.waited[t]);
            assert_int_equal(charged(&result, t, REGIONS, LULL_WAIT_THREAD_BARRIER),
                             expected.late[t]);
            for (uint32_t r = ALPHA; r <= BETA; r++)
                assert_true(labs(charged(&result, t, r, LULL_WAIT_THREAD_BARRIER) -
                                 (long)expected.region[t][r]) <= expected.waits);
        }
        lull_trace_close(feed->trace);
        free(feed);
    }
}

/* Who waits at an end leaves it when there is work again, before the next end: to that they come at
 * 400, 430 and 450. */
static void the_ends_of_two_regions(void **state)
{
    static const int64_t comes[2][THREADS] = {{100, 180, 300}, {400, 430, 450}};
    static const int64_t waited[THREADS] = {200 + 50, 120 + 20, 0};
    struct feed *feed = feed_create();
    struct lull_random random;
    struct lull_wait_result result;
    (void)state;
    seed_by_hand(&random);
    for (uint32_t t = 0; t < THREADS; t++)
        for (int k = 0; k < 2; k++) {
            put(feed, t, LULL_EVENT_TEAM_BEGIN, feed->clocks[t], 0);
            span(feed, t, ALPHA, comes[k][t]);
            if (t == 0)
                span(feed, t, FORK, comes[k][THREADS - 1]);
            put(feed, t, LULL_EVENT_TEAM_END, feed->clocks[t], 0);
            span(feed, t, t ? IDLE : BETA, 330 + 170 * k);
        }
    hand_over(feed, &random, &result);
    for (uint32_t t = 0; t < THREADS; t++) {
        assert_int_equal(result.locations[t].waited_ns[LULL_WAIT_THREAD_BARRIER], waited[t]);
        assert_int_equal(result.locations[t].threads_ends_ns, waited[t]);
    }
    assert_int_equal(charged(&result, 2, ALPHA, LULL_WAIT_THREAD_BARRIER), 320 + 70);
    lull_trace_close(feed->trace);
    free(feed);
}

TEST_GROUP(test_threads)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers),           cmocka_unit_test(a_task_in_a_barrier),
        cmocka_unit_test(who_has_a_lock),     cmocka_unit_test(the_end_of_a_thread),
        cmocka_unit_test(random_phases),      cmocka_unit_test(the_end_of_a_region),
        cmocka_unit_test(who_has_which_lock), cmocka_unit_test(the_ends_of_two_regions),
    };
    return run_cases(tests, NULL, NULL);
}
