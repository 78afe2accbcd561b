/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits from inside: notes, streams, messages and collective operations. Internal to the room.
 *
 * An agent is one that waits, and is waited for: a process, or a location where several threads of
 * a process communicate. Each agent has a stream, which runs ahead until its call needs something
 * that has not been read yet; from then on the stream keeps its notes. What a stream learns depends
 * only on what others did, never on when that was read, so any order of reading gives the same
 * result.
 *
 * wait.c        the consumer of the pass; what never comes; the result
 * stream.c      steps become notes; notes change the ledger of an agent, and its calls wait for
 *               what they need; the common order of threads that communicate
 * message.c     messages that are sent and not received, and when receives were posted
 * collective.c  collective operations: who has come, and for whom each member waits
 * charge.c      waits are divided and charged; waits for a message while another one was there
 * ledger.c      what a process spent its time on, and how a wait is divided by that
 * crew.c        threads of a process, which wait for each other
 * device_wait.c what threads wait for in calls that wait for devices
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

/* A note holds what matters here of one step or of several. The comment of each kind lists the
 * members that are set in it; `value` is the request where nothing else is said. */
enum wait_note_kind {
    NOTE_WORK, /* time outside of calls; value: ns; region: of the user, or LULL_NONE; op: 1 if the
                  time was in MPI, else 0 */
    NOTE_CALL, /* calls, one after the other, that need nothing; time: end of the last; value: begin
                  of the first; op: enum lull_call of the last */
    NOTE_CALL_BEGIN, /* time; region; op: enum lull_call */
    /* time; value: bytes, as in struct lull_wait_call; lost: it is not known what the call waited
     * for, because records are missing; op: LULL_CALL_FINALIZE: in this call all processes wait for
     * all */
    NOTE_CALL_END,
    NOTE_SEND, /* time; channel; op: enum lull_send_mode; value; large */
    /* a call that does nothing but send a message, and does not wait for its receive; time, channel
     * and op as of NOTE_SEND; call; root: region of the call; value: how long before `time` the
     * call began, in the upper 32 bits, and how long after `time` it ended, in the lower ones, in
     * ns */
    NOTE_SEND_CALL,
    NOTE_SEND_DONE, /* time; value */
    NOTE_RECEIVE,   /* time; channel; value */
    /* a receive is posted; time; comm, in whose place channel (the index of the queue) comes once
     * it is known; root: from whom; tag; value */
    NOTE_POST,
    /* a collective operation that does not block begins; time; comm; op; value; root; moves */
    NOTE_BEGIN,
    /* a collective operation ends; the members of NOTE_BEGIN; value LULL_NO_REQUEST: the operation
     * blocks */
    NOTE_COLLECTIVE,
    NOTE_END /* the location ends */
};

struct wait_note {
    int64_t time; /* measured */
    uint64_t value;
    union {
        uint32_t region, channel, comm;
    };
    int32_t root; /* index of a process, or LULL_ANY; in NOTE_SEND_CALL a region */
    union {
        int32_t tag;
        uint32_t number; /* number of a message in its channel, or of a collective operation; set
                            where several threads of a process communicate, else 0 */
    };
    uint8_t kind, op;
    union {
        bool lost;
        uint8_t call; /* enum lull_call */
    };
    union {
        bool large; /* the message of a send has more than LULL_WAIT_EAGER bytes */
        bool moves; /* this process sends or receives something in the collective operation; between
                       groups, of the processes of the root's group only the root does */
    };
};

/* What is known of a location while its steps are read. */
struct wait_reading {
    bool posts; /* notes of posted receives are wanted */
    bool in_call;
    bool operations; /* the current call has an operation that was recorded */
    uint64_t bytes;  /* of these operations, as in struct lull_wait_call */
};

enum { NOTES_OF_BLOCK = 30 };

struct wait_note_block {
    struct wait_note_block *next;
    struct wait_note notes[NOTES_OF_BLOCK];
};

/* Notes in blocks, from notes[first_at] of the first block to before notes[last_at] of the last. */
struct wait_note_queue {
    struct wait_note_block *first, *last;
    uint8_t first_at, last_at;
};

/* Whether the send of a note may wait for its receive. `call`: enum lull_call of the call that has
 * the send, or LULL_CALL_OTHER. */
bool lull_wait_may_wait(const struct wait_note *send, uint8_t call);

static inline bool lull_wait_is_mpi(uint8_t activity)
{
    return activity >= LULL_MPI_P2P && activity <= LULL_MPI_OTHER;
}

/* Makes notes of steps; `notes` has room for one note per step. Returns how many were made. */
size_t lull_wait_notes_of_steps(struct wait_reading *reading, const struct lull_step *steps,
                                size_t count, struct wait_note *notes);

/* ==== causes, messages, operations and streams ================================================ */

/* A cause: who ended a wait by coming, when, and what it had done by then. */
struct wait_cause {
    int64_t time;                  /* when it came, measured; -1: nobody came */
    uint32_t agent, call;          /* who came, and the region of the call in which it came;
                                      LULL_NONE: outside of calls */
    struct wait_moment late;       /* its ledger when it came */
    struct wait_moment late_since; /* its ledger in the last operation of the series in which all
                                      waited for all; without a snapshot: there was none */
    uint32_t met;                  /* that operation, as `met` of struct wait_member */
};

/* ---- messages ------------------------------------------------------------------------------ */

/* What is kept of a channel beside its messages (match/queue.h), each of which carries a struct
 * wait_cause. Where senders may wait for their receives, that is when the receives were posted. */
struct wait_channel {
    uint32_t source, target; /* processes */
    uint32_t next_of_source; /* index of another channel of the same source, or LULL_NONE */
    uint32_t n_posted, first_post;
    struct lull_ring posts; /* of struct wait_post in message.c; the first one has the number
                               first_post */
};

/* What two agents had done when one of them, `other`, last waited for the other one, `late`. They
 * met then, so neither counts as behind from then on. Meetings in operations in which all wait for
 * all are kept in struct wait_member instead. */
struct wait_pair {
    struct wait_moment late, other;
};

/* ---- collective operations ----------------------------------------------------------------- */

/* One operation, until all ranks have come and those of this member of the team have left. */
struct wait_gathering {
    uint32_t arrived, left;   /* how many ranks have come, and how many of this member have left */
    struct wait_cause last;   /* that of the last rank that came */
    struct wait_cause *roots; /* [n_roots]: one root, unless the records of the ranks contradict
                                 each other */
    uint32_t n_roots;
    struct {
        uint32_t arrived;
        struct wait_cause last;
    } groups[2];              /* `arrived` and `last` for each group of an inter-communicator */
    struct wait_cause *ranks; /* [size], of a scan: for each rank, the latest arrival of it and
                                 those below; or NULL */
    uint32_t known;           /* of a scan: the number of ranks from the first on that have come */
    struct wait_stream *waiting;
};

/* A series: the collective operations of a communicator that block, or those of one kind that do
 * not. */
struct wait_series {
    uint32_t comm;             /* canonical (match/circle.h) */
    uint32_t kind;             /* as of lull_circle_series, or SERIES_OF_END in collective.c */
    uint32_t sizes[2], size;   /* ranks of each group, and of both; sizes[1] is 0 where there is one
                                  group */
    uint32_t here_of[2], here; /* how many of these ranks this member of the team has */
    uint32_t keeper;           /* the member that has the first rank; it puts together what the
                                  others know */
    uint32_t *others, n_others; /* at the keeper: the other members that have ranks; found when the
                                   keeper first has to tell them something */
    uint32_t fewest[2];         /* by group: the least number of operations that a rank which has
                                   ended took part in; UINT32_MAX: none has ended */
    bool announced;             /* this member has told, or heard, of the series, so that all
                                   members with ranks know of it */
    struct lull_match_series open; /* of struct wait_gathering */
};

/* What members of a team tell each other of an operation, or of a series. */
enum wait_news_kind {
    NEWS_RANK,  /* of a scan: the rank `which` has come, with `cause`; from the keeper: all ranks up
                   to it have come, and `cause` is the last of them */
    NEWS_GROUP, /* `count` ranks of the group `which` have come, and `cause` is the last of them */
    NEWS_ROOT,  /* a root has come, with `cause` */
    NEWS_ALL,   /* `count` ranks have come, and `cause` is the last of them */
    NEWS_FEWEST /* of the series: of the ranks of the group `which` that have ended, one took part
                   in no more than `count` operations */
};
struct wait_news {
    uint8_t kind;
    uint32_t which; /* a rank or a group */
    uint32_t count;
    const struct wait_cause *cause;
};

/* An agent in a series. */
struct wait_member {
    uint32_t count, n_begun; /* how many operations so far; n_begun: where several threads
                                communicate, operations that do not block are counted there when
                                they begin */
    uint32_t rank;
    uint32_t met;            /* number plus 1 of the last operation in which all waited for all; 0:
                                there was none */
    struct wait_moment base; /* the ledger of the agent in that operation */
};

/* ---- streams ------------------------------------------------------------------------------- */

/* One thing that a call needs before it ends. */
struct wait_pending {
    uint32_t what;   /* the index of a queue, or of a series */
    uint32_t member; /* the index of the member, if it is a collective operation */
    uint32_t number; /* the number of the operation; of the message to be received; or of the
                        message whose receive is to be posted */
    uint8_t kind;    /* enum lull_wait_kind */
    int32_t root;    /* the root, a process; LULL_ANY: it is not known */
    bool is_message, is_post;     /* the call needs a message; the call needs a post. Neither: a
                                     collective operation */
    struct lull_circle_part part; /* that of the stream's process in the collective operation */
};

/* A collective operation that does not block and has not ended. */
struct wait_open {
    uint64_t request;
    bool arrived; /* the operation has been matched; false: its communicator is not known before its
                     end */
    struct wait_cause arrival;
    struct wait_pending pending;
};

/* A synchronous send that does not block and has not ended. It ends no earlier than its receive is
 * posted. */
struct wait_issued {
    uint64_t request;
    struct wait_pending pending;
};

/* A sender whose call cannot end here before it is known when the receive of its message was
 * posted. */
struct wait_watcher {
    struct wait_watcher *next;  /* another watcher of the same receiver */
    struct wait_stream *stream; /* the stream of the sender; NULL: another member of the team has
                                   the sender */
    uint32_t member, far_queue; /* in that case: the other member, and the number of the queue
                                   there */
    uint32_t process;           /* the process of the sender */
    uint32_t queue, number;     /* the message */
    int64_t call_ends;          /* measured end of the sender's call */
    bool alone;                 /* the receiver waits for this sender, so it posts nothing more
                                   before the sender's call goes on */
};

/* A receive that was posted and has not ended, and of which it is not known yet which message it
 * takes. */
struct wait_posted {
    uint64_t request;
    struct wait_cause posted;
};

/* A wait, as it is charged. */
struct wait_charged {
    uint32_t location;   /* the location that waited */
    int64_t begin, wait; /* its measured begin and its length, ns */
    uint32_t late, call; /* who was waited for (an agent, or among threads a location), and the
                            region of the call that ended the wait */
    uint32_t parallel;   /* as in struct lull_wait_charge */
    uint8_t kind;        /* enum lull_wait_kind */
};

/* The part of a wait that goes to one charge, kept until the wait is charged. The struct is half as
 * large as a struct wait_part, because each process keeps up to LULL_WAIT_HELD waits with up to
 * LULL_WAIT_LEDGER + 2 of these. */
struct wait_due {
    uint32_t charge;     /* index of the charge, as if the wait were for a late sender */
    uint32_t low;        /* the lower 32 bits of its ns ... */
    uint32_t high : 31;  /* ... and the upper 31 */
    uint32_t passed : 1; /* 1: its ns count as passed_ns of the charge, too */
};

/* A wait for a sender that is divided but not charged yet: a later receive may show that the wait
 * was one of the wrong order. */
struct wait_held {
    int64_t begin, wait, inside; /* ns; `inside`: the part of the wait inside the windows */
    bool wrong_order;
    uint32_t count, capacity;
    struct wait_due *dues; /* [count] */
};

/* In the place of a queue: one of the two processes of the channel belongs to another program. */
#define WAIT_NOBODY (LULL_NONE - 1)

/* An agent that was waited for lately, and its pair with the stream's agent. */
struct wait_known_pair {
    uint32_t late, number; /* the agent that was waited for; the index of the pair plus 1, or 0:
                              there is none */
};
enum { WAIT_KNOWN_PAIRS = 4 };

struct wait_stream {
    uint32_t location, process, agent;
    bool blocked, in_call;
    bool ended;     /* the stream came to MPI_Finalize, or to the end of its location */
    bool unmatched; /* it is not known what this call waited for */
    bool anew;      /* this call ends an operation in which all processes wait for all, so the
                       ledger begins anew */
    uint32_t call;  /* region of the call */
    int64_t call_began, call_ends; /* measured */
    int64_t operated;              /* end of the last call with operations, measured; 0: there was
                                      none */
    bool operates;                 /* this call has operations */
    uint64_t bytes;                /* of these operations, as in struct lull_wait_call */
    int64_t told;                  /* in a call: the ledger holds what was done up to this time */
    struct wait_ledger ledger;
    struct wait_pending *pending; /* what the call needs; those from pending_at on are not there
                                     yet */
    size_t pending_at, n_pending, pending_capacity;
    struct wait_cause cause; /* the latest of the causes that this call needed so far */
    /* The stream's own ledger at the meeting of which late_since of the cause has the other's. */
    struct wait_moment since;
    uint8_t cause_kind; /* enum lull_wait_kind of the wait for the cause */
    bool met_all;       /* the cause is an operation in which all wait for all */
    uint8_t call_kind;  /* enum lull_call */
    struct wait_watcher watcher;
    bool answered;            /* it is known when the receive was posted that the call waits for: */
    struct wait_cause answer; /* that post, with references; time -1: there was none before this
                                 call ended */
    struct wait_open *open;
    size_t n_open, open_capacity;
    struct wait_issued *issued;
    size_t n_issued, issued_capacity;
    struct wait_posted *posted;
    size_t n_posted, posted_capacity;
    struct wait_held held[LULL_WAIT_HELD]; /* the last waits for senders; wait k is at k %
                                              LULL_WAIT_HELD */
    uint32_t n_held;                       /* how many such waits there were so far */
    struct wait_known_pair pairs[WAIT_KNOWN_PAIRS];
    struct lull_match_routes routes;
    struct wait_note_queue notes; /* the notes that follow what the stream waits for */
    struct wait_stream *next_waiting, *next_ready;
    struct wait_reading reading;
    struct lull_wait_location sums;
};

/* A charge that was needed lately, found by a key of a ledger, the call and the kind of wait. */
struct wait_recent {
    uint64_t key;
    uint32_t call, number; /* `number` is the index of the charge plus 1; 0: there is none */
    uint8_t kind;
};

enum { WAIT_RECENT = 4096 };

struct lull_waits {
    const struct lull_trace *trace;
    const struct lull_reading *reading;
    uint32_t n_ranks;
    uint32_t world;                 /* a communicator of all ranks, or LULL_NONE */
    bool follows_posts;             /* the program has functions that may wait for receives, and not
                                       each thread is followed */
    struct wait_stream **streams;   /* [n_locations]: of the first threads of processes, or of all
                                       threads; made when their first steps are read */
    struct wait_lane **lanes;       /* [n_processes]; NULL: not each thread is followed */
    struct wait_crew **crews;       /* [n_processes]: of those with several threads; or NULL */
    struct wait_devices *devices;   /* NULL: waits for devices are not wanted, or there are none */
    struct wait_office *office;     /* the mail of this member of a team; NULL: lull is alone */
    atomic_bool others_communicate; /* threads communicate that are not the first of their process,
                                       and that are not followed */

    pthread_mutex_t lock; /* protects all that follows */
    bool no_memory;
    struct wait_stream *ready; /* the list of streams that may be able to go on */
    /* [n_processes]: for each process, the list of senders that wait until it has come further. */
    struct wait_watcher **watchers;
    int64_t *reached; /* [n_processes]: the measured time that each process has come to */
    struct lull_match_queues queues; /* of all channels on which processes of this member send or
                                        receive; their `received` is counted only where there are
                                        lanes */
    struct wait_channel *channels;   /* by the index of the queue */
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
    uint64_t unmatched_ends; /* those of unmatched_operations that are MPI_Finalize */
    uint32_t *ends;          /* [n_processes]: how many streams of a process have come to their
                                ends */
    bool *ended;         /* [n_processes]: the process has ended, also where another member reads
                            it; learned after the pass (see "what never comes" in wait.c) */
    uint32_t *queues_of; /* [n_processes]: index of the first channel of a source, or LULL_NONE */
    bool knows_ends;     /* `ended` has been learned; from then on a process of this member that
                            ends is known at once to send no more */
};

/* ---- stream.c ------------------------------------------------------------------------------ */

/* Takes the next notes of a stream, or keeps them while the stream is blocked. */
void lull_wait_stream_take(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *notes, size_t count);
/* The call of the stream goes on without `pending`, which it needs. Returns true. */
bool lull_wait_go_without(struct lull_waits *waits, struct wait_stream *stream,
                          const struct wait_pending *pending);
/* What the stream waits for may be there: the stream is put into the list of those that
 * lull_wait_run_ready lets go on. */
void lull_wait_ready(struct lull_waits *waits, struct wait_stream *stream);
/* Lets the streams go on that are ready, until none is. */
void lull_wait_run_ready(struct lull_waits *waits);
void lull_wait_stream_free(struct wait_stream *stream);
void lull_wait_cause_drop(struct wait_cause *cause); /* releases its references */
/* A copy of a cause with references of its own. */
struct wait_cause lull_wait_cause_keep(const struct wait_cause *cause);
/* Adds the time up to `time` of the call that the stream is in to the ledger, as time in MPI.
 * Outside of a call it does nothing. */
void lull_wait_tell_until(struct wait_stream *stream, int64_t time);
/* The cause that others have when this agent sends or arrives at `time`: what it has done up to
 * now. Without a snapshot: no memory, which is noted. */
struct wait_cause lull_wait_make_cause(struct lull_waits *waits, struct wait_stream *stream,
                                       int64_t time);
/* The call of the stream needs one thing more before it ends. */
void lull_wait_need(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_pending *pending);

/* The team; NULL: lull is alone. */
static inline struct lull_team *lull_wait_team(const struct lull_waits *waits)
{
    return lull_division_team(waits->reading->division);
}

/* Whether all streams of a process that this member reads have come to their ends. */
static inline bool lull_wait_has_ended(const struct lull_waits *waits, uint32_t process)
{
    return waits->ends[process] >= (waits->lanes ? waits->trace->processes[process].n_threads : 1);
}

/* Whether another member of the team reads a process. */
static inline bool lull_wait_is_far(const struct lull_waits *waits, uint32_t process)
{
    const struct lull_division *division = waits->office ? waits->reading->division : NULL;
    const uint32_t *own = division ? division->cuts + lull_team_index(division->team) : NULL;
    return own && (process < own[0] || process >= own[1]);
}

/* Lanes, for processes whose threads communicate by themselves. Message k of a channel is the k-th
 * that any thread of the process sends, or receives; the same holds for collective operations. So
 * the notes of a thread are taken only when all threads of its process have been read up to their
 * time. */
bool lull_wait_lanes_create(struct lull_waits *waits); /* false: no memory */
void lull_wait_lane_take(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *notes, size_t count);
void lull_wait_lanes_free(struct lull_waits *waits);
/* The process of an agent. */
static inline uint32_t lull_wait_process_of(const struct lull_waits *waits, uint32_t agent)
{
    return waits->lanes ? waits->trace->locations[agent].process : agent;
}

/* ---- message.c: sends and receives --------------------------------------------------------- */

/* Looks up the queues of the channels that notes of sends and receives name, in the routes of the
 * stream; a note of a post gets the index of its queue in the place of the communicator, or
 * LULL_NONE if it does not say which message the receive takes. */
void lull_wait_find_routes(struct lull_waits *waits, struct wait_stream *stream,
                           const struct lull_channels *channels, struct wait_note *notes,
                           size_t count);
/* Takes a note of a send, a receive, the end of a send or a post. */
void lull_wait_note_message(struct lull_waits *waits, struct wait_stream *stream,
                            const struct wait_note *note);
/* The queue of a note of a send or receive; LULL_NONE: a process of another program is at the other
 * end, or the channel is not known. */
static inline uint32_t lull_wait_queue_of_note(const struct wait_stream *stream,
                                               const struct wait_note *note)
{
    const uint32_t queue = lull_match_route_of(&stream->routes, note->channel);
    return queue == WAIT_NOBODY ? LULL_NONE : queue;
}

/* ---- message.c: posts of receives ---------------------------------------------------------- */

/* Counts a message that is sent on a queue. `waits_for_receive`: its sender waits for a receive. */
void lull_wait_count_send(struct lull_waits *waits, uint32_t queue, bool waits_for_receive);
/* The next receive of a queue was posted, as `posted` says, whose references are taken. `told`:
 * begin of the call in which the trace tells which message the receive takes. */
void lull_wait_tell_post(struct lull_waits *waits, uint32_t queue, const struct wait_cause *posted,
                         int64_t told);
/* Whether it is known when the receive was posted that the call of the stream waits for. If so,
 * *ret_posted has the post, with references; time -1: it was not posted before the call ended. If
 * not, the stream watches the receiver until it is known. */
bool lull_wait_is_posted(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_pending *pending, struct wait_cause *ret_posted);
/* A process has come to `time`. Those that watch it may go on. */
void lull_wait_reach(struct lull_waits *waits, uint32_t process, int64_t time);
/* A process waits for a message of `source`. A sender of `source` may itself wait for a receive of
 * the process, and then goes on. */
void lull_wait_blocked_by(struct lull_waits *waits, uint32_t process, uint32_t source);
/* A sender that `member` of the team has watches for the receive of a message. `far_queue`: the
 * number that the queue has there. That member gets the answer. */
void lull_wait_watch_from(struct lull_waits *waits, uint32_t member, uint32_t far_queue,
                          uint32_t queue, uint32_t number, int64_t call_ends);
/* Another member of the team answers when the receive was posted that a sender watches for. Takes
 * the references of `posted`. */
void lull_wait_take_answer(struct lull_waits *waits, uint32_t queue, uint32_t number,
                           const struct wait_cause *posted);
/* Nobody will ask any more when the receive of this message was posted. */
void lull_wait_post_is_done(struct lull_waits *waits, uint32_t queue, uint32_t number);
/* The stream, which waits for a post, goes on as if the receive had not been posted. After this has
 * been done for all such streams, lull_wait_unwatch_all forgets the watchers. */
void lull_wait_give_up(struct lull_waits *waits, struct wait_stream *stream);
void lull_wait_unwatch_all(struct lull_waits *waits);
void lull_wait_posts_free(struct wait_channel *channel);

/* ---- charge.c: waits that are kept back ---------------------------------------------------- */

/* Keeps a wait for a sender, divided into parts, until its kind is known. If LULL_WAIT_HELD waits
 * are kept already, the oldest one is charged. False: no memory. */
bool lull_wait_hold(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_charged *charged, int64_t inside,
                    const struct wait_part *parts, uint32_t count);
/* The stream receives a message that was sent at `sent`. Waits that did not begin before that time,
 * in earlier calls, were of the wrong order. */
void lull_wait_came_first(struct wait_stream *stream, int64_t sent);
/* Charges all waits that lull_wait_hold keeps. False: no memory. */
bool lull_wait_settle(struct lull_waits *waits, struct wait_stream *stream);

/* ---- message.c: queues --------------------------------------------------------------------- */

/* The index of the queue of a channel, which is made if it does not exist. LULL_NONE: no memory,
 * which is noted. */
uint32_t lull_wait_queue(struct lull_waits *waits, const struct lull_channel *channel);
/* A message has been sent to a process of this member, and gets into its queue.
 * `waits_for_receive`: its sender waits until its receive is posted. Takes the references of
 * `sent`. */
void lull_wait_deliver(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       bool waits_for_receive, const struct wait_cause *sent);
/* The streams that wait for a message of the queue look again. */
void lull_wait_wake_queue(struct lull_waits *waits, uint32_t index);
/* Takes the first message with this number out of the queue. False: the message has not been sent
 * yet. The caller gets the references of *ret_sent. */
bool lull_wait_receive(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       struct wait_cause *ret_sent);
void lull_wait_mail_free(struct lull_waits *waits);

/* ---- collective.c: series and members ------------------------------------------------------ */

/* The index of a series, which is made if it does not exist. LULL_NONE: no memory. */
uint32_t lull_wait_series(struct lull_waits *waits, uint32_t comm, uint32_t kind);
/* In how many operations of a series a process has taken part so far, also those that it has only
 * begun. */
uint32_t lull_wait_count_operations(const struct lull_waits *waits, uint32_t series,
                                    uint32_t process);
/* The number of the next operation of a process, where several of its threads communicate. */
uint32_t lull_wait_number_operation(struct lull_waits *waits, const struct wait_note *note,
                                    uint32_t process);
/* An agent comes to its next operation. Takes the references of `arrival`, whose late_since is set
 * here. *ret_pending is what the agent waits for. False: the agent is no member, or there is no
 * memory, which is noted. */
bool lull_wait_arrive(struct lull_waits *waits, const struct wait_note *note,
                      const struct wait_cause *arrival, struct wait_pending *ret_pending);
/* The same for MPI_Finalize. Also false where no communicator has all ranks, or there is only one
 * rank. */
bool lull_wait_arrive_at_end(struct lull_waits *waits, const struct wait_cause *arrival,
                             struct wait_pending *ret_pending);
/* Whether an agent may leave an operation; if so, it has left. *ret_cause: for whom the agent
 * waited, with references; time -1: for nobody. *ret_anew becomes true if all
 * processes of the program waited for all, in an operation that blocks, and not each thread is
 * followed. */
bool lull_wait_leave(struct lull_waits *waits, const struct wait_pending *pending,
                     struct wait_cause *ret_cause, bool *ret_anew);
/* The stream waits until more is known of the operation. */
void lull_wait_in_line(struct lull_waits *waits, struct wait_stream *stream,
                       const struct wait_pending *pending);
/* Empties the list of streams that wait for the operation; the caller makes each of them ready. */
void lull_wait_leave_line(struct lull_waits *waits, const struct wait_pending *pending);
/* The member of `pending` if all ranks wait for all in its operation, which blocks, and so meet;
 * else NULL. */
struct wait_member *lull_wait_meets_all(const struct lull_waits *waits,
                                        const struct wait_pending *pending);
void lull_wait_gather_free(struct lull_waits *waits);

/* ---- collective.c: gatherings -------------------------------------------------------------- */

/* The gathering of an operation, which is opened if it is not open; it must not have been closed.
 * NULL: no memory. */
struct wait_gathering *lull_wait_gathering(struct wait_series *series, uint32_t number);
/* Closes the gatherings that are over, from the oldest one to the first that is not. */
void lull_wait_close_gatherings(struct wait_series *series);
void lull_wait_gatherings_free(struct wait_series *series);
/* Notes an arrival in its gathering, and tells the member of the team that keeps the series. False:
 * no memory. */
bool lull_wait_note_arrival(struct lull_waits *waits, const struct wait_pending *pending,
                            const struct wait_cause *arrival);
/* Takes in news from another member of the team. False: no memory. */
bool lull_wait_hear_news(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                         const struct wait_news *news);
/* The arrival of a root, or of any root if `root` is LULL_ANY. NULL: the root has not come. */
const struct wait_cause *lull_wait_of_root(const struct lull_waits *waits,
                                           const struct wait_gathering *gathering, int32_t root);
/* Of a scan: the latest arrival among a rank and those below it. NULL: some have not come. */
const struct wait_cause *lull_wait_of_lower(const struct lull_waits *waits,
                                            const struct wait_series *series,
                                            const struct wait_gathering *gathering, uint32_t rank);

/* Tells the other members of the team series->fewest[group]. False: no memory. */
bool lull_wait_tell_fewest(struct lull_waits *waits, struct wait_series *series, unsigned group);

/* ---- charge.c: charges --------------------------------------------------------------------- */

/* Divides a wait of a stream for its cause, adds the parts to the stream's ledger, and charges the
 * `inside` ns of the wait that are inside the windows. False: no memory. */
bool lull_wait_charge(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                      int64_t wait, int64_t inside);
/* Charges the parts of a wait; their ns add up to what of the wait is inside the windows. False: no
 * memory. */
bool lull_wait_charge_parts(struct lull_waits *waits, const struct wait_charged *charged,
                            const struct wait_part *parts, uint32_t count);
/* Adds what another member of the team has charged. False: no memory. */
bool lull_wait_add_charge(struct lull_waits *waits, const struct lull_wait_charge *charge);
/* lull_wait_charge_parts in two steps, so that the second step may come later, and charge another
 * kind of wait. The first step makes a due of each part of more than 0 ns, and returns how many
 * dues there are; LULL_NONE: no memory. */
uint32_t lull_wait_dues_of_parts(struct lull_waits *waits, const struct wait_charged *charged,
                                 const struct wait_part *parts, uint32_t count,
                                 struct wait_due *ret_dues);
bool lull_wait_charge_dues(struct lull_waits *waits, const struct wait_charged *charged,
                           const struct wait_due *dues, uint32_t count);
void lull_wait_charge_free(struct lull_waits *waits);

#endif
