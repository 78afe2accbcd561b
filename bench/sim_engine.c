/* Speed and memory of the simulator's engine.
 *
 *     bench_sim_engine NETWORK FILE.goal                       a graph
 *     bench_sim_engine NETWORK stencil NX NY ITERATIONS        open 2-D halo exchange, streams
 *     bench_sim_engine NETWORK chain RANKS ITERATIONS          next neighbours, both directions
 *     bench_sim_engine NETWORK dissemination RANKS
 *     bench_sim_engine NETWORK reduce RANKS                    binomial tree
 *     bench_sim_engine NETWORK alltoall RANKS                  all sends and receives at once
 *
 * Prints events (sends, receives, computations, messages), processor time of the simulation without
 * the reading of the program, events per second, and the most memory of the process. */
#include "sim/engine.h"
#include "sim/goal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { COMPUTE_NS = 10000, BYTES = 1024 };

/* Where a rank is: which part of which iteration. */
struct position {
    uint32_t iteration, part;
};

struct pattern {
    uint32_t n[3];
    struct position *positions;
    /* Peers of one round of one rank: what it sends to and receives from. */
    uint32_t (*round)(const struct pattern *pattern, uint32_t rank, uint32_t iteration,
                      uint32_t *sends, uint32_t *receives, uint32_t *ret_n_receives);
    uint32_t iterations;
    bool computes;
};

static uint32_t stencil(const struct pattern *pattern, uint32_t rank, uint32_t iteration,
                        uint32_t *sends, uint32_t *receives, uint32_t *ret_n_receives)
{
    uint32_t nx = pattern->n[0], ny = pattern->n[1], x = rank % nx, y = rank / nx, n = 0;
    (void)iteration;
    if (x > 0)
        sends[n++] = rank - 1;
    if (x + 1 < nx)
        sends[n++] = rank + 1;
    if (y > 0)
        sends[n++] = rank - nx;
    if (y + 1 < ny)
        sends[n++] = rank + nx;
    memcpy(receives, sends, n * sizeof *sends);
    *ret_n_receives = n;
    return n;
}

static uint32_t chain(const struct pattern *pattern, uint32_t rank, uint32_t iteration,
                      uint32_t *sends, uint32_t *receives, uint32_t *ret_n_receives)
{
    uint32_t n = 0;
    (void)iteration;
    if (rank > 0)
        sends[n++] = rank - 1;
    if (rank + 1 < pattern->n[0])
        sends[n++] = rank + 1;
    memcpy(receives, sends, n * sizeof *sends);
    *ret_n_receives = n;
    return n;
}

static uint32_t dissemination(const struct pattern *pattern, uint32_t rank, uint32_t iteration,
                              uint32_t *sends, uint32_t *receives, uint32_t *ret_n_receives)
{
    uint32_t n = pattern->n[0], distance = UINT32_C(1) << iteration;
    sends[0] = (rank + distance) % n;
    receives[0] = (rank + n - distance % n) % n;
    return *ret_n_receives = 1;
}

/* Round i: those whose lowest bit is i send to the rank without it. */
static uint32_t reduce(const struct pattern *pattern, uint32_t rank, uint32_t iteration,
                       uint32_t *sends, uint32_t *receives, uint32_t *ret_n_receives)
{
    uint32_t bit = UINT32_C(1) << iteration, below = rank & (bit - 1);
    *ret_n_receives = 0;
    if (below)
        return 0;
    if (rank & bit) {
        sends[0] = rank - bit;
        return 1;
    }
    if (rank + bit < pattern->n[0])
        receives[(*ret_n_receives)++] = rank + bit;
    return 0;
}

static lull_status next(struct lull_program *program, uint32_t rank, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    const struct pattern *pattern = program->data;
    struct position *position = &pattern->positions[rank];
    uint32_t sends[4], receives[4], n_receives, n = 0;
    (void)room;
    (void)err;
    *ret_count = 0;
    while (n == 0 && position->iteration < pattern->iterations) {
        if (position->part == 0 && pattern->computes) {
            position->part = 1;
            ret_ops[n++] = (struct lull_op){
                .kind = LULL_OP_COMPUTE, .region = LULL_OP_NO_REGION, .duration = COMPUTE_NS};
            break;
        }
        uint32_t n_sends =
            pattern->round(pattern, rank, position->iteration, sends, receives, &n_receives);
        for (uint32_t i = 0; i < n_sends; i++, n++)
            ret_ops[n] = (struct lull_op){.kind = LULL_OP_SEND,
                                          .region = LULL_OP_NO_REGION,
                                          .peer = sends[i],
                                          .request = n,
                                          .bytes = BYTES};
        for (uint32_t i = 0; i < n_receives; i++, n++)
            ret_ops[n] = (struct lull_op){.kind = LULL_OP_RECV,
                                          .region = LULL_OP_NO_REGION,
                                          .peer = receives[i],
                                          .request = n,
                                          .bytes = BYTES};
        if (n)
            ret_ops[n++] = (struct lull_op){
                .kind = LULL_OP_WAIT, .flags = LULL_OP_WAIT_ALL, .region = LULL_OP_NO_REGION};
        position->part = 0;
        position->iteration++;
    }
    *ret_count = n;
    return LULL_OK;
}

/* All to all: `iteration` counts the peers, `part` says whether the wait is over. */
static lull_status next_alltoall(struct lull_program *program, uint32_t rank,
                                 struct lull_op *ret_ops, uint32_t room, uint32_t *ret_count,
                                 struct lull_error *err)
{
    const struct pattern *pattern = program->data;
    struct position *position = &pattern->positions[rank];
    uint32_t n = 0, ranks = pattern->n[0];
    (void)err;
    for (; n + 2 <= room && position->iteration + 1 < ranks; position->iteration++) {
        uint32_t to = (rank + position->iteration + 1) % ranks;
        uint32_t from = (rank + ranks - position->iteration - 1) % ranks;
        uint32_t request = 2 * position->iteration;
        ret_ops[n++] = (struct lull_op){.kind = LULL_OP_SEND,
                                        .region = LULL_OP_NO_REGION,
                                        .peer = to,
                                        .request = request,
                                        .bytes = BYTES};
        ret_ops[n++] = (struct lull_op){.kind = LULL_OP_RECV,
                                        .region = LULL_OP_NO_REGION,
                                        .peer = from,
                                        .request = request + 1};
    }
    if (n == 0 && position->part++ == 0)
        ret_ops[n++] = (struct lull_op){
            .kind = LULL_OP_WAIT, .flags = LULL_OP_WAIT_ALL, .region = LULL_OP_NO_REGION};
    *ret_count = n;
    return LULL_OK;
}

static const char *place(const struct lull_program *program, uint32_t rank,
                         const struct lull_op *op, char *text, unsigned size)
{
    (void)program;
    (void)op;
    snprintf(text, size, "rank %u", rank);
    return text;
}

static uint32_t rounds(uint32_t ranks)
{
    uint32_t n = 0;
    while (n < 32 && (UINT64_C(1) << n) < ranks)
        n++;
    return n;
}

static bool make_pattern(struct lull_program *program, int argc, char **argv)
{
    static const struct lull_program_class streams = {"pattern", next, NULL, NULL, place};
    static const struct lull_program_class exchange = {"alltoall", next_alltoall, NULL, NULL,
                                                       place};
    static struct pattern pattern;
    const char *name = argv[0];
    for (int i = 1; i < argc && i < 4; i++)
        pattern.n[i - 1] = (uint32_t)strtoul(argv[i], NULL, 10);
    program->class = &streams;
    program->n_ranks = pattern.n[0];
    if (strcmp(name, "stencil") == 0 && argc == 4) {
        program->n_ranks = pattern.n[0] * pattern.n[1];
        pattern.round = stencil;
        pattern.iterations = pattern.n[2];
        pattern.computes = true;
    } else if (strcmp(name, "chain") == 0 && argc == 3) {
        pattern.round = chain;
        pattern.iterations = pattern.n[1];
        pattern.computes = true;
    } else if (strcmp(name, "dissemination") == 0 && argc == 2) {
        pattern.round = dissemination;
        pattern.iterations = rounds(pattern.n[0]);
    } else if (strcmp(name, "reduce") == 0 && argc == 2) {
        pattern.round = reduce;
        pattern.iterations = rounds(pattern.n[0]);
    } else if (strcmp(name, "alltoall") == 0 && argc == 2) {
        program->class = &exchange;
    } else {
        return false;
    }
    program->name = name;
    program->n_streams = program->n_ranks;
    pattern.positions = calloc(program->n_ranks, sizeof *pattern.positions);
    program->data = &pattern;
    return pattern.positions;
}

static int fail(const char *text)
{
    fprintf(stderr, "bench_sim_engine: %s\n", text);
    return 1;
}

int main(int argc, char **argv)
{
    struct lull_error err = {""};
    struct lull_program by_hand = {0}, *program = &by_hand;
    const struct lull_network_class *class = argc > 2 ? lull_network_find(argv[1]) : NULL;
    if (!class)
        return fail(
            "usage: NETWORK FILE.goal | NETWORK CASE NUMBER..., see the head of the source");
    if (argc == 3) {
        if (lull_goal_open(argv[2], &program, &err) != LULL_OK)
            return fail(err.text);
    } else if (!make_pattern(&by_hand, argc - 2, argv + 2)) {
        return fail("no such case");
    }
    struct lull_network network;
    lull_network_init(&network, class);
    struct lull_sim_options options = {.network = &network};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_sim_result result;
    clock_t before = clock();
    if (lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK)
        return fail(err.text);
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    unsigned long long events =
        result.n_sends + result.n_receives + result.n_computes + result.n_messages;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%llu events, %.3f s, %.2f M events/s, %ld MB, runtime %lld ns\n", events, seconds,
           (double)events / seconds * 1e-6, usage.ru_maxrss / 1024, (long long)result.runtime);
    return 0;
}
