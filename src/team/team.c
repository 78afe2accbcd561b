/* SPDX-License-Identifier: BSD-3-Clause */
/* Members, the mail between them, and what they do together.
 *
 * A back-end is only ever asked whether there is mail (probe), because to wait inside MPI would
 * keep a core busy that another member may need. A member that waits looks again and again for some
 * microseconds, and then sleeps between looks, longer and longer, up to a millisecond. */
#include "team/team.h"

#include "base/arena.h"
#include "base/array.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum mail_kind {
    MAIL_PARCEL,
    MAIL_PARCEL_LAST = MAIL_PARCEL + LULL_TEAM_CHANNELS - 1, /* one for each channel */
    MAIL_UP,      /* a collective call: to the parent in the tree */
    MAIL_DOWN,    /* a collective call: to a child */
    MAIL_BROUGHT, /* a part of what a member brings */
    MAIL_ASKED,   /* the receiver of parts asks for the next one */
    MAIL_AGREE,   /* an agreement: to the parent */
    MAIL_AGREED,  /* its result: to a child */
    MAIL_FAILED,  /* the sender has failed, is in the agreement of this number, and takes no part in
                     what comes before it */
    MAIL_STOP,    /* the sender has failed in a reading */
    MAIL_LAST     /* the sender sends nothing more */
};

enum { NOBODY_GONE = UINT32_MAX };

/* ==== alone =================================================================================== */

/* The back-end of a lull that was not started as one of several: there is no team. */

static bool recognise_alone(const struct lull_team_start *start)
{
    return start->size <= 1;
}

const struct lull_team_backend lull_team_alone = {.recognise = recognise_alone};

/* ==== team ==================================================================================== */

enum { LOOKS = 20, FIRST_SLEEP_NS = 20000, LONGEST_SLEEP_NS = 1000000 };

static const struct lull_team_backend *const backends[] = {&lull_team_chaos, &lull_team_alone,
                                                           &lull_team_mpi};

uint32_t lull_team_index(const struct lull_team *team)
{
    return team ? team->index : 0;
}

uint32_t lull_team_size(const struct lull_team *team)
{
    return team ? team->size : 1;
}

bool lull_team_is_first(const struct lull_team *team)
{
    return lull_team_index(team) == 0;
}

const char *lull_team_host(const struct lull_team *team, uint32_t member)
{
    return team && team->hosts ? team->hosts[member] : "";
}

static lull_status no_memory(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what the processes of lull say");
}

/* ---- mail, under the lock -------------------------------------------------------------------- */

static void append_mail(struct lull_mail_list *list, struct lull_mail *mail)
{
    mail->next = NULL;
    if (list->first)
        *list->end = mail;
    else
        list->first = mail;
    list->end = &mail->next;
}

/* Takes out the mail to which `at`, a pointer in the list, points. */
static struct lull_mail *take_out(struct lull_mail_list *list, struct lull_mail **at)
{
    struct lull_mail *mail = *at;
    *at = mail->next;
    if (!mail->next)
        list->end = at;
    return mail;
}

static void free_list(struct lull_mail_list *list)
{
    while (list->first)
        free(take_out(list, &list->first));
}

/* Whether another member has come with a failure to an agreement that this member has not begun:
 * what this member waits for before that may never come. Under the lock. */
static bool team_others_failed(const struct lull_team *team)
{
    return team->failed > team->agreements;
}

/* Drops all mail of a kind that has come, because its operation was broken off. Under the lock. */
static void team_drop(struct lull_team *team, uint32_t kind)
{
    for (struct lull_mail **at = &team->others.first; *at;) {
        if ((*at)->head.kind == kind)
            free(take_out(&team->others, at));
        else
            at = &(*at)->next;
    }
}

static void sort_in(struct lull_team *team, struct lull_mail *mail)
{
    if (mail->head.kind <= MAIL_PARCEL_LAST) {
        append_mail(&team->parcels[mail->head.kind - MAIL_PARCEL], mail);
        return;
    }
    switch (mail->head.kind) {
    case MAIL_AGREED:
        /* Mail of a member comes in order: what the parent has sent down before this is of
         * collective calls before the agreement, which this member has left out. */
        team_drop(team, MAIL_DOWN);
        append_mail(&team->others, mail);
        return;
    case MAIL_FAILED:
        if (mail->head.number > team->failed)
            team->failed = mail->head.number;
        break;
    case MAIL_STOP:
        if (mail->head.number > team->stopped)
            team->stopped = mail->head.number;
        break;
    case MAIL_LAST:
        team->n_last += !team->last[mail->from];
        team->last[mail->from] = true;
        if (mail->head.number > 0 && team->gone == NOBODY_GONE)
            team->gone = mail->head.number - 1;
        break;
    default:
        append_mail(&team->others, mail);
        return;
    }
    free(mail);
}

/* Takes the next mail from the back-end and sorts it in; false: nothing has come. */
static bool look(struct lull_team *team)
{
    uint32_t from;
    size_t size;
    switch (team->backend->probe(team->state, &from, &size)) {
    case LULL_TEAM_NOTHING:
        return false;
    case LULL_TEAM_GONE:
        if (!team->last[from] && team->gone == NOBODY_GONE)
            team->gone = from;
        return true;
    case LULL_TEAM_NO_MEMORY:
        team->no_memory = true;
        return false;
    case LULL_TEAM_MAIL:
        break;
    }
    struct lull_mail *mail =
        malloc(offsetof(struct lull_mail, head) + (size > sizeof mail->head ? size : 64));
    if (!mail) {
        team->no_memory = true;
        return false;
    }
    team->backend->fetch(team->state, &mail->head);
    mail->from = from;
    mail->size = size - sizeof mail->head;
    sort_in(team, mail);
    return true;
}

/* The failure that was found in look. That memory is short is told once: to agree on it, members
 * need little memory. */
static lull_status find_failure(struct lull_team *team, struct lull_error *err)
{
    if (team->no_memory) {
        team->no_memory = false;
        return no_memory(err);
    }
    if (team->gone != NOBODY_GONE && team->hosts && *team->hosts[team->gone])
        return lull_fail(err, LULL_ERR_IO, "rank %u on %s has gone", team->gone,
                         team->hosts[team->gone]);
    return team->gone != NOBODY_GONE ? lull_fail(err, LULL_ERR_IO, "rank %u has gone", team->gone)
                                     : LULL_OK;
}

/* Waits before the next look; `looks`: how many looks in a row were in vain. */
static void wait_a_little(unsigned *looks)
{
    if (++*looks <= LOOKS)
        return;
    unsigned doublings = (*looks - LOOKS) / 4;
    long ns = doublings < 6 ? (long)FIRST_SLEEP_NS << doublings : LONGEST_SLEEP_NS;
    const struct timespec span = {.tv_nsec = ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS};
    nanosleep(&span, NULL);
}

/* Sends, and fails where there is no memory. */
static lull_status team_send(struct lull_team *team, uint32_t to, struct lull_mail_head head,
                             const void *bytes, size_t size, struct lull_error *err)
{
    pthread_mutex_lock(&team->lock);
    bool sent = team->backend->send(team->state, to, &head, sizeof head, bytes, size);
    pthread_mutex_unlock(&team->lock);
    return sent ? LULL_OK : no_memory(err);
}

static bool is_brought(uint32_t kind)
{
    return kind == MAIL_BROUGHT || kind == MAIL_ASKED;
}

/* Takes the mail of this kind from a member; NULL: it has not come. Parts of a bringing that was
 * broken off are dropped on the way. */
static struct lull_mail *find_mail(struct lull_team *team, uint32_t from,
                                   struct lull_mail_head head)
{
    for (struct lull_mail **at = &team->others.first; *at;) {
        const struct lull_mail *mail = *at;
        if (is_brought(mail->head.kind) && mail->head.number <= team->agreements)
            free(take_out(&team->others, at));
        else if (mail->from == from && mail->head.kind == head.kind)
            return take_out(&team->others, at);
        else
            at = &(*at)->next;
    }
    return NULL;
}

/* Whether an operation does not go on because another member has failed; an agreement always
 * does. */
static bool is_broken_off(const struct lull_team *team, uint32_t kind)
{
    return (kind == MAIL_UP || kind == MAIL_DOWN || is_brought(kind)) && team_others_failed(team);
}

/* Waits for the mail of this kind and number from a member; the caller frees it. */
static lull_status team_expect(struct lull_team *team, uint32_t from, struct lull_mail_head head,
                               struct lull_mail **ret_mail, struct lull_error *err)
{
    struct lull_mail *mail = NULL;
    lull_status status = LULL_OK;
    for (unsigned looks = 0; !mail && status == LULL_OK;) {
        pthread_mutex_lock(&team->lock);
        bool some = look(team);
        mail = find_mail(team, from, head);
        const bool other = mail && mail->head.number != head.number;
        if (!mail || other) /* mail of another call may be there because a member has gone */
            status = find_failure(team, err);
        if (status == LULL_OK && (!mail || other) && is_broken_off(team, head.kind))
            status = lull_fail(err, LULL_ERR_CANCELLED, "another process of lull has failed");
        if (!mail && status == LULL_OK && team->last[from])
            status =
                lull_fail(err, LULL_ERR_CANCELLED, "rank %u has ended before the others", from);
        pthread_mutex_unlock(&team->lock);
        if (some)
            looks = 0;
        else if (!mail && status == LULL_OK)
            wait_a_little(&looks);
    }
    if (status != LULL_OK) {
        free(mail);
        return status;
    }
    if (mail->head.number != head.number) {
        free(mail);
        return lull_fail(err, LULL_ERR_FORMAT, "rank %u does something else than the others", from);
    }
    *ret_mail = mail;
    return LULL_OK;
}

/* ---- parcels --------------------------------------------------------------------------------- */

void lull_team_begin(struct lull_team *team, enum lull_team_channel channel)
{
    if (team)
        team->reading[channel]++;
}

lull_status lull_team_post(struct lull_team *team, enum lull_team_channel channel, uint32_t to,
                           const void *bytes, size_t size, struct lull_error *err)
{
    return team_send(team, to,
                     (struct lull_mail_head){MAIL_PARCEL + channel, team->reading[channel]}, bytes,
                     size, err);
}

/* The next parcel of the present reading. Parcels of earlier readings are dropped. */
static struct lull_mail *next_parcel(struct lull_team *team, enum lull_team_channel channel)
{
    struct lull_mail_list *parcels = &team->parcels[channel];
    const uint32_t reading = team->reading[channel];
    for (struct lull_mail **at = &parcels->first; *at;) {
        if ((*at)->head.number == reading)
            return take_out(parcels, at);
        if ((*at)->head.number < reading)
            free(take_out(parcels, at));
        else
            at = &(*at)->next;
    }
    return NULL;
}

/* Whether another member has stopped what the channel is for. */
static bool is_stopped(const struct lull_team *team, enum lull_team_channel channel)
{
    return (channel == LULL_TEAM_REPLAY && team->stopped >= team->reading[channel]) ||
           team->last[0] || team_others_failed(team);
}

/* Takes the next parcel of a channel, if one has come. *ret_more: some mail has come, of any
 * kind. */
static lull_status take_parcel(struct lull_team *team, enum lull_team_channel channel,
                               struct lull_team_parcel *ret_parcel, bool *ret_more,
                               struct lull_error *err)
{
    *ret_parcel = (struct lull_team_parcel){0};
    pthread_mutex_lock(&team->lock);
    *ret_more = look(team);
    struct lull_mail *mail = next_parcel(team, channel);
    lull_status status = find_failure(team, err);
    if (status == LULL_OK && is_stopped(team, channel))
        status = lull_fail(err, LULL_ERR_CANCELLED, "another process of lull has failed");
    pthread_mutex_unlock(&team->lock);
    if (status != LULL_OK) {
        free(mail);
        return status;
    }
    if (mail)
        *ret_parcel = (struct lull_team_parcel){mail->from, mail->size, mail->bytes, mail};
    return LULL_OK;
}

lull_status lull_team_take(struct lull_team *team, enum lull_team_channel channel,
                           struct lull_team_parcel *ret_parcel, struct lull_error *err)
{
    bool more;
    *ret_parcel = (struct lull_team_parcel){0};
    return team ? take_parcel(team, channel, ret_parcel, &more, err) : LULL_OK;
}

lull_status lull_team_await(struct lull_team *team, enum lull_team_channel channel,
                            struct lull_team_parcel *ret_parcel, struct lull_error *err)
{
    bool more;
    lull_status status = take_parcel(team, channel, ret_parcel, &more, err);
    for (unsigned looks = 0; status == LULL_OK && !ret_parcel->bytes;) {
        if (more)
            looks = 0;
        else
            wait_a_little(&looks);
        status = take_parcel(team, channel, ret_parcel, &more, err);
    }
    return status;
}

void lull_team_give_back(struct lull_team_parcel *parcel)
{
    free(parcel->mail);
    *parcel = (struct lull_team_parcel){0};
}

void lull_team_stop(struct lull_team *team)
{
    for (uint32_t i = 0; team && i < team->size; i++)
        if (i != team->index)
            team_send(team, i, (struct lull_mail_head){MAIL_STOP, team->reading[LULL_TEAM_REPLAY]},
                      NULL, 0, NULL);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* What members say of themselves. */
struct hello {
    char version[64], host[64];
};

struct greeting {
    struct lull_team *team;
    const char *version;
};

static lull_status take_hello(void *context, uint32_t member, const void *bytes, size_t size,
                              struct lull_error *err)
{
    const struct greeting *greeting = context;
    const struct hello *hello = bytes;
    if (size != sizeof *hello)
        return lull_fail(err, LULL_ERR_RANGE, "rank %u is no lull of this version", member);
    memcpy(greeting->team->hosts[member], hello->host, sizeof hello->host);
    if (strcmp(hello->version, greeting->version) != 0)
        return lull_fail(err, LULL_ERR_RANGE, "rank %u on %s is lull %s, expected %s as here",
                         member, hello->host, hello->version, greeting->version);
    return LULL_OK;
}

static lull_status greet(struct lull_team *team, const char *version, struct lull_error *err)
{
    struct hello hello = {.version = ""};
    struct greeting greeting = {team, version};
    snprintf(hello.version, sizeof hello.version, "%s%s", version,
             lull_team_chaos_is_other(team->index, team->size) ? "-other" : "");
    gethostname(hello.host, sizeof hello.host - 1);
    lull_status status = lull_team_collect(team, &hello, sizeof hello, take_hello, &greeting, err);
    return lull_team_agree(team, status, err);
}

static bool release(struct lull_team *team, bool orderly)
{
    const bool good = team->backend->close(team->state, orderly);
    pthread_mutex_destroy(&team->lock);
    for (unsigned c = 0; c < LULL_TEAM_CHANNELS; c++)
        free_list(&team->parcels[c]);
    free_list(&team->others);
    free(team->hosts);
    free(team->last);
    free(team);
    return good;
}

static lull_status join_team(const struct lull_team_backend *backend,
                             const struct lull_team_start *start, struct lull_team **ret_team,
                             struct lull_error *err)
{
    struct lull_team *team = calloc(1, sizeof *team);
    if (!team)
        return no_memory(err);
    team->backend = backend;
    team->gone = NOBODY_GONE;
    lull_status status = backend->open(start, &team->state, &team->index, &team->size, err);
    if (status != LULL_OK) {
        free(team);
        return status;
    }
    pthread_mutex_init(&team->lock, NULL);
    team->last = calloc(team->size, sizeof *team->last);
    if (team->index == 0)
        team->hosts = calloc(team->size, sizeof *team->hosts);
    if (!team->last || (team->index == 0 && !team->hosts)) {
        release(team, false);
        return no_memory(err);
    }
    *ret_team = team;
    return greet(team, start->version, err);
}

lull_status lull_team_open(const struct lull_team_start *start, struct lull_team **ret_team,
                           struct lull_error *err)
{
    size_t i = 0;
    while (!backends[i]->recognise(start))
        i++;
    *ret_team = NULL;
    return backends[i]->open ? join_team(backends[i], start, ret_team, err) : LULL_OK;
}

static void send_last(struct lull_team *team)
{
    const uint32_t gone = team->gone == NOBODY_GONE ? 0 : team->gone + 1;
    for (uint32_t i = 0; i < team->size; i++)
        if (i != team->index)
            team_send(team, i, (struct lull_mail_head){MAIL_LAST, gone}, NULL, 0, NULL);
}

/* Waits until each other member has sent LAST, so that no mail is on its way. False: a member has
 * gone without it. */
static bool wait_for_last(struct lull_team *team)
{
    bool good = true, all = false;
    for (unsigned looks = 0; good && !all;) {
        pthread_mutex_lock(&team->lock);
        bool some = look(team);
        good = find_failure(team, NULL) == LULL_OK;
        all = team->n_last == team->size - 1;
        pthread_mutex_unlock(&team->lock);
        looks = some ? 0 : looks;
        if (!some && good && !all)
            wait_a_little(&looks);
    }
    return good;
}

bool lull_team_end(struct lull_team *team)
{
    if (!team)
        return true;
    send_last(team);
    return release(team, wait_for_last(team));
}

/* ==== tree ==================================================================================== */

/* Collective calls: up the tree to the first member, and down again. */

enum { SPREAD_PART = 16 << 20 };

static uint32_t parent_of(uint32_t member)
{
    return member & (member - 1);
}

/* The children of a member are its number with one of these bits, the lowest first. */
static uint32_t lowest_bit(uint32_t member, uint32_t size)
{
    uint32_t bit = 1;
    while (bit < size && !(member & bit))
        bit *= 2;
    return bit;
}

static bool is_alone(const struct lull_team *team)
{
    return !team || team->size == 1;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void add(int64_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)from[i]);
}

static void keep_larger(int64_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static lull_status reduce(struct lull_team *team, int64_t *values, size_t count,
                          void (*join)(int64_t *to, const int64_t *from, size_t count),
                          struct lull_error *err)
{
    const size_t size = count * sizeof *values;
    if (is_alone(team))
        return LULL_OK;
    const uint32_t end = lowest_bit(team->index, team->size);
    const struct lull_mail_head head = {MAIL_UP, ++team->operation};
    lull_status status = LULL_OK;
    for (uint32_t bit = 1; status == LULL_OK && bit < end && (team->index | bit) < team->size;
         bit *= 2) {
        struct lull_mail *mail;
        status = team_expect(team, team->index | bit, head, &mail, err);
        if (status != LULL_OK)
            return status;
        if (mail->size == size)
            join(values, (const int64_t *)(const void *)mail->bytes, count);
        else
            status = lull_fail(err, LULL_ERR_FORMAT,
                               "rank %u speaks of another run than the others", mail->from);
        free(mail);
    }
    if (status == LULL_OK && team->index != 0)
        status = team_send(team, parent_of(team->index), head, values, size, err);
    return status;
}

lull_status lull_team_sum(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err)
{
    return reduce(team, values, count, add, err);
}

lull_status lull_team_max(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err)
{
    return reduce(team, values, count, keep_larger, err);
}

/* ---- blobs ----------------------------------------------------------------------------------- */

/* In front of the bytes of each member, which are filled up to a multiple of 8. */
struct frame {
    uint64_t member, size;
};

struct heap {
    unsigned char *bytes;
    size_t size, capacity;
};

static bool lay_down(struct heap *heap, const void *bytes, size_t size)
{
    const size_t room = (size + 7) / 8 * 8;
    if (!lull_array_reserve(&heap->bytes, &heap->capacity, heap->size + room, 1))
        return false;
    if (size)
        memcpy(heap->bytes + heap->size, bytes, size);
    memset(heap->bytes + heap->size + size, 0, room - size);
    heap->size += room;
    return true;
}

/* Collects in `heap` this member's bytes and, behind them, those of its children's subtrees, in the
 * order of members, and sends them to the parent. */
static lull_status gather(struct lull_team *team, struct lull_mail_head head, const void *bytes,
                          size_t size, struct heap *heap, struct lull_error *err)
{
    const uint32_t end = lowest_bit(team->index, team->size);
    const struct frame frame = {team->index, size};
    bool fits = lay_down(heap, &frame, sizeof frame) && lay_down(heap, bytes, size);
    lull_status status = LULL_OK;
    for (uint32_t bit = 1;
         fits && status == LULL_OK && bit < end && (team->index | bit) < team->size; bit *= 2) {
        struct lull_mail *mail;
        status = team_expect(team, team->index | bit, head, &mail, err);
        if (status != LULL_OK)
            break;
        fits = lay_down(heap, mail->bytes, mail->size);
        free(mail);
    }
    if (!fits)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what the members say");
    if (status == LULL_OK && team->index != 0)
        status = team_send(team, parent_of(team->index), head, heap->bytes, heap->size, err);
    return status;
}

typedef lull_status (*take_fn)(void *context, uint32_t member, const void *bytes, size_t size,
                               struct lull_error *err);

static lull_status take_all(const struct heap *heap, take_fn take, void *context,
                            struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (size_t at = 0; status == LULL_OK && at < heap->size;) {
        struct frame frame;
        memcpy(&frame, heap->bytes + at, sizeof frame);
        at += sizeof frame;
        status = take(context, (uint32_t)frame.member, heap->bytes + at, frame.size, err);
        at += (frame.size + 7) / 8 * 8;
    }
    return status;
}

static lull_status collect(struct lull_team *team, struct lull_mail_head head, const void *bytes,
                           size_t size, take_fn take, void *context, struct lull_error *err)
{
    struct heap heap = {0};
    lull_status status = gather(team, head, bytes, size, &heap, err);
    if (team->index == 0 && status == LULL_OK)
        status = take_all(&heap, take, context, err);
    free(heap.bytes);
    return status;
}

lull_status lull_team_collect(struct lull_team *team, const void *bytes, size_t size, take_fn take,
                              void *context, struct lull_error *err)
{
    if (is_alone(team))
        return take(context, 0, bytes, size, err);
    return collect(team, (struct lull_mail_head){MAIL_UP, ++team->operation}, bytes, size, take,
                   context, err);
}

/* ---- down ------------------------------------------------------------------------------------ */

static lull_status send_down(struct lull_team *team, struct lull_mail_head head, const void *bytes,
                             size_t size, struct lull_error *err)
{
    const uint32_t end = lowest_bit(team->index, team->size);
    lull_status status = LULL_OK;
    for (uint32_t bit = 1; status == LULL_OK && bit < end && (team->index | bit) < team->size;
         bit *= 2)
        status = team_send(team, team->index | bit, head, bytes, size, err);
    return status;
}

static lull_status pass_down(struct lull_team *team, struct lull_mail_head head, void *bytes,
                             size_t size, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (team->index != 0) {
        struct lull_mail *mail;
        status = team_expect(team, parent_of(team->index), head, &mail, err);
        if (status != LULL_OK)
            return status;
        if (mail->size == size)
            memcpy(bytes, mail->bytes, size);
        else
            status = lull_fail(err, LULL_ERR_FORMAT, "the members speak of different runs");
        free(mail);
    }
    return status == LULL_OK ? send_down(team, head, bytes, size, err) : status;
}

lull_status lull_team_broadcast(struct lull_team *team, void *bytes, size_t size,
                                struct lull_error *err)
{
    if (is_alone(team))
        return LULL_OK;
    return pass_down(team, (struct lull_mail_head){MAIL_DOWN, ++team->operation}, bytes, size, err);
}

lull_status lull_team_sum_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err)
{
    lull_status status = lull_team_sum(team, values, count, err);
    return status == LULL_OK ? lull_team_broadcast(team, values, count * sizeof *values, err)
                             : status;
}

lull_status lull_team_max_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err)
{
    lull_status status = lull_team_max(team, values, count, err);
    return status == LULL_OK ? lull_team_broadcast(team, values, count * sizeof *values, err)
                             : status;
}

/* Brings what the first has collected to all, in parts of SPREAD_PART bytes, so that little is on
 * its way at a time. */
static lull_status spread(struct lull_team *team, struct heap *heap, struct lull_error *err)
{
    uint64_t size = heap->size;
    lull_status status = lull_team_broadcast(team, &size, sizeof size, err);
    if (status != LULL_OK)
        return status;
    if (!lull_array_reserve(&heap->bytes, &heap->capacity, (size_t)size, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what the members say");
    heap->size = (size_t)size;
    for (size_t at = 0; status == LULL_OK && at < heap->size; at += SPREAD_PART) {
        const size_t left = heap->size - at;
        status = lull_team_broadcast(team, heap->bytes + at,
                                     left < SPREAD_PART ? left : SPREAD_PART, err);
    }
    return status;
}

lull_status lull_team_exchange(struct lull_team *team, const void *bytes, size_t size, take_fn take,
                               void *context, struct lull_error *err)
{
    if (is_alone(team))
        return take(context, 0, bytes, size, err);
    struct heap heap = {0};
    lull_status status =
        gather(team, (struct lull_mail_head){MAIL_UP, ++team->operation}, bytes, size, &heap, err);
    if (status == LULL_OK && team->index != 0)
        heap.size = 0;
    if (status == LULL_OK)
        status = spread(team, &heap, err);
    if (status == LULL_OK)
        status = take_all(&heap, take, context, err);
    free(heap.bytes);
    return status;
}

/* ---- agreement ------------------------------------------------------------------------------- */

/* Begins the next agreement. A member that has failed may have left out collective calls that the
 * others still make before it, and tells them so, so that they come here, too. */
static uint32_t begin_agreement(struct lull_team *team, bool failed)
{
    pthread_mutex_lock(&team->lock);
    const uint32_t number = ++team->agreements;
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; failed && i < team->size; i++)
        if (i != team->index)
            team_send(team, i, (struct lull_mail_head){MAIL_FAILED, number}, NULL, 0, NULL);
    return number;
}

/* All members below in the tree wait for the result of the agreement. What they have sent up
 * before, for collective calls that others have left out, nobody takes any more. */
static void forget_operations(struct lull_team *team)
{
    pthread_mutex_lock(&team->lock);
    team_drop(team, MAIL_UP);
    pthread_mutex_unlock(&team->lock);
}

/* A failure: its status, the member that failed, and the text. */
struct outcome {
    int64_t status;
    uint64_t member;
    struct lull_error error;
};

static lull_status take_outcome(void *context, uint32_t member, const void *bytes, size_t size,
                                struct lull_error *err)
{
    struct outcome *worst = context;
    (void)member;
    (void)err;
    if (size != sizeof *worst)
        return LULL_OK; /* all is well */
    struct outcome outcome;
    memcpy(&outcome, bytes, sizeof outcome);
    if (worst->status == LULL_OK ||
        (worst->status == LULL_ERR_CANCELLED && outcome.status != LULL_ERR_CANCELLED))
        *worst = outcome;
    return LULL_OK;
}

lull_status lull_team_agree(struct lull_team *team, lull_status status, struct lull_error *err)
{
    if (is_alone(team))
        return status;
    struct outcome own = {.status = status, .member = team->index}, worst = {0};
    struct lull_error why = {""};
    if (status != LULL_OK && err)
        own.error = *err;
    const uint32_t number = begin_agreement(team, status != LULL_OK);
    const struct lull_mail_head agreed = {MAIL_AGREED, number};
    lull_status reached = collect(team, (struct lull_mail_head){MAIL_AGREE, number}, &own,
                                  status == LULL_OK ? 0 : sizeof own, take_outcome, &worst, &why);
    int64_t all = worst.status;
    forget_operations(team);
    if (reached == LULL_OK)
        reached = pass_down(team, agreed, &all, sizeof all, &why);
    if (reached != LULL_OK) { /* the members below wait for this */
        all = LULL_ERR_CANCELLED;
        send_down(team, agreed, &all, sizeof all, NULL);
    }
    if (reached != LULL_OK) /* this failure says more than that the member was stopped */
        return status == LULL_OK || status == LULL_ERR_CANCELLED
                   ? lull_fail(err, reached, "%s", why.text)
                   : status;
    if (all == LULL_OK)
        return LULL_OK;
    team->operation = 0; /* some members may have made more collective calls than others */
    if (team->index != 0)
        return lull_fail(err, LULL_ERR_CANCELLED, "another process of lull has failed");
    if (worst.member == 0)
        return lull_fail(err, (lull_status)all, "%s", worst.error.text);
    return lull_fail(err, (lull_status)all, "rank %u on %s: %s", (unsigned)worst.member,
                     team->hosts[worst.member], worst.error.text);
}

/* ==== bring =================================================================================== */

/* A part is sent when the next one begins, or at the end; the first part that is not full is the
 * last one. The first part of each member is small and is sent without being asked for; the first
 * member asks for each further part. So little is on its way at a time. */

enum { FIRST_PART = 64 << 10, PART = 4 << 20 }; /* bytes */

struct lull_flow {
    struct lull_team *team;
    bool spreads;        /* the flow goes from the first to all, by collective calls */
    uint32_t other;      /* otherwise: the member at the other end */
    uint32_t number;     /* of the agreement at the end */
    uint32_t parts;      /* how many parts were sent, or have come */
    unsigned char *part; /* the part that is being filled, or of a spread the one that has come */
    size_t size, at;     /* bytes of the present part, and how many of these were got */
    const unsigned char *got; /* the part that has come */
    struct lull_mail *mail;
    lull_status status;
    struct lull_error *err;
};

static size_t full_size(uint32_t part)
{
    return part == 0 ? FIRST_PART : PART;
}

static struct lull_mail_head head_of(const struct lull_flow *flow, uint32_t kind)
{
    return (struct lull_mail_head){kind, flow->number};
}

/* ---- a member ------------------------------------------------------------------------------ */

/* Brings a part to all: first its length, then its bytes. */
static bool spread_part(struct lull_flow *flow)
{
    uint64_t size = flow->size;
    flow->status = lull_team_broadcast(flow->team, &size, sizeof size, flow->err);
    flow->size = size;
    if (flow->status == LULL_OK && size > 0)
        flow->status = lull_team_broadcast(flow->team, flow->part, size, flow->err);
    return flow->status == LULL_OK;
}

static bool send_part(struct lull_flow *flow)
{
    struct lull_mail *asked = NULL;
    if (flow->spreads) {
        const bool good = spread_part(flow);
        flow->parts++;
        flow->size = 0;
        return good;
    }
    if (flow->parts > 0)
        flow->status =
            team_expect(flow->team, flow->other, head_of(flow, MAIL_ASKED), &asked, flow->err);
    free(asked);
    if (flow->status == LULL_OK)
        flow->status = team_send(flow->team, flow->other, head_of(flow, MAIL_BROUGHT), flow->part,
                                 flow->size, flow->err);
    flow->parts++;
    flow->size = 0;
    return flow->status == LULL_OK;
}

/* Room for the next part, whose size is known: the first part is smaller than the others. */
static bool make_room(struct lull_flow *flow)
{
    if (flow->part && flow->size < full_size(flow->parts))
        return true;
    if (flow->part && !send_part(flow))
        return false;
    if (flow->part && flow->parts > 1)
        return true; /* the room is as large as all further parts */
    unsigned char *room = realloc(flow->part, full_size(flow->parts));
    if (!room)
        return false;
    flow->part = room;
    return true;
}

bool lull_flow_put(struct lull_flow *flow, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        if (!make_room(flow))
            return false;
        const size_t left = full_size(flow->parts) - flow->size, some = size < left ? size : left;
        memcpy(flow->part + flow->size, from, some);
        flow->size += some;
        from += some;
        size -= some;
    }
    return true;
}

bool lull_flow_put_items(struct lull_flow *flow, const void *items, size_t count, size_t size)
{
    const uint64_t n = count;
    return lull_flow_put(flow, &n, sizeof n) && lull_flow_put(flow, items, count * size);
}

bool lull_flow_put_text(struct lull_flow *flow, const char *text)
{
    return lull_flow_put_items(flow, text ? text : "", text ? strlen(text) + 1 : 0, 1);
}

static bool end_put(struct lull_flow *flow)
{
    const bool full = flow->size == full_size(flow->parts);
    return send_part(flow) && (!full || send_part(flow));
}

/* ---- the first ----------------------------------------------------------------------------- */

static bool is_last_part(const struct lull_flow *flow)
{
    return flow->parts > 0 && flow->size < full_size(flow->parts - 1);
}

static bool other_run(struct lull_flow *flow)
{
    flow->status = lull_fail(flow->err, LULL_ERR_FORMAT,
                             "rank %u speaks of another run than the others", flow->other);
    return false;
}

static bool next_spread(struct lull_flow *flow)
{
    if (flow->parts < 2) { /* the room for the second part is as large as all further ones */
        unsigned char *room = realloc(flow->part, full_size(flow->parts));
        if (!room)
            return false;
        flow->part = room;
    }
    flow->got = flow->part;
    flow->at = 0;
    return spread_part(flow) && ++flow->parts > 0;
}

static bool next_part(struct lull_flow *flow)
{
    if (is_last_part(flow))
        return other_run(flow);
    if (flow->spreads)
        return next_spread(flow);
    if (flow->parts > 0)
        flow->status =
            team_send(flow->team, flow->other, head_of(flow, MAIL_ASKED), NULL, 0, flow->err);
    free(flow->mail);
    flow->mail = NULL;
    if (flow->status == LULL_OK)
        flow->status = team_expect(flow->team, flow->other, head_of(flow, MAIL_BROUGHT),
                                   &flow->mail, flow->err);
    if (flow->status != LULL_OK)
        return false;
    flow->got = (const unsigned char *)flow->mail->bytes;
    flow->size = flow->mail->size;
    flow->at = 0;
    return ++flow->parts > 0;
}

bool lull_flow_get(struct lull_flow *flow, void *bytes, size_t size)
{
    unsigned char *to = bytes;
    while (size > 0) {
        if (flow->at == flow->size && !next_part(flow))
            return false;
        const size_t left = flow->size - flow->at, some = size < left ? size : left;
        if (some)
            memcpy(to, flow->got + flow->at, some);
        flow->at += some;
        to += some;
        size -= some;
    }
    return true;
}

void *lull_flow_get_items(struct lull_flow *flow, size_t size, size_t *ret_count)
{
    uint64_t n;
    *ret_count = 0;
    if (!lull_flow_get(flow, &n, sizeof n))
        return NULL;
    unsigned char *items = malloc((n + 1) * size);
    if (items && lull_flow_get(flow, items, n * size)) {
        *ret_count = n;
        return items;
    }
    free(items);
    return NULL;
}

bool lull_flow_get_text(struct lull_flow *flow, struct lull_arena *arena, const char **ret_text)
{
    size_t count;
    char *text = lull_flow_get_items(flow, 1, &count);
    *ret_text = text && count > 0 ? lull_arena_printf(arena, "%s", text) : NULL;
    free(text);
    return text != NULL;
}

static bool end_get(struct lull_flow *flow)
{
    while (!is_last_part(flow)) {
        if (flow->at < flow->size)
            return other_run(flow);
        if (!next_part(flow))
            return false;
    }
    return flow->at == flow->size || other_run(flow);
}

/* ---- both ways ------------------------------------------------------------------------------ */

static lull_status end(struct lull_flow *flow, bool good, const char *what)
{
    free(flow->part);
    free(flow->mail);
    if (good || flow->status != LULL_OK)
        return flow->status;
    return lull_fail(flow->err, LULL_ERR_MEMORY, "not enough memory for %s", what);
}

lull_status lull_team_bring(struct lull_team *team, const struct lull_freight *freight,
                            struct lull_error *err)
{
    const uint32_t members = lull_team_size(team), own = lull_team_index(team);
    lull_status status = LULL_OK;
    if (members == 1)
        return LULL_OK;
    struct lull_flow flow = {.team = team, .number = team->agreements + 1, .err = err};
    if (own > 0)
        status = end(&flow, freight->put(freight->context, &flow) && end_put(&flow), freight->what);
    for (uint32_t m = 1; own == 0 && m < members && status == LULL_OK; m++) {
        flow = (struct lull_flow){.team = team, .other = m, .number = flow.number, .err = err};
        status =
            end(&flow, freight->get(freight->context, m, &flow) && end_get(&flow), freight->what);
    }
    return lull_team_agree(team, status, err);
}

lull_status lull_team_spread(struct lull_team *team, const struct lull_freight *freight,
                             struct lull_error *err)
{
    struct lull_flow flow = {.team = team, .spreads = true, .err = err};
    if (lull_team_size(team) == 1)
        return LULL_OK;
    const bool good = lull_team_is_first(team)
                          ? freight->put(freight->context, &flow) && end_put(&flow)
                          : freight->get(freight->context, 0, &flow) && end_get(&flow);
    return lull_team_agree(team, end(&flow, good, freight->what), err);
}
