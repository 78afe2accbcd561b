/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/mailbox.h"

#include "base/array.h"
#include "base/clock.h"
#include "team/ending.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each member tells all others how far it has been read, and posts the letters that it has
 * collected, no more often than once in this time multiplied by the number of members. So a member
 * hears no more often than this on average, however many members there are. */
enum { HEAR_EVERY_NS = 50000 };

static int64_t interval_of(const struct lull_team *team, int64_t least)
{
    const int64_t interval = (int64_t)lull_team_size(team) * HEAR_EVERY_NS;
    return interval > least ? interval : least;
}

/* ==== lead ==================================================================================== */

/* Bytes of letters that all shares of one member may be ahead together. */
#define LEAD_BYTES (UINT64_C(64) << 20)

enum { MARKS = 64, TELL_EVERY_NS = 10000000 };

/* When the share had posted `bytes` bytes of letters, all its workers had read up to `time`. */
struct mark {
    int64_t time; /* measured */
    uint64_t bytes;
};

struct share_lead {
    uint64_t posted, needed; /* bytes; `needed` of them were sent before the time up to which all
                                other members have been read */
    struct mark marks[MARKS];
    uint32_t n_marks;
    atomic_bool too_large;
};

struct lull_lead {
    uint32_t n_members, own; /* `own`: index of this member */
    unsigned workers, workers_of_share, n_shares;
    _Atomic int64_t *workers_read_to; /* [workers]: the measured time up to which each has read */
    pthread_mutex_t lock;             /* protects all below */
    uint64_t most;                    /* bytes that a share may be ahead */
    int64_t *read_to; /* [n_members]: the measured time up to which each has been read, as it
                         told */
    struct share_lead *shares;
    /* `told` is the measured time that was told last, `told_at` when it was told, by the monotonic
     * clock, and `tell_every` the least interval until the next is told; all in ns. */
    int64_t told, told_at, tell_every;
};

struct lull_lead *lull_lead_create(const struct lull_mailbox_options *options)
{
    struct lull_lead *lead = calloc(1, sizeof *lead);
    const unsigned workers = options->workers;
    if (!lead)
        return NULL;
    pthread_mutex_init(&lead->lock, NULL);
    lead->n_members = lull_team_size(options->team);
    lead->own = lull_team_index(options->team);
    lead->workers = workers;
    lead->workers_of_share = options->workers_of_share ? options->workers_of_share : workers + 1;
    lead->n_shares = workers ? (workers - 1) / lead->workers_of_share + 1 : 1;
    lead->most = options->ahead ? options->ahead : LEAD_BYTES / lead->n_shares;
    lead->told = -1;
    lead->tell_every = interval_of(options->team, TELL_EVERY_NS);
    lead->workers_read_to = calloc(workers + (size_t)1, sizeof *lead->workers_read_to);
    lead->read_to = calloc(lead->n_members, sizeof *lead->read_to);
    lead->shares = calloc(lead->n_shares, sizeof *lead->shares);
    if (lead->workers_read_to && lead->read_to && lead->shares)
        return lead;
    lull_lead_destroy(lead);
    return NULL;
}

void lull_lead_destroy(struct lull_lead *lead)
{
    if (!lead)
        return;
    pthread_mutex_destroy(&lead->lock);
    free(lead->workers_read_to);
    free(lead->read_to);
    free(lead->shares);
    free(lead);
}

/* ---- how far ------------------------------------------------------------------------------- */

void lull_lead_reads(struct lull_lead *lead, unsigned worker, int64_t time)
{
    atomic_store_explicit(&lead->workers_read_to[worker], time, memory_order_relaxed);
}

/* The earliest time up to which one of `count` workers from `first` on has read. INT64_MAX: there
 * are none. */
static int64_t least_of_workers(const struct lull_lead *lead, unsigned first, unsigned count)
{
    int64_t least = INT64_MAX;
    for (unsigned w = first; w < lead->workers && w - first < count; w++) {
        const int64_t time = atomic_load_explicit(&lead->workers_read_to[w], memory_order_relaxed);
        least = time < least ? time : least;
    }
    return least;
}

static int64_t least_of_others(const struct lull_lead *lead)
{
    int64_t least = INT64_MAX;
    for (uint32_t m = 0; m < lead->n_members; m++)
        if (m != lead->own && lead->read_to[m] < least)
            least = lead->read_to[m];
    return least;
}

bool lull_lead_to_tell(struct lull_lead *lead, int64_t *ret_time)
{
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    const int64_t time = least_of_workers(lead, 0, lead->workers);
    pthread_mutex_lock(&lead->lock);
    const bool tells = time != lead->told && now - lead->told_at >= lead->tell_every;
    if (tells) {
        lead->told = time;
        lead->told_at = now;
    }
    pthread_mutex_unlock(&lead->lock);
    *ret_time = time;
    return tells;
}

void lull_lead_heard(struct lull_lead *lead, uint32_t member, int64_t time)
{
    pthread_mutex_lock(&lead->lock);
    lead->read_to[member] = time;
    pthread_mutex_unlock(&lead->lock);
}

/* ---- marks --------------------------------------------------------------------------------- */

static void set_mark(const struct lull_lead *lead, struct share_lead *share, int64_t time)
{
    const uint64_t last = share->n_marks ? share->marks[share->n_marks - 1].bytes : share->needed;
    if (share->posted - last < lead->most / MARKS)
        return;
    if (share->n_marks == MARKS) { /* the bound has been doubled, so every other mark is enough */
        for (uint32_t i = 0; i < MARKS / 2; i++)
            share->marks[i] = share->marks[2 * i + 1];
        share->n_marks = MARKS / 2;
    }
    share->marks[share->n_marks++] = (struct mark){time, share->posted};
}

/* Forgets the marks that all other members have been read up to, and compares the bytes that were
 * posted after the last of these marks with the bound. */
static bool is_too_large(const struct lull_lead *lead, struct share_lead *share)
{
    const int64_t others = least_of_others(lead);
    uint32_t passed = 0;
    while (passed < share->n_marks && share->marks[passed].time <= others)
        share->needed = share->marks[passed++].bytes;
    share->n_marks -= passed;
    memmove(share->marks, share->marks + passed, share->n_marks * sizeof *share->marks);
    return others != INT64_MAX && share->posted - share->needed > lead->most;
}

void lull_lead_posted(struct lull_lead *lead, unsigned share, size_t bytes)
{
    struct share_lead *own = &lead->shares[share];
    pthread_mutex_lock(&lead->lock);
    own->posted += bytes;
    set_mark(lead, own,
             least_of_workers(lead, share * lead->workers_of_share, lead->workers_of_share));
    if (is_too_large(lead, own))
        atomic_store(&own->too_large, true);
    pthread_mutex_unlock(&lead->lock);
}

bool lull_lead_is_too_large(const struct lull_lead *lead, unsigned share)
{
    return atomic_load_explicit(&lead->shares[share].too_large, memory_order_relaxed);
}

bool lull_lead_goes_on(struct lull_lead *lead, unsigned share)
{
    struct share_lead *own = &lead->shares[share];
    pthread_mutex_lock(&lead->lock);
    const bool goes_on = atomic_load(&own->too_large) && !is_too_large(lead, own);
    if (goes_on)
        atomic_store(&own->too_large, false);
    pthread_mutex_unlock(&lead->lock);
    return goes_on;
}

bool lull_lead_double(struct lull_lead *lead)
{
    bool any = false;
    for (unsigned s = 0; s < lead->n_shares; s++)
        any |= lull_lead_is_too_large(lead, s);
    pthread_mutex_lock(&lead->lock);
    lead->most *= any ? 2 : 1;
    pthread_mutex_unlock(&lead->lock);
    return any;
}

/* ==== mailbox ================================================================================= */

/* COMPANY is the size of a parcel in which letters are collected. */
enum { COMPANY = 64 << 10, FLUSH_EVERY_NS = 2000000 };

/* What a parcel holds: letters of the analysis, the time up to which its sender has been read, or a
 * note of the ending (team/ending.h). */
enum parcel_kind { LETTERS, READ_TO, NOTE };

/* The head of a parcel. */
struct head {
    uint32_t kind; /* enum parcel_kind */
    uint32_t round;
};

static_assert(sizeof(struct head) == LULL_MAILBOX_HEAD, "letters stand behind the head");

/* A parcel that holds no letters. */
struct word {
    struct head head;
    union {
        int64_t time;                 /* READ_TO */
        struct lull_ending_note note; /* NOTE */
    };
};

/* The letters to one member that are collected into a parcel. */
struct company {
    unsigned char *parcel; /* NULL: no letters are collected */
    size_t size;
};

struct lull_mailbox {
    const struct lull_mailbox_owner *owner;
    void *context;
    struct lull_team *team;
    struct lull_lead *lead;
    atomic_uint round;       /* changed by the thread that holds `taking`, read by any */
    atomic_ullong sent;      /* parcels of letters that this member has posted */
    atomic_uint n_companies; /* companies with a parcel; changed by the thread that holds
                                `writing` */
    pthread_t thread;
    bool has_thread;
    atomic_bool stops; /* the thread is to end */

    pthread_mutex_t writing;   /* protects companies and flushed_at */
    struct company *companies; /* [members] */
    int64_t flushed_at, flush_every;

    pthread_mutex_t failure; /* protects status and error */
    atomic_bool failed;      /* if set, status and error do not change any more */
    lull_status status;
    struct lull_error error;

    pthread_mutex_t taking; /* protects all below */
    struct lull_ending ending;
    struct lull_team_parcel *held; /* [n_held]: parcels of later rounds */
    size_t n_held, held_capacity;
    struct lull_patience patience;
};

/* ---- failure ------------------------------------------------------------------------------- */

void lull_mailbox_fail(struct lull_mailbox *mailbox, lull_status status,
                       const struct lull_error *err)
{
    pthread_mutex_lock(&mailbox->failure);
    const bool first = !atomic_load(&mailbox->failed);
    if (first) {
        mailbox->status = status;
        mailbox->error = *err;
        atomic_store(&mailbox->failed, true);
    }
    pthread_mutex_unlock(&mailbox->failure);
    if (first && mailbox->owner->fail)
        mailbox->owner->fail(mailbox->context);
}

lull_status lull_mailbox_failure(struct lull_mailbox *mailbox, struct lull_error *err)
{
    if (!mailbox || !atomic_load(&mailbox->failed))
        return LULL_OK;
    return lull_fail(err, mailbox->status, "%s", mailbox->error.text);
}

static void fail_of_memory(struct lull_mailbox *mailbox)
{
    struct lull_error err;
    lull_fail(&err, LULL_ERR_MEMORY, "not enough memory for the mail of a team");
    lull_mailbox_fail(mailbox, LULL_ERR_MEMORY, &err);
}

/* ---- posting ------------------------------------------------------------------------------- */

void lull_mailbox_post(struct lull_mailbox *mailbox, unsigned share, uint32_t member, void *parcel,
                       size_t size)
{
    const struct head head = {.kind = LETTERS, .round = atomic_load(&mailbox->round)};
    struct lull_error err;
    memcpy(parcel, &head, sizeof head);
    atomic_fetch_add(&mailbox->sent, 1);
    lull_lead_posted(mailbox->lead, share, size - sizeof head);
    const lull_status status =
        lull_team_post(mailbox->team, mailbox->owner->channel, member, parcel, size, &err);
    if (status != LULL_OK)
        lull_mailbox_fail(mailbox, status, &err);
}

static lull_status post_word(const struct lull_mailbox *mailbox, uint32_t to, struct word *word,
                             struct lull_error *err)
{
    word->head.round = mailbox->round;
    return lull_team_post(mailbox->team, mailbox->owner->channel, to, word, sizeof *word, err);
}

static lull_status tell_mailbox_note(void *mailbox, uint32_t to,
                                     const struct lull_ending_note *note, struct lull_error *err)
{
    struct word word = {.head.kind = NOTE, .note = *note};
    return post_word(mailbox, to, &word, err);
}

static void tell_read_to(struct lull_mailbox *mailbox)
{
    struct word word = {.head.kind = READ_TO};
    struct lull_error err;
    lull_status status = LULL_OK;
    if (!lull_lead_to_tell(mailbox->lead, &word.time))
        return;
    for (uint32_t m = 0; m < lull_team_size(mailbox->team) && status == LULL_OK; m++)
        if (m != lull_team_index(mailbox->team))
            status = post_word(mailbox, m, &word, &err);
    if (status != LULL_OK)
        lull_mailbox_fail(mailbox, status, &err);
}

/* ---- company ------------------------------------------------------------------------------- */

static void post_company(struct lull_mailbox *mailbox, uint32_t member)
{
    struct company *company = &mailbox->companies[member];
    lull_mailbox_post(mailbox, 0, member, company->parcel, company->size);
    free(company->parcel);
    company->parcel = NULL;
    mailbox->n_companies--;
}

void *lull_mailbox_room(struct lull_mailbox *mailbox, uint32_t member, size_t most)
{
    struct company *company = &mailbox->companies[member];
    pthread_mutex_lock(&mailbox->writing);
    if (company->parcel && company->size + most > COMPANY)
        post_company(mailbox, member);
    if (!company->parcel) {
        if (!(company->parcel = malloc(COMPANY))) {
            pthread_mutex_unlock(&mailbox->writing);
            return NULL;
        }
        company->size = LULL_MAILBOX_HEAD;
        mailbox->n_companies++;
    }
    return company->parcel + company->size;
}

void lull_mailbox_fill(struct lull_mailbox *mailbox, uint32_t member, size_t size)
{
    mailbox->companies[member].size += size;
    pthread_mutex_unlock(&mailbox->writing);
}

/* Posts all letters that have been collected; unless `all`, only if the last time was at least
 * `flush_every` ago. */
static void flush_companies(struct lull_mailbox *mailbox, bool all)
{
    if (mailbox->n_companies == 0)
        return;
    const int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    pthread_mutex_lock(&mailbox->writing);
    if (all || now - mailbox->flushed_at >= mailbox->flush_every) {
        mailbox->flushed_at = now;
        for (uint32_t m = 0; m < lull_team_size(mailbox->team); m++)
            if (mailbox->companies[m].parcel)
                post_company(mailbox, m);
    }
    pthread_mutex_unlock(&mailbox->writing);
}

/* ---- rounds -------------------------------------------------------------------------------- */

static uint64_t look_at_rest(void *context)
{
    const struct lull_mailbox *mailbox = context;
    return mailbox->owner->look ? mailbox->owner->look(mailbox->context) : 0;
}

/* The ending, which is told the present state of this member. The letters that a settled member has
 * collected are posted before they are counted. Otherwise the first member, which may hear reports
 * and answers right behind a letter, would find that all members rest while its own answer to the
 * letter is still being collected. */
static struct lull_ending *current_ending(struct lull_mailbox *mailbox)
{
    mailbox->ending.settled = mailbox->owner->has_settled(mailbox->context);
    if (mailbox->ending.settled)
        flush_companies(mailbox, true);
    mailbox->ending.sent = atomic_load(&mailbox->sent);
    return &mailbox->ending;
}

/* Fails the mailbox if `status` is a failure. Ends the round if all members rest. */
static void look_whether_over(struct lull_mailbox *mailbox, lull_status status,
                              const struct lull_error *err)
{
    if (status != LULL_OK)
        lull_mailbox_fail(mailbox, status, err);
    if (status != LULL_OK || !mailbox->ending.over)
        return;
    mailbox->round++;
    lull_ending_again(&mailbox->ending);
    mailbox->patience.since = 0;
    if (mailbox->owner->decide)
        mailbox->owner->decide(mailbox->context, mailbox->ending.findings);
}

static void hear_note(struct lull_mailbox *mailbox, uint32_t from, const struct word *word)
{
    struct lull_error err;
    /* A note of an earlier round was written before the last decision, and says nothing now. */
    if (word->head.round == mailbox->round)
        look_whether_over(mailbox,
                          lull_ending_hear(current_ending(mailbox), from, &word->note, &err), &err);
}

/* Reports that this member has settled, once it has been settled for long enough. */
static void report_rest(struct lull_mailbox *mailbox)
{
    struct lull_error err;
    struct lull_ending *ending = current_ending(mailbox);
    if (lull_patience_is_worth_a_word(&mailbox->patience, ending->settled))
        look_whether_over(mailbox, lull_ending_report(ending, &err), &err);
}

/* ---- lead ---------------------------------------------------------------------------------- */

/* Lets those shares go on that were too far ahead and are so no more. */
static void let_go_on(struct lull_mailbox *mailbox)
{
    for (unsigned s = 0; s < mailbox->lead->n_shares; s++)
        if (lull_lead_goes_on(mailbox->lead, s) && mailbox->owner->go_on)
            mailbox->owner->go_on(mailbox->context, s);
}

void lull_mailbox_reads(struct lull_mailbox *mailbox, unsigned worker, int64_t time)
{
    if (mailbox)
        lull_lead_reads(mailbox->lead, worker, time);
}

bool lull_mailbox_is_ahead(const struct lull_mailbox *mailbox, unsigned share)
{
    return mailbox && lull_lead_is_too_large(mailbox->lead, share);
}

void lull_mailbox_grant(struct lull_mailbox *mailbox)
{
    if (mailbox && lull_lead_double(mailbox->lead))
        let_go_on(mailbox);
}

/* ---- taking -------------------------------------------------------------------------------- */

static void hold_mailbox_parcel(struct lull_mailbox *mailbox, const struct lull_team_parcel *parcel)
{
    if (lull_array_reserve(&mailbox->held, &mailbox->held_capacity, mailbox->n_held + 1,
                           sizeof *mailbox->held))
        mailbox->held[mailbox->n_held++] = *parcel;
    else
        fail_of_memory(mailbox);
}

static void take_mailbox_parcel(struct lull_mailbox *mailbox, struct lull_team_parcel *parcel)
{
    const struct word *word = parcel->bytes;
    const struct head *head = parcel->bytes;
    if (head->round > mailbox->round) {
        hold_mailbox_parcel(mailbox, parcel);
        return;
    }
    switch ((enum parcel_kind)head->kind) {
    case LETTERS:
        mailbox->owner->take(mailbox->context, parcel->from, head + 1, parcel->size - sizeof *head);
        mailbox->ending.received++;
        break;
    case READ_TO:
        lull_lead_heard(mailbox->lead, parcel->from, word->time);
        let_go_on(mailbox);
        break;
    case NOTE:
        hear_note(mailbox, parcel->from, word);
        break;
    }
    lull_team_give_back(parcel);
}

/* Takes the held parcels whose round has begun, in the order in which they came. */
static void take_held(struct lull_mailbox *mailbox)
{
    size_t kept = 0;
    const size_t n = mailbox->n_held;
    for (size_t i = 0; i < n; i++) {
        struct lull_team_parcel parcel = mailbox->held[i];
        if (((const struct head *)parcel.bytes)->round > mailbox->round)
            mailbox->held[kept++] = parcel;
        else
            take_mailbox_parcel(mailbox, &parcel);
    }
    mailbox->n_held = kept;
}

static bool take_mail(struct lull_mailbox *mailbox)
{
    bool any = false;
    for (uint32_t round = mailbox->round; !atomic_load(&mailbox->failed); any = true) {
        struct lull_team_parcel parcel;
        struct lull_error err;
        lull_status status = lull_team_take(mailbox->team, mailbox->owner->channel, &parcel, &err);
        if (status != LULL_OK)
            lull_mailbox_fail(mailbox, status, &err);
        if (status != LULL_OK || !parcel.bytes)
            break;
        take_mailbox_parcel(mailbox, &parcel);
        if (mailbox->round != round)
            take_held(mailbox);
        round = mailbox->round;
    }
    tell_read_to(mailbox);
    return any;
}

bool lull_mailbox_take(struct lull_mailbox *mailbox)
{
    if (!mailbox || pthread_mutex_trylock(&mailbox->taking) != 0)
        return false;
    const bool any = take_mail(mailbox);
    pthread_mutex_unlock(&mailbox->taking);
    return any;
}

bool lull_mailbox_look_out(struct lull_mailbox *mailbox)
{
    if (!mailbox || pthread_mutex_trylock(&mailbox->taking) != 0)
        return false;
    const bool any = take_mail(mailbox);
    flush_companies(mailbox, mailbox->owner->has_settled(mailbox->context));
    if (any)
        lull_patience_renew(&mailbox->patience);
    else
        report_rest(mailbox);
    const int64_t span = lull_patience_lose(&mailbox->patience);
    pthread_mutex_unlock(&mailbox->taking);
    lull_patience_wait(span);
    return true;
}

static void *look_out_always(void *context)
{
    struct lull_mailbox *mailbox = context;
    while (!atomic_load(&mailbox->stops) && !atomic_load(&mailbox->failed))
        lull_mailbox_look_out(mailbox);
    return NULL;
}

bool lull_mailbox_start(struct lull_mailbox *mailbox)
{
    atomic_store(&mailbox->stops, false);
    mailbox->has_thread = pthread_create(&mailbox->thread, NULL, look_out_always, mailbox) == 0;
    return mailbox->has_thread;
}

void lull_mailbox_stop(struct lull_mailbox *mailbox)
{
    if (!mailbox || !mailbox->has_thread)
        return;
    atomic_store(&mailbox->stops, true);
    pthread_join(mailbox->thread, NULL);
    mailbox->has_thread = false;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct lull_mailbox *lull_mailbox_open(const struct lull_mailbox_owner *owner, void *context,
                                       const struct lull_mailbox_options *options)
{
    struct lull_mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (!mailbox)
        return NULL;
    mailbox->owner = owner;
    mailbox->context = context;
    mailbox->team = options->team;
    mailbox->flush_every = interval_of(options->team, FLUSH_EVERY_NS);
    mailbox->patience.at_once = owner->at_once;
    mailbox->ending = (struct lull_ending){
        .team = options->team, .tell = tell_mailbox_note, .look = look_at_rest, .context = mailbox};
    pthread_mutex_init(&mailbox->writing, NULL);
    pthread_mutex_init(&mailbox->failure, NULL);
    pthread_mutex_init(&mailbox->taking, NULL);
    mailbox->lead = lull_lead_create(options);
    mailbox->companies = calloc(lull_team_size(options->team), sizeof *mailbox->companies);
    if (lull_ending_open(&mailbox->ending) && mailbox->lead && mailbox->companies)
        return mailbox;
    lull_mailbox_close(mailbox);
    return NULL;
}

void lull_mailbox_close(struct lull_mailbox *mailbox)
{
    if (!mailbox)
        return;
    lull_mailbox_stop(mailbox);
    for (size_t i = 0; i < mailbox->n_held; i++)
        lull_team_give_back(&mailbox->held[i]);
    for (uint32_t m = 0; mailbox->companies && m < lull_team_size(mailbox->team); m++)
        free(mailbox->companies[m].parcel);
    pthread_mutex_destroy(&mailbox->writing);
    pthread_mutex_destroy(&mailbox->failure);
    pthread_mutex_destroy(&mailbox->taking);
    lull_ending_close(&mailbox->ending);
    lull_lead_destroy(mailbox->lead);
    free(mailbox->companies);
    free(mailbox->held);
    free(mailbox);
}
