/* Patterns as programs: from the steps of an iteration to the operations of a rank. */
#include "sim/pattern/pattern.h"

#include "base/collective.h"
#include "sim/pattern/steps.h"

#include <stdio.h>

/* The neighbour of a rank; false: there is none. */
static bool neighbour(const struct lull_pattern *pattern, const struct lull_pattern_step *step,
                      uint32_t rank, uint32_t *ret_peer)
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

/* What a rank passes to and gets from the operation, as MPI counts it. */
static void set_sizes(const struct lull_pattern *pattern, uint32_t n_ranks, bool root,
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

/* The operation of a step; false: this rank has none. */
static bool make_op(const struct lull_pattern *pattern, const struct lull_pattern_step *step,
                    uint32_t rank, uint32_t n_ranks, uint32_t iteration, struct lull_op *op)
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
        op->region = LULL_PATTERN_COMPUTE;
        op->duration = pattern->exec[rank % pattern->n_exec];
        return true;
    case LULL_OP_SEND:
    case LULL_OP_RECV:
        op->region = step->kind == LULL_OP_SEND ? LULL_PATTERN_ISEND : LULL_PATTERN_IRECV;
        op->bytes = pattern->bytes;
        op->tag = step->tag;
        op->request = step->request;
        op->flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS;
        return neighbour(pattern, step, rank, &op->peer);
    case LULL_OP_WAIT:
        op->region = LULL_PATTERN_WAITALL;
        op->flags = LULL_OP_CALL_BEGINS | LULL_OP_CALL_ENDS | LULL_OP_WAIT_ALL;
        op->requests = NULL;
        return true;
    default: /* COLLECTIVE */
        op->region = LULL_PATTERN_COLLECTIVE;
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
    const struct lull_pattern *pattern = program->data;
    struct lull_pattern_rank *rank = &pattern->ranks[stream];
    uint32_t count = 0;
    (void)err;
    while (count < room && rank->iteration < pattern->iterations) {
        const struct lull_pattern_step *step = &pattern->steps[rank->at];
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
    const struct lull_pattern *pattern = program->data;
    (void)err;
    for (uint32_t r = 0; r < program->n_ranks; r++)
        pattern->ranks[r] = (struct lull_pattern_rank){0};
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

const struct lull_program_class lull_program_pattern = {
    .name = "pattern", .next = next, .rewind = start_again, .place = place_in_pattern};

uint32_t lull_pattern_period(const struct lull_program *program)
{
    const struct lull_pattern *pattern = program->data;
    return pattern->collective == LULL_COLLECTIVES ? 1 : pattern->every;
}
