/* Collective algorithms, carried out step by step by a simulator of its own that knows nothing of
 * time: a message can be received when it was sent, a step is over when its messages are there. */
#include "sim/collective/collective.h"

#include "base/collective.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 33, MOST_MESSAGES = 40000, BLOCK = 64 };

struct message {
    uint32_t from, to, tag;
    uint64_t bytes;
    uint64_t set; /* what its sender knew */
    bool taken;
};

/* A run of one operation. Contributions are bits: who knows whose. */
struct world {
    uint8_t operation;
    uint32_t size, root;
    const char *algorithms;
    bool rendezvous;
    uint32_t late; /* this rank never begins; size: none */
    uint32_t step[MOST];
    uint8_t state[MOST]; /* 0: to begin the step, 1: waiting in it, 2: over */
    uint64_t knows[MOST];
    struct message *messages;
    uint32_t n_messages;
    uint64_t bytes;
};

static struct lull_collective_call call_of(const struct world *world, uint32_t me)
{
    struct lull_network network = {.algorithms = world->algorithms};
    struct lull_collective_call call = {
        .operation = world->operation, .size = world->size, .me = me, .root = world->root};
    uint64_t all = (uint64_t)BLOCK * world->size;
    bool root = me == world->root;
    switch (world->operation) {
    case LULL_COLLECTIVE_BCAST:
        call.sent = root ? all : 0;
        call.received = root ? 0 : all;
        break;
    case LULL_COLLECTIVE_REDUCE:
        call.sent = all;
        call.received = root ? all : 0;
        break;
    case LULL_COLLECTIVE_GATHER:
        call.sent = BLOCK;
        call.received = root ? all : 0;
        break;
    case LULL_COLLECTIVE_SCATTER:
        call.sent = root ? all : 0;
        call.received = BLOCK;
        break;
    case LULL_COLLECTIVE_ALLGATHER:
        call.sent = BLOCK;
        call.received = all;
        break;
    case LULL_COLLECTIVE_REDUCE_SCATTER:
        call.sent = all;
        call.received = BLOCK;
        break;
    case LULL_COLLECTIVE_BARRIER:
        break;
    default:
        call.sent = call.received = all;
    }
    call.algorithm = lull_collective_choose(&network, world->operation, world->size, all);
    return call;
}

static bool begin_step(struct world *world, uint32_t me)
{
    struct lull_collective_call call = call_of(world, me);
    uint32_t n = lull_collective_step(&call, world->step[me]);
    if (n == LULL_COLLECTIVE_OVER) {
        world->state[me] = 2;
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct lull_collective_transfer part;
        lull_collective_transfer(&call, world->step[me], i, &part);
        assert_true(part.peer < world->size && part.peer != me);
        if (!part.send)
            continue;
        assert_true(world->n_messages < MOST_MESSAGES);
        world->messages[world->n_messages++] = (struct message){.from = me,
                                                                .to = part.peer,
                                                                .tag = part.tag,
                                                                .bytes = part.bytes,
                                                                .set = world->knows[me]};
        world->bytes += part.bytes;
    }
    world->state[me] = 1;
    return true;
}

/* Whether `to` waits for such a message in its present step. */
static bool is_posted(const struct world *world, const struct message *message)
{
    uint32_t to = message->to;
    struct lull_collective_call call = call_of(world, to);
    if (world->state[to] != 1)
        return world->state[to] == 2;
    uint32_t n = lull_collective_step(&call, world->step[to]);
    for (uint32_t i = 0; i < n; i++) {
        struct lull_collective_transfer part;
        lull_collective_transfer(&call, world->step[to], i, &part);
        if (!part.send && part.peer == message->from && part.tag == message->tag)
            return true;
    }
    return false;
}

static struct message *find(struct world *world, uint32_t from, uint32_t to, uint32_t tag)
{
    for (uint32_t m = 0; m < world->n_messages; m++) {
        struct message *message = &world->messages[m];
        if (!message->taken && message->from == from && message->to == to && message->tag == tag)
            return message;
    }
    return NULL;
}

static bool all_there(struct world *world, uint32_t me, bool take)
{
    struct lull_collective_call call = call_of(world, me);
    uint32_t n = lull_collective_step(&call, world->step[me]);
    for (uint32_t i = 0; i < n; i++) {
        struct lull_collective_transfer part;
        lull_collective_transfer(&call, world->step[me], i, &part);
        if (part.send && world->rendezvous && !take) {
            const struct message *mine = find(world, me, part.peer, part.tag);
            if (mine && !is_posted(world, mine))
                return false;
        }
        if (part.send)
            continue;
        struct message *message = find(world, part.peer, me, part.tag);
        if (!message)
            return false;
        if (take) {
            world->knows[me] |= message->set;
            message->taken = true;
        }
    }
    return true;
}

static void run(struct world *world)
{
    static struct message messages[MOST_MESSAGES];
    world->messages = messages;
    for (uint32_t r = 0; r < world->size; r++)
        world->knows[r] = UINT64_C(1) << r;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t r = 0; r < world->size; r++) {
            if (r == world->late)
                continue;
            if (world->state[r] == 0)
                moved |= begin_step(world, r);
            if (world->state[r] == 1 && all_there(world, r, false)) {
                all_there(world, r, true);
                world->step[r]++;
                world->state[r] = 0;
                moved = true;
            }
        }
    }
}

/* ---- what is delivered ----------------------------------------------------------------------- */

static uint64_t nothing(uint64_t p, uint64_t log, uint64_t b)
{
    return 0 * p * log * b;
}

static uint64_t tree_whole(uint64_t p, uint64_t log, uint64_t b)
{
    return (p - 1) * p * b + 0 * log;
}

static uint64_t tree_whole_twice(uint64_t p, uint64_t log, uint64_t b)
{
    return 2 * tree_whole(p, log, b);
}

static uint64_t star_blocks(uint64_t p, uint64_t log, uint64_t b)
{
    return (p - 1) * b + 0 * log;
}

/* Every rank at depth d of the tree sends its block d times: the mean depth is log2(P) / 2. */
static uint64_t tree_blocks(uint64_t p, uint64_t log, uint64_t b)
{
    return p * log / 2 * b;
}

static uint64_t everybody_all(uint64_t p, uint64_t log, uint64_t b)
{
    return p * (p - 1) * b + 0 * log;
}

static uint64_t everybody_all_twice(uint64_t p, uint64_t log, uint64_t b)
{
    return 2 * everybody_all(p, log, b);
}

static uint64_t doubling(uint64_t p, uint64_t log, uint64_t b)
{
    return p * log * p * b;
}

/* Half of the P blocks in each step. */
static uint64_t bruck_exchange(uint64_t p, uint64_t log, uint64_t b)
{
    return p * log * (p / 2) * b;
}

static uint64_t halves_to_the_root(uint64_t p, uint64_t log, uint64_t b)
{
    return everybody_all(p, log, b) + tree_blocks(p, log, b);
}

static uint64_t van_de_geijn(uint64_t p, uint64_t log, uint64_t b)
{
    return tree_blocks(p, log, b) + everybody_all(p, log, b);
}

static const struct test_case {
    uint8_t operation;
    const char *algorithms;
    uint64_t (*bytes)(uint64_t p, uint64_t log, uint64_t b);
} all_cases[] = {
    {LULL_COLLECTIVE_BARRIER, "barrier:linear", nothing},
    {LULL_COLLECTIVE_BARRIER, "barrier:binomial", nothing},
    {LULL_COLLECTIVE_BARRIER, "barrier:recursive-doubling", nothing},
    {LULL_COLLECTIVE_BARRIER, "barrier:dissemination", nothing},
    {LULL_COLLECTIVE_BARRIER, "barrier:double-ring", nothing},
    {LULL_COLLECTIVE_BCAST, "bcast:linear", tree_whole},
    {LULL_COLLECTIVE_BCAST, "bcast:binomial", tree_whole},
    {LULL_COLLECTIVE_BCAST, "bcast:pipelined", tree_whole},
    {LULL_COLLECTIVE_BCAST, "bcast:scatter-allgather", van_de_geijn},
    {LULL_COLLECTIVE_BCAST, "bcast:scatter-doubling", van_de_geijn},
    {LULL_COLLECTIVE_REDUCE, "reduce:rabenseifner", halves_to_the_root},
    {LULL_COLLECTIVE_REDUCE, "reduce:linear", tree_whole},
    {LULL_COLLECTIVE_REDUCE, "reduce:binomial", tree_whole},
    {LULL_COLLECTIVE_GATHER, "gather:linear", star_blocks},
    {LULL_COLLECTIVE_GATHER, "gather:binomial", tree_blocks},
    {LULL_COLLECTIVE_SCATTER, "scatter:linear", star_blocks},
    {LULL_COLLECTIVE_SCATTER, "scatter:binomial", tree_blocks},
    {LULL_COLLECTIVE_ALLGATHER, "allgather:linear", everybody_all},
    {LULL_COLLECTIVE_ALLGATHER, "allgather:ring", everybody_all},
    {LULL_COLLECTIVE_ALLGATHER, "allgather:recursive-doubling", everybody_all},
    {LULL_COLLECTIVE_ALLGATHER, "allgather:bruck", everybody_all},
    {LULL_COLLECTIVE_ALLTOALL, "alltoall:linear", everybody_all},
    {LULL_COLLECTIVE_ALLTOALL, "alltoall:pairwise", everybody_all},
    {LULL_COLLECTIVE_ALLTOALL, "alltoall:bruck", bruck_exchange},
    {LULL_COLLECTIVE_ALLREDUCE, "allreduce:linear", tree_whole_twice},
    {LULL_COLLECTIVE_ALLREDUCE, "allreduce:binomial", tree_whole_twice},
    {LULL_COLLECTIVE_ALLREDUCE, "allreduce:recursive-doubling", doubling},
    {LULL_COLLECTIVE_ALLREDUCE, "allreduce:ring", everybody_all_twice},
    {LULL_COLLECTIVE_ALLREDUCE, "allreduce:rabenseifner", everybody_all_twice},
    {LULL_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter:linear", everybody_all},
    {LULL_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter:ring", everybody_all},
    {LULL_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter:pairwise", everybody_all},
    {LULL_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter:recursive-halving", everybody_all},
    {LULL_COLLECTIVE_SCAN, "scan:linear", tree_whole},
    {LULL_COLLECTIVE_SCAN, "scan:recursive-doubling", NULL},
};

enum { N_CASES = sizeof all_cases / sizeof *all_cases };

static bool is_rooted(uint8_t operation)
{
    return operation == LULL_COLLECTIVE_BCAST || operation == LULL_COLLECTIVE_REDUCE ||
           operation == LULL_COLLECTIVE_GATHER || operation == LULL_COLLECTIVE_SCATTER;
}

/* The contributions that a rank must know in the end, by what MPI says of the operation. */
static uint64_t wanted(const struct world *world, uint32_t me)
{
    uint64_t all = (UINT64_C(1) << world->size) - 1, own = UINT64_C(1) << me;
    switch (world->operation) {
    case LULL_COLLECTIVE_BCAST:
    case LULL_COLLECTIVE_SCATTER:
        return own | UINT64_C(1) << world->root;
    case LULL_COLLECTIVE_REDUCE:
    case LULL_COLLECTIVE_GATHER:
        return me == world->root ? all : own;
    case LULL_COLLECTIVE_SCAN:
        return own | (own - 1);
    default:
        return all;
    }
}

static void check_delivery(const struct test_case *test, uint32_t size, uint32_t root)
{
    for (unsigned rendezvous = 0; rendezvous < 2; rendezvous++) {
        struct world world = {.operation = test->operation,
                              .size = size,
                              .root = root,
                              .algorithms = test->algorithms,
                              .rendezvous = rendezvous,
                              .late = size};
        run(&world);
        for (uint32_t r = 0; r < size; r++) {
            fail_if(world.state[r] != 2, "%s: size %u, root %u: rank %u does not end",
                    test->algorithms, size, root, r);
            uint64_t want = wanted(&world, r);
            fail_if((world.knows[r] & want) != want, "%s: size %u, root %u: rank %u lacks %llx",
                    test->algorithms, size, root, r, (unsigned long long)(want & ~world.knows[r]));
            /* A prefix must not hold what comes behind it. */
            if (test->operation == LULL_COLLECTIVE_SCAN)
                assert_true(world.knows[r] == want);
        }
        for (uint32_t m = 0; m < world.n_messages; m++)
            assert_true(world.messages[m].taken);
        uint64_t log = (uint64_t)__builtin_ctz(size);
        fail_if(test->bytes && (size & (size - 1)) == 0 &&
                    world.bytes != test->bytes(size, log, BLOCK),
                "%s: size %u: %llu bytes, expected %llu", test->algorithms, size,
                (unsigned long long)world.bytes, (unsigned long long)test->bytes(size, log, BLOCK));
    }
}

static void test_delivery(void **state)
{
    (void)state;
    for (unsigned c = 0; c < N_CASES; c++)
        for (uint32_t size = 1; size <= MOST; size++)
            for (uint32_t root = 0; root < (is_rooted(all_cases[c].operation) ? size : 1); root++)
                if (!is_rooted(all_cases[c].operation) || lull_test_picks(size + root, 4))
                    check_delivery(&all_cases[c], size, root);
}

/* ---- exact contents -------------------------------------------------------------------------- */

/* Gather in trees, and the same in reverse: a message has exactly the blocks that its sender has.
 */
static void test_blocks_of_trees(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= MOST; size++)
        for (uint32_t root = 0; root < size; root++) {
            struct world world = {.operation = LULL_COLLECTIVE_GATHER,
                                  .size = size,
                                  .root = root,
                                  .algorithms = "gather:binomial",
                                  .late = size};
            run(&world);
            for (uint32_t m = 0; m < world.n_messages; m++)
                assert_true(world.messages[m].bytes ==
                            BLOCK * (uint64_t)__builtin_popcountll(world.messages[m].set));
        }
}

/* Allgather: the bytes are those of the blocks that the receiver does not have yet. */
static void test_blocks_of_allgather(void **state)
{
    (void)state;
    static const char *const names[] = {"allgather:ring", "allgather:bruck",
                                        "allgather:recursive-doubling"};
    for (unsigned a = 0; a < 3; a++)
        for (uint32_t size = 2; size <= MOST; size++) {
            struct world world = {.operation = LULL_COLLECTIVE_ALLGATHER,
                                  .size = size,
                                  .algorithms = names[a],
                                  .late = size};
            run(&world);
            uint64_t has[MOST];
            for (uint32_t r = 0; r < size; r++)
                has[r] = UINT64_C(1) << r;
            for (uint32_t m = 0; m < world.n_messages; m++) {
                const struct message *message = &world.messages[m];
                uint64_t lacks = message->set & ~has[message->to];
                assert_true(message->bytes == BLOCK * (uint64_t)__builtin_popcountll(lacks));
                has[message->to] |= message->set;
            }
        }
}

/* Alltoall by Bruck: in step k each block whose way to go has bit k moves by 2^k. */
static void test_blocks_of_bruck_exchange(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= MOST; size++) {
        struct world world = {.operation = LULL_COLLECTIVE_ALLTOALL,
                              .size = size,
                              .late = size,
                              .algorithms = "alltoall:bruck"};
        for (uint32_t step = 0; UINT32_C(1) << step < size; step++) {
            uint64_t moves = 0;
            for (uint32_t way = 0; way < size; way++)
                moves += way >> step & 1;
            for (uint32_t me = 0; me < size; me++) {
                struct lull_collective_call call = call_of(&world, me);
                struct lull_collective_transfer part;
                assert_int_equal(lull_collective_step(&call, step), 2);
                lull_collective_transfer(&call, step, 1, &part);
                assert_true(part.send && part.peer == (me + (1u << step)) % size);
                assert_true(part.bytes == moves * BLOCK);
            }
        }
    }
}

/* ---- who waits for a late rank --------------------------------------------------------------- */

/* Mean number of other ranks that do not end when one of 32 never begins. */
static double held_up(uint8_t operation, const char *algorithms, bool rendezvous)
{
    uint32_t sum = 0;
    for (uint32_t late = 0; late < 32; late++) {
        struct world world = {.operation = operation,
                              .size = 32,
                              .algorithms = algorithms,
                              .rendezvous = rendezvous,
                              .late = late};
        run(&world);
        for (uint32_t r = 0; r < 32; r++)
            sum += r != late && world.state[r] != 2;
    }
    return sum / 32.0;
}

/* Numbers of a simulation with other tools: 32 ranks, mean over the rank that is late. */
static void test_published_delays(void **state)
{
    (void)state;
    static const struct {
        uint8_t operation;
        const char *algorithms;
        double eager, rendezvous; /* rounded to one decimal; 0: not published */
    } rows[] = {
        {LULL_COLLECTIVE_BCAST, "bcast:binomial", 2.5, 3.5},
        {LULL_COLLECTIVE_REDUCE, "reduce:binomial", 2.5, 3.5},
        {LULL_COLLECTIVE_GATHER, "gather:linear", 1, 1.9},
        {LULL_COLLECTIVE_SCATTER, "scatter:linear", 1, 1.9},
        {LULL_COLLECTIVE_BCAST, "bcast:pipelined", 15.5, 0},
        {LULL_COLLECTIVE_BARRIER, "barrier:linear", 31, 31},
        {LULL_COLLECTIVE_BARRIER, "barrier:double-ring", 31, 31},
        {LULL_COLLECTIVE_BARRIER, "barrier:dissemination", 31, 31},
        {LULL_COLLECTIVE_ALLTOALL, "alltoall:linear", 31, 31},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double eager = held_up(rows[i].operation, rows[i].algorithms, false);
        double rendezvous = held_up(rows[i].operation, rows[i].algorithms, true);
        fail_if(eager < rows[i].eager - 0.051 || eager > rows[i].eager + 0.051 ||
                    (rows[i].rendezvous > 0 && (rendezvous < rows[i].rendezvous - 0.051 ||
                                                rendezvous > rows[i].rendezvous + 0.051)),
                "%s: %g and %g", rows[i].algorithms, eager, rendezvous);
    }
}

/* All of those that need everybody hold everybody up, whatever the size. */
static void test_everybody_waits(void **state)
{
    (void)state;
    for (unsigned c = 0; c < N_CASES; c++) {
        uint8_t operation = all_cases[c].operation;
        if (is_rooted(operation) || operation == LULL_COLLECTIVE_SCAN)
            continue;
        for (uint32_t size = 2; size <= MOST; size++)
            for (uint32_t late = 0; late < size; late++) {
                if (!lull_test_picks(size + late, 4))
                    continue;
                struct world world = {.operation = operation,
                                      .size = size,
                                      .algorithms = all_cases[c].algorithms,
                                      .late = late};
                run(&world);
                for (uint32_t r = 0; r < size; r++)
                    fail_if(r != late && world.state[r] == 2,
                            "%s: size %u: rank %u does not wait for rank %u",
                            all_cases[c].algorithms, size, r, late);
            }
    }
}

/* ---- choice ---------------------------------------------------------------------------------- */

static const char *chosen(const char *algorithms, uint8_t operation, uint32_t size, uint64_t bytes)
{
    struct lull_network network = {.algorithms = algorithms};
    return lull_collective_algorithm_name(lull_collective_choose(&network, operation, size, bytes));
}

static void test_choice(void **state)
{
    (void)state;
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BARRIER, 5, 0), "dissemination");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BCAST, 64, 12287), "binomial");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BCAST, 64, 12288), "scatter-doubling");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BCAST, 64, 524287), "scatter-doubling");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BCAST, 64, 524288), "scatter-allgather");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BCAST, 63, 12288), "scatter-allgather");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_BCAST, 7, 1 << 20), "binomial");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_REDUCE, 64, 2048), "binomial");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_REDUCE, 64, 2049), "rabenseifner");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_GATHER, 64, 1 << 20), "binomial");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_GATHERV, 64, 8), "linear");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_SCATTERV, 64, 1 << 20), "linear");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLTOALLV, 64, 8), "linear");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLTOALLW, 64, 1 << 30), "linear");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_REDUCE_SCATTER, 64, 524287),
                        "recursive-halving");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_REDUCE_SCATTER, 64, 524288), "pairwise");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLREDUCE, 64, 2048), "recursive-doubling");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLREDUCE, 64, 2049), "rabenseifner");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLGATHER, 64, 1 << 18), "recursive-doubling");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLGATHER, 65, 81919), "bruck");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLGATHER, 65, 81920), "ring");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLTOALL, 64, 64 * 256), "bruck");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLTOALL, 64, 64 * 32768), "linear");
    assert_string_equal(chosen(NULL, LULL_COLLECTIVE_ALLTOALL, 64, 64 * 32769), "pairwise");
    assert_string_equal(chosen("bcast:linear+allreduce:ring", LULL_COLLECTIVE_ALLREDUCE, 9, 8),
                        "ring");
    assert_string_equal(chosen("bcast:linear+allreduce:ring", LULL_COLLECTIVE_BCAST, 9, 8),
                        "linear");
    assert_string_equal(chosen("allgather:recursive-doubling", LULL_COLLECTIVE_ALLGATHER, 9, 8),
                        "bruck");
    for (uint8_t op = 0; op < LULL_COLLECTIVES; op++)
        for (uint32_t size = 1; size < 70; size++)
            for (uint64_t bytes = 1; bytes < UINT64_C(1) << 40; bytes *= 16)
                assert_non_null(chosen(NULL, op, size, bytes));
}

static void test_bad_choice(void **state)
{
    (void)state;
    struct lull_error err;
    assert_int_equal(lull_collective_check("allreduce:ring+bcast:binomial", &err), LULL_OK);
    assert_int_equal(lull_collective_check("allreduc:ring", &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "algorithms: 'allreduc' is no collective operation, expected as "
                                  "in allreduce:ring+bcast:binomial");
    assert_int_equal(lull_collective_check("bcast:ring", &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "algorithms: 'ring' is no algorithm of bcast, known: linear, "
                                  "binomial, pipelined, scatter-allgather, scatter-doubling");
    assert_int_equal(lull_collective_check("bcast", &err), LULL_ERR_RANGE);
    assert_int_equal(lull_collective_check("bcast:linear+", &err), LULL_ERR_RANGE);
}

/* Of three ranks, 0 folds its 192 bytes into 1, and 1 and 2 exchange halves. One half more goes to
 * root 1 or 2; root 0 gets one half from each of them. */
static void test_a_folded_root_gets_its_part(void **state)
{
    static const uint64_t bytes[] = {192 + 2 * 96 + 2 * 96, 192 + 2 * 96 + 96, 192 + 2 * 96 + 96};
    (void)state;
    for (uint32_t root = 0; root < 3; root++) {
        struct world world = {.operation = LULL_COLLECTIVE_REDUCE,
                              .size = 3,
                              .root = root,
                              .algorithms = "reduce:rabenseifner",
                              .late = 3};
        run(&world);
        assert_int_equal(world.bytes, bytes[root]);
    }
}

TEST_GROUP(test_collective)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delivery),
        cmocka_unit_test(test_blocks_of_trees),
        cmocka_unit_test(test_blocks_of_allgather),
        cmocka_unit_test(test_blocks_of_bruck_exchange),
        cmocka_unit_test(test_published_delays),
        cmocka_unit_test(test_everybody_waits),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_bad_choice),
        cmocka_unit_test(test_a_folded_root_gets_its_part),
    };
    return run_cases(tests, NULL, NULL);
}
