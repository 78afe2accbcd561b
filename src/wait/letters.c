/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait/letters.h"

#include "activity/channel.h"
#include "base/array.h"
#include "base/hash.h"
#include "team/mailbox.h"
#include "wait/stream.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ==== wire ==================================================================================== */

/* Causes as bytes. Most of these bytes are ledgers. An agent often sends several messages to one
 * member with few changes of its ledger, so a message carries only what has changed since the
 * message before (enum form). */

/* The last snapshot of each agent that this member has told to another member, or that another has
 * told to it. It is kept to leave out, or to fill in, what has not changed. */
struct wait_told {
    struct lull_hash by_agent;
    struct wait_snapshot **snapshots;
    size_t capacity;
};

/* WIRE_MOMENT is the size of a moment without its entries, WIRE_CAUSE an upper bound of that of a
 * cause with its two moments. */
enum {
    WIRE_MOMENT = 32,
    WIRE_CAUSE =
        24 + 2 * (WIRE_MOMENT + (2 * LULL_WAIT_LEDGER + 4) * (int)sizeof(struct wait_entry))
};

struct told_key {
    uint32_t agent, member;
};

struct wire_cause {
    int64_t time;
    uint32_t agent, call, met, padding;
};

enum form {
    FORM_NONE,  /* no snapshot */
    FORM_LAST,  /* the snapshot is the last one that was told */
    FORM_OWN,   /* the own places follow; those of others are as in the last snapshot */
    FORM_WHOLE, /* the own places follow, then those of others */
};

struct wire_moment {
    int64_t in_mpi;
    uint64_t clock;
    uint32_t form, epoch;
    uint32_t own, others; /* how many entries follow of own places, and of those of others */
};

static_assert(sizeof(struct wire_moment) == WIRE_MOMENT && sizeof(struct wire_cause) == 24,
              "as WIRE_CAUSE has it");

/* ---- what was told ------------------------------------------------------------------------- */

/* Where the last snapshot of an agent that was told to, or by, a member is; NULL: no memory. */
static struct wait_snapshot **last_of(struct wait_told *told, uint32_t agent, uint32_t member)
{
    const struct told_key key = {agent, member};
    const size_t count = told->by_agent.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&told->snapshots, &told->capacity, count + 1, sizeof *told->snapshots))
        index = lull_hash_add(&told->by_agent, &key, sizeof key, count, &is_new);
    if (!index)
        return NULL;
    if (is_new)
        told->snapshots[count] = NULL;
    return &told->snapshots[*index];
}

static void keep_last(struct wait_snapshot **last, const struct wait_moment *moment)
{
    struct wait_moment before = {.snapshot = *last};
    lull_wait_moment_drop(&before);
    *last = lull_wait_moment_keep(moment).snapshot;
}

static void wait_told_free(struct wait_told *told)
{
    for (size_t i = 0; i < told->by_agent.count; i++) {
        struct wait_moment moment = {.snapshot = told->snapshots[i]};
        lull_wait_moment_drop(&moment);
    }
    lull_hash_free(&told->by_agent);
    free(told->snapshots);
    *told = (struct wait_told){0};
}

/* ---- writing ------------------------------------------------------------------------------- */

static unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static enum form form_of(const struct wait_snapshot *snapshot, const struct wait_snapshot *last)
{
    if (!snapshot)
        return FORM_NONE;
    if (snapshot == last)
        return FORM_LAST;
    return last && snapshot->others == last->others ? FORM_OWN : FORM_WHOLE;
}

static unsigned char *write_moment(unsigned char *at, const struct wait_moment *moment,
                                   const struct wait_snapshot *last)
{
    const struct wait_snapshot *snapshot = moment->snapshot;
    struct wire_moment wire = {.in_mpi = moment->in_mpi, .form = form_of(snapshot, last)};
    if (wire.form >= FORM_OWN) {
        wire.clock = snapshot->clock;
        wire.epoch = snapshot->epoch;
        wire.own = snapshot->count;
        wire.others = wire.form == FORM_WHOLE ? snapshot->others->count : 0;
    }
    at = put_bytes(at, &wire, sizeof wire);
    if (wire.form >= FORM_OWN)
        at = put_bytes(at, snapshot->own, wire.own * sizeof snapshot->own[0]);
    if (wire.form == FORM_WHOLE)
        at = put_bytes(at, snapshot->others->entries, wire.others * sizeof snapshot->own[0]);
    return at;
}

/* Writes a cause, and returns what is behind it. `told`: the last snapshots that were told to the
 * members; NULL: all of the cause is written. */
static unsigned char *wait_write_cause(unsigned char *at, const struct wait_cause *cause,
                                       struct wait_told *told, uint32_t member, bool *ret_no_memory)
{
    const struct wire_cause wire = {
        .time = cause->time, .agent = cause->agent, .call = cause->call, .met = cause->met};
    const struct wait_snapshot *now = cause->late.snapshot, *since = cause->late_since.snapshot;
    struct wait_snapshot **last = told && now ? last_of(told, cause->agent, member) : NULL;
    /* A moment of another epoch is left out: it counts as one of an empty ledger (ledger.h). */
    const bool same_epoch = now && since && now->epoch == since->epoch;
    *ret_no_memory |= told && now && !last;
    at = put_bytes(at, &wire, sizeof wire);
    at = write_moment(at, &cause->late, last ? *last : NULL);
    at = write_moment(at, same_epoch ? &cause->late_since : &(struct wait_moment){0}, NULL);
    if (last)
        keep_last(last, &cause->late);
    return at;
}

/* ---- reading ------------------------------------------------------------------------------- */

static const struct wait_entry behind_all = {.key = UINT64_MAX};

/* NULL: no memory. */
static struct wait_shared *read_others(const unsigned char *at, uint32_t count)
{
    struct wait_shared *shared = malloc(sizeof *shared + (count + 1) * sizeof shared->entries[0]);
    if (!shared)
        return NULL;
    *shared = (struct wait_shared){1, count};
    memcpy(shared->entries, at, count * sizeof shared->entries[0]);
    shared->entries[count] = behind_all;
    return shared;
}

static struct wait_snapshot *read_snapshot(const unsigned char *at, const struct wire_moment *wire,
                                           struct wait_snapshot *last)
{
    struct wait_snapshot *snapshot =
        malloc(sizeof *snapshot + (wire->own + 1) * sizeof snapshot->own[0]);
    struct wait_shared *others = NULL;
    if (snapshot && wire->form == FORM_WHOLE)
        others = read_others(at + wire->own * sizeof snapshot->own[0], wire->others);
    else if (snapshot && last)
        others = last->others;
    if (!others) {
        free(snapshot);
        return NULL;
    }
    others->references += wire->form == FORM_OWN;
    *snapshot = (struct wait_snapshot){others, 1, wire->epoch, wire->clock, wire->own};
    memcpy(snapshot->own, at, wire->own * sizeof snapshot->own[0]);
    snapshot->own[wire->own] = behind_all;
    return snapshot;
}

static const unsigned char *read_moment(const unsigned char *at, struct wait_snapshot *last,
                                        struct wait_moment *ret_moment, bool *ret_no_memory)
{
    struct wire_moment wire;
    memcpy(&wire, at, sizeof wire);
    at += sizeof wire;
    *ret_moment = (struct wait_moment){.in_mpi = wire.in_mpi};
    if (wire.form == FORM_LAST)
        *ret_moment = lull_wait_moment_keep(&(struct wait_moment){last, wire.in_mpi});
    else if (wire.form != FORM_NONE)
        ret_moment->snapshot = read_snapshot(at, &wire, last);
    *ret_no_memory |= wire.form != FORM_NONE && !ret_moment->snapshot;
    return at + ((size_t)wire.own + wire.others) * sizeof(struct wait_entry);
}

/* Reads a cause, and returns what is behind it; *ret_cause has references. Without a snapshot of
 * `late`: no memory, which is noted. */
static const unsigned char *wait_read_cause(const unsigned char *at, struct wait_told *told,
                                            uint32_t member, struct wait_cause *ret_cause,
                                            bool *ret_no_memory)
{
    struct wire_cause wire;
    memcpy(&wire, at, sizeof wire);
    at += sizeof wire;
    struct wait_snapshot **last = NULL;
    *ret_cause = (struct wait_cause){
        .time = wire.time, .agent = wire.agent, .call = wire.call, .met = wire.met};
    if (told && !(last = last_of(told, wire.agent, member)))
        *ret_no_memory = true;
    at = read_moment(at, last ? *last : NULL, &ret_cause->late, ret_no_memory);
    at = read_moment(at, NULL, &ret_cause->late_since, ret_no_memory);
    if (last && ret_cause->late.snapshot)
        keep_last(last, &ret_cause->late);
    return at;
}

/* ==== letters ================================================================================= */

enum letter_kind {
    LETTER_QUEUE,   /* a: port; b, c: source and target; d: communicator; time: tag */
    LETTER_MESSAGE, /* a: port; b: number; yes: the sender waits for the receive; then a cause */
    LETTER_WATCH,   /* a: port; b: number; c: the sender's queue; time: when the sender's call
                       ends */
    LETTER_GIVE_UP, /* a: port; b: number */
    LETTER_ANSWER,  /* a: the sender's queue; b: number; yes: then a cause; else the receive was not
                       posted */
    LETTER_NEWS     /* a: communicator; b: number; c: rank or group; d: how many; operations: kind
                       of the series; news: enum wait_news_kind; then a cause, but for
                       NEWS_FEWEST */
};

struct letter {
    uint8_t kind, news;
    bool yes;
    uint8_t padding;
    uint32_t a, b, c, d, operations;
    int64_t time;
};

/* The office of waits whose reading has a division. */
struct wait_office {
    struct lull_mailbox *mailbox;
    bool settles; /* this member does nothing before a letter comes */

    /* The following are used under the lock of the waits. */
    struct lull_match_ports *ports; /* [members]: the ports between this member and each other
                                       one */
    struct wait_told told, heard;   /* the last snapshots that were told to others, and by others */
};

/* ---- writing ------------------------------------------------------------------------------- */

/* Writes a letter to a member, with a cause unless `cause` is NULL. All causes but those of news
 * leave out what was told before. */
static void post(struct lull_waits *waits, uint32_t member, const struct letter *letter,
                 const struct wait_cause *cause)
{
    struct wait_office *office = waits->office;
    const bool sequence = letter->kind != LETTER_NEWS;
    unsigned char *begin = lull_mailbox_room(office->mailbox, member, sizeof *letter + WIRE_CAUSE);
    if (!begin) {
        waits->no_memory = true;
        return;
    }
    memcpy(begin, letter, sizeof *letter);
    unsigned char *end = begin + sizeof *letter;
    if (cause)
        end = wait_write_cause(end, cause, sequence ? &office->told : NULL, member,
                               &waits->no_memory);
    lull_mailbox_fill(office->mailbox, member, (size_t)(end - begin));
}

static uint32_t receiver_of(const struct lull_waits *waits, uint32_t queue)
{
    return lull_division_owner(waits->reading->division, waits->channels[queue].target);
}

void lull_wait_post_queue(struct lull_waits *waits, uint32_t queue,
                          const struct lull_channel *channel)
{
    const uint32_t member = receiver_of(waits, queue);
    waits->queues.all[queue].port = waits->office->ports[member].given++;
    const struct letter letter = {.kind = LETTER_QUEUE,
                                  .a = waits->queues.all[queue].port,
                                  .b = channel->source,
                                  .c = channel->target,
                                  .d = channel->comm,
                                  .time = channel->tag};
    post(waits, member, &letter, NULL);
}

void lull_wait_post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                            bool waits_for_receive, const struct wait_cause *sent)
{
    const struct letter letter = {.kind = LETTER_MESSAGE,
                                  .yes = waits_for_receive,
                                  .a = waits->queues.all[queue].port,
                                  .b = number};
    post(waits, receiver_of(waits, queue), &letter, sent);
}

void lull_wait_post_watch(struct lull_waits *waits, uint32_t queue, uint32_t number,
                          int64_t call_ends)
{
    const struct letter letter = {.kind = LETTER_WATCH,
                                  .a = waits->queues.all[queue].port,
                                  .b = number,
                                  .c = queue,
                                  .time = call_ends};
    post(waits, receiver_of(waits, queue), &letter, NULL);
}

void lull_wait_post_give_up(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    const struct letter letter = {
        .kind = LETTER_GIVE_UP, .a = waits->queues.all[queue].port, .b = number};
    post(waits, receiver_of(waits, queue), &letter, NULL);
}

void lull_wait_post_answer(struct lull_waits *waits, const struct wait_watcher *watcher,
                           const struct wait_cause *posted)
{
    const bool there = posted->late.snapshot;
    const struct letter letter = {
        .kind = LETTER_ANSWER, .yes = there, .a = watcher->far_queue, .b = watcher->number};
    post(waits, watcher->member, &letter, there ? posted : NULL);
}

void lull_wait_post_news(struct lull_waits *waits, uint32_t member,
                         const struct wait_series *series, uint32_t number,
                         const struct wait_news *news)
{
    const struct letter letter = {.kind = LETTER_NEWS,
                                  .news = news->kind,
                                  .a = series->comm,
                                  .b = number,
                                  .c = news->which,
                                  .d = news->count,
                                  .operations = series->kind};
    post(waits, member, &letter, news->cause);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_queue(struct lull_waits *waits, uint32_t from, const struct letter *letter)
{
    const struct lull_channel channel = {
        .source = letter->b, .target = letter->c, .comm = letter->d, .tag = (int32_t)letter->time};
    const uint32_t queue = lull_wait_queue(waits, &channel);
    if (queue == LULL_NONE || !lull_match_port_set(&waits->office->ports[from], letter->a, queue))
        waits->no_memory = true;
}

static void read_news(struct lull_waits *waits, const struct letter *letter,
                      const struct wait_cause *cause)
{
    const struct wait_news news = {
        .kind = letter->news, .which = letter->c, .count = letter->d, .cause = cause};
    const uint32_t series = lull_wait_series(waits, letter->a, letter->operations);
    if (series == LULL_NONE ||
        !lull_wait_hear_news(waits, &waits->series[series], letter->b, &news))
        waits->no_memory = true;
}

static bool has_cause(const struct letter *letter)
{
    return letter->kind == LETTER_MESSAGE ||
           (letter->kind == LETTER_NEWS && letter->news != NEWS_FEWEST) ||
           (letter->kind == LETTER_ANSWER && letter->yes);
}

/* Takes a letter from a member, and the references of `cause`. */
static void take(struct lull_waits *waits, uint32_t from, const struct letter *letter,
                 struct wait_cause *cause)
{
    const struct lull_match_ports *ports = &waits->office->ports[from];
    switch ((enum letter_kind)letter->kind) {
    case LETTER_QUEUE:
        read_queue(waits, from, letter);
        break;
    case LETTER_MESSAGE:
        lull_wait_deliver(waits, ports->queues[letter->a], letter->b, letter->yes, cause);
        break;
    case LETTER_WATCH:
        lull_wait_watch_from(waits, from, letter->c, ports->queues[letter->a], letter->b,
                             letter->time);
        break;
    case LETTER_GIVE_UP:
        lull_wait_post_is_done(waits, ports->queues[letter->a], letter->b);
        break;
    case LETTER_ANSWER:
        lull_wait_take_answer(waits, letter->a, letter->b, cause);
        break;
    case LETTER_NEWS:
        read_news(waits, letter, cause);
        lull_wait_cause_drop(cause);
        break;
    }
}

/* Reads the letters of a parcel from a member. Streams that may go on then are made ready. */
static void wait_read_letters(struct lull_waits *waits, uint32_t from, const unsigned char *bytes,
                              size_t size)
{
    for (const unsigned char *at = bytes; at < bytes + size && !waits->no_memory;) {
        struct letter letter;
        struct wait_cause cause = {.time = -1};
        memcpy(&letter, at, sizeof letter);
        at += sizeof letter;
        if (has_cause(&letter))
            at = wait_read_cause(at, letter.kind == LETTER_NEWS ? NULL : &waits->office->heard,
                                 from, &cause, &waits->no_memory);
        if (waits->no_memory)
            lull_wait_cause_drop(&cause);
        else
            take(waits, from, &letter, &cause);
    }
}

/* ==== office ================================================================================== */

enum {
    REST_NS = 1000000, /* how long a reader that is ahead sleeps at once */
    MOST_RESTS = 100   /* how often it sleeps for each block at most */
};

static void take_letters(void *context, uint32_t from, const void *letters, size_t size)
{
    struct lull_waits *waits = context;
    pthread_mutex_lock(&waits->lock);
    if (!waits->no_memory) {
        wait_read_letters(waits, from, letters, size);
        lull_wait_run_ready(waits);
    }
    pthread_mutex_unlock(&waits->lock);
}

static bool has_settled(void *context)
{
    const struct lull_waits *waits = context;
    return waits->office->settles;
}

static void end_settling(void *context, uint64_t findings)
{
    struct lull_waits *waits = context;
    (void)findings;
    waits->office->settles = false;
}

static const struct lull_mailbox_owner wait_mail = {.channel = LULL_TEAM_WAITS,
                                                    .take = take_letters,
                                                    .has_settled = has_settled,
                                                    .decide = end_settling};

lull_status lull_wait_office_reads(struct lull_waits *waits, unsigned worker, int64_t time,
                                   struct lull_error *err)
{
    struct lull_mailbox *mailbox = waits->office->mailbox;
    const struct timespec span = {.tv_nsec = REST_NS};
    lull_mailbox_reads(mailbox, worker, time);
    for (unsigned i = 0; i < MOST_RESTS && lull_mailbox_is_ahead(mailbox, 0) && time != INT64_MAX;
         i++)
        nanosleep(&span, NULL);
    return lull_mailbox_failure(mailbox, err);
}

lull_status lull_wait_office_settle(struct lull_waits *waits, struct lull_error *err)
{
    struct wait_office *office = waits->office;
    lull_mailbox_stop(office->mailbox);
    office->settles = true;
    while (office->settles && !waits->no_memory &&
           lull_mailbox_failure(office->mailbox, err) == LULL_OK)
        lull_mailbox_look_out(office->mailbox);
    return lull_mailbox_failure(office->mailbox, err);
}

/* ---- life ---------------------------------------------------------------------------------- */

lull_status lull_wait_office_open(struct lull_waits *waits, unsigned workers,
                                  struct lull_error *err)
{
    struct lull_team *team = waits->reading->division->team;
    struct wait_office *office = calloc(1, sizeof *office);
    lull_team_begin(team, LULL_TEAM_WAITS);
    if (!office)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for waits");
    const struct lull_mailbox_options options = {.team = team, .workers = workers};
    waits->office = office;
    office->ports = calloc(lull_team_size(team), sizeof *office->ports);
    office->mailbox = lull_mailbox_open(&wait_mail, waits, &options);
    if (!office->ports || !office->mailbox)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for waits");
    return lull_mailbox_start(office->mailbox)
               ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY, "cannot start a thread");
}

void lull_wait_office_close(struct lull_waits *waits)
{
    struct wait_office *office = waits->office;
    if (!office)
        return;
    lull_mailbox_close(office->mailbox);
    for (uint32_t m = 0; office->ports && m < lull_team_size(lull_wait_team(waits)); m++)
        free(office->ports[m].queues);
    wait_told_free(&office->told);
    wait_told_free(&office->heard);
    free(office->ports);
    free(office);
    waits->office = NULL;
}
