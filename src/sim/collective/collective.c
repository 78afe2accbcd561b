/* Which algorithms there are, which one is taken, and stepping through one. */
#include "sim/collective/collective.h"

#include "base/collective.h"
#include "sim/collective/rounds.h"

#include <stdio.h>
#include <string.h>

#define OP(name)        (UINT32_C(1) << LULL_COLLECTIVE_##name)
#define BARRIERS        (OP(BARRIER) | OP(CREATE) | OP(FREE) | OP(UNKNOWN))
#define GATHERS         (OP(GATHER) | OP(GATHERV))
#define SCATTERS        (OP(SCATTER) | OP(SCATTERV))
#define ALLGATHERS      (OP(ALLGATHER) | OP(ALLGATHERV))
#define ALLTOALLS       (OP(ALLTOALL) | OP(ALLTOALLV) | OP(ALLTOALLW))
#define REDUCE_SCATTERS (OP(REDUCE_SCATTER) | OP(REDUCE_SCATTER_BLOCK))
#define SCANS           (OP(SCAN) | OP(EXSCAN))

enum { MOST_ROUND_PIECES = 4 };

/* What goes through a rank that is no root of the operation goes through rank 0. */
static const struct algorithm {
    const char *name;
    uint32_t operations;
    const struct lull_rounds *pieces[MOST_ROUND_PIECES];
} algorithms[] = {
    {"linear", BARRIERS | OP(ALLREDUCE), {&lull_rounds_star_in, &lull_rounds_star_out}},
    {"linear", OP(BCAST), {&lull_rounds_star_out}},
    {"linear", OP(REDUCE), {&lull_rounds_star_in}},
    {"linear", GATHERS, {&lull_rounds_star_in_blocks}},
    {"linear", SCATTERS, {&lull_rounds_star_out_blocks}},
    {"linear", ALLGATHERS | ALLTOALLS | REDUCE_SCATTERS, {&lull_rounds_exchange}},
    {"linear", SCANS, {&lull_rounds_line}},
    {"binomial", BARRIERS | OP(ALLREDUCE), {&lull_rounds_tree_up, &lull_rounds_tree_down}},
    {"binomial", OP(BCAST), {&lull_rounds_tree_down}},
    {"binomial", OP(REDUCE), {&lull_rounds_tree_up}},
    {"binomial", GATHERS, {&lull_rounds_tree_up_blocks}},
    {"binomial", SCATTERS, {&lull_rounds_tree_down_blocks}},
    {"recursive-doubling",
     BARRIERS | OP(ALLREDUCE),
     {&lull_rounds_fold, &lull_rounds_doubling, &lull_rounds_unfold}},
    {"recursive-doubling", ALLGATHERS, {&lull_rounds_doubling_blocks}},
    {"recursive-doubling", SCANS, {&lull_rounds_prefix}},
    {"recursive-halving",
     REDUCE_SCATTERS,
     {&lull_rounds_fold, &lull_rounds_halving, &lull_rounds_unfold_block}},
    {"rabenseifner",
     OP(ALLREDUCE),
     {&lull_rounds_fold, &lull_rounds_halving, &lull_rounds_regather, &lull_rounds_unfold}},
    {"rabenseifner",
     OP(REDUCE),
     {&lull_rounds_fold, &lull_rounds_halving, &lull_rounds_hand_over, &lull_rounds_collect}},
    {"ring", OP(ALLREDUCE), {&lull_rounds_ring, &lull_rounds_ring}},
    {"ring", ALLGATHERS | REDUCE_SCATTERS, {&lull_rounds_ring}},
    {"double-ring", BARRIERS, {&lull_rounds_double_ring}},
    {"pipelined", OP(BCAST), {&lull_rounds_pipeline}},
    {"scatter-allgather", OP(BCAST), {&lull_rounds_tree_down_blocks, &lull_rounds_ring}},
    {"scatter-doubling", OP(BCAST), {&lull_rounds_tree_down_blocks, &lull_rounds_doubling_blocks}},
    {"dissemination", BARRIERS, {&lull_rounds_dissemination}},
    {"bruck", ALLGATHERS, {&lull_rounds_bruck_gather}},
    {"bruck", ALLTOALLS, {&lull_rounds_bruck_exchange}},
    {"pairwise", ALLTOALLS | REDUCE_SCATTERS, {&lull_rounds_pairwise}},
    /* Who the neighbours are is not known, so nothing is sent. */
    {"local", OP(NEIGHBOUR), {NULL}},
};

enum { N_ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* ---- choice ---------------------------------------------------------------------------------- */

/* The limits are those of MPICH as published: Thakur, Rabenseifner and Gropp, "Optimization of
 * Collective Communication Operations in MPICH" (2005); operations whose parts differ in size are
 * linear there. `bytes` is the larger of what a rank sends and receives, so that all ranks of an
 * operation come to the same answer. */
static const char *by_size(unsigned operation, uint32_t size, uint64_t bytes)
{
    uint32_t bit = UINT32_C(1) << operation;
    bool power = (size & (size - 1)) == 0;
    if (bit & BARRIERS)
        return "dissemination";
    if (bit & OP(BCAST))
        return bytes < 12288 || size < 8 ? "binomial"
               : power && bytes < 524288 ? "scatter-doubling"
                                         : "scatter-allgather";
    if (bit & OP(REDUCE))
        return bytes <= 2048 ? "binomial" : "rabenseifner";
    if (bit & (OP(GATHER) | OP(SCATTER)))
        return "binomial";
    if (bit & (OP(GATHERV) | OP(SCATTERV) | OP(ALLTOALLV) | OP(ALLTOALLW)))
        return "linear";
    if (bit & ALLGATHERS)
        return power && bytes < 524288 ? "recursive-doubling" : bytes < 81920 ? "bruck" : "ring";
    if (bit & ALLTOALLS)
        return bytes / size <= 256 && size >= 8 ? "bruck"
               : bytes / size <= 32768          ? "linear"
                                                : "pairwise";
    if (bit & OP(ALLREDUCE))
        return bytes <= 2048 ? "recursive-doubling" : "rabenseifner";
    if (bit & REDUCE_SCATTERS)
        return bytes < 524288 ? "recursive-halving" : "pairwise";
    return bit & SCANS ? "recursive-doubling" : "local";
}

static unsigned find_algorithm(unsigned operation, const char *name, size_t length)
{
    for (unsigned a = 0; a < N_ALGORITHMS; a++)
        if ((algorithms[a].operations >> operation & 1) && strlen(algorithms[a].name) == length &&
            memcmp(algorithms[a].name, name, length) == 0)
            return a;
    return N_ALGORITHMS;
}

/* "allreduce:ring" at `text`; returns what follows, NULL at the end. */
static const char *next_choice(const char *text, size_t *ret_operation, const char **ret_name,
                               size_t *ret_length)
{
    const char *end = text + strcspn(text, "+");
    *ret_operation = strcspn(text, ":+");
    *ret_name = text[*ret_operation] == ':' ? text + *ret_operation + 1 : end;
    *ret_length = (size_t)(end - *ret_name);
    return *end ? end + 1 : NULL;
}

static unsigned find_operation(const char *name, size_t length)
{
    unsigned op = 0;
    while (op < LULL_COLLECTIVES && (strlen(lull_collective_name(op)) != length ||
                                     memcmp(lull_collective_name(op), name, length) != 0))
        op++;
    return op;
}

/* What the user wants for an operation; N_ALGORITHMS: nothing was said. */
static unsigned wanted(const char *text, unsigned operation)
{
    size_t word, length;
    const char *name;
    unsigned found = N_ALGORITHMS;
    for (const char *at = text, *next; at; at = next) {
        next = next_choice(at, &word, &name, &length);
        if (find_operation(at, word) == operation)
            found = find_algorithm(operation, name, length);
    }
    return found;
}

static bool needs_power_of_two(const struct algorithm *algorithm)
{
    bool needs = false;
    for (unsigned p = 0; p < MOST_ROUND_PIECES; p++)
        needs |= algorithm->pieces[p] == &lull_rounds_doubling_blocks;
    return needs;
}

uint8_t lull_collective_choose(const struct lull_network *network, uint8_t operation, uint32_t size,
                               uint64_t bytes)
{
    unsigned chosen = wanted(network->algorithms, operation);
    if (chosen == N_ALGORITHMS) {
        const char *name = by_size(operation, size, bytes);
        chosen = find_algorithm(operation, name, strlen(name));
    }
    if (needs_power_of_two(&algorithms[chosen]) && (size & (size - 1)))
        chosen = operation == LULL_COLLECTIVE_BCAST
                     ? find_algorithm(operation, "scatter-allgather", 17)
                     : find_algorithm(operation, "bruck", 5);
    return (uint8_t)chosen;
}

uint8_t lull_collective_linear(uint8_t operation)
{
    return (uint8_t)find_algorithm(operation, "linear", 6);
}

const char *lull_collective_algorithm_name(uint8_t algorithm)
{
    return algorithms[algorithm].name;
}

const char *lull_collective_algorithms(uint8_t operation, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (unsigned a = 0; a < N_ALGORITHMS && used < size; a++)
        if (algorithms[a].operations >> operation & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     algorithms[a].name);
    return text;
}

lull_status lull_collective_check(const char *text, struct lull_error *err)
{
    size_t word, length;
    const char *name;
    for (const char *at = text, *next; at; at = next) {
        next = next_choice(at, &word, &name, &length);
        unsigned operation = find_operation(at, word);
        if (operation == LULL_COLLECTIVES)
            return lull_fail(err, LULL_ERR_RANGE,
                             "algorithms: '%.*s' is no collective operation, expected as in "
                             "allreduce:ring+bcast:binomial",
                             (int)word, at);
        char known[200];
        if (find_algorithm(operation, name, length) == N_ALGORITHMS)
            return lull_fail(err, LULL_ERR_RANGE,
                             "algorithms: '%.*s' is no algorithm of %s, known: %s", (int)length,
                             name, lull_collective_name(operation),
                             lull_collective_algorithms((uint8_t)operation, known, sizeof known));
    }
    return LULL_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The piece that a step belongs to, and the step in it; NULL behind the last. */
static const struct lull_rounds *locate(const struct lull_collective_call *call, uint32_t *step)
{
    const struct algorithm *algorithm = &algorithms[call->algorithm];
    for (unsigned p = 0; p < MOST_ROUND_PIECES && algorithm->pieces[p]; p++) {
        uint32_t steps = algorithm->pieces[p]->steps(call);
        if (*step < steps)
            return algorithm->pieces[p];
        *step -= steps;
    }
    return NULL;
}

uint32_t lull_collective_step(const struct lull_collective_call *call, uint32_t step)
{
    if (call->size < 2)
        return LULL_COLLECTIVE_OVER;
    const struct lull_rounds *piece = locate(call, &step);
    return piece ? piece->count(call, step) : LULL_COLLECTIVE_OVER;
}

/* Within a piece, the messages from one rank to another are received in the order in which they
 * are sent, so that the piece is enough of a tag. */
void lull_collective_transfer(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                              struct lull_collective_transfer *ret_transfer)
{
    uint32_t within = step;
    const struct lull_rounds *piece = locate(call, &within);
    piece->transfer(call, within, i, ret_transfer);
    ret_transfer->tag = step - within;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t share_of_vector(uint64_t bytes, uint32_t size)
{
    return bytes / size + (bytes % size != 0);
}

uint64_t lull_collective_whole(const struct lull_collective_call *call)
{
    return larger(call->sent, call->received);
}

uint64_t lull_collective_block(const struct lull_collective_call *call)
{
    uint32_t bit = UINT32_C(1) << call->operation;
    bool root = call->me == call->root;
    if (bit & GATHERS)
        return call->sent || !root ? call->sent : share_of_vector(call->received, call->size);
    if (bit & SCATTERS)
        return root ? share_of_vector(call->sent, call->size) : call->received;
    if (bit & ALLGATHERS)
        return call->received ? share_of_vector(call->received, call->size) : call->sent;
    return share_of_vector(larger(call->sent, call->received), call->size);
}

uint32_t lull_log2_up(uint32_t n)
{
    return n <= 1 ? 0 : 32 - (uint32_t)__builtin_clz(n - 1);
}

uint32_t lull_power_of_two(uint32_t n)
{
    return UINT32_C(1) << (31 - (uint32_t)__builtin_clz(n));
}
