/* Threads that the program makes (pthreads): one begins when the thread that makes it has come so
 * far, a join waits for its end, and a barrier for all that come. What a thread does not see in the
 * trace it does not wait for: in the common order, what is waited for comes first. */
#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/crew.h"

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
