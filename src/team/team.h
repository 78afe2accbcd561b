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

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
