/* The order in which LogGOPSim starts things.
 *
 * There, an operation that finds its processor or NIC busy is put back into the queue for the time
 * when they are free. When a rank has many of them, all come again and again, and all but one are
 * put back: that is quadratic. Here, of those that wait for the same processor and NIC only the one
 * that was inserted first stands in the queue. That is the same order: coming again has no effect,
 * what is waited for never becomes free earlier, and at equal times the first inserted wins.
 *
 * Waiting ones are in a pairing heap by seq: `child` is the first child, `link` the next sibling.
 */
#include "sim/engine/run.h"

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
