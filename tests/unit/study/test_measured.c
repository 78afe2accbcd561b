/* How far a replay on the measured network misses a run is told, where it is much or not known. */
#include "study/replay/replayed_run.h"
#include "study/runs.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SEND, RECV, BARRIER };
enum { PERIOD = 10000, LATENCY = 1000 };
static const char *const names[] = {"MPI_Send", "MPI_Recv", "MPI_Barrier", NULL};

static struct lull_arena *arena;
static struct lull_notices notices;
static struct lull_run run;
static int64_t answered; /* when process 1 was done with that */

static void call(uint32_t location, uint32_t region, int64_t begin, int64_t end, uint64_t bytes)
{
    struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region);
    struct lull_event leave = memory_event(end, LULL_EVENT_LEAVE, region);
    bool sends = region == SEND;
    struct lull_event event = memory_event(sends ? begin : end, LULL_EVENT_SEND, 0);
    event.kind = sends ? LULL_EVENT_SEND : LULL_EVENT_RECV;
    event.message.peer = 1 - (int32_t)location;
    event.message.tag = 1;
    event.message.bytes = bytes;
    event.message.request = LULL_NO_REQUEST;
    memory_trace_add(run.trace, location, &enter);
    memory_trace_add(run.trace, location, &event);
    memory_trace_add(run.trace, location, &leave);
}

static void barrier(uint32_t location, int64_t begin, int64_t end)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, BARRIER),
                                  memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, 0),
                                  memory_event(end, LULL_EVENT_COLLECTIVE_END, 0),
                                  memory_event(end, LULL_EVENT_LEAVE, BARRIER)};
    for (int i = 0; i < 4; i++) {
        events[i].op = LULL_COLLECTIVE_BARRIER;
        events[i].collective.request = LULL_NO_REQUEST;
        events[i].collective.root = LULL_ANY;
        memory_trace_add(run.trace, location, &events[i]);
    }
}

static void begin(int64_t periods)
{
    arena = lull_arena_create(NULL);
    notices = (struct lull_notices){.arena = arena};
    run = (struct lull_run){.path = "memory", .name = "it"};
    run.trace = memory_trace_simple(2, 1, periods * PERIOD, names);
    memory_trace_world(run.trace, 2);
    answered = 0;
}

/* Once a period process 0 sends, gets an answer, and computes for the rest of it: a message takes
 * 1,000 ns, and process 1 computes for 100 before it answers. Of a period of 10,000 an ideal
 * network leaves 8,000. The last 1,000 ns of the run are one more message, whose sender keeps its
 * time. */
static void exchange(int64_t t)
{
    call(0, SEND, t, t + 10, 8);
    call(0, RECV, t + 10, t + 2 * LATENCY + 100, 8);
    call(1, RECV, answered, t + LATENCY, 8);
    answered = t + LATENCY + 110;
    call(1, SEND, answered - 10, answered, 8);
}

static void play(int64_t periods)
{
    begin(periods);
    for (int64_t i = 0; i < periods; i++)
        exchange(i * PERIOD);
}

static void analyse(uint64_t check)
{
    const struct lull_runs_options options = {.check = check};
    const int64_t last = run.trace->duration;
    struct lull_error err = {""};
    call(0, SEND, last - LATENCY, last, 8);
    call(1, RECV, answered, last, 8);
    fail_if(lull_run_analyse(&run, NULL, &options, &notices, arena, &err) != LULL_OK, "%s",
            err.text);
}

static bool told(const char *part)
{
    for (size_t i = 0; i < notices.count; i++)
        if (strstr(notices.items[i].text, part))
            return true;
    return false;
}

static void end(void)
{
    lull_replay_base_release(run.replay_base);
    lull_asked_release(run.asked, run.n_asked);
    lull_trace_close(run.trace);
    lull_arena_destroy(arena);
}

static void what_is_exact_needs_no_word(void **state)
{
    (void)state;
    play(40);
    analyse(LULL_REPLAY_CHECK_MOST);
    assert_int_equal(run.breakdown->ideal_runtime_ns, 40 * 8000 - LATENCY);
    assert_int_equal(run.breakdown->replayed_runtime_ns, 40 * PERIOD);
    assert_int_equal(notices.count, 0);
    end();
}

/* Of five messages no network can be seen: it costs nothing, the last send its own time. */
static void a_difference_is_told(void **state)
{
    (void)state;
    play(2);
    analyse(LULL_REPLAY_CHECK_MOST);
    assert_int_equal(run.breakdown->replayed_runtime_ns, 2 * 8000);
    assert_true(told("it takes 20.0 % less time than measured"));
    end();
}

static void it_is_looked_for_where_it_is_asked_for(void **state)
{
    (void)state;
    play(2);
    analyse(0);
    assert_true(isnan(lull_replay_difference(run.breakdown)));
    assert_int_equal(notices.count, 0);
    end();
}

/* A large run is left to who asks for its replay. */
static void large_runs_are_not_replayed(void **state)
{
    (void)state;
    play(2);
    analyse(1);
    assert_int_equal(run.breakdown->replayed_runtime_ns, 0);
    assert_true(told("is told by lull replay"));
    end();
}

/* A message that nobody receives, and whose sender would have to wait for that. */
static void that_there_is_no_replay_is_told(void **state)
{
    (void)state;
    play(40);
    call(1, SEND, answered, answered + 10, 10000000);
    answered += 10;
    analyse(LULL_REPLAY_CHECK_MOST);
    assert_int_equal(run.breakdown->ideal_runtime_ns, 40 * 8000 - LATENCY);
    assert_int_equal(run.breakdown->replayed_runtime_ns, 0);
    assert_true(told("No replay of it can be had"));
    end();
}

/* A barrier of two that come at the same time lasts 3,000 ns: three times as long as a message. */
static void operations_cost_what_they_did(void **state)
{
    (void)state;
    begin(40);
    for (int64_t i = 0; i < 40; i++) {
        exchange(i * PERIOD);
        barrier(0, i * PERIOD + 6000, i * PERIOD + 9000);
        barrier(1, i * PERIOD + 6000, i * PERIOD + 9000);
        answered = i * PERIOD + 9000;
    }
    analyse(LULL_REPLAY_CHECK_MOST);
    assert_int_equal(run.breakdown->replayed_runtime_ns, 40 * PERIOD);
    end();
}

TEST_GROUP(test_measured)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_exact_needs_no_word),
        cmocka_unit_test(a_difference_is_told),
        cmocka_unit_test(operations_cost_what_they_did),
        cmocka_unit_test(it_is_looked_for_where_it_is_asked_for),
        cmocka_unit_test(large_runs_are_not_replayed),
        cmocka_unit_test(that_there_is_no_replay_is_told),
    };
    return run_cases(tests, NULL, NULL);
}
