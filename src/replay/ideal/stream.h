/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread: its steps become notes (share.h), which move its ideal time. Internal to the room.
 *
 * A call that waits for nothing takes no time, and leaves no note. So most steps are silent: they
 * only change struct reading, what is known of the call that a thread is in. The functions that are
 * called for every step are inline. */
#ifndef LULL_REPLAY_IDEAL_STREAM_H
#define LULL_REPLAY_IDEAL_STREAM_H

#include "activity/channel.h"
#include "match/circle.h"
#include "replay/ideal/share.h"

/* ==== steps become notes ====================================================================== */

/* The queue of a channel that the location uses for the first time; LULL_NONE: no memory, which is
 * noted. */
uint32_t lull_read_queue(struct share *share, struct stream *stream, uint32_t channel,
                         const struct lull_channels *channels);
/* A receive is posted: gives its post a number. LULL_NONE: the receive has no request, so that its
 * completion could not be found, or there is no memory, which is noted. */
uint32_t lull_read_post(struct share *share, struct stream *stream, uint64_t request);
/* The receive of a request is over: the number of its post, or LULL_NONE. */
uint32_t lull_read_completion(struct reading *reading, uint64_t request);
/* Whether a call (enum lull_call) of which nothing was recorded should have left something. */
bool lull_read_leaves_records(struct reading *reading, uint8_t call);
/* Whether a step is behind the analysed span. A call that reaches beyond the span still counts up
 * to its end, because processes inside the span may wait for what it begins. */
bool lull_read_is_beyond(const struct share *share, const struct reading *reading,
                         const struct lull_step *step);
/* Whether a COLLECTIVE_* note is the one with which its process arrives: the begin of a non-
 * blocking operation, the end of a blocking one, with others than itself and with all of it known.
 */
bool lull_read_gathers(const struct share *share, const struct note *note);

static inline void lull_read_call_end(struct reading *reading, const struct lull_step *call)
{
    reading->lost = !reading->completed && lull_read_leaves_records(reading, call->op);
    reading->recorded[call->op] |= reading->completed;
}

/* As lull_read_is_silent, in a pass with CALLs (ideal->brief). */
static inline bool lull_read_is_silent_in_short(struct reading *reading,
                                                const struct lull_step *step)
{
    if (step->kind == LULL_STEP_FORK || step->kind == LULL_STEP_JOIN)
        return true; /* only the path asked for them */
    reading->in_call = step->region != LULL_NONE;
    reading->call_kept = step->kept_ns;
    switch (step->kind) {
    case LULL_STEP_CALL:
        reading->call_began = step->call_began;
        reading->completed |= step->sends;
        lull_read_call_end(reading, step);
        if (!reading->waits && !reading->lost &&
            reading->posts + step->posts < LULL_STEP_MOST_POSTS) {
            reading->posts = (uint8_t)(reading->posts + step->posts);
            reading->completed = false;
            return true;
        }
        reading->completed = reading->waits = false;
        return false;
    case LULL_STEP_COLLECTIVE_BEGIN:
        return step->collective.request == LULL_NO_REQUEST;
    case LULL_STEP_RECV_POST:
    case LULL_STEP_SEND:
    case LULL_STEP_RECV:
    case LULL_STEP_COLLECTIVE_END:
    case LULL_STEP_CANCEL:
    case LULL_STEP_FREE:
    case LULL_STEP_END:
        return false;
    default:
        return true;
    }
}

/* The path follows regions of the user and parallel regions. Whether the step says nothing else; else false. */
static inline bool lull_read_region_change(struct path_reading *path, const struct lull_step *step)
{
    if (step->kind == LULL_STEP_USER)
        lull_ideal_path_change(path, step->kept_ns, step->region, step->op == LULL_USER_LEFT);
    else if (step->kind == LULL_STEP_FORK || step->kind == LULL_STEP_JOIN)
        lull_ideal_path_change(path, step->kept_ns, step->region, step->kind == LULL_STEP_JOIN);
    return step->kind == LULL_STEP_USER;
}

/* Whether a step needs no note; notes what it says of the call that the thread is in. */
static inline bool lull_read_is_silent(const struct share *share, struct stream *stream,
                                       const struct lull_step *step)
{
    struct reading *reading = &stream->reading;
    if (!(share->ideal->takes >> step->kind & 1))
        return true; /* others asked for it: nothing may depend on who is in the pass */
    if (reading->path && lull_read_region_change(reading->path, step))
        return true;
    if (share->ideal->has_span) {
        if (reading->over)
            return true;
        reading->over = lull_read_is_beyond(share, reading, step);
        if (reading->over)
            return false;
    }
    if (share->ideal->brief)
        return lull_read_is_silent_in_short(reading, step);
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        reading->in_call = true;
        reading->completed = reading->waits = reading->lost = reading->sends = false;
        reading->call = step->op;
        reading->call_began = step->time;
        reading->call_kept = step->kept_ns;
        return !stream->tells_calls;
    case LULL_STEP_CALL_END:
        reading->in_call = false;
        lull_read_call_end(reading, step);
        return !(reading->waits || reading->lost || stream->tells_calls);
    case LULL_STEP_SEND_DONE:
        reading->completed = reading->sends = true;
        return !share->ideal->synchronous;
    case LULL_STEP_RECV_POST:
        return ++reading->posts < UINT8_MAX && !share->ideal->synchronous;
    case LULL_STEP_COLLECTIVE_BEGIN: /* of a blocking one the end says more, at the same time */
        return step->collective.request == LULL_NO_REQUEST;
    case LULL_STEP_SEND:
    case LULL_STEP_RECV:
    case LULL_STEP_COLLECTIVE_END:
    case LULL_STEP_CANCEL:
    case LULL_STEP_FREE:
    case LULL_STEP_END:
        return false;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        reading->call_kept = step->kept_ns;
        return !stream->process->crew;
    case LULL_STEP_THREAD_CREATE:
    case LULL_STEP_THREAD_BEGIN:
    case LULL_STEP_THREAD_END:
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        return !stream->process->crew || step->number == 0;
    default:
        return true;
    }
}

/* Of a RECV: whether `called` of the note is set, and not `number` and `ticket`. */
static inline bool lull_note_says_called(const struct share *share, const struct stream *stream,
                                         const struct note *note)
{
    return note->flags & NOTE_WAITS && share->ideal->options->message && !stream->tells_calls;
}

static inline void lull_read_message(struct share *share, struct stream *stream,
                                     const struct lull_step *step,
                                     const struct lull_channels *channels, struct note *note)
{
    /* in a brief pass the CALL step says whether something was sent */
    stream->reading.completed |= step->kind == LULL_STEP_RECV || !share->ideal->brief;
    note->what = LULL_NONE;
    note->value = step->kind == LULL_STEP_SEND ? step->message.request : step->message.bytes;
    if (step->kind == LULL_STEP_RECV && share->ideal->synchronous)
        note->ticket = lull_read_completion(&stream->reading, step->message.request);
    note->flags |= step->message.request != LULL_NO_REQUEST ? NOTE_REQUEST : 0;
    if ((uint32_t)step->message.peer >= share->ideal->trace->n_processes)
        return; /* to or from nobody */
    const uint32_t known = lull_match_route_of(&stream->routes, step->channel);
    note->what =
        known != LULL_NONE ? known : lull_read_queue(share, stream, step->channel, channels);
    if (step->kind == LULL_STEP_SEND) {
        stream->reading.sends |= step->message.request == LULL_NO_REQUEST;
        if (step->op == LULL_SEND_SYNCHRONOUS && share->ideal->synchronous &&
            stream->reading.in_call &&
            !(stream->reading.call == LULL_CALL_ISSEND &&
              step->message.request == LULL_NO_REQUEST)) { /* of which the end is not told */
            note->flags |= NOTE_SYNCHRONOUS;
            stream->reading.waits = true;
        }
        return;
    }
    stream->reading.waits = true;
    if (lull_note_says_called(share, stream, note))
        note->called = stream->reading.call_began;
}

/* Sets flags and kept time of the note of an operation, which happens when its call begins. A
 * thread that meets its master has a note of that begin, which moves its time, so the operation
 * need not. */
static inline void lull_read_place(const struct stream *stream, struct note *note)
{
    const struct reading *reading = &stream->reading;
    if (!reading->in_call) {
        note->flags = NOTE_MOVES | NOTE_WAITS;
    } else if (stream->follows) {
        note->flags = 0;
    } else {
        note->flags = NOTE_MOVES;
        note->kept = reading->call_kept;
    }
}

/* The note of a step that is not silent. The number of a message and the ticket of a collective
 * operation are not set yet. The caller does not hold the share, unless the stream is of a crew. */
static inline void lull_read_note(struct share *share, struct stream *stream,
                                  const struct lull_step *step,
                                  const struct lull_channels *channels, struct note *ret_note)
{
    struct reading *reading = &stream->reading;
    ret_note->time = step->time;
    ret_note->kept = step->kept_ns;
    ret_note->kind = reading->over                  ? LULL_STEP_END
                     : step->kind == LULL_STEP_CALL ? LULL_STEP_CALL_END
                                                    : step->kind;
    ret_note->op = step->op;
    ret_note->flags = NOTE_MOVES;
    ret_note->posts = (uint8_t)(reading->posts + step->posts);
    reading->posts = 0;
    switch (ret_note->kind) {
    case LULL_STEP_CALL_BEGIN:
        ret_note->what = step->region;
        break;
    case LULL_STEP_CALL_END:
        ret_note->what = step->region;
        ret_note->value = (uint64_t)reading->call_began;
        ret_note->flags |= reading->lost ? NOTE_LOST : 0;
        ret_note->flags |= reading->sends ? NOTE_SENDS : 0;
        break;
    case LULL_STEP_SEND:
    case LULL_STEP_RECV:
        lull_read_place(stream, ret_note);
        lull_read_message(share, stream, step, channels, ret_note);
        break;
    case LULL_STEP_COLLECTIVE_BEGIN:
    case LULL_STEP_COLLECTIVE_END:
        lull_read_place(stream, ret_note);
        ret_note->what = step->comm;
        ret_note->number = (uint32_t)step->collective.root;
        ret_note->ticket = LULL_NONE;
        ret_note->value = step->collective.request;
        ret_note->flags |= step->collective.request != LULL_NO_REQUEST ? NOTE_REQUEST : 0;
        ret_note->flags |=
            step->collective.sent > 0 || step->collective.received > 0 ? NOTE_DATA : 0;
        reading->waits |= step->kind == LULL_STEP_COLLECTIVE_END;
        reading->completed |= step->kind == LULL_STEP_COLLECTIVE_BEGIN ||
                              lull_circle_knows(share->ideal->trace, ret_note->what, ret_note->op);
        break;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        ret_note->flags = stream->follows ? 0 : NOTE_MOVES; /* else no more than a point of time */
        break;
    case LULL_STEP_END:
        break;
    case LULL_STEP_SEND_DONE:
        ret_note->op = reading->in_call ? reading->call : LULL_CALL_WAIT;
        reading->waits = true;
        lull_read_place(stream, ret_note);
        ret_note->value = step->message.request;
        break;
    case LULL_STEP_THREAD_CREATE:
    case LULL_STEP_THREAD_BEGIN:
    case LULL_STEP_THREAD_END:
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        ret_note->value = step->number;
        ret_note->number = step->op == LULL_THREAD_WAIT_BARRIER ? step->meeting.threads : 0;
        break;
    default: /* RECV_POST, CANCEL, FREE */
        ret_note->flags = 0;
        ret_note->ticket = LULL_NONE;
        if (!share->ideal->synchronous)
            break;
        if (step->kind == LULL_STEP_RECV_POST) {
            lull_read_place(stream, ret_note);
            ret_note->flags &= (uint8_t)~NOTE_WAITS;
            ret_note->ticket = lull_read_post(share, stream, step->message.request);
        } else {
            ret_note->ticket = lull_read_completion(reading, step->message.request);
        }
    }
}

/* The notes of the path that come before the note of a step; returns their number, at most n_parts. */
static inline uint32_t lull_read_path(struct stream *stream, const struct note *note,
                                      struct note *ret_notes)
{
    struct path_reading *path = stream->reading.path;
    if (!path || !(note->flags & NOTE_MOVES))
        return 0;
    lull_ideal_path_reach(path, note->kept);
    const uint32_t count = path->n_some;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t part = path->some[i];
        ret_notes[i] = (struct note){.kind = LULL_STEP_USER,
                                     .time = note->time,
                                     .kept = note->kept,
                                     .what = part,
                                     .value = (uint64_t)path->ns[part]};
        path->ns[part] = 0;
    }
    path->n_some = 0;
    return count;
}

/* ==== one thread ============================================================================== */

/* The next notes of a stream that is alone in its process: takes them, or keeps them in its queue
 * while it is blocked. */
void lull_ideal_stream_notes(struct share *share, struct stream *stream, const struct note *notes,
                             size_t count);
/* The ideal time of a stream moves up to a kept time. */
static inline void lull_ideal_stream_move(struct share *share, struct stream *stream, int64_t kept)
{
    const int64_t ns = kept - stream->kept;
    stream->time += ns;
    stream->kept = kept;
    if (stream->to_come)
        lull_ideal_path_spend(share->paths, &stream->path, stream->to_come, ns);
}
/* A stream that is not blocked comes to a note; it may be blocked then. */
void lull_ideal_stream_take(struct share *share, struct stream *stream, const struct note *note);
/* What the stream was blocked on may have come; it may be blocked again then. */
void lull_ideal_stream_wake(struct share *share, struct stream *stream);
/* A stream that is alone in its process goes on with the notes in its queue as far as it can. */
void lull_ideal_stream_go_on(struct share *share, struct stream *stream);

/* ==== channels, and synchronous sends ========================================================= */

/* A letter about a channel or a message; one about synchronous sends. */
void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter);
void lull_synchronous_letter(struct share *share, uint32_t from, const struct letter *letter);
/* In a trace without synchronous sends these do nothing. */

/* A note has been read, after all notes before it; a RECV has its number. So the message that a
 * receive will take is known before the thread comes there. */
void lull_synchronous_foresee(struct share *share, struct stream *stream, const struct note *note);
/* While all readers sleep: whether synchronous sends wait of whose message no receive has been
 * read; with `all` also those whose receive has been read, but has not begun. */
bool lull_synchronous_asks(const struct lull_ideal *ideal, bool all);
/* Lets these sends go on. */
void lull_synchronous_release(struct lull_ideal *ideal, bool all);

#endif
