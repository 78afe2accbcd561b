/* Members, and the mail between them.
 *
 * A back-end is only ever asked whether there is something, as MPI keeps a core busy while it
 * waits, which on a crowded machine another member needs. Who waits looks again at once for some
 * microseconds, and then sleeps longer and longer, up to a millisecond. */
#include "team/team.h"

#include "team/chaos.h"
#include "team/team_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Takes out the mail that a pointer of the list leads to. */
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

bool lull_team_others_failed(const struct lull_team *team)
{
    return team->failed > team->agreements;
}

void lull_team_drop(struct lull_team *team, uint32_t kind)
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
    if (mail->head.kind <= LULL_MAIL_PARCEL_LAST) {
        append_mail(&team->parcels[mail->head.kind - LULL_MAIL_PARCEL], mail);
        return;
    }
    switch (mail->head.kind) {
    case LULL_MAIL_AGREED:
        /* The sender has this member's word, which came behind what it sent before. */
        lull_team_drop(team, LULL_MAIL_DOWN);
        append_mail(&team->others, mail);
        return;
    case LULL_MAIL_FAILED:
        if (mail->head.number > team->failed)
            team->failed = mail->head.number;
        break;
    case LULL_MAIL_STOP:
        if (mail->head.number > team->stopped)
            team->stopped = mail->head.number;
        break;
    case LULL_MAIL_LAST:
        team->n_last += !team->last[mail->from];
        team->last[mail->from] = true;
        if (mail->head.number > 0 && team->gone == LULL_NOBODY_GONE)
            team->gone = mail->head.number - 1;
        break;
    default:
        append_mail(&team->others, mail);
        return;
    }
    free(mail);
}

/* Whether something has come. */
static bool look(struct lull_team *team)
{
    uint32_t from;
    size_t size;
    switch (team->backend->probe(team->state, &from, &size)) {
    case LULL_TEAM_NOTHING:
        return false;
    case LULL_TEAM_GONE:
        if (!team->last[from] && team->gone == LULL_NOBODY_GONE)
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

/* That memory is short is told once: what members say of it to each other needs little. */
static lull_status find_failure(struct lull_team *team, struct lull_error *err)
{
    if (team->no_memory) {
        team->no_memory = false;
        return no_memory(err);
    }
    if (team->gone != LULL_NOBODY_GONE && team->hosts && *team->hosts[team->gone])
        return lull_fail(err, LULL_ERR_IO, "rank %u on %s has gone", team->gone,
                         team->hosts[team->gone]);
    return team->gone != LULL_NOBODY_GONE
               ? lull_fail(err, LULL_ERR_IO, "rank %u has gone", team->gone)
               : LULL_OK;
}

/* How long somebody has waited in vain. */
static void wait_a_little(unsigned *looks)
{
    if (++*looks <= LOOKS)
        return;
    unsigned doublings = (*looks - LOOKS) / 4;
    long ns = doublings < 6 ? (long)FIRST_SLEEP_NS << doublings : LONGEST_SLEEP_NS;
    const struct timespec span = {.tv_nsec = ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS};
    nanosleep(&span, NULL);
}

lull_status lull_team_send(struct lull_team *team, uint32_t to, struct lull_mail_head head,
                           const void *bytes, size_t size, struct lull_error *err)
{
    pthread_mutex_lock(&team->lock);
    bool sent = team->backend->send(team->state, to, &head, sizeof head, bytes, size);
    pthread_mutex_unlock(&team->lock);
    return sent ? LULL_OK : no_memory(err);
}

static bool is_brought(uint32_t kind)
{
    return kind == LULL_MAIL_BROUGHT || kind == LULL_MAIL_ASKED;
}

/* NULL: it has not come. What was brought before somebody failed may still come: nobody takes it.
 */
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

/* What is no agreement, does not go on where somebody has failed. */
static bool is_broken_off(const struct lull_team *team, uint32_t kind)
{
    return (kind == LULL_MAIL_UP || kind == LULL_MAIL_DOWN || is_brought(kind)) &&
           lull_team_others_failed(team);
}

lull_status lull_team_expect(struct lull_team *team, uint32_t from, struct lull_mail_head head,
                             struct lull_mail **ret_mail, struct lull_error *err)
{
    struct lull_mail *mail = NULL;
    lull_status status = LULL_OK;
    for (unsigned looks = 0; !mail && status == LULL_OK;) {
        pthread_mutex_lock(&team->lock);
        bool some = look(team);
        mail = find_mail(team, from, head);
        const bool other = mail && mail->head.number != head.number;
        if (!mail || other) /* where one has gone, others may have come further than this one */
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
    return lull_team_send(
        team, to, (struct lull_mail_head){LULL_MAIL_PARCEL + channel, team->reading[channel]},
        bytes, size, err);
}

/* The next of this reading; those of earlier ones are nobody's. */
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

/* Whether others go on no more with what this channel is for. */
static bool is_stopped(const struct lull_team *team, enum lull_team_channel channel)
{
    return (channel == LULL_TEAM_REPLAY && team->stopped >= team->reading[channel]) ||
           team->last[0] || lull_team_others_failed(team);
}

/* *ret_more: something has come, of whatever kind. */
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
            lull_team_send(team, i,
                           (struct lull_mail_head){LULL_MAIL_STOP, team->reading[LULL_TEAM_REPLAY]},
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
    team->gone = LULL_NOBODY_GONE;
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
    const uint32_t gone = team->gone == LULL_NOBODY_GONE ? 0 : team->gone + 1;
    for (uint32_t i = 0; i < team->size; i++)
        if (i != team->index)
            lull_team_send(team, i, (struct lull_mail_head){LULL_MAIL_LAST, gone}, NULL, 0, NULL);
}

/* Until each of the others has sent its last, so that nothing is on its way. False: one has gone.
 */
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
