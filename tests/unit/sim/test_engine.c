/* The engine on small cases whose times are worked out by hand from the rules in the headers. */
#include "base/collective.h"
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "sim/noise/noise.h"
#include "support/stream_program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct lull_arena *arena;
static struct lull_program *program;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    program = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_program_close(program);
    lull_arena_destroy(arena);
    return 0;
}

static void add(uint32_t stream, struct lull_op op)
{
    stream_program_add(program, stream, op);
}

static void check_ends(const struct lull_network *network, const int64_t *ends)
{
    struct lull_sim_result result = simulate(program, network, arena);
    for (uint32_t r = 0; r < result.n_ranks; r++)
        if (result.ranks[r].end != ends[r])
            fail_msg("rank %u ends at %lld, not at %lld", r, (long long)result.ranks[r].end,
                     (long long)ends[r]);
}

static void parse(const char *text)
{
    struct lull_error err = {""};
    if (lull_goal_parse("test", text, strlen(text), &program, &err) != LULL_OK)
        fail_msg("%s", err.text);
}

/* --- hockney ------------------------------------------------------------------------------- */

/* 1 us and 1 GB/s: 1000 bytes take 2000 ns. */
static void eager_sender_goes_on(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 1000.0, "bandwidth", 1e9, "eager", 4096.0, NULL);
    program = stream_program(2, NULL, 16);
    add(0, op_send(1, 0, 1000, 7));
    add(0, op_wait(7));
    add(0, op_compute(500));
    add(1, op_compute(100));
    add(1, op_receive(0, 0, 3));
    add(1, op_wait_all());
    add(1, op_compute(50));
    check_ends(&network, (const int64_t[]){500, 2050});
}

static void rendezvous_begins_when_both_are_there(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 1000.0, "bandwidth", 1e9, "eager", 999.0, NULL);
    for (int64_t late = 0; late <= 3000; late += 500) { /* the receiver comes before and after */
        program = stream_program(2, NULL, 16);
        add(0, op_send(1, 0, 1000, 0));
        add(0, op_wait_all());
        add(1, op_compute(late));
        add(1, op_receive(0, 0, 0));
        add(1, op_wait_all());
        check_ends(&network, (const int64_t[]){late + 2000, late + 2000});
        lull_program_close(program);
    }
    program = NULL;
}

static void synchronous_send_waits_whatever_its_size(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 100.0, "bandwidth", INFINITY, NULL);
    struct lull_op send = op_send(1, 0, 0, 0);
    send.flags |= LULL_OP_SYNCHRONOUS;
    program = stream_program(2, NULL, 16);
    add(0, send);
    add(0, op_wait_all());
    add(1, op_compute(1000));
    add(1, op_receive(0, 0, 0));
    add(1, op_wait_all());
    check_ends(&network, (const int64_t[]){1100, 1100});
}

/* A short message does not overtake a long one of the same pair and tag. */
static void messages_of_a_pair_keep_their_order(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 10.0, "bandwidth", 1e9, "eager", 1e6, NULL);
    program = stream_program(2, NULL, 16);
    add(0, op_send(1, 0, 5000, 0));
    add(0, op_send(1, 0, 1, 1));
    add(0, op_wait_all());
    add(1, op_receive(0, 0, 0));
    add(1, op_receive(0, 0, 1));
    add(1, op_wait(1)); /* the short one, at 11 */
    add(1, op_compute(1));
    add(1, op_wait(0));
    check_ends(&network, (const int64_t[]){0, 5010});
}

/* The published halo model (1-D): one direction after the other costs 2 (T_l + 8 L / B). */
static void halo_swap_costs_what_the_model_says(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 5000.0, "bandwidth", 400e6, NULL);
    program = stream_program(8, NULL, 16);
    for (uint32_t r = 0; r < 8; r++)
        for (int direction = 0; direction < 2; direction++) {
            add(r, op_send((r + (direction ? 7 : 1)) % 8, 0, 8000, 0));
            add(r, op_receive((r + (direction ? 1 : 7)) % 8, 0, 1));
            add(r, op_wait_all());
        }
    assert_int_equal(simulate(program, &network, arena).runtime, 2 * (5000 + 20000));
}

static void levels_have_their_own_numbers(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 1000.0, "bandwidth", INFINITY, NULL);
    lull_network_set(&network, 0, LULL_LEVEL_NODE, 100);
    lull_network_set(&network, 0, LULL_LEVEL_CORE, 1);
    network.placement.cores_per_node = 2;
    program = stream_program(4, NULL, 16);
    add(0, op_send(1, 0, 0, 0));
    add(0, op_send(2, 0, 0, 1));
    add(0, op_send(0, 0, 0, 2));
    add(0, op_receive(0, 0, 3));
    add(0, op_wait_all());
    add(1, op_receive(0, 0, 0));
    add(1, op_wait_all());
    add(2, op_receive(0, 0, 0));
    add(2, op_wait_all());
    check_ends(&network, (const int64_t[]){1, 100, 1000, 0});
}

/* --- loggops ------------------------------------------------------------------------------- */

static const struct lull_network *loggops(double o_byte)
{
    static struct lull_network network;
    network = network_of("loggops", "L", 1000.0, "o", 100.0, "g", 50.0, "G", 2.0, "O", o_byte, "S",
                         1000.0, NULL);
    return &network;
}

/* o + L + 100 G + o; the sender is done after o. */
static void eager_message_is_there_with_its_last_byte(void **state)
{
    (void)state;
    parse("num_ranks 2 rank 0 { l1: send 101b to 1 } rank 1 { l1: recv 101b from 0 }");
    check_ends(loggops(0), (const int64_t[]){100, 1400});
}

static void processor_time_per_byte_counts_at_both_ends(void **state)
{
    (void)state;
    parse("num_ranks 2 rank 0 { l1: send 101b to 1 } rank 1 { l1: recv 101b from 0 }");
    /* busy 100 + 100 at either end; the NIC begins when the processor is done */
    check_ends(loggops(1), (const int64_t[]){200, 200 + 1000 + 200 + 200});
}

/* The NIC lets the second message go g + B G after the first (150 + 250), the processor is free
 * before. */
static void messages_queue_at_the_nic(void **state)
{
    (void)state;
    parse("num_ranks 2 rank 0 { l1: send 101b to 1 l2: send 101b to 1 tag 1 l3: calc 10\n"
          "l3 requires l1 l3 requires l2 }"
          "rank 1 { l1: recv 101b from 0 l2: recv 101b from 0 tag 1 }");
    /* first leaves 100, there 1300; second: ready 200, leaves 350, first byte 1350, there 1550 */
    check_ends(loggops(0), (const int64_t[]){210, 1650});
}

/* Announcement: o L; answer: o L; payload: o L B G o. B = 2000. */
static void rendezvous_takes_a_round_trip(void **state)
{
    (void)state;
    parse("num_ranks 2 rank 0 { l1: send 2001b to 1 } rank 1 { l1: recv 2001b from 0 }");
    int64_t left = 100 + 1000 + 100 + 1000 + 100 + 4000;
    check_ends(loggops(0), (const int64_t[]){left, left + 1000 + 100});
}

/* Posted at 5000: the answer leaves then, not before, and the payload comes after it. */
static void payload_is_not_there_before_it_is_sent(void **state)
{
    (void)state;
    parse("num_ranks 2 rank 0 { l1: send 2001b to 1 }"
          "rank 1 { l1: calc 5000 l2: recv 2001b from 0 l2 requires l1 }");
    int64_t left = 5000 + 100 + 1000 + 100 + 4000;
    check_ends(loggops(0), (const int64_t[]){left, left + 1000 + 100});
}

/* The answer waits for the processor that computes: no progress behind its back. */
static void sender_that_computes_does_not_answer(void **state)
{
    (void)state;
    parse("num_ranks 2 rank 0 { l1: send 2001b to 1 l2: calc 9000 l2 irequires l1 }"
          "rank 1 { l1: recv 2001b from 0 }");
    int64_t left = 9100 + 100 + 4000; /* o of the announcement, the computation, o, the bytes */
    check_ends(loggops(0), (const int64_t[]){left, left + 1100});
}

static void two_processors_work_at_once(void **state)
{
    (void)state;
    parse("num_ranks 1 rank 0 { l1: calc 300 l2: calc 500 cpu 1 l3: calc 10\n"
          "l3 requires l1 l3 requires l2 }");
    check_ends(loggops(0), (const int64_t[]){510});
}

/* l2 begins with l1, on another processor; l3 after it. */
static void irequires_waits_for_the_start(void **state)
{
    (void)state;
    parse("num_ranks 1 rank 0 { l0: calc 100 l1: calc 300 l2: calc 500 cpu 1 l1 requires l0\n"
          "l2 irequires l1 }");
    check_ends(loggops(0), (const int64_t[]){600});
}

/* --- streams ------------------------------------------------------------------------------- */

static void waits_are_for_what_they_name(void **state)
{
    (void)state;
    struct lull_network network = network_of("hockney", "latency", 10.0, "bandwidth", 1e9, NULL);
    program = stream_program(3, NULL, 1);
    add(0, op_receive(1, 0, 5));
    add(0, op_receive(2, 0, 6));
    add(0, op_wait(6));
    add(0, op_compute(1000));
    add(0, op_wait(5));
    add(1, op_compute(500));
    add(1, op_send(0, 0, 0, 0));
    add(1, op_wait(0));
    add(2, op_compute(200));
    add(2, op_send(0, 0, 0, 0));
    add(2, op_wait(0));
    check_ends(&network, (const int64_t[]){1210, 500, 200});
}

/* A wait copies what has come before it, 20 ns and a byte each ns; for what comes later it has the
 * time. */
static void a_wait_copies_what_is_there(void **state)
{
    (void)state;
    struct lull_network network = network_of("hockney", "latency", 10.0, "bandwidth", 1e9,
                                             "receive", 20.0, "copy", 1e9, NULL);
    program = stream_program(2, NULL, 16);
    for (uint32_t i = 0; i < 3; i++) {
        add(0, op_send(1, i, 100, i));
        add(0, op_wait(i));
        add(0, op_compute(i == 1 ? 5000 : 0));
    }
    add(1, op_receive(0, 0, 0));
    add(1, op_receive(0, 1, 1));
    add(1, op_receive(0, 2, 2));
    add(1, op_compute(1000));
    add(1, op_wait(0)); /* until 1120 */
    add(1, op_wait(1)); /* until 1240 */
    add(1, op_wait(2)); /* 5000 + 10 + 100 */
    check_ends(&network, (const int64_t[]){5000, 5110});
    lull_program_close(program);
    program = stream_program(2, NULL, 16); /* two in one wait */
    for (uint32_t i = 0; i < 2; i++) {
        add(0, op_send(1, i, 100, i));
        add(0, op_wait(i));
    }
    add(1, op_compute(1000));
    add(1, op_receive(0, 0, 0));
    add(1, op_receive(0, 1, 1));
    add(1, op_wait_all());
    check_ends(&network, (const int64_t[]){0, 1240});
}

static void wildcards_take_what_comes_first(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(3, NULL, 16);
    add(0, op_receive(LULL_OP_ANY, LULL_OP_ANY, 0));
    add(0, op_wait_all());
    add(0, op_compute(10));
    add(0, op_receive(1, 4, 0));
    add(0, op_wait_all());
    add(1, op_compute(100));
    add(1, op_send(0, 4, 8, 0));
    add(1, op_wait_all());
    add(2, op_compute(20));
    add(2, op_send(0, 9, 8, 0));
    add(2, op_wait_all());
    check_ends(&network, (const int64_t[]){100, 100, 20});
}

static void threads_of_a_rank_join(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 3};
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(1, first_stream, 16);
    for (uint32_t s = 0; s < 3; s++) {
        add(s, op_compute(100 + 50 * s));
        add(s, op_sync(4, 3));
        add(s, op_compute(10));
    }
    check_ends(&network, (const int64_t[]){210});
}

/* The second thread begins at 100, when the first makes it, and ends after `work`: the first has
 * come to the join at 150 and goes on for 10. The end waits for nobody: 5 ns behind it count from
 * there. */
static int64_t end_of_join(int64_t work)
{
    static const uint32_t first_stream[] = {0, 2};
    enum { BEGIN, JOIN };
    program = stream_program(1, first_stream, 16);
    add(0, op_compute(100));
    add(0, op_sync_part(LULL_SYNC_ARRIVES, BEGIN, 1, 1));
    add(0, op_compute(50));
    add(0, op_sync_part(LULL_SYNC_WAITS, JOIN, 1, 1));
    add(0, op_compute(10));
    add(1, op_sync_part(LULL_SYNC_WAITS, BEGIN, 1, 1));
    add(1, op_compute(work));
    add(1, op_sync_part(LULL_SYNC_ARRIVES, JOIN, 1, 1));
    add(1, op_compute(5));
    struct lull_network network = network_of("ideal", NULL);
    const int64_t end = simulate(program, &network, arena).ranks[0].end;
    lull_program_close(program);
    program = NULL;
    return end;
}

static void threads_are_made_and_joined(void **state)
{
    (void)state;
    assert_int_equal(end_of_join(30), 160);
    assert_int_equal(end_of_join(49), 160);
    assert_int_equal(end_of_join(58), 100 + 58 + 10);
    assert_int_equal(end_of_join(300), 100 + 300 + 10);
}

/* Both come to a barrier, at 100 and 160, are there for 20 and 80 ns at least, and go on for 1. The
 * first leaves with the arrival of the second. */
static void threads_wait_for_those_that_arrive(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 1, 3};
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(2, first_stream, 16);
    for (uint32_t s = 1; s < 3; s++) {
        add(s, op_compute(s == 1 ? 100 : 160));
        add(s, op_sync_part(LULL_SYNC_ARRIVES, 7, 2, 2));
        add(s, op_compute(s == 1 ? 20 : 80));
        add(s, op_sync_part(LULL_SYNC_WAITS, 7, 2, 2));
        add(s, op_compute(1));
        add(s, op_send(0, s, 8, 0));
        add(s, op_wait_all());
        add(0, op_receive(1, s, 0));
        add(0, op_wait_all());
        add(0, op_compute(s == 1 ? 1000 : 0));
    }
    check_ends(&network, (const int64_t[]){160 + 1 + 1000, 160 + 80 + 1});
}

static void threads_of_a_rank_send_to_each_other(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 2};
    program = stream_program(1, first_stream, 16);
    add(0, op_send(0, 1, 1, 0));
    add(0, op_wait_all());
    add(1, op_receive(0, 1, 0));
    add(1, op_wait_all());
    check_ends(loggops(0), (const int64_t[]){1200});
}

/* The same program as a graph and as streams, by the written rules: one halo exchange. */
static void streams_and_graphs_agree_with_the_written_rules(void **state)
{
    (void)state;
    struct lull_network network = network_of("loggops-compat", NULL);
    struct lull_sim_result graph, streams;
    parse("num_ranks 2\n"
          "rank 0 { a: calc 1000 b: recv 9b from 1 c: send 9b to 1 d: calc 70\n"
          "b requires a c requires a d requires b d requires c }\n"
          "rank 1 { a: calc 3000 b: recv 9b from 0 c: send 9b to 0 d: calc 70\n"
          "b requires a c requires a d requires b d requires c }\n");
    graph = simulate(program, &network, arena);
    lull_program_close(program);
    program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++) {
        add(r, op_compute(r ? 3000 : 1000));
        add(r, op_receive(1 - r, 0, 0));
        add(r, op_send(1 - r, 0, 9, 1));
        add(r, op_wait_all());
        add(r, op_compute(70));
    }
    streams = simulate(program, &network, arena);
    for (uint32_t r = 0; r < 2; r++)
        assert_int_equal(graph.ranks[r].end, streams.ranks[r].end);
    assert_int_equal(graph.n_messages, streams.n_messages);
}

static void processor_speed_scales_what_may_be_scaled(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    struct lull_op fixed = op_compute(100);
    fixed.flags |= LULL_OP_NOT_SCALED;
    network.cpu_speed = 2;
    program = stream_program(1, NULL, 16);
    add(0, op_compute(1000));
    add(0, fixed);
    check_ends(&network, (const int64_t[]){600});
}

static void delays_hit_once(void **state)
{
    (void)state;
    const struct lull_delay delays[] = {{0, false, 150, 1000}, {1, true, 2, 77}};
    struct lull_network network = network_of("ideal", NULL);
    struct lull_sim_options options = {
        .network = &network, .delays = delays, .n_delays = 2, .path = true};
    struct lull_sim_result result;
    struct lull_error err = {""};
    program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++)
        for (uint64_t i = 0; i < 4; i++) {
            add(r, op_mark(i));
            add(r, op_compute(100));
        }
    assert_int_equal(lull_simulate(program, &options, arena, &result, NULL, &err), LULL_OK);
    assert_int_equal(result.ranks[0].end, 1400);
    assert_int_equal(result.ranks[1].end, 477);
    assert_int_equal(result.ranks[1].noise, 77);
    assert_int_equal(result.path[LULL_PATH_NOISE], 1000);
    assert_int_equal(result.path[LULL_PATH_COMPUTE], 400);
}

/* The first computation takes 100 ns and 60 of noise; the delay is for the first that begins at 50
 * or later, which is the second. */
static void delays_spare_what_began_before(void **state)
{
    (void)state;
    const struct lull_delay delay = {0, false, 50, 1000};
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("constant"));
    const struct lull_noise *noise;
    struct lull_network network = network_of("ideal", NULL);
    struct lull_sim_result result;
    struct lull_error err = {""};
    spec.values[0] = 60;
    if (lull_noise_create(&spec, arena, &noise, &err) != LULL_OK)
        fail_msg("%s", err.text);
    struct lull_sim_options options = {
        .network = &network, .noise = noise, .delays = &delay, .n_delays = 1};
    program = stream_program(2, NULL, 16);
    add(0, op_compute(100));
    add(0, op_send(1, 0, 1, 8));
    add(0, op_compute(100));
    add(1, op_receive(0, 0, 1));
    add(1, op_wait(1));
    assert_int_equal(lull_simulate(program, &options, arena, &result, NULL, &err), LULL_OK);
    assert_int_equal(result.ranks[0].end, 2 * 160 + 1000);
    assert_int_equal(result.ranks[1].end, 160);
}

static void a_delay_that_hits_nothing_is_refused(void **state)
{
    (void)state;
    const struct lull_delay delays[] = {{0, true, 3, 10}, {0, true, 4, 10}, {0, false, 401, 10}};
    struct lull_network network = network_of("ideal", NULL);
    for (int i = 0; i < 3; i++) {
        struct lull_sim_options options = {
            .network = &network, .delays = &delays[i], .n_delays = 1};
        struct lull_sim_result result;
        struct lull_error err = {""};
        program = stream_program(1, NULL, 16);
        for (uint64_t k = 0; k < 4; k++) {
            add(0, op_mark(k));
            add(0, op_compute(100));
        }
        lull_status status = lull_simulate(program, &options, arena, &result, NULL, &err);
        assert_int_equal(status, i == 0 ? LULL_OK : LULL_ERR_RANGE);
        assert_true(i == 0 || strstr(err.text, i == 1 ? "iteration 4" : "401 ns"));
        lull_program_close(program);
    }
    program = NULL;
}

/* --- collective operations ----------------------------------------------------------------- */

static void all_leave_a_closed_form_together(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(4, NULL, 16);
    for (uint32_t r = 0; r < 4; r++) {
        add(r, op_compute(100 * (r + 1)));
        add(r, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
        add(r, op_compute(r));
    }
    check_ends(&network, (const int64_t[]){400, 401, 402, 403});
}

static void collective_without_blocking_overlaps(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++) {
        add(r, op_compute(r ? 500 : 100));
        add(r, op_collective(LULL_COLLECTIVE_ALLREDUCE, LULL_OP_ANY, 8, 3));
        add(r, op_compute(200));
        add(r, op_wait(3));
    }
    check_ends(&network, (const int64_t[]){500, 700});
}

static void barrier_by_messages_waits_for_all(void **state)
{
    (void)state;
    const char *const names[] = {"hockney", "loggops", "loggops-compat"};
    for (unsigned n = 0; n < 3; n++)
        for (uint32_t late = 0; late < 5; late++) {
            struct lull_network network = network_of(names[n], NULL);
            program = stream_program(5, NULL, 16);
            for (uint32_t r = 0; r < 5; r++) {
                add(r, op_compute(r == late ? 1000000 : 10));
                add(r, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
                add(r, op_compute(1));
            }
            struct lull_sim_result result = simulate(program, &network, arena);
            for (uint32_t r = 0; r < 5; r++)
                assert_true(result.ranks[r].end >= 1000001);
            assert_int_equal(result.n_collectives, 5);
            lull_program_close(program);
        }
    program = NULL;
}

/* --- what is wrong ------------------------------------------------------------------------- */

static const char *const *problems;

static const char *failure(const struct lull_network *network)
{
    static struct lull_error err;
    struct lull_sim_options options = {.network = network};
    struct lull_sim_result result;
    problems = NULL;
    assert_int_not_equal(lull_simulate(program, &options, arena, &result, &problems, &err),
                         LULL_OK);
    return err.text;
}

static void circles_are_named(void **state)
{
    (void)state;
    parse("num_ranks 3\n"
          "rank 0 { a: recv 1b from 1 b: send 1b to 2\n b requires a }\n"
          "rank 1 { a: recv 1b from 2 b: send 1b to 0\n b requires a }\n"
          "rank 2 { a: recv 1b from 0 b: send 1b to 1\n b requires a }\n");
    const char *text = failure(loggops(0));
    assert_non_null(strstr(text, "deadlock: rank 0 (line 2"));
    assert_non_null(strstr(text, "waits for rank 1 (line 4"));
    assert_non_null(strstr(text, "waits for rank 2 (line 6"));
}

static void partners_that_are_missing_are_named(void **state)
{
    (void)state;
    parse("num_ranks 2\n"
          "rank 0 { a: recv 1b from 1 tag 7 b: send 5b to 1 tag 8 }\n"
          "rank 1 { a: calc 5 }\n");
    const char *text = failure(loggops(0));
    assert_non_null(strstr(text, "1 receives and 1 sends have no partner"));
    assert_non_null(strstr(problems[0], "line 2"));
    assert_non_null(strstr(problems[0], "receive from rank 1, tag 7"));
    assert_non_null(strstr(problems[1], "send of 5 bytes to rank 1, tag 8"));
    assert_null(problems[2]);
}

static void places_of_streams_are_found_by_a_second_run(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(2, NULL, 16);
    add(0, op_compute(5));
    add(0, op_receive(1, 3, 0));
    add(0, op_wait_all());
    const char *text = failure(&network);
    assert_non_null(strstr(text, "operation 2: receive from rank 1, tag 3"));
}

static void collectives_that_differ_are_named(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(2, NULL, 16);
    add(0, op_collective(LULL_COLLECTIVE_BCAST, 0, 8, LULL_OP_NO_REQUEST));
    add(1, op_collective(LULL_COLLECTIVE_BCAST, 1, 8, LULL_OP_NO_REQUEST));
    const char *text = failure(&network);
    assert_non_null(strstr(text, "rank 0 calls bcast with root 0"));
    assert_non_null(strstr(text, "rank 1 calls bcast with root 1"));
}

static void collective_that_lacks_a_rank_is_named(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(3, NULL, 16);
    add(0, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
    add(2, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
    assert_non_null(strstr(failure(&network), "barrier"));
}

static void time_has_an_end(void **state)
{
    (void)state;
    parse("num_ranks 1 rank 0 { a: calc 4000000000000000000 b: calc 4000000000000000000\n"
          "b requires a }");
    assert_non_null(strstr(failure(loggops(0)), "2^60"));
}

/* Such a message takes longer than can be told, on every network whose bytes cost something. */
static void a_message_without_end_is_refused(void **state)
{
    (void)state;
    struct lull_network slow = network_of("hockney", "bandwidth", 1.0, NULL);
    parse("num_ranks 2 rank 0 { send 4611686018427387904b to 1 tag 1 }\n"
          "rank 1 { recv 4611686018427387904b from 0 tag 1 }");
    assert_non_null(strstr(failure(loggops(0)), "2^60"));
    assert_non_null(strstr(failure(&slow), "2^60"));
}

static void unknown_requests_and_ranks_are_refused(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    program = stream_program(1, NULL, 16);
    add(0, op_wait(4));
    assert_non_null(strstr(failure(&network), "request 4"));
    lull_program_close(program);
    program = stream_program(1, NULL, 16);
    add(0, op_send(1, 0, 0, 0));
    assert_non_null(strstr(failure(&network), "rank 1 does not exist"));
}

static void empty_programs_end_at_once(void **state)
{
    (void)state;
    struct lull_network network = network_of("loggops-compat", NULL);
    program = stream_program(3, NULL, 16);
    check_ends(&network, (const int64_t[]){0, 0, 0});
}

static void absurd_numbers_are_refused(void **state)
{
    (void)state;
    struct lull_network network = network_of("loggops", "L", -1.0, NULL);
    struct lull_error err;
    assert_int_equal(lull_network_check(&network, 1, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "L=-1"));
    network = network_of("loggops", NULL);
    network.collectives = LULL_COLLECTIVES_CLOSED;
    assert_int_equal(lull_network_check(&network, 1, &err), LULL_ERR_RANGE);
    assert_null(lull_network_find("infiniband"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(eager_sender_goes_on),
        TEST(rendezvous_begins_when_both_are_there),
        TEST(synchronous_send_waits_whatever_its_size),
        TEST(messages_of_a_pair_keep_their_order),
        TEST(halo_swap_costs_what_the_model_says),
        TEST(levels_have_their_own_numbers),
        TEST(eager_message_is_there_with_its_last_byte),
        TEST(processor_time_per_byte_counts_at_both_ends),
        TEST(messages_queue_at_the_nic),
        TEST(rendezvous_takes_a_round_trip),
        TEST(payload_is_not_there_before_it_is_sent),
        TEST(sender_that_computes_does_not_answer),
        TEST(two_processors_work_at_once),
        TEST(irequires_waits_for_the_start),
        TEST(waits_are_for_what_they_name),
        TEST(a_wait_copies_what_is_there),
        TEST(wildcards_take_what_comes_first),
        TEST(threads_of_a_rank_join),
        TEST(threads_are_made_and_joined),
        TEST(threads_wait_for_those_that_arrive),
        TEST(threads_of_a_rank_send_to_each_other),
        TEST(streams_and_graphs_agree_with_the_written_rules),
        TEST(processor_speed_scales_what_may_be_scaled),
        TEST(delays_hit_once),
        TEST(delays_spare_what_began_before),
        TEST(a_delay_that_hits_nothing_is_refused),
        TEST(a_message_without_end_is_refused),
        TEST(all_leave_a_closed_form_together),
        TEST(collective_without_blocking_overlaps),
        TEST(barrier_by_messages_waits_for_all),
        TEST(circles_are_named),
        TEST(partners_that_are_missing_are_named),
        TEST(places_of_streams_are_found_by_a_second_run),
        TEST(collectives_that_differ_are_named),
        TEST(collective_that_lacks_a_rank_is_named),
        TEST(time_has_an_end),
        TEST(unknown_requests_and_ranks_are_refused),
        TEST(empty_programs_end_at_once),
        TEST(absurd_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
