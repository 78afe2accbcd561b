/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithms there are, which one is taken, and stepping through one. */
#include "sim/collective/collective.h"

#include "base/collective.h"
#include "sim/network/network.h"

#include <stdio.h>
#include <string.h>

struct rounds {
    uint32_t (*steps)(const struct lull_collective_call *call);
    uint32_t (*count)(const struct lull_collective_call *call, uint32_t step);
    void (*transfer)(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret_transfer);
};

#define NO_PLACE UINT32_MAX /* folded into its neighbour */

static uint64_t collective_whole(const struct lull_collective_call *call);
static uint64_t collective_block(const struct lull_collective_call *call);
static uint32_t log2_up(uint32_t n);
static uint32_t power_of_two(uint32_t n);

static inline uint32_t ranks_beyond_power(const struct lull_collective_call *call)
{
    return call->size - power_of_two(call->size);
}

static inline uint32_t place_of_rank(const struct lull_collective_call *call, uint32_t rank)
{
    uint32_t rest = ranks_beyond_power(call);
    if (rank >= 2 * rest)
        return rank - rest;
    return rank % 2 ? rank / 2 : NO_PLACE;
}

static inline uint32_t rank_of_place(const struct lull_collective_call *call, uint32_t place)
{
    uint32_t rest = ranks_beyond_power(call);
    return place < rest ? 2 * place + 1 : place + rest;
}

/* ==== linear ================================================================================== */

/* Linear algorithms: no tree, everything in one step. */

static uint32_t one(const struct lull_collective_call *call)
{
    (void)call;
    return 1;
}

static uint32_t star_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return call->me == call->root ? call->size - 1 : 1;
}

static void star(const struct lull_collective_call *call, uint32_t i, bool outwards, uint64_t bytes,
                 struct lull_collective_transfer *ret)
{
    bool centre = call->me == call->root;
    *ret = (struct lull_collective_transfer){.send = centre == outwards,
                                             .peer = centre ? (call->root + 1 + i) % call->size
                                                            : call->root,
                                             .bytes = bytes};
}

static void star_out(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, true, collective_whole(call), ret);
}

static void star_in(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                    struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, false, collective_whole(call), ret);
}

static void star_out_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                            struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, true, collective_block(call), ret);
}

static void star_in_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                           struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, false, collective_block(call), ret);
}

/* All receives and sends at once, to the next rank first so that no rank is met by all. */
static uint32_t exchange_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return 2 * (call->size - 1);
}

static void exchange(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    uint32_t others = call->size - 1;
    (void)step;
    bool send = i >= others;
    uint32_t distance = 1 + i % others;
    *ret = (struct lull_collective_transfer){
        .send = send,
        .peer = (call->me + (send ? distance : call->size - distance)) % call->size,
        .bytes = collective_block(call)};
}

/* A prefix sum passed on from rank to rank. */
static uint32_t two_line_steps(const struct lull_collective_call *call)
{
    (void)call;
    return 2;
}

static uint32_t line_count(const struct lull_collective_call *call, uint32_t step)
{
    return step == 0 ? call->me > 0 : call->me + 1 < call->size;
}

static void line(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    (void)i;
    *ret = (struct lull_collective_transfer){.send = step == 1,
                                             .peer = step == 1 ? call->me + 1 : call->me - 1,
                                             .bytes = collective_whole(call)};
}

/* The root with each other rank, or each rank with each other one, in one step. */
static const struct rounds rounds_star_out = {one, star_count, star_out};
static const struct rounds rounds_star_in = {one, star_count, star_in};

static const struct rounds rounds_star_out_blocks = {one, star_count, star_out_blocks};
static const struct rounds rounds_star_in_blocks = {one, star_count, star_in_blocks};
static const struct rounds rounds_exchange = {one, exchange_count, exchange};
static const struct rounds rounds_line = {two_line_steps, line_count, line};

/* ==== recursive doubling ====================================================================== */

/* Recursive doubling, with folding for groups that are no power of two. */

static uint32_t fold_steps(const struct lull_collective_call *call)
{
    return ranks_beyond_power(call) > 0;
}

static uint32_t fold_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return call->me < 2 * ranks_beyond_power(call);
}

static void between_neighbours(const struct lull_collective_call *call, bool even_sends,
                               uint64_t bytes, struct lull_collective_transfer *ret)
{
    *ret = (struct lull_collective_transfer){
        .send = (call->me % 2 == 0) == even_sends, .peer = call->me ^ 1, .bytes = bytes};
}

static void fold(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    between_neighbours(call, true, collective_whole(call), ret);
}

static void unfold(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                   struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    between_neighbours(call, false, collective_whole(call), ret);
}

static void unfold_block(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                         struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    between_neighbours(call, false, collective_block(call), ret);
}

static uint32_t doubling_steps(const struct lull_collective_call *call)
{
    return log2_up(power_of_two(call->size));
}

static uint32_t doubling_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return place_of_rank(call, call->me) == NO_PLACE ? 0 : 2;
}

static void swap_vectors(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                         uint64_t bytes, struct lull_collective_transfer *ret)
{
    uint32_t place = place_of_rank(call, call->me) ^ (UINT32_C(1) << step);
    *ret = (struct lull_collective_transfer){
        .send = i == 1, .peer = rank_of_place(call, place), .bytes = bytes};
}

static void doubling(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    swap_vectors(call, step, i, collective_whole(call), ret);
}

/* All blocks that a rank has: 1, 2, 4, ...; for groups of a power of two. */
static void doubling_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                            struct lull_collective_transfer *ret)
{
    swap_vectors(call, step, i, collective_block(call) << step, ret);
}

/* Prefix sums: to the rank 2^step above, from the one below; not around the group. */
static uint32_t prefix_steps(const struct lull_collective_call *call)
{
    return log2_up(call->size);
}

static bool reaches_up(const struct lull_collective_call *call, uint32_t step)
{
    return (uint64_t)call->me + (UINT32_C(1) << step) < call->size;
}

static uint32_t prefix_count(const struct lull_collective_call *call, uint32_t step)
{
    return (call->me >= UINT32_C(1) << step) + reaches_up(call, step);
}

static void prefix(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                   struct lull_collective_transfer *ret)
{
    uint32_t distance = UINT32_C(1) << step;
    bool send = i == 1 || call->me < distance;
    *ret =
        (struct lull_collective_transfer){.send = send,
                                          .peer = send ? call->me + distance : call->me - distance,
                                          .bytes = collective_whole(call)};
}

/* Ranks that differ in one bit, of value 1, 2, 4, ..., exchange whole vectors. Ranks beyond a power
 * of two first fold their vector into a neighbour's, and get the result from that neighbour. */
static const struct rounds rounds_fold = {fold_steps, fold_count, fold};
static const struct rounds rounds_unfold = {fold_steps, fold_count, unfold};
static const struct rounds rounds_unfold_block = {fold_steps, fold_count, unfold_block};

static const struct rounds rounds_doubling = {doubling_steps, doubling_count, doubling};

static const struct rounds rounds_doubling_blocks = {doubling_steps, doubling_count,
                                                     doubling_blocks};

static const struct rounds rounds_prefix = {prefix_steps, prefix_count, prefix};

/* ==== rabenseifner ============================================================================ */

/* Rabenseifner's allreduce is recursive halving of the vector, then recursive doubling back. His
 * reduce collects the parts at the root instead of the doubling. */

static uint32_t halving_steps(const struct lull_collective_call *call)
{
    return log2_up(power_of_two(call->size));
}

static uint32_t count_of_placed(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return place_of_rank(call, call->me) == NO_PLACE ? 0 : 2;
}

/* A 2^bits-th part of the vector, rounded up. */
static uint64_t part(const struct lull_collective_call *call, uint32_t bits)
{
    uint64_t whole = collective_whole(call), parts = UINT64_C(1) << bits;
    return whole / parts + (whole % parts != 0);
}

/* With the place 2^bit away: a 2^(steps - bit)-th part of the vector. */
static void swap_parts(const struct lull_collective_call *call, uint32_t bit, uint32_t i,
                       struct lull_collective_transfer *ret)
{
    uint32_t place = place_of_rank(call, call->me) ^ (UINT32_C(1) << bit);
    *ret = (struct lull_collective_transfer){.send = i == 1,
                                             .peer = rank_of_place(call, place),
                                             .bytes = part(call, halving_steps(call) - bit)};
}

static void halving(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                    struct lull_collective_transfer *ret)
{
    swap_parts(call, halving_steps(call) - 1 - step, i, ret);
}

static void regather(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    swap_parts(call, step, i, ret);
}

/* A root that was folded into its neighbour gets the neighbour's part, and its place. */
static bool is_folded(const struct lull_collective_call *call)
{
    return place_of_rank(call, call->root) == NO_PLACE;
}

static uint32_t hand_over_steps(const struct lull_collective_call *call)
{
    return is_folded(call);
}

static uint32_t hand_over_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return call->me == call->root || call->me == (call->root ^ 1);
}

static void hand_over_part(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                           struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    *ret = (struct lull_collective_transfer){.send = call->me != call->root,
                                             .peer = call->me ^ 1,
                                             .bytes = part(call, halving_steps(call))};
}

static uint32_t root_place(const struct lull_collective_call *call)
{
    return place_of_rank(call, is_folded(call) ? call->root ^ 1 : call->root);
}

/* The way from a rank's place to that of the root, bit by bit; NO_PLACE: it has none. */
static uint32_t way(const struct lull_collective_call *call)
{
    if (call->me == call->root)
        return 0;
    uint32_t place = place_of_rank(call, call->me);
    if (place == NO_PLACE || place == root_place(call)) /* the latter has handed it over */
        return NO_PLACE;
    return place ^ root_place(call);
}

/* In step s those whose way has no lower bit than s are left; half of them give what they have. */
static uint32_t collect_count(const struct lull_collective_call *call, uint32_t step)
{
    uint32_t bits = way(call);
    return bits != NO_PLACE && (bits & ((UINT32_C(1) << step) - 1)) == 0;
}

static void collect_at_root(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                            struct lull_collective_transfer *ret)
{
    (void)i;
    uint32_t bits = way(call) ^ (UINT32_C(1) << step);
    *ret = (struct lull_collective_transfer){
        .send = !(bits >> step & 1),
        .peer = bits ? rank_of_place(call, bits ^ root_place(call)) : call->root,
        .bytes = part(call, halving_steps(call) - step)};
}

/* ... or to the root alone. */
static const struct rounds rounds_hand_over = {hand_over_steps, hand_over_count, hand_over_part};

/* ... or to the root alone. */
static const struct rounds rounds_collect = {halving_steps, collect_count, collect_at_root};

/* Halves of the vector, then quarters, and so on; and the way back. */
static const struct rounds rounds_halving = {halving_steps, count_of_placed, halving};
static const struct rounds rounds_regather = {halving_steps, count_of_placed, regather};

/* ==== ring ==================================================================================== */

/* In a ring, blocks go around the group; in a double ring, a token goes around it twice; in a
 * pipeline, segments go along it. */

/* Large enough to hide the latency, small enough to fill the pipeline. */
enum { SEGMENT = 64 << 10, MOST_SEGMENTS = 1 << 16 };

static uint32_t ring_steps(const struct lull_collective_call *call)
{
    return call->size - 1;
}

static uint32_t two_transfers(const struct lull_collective_call *call, uint32_t step)
{
    (void)call, (void)step;
    return 2;
}

static void ring(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    (void)step;
    *ret = (struct lull_collective_transfer){.send = i == 1,
                                             .peer = (call->me + (i == 1 ? 1 : call->size - 1)) %
                                                     call->size,
                                             .bytes = collective_block(call)};
}

/* Steps 0 and 1: the token comes and goes on, 2 and 3: once more. Rank 0 begins, and ends it. */
static uint32_t double_ring_steps(const struct lull_collective_call *call)
{
    (void)call;
    return 4;
}

static uint32_t double_ring_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)call, (void)step;
    return 1;
}

static void double_ring(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                        struct lull_collective_transfer *ret)
{
    (void)i;
    bool send = (step % 2 == 1) != (call->me == 0);
    *ret = (struct lull_collective_transfer){.send = send,
                                             .peer = (call->me + (send ? 1 : call->size - 1)) %
                                                     call->size,
                                             .bytes = collective_whole(call)};
}

/* In each step a segment comes and the one before it goes on. */
static uint32_t segments(const struct lull_collective_call *call)
{
    uint64_t n = (collective_whole(call) + SEGMENT - 1) / SEGMENT;
    return n < 1 ? 1 : n > MOST_SEGMENTS ? MOST_SEGMENTS : (uint32_t)n;
}

static uint32_t from_root(const struct lull_collective_call *call)
{
    return (call->me + call->size - call->root) % call->size;
}

static bool comes(const struct lull_collective_call *call, uint32_t step)
{
    return step < segments(call) && from_root(call) > 0;
}

static bool goes(const struct lull_collective_call *call, uint32_t step)
{
    return step > 0 && from_root(call) + 1 < call->size;
}

static uint32_t pipeline_steps(const struct lull_collective_call *call)
{
    return segments(call) + 1;
}

static uint32_t pipeline_count(const struct lull_collective_call *call, uint32_t step)
{
    return comes(call, step) + goes(call, step);
}

static void pipeline(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    bool send = i == 1 || !comes(call, step);
    uint64_t whole = collective_whole(call), n = segments(call);
    uint64_t number = send ? step - 1 : step; /* the first ones take what is left over */
    *ret = (struct lull_collective_transfer){.send = send,
                                             .peer = (call->me + (send ? 1 : call->size - 1)) %
                                                     call->size,
                                             .bytes = whole / n + (number < whole % n)};
}

static const struct rounds rounds_ring = {ring_steps, two_transfers, ring};
static const struct rounds rounds_double_ring = {double_ring_steps, double_ring_count, double_ring};
static const struct rounds rounds_pipeline = {pipeline_steps, pipeline_count, pipeline};

/* ==== dissemination =========================================================================== */

/* Dissemination (Hensgen, Finkel and Manber 1988), and Bruck's algorithms (1997), which send along
 * the same edges. */

static uint32_t dissemination_steps(const struct lull_collective_call *call)
{
    return log2_up(call->size);
}

static void around(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                   uint64_t blocks, struct lull_collective_transfer *ret)
{
    uint32_t distance = UINT32_C(1) << step; /* less than the size */
    *ret = (struct lull_collective_transfer){
        .send = i == 1,
        .peer = (uint32_t)(((uint64_t)call->me + (i == 1 ? distance : call->size - distance)) %
                           call->size),
        .bytes = blocks * collective_block(call)};
}

static void disseminate(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                        struct lull_collective_transfer *ret)
{
    around(call, step, i, 0, ret);
}

/* Allgather: all blocks that a rank has, but no more than its partner lacks. */
static void bruck_gather(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                         struct lull_collective_transfer *ret)
{
    uint32_t have = UINT32_C(1) << step, lacks = call->size - have;
    around(call, step, i, have < lacks ? have : lacks, ret);
}

/* Alltoall: the blocks whose way, counted in ranks, has the bit of this step. */
static void bruck_exchange(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                           struct lull_collective_transfer *ret)
{
    uint64_t bit = UINT64_C(1) << step, cycle = 2 * bit;
    uint64_t rest = call->size % cycle;
    around(call, step, i, call->size / cycle * bit + (rest > bit ? rest - bit : 0), ret);
}

/* Each rank sends to the rank 1, 2, 4, ... ahead, around the group. */
static const struct rounds rounds_dissemination = {dissemination_steps, two_transfers, disseminate};

static const struct rounds rounds_bruck_gather = {dissemination_steps, two_transfers, bruck_gather};

static const struct rounds rounds_bruck_exchange = {dissemination_steps, two_transfers,
                                                    bruck_exchange};

/* ==== pairwise ================================================================================ */

/* Pairwise exchange: a rank sends to one partner and receives from one partner at a time. */

static uint32_t pairwise_steps(const struct lull_collective_call *call)
{
    return call->size - 1;
}

static void pairwise(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    uint32_t distance = step + 1;
    *ret = (struct lull_collective_transfer){
        .send = i == 1,
        .peer = (uint32_t)(((uint64_t)call->me + (i == 1 ? distance : call->size - distance)) %
                           call->size),
        .bytes = collective_block(call)};
}

/* In step s a rank sends s + 1 ranks ahead, and receives from s + 1 behind. */
static const struct rounds rounds_pairwise = {pairwise_steps, two_transfers, pairwise};

/* ==== collective ============================================================================== */

#define OP(name)        (UINT32_C(1) << LULL_COLLECTIVE_##name)
#define BARRIERS        (OP(BARRIER) | OP(CREATE) | OP(FREE) | OP(UNKNOWN))
#define GATHERS         (OP(GATHER) | OP(GATHERV))
#define SCATTERS        (OP(SCATTER) | OP(SCATTERV))
#define ALLGATHERS      (OP(ALLGATHER) | OP(ALLGATHERV))
#define ALLTOALLS       (OP(ALLTOALL) | OP(ALLTOALLV) | OP(ALLTOALLW))
#define REDUCE_SCATTERS (OP(REDUCE_SCATTER) | OP(REDUCE_SCATTER_BLOCK))
#define SCANS           (OP(SCAN) | OP(EXSCAN))

enum { MOST_ROUND_PIECES = 4 };

static const struct rounds rounds_tree_down, rounds_tree_up;
static const struct rounds rounds_tree_down, rounds_tree_up;
static const struct rounds rounds_tree_down_blocks, rounds_tree_up_blocks;
static const struct rounds rounds_tree_down_blocks, rounds_tree_up_blocks;

/* What goes through a rank that is no root of the operation goes through rank 0. */
static const struct algorithm {
    const char *name;
    uint32_t operations;
    const struct rounds *pieces[MOST_ROUND_PIECES];
} algorithms[] = {
    {"linear", BARRIERS | OP(ALLREDUCE), {&rounds_star_in, &rounds_star_out}},
    {"linear", OP(BCAST), {&rounds_star_out}},
    {"linear", OP(REDUCE), {&rounds_star_in}},
    {"linear", GATHERS, {&rounds_star_in_blocks}},
    {"linear", SCATTERS, {&rounds_star_out_blocks}},
    {"linear", ALLGATHERS | ALLTOALLS | REDUCE_SCATTERS, {&rounds_exchange}},
    {"linear", SCANS, {&rounds_line}},
    {"binomial", BARRIERS | OP(ALLREDUCE), {&rounds_tree_up, &rounds_tree_down}},
    {"binomial", OP(BCAST), {&rounds_tree_down}},
    {"binomial", OP(REDUCE), {&rounds_tree_up}},
    {"binomial", GATHERS, {&rounds_tree_up_blocks}},
    {"binomial", SCATTERS, {&rounds_tree_down_blocks}},
    {"recursive-doubling",
     BARRIERS | OP(ALLREDUCE),
     {&rounds_fold, &rounds_doubling, &rounds_unfold}},
    {"recursive-doubling", ALLGATHERS, {&rounds_doubling_blocks}},
    {"recursive-doubling", SCANS, {&rounds_prefix}},
    {"recursive-halving", REDUCE_SCATTERS, {&rounds_fold, &rounds_halving, &rounds_unfold_block}},
    {"rabenseifner",
     OP(ALLREDUCE),
     {&rounds_fold, &rounds_halving, &rounds_regather, &rounds_unfold}},
    {"rabenseifner",
     OP(REDUCE),
     {&rounds_fold, &rounds_halving, &rounds_hand_over, &rounds_collect}},
    {"ring", OP(ALLREDUCE), {&rounds_ring, &rounds_ring}},
    {"ring", ALLGATHERS | REDUCE_SCATTERS, {&rounds_ring}},
    {"double-ring", BARRIERS, {&rounds_double_ring}},
    {"pipelined", OP(BCAST), {&rounds_pipeline}},
    {"scatter-allgather", OP(BCAST), {&rounds_tree_down_blocks, &rounds_ring}},
    {"scatter-doubling", OP(BCAST), {&rounds_tree_down_blocks, &rounds_doubling_blocks}},
    {"dissemination", BARRIERS, {&rounds_dissemination}},
    {"bruck", ALLGATHERS, {&rounds_bruck_gather}},
    {"bruck", ALLTOALLS, {&rounds_bruck_exchange}},
    {"pairwise", ALLTOALLS | REDUCE_SCATTERS, {&rounds_pairwise}},
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
        needs |= algorithm->pieces[p] == &rounds_doubling_blocks;
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

/* "linear, binomial, ...": those of an operation, for people; writes into `text`, returns it. */
static const char *collective_algorithms(uint8_t operation, char *text, size_t size)
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
                             collective_algorithms((uint8_t)operation, known, sizeof known));
    }
    return LULL_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The piece that a step belongs to, and the step in it; NULL behind the last. */
static const struct rounds *locate(const struct lull_collective_call *call, uint32_t *step)
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
    const struct rounds *piece = locate(call, &step);
    return piece ? piece->count(call, step) : LULL_COLLECTIVE_OVER;
}

/* Within a piece, the messages from one rank to another are received in the order in which they
 * are sent, so that the piece is enough of a tag. */
void lull_collective_transfer(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                              struct lull_collective_transfer *ret_transfer)
{
    uint32_t within = step;
    const struct rounds *piece = locate(call, &within);
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

/* Bytes of the whole vector: of bcast, reduce, allreduce, reduce_scatter, scan; 0 of a barrier. */
static uint64_t collective_whole(const struct lull_collective_call *call)
{
    return larger(call->sent, call->received);
}

/* Bytes of the part that belongs to one rank: of gather, scatter, allgather, alltoall; of a whole
 * vector its share, rounded up. Where ranks have different parts: their mean. */
static uint64_t collective_block(const struct lull_collective_call *call)
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

/* The smallest k with 2^k >= n (n >= 1), and the largest 2^k <= n. */
static uint32_t log2_up(uint32_t n)
{
    return n <= 1 ? 0 : 32 - (uint32_t)__builtin_clz(n - 1);
}

static uint32_t power_of_two(uint32_t n)
{
    return UINT32_C(1) << (31 - (uint32_t)__builtin_clz(n));
}

/* ==== binomial ================================================================================ */

/* Binomial tree. With ranks counted from the root, the parent of a rank lacks its lowest bit, and a
 * rank with lowest bit 2^k has the children rank + 2^j, j < k, of 2^j ranks each as far as there
 * are so many. A rank talks to all its children in one step, as libraries with non-blocking sends
 * inside do: a late child holds up its parent, not its siblings. */

static uint32_t relative(const struct lull_collective_call *call)
{
    return (call->me + call->size - call->root) % call->size;
}

static uint32_t absolute(const struct lull_collective_call *call, uint32_t rank)
{
    return (uint32_t)(((uint64_t)rank + call->root) % call->size);
}

/* The most children that a place in the tree can have. */
static uint32_t places(const struct lull_collective_call *call, uint32_t rank)
{
    return rank == 0 ? log2_up(call->size) : (uint32_t)__builtin_ctz(rank);
}

static uint32_t children(const struct lull_collective_call *call, uint32_t rank)
{
    uint32_t count = places(call, rank);
    while (count > 0 && (uint64_t)rank + (UINT32_C(1) << (count - 1)) >= call->size)
        count--;
    return count;
}

/* Ranks in the tree below and with `rank`. */
static uint32_t subtree(const struct lull_collective_call *call, uint32_t rank)
{
    uint64_t full = UINT64_C(1) << places(call, rank);
    return rank + full > call->size ? call->size - rank : (uint32_t)full;
}

static uint32_t two_tree_steps(const struct lull_collective_call *call)
{
    (void)call;
    return 2;
}

static uint32_t down_count(const struct lull_collective_call *call, uint32_t step)
{
    return step == 0 ? call->me != call->root : children(call, relative(call));
}

static uint32_t up_count(const struct lull_collective_call *call, uint32_t step)
{
    return down_count(call, 1 - step);
}

/* Transfer `i` with the parent or with the children, the largest subtree first. */
static void tree(const struct lull_collective_call *call, bool parent, uint32_t i, bool send,
                 bool blocks, struct lull_collective_transfer *ret)
{
    uint32_t me = relative(call);
    uint32_t peer = parent ? me & (me - 1) : me + (UINT32_C(1) << (children(call, me) - 1 - i));
    uint64_t bytes = blocks ? collective_block(call) * subtree(call, parent ? me : peer)
                            : collective_whole(call);
    *ret = (struct lull_collective_transfer){
        .send = send, .peer = absolute(call, peer), .bytes = bytes};
}

static void down(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    tree(call, step == 0, i, step == 1, false, ret);
}

static void up(const struct lull_collective_call *call, uint32_t step, uint32_t i,
               struct lull_collective_transfer *ret)
{
    tree(call, step == 1, i, step == 1, false, ret);
}

static void down_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                        struct lull_collective_transfer *ret)
{
    tree(call, step == 0, i, step == 1, true, ret);
}

static void up_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                      struct lull_collective_transfer *ret)
{
    tree(call, step == 1, i, step == 1, true, ret);
}

/* Along the tree go whole vectors, or the blocks of a subtree. */
static const struct rounds rounds_tree_down = {two_tree_steps, down_count, down};
static const struct rounds rounds_tree_up = {two_tree_steps, up_count, up};

static const struct rounds rounds_tree_down_blocks = {two_tree_steps, down_count, down_blocks};
static const struct rounds rounds_tree_up_blocks = {two_tree_steps, up_count, up_blocks};
