/* Letters between shares, rest, and the end.
 *
 * `unsettled` counts the shares that are awake and the batches that nobody has read yet. Whoever
 * brings it to 0 knows that all sleep with nothing on its way: no share will ever be woken by
 * another. Then either all has been read and everything is over, or reading rests because too much
 * waits. In that case more room helps if a thread that is not blocked may yet do what others wait
 * for; otherwise the streams wait for what does not come in this trace. */
#include "replay/ideal/channels.h"
#include "replay/ideal/share.h"

#include <sched.h>

enum { BLOCKS_BETWEEN_LETTERS = 8 };
/* Letters are often answered at once, and going to sleep for each would take ten times as long as
 * the evaluation. So a share yields its processor this often before it sleeps: some 50 us. */
enum { YIELDS_BEFORE_SLEEP = 50 };

static void hand_over(struct share *share, uint32_t to)
{
    struct outbox *outbox = &share->outboxes[to];
    struct batch *batch = outbox->batch;
    struct share *target = share->ideal->shares[to];
    if (!batch || batch->count == 0)
        return;
    outbox->batch = NULL;
    atomic_fetch_add(&share->ideal->unsettled, 1);
    pthread_mutex_lock(&target->lock);
    if (target->inbox)
        target->inbox_last->next = batch;
    else
        target->inbox = batch;
    target->inbox_last = batch;
    atomic_store_explicit(&target->has_mail, true, memory_order_release);
    if (target->sleep != AWAKE && !share->helps)
        pthread_cond_signal(&target->wake);
    pthread_mutex_unlock(&target->lock);
}

struct letter *lull_post(struct share *share, uint32_t to, uint8_t kind)
{
    struct outbox *outbox = &share->outboxes[to];
    if (outbox->batch && outbox->batch->count == LETTERS_OF_BATCH)
        hand_over(share, to);
    if (!outbox->batch) {
        outbox->batch = share->spare ? share->spare : malloc(sizeof *outbox->batch);
        if (!outbox->batch) {
            lull_share_no_memory(share);
            return NULL;
        }
        if (outbox->batch == share->spare)
            share->spare = share->spare->next;
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

/* Whoever waits gets letters at once, others in larger batches. */
void lull_post_flush_now_and_then(struct share *share)
{
    bool now = ++share->blocks >= BLOCKS_BETWEEN_LETTERS;
    if (now)
        share->blocks = 0;
    for (uint32_t to = 0; to < share->ideal->n_shares; to++)
        if (share->outboxes[to].batch &&
            (now || atomic_load_explicit(&share->ideal->shares[to]->waits, memory_order_relaxed)))
            hand_over(share, to);
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
            else
                lull_gather_letter(share, batch->from, letter);
        }
        batch->next = share->spare;
        share->spare = batch;
        atomic_fetch_sub(&share->ideal->unsettled, 1);
    }
}

/* ---- rest ---------------------------------------------------------------------------------- */

/* If it sleeps for that reason; AWAKE: for any. */
static void rouse_share(struct share *share, enum sleep why)
{
    pthread_mutex_lock(&share->lock);
    if (share->sleep != AWAKE && (why == AWAKE || share->sleep == why) && !share->roused) {
        share->roused = true;
        atomic_fetch_add(&share->ideal->unsettled, 1);
        pthread_cond_signal(&share->wake);
    }
    pthread_mutex_unlock(&share->lock);
}

void lull_post_rouse_all(struct lull_ideal *ideal)
{
    for (unsigned s = 0; s < ideal->n_shares; s++)
        rouse_share(ideal->shares[s], AWAKE);
}

static bool is_more_to_come(const struct lull_ideal *ideal)
{
    for (uint32_t p = 0; ideal->has_crews && p < ideal->trace->n_processes; p++)
        if (ideal->processes[p] && ideal->processes[p]->crew &&
            lull_crew_has_more(ideal->processes[p]->crew))
            return true;
    return false;
}

/* All shares sleep, and nothing is on its way; so all of them may be looked at. */
static void decide(struct lull_ideal *ideal)
{
    bool resting = false;
    for (unsigned s = 0; s < ideal->n_shares; s++)
        resting |= ideal->shares[s]->sleep == RESTING;
    if (!resting) {
        atomic_store(&ideal->state, OVER);
    } else if (is_more_to_come(ideal)) {
        atomic_store(&ideal->bound, 2 * atomic_load(&ideal->bound));
    } else {
        ideal->first_blocked = lull_ideal_first_blocked(ideal);
        for (unsigned s = 0; s < ideal->n_shares; s++)
            lull_share_drop_notes(ideal->shares[s]);
        atomic_store(&ideal->state, STUCK);
    }
    lull_post_rouse_all(ideal);
}

/* Reads the letters of a share and lets its streams go on. The share is locked. */
static void evaluate(struct share *share)
{
    lull_post_take(share);
    lull_share_run(share);
    lull_post_flush(share);
    if (share->pool.queued < atomic_load_explicit(&share->ideal->bound, memory_order_relaxed))
        atomic_store(&share->hungry, true);
}

/* Whether there were letters for a share that nobody else was at. What goes wrong is told by the
 * share of the worker that is here. */
static bool serve(struct share *own, struct share *share)
{
    if (!atomic_load_explicit(&share->has_mail, memory_order_acquire) ||
        pthread_mutex_trylock(&share->evaluation) != 0)
        return false;
    share->helps = true;
    evaluate(share);
    share->helps = false;
    lull_status status = share->status;
    const struct lull_error err = share->error;
    pthread_mutex_unlock(&share->evaluation);
    if (share != own && atomic_load(&share->hungry))
        rouse_share(share, RESTING);
    if (status != LULL_OK && share != own) {
        pthread_mutex_lock(&own->evaluation);
        lull_share_fail(own, status, &err);
        pthread_mutex_unlock(&own->evaluation);
    }
    return status == LULL_OK;
}

/* Serves its own share and those that others have no time for, until no letters come any more:
 * where ranks of different shares wait for each other at every step of a program, one thread that
 * does the work of all is faster than all of them that take turns. What it posts meanwhile wakes
 * nobody, because it reads that itself. */
static void serve_all(struct share *own)
{
    struct lull_ideal *ideal = own->ideal;
    for (int idle = 0; idle < YIELDS_BEFORE_SLEEP && !atomic_load(&ideal->stopped);) {
        bool served = false;
        for (unsigned s = 0; s < ideal->n_shares; s++)
            served |= serve(own, ideal->shares[(own->index + s) % ideal->n_shares]);
        if (ideal->n_shares == 1)
            return;
        idle = served ? 0 : idle + 1;
        if (!served)
            sched_yield();
    }
}

static void sleep_until_roused(struct share *share, enum sleep why)
{
    struct lull_ideal *ideal = share->ideal;
    pthread_mutex_lock(&share->lock);
    if (share->inbox || atomic_load(&ideal->stopped) ||
        (why == RESTING && atomic_load(&share->hungry))) {
        pthread_mutex_unlock(&share->lock);
        return;
    }
    share->sleep = why;
    pthread_mutex_unlock(&share->lock);
    if (atomic_fetch_sub(&ideal->unsettled, 1) == 1)
        decide(ideal);
    pthread_mutex_lock(&share->lock);
    while (!share->inbox && !share->roused)
        pthread_cond_wait(&share->wake, &share->lock);
    if (!share->roused)
        atomic_fetch_add(&ideal->unsettled, 1);
    share->roused = false;
    share->sleep = AWAKE;
    pthread_mutex_unlock(&share->lock);
}

/* Until a letter comes or everything is decided. */
void lull_post_sleep(struct share *share, enum sleep why)
{
    atomic_store_explicit(&share->waits, true, memory_order_relaxed);
    pthread_mutex_lock(&share->evaluation);
    evaluate(share);
    pthread_mutex_unlock(&share->evaluation);
    serve_all(share);
    sleep_until_roused(share, why);
    atomic_store_explicit(&share->waits, false, memory_order_relaxed);
}
