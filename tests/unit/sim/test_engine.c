/* What messages and collective operations cost, on small cases whose times are worked out by hand
 * from the rules in the headers. */
#include "base/collective.h"
#include "sim/noise/noise.h"
#include "support/engine_case.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- hockney ------------------------------------------------------------------------------- */

/* 1 us and 1 GB/s: 1000 bytes take 2000 ns. */
static void eager_sender_goes_on(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 1000.0, "bandwidth", 1e9, "eager", 4096.0, NULL);
    engine_program = stream_program(2, NULL, 16);
    engine_add(0, op_send(1, 0, 1000, 7));
    engine_add(0, op_wait(7));
    engine_add(0, op_compute(500));
    engine_add(1, op_compute(100));
    engine_add(1, op_receive(0, 0, 3));
    engine_add(1, op_wait_all());
    engine_add(1, op_compute(50));
    engine_check_ends(&network, (const int64_t[]){500, 2050});
}

static void rendezvous_begins_when_both_are_there(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 1000.0, "bandwidth", 1e9, "eager", 999.0, NULL);
    for (int64_t late = 0; late <= 3000; late += 500) { /* the receiver comes before and after */
        engine_program = stream_program(2, NULL, 16);
        engine_add(0, op_send(1, 0, 1000, 0));
        engine_add(0, op_wait_all());
        engine_add(1, op_compute(late));
        engine_add(1, op_receive(0, 0, 0));
        engine_add(1, op_wait_all());
        engine_check_ends(&network, (const int64_t[]){late + 2000, late + 2000});
        lull_program_close(engine_program);
    }
    engine_program = NULL;
}

static void synchronous_send_waits_whatever_its_size(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 100.0, "bandwidth", INFINITY, NULL);
    struct lull_op send = op_send(1, 0, 0, 0);
    send.flags |= LULL_OP_SYNCHRONOUS;
    engine_program = stream_program(2, NULL, 16);
    engine_add(0, send);
    engine_add(0, op_wait_all());
    engine_add(1, op_compute(1000));
    engine_add(1, op_receive(0, 0, 0));
    engine_add(1, op_wait_all());
    engine_check_ends(&network, (const int64_t[]){1100, 1100});
}

/* A short message does not overtake a long one of the same pair and tag. */
static void messages_of_a_pair_keep_their_order(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 10.0, "bandwidth", 1e9, "eager", 1e6, NULL);
    engine_program = stream_program(2, NULL, 16);
    engine_add(0, op_send(1, 0, 5000, 0));
    engine_add(0, op_send(1, 0, 1, 1));
    engine_add(0, op_wait_all());
    engine_add(1, op_receive(0, 0, 0));
    engine_add(1, op_receive(0, 0, 1));
    engine_add(1, op_wait(1)); /* the short one, at 11 */
    engine_add(1, op_compute(1));
    engine_add(1, op_wait(0));
    engine_check_ends(&network, (const int64_t[]){0, 5010});
}

/* The published halo model (1-D): one direction after the other costs 2 (T_l + 8 L / B). */
static void halo_swap_costs_what_the_model_says(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 5000.0, "bandwidth", 400e6, NULL);
    engine_program = stream_program(8, NULL, 16);
    for (uint32_t r = 0; r < 8; r++)
        for (int direction = 0; direction < 2; direction++) {
            engine_add(r, op_send((r + (direction ? 7 : 1)) % 8, 0, 8000, 0));
            engine_add(r, op_receive((r + (direction ? 1 : 7)) % 8, 0, 1));
            engine_add(r, op_wait_all());
        }
    assert_int_equal(simulate(engine_program, &network, engine_arena).runtime, 2 * (5000 + 20000));
}

static void levels_have_their_own_numbers(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("hockney", "latency", 1000.0, "bandwidth", INFINITY, NULL);
    lull_network_set(&network, 0, LULL_LEVEL_NODE, 100);
    lull_network_set(&network, 0, LULL_LEVEL_CORE, 1);
    network.placement.cores_per_node = 2;
    engine_program = stream_program(4, NULL, 16);
    engine_add(0, op_send(1, 0, 0, 0));
    engine_add(0, op_send(2, 0, 0, 1));
    engine_add(0, op_send(0, 0, 0, 2));
    engine_add(0, op_receive(0, 0, 3));
    engine_add(0, op_wait_all());
    engine_add(1, op_receive(0, 0, 0));
    engine_add(1, op_wait_all());
    engine_add(2, op_receive(0, 0, 0));
    engine_add(2, op_wait_all());
    engine_check_ends(&network, (const int64_t[]){1, 100, 1000, 0});
}

/* --- loggops ------------------------------------------------------------------------------- */

/* o + L + 100 G + o; the sender is done after o. */
static void eager_message_is_there_with_its_last_byte(void **state)
{
    (void)state;
    engine_parse("num_ranks 2 rank 0 { l1: send 101b to 1 } rank 1 { l1: recv 101b from 0 }");
    engine_check_ends(engine_loggops(0), (const int64_t[]){100, 1400});
}

static void processor_time_per_byte_counts_at_both_ends(void **state)
{
    (void)state;
    engine_parse("num_ranks 2 rank 0 { l1: send 101b to 1 } rank 1 { l1: recv 101b from 0 }");
    /* busy 100 + 100 at either end; the NIC begins when the processor is done */
    engine_check_ends(engine_loggops(1), (const int64_t[]){200, 200 + 1000 + 200 + 200});
}

/* The NIC lets the second message go g + B G after the first (150 + 250), the processor is free
 * before. */
static void messages_queue_at_the_nic(void **state)
{
    (void)state;
    engine_parse("num_ranks 2 rank 0 { l1: send 101b to 1 l2: send 101b to 1 tag 1 l3: calc 10\n"
                 "l3 requires l1 l3 requires l2 }"
                 "rank 1 { l1: recv 101b from 0 l2: recv 101b from 0 tag 1 }");
    /* first leaves 100, there 1300; second: ready 200, leaves 350, first byte 1350, there 1550 */
    engine_check_ends(engine_loggops(0), (const int64_t[]){210, 1650});
}

/* Announcement: o L; answer: o L; payload: o L B G o. B = 2000. */
static void rendezvous_takes_a_round_trip(void **state)
{
    (void)state;
    engine_parse("num_ranks 2 rank 0 { l1: send 2001b to 1 } rank 1 { l1: recv 2001b from 0 }");
    int64_t left = 100 + 1000 + 100 + 1000 + 100 + 4000;
    engine_check_ends(engine_loggops(0), (const int64_t[]){left, left + 1000 + 100});
}

/* Posted at 5000: the answer leaves then, not before, and the payload comes after it. */
static void payload_is_not_there_before_it_is_sent(void **state)
{
    (void)state;
    engine_parse("num_ranks 2 rank 0 { l1: send 2001b to 1 }"
                 "rank 1 { l1: calc 5000 l2: recv 2001b from 0 l2 requires l1 }");
    int64_t left = 5000 + 100 + 1000 + 100 + 4000;
    engine_check_ends(engine_loggops(0), (const int64_t[]){left, left + 1000 + 100});
}

/* The answer waits for the processor that computes: no progress behind its back. */
static void sender_that_computes_does_not_answer(void **state)
{
    (void)state;
    engine_parse("num_ranks 2 rank 0 { l1: send 2001b to 1 l2: calc 9000 l2 irequires l1 }"
                 "rank 1 { l1: recv 2001b from 0 }");
    int64_t left = 9100 + 100 + 4000; /* o of the announcement, the computation, o, the bytes */
    engine_check_ends(engine_loggops(0), (const int64_t[]){left, left + 1100});
}

static void two_processors_work_at_once(void **state)
{
    (void)state;
    engine_parse("num_ranks 1 rank 0 { l1: calc 300 l2: calc 500 cpu 1 l3: calc 10\n"
                 "l3 requires l1 l3 requires l2 }");
    engine_check_ends(engine_loggops(0), (const int64_t[]){510});
}

/* l2 begins with l1, on another processor; l3 after it. */
static void irequires_waits_for_the_start(void **state)
{
    (void)state;
    engine_parse(
        "num_ranks 1 rank 0 { l0: calc 100 l1: calc 300 l2: calc 500 cpu 1 l1 requires l0\n"
        "l2 irequires l1 }");
    engine_check_ends(engine_loggops(0), (const int64_t[]){600});
}

/* --- collective operations ----------------------------------------------------------------- */

static void all_leave_a_closed_form_together(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(4, NULL, 16);
    for (uint32_t r = 0; r < 4; r++) {
        engine_add(r, op_compute(100 * (r + 1)));
        engine_add(r, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
        engine_add(r, op_compute(r));
    }
    engine_check_ends(&network, (const int64_t[]){400, 401, 402, 403});
}

static void collective_without_blocking_overlaps(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++) {
        engine_add(r, op_compute(r ? 500 : 100));
        engine_add(r, op_collective(LULL_COLLECTIVE_ALLREDUCE, LULL_OP_ANY, 8, 3));
        engine_add(r, op_compute(200));
        engine_add(r, op_wait(3));
    }
    engine_check_ends(&network, (const int64_t[]){500, 700});
}

static void barrier_by_messages_waits_for_all(void **state)
{
    (void)state;
    const char *const names[] = {"hockney", "loggops", "loggops-compat"};
    for (unsigned n = 0; n < 3; n++)
        for (uint32_t late = 0; late < 5; late++) {
            struct lull_network network = network_of(names[n], NULL);
            engine_program = stream_program(5, NULL, 16);
            for (uint32_t r = 0; r < 5; r++) {
                engine_add(r, op_compute(r == late ? 1000000 : 10));
                engine_add(
                    r, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
                engine_add(r, op_compute(1));
            }
            struct lull_sim_result result = simulate(engine_program, &network, engine_arena);
            for (uint32_t r = 0; r < 5; r++)
                assert_true(result.ranks[r].end >= 1000001);
            assert_int_equal(result.n_collectives, 5);
            lull_program_close(engine_program);
        }
    engine_program = NULL;
}

TEST_GROUP(test_engine)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(eager_sender_goes_on),
        ENGINE_TEST(rendezvous_begins_when_both_are_there),
        ENGINE_TEST(synchronous_send_waits_whatever_its_size),
        ENGINE_TEST(messages_of_a_pair_keep_their_order),
        ENGINE_TEST(halo_swap_costs_what_the_model_says),
        ENGINE_TEST(levels_have_their_own_numbers),
        ENGINE_TEST(eager_message_is_there_with_its_last_byte),
        ENGINE_TEST(processor_time_per_byte_counts_at_both_ends),
        ENGINE_TEST(messages_queue_at_the_nic),
        ENGINE_TEST(rendezvous_takes_a_round_trip),
        ENGINE_TEST(payload_is_not_there_before_it_is_sent),
        ENGINE_TEST(sender_that_computes_does_not_answer),
        ENGINE_TEST(two_processors_work_at_once),
        ENGINE_TEST(irequires_waits_for_the_start),
        ENGINE_TEST(all_leave_a_closed_form_together),
        ENGINE_TEST(collective_without_blocking_overlaps),
        ENGINE_TEST(barrier_by_messages_waits_for_all),
    };
    return run_cases(tests, NULL, NULL);
}
