/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of a replay: the items of one thread become the operations of a stream of the program.
 * Internal to the room.
 *
 * Some of what a trace says of an operation comes later than the operation itself: which message a
 * receive takes, or which communicator a collective operation is on. So operations wait in a queue
 * until all of that is known, at most LULL_REPLAY_AHEAD of them. */
#ifndef LULL_REPLAY_PROGRAM_STREAM_H
#define LULL_REPLAY_PROGRAM_STREAM_H

#include "base/hash.h"
#include "replay/program/devices.h"
#include "replay/program/disturb.h"
#include "replay/program/items.h"
#include "replay/program/lost.h"
#include "replay/replay.h"

#include <pthread.h>

/* ==== the replay and its streams ============================================================== */

struct rooted; /* a group for the operations of one root, see groups below */

/* What the streams of a replay share. */
struct lull_replay {
    const struct lull_trace *trace;
    struct lull_replay_options options;
    struct lull_reading reading; /* that of the options */
    uint32_t *ranks;             /* [n_processes]: rank in the program, or LULL_NONE */
    uint32_t n_ranks, n_streams;
    int64_t
        ends_at; /* ns: streams end with the call that they are in then; INT64_MAX: at their end */
    uint32_t *first_stream;              /* [n_ranks + 1] */
    uint32_t *locations;                 /* [n_streams]: of the trace */
    uint8_t *tracks;                     /* [n_streams]: enum lull_device_track, of a device */
    uint32_t *meets;                     /* [n_ranks]: how many streams meet at forks and joins */
    struct lull_replay_stream **streams; /* [n_streams]; NULL: that of a device */
    struct lull_device_stream **device_streams; /* [n_streams]; NULL: that of a thread */
    const struct lull_replay_devices *devices;  /* NULL: they take no part */
    struct lull_survey *own_survey;             /* NULL: `survey` is the caller's */
    const struct lull_survey *survey;
    uint32_t eager;              /* index of the eager limit among the network's parameters */
    const struct rooted *rooted; /* [n_rooted]: groups for the operations of one root */
    uint32_t n_rooted;
    uint32_t first_circle; /* group of the first circle of exchanges */
    pthread_mutex_t lock;  /* of `lost` and `unreceived`, which are made when they are needed */
    struct lull_lost *lost;
    struct lull_unreceived *unreceived;
};

struct lull_replay_stream;

lull_status lull_replay_stream_open(struct lull_replay *replay, uint32_t index,
                                    struct lull_replay_stream **ret_stream, struct lull_error *err);
/* Whether the delay of the disturbance with this index has come. */
bool lull_replay_stream_was_delayed(const struct lull_replay_stream *stream, uint32_t delay);
void lull_replay_stream_close(struct lull_replay_stream *stream); /* NULL is allowed */
/* As `next` of a program's class (sim/program.h). */
lull_status lull_replay_stream_next(struct lull_replay_stream *stream, struct lull_op *ops,
                                    uint32_t room, uint32_t *ret_count, struct lull_error *err);

/* ==== a stream from inside ==================================================================== */

/* Internal to stream.c. */

/* An operation in the queue. */
struct entry {
    struct lull_op op;
    bool pending;  /* what it does is not known yet: it must wait */
    bool optional; /* what it does is known; it is pending only because it may be withdrawn */
    bool dropped;  /* it is left out of the program */
};

/* A request of the trace that is open. */
struct open {
    uint64_t request; /* its number in the trace; LULL_NO_REQUEST: the tracer gives none */
    /* The position of its operation, counted from the first operation of the stream; NO_ENTRY: the
     * operation is not in the program yet, because it is pushed when it completes. */
    uint64_t position;
    uint32_t number; /* of its request in the program */
    uint8_t kind;    /* enum open_kind */
};

struct lull_replay_stream {
    struct lull_replay *replay;
    struct lull_item_cursor *cursor;
    struct lull_disturbed disturbed;
    uint32_t index, location, process;
    bool behind; /* it is read behind `ends_at`, for what posted receives took */
    bool ended;

    struct entry *queue; /* [first, end) of it are in use; queue[0] has the position `base` */
    size_t first, end, capacity;
    uint64_t base;

    struct open *open; /* [n_open]: in the order of posting */
    uint32_t n_open;
    size_t open_capacity;
    uint32_t *free_numbers;   /* [n_free]: request numbers of the program that are free again */
    uint32_t n_free, numbers; /* `numbers` is the lowest that was never used */
    size_t free_capacity;

    uint32_t *call_waits; /* [n_call_waits]: requests of the program that this call waits for */
    uint32_t n_call_waits;
    size_t call_capacity;
    uint32_t *waits; /* [waits_first, waits_end): requests of the WAITs in the queue */
    size_t waits_first, waits_end, waits_capacity;

    /* Whether it is in a call, and of which operations the trace tells in this call: of a receive
     * that completed, of any operation, of a receive that was posted. */
    bool in_call, received, has_records, posted;
    bool withdraws; /* some requests of the thread never end (lull_survey_withdraws) */
    bool sent;      /* this call is a blocking send that is eager: it waits for nobody */
    uint8_t call;   /* enum lull_call */
    uint32_t call_region;
    int64_t in_call_time;    /* ns of bursts and fixed times inside this call */
    uint64_t poll;           /* if the last call was a query (test, Iprobe) that found nothing: the
                                position of the operation that takes its time; else NO_ENTRY */
    int64_t since_poll;      /* ns of bursts and fixed times behind that query */
    bool polls;              /* the query just before it was found to be part of a wait */
    uint32_t phase, ordinal; /* of the next burst, as in struct lull_replay_burst */
    uint32_t meets;          /* forks and joins of the master so far */
    uint32_t syncs;          /* SYNCs so far */
    uint32_t marks;          /* MARKs so far, one for each epoch of an excerpt */
    bool ends_epoch;         /* the epoch of an excerpt ends with the present call */
    struct lull_device_caller caller; /* what it submits to devices and waits for there */
    int64_t awaited;              /* measured: the end of the operations that it waits for now */
    int64_t spared;               /* measured: until then a call goes on that takes no time */
    struct lull_hash collectives; /* by communicator: how many blocking operations so far */
    struct lull_hash given_up;    /* by channel: how many messages were taken by receives that the
                                     program gave up; used in the first stream of a rank only, for
                                     all streams of the rank */
};

/* ==== groups ================================================================================== */

/* The groups of a replay: group 0 is all ranks, group 1 + c the communicator c. Both sides of an
 * inter-communicator together are the group of its canonical number; there each side waits for the
 * other. The other number of the inter-communicator has the same members, who wait for all. For
 * each root of operations on an inter-communicator a further group is made of this root and the
 * other side, because the other members of the root's side take no part in these operations. Behind these is a group for
 * each circle of exchanges between devices (match/exchange.h). */

/* Makes the groups; needs the ranks and the survey. */
lull_status lull_replay_make_groups(struct lull_program *program, struct lull_replay *replay,
                                    struct lull_error *err);

#endif
