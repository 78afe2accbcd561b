/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/ahead.h"

#include "match/circle.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/gather.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A stream can go on in the next epoch before it is known how late it comes to the end of this one.
 *
 * While a stream waits for a message, the notes that are read of it stand in its queue. When the
 * queue comes to the end of the epoch, the rest of the epoch becomes a tail: the tail waits in
 * place of the stream, and the stream begins the next epoch at once. So processes that exchange
 * messages in each step of a program need not be evaluated together step by step. The tails of a
 * stream are evaluated one after the other, and the stream takes no message before they have taken
 * theirs. A tail may hold only what programs do most: messages, and calls that leave a record. A
 * stream with any other note in its queue stays where it waits. */

/* stream->look: the end of the epoch is searched for in the queue; its operation was found, and the
 * end of its call comes next; or the stream stays until its queue is empty. */
enum { LOOKS_AHEAD, AT_CALL_END, STAYS };

/* So many notes does a tail count as among the notes that may wait: a block of its own, and the
 * stream itself. */
enum { NOTES_OF_TAIL = NOTES_OF_BLOCK + sizeof(struct stream) / sizeof(struct note) };

/* ---- tails --------------------------------------------------------------------------------- */

static struct stream *create_tail(struct share *share, struct stream *stream)
{
    struct stream *tail = share->spare_tails;
    if (tail)
        share->spare_tails = tail->next_tail;
    else if (!(tail = calloc(1, sizeof *tail)))
        return NULL;
    struct pending *room = tail->pending;
    const size_t capacity = tail->pending_capacity;
    memset(tail, 0, offsetof(struct stream, routes));
    tail->process = stream->process;
    tail->reader = stream->reader;
    tail->location = stream->location;
    tail->owner = stream;
    tail->time = stream->time;
    tail->kept = stream->kept;
    tail->done = stream->done;
    tail->epochs = stream->epochs;
    tail->signature = stream->signature;
    tail->stopped_at = stream->stopped_at;
    tail->pending = stream->pending;
    tail->pending_at = stream->pending_at;
    tail->n_pending = stream->n_pending;
    tail->pending_capacity = stream->pending_capacity;
    tail->notes = stream->notes;
    lull_stream_set(tail, ON_MESSAGE);
    stream->pending = room;
    stream->pending_capacity = capacity;
    stream->pending_at = stream->n_pending = 0;
    stream->notes = (struct note_queue){0};
    share->pool.queued += NOTES_OF_TAIL;
    return tail;
}

/* Only whoever holds the share changes the number, so relaxed loads and stores are enough. */
static void count_tails(struct stream *stream, unsigned count)
{
    atomic_store_explicit(&stream->tails, count, memory_order_relaxed);
}

static unsigned tails_of(struct stream *stream)
{
    return atomic_load_explicit(&stream->tails, memory_order_relaxed);
}

/* The first tail of a stream waits in the queue where the stream waited; later ones wait for their
 * turn. */
static void take_place(struct share *share, struct stream *stream, struct stream *tail)
{
    if (!stream->first_tail) {
        const uint32_t queue = tail->pending[tail->pending_at].what;
        struct stream *before = NULL, *at = share->queues.all[queue].waiting;
        for (; at != stream; at = at->next_waiting)
            before = at;
        tail->next_waiting = stream->next_waiting;
        if (before)
            before->next_waiting = tail;
        else
            share->queues.all[queue].waiting = tail;
        stream->first_tail = tail;
    } else {
        stream->last_tail->next_tail = tail;
    }
    stream->last_tail = tail;
    count_tails(stream, tails_of(stream) + 1);
}

void lull_ahead_end_tail(struct share *share, struct stream *tail)
{
    struct stream *stream = tail->owner;
    if (tail->time != lull_epoch_begin(share, tail)) /* the last call kept some of its length */
        lull_epochs_spoil(share->ideal);
    stream->first_tail = tail->next_tail;
    if (stream->first_tail)
        lull_share_ready(share, stream->first_tail);
    else if (stream->blocked == ON_MESSAGE)
        lull_share_ready(share, stream);
    count_tails(stream, tails_of(stream) - 1);
    share->pool.queued -= NOTES_OF_TAIL;
    tail->next_tail = share->spare_tails;
    share->spare_tails = tail;
}

/* ---- the end of an epoch ------------------------------------------------------------------- */

/* The messages of a tail get their numbers when it is made, before those of later notes. */
static void number_messages(struct share *share, struct stream *stream)
{
    struct note_queue *notes = &stream->notes;
    uint8_t at = notes->first_at;
    for (struct note_block *block = notes->first; block; block = block->next, at = 0) {
        const uint8_t end = block == notes->last ? notes->last_at : NOTES_OF_BLOCK;
        for (; at < end; at++) {
            struct note *note = &block->notes[at];
            stream->open_receives += note->posts;
            if (note->kind == LULL_STEP_RECV && note->flags & NOTE_REQUEST)
                stream->open_receives -= stream->open_receives > 0;
            if (note->kind == LULL_STEP_SEND && note->what != LULL_NONE)
                note->number = share->queues.all[note->what].sent++;
            else if (note->kind == LULL_STEP_RECV && note->what != LULL_NONE)
                note->number = share->queues.all[note->what].received++;
        }
    }
}

static struct arrival arrival_of(const struct note *note)
{
    return (struct arrival){.comm = note->what,
                            .op = note->op,
                            .non_blocking = (note->flags & NOTE_REQUEST),
                            .in_call = !(note->flags & NOTE_WAITS)};
}

/* The last note in the queue ends the call that ends the epoch. */
static void go_ahead(struct share *share, struct stream *stream, const struct note *last)
{
    const int64_t kept = last->kept;
    number_messages(share, stream);
    struct stream *tail = create_tail(share, stream);
    if (!tail) {
        lull_share_no_memory(share);
        return;
    }
    take_place(share, stream, tail);
    lull_gather_skip(share, stream, &stream->ends);
    stream->kept = kept;
    stream->passes = false;
    lull_stream_set(stream, RUNNABLE);
}

static uint8_t look_at_note(struct share *share, struct stream *stream, const struct note *note)
{
    switch (note->kind) {
    case LULL_STEP_SEND:
    case LULL_STEP_RECV:
        return note->flags & (NOTE_WAITS | NOTE_SYNCHRONOUS) ? STAYS : stream->look;
    case LULL_STEP_CALL_END:
        return note->flags & NOTE_LOST ? STAYS : stream->look;
    case LULL_STEP_COLLECTIVE_END:
        stream->ends = arrival_of(note);
        return stream->look == LOOKS_AHEAD && stream->ends.in_call &&
                       lull_circle_knows(share->ideal->trace, note->what, note->op) &&
                       lull_gather_ends_epoch(share, stream, &stream->ends)
                   ? AT_CALL_END
                   : STAYS;
    default:
        return STAYS;
    }
}

void lull_ahead_look(struct share *share, struct stream *stream, const struct note *note,
                     bool is_first)
{
    if (is_first)
        stream->look = LOOKS_AHEAD;
    if (stream->look == STAYS)
        return;
    stream->look = look_at_note(share, stream, note);
    if (stream->look != AT_CALL_END || note->kind != LULL_STEP_CALL_END)
        return;
    if (stream->blocked == ON_MESSAGE)
        go_ahead(share, stream, note);
    stream->look = STAYS; /* until nothing is in its queue */
}
