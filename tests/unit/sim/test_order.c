/* Messages of one channel never overtake, and what happens at the same time happens in the order of
 * its sources. A sink tells which message a receive got. */
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "support/stream_program.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16 };

struct got {
    uint64_t bytes[MOST];
    uint32_t sources[MOST];
    unsigned n;
};

static lull_status done(void *context, uint32_t stream, const struct lull_op *op, uint32_t source,
                        uint32_t tag, uint64_t bytes, int64_t time, struct lull_error *err)
{
    struct got *got = context;
    (void)stream;
    (void)tag;
    (void)time;
    (void)err;
    if (op->kind == LULL_OP_RECV && got->n < MOST) {
        got->bytes[got->n] = bytes;
        got->sources[got->n++] = source;
    }
    return LULL_OK;
}

static struct got receive_all(const char *text, const struct lull_network *network)
{
    struct got got = {.n = 0};
    struct lull_sim_sink sink = {.context = &got, .done = done};
    struct lull_sim_options options = {.network = network, .sink = &sink};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program;
    struct lull_sim_result result;
    struct lull_error err = {""};
    fail_if(lull_goal_parse("test", text, strlen(text), &program, &err) != LULL_OK ||
                lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    lull_program_close(program);
    lull_arena_destroy(arena);
    return got;
}

static const char large_before_small[] = "num_ranks 2\n"
                                         "rank 0 {\n"
                                         "a: send 1001b to 1 tag 5\n"
                                         "b: send 1b to 1 tag 5\n"
                                         "b requires a\n"
                                         "}\n"
                                         "rank 1 {\n"
                                         "a: recv 1001b from 0 tag 5\n"
                                         "b: recv 1b from 0 tag 5\n"
                                         "b requires a\n"
                                         "}\n";

/* The small message reaches the receiver at the very moment when the last byte of the large one
 * does. */
static void a_small_message_does_not_pass_a_large_one(void **state)
{
    const struct lull_network networks[] = {
        network_of("loggops", "L", 100.0, "G", 1.0, "g", 0.0, "o", 0.0, "S", 1e6, NULL),
        network_of("loggops", "L", 100.0, "G", 1.0, "g", 0.0, "o", 0.0, "O", 1.0, "S", 1e6, NULL),
        network_of("loggops", "L", 0.0, "G", 0.0, "g", 0.0, "o", 0.0, "O", 0.0, "S", 1e6, NULL),
        network_of("loggops", "L", 100.0, "G", 1.0, "g", 0.0, "o", 0.0, "S", 10.0, NULL),
        network_of("hockney", "latency", 100.0, "bandwidth", 1e9, NULL),
        network_of("hockney", "latency", 100.0, "bandwidth", 1e9, "eager", 10.0, NULL),
        network_of("dimemas", "startup", 100.0, "bandwidth", 1e9, NULL),
        network_of("ideal", NULL),
    };
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        struct got got = receive_all(large_before_small, &networks[i]);
        fail_if(got.n != 2 || got.bytes[0] != 1001 || got.bytes[1] != 1,
                "network %zu: %u messages, %llu bytes, then %llu", i, got.n,
                (unsigned long long)got.bytes[0], (unsigned long long)got.bytes[1]);
    }
}

/* The large message still passes its NIC when the small ones have passed another one. */
static void nor_through_another_nic(void **state)
{
    static const char text[] = "num_ranks 2\n"
                               "rank 0 {\n"
                               "a: send 1001b to 1 tag 5\n"
                               "b: send 1b to 1 tag 5 nic 1\n"
                               "c: send 2b to 1 tag 5 nic 2\n"
                               "d: send 3b to 1 tag 6 nic 1\n"
                               "}\n"
                               "rank 1 {\n"
                               "a: recv 1b from 0 tag 5 nic 2\n"
                               "b: recv 1b from 0 tag 5\n"
                               "c: recv 1b from 0 tag 5\n"
                               "d: recv 1b from 0 tag 6\n"
                               "b requires a\n"
                               "c requires b\n"
                               "}\n";
    (void)state;
    struct lull_network network =
        network_of("loggops", "L", 100.0, "G", 1.0, "g", 0.0, "o", 0.0, "S", 1e6, NULL);
    struct got got = receive_all(text, &network);
    const uint64_t bytes[] = {3, 1001, 1, 2}; /* tag 6 is another channel */
    assert_int_equal(got.n, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(got.bytes[i], bytes[i]);
}

/* Three messages reach a rank at the same moment. They were sent at different ones: 2 computes
 * first, 1 and 3 send at once with as much overhead. */
static void at_one_time_the_lower_source_comes_first(void **state)
{
    static const char text[] = "num_ranks 4\n"
                               "rank 0 {\n"
                               "a: recv 1b from -1 tag 5\n"
                               "b: recv 1b from -1 tag 5\n"
                               "c: recv 1b from -1 tag 5\n"
                               "}\n"
                               "rank 1 {\n"
                               "a: calc 40\n"
                               "b: calc 20\n"
                               "b requires a\n"
                               "c: send 1b to 0 tag 5\n"
                               "c requires b\n"
                               "}\n"
                               "rank 2 {\n"
                               "a: calc 60\n"
                               "c: send 1b to 0 tag 5\n"
                               "c requires a\n"
                               "}\n"
                               "rank 3 {\n"
                               "a: calc 10\n"
                               "b: send 1b to 0 tag 5 cpu 1\n"
                               "c: calc 60 cpu 1\n"
                               "b requires c\n"
                               "}\n";
    const struct lull_network networks[] = {
        network_of("loggops", "L", 100.0, "G", 0.0, "g", 0.0, "o", 7.0, NULL),
        network_of("hockney", "latency", 100.0, "bandwidth", 1e9, NULL),
    };
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        struct got got = receive_all(text, &networks[i]);
        assert_int_equal(got.n, 3);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(got.sources[k], k + 1);
    }
}

static const struct lull_program_class *by_hand;
static uint32_t pulled[MOST], n_pulled;

static lull_status next(struct lull_program *program, uint32_t stream, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    if (n_pulled < MOST)
        pulled[n_pulled++] = stream;
    return by_hand->next(program, stream, ret_ops, room, ret_count, err);
}

/* Each stream is asked for its next operations until it is blocked, whatever the time; only a sink
 * is told everything in order. */
static void hockney_and_ideal_need_no_queue(void **state)
{
    static const char *const networks[] = {"hockney", "ideal"};
    static const uint32_t expected[] = {0, 0, 0, 0, 1, 1, 1, 1};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct lull_program *program = stream_program(2, NULL, 8);
        struct lull_program_class watched = *program->class;
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_network network = network_of(networks[i], NULL);
        by_hand = program->class;
        watched.next = next;
        program->class = &watched;
        for (uint32_t s = 0; s < 2; s++)
            for (unsigned k = 0; k < 3; k++)
                stream_program_add(program, s, op_compute(100));
        n_pulled = 0;
        assert_int_equal(simulate(program, &network, arena).runtime, 300);
        assert_int_equal(n_pulled, 8);
        for (unsigned k = 0; k < 8; k++)
            assert_int_equal(pulled[k], expected[k]);
        program->class = by_hand;
        lull_arena_destroy(arena);
        lull_program_close(program);
    }
}

TEST_GROUP(test_order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_message_does_not_pass_a_large_one),
        cmocka_unit_test(nor_through_another_nic),
        cmocka_unit_test(at_one_time_the_lower_source_comes_first),
        cmocka_unit_test(hockney_and_ideal_need_no_queue),
    };
    return run_cases(tests, NULL, NULL);
}
