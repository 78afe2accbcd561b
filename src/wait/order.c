/* The order of messages: a wait for a sender was one of the wrong order when the process received,
 * in a later call, a message that had been sent before the wait began. That is the definition of
 * Scalasca ("Messages in Wrong Order"), of messages from the same source and from others. It is
 * known only when that message is received, so the last waits of each process are kept back. */
#include "wait/share.h"

#include <stdlib.h>
#include <string.h>

static bool charge_held(struct lull_waits *waits, struct wait_stream *stream,
                        struct wait_held *held)
{
    const uint8_t kind = held->wrong_order ? LULL_WAIT_WRONG_ORDER : LULL_WAIT_LATE_SENDER;
    const struct wait_charged charged = {
        .location = stream->location, .begin = held->begin, .wait = held->wait, .kind = kind};
    stream->sums.waited_ns[kind] += held->inside;
    const uint32_t count = held->count;
    held->count = 0;
    held->inside = 0;
    return lull_wait_charge_dues(waits, &charged, held->dues, count);
}

/* No more than need be: each process has several. */
static bool make_room(struct wait_held *held, uint32_t count)
{
    if (count <= held->capacity)
        return true;
    struct wait_due *dues = realloc(held->dues, count * sizeof *dues);
    if (!dues)
        return false;
    held->dues = dues;
    held->capacity = count;
    return true;
}

bool lull_wait_hold(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_charged *charged, int64_t inside,
                    const struct wait_part *parts, uint32_t count)
{
    struct wait_held *held = &stream->held[stream->n_held % LULL_WAIT_HELD];
    struct wait_due dues[LULL_WAIT_LEDGER + 2];
    if (stream->n_held >= LULL_WAIT_HELD && !charge_held(waits, stream, held))
        return false;
    const uint32_t n = lull_wait_dues_of_parts(waits, charged, parts, count, dues);
    if (n == LULL_NONE || !make_room(held, n))
        return false;
    if (n > 0)
        memcpy(held->dues, dues, n * sizeof *dues);
    held->count = n;
    held->begin = charged->begin;
    held->wait = charged->wait;
    held->inside = inside;
    held->wrong_order = false;
    stream->n_held++;
    return true;
}

/* Waits are kept in the order of their begins. */
void lull_wait_came_first(struct wait_stream *stream, int64_t sent)
{
    const uint32_t kept = stream->n_held < LULL_WAIT_HELD ? stream->n_held : LULL_WAIT_HELD;
    for (uint32_t i = 1; i <= kept; i++) {
        struct wait_held *held = &stream->held[(stream->n_held - i) % LULL_WAIT_HELD];
        if (held->begin < sent)
            return;
        held->wrong_order = true;
    }
}

bool lull_wait_settle(struct lull_waits *waits, struct wait_stream *stream)
{
    const uint32_t kept = stream->n_held < LULL_WAIT_HELD ? stream->n_held : LULL_WAIT_HELD;
    bool good = true;
    for (uint32_t i = kept; i > 0 && good; i--)
        good = charge_held(waits, stream, &stream->held[(stream->n_held - i) % LULL_WAIT_HELD]);
    stream->n_held = 0;
    return good;
}
