/* Waits: how long each process waited in MPI, and each thread for others of its process, for whom,
 * and who was to blame.
 *
 * A wait is the part of a call of MPI before that came which the call needed:
 *
 *   late sender      a call that receives: until the last of its messages was sent. The latest one
 *                    ends the wait, also of several that one call completes
 *   barrier, n to n  until the last process came to the operation
 *   early reduce     the root of a reduce or gather: until the last process came
 *   late broadcast   all but the root of a broadcast or scatter: until the root came
 *   early scan       until the last of the ranks before came
 *   wrong order      a late sender, where another message that the process received in a later call
 *                    had been sent before the wait began: the definition of Scalasca. Seen for the
 *                    last LULL_WAIT_HELD waits for senders
 *   late receiver    a send that waits for its receive: until that was posted, by a call that began
 *                    before the send ended. Synchronous sends, and the blocking one of the standard
 *                    mode (MPI_Send) with more than LULL_WAIT_EAGER bytes that began before the
 * post and ended after it; that it waited is then likely, and not certain. Silent where it is not
 * known by then which message the receive takes (any source or tag, and not complete), and of
 * persistent receives of other tracers
 *
 * Between the groups of an inter-communicator each waits for those of the other one whose data it
 * gets: at a barrier and n to n for its last, the root of a reduce likewise, at a broadcast for the
 * root, for which those of its own group do not wait.
 *
 * Of several that came last in the same ns the one of the lowest rank is charged: any of them would
 * have been waited for as long alone, and to divide a wait among all of them would take as many
 * divisions as there are ranks, for each rank that waits.
 *
 * What is left of a call is its transfer, or, where the trace does not tell what it waited for, is
 * not matched: so
 *     waits + transfer + unmatched = time in calls of MPI, in ns, for each process.
 *
 * Each wait is charged to places, up the chain. Of each process a ledger tells what it did since
 * the last meeting of all: its own time by region of the user, its time in MPI without waits, and
 * its waits by the places that they were charged to. When A waits w for B, what B did more of than
 * A since they last met is what was late: for each entry of the ledgers the excess is
 * d = max(0, B's - A's), and w is divided in proportion to them, in whole ns, the remainder to the
 * largest fractions. The shares are charged to B's regions, and for waits of B to those that B was
 * kept by, and they become waits in A's ledger; so a delay that comes through others is charged to
 * who began it. Two processes meet where the one waits for the other, because both have done as
 * much then, and where both take part in an operation in which all wait for all; where these are
 * all processes of the program, all ledgers begin anew.
 *
 * That is the delay cost of D. Boehme et al., Identifying the Root Causes of Wait States in
 * Large-Scale Parallel Applications, ACM TOPC 3(2), 2016, 10.1145/2934661, in one pass forward:
 * they replay backward from each wait to the interval since the meeting before.
 *
 * Threads of a process (with `threads` of the options):
 *
 *   thread barrier   from when a thread comes to a barrier of OpenMP or pthreads, also an implicit
 *                    one, until the last one came. All have come when the first leaves; tasks that
 *                    run meanwhile are no wait. Teams in teams are taken for one. Where a trace
 *                    tells no implicit barrier (Extrae), all meet at the end of a parallel region
 *   lock             for a critical or ordered section: while another thread was in one of its
 *                    process. For a lock that is set by a call: while another thread had it, where
 *                    the trace says who took and gave back which one (Score-P, not lull's own
 *                    recorder). Whoever was in it last before the wait ended is charged with its
 *                    time, then who was before
 *   thread join      for the end of a thread of the program's own
 *
 * What is left of that time nobody was waited for any more, or the trace does not tell whom: so for
 * each thread of a process with several
 *     waits + rest = time in synchronisation and for locks of the breakdown, in ns,
 * and the waits at those ends of parallel regions, which the breakdown has elsewhere: of the master
 * in fork and join, of the others where nothing is recorded. Waits at barriers and for ends are
 * divided by ledgers of threads, which begin anew with each parallel region and barrier; where a
 * program has no regions of its own, the innermost construct stands for them.
 *
 * A wait is in measured time, so clocks that differ between nodes shift it. Not told: one-sided
 * operations.
 *
 * Only the first thread of a process is followed in MPI, unless `each_thread` says that others
 * communicate, too. Then each thread waits, is waited for, and has a ledger, which never begins
 * anew; what has no thread of its own there, the order of messages of a channel and of collective
 * operations, is that of the times at which the threads of a process sent, received and took part.
 * Two threads have met where the one waited for the other, and where both were the last of their
 * processes to take part in an operation in which all wait for all. Late receivers are not told.
 *
 * It rides on a pass (activity/pass.h). The result does not depend on the number of workers, nor on
 * the order in which they read. Memory: per process a ledger of at most LULL_WAIT_LEDGER places of
 * 24 bytes (those with least time become one, "elsewhere"), twice as much for each process that it
 * waits for, as much for each communicator; a charge for each place that made others wait; what has
 * been read of processes that cannot go on yet; and what is sent and not received, each message
 * with the ledger of its sender. A worker reads a block of events of each process at a time, so
 * that is the messages of a block. In a team each message to a process of another member goes there
 * with the ledger of its sender, and a member is ahead of the others by no more than 64 MiB of
 * these hold. */
#ifndef LULL_WAIT_WAIT_H
#define LULL_WAIT_WAIT_H

#include "activity/pass.h"
#include "team/division.h"

enum lull_wait_kind {
    /* of processes, in calls of MPI */
    LULL_WAIT_LATE_SENDER,
    LULL_WAIT_WRONG_ORDER,
    LULL_WAIT_LATE_RECEIVER,
    LULL_WAIT_BARRIER,
    LULL_WAIT_N_TO_N,
    LULL_WAIT_EARLY_REDUCE,
    LULL_WAIT_LATE_BROADCAST,
    LULL_WAIT_EARLY_SCAN,
    LULL_WAIT_MPI_KINDS,
    /* of threads for others of their process */
    LULL_WAIT_THREAD_BARRIER = LULL_WAIT_MPI_KINDS,
    LULL_WAIT_LOCK,
    LULL_WAIT_THREAD_JOIN,
    LULL_WAIT_KINDS
};
const char *lull_wait_kind_name(unsigned kind); /* "late sender" */

enum {
    LULL_WAIT_LEDGER = 64,
    LULL_WAIT_HELD = 4, /* waits for senders whose kind may still change, of each process */
    /* What is no larger is sent without waiting for its receive by every MPI library as it is
     * installed: the smallest limit of a transport that is found is that of Open MPI's shared
     * memory (btl_sm_eager_limit, btl_vader_eager_limit). */
    LULL_WAIT_EAGER = 4096
};

/* A process or region that stands for several which a ledger had no room for. */
#define LULL_WAIT_ELSEWHERE (UINT32_MAX - 1)

/* What made others wait: a process was long in a region of the user, or in MPI itself. */
struct lull_wait_place {
    uint32_t process; /* or LULL_WAIT_ELSEWHERE */
    uint32_t region;  /* innermost of the user; LULL_NONE: in none, or in MPI */
    uint32_t call;    /* region of the call by which the others' wait ended: the send, or the
                         collective operation; LULL_NONE: outside of calls */
    uint32_t in_mpi;  /* 1: the time went into MPI, where it did not wait for others */
    uint32_t thread;  /* location, where threads wait for each other, or each is followed; else
                         LULL_NONE */
};

struct lull_wait_charge {
    struct lull_wait_place place;
    uint8_t kind;      /* of the waits: enum lull_wait_kind */
    int64_t ns;        /* that others waited for it, over all of them */
    int64_t passed_ns; /* of that: who waited, waited for somebody else whom this kept */
    uint64_t waits;    /* how many waits have a part in it */
    struct {
        uint32_t location; /* that waited */
        int64_t begin, ns; /* of the wait, all of it, outside of windows as well */
    } longest;             /* the first of the longest */
};

/* Where the time of a location in calls of MPI, and in waits for other threads of its process,
 * went, as far as it is inside the windows. */
struct lull_wait_location {
    int64_t mpi_ns; /* in all: the sum of the waits of MPI, transfer and unmatched */
    int64_t waited_ns[LULL_WAIT_KINDS];
    int64_t transfer_ns;
    int64_t unmatched_ns; /* of what they wait for nothing is known: MPI_Init, MPI_Probe, one-sided
                             operations, or records are missing */
    int64_t threads_ns;   /* in barriers and joins of threads and for locks: the sum of their waits
                             and the rest */
    int64_t threads_ends_ns; /* of that: at ends of parallel regions whose barrier the trace does
                                not tell; elsewhere in the breakdown */
    int64_t threads_rest_ns; /* nobody was waited for any more, or for whom is not known */
};

struct lull_wait_result {
    const char *absent;                     /* why there is none; NULL: there is one */
    bool needs_each_thread;                 /* that is why: see the option */
    const struct lull_wait_charge *charges; /* most ns first */
    uint32_t n_charges;
    const struct lull_wait_location *locations;     /* [n_locations] of the trace; or absent */
    int64_t waited_ns;                              /* of all; the sum of the charges */
    uint64_t messages, collectives;                 /* received; each process counts */
    uint64_t unmatched_sends, unmatched_operations; /* receives and collectives without others */
};

struct lull_wait_options {
    uint32_t application;
    const struct lull_windows *windows; /* of the pass; NULL: the whole run */
    /* Of a team, whose members all do the same at the same time (create, pass, conclude), each with
     * the range of the pass that is its own: the first has the result. NULL: alone. */
    const struct lull_division *division;
    unsigned workers; /* of the pass, where there is a division */
    bool each_thread; /* threads beside the first of their process communicate: each is followed */
    bool threads;     /* threads of a process that wait for each other, too: the pass then reads all
                         threads, and its visits are those of lull_waits_visits */
};

struct lull_waits;

/* `trace` and `windows` are borrowed until the end. Fails with LULL_ERR_MEMORY. */
lull_status lull_waits_create(const struct lull_trace *trace,
                              const struct lull_wait_options *options,
                              struct lull_waits **ret_waits, struct lull_error *err);
void lull_waits_destroy(struct lull_waits *waits); /* NULL is allowed */

/* [n_regions]: whose VISITs it needs, and those of `others`, if not NULL; lives as long as `waits`.
 */
const bool *lull_waits_visits(struct lull_waits *waits, const bool *others);

/* What a pass is given; lives as long as `waits`. Any worker may hand over any location. */
struct lull_consumer lull_waits_consumer(struct lull_waits *waits);

/* After a pass that went well, of all members. The result lives in `arena`; on others than the
 * first of a team it has only what is absent. */
lull_status lull_waits_conclude(struct lull_waits *waits, struct lull_arena *arena,
                                struct lull_wait_result *ret_result, struct lull_error *err);

#endif
