/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/reader.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/clock.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/gather.h"
#include "replay/ideal/mail.h"
#include "replay/ideal/order.h"
#include "replay/ideal/stream.h"
#include "team/mailbox.h"

#include <stdlib.h>
#include <time.h>

/* ==== readers ================================================================================= */

/* Readers are the workers of the pass. A reader makes notes of what it reads at once, without
 * holding the share. If nobody else holds the share then, it evaluates its notes and the letters
 * for the share. Else it keeps its notes at hand and reads on, until it has MOST_AT_HAND of them.
 */

enum { MOST_AT_HAND = 1 << 12 }; /* notes */

struct reader *lull_reader_create(void)
{
    struct reader *reader = lull_alloc_apart(sizeof *reader);
    if (reader)
        pthread_cond_init(&reader->wake, NULL);
    return reader;
}

void lull_reader_destroy(struct reader *reader)
{
    if (!reader)
        return;
    pthread_cond_destroy(&reader->wake);
    free(reader->notes);
    free(reader->sheaves);
    free(reader);
}

/* ==== rest ==================================================================================== */

/* ideal->unsettled counts the readers that are awake and the batches that nobody has taken yet.
 * Whoever brings it to 0 knows that all readers sleep and no letter is on its way, so that no
 * reader will be woken by another. Then either all has been read and everything is over, or reading
 * rests because too many notes wait. In the latter case it helps to let more notes wait if a thread
 * that is not blocked may yet do what others wait for, or if the receive of a synchronous send may
 * yet be read. Otherwise the streams wait for what does not come in this trace. */

/* ---- decisions ----------------------------------------------------------------------------- */

/* What is decided when all rest. */
enum rest_verdict {
    REST_OVER,         /* all is read and evaluated */
    REST_RELEASE_SOME, /* synchronous sends go on of whose message no receive has been read */
    REST_RELEASE_ALL,  /* all other synchronous sends go on, too */
    REST_READ_ON,      /* more notes may wait, so that readers can read on */
    REST_STUCK         /* the streams wait for what does not come in this trace */
};

/* What the verdict depends on; bits, which the members of a team put together. */
enum rest {
    REST_UNREAD = 1,       /* a reader has not read all */
    REST_MORE = 2,         /* a step that is to come may let somebody go on */
    REST_AHEAD = 4,        /* a reader rests as it is too far ahead */
    REST_RELEASES = 8,     /* there are sends for REST_RELEASE_SOME */
    REST_RELEASES_ALL = 16 /* there are sends for REST_RELEASE_ALL alone */
};

static bool is_more_to_come(const struct lull_ideal *ideal)
{
    for (uint32_t l = 0; ideal->synchronous && l < ideal->trace->n_locations; l++)
        if (ideal->streams[l] && ideal->streams[l]->blocked == ON_RECEIVE)
            return true;
    for (uint32_t p = 0; ideal->has_crews && p < ideal->trace->n_processes; p++)
        if (ideal->processes[p] && ideal->processes[p]->crew &&
            lull_crew_has_more(ideal->processes[p]->crew))
            return true;
    return false;
}

/* What the verdict depends on here, in bits of enum rest. All readers sleep and no letter is on its
 * way, so all shares may be looked at without a lock. */
static uint64_t look_at_rest(void *context)
{
    const struct lull_ideal *ideal = context;
    uint64_t rest = is_more_to_come(ideal) ? REST_MORE : 0;
    for (unsigned r = 0; r < ideal->n_readers; r++) {
        if (ideal->readers[r]->sleep != RESTING)
            continue;
        rest |= REST_UNREAD;
        if (lull_share_is_ahead(ideal->readers[r]->share))
            rest |= REST_AHEAD;
    }
    if (lull_synchronous_asks(ideal, false))
        rest |= REST_RELEASES;
    else if (lull_synchronous_asks(ideal, true))
        rest |= REST_RELEASES_ALL;
    return rest;
}

static enum rest_verdict judge_rest(uint64_t rest)
{
    if (rest & REST_UNREAD)
        return rest & (REST_MORE | REST_AHEAD) ? REST_READ_ON : REST_STUCK;
    if (rest & REST_RELEASES)
        return REST_RELEASE_SOME;
    return rest & REST_RELEASES_ALL ? REST_RELEASE_ALL : REST_OVER;
}

/* Does what follows from `rest`. That may wake readers by letters, so `unsettled` is held above 0
 * until it is done: nobody else decides meanwhile. */
static void decide(void *context, uint64_t rest)
{
    struct lull_ideal *ideal = context;
    const enum rest_verdict verdict = judge_rest(rest);
    atomic_fetch_add(&ideal->unsettled, 1);
    switch (verdict) {
    case REST_OVER:
        atomic_store(&ideal->state, OVER);
        break;
    case REST_RELEASE_SOME:
    case REST_RELEASE_ALL:
        lull_synchronous_release(ideal, verdict == REST_RELEASE_ALL);
        break;
    case REST_READ_ON:
        atomic_store(&ideal->bound, 2 * atomic_load(&ideal->bound));
        lull_mailbox_grant(ideal->mailbox);
        break;
    case REST_STUCK:
        ideal->first_blocked = lull_share_first_blocked(ideal);
        for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
            lull_share_drop_notes(ideal->shares[s]);
        atomic_store(&ideal->state, STUCK);
    }
    lull_post_rouse_all(ideal);
    atomic_fetch_sub(&ideal->unsettled, 1);
}

/* ---- other members ------------------------------------------------------------------------- */

static void take_batch(void *context, uint32_t from, const void *letters, size_t size)
{
    (void)from;
    (void)size;
    lull_post_deliver(context, letters);
}

static bool has_settled(void *context)
{
    const struct lull_ideal *ideal = context;
    return atomic_load(&ideal->unsettled) == 0;
}

/* Steps that a reader of the share has found not to be welcome may be welcome now. */
static void let_share_go_on(void *context, unsigned index)
{
    struct lull_ideal *ideal = context;
    struct share *share = ideal->shares[ideal->first_share + index];
    for (unsigned r = 0; r < share->n_readers; r++) {
        atomic_store(&share->readers[r]->hungry, true);
        lull_post_rouse(share->readers[r], RESTING);
    }
}

void lull_reader_stop(void *context)
{
    struct lull_ideal *ideal = context;
    atomic_store(&ideal->stopped, true);
    lull_post_rouse_all(ideal);
}

const struct lull_mailbox_owner lull_reader_mail = {.channel = LULL_TEAM_REPLAY,
                                                    .at_once = 50,
                                                    .take = take_batch,
                                                    .has_settled = has_settled,
                                                    .look = look_at_rest,
                                                    .decide = decide,
                                                    .go_on = let_share_go_on,
                                                    .fail = lull_reader_stop};

/* ==== evaluation ============================================================================== */

/* ---- letters ------------------------------------------------------------------------------- */

void lull_reader_take_letters(struct share *share)
{
    if (!atomic_load_explicit(&share->has_mail, memory_order_acquire))
        return;
    pthread_mutex_lock(&share->lock);
    struct batch *batch = share->inbox;
    share->inbox = share->inbox_last = NULL;
    atomic_store_explicit(&share->has_mail, false, memory_order_relaxed);
    pthread_mutex_unlock(&share->lock);
    for (struct batch *next; batch; batch = next) {
        next = batch->next;
        for (uint32_t i = 0; i < batch->count && share->status == LULL_OK; i++) {
            const struct letter *letter = &batch->letters[i];
            if (letter->kind == LETTER_PATH)
                lull_post_path_letter(share, batch->from, letter);
            else if (letter->kind <= LETTER_MESSAGE)
                lull_channel_letter(share, batch->from, letter);
            else if (letter->kind <= LETTER_ANSWER)
                lull_synchronous_letter(share, batch->from, letter);
            else
                lull_gather_letter(share, batch->from, letter);
        }
        lull_post_keep(share, batch);
        atomic_fetch_sub(&share->ideal->unsettled, 1);
    }
}

enum { BLOCKS_BETWEEN_LETTERS = 8 }; /* blocks of steps that a share reads until it posts letters */

/* Whether readers of a share wait for letters. That is not known of shares of other members. */
static bool is_waited_for(const struct share *target)
{
    return target && atomic_load_explicit(&target->waits, memory_order_relaxed);
}

/* Shares that wait get their letters at once, others in larger batches. */
static void flush_now_and_then(struct share *share)
{
    bool now = ++share->blocks >= BLOCKS_BETWEEN_LETTERS;
    if (now)
        share->blocks = 0;
    for (uint32_t to = 0; to < share->ideal->n_shares; to++)
        if (share->outboxes[to].batch && (now || is_waited_for(share->ideal->shares[to])))
            lull_post_hand_over(share, to);
    if (now)
        lull_mailbox_take(share->ideal->mailbox);
}

/* ---- evaluation ---------------------------------------------------------------------------- */

/* Takes the letters for a share, and what the reader has at hand if it is its own, and lets streams
 * go on. The caller holds share->evaluation; release_share gives it back and wakes others that rest
 * where something is welcome now. */
static void evaluate(struct reader *reader, struct share *share)
{
    lull_reader_take_letters(share);
    lull_order_run(share);
    if (share->paths && lull_ideal_paths_failed(share->paths))
        lull_share_no_memory(share);
    if (share != reader->share)
        return;
    const struct note *notes = reader->notes;
    for (size_t i = 0; i < reader->n_sheaves; i++) {
        const struct sheaf *sheaf = &reader->sheaves[i];
        lull_ideal_stream_notes(share, sheaf->stream, notes, sheaf->count);
        lull_order_run(share);
        notes += sheaf->count;
    }
    reader->n_notes = reader->n_sheaves = 0;
}

/* Whether too many notes wait. A share that was full stays so until half of the bound is free;
 * otherwise readers would be woken for every step. */
static bool is_full(const struct share *share, bool was)
{
    size_t bound = atomic_load_explicit(&share->ideal->bound, memory_order_relaxed);
    return share->pool.queued >= (was ? bound / 2 + 1 : bound);
}

static void release_share(struct reader *reader, struct share *share)
{
    bool was = atomic_load_explicit(&share->full, memory_order_relaxed);
    bool full = is_full(share, was);
    atomic_store(&share->full, full);
    pthread_mutex_unlock(&share->evaluation);
    if (!was && !full) /* nobody rests */
        return;
    for (unsigned r = 0; r < share->n_readers; r++) {
        struct reader *other = share->readers[r];
        if (!full)
            atomic_store(&other->hungry, true);
        if (other != reader && atomic_load(&other->hungry))
            lull_post_rouse(other, RESTING);
    }
}

lull_status lull_reader_failure(struct share *share, struct lull_error *err)
{
    return share->status == LULL_OK ? lull_mailbox_failure(share->ideal->mailbox, err)
                                    : lull_fail(err, share->status, "%s", share->error.text);
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Makes notes of the steps of a stream that is alone in its process. False: no memory. */
static bool read_notes(struct reader *reader, struct stream *stream, const struct lull_steps *steps)
{
    struct share *share = reader->share;
    size_t before = reader->n_notes;
    /* each USER adds one part to those of which no note has told yet */
    if (!lull_array_reserve(&reader->notes, &reader->note_capacity,
                            before + 2 * (size_t)steps->count + share->ideal->n_parts,
                            sizeof *reader->notes) ||
        !lull_array_reserve(&reader->sheaves, &reader->sheaf_capacity, reader->n_sheaves + 1,
                            sizeof *reader->sheaves))
        return false;
    struct note *note = reader->notes + before;
    for (uint32_t i = 0; i < steps->count; i++) {
        if (lull_read_is_silent(share, stream, &steps->steps[i]))
            continue;
        if (stream->reading.path) {
            struct note read;
            lull_read_note(share, stream, &steps->steps[i], steps->channels, &read);
            note += lull_read_path(stream, &read, note);
            *note++ = read;
        } else {
            lull_read_note(share, stream, &steps->steps[i], steps->channels, note++);
        }
    }
    reader->n_notes = (size_t)(note - reader->notes);
    if (reader->n_notes > before)
        reader->sheaves[reader->n_sheaves++] =
            (struct sheaf){.stream = stream, .count = reader->n_notes - before};
    return true;
}

/* Takes share->evaluation; false: another reader has it, and this one does not wait for it. */
static bool take_share(struct share *share, bool waits)
{
    if (waits)
        pthread_mutex_lock(&share->evaluation);
    return waits || pthread_mutex_trylock(&share->evaluation) == 0;
}

/* NULL: no memory, which is noted. */
static struct stream *find_stream(struct share *share, uint32_t location)
{
    struct stream *stream = share->ideal->streams[location];
    if (stream)
        return stream;
    const uint32_t p = share->ideal->trace->locations[location].process;
    pthread_mutex_lock(&share->evaluation);
    struct process *process = lull_share_process(share, p);
    if (process && !process->crew && lull_share_is_crew(share->ideal, p))
        lull_crew_create(share, process);
    stream = process ? lull_share_stream(share, location) : NULL;
    pthread_mutex_unlock(&share->evaluation);
    return stream;
}

lull_status lull_reader_steps(struct reader *reader, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct share *share = reader->share;
    struct stream *stream = find_stream(share, steps->location);
    const bool crew = stream && stream->process->crew;
    bool good = !stream || crew || !stream->calls || read_notes(reader, stream, steps);
    atomic_exchange(&reader->hungry, false); /* after this, whatever made it hungry is seen */
    if (!take_share(share, crew || !good || reader->n_notes >= MOST_AT_HAND))
        return LULL_OK;
    const struct path_reading *path = stream ? stream->reading.path : NULL;
    if (!good || (path && path->failed))
        lull_share_no_memory(share);
    evaluate(reader, share);
    if (crew) {
        lull_order_steps(share, stream, steps);
        lull_order_run(share);
    }
    flush_now_and_then(share);
    lull_status status = lull_reader_failure(share, err);
    release_share(reader, share);
    return status;
}

/* ---- sleep --------------------------------------------------------------------------------- */

/* Letters are often answered at once by another processor, and going to sleep for each would take
 * ten times as long as the evaluation. So a reader looks for letters for LOOK_OUT_NS before it
 * sleeps, and does not yield its processor meanwhile: where other programs compute beside lull, who
 * yields waits for milliseconds, but who sleeps gets the processor back as soon as it is woken. In
 * a team, a sleeping reader wakes every LOOK_AGAIN_NS to look for mail. */
enum { LOOK_OUT_NS = 5000, LOOK_AGAIN_NS = 2000000 };

/* Takes the letters of a share and evaluates it; false: there are none, or another reader holds the
 * share. A failure is noted in the reader's own share, too, which tells the pass. */
static bool serve(struct reader *own, struct share *share)
{
    if (!atomic_load_explicit(&share->has_mail, memory_order_acquire) ||
        pthread_mutex_trylock(&share->evaluation) != 0)
        return false;
    share->helps = true;
    evaluate(own, share);
    lull_post_flush(share);
    share->helps = false;
    lull_status status = share->status;
    const struct lull_error err = share->error;
    release_share(own, share);
    if (status != LULL_OK && share != own->share) {
        pthread_mutex_lock(&own->share->evaluation);
        lull_share_fail(own->share, status, &err);
        pthread_mutex_unlock(&own->share->evaluation);
    }
    return status == LULL_OK;
}

/* A reader without other work serves its own share and those that nobody else holds, until no
 * letters have come for LOOK_OUT_NS. Where ranks of different shares wait for each other at every
 * step of a program, one thread that does the work of all is faster than all threads in turns. Its
 * letters wake nobody meanwhile, because it takes them itself. */
static void serve_all(struct reader *own)
{
    struct lull_ideal *ideal = own->share->ideal;
    const unsigned first = ideal->first_share, n = ideal->end_share - first;
    const unsigned at = own->share->index - first;
    int64_t until = 0; /* when it gives up; 0: something has just been done */
    while ((n > 1 || ideal->mailbox) && !atomic_load(&ideal->stopped)) {
        bool served = lull_mailbox_take(ideal->mailbox);
        for (unsigned s = 0; s < n; s++)
            served |= serve(own, ideal->shares[first + (at + s) % n]);
        if (!served && n == 1)
            return; /* sleep_until_roused looks out for what other members send */
        const int64_t now = served ? 0 : lull_clock_read(CLOCK_MONOTONIC);
        if (!served && until != 0 && now >= until)
            return;
        if (served || until == 0)
            until = served ? 0 : now + LOOK_OUT_NS;
    }
}

/* In a team the reader waits for a short time only, as it may be the last one that could look for
 * mail. */
static void wait_for_wake(struct reader *reader)
{
    struct share *share = reader->share;
    struct timespec until;
    if (!share->ideal->mailbox) {
        pthread_cond_wait(&reader->wake, &share->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_AGAIN_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&reader->wake, &share->lock, &until);
}

static void sleep_until_roused(struct reader *reader, enum sleep why)
{
    struct share *share = reader->share;
    struct lull_ideal *ideal = share->ideal;
    pthread_mutex_lock(&share->lock);
    if (share->inbox || atomic_load(&ideal->stopped) ||
        (why == RESTING && atomic_load(&reader->hungry))) {
        pthread_mutex_unlock(&share->lock);
        return;
    }
    reader->sleep = why;
    pthread_mutex_unlock(&share->lock);
    if (atomic_fetch_sub(&ideal->unsettled, 1) == 1 && !ideal->mailbox)
        decide(ideal, look_at_rest(ideal));
    pthread_mutex_lock(&share->lock);
    while (!share->inbox && !reader->roused) {
        pthread_mutex_unlock(&share->lock);
        const bool looks = lull_mailbox_look_out(ideal->mailbox);
        pthread_mutex_lock(&share->lock);
        if (!looks && !share->inbox && !reader->roused)
            wait_for_wake(reader);
    }
    if (!reader->roused)
        atomic_fetch_add(&ideal->unsettled, 1);
    reader->roused = false;
    reader->sleep = AWAKE;
    pthread_mutex_unlock(&share->lock);
}

void lull_reader_sleep(struct reader *reader, enum sleep why)
{
    struct share *share = reader->share;
    atomic_fetch_add_explicit(&share->waits, 1, memory_order_relaxed);
    pthread_mutex_lock(&share->evaluation);
    evaluate(reader, share);
    lull_post_flush(share);
    release_share(reader, share);
    serve_all(reader);
    sleep_until_roused(reader, why);
    atomic_fetch_sub_explicit(&share->waits, 1, memory_order_relaxed);
}
