/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/mail.h"

#include "team/mailbox.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SPARE = 32 /* batches of a share */ };

/* Wakes one of the share's readers to take its letters, unless one is awake, who takes them anyway.
 */
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

/* A share that is told more than it tells needs only some of the batches that it gets. */
void lull_post_keep(struct share *share, struct batch *batch)
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

/* ---- other members ------------------------------------------------------------------------- */

/* A batch of letters for a share of another member. */
struct batch_parcel {
    unsigned char mailbox_head[LULL_MAILBOX_HEAD];
    struct batch_head {
        uint32_t from, to; /* shares */
        uint64_t count;    /* letters */
    } head;
    struct letter letters[LETTERS_OF_BATCH];
};

static void send_batch(struct share *share, uint32_t to, const struct batch *batch)
{
    const struct lull_ideal *ideal = share->ideal;
    struct batch_parcel parcel;
    const size_t size = batch->count * sizeof parcel.letters[0];
    parcel.head = (struct batch_head){.from = share->index, .to = to, .count = batch->count};
    memcpy(parcel.letters, batch->letters, size);
    lull_mailbox_post(ideal->mailbox, share->index - ideal->first_share, ideal->member_of[to],
                      &parcel, offsetof(struct batch_parcel, letters) + size);
}

void lull_post_deliver(struct lull_ideal *ideal, const void *letters)
{
    const struct batch_head *head = letters;
    struct batch *batch = malloc(sizeof *batch);
    if (!batch) {
        struct lull_error err;
        lull_fail(&err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", ideal->trace->path);
        lull_mailbox_fail(ideal->mailbox, LULL_ERR_MEMORY, &err);
        return;
    }
    batch->next = NULL;
    batch->from = head->from;
    batch->count = (uint32_t)head->count;
    memcpy(batch->letters, head + 1, batch->count * sizeof batch->letters[0]);
    lull_post_put(ideal->shares[head->to], batch, true);
}

/* ---- posting ------------------------------------------------------------------------------- */

void lull_post_hand_over(struct share *share, uint32_t to)
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
    send_batch(share, to, batch);
    lull_post_keep(share, batch);
}

struct letter *lull_post(struct share *share, uint32_t to, uint8_t kind)
{
    struct outbox *outbox = &share->outboxes[to];
    if (outbox->batch && outbox->batch->count == LETTERS_OF_BATCH)
        lull_post_hand_over(share, to);
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

void lull_post_path(struct share *share, uint32_t to, uint32_t path)
{
    const int64_t *numbers = path ? lull_ideal_path_numbers(share->paths, path) : NULL;
    struct letter *half = NULL;
    for (uint32_t i = 0; numbers && i < share->ideal->size_of_paths; i++) {
        if (numbers[i] == 0)
            continue;
        if (half) {
            half->b = i;
            half->measured = numbers[i];
            half = NULL;
        } else if ((half = lull_post(share, to, LETTER_PATH))) {
            half->a = i;
            half->time = numbers[i];
            half->b = LULL_NONE;
        }
    }
}

void lull_post_path_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    lull_ideal_path_add(share->paths, &share->coming[from], letter->a, letter->time);
    if (letter->b != LULL_NONE)
        lull_ideal_path_add(share->paths, &share->coming[from], letter->b, letter->measured);
}

uint32_t lull_post_path_of(struct share *share, uint32_t from)
{
    const uint32_t path = share->coming[from];
    share->coming[from] = 0;
    return path;
}

void lull_post_flush(struct share *share)
{
    share->blocks = 0;
    for (uint32_t to = 0; to < share->ideal->n_shares; to++)
        if (share->outboxes[to].batch)
            lull_post_hand_over(share, to);
}

/* ---- waking -------------------------------------------------------------------------------- */

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
