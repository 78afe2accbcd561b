#include "support/random_streams.h"

#include "base/collective.h"
#include "support/stream_program.h"

enum { MOST_RANKS = 64 };

struct draw {
    struct lull_random *random;
    const struct random_streams_options *options;
    struct lull_program *program;
    uint32_t n_ranks;
    uint32_t *first;
    uint32_t *requests; /* of each stream in this round */
};

static uint32_t below(const struct draw *draw, uint32_t bound)
{
    return (uint32_t)lull_random_below(draw->random, bound);
}

static bool chance(const struct draw *draw, unsigned per_cent)
{
    return below(draw, 100) < per_cent;
}

static void add_message(struct draw *draw)
{
    static const uint64_t sizes[] = {0, 1, 8, 8, 1000, 1001};
    uint32_t from = below(draw, draw->n_ranks), to = below(draw, draw->n_ranks);
    uint32_t s = draw->first[from] + below(draw, draw->first[from + 1] - draw->first[from]);
    uint32_t t = draw->first[to] + below(draw, draw->first[to + 1] - draw->first[to]);
    uint32_t tag = below(draw, 2); /* else a tag for each pair of streams */
    if (!chance(draw, draw->options->shared))
        tag += 2 + 2 * ((s - draw->first[from]) * 16 + (t - draw->first[to]));
    struct lull_op receive = op_receive(from, tag, draw->requests[t]++);
    if (chance(draw, draw->options->wildcards))
        receive.peer = LULL_OP_ANY;
    if (chance(draw, draw->options->wildcards))
        receive.tag = LULL_OP_ANY;
    stream_program_add(draw->program, s,
                       op_send(to, tag, sizes[below(draw, 6)], draw->requests[s]++));
    stream_program_add(draw->program, t, receive);
}

static void add_computation(struct draw *draw, uint32_t stream)
{
    static const int64_t times[] = {0, 1, 10, 10, 100, 1000, 2000};
    stream_program_add(draw->program, stream, op_compute(times[below(draw, 7)]));
}

/* Two more groups: neighbours, and some ranks in any order. */
static void add_groups(struct draw *draw)
{
    struct lull_program *program = draw->program;
    struct lull_group *groups = lull_arena_zero(program->arena, 3, sizeof *groups);
    uint32_t *ranks = lull_arena_zero(program->arena, draw->n_ranks, sizeof *ranks), n = 0;
    groups[0] = program->groups[0];
    groups[1].first = below(draw, draw->n_ranks);
    groups[1].size = 1 + below(draw, draw->n_ranks - groups[1].first);
    for (uint32_t r = 0; r < draw->n_ranks; r++) {
        const uint32_t at = below(draw, n + 1);
        if (r > 0 && chance(draw, 40))
            continue;
        ranks[n++] = ranks[at];
        ranks[at] = r;
    }
    groups[2].ranks = ranks;
    groups[2].size = n;
    program->groups = groups;
    program->n_groups = 3;
}

static uint32_t member(const struct lull_group *group, uint32_t position)
{
    return group->ranks ? group->ranks[position] : group->first + position;
}

/* By the first stream of each rank; the sizes of alltoallv differ. */
static void add_collective(struct draw *draw)
{
    static const uint8_t operations[] = {LULL_COLLECTIVE_BARRIER,   LULL_COLLECTIVE_BCAST,
                                         LULL_COLLECTIVE_ALLREDUCE, LULL_COLLECTIVE_REDUCE,
                                         LULL_COLLECTIVE_ALLTOALL,  LULL_COLLECTIVE_ALLGATHER,
                                         LULL_COLLECTIVE_SCAN,      LULL_COLLECTIVE_ALLTOALLV};
    uint8_t operation = operations[below(draw, chance(draw, draw->options->unequal) ? 8 : 7)];
    bool rooted = operation == LULL_COLLECTIVE_BCAST || operation == LULL_COLLECTIVE_REDUCE;
    uint32_t comm = 0;
    if (draw->options->groups && chance(draw, draw->options->groups))
        comm = 1 + below(draw, 2);
    const struct lull_group *group = &draw->program->groups[comm];
    uint32_t root = rooted ? member(group, below(draw, group->size)) : LULL_OP_ANY;
    uint64_t bytes = below(draw, 3) * 1500;
    bool blocks = chance(draw, 50);
    for (uint32_t i = 0; i < group->size; i++) {
        uint32_t stream = draw->first[member(group, i)];
        if (chance(draw, 30))
            add_computation(draw, stream);
        if (operation == LULL_COLLECTIVE_ALLTOALLV)
            bytes = (uint64_t)below(draw, 40000) * draw->n_ranks;
        struct lull_op op = op_collective(operation, root, bytes,
                                          blocks ? LULL_OP_NO_REQUEST : draw->requests[stream]++);
        op.comm = comm;
        stream_program_add(draw->program, stream, op);
    }
}

static void add_waits(struct draw *draw, uint32_t stream)
{
    uint32_t n = draw->requests[stream];
    for (uint32_t i = 0; i < n && chance(draw, 50); i++)
        stream_program_add(draw->program, stream, op_wait(i));
    stream_program_add(draw->program, stream, op_wait_all());
    draw->requests[stream] = 0;
}

static void add_round(struct draw *draw, uint32_t round)
{
    for (uint32_t s = 0; s < draw->program->n_streams; s++) {
        stream_program_add(draw->program, s, op_mark(round));
        if (chance(draw, 70))
            add_computation(draw, s);
    }
    for (uint32_t n = below(draw, 3 * draw->program->n_streams); n > 0; n--)
        if (chance(draw, 80))
            add_message(draw);
        else
            add_computation(draw, below(draw, draw->program->n_streams));
    if (chance(draw, 40))
        add_collective(draw);
    for (uint32_t s = 0; s < draw->program->n_streams; s++)
        add_waits(draw, s);
    for (uint32_t r = 0; r < draw->n_ranks; r++)
        for (uint32_t s = draw->first[r]; s < draw->first[r + 1] && round % 3 == 2; s++)
            stream_program_add(draw->program, s,
                               op_sync(round, draw->first[r + 1] - draw->first[r]));
}

struct lull_program *random_streams(struct lull_random *random,
                                    const struct random_streams_options *options)
{
    static uint32_t first[MOST_RANKS + 1]; /* borrowed by the program */
    static uint32_t requests[MOST_RANKS * 16];
    struct draw draw = {.random = random, .options = options, .first = first, .requests = requests};
    draw.n_ranks = 1 + below(&draw, options->ranks);
    for (uint32_t r = 0; r < draw.n_ranks; r++)
        first[r + 1] = first[r] + 1 + below(&draw, options->streams);
    for (uint32_t s = 0; s < first[draw.n_ranks]; s++)
        requests[s] = 0;
    draw.program = stream_program(draw.n_ranks, first, 1 + below(&draw, 16));
    if (options->groups)
        add_groups(&draw);
    for (uint32_t round = 0, n = 1 + below(&draw, options->rounds); round < n; round++)
        add_round(&draw, round);
    return draw.program;
}
