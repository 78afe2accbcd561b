#include "replay/ideal/mail.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/clock.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/share.h"
#include "team/ending.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ==== mail ==================================================================================== */

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

enum { MAIL_LOOKS = 50 }; /* before a reader that looks out for mail sleeps in between */

enum mail_kind { MAIL_BATCH, MAIL_NOTE, READ_TO };

/* The head of a parcel. In a MAIL_BATCH letters follow it. */
struct mail_head {
    uint32_t kind;     /* enum mail_kind */
    uint32_t era;      /* of the sender */
    uint32_t from, to; /* MAIL_BATCH: shares */
    uint32_t count;    /* MAIL_BATCH: letters */
    union {
        int64_t time;                 /* READ_TO: how far the member has been read */
        struct lull_ending_note note; /* MAIL_NOTE */
    };
};

struct mail {
    struct lull_ideal *ideal;
    struct lull_team *team;
    atomic_ullong sent; /* parcels with batches */
    atomic_bool failed; /* then status and error do not change any more */

    pthread_mutex_t lock; /* of all below */
    lull_status status;
    struct lull_error error;
    atomic_uint era; /* changed by the holder of the lock, read by anybody */
    struct lull_ending ending;
    struct lull_team_parcel *held; /* [n_held]: parcels of a later era */
    size_t n_held, held_capacity;
    struct lull_patience patience;
};

/* ---- rest ------------------------------------------------------------------------------------ */

static lull_status tell_mail_note(void *context, uint32_t to, const struct lull_ending_note *note,
                                  struct lull_error *err)
{
    const struct mail *mail = context;
    const struct mail_head head = {.kind = MAIL_NOTE, .era = mail->era, .note = *note};
    return lull_team_post(mail->team, LULL_TEAM_REPLAY, to, &head, sizeof head, err);
}

static uint64_t post_look_at_rest(const struct lull_ideal *ideal);
static enum rest_verdict rest_judge(uint64_t rest);
static void post_decide(struct lull_ideal *ideal, enum rest_verdict verdict);

static uint64_t look_at_rest(void *context)
{
    const struct mail *mail = context;
    return post_look_at_rest(mail->ideal);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct mail *lull_mail_create(struct lull_ideal *ideal)
{
    struct mail *mail = calloc(1, sizeof *mail);
    struct lull_team *team = ideal->reading->division->team;
    if (!mail)
        return NULL;
    mail->ideal = ideal;
    mail->team = team;
    mail->patience.at_once = MAIL_LOOKS;
    mail->ending = (struct lull_ending){
        .team = team, .tell = tell_mail_note, .look = look_at_rest, .context = mail};
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

static void fail_mail(struct mail *mail, lull_status status, const struct lull_error *err)
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

/* ---- sending --------------------------------------------------------------------------------- */

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

/* Tells all others, now and then, how far this member has been read. */
static void tell_read_to(struct mail *mail)
{
    struct mail_head head = {.kind = READ_TO, .era = mail->era};
    struct lull_error err;
    lull_status status = LULL_OK;
    if (!lull_lead_to_tell(mail->ideal->leads, &head.time))
        return;
    for (uint32_t m = 0; m < lull_team_size(mail->team) && status == LULL_OK; m++)
        if (m != lull_team_index(mail->team))
            status = lull_team_post(mail->team, LULL_TEAM_REPLAY, m, &head, sizeof head, &err);
    if (status != LULL_OK)
        fail_mail(mail, status, &err);
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* The ending, told the present state of this member. */
static struct lull_ending *current(struct mail *mail)
{
    mail->ending.settled = atomic_load(&mail->ideal->unsettled) == 0;
    mail->ending.sent = atomic_load(&mail->sent);
    return &mail->ending;
}

/* When all members rest, they all come to the same verdict. */
static void look_whether_over(struct mail *mail, lull_status status, const struct lull_error *err)
{
    if (status != LULL_OK)
        fail_mail(mail, status, err);
    if (status != LULL_OK || !mail->ending.over)
        return;
    mail->era++;
    lull_ending_again(&mail->ending);
    mail->patience.since = 0;
    post_decide(mail->ideal, rest_judge(mail->ending.findings));
}

static void hear_note(struct mail *mail, uint32_t from, const struct mail_head *head)
{
    struct lull_error err;
    if (head->era == mail->era) /* else it was written before the last decision */
        look_whether_over(mail, lull_ending_hear(current(mail), from, &head->note, &err), &err);
}

/* Tells that this member has settled, if it has been so for long enough. */
static void report(struct mail *mail)
{
    struct lull_error err;
    struct lull_ending *ending = current(mail);
    if (lull_patience_is_worth_a_word(&mail->patience, ending->settled))
        look_whether_over(mail, lull_ending_report(ending, &err), &err);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void deliver(struct mail *mail, const struct lull_team_parcel *parcel)
{
    const struct mail_head *head = parcel->bytes;
    struct share *target = mail->ideal->shares[head->to];
    struct batch *batch = malloc(sizeof *batch);
    if (!batch) {
        struct lull_error err;
        lull_fail(&err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                  mail->ideal->trace->path);
        fail_mail(mail, LULL_ERR_MEMORY, &err);
        return;
    }
    batch->next = NULL;
    batch->from = head->from;
    batch->count = head->count;
    memcpy(batch->letters, head + 1, head->count * sizeof batch->letters[0]);
    lull_post_put(target, batch, true);
    mail->ending.received++;
}

static void hold_parcel(struct mail *mail, const struct lull_team_parcel *parcel)
{
    struct lull_error err;
    if (lull_array_reserve(&mail->held, &mail->held_capacity, mail->n_held + 1,
                           sizeof *mail->held)) {
        mail->held[mail->n_held++] = *parcel;
        return;
    }
    lull_fail(&err, LULL_ERR_MEMORY, "not enough memory for a replay");
    fail_mail(mail, LULL_ERR_MEMORY, &err);
}

static void take_parcel(struct mail *mail, struct lull_team_parcel *parcel)
{
    const struct mail_head *head = parcel->bytes;
    if (head->era > mail->era) {
        hold_parcel(mail, parcel);
        return;
    }
    if (head->kind == MAIL_BATCH)
        deliver(mail, parcel);
    else if (head->kind == READ_TO)
        lull_lead_heard(mail->ideal->leads, parcel->from, head->time);
    else
        hear_note(mail, parcel->from, head);
    lull_team_give_back(parcel);
}

/* Takes the parcels that were held back and whose era has come, in their order. */
static void take_held(struct mail *mail)
{
    size_t kept = 0;
    const size_t n = mail->n_held;
    for (size_t i = 0; i < n; i++) {
        struct lull_team_parcel parcel = mail->held[i];
        if (((const struct mail_head *)parcel.bytes)->era > mail->era)
            mail->held[kept++] = parcel;
        else
            take_parcel(mail, &parcel);
    }
    mail->n_held = kept;
}

static bool take_all(struct mail *mail)
{
    bool any = false;
    for (uint32_t era = mail->era; !atomic_load(&mail->failed); any = true) {
        struct lull_team_parcel parcel;
        struct lull_error err;
        lull_status status = lull_team_take(mail->team, LULL_TEAM_REPLAY, &parcel, &err);
        if (status != LULL_OK)
            fail_mail(mail, status, &err);
        if (status != LULL_OK || !parcel.bytes)
            break;
        take_parcel(mail, &parcel);
        if (mail->era != era)
            take_held(mail);
        era = mail->era;
    }
    return any;
}

/* By any reader: puts the parcels that have come into inboxes. Returns whether there were any;
 * false also while another reader does this. */
static bool mail_take(struct lull_ideal *ideal)
{
    struct mail *mail = ideal->mail;
    if (!mail || pthread_mutex_trylock(&mail->lock) != 0)
        return false;
    bool any = take_all(mail);
    tell_read_to(mail);
    pthread_mutex_unlock(&mail->lock);
    return any;
}

/* By a reader that sleeps: looks for mail, tells that this member has settled, and waits a little.
 * False: another reader does so already. */
static bool mail_look_out(struct lull_ideal *ideal)
{
    struct mail *mail = ideal->mail;
    int64_t span = 0;
    if (pthread_mutex_trylock(&mail->lock) != 0)
        return false;
    const bool any = take_all(mail);
    tell_read_to(mail);
    if (any) {
        lull_patience_renew(&mail->patience);
    } else {
        report(mail);
        span = lull_patience_lose(&mail->patience);
    }
    pthread_mutex_unlock(&mail->lock);
    lull_patience_wait(span);
    return true;
}

/* ==== letters between shares, and rest ======================================================== */

/* ideal->unsettled counts the readers that are awake and the batches that nobody has taken yet.
 * Whoever brings it to 0 knows that all readers sleep and no letter is on its way, so that no
 * reader will be woken by another. Then either all has been read and everything is over, or reading
 * rests because too many notes wait. In the latter case it helps to let more notes wait if a thread
 * that is not blocked may yet do what others wait for, or if the receive of a synchronous send may
 * yet be read. Otherwise the streams wait for what does not come in this trace. */

enum { BLOCKS_BETWEEN_LETTERS = 8 }; /* blocks of steps that a share reads until it posts letters */

enum { MOST_SPARE = 32 /* batches of a share */ };

/* Letters are often answered at once by another processor, and going to sleep for each would take
 * ten times as long as the evaluation. So a reader looks for letters for LOOK_OUT_NS before it
 * sleeps, and does not yield its processor meanwhile: where other programs compute beside lull, who
 * yields waits for milliseconds, but who sleeps gets the processor back as soon as it is woken. In
 * a team, a sleeping reader wakes every LOOK_AGAIN_NS to look for mail. */
enum { LOOK_OUT_NS = 5000, LOOK_AGAIN_NS = 2000000 };

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

/* Keeps a batch to be filled again. A share that is told more than it tells needs only some of the
 * batches that it gets. */
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
    mail_send(share, to, batch);
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

/* Whether readers of a share wait for letters. That is not known of shares of other members. */
static bool is_waited_for(const struct share *target)
{
    return target && atomic_load_explicit(&target->waits, memory_order_relaxed);
}

/* Shares that wait get their letters at once, others in larger batches. */
void lull_post_flush_now_and_then(struct share *share)
{
    bool now = ++share->blocks >= BLOCKS_BETWEEN_LETTERS;
    if (now)
        share->blocks = 0;
    for (uint32_t to = 0; to < share->ideal->n_shares; to++)
        if (share->outboxes[to].batch && (now || is_waited_for(share->ideal->shares[to])))
            hand_over(share, to);
    if (now && share->ideal->mail)
        mail_take(share->ideal);
}

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

/* What the verdict depends on here, in bits of enum rest. All readers sleep and no letter is on its
 * way, so all shares may be looked at without a lock. */
static uint64_t post_look_at_rest(const struct lull_ideal *ideal)
{
    uint64_t rest = is_more_to_come(ideal) ? REST_MORE : 0;
    for (unsigned r = 0; r < ideal->n_readers; r++) {
        if (ideal->readers[r]->sleep != RESTING)
            continue;
        rest |= REST_UNREAD;
        if (lull_lead_is_too_large(ideal->readers[r]->share))
            rest |= REST_AHEAD;
    }
    if (lull_synchronous_asks(ideal, false))
        rest |= REST_RELEASES;
    else if (lull_synchronous_asks(ideal, true))
        rest |= REST_RELEASES_ALL;
    return rest;
}

static enum rest_verdict rest_judge(uint64_t rest)
{
    if (rest & REST_UNREAD)
        return rest & (REST_MORE | REST_AHEAD) ? REST_READ_ON : REST_STUCK;
    if (rest & REST_RELEASES)
        return REST_RELEASE_SOME;
    return rest & REST_RELEASES_ALL ? REST_RELEASE_ALL : REST_OVER;
}

/* Does what was decided. That may wake readers by letters, so `unsettled` is held above 0 until it
 * is done: nobody else decides meanwhile. */
static void post_decide(struct lull_ideal *ideal, enum rest_verdict verdict)
{
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
        if (ideal->leads)
            lull_lead_grant(ideal->leads);
        break;
    case REST_STUCK:
        ideal->first_blocked = lull_ideal_first_blocked(ideal);
        for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
            lull_share_drop_notes(ideal->shares[s]);
        atomic_store(&ideal->state, STUCK);
    }
    lull_post_rouse_all(ideal);
    atomic_fetch_sub(&ideal->unsettled, 1);
}

/* Takes the letters of a share and evaluates it; false: there are none, or another reader holds the
 * share. A failure is noted in the reader's own share, too, which tells the pass. */
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
    while ((n > 1 || ideal->mail) && !atomic_load(&ideal->stopped)) {
        bool served = ideal->mail && mail_take(ideal);
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
        post_decide(ideal, rest_judge(post_look_at_rest(ideal)));
    pthread_mutex_lock(&share->lock);
    while (!share->inbox && !reader->roused) {
        pthread_mutex_unlock(&share->lock);
        const bool looks = ideal->mail && mail_look_out(ideal);
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
