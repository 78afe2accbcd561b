/* SPDX-License-Identifier: BSD-3-Clause */
/* A team: the processes of lull that do one analysis together. They are all started with the same
 * command line, call the functions of this header in the same order, and the first of them prints.
 *
 * There are two kinds of mail, which never meet. Parcels are posted by any thread to any member at
 * any time, and come in order between two members. Collective calls (sums, exchange, agreement) are
 * made by all members together, by one thread of each.
 *
 * If lull was not started as one of several, the team is NULL, which every function takes as a team
 * of one member. How members reach each other is in section back-ends. A team needs memory for the
 * mail that has come and was not taken. */
#ifndef LULL_TEAM_TEAM_H
#define LULL_TEAM_TEAM_H

#include "base/arena.h"
#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== team ==================================================================================== */

struct lull_team;

/* What lull knows of how it was started. */
struct lull_team_start {
    uint32_t rank, size;        /* as the launcher says; size 1: lull is alone */
    const char *family;         /* of the launcher's MPI, as in the names of libraries; or NULL */
    const char *const *folders; /* where the libraries of the families may be; NULL at the end */
    const char *version;        /* of this lull; all members must have the same */
};

/* Joins the other members, who all call this. Fails with LULL_ERR_UNSUPPORTED where there is no
 * library for the launcher's MPI. Fails with LULL_ERR_RANGE where the versions of lull differ: then
 * *ret_team is a team all the same, which the caller ends after it has told the user. (A process
 * that ended at once with a failure could make the launcher stop the others before that.) *ret_team
 * is NULL for a process alone, and where another failure came. */
lull_status lull_team_open(const struct lull_team_start *start, struct lull_team **ret_team,
                           struct lull_error *err);
/* Leaves the team and releases it; when this returns, all members have called it. Where a member
 * calls this early, after a failure, the others fail in the next function that they call together.
 * Returns false on the first member if it learned that the process of another one ended with a
 * failure. */
bool lull_team_end(struct lull_team *team);

uint32_t lull_team_index(const struct lull_team *team);
uint32_t lull_team_size(const struct lull_team *team);
bool lull_team_is_first(const struct lull_team *team);
const char *lull_team_host(const struct lull_team *team, uint32_t member); /* on the first */

/* ---- parcels ------------------------------------------------------------------------------- */

/* What a parcel is for. Parcels of one channel never come where those of another are asked for. */
enum lull_team_channel {
    LULL_TEAM_REPLAY, /* what replays tell each other */
    LULL_TEAM_EVENTS, /* what the first has read for others */
    LULL_TEAM_WAITS,  /* who waits for whom */
    LULL_TEAM_CHANNELS
};

/* A reading of a run begins; called by all members at the same point. Parcels of earlier readings
 * are dropped, and those of a member that is ahead wait. */
void lull_team_begin(struct lull_team *team, enum lull_team_channel channel);

struct lull_team_parcel {
    uint32_t from;
    size_t size;
    const void *bytes; /* aligned to 8 */
    void *mail;        /* what lull_team_give_back takes */
};

/* The bytes are copied. */
lull_status lull_team_post(struct lull_team *team, enum lull_team_channel channel, uint32_t to,
                           const void *bytes, size_t size, struct lull_error *err);
/* The next parcel that has come; bytes NULL: there is none. LULL_ERR_CANCELLED where a member has
 * stopped the reading, or has failed. */
lull_status lull_team_take(struct lull_team *team, enum lull_team_channel channel,
                           struct lull_team_parcel *ret_parcel, struct lull_error *err);
/* As lull_team_take, but waits until there is a parcel. */
lull_status lull_team_await(struct lull_team *team, enum lull_team_channel channel,
                            struct lull_team_parcel *ret_parcel, struct lull_error *err);
void lull_team_give_back(struct lull_team_parcel *parcel);
/* This member has failed in a replay: the others stop theirs, too, and all meet in
 * lull_team_agree. */
void lull_team_stop(struct lull_team *team);

/* ---- together ------------------------------------------------------------------------------ */

/* The sum (modulo 2^64), or the largest, of each of `count` values over all members. The result
 * replaces the values of the first; those of other members are undefined then. */
lull_status lull_team_sum(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err);
lull_status lull_team_max(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err);
/* The same, with the result on all members. */
lull_status lull_team_sum_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err);
lull_status lull_team_max_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err);
/* All members get the bytes of the first. */
lull_status lull_team_broadcast(struct lull_team *team, void *bytes, size_t size,
                                struct lull_error *err);
/* The first gets the bytes of each member: there `take` is called for every member in order, itself
 * among them. The bytes are aligned to 8, and live as long as that call of `take`. Fails with the
 * status of `take`. */
lull_status lull_team_collect(struct lull_team *team, const void *bytes, size_t size,
                              lull_status (*take)(void *context, uint32_t member, const void *bytes,
                                                  size_t size, struct lull_error *err),
                              void *context, struct lull_error *err);
/* All members get the bytes of each: on each of them `take` is called for every member in order.
 * The bytes are aligned to 8, and live until lull_team_exchange returns. Fails with the status of
 * `take`. */
lull_status lull_team_exchange(struct lull_team *team, const void *bytes, size_t size,
                               lull_status (*take)(void *context, uint32_t member,
                                                   const void *bytes, size_t size,
                                                   struct lull_error *err),
                               void *context, struct lull_error *err);
/* Whether all went well so far: returns, on all members, the status of the first member that
 * failed. The first member has the text of that failure, with rank and host unless it is its own;
 * others have no text. A member that has failed may call this at once: collective calls that the
 * others still make before it fail with LULL_ERR_CANCELLED. */
lull_status lull_team_agree(struct lull_team *team, lull_status status, struct lull_error *err);

/* ==== back-ends =============================================================================== */

/* How the members of a team reach each other: one constant struct per back-end. Its functions are
 * called by one thread at a time. */

enum lull_team_probe {
    LULL_TEAM_NOTHING,
    LULL_TEAM_MAIL,     /* `from` and `size` are of the next one, which fetch takes */
    LULL_TEAM_GONE,     /* `from` will never send anything again; told once */
    LULL_TEAM_NO_MEMORY /* there is no memory for mail that may come; told once while this lasts */
};

struct lull_team_backend {
    /* Whether lull was started in the way for which this back-end is. */
    bool (*recognise)(const struct lull_team_start *start);
    lull_status (*open)(const struct lull_team_start *start, void **ret_state, uint32_t *ret_index,
                        uint32_t *ret_size, struct lull_error *err);
    /* Sends a copy of two pieces as one mail. Mail between two members keeps its order. False: no
     * memory. */
    bool (*send)(void *state, uint32_t to, const void *head, size_t head_size, const void *bytes,
                 size_t size);
    enum lull_team_probe (*probe)(void *state, uint32_t *from, size_t *size);
    void (*fetch)(void *state, void *bytes);
    /* `orderly`: nothing is on its way, and all others close, too. Returns false on the first
     * member if it learned that another one ended with a failure. */
    bool (*close)(void *state, bool orderly);
};

extern const struct lull_team_backend lull_team_alone, lull_team_chaos, lull_team_mpi;

/* Whether chaos, the back-end of tests, makes this member say that it is another version of
 * lull. */
bool lull_team_chaos_is_other(uint32_t index, uint32_t size);

/* ==== a team from inside ====================================================================== */

/* Internal to the room. Collective calls go along a binomial tree whose root is the first member:
 * the parent of a member is its number without the lowest bit. */

struct lull_mail_head {
    uint32_t kind; /* enum mail_kind in team.c */
    /* By kind:
     *  - a parcel: the number of the reading on its channel; STOP: that of the replay's reading;
     *  - UP, DOWN: the number of the collective call;
     *  - AGREE, AGREED, FAILED: the number of the agreement; BROUGHT, ASKED: of the agreement with
     *    which the bringing ends;
     *  - LAST: 1 + a member that has gone without a word, or 0. */
    uint32_t number;
};

struct lull_mail {
    struct lull_mail *next;
    uint32_t from;
    size_t size; /* without the head */
    struct lull_mail_head head;
    unsigned char bytes[]; /* aligned to 8 */
};

struct lull_mail_list {
    struct lull_mail *first, **end; /* NULL: empty */
};

struct lull_team {
    const struct lull_team_backend *backend;
    void *state;
    uint32_t index, size;
    char (*hosts)[64];                    /* [size], on the first */
    uint32_t reading[LULL_TEAM_CHANNELS]; /* number of the present reading */
    uint32_t operation;                   /* number of the present collective call */
    uint32_t stopped;                     /* number of the last reading that a member stopped */

    pthread_mutex_t lock; /* of all below, and of the back-end */
    uint32_t agreements;  /* how many agreements this member has begun */
    uint32_t failed;      /* number of the last agreement to which another member came with a
                             failure */
    struct lull_mail_list parcels[LULL_TEAM_CHANNELS], others;
    bool *last;      /* [size]: whether the member has sent its last mail */
    uint32_t n_last; /* how many have */
    uint32_t gone;   /* a member that has gone without sending LAST; or NOBODY_GONE of team.c */
    bool no_memory;
};

/* ==== bringing ================================================================================ */

/* What members have collected is brought to the first, from one member after the other; or what the
 * first has is brought to all. It goes in parts of at most 4 MiB, of which neither side has more
 * than one in memory. */

struct lull_flow;

/* The receiver gets the bytes in the order in which the sender puts them, in pieces of any size.
 * False: the flow has failed, and the caller is to return false, too. */
bool lull_flow_put(struct lull_flow *flow, const void *bytes, size_t size);
bool lull_flow_get(struct lull_flow *flow, void *bytes, size_t size);

/* An array with its length. The array that is got is allocated with malloc, also where it has no
 * items; NULL: the flow has failed. */
bool lull_flow_put_items(struct lull_flow *flow, const void *items, size_t count, size_t size);
void *lull_flow_get_items(struct lull_flow *flow, size_t size, size_t *ret_count);

/* A text, or NULL. What is got lives in `arena`. */
bool lull_flow_put_text(struct lull_flow *flow, const char *text);
bool lull_flow_get_text(struct lull_flow *flow, struct lull_arena *arena, const char **ret_text);

struct lull_freight {
    /* Both return false where the flow has failed, or there is not enough memory. */
    bool (*put)(void *context, struct lull_flow *flow); /* on all members but the first */
    bool (*get)(void *context, uint32_t member, struct lull_flow *flow); /* gets all that was put */
    void *context;
    const char *what; /* "a breakdown", for which memory may be missing */
};

/* Called by all members together, with an agreement at the end. Nothing happens where there is no
 * team. */
lull_status lull_team_bring(struct lull_team *team, const struct lull_freight *freight,
                            struct lull_error *err);
/* The other way round: the first puts, and each other member gets all of it, as from member 0. */
lull_status lull_team_spread(struct lull_team *team, const struct lull_freight *freight,
                             struct lull_error *err);

/* ==== wide sum ================================================================================ */

/* A sum of times that may not fit into 64 bits, in two parts, which a team adds up as integers. */

/* The sum is low + 2^32 high; it holds up to 2^31 values. */
struct lull_wide_sum {
    int64_t low, high;
};

static inline void lull_wide_sum_add(struct lull_wide_sum *sum, int64_t value)
{
    sum->low += value & UINT32_MAX;
    sum->high += value >> 32;
}

static inline double lull_wide_sum_value(const struct lull_wide_sum *sum)
{
    return (double)sum->low + 0x1p32 * (double)sum->high;
}

#endif
