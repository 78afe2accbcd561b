/* Rules on waits, asked about small runs that were made by hand: who is named, with how much, and
 * when nobody is. Every rank works and meets the others at a barrier, iteration by iteration, so
 * that what is waited is a difference of two numbers. */
#include "diagnose/diagnose.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const regions[] = {"solve",     "MPI_Barrier",  "MPI_Send", "MPI_Recv",
                                      "MPI_Bcast", "MPI_Finalize", NULL};
enum { SOLVE, BARRIER, SEND, RECV, BCAST, FINALIZE };
enum { ITERATIONS = 40, LENGTH = 1000000 };

typedef int64_t (*work_of)(uint32_t rank, uint32_t iteration);

static void add_event_in(struct lull_trace *trace, uint32_t location, uint32_t region,
                         const struct lull_event *inner, int64_t begin, int64_t end)
{
    struct lull_event event = memory_event(begin, LULL_EVENT_ENTER, region);
    memory_trace_add(trace, location, &event);
    memory_trace_add(trace, location, inner);
    event = memory_event(end, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, location, &event);
}

static void add_collective(struct lull_trace *trace, uint32_t location, uint32_t region, uint8_t op,
                           int64_t begin, int64_t end, int32_t root)
{
    struct lull_event event = memory_event(end, LULL_EVENT_COLLECTIVE_END, 0);
    event.op = op;
    event.collective.request = LULL_NO_REQUEST;
    event.collective.root = root;
    add_event_in(trace, location, region, &event, begin, end);
}

/* A send is told at its begin, a receive at its end. */
static void add_message(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                        int64_t end, int32_t peer, uint64_t bytes)
{
    struct lull_event event = region == SEND ? memory_event(begin, LULL_EVENT_SEND, 0)
                                             : memory_event(end, LULL_EVENT_RECV, 0);
    event.message.peer = peer;
    event.message.request = LULL_NO_REQUEST;
    event.message.bytes = bytes;
    add_event_in(trace, location, region, &event, begin, end);
}

static void add_work(struct lull_trace *trace, uint32_t location, int64_t begin, int64_t end)
{
    struct lull_event event = memory_event(begin, LULL_EVENT_ENTER, SOLVE);
    memory_trace_add(trace, location, &event);
    event = memory_event(end, LULL_EVENT_LEAVE, SOLVE);
    memory_trace_add(trace, location, &event);
}

/* All leave the barrier when the last has come. */
static struct lull_trace *make_run(uint32_t ranks, work_of work)
{
    struct lull_trace *trace = memory_trace_simple(ranks, 1, LENGTH, regions);
    int64_t now = 0;
    memory_trace_world(trace, ranks);
    for (uint32_t i = 0; i < ITERATIONS; i++) {
        int64_t last = now;
        for (uint32_t r = 0; r < ranks; r++)
            last = now + work(r, i) > last ? now + work(r, i) : last;
        for (uint32_t r = 0; r < ranks; r++) {
            add_work(trace, r, now, now + work(r, i));
            add_collective(trace, r, BARRIER, LULL_COLLECTIVE_BARRIER, now + work(r, i), last,
                           LULL_ANY);
        }
        now = last;
    }
    trace->duration = now;
    return trace;
}

/* All wait for rank 0 in a broadcast, and nobody waits for them. */
static struct lull_trace *make_rooted_run(uint32_t ranks, work_of work)
{
    struct lull_trace *trace = memory_trace_simple(ranks, 1, LENGTH, regions);
    int64_t times[16] = {0}, last = 0;
    assert_true(ranks <= 16);
    memory_trace_world(trace, ranks);
    for (uint32_t i = 0; i < ITERATIONS; i++)
        for (uint32_t r = 0; r < ranks; r++) {
            const int64_t done = times[r] + work(r, i), end = done > times[0] ? done : times[0];
            add_work(trace, r, times[r], done);
            times[r] = end;
            add_collective(trace, r, BCAST, LULL_COLLECTIVE_BCAST, done, end, 0);
            last = end > last ? end : last;
        }
    trace->duration = last;
    return trace;
}

static uint32_t diagnose(const struct lull_trace *trace, struct lull_finding **ret_findings)
{
    struct lull_arena *arena = trace->arena;
    const struct lull_wait_options waiting = {0};
    const struct lull_pass_options pass = {.reading = &(const struct lull_reading){.workers = 1}};
    const struct lull_breakdown_options wanted = {.reading =
                                                      &(const struct lull_reading){.workers = 1}};
    struct lull_wait_result *waits = lull_arena_zero(arena, 1, sizeof *waits);
    struct lull_work *work = lull_arena_zero(arena, 1, sizeof *work);
    struct lull_work_collector *collector;
    struct lull_waits *follower;
    struct lull_breakdown *breakdown;
    struct lull_error err;
    assert_int_equal(lull_waits_create(trace, &waiting, &follower, &err), LULL_OK);
    assert_int_equal(lull_work_create(trace, 1, &collector, &err), LULL_OK);
    const struct lull_consumer consumers[] = {lull_waits_consumer(follower),
                                              lull_work_consumer(collector)};
    assert_int_equal(lull_pass_run(trace, &pass, consumers, 2, &err), LULL_OK);
    assert_int_equal(lull_waits_conclude(follower, arena, waits, &err), LULL_OK);
    lull_work_conclude(collector, arena, work);
    lull_waits_destroy(follower);
    lull_work_destroy(collector);
    assert_int_equal(lull_breakdown_compute(trace, &wanted, arena, &breakdown, &err), LULL_OK);
    const struct lull_evidence evidence = {
        .path = "a run", .trace = trace, .breakdown = breakdown, .waits = waits, .work = work};
    return lull_diagnose(&evidence, arena, ret_findings);
}

static void is(const struct lull_finding *finding, const char *rule, uint32_t rank, int64_t ns)
{
    assert_string_equal(lull_finding_rule_id(finding), rule);
    assert_int_equal(finding->place.rank, rank);
    assert_int_equal(finding->lost_ns, ns);
}

/* ---- one rank ------------------------------------------------------------------------------ */

/* Rank 2 works 150, the others 100: three wait 50, 40 times. */
static int64_t one_is_long(uint32_t rank, uint32_t iteration)
{
    (void)iteration;
    return rank == 2 ? 150 : 100;
}

static void one_rank(void **state)
{
    struct lull_trace *trace = make_run(4, one_is_long);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "barrier", 2, 3 * 50 * ITERATIONS);
    assert_string_equal(findings->place.region, "solve");
    assert_non_null(strstr(findings->sentence, "50 % longer"));
    assert_int_equal(findings->place.end - findings->place.begin, 50);
    assert_int_equal(findings->fix->n_cuts, 1);
    assert_int_equal(findings->fix->cuts[0].rank, 2);
    assert_string_equal(findings->fix->cuts[0].region, "solve");
    assert_string_equal(findings->next, "lull replay 'a run' --median rank=2,region=solve");
    lull_trace_close(trace);
}

/* Rank 2 works 230, of which it had no core for 70: it is 60 % longer, not 130 %. What a fix saves is
 * 60 of 130. */
static int64_t one_is_long_without_core(uint32_t rank, uint32_t iteration)
{
    (void)iteration;
    return rank == 2 ? 230 : 100;
}

static const struct lull_finding *of_barrier(const struct lull_finding *findings, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(lull_finding_rule_id(&findings[i]), "barrier") == 0)
            return &findings[i];
    fail_msg("nobody is late at a barrier");
    return NULL;
}

static void one_rank_without_a_core(void **state)
{
    struct lull_trace *trace = make_run(4, one_is_long_without_core);
    struct lull_finding *findings;
    (void)state;
    for (uint32_t r = 0; r < 4; r++)
        trace->locations[r].cores = (struct lull_cores){.on = 100 * ITERATIONS, .allowed = 4};
    trace->locations[2].cores.on = 160 * ITERATIONS;
    trace->locations[2].cores.off = 70 * ITERATIONS;
    const uint32_t n = diagnose(trace, &findings);
    const struct lull_finding *finding = of_barrier(findings, n);
    is(finding, "barrier", 2, 3 * 130 * ITERATIONS);
    assert_non_null(strstr(finding->sentence, "Rank 2 is 60 % longer"));
    assert_non_null(strstr(finding->cause, "It had no core for 2.800 us of its useful time"));
    assert_string_equal(finding->next,
                        "lull replay 'a run' --median rank=2,share=0.462,region=solve");
    lull_trace_close(trace);
}

/* All that rank 2 works longer it had no core for. */
static void only_late_without_a_core(void **state)
{
    struct lull_trace *trace = make_run(4, one_is_long);
    struct lull_finding *findings;
    (void)state;
    for (uint32_t r = 0; r < 4; r++)
        trace->locations[r].cores = (struct lull_cores){.on = 100 * ITERATIONS, .allowed = 4};
    trace->locations[2].cores.off = 50 * ITERATIONS;
    const uint32_t n = diagnose(trace, &findings);
    const struct lull_finding *finding = of_barrier(findings, n);
    is(finding, "barrier", 2, 3 * 50 * ITERATIONS);
    assert_non_null(strstr(finding->sentence,
                           "Rank 2 is late, though not longer than its peers while it had a core"));
    assert_null(finding->fix);
    lull_trace_close(trace);
}

/* Rank 1 waits for rank 0's message from 100 to 400. */
static void late_sender(void **state)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, regions);
    struct lull_finding *findings;
    (void)state;
    memory_trace_world(trace, 2);
    add_work(trace, 0, 0, 400);
    add_message(trace, 0, SEND, 400, 420, 1, 8);
    add_work(trace, 1, 0, 100);
    add_message(trace, 1, RECV, 100, 450, 0, 8);
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "late_sender", 0, 300);
    lull_trace_close(trace);
}

/* Rank 0 sends 1 MB at 100, whose receive rank 1 posts at 400; then it works for `more`. */
static struct lull_trace *make_late_receive(int64_t more)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, regions);
    memory_trace_world(trace, 2);
    add_work(trace, 0, 0, 100);
    add_message(trace, 0, SEND, 100, 450, 1, 1000000);
    add_work(trace, 0, 450, 450 + more);
    add_work(trace, 1, 0, 400);
    add_message(trace, 1, RECV, 400, 450, 0, 1000000);
    return trace;
}

/* Who works longer than the others would be as late for a send that does not wait. */
static void late_receiver(void **state)
{
    struct lull_trace *trace = make_late_receive(0);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "late_receiver", 1, 300);
    assert_false(findings->fix->eager);
    assert_string_equal(findings->next, "lull replay 'a run' --median rank=1,region=solve");
    lull_trace_close(trace);
}

/* Where both work 400, the sender could have gone on. */
static void receiver_as_long_as_others(void **state)
{
    struct lull_trace *trace = make_late_receive(300);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "late_receiver", 1, 300);
    assert_true(findings->fix->eager);
    assert_string_equal(findings->next, "lull replay 'a run' --eager");
    lull_trace_close(trace);
}

/* In each of 40 iterations rank 0 sends 1 MB at 500, whose receive rank 1 posts at `posted`, and
 * then a small message to rank 2, which is there 50 before it; then they meet. Ranks 0 and 2 work
 * 1000 if rank 1 posts at 900, and rank 1 works 100 behind its receive. */
static struct lull_trace *make_sends(int64_t posted)
{
    struct lull_trace *trace = memory_trace_simple(3, 1, LENGTH, regions);
    const int64_t length = posted + 600;
    memory_trace_world(trace, 3);
    for (int64_t i = 0, now = 0; i < ITERATIONS; i++, now += length) {
        const int64_t sent = now + posted + 100, end = now + length;
        const int64_t done[] = {end, sent + 100, sent + 50};
        add_work(trace, 0, now, now + 500);
        add_message(trace, 0, SEND, now + 500, sent, 1, 1000000);
        add_message(trace, 0, SEND, sent, sent + 1, 2, 8);
        add_work(trace, 0, sent + 1, done[0]);
        add_work(trace, 1, now, now + posted);
        add_message(trace, 1, RECV, now + posted, sent, 0, 1000000);
        add_work(trace, 1, sent, done[1]);
        add_work(trace, 2, now, sent - 50);
        add_message(trace, 2, RECV, sent - 50, sent + 1, 0, 8);
        add_work(trace, 2, sent + 1, done[2]);
        for (uint32_t r = 0; r < 3; r++)
            add_collective(trace, r, BARRIER, LULL_COLLECTIVE_BARRIER, done[r], end, LULL_ANY);
    }
    trace->duration = ITERATIONS * length;
    return trace;
}

/* Nobody works longer than the others, and rank 0 waits 400 each time, because its message is
 * beyond the eager limit. At the barrier rank 1 waits 400 for it, and rank 2, which waited 50 for
 * its message, 450: some of that for the messages themselves. */
static void eager_limit(void **state)
{
    struct lull_trace *trace = make_sends(900);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "eager_limit", LULL_NONE, findings->lost_ns);
    assert_in_range(findings->lost_ns, 800 * ITERATIONS, 1300 * ITERATIONS);
    assert_true(findings->fix->eager);
    lull_trace_close(trace);
}

/* Rank 1 works 2500 + 100 and rank 0 1000: rank 1 is late, whatever the limit is. */
static void late_whatever_the_limit(void **state)
{
    struct lull_trace *trace = make_sends(2500);
    struct lull_finding *findings;
    (void)state;
    const uint32_t n = diagnose(trace, &findings);
    assert_true(n >= 1 && findings->place.rank == 1);
    for (uint32_t i = 0; i < n; i++)
        assert_string_not_equal(lull_finding_rule_id(&findings[i]), "eager_limit");
    lull_trace_close(trace);
}

/* Ranks 0 and 1, 2 and 3 ... by turns: one sends 8 bytes and 1 MB, and then has as much to do,
 * 1000, as the other, who posts both receives when it has done that. In iteration `at` rank 0 takes
 * `extra` longer. Returns what all senders waited. */
static int64_t make_turns(uint32_t ranks, uint32_t at, int64_t extra, struct lull_trace **ret_trace)
{
    struct lull_trace *trace = memory_trace_simple(ranks, 1, LENGTH, regions);
    int64_t waited = 0;
    memory_trace_world(trace, ranks);
    trace->duration = 0;
    for (uint32_t pair = 0; pair < ranks; pair += 2) {
        int64_t times[2] = {0, 0};
        for (uint32_t i = 0; i < ITERATIONS; i++) {
            const uint32_t from = i % 2, to = 1 - from;
            const int64_t work[] = {1000 + (pair == 0 && i == at ? extra : 0), 1000};
            const int64_t sent = times[from], posted = times[to] + work[to];
            const int64_t end = (posted > sent ? posted : sent) + 2;
            add_message(trace, pair + from, SEND, sent, sent + 1, (int32_t)(pair + to), 8);
            add_message(trace, pair + from, SEND, sent + 1, end, (int32_t)(pair + to), 1000000);
            add_work(trace, pair + from, end, end + work[from]);
            add_work(trace, pair + to, times[to], posted);
            add_message(trace, pair + to, RECV, posted, posted + 1, (int32_t)(pair + from), 8);
            add_message(trace, pair + to, RECV, posted + 1, end, (int32_t)(pair + from), 1000000);
            waited += posted + 1 > sent + 1 ? posted - sent : 0;
            times[from] = end + work[from];
            times[to] = end;
        }
        for (uint32_t r = 0; r < 2; r++)
            trace->duration = times[r] > trace->duration ? times[r] : trace->duration;
    }
    *ret_trace = trace;
    return waited;
}

/* One that works longer once is late for one message of twenty: the other waits are as they were.
 */
static void eager_limit_with_one_delay(void **state)
{
    (void)state;
    for (uint32_t at = 10; at < 12; at++) /* when rank 0 sends, and when it receives */
        for (uint32_t ranks = 4; ranks <= 256; ranks *= 8) {
            struct lull_trace *trace;
            struct lull_finding *findings;
            const int64_t waited = make_turns(ranks, at, 5000, &trace);
            assert_true(diagnose(trace, &findings) >= 1);
            assert_string_equal(lull_finding_rule_id(findings), "eager_limit");
            assert_in_range(findings->lost_ns, waited - waited / 20, waited + waited / 20);
            lull_trace_close(trace);
        }
}

/* ---- many ---------------------------------------------------------------------------------- */

/* Of 8 ranks the upper 4 work twice as long; which of them is the last changes. */
static int64_t half_is_long(uint32_t rank, uint32_t iteration)
{
    return rank < 4 ? 1000 : 2000 + (rank - 4 == iteration % 4);
}

static void uneven_work(void **state)
{
    struct lull_trace *trace = make_run(8, half_is_long);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "imbalance", LULL_NONE, (4 * 1001 + 3) * ITERATIONS);
    assert_string_equal(findings->place.region, "solve");
    assert_true(findings->fix->balance);
    assert_string_equal(findings->fix->balanced, "solve");
    lull_trace_close(trace);
}

/* Four ranks are long once each: 4 of 160 computations. */
static int64_t now_and_then(uint32_t rank, uint32_t iteration)
{
    return iteration == 5 + 9 * rank ? 5000 : 1000;
}

static void noise(void **state)
{
    struct lull_trace *trace = make_run(4, now_and_then);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "noise", LULL_NONE, 4 * 3 * 4000);
    assert_true(findings->fix->no_noise);
    assert_int_equal(findings->place.end - findings->place.begin, 5000);
    lull_trace_close(trace);
}

/* The same where all wait for rank 0 alone: that it is the only one that others wait for does not
 * make it the culprit, as it is hit no more often than they are. */
static void noise_at_a_root(void **state)
{
    struct lull_trace *trace = make_rooted_run(4, now_and_then);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "noise", LULL_NONE, 3 * 4000);
    lull_trace_close(trace);
}

/* Rank 0 alone is long now and then. */
static int64_t root_alone(uint32_t rank, uint32_t iteration)
{
    return rank == 0 && iteration % 10 == 5 ? 5000 : 1000;
}

static void no_noise_of_one(void **state)
{
    struct lull_trace *trace = make_rooted_run(4, root_alone);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "late_broadcast", 0, 4 * 3 * 4000);
    lull_trace_close(trace);
}

/* Each is the last in turns, and by no more than half: neither uneven work nor noise. */
static int64_t by_turns(uint32_t rank, uint32_t iteration)
{
    return rank == iteration % 4 ? 1300 : 1000;
}

static void turns(void **state)
{
    struct lull_trace *trace = make_run(4, by_turns);
    struct lull_finding *findings;
    (void)state;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "barrier", LULL_NONE, 3 * 300 * ITERATIONS);
    assert_null(findings->fix);
    lull_trace_close(trace);
}

/* ---- nodes --------------------------------------------------------------------------------- */

static int64_t node_is_long(uint32_t rank, uint32_t iteration)
{
    return rank / 2 == 1 ? 1200 + (rank == 2 + iteration % 2) : 1000;
}

static void put_on_nodes(struct lull_trace *trace, uint32_t nodes)
{
    static const char *const names[] = {"n0", "n1", "n2"};
    trace->nodes = lull_arena_zero(trace->arena, nodes, sizeof *trace->nodes);
    trace->n_nodes = nodes;
    for (uint32_t n = 0; n < nodes; n++)
        trace->nodes[n] = (struct lull_node){names[n], "node", LULL_NONE};
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->processes[p].node = p / 2 < nodes ? p / 2 : nodes - 1;
}

static void slow_node(void **state)
{
    struct lull_trace *trace = make_run(6, node_is_long);
    struct lull_finding *findings;
    (void)state;
    put_on_nodes(trace, 3);
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "slow_node", LULL_NONE, (4 * 201 + 1) * ITERATIONS);
    assert_string_equal(findings->place.node_name, "n1");
    assert_string_equal(findings->fix->cuts[0].node, "n1");
    lull_trace_close(trace);
}

static void two_nodes_say_nothing(void **state)
{
    struct lull_trace *trace = make_run(4, node_is_long);
    struct lull_finding *findings;
    (void)state;
    put_on_nodes(trace, 2);
    const uint32_t n = diagnose(trace, &findings);
    for (uint32_t i = 0; i < n; i++)
        assert_string_not_equal(lull_finding_rule_id(&findings[i]), "slow_node");
    lull_trace_close(trace);
}

/* ---- nothing ------------------------------------------------------------------------------- */

static int64_t even(uint32_t rank, uint32_t iteration)
{
    (void)rank;
    (void)iteration;
    return 1000;
}

/* 3 x 13 of 4 x 1013: 0.96 % of the core time. */
static int64_t hardly_uneven(uint32_t rank, uint32_t iteration)
{
    (void)iteration;
    return rank == 2 ? 1013 : 1000;
}

static void nothing_to_tell(void **state)
{
    static const work_of works[] = {even, hardly_uneven};
    (void)state;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        struct lull_trace *trace = make_run(4, works[i]);
        struct lull_finding *findings;
        assert_int_equal(diagnose(trace, &findings), 0);
        lull_trace_close(trace);
    }
}

/* The waits of 50 ns are shorter than clocks are apart. */
static void below_the_clocks(void **state)
{
    struct lull_trace *trace = make_run(4, one_is_long);
    struct lull_finding *findings;
    (void)state;
    trace->clock_error = 60;
    assert_int_equal(diagnose(trace, &findings), 0);
    trace->clock_error = 40;
    assert_int_equal(diagnose(trace, &findings), 1);
    lull_trace_close(trace);
}

/* Of the node of the first process both are long, by 30 % and 20 %. */
static int64_t first_node_is_long(uint32_t rank, uint32_t iteration)
{
    (void)iteration;
    return rank < 2 ? 1300 - 100 * (int64_t)rank : 1000;
}

static void slow_first_node(void **state)
{
    struct lull_trace *trace = make_run(6, first_node_is_long);
    struct lull_finding *findings;
    (void)state;
    put_on_nodes(trace, 3);
    assert_true(diagnose(trace, &findings) >= 1);
    is(findings, "slow_node", LULL_NONE, (4 * 300 + 100) * ITERATIONS);
    assert_string_equal(findings->facts[0].id, "ratio");
    assert_true(fabs(findings->facts[0].value - 1.25) < 1e-9);
    lull_trace_close(trace);
}

/* ---- sends --------------------------------------------------------------------------------- */

/* The call goes on behind a part that does not count: its bytes are counted once, its time all. */
static void a_send_in_two_parts(void **state)
{
    struct lull_trace *trace = memory_trace_simple(1, 1, LENGTH, regions);
    const struct lull_step steps[] = {
        {.kind = LULL_STEP_SEND, .time = 100, .region = SEND, .message = {.bytes = 1000}},
        {.kind = LULL_STEP_SPAN,
         .time = 100,
         .region = SEND,
         .activity = LULL_MPI_P2P,
         .span = {.end = 150, .user = LULL_NONE}},
        {.kind = LULL_STEP_SPAN,
         .time = 160,
         .region = SEND,
         .activity = LULL_MPI_P2P,
         .span = {.end = 180, .user = LULL_NONE}},
        {.kind = LULL_STEP_END, .time = 200, .region = LULL_NONE}};
    const struct lull_steps block = {.count = 4, .steps = steps};
    struct lull_work_collector *collector;
    struct lull_work work;
    (void)state;
    assert_int_equal(lull_work_create(trace, 1, &collector, NULL), LULL_OK);
    const struct lull_consumer consumer = lull_work_consumer(collector);
    assert_int_equal(consumer.steps(consumer.context, 0, &block, NULL), LULL_OK);
    lull_work_conclude(collector, trace->arena, &work);
    const struct lull_work_sends *sends = &work.sends[lull_messages_class(1000)];
    assert_int_equal(sends->count, 1);
    assert_int_equal(sends->bytes, 1000);
    assert_int_equal(sends->ns, 50 + 20);
    lull_work_destroy(collector);
    lull_trace_close(trace);
}

/* ---- at the end ------------------------------------------------------------------------------ */

static void add_finalize(struct lull_trace *trace, uint32_t location, int64_t begin, int64_t end)
{
    struct lull_event event = memory_event(begin, LULL_EVENT_ENTER, FINALIZE);
    memory_trace_add(trace, location, &event);
    event = memory_event(end, LULL_EVENT_LEAVE, FINALIZE);
    memory_trace_add(trace, location, &event);
}

static int64_t all_alike(uint32_t rank, uint32_t iteration)
{
    (void)rank;
    (void)iteration;
    return 100;
}

/* Behind 40 iterations of 100 rank 1 works 1000 more, and rank 2 400: 0 and 3 wait 1000, 2 waits
 * 600. The delay of 600 to 1000 is rank 1's alone; of rank 2's work none is waited for. */
static void work_at_the_end(void **state)
{
    struct lull_trace *trace = make_run(4, all_alike);
    const int64_t end = trace->duration + 1000;
    struct lull_finding *findings;
    (void)state;
    for (uint32_t r = 0; r < 4; r++) {
        const int64_t more = r == 1 ? 1000 : r == 2 ? 400 : 0;
        if (more)
            add_work(trace, r, trace->duration, trace->duration + more);
        add_finalize(trace, r, trace->duration + more, end);
    }
    trace->duration = end;
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "at_end", 1, 1000 + 600 + 1000);
    assert_int_equal(findings->bound_ns, 600);
    assert_string_equal(findings->place.region, "solve");
    assert_int_equal(findings->place.begin, end - 1000);
    assert_int_equal(findings->place.end, end);
    assert_non_null(strstr(findings->sentence, "Rank 1 works on at the end, in solve"));
    lull_trace_close(trace);
}

/* All work alone, without any operation: rank 1 is longer, and nothing says that it is so at the
 * end. */
static void nothing_but_the_end(void **state)
{
    struct lull_trace *trace = memory_trace_simple(4, 1, 1000, regions);
    struct lull_finding *findings;
    (void)state;
    memory_trace_world(trace, 4);
    for (uint32_t r = 0; r < 4; r++) {
        add_work(trace, r, 0, r == 1 ? 1000 : 500);
        add_finalize(trace, r, r == 1 ? 1000 : 500, 1000);
    }
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "at_end", 1, 3 * 500);
    assert_non_null(strstr(findings->sentence, "100 % longer than the median"));
    lull_trace_close(trace);
}

/* Rank 2 is late for its message to 3 in every iteration, and 0 and 1, who do not take part, end 2000
 * before both: that is one finding, of a late sender. */
static void late_long_before_the_end(void **state)
{
    enum { LAST = 150 * ITERATIONS };
    struct lull_trace *trace = memory_trace_simple(4, 1, LAST, regions);
    struct lull_finding *findings;
    (void)state;
    memory_trace_world(trace, 4);
    for (int64_t now = 0; now < LAST; now += 150) {
        add_work(trace, 2, now, now + 150);
        add_message(trace, 2, SEND, now + 150, now + 150, 3, 8);
        add_work(trace, 3, now, now + 100);
        add_message(trace, 3, RECV, now + 100, now + 150, 2, 8);
    }
    for (uint32_t r = 0; r < 2; r++)
        add_work(trace, r, 0, LAST - 2000);
    for (uint32_t r = 0; r < 4; r++)
        add_finalize(trace, r, r < 2 ? LAST - 2000 : LAST, LAST);
    assert_int_equal(diagnose(trace, &findings), 1);
    is(findings, "late_sender", 2, 50 * ITERATIONS + 2 * 2000);
    lull_trace_close(trace);
}

TEST_GROUP(test_waiting_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),
        cmocka_unit_test(one_rank_without_a_core),
        cmocka_unit_test(only_late_without_a_core),
        cmocka_unit_test(late_sender),
        cmocka_unit_test(uneven_work),
        cmocka_unit_test(noise),
        cmocka_unit_test(noise_at_a_root),
        cmocka_unit_test(no_noise_of_one),
        cmocka_unit_test(turns),
        cmocka_unit_test(late_receiver),
        cmocka_unit_test(eager_limit),
        cmocka_unit_test(eager_limit_with_one_delay),
        cmocka_unit_test(late_whatever_the_limit),
        cmocka_unit_test(receiver_as_long_as_others),
        cmocka_unit_test(slow_node),
        cmocka_unit_test(two_nodes_say_nothing),
        cmocka_unit_test(nothing_to_tell),
        cmocka_unit_test(below_the_clocks),
        cmocka_unit_test(slow_first_node),
        cmocka_unit_test(a_send_in_two_parts),
        cmocka_unit_test(work_at_the_end),
        cmocka_unit_test(nothing_but_the_end),
        cmocka_unit_test(late_long_before_the_end),
    };
    return run_cases(tests, NULL, NULL);
}
