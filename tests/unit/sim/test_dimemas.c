/* The network `dimemas` on cases worked out by hand. */
#include "base/collective.h"
#include "sim/engine/engine.h"
#include "support/stream_program.h"
#include "support/test.h"

#include <stddef.h>

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
        fail_if(result.ranks[r].end != ends[r], "rank %u ends at %lld, not at %lld", r,
                (long long)result.ranks[r].end, (long long)ends[r]);
}

/* A startup of 1 us on the sender's processor, then 1000 bytes at 1 GB/s. */
static void startup_occupies_the_sender(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, "eager", 4096.0, NULL);
    program = stream_program(2, NULL, 16);
    add(0, op_send(1, 0, 1000, 0));
    add(0, op_wait(0));
    add(0, op_compute(500));
    add(1, op_receive(0, 0, 0));
    add(1, op_wait(0));
    check_ends(&network, (const int64_t[]){1500, 2000});
}

/* Beyond the eager limit it moves when both are there, and the sender waits for that; a receive
 * that blocks is there behind its startup. (Dimemas 5.2, COMMUNIC_send and COMMUNIC_recv.) */
static void rendezvous_waits_for_the_receiver(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, "eager", 999.0, NULL);
    program = stream_program(2, NULL, 16);
    add(0, op_send(1, 0, 1000, 0));
    add(0, op_wait(0));
    add(1, op_compute(5000));
    add(1, op_receive(0, 0, 0));
    add(1, op_wait(0));
    check_ends(&network, (const int64_t[]){5000, 6000});
    lull_program_close(program);
    program = stream_program(2, NULL, 16);
    struct lull_op receive = op_receive(0, 0, 0);
    receive.flags |= LULL_OP_BLOCKING;
    add(0, op_send(1, 0, 1000, 0));
    add(0, op_wait(0));
    add(1, op_compute(5000));
    add(1, receive);
    add(1, op_wait(0));
    check_ends(&network, (const int64_t[]){6000, 7000});
}

/* A receive takes its startup as well, also of a message that has been there for long, and of
 * several in one wait each takes its own. The second wait is long over its startup when the message
 * comes. */
static void startup_occupies_the_receiver(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("dimemas", "startup", 10000.0, "bandwidth", 1e9, "in", 0.0, NULL);
    program = stream_program(3, NULL, 16);
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t i = 0; i < 2; i++) {
            add(r, op_send(2, i, 1000, i));
            add(r, op_wait(i));
            add(r, op_compute(i == 0 ? 100000 : 0));
        }
    add(2, op_compute(50000));
    for (uint32_t r = 0; r < 2; r++)
        add(2, op_receive(r, 0, r));
    add(2, op_wait_all()); /* 50,000 + 2 x 10,000 */
    for (uint32_t r = 0; r < 2; r++)
        add(2, op_receive(r, 1, r));
    add(2, op_wait_all()); /* 10,000 + 100,000 + 10,000 + 1,000 */
    check_ends(&network, (const int64_t[]){120000, 120000, 121000});
    lull_program_close(program);
    program = stream_program(2, NULL, 16);
    add(0, op_send(1, 0, 1000, 0));
    add(0, op_wait(0));
    add(1, op_compute(50000));
    add(1, op_receive(0, 0, 0));
    add(1, op_wait(0));
    check_ends(&network, (const int64_t[]){10000, 60000});
}

/* Ranks 0 and 1 send 1000 bytes to 2 and 3, all on different nodes. */
static void two_pairs(void)
{
    program = stream_program(4, NULL, 16);
    for (uint32_t r = 0; r < 2; r++) {
        add(r, op_send(r + 2, 0, 1000, 0));
        add(r, op_wait(0));
        add(r + 2, op_receive(r, 0, 0));
        add(r + 2, op_wait(0));
    }
}

static void one_bus_carries_one_message(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, "buses", 1.0, NULL);
    two_pairs();
    check_ends(&network, (const int64_t[]){1000, 1000, 2000, 3000});
    lull_program_close(program);
    network = network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, "buses", 2.0, NULL);
    two_pairs();
    check_ends(&network, (const int64_t[]){1000, 1000, 2000, 2000});
}

/* Both go to rank 2: one input link takes them in turn, two at once. */
static void links_of_a_node(void **state)
{
    (void)state;
    for (int links = 0; links <= 2; links++) {
        struct lull_network network =
            network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, "in", (double)links, NULL);
        program = stream_program(3, NULL, 16);
        for (uint32_t r = 0; r < 2; r++) {
            add(r, op_send(2, r, 1000, 0));
            add(r, op_wait(0));
            add(2, op_receive(r, r, r));
        }
        add(2, op_wait_all());
        check_ends(&network, (const int64_t[]){1000, 1000, links == 1 ? 3000 : 2000});
        lull_program_close(program);
    }
    program = NULL;
}

/* Dimemas' megabyte has 2^20 bytes: 2 steps of 10 us and 8 bytes at 100 MB/s make 20.153 us. */
static void allreduce_of_four(void **state)
{
    (void)state;
    struct lull_network network =
        network_of("dimemas", "startup", 10000.0, "bandwidth", 100.0 * 1048576, NULL);
    program = stream_program(4, NULL, 16);
    for (uint32_t r = 0; r < 4; r++) {
        add(r, op_compute(100 * r));
        add(r, op_collective(LULL_COLLECTIVE_ALLREDUCE, LULL_OP_ANY, 8, LULL_OP_NO_REQUEST));
    }
    check_ends(&network, (const int64_t[]){20453, 20453, 20453, 20453});
}

/* 5 ranks: three steps; a reduction moves twice the largest size: 3 (1000 + 2 * 500). */
static void other_collectives(void **state)
{
    (void)state;
    static const struct {
        uint8_t operation;
        int64_t end;
    } cases[] = {{LULL_COLLECTIVE_BARRIER, 3 * 1000},
                 {LULL_COLLECTIVE_REDUCE, 3 * (1000 + 2 * 500)},
                 {LULL_COLLECTIVE_ALLGATHER, 2 * 3 * (1000 + 500)},
                 {LULL_COLLECTIVE_ALLREDUCE, 3 * (1000 + 500)}};
    struct lull_network network = network_of("dimemas", "startup", 1000.0, "bandwidth", 1e9, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = cases[i].operation == LULL_COLLECTIVE_BARRIER ? 0 : 500;
        uint32_t root = cases[i].operation == LULL_COLLECTIVE_REDUCE ? 0 : LULL_OP_ANY;
        program = stream_program(5, NULL, 16);
        for (uint32_t r = 0; r < 5; r++)
            add(r, op_collective(cases[i].operation, root, bytes, LULL_OP_NO_REQUEST));
        int64_t end = cases[i].end;
        check_ends(&network, (const int64_t[]){end, end, end, end, end});
        lull_program_close(program);
    }
    program = NULL;
}

TEST_GROUP(test_dimemas)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(startup_occupies_the_sender, set_up, tear_down),
        cmocka_unit_test_setup_teardown(startup_occupies_the_receiver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rendezvous_waits_for_the_receiver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_bus_carries_one_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_of_a_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(allreduce_of_four, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_collectives, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
