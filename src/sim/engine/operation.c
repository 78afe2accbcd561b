/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in flight, and what back-ends call. */
#include "base/mix.h"
#include "sim/engine/large.h"
#include "sim/engine/run.h"
#include "sim/noise/noise.h"

#include <stdlib.h>
#include <string.h>

/* ==== messages of a channel keep their order ================================================== */

/* Messages of one channel arrive in the order in which they were sent.
 *
 * If a rank has one NIC, they do so by themselves, because a NIC serves in the order of requests.
 * Ranks of a graph may have several NICs, so that a small message may overtake a large one. Then a
 * message that comes too early is held back until those before it have come. For that, messages are
 * numbered in each channel: `child` of a message on its way is its number.
 *
 * Where events are handled in any order, the messages of a channel keep their order only if one
 * stream sends them and one stream receives them. It is noticed here if that is not so. */

enum { NO_MESSAGE = LULL_NO_TRANSFER, FIRST_ROOM = 64 };

struct channel {
    uint32_t source, target, comm, tag;
    bool used;
    uint16_t sender, receiver; /* streams of the ranks, from 1; 0: not known */
    uint32_t sent, arrived;    /* messages */
    uint32_t held;             /* messages that came too early, through `link` */
};

struct lull_engine_channels {
    struct channel *channels; /* open addressing; `room` is a power of two */
    size_t n, room;
};

lull_status lull_channel_open(struct lull_engine *engine)
{
    const struct lull_graph *graph = engine->program->graph;
    for (uint32_t r = 0; graph && !engine->compat && r < engine->program->n_ranks; r++)
        engine->holds_back |= graph->ranks[r].n_nics > 1;
    engine->channels = calloc(1, sizeof *engine->channels);
    return engine->channels ? LULL_OK : lull_run_out_of_memory(engine);
}

void lull_channel_close(struct lull_engine *engine)
{
    if (engine->channels)
        free(engine->channels->channels);
    free(engine->channels);
}

static struct channel *find_channel(const struct lull_engine_channels *all,
                                    const struct lull_transfer *message)
{
    uint64_t hash = lull_mix(0, (uint64_t)message->source << 32 | message->target);
    hash = lull_mix(hash, (uint64_t)message->comm << 32 ^ message->tag);
    for (size_t at = hash >> 32;; at++) {
        struct channel *channel = &all->channels[at & (all->room - 1)];
        if (!channel->used ||
            (channel->source == message->source && channel->target == message->target &&
             channel->comm == message->comm && channel->tag == message->tag))
            return channel;
    }
}

static bool grow_channels(struct lull_engine_channels *all)
{
    struct lull_engine_channels larger = {.room = all->room ? 2 * all->room : FIRST_ROOM,
                                          .n = all->n};
    larger.channels = calloc(larger.room, sizeof *larger.channels);
    if (!larger.channels)
        return false;
    for (size_t i = 0; i < all->room; i++) {
        const struct channel *old = &all->channels[i];
        if (old->used)
            *find_channel(&larger, &(struct lull_transfer){.source = old->source,
                                                           .target = old->target,
                                                           .comm = old->comm,
                                                           .tag = old->tag}) = *old;
    }
    free(all->channels);
    *all = larger;
    return true;
}

/* The channel, new if need be; NULL: no memory. */
static struct channel *find_or_add(struct lull_engine *engine, const struct lull_transfer *message)
{
    struct lull_engine_channels *all = engine->channels;
    if (2 * all->n >= all->room && !grow_channels(all)) {
        lull_run_out_of_memory(engine);
        return NULL;
    }
    struct channel *channel = find_channel(all, message);
    if (!channel->used) {
        *channel = (struct channel){.source = message->source,
                                    .target = message->target,
                                    .comm = message->comm,
                                    .tag = message->tag,
                                    .used = true,
                                    .held = NO_MESSAGE};
        all->n++;
    }
    return channel;
}

bool lull_channel_of_one_stream(struct lull_engine *engine, const struct lull_transfer *transfer)
{
    struct channel *channel = find_or_add(engine, transfer);
    if (!channel)
        return true; /* fails otherwise */
    bool receives = transfer->flags & LULL_TRANSFER_RECEIVE;
    uint16_t *stream = receives ? &channel->receiver : &channel->sender;
    if (*stream == 0)
        *stream = (uint16_t)(transfer->cpu + 1);
    return *stream == transfer->cpu + 1;
}

void lull_channel_sent(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *message = lull_transfer_at(engine, id);
    struct channel *channel = find_or_add(engine, message);
    if (channel)
        message->child = ++channel->sent;
}

bool lull_channel_is_next(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *message = lull_transfer_at(engine, id);
    struct channel *channel = find_or_add(engine, message);
    if (!channel)
        return false;
    if (message->child == channel->arrived + 1) {
        channel->arrived++;
        return true;
    }
    message->link = channel->held;
    channel->held = id;
    return false;
}

uint32_t lull_channel_held(struct lull_engine *engine, const struct lull_transfer *before)
{
    struct channel *channel = find_channel(engine->channels, before);
    uint32_t *link = &channel->held;
    while (*link != NO_MESSAGE && lull_transfer_at(engine, *link)->child != channel->arrived + 1)
        link = &lull_transfer_at(engine, *link)->link;
    uint32_t id = *link;
    if (id != NO_MESSAGE) {
        *link = lull_transfer_at(engine, id)->link;
        channel->arrived++;
    }
    return id;
}

/* ==== operations in flight ==================================================================== */

enum { NEW_AHEAD = 8 }; /* transfers that are fetched before they are new */

/* The arrays that transfers are numbers in are all as long as that of the transfers. */
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

/* The sum of the delays that are due, ns. */
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

/* Whether a message goes to a rank of another process; if so, hands it over: it arrives and is
 * received there. */
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

/* ==== the order of LogGOPSim (compat) ========================================================= */

/* In LogGOPSim, an operation that finds its processor or NIC busy is put back into the queue for
 * the time when both are free. If a rank has many such operations, all of them come again and
 * again, and all but one are put back, which takes quadratic time. Here, of the operations that
 * wait for the same processor and NIC, only the one that was inserted first stands in the queue.
 * The order is the same, because to come again has no effect, a processor never becomes free
 * earlier than it was going to be, and at equal times the operation that was inserted first wins.
 *
 * The other waiting operations are in a pairing heap by seq: `child` is the first child, `link` the
 * next sibling. */

enum { EMPTY_LINE = LULL_NO_TRANSFER };

static uint32_t meld(struct lull_transfer *transfers, uint32_t a, uint32_t b)
{
    if (transfers[b].seq < transfers[a].seq) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    transfers[b].link = transfers[a].child;
    transfers[a].child = b;
    return a;
}

static void line_add(struct lull_transfer *transfers, uint32_t *root, uint32_t id)
{
    transfers[id].link = transfers[id].child = EMPTY_LINE;
    *root = *root == EMPTY_LINE ? id : meld(transfers, *root, id);
}

static void line_pop(struct lull_transfer *transfers, uint32_t *root)
{
    uint32_t pairs = EMPTY_LINE, id = transfers[*root].child;
    while (id != EMPTY_LINE) { /* in pairs, from the front, collected back to front */
        uint32_t second = transfers[id].link, next = EMPTY_LINE;
        transfers[id].link = EMPTY_LINE;
        if (second != EMPTY_LINE) {
            next = transfers[second].link;
            transfers[second].link = EMPTY_LINE;
            id = meld(transfers, id, second);
        }
        transfers[id].link = pairs;
        pairs = id;
        id = next;
    }
    uint32_t result = EMPTY_LINE;
    while (pairs != EMPTY_LINE) {
        uint32_t next = transfers[pairs].link;
        transfers[pairs].link = EMPTY_LINE;
        result = result == EMPTY_LINE ? pairs : meld(transfers, result, pairs);
        pairs = next;
    }
    *root = result;
}

static struct lull_moment later_clock(struct lull_clock a, struct lull_clock b)
{
    struct lull_clock clock = *a.busy >= *b.busy ? a : b;
    return (struct lull_moment){*clock.busy, clock.path ? *clock.path : 0};
}

/* From when on the processor and, for sends, the NIC of an operation are free. */
static struct lull_moment free_for(const struct lull_engine *engine,
                                   const struct lull_transfer *transfer)
{
    const struct lull_fabric *fabric = &engine->fabric;
    bool own_source = (transfer->flags & (LULL_TRANSFER_RECEIVE | LULL_TRANSFER_COMPUTE)) !=
                      LULL_TRANSFER_RECEIVE;
    uint32_t rank = own_source ? transfer->source : transfer->target;
    struct lull_clock cpu = lull_cpu(fabric, rank, transfer->cpu);
    if (transfer->flags & (LULL_TRANSFER_RECEIVE | LULL_TRANSFER_COMPUTE))
        return later_clock(cpu, cpu);
    return later_clock(cpu, lull_nic(fabric, rank, transfer->nic, LULL_CLOCK_SEND));
}

/* The line of an operation; NULL: it has none and comes again by itself. */
static uint32_t *line_of(const struct lull_engine *engine, const struct lull_transfer *transfer)
{
    if ((transfer->flags & LULL_TRANSFER_RECEIVE) || transfer->cpu || transfer->nic)
        return NULL;
    unsigned line = transfer->flags & LULL_TRANSFER_COMPUTE ? LULL_LINE_COMPUTE : LULL_LINE_SEND;
    return &engine->fabric.ranks[transfer->source].blocked[line];
}

static void push_start(struct lull_engine *engine, uint32_t id)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    bool receives = transfer->flags & LULL_TRANSFER_RECEIVE;
    struct lull_moment moment = free_for(engine, transfer);
    if (engine->fabric.path)
        engine->fabric.transfer_path[id] = moment.path;
    lull_push_numbered(engine, LULL_RUN_START, moment.time, transfer->seq,
                       receives ? transfer->target : transfer->source, id);
}

void lull_compat_insert(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->seq = engine->seq++;
    uint32_t *line = line_of(engine, transfer);
    if (line) {
        bool first = *line == EMPTY_LINE;
        line_add(engine->fabric.transfers, line, id);
        if (!first)
            return; /* it is behind the one that stands in the queue */
    }
    push_start(engine, id);
}

void lull_compat_start(struct lull_engine *engine, const struct lull_entry *entry)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, entry->id);
    struct lull_moment moment = {entry->time, 0};
    if (engine->fabric.path)
        moment.path = engine->fabric.transfer_path[entry->id];
    if (!(transfer->flags & LULL_TRANSFER_RECEIVE)) { /* receives cost nothing */
        struct lull_moment at = free_for(engine, transfer);
        if (at.time > entry->time) {
            push_start(engine, entry->id);
            return;
        }
        if (at.time == entry->time)
            moment.path = at.path;
    }
    uint32_t *line = line_of(engine, transfer);
    if (line)
        line_pop(engine->fabric.transfers, line);
    lull_run_execute(engine, entry->id, moment);
    if (line && *line != EMPTY_LINE)
        push_start(engine, *line);
}

/* --- messages ------------------------------------------------------------------------------ */

static struct lull_moment free_for_message(const struct lull_engine *engine,
                                           const struct lull_transfer *message)
{
    const struct lull_fabric *fabric = &engine->fabric;
    return later_clock(lull_cpu(fabric, message->target, message->cpu),
                       lull_nic(fabric, message->target, message->nic, LULL_CLOCK_RECEIVE));
}

/* The line of a message that uses the first processor and NIC of its target. */
static uint32_t *message_line(const struct lull_engine *engine, const struct lull_transfer *message)
{
    struct lull_rank_state *rank = &engine->fabric.ranks[message->target];
    if ((message->cpu && message->cpu <= rank->last_cpu) ||
        (message->nic && message->nic <= rank->last_nic))
        return NULL;
    return &rank->blocked_messages;
}

static void push_unblock(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *message = lull_transfer_at(engine, id);
    message->time = free_for_message(engine, message).time;
    lull_push_numbered(engine, LULL_RUN_UNBLOCK, message->time, message->seq, message->target, id);
}

static void advance_in_line(struct lull_engine *engine, const struct lull_entry *entry)
{
    if (engine->fabric.path) {
        struct lull_moment at = free_for_message(engine, lull_transfer_at(engine, entry->id));
        if (at.time == entry->time)
            engine->fabric.transfer_path[entry->id] = at.path;
    }
    engine->class->advance(&engine->fabric, entry->id, entry->time);
}

void lull_compat_advance(struct lull_engine *engine, const struct lull_entry *entry)
{
    struct lull_transfer *message = lull_transfer_at(engine, entry->id);
    if (free_for_message(engine, message).time <= entry->time) {
        advance_in_line(engine, entry);
        return;
    }
    uint32_t *line = message_line(engine, message);
    if (line)
        line_add(engine->fabric.transfers, line, entry->id);
    if (!line || *line == entry->id)
        push_unblock(engine, entry->id);
}

/* An entry counts for nothing when its message is no longer the first in its line, stands in the
 * queue once more for another time, or is gone. */
void lull_compat_unblock(struct lull_engine *engine, const struct lull_entry *entry)
{
    struct lull_transfer *message = lull_transfer_at(engine, entry->id);
    if (message->seq != entry->key >> LULL_RUN_KIND_BITS)
        return;
    uint32_t *line = message_line(engine, message);
    if (line && (*line != entry->id || message->time != entry->time))
        return;
    if (free_for_message(engine, message).time > entry->time) {
        push_unblock(engine, entry->id);
        return;
    }
    if (line)
        line_pop(engine->fabric.transfers, line);
    advance_in_line(engine, entry);
    if (line && *line != EMPTY_LINE)
        push_unblock(engine, *line);
}
