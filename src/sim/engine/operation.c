/* Operations in flight, and what back-ends call. */
#include "sim/engine/run.h"

#include "sim/engine/large.h"
#include "sim/noise/noise.h"

#include <stdlib.h>
#include <string.h>

enum { NEW_AHEAD = 8 }; /* transfers that are fetched before they are new */

bool lull_run_grow(void **array, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return true;
    size_t more = *room ? 2 * *room : 64;
    while (more < need)
        more *= 2;
    void *grown = realloc(*array, more * size);
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static bool grow_transfers(struct lull_engine *engine)
{
    struct lull_fabric *fabric = &engine->fabric;
    size_t room = engine->transfer_room ? 2 * (size_t)engine->transfer_room : 1024;
    if (room > UINT32_MAX)
        return false;
    struct lull_transfer *transfers = lull_large_grow(
        fabric->transfers, engine->transfer_room * sizeof *transfers, room * sizeof *transfers);
    if (!transfers)
        return false;
    fabric->transfers = transfers;
    uint32_t *gone =
        lull_large_grow(engine->gone, engine->transfer_room * sizeof *gone, room * sizeof *gone);
    if (!gone)
        return false;
    engine->gone = gone;
    if (engine->keeps_ops) {
        void *more = realloc(engine->transfer_ops, room * sizeof *engine->transfer_ops);
        if (!more)
            return false;
        engine->transfer_ops = more;
    }
    uint32_t **paths[] = {&fabric->transfer_path, &engine->over_path};
    for (unsigned i = 0; fabric->path && i < 2; i++) {
        uint32_t *more = realloc(*paths[i], room * sizeof *more);
        if (!more)
            return false;
        memset(more + engine->n_transfers, 0, (room - engine->n_transfers) * sizeof *more);
        *paths[i] = more;
    }
    engine->transfer_room = (uint32_t)room;
    return true;
}

uint32_t lull_transfer_new(struct lull_engine *engine)
{
    uint32_t id;
    if (engine->n_gone) {
        id = engine->gone[--engine->n_gone];
        if (engine->n_gone >= NEW_AHEAD)
            lull_fetch(lull_transfer_at(engine, engine->gone[engine->n_gone - NEW_AHEAD]));
    } else {
        if (engine->n_transfers == engine->transfer_room && !grow_transfers(engine)) {
            lull_run_out_of_memory(engine);
            return LULL_NO_TRANSFER;
        }
        id = engine->n_transfers++;
    }
    *lull_transfer_at(engine, id) = (struct lull_transfer){0};
    if (engine->fabric.path)
        engine->fabric.transfer_path[id] = engine->over_path[id] = 0;
    return id;
}

/* --- computation --------------------------------------------------------------------------- */

/* What the delays that are due add. */
static int64_t take_delays(struct lull_engine *engine, uint32_t rank, uint64_t iteration,
                           int64_t begin)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < engine->options->n_delays; i++) {
        const struct lull_delay *delay = &engine->options->delays[i];
        if (delay->rank != rank || engine->delay_over[i])
            continue;
        if (delay->at_iteration ? (int64_t)iteration < delay->when : begin < delay->when)
            continue;
        engine->delay_over[i] = true;
        sum += delay->length < LULL_COST_MOST - sum ? delay->length : LULL_COST_MOST - sum;
    }
    return sum;
}

/* Duration without noise and delays, and these; `phase` of a computation holds the flags of its
 * operation. */
static int64_t duration_of(struct lull_engine *engine, const struct lull_transfer *transfer,
                           int64_t begin, int64_t *ret_noise, int64_t *ret_delay)
{
    int64_t duration = (int64_t)transfer->bytes;
    const struct lull_sim_options *options = engine->options;
    *ret_noise = *ret_delay = 0;
    if (transfer->phase & LULL_OP_NOT_SCALED)
        return duration;
    if (engine->scaled)
        duration = lull_cost((double)duration / options->network->cpu_speed);
    if (options->noise) {
        struct lull_rank_state *rank = &engine->fabric.ranks[transfer->source];
        struct lull_noise_rank draws = {rank->draws};
        *ret_noise = lull_noise_extend(options->noise, options->seed, transfer->source, &draws,
                                       begin, duration);
        rank->draws = draws.draws;
    }
    if (options->n_delays) {
        uint32_t stream = lull_stream_of(engine, transfer);
        uint64_t iteration = engine->graph ? 0 : engine->streams[stream].iteration;
        *ret_delay = take_delays(engine, transfer->source, iteration, begin);
    }
    return duration;
}

static void compute_over(struct lull_engine *engine, uint32_t id, struct lull_moment start,
                         struct lull_moment end)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    uint32_t rank = transfer->source, op = transfer->owner;
    if (engine->graph) {
        lull_graph_op_started(engine, rank, op, start);
        lull_transfer_free(engine, id);
        lull_graph_op_done(engine, rank, op, engine->compat ? start : end);
        return;
    }
    uint32_t stream = lull_stream_of(engine, transfer);
    lull_transfer_free(engine, id);
    lull_stream_resume(engine, stream,
                       engine->compat ? (struct lull_moment){engine->now, end.path} : end);
}

void lull_computed(struct lull_engine *engine, uint32_t id, struct lull_moment start,
                   int64_t duration, int64_t noise, int64_t delay)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    struct lull_fabric *fabric = &engine->fabric;
    struct lull_rank_state *rank = &fabric->ranks[transfer->source];
    struct lull_moment end = start;
    if (__builtin_add_overflow(end.time, duration, &end.time) ||
        __builtin_add_overflow(end.time, noise, &end.time) ||
        __builtin_add_overflow(end.time, delay, &end.time) || end.time > LULL_TIME_MOST)
        end.time = LULL_TIME_MOST + 1;
    if (fabric->path) {
        end.path = lull_path_compute(fabric->path, end.path, transfer->tag, duration);
        end.path = lull_path_add(fabric->path, end.path, LULL_PATH_NOISE, noise + delay);
    }
    lull_keep_busy(lull_cpu(fabric, transfer->source, transfer->cpu), end);
    rank->compute += duration;
    rank->noise += noise + delay;
    engine->result.n_computes++;
    if (engine->sink && engine->sink->compute && engine->status == LULL_OK)
        engine->status = engine->sink->compute(
            engine->sink->context, lull_stream_of(engine, transfer), &engine->transfer_ops[id],
            start.time, end.time, noise, delay, engine->err);
    compute_over(engine, id, start, end);
}

static void start_computation(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    struct lull_clock cpu = lull_cpu(&engine->fabric, transfer->source, transfer->cpu);
    struct lull_moment start = lull_free(moment, cpu);
    int64_t noise, delay, duration = duration_of(engine, transfer, start.time, &noise, &delay);
    if (engine->domains && !(transfer->phase & LULL_OP_NOT_SCALED))
        lull_domain_compute(engine, id, start, duration, noise, delay);
    else
        lull_computed(engine, id, start, duration, noise, delay);
}

/* --- sends and receives -------------------------------------------------------------------- */

static void tell_start(struct lull_engine *engine, uint32_t id, int64_t time)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (!engine->sink->start || engine->status != LULL_OK)
        return;
    engine->status = engine->sink->start(engine->sink->context, lull_stream_of(engine, transfer),
                                         &engine->transfer_ops[id], time, engine->err);
}

static void start_receive(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    engine->result.n_receives++;
    transfer->time = moment.time;
    if (engine->graph) {
        if (engine->sink)
            tell_start(engine, id, moment.time);
        lull_graph_op_started(engine, transfer->target, transfer->owner, moment);
    }
    uint32_t message = lull_match_receive(&engine->matcher, id);
    if (message == LULL_NO_TRANSFER)
        return;
    lull_transfer_at(engine, message)->partner = id;
    engine->class->match(&engine->fabric, message, id, moment.time);
}

static void start_send(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    struct lull_rank_state *rank = &engine->fabric.ranks[transfer->source];
    transfer->flags |= LULL_TRANSFER_HELD;
    transfer->partner = LULL_NO_TRANSFER;
    rank->sent++;
    rank->bytes_sent += transfer->bytes;
    engine->result.n_sends++;
    if (engine->holds_back)
        lull_channel_sent(engine, id);
    engine->class->send(&engine->fabric, id, moment.time);
}

void lull_run_execute(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    unsigned flags = lull_transfer_at(engine, id)->flags;
    if (engine->fabric.path)
        engine->fabric.transfer_path[id] = moment.path;
    if (flags & LULL_TRANSFER_COMPUTE)
        start_computation(engine, id, moment);
    else if (flags & LULL_TRANSFER_RECEIVE)
        start_receive(engine, id, moment);
    else
        start_send(engine, id, moment);
}

void lull_run_release(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    if (engine->compat)
        lull_compat_insert(engine, id);
    else
        lull_run_execute(engine, id, moment);
}

/* --- what back-ends call ------------------------------------------------------------------- */

static void release_record(struct lull_engine *engine, uint32_t id)
{
    unsigned flags = lull_transfer_at(engine, id)->flags;
    if ((flags & (LULL_TRANSFER_OPEN | LULL_TRANSFER_HELD | LULL_TRANSFER_OVER)) ==
        LULL_TRANSFER_OVER)
        lull_transfer_free(engine, id);
}

/* Whether a message goes to a rank of another process: there it arrives and is received. */
static bool hand_over_message(struct lull_engine *engine, uint32_t message, int64_t time)
{
    if (!engine->options->part || lull_is_own(engine, lull_transfer_at(engine, message)->target))
        return false;
    lull_part_send(engine, message, time);
    lull_transfer_at(engine, message)->flags &= (uint8_t)~LULL_TRANSFER_HELD;
    release_record(engine, message);
    return true;
}

void lull_schedule(struct lull_fabric *fabric, uint32_t message, uint32_t rank,
                   struct lull_moment moment)
{
    struct lull_engine *engine = lull_engine_of(fabric);
    if (hand_over_message(engine, message, moment.time))
        return;
    uint64_t number = lull_next_number(engine);
    if (engine->compat)
        fabric->transfers[message].seq = number;
    if (fabric->path)
        fabric->transfer_path[message] = moment.path;
    lull_push_numbered(engine, LULL_RUN_ADVANCE, moment.time, number, rank, message);
}

void lull_postpone(struct lull_fabric *fabric, uint32_t message, uint32_t rank,
                   struct lull_moment moment)
{
    struct lull_engine *engine = lull_engine_of(fabric);
    if (fabric->path)
        fabric->transfer_path[message] = moment.path;
    lull_push_numbered(engine, LULL_RUN_ADVANCE, moment.time, engine->key >> LULL_RUN_KIND_BITS,
                       rank, message);
}

static void match_arrived(struct lull_engine *engine, uint32_t message, struct lull_moment moment)
{
    struct lull_fabric *fabric = &engine->fabric;
    uint32_t receive_id = lull_match_message(&engine->matcher, message);
    if (fabric->path)
        fabric->transfer_path[message] = moment.path;
    if (receive_id == LULL_NO_TRANSFER)
        return;
    fabric->transfers[message].partner = receive_id;
    engine->class->match(fabric, message, receive_id, moment.time);
}

void lull_arrived(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment)
{
    struct lull_engine *engine = lull_engine_of(fabric);
    if (hand_over_message(engine, message, moment.time))
        return;
    if (!engine->holds_back) {
        match_arrived(engine, message, moment);
        return;
    }
    if (!lull_channel_is_next(engine, message))
        return;
    struct lull_transfer channel = fabric->transfers[message];
    for (; message != LULL_NO_TRANSFER; message = lull_channel_held(engine, &channel))
        match_arrived(engine, message, moment);
}

void lull_started(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment)
{
    struct lull_engine *engine = lull_engine_of(fabric);
    if (!engine->graph)
        return;
    if (engine->sink)
        tell_start(engine, message, moment.time);
    const struct lull_transfer *transfer = &fabric->transfers[message];
    lull_graph_op_started(engine, transfer->source, transfer->owner, moment);
}

/* The operation that a record stands for is over. */
static void over(struct lull_engine *engine, uint32_t id, uint32_t rank, struct lull_moment moment)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->flags |= LULL_TRANSFER_OVER;
    if (engine->graph)
        lull_graph_op_done(engine, rank, transfer->owner, moment);
    else if (transfer->flags & LULL_TRANSFER_OF_SCRIPT)
        lull_script_progress(engine, transfer->owner, transfer->open_next, moment);
    else
        lull_request_complete(engine, id, moment);
}

static void tell_done(struct lull_engine *engine, uint32_t id, const struct lull_transfer *message,
                      int64_t time)
{
    if (engine->sink->done && engine->status == LULL_OK)
        engine->status = engine->sink->done(engine->sink->context,
                                            lull_stream_of(engine, lull_transfer_at(engine, id)),
                                            &engine->transfer_ops[id], message->source,
                                            message->tag, message->bytes, time, engine->err);
}

void lull_sent(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment)
{
    struct lull_engine *engine = lull_engine_of(fabric);
    const struct lull_transfer *transfer = &fabric->transfers[message];
    if (engine->options->part && !lull_is_own(engine, transfer->source)) {
        lull_part_sent(engine, message, moment.time);
        return;
    }
    if (engine->sink && engine->graph)
        tell_done(engine, message, transfer, moment.time);
    over(engine, message, transfer->source, moment);
    release_record(engine, message);
}

void lull_received(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment)
{
    struct lull_engine *engine = lull_engine_of(fabric);
    struct lull_transfer *sent = &fabric->transfers[message];
    uint32_t id = sent->partner;
    struct lull_transfer *received = &fabric->transfers[id];
    struct lull_rank_state *rank = &fabric->ranks[sent->target];
    rank->received++;
    rank->bytes_received += sent->bytes;
    engine->result.n_messages++;
    engine->n_foreign -= engine->options->part && !lull_is_own(engine, sent->source);
    received->source = sent->source; /* wildcards are known now */
    received->tag = sent->tag;
    received->bytes = sent->bytes;
    if (engine->sink && engine->graph)
        tell_done(engine, id, sent, moment.time);
    over(engine, id, sent->target, moment);
    release_record(engine, id);
    sent->flags &= (uint8_t)~LULL_TRANSFER_HELD;
    release_record(engine, message);
}
