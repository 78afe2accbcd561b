/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/order.h"

#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/ahead.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/gather.h"
#include "replay/ideal/stream.h"

#include <string.h>

/* ==== the threads of one process ============================================================== */

/* ---- meetings ------------------------------------------------------------------------------ */

/* A fork or join of the master comes in the common order. If there are followers, the meeting is
 * kept until they have come to it; else the master meets nobody. */
static void add_meeting(struct share *share, struct crew *crew, struct note *note)
{
    bool beyond = share->ideal->has_span && note->time >= share->ideal->to;
    note->what = LULL_NONE;
    if (beyond)
        return;
    crew->n_meetings++;
    crew->last_meeting = note->time;
    note->what = crew->n_meetings;
    note->number = 1 + crew->followers;
    if (crew->followers == 0)
        return;
    if (crew->first_kept > 64 && 2 * crew->first_kept > crew->n_kept) {
        crew->n_kept -= crew->first_kept;
        memmove(crew->meetings, crew->meetings + crew->first_kept,
                crew->n_kept * sizeof *crew->meetings);
        crew->first_kept = 0;
    }
    if (!lull_array_reserve(&crew->meetings, &crew->capacity, crew->n_kept + 1,
                            sizeof *crew->meetings)) {
        lull_share_no_memory(share);
        return;
    }
    crew->meetings[crew->n_kept++] = (struct meeting){.time = note->time, .size = note->number};
}

/* The last item of crew->meetings is the last meeting in the common order. */
static const struct meeting *find_meeting(const struct crew *crew, uint32_t number)
{
    return &crew->meetings[crew->n_kept - 1 - (crew->n_meetings - number)];
}

/* The stream goes to the meetings before a note; false: it is blocked at one. Between the point of
 * its last note and a meeting, its kept time is taken to grow as time does, up to that of the note:
 * so computation comes first, and waiting behind it. Meetings at the very time when a call ends are
 * left for the next note. If the call kept no time, meetings inside it are left, too: the call was
 * waiting, and what it waited for comes first. */
static bool meet_before(struct share *share, struct stream *stream, const struct note *note)
{
    struct crew *crew = stream->process->crew;
    bool beyond = share->ideal->has_span && note->time > share->ideal->to;
    bool ends = note->kind == LULL_STEP_CALL_END;
    while (stream->follows && stream->meeting <= crew->n_meetings) {
        const struct meeting *meeting = find_meeting(crew, stream->meeting);
        if (meeting->time > note->time || (ends && meeting->time == note->time) ||
            (ends && !beyond && note->kept == stream->point_kept))
            break;
        int64_t before = meeting->time - stream->point_time;
        int64_t kept = stream->point_kept + (before > 0 ? before : 0);
        kept = kept < note->kept ? kept : note->kept;
        lull_ideal_stream_move(share, stream, kept);
        stream->point_kept = kept;
        stream->point_time = meeting->time;
        stream->stopped_at = meeting->time;
        lull_crew_meet(share, stream, stream->meeting, meeting->size);
        if (stream->blocked != RUNNABLE)
            return false;
    }
    stream->point_time = note->time;
    stream->point_kept = note->kept;
    return true;
}

/* ---- evaluation of what is in order -------------------------------------------------------- */

static void go_on_in_order(struct share *share, struct stream *stream)
{
    while (!lull_notes_at_middle(&stream->notes) && share->status == LULL_OK) {
        const struct note note = *lull_notes_front(&stream->notes);
        const bool meets =
            stream != stream->process->crew->streams[0] && note.kind != LULL_STEP_USER;
        if (stream->blocked != ENDED &&
            (stream->blocked != RUNNABLE || (meets && !meet_before(share, stream, &note))))
            return;
        lull_notes_pop(&share->pool, &stream->notes);
        if (stream->blocked != ENDED)
            lull_ideal_stream_take(share, stream, &note);
    }
}

static void go_on_as_crew(struct share *share, struct stream *stream)
{
    const struct crew *crew = stream->process->crew;
    if (stream->blocked == RUNNABLE && stream->awaits > 0 && stream->awaits <= crew->over) {
        stream->awaits = 0;
        lull_ideal_path_later(share->paths, &stream->time, &stream->path, crew->left_at,
                              lull_ideal_path_hold(share->paths, crew->left_path));
    }
    go_on_in_order(share, stream);
}

/* ---- the common order ---------------------------------------------------------------------- */

/* Whether a thread is followed from this note on: it is a message, a collective operation, the
 * begin or end of a call for these, or it is about threads that the program makes. */
static bool note_communicates(const struct share *share, const struct note *note)
{
    const struct lull_trace *trace = share->ideal->trace;
    if (lull_is_of_threads(note->kind))
        return true;
    if (note->kind == LULL_STEP_CALL_BEGIN || note->kind == LULL_STEP_CALL_END) {
        uint8_t activity = lull_activity_on(&trace->regions[note->what], LULL_LOCATION_THREAD);
        return activity == LULL_MPI_P2P || activity == LULL_MPI_COLLECTIVE;
    }
    return LULL_STEP_MASK(note->kind) & LULL_STEPS_OF_MPI;
}

/* The thread is followed from the last meeting on. */
static void begin_following(struct share *share, struct crew *crew, struct stream *stream)
{
    stream->calls = true;
    if (!stream->follows) { /* it never meets the master: its time counts from the begin */
        stream->kept = 0;
        return;
    }
    stream->kept = stream->point_kept;
    stream->meeting = crew->n_meetings + 1;
    crew->followers++;
    if (crew->over == crew->n_meetings) {
        stream->time = crew->left_at;
        lull_ideal_path_set(share->paths, &stream->path,
                            lull_ideal_path_hold(share->paths, crew->left_path));
    } else {
        lull_crew_await(crew, stream, crew->n_meetings);
    }
}

/* A note of a thread that has not communicated yet. All that matters of such a thread is its kept
 * time at the last meeting and at its last note. */
static void pass_over(const struct crew *crew, struct stream *stream, const struct note *note)
{
    if (stream->meeting != crew->n_meetings) { /* there was a meeting since its last note */
        int64_t before = crew->last_meeting - stream->point_time;
        int64_t kept = stream->kept + (before > 0 ? before : 0);
        stream->point_kept = kept < note->kept ? kept : note->kept;
        stream->meeting = crew->n_meetings;
    }
    stream->point_time = note->time;
    stream->kept = note->kept;
}

static void order_note(struct share *share, struct crew *crew, struct stream *stream)
{
    struct note *note = lull_notes_middle(&stream->notes);
    bool is_master = stream == crew->streams[0];
    if (is_master && (note->kind == LULL_STEP_FORK || note->kind == LULL_STEP_JOIN))
        add_meeting(share, crew, note);
    else if (note->kind == LULL_STEP_SEND && note->what != LULL_NONE)
        note->number = share->queues.all[note->what].sent++;
    else if (note->kind == LULL_STEP_RECV && note->what != LULL_NONE)
        note->number = share->queues.all[note->what].received++;
    else if (lull_is_of_threads(note->kind))
        lull_lives_order(share, crew, note);
    else if ((note->kind == LULL_STEP_COLLECTIVE_BEGIN || note->kind == LULL_STEP_COLLECTIVE_END) &&
             lull_read_gathers(share, note))
        note->ticket = lull_gather_ticket(share, stream->process, note->what, note->op,
                                          note->flags & NOTE_REQUEST);
    lull_synchronous_foresee(share, stream, note);
    if (!stream->calls) {
        pass_over(crew, stream, note);
        if (!note_communicates(share, note)) {
            lull_notes_advance_middle(&stream->notes);
            lull_notes_pop(&share->pool, &stream->notes);
            return;
        }
        begin_following(share, crew, stream);
        note->flags |= NOTE_MOVES; /* also inside a call whose begin was passed over */
    }
    lull_notes_advance_middle(&stream->notes);
}

static bool is_before(struct turn a, struct turn b)
{
    if (a.time != b.time)
        return a.time < b.time;
    return a.has_waited != b.has_waited ? b.has_waited : a.thread < b.thread;
}

static struct turn turn_of(const struct note *note, uint32_t thread)
{
    return (struct turn){note->time, thread,
                         note->kind == LULL_STEP_THREAD_BEGIN ||
                             note->kind == LULL_STEP_THREAD_WAIT_END};
}

static void put_turn(struct crew *crew, uint32_t at, struct turn turn)
{
    crew->heap[at] = turn;
    crew->place[turn.thread] = at;
}

/* The turn of a thread is later than it was: moves it down the heap. */
static void put_off(struct crew *crew, uint32_t thread)
{
    const struct stream *stream = crew->streams[thread];
    const struct note *note = lull_notes_middle(&stream->notes);
    const struct turn turn =
        note ? turn_of(note, thread) : (struct turn){stream->until, thread, false};
    uint32_t at = crew->place[thread];
    for (uint32_t child; (child = 2 * at + 1) < crew->n_streams; at = child) {
        child += child + 1 < crew->n_streams && is_before(crew->heap[child + 1], crew->heap[child]);
        if (!is_before(crew->heap[child], turn))
            break;
        put_turn(crew, at, crew->heap[child]);
    }
    put_turn(crew, at, turn);
}

/* The second earliest turn: in a heap it is one of the two children of the first. */
static struct turn find_second(const struct crew *crew)
{
    struct turn second = {INT64_MAX, UINT32_MAX, true};
    for (uint32_t i = 1; i < 3 && i < crew->n_streams; i++)
        if (is_before(crew->heap[i], second))
            second = crew->heap[i];
    return second;
}

/* Brings into order each note whose time all other threads have been read up to, and evaluates what
 * can be evaluated then. */
static void bring_into_order(struct share *share, struct crew *crew)
{
    while (share->status == LULL_OK) {
        const uint32_t thread = crew->heap[0].thread;
        struct stream *stream = crew->streams[thread];
        const struct note *note = lull_notes_middle(&stream->notes);
        const struct turn second = find_second(crew);
        if (!note)
            return;
        for (; note && share->status == LULL_OK && is_before(turn_of(note, thread), second);
             note = lull_notes_middle(&stream->notes))
            order_note(share, crew, stream);
        put_off(crew, thread);
        if (stream->calls)
            go_on_in_order(share, stream);
    }
}

static void push_note(struct share *share, struct stream *stream, const struct note *note)
{
    struct note *pushed = lull_notes_push(&share->pool, &stream->notes);
    if (pushed)
        *pushed = *note;
    else
        lull_share_no_memory(share);
}

static void push_notes(struct share *share, struct stream *stream, const struct lull_step *step,
                       const struct lull_channels *channels)
{
    struct note note, parts[LULL_IDEAL_PARTS];
    lull_read_note(share, stream, step, channels, &note);
    const uint32_t count = lull_read_path(stream, &note, parts);
    for (uint32_t i = 0; i < count; i++)
        push_note(share, stream, &parts[i]);
    push_note(share, stream, &note);
}

void lull_order_steps(struct share *share, struct stream *stream, const struct lull_steps *steps)
{
    struct crew *crew = stream->process->crew;
    for (uint32_t i = 0; i < steps->count && share->status == LULL_OK; i++) {
        const struct lull_step *step = &steps->steps[i];
        bool is_last = step->kind == LULL_STEP_END;
        if (is_last || step->time > stream->until)
            stream->until = is_last ? INT64_MAX : step->time;
        if (lull_read_is_silent(share, stream, step))
            continue;
        push_notes(share, stream, step, steps->channels);
    }
    if (steps->ledger && stream->until < INT64_MAX && steps->ledger->now > stream->until)
        stream->until = steps->ledger->now;
    put_off(crew, stream->location - crew->streams[0]->location);
    bring_into_order(share, crew);
}

/* ==== going on ================================================================================ */

static void resume_stream(struct share *share, struct stream *stream)
{
    lull_ideal_stream_wake(share, stream);
    if (stream->process->crew)
        go_on_as_crew(share, stream);
    else
        lull_ideal_stream_go_on(share, stream);
    const unsigned char now = stream->blocked;
    struct reader *reader = stream->reader;
    if (stream->owner && now == RUNNABLE && lull_notes_empty(&stream->notes))
        lull_ahead_end_tail(share, stream);
    if ((now == RUNNABLE || now == ENDED) &&
        atomic_load_explicit(&share->full, memory_order_relaxed))
        atomic_store(&reader->hungry, true);
}

void lull_order_run(struct share *share)
{
    while (share->ready && share->status == LULL_OK) {
        struct stream *stream = share->ready;
        share->ready = stream->next_ready;
        resume_stream(share, stream);
    }
}
