/* SPDX-License-Identifier: BSD-3-Clause */
/* The ideal runtime from inside: the types that its files share, and the shares. Internal to the
 * room.
 *
 * A share is what a few workers of the pass know together: the streams of their processes, the
 * queues of the messages that these processes receive, and the gatherings (collective operations)
 * that they take part in. One worker of a share evaluates at a time; the others read on meanwhile
 * and keep their notes at hand. What other shares must know is posted to them as letters, which
 * hold no pointers, in batches.
 *
 * The files, each of which calls those above it alone:
 *
 * share.c     shares, their processes and streams
 * path.c      which regions an ideal time is made of
 * mail.c      letters to other shares, also of different members of a team
 * epochs.c    times that count from the last operation of all
 * gather.c    collective operations, and the members of communicators
 * ahead.c     streams that go on before the end of their epoch is known
 * crew.c      the threads of one process: their meetings with the master, and threads that the
 *             program makes
 * stream.c    steps become notes (stream.h), and notes move the time of a thread; the channels on
 *             which messages wait; synchronous sends; calls of which nothing was recorded
 * order.c     streams go on with their notes; the threads of one process in one order
 * reader.c    workers of the pass: who of them evaluates, sleep, and how they find out that all is
 *             over
 * consumer.c  the consumer of the pass
 * result.c    the result, or the reason why there is none */
#ifndef LULL_REPLAY_IDEAL_SHARE_H
#define LULL_REPLAY_IDEAL_SHARE_H

#include "activity/channel.h"
#include "activity/step.h"
#include "base/array.h"
#include "base/parallel.h"
#include "match/queue.h"
#include "replay/ideal/ideal.h"
#include "replay/ideal/path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ==== notes =================================================================================== */

/* A note is what the ideal runtime keeps of a step. The notes of a stream that waits stand in a
 * queue of blocks. Blocks go back to a pool as they are read, so that only notes in flight take
 * memory. */

/* What a thread did that matters. The ideal time of a thread grows as `kept` does. The operations
 * of a call happen when the call begins, so they have the `kept` of its begin. */
struct note {
    int64_t time;   /* measured, ns */
    int64_t kept;   /* ns, kept_ns of the step */
    uint64_t value; /* RECV: bytes; SEND, SEND_DONE, COLLECTIVE_*: the request; CALL_END: when the
                        call began; THREAD_*: the number of the thread or barrier; USER: ns */
    union {
        struct {
            /* SEND, RECV of a crew: number of the message in its channel, also RECV where posts
             * matter; COLLECTIVE_*: root; FORK, JOIN of a master: how many threads meet;
             * THREAD_WAIT_* of a barrier: how many threads come to it */
            uint32_t number;
            /* COLLECTIVE_*: number of the operation in its series; LULL_NONE: the next. RECV_POST,
             * RECV, CANCEL, FREE where posts matter: number of the post, or LULL_NONE */
            uint32_t ticket;
        };
        int64_t called; /* RECV, see lull_note_says_called: when the last call began; measured */
    };
    uint32_t what; /* SEND, RECV: queue; COLLECTIVE_*: communicator; CALL_END: region; FORK, JOIN of
                      a master: the number of the meeting; THREAD_*: index in crew->lives or
                      crew->barriers, or LULL_NONE; USER: the part of the path */
    uint8_t
        kind;   /* enum lull_step_kind; LULL_STEP_USER: a part of the path (path.h), and no step */
    uint8_t op; /* of the step; SEND_DONE: enum lull_call of the call that it is in */
    uint8_t flags; /* enum note_flags */
    uint8_t posts; /* receives that were posted since the note before */
};

enum note_flags {
    NOTE_MOVES = 1,       /* the time of the thread first moves up to `kept` */
    NOTE_WAITS = 2,       /* the operation is outside of calls, so the thread waits for it here and
                             not at the end of a call */
    NOTE_REQUEST = 4,     /* the message or collective operation does not block */
    NOTE_LOST = 8,        /* CALL_END: nothing of the call was recorded */
    NOTE_SENDS = 16,      /* CALL_END: the call waited for sends */
    NOTE_DATA = 64,       /* COLLECTIVE_*: its process sends or receives something in it */
    NOTE_SYNCHRONOUS = 32 /* SEND: it is over when its receive has begun */
};

enum { NOTES_OF_BLOCK = 25 };

struct note_block {
    struct note_block *next;
    struct note notes[NOTES_OF_BLOCK];
};

struct note_pool {
    struct note_block *free;
    size_t queued; /* notes in all queues of the share; each tail (ahead.c) counts as several */
};

/* Notes from `first` to `last`. In a process with several threads, the notes from `middle` on are
 * not yet in order with the notes of its other threads. */
struct note_queue {
    struct note_block *first, *middle, *last;
    uint8_t first_at, middle_at, last_at;
};

/* Adds a note at the end, for the caller to fill; NULL: no memory. */
static inline struct note *lull_notes_push(struct note_pool *pool, struct note_queue *queue)
{
    if (!queue->last || queue->last_at == NOTES_OF_BLOCK) {
        struct note_block *block = pool->free;
        if (block)
            pool->free = block->next;
        else if (!(block = malloc(sizeof *block)))
            return NULL;
        block->next = NULL;
        if (queue->last) {
            queue->last->next = block;
            if (queue->middle == queue->last && queue->middle_at == NOTES_OF_BLOCK) {
                queue->middle = block;
                queue->middle_at = 0;
            }
        } else {
            queue->first = queue->middle = block;
            queue->first_at = queue->middle_at = 0;
        }
        queue->last = block;
        queue->last_at = 0;
    }
    pool->queued++;
    return &queue->last->notes[queue->last_at++];
}

static inline bool lull_notes_empty(const struct note_queue *queue)
{
    return !queue->last;
}

/* The first note; the queue is not empty. */
static inline struct note *lull_notes_front(const struct note_queue *queue)
{
    return &queue->first->notes[queue->first_at];
}

/* Whether no note is in order: the first one is the one at the middle, or there is none. */
static inline bool lull_notes_at_middle(const struct note_queue *queue)
{
    return !queue->last || (queue->first == queue->middle && queue->first_at == queue->middle_at);
}

/* The first note from the middle on, or NULL. */
static inline struct note *lull_notes_middle(const struct note_queue *queue)
{
    if (!queue->last || (queue->middle == queue->last && queue->middle_at == queue->last_at))
        return NULL;
    return &queue->middle->notes[queue->middle_at];
}

static inline void lull_notes_advance_middle(struct note_queue *queue)
{
    if (++queue->middle_at == NOTES_OF_BLOCK && queue->middle->next) {
        queue->middle = queue->middle->next;
        queue->middle_at = 0;
    }
}

static inline void lull_notes_give_back(struct note_pool *pool, struct note_queue *queue)
{
    struct note_block *block = queue->first;
    queue->first = block->next;
    queue->first_at = 0;
    if (queue->middle == block) {
        queue->middle = queue->first;
        queue->middle_at = 0;
    }
    block->next = pool->free;
    pool->free = block;
    if (!queue->first)
        *queue = (struct note_queue){0};
}

/* Gives back the blocks at the front whose notes have all been taken. */
static inline void lull_notes_tidy(struct note_pool *pool, struct note_queue *queue)
{
    while (queue->first && (queue->first == queue->last ? queue->first_at == queue->last_at
                                                        : queue->first_at == NOTES_OF_BLOCK))
        lull_notes_give_back(pool, queue);
}

static inline void lull_notes_pop(struct note_pool *pool, struct note_queue *queue)
{
    pool->queued--;
    queue->first_at++;
    lull_notes_tidy(pool, queue);
}

/* ==== a share and what it holds =============================================================== */

struct lull_ideal;
struct lull_lost;
struct lull_steps;

/* ---- messages ------------------------------------------------------------------------------ */

/* What a message carries (match/queue.h). The lists of synchronous sends are of this type, too, and
 * say below what its fields mean. */
struct message {
    int64_t time, sent; /* when it was sent: ideal time; measured time, ns */
    uint32_t path;      /* of `time` (path.h) */
};

/* What is kept of a channel where sends may be synchronous: lists whose items come from the store
 * of the share's queues. */
struct handshake {
    uint32_t begun;         /* at the receiver: receives whose message has not been taken; `time`:
                               ideal time when the receive began */
    uint32_t asked;         /* at the receiver: messages whose receive has not begun; `sent`: the
                               share of the sender in the upper half, its queue in the lower half */
    uint32_t answers;       /* at the sender: `time`: when receives of synchronous sends began */
    struct stream *waiting; /* at the sender: the streams that wait for such an answer */
};

/* ---- streams ------------------------------------------------------------------------------- */

enum blocked { RUNNABLE, ON_MESSAGE, ON_RECEIVE, ON_GATHERING, ON_THREADS, ON_LIFE, ENDED };

/* One thing that a call waits for at its end: a message, a collective operation, or the begin of
 * the receive of a synchronous send. */
struct pending {
    uint32_t what;   /* index of the queue, or of the series */
    uint32_t number; /* of the message in its channel, or of the operation in its series */
    uint32_t rank;   /* of the own process in the communicator */
    uint32_t comm;   /* of the collective operation; LULL_NONE: a message */
    uint8_t op;      /* enum lull_collective */
    uint8_t awaits;  /* of a collective operation: enum lull_awaited */
    bool is_send;    /* it is a synchronous send of the stream itself */
    int64_t time;    /* a message: measured time when it was received; a collective operation:
                        ideal time when the own process arrived */
    uint64_t bytes;  /* of a message */
};

/* A non-blocking collective operation in flight. */
struct open_collective {
    uint64_t request;
    int64_t time;  /* ideal, when it began */
    uint32_t path; /* of `time` (path.h) */
    bool arrived;  /* false: it arrives when it ends, as its communicator is not known before */
    struct pending pending;
};

/* A synchronous send that does not block and was not waited for yet. */
struct open_send {
    uint64_t request;
    uint32_t queue, number; /* `number`: of its message in the channel */
};

/* A receive that does not block, from the reading of its post to the reading of its completion. */
struct read_post {
    uint64_t request;
    uint32_t post; /* its number: how many of the location were read before it */
};

/* A receive that does not block, from the reading of its post until the thread, in its ideal time,
 * comes to the completion. */
struct posting {
    int64_t time;    /* ideal, when the receive began; -1: the thread has not come to the post */
    uint32_t path;   /* of `time` */
    uint32_t post;   /* its number, as in struct read_post */
    uint32_t queue;  /* where its message comes; LULL_NONE: the completion has not been read */
    uint32_t number; /* of the message in its channel */
};

enum { FORMS_OF_CALLS = LULL_CALLS };

/* Calls of one thread of which nothing was recorded, by enum lull_call. */
struct losses {
    int64_t ns[FORMS_OF_CALLS];      /* measured time in them, all together */
    uint32_t region[FORMS_OF_CALLS]; /* of the last one */
    uint32_t open; /* non-blocking collectives of which nothing was recorded, not waited for yet */
};

/* What is known of a thread where its steps are read. That may be far ahead of the note that its
 * stream waits at. */
struct reading {
    int64_t call_began; /* measured, of the call that the thread is in or was last in */
    int64_t call_kept;  /* kept time when that call began, ns */
    uint8_t posts;      /* receives that were posted since the last note */
    uint8_t call;       /* enum lull_call */
    bool in_call;
    bool completed;                /* an operation of this call was recorded */
    bool sends;                    /* this call waits for sends */
    bool waits;                    /* this call waits for something */
    bool over;                     /* the analysed span has ended */
    bool lost;                     /* nothing was recorded of the call that has just ended */
    bool lost_collective;          /* nothing was recorded of some non-blocking collective */
    bool recorded[FORMS_OF_CALLS]; /* some call of this form has records */
    struct read_post *open;        /* where posts matter: receives that are posted, not complete */
    size_t n_open, open_capacity;
    uint32_t n_posts;          /* so far; the next post has this number */
    struct path_reading *path; /* path.h; NULL: the path is not wanted */
};

/* A process arrives at a collective operation. */
struct arrival {
    uint32_t comm;
    uint8_t op; /* enum lull_collective */
    bool non_blocking;
    bool moves;             /* the process sends or receives something in it */
    int32_t root;           /* process index; < 0: none, or not said */
    bool in_call;           /* false: the thread waits for the operation itself, outside of calls */
    uint32_t ticket;        /* number of the operation in its series; LULL_NONE: the next */
    int64_t time, measured; /* of the arrival: ideal; measured */
    uint32_t path;          /* of `time` */
};

/* A thread that may call MPI, or a tail: the rest of an epoch that such a thread has left behind
 * (ahead.c). A tail uses the members up to `signature` alone. Tails are made so often that the
 * other members are not even cleared for them. */
struct stream {
    struct process *process;
    struct reader *reader; /* of its location */
    uint32_t location;
    atomic_uchar blocked; /* enum blocked; changed with lull_stream_set by whoever holds the
                             share */
    bool calls;           /* it has begun to communicate; nothing is evaluated before */
    bool follows;         /* it meets the master of its process at forks and joins */
    bool tells_calls;     /* it has notes of where each of its calls begins and ends */
    bool waits_for_sends; /* the call that ends now does */
    bool passes;          /* it is in the call that has ended the last epoch */
    int64_t time;         /* ideal */
    int64_t kept;         /* kept time of the steps that `time` contains, ns */
    int64_t done;         /* ideal time when all that the call has waited for so far was there */
    uint32_t path, done_path; /* of `time` and of `done` (path.h) */
    int64_t
        *to_come; /* [n_parts]: what `time` is yet to grow by at the next note that moves it; NULL:
                         the path is not wanted */
    int64_t call_began; /* measured: begin of its last call, for options->message */
    uint32_t call;      /* region of the call that ends now, or LULL_NONE */
    int64_t stopped_at; /* measured: begin of the call or step that it waits in, for messages to the
                           user */
    struct pending *pending; /* what the call waits for; [0, pending_at) has come */
    size_t pending_at, n_pending, pending_capacity;
    struct note_queue notes;                  /* what comes behind its wait */
    struct stream *next_ready, *next_waiting; /* lists: share->ready; who waits for the same */
    struct stream *next_tail;                 /* of a tail: the next of its owner, or spare one */
    struct stream *owner;                     /* of a tail: its thread; else NULL */
    uint64_t open_receives;                   /* posted, not complete */
    uint32_t lost_epoch; /* collective operations of all processes so far, for program/lost.h */
    uint32_t epochs;     /* how many epochs it has ended (epochs.h) */
    uint64_t signature;  /* a hash of the operations that ended these epochs */

    /* A tail uses nothing of what follows. */
    struct lull_match_routes routes;
    struct open_collective *open; /* in any order */
    size_t n_open, open_capacity;
    struct open_send *sends; /* in any order */
    size_t n_sends, send_capacity;
    struct posting *postings; /* in any order */
    size_t n_postings, posting_capacity;
    struct losses *losses; /* NULL: none so far */
    struct reading reading;

    /* For ahead.c: the tails of the thread, the oldest first. */
    struct stream *first_tail, *last_tail;
    atomic_uint tails;   /* how many there are; changed by whoever holds the share */
    struct arrival ends; /* the operation in `notes` that ends the epoch, once `look` has found
                            it */
    uint8_t look;        /* whether `notes` are searched for it, see ahead.c */

    /* For a thread of a crew. */
    int64_t until;                  /* no step to come is earlier, measured */
    int64_t point_time, point_kept; /* measured and kept time of the last note or meeting */
    uint32_t meeting;               /* number of its next meeting */
    uint32_t awaits;                /* number of the meeting that it waits at; 0: none */
    struct note waited;             /* ON_LIFE: the note that it waits at */
};

struct process {
    uint32_t index;
    uint32_t first_member; /* list of its memberships in share->members, the one that was asked for
                              last in front; or LULL_NONE */
    struct crew *crew;     /* NULL: one thread is read */
};

/* ---- letters ------------------------------------------------------------------------------- */

/* What a letter says, and what its members a, b, c, time and measured are then. The letters from
 * LETTER_ARRIVAL on are about collective operations: a is the communicator, b the number of the
 * operation in the series of kind `series`. The last four go from the home of the communicator to
 * shares with members. */
enum letter_kind {
    LETTER_PATH,    /* of the path of the next letter that has one, two numbers: a: which; time: it;
                       b, measured: the same of another one, or LULL_NONE */
    LETTER_CHANNEL, /* a channel gets a port; a: the port; b, c: source and target; time: comm;
                       measured: tag */
    LETTER_MESSAGE, /* a message was sent; a: port; b: number; time, measured */
    LETTER_ASK,    /* a synchronous message comes next; a: port; b: number; c: the sender's queue */
    LETTER_ANSWER, /* the receive of a synchronous message began at `time`; a: queue; b: number */
    LETTER_ARRIVAL, /* to the home: rank c has arrived; op, is_root, time, measured */
    LETTER_ROOT,    /* the root arrived at `time` */
    LETTER_ALL,     /* all have arrived, the last of them at `time` */
    LETTER_GROUP,   /* between two groups: all of group c (0 or 1) have, the last at `time` */
    LETTER_BELOW    /* scans: all ranks up to c have arrived, the last of them at `time` */
};

struct letter {
    uint8_t kind, op, series;
    bool is_root;
    uint32_t a, b, c;
    int64_t time, measured;
};

enum { LETTERS_OF_BATCH = 255 };

struct batch {
    struct batch *next;
    uint32_t from, count;
    struct letter letters[LETTERS_OF_BATCH];
};

struct outbox {
    struct batch *batch; /* being filled, or NULL */
};

/* What a reader does: it is awake; it rests, because nothing that it could read is welcome; or it
 * has read all, and only serves letters. */
enum sleep { AWAKE, RESTING, SERVING };

/* Collective operations that contradict each other: a process is no member of the communicator, or
 * called `op` where others called `other_op`. The first complaint in measured time is kept. */
struct complaint {
    enum { NO_COMPLAINT, NO_MEMBER, DIFFERENT_OPERATIONS } kind;
    int64_t measured;
    uint32_t process, comm;
    uint8_t op, other_op;
};

/* ---- a share ------------------------------------------------------------------------------- */

struct share {
    struct lull_ideal *ideal;
    unsigned index;
    struct stream *ready; /* list of the streams that can perhaps go on */
    struct note_pool pool;

    /* of all channels on which its processes send or receive; the holder of a queue is the share
       of the receiver, or LULL_NONE: it is of another application */
    struct lull_match_queues queues;
    struct handshake *handshakes; /* by queue, where sends may be synchronous */
    size_t handshake_capacity;

    struct circle *circles; /* [n_comms] */
    struct series *series;
    struct member *members;
    size_t n_series, series_capacity, n_members, member_capacity;
    struct complaint complaint;
    int64_t *epochs; /* [n_epochs]: ns from the begin of the epoch until the last stream of this
                        share came to its end */
    size_t n_epochs, epoch_capacity;
    struct stream *spare_tails;

    struct lull_ideal_paths *paths; /* NULL: paths are not wanted */
    uint32_t *coming;               /* [n_shares]: the path of the next letter from there */
    struct outbox *outboxes;        /* [n_shares] */
    struct lull_match_ports *ports; /* [n_shares] */
    struct batch *spare;            /* list of batches to be filled again, n_spare of them */
    uint32_t n_spare;
    uint32_t blocks; /* blocks of steps since the last letters were handed over */

    /* receives; collective operations whose home this share is; messages to other applications */
    uint64_t n_received, n_collectives, n_nobody;
    uint64_t n_arrivals; /* of processes in collective operations that do not end an epoch */
    lull_status status;  /* of the first failure */
    struct lull_error error;

    pthread_mutex_t evaluation; /* held by whoever touches any of the above */
    bool helps;                 /* whoever holds it goes on to serve other shares */

    char apart[LULL_APART];

    struct reader **readers; /* [n_readers], of ideal->readers */
    unsigned n_readers;
    atomic_bool full; /* so many notes wait that streams that cannot go on are not welcome */

    /* What other shares touch, too, under the lock. */
    pthread_mutex_t lock;
    struct batch *inbox, *inbox_last; /* list of batches that nobody has taken */
    atomic_bool has_mail;             /* the inbox is not empty */
    atomic_uint waits;                /* readers that wait for letters */
};

/* Notes of one stream, in a row. */
struct sheaf {
    struct stream *stream;
    size_t count; /* notes */
};

/* A worker of the pass. */
struct reader {
    struct share *share;
    struct note *notes; /* at hand: read, and not evaluated yet */
    size_t n_notes, note_capacity;
    struct sheaf *sheaves; /* whose these notes are, in their order */
    size_t n_sheaves, sheaf_capacity;

    char apart[LULL_APART];

    pthread_cond_t wake;
    bool roused;        /* somebody has woken it; under the lock of the share */
    enum sleep sleep;   /* under the lock of the share */
    atomic_bool hungry; /* since it chose what to read, something has become welcome */
};

/* STUCK: nobody can go on, and more reading cannot change that. */
enum state { EVALUATING, OVER, STUCK };

struct lull_ideal {
    const struct lull_trace *trace;
    const struct lull_ideal_options *options;
    const struct lull_reading *reading; /* that of the options */
    bool has_span;
    int64_t from, to;                /* the analysed span */
    struct share **shares;           /* [n_shares]; NULL: of another member of the team */
    unsigned n_shares;               /* of all members together */
    unsigned first_share, end_share; /* the shares of this member are [first_share, end_share) */
    uint32_t *member_of;             /* [n_shares]; NULL: lull is alone */
    unsigned *workers_of;            /* [members]: workers of their passes; NULL: lull is alone */
    struct lull_mailbox *mailbox;    /* to and from other members; NULL: lull is alone */
    struct reader **readers;         /* [n_readers]: the workers of the pass */
    unsigned n_readers;
    uint16_t *share_of;              /* [n_processes]; NOBODY: of another application */
    struct stream *_Atomic *streams; /* [n_locations], each made by whoever holds its share when it
                                        is needed first */
    struct process **processes;      /* [n_processes], made likewise */
    uint32_t n_ranks;                /* processes of the application that have threads */
    bool has_crews;                  /* some process has a crew */
    bool presumes_masters;           /* as in the options, unless the program makes threads */
    bool synchronous;                /* sends may be synchronous, so posts of receives matter */
    bool makes_threads;              /* the program may make threads itself */
    unsigned n_parts;                /* of paths (path.h); 0: paths are not wanted */
    unsigned size_of_paths;          /* numbers of a path: n_parts and the options' n_sites */
    bool brief;                      /* the pass is asked for CALLs, not CALL_BEGINs and
                                        CALL_ENDs */
    uint64_t takes;               /* LULL_STEP_MASK of the kinds that it takes; others may come */
    unsigned epoch_bits;          /* low bits of an ideal time: ns; those above count epochs */
    uint32_t most_epochs;         /* 0: this reading has no epochs */
    uint32_t n_epochs;            /* that all streams have ended; known after
                                     lull_ideal_look_back */
    int64_t *last_times;          /* [n_locations], ns: the last event of each, once it is read */
    struct stream *first_blocked; /* when stuck: the stream that tells best why */
    pthread_mutex_t lost_lock;
    struct lull_lost *lost;        /* NULL: not needed so far */
    struct lull_trace *silent;     /* in a team: the trace from which `lost` is read */
    struct lull_quirk_tally tally; /* of quirks found here */

    char apart[LULL_APART]; /* keeps what changes often off the cache lines of what does not */
    atomic_long unsettled;  /* readers that are awake, and batches on their way */
    char seldom[LULL_APART];
    atomic_bool epochs_are_void;
    atomic_bool others_call; /* a thread that is no master communicates, although
                                presumes_masters */
    atomic_size_t bound;     /* so many notes of a share may wait before streams that cannot go on
                                are not welcome any more */
    atomic_int state;        /* enum state */
    atomic_bool stopped;
};

enum { NOBODY = UINT16_MAX };

static inline bool lull_is_of_threads(uint8_t kind)
{
    return LULL_STEPS_OF_THREADS >> kind & 1;
}

static inline void lull_stream_set(struct stream *stream, enum blocked blocked)
{
    atomic_store_explicit(&stream->blocked, (unsigned char)blocked, memory_order_relaxed);
}

/* ---- shares and streams -------------------------------------------------------------------- */

/* The first failure of a share is kept, and told to the pass at the next opportunity. */
void lull_share_fail(struct share *share, lull_status status, const struct lull_error *err);
void lull_share_no_memory(struct share *share);
struct share *lull_share_create(struct lull_ideal *ideal, unsigned index);
void lull_share_destroy(struct share *share);
/* Whether several threads of a process may communicate. */
bool lull_share_is_crew(const struct lull_ideal *ideal, uint32_t process);
/* Made when they are needed first. NULL: no memory, which is noted. */
struct process *lull_share_process(struct share *share, uint32_t process);
struct stream *lull_share_stream(struct share *share, uint32_t location);
void lull_share_free_stream(struct stream *stream); /* NULL is allowed */
/* The stream has ended, and needs no memory any more but itself. */
void lull_share_end_stream(struct stream *stream);
void lull_share_drop_notes(struct share *share);
/* Puts a stream on the list of those that can perhaps go on. */
void lull_share_ready(struct share *share, struct stream *stream);
/* Of the blocked streams the one that tells best why; NULL: none is blocked. */
struct stream *lull_share_first_blocked(const struct lull_ideal *ideal);

#endif
