/* Notes: what of a step matters here; internal to the room. */
#ifndef LULL_WAIT_STREAM_H
#define LULL_WAIT_STREAM_H

#include "activity/pass.h"
#include "base/array.h"
#include "base/hash.h"
#include "wait/ledger.h"

#include <pthread.h>
#include <stdatomic.h>

/* ==== note ==================================================================================== */

enum wait_note_kind {
    NOTE_WORK, /* value: ns outside of calls; region: of the user, or LULL_NONE; op: 1 in MPI */
    NOTE_CALL, /* calls, one behind the other, that need nothing: time of their end; value: that of
                  their begin; op: enum lull_call of the last */
    NOTE_CALL_BEGIN, /* time; region; op: enum lull_call */
    NOTE_CALL_END,   /* time; lost: what should have been recorded was not */
    NOTE_SEND,       /* time; channel; op: enum lull_send_mode; value: the request; large */
    NOTE_SEND_CALL,  /* a call that does nothing but send a message, for whose receive it does not
                        wait: time, channel and op as of NOTE_SEND; call; its region as root; value:
                        how long before the time it began, and how long behind it ended, each in 32
                        bits */
    NOTE_SEND_DONE,  /* time; value: the request */
    NOTE_RECEIVE,    /* time; channel; value: the request */
    NOTE_POST,       /* time; comm, later the queue as channel; root: from whom; tag; value */
    NOTE_BEGIN,      /* of a collective operation that does not block: time; comm; op; value: the
                        request; root */
    NOTE_COLLECTIVE, /* it ends: the same; value LULL_NO_REQUEST: it blocks */
    NOTE_END         /* of the location */
};

struct wait_note {
    int64_t time;
    uint64_t value;
    union {
        uint32_t region, channel, comm;
    };
    int32_t root; /* process index, or LULL_ANY; of NOTE_SEND_CALL a region */
    union {
        int32_t tag;
        uint32_t
            number; /* lane.c: of a message in its channel, of a collective operation; else 0 */
    };
    uint8_t kind, op;
    union {
        bool lost;
        uint8_t call; /* enum lull_call */
    };
    union {
        bool large; /* a send may wait for its receive */
        bool moves; /* a collective operation: this process sends or receives something in it, which
                       between groups tells the root from the rest of its group */
    };
};

/* Where a location's steps are read. */
struct wait_reading {
    bool posts; /* those of receives are wanted */
    bool in_call;
    bool operations; /* of this call there are some */
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

/* Whether the send of a note may wait for its receive, in a call of that kind, or LULL_CALL_OTHER.
 */
bool lull_wait_may_wait(const struct wait_note *send, uint8_t call);

/* `notes` has room for as many as there are steps; returns how many there are. */
size_t lull_wait_notes_of_steps(struct wait_reading *reading, const struct lull_step *steps,
                                size_t count, struct wait_note *notes);

/* ==== share =================================================================================== */

/* Waits from inside.
 *
 * note.h     what of a step matters: steps become notes, without a lock
 * lane.c     the threads of a process, where several communicate: who came first
 * stream.c   one process or thread: notes move its ledger, calls wait for what they need
 * message.c  its messages
 * message.c     messages that are sent and not received
 * message.c     when receives were posted
 * charge.c    waits for a message while another one was there
 * collective.c   collective operations: for whom each member waits; collective.c: what has come to one
 * ends.c     what never comes
 * charge.c   waits are divided and charged
 * crew.h     threads of a process, which wait for each other
 * ledger.h   what a process spent its time on
 * ledger.c   how a wait is divided
 * shared/    what the members of a team tell each other
 * wait.c     the consumer
 *
 * An agent is who waits, and is waited for: a process, or, where several threads of one
 * communicate, a location. Each agent is a stream that runs ahead until its call needs something
 * that has not been read yet; then its notes are kept. Whatever a stream learns depends on what
 * others did alone, never on when that was read, so any order gives the same result. */

/* Who came, when, and what it had done by then. */
struct wait_cause {
    int64_t time; /* measured; -1: nobody */
    uint32_t agent, call;
    struct wait_moment late;
    struct wait_moment late_since; /* where all have waited for all before; else of NULL */
    uint32_t met;                  /* which operation that was, as of a member */
};

/* ---- messages ------------------------------------------------------------------------------ */

struct wait_message {
    struct wait_cause sent;
    uint32_t next;   /* in the queue, or of the free ones */
    uint32_t number; /* as of the note */
};

/* Messages of one channel that were sent and not received, and, where senders may wait for them,
 * receives that were posted. */
struct wait_queue {
    uint32_t first, last;                              /* LULL_NONE: empty */
    uint32_t source, target;                           /* processes */
    uint32_t n_sent, n_received, n_posted, first_post; /* n_received: lane.c alone */
    uint32_t port;           /* where another member of the team has the receiver: its name there */
    struct lull_ring posts;  /* of message.c, from first_post on */
    uint32_t next_of_source; /* another queue of it, or LULL_NONE */
    struct wait_stream *waiting;
};

/* What two agents had done when the one last waited for the other, other than in an operation in
 * which all wait for all: they have met then, so both had done as much. */
struct wait_pair {
    struct wait_moment late, other;
};

/* ---- collective operations ----------------------------------------------------------------- */

struct wait_gathering {
    uint32_t arrived, left;
    struct wait_cause last;   /* the last that came */
    struct wait_cause *roots; /* [n_roots]: one, unless operations contradict each other */
    uint32_t n_roots;
    struct {
        uint32_t arrived;
        struct wait_cause last;
    } groups[2];              /* of an inter-communicator, where one waits for the other */
    struct wait_cause *ranks; /* [size], of a scan; or NULL */
    uint32_t known;           /* of a scan: so many ranks, from the first on, have come */
    struct wait_stream *waiting;
};

/* The collective operations of a communicator that block, or those of one kind that do not. */
struct wait_series {
    uint32_t comm;              /* of an inter-communicator the lower one of its groups */
    uint32_t kind;              /* 0: operations that block; else the operation plus 1 */
    uint32_t sizes[2], size;    /* of the groups, the second one 0 where there is one; of all */
    uint32_t here_of[2], here;  /* how many of these are of this member of a team */
    uint32_t keeper;            /* the member with the first rank, who adds up what others know */
    uint32_t *others, n_others; /* the keeper, once it had to tell them: members with ranks */
    uint32_t fewest[2];         /* by group, operations of one that has ended; UINT32_MAX: none */
    bool announced;             /* whoever has ranks of it, knows that it is there (ends.c) */
    uint32_t first;             /* number of the oldest that is open */
    struct lull_ring open;      /* of struct wait_gathering */
};

/* What is known of an operation. */
enum wait_news_kind {
    NEWS_RANK,  /* of a scan: a rank has come; from the keeper: all up to it, the last of them as
                   cause */
    NEWS_GROUP, /* so many of one of two groups have, the last of them as cause */
    NEWS_ROOT,  /* a process that is one */
    NEWS_ALL,   /* so many of all have, likewise */
    NEWS_FEWEST /* of no operation: a rank of a group has ended that took part in so many */
};
struct wait_news {
    uint8_t kind;
    uint32_t which; /* rank; group */
    uint32_t count;
    const struct wait_cause *cause;
};

/* Who waits for whom. The others are those of the other group of an inter-communicator: the two
 * groups go on at different times, so nobody meets there. */
enum wait_meeting {
    MEETS_ALL,
    MEETS_ROOT,
    ROOT_MEETS_ALL,
    MEETS_LOWER,
    MEETS_OTHERS,
    ROOT_MEETS_OTHERS,
    MEETS_NOBODY
};

/* An agent in a series. */
struct wait_member {
    uint32_t count,
        n_begun; /* operations so far; lane.c: those that do not block, when they begin */
    uint32_t rank;
    uint32_t met;            /* in which operation all last waited for all, plus 1; 0: in none */
    struct wait_moment base; /* of its ledger then: all have met there */
};

/* ---- streams ------------------------------------------------------------------------------- */

/* What a call needs before it ends. */
struct wait_pending {
    uint32_t what;   /* a queue; a series */
    uint32_t member; /* of a collective operation */
    uint32_t number; /* of the gathering; of a message whose receive is to be posted */
    uint8_t kind;    /* enum lull_wait_kind */
    uint8_t meeting; /* enum wait_meeting */
    int32_t root;    /* a process, or LULL_ANY: it is not known which */
    bool is_message, is_post, is_root;
};

struct wait_open {
    uint64_t request;
    bool arrived; /* else its communicator is not known before its end */
    struct wait_cause arrival;
    struct wait_pending pending;
};

/* A synchronous send that goes on: it is over no earlier than its receive begins. */
struct wait_issued {
    uint64_t request;
    struct wait_pending pending;
};

/* Who waits in a call until it is known when the receive of its message was posted. */
struct wait_watcher {
    struct wait_watcher *next;  /* that watch the same process */
    struct wait_stream *stream; /* who waits; NULL: somebody of another member of the team, ... */
    uint32_t member, far_queue; /* ... this one, where the queue has this number */
    uint32_t process;           /* who waits: its process */
    uint32_t queue, number;     /* the message */
    int64_t call_ends;
    bool alone; /* nothing is posted before this call goes on */
};

/* A receive that goes on, and did not say which message it takes. */
struct wait_posted {
    uint64_t request;
    struct wait_cause posted;
};

/* A wait that is charged. */
struct wait_charged {
    uint32_t location; /* that waited */
    int64_t begin, wait;
    uint32_t late, call; /* for whom, an agent, or among threads a location, and the call by which
                            the wait ended */
    uint8_t kind;
};

/* What of a wait goes to a charge. Half as large as a part: each process keeps some hundred. */
struct wait_due {
    uint32_t charge;    /* its index, as of a late sender */
    uint32_t low;       /* the ns, in two halves, */
    uint32_t high : 31; /* ... of which this is the upper one */
    uint32_t passed : 1;
};

/* A wait for a sender, divided and not charged yet: whether only the order of messages made it is
 * seen later. */
struct wait_held {
    int64_t begin, wait, inside;
    bool wrong_order;
    uint32_t count, capacity;
    struct wait_due *dues;
};

struct wait_route {
    uint32_t queue; /* LULL_NONE: none, with a process of another program */
    bool known;
};

/* Where the pair of a process that was waited for is. */
struct wait_known_pair {
    uint32_t late, number; /* index of the pair + 1; 0: none */
};
enum { WAIT_KNOWN_PAIRS = 4 };

struct wait_stream {
    uint32_t location, process, agent;
    bool blocked, in_call;
    bool unmatched; /* of this call something is not known */
    bool anew;      /* this call ends an operation in which all wait for all */
    uint32_t call;  /* its region */
    int64_t call_began, call_ends;
    int64_t told; /* the ledger holds what was done up to this time */
    struct wait_ledger ledger;
    struct wait_pending *pending; /* [pending_at, n_pending) are not there yet */
    size_t pending_at, n_pending, pending_capacity;
    struct wait_cause cause;  /* the latest of what this call needed, */
    struct wait_moment since; /* of its own ledger, as late_since of the cause, */
    uint8_t cause_kind;       /* and the kind of wait */
    bool met_all;             /* the cause is an operation in which all wait for all */
    uint8_t call_kind;        /* enum lull_call */
    struct wait_watcher watcher;
    bool answered;            /* what it watches for: */
    struct wait_cause answer; /* with references; time -1: not posted before this call ended */
    struct wait_open *open;
    size_t n_open, open_capacity;
    struct wait_issued *issued;
    size_t n_issued, issued_capacity;
    struct wait_posted *posted;
    size_t n_posted, posted_capacity;
    struct wait_held held[LULL_WAIT_HELD]; /* the last ones; n_held were there in all */
    uint32_t n_held;
    struct wait_known_pair pairs[WAIT_KNOWN_PAIRS];
    struct wait_route *routes; /* by channel of the location */
    size_t n_routes, route_capacity;
    struct wait_note_queue notes; /* that wait */
    struct wait_stream *next_waiting, *next_ready;
    struct wait_reading reading;
    struct lull_wait_location sums;
};

/* A charge that was needed lately: of a place, as in a ledger, a call, and a kind of wait. */
struct wait_recent {
    uint64_t key;
    uint32_t call, number; /* index of the charge + 1; 0: none */
    uint8_t kind;
};

enum { WAIT_RECENT = 4096 };

struct lull_waits {
    const struct lull_trace *trace;
    struct lull_wait_options options;
    uint32_t n_ranks;
    bool follows_posts;           /* there are functions that wait for receives */
    struct wait_stream **streams; /* [n_locations]: made when they are begun; of masters, or all */
    struct wait_lane **lanes;     /* [n_processes]: where each thread is followed; or NULL */
    struct wait_crew **crews;     /* [n_processes]: of those with several threads; or NULL */
    bool *visits;                 /* [n_regions] */
    struct wait_office *office;   /* of the other members of a team; NULL: alone */
    atomic_bool others_communicate; /* threads that are no masters do */

    pthread_mutex_t lock; /* of all that follows */
    bool no_memory;
    struct wait_stream *ready;
    struct wait_watcher **watchers; /* [n_processes]: those that wait until one has come further */
    int64_t *reached;               /* [n_processes]: how far it has come */
    struct lull_hash queues_by_channel, pairs_by_processes, series_by_comm, members_by_process;
    struct wait_queue *queues;
    struct wait_pair *pairs;
    struct wait_series *series;
    struct wait_member *members;
    struct wait_message *messages;
    size_t queue_capacity, pair_capacity, series_capacity, member_capacity, message_capacity;
    uint32_t n_messages, free_message;
    struct lull_hash charges_by_place;
    struct lull_wait_charge *charges;
    size_t charge_capacity;
    struct wait_recent recent[WAIT_RECENT];
    uint64_t received, gathered, unmatched_operations;
    uint32_t *ends;      /* [n_processes]: streams that have come to their end */
    bool *ended;         /* [n_processes]: of all members of a team, as learned last (ends.c) */
    uint32_t *queues_of; /* [n_processes]: the first of a source, or LULL_NONE */
    bool knows_ends;     /* that was learned: who ends now is known at once to send no more */
};

/* stream.c */
void lull_wait_stream_take(struct lull_waits *waits, struct wait_stream *stream,
                           const struct wait_note *notes, size_t count);
/* It is there perhaps what the stream waits for: it goes on after the one that goes on now. */
void lull_wait_ready(struct lull_waits *waits, struct wait_stream *stream);
/* Those go on. */
void lull_wait_run_ready(struct lull_waits *waits);
void lull_wait_stream_free(struct wait_stream *stream);
void lull_wait_cause_drop(struct wait_cause *cause); /* its references */
struct wait_cause lull_wait_cause_keep(const struct wait_cause *cause);
/* In a call the ledger holds its time up to `time`, from here on. */
void lull_wait_tell_until(struct wait_stream *stream, int64_t time);
/* What this process has done up to now, when it sends or arrives. Without a snapshot: no memory,
 * which is noted. */
struct wait_cause lull_wait_make_cause(struct lull_waits *waits, struct wait_stream *stream,
                                       int64_t time);
/* The call does not end before that. */
void lull_wait_need(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_pending *pending);

/* NULL: alone. */
static inline struct lull_team *lull_wait_team(const struct lull_waits *waits)
{
    return waits->options.division ? waits->options.division->team : NULL;
}

/* Whether a process is one that another member of the team reads. */
static inline bool lull_wait_is_far(const struct lull_waits *waits, uint32_t process)
{
    const struct lull_division *division = waits->office ? waits->options.division : NULL;
    const uint32_t *own = division ? division->cuts + lull_team_index(division->team) : NULL;
    return own && (process < own[0] || process >= own[1]);
}

/* lane.c: threads of a process that communicate by themselves. Message k of a channel is the k-th
 * that any thread of a process sends, or receives; so are its collective operations. Notes wait
 * until all threads have been read up to there. */
bool lull_wait_lanes_create(struct lull_waits *waits); /* false: no memory */
void lull_wait_lane_take(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *notes, size_t count);
void lull_wait_lanes_free(struct lull_waits *waits);
static inline uint32_t lull_wait_process_of(const struct lull_waits *waits, uint32_t agent)
{
    return waits->lanes ? waits->trace->locations[agent].process : agent;
}

/* message.c. What notes of sends and receives name is known from the begin. */
void lull_wait_find_routes(struct lull_waits *waits, struct wait_stream *stream,
                           const struct lull_channels *channels, struct wait_note *notes,
                           size_t count);
void lull_wait_note_message(struct lull_waits *waits, struct wait_stream *stream,
                            const struct wait_note *note);

/* message.c */
/* A message is sent on a queue, which waits for its receive, or does not. */
void lull_wait_count_send(struct lull_waits *waits, uint32_t queue, bool waits_for_receive);
/* The next receive of a queue was posted. Takes the references. `told`: begin of the call that
 * tells it. */
void lull_wait_tell_post(struct lull_waits *waits, uint32_t queue, const struct wait_cause *posted,
                         int64_t told);
/* Whether it is known when the receive was posted that the call of the stream waits for; then
 * *ret_posted has it, with references; time -1: not before this call ended. Else the stream waits
 * until that is known. */
bool lull_wait_is_posted(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_pending *pending, struct wait_cause *ret_posted);
void lull_wait_reach(struct lull_waits *waits, uint32_t process, int64_t time);
/* A process waits for a message of another one, which may wait for it. */
void lull_wait_blocked_by(struct lull_waits *waits, uint32_t process, uint32_t source);
/* The same of somebody of another member of the team, where the queue has the number `far_queue`.
 * That one gets the answer. */
void lull_wait_watch_from(struct lull_waits *waits, uint32_t member, uint32_t far_queue,
                          uint32_t queue, uint32_t number, int64_t call_ends);
/* Takes the references. */
void lull_wait_take_answer(struct lull_waits *waits, uint32_t queue, uint32_t number,
                           const struct wait_cause *posted);
/* Nobody asks for it any more. */
void lull_wait_post_is_done(struct lull_waits *waits, uint32_t queue, uint32_t number);
/* The stream goes on as if nothing had been posted, and nobody is watched any more. */
void lull_wait_give_up(struct lull_waits *waits, struct wait_stream *stream);
void lull_wait_unwatch_all(struct lull_waits *waits);
void lull_wait_posts_free(struct wait_queue *queue);

/* charge.c */
/* Keeps a wait for a sender back, divided into parts; the oldest of those kept is charged when
 * there are LULL_WAIT_HELD. False: no memory. */
bool lull_wait_hold(struct lull_waits *waits, struct wait_stream *stream,
                    const struct wait_charged *charged, int64_t inside,
                    const struct wait_part *parts, uint32_t count);
/* A message is received that was sent then: waits that began later, in calls before this one, were
 * of the wrong order. */
void lull_wait_came_first(struct wait_stream *stream, int64_t sent);
/* All that is kept back is charged. False: no memory. */
bool lull_wait_settle(struct lull_waits *waits, struct wait_stream *stream);

/* message.c. LULL_NONE: no memory, which is noted. */
uint32_t lull_wait_queue(struct lull_waits *waits, const struct lull_channel *channel);
/* A message has been sent, which waits for its receive to be posted, or does not. Takes the
 * references. */
void lull_wait_deliver(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       bool waits_for_receive, const struct wait_cause *sent);
/* Those who wait for a message of it look again. */
void lull_wait_wake_queue(struct lull_waits *waits, uint32_t index);
/* The first with this number. False: it has not been sent yet. The caller gets the references of
 * *ret_sent. */
bool lull_wait_receive(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       struct wait_cause *ret_sent);
void lull_wait_mail_free(struct lull_waits *waits);

/* collective.c */
/* LULL_NONE: no memory. */
uint32_t lull_wait_series(struct lull_waits *waits, uint32_t comm, uint32_t kind);
/* Whether the operations of a communicator can be followed; *ret_alone: it has one member. */
bool lull_wait_is_known(const struct lull_waits *waits, uint32_t comm, uint8_t op, bool *ret_alone);
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
/* Whether it may go on; then it has left. *ret_cause: for whom, with references; time -1: for
 * nobody. *ret_anew: all processes have waited for all. */
bool lull_wait_leave(struct lull_waits *waits, const struct wait_pending *pending,
                     struct wait_cause *ret_cause, bool *ret_anew);
void lull_wait_in_line(struct lull_waits *waits, struct wait_stream *stream,
                       const struct wait_pending *pending);
/* All that wait for it are told otherwise. */
void lull_wait_leave_line(struct lull_waits *waits, const struct wait_pending *pending);
/* Where all members wait for all there, and so meet: that member; else NULL. */
struct wait_member *lull_wait_meets_all(const struct lull_waits *waits,
                                        const struct wait_pending *pending);
void lull_wait_gather_free(struct lull_waits *waits);

/* collective.c */
/* NULL: no memory. One that is closed is never asked for. */
struct wait_gathering *lull_wait_gathering(struct wait_series *series, uint32_t number);
/* Those that are over, from the oldest on. */
void lull_wait_close_gatherings(struct wait_series *series);
void lull_wait_gatherings_free(struct wait_series *series);
unsigned lull_wait_group_of(const struct wait_series *series, uint32_t rank); /* of two */
uint32_t lull_wait_process_of_rank(const struct lull_waits *waits, const struct wait_series *series,
                                   uint32_t rank);
/* Puts an arrival where those who need it will look. False: no memory. */
bool lull_wait_note_arrival(struct lull_waits *waits, const struct wait_pending *pending,
                            const struct wait_cause *arrival);
/* Another member of the team has told it. False: no memory. */
bool lull_wait_hear_news(struct lull_waits *waits, struct wait_series *series, uint32_t number,
                         const struct wait_news *news);
/* The root that somebody waits for, LULL_ANY: any; NULL: it has not come. */
const struct wait_cause *lull_wait_of_root(const struct lull_waits *waits,
                                           const struct wait_gathering *gathering, int32_t root);
/* The latest of a rank and those below, once all of them have come; NULL: they have not. */
const struct wait_cause *lull_wait_of_lower(const struct lull_waits *waits,
                                            const struct wait_series *series,
                                            const struct wait_gathering *gathering, uint32_t rank);

/* What another member of the team is to know of `fewest`. False: no memory. */
bool lull_wait_tell_fewest(struct lull_waits *waits, struct wait_series *series, unsigned group);

/* ends.c. What is blocked goes on without what it waits for, of all members of a team, until nobody
 * is; then all is charged. Missing memory is noted. */
lull_status lull_wait_release(struct lull_waits *waits, struct lull_error *err);

/* charge.c: a wait of a stream for its cause is divided and put into its ledger, and that part of
 * it which is inside the windows is charged. False: no memory. */
bool lull_wait_charge(struct lull_waits *waits, struct wait_stream *stream, int64_t begin,
                      int64_t wait, int64_t inside);
/* Charges the parts of a wait, whose ns add up to what is inside the windows. False: no memory. */
bool lull_wait_charge_parts(struct lull_waits *waits, const struct wait_charged *charged,
                            const struct wait_part *parts, uint32_t count);
/* What another member of the team has charged. False: no memory. */
bool lull_wait_add_charge(struct lull_waits *waits, const struct lull_wait_charge *charge);
/* The same in two steps, of which the second may come later, and of another kind. Of the parts that
 * are more than 0 ns; returns how many dues there are; LULL_NONE: no memory. */
uint32_t lull_wait_dues_of_parts(struct lull_waits *waits, const struct wait_charged *charged,
                                 const struct wait_part *parts, uint32_t count,
                                 struct wait_due *ret_dues);
bool lull_wait_charge_dues(struct lull_waits *waits, const struct wait_charged *charged,
                           const struct wait_due *dues, uint32_t count);
void lull_wait_charge_free(struct lull_waits *waits);

#endif
