/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/crew.h"

#include "base/array.h"

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
static void wait_until(struct share *share, struct stream *stream, const struct note *note,
                       int64_t time, uint32_t path, struct stream **waiting)
{
    if (time >= 0) {
        lull_ideal_path_later(share->paths, &stream->time, &stream->path, time,
                              lull_ideal_path_hold(share->paths, path));
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
        wait_until(share, stream, note, over ? barrier->latest : -1, barrier->path,
                   &barrier->waiting);
        if (over && ++barrier->left == barrier->size) {
            barrier->size = 0;
            lull_ideal_path_set(share->paths, &barrier->path, 0);
        }
        return;
    }
    lull_ideal_path_later(share->paths, &barrier->latest, &barrier->path, stream->time,
                          lull_ideal_path_hold(share->paths, stream->path));
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
        lull_ideal_path_set(share->paths, &life->made_path,
                            lull_ideal_path_hold(share->paths, stream->path));
        wake_waiting_streams(share, &life->waiting);
        return;
    case LULL_STEP_THREAD_END:
        life->ended_at = stream->time;
        lull_ideal_path_set(share->paths, &life->ended_path,
                            lull_ideal_path_hold(share->paths, stream->path));
        wake_waiting_streams(share, &life->waiting);
        return;
    case LULL_STEP_THREAD_BEGIN:
        wait_until(share, stream, note, life->made_at, life->made_path, &life->waiting);
        return;
    default:
        wait_until(share, stream, note, life->ended_at, life->ended_path, &life->waiting);
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

static void forget_meetings(struct crew *crew)
{
    uint32_t ahead = crew->n_meetings - crew->over;
    if (crew->n_kept - crew->first_kept > ahead)
        crew->first_kept = crew->n_kept - ahead;
}

void lull_crew_await(struct crew *crew, struct stream *stream, uint32_t meeting)
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
    lull_ideal_path_later(share->paths, &crew->latest, &crew->latest_path, stream->time,
                          lull_ideal_path_hold(share->paths, stream->path));
    if (++crew->arrived < size) {
        lull_crew_await(crew, stream, meeting);
        return;
    }
    crew->over = meeting;
    crew->left_at = crew->latest;
    lull_ideal_path_set(share->paths, &crew->left_path, crew->latest_path);
    crew->arrived = 0;
    crew->latest = 0;
    crew->latest_path = 0;
    lull_ideal_path_later(share->paths, &stream->time, &stream->path, crew->left_at,
                          lull_ideal_path_hold(share->paths, crew->left_path));
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
