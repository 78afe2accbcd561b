/* One agent: notes move its ledger, and its calls wait for what they need. */
#include "base/array.h"
#include "wait/share.h"

#include <stdlib.h>

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
    bool alone = false;
    lull_wait_tell_until(stream, note->time);
    if (!lull_array_reserve(&stream->open, &stream->open_capacity, stream->n_open + 1,
                            sizeof *stream->open)) {
        waits->no_memory = true;
        return;
    }
    struct wait_open *open = &stream->open[stream->n_open++];
    *open = (struct wait_open){.request = note->value,
                               .arrival = lull_wait_make_cause(waits, stream, note->time)};
    if (open->arrival.late.snapshot && lull_wait_is_known(waits, note->comm, note->op, &alone) &&
        !alone) {
        open->arrived = lull_wait_arrive(waits, note, &open->arrival, &open->pending);
        open->arrival.late.snapshot = NULL;
    }
}

/* One that does not block is taken out of those that are open; false: it began before the trace. */
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

/* One whose communicator has one member, or cannot be followed. */
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
    bool alone = false, known = lull_wait_is_known(waits, note->comm, note->op, &alone);
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

/* ---- the end of a call --------------------------------------------------------------------- */

/* How much of that time is inside the windows. */
static int64_t time_inside(const struct lull_waits *waits, const struct wait_stream *stream,
                           int64_t begin, int64_t end)
{
    const struct lull_windows *windows = waits->options.windows;
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

/* Those with whom all have met know since when they will be compared. */
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

static void end_call(struct lull_waits *waits, struct wait_stream *stream)
{
    const int64_t begin = stream->told, end = stream->call_ends;
    const int64_t until = stream->cause.time < end ? stream->cause.time : end;
    struct lull_wait_location *sums = &stream->sums;
    int64_t waited = 0;
    if (stream->cause.late.snapshot && until > begin) {
        waited = time_inside(waits, stream, begin, until);
        waits->no_memory |= !lull_wait_charge(waits, stream, begin, until - begin, waited);
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
    }
    lull_wait_cause_drop(&stream->cause);
    lull_wait_moment_drop(&stream->since);
    stream->pending_at = stream->n_pending = 0;
    stream->unmatched = stream->anew = stream->in_call = false;
}

/* The latest of what a call needs is what it waits for; of two at the same time that of the lower
 * agent. */
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

bool lull_wait_go_without(struct lull_waits *waits, struct wait_stream *stream)
{
    stream->unmatched = true;
    waits->unmatched_operations++;
    return true;
}

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
            if (lull_wait_never_comes(waits, pending))
                return lull_wait_go_without(waits, stream);
            stream->next_waiting = waits->queues[pending->what].waiting;
            waits->queues[pending->what].waiting = stream;
            lull_wait_blocked_by(waits, stream->process, waits->queues[pending->what].source);
            return false;
        }
        lull_wait_came_first(stream, cause.time);
        waits->received++;
    } else {
        if (!lull_wait_leave(waits, pending, &cause, &stream->anew)) {
            if (lull_wait_never_comes(waits, pending))
                return lull_wait_go_without(waits, stream);
            lull_wait_in_line(waits, stream, pending);
            return false;
        }
        waits->gathered++;
        const struct wait_member *member = lull_wait_meets_all(waits, pending);
        if (member && member->met == cause.met) /* other threads may have met before */
            since = &member->base;
    }
    keep_latest(stream, &cause, since, pending->kind, since != NULL);
    return true;
}

/* Ends the call when all that it needs is there; else the stream is blocked. */
static void wait_for_all(struct lull_waits *waits, struct wait_stream *stream)
{
    for (; stream->pending_at < stream->n_pending; stream->pending_at++) {
        stream->blocked = true; /* is seen by those whom this wakes */
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

/* Whoever waits for a receive of this process may see now that there is none. */
static void reach(struct lull_waits *waits, const struct wait_stream *stream, int64_t time)
{
    if (waits->follows_posts)
        lull_wait_reach(waits, stream->process, time);
}

/* A call, or several, in which there is nothing to wait for. */
static void end_alone(struct lull_waits *waits, struct wait_stream *stream, int64_t end)
{
    const int64_t length = time_inside(waits, stream, stream->call_began, end);
    stream->call_ends = end;
    reach(waits, stream, end);
    lull_wait_tell_until(stream, end);
    stream->sums.mpi_ns += length;
    stream->sums.transfer_ns += length;
    stream->in_call = false;
}

static void take_send_call(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *note)
{
    begin_call(stream, note->time - (int64_t)(note->value >> 32), (uint32_t)note->root, note->call);
    lull_wait_note_message(waits, stream, note);
    end_alone(waits, stream, note->time + (uint32_t)note->value);
}

static void take_operation(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *note)
{
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
        reach(waits, stream, note->time);
        wait_for_all(waits, stream);
        break;
    case NOTE_END:
        lull_wait_end(waits, stream->process);
        reach(waits, stream, INT64_MAX);
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
    while (!stream->blocked && (note = lull_wait_notes_first(&stream->notes)) != NULL) {
        take_note(waits, stream, note);
        lull_wait_notes_drop(&stream->notes);
    }
}

void lull_wait_ready(struct lull_waits *waits, struct wait_stream *stream)
{
    stream->blocked = false; /* as others see it */
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
    waits->no_memory |= !lull_wait_notes_push(&stream->notes, notes + taken, count - taken);
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
    lull_wait_notes_free(&stream->notes);
    free(stream->pending);
    free(stream->open);
    for (size_t i = 0; i < stream->n_posted; i++)
        lull_wait_cause_drop(&stream->posted[i].posted);
    free(stream->posted);
    free(stream->issued);
    for (uint32_t i = 0; i < LULL_WAIT_HELD; i++)
        free(stream->held[i].dues);
    free(stream->routes);
    free(stream);
}
