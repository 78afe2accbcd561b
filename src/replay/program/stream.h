/* The items of one thread become the operations of a stream of the program. Internal to the room.
 *
 * What the tracer says of an operation may stand further on in the trace: which message a receive
 * takes, or which communicator a collective operation is on. So operations wait in a queue until
 * that is known, at most LULL_REPLAY_AHEAD of them. */
#ifndef LULL_REPLAY_PROGRAM_STREAM_H
#define LULL_REPLAY_PROGRAM_STREAM_H

#include "base/hash.h"
#include "replay/program/disturb.h"
#include "replay/program/items.h"
#include "replay/program/lost.h"
#include "replay/replay.h"

#include <pthread.h>

/* ==== the replay and its streams ============================================================== */

struct rooted; /* a group with a root, see groups below */

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
    struct lull_survey *own_survey;      /* NULL: the caller has given one */
    const struct lull_survey *survey;
    uint32_t eager;              /* index of the eager limit among the network's parameters */
    const struct rooted *rooted; /* [n_rooted]: groups with a root */
    uint32_t n_rooted;
    pthread_mutex_t lock; /* of the next two, which are made when they are needed */
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

/* ==== a stream from inside ==================================================================== */

/* Internal to stream.c. */

/* An operation in the queue. */
struct entry {
    struct lull_op op;
    bool pending;  /* what it does is not known yet */
    bool optional; /* pending only because it may be withdrawn: what it does is known */
    bool dropped;  /* it is left out of the program */
};

/* A request of the trace. */
struct open {
    uint64_t request; /* LULL_NO_REQUEST: the tracer gives none */
    uint64_t
        position;    /* of its operation, counted from the first of the stream; NO_ENTRY: not posted
                          yet */
    uint32_t number; /* of its request in the program */
    uint8_t kind;    /* enum open_kind */
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

    uint32_t *call_waits; /* [n_call_waits]: requests of the program that this call waits for */
    uint32_t n_call_waits;
    size_t call_capacity;
    uint32_t *waits; /* [waits_first, waits_end): requests of the WAITs in the queue */
    size_t waits_first, waits_end, waits_capacity;

    bool in_call, received, has_records, posted;
    bool withdraws; /* some of its requests never come to an end (lull_survey_withdraws) */
    bool sent;      /* this call is a blocking send that waits for nobody */
    uint8_t call;   /* enum lull_call */
    uint32_t call_region;
    int64_t in_call_time; /* ns of bursts and fixed times inside this call */
    uint64_t poll;        /* if the last call was a query that found nothing: the position of the
                             operation that takes its time; else NO_ENTRY */
    int64_t since_poll;   /* ns of bursts and fixed times behind that query */
    bool polls;           /* the queries before it, without another call in between, are a wait */
    uint32_t phase, ordinal;      /* of the next burst, as in struct lull_replay_burst */
    uint32_t meets;               /* forks and joins of the master so far */
    uint32_t syncs;               /* SYNCs so far */
    struct lull_hash collectives; /* by communicator: how many blocking operations so far */
    struct lull_hash given_up;    /* by channel: how many messages were taken by receives that the
                                     program gave up; kept in the first stream of a rank for all
                                     streams of the rank */
};

/* ==== groups ================================================================================== */

/* The groups of a replay: group 0 is all ranks, group 1 + c the communicator c. Both sides of an
 * inter-communicator are one group together, that of its canonical number. For each root of
 * operations on an inter-communicator there is another group, of this root and the other side: the
 * other members of the root's side take no part in these operations. */

/* Makes the groups; needs the ranks and the survey. */
lull_status lull_replay_make_groups(struct lull_program *program, struct lull_replay *replay,
                                    struct lull_error *err);

#endif
