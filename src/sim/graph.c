/* Graphs: operations start when those that they require are done or started. */
#include "sim/large.h"
#include "sim/run.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

static lull_status count_waits(struct lull_engine *engine)
{
    const struct lull_graph *graph = engine->program->graph;
    uint32_t n_ranks = engine->program->n_ranks;
    engine->graph = lull_large_zero(n_ranks, sizeof *engine->graph);
    engine->waits = lull_large_alloc(graph->n_ops * sizeof *engine->waits);
    if (!engine->graph || !engine->waits)
        return lull_run_out_of_memory(engine);
    uint32_t *waits = engine->waits;
    for (uint32_t r = 0; r < n_ranks; r++) {
        const struct lull_graph_rank *rank = &graph->ranks[r];
        engine->graph[r] = (struct lull_graph_run){rank->ops, rank->edges, waits};
        for (uint32_t i = 0; i < rank->n_ops; i++)
        *waits++ = rank->ops[i].requires;
        for (uint32_t i = 0; rank->n_ops && i < rank->ops[rank->n_ops].first_edge; i++)
            engine->from_start |= (rank->edges[i] & LULL_GRAPH_FROM_START) != 0;
    }
    return LULL_OK;
}

static lull_status open_paths(struct lull_engine *engine)
{
    const struct lull_graph *graph = engine->program->graph;
    uint32_t n_ranks = engine->program->n_ranks;
    engine->op_path = calloc(n_ranks ? n_ranks : 1, sizeof *engine->op_path);
    if (!engine->op_path)
        return lull_run_out_of_memory(engine);
    for (uint32_t r = 0; r < n_ranks; r++) {
        if (!graph->ranks[r].n_ops)
            continue;
        engine->op_path[r] = calloc(2 * (size_t)graph->ranks[r].n_ops, sizeof **engine->op_path);
        if (!engine->op_path[r])
            return lull_run_out_of_memory(engine);
    }
    return LULL_OK;
}

void lull_graph_close_run(struct lull_engine *engine)
{
    for (uint32_t r = 0; engine->op_path && r < engine->program->n_ranks; r++)
        free(engine->op_path[r]);
    free(engine->op_path);
    free(engine->graph);
    free(engine->waits);
    free(engine->released);
}

static void release(struct lull_engine *engine, uint32_t rank, uint32_t op, uint32_t path)
{
    if (engine->n_released == engine->released_room &&
        !lull_run_grow((void **)&engine->released, &engine->released_room, engine->n_released + 1,
                       sizeof *engine->released)) {
        lull_run_out_of_memory(engine);
        return;
    }
    engine->released[engine->n_released++] =
        (struct lull_released){rank, op, path, engine->graph[rank].ops[op].kind, false};
}

static lull_status release_first(struct lull_engine *engine, uint32_t r)
{
    const struct lull_graph_rank *rank = &engine->program->graph->ranks[r];
    for (uint32_t i = 0; i < rank->n_ops; i++)
        if (rank->ops[i].requires == 0)
            release(engine, r, i, 0);
    lull_graph_start_released(engine);
    return engine->status;
}

lull_status lull_graph_open_run(struct lull_engine *engine)
{
    lull_status status = count_waits(engine);
    if (status == LULL_OK && engine->fabric.path)
        status = open_paths(engine);
    for (uint32_t r = 0; r < engine->program->n_ranks && status == LULL_OK; r++)
        status = release_first(engine, r);
    return status;
}

static void release_waiting(struct lull_engine *engine, uint32_t r, uint32_t op, uint32_t bit,
                            uint32_t path)
{
    const struct lull_graph_run *rank = &engine->graph[r];
    for (uint32_t i = rank->ops[op].first_edge; i < rank->ops[op + 1].first_edge; i++) {
        uint32_t waiting = rank->edges[i];
        if ((waiting & LULL_GRAPH_FROM_START) != bit)
            continue;
        waiting &= ~LULL_GRAPH_FROM_START;
        if (--rank->waits[waiting] == 0)
            release(engine, r, waiting, path);
    }
}

static uint32_t *path_of(const struct lull_engine *engine, enum lull_event_of_run kind,
                         uint32_t rank, uint32_t op)
{
    uint32_t n_ops = engine->program->graph->ranks[rank].n_ops;
    return &engine->op_path[rank][kind == LULL_RUN_DONE ? op : (size_t)n_ops + op];
}

struct lull_moment lull_graph_moment(struct lull_engine *engine, enum lull_event_of_run kind,
                                     uint32_t rank, uint32_t op)
{
    struct lull_moment moment = {engine->now, 0};
    if (engine->op_path) {
        uint32_t *path = path_of(engine, kind, rank, op);
        moment.path = *path;
        *path = 0;
    }
    return moment;
}

void lull_graph_roots(struct lull_engine *engine)
{
    const struct lull_graph *graph = engine->program->graph;
    for (uint32_t r = 0; r < engine->program->n_ranks; r++)
        for (size_t i = 0; i < 2 * (size_t)graph->ranks[r].n_ops; i++)
            lull_path_root(engine->fabric.path, &engine->op_path[r][i]);
}

/* Later than now: an event tells when it is so far. Nobody waits for most starts. */
static bool is_later(struct lull_engine *engine, enum lull_event_of_run kind, uint32_t rank,
                     uint32_t op, struct lull_moment moment)
{
    if (engine->compat || moment.time <= engine->now)
        return false;
    if (engine->op_path)
        *path_of(engine, kind, rank, op) = moment.path;
    lull_push(engine, kind, moment.time, engine->seq++, rank, op);
    return true;
}

static bool is_waited_for_from_start(const struct lull_graph_run *rank, uint32_t op)
{
    for (uint32_t i = rank->ops[op].first_edge; i < rank->ops[op + 1].first_edge; i++)
        if (rank->edges[i] & LULL_GRAPH_FROM_START)
            return true;
    return false;
}

void lull_graph_op_started(struct lull_engine *engine, uint32_t rank, uint32_t op,
                           struct lull_moment moment)
{
    if (engine->from_start && is_waited_for_from_start(&engine->graph[rank], op) &&
        !is_later(engine, LULL_RUN_STARTED, rank, op, moment))
        release_waiting(engine, rank, op, LULL_GRAPH_FROM_START, moment.path);
}

void lull_graph_op_done(struct lull_engine *engine, uint32_t rank, uint32_t op,
                        struct lull_moment moment)
{
    if (is_later(engine, LULL_RUN_DONE, rank, op, moment))
        return;
    struct lull_rank_state *state = &engine->fabric.ranks[rank];
    if (!engine->compat && moment.time >= state->end) {
        state->end = moment.time;
        if (engine->end_path)
            engine->end_path[rank] = moment.path;
    }
    release_waiting(engine, rank, op, 0, moment.path);
}

static void start(struct lull_engine *engine, const struct lull_released *released)
{
    const struct lull_graph_op *op = &engine->graph[released->rank].ops[released->op];
    uint32_t id = lull_transfer_new(engine);
    if (id == LULL_NO_TRANSFER)
        return;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    bool receives = op->kind == LULL_OP_RECV;
    transfer->bytes = op->size;
    transfer->source = receives ? op->peer : released->rank;
    transfer->target = receives ? released->rank : op->peer;
    transfer->tag = op->kind == LULL_OP_COMPUTE ? LULL_OP_NO_REGION : op->tag;
    transfer->owner = released->op;
    transfer->open_next = op[1].first_edge > op->first_edge ? op->first_edge : NONE;
    transfer->cpu = op->cpu;
    transfer->nic = op->nic;
    transfer->flags = receives                      ? LULL_TRANSFER_RECEIVE
                      : op->kind == LULL_OP_COMPUTE ? LULL_TRANSFER_COMPUTE
                                                    : 0;
    if (engine->keeps_ops)
        engine->transfer_ops[id] = (struct lull_op){.kind = op->kind,
                                                    .region = LULL_OP_NO_REGION,
                                                    .peer = op->peer,
                                                    .tag = op->tag,
                                                    .request = LULL_OP_NO_REQUEST,
                                                    .bytes = op->size,
                                                    .measured = op->line};
    lull_run_release(engine, id, (struct lull_moment){engine->now, released->path});
}

/* compat: rank by rank in ascending order (an event touches two at most), of each sends first, then
 * receives, then computations. */
static void start_sorted(struct lull_engine *engine)
{
    struct lull_released *released = engine->released;
    size_t first = 0;
    while (first < engine->n_released) {
        uint32_t rank = UINT32_MAX;
        for (size_t i = first; i < engine->n_released; i++)
            if (!released[i].started && released[i].rank < rank)
                rank = released[i].rank;
        for (unsigned kind = LULL_OP_SEND; kind <= LULL_OP_COMPUTE; kind++)
            for (size_t i = first; i < engine->n_released; i++) {
                if (released[i].kind != kind || released[i].rank != rank || released[i].started)
                    continue;
                released[i].started = true;
                start(engine, &released[i]);
            }
        while (first < engine->n_released && released[first].started)
            first++;
    }
}

void lull_graph_start_released(struct lull_engine *engine)
{
    if (engine->compat && engine->n_released > 1)
        start_sorted(engine);
    else /* starting may release more */
        for (size_t i = 0; i < engine->n_released && engine->status == LULL_OK; i++) {
            struct lull_released released = engine->released[i];
            start(engine, &released);
        }
    engine->n_released = 0;
}

/* What the end of an operation touches lies wherever the graph has it. In steps, each for what is
 * some events away, so that what a step needs was fetched by the step before. */
void lull_graph_fetch_edges(const struct lull_engine *engine, uint32_t rank, uint32_t id)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (transfer->open_next == NONE)
        return;
    const struct lull_graph_run *graph = &engine->graph[rank];
    __builtin_prefetch(&graph->edges[transfer->open_next]);
    __builtin_prefetch(&graph->ops[transfer->owner + 1]);
}

void lull_graph_fetch_successor(const struct lull_engine *engine, uint32_t rank, uint32_t id)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (transfer->open_next == NONE)
        return;
    const struct lull_graph_run *graph = &engine->graph[rank];
    uint32_t successor = graph->edges[transfer->open_next] & ~LULL_GRAPH_FROM_START;
    __builtin_prefetch(&graph->waits[successor], 1);
    __builtin_prefetch(&graph->ops[successor]);
    if (!(transfer->flags & LULL_TRANSFER_COMPUTE))
        return;
    for (unsigned line = 1; line < 5; line++) /* many may wait for a computation */
        __builtin_prefetch((const char *)&graph->ops[successor] + 64 * line);
}
