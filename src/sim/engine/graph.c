/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: operations start when those that they require are done or started. */
#include "base/array.h"
#include "sim/engine/large.h"
#include "sim/engine/run.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How those that wait for the end of an operation are found. */
static void pack_edges(const struct lull_graph_rank *rank, uint32_t op,
                       struct lull_graph_step *step)
{
    const uint32_t *edges = rank->edges + rank->ops[op].first_edge;
    uint32_t count = rank->ops[op + 1].first_edge - rank->ops[op].first_edge;
    bool follow = count < LULL_STEP_LISTED;
    for (uint32_t i = 0; i < count && follow; i++)
        follow = edges[i] == edges[0] + i && !(edges[i] & LULL_GRAPH_FROM_START);
    int64_t next = follow && count ? (int64_t)edges[0] - op : 0;
    if (next < INT16_MIN || next > INT16_MAX)
        follow = false;
    step->n_next = follow ? (uint8_t)count : LULL_STEP_LISTED;
    step->next = follow ? (int16_t)next : 0;
}

static struct lull_graph_step pack(const struct lull_graph_rank *rank, uint32_t i)
{
    const struct lull_graph_op *op = &rank->ops[i];
    bool any_tag = op->tag == LULL_OP_ANY;
    struct lull_graph_step step = {.flags = op->kind};
    if (op->requires > 1)
        step.flags |= LULL_STEP_SEVERAL;
    if (op->size > UINT32_MAX || op->requires > UINT16_MAX || op->cpu || op->nic ||
        (op->tag >= LULL_STEP_ANY_TAG && !any_tag) ||
        (op->requires > 1 && op->kind != LULL_OP_COMPUTE)) {
        step.flags |= LULL_STEP_LARGE;
        step.many_waits = op->requires;
    } else {
        step.size = (uint32_t)op->size;
        step.waits = (uint16_t)op->requires;
        step.peer = op->peer;
        step.tag = any_tag ? LULL_STEP_ANY_TAG : (uint16_t)op->tag;
    }
    pack_edges(rank, i, &step);
    return step;
}

struct packing {
    size_t *first; /* [pieces + 1]: operations of those before */
    atomic_uint n_waits;
    atomic_bool from_start;
};

static void count_ops(struct lull_engine *engine, void *context, uint32_t piece, uint32_t first,
                      uint32_t end)
{
    const struct packing *packing = context;
    size_t count = 0;
    for (uint32_t r = first; r < end; r++)
        count += engine->program->graph->ranks[r].n_ops;
    packing->first[piece + 1] = count;
}

static void pack_piece(struct lull_engine *engine, void *context, uint32_t piece, uint32_t first,
                       uint32_t end)
{
    struct packing *packing = context;
    struct lull_graph_step *begin = engine->steps + packing->first[piece], *steps = begin;
    uint32_t n_waits = 0;
    bool from_start = false;
    for (uint32_t r = first; r < end; r++) {
        const struct lull_graph_rank *rank = &engine->program->graph->ranks[r];
        engine->graph[r] = steps;
        for (uint32_t i = 0; i < rank->n_ops; i++) {
            *steps = pack(rank, i);
            if (steps++->flags & LULL_STEP_SEVERAL)
                steps[-1].wait = n_waits++;
        }
        for (uint32_t i = 0; rank->n_ops && i < rank->ops[rank->n_ops].first_edge; i++)
            from_start |= (rank->edges[i] & LULL_GRAPH_FROM_START) != 0;
    }
    if (from_start)
        atomic_store(&packing->from_start, true);
    const uint32_t first_wait = atomic_fetch_add(&packing->n_waits, n_waits);
    for (; first_wait > 0 && begin < steps; begin++)
        if (begin->flags & LULL_STEP_SEVERAL)
            begin->wait += first_wait;
}

static lull_status pack_all(struct lull_engine *engine)
{
    const struct lull_graph *graph = engine->program->graph;
    uint32_t n_ranks = engine->program->n_ranks;
    engine->graph = lull_large_zero(n_ranks, sizeof *engine->graph);
    engine->steps = lull_large_alloc(graph->n_ops * sizeof *engine->steps);
    if (!engine->graph || !engine->steps)
        return lull_run_out_of_memory(engine);
    if (!engine->compat && !engine->fabric.path) {
        engine->waits = lull_large_zero(graph->n_ops, sizeof *engine->waits);
        if (!engine->waits)
            return lull_run_out_of_memory(engine);
    }
    size_t n_pieces = lull_run_n_pieces(engine);
    struct packing packing = {.first = calloc(n_pieces + 1, sizeof *packing.first)};
    if (!packing.first)
        return lull_run_out_of_memory(engine);
    lull_run_pieces(engine, count_ops, &packing);
    for (size_t i = 0; i < n_pieces; i++)
        packing.first[i + 1] += packing.first[i];
    lull_run_pieces(engine, pack_piece, &packing);
    engine->from_start = packing.from_start;
    free(packing.first);
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

void lull_graph_close(struct lull_engine *engine)
{
    for (uint32_t r = 0; engine->op_path && r < engine->program->n_ranks; r++)
        free(engine->op_path[r]);
    free(engine->op_path);
    lull_large_free(engine->graph, engine->program->n_ranks * sizeof *engine->graph);
    if (engine->steps)
        lull_large_free(engine->steps, engine->program->graph->n_ops * sizeof *engine->steps);
    if (engine->waits)
        lull_large_free(engine->waits, engine->program->graph->n_ops * sizeof *engine->waits);
}

static void release_op(struct lull_engine *engine, uint32_t rank, uint32_t op, uint32_t path)
{
    if (!lull_array_reserve(&engine->released, &engine->released_room, engine->n_released + 1,
                            sizeof *engine->released)) {
        lull_run_out_of_memory(engine);
        return;
    }
    uint8_t kind = engine->graph[rank][op].flags & LULL_STEP_KIND;
    engine->released[engine->n_released++] = (struct lull_released){rank, op, path, kind, false};
}

static lull_status release_first(struct lull_engine *engine, uint32_t r)
{
    const struct lull_graph_rank *rank = &engine->program->graph->ranks[r];
    for (uint32_t i = 0; i < rank->n_ops; i++)
        if (rank->ops[i].requires == 0)
            release_op(engine, r, i, 0);
    lull_graph_start_released(engine);
    return engine->status;
}

lull_status lull_graph_open(struct lull_engine *engine)
{
    lull_status status = pack_all(engine);
    return status == LULL_OK && engine->fabric.path ? open_paths(engine) : status;
}

lull_status lull_graph_start(struct lull_engine *engine)
{
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < engine->n_own && status == LULL_OK; i++)
        status = release_first(engine, engine->first_rank + i);
    return status;
}

static inline bool is_last(struct lull_graph_step *step)
{
    return (step->flags & LULL_STEP_LARGE ? --step->many_waits : --step->waits) == 0;
}

/* The end of an operation that others wait for comes as an event; once. */
static void queue_end(struct lull_engine *engine, uint32_t r, const struct lull_graph_wait *end)
{
    struct lull_graph_step *step = &engine->graph[r][end->op];
    if (step->flags & LULL_STEP_QUEUED)
        return;
    step->flags |= LULL_STEP_QUEUED;
    lull_push_numbered(engine, LULL_RUN_DONE, end->time, end->number, r, end->op);
}

/* One requirement of an operation is met. Ends that are known and later may have been counted. */
static inline void meet(struct lull_engine *engine, uint32_t r, uint32_t op, uint32_t path)
{
    struct lull_graph_step *step = &engine->graph[r][op];
    if (!is_last(step))
        return;
    if (engine->waits && (step->flags & LULL_STEP_SEVERAL)) {
        const struct lull_graph_wait *wait = &engine->waits[step->wait];
        if (wait->time > engine->now ||
            (wait->time == engine->now && wait->number > engine->front >> LULL_RUN_KIND_BITS)) {
            queue_end(engine, r, wait);
            return;
        }
    }
    release_op(engine, r, op, path);
}

/* It is known that `end` comes later; an event is only needed for the last requirement. Returns
 * whether `op` has no other than this. */
static bool meet_later(struct lull_engine *engine, uint32_t r, uint32_t op,
                       struct lull_graph_wait *end, uint32_t edge)
{
    struct lull_graph_step *step = &engine->graph[r][op];
    if (!(step->flags & LULL_STEP_SEVERAL))
        return true;
    struct lull_graph_wait *wait = &engine->waits[step->wait];
    end->edge = edge;
    if (wait->time < end->time || (wait->time == end->time && wait->number <= end->number))
        *wait = *end;
    if (is_last(step))
        queue_end(engine, r, wait);
    return false;
}

static void done_later(struct lull_engine *engine, uint32_t r, uint32_t op, int64_t time)
{
    const struct lull_graph_step *step = &engine->graph[r][op];
    struct lull_graph_wait end = {time, lull_next_number(engine), op, 0};
    const struct lull_graph_rank *rank = &engine->program->graph->ranks[r];
    bool alone = false;
    if (step->n_next != LULL_STEP_LISTED)
        for (unsigned i = 0; i < step->n_next; i++)
            alone |= meet_later(engine, r, op + (uint32_t)step->next + i, &end, i);
    else
        for (uint32_t i = rank->ops[op].first_edge; i < rank->ops[op + 1].first_edge; i++)
            if (!(rank->edges[i] & LULL_GRAPH_FROM_START))
                alone |= meet_later(engine, r, rank->edges[i], &end, i);
    if (alone)
        queue_end(engine, r, &end);
}

/* Starts an operation if this event is the end of its last requirement. */
static void release_at_end(struct lull_engine *engine, uint32_t r, uint32_t op, uint32_t edge)
{
    struct lull_graph_step *step = &engine->graph[r][op];
    const struct lull_graph_wait *wait = &engine->waits[step->wait];
    if (!(step->flags & LULL_STEP_SEVERAL))
        is_last(step);
    else if (lull_step_waits(step) > 0 || wait->time != engine->now || wait->edge != edge ||
             wait->number != engine->key >> LULL_RUN_KIND_BITS)
        return;
    release_op(engine, r, op, 0);
}

void lull_graph_done_event(struct lull_engine *engine, uint32_t r, uint32_t op)
{
    if (!engine->waits) {
        lull_graph_op_done(engine, r, op, lull_graph_moment(engine, LULL_RUN_DONE, r, op));
        return;
    }
    const struct lull_graph_step *step = &engine->graph[r][op];
    const struct lull_graph_rank *rank = &engine->program->graph->ranks[r];
    if (step->n_next != LULL_STEP_LISTED)
        for (unsigned i = 0; i < step->n_next; i++)
            release_at_end(engine, r, op + (uint32_t)step->next + i, i);
    else
        for (uint32_t i = rank->ops[op].first_edge; i < rank->ops[op + 1].first_edge; i++)
            if (!(rank->edges[i] & LULL_GRAPH_FROM_START))
                release_at_end(engine, r, rank->edges[i], i);
}

static void release_listed(struct lull_engine *engine, uint32_t r, uint32_t op, uint32_t bit,
                           uint32_t path)
{
    const struct lull_graph_rank *rank = &engine->program->graph->ranks[r];
    for (uint32_t i = rank->ops[op].first_edge; i < rank->ops[op + 1].first_edge; i++)
        if ((rank->edges[i] & LULL_GRAPH_FROM_START) == bit)
            meet(engine, r, rank->edges[i] & ~LULL_GRAPH_FROM_START, path);
}

static void release_waiting(struct lull_engine *engine, uint32_t r, uint32_t op, uint32_t path)
{
    const struct lull_graph_step *step = &engine->graph[r][op];
    if (step->n_next == LULL_STEP_LISTED) {
        release_listed(engine, r, op, 0, path);
        return;
    }
    for (unsigned i = 0; i < step->n_next; i++)
        meet(engine, r, op + (uint32_t)step->next + i, path);
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

/* Later than now: an event tells when it is so far. */
static bool is_later(struct lull_engine *engine, enum lull_event_of_run kind, uint32_t rank,
                     uint32_t op, struct lull_moment moment)
{
    if (engine->compat || moment.time <= engine->now)
        return false;
    if (engine->op_path)
        *path_of(engine, kind, rank, op) = moment.path;
    lull_push(engine, kind, moment.time, rank, op);
    return true;
}

/* Nobody waits for most starts. */
static bool is_waited_for_from_start(const struct lull_graph_rank *rank, uint32_t op)
{
    for (uint32_t i = rank->ops[op].first_edge; i < rank->ops[op + 1].first_edge; i++)
        if (rank->edges[i] & LULL_GRAPH_FROM_START)
            return true;
    return false;
}

void lull_graph_op_started(struct lull_engine *engine, uint32_t rank, uint32_t op,
                           struct lull_moment moment)
{
    if (engine->from_start && engine->graph[rank][op].n_next == LULL_STEP_LISTED &&
        is_waited_for_from_start(&engine->program->graph->ranks[rank], op) &&
        !is_later(engine, LULL_RUN_STARTED, rank, op, moment))
        release_listed(engine, rank, op, LULL_GRAPH_FROM_START, moment.path);
}

void lull_graph_op_done(struct lull_engine *engine, uint32_t rank, uint32_t op,
                        struct lull_moment moment)
{
    bool awaited = engine->graph[rank][op].n_next != 0;
    bool later = engine->waits && moment.time > engine->now;
    if (!later && (awaited || engine->op_path) && is_later(engine, LULL_RUN_DONE, rank, op, moment))
        return;
    struct lull_rank_state *state = &engine->fabric.ranks[rank];
    if (!engine->compat && moment.time >= state->end) {
        state->end = moment.time;
        if (engine->end_path)
            engine->end_path[rank] = moment.path;
    }
    if (awaited && later)
        done_later(engine, rank, op, moment.time);
    else if (awaited)
        release_waiting(engine, rank, op, moment.path);
}

static void keep_op(struct lull_engine *engine, uint32_t id, uint32_t rank, uint32_t i)
{
    const struct lull_graph_op *op = &engine->program->graph->ranks[rank].ops[i];
    engine->transfer_ops[id] = (struct lull_op){.kind = op->kind,
                                                .region = LULL_OP_NO_REGION,
                                                .peer = op->peer,
                                                .tag = op->tag,
                                                .request = LULL_OP_NO_REQUEST,
                                                .bytes = op->size,
                                                .measured = op->line};
}

static void start_op(struct lull_engine *engine, const struct lull_released *released)
{
    uint32_t rank = released->rank, id = lull_transfer_new(engine);
    engine->at = rank;
    if (id == LULL_NO_TRANSFER)
        return;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    const struct lull_graph_step *step = &engine->graph[rank][released->op];
    uint32_t peer = step->peer;
    transfer->bytes = step->size;
    transfer->tag = step->tag == LULL_STEP_ANY_TAG ? LULL_OP_ANY : step->tag;
    if (step->flags & LULL_STEP_LARGE) {
        const struct lull_graph_op *op = &engine->program->graph->ranks[rank].ops[released->op];
        peer = op->peer;
        transfer->bytes = op->size;
        transfer->tag = op->tag;
        transfer->cpu = op->cpu;
        transfer->nic = op->nic;
    }
    if (released->kind == LULL_OP_COMPUTE) {
        transfer->flags = LULL_TRANSFER_COMPUTE;
        transfer->tag = LULL_OP_NO_REGION;
    } else if (released->kind == LULL_OP_RECV) {
        transfer->flags = LULL_TRANSFER_RECEIVE;
    }
    transfer->source = released->kind == LULL_OP_RECV ? peer : rank;
    transfer->target = released->kind == LULL_OP_RECV ? rank : peer;
    transfer->owner = released->op;
    if (engine->keeps_ops)
        keep_op(engine, id, rank, released->op);
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
                start_op(engine, &released[i]);
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
            start_op(engine, &released);
        }
    engine->n_released = 0;
}
