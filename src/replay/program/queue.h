/* A stream of a replay from inside: what stream.c (queue, time, order), requests.c,
 * messages.c and collectives.c share. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_QUEUE_H
#define LULL_REPLAY_PROGRAM_QUEUE_H

#include "replay/program/stream.h"

#define NO_ENTRY UINT64_MAX

struct entry {
    struct lull_op op;
    bool pending; /* not known yet */
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
    uint32_t index, process;
    bool ended;

    struct entry *queue; /* [first, end) of it are in use; [0] has position `base` */
    size_t first, end, capacity;
    uint64_t base;

    struct open *open; /* in the order of posting */
    uint32_t n_open, open_capacity;
    uint32_t *free_numbers;
    uint32_t n_free, free_capacity, numbers;

    uint32_t *call_waits; /* what this call waits for */
    uint32_t n_call_waits, call_capacity;
    uint32_t *waits; /* of the WAITs in the queue */
    size_t waits_first, waits_end, waits_capacity;

    bool in_call, received, has_records, posted;
    bool send_completions; /* the tracer records them */
    uint8_t call;
    uint32_t call_region;
    int64_t in_call_time; /* bursts and fixed times inside this call */
    uint32_t phase, ordinal;
    uint32_t syncs;
    uint32_t *collectives; /* [n_comms]: blocking ones so far; made when needed */
};

typedef struct lull_replay_stream stream_t;

lull_status lull_replay_no_memory(const stream_t *s, struct lull_error *err);
/* Room for one more behind `end` in an array of which [first, end) are in use: moves them to the
 * front where that pays, else grows. */
bool lull_replay_make_room(void **array, size_t *first, size_t *end, size_t *capacity, size_t size);
/* A new operation at the end of the queue, valid until the next; NULL: no memory. */
struct entry *lull_replay_push(stream_t *s, uint8_t kind, uint32_t region, int64_t measured);

/* A record of MPI. */
lull_status lull_replay_take_event(stream_t *s, const struct lull_event *event,
                                   struct lull_error *err);
/* What the call did of which nothing was recorded. */
lull_status lull_replay_guess(stream_t *s, const struct lull_replay_item *call,
                              struct lull_error *err);
/* One WAIT for all that the call waited for. */
lull_status lull_replay_push_wait(stream_t *s, struct lull_error *err);

#endif
