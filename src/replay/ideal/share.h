/* The ideal runtime from inside; internal to the room.
 *
 * A share is what a few workers of the pass know: the streams of their processes, the queues of the
 * messages that these receive, and the gatherings (collective operations) that they take part in.
 * Only one of them evaluates at a time; the others read on meanwhile and keep what they have read
 * at hand (stream.c). What other shares must know is posted to them as letters, which hold no
 * pointers, in batches (mail.c).
 *
 * stream.h     what of a step matters: steps become notes
 * stream.c   workers of the pass: who evaluates
 * stream.c   one thread: notes become time
 * channels.h where messages wait, and who they are sent to
 * stream.c: sends that wait for their receive to begin
 * gather.c   collective operations; gather.c: the members of communicators
 * epochs.c   behind operations of all, times count from there; epochs.c: streams that do not wait
 *            for the end of an epoch
 * crew.c     the threads of one process: their common order, and where they meet their master
 * crew.c    threads that the program makes: their lives, joins and barriers
 * stream.c   calls of which nothing was recorded
 * mail.c     letters, rest, and how shares find out that all is over
 * mail.c     the same among members of a team; mail.c: how far one may be ahead of the others;
 *            ideal.c: what they know at the end
 * ideal.c  the result, and why there is none
 * ideal.c    the consumer */
#ifndef LULL_REPLAY_IDEAL_SHARE_H
#define LULL_REPLAY_IDEAL_SHARE_H

#include "activity/channel.h"
#include "activity/step.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "replay/ideal/ideal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ==== note ==================================================================================== */

/* Notes: what the ideal runtime keeps of a step, where it cannot be evaluated at once; internal to
 * the room. A stream that waits has its notes in a queue of blocks, which go back to a pool as they
 * are read, so that memory is what is in flight. */

/* What a thread did that matters. Its ideal time moves with `kept`; the operations of a call happen
 * when the call begins, so theirs is that of its begin. */
struct note {
    int64_t time;    /* measured */
    int64_t kept;    /* as in the steps */
    uint64_t value;  /* RECV: bytes; SEND, SEND_DONE, COLLECTIVE_*: the request; CALL_END: when the
                        call began; THREAD_*: the number */
    uint32_t what;   /* SEND: link; RECV: queue; COLLECTIVE_*: communicator; CALL_END: region;
                        FORK, JOIN of a master: the number of the meeting; THREAD_*: which life or
                        barrier, or LULL_NONE */
    uint32_t number; /* SEND, RECV of a crew: which message of the channel, also RECV where posts
                        matter; COLLECTIVE_*: root; FORK, JOIN of a master: who meets;
                        THREAD_WAIT_*: at a barrier likewise */
    uint32_t ticket; /* COLLECTIVE_*: which operation of its series; LULL_NONE: the next. RECV_POST,
                        RECV, CANCEL, FREE where posts matter: which post, or LULL_NONE */
    uint8_t kind;    /* enum lull_step_kind */
    uint8_t op;      /* of the step; SEND_DONE: the call's */
    uint8_t flags;   /* enum note_flags */
    uint8_t posts;   /* receives that were posted since the note before */
};

enum note_flags {
    NOTE_MOVES = 1,       /* time up to `kept` passes first */
    NOTE_WAITS = 2,       /* outside of calls: an operation waits for itself */
    NOTE_REQUEST = 4,     /* a message or collective operation that does not block */
    NOTE_LOST = 8,        /* CALL_END: nothing of the call was recorded */
    NOTE_SENDS = 16,      /* CALL_END: the call waited for sends */
    NOTE_ROOT = 64,       /* COLLECTIVE_*: its process is the root between two groups */
    NOTE_SYNCHRONOUS = 32 /* SEND: is over when its receive has begun */
};

enum { NOTES_OF_BLOCK = 25 };

struct note_block {
    struct note_block *next;
    struct note notes[NOTES_OF_BLOCK];
};

struct note_pool {
    struct note_block *free;
    size_t queued; /* notes in all queues */
};

/* Notes from `first` to `last`. Of a process with several threads those from `middle` on are not
 * yet in order with those of the others. */
struct note_queue {
    struct note_block *first, *middle, *last;
    uint8_t first_at, middle_at, last_at;
};

/* A place for one more note; NULL: no memory. */
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

/* Whether the first note is behind the middle, or there is none. */
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

/* Blocks at the front of which nothing is left. */
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

/* ==== share =================================================================================== */

struct lull_ideal;
struct lull_lost;
struct lull_steps;

/* ---- messages ------------------------------------------------------------------------------ */

struct message {
    int64_t time, sent; /* ideal; measured */
    uint32_t number;    /* of the channel */
    uint32_t next;      /* in the queue, or of the free ones */
};

/* A channel at its receiver: messages by number, a list in share->messages. Where sends may be
 * synchronous, two lists of the same kind: */
struct queue {
    uint32_t first, last; /* LULL_NONE: empty */
    uint32_t received;    /* receives so far, each with the next number */
    uint32_t begun;       /* receives whose message has not been taken: `time` is when they began */
    uint32_t asked; /* synchronous messages whose receive has not begun: `sent` is the share of
                       the sender, and in the lower half its link */
    struct stream *waiting;
};

/* A channel at its sender. */
struct link {
    uint32_t share;   /* of the receiver; LULL_NONE: nobody receives */
    uint32_t queue;   /* in this share: its queue; else the port that the other share knows it by */
    uint32_t sent;    /* sends so far, each with the next number */
    uint32_t answers; /* a list in share->messages: when receives of synchronous sends began */
    struct stream *waiting; /* for such an answer */
};

/* What a channel of a location is, or LULL_NONE. */
struct route {
    uint32_t link, queue;
};

/* ---- streams ------------------------------------------------------------------------------- */

enum blocked { RUNNABLE, ON_MESSAGE, ON_RECEIVE, ON_GATHERING, ON_THREADS, ON_LIFE, ENDED };

/* What a call waits for at its end. */
struct pending {
    uint32_t what;   /* queue, series, or link */
    uint32_t number; /* in it */
    uint32_t rank;   /* in the communicator */
    uint32_t comm;   /* LULL_NONE: a message */
    uint8_t op;
    bool is_root;
    bool passes;    /* between two groups: one of the root's group, for whom nothing comes */
    bool is_send;   /* a synchronous message of its own */
    int64_t time;   /* a message: received, measured; else of the own arrival, ideal */
    uint64_t bytes; /* of a message */
};

/* A non-blocking collective operation in flight. */
struct open_collective {
    uint64_t request;
    int64_t time; /* ideal, when it began */
    bool arrived; /* else its communicator is not known yet */
    struct pending pending;
};

/* A synchronous send that does not block, until it is waited for. */
struct open_send {
    uint64_t request;
    uint32_t link, number;
};

/* A receive that does not block, where it is read. */
struct read_post {
    uint64_t request;
    uint32_t post; /* how many were before */
};

/* The same, from where its post is read to where the thread comes to its completion. */
struct posting {
    int64_t time; /* ideal, when it began; -1: the thread has not come there */
    uint32_t post;
    uint32_t queue;  /* that it takes its message from; LULL_NONE: not read so far */
    uint32_t number; /* in the queue */
};

enum { FORMS_OF_CALLS = LULL_CALLS };

/* Calls of which nothing was recorded. */
struct losses {
    int64_t ns[FORMS_OF_CALLS];
    uint32_t region[FORMS_OF_CALLS];
    uint32_t open; /* non-blocking collectives of whose end nothing is known */
};

/* What is known of a thread where its steps are read, which may be far ahead of where it waits. */
struct reading {
    int64_t call_began; /* measured */
    int64_t call_kept;  /* when the call began */
    uint8_t posts;      /* receives since the last note */
    uint8_t call;       /* enum lull_call */
    bool in_call;
    bool completed;                /* something in this call */
    bool sends;                    /* this call waits for sends */
    bool waits;                    /* this call, for something */
    bool over;                     /* the analysed span */
    bool lost;                     /* of a call that has ended nothing was recorded */
    bool lost_collective;          /* nothing is known of a non-blocking one */
    bool recorded[FORMS_OF_CALLS]; /* a call of this kind has records */
    struct read_post *open;        /* where posts matter: receives that are open */
    size_t n_open, open_capacity;
    uint32_t n_posts;
};

/* At a collective operation. */
struct arrival {
    uint32_t comm;
    uint8_t op;
    bool non_blocking;
    bool is_root_between; /* two groups */
    int32_t root;
    bool in_call;
    uint32_t ticket;        /* which operation of its series; LULL_NONE: the next */
    int64_t time, measured; /* ideal; measured */
};

/* A thread that may call MPI, or the rest of an epoch that it has left behind (epochs.c): a tail,
 * which needs what comes first, and is made so often that the rest of it is left alone. */
struct stream {
    struct process *process;
    struct reader *reader; /* of its location */
    uint32_t location;
    atomic_uchar blocked; /* enum blocked; changed by who holds the share, by lull_stream_set */
    bool calls;           /* communicates; before, nothing is evaluated */
    bool follows;         /* meets the master of its process */
    bool tells_calls;     /* its notes tell where its calls begin and end */
    bool in_call;         /* of MPI */
    bool completed;       /* something in this call */
    bool waits_for_sends; /* the call that ends */
    bool passes;          /* it is in the call that has ended the last epoch */
    int64_t time;         /* ideal */
    int64_t kept;         /* of the steps: as far as it is in `time` */
    int64_t done;         /* what the call waited for so far was there by then */
    int64_t call_began, stopped_at; /* measured */
    struct pending *pending;        /* [pending_at, n_pending) */
    size_t pending_at, n_pending, pending_capacity;
    struct note_queue notes;
    struct stream *next_ready, *next_waiting;
    struct stream *next_tail; /* of a tail, or of the spare ones ... */
    struct stream *owner;     /* ... whose it is; else NULL */
    uint64_t open_receives;   /* posted, not complete */
    uint32_t lost_epoch;      /* collective operations of all processes so far, for lost.h */
    uint32_t epochs;          /* that it has ended (epochs.h) ... */
    uint64_t signature;       /* ... by which operations */

    /* What follows, a tail does not have. */
    struct route *routes; /* by channel of the location */
    size_t n_routes, route_capacity;
    struct open_collective *open;
    size_t n_open, open_capacity;
    struct open_send *sends;
    size_t n_sends, send_capacity;
    struct posting *postings; /* of receives that are open, in any order */
    size_t n_postings, posting_capacity;
    struct losses *losses;
    struct reading reading;

    /* epochs.c: its tails, the oldest first */
    struct stream *first_tail, *last_tail;
    atomic_uint tails;   /* how many; changed by who holds the share */
    struct arrival ends; /* the operation in its queue that ends the epoch ... */
    uint8_t look;        /* ... if it is looked for */

    /* of a crew */
    int64_t until;                  /* no step to come is earlier, measured */
    int64_t point_time, point_kept; /* of the last step */
    uint32_t meeting;               /* its next one */
    uint32_t awaits;                /* the meeting whose end it waits for */
    struct note waited;             /* ON_LIFE: for what */
};

struct process {
    uint32_t index;
    uint32_t first_member; /* of its memberships, the last one asked for first; or LULL_NONE */
    struct crew *crew;     /* NULL: one thread */
};

/* ---- letters ------------------------------------------------------------------------------- */

enum letter_kind {
    LETTER_CHANNEL, /* a: port; b, c: source and target; time: comm; measured: tag */
    LETTER_MESSAGE, /* a: port; b: number; time, measured */
    LETTER_ASK,     /* before a synchronous one; a: port; b: number; c: the sender's link */
    LETTER_ANSWER,  /* a: link; b: number; time: its receive has begun */
    LETTER_ARRIVAL, /* a: comm; b: number; c: rank; op, series, is_root; time, measured */
    LETTER_ROOT,    /* to the members: a: comm; b: number; series; time: its root has arrived */
    LETTER_ALL,     /* likewise: all have, the last of them at `time` */
    LETTER_GROUP,   /* likewise, between two groups: all of group c have */
    LETTER_BELOW    /* likewise: all up to rank c have */
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
    struct batch *batch; /* being filled */
    uint32_t ports;
};

struct ports {
    uint32_t *queues; /* by port */
    size_t count, capacity;
};

enum sleep { AWAKE, RESTING, SERVING }; /* has read all */

/* Collective operations that contradict each other; the first in measured time is told. */
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
    struct stream *ready; /* that can perhaps go on */
    struct note_pool pool;

    struct lull_hash links_by_channel, queues_by_channel;
    struct link *links;
    struct queue *queues;
    struct message *messages;
    size_t link_capacity, queue_capacity, n_messages, message_capacity;
    uint32_t free_message;

    struct circle *circles; /* [n_comms] */
    struct series *series;
    struct member *members;
    size_t n_series, series_capacity, n_members, member_capacity;
    struct complaint complaint;
    int64_t *epochs; /* [n_epochs]: how late in each a stream has come to its end */
    size_t n_epochs, epoch_capacity;
    struct stream *spare_tails;

    struct outbox *outboxes; /* [n_shares] */
    struct ports *ports;     /* [n_shares] */
    struct batch *spare;     /* read, to be filled again */
    uint32_t n_spare;
    uint32_t blocks; /* since letters were handed over */

    uint64_t n_received, n_collectives, n_nobody; /* the last: sent to other applications */
    lull_status status;                           /* of the first failure */
    struct lull_error error;

    pthread_mutex_t evaluation; /* held by whoever touches any of the above */
    bool helps;                 /* whoever holds it goes on to serve other shares */

    char apart[LULL_APART];

    struct reader **readers; /* [n_readers], of ideal->readers */
    unsigned n_readers;
    atomic_bool full; /* so much waits that streams that cannot go on are not welcome */

    /* for other shares, under the lock */
    pthread_mutex_t lock;
    struct batch *inbox, *inbox_last;
    atomic_bool has_mail;
    atomic_uint waits; /* readers that wait for letters */
};

/* Notes of one stream, in a row. */
struct sheaf {
    struct stream *stream;
    size_t count;
};

/* A worker of the pass. */
struct reader {
    struct share *share;
    struct note *notes; /* at hand: read, and not evaluated yet ... */
    size_t n_notes, note_capacity;
    struct sheaf *sheaves; /* ... whose they are */
    size_t n_sheaves, sheaf_capacity;
    uint64_t n_steps; /* that it was given */

    char apart[LULL_APART];

    pthread_cond_t wake;
    bool roused;             /* under the lock of the share ... */
    enum sleep sleep;        /* ... like this */
    atomic_bool hungry;      /* since it chose what to read, something has become welcome */
    _Atomic int64_t read_to; /* measured */
};

enum state { EVALUATING, OVER, STUCK };

struct lull_ideal {
    const struct lull_trace *trace;
    const struct lull_ideal_options *options;
    bool has_span;
    int64_t from, to;      /* the analysed span */
    struct share **shares; /* [n_shares]; NULL: of another member of the team */
    unsigned n_shares;     /* of all members, those here are [first_share, end_share) */
    unsigned first_share, end_share;
    uint32_t *member_of;     /* [n_shares]; NULL: alone */
    unsigned *workers_of;    /* [members]: of the pass; NULL: alone */
    struct mail *mail;       /* of other members; NULL: alone */
    struct leads *leads;     /* likewise: how far it is ahead of them */
    struct reader **readers; /* [n_readers]: of the workers of the pass */
    unsigned n_readers;
    uint16_t *share_of;              /* [n_processes]; NOBODY: of another application */
    struct stream *_Atomic *streams; /* [n_locations], made when needed by whoever has the share */
    struct process **processes;      /* [n_processes] */
    uint32_t n_ranks;
    bool has_crews;
    bool presumes_masters;
    bool synchronous;             /* sends may be: posts of receives matter */
    bool makes_threads;           /* the program may */
    bool brief;                   /* asks for CALLs */
    unsigned epoch_bits;          /* of an ideal time; those above count epochs (epochs.h) */
    uint32_t most_epochs;         /* 0: there are none */
    uint32_t n_epochs;            /* that all streams have ended, when that has been looked at */
    struct stream *first_blocked; /* when stuck: who tells it best */
    pthread_mutex_t lost_lock;
    struct lull_lost *lost;        /* when needed */
    struct lull_trace *silent;     /* that a member of a team has read for it */
    struct lull_quirk_tally tally; /* of quirks found here */

    char apart[LULL_APART]; /* what changes seldom from what changes often */
    atomic_long unsettled;  /* readers that are awake, and batches on their way */
    char seldom[LULL_APART];
    atomic_bool epochs_are_void;
    atomic_bool others_call; /* a thread that is no master communicates, against presumption */
    atomic_size_t bound;     /* notes per share before blocked streams are not welcome */
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

/* share.c. The first failure of a share is kept, and told to the pass at the next opportunity. */
void lull_share_fail(struct share *share, lull_status status, const struct lull_error *err);
void lull_share_no_memory(struct share *share);
struct share *lull_share_create(struct lull_ideal *ideal, unsigned index);
void lull_share_destroy(struct share *share);
/* Whether several threads of a process may communicate. */
bool lull_share_is_crew(const struct lull_ideal *ideal, uint32_t process);
/* NULL: no memory, which is noted. */
struct process *lull_share_process(struct share *share, uint32_t process);
struct stream *lull_share_stream(struct share *share, uint32_t location);
void lull_share_drop_notes(struct share *share);
/* Puts a stream on the list of those that can perhaps go on, and lets them. */
void lull_share_ready(struct share *share, struct stream *stream);
void lull_share_run(struct share *share);

/* stream.c */
void lull_ideal_stream_notes(struct share *share, struct stream *stream, const struct note *notes,
                             size_t count);
void lull_ideal_stream_take(struct share *share, struct stream *stream, const struct note *note);
void lull_ideal_stream_resume(struct share *share, struct stream *stream);
void lull_ideal_stream_receive(struct share *share, struct stream *stream,
                               const struct pending *wanted);
void lull_ideal_stream_free(struct stream *stream);

/* stream.c */
struct reader *lull_reader_create(void);         /* NULL: no memory */
void lull_reader_destroy(struct reader *reader); /* NULL is allowed */
lull_status lull_reader_steps(struct reader *reader, const struct lull_steps *steps,
                              struct lull_error *err);
/* Takes the letters for a share, and what the reader has at hand if it is its own, and lets streams
 * go on. The caller holds share->evaluation; lull_reader_let_go gives it back and wakes others that
 * rest where something is welcome now. */
void lull_reader_evaluate(struct reader *reader, struct share *share);
void lull_reader_let_go(struct reader *reader, struct share *share);
/* The share's failure, if there is one. */
lull_status lull_reader_failure(struct share *share, struct lull_error *err);

/* stream.c. Where no send may be so, these do nothing. */
/* A note as it is read, before those behind it: which message a receive will take is known before
 * the thread comes there. A RECV has its number. */
void lull_synchronous_foresee(struct share *share, struct stream *stream, const struct note *note);
/* The thread comes to a post, to a receive of a message (its number), and to a CANCEL or FREE. */
void lull_synchronous_post(struct share *share, struct stream *stream, const struct note *note);
void lull_synchronous_receive(struct share *share, struct stream *stream, const struct note *note);
void lull_synchronous_drop(struct stream *stream, uint32_t post);
/* Message `number` of a queue has been taken. */
void lull_synchronous_taken(struct share *share, uint32_t queue, uint32_t number);
/* Asks for the receive of a synchronous message that is sent next. */
void lull_synchronous_ask(struct share *share, uint32_t link, uint32_t number);
void lull_synchronous_letter(struct share *share, uint32_t from, const struct letter *letter);
/* When the receive began, if that is known; then it is gone. */
bool lull_synchronous_answer(struct share *share, uint32_t link, uint32_t number,
                             int64_t *ret_time);
/* All sleep. Whether there are sends whose message nobody is known to receive; `all`: or will. */
bool lull_synchronous_asks(const struct lull_ideal *ideal, bool all);
/* Those go on. */
void lull_synchronous_release(struct lull_ideal *ideal, bool all);

/* stream.c: what should have been recorded of a call that ends. */
void lull_ideal_stream_look_for_lost(struct share *share, struct stream *stream,
                                     const struct note *call);

/* gather.c */
/* Takes the next ticket of a process; LULL_NONE: it is no member. */
uint32_t lull_gather_ticket(struct share *share, struct process *process, uint32_t comm, uint8_t op,
                            bool non_blocking);
/* False: it waits for nobody, because it is no member (which is a complaint), or goes on in the
 * next epoch. */
bool lull_gather_arrive(struct share *share, struct stream *stream, const struct arrival *arrival,
                        struct pending *ret_pending);
/* Whether it ends an epoch; and goes on in the next one, however late it has come. */
bool lull_gather_ends_epoch(struct share *share, const struct stream *stream,
                            const struct arrival *arrival);
void lull_gather_skip(struct share *share, struct stream *stream, const struct arrival *arrival);
/* Whether it may go on, and when; then it has left. */
bool lull_gather_leave(struct share *share, const struct pending *pending, int64_t *ret_time);
void lull_gather_wait(struct share *share, struct stream *stream, const struct pending *pending);
void lull_gather_letter(struct share *share, uint32_t from, const struct letter *letter);
void lull_gather_complain(struct share *share); /* about those that are open at the end */
void lull_gather_free(struct share *share);

/* mail.c */
/* Puts a batch into the inbox of a share that is here. */
void lull_post_put(struct share *target, struct batch *batch, bool wakes);
struct letter *lull_post(struct share *share, uint32_t to, uint8_t kind); /* NULL: no memory */
void lull_post_flush(struct share *share);
void lull_post_flush_now_and_then(struct share *share);
void lull_post_take(struct share *share);
/* Until something may have changed for the reader. */
void lull_post_sleep(struct reader *reader, enum sleep why);
/* Wakes a reader if it sleeps for that reason; AWAKE: for any. */
void lull_post_rouse(struct reader *reader, enum sleep why);
void lull_post_rouse_all(struct lull_ideal *ideal);

/* ideal.c: of blocked streams the one that tells best why. */
struct stream *lull_ideal_first_blocked(const struct lull_ideal *ideal);

/* ==== channels ================================================================================ */

/* Where messages wait, and who they are sent to.
 *
 * A channel is resolved once per location: the sender's share has a link for it, the receiver's a
 * queue. Message k of a channel belongs to receive k. */

/* LULL_NONE: no memory, which is noted. */
uint32_t lull_channel_queue(struct share *share, const struct lull_channel *channel);
uint32_t lull_channel_link(struct share *share, const struct lull_channel *channel);
/* The channel of a queue. */
struct lull_channel lull_channel_of_queue(const struct share *share, uint32_t queue);
/* A message for another share. */
void lull_channel_post(struct share *share, const struct link *link, uint32_t number, int64_t time,
                       int64_t sent);
void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter);
void lull_channel_insert(struct share *share, struct queue *queue, uint32_t message);
void lull_channel_wake(struct share *share, struct queue *queue, uint32_t number);
uint64_t lull_channel_left(const struct share *share); /* messages that nobody has received */

/* A place for a message; LULL_NONE: no memory. */
static inline uint32_t lull_channel_place(struct share *share)
{
    uint32_t place = share->free_message;
    if (place != LULL_NONE) {
        share->free_message = share->messages[place].next;
        return place;
    }
    if (share->n_messages >= LULL_NONE ||
        !lull_array_reserve(&share->messages, &share->message_capacity, share->n_messages + 1,
                            sizeof *share->messages))
        return LULL_NONE;
    return (uint32_t)share->n_messages++;
}

/* A message has been sent. */
static inline void lull_channel_put(struct share *share, uint32_t index, uint32_t number,
                                    int64_t time, int64_t sent)
{
    uint32_t place = lull_channel_place(share);
    if (place == LULL_NONE) {
        lull_share_no_memory(share);
        return;
    }
    struct queue *queue = &share->queues[index];
    struct message *message = &share->messages[place];
    *message = (struct message){time, sent, number, LULL_NONE};
    if (queue->first == LULL_NONE)
        queue->first = queue->last = place;
    else
        lull_channel_insert(share, queue, place);
    if (queue->waiting)
        lull_channel_wake(share, queue, number);
}

/* The message of a number, if it is there; then it is gone. */
static inline bool lull_channel_take(struct share *share, uint32_t index, uint32_t number,
                                     struct message *ret_message)
{
    struct queue *queue = &share->queues[index];
    uint32_t before = LULL_NONE, at = queue->first;
    while (at != LULL_NONE && share->messages[at].number != number) {
        before = at;
        at = share->messages[at].next;
    }
    if (at == LULL_NONE)
        return false;
    struct message *message = &share->messages[at];
    *ret_message = *message;
    if (before == LULL_NONE)
        queue->first = message->next;
    else
        share->messages[before].next = message->next;
    if (queue->last == at)
        queue->last = before;
    message->next = share->free_message;
    share->free_message = at;
    return true;
}

#endif
