/* The replay on an ideal network from inside: what ideal.c (streams and their order) and
 * ideal_calls.c (messages, collectives, waiting) share. Internal to the room. */
#ifndef LULL_REPLAY_IDEAL_RUN_H
#define LULL_REPLAY_IDEAL_RUN_H

#include "replay/ideal/ideal.h"
#include "replay/ideal/match.h"
#include "replay/lost.h"
#include "replay/reader.h"

enum { LULL_IDEAL_ROOM = 32 };

enum blocked { RUNNABLE, ON_MESSAGE, ON_GATHERING, ON_THREADS, ENDED };

/* What a call waits for at its end. */
struct pending {
    struct lull_gathering *gathering; /* NULL: a message */
    uint64_t bytes;
    int64_t received; /* measured */
    union {
        struct lull_message_key key;
        struct lull_arrival arrival;
    };
};

/* A non-blocking collective in flight. */
struct open_collective {
    uint64_t request;
    struct lull_gathering *gathering; /* NULL: its communicator is not known yet */
    struct lull_arrival arrival;
};

/* A thread that calls MPI. */
struct stream {
    struct lull_replay_reader *reader;
    uint32_t process;
    uint8_t blocked;    /* enum blocked */
    bool in_call;       /* of MPI */
    bool meets;         /* has come to the next fork or join of its process */
    bool completed;     /* something in this call */
    bool communicates;  /* it has records of its own */
    int64_t time;       /* ideal */
    int64_t done;       /* what the call waited for so far was there by then */
    int64_t stopped_at; /* measured time, for messages to the user */
    int64_t call_began; /* measured */
    struct lull_message_key waits_for;
    uint32_t next_waiting; /* of the same gathering */
    struct pending *pending;
    uint32_t n_pending, pending_capacity;
    struct open_collective *open;
    uint32_t n_open, open_capacity;
    uint64_t open_receives;             /* posted, not complete */
    uint32_t epoch;                     /* collective operations of all processes so far */
    uint32_t meetings;                  /* forks and joins behind it */
    uint32_t lost_open;                 /* non-blocking collectives of whose end nothing is known */
    int64_t lost_ns[LULL_REPLAY_CALLS]; /* time in calls without the records they should have */
    uint32_t n_items, at;
    struct lull_replay_item items[LULL_IDEAL_ROOM];
};

/* Where the threads of a process meet: the forks and joins of its master. */
struct meeting {
    uint32_t size;    /* streams that follow its master, and itself */
    uint32_t arrived; /* at the next one ... */
    int64_t latest;   /* ... and when */
    uint32_t over;    /* those that all have come to ... */
    int64_t left_at;  /* ... and when the last of them was over */
};

struct entry {
    int64_t time;
    uint32_t stream;
};

struct ideal {
    const struct lull_trace *trace;
    const struct lull_ideal_options *options;
    struct lull_arena *arena;
    struct lull_ideal_result *result;
    struct lull_replay_codes *codes;
    struct stream *streams;
    uint32_t n_streams;
    uint32_t *first_stream; /* [n_processes + 1] */
    uint32_t n_ranks;
    struct meeting *meetings; /* [n_processes] */
    struct entry *heap;       /* runnable streams, the one that lags first */
    uint32_t n_heap;
    struct lull_messages messages;
    struct lull_gatherings *gatherings;
    struct lull_lost *lost;                   /* when needed */
    bool recorded[LULL_REPLAY_CALLS];         /* a call of this kind has records */
    const char *lost_name[LULL_REPLAY_CALLS]; /* one that has not */
    struct lull_error *err;
    uint64_t steps;
};

lull_status lull_ideal_no_memory(struct ideal *ideal);
/* Ends the replay with a reason instead of a number. */
lull_status lull_ideal_impossible(struct ideal *ideal, const char *absent, const char *detail);
/* "rank 3 at 1.5 s" */
const char *lull_ideal_place(const struct ideal *ideal, const struct stream *stream, int64_t time);
void lull_ideal_wake(struct ideal *ideal, uint32_t stream);

/* A record of MPI. */
lull_status lull_ideal_event(struct ideal *ideal, struct stream *stream,
                             const struct lull_event *event);
/* What should have been recorded of a call that has ended. */
lull_status lull_ideal_look_for_lost(struct ideal *ideal, struct stream *stream,
                                     const struct lull_replay_item *call);
/* Whether all that the call waits for is there; else the stream is blocked. */
bool lull_ideal_wait(struct ideal *ideal, struct stream *stream);

#endif
