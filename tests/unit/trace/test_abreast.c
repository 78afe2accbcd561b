/* Scans in which each worker reads its locations abreast. */
#include "support/memory_trace.h"
#include "support/test.h"
#include "support/uneven_trace.h"
#include "trace/scan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct lull_process_range everybody = {0, 0};

enum { MOST_WORKERS = 8 };

struct watch {
    struct lull_trace *trace;
    unsigned workers;
    pthread_mutex_t lock;
    unsigned worker[LOCATIONS];
    uint64_t events[LOCATIONS];
    int64_t reached[LOCATIONS];
    bool begun[LOCATIONS], ended[LOCATIONS];
    unsigned finished[MOST_WORKERS];
    unsigned out_of_turn; /* blocks of locations that did not lag most */
    uint32_t unwelcome;   /* not welcome until all others of its worker have ended; or LULL_NONE */
    uint32_t turn;        /* the only welcome one, another after each block; or LULL_NONE */
    unsigned rests, too_early;
    uint32_t fails_at; /* a block of this location fails */
    unsigned stops;
};

static void begin_watch(struct watch *watch, struct lull_trace *trace, unsigned workers)
{
    memset(watch, 0, sizeof *watch);
    watch->trace = trace;
    watch->workers = workers;
    watch->unwelcome = watch->fails_at = watch->turn = LULL_NONE;
    pthread_mutex_init(&watch->lock, NULL);
}

static lull_status begin_location(void *context, unsigned worker, uint32_t location,
                                  struct lull_error *err)
{
    struct watch *watch = context;
    (void)err;
    pthread_mutex_lock(&watch->lock);
    watch->begun[location] = true;
    watch->worker[location] = worker;
    pthread_mutex_unlock(&watch->lock);
    return LULL_OK;
}

static bool others_have_ended(const struct watch *watch, uint32_t location)
{
    for (uint32_t l = 0; l < LOCATIONS; l++)
        if (l != location && watch->begun[l] && !watch->ended[l] &&
            watch->worker[l] == watch->worker[location])
            return false;
    return true;
}

/* The last one is the next, too. */
static void pass_turn(struct watch *watch)
{
    for (uint32_t i = 0; i < LOCATIONS && watch->turn != LULL_NONE; i++) {
        watch->turn = (watch->turn + 4) % LOCATIONS;
        if (!watch->ended[watch->turn])
            return;
    }
}

static lull_status take_block(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *err)
{
    struct watch *watch = context;
    uint32_t location = block->location;
    if (location == watch->fails_at)
        return lull_fail(err, LULL_ERR_RANGE, "enough");
    pthread_mutex_lock(&watch->lock);
    if (watch->worker[location] != worker || !watch->begun[location] || watch->ended[location])
        watch->out_of_turn += 1000;
    for (uint32_t l = 0; l < LOCATIONS; l++)
        if (l != watch->unwelcome && watch->begun[l] && !watch->ended[l] &&
            watch->worker[l] == worker && watch->reached[l] < watch->reached[location])
            watch->out_of_turn++;
    if (location == watch->unwelcome && !others_have_ended(watch, location))
        watch->too_early++;
    watch->reached[location] = block->events[block->count - 1].time;
    watch->events[location] += block->count;
    pass_turn(watch);
    pthread_mutex_unlock(&watch->lock);
    return LULL_OK;
}

static lull_status end_location(void *context, unsigned worker, uint32_t location,
                                struct lull_error *err)
{
    struct watch *watch = context;
    (void)worker, (void)err;
    pthread_mutex_lock(&watch->lock);
    watch->ended[location] = true;
    if (watch->turn == location)
        pass_turn(watch);
    pthread_mutex_unlock(&watch->lock);
    return LULL_OK;
}

static bool is_welcome(void *context, unsigned worker, uint32_t location)
{
    struct watch *watch = context;
    (void)worker;
    pthread_mutex_lock(&watch->lock);
    bool welcome = location != watch->unwelcome || watch->rests > 2;
    welcome &= watch->turn == LULL_NONE || watch->turn == location;
    pthread_mutex_unlock(&watch->lock);
    return welcome;
}

static lull_status rest(void *context, unsigned worker, struct lull_error *err)
{
    struct watch *watch = context;
    (void)worker, (void)err;
    pthread_mutex_lock(&watch->lock);
    watch->rests++;
    pthread_mutex_unlock(&watch->lock);
    return LULL_OK;
}

static lull_status finish(void *context, unsigned worker, struct lull_error *err)
{
    struct watch *watch = context;
    (void)err;
    watch->finished[worker]++;
    return LULL_OK;
}

static void stop(void *context)
{
    struct watch *watch = context;
    watch->stops++;
}

static lull_status scan(struct watch *watch, struct lull_error *err)
{
    const struct lull_scan_options options = {.application = LULL_NONE, .workers = watch->workers};
    const struct lull_abreast abreast = {.visitor = {.context = watch,
                                                     .begin = begin_location,
                                                     .block = take_block,
                                                     .end = end_location},
                                         .welcome = is_welcome,
                                         .rest = rest,
                                         .finish = finish,
                                         .stop = stop};
    return lull_scan_abreast(watch->trace, &options, &abreast, err);
}

static void check_all_seen(const struct watch *watch)
{
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        uint32_t count;
        memory_trace_events(watch->trace, l, &count);
        assert_true(watch->begun[l] && watch->ended[l]);
        assert_int_equal(watch->events[l], count);
        assert_int_equal(watch->worker[l],
                         lull_scan_worker_of(watch->trace, everybody, watch->workers,
                                             watch->trace->locations[l].process));
    }
    for (unsigned w = 0; w < watch->workers; w++)
        assert_int_equal(watch->finished[w], 1);
    assert_int_equal(watch->stops, 0);
}

static void test_the_one_that_lags_goes_next(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++) {
        struct lull_error err = {""};
        struct watch watch;
        begin_watch(&watch, uneven_trace(), workers);
        assert_int_equal(scan(&watch, &err), LULL_OK);
        check_all_seen(&watch);
        assert_int_equal(watch.out_of_turn, 0);
        lull_trace_close(watch.trace);
    }
}

static void test_one_that_is_not_welcome_comes_last(void **state)
{
    (void)state;
    struct lull_error err = {""};
    struct watch watch;
    begin_watch(&watch, uneven_trace(), 2);
    watch.unwelcome = 4;
    assert_int_equal(scan(&watch, &err), LULL_OK);
    check_all_seen(&watch);
    assert_true(watch.rests > 2);
    assert_int_equal(watch.too_early, 0);
    lull_trace_close(watch.trace);
}

/* Who becomes welcome by what was read of another is found before anybody rests. */
static void test_nobody_rests_where_one_is_welcome(void **state)
{
    (void)state;
    struct lull_error err = {""};
    struct watch watch;
    begin_watch(&watch, uneven_trace(), 1);
    watch.turn = 3;
    assert_int_equal(scan(&watch, &err), LULL_OK);
    check_all_seen(&watch);
    assert_int_equal(watch.rests, 0);
    lull_trace_close(watch.trace);
}

static void test_failure_stops_all(void **state)
{
    (void)state;
    struct lull_error err = {""};
    struct watch watch;
    begin_watch(&watch, uneven_trace(), 3);
    watch.fails_at = 7;
    assert_int_equal(scan(&watch, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "enough");
    assert_int_equal(watch.stops, 1);
    lull_trace_close(watch.trace);
}

static void test_one_sequence_has_one_worker(void **state)
{
    (void)state;
    struct lull_error err = {""};
    struct watch watch;
    begin_watch(&watch, uneven_trace(), 1);
    watch.trace->format = &memory_format_push;
    assert_int_equal(scan(&watch, &err), LULL_OK);
    check_all_seen(&watch);
    lull_trace_close(watch.trace);
}

/* Whoever asks gets one that exists. */
static void test_a_process_without_locations_has_a_worker(void **state)
{
    (void)state;
    struct lull_trace *trace = uneven_trace();
    struct lull_process *last = &trace->processes[PROCESSES - 1];
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++) {
        last->first_location = LOCATIONS;
        assert_true(lull_scan_worker_of(trace, everybody, workers, PROCESSES - 1) < workers);
        last->first_location = LULL_NONE;
        assert_true(lull_scan_worker_of(trace, everybody, workers, PROCESSES - 1) < workers);
    }
    lull_trace_close(trace);
}

TEST_GROUP(test_abreast)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_without_locations_has_a_worker),
        cmocka_unit_test(test_the_one_that_lags_goes_next),
        cmocka_unit_test(test_one_that_is_not_welcome_comes_last),
        cmocka_unit_test(test_nobody_rests_where_one_is_welcome),
        cmocka_unit_test(test_failure_stops_all),
        cmocka_unit_test(test_one_sequence_has_one_worker),
    };
    return run_cases(tests, NULL, NULL);
}
