#include "replay/ideal/mail.h"

#include "base/array.h"
#include "replay/ideal/lead.h"
#include "team/ending.h"
#include "team/patience.h"

#include <string.h>

enum { MAIL_LOOKS = 50 };

enum mail_kind { MAIL_BATCH, MAIL_NOTE, READ_TO };

/* In front of letters, or all of a parcel. */
struct mail_head {
    uint32_t kind;
    uint32_t era;
    uint32_t from, to; /* BATCH: shares */
    uint32_t count;    /* BATCH: of letters */
    union {
        int64_t time;                 /* READ_TO: how far the member has been read */
        struct lull_ending_note note; /* NOTE */
    };
};

struct mail {
    struct lull_ideal *ideal;
    struct lull_team *team;
    atomic_ullong sent;
    atomic_bool failed;

    pthread_mutex_t lock; /* of all below */
    lull_status status;
    struct lull_error error;
    atomic_uint era; /* that others than the holder of the lock read */
    struct lull_ending ending;
    struct lull_team_parcel *held; /* of a later era */
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

static uint64_t look_at_rest(void *context)
{
    const struct mail *mail = context;
    return lull_post_look_at_rest(mail->ideal);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct mail *lull_mail_create(struct lull_ideal *ideal)
{
    struct mail *mail = calloc(1, sizeof *mail);
    struct lull_team *team = ideal->options->division->team;
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

void lull_mail_send(struct share *share, uint32_t to, const struct batch *batch)
{
    struct {
        struct mail_head head;
        struct letter letters[LETTERS_OF_BATCH];
    } parcel;
    struct lull_ideal *ideal = share->ideal;
    struct lull_error err;
    /* The era changes while all of the member sleep, or read on in any case. */
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

/* Now and then, how far this member has been read. */
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

/* What the ending is to know of this member now. */
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
    lull_post_decide(mail->ideal, lull_rest_judge(mail->ending.findings));
}

static void hear_note(struct mail *mail, uint32_t from, const struct mail_head *head)
{
    struct lull_error err;
    if (head->era == mail->era) /* else it is of before the last decision */
        look_whether_over(mail, lull_ending_hear(current(mail), from, &head->note, &err), &err);
}

/* This member has settled, for long enough that it is worth a word. */
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

/* Those of an era that has come since, in their order. */
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

bool lull_mail_take(struct lull_ideal *ideal)
{
    struct mail *mail = ideal->mail;
    if (!mail || pthread_mutex_trylock(&mail->lock) != 0)
        return false;
    bool any = take_all(mail);
    tell_read_to(mail);
    pthread_mutex_unlock(&mail->lock);
    return any;
}

bool lull_mail_look_out(struct lull_ideal *ideal)
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
