/* From the items of one thread to operations. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_STREAM_H
#define LULL_REPLAY_PROGRAM_STREAM_H

#include "base/hash.h"
#include "replay/program/disturb.h"
#include "replay/program/items.h"
#include "replay/program/lost.h"
#include "replay/replay.h"

#include <pthread.h>

/* ==== stream ================================================================================== */

struct rooted; /* groups.c */

/* What the streams of a replay share. */
struct lull_replay {
    const struct lull_trace *trace;
    struct lull_replay_options options;
    uint32_t *ranks; /* [n_processes]: rank in the program, or LULL_NONE */
    uint32_t n_ranks, n_streams;
    uint32_t *first_stream;              /* [n_ranks + 1] */
    uint32_t *locations;                 /* [n_streams] */
    uint32_t *meets;                     /* [n_ranks]: how many threads meet at forks and joins */
    struct lull_replay_stream **streams; /* [n_streams] */
    struct lull_survey *own_survey;      /* NULL: the caller has one */
    const struct lull_survey *survey;
    uint32_t eager;              /* of the network's parameters */
    const struct rooted *rooted; /* [n_rooted]: groups with a root, see groups.h */
    uint32_t n_rooted;
    pthread_mutex_t lock; /* of these two, which are made when they are needed: */
    struct lull_lost *lost;
    struct lull_unreceived *unreceived;
};

struct lull_replay_stream;

lull_status lull_replay_stream_open(struct lull_replay *replay, uint32_t index,
                                    struct lull_replay_stream **ret_stream, struct lull_error *err);
/* Whether a delay of the disturbance, by its index, has come. */
bool lull_replay_stream_was_delayed(const struct lull_replay_stream *stream, uint32_t delay);
void lull_replay_stream_close(struct lull_replay_stream *stream); /* NULL is allowed */
/* As `next` of a program's class. */
lull_status lull_replay_stream_next(struct lull_replay_stream *stream, struct lull_op *ops,
                                    uint32_t room, uint32_t *ret_count, struct lull_error *err);

/* ==== queue =================================================================================== */

/* A stream of a replay from inside: what stream.c (queue, time, order), requests.c,
 * messages.c and collectives.c share. */

struct entry {
    struct lull_op op;
    bool pending;  /* not known yet */
    bool optional; /* pending only because it may be withdrawn: what it does is known */
    bool dropped;
};

/* A request of the trace. */
struct open {
    uint64_t request;  /* LULL_NO_REQUEST: the tracer gives none */
    uint64_t position; /* of its operation, counted from the first ever; NO_ENTRY: not posted yet */
    uint32_t number;   /* in the program */
    uint8_t kind;      /* enum open_kind */
};

struct lull_replay_stream {
    struct lull_replay *replay;
    struct lull_item_cursor *cursor;
    struct lull_disturbed disturbed;
    uint32_t index, location, process;
    bool ended;

    struct entry *queue; /* [first, end) of it are in use; [0] has position `base` */
    size_t first, end, capacity;
    uint64_t base;

    struct open *open; /* in the order of posting */
    uint32_t n_open;
    size_t open_capacity;
    uint32_t *free_numbers;
    uint32_t n_free, numbers;
    size_t free_capacity;

    uint32_t *call_waits; /* what this call waits for */
    uint32_t n_call_waits;
    size_t call_capacity;
    uint32_t *waits; /* of the WAITs in the queue */
    size_t waits_first, waits_end, waits_capacity;

    bool in_call, received, has_records, posted;
    bool withdraws; /* not all of its requests come to an end */
    bool sent;      /* this call is a blocking send that waits for nobody */
    uint8_t call;
    uint32_t call_region;
    int64_t in_call_time; /* bursts and fixed times inside this call */
    uint64_t poll;        /* position of the last call's time, a query that found nothing; or
                             NO_ENTRY */
    int64_t since_poll;   /* bursts and fixed times behind it */
    bool polls;           /* the queries before it, without another call in between, are a wait */
    uint32_t phase, ordinal;
    uint32_t meets; /* forks and joins of the master */
    uint32_t syncs;
    struct lull_hash collectives; /* by communicator: blocking ones so far */
    struct lull_hash given_up;    /* by channel: messages that receives took which were given up; in
                                     the first stream of a rank for all of them */
};

/* ==== groups ================================================================================== */

/* The groups of a replay: group 0 is all ranks, group 1 + c the communicator c. An
 * intercommunicator has one for both of its sides together, that of its canonical number, and for
 * each root of operations on it one of this root and the other side: the others of the root's side
 * take no part. */

/* Needs the ranks and the survey. */
lull_status lull_replay_make_groups(struct lull_program *program, struct lull_replay *replay,
                                    struct lull_error *err);

#endif
