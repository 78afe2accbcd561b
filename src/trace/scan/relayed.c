/* A parcel holds blocks: for each a head, its events as far as their kinds use them, and the
 * readings of these. An empty parcel is the end. */
#include "trace/scan/relayed.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { PARCEL = 1 << 16 }; /* bytes, but for a block that is larger */

struct block_head {
    uint32_t location, n_events;
    uint32_t events_size, n_readings; /* bytes; readings */
};

/* What all events have, which is all that most have. */
enum { SHORT = offsetof(struct lull_event, duration) };

static inline bool is_short(unsigned kind)
{
    static const uint64_t short_ones = LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) |
                                       LULL_MASK(LULL_EVENT_MEASURE_ON) |
                                       LULL_MASK(LULL_EVENT_MEASURE_OFF);
    return short_ones >> kind & 1;
}

/* How much of an event goes into a parcel. */
static inline size_t size_of_event(unsigned kind)
{
    return is_short(kind) ? SHORT : sizeof(struct lull_event);
}

/* Both sizes are known here, so that no function is called for so few bytes. */
static inline size_t copy_event(void *to, const void *from, unsigned kind)
{
    if (is_short(kind))
        memcpy(to, from, SHORT);
    else
        memcpy(to, from, sizeof(struct lull_event));
    return size_of_event(kind);
}

struct outgoing {
    uint8_t *bytes; /* malloc'd at the first block */
    size_t size, capacity;
};

struct lull_relayed {
    const struct lull_relay *relay;
    struct outgoing to[];
};

struct lull_relayed *lull_relayed_create(const struct lull_relay *relay)
{
    struct lull_relayed *relayed = calloc(1, sizeof *relayed + relay->size * sizeof relayed->to[0]);
    if (relayed)
        relayed->relay = relay;
    return relayed;
}

void lull_relayed_destroy(struct lull_relayed *relayed)
{
    for (uint32_t i = 0; relayed && i < relayed->relay->size; i++)
        free(relayed->to[i].bytes);
    free(relayed);
}

/* ---- out ------------------------------------------------------------------------------------- */

static lull_status no_memory_for_others(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what others are to read");
}

static lull_status flush_parcel(struct lull_relayed *relayed, uint32_t owner,
                                struct lull_error *err)
{
    const struct lull_relay *relay = relayed->relay;
    struct outgoing *out = &relayed->to[owner];
    lull_status status =
        out->size ? relay->put(relay->context, owner, out->bytes, out->size, err) : LULL_OK;
    out->size = 0;
    return status;
}

static struct block_head head_of(const struct lull_block *block)
{
    struct block_head head = {.location = block->location, .n_events = block->count};
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        head.events_size += (uint32_t)size_of_event(event->kind);
        if (event->kind == LULL_EVENT_COUNTERS)
            head.n_readings += event->readings.count;
    }
    return head;
}

static void append_outgoing(struct outgoing *out, const void *bytes, size_t size)
{
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

lull_status lull_relayed_put(struct lull_relayed *relayed, uint32_t process,
                             const struct lull_block *block, struct lull_error *err)
{
    const uint32_t owner = relayed->relay->owner(relayed->relay->context, process);
    struct outgoing *out = &relayed->to[owner];
    const struct block_head head = head_of(block);
    const size_t size =
        sizeof head + head.events_size + head.n_readings * sizeof(struct lull_reading);
    if (out->size > 0 && out->size + size > PARCEL) {
        lull_status status = flush_parcel(relayed, owner, err);
        if (status != LULL_OK)
            return status;
    }
    const size_t wanted = out->size + size;
    if (!lull_array_reserve(&out->bytes, &out->capacity, wanted > PARCEL ? wanted : PARCEL, 1))
        return no_memory_for_others(err);
    append_outgoing(out, &head, sizeof head);
    for (uint32_t i = 0; i < block->count; i++)
        out->size += copy_event(out->bytes + out->size, &block->events[i], block->events[i].kind);
    for (uint32_t i = 0; i < block->count && head.n_readings; i++)
        if (block->events[i].kind == LULL_EVENT_COUNTERS)
            append_outgoing(out, block->events[i].readings.values,
                            block->events[i].readings.count * sizeof(struct lull_reading));
    return LULL_OK;
}

lull_status lull_relayed_end(struct lull_relayed *relayed, struct lull_error *err)
{
    const struct lull_relay *relay = relayed->relay;
    lull_status status = LULL_OK;
    for (uint32_t m = 0; status == LULL_OK && m < relay->size; m++) {
        if (m == relay->index)
            continue;
        status = flush_parcel(relayed, m, err);
        if (status == LULL_OK)
            status = relay->put(relay->context, m, NULL, 0, err);
    }
    return status;
}

/* ---- in -------------------------------------------------------------------------------------- */

struct incoming {
    struct lull_event *events; /* of a block */
    size_t capacity;
    lull_status (*take)(void *context, const struct lull_block *block, struct lull_error *err);
    void *context;
};

/* Readings stand where this process has them. */
static void unpack_events(const struct block_head *head, struct lull_event *events)
{
    const uint8_t *at = (const uint8_t *)(head + 1);
    const struct lull_reading *readings = (const void *)(at + head->events_size);
    for (uint32_t i = 0; i < head->n_events; i++) {
        struct lull_event *event = &events[i];
        at += copy_event(event, at, ((const struct lull_event *)(const void *)at)->kind);
        if (event->kind == LULL_EVENT_COUNTERS) {
            event->readings.values = readings;
            readings += event->readings.count;
        }
    }
}

static lull_status take_parcel(struct incoming *in, const uint8_t *at, const uint8_t *end,
                               struct lull_error *err)
{
    lull_status status = LULL_OK;
    while (status == LULL_OK && at < end) {
        const struct block_head *head = (const void *)at;
        if (!lull_array_reserve(&in->events, &in->capacity, head->n_events, sizeof *in->events))
            return no_memory_for_others(err);
        unpack_events(head, in->events);
        at += sizeof *head + head->events_size + head->n_readings * sizeof(struct lull_reading);
        const struct lull_block block = {
            .location = head->location, .count = head->n_events, .events = in->events};
        status = in->take(in->context, &block, err);
    }
    return status;
}

lull_status lull_relayed_get_all(const struct lull_relay *relay,
                                 lull_status (*take)(void *context, const struct lull_block *block,
                                                     struct lull_error *err),
                                 void *context, struct lull_error *err)
{
    struct incoming in = {.take = take, .context = context};
    lull_status status = LULL_OK;
    for (bool ended = false; status == LULL_OK && !ended;) {
        const void *bytes;
        size_t size;
        status = relay->get(relay->context, &bytes, &size, err);
        ended = status != LULL_OK || size == 0;
        if (!ended)
            status = take_parcel(&in, bytes, (const uint8_t *)bytes + size, err);
    }
    free(in.events);
    return status;
}
