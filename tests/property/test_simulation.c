/* Identities of the simulator over random programs. LULL_TEST_SEED in the environment chooses
 * others. */
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/stream_program.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, MOST_OPS = 400 };

static uint64_t seed;
static unsigned rounds = 400;
static struct lull_random random_state;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)lull_random_below(&random_state, bound);
}

/* A program that can be carried out: operations are drawn in a global order and require only
 * earlier ones of their rank, a message's send comes before its receive. */
struct op {
    uint32_t rank, kind; /* 0 calc, 1 send, 2 receive */
    uint32_t partner;    /* the other end: operation */
    int64_t size;
    uint32_t requires[3], n_requires;
    unsigned number; /* label within the rank */
    bool computed;
    int64_t end; /* of the longest path */
};

struct draw {
    struct op ops[MOST_OPS];
    uint32_t n, n_ranks;
};

static void require_some(struct draw *draw, struct op *op)
{
    for (uint32_t i = draw->n, tries = 0; i-- > 0 && tries < 8 && op->n_requires < 3;)
        if (draw->ops[i].rank == op->rank && &draw->ops[i] != op) {
            tries++;
            if (below(3) == 0)
            op->requires[op->n_requires++] = i;
        }
}

static uint32_t draw_op(struct draw *draw, uint32_t rank, uint32_t kind, int64_t size)
{
    struct op *op = &draw->ops[draw->n];
    *op = (struct op){.rank = rank, .kind = kind, .size = size};
    for (uint32_t i = 0; i < draw->n; i++)
        op->number += draw->ops[i].rank == rank;
    require_some(draw, op);
    return draw->n++;
}

static void draw_program(struct draw *draw)
{
    draw->n = 0;
    draw->n_ranks = 1 + below(RANKS);
    for (uint32_t n = 5 + below(MOST_OPS / 4); n > 0; n--) {
        if (below(2)) {
            draw_op(draw, below(draw->n_ranks), 0, below(1000));
            continue;
        }
        uint32_t send = draw_op(draw, below(draw->n_ranks), 1, 1 + below(5000));
        uint32_t receive = draw_op(draw, below(draw->n_ranks), 2, draw->ops[send].size);
        draw->ops[send].partner = receive;
        draw->ops[receive].partner = send;
    }
}

/* GOAL text with ranks numbered by `names`; the tag tells messages apart. Each computation has a
 * processor of its own, as far as there are, so that only dependencies count. */
static char *text_of(const struct draw *draw, const uint32_t *names, int64_t factor, bool own_cpus)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "num_ranks %u\n", draw->n_ranks);
    for (uint32_t rank = 0; rank < draw->n_ranks; rank++) {
        fprintf(out, "rank %u {\n", names[rank]);
        for (uint32_t i = 0; i < draw->n; i++) {
            const struct op *op = &draw->ops[i];
            if (op->rank != rank)
                continue;
            unsigned cpu = own_cpus ? op->number % 256 : 0;
            if (op->kind == 0)
                fprintf(out, "l%u: calc %lld cpu %u\n", i, (long long)(op->size * factor), cpu);
            else
                fprintf(out, "l%u: %s %lldb %s %u tag %u cpu %u\n", i,
                        op->kind == 1 ? "send" : "recv", (long long)op->size,
                        op->kind == 1 ? "to" : "from", names[draw->ops[op->partner].rank],
                        op->kind == 1 ? i : op->partner, cpu);
            for (uint32_t k = 0; k < op->n_requires; k++)
                fprintf(out, "l%u requires l%u\n", i, op->requires[k]);
        }
        fprintf(out, "}\n");
    }
    fclose(out);
    return text;
}

/* From one rank to another. */
static bool has_messages(const struct draw *draw)
{
    for (uint32_t i = 0; i < draw->n; i++)
        if (draw->ops[i].kind == 1 && draw->ops[draw->ops[i].partner].rank != draw->ops[i].rank)
            return true;
    return false;
}

/* Longest path by recursion over the dependencies. */
static int64_t end_of(struct draw *draw, uint32_t index)
{
    struct op *op = &draw->ops[index];
    if (op->computed)
        return op->end;
    int64_t start = 0;
    for (uint32_t i = 0; i < op->n_requires; i++) {
        int64_t end = end_of(draw, op->requires[i]);
        start = end > start ? end : start;
    }
    if (op->kind == 2) {
        int64_t end = end_of(draw, op->partner);
        start = end > start ? end : start;
    }
    op->end = start + (op->kind == 0 ? op->size : 0);
    op->computed = true;
    return op->end;
}

static struct lull_sim_result run(const char *text, const struct lull_network *network,
                                  struct lull_arena *arena)
{
    struct lull_program *program;
    struct lull_error err = {""};
    fail_if(lull_goal_parse("random", text, strlen(text), &program, &err) != LULL_OK, "%s\n%s",
            err.text, text);
    struct lull_sim_result result = simulate(program, network, arena);
    lull_program_close(program);
    return result;
}

static const uint32_t straight[RANKS] = {0, 1, 2, 3, 4, 5};

/* Where messages cost nothing the runtime is the longest path, whatever the model. */
static void costless_network_gives_the_longest_path(void **state)
{
    (void)state;
    struct lull_network networks[] = {
        network_of("ideal", NULL),
        network_of("hockney", "latency", 0.0, "bandwidth", INFINITY, "eager", 1e9, NULL),
        network_of("loggops", "L", 0.0, "o", 0.0, "g", 0.0, "G", 0.0, "O", 0.0, "S", 1e9, NULL),
    };
    unsigned across = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct draw draw;
        draw_program(&draw);
        char *text = text_of(&draw, straight, 1, true);
        int64_t longest = 0;
        for (uint32_t i = 0; i < draw.n; i++) {
            int64_t end = end_of(&draw, i);
            longest = end > longest ? end : longest;
        }
        across += has_messages(&draw);
        for (unsigned n = 0; n < sizeof networks / sizeof *networks; n++) {
            struct lull_arena *arena = lull_arena_create(NULL);
            struct lull_sim_result result = run(text, &networks[n], arena);
            fail_if(result.runtime != longest, "seed %llu, round %u, %s: %lld instead of %lld\n%s",
                    (unsigned long long)seed, round, networks[n].class->name,
                    (long long)result.runtime, (long long)longest, text);
            assert_int_equal(result.path[LULL_PATH_COMPUTE], longest);
            lull_arena_destroy(arena);
        }
        free(text);
    }
    assert_reached("messages go from rank to rank", across, rounds / 2, rounds);
}

static void double_the_times(struct lull_network *network)
{
    for (uint32_t i = 0; i < network->class->n_parameters; i++) {
        enum lull_quantity quantity = network->class->parameters[i].quantity;
        double value = network->values[0][i];
        if (quantity == LULL_TIME_NS || quantity == LULL_TIME_PER_BYTE)
            lull_network_set(network, i, LULL_LEVELS, 2 * value);
        if (quantity == LULL_BANDWIDTH)
            lull_network_set(network, i, LULL_LEVELS, value / 2);
    }
}

/* Bandwidth of 1 GB/s: bytes are whole nanoseconds. */
static struct lull_network some_network(unsigned n)
{
    switch (n) {
    case 0:
        return network_of("loggops", "S", 2000.0, NULL);
    case 1:
        return network_of("loggops-compat", "S", 2000.0, "O", 1.0, NULL);
    case 2:
        return network_of("hockney", "bandwidth", 1e9, "eager", 2000.0, NULL);
    default:
        return network_of("ideal", NULL);
    }
}

static void all_times_twice_is_twice_the_runtime(void **state)
{
    (void)state;
    unsigned across = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct draw draw;
        draw_program(&draw);
        across += has_messages(&draw);
        char *once = text_of(&draw, straight, 1, false),
             *twice = text_of(&draw, straight, 2, false);
        struct lull_network network = some_network(round % 4), doubled = network;
        double_the_times(&doubled);
        /* Rendezvous programs drawn like this may wait for each other: eager only. */
        uint32_t eager = lull_network_parameter(network.class, round % 4 < 2 ? "S" : "eager");
        lull_network_set(&network, eager, LULL_LEVELS, 1e9);
        lull_network_set(&doubled, eager, LULL_LEVELS, 1e9);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_sim_result a = run(once, &network, arena), b = run(twice, &doubled, arena);
        for (uint32_t r = 0; r < a.n_ranks; r++)
            fail_if(2 * a.ranks[r].end != b.ranks[r].end, "seed %llu, round %u: rank %u",
                    (unsigned long long)seed, round, r);
        lull_arena_destroy(arena);
        free(once);
        free(twice);
    }
    assert_reached("messages go from rank to rank", across, rounds / 2, rounds);
}

/* Two programs side by side that know nothing of each other: in either order each gives what it
 * gives alone. */
static void independent_ranks_may_change_places(void **state)
{
    (void)state;
    unsigned fit = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct draw draw;
        draw_program(&draw);
        struct draw both = draw;
        both.n_ranks = 2 * draw.n_ranks;
        if (both.n_ranks > RANKS || 2 * draw.n > MOST_OPS)
            continue;
        fit += has_messages(&draw);
        for (uint32_t i = 0; i < draw.n; i++) {
            struct op *op = &both.ops[both.n++];
            *op = draw.ops[i];
            op->rank += draw.n_ranks;
            op->partner += draw.n;
            for (uint32_t k = 0; k < op->n_requires; k++)
            op->requires[k] += draw.n;
        }
        uint32_t swapped[RANKS];
        for (uint32_t r = 0; r < both.n_ranks; r++)
            swapped[r] = (r + draw.n_ranks) % both.n_ranks;
        struct lull_network network = some_network(round % 2);
        lull_network_set(&network, lull_network_parameter(network.class, "S"), LULL_LEVELS, 1e9);
        char *one = text_of(&draw, straight, 1, false), *two = text_of(&both, straight, 1, false),
             *three = text_of(&both, swapped, 1, false);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_sim_result a = run(one, &network, arena), b = run(two, &network, arena),
                               c = run(three, &network, arena);
        for (uint32_t r = 0; r < both.n_ranks; r++) {
            assert_int_equal(b.ranks[r].end, a.ranks[r % draw.n_ranks].end);
            assert_int_equal(c.ranks[swapped[r]].end, b.ranks[r].end);
        }
        lull_arena_destroy(arena);
        free(one);
        free(two);
        free(three);
    }
    assert_reached("two programs with messages fit side by side", fit, rounds / 5, rounds);
}

/* Two runs give the same to the last bit, with and without the longest path. */
static void same_again_gives_the_same(void **state)
{
    (void)state;
    unsigned across = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct draw draw;
        draw_program(&draw);
        across += has_messages(&draw);
        char *text = text_of(&draw, straight, 1, round % 2);
        struct lull_network network = network_of("loggops", "S", 1e9, NULL);
        struct lull_sim_options options = {.network = &network};
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_program *program;
        struct lull_sim_result a = run(text, &network, arena), b;
        assert_int_equal(lull_goal_parse("random", text, strlen(text), &program, NULL), LULL_OK);
        assert_int_equal(lull_simulate(program, &options, arena, &b, NULL, NULL), LULL_OK);
        assert_memory_equal(a.ranks, b.ranks, a.n_ranks * sizeof *a.ranks);
        lull_program_close(program);
        lull_arena_destroy(arena);
        free(text);
    }
    assert_reached("messages go from rank to rank", across, rounds / 2, rounds);
}

TEST_GROUP(test_simulation)
{
    seed = lull_test_seed();
    rounds = lull_test_rounds(rounds);
    lull_random_seed(&random_state, seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costless_network_gives_the_longest_path),
        cmocka_unit_test(all_times_twice_is_twice_the_runtime),
        cmocka_unit_test(independent_ranks_may_change_places),
        cmocka_unit_test(same_again_gives_the_same),
    };
    return run_cases(tests, NULL, NULL);
}
