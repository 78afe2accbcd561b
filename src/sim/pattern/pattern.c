/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns as programs: from the steps of an iteration to the operations of a rank. */
#include "sim/pattern/pattern.h"

#include "base/collective.h"
#include "sim/program.h"
#include "sim/spec.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_MOST_DISTANCES = 1024 };

enum pattern_region {
    PATTERN_COMPUTE,
    PATTERN_ISEND,
    PATTERN_IRECV,
    PATTERN_WAITALL,
    PATTERN_COLLECTIVE,
    PATTERN_REGIONS
};

/* One step of an iteration, the same for all ranks. A rank that has no such neighbour leaves it
 * out. All but the kind are for SEND and RECV. */
struct pattern_step {
    uint8_t kind;      /* enum lull_op_kind */
    uint8_t dimension; /* in which the neighbour is */
    bool up;           /* the neighbour is above */
    uint32_t distance; /* of the neighbour */
    uint32_t tag;
    uint32_t request;
};

struct pattern_rank {
    uint32_t iteration, at; /* the iteration, and the step that comes next in it */
};

struct pattern {
    uint32_t extents[3], strides[3]; /* ranks in each dimension; how far neighbours are apart */
    bool periodic;
    uint64_t bytes;
    const int64_t *exec; /* rank r computes exec[r % n_exec] */
    uint32_t n_exec;
    uint32_t iterations;
    uint8_t collective; /* enum lull_collective, or LULL_COLLECTIVES: none */
    uint32_t every, root;
    uint64_t collective_bytes;
    struct pattern_step *steps;
    uint32_t n_steps;
    struct pattern_rank *ranks;
};

enum pattern_wait {
    PATTERN_WAIT_ALL,
    PATTERN_WAIT_DIRECTION,
    PATTERN_WAIT_DISTANCE,
    PATTERN_WAIT_EACH
};

/* Which messages an iteration exchanges. */
struct pattern_exchange {
    uint32_t n_dimensions; /* 0: no messages */
    const uint32_t *distances;
    uint32_t n_distances;
    bool up, down;
    enum pattern_wait wait;
    bool sends_up_first;
};

/* ==== pattern ================================================================================= */

#define PATTERN_MOST_RANKS (UINT32_C(1) << 24)

/* The neighbour of a rank; false: there is none. */
static bool neighbour(const struct pattern *pattern, const struct pattern_step *step, uint32_t rank,
                      uint32_t *ret_peer)
{
    uint32_t extent = pattern->extents[step->dimension], stride = pattern->strides[step->dimension];
    uint32_t at = rank / stride % extent, to;
    if (pattern->periodic) {
        uint32_t distance = step->distance % extent;
        to = (uint32_t)(((uint64_t)at + (step->up ? distance : extent - distance)) % extent);
    } else {
        if (step->up ? step->distance >= extent - at : step->distance > at)
            return false;
        to = step->up ? at + step->distance : at - step->distance;
    }
    *ret_peer = rank - at * stride + to * stride;
    return true;
}

/* Sets how many bytes a rank gives to and gets from the collective operation, as MPI counts them.
 */
static void set_sizes(const struct pattern *pattern, uint32_t n_ranks, bool root,
                      struct lull_op *op)
{
    uint64_t bytes = pattern->collective_bytes, all = bytes * n_ranks;
    op->bytes = op->received = bytes;
    switch (pattern->collective) {
    case LULL_COLLECTIVE_BARRIER:
        op->bytes = op->received = 0;
        break;
    case LULL_COLLECTIVE_BCAST:
        op->bytes = root ? bytes : 0;
        op->received = root ? 0 : bytes;
        break;
    case LULL_COLLECTIVE_REDUCE:
        op->received = root ? bytes : 0;
        break;
    case LULL_COLLECTIVE_GATHER:
        op->received = root ? all : 0;
        break;
    case LULL_COLLECTIVE_SCATTER:
        op->bytes = root ? all : 0;
        break;
    case LULL_COLLECTIVE_ALLGATHER:
        op->received = all;
        break;
    case LULL_COLLECTIVE_ALLTOALL:
        op->bytes = op->received = all;
        break;
    case LULL_COLLECTIVE_REDUCE_SCATTER:
    case LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        op->bytes = all;
        break;
    default:
        break;
    }
}

static bool has_root(unsigned collective)
{
    enum lull_collective_needs needs = lull_collective_needs(collective);
    return needs == LULL_NEEDS_ROOT || needs == LULL_ROOT_NEEDS_ALL;
}

/* Makes the operation of a step; false: this rank leaves the step out in this iteration. */
static bool make_op(const struct pattern *pattern, const struct pattern_step *step, uint32_t rank,
                    uint32_t n_ranks, uint32_t iteration, struct lull_op *op)
{
    *op = (struct lull_op){.kind = step->kind,
                           .region = LULL_OP_NO_REGION,
                           .request = LULL_OP_NO_REQUEST,
                           .measured = iteration};
    switch (step->kind) {
    case LULL_OP_MARK:
        op->bytes = iteration;
        return true;
    case LULL_OP_COMPUTE:
        op->region = PATTERN_COMPUTE;
        op->duration = pattern->exec[rank % pattern->n_exec];
        return true;
    case LULL_OP_SEND:
    case LULL_OP_RECV:
        op->region = step->kind == LULL_OP_SEND ? PATTERN_ISEND : PATTERN_IRECV;
        op->bytes = pattern->bytes;
        op->tag = step->tag;
        op->request = step->request;
        op->flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS;
        return neighbour(pattern, step, rank, &op->peer);
    case LULL_OP_WAIT:
        op->region = PATTERN_WAITALL;
        op->flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS | LULL_OP_WAIT_ALL;
        op->requests = NULL;
        return true;
    default: /* COLLECTIVE */
        op->region = PATTERN_COLLECTIVE;
        op->collective = pattern->collective;
        op->peer = has_root(pattern->collective) ? pattern->root : LULL_OP_ANY;
        op->flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS;
        set_sizes(pattern, n_ranks, rank == pattern->root, op);
        return (iteration + 1) % pattern->every == 0;
    }
}

static lull_status next(struct lull_program *program, uint32_t stream, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    const struct pattern *pattern = program->data;
    struct pattern_rank *rank = &pattern->ranks[stream];
    uint32_t count = 0;
    (void)err;
    while (count < room && rank->iteration < pattern->iterations) {
        const struct pattern_step *step = &pattern->steps[rank->at];
        bool made =
            make_op(pattern, step, stream, program->n_ranks, rank->iteration, &ret_ops[count]);
        if (++rank->at == pattern->n_steps) {
            rank->at = 0;
            rank->iteration++;
        }
        if (!made)
            continue;
        count++;
        if (step->kind == LULL_OP_COMPUTE || step->kind == LULL_OP_WAIT ||
            step->kind == LULL_OP_COLLECTIVE)
            break;
    }
    *ret_count = count;
    return LULL_OK;
}

static lull_status start_again(struct lull_program *program, struct lull_error *err)
{
    const struct pattern *pattern = program->data;
    (void)err;
    for (uint32_t r = 0; r < program->n_ranks; r++)
        pattern->ranks[r] = (struct pattern_rank){0};
    return LULL_OK;
}

static const char *place_in_pattern(const struct lull_program *program, uint32_t rank,
                                    const struct lull_op *op, char *text, unsigned size)
{
    if (op->kind == LULL_OP_SEND || op->kind == LULL_OP_RECV)
        snprintf(text, size, "rank %u in iteration %lld", rank, (long long)op->measured);
    else
        snprintf(text, size, "rank %u in %s", rank,
                 op->region < program->n_regions ? program->regions[op->region] : "the pattern");
    return text;
}

static const struct lull_program_class program_pattern = {
    .name = "pattern", .next = next, .rewind = start_again, .place = place_in_pattern};

uint32_t lull_pattern_period(const struct lull_program *program)
{
    const struct pattern *pattern = program->data;
    return pattern->collective == LULL_COLLECTIVES ? 1 : pattern->every;
}

/* ==== steps =================================================================================== */

/* The steps of an iteration, in order. */

/* Messages of one distance, dimension and direction: a rank sends to its neighbour in this
 * direction and receives from the opposite one. */
struct link {
    uint32_t distance; /* its index in `distances` */
    uint32_t dimension;
    uint32_t down; /* 0: upwards */
};

static uint32_t count_links(const struct pattern_exchange *exchange)
{
    return exchange->n_distances * exchange->n_dimensions * 2;
}

static struct link link_at(const struct pattern_exchange *exchange, uint32_t i)
{
    return (struct link){i / 2 / exchange->n_dimensions, i / 2 % exchange->n_dimensions, i % 2};
}

static uint32_t count_phases(const struct pattern_exchange *exchange)
{
    switch (exchange->wait) {
    case PATTERN_WAIT_ALL:
        return 1;
    case PATTERN_WAIT_DIRECTION:
        return exchange->n_dimensions * 2;
    case PATTERN_WAIT_DISTANCE:
        return exchange->n_distances;
    case PATTERN_WAIT_EACH:
        return count_links(exchange);
    }
    return 0;
}

/* The phase in which a link is used. */
static uint32_t phase_of(const struct pattern_exchange *exchange, struct link link)
{
    switch (exchange->wait) {
    case PATTERN_WAIT_ALL:
        return 0;
    case PATTERN_WAIT_DIRECTION:
        return link.dimension * 2 + link.down;
    case PATTERN_WAIT_DISTANCE:
        return link.distance;
    case PATTERN_WAIT_EACH:
        return (link.distance * exchange->n_dimensions + link.dimension) * 2 + link.down;
    }
    return 0;
}

static struct pattern_step *add_step(struct pattern *pattern, uint8_t kind)
{
    struct pattern_step *step = &pattern->steps[pattern->n_steps++];
    *step = (struct pattern_step){.kind = kind};
    return step;
}

/* Adds the receives or the sends of a phase; returns how many there are. */
static uint32_t add_half(struct pattern *pattern, const struct pattern_exchange *exchange,
                         uint32_t phase, bool sends, uint32_t first_request)
{
    bool swapped = sends && !exchange->sends_up_first;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count_links(exchange); i++) {
        struct link link = link_at(exchange, swapped ? i ^ 1 : i);
        bool wanted = link.down ? exchange->down : exchange->up;
        if (!wanted || phase_of(exchange, link) != phase)
            continue;
        struct pattern_step *step = add_step(pattern, sends ? LULL_OP_SEND : LULL_OP_RECV);
        step->dimension = (uint8_t)link.dimension;
        step->distance = exchange->distances[link.distance];
        step->up = sends == !link.down; /* a message that goes up is received from below */
        step->tag = (link.distance * exchange->n_dimensions + link.dimension) * 2 + link.down;
        step->request = first_request + n++;
    }
    return n;
}

/* Sets steps and n_steps of the pattern; the steps live in `arena`. A phase without messages gets
 * no steps. */
static void pattern_lay_out(struct pattern *pattern, const struct pattern_exchange *exchange,
                            struct lull_arena *arena)
{
    uint32_t links = count_links(exchange);
    pattern->steps = lull_arena_zero(arena, 3 * (size_t)links + 3, sizeof *pattern->steps);
    add_step(pattern, LULL_OP_MARK);
    add_step(pattern, LULL_OP_COMPUTE);
    for (uint32_t phase = 0; phase < count_phases(exchange); phase++) {
        uint32_t receives = add_half(pattern, exchange, phase, false, 0);
        if (receives + add_half(pattern, exchange, phase, true, receives) > 0)
            add_step(pattern, LULL_OP_WAIT);
    }
    if (pattern->collective != LULL_COLLECTIVES)
        add_step(pattern, LULL_OP_COLLECTIVE);
}

/* ==== spec ==================================================================================== */

#define KEYS_OF_ITERATIONS                                                        \
    {"exec", "1ms", "time of computation; a list 1ms+2ms goes around the ranks"}, \
    {                                                                             \
        "iterations", "100", "how many"                                           \
    }
#define KEYS_OF_EXCHANGE                                                                       \
    {"boundary", "open", "open or periodic"},                                                  \
        {"direction", "both", "both, up or down: where messages go"},                          \
        {"wait", "all", "all, direction, distance or each: what one MPI_Waitall waits for"},   \
        {"bytes", "1KiB", "size of a message"}, KEYS_OF_ITERATIONS,                            \
        {"collective", "none", "operation behind every `every`th iteration, as in allreduce"}, \
        {"every", "1", "iterations between collective operations"},                            \
        {"collective-bytes", "8", "its size"},                                                 \
    {                                                                                          \
        "root", "0", "of the collective operation"                                             \
    }

static const struct lull_pattern_key chain_keys[] = {
    {"ranks", "16", "how many"},
    {"distances", "1", "to the neighbours, as in 1+2+3"},
    KEYS_OF_EXCHANGE,
    {NULL, NULL, NULL},
};

static const struct lull_pattern_key grid_keys[] = {
    {"ranks", "4x4", "extents, one to three"},
    {"distances", "1", "to the neighbours in each dimension, as in 1+2"},
    KEYS_OF_EXCHANGE,
    {NULL, NULL, NULL},
};

static const struct lull_pattern_key collective_keys[] = {
    {"op", "allreduce", "the operation"},
    {"ranks", "16", "how many"},
    {"bytes", "8", "of the vector, or of a block where each rank has one"},
    {"root", "0", "of the operation"},
    KEYS_OF_ITERATIONS,
    {NULL, NULL, NULL},
};

enum { CHAIN, GRID, COLLECTIVE, PATTERNS };

const struct lull_pattern_class lull_patterns[] = {
    [CHAIN] = {"chain", "ranks in a row exchange messages", chain_keys},
    [GRID] = {"grid", "ranks in one, two or three dimensions exchange messages", grid_keys},
    [COLLECTIVE] = {"collective", "a collective operation in a loop", collective_keys},
    [PATTERNS] = {NULL, NULL, NULL},
};

/* The collective operations that a pattern may have: those in which all ranks have parts of the
 * same size. */
static const uint8_t uniform_operations[] = {
    LULL_COLLECTIVE_BARRIER,   LULL_COLLECTIVE_BCAST,          LULL_COLLECTIVE_REDUCE,
    LULL_COLLECTIVE_ALLREDUCE, LULL_COLLECTIVE_GATHER,         LULL_COLLECTIVE_SCATTER,
    LULL_COLLECTIVE_ALLGATHER, LULL_COLLECTIVE_ALLTOALL,       LULL_COLLECTIVE_SCAN,
    LULL_COLLECTIVE_EXSCAN,    LULL_COLLECTIVE_REDUCE_SCATTER, LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK,
};

enum { N_OPERATIONS = sizeof uniform_operations / sizeof *uniform_operations };

/* ---- reading --------------------------------------------------------------------------------- */

static lull_status read_rank_extents(struct lull_spec *spec, unsigned class,
                                     struct pattern *pattern, uint32_t *ret_dimensions,
                                     struct lull_error *err)
{
    uint32_t count = 0;
    lull_status status =
        lull_spec_extents(spec, "ranks", PATTERN_MOST_RANKS, pattern->extents, &count, err);
    if (status != LULL_OK)
        return status;
    if (count > 1 && class != GRID)
        return lull_fail(err, LULL_ERR_RANGE, "%s: ranks is %s, expected one number",
                         lull_spec_name(spec), lull_spec_string(spec, "ranks", ""));
    if (count == 0) {
        pattern->extents[0] = class == GRID ? 4 : 16;
        pattern->extents[1] = class == GRID ? 4 : 1;
        count = class == GRID ? 2 : 1;
    }
    for (uint32_t d = 0, stride = 1; d < 3; stride *= pattern->extents[d++])
        pattern->strides[d] = stride;
    *ret_dimensions = count;
    return LULL_OK;
}

static lull_status read_bytes(struct lull_spec *spec, const char *key, double fallback,
                              uint64_t *ret_bytes, struct lull_error *err)
{
    const struct lull_parameter size = {key, "", LULL_BYTES, fallback, 0, 0x1p50, false};
    double value;
    lull_status status = lull_spec_number(spec, &size, &value, err);
    if (status == LULL_OK)
        *ret_bytes = (uint64_t)value;
    return status;
}

static lull_status read_iterations(struct lull_spec *spec, struct pattern *pattern,
                                   struct lull_error *err)
{
    static const int64_t one_ms = 1000000;
    uint64_t iterations;
    lull_status status = lull_spec_times(spec, "exec", &pattern->exec, &pattern->n_exec, err);
    if (status == LULL_OK)
        status = lull_spec_count(spec, "iterations", 100, 1, UINT32_MAX - 1, &iterations, err);
    if (status != LULL_OK)
        return status;
    if (pattern->n_exec == 0) {
        pattern->exec = &one_ms;
        pattern->n_exec = 1;
    }
    pattern->iterations = (uint32_t)iterations;
    return LULL_OK;
}

static lull_status read_operation(struct lull_spec *spec, const char *key, unsigned fallback,
                                  uint8_t *ret_operation, struct lull_error *err)
{
    const char *names[N_OPERATIONS + 2];
    unsigned choice;
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        names[i] = lull_collective_name(uniform_operations[i]);
    names[N_OPERATIONS] = "none";
    names[N_OPERATIONS + 1] = NULL;
    lull_status status = lull_spec_choice(spec, key, names, fallback, &choice, err);
    if (status == LULL_OK)
        *ret_operation = choice == N_OPERATIONS ? LULL_COLLECTIVES : uniform_operations[choice];
    return status;
}

static lull_status read_root(struct lull_spec *spec, uint32_t n_ranks, struct pattern *pattern,
                             struct lull_error *err)
{
    uint64_t root;
    lull_status status = lull_spec_count(spec, "root", 0, 0, n_ranks - 1, &root, err);
    if (status == LULL_OK)
        pattern->root = (uint32_t)root;
    return status;
}

static lull_status read_exchange(struct lull_spec *spec, struct pattern *pattern,
                                 struct pattern_exchange *exchange, struct lull_error *err)
{
    static const char *const boundaries[] = {"open", "periodic", NULL};
    static const char *const directions[] = {"both", "up", "down", NULL};
    static const char *const waits[] = {"all", "direction", "distance", "each", NULL};
    static const uint32_t next_neighbour = 1;
    unsigned boundary = 0, direction = 0, wait = 0;
    lull_status status = lull_spec_list(spec, "distances", 1, PATTERN_MOST_RANKS,
                                        &exchange->distances, &exchange->n_distances, err);
    if (status == LULL_OK)
        status = lull_spec_choice(spec, "boundary", boundaries, 0, &boundary, err);
    if (status == LULL_OK)
        status = lull_spec_choice(spec, "direction", directions, 0, &direction, err);
    if (status == LULL_OK)
        status = lull_spec_choice(spec, "wait", waits, 0, &wait, err);
    if (status == LULL_OK)
        status = read_bytes(spec, "bytes", 1024, &pattern->bytes, err);
    if (status != LULL_OK)
        return status;
    if (exchange->n_distances > PATTERN_MOST_DISTANCES)
        return lull_fail(err, LULL_ERR_RANGE, "%s: more than %d distances", lull_spec_name(spec),
                         PATTERN_MOST_DISTANCES);
    if (exchange->n_distances == 0) {
        exchange->distances = &next_neighbour;
        exchange->n_distances = 1;
    }
    pattern->periodic = boundary == 1;
    exchange->up = direction != 2;
    exchange->down = direction != 1;
    exchange->wait = (enum pattern_wait)wait;
    return LULL_OK;
}

static lull_status read_collective_every(struct lull_spec *spec, struct pattern *pattern,
                                         struct lull_error *err)
{
    uint64_t every;
    lull_status status =
        read_operation(spec, "collective", N_OPERATIONS, &pattern->collective, err);
    if (status == LULL_OK)
        status = lull_spec_count(spec, "every", 1, 1, UINT32_MAX - 1, &every, err);
    if (status == LULL_OK)
        status = read_bytes(spec, "collective-bytes", 8, &pattern->collective_bytes, err);
    if (status == LULL_OK)
        pattern->every = (uint32_t)every;
    return status;
}

static lull_status read_pattern(struct lull_spec *spec, unsigned class, struct pattern *pattern,
                                struct pattern_exchange *exchange, struct lull_error *err)
{
    uint32_t dimensions;
    lull_status status = read_rank_extents(spec, class, pattern, &dimensions, err);
    uint32_t n_ranks = pattern->extents[0] * pattern->extents[1] * pattern->extents[2];
    if (status == LULL_OK)
        status = read_iterations(spec, pattern, err);
    if (status == LULL_OK && class == COLLECTIVE) {
        pattern->every = 1;
        status = read_operation(spec, "op", 3, &pattern->collective, err);
        if (status == LULL_OK && pattern->collective == LULL_COLLECTIVES)
            status = lull_fail(err, LULL_ERR_RANGE, "%s: op is 'none', expected an operation",
                               lull_spec_name(spec));
        if (status == LULL_OK)
            status = read_bytes(spec, "bytes", 8, &pattern->collective_bytes, err);
    } else if (status == LULL_OK) {
        exchange->n_dimensions = dimensions;
        exchange->sends_up_first = class == CHAIN;
        status = read_exchange(spec, pattern, exchange, err);
        if (status == LULL_OK)
            status = read_collective_every(spec, pattern, err);
    }
    if (status == LULL_OK)
        status = read_root(spec, n_ranks, pattern, err);
    return status == LULL_OK ? lull_spec_finish(spec, err) : status;
}

/* ---- program --------------------------------------------------------------------------------- */

static const char *const *region_names(const struct pattern *pattern, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, PATTERN_REGIONS, sizeof *names);
    names[PATTERN_COMPUTE] = "compute";
    names[PATTERN_ISEND] = "MPI_Isend";
    names[PATTERN_IRECV] = "MPI_Irecv";
    names[PATTERN_WAITALL] = "MPI_Waitall";
    if (pattern->collective != LULL_COLLECTIVES) {
        char *name = lull_arena_printf(arena, "MPI_%s", lull_collective_name(pattern->collective));
        name[4] = (char)toupper((unsigned char)name[4]);
        names[PATTERN_COLLECTIVE] = name;
    }
    return names;
}

static void build(struct lull_program *program, struct pattern *pattern, const char *text)
{
    struct lull_arena *arena = program->arena;
    struct lull_group *group = lull_arena_zero(arena, 1, sizeof *group);
    program->class = &program_pattern;
    program->name = lull_arena_strdup(arena, text);
    program->n_ranks = pattern->extents[0] * pattern->extents[1] * pattern->extents[2];
    program->n_streams = program->n_ranks;
    program->n_regions = PATTERN_REGIONS - (pattern->collective == LULL_COLLECTIVES);
    program->regions = region_names(pattern, arena);
    group->size = program->n_ranks;
    program->n_groups = 1;
    program->groups = group;
    program->data = pattern;
}

lull_status lull_pattern_open(struct lull_spec *spec, struct lull_program **ret_program,
                              struct lull_error *err)
{
    const char *names[PATTERNS + 1] = {NULL};
    unsigned class = 0;
    for (unsigned p = 0; p < PATTERNS; p++)
        names[p] = lull_patterns[p].name;
    while (class < PATTERNS && strcmp(names[class], lull_spec_name(spec)) != 0)
        class ++;
    if (class == PATTERNS)
        return lull_spec_unknown_name(spec, "pattern", names, err);
    struct pattern read = {.collective = LULL_COLLECTIVES, .every = 1};
    struct pattern_exchange exchange = {0};
    lull_status status = read_pattern(spec, class, &read, &exchange, err);
    if (status != LULL_OK)
        return status;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program = lull_arena_zero(arena, 1, sizeof *program);
    struct pattern *pattern = lull_arena_zero(arena, 1, sizeof *pattern);
    program->arena = arena;
    *pattern = read;
    int64_t *exec = lull_arena_alloc(arena, read.n_exec * sizeof *exec);
    memcpy(exec, read.exec, read.n_exec * sizeof *exec);
    pattern->exec = exec;
    pattern_lay_out(pattern, &exchange, arena);
    build(program, pattern, lull_spec_text(spec));
    pattern->ranks = lull_arena_try(arena, program->n_ranks, sizeof *pattern->ranks);
    if (!pattern->ranks) {
        lull_arena_destroy(arena);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_spec_name(spec));
    }
    *ret_program = program;
    return LULL_OK;
}
