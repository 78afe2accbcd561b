/* A stream of a replay from inside: what stream.c (queue, time, order), requests.c,
 * messages.c and collectives.c share. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_QUEUE_H
#define LULL_REPLAY_PROGRAM_QUEUE_H

#include "base/hash.h"
#include "replay/program/disturb.h"
#include "replay/program/stream.h"

#define NO_ENTRY UINT64_MAX

struct entry {
    struct lull_op op;
    bool pending;  /* not known yet */
    bool optional; /* pending only because it may be withdrawn: what it does is known */
    bool dropped;
};

enum open_kind { OPEN_SEND, OPEN_RECEIVE, OPEN_COLLECTIVE, OPEN_NOTHING };

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

typedef struct lull_replay_stream stream_t;

lull_status lull_replay_no_memory(const stream_t *s, struct lull_error *err);
/* Room for one more behind `end` in an array of which [first, end) are in use: moves them to the
 * front where that pays, else grows. */
bool lull_replay_make_room(void **array, size_t *first, size_t *end, size_t *capacity, size_t size);
/* A new operation at the end of the queue, valid until the next; NULL: no memory. */
struct entry *lull_replay_push(stream_t *s, uint8_t kind, uint32_t region, int64_t measured);

/* ---- requests.c ---------------------------------------------------------------------------- */

uint64_t lull_entry_position(const stream_t *s, const struct entry *entry);
/* NULL: it was handed out. */
struct entry *lull_entry_at(const stream_t *s, uint64_t position);

/* A number for a request of the program, and its return; false: no memory. */
uint32_t lull_request_number(stream_t *s);
bool lull_request_release(stream_t *s, uint32_t number);
/* A request of the trace is open from now on, as an enum open_kind; NULL: no memory. */
struct open *lull_request_add(stream_t *s, uint64_t request, uint8_t kind);
struct open *lull_request_find(stream_t *s, uint64_t request); /* NULL: there is none */
/* The oldest of a kind; NULL: there is none. */
struct open *lull_request_oldest(stream_t *s, uint8_t kind);
/* The oldest receive to which the tracer gives a request (`named`), or gives none. */
struct open *lull_request_oldest_receive(stream_t *s, bool named);
void lull_request_remove(stream_t *s, struct open *open);
/* It will never be known what it did. */
lull_status lull_request_drop(stream_t *s, struct open *open, struct lull_error *err);
/* This call waits for it; false: no memory. */
bool lull_request_wait(stream_t *s, uint32_t number);
/* One WAIT for all that the call waited for. */
lull_status lull_request_push_wait(stream_t *s, struct lull_error *err);

/* ---- messages.c, collectives.c ------------------------------------------------------------- */

/* An operation of message passing. */
lull_status lull_replay_take_operation(stream_t *s, const struct lull_step *step,
                                       struct lull_error *err);
/* A posted receive of which nothing more is recorded takes a message that was sent and that nobody
 * else has received, if there is one; it is no longer open then. */
lull_status lull_replay_take_unreceived(stream_t *s, struct open *open, bool *ret_taken,
                                        struct lull_error *err);
lull_status lull_replay_begin_collective(stream_t *s, const struct lull_step *step,
                                         struct lull_error *err);
lull_status lull_replay_end_collective(stream_t *s, const struct lull_step *step,
                                       struct lull_error *err);
/* threads.c: what made a thread, what it waits for, and its end. */
lull_status lull_replay_take_thread(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err);
/* What the call that ends here did of which nothing was recorded. */
lull_status lull_replay_guess(stream_t *s, const struct lull_step *call, struct lull_error *err);

#endif
