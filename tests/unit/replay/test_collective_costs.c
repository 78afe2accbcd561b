/* What collective operations cost beyond messages: operations are made with numbers that are
 * planted. */
#include "replay/collective_costs.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { RANKS = 4, ROUNDS = 2, TIMES = 20, PERIOD = 100000, LATENCY = 1000, EACH = 500 };
static const char *const names[] = {"MPI_Barrier", "MPI_Bcast",   "MPI_Reduce", "MPI_Alltoall",
                                    "MPI_Gather",  "MPI_Scatter", NULL};
static const uint8_t operations[] = {LULL_COLLECTIVE_BARRIER, LULL_COLLECTIVE_BCAST,
                                     LULL_COLLECTIVE_REDUCE,  LULL_COLLECTIVE_ALLTOALL,
                                     LULL_COLLECTIVE_GATHER,  LULL_COLLECTIVE_SCATTER};
enum { BARRIER, BCAST, REDUCE, ALLTOALL, GATHER, SCATTER };

static void take_part(struct lull_trace *trace, uint32_t process, uint32_t region, int64_t begin,
                      int64_t end, int32_t root)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, region),
                                  memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, 0),
                                  memory_event(end, LULL_EVENT_COLLECTIVE_END, 0),
                                  memory_event(end, LULL_EVENT_LEAVE, region)};
    for (int i = 0; i < 4; i++) {
        events[i].op = operations[region];
        events[i].collective.request = LULL_NO_REQUEST;
        events[i].collective.root = root;
        events[i].collective.sent = events[i].collective.received = region == BARRIER ? 0 : 100;
        memory_trace_add(trace, process, &events[i]);
    }
}

static struct lull_collective_facts facts_of(struct lull_trace *trace, unsigned workers)
{
    const struct lull_pass_options options = {.reading =
                                                  &(const struct lull_reading){.workers = workers}};
    struct lull_collective_costs *costs;
    struct lull_error err = {""};
    struct lull_collective_facts facts = {0};
    workers = lull_pass_workers(trace, &options);
    fail_if(lull_collective_costs_create(trace, workers, &costs, &err) != LULL_OK, "%s", err.text);
    const struct lull_consumer consumer = lull_collective_costs_consumer(costs);
    fail_if(lull_pass_run(trace, &options, &consumer, 1, &err) != LULL_OK ||
                lull_collective_costs_conclude(costs, LATENCY, 1e9, &facts, &err) != LULL_OK,
            "%s", err.text);
    lull_collective_costs_destroy(costs);
    return facts;
}

static struct lull_trace *four_processes(void)
{
    struct lull_trace *trace = memory_trace_simple(RANKS, 1, 3 * TIMES * PERIOD, names);
    memory_trace_world(trace, RANKS);
    return trace;
}

/* Each message of an operation takes 500 ns more than it would alone: 1000 ns, and of 100 bytes 100
 * more. Of a broadcast the root goes on at once, of a reduction all others; whoever comes late in
 * turns makes the operation begin later. */
static void what_was_planted_is_found(void **state)
{
    (void)state;
    struct lull_trace *trace = four_processes();
    for (int64_t i = 0; i < 3 * TIMES; i++)
        for (uint32_t p = 0; p < RANKS; p++) {
            uint32_t region = (uint32_t)(i % 3);
            int32_t root = region == BARRIER ? LULL_ANY : (int32_t)(i % RANKS);
            int64_t begin = i * PERIOD + (p == i / 3 % RANKS ? 5000 : 10 * p);
            int64_t over =
                i * PERIOD + 5000 + ROUNDS * (LATENCY + EACH + (region == BARRIER ? 0 : 100));
            bool waits = region == BARRIER || (region == BCAST) != (root == (int32_t)p);
            take_part(trace, p, region, begin, waits ? over : begin + 10, root);
        }
    assert_float_equal(facts_of(trace, 1).delay, EACH, 1e-6);
    assert_float_equal(facts_of(trace, 3).delay, EACH, 1e-6);
    lull_trace_close(trace);
}

/* Operations of which a member is missing, or which take another number of messages, tell nothing;
 * those that were faster than messages delay none. */
static void what_is_not_understood_does_not_count(void **state)
{
    (void)state;
    struct lull_trace *trace = four_processes();
    for (int64_t i = 0; i < TIMES; i++)
        for (uint32_t p = 0; p < RANKS; p++) {
            int64_t at = i * PERIOD;
            take_part(trace, p, ALLTOALL, at, at + 50000, LULL_ANY);
            take_part(trace, p, BARRIER, at + 60000, at + 60100, LULL_ANY);
        }
    for (uint32_t p = 1; p < RANKS; p++)
        take_part(trace, p, BARRIER, TIMES * PERIOD, TIMES * PERIOD + 90000, LULL_ANY);
    assert_float_equal(facts_of(trace, 1).delay, 0, 0);
    lull_trace_close(trace);
}

/* Where nothing else is known, operations of blocks tell. Of four ranks each sends so many bytes in
 * an alltoall. Blocks of 25 bytes go to all three others at once (linear), those of 50,000 to one
 * after the other (pairwise; Thakur, Rabenseifner and Gropp 2005). */
static void operations_of_blocks_tell(void **state)
{
    static const struct {
        uint64_t bytes;
        int64_t rounds, block;
    } cases[] = {{100, 1, 25}, {200000, RANKS - 1, 50000}};
    (void)state;
    for (int c = 0; c < 2; c++) {
        struct lull_trace *trace = four_processes();
        trace->duration = TIMES * INT64_C(1000000);
        for (int64_t i = 0; i < TIMES; i++)
            for (uint32_t p = 0; p < RANKS; p++) {
                const int64_t begin = i * 1000000 + 10 * p;
                const int64_t over = i * 1000000 + 10 * (RANKS - 1) +
                                     cases[c].rounds * (LATENCY + EACH + cases[c].block);
                struct lull_event event = memory_event(begin, LULL_EVENT_ENTER, ALLTOALL);
                memory_trace_add(trace, p, &event);
                event = memory_event(over, LULL_EVENT_COLLECTIVE_END, 0);
                event.op = LULL_COLLECTIVE_ALLTOALL;
                event.collective.request = LULL_NO_REQUEST;
                event.collective.root = LULL_ANY;
                event.collective.sent = event.collective.received = cases[c].bytes;
                memory_trace_add(trace, p, &event);
                event = memory_event(over, LULL_EVENT_LEAVE, ALLTOALL);
                memory_trace_add(trace, p, &event);
            }
        assert_float_equal(facts_of(trace, 1).delay, EACH, 1e-6);
        lull_trace_close(trace);
    }
}

/* Of eight ranks, counted from the root, 4 has 5, 6 and 7 below it in a tree, and 6 has 7. Rank 7
 * comes 40 us late: in a tree 4 and 6 wait for it in `up` (reductions), and 7 waits for 6 in `down`
 * (broadcasts), where that is late. */
enum { MORE_RANKS = 8, LATE_BY = 40000, OVER = 3 };

static struct lull_collective_facts eight_ranks(bool tree, uint32_t up, uint32_t down)
{
    struct lull_trace *trace = memory_trace_simple(MORE_RANKS, 1, 2 * TIMES * PERIOD, names);
    memory_trace_world(trace, MORE_RANKS);
    for (int64_t i = 0; i < 2 * TIMES; i++) {
        const uint32_t region = i % 2 ? down : up, root = (uint32_t)i / 2 % MORE_RANKS;
        const uint32_t late = region == down ? 6 : 7;
        for (uint32_t p = 0; p < MORE_RANKS; p++) {
            const uint32_t place = (p + MORE_RANKS - root) % MORE_RANKS;
            const int64_t last = i * PERIOD + LATE_BY + OVER * LATENCY;
            const int64_t begin = i * PERIOD + (place == late ? LATE_BY : 0);
            const bool below = region == up ? place == 4 || place == 6 : place == 7;
            const bool waits = (region == up && place == 0) || (tree && below);
            take_part(trace, p, region, begin, waits ? last : begin + OVER * LATENCY,
                      (int32_t)root);
        }
    }
    const struct lull_collective_facts facts = facts_of(trace, 2);
    lull_trace_close(trace);
    return facts;
}

/* With direct messages 1000 ns of the 3000 are expected, in a tree of three levels all of them; of
 * 100 bytes 100 ns more each. Broadcasts are over when the late one is. */
static void who_waits_for_whom_tells_trees(void **state)
{
    (void)state;
    const struct lull_collective_facts tree = eight_ranks(true, REDUCE, BCAST),
                                       direct = eight_ranks(false, REDUCE, BCAST);
    assert_false(tree.direct[LULL_COLLECTIVE_REDUCE]);
    assert_false(tree.direct[LULL_COLLECTIVE_BCAST]);
    assert_true(direct.direct[LULL_COLLECTIVE_REDUCE]);
    assert_true(direct.direct[LULL_COLLECTIVE_BCAST]);
    assert_false(direct.direct[LULL_COLLECTIVE_BARRIER]);
    assert_float_equal(tree.delay, 0, 0);
    assert_float_equal(direct.delay, 2 * LATENCY - 100, 1e-6);
}

/* The same of blocks; what these cost is not compared with a logarithmic number of messages. */
static void gathers_and_scatters_tell_trees(void **state)
{
    (void)state;
    const struct lull_collective_facts tree = eight_ranks(true, GATHER, SCATTER),
                                       direct = eight_ranks(false, GATHER, SCATTER);
    assert_false(tree.direct[LULL_COLLECTIVE_GATHER]);
    assert_false(tree.direct[LULL_COLLECTIVE_SCATTER]);
    assert_true(direct.direct[LULL_COLLECTIVE_GATHER]);
    assert_true(direct.direct[LULL_COLLECTIVE_SCATTER]);
    assert_float_equal(tree.delay, 0, 0);
    assert_float_equal(direct.delay, 0, 0);
}

/* Of a member up to 2^32 - 1 bytes are kept, which take 4,294,967,295 ns more than nothing would. */
static void more_bytes_than_are_kept(void **state)
{
    enum { SECONDS_APART = 20 };
    const int64_t period = SECONDS_APART * INT64_C(1000000000);
    struct lull_trace *trace = four_processes();
    (void)state;
    trace->duration = TIMES * period;
    for (int64_t i = 0; i < TIMES; i++)
        for (uint32_t p = 0; p < RANKS; p++) {
            const int32_t root = (int32_t)(i % RANKS);
            const int64_t over =
                i * period + ROUNDS * (LATENCY + EACH + INT64_C(4294967295)) + 10 * RANKS;
            const int64_t begin = i * period + 10 * RANKS;
            struct lull_event event = memory_event(begin, LULL_EVENT_ENTER, BCAST);
            memory_trace_add(trace, p, &event);
            event = memory_event(root == (int32_t)p ? begin : over, LULL_EVENT_COLLECTIVE_END, 0);
            event.op = LULL_COLLECTIVE_BCAST;
            event.collective.request = LULL_NO_REQUEST;
            event.collective.root = root;
            event.collective.sent = event.collective.received = UINT64_C(1) << 32;
            memory_trace_add(trace, p, &event);
            event = memory_event(event.time, LULL_EVENT_LEAVE, BCAST);
            memory_trace_add(trace, p, &event);
        }
    assert_float_equal(facts_of(trace, 1).delay, EACH, 1);
    lull_trace_close(trace);
}

TEST_GROUP(test_collective_costs)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_planted_is_found),
        cmocka_unit_test(what_is_not_understood_does_not_count),
        cmocka_unit_test(who_waits_for_whom_tells_trees),
        cmocka_unit_test(gathers_and_scatters_tell_trees),
        cmocka_unit_test(more_bytes_than_are_kept),
        cmocka_unit_test(operations_of_blocks_tell),
    };
    return run_cases(tests, NULL, NULL);
}
