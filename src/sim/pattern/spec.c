/* Patterns from specs. */
#include "base/collective.h"
#include "sim/pattern/steps.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

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
        {"every", "1", "iterations between collective uniform_operations"},                    \
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

/* Those whose parts are of one size; making a communicator is none. */
static const uint8_t uniform_operations[] = {
    LULL_COLLECTIVE_BARRIER,   LULL_COLLECTIVE_BCAST,          LULL_COLLECTIVE_REDUCE,
    LULL_COLLECTIVE_ALLREDUCE, LULL_COLLECTIVE_GATHER,         LULL_COLLECTIVE_SCATTER,
    LULL_COLLECTIVE_ALLGATHER, LULL_COLLECTIVE_ALLTOALL,       LULL_COLLECTIVE_SCAN,
    LULL_COLLECTIVE_EXSCAN,    LULL_COLLECTIVE_REDUCE_SCATTER, LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK,
};

enum { N_OPERATIONS = sizeof uniform_operations / sizeof *uniform_operations };

/* ---- reading --------------------------------------------------------------------------------- */

static lull_status read_rank_extents(struct lull_spec *spec, unsigned class,
                                     struct lull_pattern *pattern, uint32_t *ret_dimensions,
                                     struct lull_error *err)
{
    uint32_t count = 0;
    lull_status status =
        lull_spec_extents(spec, "ranks", LULL_PATTERN_MOST_RANKS, pattern->extents, &count, err);
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

static lull_status read_iterations(struct lull_spec *spec, struct lull_pattern *pattern,
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

static lull_status read_root(struct lull_spec *spec, uint32_t n_ranks, struct lull_pattern *pattern,
                             struct lull_error *err)
{
    uint64_t root;
    lull_status status = lull_spec_count(spec, "root", 0, 0, n_ranks - 1, &root, err);
    if (status == LULL_OK)
        pattern->root = (uint32_t)root;
    return status;
}

static lull_status read_exchange(struct lull_spec *spec, struct lull_pattern *pattern,
                                 struct lull_pattern_exchange *exchange, struct lull_error *err)
{
    static const char *const boundaries[] = {"open", "periodic", NULL};
    static const char *const directions[] = {"both", "up", "down", NULL};
    static const char *const waits[] = {"all", "direction", "distance", "each", NULL};
    static const uint32_t next_neighbour = 1;
    unsigned boundary = 0, direction = 0, wait = 0;
    lull_status status = lull_spec_list(spec, "distances", 1, LULL_PATTERN_MOST_RANKS,
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
    if (exchange->n_distances > LULL_PATTERN_MOST_DISTANCES)
        return lull_fail(err, LULL_ERR_RANGE, "%s: more than %d distances", lull_spec_name(spec),
                         LULL_PATTERN_MOST_DISTANCES);
    if (exchange->n_distances == 0) {
        exchange->distances = &next_neighbour;
        exchange->n_distances = 1;
    }
    pattern->periodic = boundary == 1;
    exchange->up = direction != 2;
    exchange->down = direction != 1;
    exchange->wait = (enum lull_pattern_wait)wait;
    return LULL_OK;
}

static lull_status read_collective_every(struct lull_spec *spec, struct lull_pattern *pattern,
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

static lull_status read_pattern(struct lull_spec *spec, unsigned class,
                                struct lull_pattern *pattern,
                                struct lull_pattern_exchange *exchange, struct lull_error *err)
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

static const char *const *region_names(const struct lull_pattern *pattern, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, LULL_PATTERN_REGIONS, sizeof *names);
    names[LULL_PATTERN_COMPUTE] = "compute";
    names[LULL_PATTERN_ISEND] = "MPI_Isend";
    names[LULL_PATTERN_IRECV] = "MPI_Irecv";
    names[LULL_PATTERN_WAITALL] = "MPI_Waitall";
    if (pattern->collective != LULL_COLLECTIVES) {
        char *name = lull_arena_printf(arena, "MPI_%s", lull_collective_name(pattern->collective));
        name[4] = (char)toupper((unsigned char)name[4]);
        names[LULL_PATTERN_COLLECTIVE] = name;
    }
    return names;
}

static void build(struct lull_program *program, struct lull_pattern *pattern, const char *text)
{
    struct lull_arena *arena = program->arena;
    struct lull_group *group = lull_arena_zero(arena, 1, sizeof *group);
    program->class = &lull_program_pattern;
    program->name = lull_arena_strdup(arena, text);
    program->n_ranks = pattern->extents[0] * pattern->extents[1] * pattern->extents[2];
    program->n_streams = program->n_ranks;
    program->n_regions = LULL_PATTERN_REGIONS - (pattern->collective == LULL_COLLECTIVES);
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
    struct lull_pattern read = {.collective = LULL_COLLECTIVES, .every = 1};
    struct lull_pattern_exchange exchange = {0};
    lull_status status = read_pattern(spec, class, &read, &exchange, err);
    if (status != LULL_OK)
        return status;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program = lull_arena_zero(arena, 1, sizeof *program);
    struct lull_pattern *pattern = lull_arena_zero(arena, 1, sizeof *pattern);
    program->arena = arena;
    *pattern = read;
    int64_t *exec = lull_arena_alloc(arena, read.n_exec * sizeof *exec);
    memcpy(exec, read.exec, read.n_exec * sizeof *exec);
    pattern->exec = exec;
    lull_pattern_lay_out(pattern, &exchange, arena);
    build(program, pattern, lull_spec_text(spec));
    pattern->ranks = lull_arena_try(arena, program->n_ranks, sizeof *pattern->ranks);
    if (!pattern->ranks) {
        lull_arena_destroy(arena);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_spec_name(spec));
    }
    *ret_program = program;
    return LULL_OK;
}
