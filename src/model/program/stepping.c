/* What a rank does. */
#include "model/program/stepping.h"

#include "base/collective.h"
#include "model/program/primitive/maximum.h"
#include "stats/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t ns_of(double seconds)
{
    return (int64_t)llround(fmax(fmin(seconds * 1e9, 0x1p61), -0x1p61));
}

static int64_t draw(const struct model_program *data, struct rank_state *state,
                    const struct lull_operation *operation, uint32_t rank, uint32_t n_ranks)
{
    uint64_t owner = (uint64_t)((double)rank * (operation->draws / n_ranks));
    struct lull_random random;
    lull_random_seed(&random, data->seed + owner * UINT64_C(0x9e3779b97f4a7c15) +
                                  state->draws++ * UINT64_C(0xd1b54a32d192ed03));
    return ns_of(operation->quantiles.count > 0
                     ? lull_quantiles_sample(&operation->quantiles, lull_random_uniform(&random))
                     : lull_distribution_sample(&operation->noise, &random));
}

/* Ranks that have less, and draws below 0, make what is computed behind it shorter. */
static int64_t computation(const struct lull_program *program, struct rank_state *state,
                           const struct step *step, uint32_t rank)
{
    const struct model_program *data = program->data;
    int64_t ns = step->draws ? draw(data, state, step->operation, rank, program->n_ranks)
                             : ns_of(step->operation->seconds);
    if (data->terms[state->term].is_uneven && rank + 1 < program->n_ranks)
        ns = -ns / (program->n_ranks - 1);
    if (data->share > 1)
        ns = ns_of((double)ns / 1e9 * data->share);
    ns += state->owed;
    state->owed = ns < 0 ? ns : 0;
    return ns < 0 ? 0 : ns;
}

/* The neighbour in a grid, whose first extent has the ranks that follow each other; false: none. */
static bool neighbour(const struct step *step, uint32_t rank, uint32_t n_ranks, uint32_t *ret_peer)
{
    const struct lull_operation *operation = step->operation;
    bool is_shift = operation->kind == LULL_OPERATION_SHIFT;
    uint32_t stride = 1, extent = is_shift ? n_ranks : operation->grid[step->dimension];
    for (unsigned d = 0; d < step->dimension; d++)
        stride *= operation->grid[d];
    uint32_t at = rank / stride % extent, to = step->up ? at + 1 : at + extent - 1;
    bool is_beyond = step->up ? at + 1 == extent : at == 0;
    if (is_beyond && !is_shift && !operation->periodic)
        return false;
    *ret_peer = rank - at * stride + to % extent * stride;
    return true;
}

/* What MPI counts as sent and received by a rank. */
static void set_collective(const struct lull_operation *operation, uint32_t rank, uint32_t n_ranks,
                           struct lull_op *op)
{
    uint64_t bytes = (uint64_t)operation->bytes[0];
    op->collective = operation->form->operation;
    op->bytes = op->received = bytes;
    op->peer = LULL_OP_ANY;
    switch (op->collective) {
    case LULL_COLLECTIVE_BARRIER:
        op->bytes = op->received = 0;
        break;
    case LULL_COLLECTIVE_BCAST:
        op->peer = 0;
        op->bytes = rank == 0 ? bytes : 0;
        op->received = rank == 0 ? 0 : bytes;
        break;
    case LULL_COLLECTIVE_REDUCE:
        op->peer = 0;
        op->received = rank == 0 ? bytes : 0;
        break;
    case LULL_COLLECTIVE_GATHER:
        op->peer = 0;
        op->received = rank == 0 ? bytes * n_ranks : 0;
        break;
    case LULL_COLLECTIVE_SCATTER:
        op->peer = 0;
        op->bytes = rank == 0 ? bytes * n_ranks : 0;
        break;
    case LULL_COLLECTIVE_REDUCE_SCATTER:
        op->received = bytes / n_ranks;
        break;
    case LULL_COLLECTIVE_ALLGATHER:
        op->received = bytes * n_ranks;
        break;
    case LULL_COLLECTIVE_ALLTOALL:
        op->bytes = op->received = bytes * n_ranks;
        break;
    default:
        break;
    }
}

/* A message with the parent, or with the next child; false: there is none. */
static bool along_tree(struct rank_state *state, const struct step *step, uint32_t rank,
                       uint32_t n_ranks, struct lull_op *op)
{
    const struct lull_operation *operation = step->operation;
    op->bytes = (uint64_t)llround(operation->bytes[0]);
    op->tag = step->up;
    op->request = state->child;
    if (step->parent) {
        op->peer = rank > 0 ? lull_tree_parent(operation->tree, rank) : 0;
        return rank > 0;
    }
    if (state->child >= lull_tree_children(operation->tree, n_ranks, rank))
        return false;
    op->peer = lull_tree_child(operation->tree, rank, state->child++);
    return true;
}

/* The operation of a step; false: this rank has none. */
static bool make(const struct lull_program *program, struct rank_state *state,
                 const struct step *step, uint32_t rank, struct lull_op *op)
{
    *op = (struct lull_op){.kind = step->kind,
                           .region = state->term,
                           .request = LULL_OP_NO_REQUEST,
                           .measured = state->iteration};
    switch (step->kind) {
    case LULL_OP_COMPUTE:
        op->duration = computation(program, state, step, rank);
        return true;
    case LULL_OP_SEND:
    case LULL_OP_RECV:
        if (step->children || step->parent)
            return along_tree(state, step, rank, program->n_ranks, op);
        op->bytes = (uint64_t)llround(step->operation->bytes[step->dimension]);
        op->tag = step->dimension * 2U + (step->kind == LULL_OP_SEND ? step->up : !step->up);
        op->request = step->kind;
        return neighbour(step, rank, program->n_ranks, &op->peer);
    case LULL_OP_WAIT:
        op->flags = LULL_OP_WAIT_ALL;
        op->requests = NULL;
        return true;
    default: /* COLLECTIVE */
        set_collective(step->operation, rank, program->n_ranks, op);
        return true;
    }
}

static bool is_due(const struct term *term, uint32_t iteration)
{
    return floor((iteration + 1.0) / term->every) > floor(iteration / term->every);
}

/* A term begins: a mark with its number, so that a sink knows. */
static void make_mark(const struct rank_state *state, struct lull_op *op)
{
    *op = (struct lull_op){.kind = LULL_OP_MARK,
                           .region = LULL_OP_NO_REGION,
                           .request = LULL_OP_NO_REQUEST,
                           .bytes = state->term,
                           .measured = state->iteration};
}

/* To the first step of the next term that is due; false: the program is over. */
static bool next_term(const struct model_program *data, struct rank_state *state)
{
    state->at = 0;
    do {
        if (++state->term >= data->n_terms) {
            state->term = 0;
            state->iteration++;
        }
    } while (state->iteration < data->iterations &&
             !is_due(&data->terms[state->term], state->iteration));
    return state->iteration < data->iterations;
}

static bool blocks(uint8_t kind)
{
    return kind == LULL_OP_COMPUTE || kind == LULL_OP_WAIT || kind == LULL_OP_COLLECTIVE;
}

/* state->at is 0 for the mark of a term, else the number of the step + 1. */
static lull_status next(struct lull_program *program, uint32_t stream, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    const struct model_program *data = program->data;
    struct rank_state *state = &data->ranks[stream];
    uint32_t count = 0;
    (void)err;
    while (count < room && state->iteration < data->iterations) {
        const struct term *term = &data->terms[state->term];
        if (state->at == 0 && !is_due(term, state->iteration)) {
            next_term(data, state);
            continue;
        }
        if (state->at == 0) {
            make_mark(state, &ret_ops[count++]);
            state->at = 1;
        } else if (state->at > term->n_steps) {
            next_term(data, state);
        } else {
            const struct step *step = &term->steps[state->at - 1];
            bool made = make(program, state, step, stream, &ret_ops[count]);
            count += made;
            if (made && step->children) /* the same step once more */
                continue;
            state->at++;
            state->child = 0;
            if (made && blocks(step->kind))
                break;
        }
    }
    *ret_count = count;
    return LULL_OK;
}

static lull_status start_again(struct lull_program *program, struct lull_error *err)
{
    const struct model_program *data = program->data;
    (void)err;
    memset(data->ranks, 0, program->n_ranks * sizeof *data->ranks);
    return LULL_OK;
}

static const char *place_of_operation(const struct lull_program *program, uint32_t rank,
                                      const struct lull_op *op, char *text, unsigned size)
{
    snprintf(text, size, "rank %u in term '%s', iteration %lld", rank,
             op->region < program->n_regions ? program->regions[op->region] : "?",
             (long long)op->measured);
    return text;
}

const struct lull_program_class lull_program_of_model = {
    .name = "model", .next = next, .rewind = start_again, .place = place_of_operation};
