/* Waits from inside: notes, streams, messages and collective operations. Internal to the room.
 *
 * An agent is who waits, and is waited for: a process, or a location where several threads of a
 * process communicate. Each agent has a stream that runs ahead until its call needs something that
 * has not been read yet; from then on its notes are kept. What a stream learns depends only on what
 * others did, never on when that was read, so any order gives the same result.
 *
 * wait.c        the consumer of the pass; what never comes; the result
 * stream.c      steps become notes; notes move the ledger of an agent, and its calls wait for what
 *               they need; the common order of threads that communicate
 * message.c     messages that are sent and not received, and when receives were posted
 * collective.c  collective operations: who has come, and for whom each member waits
 * charge.c      waits are divided and charged; waits for a message while another one was there
 * ledger.c      what a process spent its time on, and how a wait is divided by that
 * crew.c        threads of a process, which wait for each other
 * letters.c     what the members of a team tell each other */
#ifndef LULL_WAIT_STREAM_H
#define LULL_WAIT_STREAM_H

#include "activity/reading.h"
#include "base/array.h"
#include "base/hash.h"
#include "match/circle.h"
#include "match/queue.h"
#include "team/division.h"
#include "wait/ledger.h"

#include <pthread.h>
#include <stdatomic.h>

/* ==== notes =================================================================================== */

/* A note is what matters here of one step or several. Behind each kind stand the members that it
 * has; `value` is the request where nothing else is said. */
enum wait_note_kind {
    NOTE_WORK, /* time outside of calls; value: ns; region: of the user, or LULL_NONE; op: 1 if it
                  was in MPI */
    NOTE_CALL, /* calls, one behind the other, that need nothing; time: of their end; value: time of
                  their begin; op: enum lull_call of the last */
    NOTE_CALL_BEGIN, /* time; region; op: enum lull_call */
    NOTE_CALL_END, /* time; value: bytes, as in struct lull_wait_call; lost: what should have been recorded was not; op:
                        LULL_CALL_FINALIZE: all processes wait for all */
    NOTE_SEND,     /* time; channel; op: enum lull_send_mode; value; large */
    NOTE_SEND_CALL,  /* a call that does nothing but send a message, for whose receive it does not
                        wait; time, channel and op as of NOTE_SEND; call; root: its region; value:
                        how long before `time` it began, and how long after it ended, in ns, each in
                        32 bits */
    NOTE_SEND_DONE,  /* time; value */
    NOTE_RECEIVE,    /* time; channel; value */
    NOTE_POST,       /* a receive is posted; time; comm, which becomes channel (the index of the
                        queue) once that is known; root: from whom; tag; value */
    NOTE_BEGIN,      /* a collective operation that does not block begins; time; comm; op; value;
                        root */
    NOTE_COLLECTIVE, /* a collective operation ends; the same; value LULL_NO_REQUEST: it blocks */
    NOTE_END         /* the location ends */
};

struct wait_note {
    int64_t time; /* measured */
    uint64_t value;
    union {
        uint32_t region, channel, comm;
    };
    int32_t root; /* process index, or LULL_ANY; of NOTE_SEND_CALL a region */
    union {
        int32_t tag;
        uint32_t number; /* of a message in its channel, or of a collective operation; set where
                            several threads of a process communicate, else 0 */
    };
    uint8_t kind, op;
    union {
        bool lost;
        uint8_t call; /* enum lull_call */
    };
    union {
        bool large; /* a send may wait for its receive */
        bool moves; /* a collective operation: this process sends or receives something in it;
                       between groups only the root does so, of all its group */
    };
};

/* What is known of a location where its steps are read. */
struct wait_reading {
    bool posts; /* notes of posted receives are wanted */
    bool in_call;
    bool operations; /* some operation of this call was recorded */
    uint64_t bytes;  /* of these */
};

enum { NOTES_OF_BLOCK = 30 };

struct wait_note_block {
    struct wait_note_block *next;
    struct wait_note notes[NOTES_OF_BLOCK];
};

struct wait_note_queue {
    struct wait_note_block *first, *last;
    uint8_t first_at, last_at;
};

/* Whether the send of a note may wait for its receive. `call`: enum lull_call of the call that it
 * is in, or LULL_CALL_OTHER. */
bool lull_wait_may_wait(const struct wait_note *send, uint8_t call);

static inline bool lull_wait_is_mpi(uint8_t activity)
{
    return activity >= LULL_MPI_P2P && activity <= LULL_MPI_OTHER;
}

/* Makes notes of steps; `notes` has room for one per step. Returns how many there are. */
size_t lull_wait_notes_of_steps(struct wait_reading *reading, const struct lull_step *steps,
                                size_t count, struct wait_note *notes);

/* ==== causes, messages, operations and streams ================================================ */

/* Who ended a wait by coming, when, and what it had done by then. */
struct wait_cause {
    int64_t time;                  /* when it came, measured; -1: nobody did */
    uint32_t agent, call;          /* who, and the region of the call in which it came */
    struct wait_moment late;       /* its ledger then */
    struct wait_moment late_since; /* its ledger in the last operation of the series in which all
                                      waited for all; without snapshot: there was none */
    uint32_t met;                  /* that operation, as wait_member.met */
};

/* ---- messages ------------------------------------------------------------------------------ */

/* What is kept of a channel beside its messages (match/queue.h), each of which carries a struct
 * wait_cause. Where senders may wait for their receives, that is the receives that were posted. */
struct wait_channel {
    uint32_t source, target; /* processes */
    uint32_t next_of_source; /* index of another channel of that source, or LULL_NONE */
    uint32_t n_posted, first_post;
    struct lull_ring posts; /* of struct wait_post in message.c, the first has number first_post */
};

/* What two agents had done when the one last waited for the other. They met then, so both are taken
 * to have done as much. Operations in which all wait for all are kept in wait_member instead. */
struct wait_pair {
    struct wait_moment late, other;
};

/* ---- collective operations ----------------------------------------------------------------- */

/* One operation, until all have come and those of this member of the team have left. */
struct wait_gathering {
    uint32_t arrived, left;   /* how many ranks */
    struct wait_cause last;   /* the last rank that came */
    struct wait_cause *roots; /* [n_roots]: one, unless operations contradict each other */
    uint32_t n_roots;
    struct {
        uint32_t arrived;
        struct wait_cause last;
    } groups[2];              /* the same of each group of an inter-communicator */
    struct wait_cause *ranks; /* [size], of a scan: of each rank; or NULL */
    uint32_t known;           /* of a scan: so many ranks, from the first on, have come */
    struct wait_stream *waiting;
};

/* The collective operations of a communicator that block, or those of one kind that do not. */
struct wait_series {
    uint32_t comm;             /* of an inter-communicator the lower one of its groups */
    uint32_t kind;             /* 0: operations that block; else the operation plus 1 */
    uint32_t sizes[2], size;   /* ranks of each group, and of both; sizes[1] is 0 where there is one
                                   group */
    uint32_t here_of[2], here; /* how many of these this member of the team has */
    uint32_t keeper;           /* the member with the first rank, which adds up what others know */
    uint32_t *others, n_others; /* at the keeper: other members with ranks, found when it first has
                                   to tell them something */
    uint32_t fewest[2];         /* by group: of the ranks that have ended, the least number of
                                   operations one took part in; UINT32_MAX: none has ended */
    bool announced;             /* every member that has ranks of it knows of the series */
    uint32_t first;             /* number of the oldest operation that is open */
    struct lull_ring open;      /* of struct wait_gathering */
};

/* What members of a team tell each other of an operation. */
enum wait_news_kind {
    NEWS_RANK,  /* of a scan: the rank `which` has come; from the keeper: all ranks up to it have,
                   the last of them is the cause */
    NEWS_GROUP, /* `count` ranks of the group `which` have come, the last of them is the cause */
    NEWS_ROOT,  /* a root has come, which is the cause */
    NEWS_ALL,   /* `count` of all ranks have come, the last of them is the cause */
    NEWS_FEWEST /* of the series: a rank of the group `which` has ended that took part in `count`
                   operations */
};
struct wait_news {
    uint8_t kind;
    uint32_t which; /* rank; group */
    uint32_t count;
    const struct wait_cause *cause;
};

/* An agent in a series. */
struct wait_member {
    uint32_t count, n_begun; /* operations so far; n_begun: those that do not block, counted when
                                they begin, where several threads communicate */
    uint32_t rank;
    uint32_t met;            /* the last operation in which all waited for all: its number plus 1;
                                0: there was none */
    struct wait_moment base; /* of its ledger in that operation, where all met */
};

/* ---- streams ------------------------------------------------------------------------------- */

/* One thing that a call needs before it ends. */
struct wait_pending {
    uint32_t what;   /* index of a queue, or of a series */
    uint32_t member; /* index of the member; of a collective operation */
    uint32_t number; /* of the operation; or of the message whose receive is to be posted */
    uint8_t kind;    /* enum lull_wait_kind */
    int32_t root;    /* a process, or LULL_ANY: it is not known which */
    bool is_message, is_post;     /* it is a message; a post */
    struct lull_circle_part part; /* of the own process in a collective operation */
};

/* A collective operation that does not block and has not ended. */
struct wait_open {
    uint64_t request;
    bool arrived; /* false: its communicator is not known before its end */
    struct wait_cause arrival;
    struct wait_pending pending;
};

/* A synchronous send that does not block and has not ended: it ends no earlier than its receive
 * begins. */
struct wait_issued {
    uint64_t request;
    struct wait_pending pending;
};

/* A sender that is in a call until it is known when the receive of its message was posted. */
struct wait_watcher {
    struct wait_watcher *next;  /* another one that watches the same receiver */
    struct wait_stream *stream; /* the sender; NULL: the sender is of another member of the team */
    uint32_t member, far_queue; /* then: that member, and the number of the queue there */
    uint32_t process;           /* of the sender */
    uint32_t queue, number;     /* the message */
    int64_t call_ends;          /* measured end of the sender's call */
    bool alone;                 /* the receiver posts nothing more before this call goes on */
};

/* A receive that was posted and has not ended, and did not say which message it takes. */
struct wait_posted {
    uint64_t request;
    struct wait_cause posted;
};

/* A wait that is charged. */
struct wait_charged {
    uint32_t location;   /* that waited */
    int64_t begin, wait; /* ns; measured begin, and length */
    uint32_t late, call; /* who was waited for (an agent, or among threads a location), and the
                            region of the call by which the wait ended */
    uint32_t parallel;   /* as in struct lull_wait_charge */
    uint8_t kind;        /* enum lull_wait_kind */
};

/* The part of a wait that goes to one charge. It is half as large as a struct wait_part, because
 * each process keeps some hundred of them. */
struct wait_due {
    uint32_t charge;     /* index of the charge, as if the wait were for a late sender */
    uint32_t low;        /* ns, the lower half ... */
    uint32_t high : 31;  /* ... and the upper one */
    uint32_t passed : 1; /* it counts as passed_ns of the charge, too */
};

/* A wait for a sender that is divided but not charged yet: only later is it seen whether it was
 * one of the wrong order. */
struct wait_held {
    int64_t begin, wait, inside; /* ns; `inside`: what of it is inside the windows */
    bool wrong_order;
    uint32_t count, capacity;
    struct wait_due *dues; /* [count] */
};

/* The queue of a channel whose other process is of another program. */
#define WAIT_NOBODY (LULL_NONE - 1)

/* A process that was waited for lately, and its pair with the one that waited. */
struct wait_known_pair {
    uint32_t late, number; /* the process; index of the pair + 1, or 0: none */
};
enum { WAIT_KNOWN_PAIRS = 4 };

struct wait_stream {
    uint32_t location, process, agent;
    bool blocked, in_call;
    bool ended;     /* it came to MPI_Finalize, or to the end of its location */
    bool unmatched; /* something that this call waited for is not known */
    bool anew;      /* this call ends an operation in which all processes wait for all, so the
                       ledger begins anew */
    uint32_t call;  /* region of the call */
    int64_t call_began, call_ends; /* measured */
    int64_t operated;              /* end of the last call with operations; 0: there was none */
    bool operates;                 /* this call has operations */
    uint64_t bytes;                /* of these */
    int64_t told;                  /* the ledger holds what was done up to this time */
    struct wait_ledger ledger;
    struct wait_pending *pending; /* what the call needs; [pending_at, n_pending) are not there */
    size_t pending_at, n_pending, pending_capacity;
    struct wait_cause cause; /* the latest of what this call needed so far */
    struct wait_moment
        since;          /* of the stream's own ledger, at the same meeting as late_since of the
                                 cause */
    uint8_t cause_kind; /* the kind of wait for the cause, enum lull_wait_kind */
    bool met_all;       /* the cause is an operation in which all wait for all */
    uint8_t call_kind;  /* enum lull_call */
    struct wait_watcher watcher;
    bool answered;            /* it is known when the receive that it watches for was posted: */
    struct wait_cause answer; /* with references; time -1: not before this call ended */
    struct wait_open *open;
    size_t n_open, open_capacity;
    struct wait_issued *issued;
    size_t n_issued, issued_capacity;
    struct wait_posted *posted;
    size_t n_posted, posted_capacity;
    struct wait_held held[LULL_WAIT_HELD]; /* the last waits for senders, as a ring */
    uint32_t n_held;                       /* how many such waits there were in all */
    struct wait_known_pair pairs[WAIT_KNOWN_PAIRS];
    struct lull_match_routes routes;
    struct wait_note_queue notes; /* what comes behind its wait */
    struct wait_stream *next_waiting, *next_ready;
    struct wait_reading reading;
    struct lull_wait_location sums;
};

/* A charge that was needed lately, by its place (a key of a ledger), call and kind of wait. */
struct wait_recent {
    uint64_t key;
    uint32_t call, number; /* index of the charge + 1; 0: none */
    uint8_t kind;
};

enum { WAIT_RECENT = 4096 };

struct lull_waits {
    const struct lull_trace *trace;
    const struct lull_reading *reading;
    uint32_t n_ranks;
    uint32_t world;                 /* a communicator of all ranks, or LULL_NONE */
    bool follows_posts;             /* the program has functions that wait for receives */
    struct wait_stream **streams;   /* [n_locations]: of masters, or of all threads; made when their
                                     first steps are read */
    struct wait_lane **lanes;       /* [n_processes]; NULL: not each thread is followed */
    struct wait_crew **crews;       /* [n_processes]: of those with several threads; or NULL */
    struct wait_office *office;     /* mail of the members of a team; NULL: lull is alone */
    atomic_bool others_communicate; /* threads communicate that are no masters */

    pthread_mutex_t lock; /* of all that follows */
    bool no_memory;
    struct wait_stream *ready; /* list of streams that can perhaps go on */
    struct wait_watcher *
        *watchers;    /* [n_processes]: lists of those that wait until that process has
                                       come further */
    int64_t *reached; /* [n_processes]: how far it has come, measured */
    struct lull_match_queues queues; /* of all channels on which its processes send or receive;
                                        `received` is counted only in lanes */
    struct wait_channel *channels;   /* by queue */
    struct lull_hash pairs_by_processes, series_by_comm, members_by_process;
    struct wait_pair *pairs;
    struct wait_series *series;
    struct wait_member *members;
    size_t channel_capacity, pair_capacity, series_capacity, member_capacity;
    struct lull_hash charges_by_place;
    struct lull_wait_call *calls; /* [n_regions] */
    struct lull_wait_charge *charges;
    size_t charge_capacity;
    struct wait_recent recent[WAIT_RECENT];
    uint64_t received, gathered, unmatched_operations;
    uint64_t unmatched_ends; /* of unmatched_operations: MPI_Finalize, to which some never came */
    uint32_t *ends;          /* [n_processes]: how many of its streams have come to their end */
    bool *ended;         /* [n_processes]: of all members of a team, as was learned last (see what
                            never comes, in wait.c) */
    uint32_t *queues_of; /* [n_processes]: index of the first channel of a source, or LULL_NONE */
    bool knows_ends;     /* `ended` was learned: from then on, a process that ends is known at once
                            to send no more */
};

/* ---- stream.c ------------------------------------------------------------------------------ */

/* The next notes of a stream: takes them, or keeps them while it is blocked. */
void lull_wait_stream_take(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *notes, size_t count);
/* Its call goes on without the next thing that it needs. Returns true. */
bool lull_wait_go_without(struct lull_waits *waits, struct wait_stream *stream,
                          const struct wait_pending *pending);
/* What the stream waits for is perhaps there: it is to go on after the stream that goes on now. */
void lull_wait_ready(struct lull_waits *waits, struct wait_stream *stream);
/* Lets the streams go on that are ready. */
void lull_wait_run_ready(struct lull_waits *waits);
void lull_wait_stream_free(struct wait_stream *stream);
void lull_wait_cause_drop(struct wait_cause *cause); /* its references */
struct wait_cause lull_wait_cause_keep(const struct wait_cause *cause);
/* In a call: adds the time of the call up to `time` to the ledger. */
void lull_wait_tell_until(struct wait_stream *stream, int64_t time);
/* A cause for others: this agent sends or arrives at `time`, with what it has done up to now.
 * Without a snapshot: no memory, which is noted. */
struct wait_cause lull_wait_make_cause(struct lull_waits *waits, struct wait_stream *stream,
                                       int64_t time);
/* The call of the stream needs one thing more. */
void lull_wait_need(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_pending *pending);

/* NULL: lull is alone. */
static inline struct lull_team *lull_wait_team(const struct lull_waits *waits)
{
    return lull_division_team(waits->reading->division);
}

/* Whether all streams of a process that this member reads have come to their ends. */
static inline bool lull_wait_has_ended(const struct lull_waits *waits, uint32_t process)
{
    return waits->ends[process] >= (waits->lanes ? waits->trace->processes[process].n_threads : 1);
}

/* Whether a process is one that another member of the team reads. */
static inline bool lull_wait_is_far(const struct lull_waits *waits, uint32_t process)
{
    const struct lull_division *division = waits->office ? waits->reading->division : NULL;
    const uint32_t *own = division ? division->cuts + lull_team_index(division->team) : NULL;
    return own && (process < own[0] || process >= own[1]);
}

/* Lanes, for processes whose threads communicate by themselves. Message k of a channel is the k-th
 * that any thread of the process sends, or receives; and so for collective operations. So the notes
 * of a thread wait until all threads of its process have been read up to their time. */
bool lull_wait_lanes_create(struct lull_waits *waits); /* false: no memory */
void lull_wait_lane_take(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *notes, size_t count);
void lull_wait_lanes_free(struct lull_waits *waits);
static inline uint32_t lull_wait_process_of(const struct lull_waits *waits, uint32_t agent)
{
    return waits->lanes ? waits->trace->locations[agent].process : agent;
}

/* ---- message.c: sends and receives --------------------------------------------------------- */

/* Finds the queues of the channels that notes name, and puts them in the place of the channels. */
void lull_wait_find_routes(struct lull_waits *waits, struct wait_stream *stream,
                           const struct lull_channels *channels, struct wait_note *notes,
                           size_t count);
void lull_wait_note_message(struct lull_waits *waits, struct wait_stream *stream,
                            const struct wait_note *note);
/* The queue of a note of a send or receive; LULL_NONE: nobody of this program is at its other end.
 */
static inline uint32_t lull_wait_queue_of_note(const struct wait_stream *stream,
                                               const struct wait_note *note)
{
    const uint32_t queue = lull_match_route_of(&stream->routes, note->channel);
    return queue == WAIT_NOBODY ? LULL_NONE : queue;
}

/* ---- message.c: posts of receives ---------------------------------------------------------- */

/* A message is sent on a queue; `waits_for_receive`: its sender waits for its receive. */
void lull_wait_count_send(struct lull_waits *waits, uint32_t queue, bool waits_for_receive);
/* The next receive of a queue was posted. Takes the references of `posted`. `told`: begin of the
 * call in which that is told. */
void lull_wait_tell_post(struct lull_waits *waits, uint32_t queue, const struct wait_cause *posted,
                         int64_t told);
/* Whether it is known when the receive was posted that the call of the stream waits for. If so,
 * *ret_posted has it, with references; time -1: not before this call ended. If not, the stream
 * watches the receiver until it is known. */
bool lull_wait_is_posted(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_pending *pending, struct wait_cause *ret_posted);
/* A process has come so far. Those that watch it may go on. */
void lull_wait_reach(struct lull_waits *waits, uint32_t process, int64_t time);
/* A process waits for a message of `source`, which may itself wait for a receive of the process. */
void lull_wait_blocked_by(struct lull_waits *waits, uint32_t process, uint32_t source);
/* A sender of another member of the team watches for the receive of a message; the queue has the
 * number `far_queue` there. That member gets the answer. */
void lull_wait_watch_from(struct lull_waits *waits, uint32_t member, uint32_t far_queue,
                          uint32_t queue, uint32_t number, int64_t call_ends);
/* Takes the references. */
void lull_wait_take_answer(struct lull_waits *waits, uint32_t queue, uint32_t number,
                           const struct wait_cause *posted);
/* Nobody will ask any more when the receive of this message was posted. */
void lull_wait_post_is_done(struct lull_waits *waits, uint32_t queue, uint32_t number);
/* The stream goes on as if nothing had been posted, and nobody is watched any more. */
void lull_wait_give_up(struct lull_waits *waits, struct wait_stream *stream);
void lull_wait_unwatch_all(struct lull_waits *waits);
void lull_wait_posts_free(struct wait_channel *channel);

/* ---- charge.c: waits that are kept back ---------------------------------------------------- */

/* Keeps a wait for a sender back, divided into parts. If LULL_WAIT_HELD waits are kept already, the
 * oldest is charged. False: no memory. */
bool lull_wait_hold(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_charged *charged, int64_t inside,
                    const struct wait_part *parts, uint32_t count);
/* The stream receives a message that was sent at `sent`: waits that began later than that, in calls
 * before this one, were of the wrong order. */
void lull_wait_came_first(struct wait_stream *stream, int64_t sent);
/* Charges all waits that are kept back. False: no memory. */
bool lull_wait_settle(struct lull_waits *waits, struct wait_stream *stream);

/* ---- message.c: queues --------------------------------------------------------------------- */

/* The index of the queue of a channel. LULL_NONE: no memory, which is noted. */
uint32_t lull_wait_queue(struct lull_waits *waits, const struct lull_channel *channel);
/* A message has been sent; `waits_for_receive`: its sender waits until its receive is posted. Takes
 * the references of `sent`. */
void lull_wait_deliver(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       bool waits_for_receive, const struct wait_cause *sent);
/* The streams that wait for a message of the queue look again. */
void lull_wait_wake_queue(struct lull_waits *waits, uint32_t index);
/* Takes the first message with this number. False: it has not been sent yet. The caller gets the
 * references of *ret_sent. */
bool lull_wait_receive(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       struct wait_cause *ret_sent);
void lull_wait_mail_free(struct lull_waits *waits);

/* ---- collective.c: series and members ------------------------------------------------------ */

/* The index of a series. LULL_NONE: no memory. */
uint32_t lull_wait_series(struct lull_waits *waits, uint32_t comm, uint32_t kind);
/* In how many operations of a series a process has taken part so far. */
uint32_t lull_wait_count_operations(const struct lull_waits *waits, uint32_t series,
                                    uint32_t process);
/* The number of the next operation of a process. */
uint32_t lull_wait_number_operation(struct lull_waits *waits, const struct wait_note *note,
                                    uint32_t process);
/* An agent comes to its next operation. Takes the references of `arrival`, whose late_since is
 * found here. False: it is no member, or there is no memory, which is noted. */
bool lull_wait_arrive(struct lull_waits *waits, const struct wait_note *note,
                      const struct wait_cause *arrival, struct wait_pending *ret_pending);
/* The same of MPI_Finalize; *ret_pending is then what it waits for. Where no communicator has all
 * ranks, or one alone has, false. */
bool lull_wait_arrive_at_end(struct lull_waits *waits, const struct wait_cause *arrival,
                             struct wait_pending *ret_pending);
/* Whether an agent may leave an operation; if so, it has left. *ret_cause: for whom it waited, with
 * references; time -1: for nobody. *ret_anew: all processes have waited for all. */
bool lull_wait_leave(struct lull_waits *waits, const struct wait_pending *pending,
                     struct wait_cause *ret_cause, bool *ret_anew);
void lull_wait_in_line(struct lull_waits *waits, struct wait_stream *stream,
                       const struct wait_pending *pending);
/* Nobody stands in line for the operation any more: the callers have woken all of them. */
void lull_wait_leave_line(struct lull_waits *waits, const struct wait_pending *pending);
/* The member of `pending` if all ranks wait for all in its operation, and so meet; else NULL. */
struct wait_member *lull_wait_meets_all(const struct lull_waits *waits,
                                        const struct wait_pending *pending);
void lull_wait_gather_free(struct lull_waits *waits);

/* ---- collective.c: gatherings -------------------------------------------------------------- */

/* The gathering of an operation, which must not be closed; opened if needed. NULL: no memory. */
struct wait_gathering *lull_wait_gathering(struct wait_series *series, uint32_t number);
/* Closes the gatherings that are over, from the oldest on. */
void lull_wait_close_gatherings(struct wait_series *series);
void lull_wait_gatherings_free(struct wait_series *series);
/* Puts an arrival where those who need it will look. False: no memory. */
bool lull_wait_note_arrival(struct lull_waits *waits, const struct wait_pending *pending,
                            const struct wait_cause *arrival);
/* Takes in news from another member of the team. False: no memory. */
bool lull_wait_hear_news(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                         const struct wait_news *news);
/* The arrival of a root, or (LULL_ANY) of any root; NULL: it has not come. */
const struct wait_cause *lull_wait_of_root(const struct lull_waits *waits,
                                           const struct wait_gathering *gathering, int32_t root);
/* Of a scan: the latest arrival of a rank and those below it; NULL: some of them have not come. */
const struct wait_cause *lull_wait_of_lower(const struct lull_waits *waits,
                                            const struct wait_series *series,
                                            const struct wait_gathering *gathering, uint32_t rank);

/* Tells other members of the team series->fewest[group]. False: no memory. */
bool lull_wait_tell_fewest(struct lull_waits *waits, struct wait_series *series, unsigned group);

/* ---- charge.c: charges --------------------------------------------------------------------- */

/* Divides a wait of a stream for its cause, puts the parts into the stream's ledger, and charges
 * what is inside the windows (`inside` ns). False: no memory. */
bool lull_wait_charge(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                      int64_t wait, int64_t inside);
/* Charges the parts of a wait, whose ns add up to what is inside the windows. False: no memory. */
bool lull_wait_charge_parts(struct lull_waits *waits, const struct wait_charged *charged,
                            const struct wait_part *parts, uint32_t count);
/* Adds what another member of the team has charged. False: no memory. */
bool lull_wait_add_charge(struct lull_waits *waits, const struct lull_wait_charge *charge);
/* lull_wait_charge_parts in two steps, so that the second one may come later and for another kind
 * of wait. The first makes a due of each part of more than 0 ns, and returns how many there are;
 * LULL_NONE: no memory. */
uint32_t lull_wait_dues_of_parts(struct lull_waits *waits, const struct wait_charged *charged,
                                 const struct wait_part *parts, uint32_t count,
                                 struct wait_due *ret_dues);
bool lull_wait_charge_dues(struct lull_waits *waits, const struct wait_charged *charged,
                           const struct wait_due *dues, uint32_t count);
void lull_wait_charge_free(struct lull_waits *waits);

#endif
