/* The threads of one process. Their notes are brought into one order, by measured time and then by
 * thread, before messages are numbered: a note is in order when all other threads have been read up
 * to its time. The forks and joins of the master, its outermost ones, are meetings: all threads
 * that follow it leave them at the same ideal time, that of the last one to come.
 *
 * A thread is followed from the first time that it communicates, or that another one is known to
 * make it or to wait for it. Until then it can be left out: in
 * a parallel region it is busy no longer than its master, and outside it does nothing that counts;
 * so at each meeting it is there before the master. Between its steps its kept time is taken to
 * grow first. */
#include "replay/ideal/crew.h"

#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/share.h"
#include "replay/ideal/stream.h"

#include <string.h>

/* ==== lives =================================================================================== */

/* Threads that the program makes (pthreads): one begins when the thread that makes it has come so
 * far, a join waits for its end, and a barrier for all that come. What a thread does not see in the
 * trace it does not wait for: in the common order, what is waited for comes first. */

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

/* One that is open, or a new one; LULL_NONE: no memory, which is noted. */
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
               barrier->size) { /* leaves before all have come: waits for nobody */
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

/* Goes on at that time at the earliest; -1: waits. */
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

/* ==== crew ==================================================================================== */

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

/* Followers find it in their way; without any it is the master's alone. */
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

/* The meetings that are kept end with the last one. */
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

/* Goes to the meetings before a note; false: it is blocked at one. Where a call ends, those at the
 * end wait; where its kept time has not grown in the call, so do those inside: the call was
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

/* Messages, collective operations, and calls that are of these; making threads, and waiting for
 * them. */
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

/* From the last meeting on, the thread is followed. */
static void begin_following(struct crew *crew, struct stream *stream)
{
    stream->calls = true;
    if (!stream->follows) { /* on its own since the run began */
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

/* A thread that has not communicated yet: only how much time it has kept at the last meeting and at
 * this note matters. */
static void pass_over(const struct crew *crew, struct stream *stream, const struct note *note)
{
    if (stream->meeting != crew->n_meetings) { /* there was one since its last note */
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
        note->number = share->links[note->what].sent++;
    else if (note->kind == LULL_STEP_RECV && note->what != LULL_NONE)
        note->number = share->queues[note->what].received++;
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
        note->flags |= NOTE_MOVES; /* also in a call that is not of these */
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

/* A thread comes later than before. */
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

/* The turn behind the first one: one of its two children. */
static struct turn find_second(const struct crew *crew)
{
    struct turn second = {INT64_MAX, UINT32_MAX, true};
    for (uint32_t i = 1; i < 3 && i < crew->n_streams; i++)
        if (is_before(crew->heap[i], second))
            second = crew->heap[i];
    return second;
}

/* Notes are in order when all other threads have been read up to their time. Then they are
 * evaluated as far as may be. */
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

/* What a thread has been read to do counts when the others have been read as far, also those that
 * are blocked. */
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
