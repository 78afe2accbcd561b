/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: steps become notes; notes change the ledger of an agent, and its calls wait for what
 * they need. */
#include "wait/stream.h"

#include "base/array.h"
#include "base/hash.h"
#include "wait/device_wait.h"
#include "wait/ledger.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== note ==================================================================================== */

/* The first note of a queue; NULL: there is none. The pointer is valid until it is dropped. */
static inline const struct wait_note *wait_notes_first(const struct wait_note_queue *queue)
{
    if (!queue->first || (queue->first == queue->last && queue->first_at == queue->last_at))
        return NULL;
    return &queue->first->notes[queue->first_at];
}

/* ---- queues -------------------------------------------------------------------------------- */

static bool add_block(struct wait_note_queue *queue)
{
    struct wait_note_block *block = malloc(sizeof *block);
    if (!block)
        return false;
    block->next = NULL;
    if (queue->last)
        queue->last->next = block;
    else
        queue->first = block;
    queue->last = block;
    queue->last_at = 0;
    return true;
}

/* False: no memory. */
static bool wait_notes_push(struct wait_note_queue *queue, const struct wait_note *notes,
                            size_t count)
{
    while (count > 0) {
        if ((!queue->last || queue->last_at == NOTES_OF_BLOCK) && !add_block(queue))
            return false;
        const size_t room = (size_t)NOTES_OF_BLOCK - queue->last_at;
        const size_t n = count < room ? count : room;
        memcpy(&queue->last->notes[queue->last_at], notes, n * sizeof *notes);
        queue->last_at = (uint8_t)(queue->last_at + n);
        notes += n;
        count -= n;
    }
    return true;
}

/* Drops the first note; there must be one. */
static void wait_notes_drop(struct wait_note_queue *queue)
{
    struct wait_note_block *block = queue->first;
    if (++queue->first_at < NOTES_OF_BLOCK)
        return;
    queue->first = block->next;
    queue->first_at = 0;
    if (!queue->first)
        queue->last = NULL;
    free(block);
}

static void wait_notes_free(struct wait_note_queue *queue)
{
    for (struct wait_note_block *block = queue->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *queue = (struct wait_note_queue){0};
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Notes time outside of calls, which some tracers also tell of MPI. Consecutive spans in one region
 * of the user become one note. */
static size_t note_work(const struct wait_reading *reading, const struct lull_step *step,
                        struct wait_note *notes, size_t count)
{
    const int64_t ns = step->span.end - step->time;
    if (reading->in_call || ns <= 0)
        return count;
    struct wait_note *last = count > 0 ? &notes[count - 1] : NULL;
    const uint8_t in_mpi = lull_wait_is_mpi(step->activity);
    if (last && last->kind == NOTE_WORK && last->region == step->span.user && last->op == in_mpi) {
        last->value += (uint64_t)ns;
        return count;
    }
    notes[count] = (struct wait_note){.kind = NOTE_WORK,
                                      .op = in_mpi,
                                      .region = step->span.user,
                                      .value = (uint64_t)ns,
                                      .time = step->time};
    return count + 1;
}

/* Whether it is not known what a call waited for: no operation of the call was recorded, and it is
 * not a call that needs none. */
static bool is_lost(const struct wait_reading *reading, uint8_t call)
{
    if (reading->operations || call == LULL_CALL_TEST || call == LULL_CALL_FINALIZE)
        return false;
    return call == LULL_CALL_OTHER || call == LULL_CALL_PROBE || lull_call_leaves_operations(call);
}

static struct wait_note note_of_operation(const struct lull_step *step)
{
    struct wait_note note = {.time = step->time, .op = step->op};
    switch (step->kind) {
    case LULL_STEP_SEND:
        note.kind = NOTE_SEND;
        note.channel = step->channel;
        note.value = step->message.request;
        note.large = step->message.bytes > LULL_WAIT_EAGER;
        return note;
    case LULL_STEP_RECV:
        note.kind = NOTE_RECEIVE;
        note.channel = step->channel;
        note.value = step->message.request;
        return note;
    case LULL_STEP_SEND_DONE:
        note.kind = NOTE_SEND_DONE;
        note.value = step->message.request;
        return note;
    case LULL_STEP_RECV_POST:
        note.kind = NOTE_POST;
        note.comm = step->comm;
        note.value = step->message.request;
        note.root = step->message.peer;
        note.tag = step->message.tag;
        return note;
    default:
        note.kind = step->kind == LULL_STEP_COLLECTIVE_END ? NOTE_COLLECTIVE : NOTE_BEGIN;
        note.comm = step->comm;
        note.value = step->collective.request;
        note.root = step->collective.root;
        note.moves = step->collective.sent > 0 || step->collective.received > 0;
        return note;
    }
}

/* A synchronous send waits for its receive. A blocking send of the standard mode may wait if its
 * message is large: it did if it ended after its receive was posted, which is seen at its end. A
 * standard send that does not block is left out, because it may end late only because nobody
 * looked. */
bool lull_wait_may_wait(const struct wait_note *send, uint8_t call)
{
    return send->op == LULL_SEND_SYNCHRONOUS ||
           (send->op == LULL_SEND_STANDARD && send->large && call == LULL_CALL_SEND);
}

/* Whether the last two notes are the begin of a call and its one send, which does not wait, and the
 * times fit a NOTE_SEND_CALL. */
static bool is_send_call(const struct wait_note *notes, size_t count, int64_t end)
{
    const struct wait_note *begin = notes + count - 2, *send = notes + count - 1;
    return count >= 2 && send->kind == NOTE_SEND && begin->kind == NOTE_CALL_BEGIN &&
           !lull_wait_may_wait(send, begin->op) && send->time - begin->time <= UINT32_MAX &&
           end - send->time <= UINT32_MAX;
}

/* Notes the end of a call. Most calls become one note each: a call with nothing to wait for a
 * NOTE_CALL, which also takes in the NOTE_CALL before it if nothing lies between them, and a call
 * that only sends a NOTE_SEND_CALL. */
static size_t note_end(const struct wait_reading *reading, const struct lull_step *step,
                       struct wait_note *notes, size_t count)
{
    const bool lost = is_lost(reading, step->op);
    const bool ends_mpi = step->op == LULL_CALL_FINALIZE && !reading->operations;
    struct wait_note *last = count > 0 ? &notes[count - 1] : NULL;
    if (last && last->kind == NOTE_CALL_BEGIN && !lost && !ends_mpi) {
        const int64_t began = last->time;
        struct wait_note *before = count > 1 ? last - 1 : NULL;
        if (before && before->kind == NOTE_CALL && before->time == began) {
            before->time = step->time;
            before->op = last->op;
            return count - 1;
        }
        *last = (struct wait_note){
            .kind = NOTE_CALL, .op = last->op, .time = step->time, .value = (uint64_t)began};
        return count;
    }
    if (!lost && is_send_call(notes, count, step->time)) {
        struct wait_note call = *last;
        last--;
        call.kind = NOTE_SEND_CALL;
        call.value = (uint64_t)(call.time - last->time) << 32 | (uint64_t)(step->time - call.time);
        call.call = last->op;
        call.root = (int32_t)last->region;
        *last = call;
        return count - 1;
    }
    notes[count] = (struct wait_note){.kind = NOTE_CALL_END,
                                      .op = ends_mpi ? LULL_CALL_FINALIZE : LULL_CALL_OTHER,
                                      .time = step->time,
                                      .value = reading->bytes,
                                      .lost = lost};
    return count + 1;
}

/* The bytes of an operation, as in struct lull_wait_call. */
static uint64_t moved_bytes(const struct lull_step *step)
{
    if (step->kind == LULL_STEP_RECV)
        return step->message.bytes;
    if (step->kind != LULL_STEP_COLLECTIVE_END)
        return 0;
    const uint64_t sent = step->collective.sent, received = step->collective.received;
    return sent > received ? sent : received;
}

/* Whether a step makes no note: a blocking collective operation is noted at its end. */
static bool is_silent(const struct lull_step *step)
{
    return step->kind == LULL_STEP_COLLECTIVE_BEGIN && step->collective.request == LULL_NO_REQUEST;
}

size_t lull_wait_notes_of_steps(struct wait_reading *reading, const struct lull_step *steps,
                                size_t n_steps, struct wait_note *notes)
{
    size_t count = 0;
    for (const struct lull_step *step = steps; step < steps + n_steps; step++) {
        switch (step->kind) {
        case LULL_STEP_SPAN:
            count = note_work(reading, step, notes, count);
            break;
        case LULL_STEP_CALL_BEGIN:
            reading->in_call = true;
            reading->operations = false;
            reading->bytes = 0;
            notes[count++] = (struct wait_note){.kind = NOTE_CALL_BEGIN,
                                                .op = step->op,
                                                .time = step->time,
                                                .region = step->region};
            break;
        case LULL_STEP_CALL_END:
            count = note_end(reading, step, notes, count);
            reading->in_call = false;
            break;
        case LULL_STEP_SEND:
        case LULL_STEP_RECV:
        case LULL_STEP_COLLECTIVE_BEGIN:
        case LULL_STEP_COLLECTIVE_END:
            reading->operations = true;
            reading->bytes += moved_bytes(step);
            if (!is_silent(step))
                notes[count++] = note_of_operation(step);
            break;
        case LULL_STEP_SEND_DONE:
            reading->operations = true;
            if (reading->posts)
                notes[count++] = note_of_operation(step);
            break;
        case LULL_STEP_RECV_POST:
            if (reading->posts && step->message.request != LULL_NO_REQUEST)
                notes[count++] = note_of_operation(step);
            break;
        case LULL_STEP_END:
            notes[count++] = (struct wait_note){.kind = NOTE_END, .time = step->time};
            break;
        default:
            break;
        }
    }
    return count;
}

/* ==== what never comes ======================================================================== */

/* wait.c says how this is learned after the pass. */

/* A stream of the process has come to its end. If the process has ended thereby, those that wait
 * for its messages look again. */
static void wait_end(struct lull_waits *waits, uint32_t process)
{
    waits->ends[process]++;
    if (!waits->knows_ends || !lull_wait_has_ended(waits, process))
        return;
    for (uint32_t q = waits->queues_of[process]; q != LULL_NONE;
         q = waits->channels[q].next_of_source)
        lull_wait_wake_queue(waits, q);
}

/* Whether it is known that what a stream waits for never comes. */
static bool wait_never_comes(const struct lull_waits *waits, const struct wait_pending *pending)
{
    if (pending->is_post)
        return false; /* `reached` of a process that has ended is INT64_MAX, so the post is known */
    if (pending->is_message) {
        const uint32_t source = waits->channels[pending->what].source;
        return waits->ended[source] || (waits->knows_ends && !lull_wait_is_far(waits, source) &&
                                        lull_wait_has_ended(waits, source));
    }
    const struct wait_series *series = &waits->series[pending->what];
    const uint32_t rank = waits->members[pending->member].rank;
    const uint32_t *fewest = series->fewest;
    switch ((enum lull_awaited)pending->part.awaits) {
    case LULL_AWAITS_ROOT: /* if no process says that it is the root, all are waited for */
        if (pending->root >= 0 && !waits->ended[pending->root])
            return false;
        break;
    case LULL_AWAITS_OTHERS:
        return pending->number >= fewest[!lull_circle_side(waits->trace, series->comm, rank)];
    case LULL_AWAITS_LOWER: /* the rank that has ended may be above this one */
        return false;
    default:
        break;
    }
    return pending->number >= fewest[0] || pending->number >= fewest[1];
}

/* ==== stream ================================================================================== */

/* ---- causes -------------------------------------------------------------------------------- */

void lull_wait_cause_drop(struct wait_cause *cause)
{
    lull_wait_moment_drop(&cause->late);
    lull_wait_moment_drop(&cause->late_since);
}

struct wait_cause lull_wait_cause_keep(const struct wait_cause *cause)
{
    lull_wait_moment_keep(&cause->late);
    lull_wait_moment_keep(&cause->late_since);
    return *cause;
}

void lull_wait_tell_until(struct wait_stream *stream, int64_t time)
{
    if (!stream->in_call || time <= stream->told)
        return;
    stream->ledger.in_mpi += time - stream->told;
    stream->told = time;
}

struct wait_cause lull_wait_make_cause(struct lull_waits *waits, struct wait_stream *stream,
                                       int64_t time)
{
    const struct wait_moment late = lull_wait_moment_take(&stream->ledger);
    waits->no_memory |= !late.snapshot;
    return (struct wait_cause){.time = time,
                               .agent = stream->agent,
                               .call = stream->in_call ? stream->call : LULL_NONE,
                               .late = late};
}

/* ---- operations ---------------------------------------------------------------------------- */

void lull_wait_need(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_pending *pending)
{
    if (lull_array_reserve(&stream->pending, &stream->pending_capacity, stream->n_pending + 1,
                           sizeof *stream->pending))
        stream->pending[stream->n_pending++] = *pending;
    else
        waits->no_memory = true;
}

static void begin_collective(struct lull_waits *waits, struct wait_stream *stream,
                             const struct wait_note *note)
{
    lull_wait_tell_until(stream, note->time);
    if (!lull_array_reserve(&stream->open, &stream->open_capacity, stream->n_open + 1,
                            sizeof *stream->open)) {
        waits->no_memory = true;
        return;
    }
    struct wait_open *open = &stream->open[stream->n_open++];
    *open = (struct wait_open){.request = note->value,
                               .arrival = lull_wait_make_cause(waits, stream, note->time)};
    if (open->arrival.late.snapshot && lull_circle_knows(waits->trace, note->comm, note->op) &&
        !lull_circle_is_alone(waits->trace, note->comm)) {
        open->arrived = lull_wait_arrive(waits, note, &open->arrival, &open->pending);
        open->arrival.late.snapshot = NULL;
    }
}

/* Takes a collective operation that does not block out of the open ones. False: it began before the
 * trace. */
static bool take_open(struct wait_stream *stream, uint64_t request, struct wait_open *ret_open)
{
    size_t i = 0;
    while (i < stream->n_open && stream->open[i].request != request)
        i++;
    if (i == stream->n_open)
        return false;
    *ret_open = stream->open[i];
    stream->open[i] = stream->open[--stream->n_open];
    return true;
}

static bool end_open(struct lull_waits *waits, struct wait_stream *stream,
                     const struct wait_note *note, struct wait_pending *ret_pending)
{
    struct wait_open open;
    if (!take_open(stream, note->value, &open))
        return false;
    if (!open.arrived && open.arrival.late.snapshot) {
        open.arrived = lull_wait_arrive(waits, note, &open.arrival, &open.pending);
        open.arrival.late.snapshot = NULL;
    }
    *ret_pending = open.pending;
    return open.arrived;
}

/* Forgets an operation whose communicator has one rank, or cannot be followed. */
static void forget_open(struct wait_stream *stream, uint64_t request)
{
    struct wait_open open;
    if (take_open(stream, request, &open))
        lull_wait_cause_drop(&open.arrival);
}

static bool arrive_now(struct lull_waits *waits, struct wait_stream *stream,
                       const struct wait_note *note, struct wait_pending *ret_pending)
{
    const int64_t time = stream->in_call ? stream->call_began : note->time;
    const struct wait_cause arrival = lull_wait_make_cause(waits, stream, time);
    return arrival.late.snapshot && lull_wait_arrive(waits, note, &arrival, ret_pending);
}

static void end_collective(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *note)
{
    struct wait_pending pending;
    bool known = lull_circle_knows(waits->trace, note->comm, note->op);
    const bool alone = known && lull_circle_is_alone(waits->trace, note->comm);
    if (known && !alone)
        known = note->value == LULL_NO_REQUEST ? arrive_now(waits, stream, note, &pending)
                                               : end_open(waits, stream, note, &pending);
    else
        forget_open(stream, note->value);
    if (!known)
        stream->unmatched = true;
    else if (!alone)
        lull_wait_need(waits, stream, &pending);
}

/* In MPI_Finalize all processes wait for all, though no operation is recorded. */
static void come_to_end(struct lull_waits *waits, struct wait_stream *stream)
{
    struct wait_pending pending;
    const struct wait_cause arrival = lull_wait_make_cause(waits, stream, stream->call_began);
    if (stream->operated > 0)
        stream->sums.tail_ns = stream->call_began - stream->operated;
    if (arrival.late.snapshot && lull_wait_arrive_at_end(waits, &arrival, &pending))
        lull_wait_need(waits, stream, &pending);
    else
        stream->unmatched = true;
}

/* ---- the end of a call --------------------------------------------------------------------- */

/* How many ns from `begin` to `end` are inside the windows. */
static int64_t time_inside(const struct lull_waits *waits, const struct wait_stream *stream,
                           int64_t begin, int64_t end)
{
    const struct lull_windows *windows = waits->reading->windows;
    int64_t sum = 0;
    if (!windows)
        return end - begin;
    const struct lull_interval *intervals = windows->intervals[stream->process];
    for (uint32_t i = 0; i < windows->counts[stream->process]; i++) {
        const int64_t from = begin > intervals[i].begin ? begin : intervals[i].begin;
        const int64_t to = end < intervals[i].end ? end : intervals[i].end;
        sum += to > from ? to - from : 0;
    }
    return sum;
}

/* The call may end operations in which all ranks waited for all, and so met. For these, keeps what
 * this process had done by then: the next wait in such an operation is divided by what was done
 * since. */
static void meet_all(struct lull_waits *waits, struct wait_stream *stream)
{
    for (size_t i = 0; i < stream->n_pending; i++) {
        struct wait_member *member = lull_wait_meets_all(waits, &stream->pending[i]);
        if (!member)
            continue;
        lull_wait_moment_move(&member->base, lull_wait_moment_take(&stream->ledger));
        member->met = stream->pending[i].number + 1;
        waits->no_memory |= !member->base.snapshot;
    }
    if (stream->anew)
        lull_wait_ledger_begin_anew(&stream->ledger);
}

/* `length` and `transfer` are the parts of the call inside the windows. */
static void count_call(struct lull_waits *waits, const struct wait_stream *stream, int64_t length,
                       int64_t transfer)
{
    if (length <= 0 || stream->call >= waits->trace->n_regions)
        return;
    struct lull_wait_call *call = &waits->calls[stream->call];
    call->calls++;
    call->bytes += stream->bytes;
    call->transfer_ns += transfer;
    call->waited_ns += length - transfer;
}

/* Ends a call when all that it needs is there: charges the wait for the latest cause. */
static void end_call(struct lull_waits *waits, struct wait_stream *stream)
{
    const int64_t begin = stream->told, end = stream->call_ends;
    const int64_t until = stream->cause.time < end ? stream->cause.time : end;
    struct lull_wait_location *sums = &stream->sums;
    int64_t waited = 0;
    if (stream->cause.late.snapshot && until > begin) {
        waited = time_inside(waits, stream, begin, until);
        waits->no_memory |=
            !lull_wait_charge(waits, stream, begin, until - begin, waited) ||
            !lull_wait_devices_note(waits->devices, stream->location, begin, until,
                                    lull_wait_process_of(waits, stream->cause.agent));
        stream->told = until;
    }
    meet_all(waits, stream);
    lull_wait_tell_until(stream, end);
    if (stream->in_call) {
        const int64_t length = time_inside(waits, stream, stream->call_began, end);
        sums->mpi_ns += length;
        if (stream->cause_kind != LULL_WAIT_LATE_SENDER)
            sums->waited_ns[stream->cause_kind] += waited;
        *(stream->unmatched ? &sums->unmatched_ns : &sums->transfer_ns) += length - waited;
        if (!stream->unmatched && stream->operates)
            count_call(waits, stream, length, length - waited);
    }
    lull_wait_cause_drop(&stream->cause);
    lull_wait_moment_drop(&stream->since);
    stream->pending_at = stream->n_pending = 0;
    if (stream->operates)
        stream->operated = end;
    stream->operates = false;
    stream->unmatched = stream->anew = stream->in_call = false;
}

/* Keeps the latest of the causes that a call needs, because that is the one it waits for; of two at
 * the same time, that of the lower agent. Takes the references of `cause`. */
static void keep_latest(struct wait_stream *stream, struct wait_cause *cause,
                        const struct wait_moment *since, uint8_t kind, bool met_all)
{
    const struct wait_cause *kept = &stream->cause;
    if (cause->late.snapshot && (!kept->late.snapshot || cause->time > kept->time ||
                                 (cause->time == kept->time && cause->agent < kept->agent))) {
        lull_wait_cause_drop(&stream->cause);
        stream->cause = *cause;
        stream->cause_kind = kind;
        stream->met_all = met_all;
        lull_wait_moment_move(&stream->since,
                              since ? lull_wait_moment_keep(since) : (struct wait_moment){0});
    } else {
        lull_wait_cause_drop(cause);
    }
}

bool lull_wait_go_without(struct lull_waits *waits, struct wait_stream *stream,
                          const struct wait_pending *pending)
{
    stream->unmatched = true;
    waits->unmatched_operations++;
    waits->unmatched_ends += pending->kind == LULL_WAIT_FINALIZE;
    return true;
}

/* Whether what a call needs next is there, or never comes. If not, the stream waits for it in a
 * list. */
static bool is_there(struct lull_waits *waits, struct wait_stream *stream,
                     const struct wait_pending *pending)
{
    struct wait_cause cause;
    const struct wait_moment *since = NULL;
    if (pending->is_post) {
        if (!lull_wait_is_posted(waits, stream, pending, &cause))
            return false;
    } else if (pending->is_message) {
        if (!lull_wait_receive(waits, pending->what, pending->number, &cause)) {
            if (wait_never_comes(waits, pending))
                return lull_wait_go_without(waits, stream, pending);
            stream->next_waiting = waits->queues.all[pending->what].waiting;
            waits->queues.all[pending->what].waiting = stream;
            lull_wait_blocked_by(waits, stream->process, waits->channels[pending->what].source);
            return false;
        }
        lull_wait_came_first(stream, cause.time);
        waits->received++;
    } else {
        if (!lull_wait_leave(waits, pending, &cause, &stream->anew)) {
            if (wait_never_comes(waits, pending))
                return lull_wait_go_without(waits, stream, pending);
            lull_wait_in_line(waits, stream, pending);
            return false;
        }
        waits->gathered += pending->kind != LULL_WAIT_FINALIZE;
        const struct wait_member *member = lull_wait_meets_all(waits, pending);
        if (member && member->met == cause.met) /* else other threads of the processes met later */
            since = &member->base;
    }
    keep_latest(stream, &cause, since, pending->kind, since != NULL);
    return true;
}

/* Ends the call if all that it needs is there; else the stream is blocked. */
static void wait_for_all(struct lull_waits *waits, struct wait_stream *stream)
{
    for (; stream->pending_at < stream->n_pending; stream->pending_at++) {
        stream->blocked = true; /* streams that is_there makes ready see this stream as blocked */
        if (!is_there(waits, stream, &stream->pending[stream->pending_at]))
            return;
        stream->blocked = false;
    }
    end_call(waits, stream);
}

/* ---- notes --------------------------------------------------------------------------------- */

static void work(struct lull_waits *waits, struct wait_stream *stream, const struct wait_note *note)
{
    const int64_t ns = (int64_t)note->value;
    if (!note->op) {
        const uint64_t key = lull_wait_key(LULL_WAIT_OWN, note->region);
        waits->no_memory |= !lull_wait_ledger_add(&stream->ledger, key, LULL_NONE, ns);
    } else {
        stream->ledger.in_mpi += ns;
        stream->sums.mpi_ns += ns;
        stream->sums.unmatched_ns += ns;
    }
}

static void begin_call(struct wait_stream *stream, int64_t time, uint32_t region, uint8_t kind)
{
    stream->in_call = true;
    stream->call = region;
    stream->call_kind = kind;
    stream->call_began = stream->told = time;
}

/* Tells senders that wait for a receive of this process that the process has come to `time`. */
static void reach(struct lull_waits *waits, const struct wait_stream *stream, int64_t time)
{
    if (waits->follows_posts)
        lull_wait_reach(waits, stream->process, time);
}

/* The stream does nothing more that others may wait for. */
static void end_stream(struct lull_waits *waits, struct wait_stream *stream)
{
    if (!stream->ended)
        wait_end(waits, stream->process);
    stream->ended = true;
    reach(waits, stream, INT64_MAX);
}

/* Ends a call, or several ones, in which there is nothing to wait for. */
static void end_alone(struct lull_waits *waits, struct wait_stream *stream, int64_t end)
{
    const int64_t length = time_inside(waits, stream, stream->call_began, end);
    stream->call_ends = end;
    reach(waits, stream, end);
    lull_wait_tell_until(stream, end);
    stream->sums.mpi_ns += length;
    stream->sums.transfer_ns += length;
    stream->bytes = 0;
    count_call(waits, stream, length, length);
    stream->in_call = false;
}

static void take_send_call(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *note)
{
    begin_call(stream, note->time - (int64_t)(note->value >> 32), (uint32_t)note->root, note->call);
    lull_wait_note_message(waits, stream, note);
    end_alone(waits, stream, note->time + (uint32_t)note->value);
    stream->operated = stream->call_ends;
}

static void take_operation(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *note)
{
    stream->operates = true;
    if (note->kind == NOTE_BEGIN)
        begin_collective(waits, stream, note);
    else if (note->kind == NOTE_COLLECTIVE)
        end_collective(waits, stream, note);
    else
        lull_wait_note_message(waits, stream, note);
    if (stream->in_call)
        return;
    stream->call_began = stream->call_ends = stream->told = note->time;
    wait_for_all(waits, stream);
}

static void take_note(struct lull_waits *waits, struct wait_stream *stream,
                      const struct wait_note *note)
{
    switch ((enum wait_note_kind)note->kind) {
    case NOTE_WORK:
        work(waits, stream, note);
        break;
    case NOTE_CALL:
        begin_call(stream, (int64_t)note->value, LULL_NONE, note->op);
        end_alone(waits, stream, note->time);
        break;
    case NOTE_SEND_CALL:
        take_send_call(waits, stream, note);
        break;
    case NOTE_CALL_BEGIN:
        begin_call(stream, note->time, note->region, note->op);
        break;
    case NOTE_CALL_END:
        stream->call_ends = note->time;
        stream->unmatched |= note->lost;
        stream->bytes = note->value;
        reach(waits, stream, note->time);
        if (note->op == LULL_CALL_FINALIZE) {
            come_to_end(waits, stream);
            end_stream(waits, stream);
        }
        wait_for_all(waits, stream);
        break;
    case NOTE_END:
        end_stream(waits, stream);
        break;
    default:
        take_operation(waits, stream, note);
    }
}

static void go_on(struct lull_waits *waits, struct wait_stream *stream)
{
    const struct wait_note *note;
    stream->blocked = false;
    wait_for_all(waits, stream);
    while (!stream->blocked && (note = wait_notes_first(&stream->notes)) != NULL) {
        take_note(waits, stream, note);
        wait_notes_drop(&stream->notes);
    }
}

void lull_wait_ready(struct lull_waits *waits, struct wait_stream *stream)
{
    stream->blocked = false; /* others must not count it as blocked any more */
    stream->next_ready = waits->ready;
    waits->ready = stream;
}

void lull_wait_run_ready(struct lull_waits *waits)
{
    while (waits->ready && !waits->no_memory) {
        struct wait_stream *stream = waits->ready;
        waits->ready = stream->next_ready;
        go_on(waits, stream);
    }
}

void lull_wait_stream_take(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *notes, size_t count)
{
    size_t taken = 0;
    while (taken < count && !stream->blocked && !waits->no_memory) {
        take_note(waits, stream, &notes[taken++]);
        lull_wait_run_ready(waits);
    }
    waits->no_memory |= !wait_notes_push(&stream->notes, notes + taken, count - taken);
}

void lull_wait_stream_free(struct wait_stream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; i < stream->n_open; i++)
        lull_wait_cause_drop(&stream->open[i].arrival);
    lull_wait_cause_drop(&stream->cause);
    lull_wait_cause_drop(&stream->answer);
    lull_wait_moment_drop(&stream->since);
    lull_wait_ledger_free(&stream->ledger);
    wait_notes_free(&stream->notes);
    free(stream->pending);
    free(stream->open);
    for (size_t i = 0; i < stream->n_posted; i++)
        lull_wait_cause_drop(&stream->posted[i].posted);
    free(stream->posted);
    free(stream->issued);
    for (uint32_t i = 0; i < LULL_WAIT_HELD; i++)
        free(stream->held[i].dues);
    free(stream->routes.queues);
    free(stream);
}

/* ==== lanes =================================================================================== */

/* A lane holds the threads of a process that communicate side by side. It numbers their sends,
 * receives and operations in the order of time. After that each thread is a stream of its own,
 * which may wait while the others go on. */

struct lane_thread {
    struct wait_stream *stream; /* NULL: nothing of the thread has been read */
    struct wait_note_queue notes;
    bool ended;
};

struct wait_lane {
    uint32_t n_threads;
    struct lane_thread threads[]; /* [n_threads], from the first location of the process on */
};

bool lull_wait_lanes_create(struct lull_waits *waits)
{
    const struct lull_trace *trace = waits->trace;
    waits->lanes = calloc(trace->n_processes + (size_t)1, sizeof(struct wait_lane *));
    for (uint32_t p = 0; waits->lanes && p < trace->n_processes; p++) {
        const uint32_t n = trace->processes[p].n_threads;
        struct wait_lane *lane = calloc(1, sizeof *lane + n * sizeof *lane->threads);
        if (!lane)
            return false;
        lane->n_threads = n;
        waits->lanes[p] = lane;
    }
    return waits->lanes != NULL;
}

void lull_wait_lanes_free(struct lull_waits *waits)
{
    for (uint32_t p = 0; waits->lanes && p < waits->trace->n_processes; p++) {
        struct wait_lane *lane = waits->lanes[p];
        for (uint32_t t = 0; lane && t < lane->n_threads; t++)
            wait_notes_free(&lane->threads[t].notes);
        free(lane);
    }
    free(waits->lanes);
}

/* The thread with the earliest note, of several the lowest thread. NULL: no note is left, or a
 * thread that has not ended has none yet, which may be earlier. */
static struct lane_thread *find_earliest_lane_thread(struct wait_lane *lane)
{
    struct lane_thread *first = NULL;
    int64_t time = 0;
    for (uint32_t t = 0; t < lane->n_threads; t++) {
        const struct wait_note *note = wait_notes_first(&lane->threads[t].notes);
        if (!note && !lane->threads[t].ended)
            return NULL;
        if (note && (!first || note->time < time)) {
            first = &lane->threads[t];
            time = note->time;
        }
    }
    return first;
}

static void number_note(struct lull_waits *waits, const struct wait_stream *stream,
                        struct wait_note *note)
{
    const bool sends = note->kind == NOTE_SEND || note->kind == NOTE_SEND_CALL;
    if (sends || note->kind == NOTE_RECEIVE) {
        const uint32_t index = lull_wait_queue_of_note(stream, note);
        if (index == LULL_NONE)
            return;
        struct lull_match_queue *queue = &waits->queues.all[index];
        note->number = sends ? queue->sent++ : queue->received++;
    } else if ((note->kind == NOTE_BEGIN || note->kind == NOTE_COLLECTIVE) &&
               lull_circle_knows(waits->trace, note->comm, note->op) &&
               !lull_circle_is_alone(waits->trace, note->comm)) {
        note->number = lull_wait_number_operation(waits, note, stream->process);
    }
}

void lull_wait_lane_take(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *notes, size_t count)
{
    struct wait_lane *lane = waits->lanes[stream->process];
    struct lane_thread *own =
        &lane->threads[stream->location - waits->trace->processes[stream->process].first_location];
    own->stream = stream;
    for (size_t i = 0; i < count; i++) {
        waits->no_memory |= !wait_notes_push(&own->notes, &notes[i], 1);
        own->ended |= notes[i].kind == NOTE_END;
    }
    for (struct lane_thread *first;
         !waits->no_memory && (first = find_earliest_lane_thread(lane)) != NULL;) {
        struct wait_note note = *wait_notes_first(&first->notes);
        wait_notes_drop(&first->notes);
        number_note(waits, first->stream, &note);
        lull_wait_stream_take(waits, first->stream, &note, 1);
    }
}
