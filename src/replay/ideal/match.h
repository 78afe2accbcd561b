/* Messages and collectives in flight on an ideal network; internal to the room. */
#ifndef LULL_REPLAY_IDEAL_MATCH_H
#define LULL_REPLAY_IDEAL_MATCH_H

#include "activity/channel.h"

/* ---- messages: sent, not yet received. First in, first out per key. ------------------------- */

struct lull_message_key {
    uint32_t source, target; /* processes */
    uint32_t comm;
    int32_t tag;
};

struct lull_messages {
    struct message *pool;
    uint32_t *buckets; /* [n_buckets], a power of 2: the oldest of a chain, or LULL_NONE */
    uint32_t *tails;
    uint32_t n_buckets, n_pool, capacity, free_list, count;
};

void lull_messages_free(struct lull_messages *messages);
/* False: not enough memory. */
bool lull_messages_put(struct lull_messages *messages, const struct lull_message_key *key,
                       int64_t time, int64_t measured);
bool lull_messages_take(struct lull_messages *messages, const struct lull_message_key *key,
                        int64_t *ret_time, int64_t *ret_measured);

/* ---- collectives --------------------------------------------------------------------------- */

/* One operation on one communicator, until all members have done with it. */
struct lull_gathering {
    struct lull_gathering *next; /* on the same communicator */
    uint32_t number;             /* in the sequence of its series */
    uint8_t op, series;
    uint32_t size, arrived, left;
    int64_t latest;         /* of the arrivals so far */
    int64_t root_at;        /* arrival of the root, or -1 */
    int64_t *times;         /* scans: arrival by rank, -1: not yet; else NULL */
    uint32_t first_missing; /* scans: ranks below have arrived ... */
    int64_t *latest_below;  /* ... and the latest of each rank and those before it */
    uint32_t waiting;       /* a list of streams for the caller, LULL_NONE at its end */
};

struct lull_gatherings;
struct lull_gatherings *
lull_gatherings_create(const struct lull_trace *trace);    /* NULL: no memory */
void lull_gatherings_destroy(struct lull_gatherings *all); /* NULL is allowed */

/* A process arrives at its next operation on `comm` at `time`. Blocking and non-blocking operations
 * are matched in series of their own (non-blocking ones one for each operation), because tracers
 * tell the communicator of the latter only when they end. `root` is a process or LULL_ANY. NULL and
 * a text in ret_why: the operations contradict each other, the process is no member, or (empty
 * text) there is no memory. */
struct lull_arrival {
    uint32_t process, comm;
    uint8_t op;
    bool non_blocking;
    int32_t root;
    int64_t time;
};
struct lull_gathering *lull_gatherings_arrive(struct lull_gatherings *all,
                                              const struct lull_arrival *arrival,
                                              char why[static 128]);

/* Whether a process that has arrived may go on, and when. */
bool lull_gathering_ready(const struct lull_gathering *gathering,
                          const struct lull_arrival *arrival, uint32_t rank, int64_t *ret_time);
/* Whether an arrival may have made others ready. */
bool lull_gathering_news(const struct lull_gathering *gathering);
uint32_t lull_gatherings_rank(const struct lull_gatherings *all, uint32_t comm, uint32_t process);
/* A process has gone on, or will never look. The last one releases the gathering. */
void lull_gatherings_leave(struct lull_gatherings *all, uint32_t comm,
                           struct lull_gathering *gathering);

#endif
