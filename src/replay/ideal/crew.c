#include "replay/ideal/crew.h"

#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/share.h"
#include "replay/ideal/stream.h"

#include <string.h>

/* ==== threads that the program makes ========================================================== */

/* A thread that the program makes (pthreads) begins when the thread that makes it has come so far.
 * A join waits for the end of a thread, a barrier for all threads that come to it. A thread waits
 * only for what comes first in the common order: a thread whose making the trace shows after its
 * begin, or not at all, begins at once. */

static bool is_barrier(const struct note *note)
{
    return note->op == LULL_THREAD_WAIT_BARRIER &&
           (note->kind == LULL_STEP_THREAD_WAIT_BEGIN || note->kind == LULL_STEP_THREAD_WAIT_END);
}

/* ---- the common order ---------------------------------------------------------------------- */

/* LULL_NONE: no memory, which is noted. */
static uint32_t find_life(struct share *share, struct crew *crew, uint64_t number)
{
    bool is_new = false;
    uint64_t *index = NULL;
    if (lull_array_reserve(&crew->lives, &crew->life_capacity, crew->n_lives + 1,
                           sizeof *crew->lives))
        index =
            lull_hash_add(&crew->lives_by_number, &number, sizeof number, crew->n_lives, &is_new);
    if (!index) {
        lull_share_no_memory(share);
        return LULL_NONE;
    }
    if (is_new)
        crew->lives[crew->n_lives++] = (struct life){.made_at = -1, .ended_at = -1};
    return (uint32_t)*index;
}

/* The open barrier of that number, or a new one; LULL_NONE: no memory, which is noted. */
static uint32_t find_barrier(struct share *share, struct crew *crew, const struct note *note)
{
    size_t at = crew->n_barriers;
    for (size_t i = 0; i < crew->n_barriers; i++) {
        if (crew->barriers[i].size > 0 && crew->barriers[i].number == note->value)
            return (uint32_t)i;
        if (crew->barriers[i].size == 0)
            at = i;
    }
    if (!lull_array_reserve(&crew->barriers, &crew->barrier_capacity, at + 1,
                            sizeof *crew->barriers)) {
        lull_share_no_memory(share);
        return LULL_NONE;
    }
    crew->n_barriers += at == crew->n_barriers;
    crew->barriers[at] = (struct barrier){.number = note->value, .size = note->number};
    return (uint32_t)at;
}

static void order_barrier(struct share *share, struct crew *crew, struct note *note)
{
    note->what = find_barrier(share, crew, note);
    if (note->what == LULL_NONE)
        return;
    struct barrier *barrier = &crew->barriers[note->what];
    if (note->kind == LULL_STEP_THREAD_WAIT_BEGIN) {
        barrier->ordered++;
    } else if (barrier->ordered <
               barrier->size) { /* it leaves before all have come, so it waits for nobody */
        note->what = LULL_NONE;
        barrier->left++;
    }
}

static void order_life(struct share *share, struct crew *crew, struct note *note)
{
    note->what = find_life(share, crew, note->value);
    if (note->what == LULL_NONE)
        return;
    struct life *life = &crew->lives[note->what];
    switch (note->kind) {
    case LULL_STEP_THREAD_CREATE:
        life->made = true;
        return;
    case LULL_STEP_THREAD_END:
        life->ended = true;
        return;
    case LULL_STEP_THREAD_BEGIN:
        note->what = life->made ? note->what : LULL_NONE;
        return;
    default:
        note->what =
            life->ended && note->kind == LULL_STEP_THREAD_WAIT_END ? note->what : LULL_NONE;
    }
}

void lull_lives_order(struct share *share, struct crew *crew, struct note *note)
{
    if (is_barrier(note))
        order_barrier(share, crew, note);
    else
        order_life(share, crew, note);
}

/* ---- evaluation ---------------------------------------------------------------------------- */

static void wake_waiting_streams(struct share *share, struct stream **waiting)
{
    struct stream *stream = *waiting;
    *waiting = NULL;
    for (struct stream *next; stream; stream = next) {
        next = stream->next_waiting;
        lull_share_ready(share, stream);
    }
}

/* The stream goes on at `time` at the earliest; -1: it waits. */
static void wait_until(struct stream *stream, const struct note *note, int64_t time,
                       struct stream **waiting)
{
    if (time >= 0) {
        stream->time = time > stream->time ? time : stream->time;
        return;
    }
    stream->waited = *note;
    stream->waited.flags = 0;
    stream->next_waiting = *waiting;
    *waiting = stream;
    lull_stream_set(stream, ON_LIFE);
}

static void take_barrier_note(struct share *share, struct stream *stream, const struct note *note)
{
    struct barrier *barrier = &stream->process->crew->barriers[note->what];
    if (note->kind == LULL_STEP_THREAD_WAIT_END) {
        const bool over = barrier->arrived == barrier->size;
        wait_until(stream, note, over ? barrier->latest : -1, &barrier->waiting);
        if (over && ++barrier->left == barrier->size)
            barrier->size = 0;
        return;
    }
    barrier->latest = stream->time > barrier->latest ? stream->time : barrier->latest;
    if (++barrier->arrived == barrier->size)
        wake_waiting_streams(share, &barrier->waiting);
}

void lull_lives_take(struct share *share, struct stream *stream, const struct note *note)
{
    if (note->what == LULL_NONE)
        return;
    if (is_barrier(note)) {
        take_barrier_note(share, stream, note);
        return;
    }
    struct life *life = &stream->process->crew->lives[note->what];
    switch (note->kind) {
    case LULL_STEP_THREAD_CREATE:
        life->made_at = stream->time;
        wake_waiting_streams(share, &life->waiting);
        return;
    case LULL_STEP_THREAD_END:
        life->ended_at = stream->time;
        wake_waiting_streams(share, &life->waiting);
        return;
    case LULL_STEP_THREAD_BEGIN:
        wait_until(stream, note, life->made_at, &life->waiting);
        return;
    default:
        wait_until(stream, note, life->ended_at, &life->waiting);
    }
}

void lull_lives_free(struct crew *crew)
{
    lull_hash_free(&crew->lives_by_number);
    free(crew->lives);
    free(crew->barriers);
}

/* ==== the crew ================================================================================ */

void lull_crew_create(struct share *share, struct process *process)
{
    const struct lull_trace *trace = share->ideal->trace;
    const struct lull_process *p = &trace->processes[process->index];
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew) {
        crew->streams = calloc(p->n_threads, sizeof(struct stream *));
        crew->heap = calloc(p->n_threads, sizeof *crew->heap);
        crew->place = calloc(p->n_threads, sizeof *crew->place);
    }
    if (!crew || !crew->streams || !crew->heap || !crew->place) {
        lull_crew_destroy(crew);
        lull_share_no_memory(share);
        return;
    }
    process->crew = crew; /* before its streams can be found */
    for (uint32_t t = 0; t < p->n_threads; t++) {
        struct stream *stream = lull_share_stream(share, p->first_location + t);
        if (!stream)
            return;
        crew->heap[t].thread = crew->place[t] = t;
        crew->streams[crew->n_streams++] = stream;
    }
}

void lull_crew_destroy(struct crew *crew)
{
    if (!crew)
        return;
    free(crew->streams);
    free(crew->heap);
    free(crew->place);
    free(crew->meetings);
    lull_lives_free(crew);
    free(crew);
}

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

static void forget_meetings(struct crew *crew)
{
    uint32_t ahead = crew->n_meetings - crew->over;
    if (crew->n_kept - crew->first_kept > ahead)
        crew->first_kept = crew->n_kept - ahead;
}

static void await_meeting(struct crew *crew, struct stream *stream, uint32_t meeting)
{
    lull_stream_set(stream, ON_THREADS);
    stream->awaits = meeting;
    stream->next_waiting = crew->waiting;
    crew->waiting = stream;
}

void lull_crew_meet(struct share *share, struct stream *stream, uint32_t meeting, uint32_t size)
{
    struct crew *crew = stream->process->crew;
    stream->meeting = meeting + 1;
    if (stream->time > crew->latest)
        crew->latest = stream->time;
    if (++crew->arrived < size) {
        await_meeting(crew, stream, meeting);
        return;
    }
    crew->over = meeting;
    crew->left_at = crew->latest;
    crew->arrived = 0;
    crew->latest = 0;
    stream->time = crew->left_at;
    forget_meetings(crew);
    for (struct stream **link = &crew->waiting, *waiting; (waiting = *link);) {
        if (waiting->awaits != meeting) {
            link = &waiting->next_waiting;
            continue;
        }
        *link = waiting->next_waiting;
        lull_share_ready(share, waiting);
    }
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
        stream->time += kept - stream->kept;
        stream->kept = stream->point_kept = kept;
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
        bool is_master = stream == stream->process->crew->streams[0];
        if (stream->blocked != ENDED &&
            (stream->blocked != RUNNABLE || (!is_master && !meet_before(share, stream, &note))))
            return;
        lull_notes_pop(&share->pool, &stream->notes);
        if (stream->blocked != ENDED)
            lull_ideal_stream_take(share, stream, &note);
    }
}

void lull_crew_resume(struct share *share, struct stream *stream)
{
    const struct crew *crew = stream->process->crew;
    if (stream->blocked == RUNNABLE && stream->awaits > 0 && stream->awaits <= crew->over) {
        stream->awaits = 0;
        if (crew->left_at > stream->time)
            stream->time = crew->left_at;
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
static void begin_following(struct crew *crew, struct stream *stream)
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
    } else {
        await_meeting(crew, stream, crew->n_meetings);
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
        begin_following(crew, stream);
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

void lull_crew_steps(struct share *share, struct stream *stream, const struct lull_steps *steps)
{
    struct crew *crew = stream->process->crew;
    for (uint32_t i = 0; i < steps->count && share->status == LULL_OK; i++) {
        const struct lull_step *step = &steps->steps[i];
        bool is_last = step->kind == LULL_STEP_END;
        if (is_last || step->time > stream->until)
            stream->until = is_last ? INT64_MAX : step->time;
        if (lull_read_is_silent(share, stream, step))
            continue;
        struct note *note = lull_notes_push(&share->pool, &stream->notes);
        if (note)
            lull_read_note(share, stream, step, steps->channels, note);
        else
            lull_share_no_memory(share);
    }
    if (steps->ledger && stream->until < INT64_MAX && steps->ledger->now > stream->until)
        stream->until = steps->ledger->now;
    put_off(crew, stream->location - crew->streams[0]->location);
    bring_into_order(share, crew);
}

/* ---- what is welcome ----------------------------------------------------------------------- */

bool lull_crew_is_blocked(const struct crew *crew)
{
    bool waits = false;
    for (uint32_t t = 0; t < crew->n_streams; t++) {
        const struct stream *stream = crew->streams[t];
        if (stream->calls && stream->blocked == RUNNABLE)
            return false;
        waits |= stream->calls && stream->blocked != ENDED;
    }
    return waits;
}

/* Whether a thread has been read to its end, and all its notes are in order. A note that is not in
 * order may still let others go on, once the other threads, also blocked ones, have been read as
 * far. */
static bool is_in_order(const struct stream *stream)
{
    return stream->until == INT64_MAX && !lull_notes_middle(&stream->notes);
}

bool lull_crew_has_more(const struct crew *crew)
{
    for (uint32_t t = 0; t < crew->n_streams; t++) {
        const struct stream *stream = crew->streams[t];
        if ((!stream->calls || stream->blocked == RUNNABLE) && !is_in_order(stream))
            return true;
    }
    return false;
}
