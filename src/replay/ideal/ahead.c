/* Streams that go on in the next epoch before they know how late they come to the end of this one.
 *
 * A stream that waits for a message has what is read of it meanwhile in its queue. When that comes
 * to the end of the epoch, the rest of the epoch becomes a tail, which waits in its place, and the
 * stream is free: it begins the next epoch at once, as it would when all had come. So processes
 * that exchange messages in each step of a program do not have to be evaluated step by step
 * together. The tails of a stream are evaluated in turn, and it takes no message before they have
 * taken theirs. Only what a program does most is in tails: messages, and calls that leave a record;
 * what else is met makes the stream wait as ever. */
#include "replay/ideal/epochs.h"
#include "replay/ideal/read.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS_AHEAD, AT_CALL_END, STAYS }; /* stream->look */

/* What a tail takes of the notes that may wait: a block of its own, and itself. */
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

/* Only who holds the share changes it, so that it needs no locked operation. */
static void count_tails(struct stream *stream, unsigned count)
{
    atomic_store_explicit(&stream->tails, count, memory_order_relaxed);
}

static unsigned tails_of(struct stream *stream)
{
    return atomic_load_explicit(&stream->tails, memory_order_relaxed);
}

/* The first tail waits where the stream did, others for their turn. */
static void take_place(struct share *share, struct stream *stream, struct stream *tail)
{
    if (!stream->first_tail) {
        const uint32_t queue = tail->pending[tail->pending_at].what;
        struct stream **at = &share->queues[queue].waiting;
        while (*at != stream)
            at = &(*at)->next_waiting;
        tail->next_waiting = stream->next_waiting;
        *at = tail;
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
    if (tail->time != lull_epoch_begin(share, tail)) /* which the stream has not waited for */
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

static void free_tails(struct stream *tail)
{
    for (struct stream *next; tail; tail = next) {
        next = tail->next_tail;
        free(tail->pending);
        free(tail);
    }
}

void lull_ahead_free(struct share *share)
{
    const struct lull_ideal *ideal = share->ideal;
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        struct stream *stream = ideal->streams[l];
        if (!stream || ideal->share_of[stream->process->index] != share->index)
            continue;
        free_tails(stream->first_tail);
        stream->first_tail = NULL;
    }
    free_tails(share->spare_tails);
    share->spare_tails = NULL;
}

/* ---- the end of an epoch ------------------------------------------------------------------- */

/* The messages of a tail are numbered before those behind it. */
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
                note->number = share->links[note->what].sent++;
            else if (note->kind == LULL_STEP_RECV && note->what != LULL_NONE)
                note->number = share->queues[note->what].received++;
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
                       lull_read_is_known(share, note) &&
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
        stream->look =
            share->ideal->most_epochs == 0 || share->ideal->synchronous ? STAYS : LOOKS_AHEAD;
    if (stream->look == STAYS)
        return;
    stream->look = look_at_note(share, stream, note);
    if (stream->look != AT_CALL_END || note->kind != LULL_STEP_CALL_END)
        return;
    if (stream->blocked == ON_MESSAGE)
        go_ahead(share, stream, note);
    stream->look = STAYS; /* until nothing is in its queue */
}
