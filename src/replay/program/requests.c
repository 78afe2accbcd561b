/* The requests of a stream: those of the trace that are open, and their numbers in the program. */
#include "replay/program/queue.h"

#include "base/array.h"

#include <string.h>

uint64_t lull_entry_position(const stream_t *s, const struct entry *entry)
{
    return s->base + (uint64_t)(entry - s->queue);
}

struct entry *lull_entry_at(const stream_t *s, uint64_t position)
{
    return position != NO_ENTRY && position >= s->base + s->first ? &s->queue[position - s->base]
                                                                  : NULL;
}

/* ---- requests ------------------------------------------------------------------------------ */

uint32_t lull_request_number(stream_t *s)
{
    return s->n_free ? s->free_numbers[--s->n_free] : s->numbers++;
}

bool lull_request_release(stream_t *s, uint32_t number)
{
    if (!lull_array_reserve(&s->free_numbers, &s->free_capacity, s->n_free + 1, sizeof number))
        return false;
    s->free_numbers[s->n_free++] = number;
    return true;
}

struct open *lull_request_add(stream_t *s, uint64_t request, uint8_t kind)
{
    if (!lull_array_reserve(&s->open, &s->open_capacity, s->n_open + 1, sizeof *s->open))
        return NULL;
    struct open *open = &s->open[s->n_open++];
    *open = (struct open){.request = request, .kind = kind, .position = NO_ENTRY};
    return open;
}

struct open *lull_request_find(stream_t *s, uint64_t request)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].request == request)
            return &s->open[i];
    return NULL;
}

struct open *lull_request_oldest(stream_t *s, uint8_t kind)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].kind == kind)
            return &s->open[i];
    return NULL;
}

struct open *lull_request_oldest_receive(stream_t *s, bool named)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].kind == OPEN_RECEIVE && (s->open[i].request != LULL_NO_REQUEST) == named)
            return &s->open[i];
    return NULL;
}

void lull_request_remove(stream_t *s, struct open *open)
{
    size_t at = (size_t)(open - s->open);
    memmove(open, open + 1, (--s->n_open - at) * sizeof *open);
}

bool lull_request_wait(stream_t *s, uint32_t number)
{
    if (!lull_array_reserve(&s->call_waits, &s->call_capacity, s->n_call_waits + 1, sizeof number))
        return false;
    s->call_waits[s->n_call_waits++] = number;
    return true;
}

/* The numbers are free behind the WAIT. */
lull_status lull_request_push_wait(stream_t *s, struct lull_error *err)
{
    if (s->n_call_waits == 0)
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_WAIT, s->call_region, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    for (uint32_t i = 0; i < s->n_call_waits; i++) {
        if (!lull_replay_make_room((void **)&s->waits, &s->waits_first, &s->waits_end,
                                   &s->waits_capacity, sizeof *s->waits))
            return lull_replay_no_memory(s, err);
        s->waits[s->waits_end++] = s->call_waits[i];
        if (!lull_request_release(s, s->call_waits[i]))
            return lull_replay_no_memory(s, err);
    }
    entry->op.n_requests = s->n_call_waits;
    s->n_call_waits = 0;
    return LULL_OK;
}

lull_status lull_request_drop(stream_t *s, struct open *open, struct lull_error *err)
{
    struct entry *entry = lull_entry_at(s, open->position);
    bool back = entry && entry->pending;
    if (back) {
        entry->pending = false;
        entry->dropped = true;
    }
    uint32_t number = open->number;
    lull_request_remove(s, open);
    return !back || lull_request_release(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}
