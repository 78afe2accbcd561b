/* Ideal runtime: how long a measured run would have taken on a network that costs nothing.
 *
 * All that is not MPI stays as measured, and so do one-sided and file operations (activity/step.h
 * says what the kept time is), up to the end of the run on all processes: what comes behind the
 * last event of one is its own computation, as in all efficiencies, whose longest time outside MPI
 * must not be longer than this runtime. A call of MPI takes no time, except that it waits for what
 * it needs from others: a receive for its message to be sent; a barrier, allreduce, allgather,
 * alltoall or reduce_scatter for all; a broadcast or scatter for its root; a reduce or gather at
 * its root for all; a scan for the ranks before. Between two groups a root and the other group wait
 * for each other so, and nobody for the rest of the root's; in operations without a root each group
 * waits for the other one, in the making of communicators all for all. Sends are complete at once,
 * but for synchronous ones, which are over when their receive has begun. MPI inside an OpenMP
 * parallel region keeps its measured length, and waits longer where it must.
 *
 * Threads beside the master that communicate (by messages or collectives) are followed from their
 * first such call on; those of a team meet their master where it forks and joins. The messages that
 * the threads of a process send or receive on one channel are numbered by measured time.
 *
 * Threads that the program makes itself, where the recorder tells it (activity/step.h), are
 * followed from their beginning, which is when they are made: a join waits for the end of its
 * thread, a barrier for all that come to it. Such a wait keeps its measured length, as what is
 * spent in a parallel region does, because it counts as time outside MPI in all efficiencies.
 *
 * That is a recurrence of sums and maxima without an event queue: each thread runs ahead until it
 * needs something that has not been sent. It rides on a pass (activity/pass.h): the processes of a
 * few workers are a share, which one of them evaluates while the others read on, and shares post
 * each other what they send, in batches, also to shares of other members of a team. The result
 * does not depend on the number of members and workers, nor
 * on the order in which they read. Behind an operation of all, times count from there, so that
 * shares need not wait for each other (epochs.h). Memory: a stream per thread, 8 bytes per share
 * and operation of all, and what is in flight. Of a process with several threads also what its
 * other threads have not yet been read up to; for each thread that the program makes about 100
 * bytes to the end, as it may be joined as late as that. Where the receive of a synchronous send
 * was not recorded, what stands behind that send is kept to the end.
 *
 * If no message was received before it was sent, and windows are the same for all processes, then
 *     longest time of a master outside MPI <= ideal runtime <= measured runtime.
 * Source: POP metrics, "runtime on an ideal network"; Dimemas with no latency and no end to
 * bandwidth. */
#ifndef LULL_REPLAY_IDEAL_IDEAL_H
#define LULL_REPLAY_IDEAL_IDEAL_H

#include "team/division.h"
#include "trace/scan.h"

#include <stddef.h>

/* A message as it was measured, for who wants to know what messages cost. */
struct lull_ideal_message {
    uint32_t source, target; /* processes */
    uint32_t location;       /* that received it; its messages come call by call */
    uint64_t bytes;
    int64_t sent;     /* the sender began to send it */
    int64_t called;   /* the receiver began to wait for it */
    int64_t received; /* it was there */
    bool with_sends;  /* the call that received it waited for sends, too */
};

struct lull_ideal_options {
    uint32_t application;
    struct lull_process_range range; /* of the pass */
    /* Of a team, whose members all do the same at the same time (create, pass, conclude), each with
     * the range that is its own: the first has the result. NULL: alone. */
    const struct lull_division *division;
    bool masters_only; /* the pass reads only the first thread of each process */
    /* All threads are read, and those beside the masters are taken not to communicate, as in most
     * runs: that saves bringing what the threads of a process do into one order. Should one do so
     * after all, lull_ideal_others_call says so, and the result is void. */
    bool presumes_masters;
    bool without_epochs; /* else streams may go on behind an operation of all as if all came to it,
                            and lull_ideal_look_back tells where they did not */
    bool calls_in_full;  /* another consumer of the pass wants CALL_BEGINs, so it has no CALLs */
    bool has_span;       /* only the time from `from` to `to`, which are the window of the pass for
                            every process: what lies outside takes no time */
    int64_t from, to;    /* ns */
    /* Called for each message, by the worker that has the receiver, in an order that depends on the
     * number of workers; may be NULL. */
    void (*message)(void *context, unsigned worker, const struct lull_ideal_message *message);
    void *message_context;
    size_t waiting;   /* steps of a worker that may wait before threads that cannot go on are no
                         longer welcome; 0: 2^15, 1.3 MB */
    size_t ahead;     /* letters that a share of a team may be ahead of other members; 0: 64 MiB of
                         them for all shares of a member */
    unsigned readers; /* workers that evaluate together, in turns; 0: 4 */
    unsigned workers; /* of lull_ideal_runtime; 0: as many as there are processors */
    void (*progress)(void *context, double share); /* of lull_ideal_runtime */
    void *progress_context;
};

struct lull_ideal_result {
    int64_t runtime;                /* ns; meaningless if absent */
    const char *absent;             /* why there is none, in a few words ("collectives were not
                                       recorded"); NULL: there is one */
    const char *detail;             /* with `absent`: one line for the user with the place */
    bool incomplete;                /* with `absent`: it is known but for the lost time below */
    uint64_t messages, collectives; /* matched */
    uint64_t steps;                 /* that were read: about one or two for each call of MPI */
    uint64_t unmatched_sends;       /* messages that nobody receives */
    int64_t lost_ns;  /* longest time of a thread in calls whose records were lost, so that
                         it is not known what they waited for; taken as no time */
    const char *lost; /* such a call, "MPI_Ibarrier"; NULL: there was none */
};

/* ---- as a consumer of a pass ----------------------------------------------------------------- */

struct lull_ideal;
struct lull_consumer;

/* For a pass with exactly so many workers, each of which has a thread of its own. `trace` and
 * `options` are borrowed until the end. */
lull_status lull_ideal_create(const struct lull_trace *trace,
                              const struct lull_ideal_options *options, unsigned workers,
                              struct lull_ideal **ret_ideal, struct lull_error *err);
void lull_ideal_destroy(struct lull_ideal *ideal); /* NULL is allowed */

/* What the pass is given; the consumer lives as long as `ideal`. */
void lull_ideal_consumer(struct lull_ideal *ideal, struct lull_consumer *ret_consumer);

/* After a pass: whether `presumes_masters` was wrong. */
bool lull_ideal_others_call(const struct lull_ideal *ideal);
/* After a pass that went well: whether what it presumed was wrong, of any member of a team, which
 * call this together. Then nothing else is to be asked of it, and the run is to be read again with
 * these options, which are changed so that they presume less. */
lull_status lull_ideal_look_back(struct lull_ideal *ideal, struct lull_ideal_options *options,
                                 bool *ret_again, struct lull_error *err);

/* After that. What makes an ideal runtime impossible is told in the result; the
 * texts live in `arena`. */
lull_status lull_ideal_conclude(struct lull_ideal *ideal, struct lull_arena *arena,
                                struct lull_ideal_result *ret_result, struct lull_error *err);

/* ---- alone ----------------------------------------------------------------------------------- */

/* A pass for the ideal runtime alone. */
lull_status lull_ideal_runtime(const struct lull_trace *trace,
                               const struct lull_ideal_options *options, struct lull_arena *arena,
                               struct lull_ideal_result *ret_result, struct lull_error *err);

#endif
