/* Letters between shares, rest, and the end.
 *
 * `unsettled` counts the readers that are awake and the batches that nobody has taken yet. Whoever
 * brings it to 0 knows that all sleep with nothing on its way: no reader will ever be woken by
 * another. Then either all has been read and everything is over, or reading rests because too much
 * waits. In that case more room helps if a thread that is not blocked may yet do what others wait
 * for, or if the receive of a synchronous send may yet be read; otherwise the streams wait for what
 * does not come in this trace. */
#include "base/clock.h"
#include "replay/ideal/channels.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/lead.h"
#include "replay/ideal/mail.h"

#include <stdlib.h>
#include <time.h>

enum { BLOCKS_BETWEEN_LETTERS = 8 };
enum { MOST_SPARE = 32 /* batches of a share */ };
/* Letters are often answered at once by another processor, and going to sleep for each would take
 * ten times as long as the evaluation. So a share looks out for them for so long before it sleeps.
 * It keeps its processor meanwhile: where others compute beside lull, whoever yields it waits for
 * milliseconds, and whoever sleeps gets it back as soon as it is woken. */
enum { LOOK_OUT_NS = 5000, LOOK_AGAIN_NS = 2000000 };

/* One of the share's readers takes its letters; who is awake does so in any case. */
static void wake_one(struct share *share)
{
    unsigned r = 0;
    while (r < share->n_readers && share->readers[r]->sleep == AWAKE)
        r++;
    if (r < share->n_readers)
        pthread_cond_signal(&share->readers[r]->wake);
}

void lull_post_put(struct share *target, struct batch *batch, bool wakes)
{
    atomic_fetch_add(&target->ideal->unsettled, 1);
    pthread_mutex_lock(&target->lock);
    if (target->inbox)
        target->inbox_last->next = batch;
    else
        target->inbox = batch;
    target->inbox_last = batch;
    atomic_store_explicit(&target->has_mail, true, memory_order_release);
    if (wakes)
        wake_one(target);
    pthread_mutex_unlock(&target->lock);
}

/* Who is told more than it tells others does not need all that it has got. */
static void keep(struct share *share, struct batch *batch)
{
    if (share->n_spare == MOST_SPARE) {
        free(batch);
        return;
    }
    batch->next = share->spare;
    share->spare = batch;
    share->n_spare++;
}

static struct batch *take_spare(struct share *share)
{
    struct batch *batch = share->spare;
    if (!batch)
        return malloc(sizeof *batch);
    share->spare = batch->next;
    share->n_spare--;
    return batch;
}

static void hand_over(struct share *share, uint32_t to)
{
    struct outbox *outbox = &share->outboxes[to];
    struct batch *batch = outbox->batch;
    struct share *target = share->ideal->shares[to];
    if (!batch || batch->count == 0)
        return;
    outbox->batch = NULL;
    if (target) {
        lull_post_put(target, batch, !share->helps);
        return;
    }
    lull_mail_send(share, to, batch);
    keep(share, batch);
}

struct letter *lull_post(struct share *share, uint32_t to, uint8_t kind)
{
    struct outbox *outbox = &share->outboxes[to];
    if (outbox->batch && outbox->batch->count == LETTERS_OF_BATCH)
        hand_over(share, to);
    if (!outbox->batch) {
        outbox->batch = take_spare(share);
        if (!outbox->batch) {
            lull_share_no_memory(share);
            return NULL;
        }
        outbox->batch->next = NULL;
        outbox->batch->from = share->index;
        outbox->batch->count = 0;
    }
    struct letter *letter = &outbox->batch->letters[outbox->batch->count++];
    *letter = (struct letter){.kind = kind};
    return letter;
}

void lull_post_flush(struct share *share)
{
    share->blocks = 0;
    for (uint32_t to = 0; to < share->ideal->n_shares; to++)
        if (share->outboxes[to].batch)
            hand_over(share, to);
}

/* That is not known of shares of other members. */
static bool is_waited_for(const struct share *target)
{
    return target && atomic_load_explicit(&target->waits, memory_order_relaxed);
}

/* Whoever waits gets letters at once, others in larger batches. */
void lull_post_flush_now_and_then(struct share *share)
{
    bool now = ++share->blocks >= BLOCKS_BETWEEN_LETTERS;
    if (now)
        share->blocks = 0;
    for (uint32_t to = 0; to < share->ideal->n_shares; to++)
        if (share->outboxes[to].batch && (now || is_waited_for(share->ideal->shares[to])))
            hand_over(share, to);
    if (now && share->ideal->mail)
        lull_mail_take(share->ideal);
}

/* Reads what has come. */
void lull_post_take(struct share *share)
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
            if (letter->kind <= LETTER_MESSAGE)
                lull_channel_letter(share, batch->from, letter);
            else if (letter->kind <= LETTER_ANSWER)
                lull_synchronous_letter(share, batch->from, letter);
            else
                lull_gather_letter(share, batch->from, letter);
        }
        keep(share, batch);
        atomic_fetch_sub(&share->ideal->unsettled, 1);
    }
}

/* ---- rest ---------------------------------------------------------------------------------- */

void lull_post_rouse(struct reader *reader, enum sleep why)
{
    struct share *share = reader->share;
    pthread_mutex_lock(&share->lock);
    if (reader->sleep != AWAKE && (why == AWAKE || reader->sleep == why) && !reader->roused) {
        reader->roused = true;
        atomic_fetch_add(&share->ideal->unsettled, 1);
        pthread_cond_signal(&reader->wake);
    }
    pthread_mutex_unlock(&share->lock);
}

void lull_post_rouse_all(struct lull_ideal *ideal)
{
    for (unsigned r = 0; r < ideal->n_readers; r++)
        lull_post_rouse(ideal->readers[r], AWAKE);
}

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

/* All readers sleep, and nothing is on its way; so all shares may be looked at. */
uint64_t lull_post_look_at_rest(const struct lull_ideal *ideal)
{
    uint64_t rest = is_more_to_come(ideal) ? LULL_REST_MORE : 0;
    for (unsigned r = 0; r < ideal->n_readers; r++) {
        if (ideal->readers[r]->sleep != RESTING)
            continue;
        rest |= LULL_REST_UNREAD;
        if (lull_lead_is_too_large(ideal->readers[r]->share))
            rest |= LULL_REST_AHEAD;
    }
    if (lull_synchronous_asks(ideal, false))
        rest |= LULL_REST_RELEASES;
    else if (lull_synchronous_asks(ideal, true))
        rest |= LULL_REST_RELEASES_ALL;
    return rest;
}

enum lull_rest_verdict lull_rest_judge(uint64_t rest)
{
    if (rest & LULL_REST_UNREAD)
        return rest & (LULL_REST_MORE | LULL_REST_AHEAD) ? LULL_REST_READ_ON : LULL_REST_STUCK;
    if (rest & LULL_REST_RELEASES)
        return LULL_REST_RELEASE_SOME;
    return rest & LULL_REST_RELEASES_ALL ? LULL_REST_RELEASE_ALL : LULL_REST_OVER;
}

/* What this posts may wake others; they must not decide before it has been done. */
void lull_post_decide(struct lull_ideal *ideal, enum lull_rest_verdict verdict)
{
    atomic_fetch_add(&ideal->unsettled, 1);
    switch (verdict) {
    case LULL_REST_OVER:
        atomic_store(&ideal->state, OVER);
        break;
    case LULL_REST_RELEASE_SOME:
    case LULL_REST_RELEASE_ALL:
        lull_synchronous_release(ideal, verdict == LULL_REST_RELEASE_ALL);
        break;
    case LULL_REST_READ_ON:
        atomic_store(&ideal->bound, 2 * atomic_load(&ideal->bound));
        if (ideal->leads)
            lull_lead_grant(ideal->leads);
        break;
    case LULL_REST_STUCK:
        ideal->first_blocked = lull_ideal_first_blocked(ideal);
        for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
            lull_share_drop_notes(ideal->shares[s]);
        atomic_store(&ideal->state, STUCK);
    }
    lull_post_rouse_all(ideal);
    atomic_fetch_sub(&ideal->unsettled, 1);
}

/* Whether there were letters for a share that nobody else was at. What goes wrong is told by the
 * share of the reader that is here. */
static bool serve(struct reader *own, struct share *share)
{
    if (!atomic_load_explicit(&share->has_mail, memory_order_acquire) ||
        pthread_mutex_trylock(&share->evaluation) != 0)
        return false;
    share->helps = true;
    lull_reader_evaluate(own, share);
    lull_post_flush(share);
    share->helps = false;
    lull_status status = share->status;
    const struct lull_error err = share->error;
    lull_reader_let_go(own, share);
    if (status != LULL_OK && share != own->share) {
        pthread_mutex_lock(&own->share->evaluation);
        lull_share_fail(own->share, status, &err);
        pthread_mutex_unlock(&own->share->evaluation);
    }
    return status == LULL_OK;
}

/* Serves its own share and those that others have no time for, until no letters come any more:
 * where ranks of different shares wait for each other at every step of a program, one thread that
 * does the work of all is faster than all of them that take turns. What it posts meanwhile wakes
 * nobody, because it reads that itself. */
static void serve_all(struct reader *own)
{
    struct lull_ideal *ideal = own->share->ideal;
    const unsigned first = ideal->first_share, n = ideal->end_share - first;
    const unsigned at = own->share->index - first;
    int64_t until = 0; /* 0: something has just been done */
    while ((n > 1 || ideal->mail) && !atomic_load(&ideal->stopped)) {
        bool served = ideal->mail && lull_mail_take(ideal);
        for (unsigned s = 0; s < n; s++)
            served |= serve(own, ideal->shares[first + (at + s) % n]);
        if (!served && n == 1)
            return; /* what other members send, sleep_until_roused looks out for */
        const int64_t now = served ? 0 : lull_clock_read(CLOCK_MONOTONIC);
        if (!served && until != 0 && now >= until)
            return;
        if (served || until == 0)
            until = served ? 0 : now + LOOK_OUT_NS;
    }
}

/* Where there is mail, a reader that waits may be the last that could look out for it. */
static void wait_for_wake(struct reader *reader)
{
    struct share *share = reader->share;
    struct timespec until;
    if (!share->ideal->mail) {
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
    if (atomic_fetch_sub(&ideal->unsettled, 1) == 1 && !ideal->mail)
        lull_post_decide(ideal, lull_rest_judge(lull_post_look_at_rest(ideal)));
    pthread_mutex_lock(&share->lock);
    while (!share->inbox && !reader->roused) {
        pthread_mutex_unlock(&share->lock);
        const bool looks = ideal->mail && lull_mail_look_out(ideal);
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

void lull_post_sleep(struct reader *reader, enum sleep why)
{
    struct share *share = reader->share;
    atomic_fetch_add_explicit(&share->waits, 1, memory_order_relaxed);
    pthread_mutex_lock(&share->evaluation);
    lull_reader_evaluate(reader, share);
    lull_post_flush(share);
    lull_reader_let_go(reader, share);
    serve_all(reader);
    sleep_until_roused(reader, why);
    atomic_fetch_sub_explicit(&share->waits, 1, memory_order_relaxed);
}
