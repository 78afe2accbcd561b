/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left over when no event is left: messages and receives without partner, and circles of
 * ranks that wait for each other. */
#include "sim/engine/run.h"

#include "base/collective.h"
#include "base/sorted.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_RANK = UINT32_MAX, MOST_PROBLEMS = 10, MOST_NAMED = 8 };

struct edge {
    uint32_t from, to;
    uint32_t transfer;
};

struct leftovers {
    struct edge *edges; /* who waits for whom, by `from` */
    size_t n_edges;
    uint32_t *open; /* transfers that are not over, in the order of their numbers */
    size_t n_open, n_sends, n_receives, n_collectives;
};

static bool is_collective(const struct lull_transfer *transfer)
{
    unsigned both = LULL_TRANSFER_RECEIVE | LULL_TRANSFER_COMPUTE;
    return (transfer->flags & both) == both;
}

static bool is_receive(const struct lull_transfer *transfer)
{
    return (transfer->flags & LULL_TRANSFER_RECEIVE) && !is_collective(transfer);
}

static uint32_t rank_of(const struct lull_transfer *transfer)
{
    return transfer->flags & LULL_TRANSFER_RECEIVE ? transfer->target : transfer->source;
}

/* The operation a transfer stands for, as far as it is known. */
static struct lull_op op_of(const struct lull_engine *engine, uint32_t id)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (transfer->flags & LULL_TRANSFER_OF_SCRIPT)
        id = lull_script_record(engine, transfer->owner);
    if (engine->transfer_ops)
        return engine->transfer_ops[id];
    struct lull_op op = {.kind = is_receive(transfer) ? LULL_OP_RECV : LULL_OP_SEND,
                         .region = LULL_OP_NO_REGION,
                         .peer = is_receive(transfer) ? transfer->source : transfer->target,
                         .tag = transfer->tag,
                         .comm = transfer->comm,
                         .request = LULL_OP_NO_REQUEST,
                         .bytes = transfer->bytes};
    if (engine->graph)
        op.measured = engine->program->graph->ranks[rank_of(transfer)].ops[transfer->owner].line;
    return op;
}

static void place_of(const struct lull_engine *engine, uint32_t id, char *text, size_t size)
{
    struct lull_op op = op_of(engine, id);
    engine->program->class->place(engine->program, rank_of(lull_transfer_at(engine, id)), &op, text,
                                  (unsigned)size);
}

static void number_or_any(uint32_t number, char *text, size_t size)
{
    if (number == LULL_OP_ANY)
        snprintf(text, size, "any");
    else
        snprintf(text, size, "%u", number);
}

/* "line 3: rank 0, label l1: send of 8 bytes to rank 1, tag 5" */
static void describe_waiting(const struct lull_engine *engine, uint32_t id, char *text, size_t size)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    char place[300], peer[16], tag[16];
    place_of(engine, id, place, sizeof place);
    if (transfer->flags & LULL_TRANSFER_OF_SCRIPT || is_collective(transfer)) {
        struct lull_op op = op_of(engine, id);
        snprintf(text, size, "%s: waits in %s", place,
                 op.kind == LULL_OP_COLLECTIVE ? lull_collective_name(op.collective)
                                               : "a collective operation");
        return;
    }
    number_or_any(is_receive(transfer) ? transfer->source : transfer->target, peer, sizeof peer);
    number_or_any(transfer->tag, tag, sizeof tag);
    if (is_receive(transfer))
        snprintf(text, size, "%s: receive from rank %s, tag %s", place, peer, tag);
    else
        snprintf(text, size, "%s: send of %llu bytes to rank %s, tag %s", place,
                 (unsigned long long)transfer->bytes, peer, tag);
}

/* --- collecting ---------------------------------------------------------------------------- */

static uint32_t waited_for(const struct lull_engine *engine, uint32_t id)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (is_collective(transfer))
        return lull_collect_missing(engine, id);
    if (transfer->flags & LULL_TRANSFER_OVER)
        return NO_RANK; /* an eager send */
    return is_receive(transfer) ? transfer->source : transfer->target;
}

static void count_leftover(struct leftovers *left, const struct lull_transfer *transfer)
{
    if (is_collective(transfer) || (transfer->flags & LULL_TRANSFER_OF_SCRIPT))
        left->n_collectives++;
    else if (is_receive(transfer))
        left->n_receives++;
    else
        left->n_sends++;
}

static int by_from(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->transfer > y->transfer) - (x->transfer < y->transfer);
}

static bool collect_leftovers(struct lull_engine *engine, struct leftovers *left)
{
    uint32_t n = engine->n_transfers;
    if (engine->n_gone == n) /* as it should be */
        return true;
    bool *is_free = calloc(n + (size_t)1, 1);
    left->edges = malloc((n + (size_t)1) * sizeof *left->edges);
    left->open = malloc((n + (size_t)1) * sizeof *left->open);
    if (!is_free || !left->edges || !left->open) {
        free(is_free);
        return false;
    }
    for (size_t i = 0; i < engine->n_gone; i++)
        is_free[engine->gone[i]] = true;
    for (uint32_t id = 0; id < n; id++) {
        const struct lull_transfer *transfer = lull_transfer_at(engine, id);
        bool settled =
            (transfer->flags & LULL_TRANSFER_OVER) && !(transfer->flags & LULL_TRANSFER_HELD);
        if (is_free[id] || settled)
            continue;
        left->open[left->n_open++] = id;
        count_leftover(left, transfer);
        uint32_t to = waited_for(engine, id);
        if (to != NO_RANK)
            left->edges[left->n_edges++] = (struct edge){rank_of(transfer), to, id};
    }
    free(is_free);
    qsort(left->edges, left->n_edges, sizeof *left->edges, by_from);
    return true;
}

/* --- circles ------------------------------------------------------------------------------- */

static size_t first_edge(const struct leftovers *left, uint32_t rank)
{
    return lull_sorted_first_u32(left->edges, left->n_edges, sizeof *left->edges,
                                 offsetof(struct edge, from), rank);
}

/* Depth first from `start`; `stack` holds edges, `on_stack` their position + 1 by rank, or
 * SIZE_MAX: done. Returns the length of a circle whose edges begin at *ret_circle; 0: none. */
static size_t find_circle_of_waits(const struct leftovers *left, uint32_t start, size_t *stack,
                                   size_t *on_stack, const size_t **ret_circle)
{
    size_t depth = 1;
    if (on_stack[start])
        return 0;
    stack[0] = first_edge(left, start);
    on_stack[start] = 1;
    uint32_t rank = start;
    while (depth) {
        size_t at = stack[depth - 1];
        if (at == left->n_edges || left->edges[at].from != rank) { /* no more */
            on_stack[rank] = SIZE_MAX;
            if (--depth) {
                rank = left->edges[stack[depth - 1]].from;
                stack[depth - 1]++;
            }
            continue;
        }
        uint32_t to = left->edges[at].to;
        if (on_stack[to] && on_stack[to] != SIZE_MAX) {
            *ret_circle = stack + (on_stack[to] - 1);
            return depth - (on_stack[to] - 1);
        }
        if (on_stack[to]) {
            stack[depth - 1]++;
            continue;
        }
        stack[depth++] = first_edge(left, to);
        on_stack[to] = depth;
        rank = to;
    }
    return 0;
}

static lull_status fail_circle(struct lull_engine *engine, const struct leftovers *left,
                               const size_t *circle, size_t length)
{
    char text[800];
    size_t at = 0;
    for (size_t i = 0; i < length && i < MOST_NAMED && at < sizeof text; i++) {
        const struct edge *edge = &left->edges[circle[i]];
        char place[120];
        place_of(engine, edge->transfer, place, sizeof place);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%u (%s)",
                               i ? " waits for rank " : "rank ", edge->from, place);
    }
    if (at < sizeof text && length > MOST_NAMED)
        at += (size_t)snprintf(text + at, sizeof text - at, " waits for %zu more, which wait",
                               length - MOST_NAMED);
    else if (at < sizeof text)
        at += (size_t)snprintf(text + at, sizeof text - at, " waits");
    if (at < sizeof text)
        snprintf(text + at, sizeof text - at, " for rank %u", left->edges[circle[0]].from);
    return lull_fail(engine->err, LULL_ERR_FORMAT, "%s: deadlock: %s", engine->program->name, text);
}

static lull_status look_for_circle(struct lull_engine *engine, const struct leftovers *left)
{
    uint32_t n_ranks = engine->program->n_ranks;
    size_t *stack = malloc((n_ranks + (size_t)1) * sizeof *stack);
    size_t *on_stack = calloc(n_ranks + (size_t)1, sizeof *on_stack);
    lull_status status = LULL_OK;
    const size_t *circle;
    size_t length = 0;
    if (!stack || !on_stack)
        status = lull_run_out_of_memory(engine);
    for (size_t i = 0; i < left->n_edges && status == LULL_OK && !length; i++)
        length = find_circle_of_waits(left, left->edges[i].from, stack, on_stack, &circle);
    if (length)
        status = fail_circle(engine, left, circle, length);
    free(stack);
    free(on_stack);
    return status;
}

/* --- telling ------------------------------------------------------------------------------- */

static void list_problems(const struct lull_engine *engine, const struct leftovers *left,
                          struct lull_arena *arena, const char *const **ret_problems)
{
    const char **problems = lull_arena_zero(arena, MOST_PROBLEMS + 1, sizeof *problems);
    for (size_t i = 0; i < left->n_open && i < MOST_PROBLEMS; i++) {
        char text[512];
        describe_waiting(engine, left->open[i], text, sizeof text);
        problems[i] = lull_arena_strdup(arena, text);
    }
    *ret_problems = problems;
}

static void look_for_waits(struct lull_engine *engine, void *context, uint32_t piece,
                           uint32_t first, uint32_t end)
{
    (void)piece;
    atomic_bool *waits = context;
    const struct lull_graph_rank *ranks = engine->program->graph->ranks;
    for (uint32_t r = first; r < end; r++)
        for (uint32_t i = 0; i < ranks[r].n_ops; i++)
            if (lull_step_waits(&engine->graph[r][i]))
                atomic_store(waits, true);
}

/* A rank that is not at its end although nothing of it is left over. */
static lull_status fail_stuck(struct lull_engine *engine)
{
    const struct lull_program *program = engine->program;
    for (uint32_t s = 0; !engine->graph && s < program->n_streams; s++)
        if (engine->streams[s].state != LULL_STREAM_ENDED)
            return lull_fail(engine->err, LULL_ERR_FORMAT,
                             "%s: rank %u: waits for other threads of its own, which have ended",
                             program->name, engine->streams[s].rank);
    atomic_bool waits = false;
    if (engine->graph)
        lull_run_pieces(engine, look_for_waits, &waits);
    const struct lull_graph_step *step = engine->steps;
    for (uint32_t r = 0; waits && r < program->n_ranks; r++)
        for (uint32_t i = 0; i < program->graph->ranks[r].n_ops; i++)
            if (lull_step_waits(step++))
                return lull_fail(engine->err, LULL_ERR_FORMAT,
                                 "%s: line %u: rank %u: what this operation requires never ends",
                                 program->name, program->graph->ranks[r].ops[i].line, r);
    return LULL_OK;
}

static lull_status fail_unmatched(struct lull_engine *engine, const struct leftovers *left)
{
    char first[512];
    describe_waiting(engine, left->open[0], first, sizeof first);
    if (left->n_sends + left->n_receives == 0)
        return lull_fail(engine->err, LULL_ERR_FORMAT, "%s: a collective operation lacks ranks: %s",
                         engine->program->name, first);
    return lull_fail(engine->err, LULL_ERR_FORMAT,
                     "%s: %zu receives and %zu sends have no partner: %s", engine->program->name,
                     left->n_receives, left->n_sends, first);
}

bool lull_run_has_left_over(struct lull_engine *engine)
{
    struct leftovers left = {0};
    if (engine->program->unfinished)
        return false;
    bool has = !collect_leftovers(engine, &left) || left.n_open > 0;
    free(left.edges);
    free(left.open);
    return has;
}

lull_status lull_run_diagnose(struct lull_engine *engine, struct lull_arena *arena,
                              const char *const **ret_problems)
{
    struct leftovers left = {0};
    lull_status status = collect_leftovers(engine, &left) ? look_for_circle(engine, &left)
                                                          : lull_run_out_of_memory(engine);
    const bool unfinished = engine->program->unfinished;
    if (status == LULL_OK && left.n_open && !unfinished)
        status = fail_unmatched(engine, &left);
    if (status != LULL_OK && left.n_open && ret_problems)
        list_problems(engine, &left, arena, ret_problems);
    if (status == LULL_OK && !unfinished)
        status = fail_stuck(engine);
    free(left.edges);
    free(left.open);
    return status;
}
