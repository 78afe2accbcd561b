#include "replay/ideal/mail.h"

#include "base/array.h"
#include "base/clock.h"
#include "replay/ideal/lead.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* How long a member has settled before it says so: most are woken sooner. */
enum { REPORT_AFTER_NS = 200000, FIRST_NAP_NS = 10000, LONGEST_NAP_NS = 500000, LOOKS = 50 };

enum kind { BATCH, REPORT, PROBE, ANSWER, VERDICT, READ_TO };

/* In front of letters, or all of a parcel. */
struct head {
    uint32_t kind;
    uint32_t era;
    uint32_t from, to; /* BATCH: shares */
    uint32_t count;    /* BATCH: of letters; PROBE, ANSWER: of the probe; VERDICT: which */
    uint32_t settled;  /* ANSWER */
    uint64_t sent, received;
    int64_t time;          /* READ_TO: how far the member has been read */
    struct lull_rest rest; /* ANSWER */
};

/* What the first knows of a member. */
struct known {
    bool settled, answered;
    uint64_t sent, received;
    struct lull_rest rest;
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
    uint64_t received;
    struct lull_team_parcel *held; /* of a later era */
    size_t n_held, held_capacity;
    uint64_t told_sent, told_received;
    uint32_t told_era; /* of the last report; UINT32_MAX: none */
    int64_t since;     /* it has settled; 0: has not */
    long nap;
    unsigned looks;

    /* on the first */
    struct known *known; /* [members] */
    uint32_t probe;      /* its number; asked: answers are to come */
    bool asked;
    bool spoilt;      /* one has answered that it has not settled after all */
    uint64_t counted; /* sent and received by all when it asked */
};

/* ---- life ------------------------------------------------------------------------------------ */

struct mail *lull_mail_create(struct lull_ideal *ideal)
{
    struct mail *mail = calloc(1, sizeof *mail);
    struct lull_team *team = ideal->options->division->team;
    if (!mail)
        return NULL;
    mail->ideal = ideal;
    mail->team = team;
    mail->nap = FIRST_NAP_NS;
    mail->told_era = UINT32_MAX;
    mail->known = calloc(lull_team_size(team), sizeof *mail->known);
    pthread_mutex_init(&mail->lock, NULL);
    if (mail->known)
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
    free(mail->held);
    free(mail->known);
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
        struct head head;
        struct letter letters[LETTERS_OF_BATCH];
    } parcel;
    struct lull_ideal *ideal = share->ideal;
    struct lull_error err;
    /* The era changes while all of the member sleep, or read on in any case. */
    parcel.head = (struct head){.kind = BATCH,
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

static void tell(struct mail *mail, uint32_t to, const struct head *head)
{
    struct lull_error err;
    lull_status status = lull_team_post(mail->team, LULL_TEAM_REPLAY, to, head, sizeof *head, &err);
    if (status != LULL_OK)
        fail_mail(mail, status, &err);
}

/* By the first. */
static void tell_others(struct mail *mail, const struct head *head)
{
    for (uint32_t m = 1; m < lull_team_size(mail->team); m++)
        tell(mail, m, head);
}

/* Now and then, how far this member has been read. */
static void tell_read_to(struct mail *mail)
{
    struct head head = {.kind = READ_TO, .era = mail->era};
    if (!lull_lead_to_tell(mail->ideal->leads, &head.time))
        return;
    for (uint32_t m = 0; m < lull_team_size(mail->team); m++)
        if (m != lull_team_index(mail->team))
            tell(mail, m, &head);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static bool has_settled(const struct mail *mail)
{
    return atomic_load(&mail->ideal->unsettled) == 0;
}

static void take_verdict(struct mail *mail, const struct head *head)
{
    mail->era++;
    mail->told_era = UINT32_MAX;
    mail->since = 0;
    lull_post_decide(mail->ideal, (enum lull_verdict)head->count);
}

static void judge(struct mail *mail)
{
    struct lull_rest all = {0};
    for (uint32_t m = 0; m < lull_team_size(mail->team); m++) {
        const struct lull_rest *rest = &mail->known[m].rest;
        all.resting |= rest->resting;
        all.more |= rest->more;
        all.ahead |= rest->ahead;
        all.releases |= rest->releases;
        all.releases_all |= rest->releases_all;
        mail->known[m].settled = false;
    }
    const struct head verdict = {
        .kind = VERDICT, .era = mail->era, .count = (uint32_t)lull_rest_judge(&all)};
    tell_others(mail, &verdict);
    take_verdict(mail, &verdict);
}

/* What all have sent and received, where that is the same and all have settled. */
static bool adds_up(const struct mail *mail, uint64_t *ret_count)
{
    uint64_t sent = 0, received = 0;
    for (uint32_t m = 0; m < lull_team_size(mail->team); m++) {
        if (!mail->known[m].settled)
            return false;
        sent += mail->known[m].sent;
        received += mail->known[m].received;
    }
    *ret_count = sent;
    return sent == received;
}

/* The first has heard something. */
static void consider(struct mail *mail)
{
    uint64_t count;
    const struct head probe = {.kind = PROBE, .era = mail->era, .count = mail->probe + 1};
    if (!has_settled(mail))
        mail->told_era = UINT32_MAX; /* it has been woken since it told, and looks at this again */
    if (mail->asked || !has_settled(mail) || !adds_up(mail, &count))
        return;
    mail->asked = true;
    mail->spoilt = false;
    mail->counted = count;
    mail->probe++;
    for (uint32_t m = 0; m < lull_team_size(mail->team); m++)
        mail->known[m].answered = false;
    tell_others(mail, &probe);
}

/* Who has not settled after all tells again when it has. */
static struct known own_answer(struct mail *mail)
{
    struct known own = {.settled = has_settled(mail),
                        .answered = true,
                        .sent = atomic_load(&mail->sent),
                        .received = mail->received};
    if (own.settled)
        own.rest = lull_post_look_at_rest(mail->ideal);
    else
        mail->told_era = UINT32_MAX;
    return own;
}

/* When all have answered. */
static void count_again(struct mail *mail)
{
    uint64_t count;
    for (uint32_t m = 1; m < lull_team_size(mail->team); m++)
        if (!mail->known[m].answered)
            return;
    mail->asked = false;
    mail->known[0] = own_answer(mail);
    mail->spoilt |= !mail->known[0].settled;
    if (!mail->spoilt && adds_up(mail, &count) && count == mail->counted)
        judge(mail);
    else
        consider(mail); /* what was reported meanwhile may add up */
}

static void take_control(struct mail *mail, uint32_t from, const struct head *head)
{
    struct known *known = &mail->known[from];
    if (head->era != mail->era)
        return; /* of before the last decision */
    const struct known own = head->kind == PROBE ? own_answer(mail) : (struct known){0};
    switch (head->kind) {
    case REPORT:
        known->settled = true; /* what it has answered, if it was asked, still counts */
        known->sent = head->sent;
        known->received = head->received;
        consider(mail);
        return;
    case PROBE:
        tell(mail, 0,
             &(struct head){.kind = ANSWER,
                            .era = mail->era,
                            .count = head->count,
                            .settled = own.settled,
                            .sent = own.sent,
                            .received = own.received,
                            .rest = own.rest});
        return;
    case ANSWER:
        *known = (struct known){.settled = head->settled,
                                .answered = true,
                                .sent = head->sent,
                                .received = head->received,
                                .rest = head->rest};
        mail->spoilt |= !head->settled;
        count_again(mail);
        return;
    default:
        take_verdict(mail, head);
    }
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void deliver(struct mail *mail, const struct lull_team_parcel *parcel)
{
    const struct head *head = parcel->bytes;
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
    mail->received++;
}

static void hold(struct mail *mail, const struct lull_team_parcel *parcel)
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
    const struct head *head = parcel->bytes;
    if (head->era > mail->era) {
        hold(mail, parcel);
        return;
    }
    if (head->kind == BATCH)
        deliver(mail, parcel);
    else if (head->kind == READ_TO)
        lull_lead_heard(mail->ideal->leads, parcel->from, head->time);
    else
        take_control(mail, parcel->from, head);
    lull_team_give_back(parcel);
}

/* Those of an era that has come since, in their order. */
static void take_held(struct mail *mail)
{
    size_t kept = 0;
    const size_t n = mail->n_held;
    for (size_t i = 0; i < n; i++) {
        struct lull_team_parcel parcel = mail->held[i];
        if (((const struct head *)parcel.bytes)->era > mail->era)
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

/* This member has settled, for long enough that it is worth a word, and others do not know. */
static void report(struct mail *mail)
{
    const uint64_t sent = atomic_load(&mail->sent);
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    if (!has_settled(mail)) {
        mail->since = 0;
        return;
    }
    if (mail->since == 0)
        mail->since = now;
    if (now - mail->since < REPORT_AFTER_NS ||
        (mail->told_era == mail->era && mail->told_sent == sent &&
         mail->told_received == mail->received))
        return;
    mail->told_era = mail->era;
    mail->told_sent = sent;
    mail->told_received = mail->received;
    const struct head head = {
        .kind = REPORT, .era = mail->era, .sent = sent, .received = mail->received};
    if (lull_team_is_first(mail->team))
        take_control(mail, 0, &head);
    else
        tell(mail, 0, &head);
}

bool lull_mail_look_out(struct lull_ideal *ideal)
{
    struct mail *mail = ideal->mail;
    struct timespec span = {0};
    if (pthread_mutex_trylock(&mail->lock) != 0)
        return false;
    const bool any = take_all(mail);
    tell_read_to(mail);
    if (any) {
        mail->looks = 0;
        mail->nap = FIRST_NAP_NS;
    } else {
        report(mail);
        if (++mail->looks > LOOKS)
            span.tv_nsec = mail->nap;
        if (mail->looks > LOOKS && mail->nap < LONGEST_NAP_NS)
            mail->nap += mail->nap / 4;
    }
    pthread_mutex_unlock(&mail->lock);
    if (span.tv_nsec)
        nanosleep(&span, NULL);
    else
        sched_yield(); /* another member may need this core */
    return true;
}
