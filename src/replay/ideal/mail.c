#include "replay/ideal/mail.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* ==== lead ==================================================================================== */

#define LEAD_BYTES (UINT64_C(64) << 20) /* of letters, of the shares of one member together */

/* A member tells all others how far it has come, at most every 10 ms; and with many members so
 * seldom that no member hears such news from the others more often than every 50 us. */
enum { MARKS = 64, TELL_EVERY_NS = 10000000, HEAR_EVERY_NS = 50000 };

/* When `letters` letters had been posted, the readers of the share had come to `time`. */
struct mark {
    int64_t time; /* measured */
    uint64_t letters;
};

struct lead {
    uint64_t posted, needed; /* letters; `needed`: those that others may have taken already */
    struct mark marks[MARKS];
    uint32_t n_marks;
    atomic_bool too_large;
};

struct leads {
    struct lull_ideal *ideal;
    pthread_mutex_t lock;    /* of all below */
    uint64_t most;           /* letters that a share may be ahead */
    int64_t *read_to;        /* [n_members]: how far they have been read, as they told; measured */
    uint32_t n_members, own; /* `own`: index of this member */
    struct lead *leads;      /* of the shares of this member */
    int64_t told, told_at, tell_every; /* ns: the time that was told last; when, by the monotonic
                                          clock; the least time between two such news */
};

struct leads *lull_leads_create(struct lull_ideal *ideal)
{
    struct leads *leads = calloc(1, sizeof *leads);
    struct lull_team *team = ideal->reading->division->team;
    const unsigned n_shares = ideal->end_share - ideal->first_share;
    if (!leads)
        return NULL;
    pthread_mutex_init(&leads->lock, NULL);
    leads->ideal = ideal;
    leads->n_members = lull_team_size(team);
    leads->own = lull_team_index(team);
    leads->told = -1;
    leads->tell_every = (int64_t)leads->n_members * HEAR_EVERY_NS;
    if (leads->tell_every < TELL_EVERY_NS)
        leads->tell_every = TELL_EVERY_NS;
    leads->most = ideal->options->ahead;
    if (leads->most == 0)
        leads->most = LEAD_BYTES / sizeof(struct letter) / (n_shares ? n_shares : 1);
    leads->read_to = calloc(leads->n_members, sizeof *leads->read_to);
    leads->leads = calloc(n_shares + (size_t)1, sizeof *leads->leads);
    if (leads->read_to && leads->leads)
        return leads;
    lull_leads_destroy(leads);
    return NULL;
}

void lull_leads_destroy(struct leads *leads)
{
    if (!leads)
        return;
    pthread_mutex_destroy(&leads->lock);
    free(leads->read_to);
    free(leads->leads);
    free(leads);
}

static struct lead *lead_of(struct leads *leads, const struct share *share)
{
    return &leads->leads[share->index - leads->ideal->first_share];
}

/* ---- how far readers have come ------------------------------------------------------------- */

void lull_lead_reads(struct reader *reader, int64_t time)
{
    atomic_store_explicit(&reader->read_to, time, memory_order_relaxed);
}

static int64_t least_of(struct reader *const *readers, unsigned n_readers)
{
    int64_t least = INT64_MAX;
    for (unsigned r = 0; r < n_readers; r++) {
        const int64_t time = atomic_load_explicit(&readers[r]->read_to, memory_order_relaxed);
        least = time < least ? time : least;
    }
    return least;
}

static int64_t least_of_others(const struct leads *leads)
{
    int64_t least = INT64_MAX;
    for (uint32_t m = 0; m < leads->n_members; m++)
        if (m != leads->own && leads->read_to[m] < least)
            least = leads->read_to[m];
    return least;
}

/* ---- marks --------------------------------------------------------------------------------- */

static void set_mark(struct leads *leads, struct lead *lead, int64_t time)
{
    const uint64_t last = lead->n_marks ? lead->marks[lead->n_marks - 1].letters : lead->needed;
    if (lead->posted - last < leads->most / MARKS)
        return;
    if (lead->n_marks == MARKS) { /* the bound has grown, so every other mark is enough */
        for (uint32_t i = 0; i < MARKS / 2; i++)
            lead->marks[i] = lead->marks[2 * i + 1];
        lead->n_marks = MARKS / 2;
    }
    lead->marks[lead->n_marks++] = (struct mark){time, lead->posted};
}

/* Forgets the marks that the others have come to, and compares the rest with the bound. */
static bool is_too_large(struct leads *leads, struct lead *lead)
{
    const int64_t others = least_of_others(leads);
    uint32_t passed = 0;
    while (passed < lead->n_marks && lead->marks[passed].time <= others)
        lead->needed = lead->marks[passed++].letters;
    lead->n_marks -= passed;
    memmove(lead->marks, lead->marks + passed, lead->n_marks * sizeof *lead->marks);
    return others != INT64_MAX && lead->posted - lead->needed > leads->most;
}

void lull_lead_posted(struct share *share, uint32_t letters)
{
    struct leads *leads = share->ideal->leads;
    struct lead *lead = lead_of(leads, share);
    pthread_mutex_lock(&leads->lock);
    lead->posted += letters;
    set_mark(leads, lead, least_of(share->readers, share->n_readers));
    if (is_too_large(leads, lead))
        atomic_store(&lead->too_large, true);
    pthread_mutex_unlock(&leads->lock);
}

bool lull_lead_is_too_large(const struct share *share)
{
    struct leads *leads = share->ideal->leads;
    return leads && atomic_load_explicit(&lead_of(leads, share)->too_large, memory_order_relaxed);
}

/* ---- news of members ----------------------------------------------------------------------- */

bool lull_lead_to_tell(struct leads *leads, int64_t *ret_time)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    const int64_t time = least_of(leads->ideal->readers, leads->ideal->n_readers);
    pthread_mutex_lock(&leads->lock);
    const bool tells = time != leads->told && now - leads->told_at >= leads->tell_every;
    if (tells) {
        leads->told = time;
        leads->told_at = now;
    }
    pthread_mutex_unlock(&leads->lock);
    *ret_time = time;
    return tells;
}

/* Steps that a reader has found not to be welcome may be welcome now. */
static void wake_readers(struct share *share)
{
    for (unsigned r = 0; r < share->n_readers; r++) {
        atomic_store(&share->readers[r]->hungry, true);
        lull_post_rouse(share->readers[r], RESTING);
    }
}

/* Lets the shares go on that are not too far ahead any more. No other function does, so that their
 * readers are always woken. */
static void look_at_all(struct leads *leads)
{
    struct lull_ideal *ideal = leads->ideal;
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        struct share *share = ideal->shares[s];
        struct lead *lead = lead_of(leads, share);
        pthread_mutex_lock(&leads->lock);
        const bool goes_on = atomic_load(&lead->too_large) && !is_too_large(leads, lead);
        if (goes_on)
            atomic_store(&lead->too_large, false);
        pthread_mutex_unlock(&leads->lock);
        if (goes_on)
            wake_readers(share);
    }
}

void lull_lead_heard(struct leads *leads, uint32_t member, int64_t time)
{
    pthread_mutex_lock(&leads->lock);
    leads->read_to[member] = time;
    pthread_mutex_unlock(&leads->lock);
    look_at_all(leads);
}

void lull_lead_grant(struct leads *leads)
{
    bool any = false;
    for (unsigned s = leads->ideal->first_share; s < leads->ideal->end_share; s++)
        any |= lull_lead_is_too_large(leads->ideal->shares[s]);
    if (!any)
        return;
    pthread_mutex_lock(&leads->lock);
    leads->most *= 2;
    pthread_mutex_unlock(&leads->lock);
    look_at_all(leads);
}

/* ==== other members =========================================================================== */

enum { MAIL_LOOKS = 50 }; /* before a reader that looks out for mail sleeps in between */

static lull_status tell_mail_note(void *context, uint32_t to, const struct lull_ending_note *note,
                                  struct lull_error *err)
{
    const struct mail *mail = context;
    const struct mail_head head = {.kind = MAIL_NOTE, .era = mail->era, .note = *note};
    return lull_team_post(mail->team, LULL_TEAM_REPLAY, to, &head, sizeof head, err);
}

struct mail *lull_mail_create(struct lull_ideal *ideal, uint64_t (*look)(void *mail))
{
    struct mail *mail = calloc(1, sizeof *mail);
    struct lull_team *team = ideal->reading->division->team;
    if (!mail)
        return NULL;
    mail->ideal = ideal;
    mail->team = team;
    mail->patience.at_once = MAIL_LOOKS;
    mail->ending =
        (struct lull_ending){.team = team, .tell = tell_mail_note, .look = look, .context = mail};
    pthread_mutex_init(&mail->lock, NULL);
    if (lull_ending_open(&mail->ending))
        return mail;
    lull_mail_destroy(mail);
    return NULL;
}

void lull_mail_destroy(struct mail *mail)
{
    if (!mail)
        return;
    for (size_t i = 0; i < mail->n_held; i++)
        lull_team_give_back(&mail->held[i]);
    pthread_mutex_destroy(&mail->lock);
    lull_ending_close(&mail->ending);
    free(mail->held);
    free(mail);
}

void lull_mail_fail(struct mail *mail, lull_status status, const struct lull_error *err)
{
    if (atomic_load(&mail->failed))
        return;
    mail->status = status;
    mail->error = *err;
    atomic_store(&mail->failed, true);
    atomic_store(&mail->ideal->stopped, true);
    lull_post_rouse_all(mail->ideal);
}

lull_status lull_mail_failure(struct mail *mail, struct lull_error *err)
{
    if (!mail || !atomic_load(&mail->failed))
        return LULL_OK;
    return lull_fail(err, mail->status, "%s", mail->error.text);
}

/* A batch for a share of another member. */
static void mail_send(struct share *share, uint32_t to, const struct batch *batch)
{
    struct {
        struct mail_head head;
        struct letter letters[LETTERS_OF_BATCH];
    } parcel;
    struct lull_ideal *ideal = share->ideal;
    struct lull_error err;
    /* The era changes only while all readers of this member sleep, so that this is the present one.
     */
    parcel.head = (struct mail_head){.kind = MAIL_BATCH,
                                     .era = ideal->mail->era,
                                     .from = share->index,
                                     .to = to,
                                     .count = batch->count};
    memcpy(parcel.letters, batch->letters, batch->count * sizeof batch->letters[0]);
    atomic_fetch_add(&ideal->mail->sent, 1);
    lull_lead_posted(share, batch->count);
    lull_status status =
        lull_team_post(ideal->mail->team, LULL_TEAM_REPLAY, ideal->member_of[to], &parcel,
                       sizeof parcel.head + batch->count * sizeof parcel.letters[0], &err);
    if (status != LULL_OK)
        lull_share_fail(share, status, &err);
}

/* ==== letters ================================================================================= */

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
    mail_send(share, to, batch);
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
