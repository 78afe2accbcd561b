/* Scans: who is called, in which order, and how far apart. */
#include "support/memory_trace.h"
#include "support/test.h"
#include "support/uneven_trace.h"
#include "trace/scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct lull_error err;
static struct lull_trace *trace;

static int set_up(void **state)
{
    (void)state;
    trace = uneven_trace();
    return 0;
}

static int set_up_push(void **state)
{
    set_up(state);
    trace->format = &memory_format_push;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_trace_close(trace);
    return 0;
}

static uint32_t events_at(uint32_t location)
{
    uint32_t count;
    memory_trace_events(trace, location, &count);
    return count;
}

/* ---- oddities ------------------------------------------------------------------------------- */

static uint64_t count_of_oddity(void)
{
    struct lull_quirk *quirks;
    uint32_t n = lull_trace_quirks(trace, trace->arena, &quirks);
    assert_true(n <= 1);
    return n ? quirks[0].count : 0;
}

static lull_status pass_over(void *context, unsigned worker, const struct lull_block *block,
                             struct lull_error *error)
{
    (void)context;
    (void)worker;
    (void)block;
    (void)error;
    return LULL_OK;
}

static bool always(void *context, unsigned worker, uint32_t location)
{
    (void)context;
    (void)worker;
    (void)location;
    return true;
}

/* What is odd is counted once, however often and by whatever way the run is read. */
static void test_read_again(void **state)
{
    (void)state;
    struct lull_event leave = memory_event(1, LULL_EVENT_LEAVE, 0);
    memory_trace_clear(trace, 0);
    memory_trace_clear(trace, 1);
    memory_trace_add(trace, 0, &leave);
    memory_trace_add(trace, 1, &leave);
    const struct lull_visitor nobody = {.block = pass_over};
    const struct lull_scan_options all = {.application = LULL_NONE},
                                   masters = {.application = LULL_NONE, .masters_only = true};
    assert_int_equal(lull_scan(trace, &masters, &nobody, &err), LULL_OK);
    assert_true(count_of_oddity() >= 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lull_scan(trace, &all, &nobody, &err), LULL_OK);
        assert_int_equal(count_of_oddity(), 2);
    }
    if (!trace->format->reader->stream_open)
        return;
    const struct lull_abreast abreast = {.visitor = nobody, .welcome = always};
    assert_int_equal(lull_scan_abreast(trace, &all, &abreast, &err), LULL_OK);
    struct lull_cursor *cursor;
    struct lull_block block;
    assert_int_equal(lull_cursor_open(trace, 0, LULL_MASK_TIME, &cursor, &err), LULL_OK);
    do
        assert_int_equal(lull_cursor_next(cursor, &block, &err), LULL_OK);
    while (block.count > 0);
    lull_cursor_close(cursor);
    assert_int_equal(count_of_oddity(), 2);
}

/* What one process found is told to another one, once: how often, and where first. */
static void test_quirks_are_told(void **state)
{
    (void)state;
    struct lull_trace *other = uneven_trace();
    struct lull_quirk *quirks;
    size_t size;
    for (int i = 0; i < 3; i++)
        lull_trace_add_quirk(trace, "a kind", "place %d", i + 4);
    lull_trace_add_quirk(trace, "another kind", "place 9");
    lull_trace_add_quirk(other, "a kind", "place 8");
    for (int again = 0; again < 2; again++) {
        const void *bytes = lull_trace_quirks_pack(trace, trace->arena, &size);
        assert_int_equal(lull_trace_quirks_add(other, bytes, size, &err), LULL_OK);
        assert_int_equal(lull_trace_quirks(other, other->arena, &quirks), 2);
        assert_string_equal(quirks[0].kind, "a kind");
        assert_string_equal(quirks[0].first, "place 4");
        assert_int_equal(quirks[0].count, 4);
        assert_string_equal(quirks[1].kind, "another kind");
        assert_int_equal(quirks[1].count, 1);
    }
    lull_trace_close(other);
}

/* At the first block, reads the masters once more. */
static lull_status read_masters_once(void *context, unsigned worker, const struct lull_block *block,
                                     struct lull_error *error)
{
    bool *has_read = context;
    const struct lull_visitor nobody = {.block = pass_over};
    const struct lull_scan_options masters = {
        .workers = 1, .application = LULL_NONE, .masters_only = true};
    (void)worker;
    (void)block;
    if (*has_read)
        return LULL_OK;
    *has_read = true;
    return lull_scan(trace, &masters, &nobody, error);
}

/* Something is odd in each location, and during one reading another begins and ends. */
static void test_read_during_a_reading(void **state)
{
    (void)state;
    const struct lull_event leave = memory_event(1, LULL_EVENT_LEAVE, 0),
                            other = memory_event(2, LULL_EVENT_TASK_SWITCH, 0);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        memory_trace_clear(trace, l);
        memory_trace_add(trace, l, &leave);
        memory_trace_add(trace, l, &other);
    }
    bool has_read = false;
    const struct lull_visitor visitor = {.context = &has_read, .block = read_masters_once};
    const struct lull_scan_options all = {.workers = 1, .application = LULL_NONE};
    assert_int_equal(lull_scan(trace, &all, &visitor, &err), LULL_OK);
    assert_true(has_read);
    assert_int_equal(count_of_oddity(), LOCATIONS);
}

/* ---- the visitor's view ---------------------------------------------------------------------- */

struct seen {
    atomic_int inside; /* calls for this location that are running */
    unsigned begun, ended;
    uint64_t next; /* number of the event that must come */
};

struct view {
    struct seen seen[LOCATIONS];
    unsigned workers;
    atomic_bool overlapped, bad_worker, out_of_order;
    lull_status fail_with; /* of the block with this location and event */
    uint32_t fail_location;
    uint64_t fail_event;
};

static void come_in(struct view *view, struct seen *seen, unsigned worker)
{
    if (atomic_fetch_add(&seen->inside, 1) != 0)
        view->overlapped = true;
    if (worker >= view->workers)
        view->bad_worker = true;
}

static lull_status on_begin(void *context, unsigned worker, uint32_t location,
                            struct lull_error *error)
{
    struct view *view = context;
    struct seen *seen = &view->seen[location];
    (void)error;
    come_in(view, seen, worker);
    if (seen->begun++ != 0)
        view->out_of_order = true;
    atomic_fetch_sub(&seen->inside, 1);
    return LULL_OK;
}

static lull_status on_block(void *context, unsigned worker, const struct lull_block *block,
                            struct lull_error *error)
{
    struct view *view = context;
    struct seen *seen = &view->seen[block->location];
    lull_status status = LULL_OK;
    come_in(view, seen, worker);
    if (seen->begun != 1 || seen->ended != 0 || block->count == 0)
        view->out_of_order = true;
    for (uint32_t i = 0; i < block->count; i++) {
        if (block->events[i].number != seen->next)
            view->out_of_order = true;
        if (view->fail_with && block->location == view->fail_location &&
            seen->next == view->fail_event)
            status = lull_fail(error, view->fail_with, "location %u fails at event %llu",
                               block->location, (unsigned long long)seen->next);
        seen->next++;
    }
    atomic_fetch_sub(&seen->inside, 1);
    return status;
}

static lull_status on_end(void *context, unsigned worker, uint32_t location,
                          struct lull_error *error)
{
    struct view *view = context;
    struct seen *seen = &view->seen[location];
    (void)error;
    come_in(view, seen, worker);
    if (seen->begun != 1 || seen->ended++ != 0)
        view->out_of_order = true;
    atomic_fetch_sub(&seen->inside, 1);
    return LULL_OK;
}

static lull_status scan(struct view *view, struct lull_scan_options options)
{
    struct lull_visitor visitor = {view, on_begin, on_block, on_end};
    view->workers = lull_scan_workers(trace, &options);
    lull_status status = lull_scan(trace, &options, &visitor, &err);
    assert_false(view->overlapped);
    assert_false(view->bad_worker);
    assert_false(view->out_of_order);
    return status;
}

static void check_all_seen(const struct view *view, uint32_t location)
{
    assert_int_equal(view->seen[location].begun, 1);
    assert_int_equal(view->seen[location].ended, 1);
    assert_int_equal(view->seen[location].next, events_at(location));
}

static void check_not_seen(const struct view *view, uint32_t location)
{
    assert_int_equal(view->seen[location].begun, 0);
    assert_int_equal(view->seen[location].ended, 0);
    assert_int_equal(view->seen[location].next, 0);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static void test_every_event_once(void **state)
{
    (void)state;
    static const unsigned numbers[] = {1, 2, 8, 40};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        struct view view = {0};
        assert_int_equal(scan(&view, (struct lull_scan_options){.workers = numbers[n],
                                                                .application = LULL_NONE}),
                         LULL_OK);
        for (uint32_t l = 0; l < LOCATIONS; l++)
            check_all_seen(&view, l);
    }
}

static void test_number_of_workers(void **state)
{
    (void)state;
    struct lull_scan_options options = {.workers = 4};
    assert_int_equal(lull_scan_workers(trace, &options), 4);
    options.workers = 1000;
    assert_int_equal(lull_scan_workers(trace, &options), LOCATIONS);
    options.workers = 0;
    setenv("LULL_THREADS", "3", 1);
    assert_int_equal(lull_scan_workers(trace, &options), 3);
    unsetenv("LULL_THREADS");
    trace->format = &memory_format_push;
    options.workers = 4;
    assert_int_equal(lull_scan_workers(trace, &options), 1);
}

static void test_application(void **state)
{
    (void)state;
    for (uint32_t application = 0; application < 3; application++) {
        struct view view = {0};
        assert_int_equal(
            scan(&view, (struct lull_scan_options){.workers = 2, .application = application}),
            LULL_OK);
        for (uint32_t l = 0; l < LOCATIONS; l++)
            if (trace->processes[l / THREADS].application == application)
                check_all_seen(&view, l);
            else
                check_not_seen(&view, l);
    }
}

static void test_masters_only(void **state)
{
    (void)state;
    struct view view = {0};
    assert_int_equal(scan(&view, (struct lull_scan_options){.workers = 2,
                                                            .application = LULL_NONE,
                                                            .masters_only = true}),
                     LULL_OK);
    for (uint32_t l = 0; l < LOCATIONS; l++)
        if (l % THREADS == 0)
            check_all_seen(&view, l);
        else
            check_not_seen(&view, l);
}

static void test_begin_and_end_may_be_null(void **state)
{
    (void)state;
    struct view view = {.workers = 100};
    for (uint32_t l = 0; l < LOCATIONS; l++)
        view.seen[l].begun = 1;
    struct lull_visitor visitor = {.context = &view, .block = on_block};
    struct lull_scan_options options = {.workers = 2, .application = LULL_NONE};
    assert_int_equal(lull_scan(trace, &options, &visitor, &err), LULL_OK);
    for (uint32_t l = 0; l < LOCATIONS; l++)
        assert_int_equal(view.seen[l].next, events_at(l));
    assert_false(view.out_of_order);
}

static void test_no_events(void **state)
{
    (void)state;
    struct lull_visitor visitor = {.block = on_block};
    struct lull_scan_options options = {.application = LULL_NONE};
    struct lull_cursor *cursor;
    const struct lull_format *format = trace->format;
    trace->format = NULL;
    assert_int_equal(lull_scan(trace, &options, &visitor, &err), LULL_ERR_UNSUPPORTED);
    assert_int_equal(lull_cursor_open(trace, 0, 0, &cursor, &err), LULL_ERR_UNSUPPORTED);
    trace->format = format;
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_visitor_fails(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        struct view view = {
            .fail_with = LULL_ERR_CANCELLED, .fail_location = 1, .fail_event = 5000};
        strcpy(err.text, "nothing");
        assert_int_equal(
            scan(&view, (struct lull_scan_options){.workers = workers, .application = LULL_NONE}),
            LULL_ERR_CANCELLED);
        assert_string_equal(err.text, "location 1 fails at event 5000");
        assert_int_equal(view.seen[1].ended, 0);
        assert_true(view.seen[1].next < 5000 + 10000);
    }
}

static void test_visitor_fails_without_text(void **state)
{
    (void)state;
    struct view view = {.fail_with = LULL_ERR_CANCELLED, .workers = 2};
    struct lull_visitor visitor = {&view, on_begin, on_block, on_end};
    struct lull_scan_options options = {.workers = 2, .application = LULL_NONE};
    assert_int_equal(lull_scan(trace, &options, &visitor, NULL), LULL_ERR_CANCELLED);
}

/* Time runs backwards in several locations at once: one of them is told. */
static void test_stream_fails(void **state)
{
    (void)state;
    struct lull_event late = memory_event(0, LULL_EVENT_TASK_SWITCH, 0);
    late.number = EVENTS;
    for (uint32_t l = 0; l < LOCATIONS; l += THREADS)
        memory_trace_add(trace, l, &late);
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        struct view view = {0};
        assert_int_equal(
            scan(&view, (struct lull_scan_options){.workers = workers, .application = LULL_NONE}),
            LULL_ERR_FORMAT);
        assert_non_null(strstr(err.text, "time runs backwards"));
        assert_null(strstr(strstr(err.text, "time") + 1, "time runs"));
    }
}

static lull_status refuse_to_open(const struct lull_trace *of, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *error)
{
    if (location == 7)
        return lull_fail(error, LULL_ERR_IO, "location 7 cannot be opened");
    return memory_format_pull.reader->stream_open(of, location, mask, ret_stream, error);
}

static void test_stream_cannot_be_opened(void **state)
{
    (void)state;
    struct lull_reader reader = *memory_format_pull.reader;
    reader.stream_open = refuse_to_open;
    const struct lull_format format = {.name = "refuses", .reader = &reader};
    trace->format = &format;
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        struct view view = {0};
        assert_int_equal(
            scan(&view, (struct lull_scan_options){.workers = workers, .application = LULL_NONE}),
            LULL_ERR_IO);
        assert_string_equal(err.text, "location 7 cannot be opened");
        check_not_seen(&view, 7);
    }
    struct lull_cursor *cursor = NULL;
    assert_int_equal(lull_cursor_open(trace, 7, 0, &cursor, &err), LULL_ERR_IO);
    assert_null(cursor);
    trace->format = &memory_format_pull;
}

/* ---- progress -------------------------------------------------------------------------------- */

static void test_progress(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        struct view view = {0};
        struct progress_seen progress = {0};
        assert_int_equal(scan(&view, (struct lull_scan_options){.workers = workers,
                                                                .application = LULL_NONE,
                                                                .progress = see_progress,
                                                                .progress_context = &progress}),
                         LULL_OK);
        assert_false(progress.backwards);
        assert_false(progress.outside);
        assert_true(progress.calls > 1);
        assert_true(progress.last > 0.999);
    }
}

static lull_status drive_with_odd_progress(const struct lull_trace *of, uint64_t mask,
                                           bool unordered, struct lull_sink *sink,
                                           struct lull_error *error)
{
    static const double shares[] = {0, 0.2, 0.1, -1, 0.5, 1.7, 0.9};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        lull_sink_progress(sink, shares[i]);
    return memory_format_push.reader->drive(of, mask, unordered, sink, error);
}

static void test_progress_of_push_formats(void **state)
{
    (void)state;
    struct lull_reader reader = *memory_format_push.reader;
    reader.drive = drive_with_odd_progress;
    const struct lull_format format = {.name = "odd progress", .reader = &reader};
    trace->format = &format;
    struct view view = {0};
    struct progress_seen progress = {0};
    assert_int_equal(scan(&view, (struct lull_scan_options){.application = LULL_NONE,
                                                            .progress = see_progress,
                                                            .progress_context = &progress}),
                     LULL_OK);
    trace->format = &memory_format_push;
    assert_false(progress.backwards);
    assert_false(progress.outside);
    assert_true(progress.last == 1);
}

/* ---- skew ------------------------------------------------------------------------------------ */

/* One worker is held inside a block of location 0, until the others have taken what they may of
 * location 1 of the same process, and for a moment more, in which they should take nothing. */
struct hold {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned blocks[LOCATIONS]; /* begun, per location */
    unsigned ahead;             /* most blocks of location 1 while location 0 was held */
    bool held;
};

enum { MOST_AHEAD = 4 };

static lull_status hold_block(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *error)
{
    struct hold *hold = context;
    (void)worker;
    (void)error;
    pthread_mutex_lock(&hold->lock);
    hold->blocks[block->location]++;
    pthread_cond_broadcast(&hold->moved);
    if (block->location == 0 && !hold->held) {
        struct timespec until;
        hold->held = true;
        unsigned before = hold->blocks[1];
        while (hold->blocks[1] < MOST_AHEAD)
            pthread_cond_wait(&hold->moved, &hold->lock);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (pthread_cond_timedwait(&hold->moved, &hold->lock, &until) == 0)
            ;
        hold->ahead = hold->blocks[1] - before;
    }
    pthread_mutex_unlock(&hold->lock);
    return LULL_OK;
}

/* A thread takes no more than four blocks while another of its process is held in one; the block
 * that it had taken before may come on top. */
static void test_skew_is_bounded(void **state)
{
    (void)state;
    for (unsigned workers = 2; workers <= 4; workers++) {
        struct hold hold = {.held = false};
        pthread_mutex_init(&hold.lock, NULL);
        pthread_cond_init(&hold.moved, NULL);
        struct lull_visitor visitor = {.context = &hold, .block = hold_block};
        struct lull_scan_options options = {.workers = workers, .application = LULL_NONE};
        assert_int_equal(lull_scan(trace, &options, &visitor, &err), LULL_OK);
        assert_true(hold.held); /* and so others went ahead */
        fail_if(hold.ahead > MOST_AHEAD + 1,
                "%u workers: another thread of the process went ahead by %u blocks", workers,
                hold.ahead);
        pthread_cond_destroy(&hold.moved);
        pthread_mutex_destroy(&hold.lock);
    }
}

/* With one worker: the location that lags most goes next, and no process is begun early. */
struct lag {
    int64_t reached[LOCATIONS]; /* time of the last event; -1 before the first */
    bool ended[LOCATIONS];
    bool jumped, early;
};

static lull_status lag_block(void *context, unsigned worker, const struct lull_block *block,
                             struct lull_error *error)
{
    struct lag *lag = context;
    uint32_t process = block->location / THREADS;
    (void)worker;
    (void)error;
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        bool sibling = l / THREADS == process;
        if (sibling && !lag->ended[l] && lag->reached[l] < lag->reached[block->location])
            lag->jumped = true;
        if (l / THREADS < process && !lag->ended[l])
            lag->early = true;
    }
    lag->reached[block->location] = block->events[block->count - 1].time;
    return LULL_OK;
}

static lull_status lag_end(void *context, unsigned worker, uint32_t location,
                           struct lull_error *error)
{
    struct lag *lag = context;
    (void)worker;
    (void)error;
    lag->ended[location] = true;
    return LULL_OK;
}

static void test_most_lagging_goes_next(void **state)
{
    (void)state;
    struct lag lag = {.jumped = false};
    for (uint32_t l = 0; l < LOCATIONS; l++)
        lag.reached[l] = -1;
    struct lull_visitor visitor = {.context = &lag, .block = lag_block, .end = lag_end};
    struct lull_scan_options options = {.workers = 1, .application = LULL_NONE};
    assert_int_equal(lull_scan(trace, &options, &visitor, &err), LULL_OK);
    assert_false(lag.jumped);
    assert_false(lag.early);
}

#define PULL(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define PUSH(name)                                         \
    {                                                      \
#name ", push", name, set_up_push, tear_down, NULL \
    }

TEST_GROUP(test_scan)
{
    const struct CMUnitTest tests[] = {
        PULL(test_read_again),
        PULL(test_quirks_are_told),
        PULL(test_read_during_a_reading),
        PUSH(test_read_again),
        PUSH(test_read_during_a_reading),
        PULL(test_every_event_once),
        PUSH(test_every_event_once),
        PULL(test_number_of_workers),
        PULL(test_application),
        PUSH(test_application),
        PULL(test_masters_only),
        PUSH(test_masters_only),
        PULL(test_begin_and_end_may_be_null),
        PULL(test_no_events),
        PULL(test_visitor_fails),
        PUSH(test_visitor_fails),
        PULL(test_visitor_fails_without_text),
        PULL(test_stream_fails),
        PUSH(test_stream_fails),
        PULL(test_stream_cannot_be_opened),
        PULL(test_progress),
        PUSH(test_progress_of_push_formats),
        PULL(test_skew_is_bounded),
        PULL(test_most_lagging_goes_next),
    };
    return run_cases(tests, NULL, NULL);
}
