/* A team: the processes of lull that do one analysis together. They are all started with the same
 * command line, call the functions of this header in the same order, and the first of them prints.
 *
 * Two kinds of mail never meet. Parcels are posted by any thread to any member at any time, and
 * come in order within a pair of members. The others (sums, blobs, agreement) are calls of all
 * members together, by one thread of each.
 *
 * Where lull was not started as one of several, the team is NULL, which every function takes: it
 * has one member. How members reach each other is in backend.h. */
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
    const char *version;        /* of this lull: that of all */
};

/* Joins the others, who all call this. LULL_ERR_UNSUPPORTED where there is no library for the
 * launcher's MPI; LULL_ERR_RANGE where their versions differ: then there is a team all the same,
 * which is to be ended when that has been told (launchers stop all when the first one ends with a
 * failure). ret_team is NULL for one alone, and where there is no team. */
lull_status lull_team_open(const struct lull_team_start *start, struct lull_team **ret_team,
                           struct lull_error *err);
/* Takes leave of the others, who all have called this when it returns, and releases the team. Where
 * a member failed, the others stop at what they do next together. False: on the first, where the
 * processes of others ended with a failure, as far as that is told. */
bool lull_team_end(struct lull_team *team);

uint32_t lull_team_index(const struct lull_team *team);
uint32_t lull_team_size(const struct lull_team *team);
bool lull_team_is_first(const struct lull_team *team);
const char *lull_team_host(const struct lull_team *team, uint32_t member); /* on the first */

/* ---- parcels ------------------------------------------------------------------------------- */

/* What parcels are of: those of one never come where another is asked for. */
enum lull_team_channel {
    LULL_TEAM_REPLAY, /* what replays tell each other */
    LULL_TEAM_EVENTS, /* what the first has read for others */
    LULL_TEAM_WAITS,  /* who waits for whom */
    LULL_TEAM_CHANNELS
};

/* A reading of a run begins, at the same point of all members: parcels of earlier ones are dropped,
 * and those of a member that is ahead wait. */
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
/* The same, which waits until there is one. */
lull_status lull_team_await(struct lull_team *team, enum lull_team_channel channel,
                            struct lull_team_parcel *ret_parcel, struct lull_error *err);
void lull_team_give_back(struct lull_team_parcel *parcel);
/* This member has failed in a replay: others stop theirs, too. They all meet in lull_team_agree. */
void lull_team_stop(struct lull_team *team);

/* ---- together ------------------------------------------------------------------------------ */

/* Sums, or the largest, of each of `count` values: on the first, in place; those of others are
 * undefined then. Sums are modulo 2^64. */
lull_status lull_team_sum(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err);
lull_status lull_team_max(struct lull_team *team, int64_t *values, size_t count,
                          struct lull_error *err);
/* The same for all. */
lull_status lull_team_sum_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err);
lull_status lull_team_max_to_all(struct lull_team *team, int64_t *values, size_t count,
                                 struct lull_error *err);
/* What the first has, to all. */
lull_status lull_team_broadcast(struct lull_team *team, void *bytes, size_t size,
                                struct lull_error *err);
/* The bytes of each member to the first, where `take` is called for each, itself among them, in
 * their order. They are aligned to 8, and live as long as the call. Fails with its status. */
lull_status lull_team_collect(struct lull_team *team, const void *bytes, size_t size,
                              lull_status (*take)(void *context, uint32_t member, const void *bytes,
                                                  size_t size, struct lull_error *err),
                              void *context, struct lull_error *err);
/* The bytes of each member to all: on each, `take` is called for every member, in their order. They
 * are aligned to 8, and live until lull_team_exchange returns. Fails with the status of `take`. */
lull_status lull_team_exchange(struct lull_team *team, const void *bytes, size_t size,
                               lull_status (*take)(void *context, uint32_t member,
                                                   const void *bytes, size_t size,
                                                   struct lull_error *err),
                               void *context, struct lull_error *err);
/* Whether all went well so far: the status of the first member that failed, on all. The first has
 * its text, with rank and host unless it is its own; others have none. Who has failed may call this
 * at once: what the others still do together before, fails with LULL_ERR_CANCELLED. */
lull_status lull_team_agree(struct lull_team *team, lull_status status, struct lull_error *err);

/* ==== backend ================================================================================= */

/* How the members of a team reach each other: one constant struct per back-end. Calls for one member never overlap. */

enum lull_team_probe {
    LULL_TEAM_NOTHING,
    LULL_TEAM_MAIL,     /* `from` and `size` are of the next one, which fetch takes */
    LULL_TEAM_GONE,     /* `from` will send nothing any more; told once */
    LULL_TEAM_NO_MEMORY /* for what may come; told once while it lasts */
};

struct lull_team_backend {
    /* Whether lull was started so. */
    bool (*recognise)(const struct lull_team_start *start);
    lull_status (*open)(const struct lull_team_start *start, void **ret_state, uint32_t *ret_index,
                        uint32_t *ret_size, struct lull_error *err);
    /* Copies the bytes: two pieces that become one. In order within a pair; false: no memory. */
    bool (*send)(void *state, uint32_t to, const void *head, size_t head_size, const void *bytes,
                 size_t size);
    enum lull_team_probe (*probe)(void *state, uint32_t *from, size_t *size);
    void (*fetch)(void *state, void *bytes);
    /* `orderly`: nothing is on its way, and all others close, too. False: on the first, another
     * ended with a failure, as far as that is told. */
    bool (*close)(void *state, bool orderly);
};

extern const struct lull_team_backend lull_team_alone, lull_team_chaos, lull_team_mpi;

/* ==== team state ============================================================================== */

/* A team from inside.
 *
 * team.c: mail, parcels, begin and end; tree.c: what all do together, along a binomial tree whose
 * root is the first: the parent of a member is its number without the lowest bit. */

struct lull_mail_head {
    uint32_t kind;
    /* A parcel: of the reading of its channel; STOP: of the replay; UP, DOWN: of the operation;
     * AGREE, AGREED, FAILED: of the agreement; BROUGHT, ASKED: of that at the end of it; LAST: 1 +
     * a member that has gone without a word, or 0. */
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
    uint32_t reading[LULL_TEAM_CHANNELS]; /* its number */
    uint32_t operation;
    uint32_t stopped; /* the last replay that a member has stopped */

    pthread_mutex_t lock; /* of all below, and of the back-end */
    uint32_t agreements;  /* that this member has begun */
    uint32_t failed;      /* the last one that another has come to with a failure */
    struct lull_mail_list parcels[LULL_TEAM_CHANNELS], others;
    bool *last; /* [size]: has sent its last */
    uint32_t n_last;
    uint32_t gone; /* a member that has gone without; LULL_NOBODY_GONE */
    bool no_memory;
};

/* ==== bring =================================================================================== */

/* What members have collected is brought to the first, by one of them after the other, or what the
 * first has to all, in parts: of what is on its way neither side has more than a part of some MiB.
 */

struct lull_flow;

/* The bytes that a member puts, the first gets in that order, in pieces as it likes. False: it goes
 * on no more, and whoever called this returns false, too. */
bool lull_flow_put(struct lull_flow *flow, const void *bytes, size_t size);
bool lull_flow_get(struct lull_flow *flow, void *bytes, size_t size);

/* The same of an array with its length. What is got is allocated, also where there are none of
 * them; NULL: it goes on no more. */
bool lull_flow_put_items(struct lull_flow *flow, const void *items, size_t count, size_t size);
void *lull_flow_get_items(struct lull_flow *flow, size_t size, size_t *ret_count);

/* A text, or NULL. What is got lives in `arena`. */
bool lull_flow_put_text(struct lull_flow *flow, const char *text);
bool lull_flow_get_text(struct lull_flow *flow, struct lull_arena *arena, const char **ret_text);

struct lull_freight {
    /* False: not enough memory, unless the flow does not go on. */
    bool (*put)(void *context, struct lull_flow *flow); /* on others than the first */
    bool (*get)(void *context, uint32_t member, struct lull_flow *flow); /* all that was put */
    void *context;
    const char *what; /* "a breakdown", for which memory may be missing */
};

/* Together (team.h), with an agreement at the end. Nothing happens where there is no team. */
lull_status lull_team_bring(struct lull_team *team, const struct lull_freight *freight,
                            struct lull_error *err);
/* The other way: the first puts, and each of the others gets all of it, as from member 0. */
lull_status lull_team_spread(struct lull_team *team, const struct lull_freight *freight,
                             struct lull_error *err);

/* ==== wide sum ================================================================================ */

/* A sum of times that may not fit into 64 bits, in two parts, which a team adds up as integers. */

/* low + 2^32 high, of up to 2^31 values. */
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
