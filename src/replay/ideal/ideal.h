/* SPDX-License-Identifier: BSD-3-Clause */
/* Ideal runtime: how long a measured run would have taken on a network that costs nothing.
 *
 * All that is not MPI stays as measured, and so do one-sided and file operations (the kept time of
 * activity/step.h). All processes last until the end of the run: what comes behind the last event
 * of a process counts as its computation. All efficiencies count so, and their longest time outside
 * MPI must not be longer than this runtime. A call of MPI takes no time, but waits for what it
 * needs from others:
 *  - a receive for its message to be sent;
 *  - a barrier, allreduce, allgather, alltoall or reduce_scatter for all;
 *  - a broadcast or scatter for its root; a reduce or gather, at its root, for all;
 *  - a scan for the ranks before;
 *  - between two groups, a root and the other group for each other in the same way, and nobody for
 *    the other members of the root's group; in operations without a root each group for the other
 *    one; in the making of communicators all for all.
 * Sends are complete at once, except for synchronous ones, which are over when their receive has
 * begun. MPI inside an OpenMP parallel region keeps its measured length, and waits longer where it
 * must.
 *
 * Threads beside the master that communicate (by messages or collectives) are followed from their
 * first such call on; those of OpenMP meet their master where it forks and joins. The messages that
 * the threads of a process send or receive on one channel are numbered by measured time.
 *
 * Threads that the program makes itself, where the recorder tells it (activity/step.h), are
 * followed from when they are made: a join waits for the end of its thread, a barrier for all that
 * come to it. Such a wait keeps its measured length, as all time in a parallel region does, because
 * all efficiencies count it as time outside MPI.
 *
 * The ideal times are a recurrence of sums and maxima, for which no event queue is needed: each
 * thread runs ahead until it needs something that has not been sent. The computation rides on a
 * pass (activity/pass.h). The processes of a few workers are a share; one of these workers
 * evaluates it while the others read on. Shares post each other what they send, in batches, also to
 * shares of other members of a team. The result does not depend on the number of members and
 * workers, nor on the order in which they read. Behind an operation of all processes, times count
 * from there, so that shares need not wait for each other (epochs.h).
 *
 * Memory: a stream per thread, 8 bytes per share and operation of all, and what is in flight. A
 * process with several threads also needs room for the notes that its other threads have not yet
 * been read up to. Each thread that the program makes takes about 100 bytes to the end, as it may
 * be joined as late as that. Where the receive of a synchronous send was not recorded, what stands
 * behind that send is kept to the end.
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

/* A message as it was measured, for users who want to know what messages cost. Times in ns. */
struct lull_ideal_message {
    uint32_t source, target; /* processes */
    uint32_t location;       /* that received it; its messages are told call by call */
    uint64_t bytes;
    int64_t sent;     /* the sender began to send it */
    int64_t called;   /* the receiver began to wait for it */
    int64_t received; /* it was there */
    bool with_sends;  /* the call that received it waited for sends, too */
};

/* The most parts of a critical path, and the most places where it changes that are told apart. */
enum { LULL_IDEAL_PARTS = 256, LULL_IDEAL_SITES = 256 };

struct lull_ideal_options {
    /* That of the pass; may be NULL. In a team all members do the same together (create, pass,
     * conclude), and the first has the result. Its windows are not looked at (see has_span). */
    const struct lull_reading *reading;
    bool masters_only; /* the pass reads only the first thread of each process */
    /* All threads are read, but those beside the masters are taken not to communicate, as in most
     * runs. So the notes of the threads of a process need not be brought into one order. If such a
     * thread communicates after all, lull_ideal_others_call says so, and the result is void. */
    bool presumes_masters;
    bool without_epochs; /* false: streams may go on behind an operation of all as if all came to
                            it, and lull_ideal_look_back tells whether they did */
    bool calls_in_full;  /* another consumer of the pass wants CALL_BEGINs, so the pass has no
                            CALLs */
    bool has_span;       /* only the time from `from` to `to` counts, and what lies outside takes no
                            time; the windows of the pass are the same for every process */
    int64_t from, to;    /* ns */
    /* Called for each message, by the worker that has the receiver, in an order that depends on the
     * number of workers; may be NULL. */
    void (*message)(void *context, unsigned worker, const struct lull_ideal_message *message);
    void *message_context;
    size_t waiting;   /* notes of a share that may wait before the steps of threads that cannot go
                         on are no longer welcome; 0: 2^15, 1.3 MB */
    size_t ahead;     /* in a team: letters that a share may be ahead of other members; 0: 64 MiB of
                         letters for all shares of a member */
    unsigned readers; /* workers of a share, which evaluate it in turns; 0: 4 */
    /* The critical path is wanted: which part of the ideal runtime is spent in which region. `part_of` says of
     * each region of the user and of each parallel region ([n_regions]) to which of `n_parts` parts (at most LULL_IDEAL_PARTS) its time belongs, those that it
     * calls excluded; part 0 is that of time in no region. n_parts 0: the path is not wanted. */
    const uint32_t *part_of;
    unsigned n_parts;
    /* With a path: of each region of MPI ([n_regions]) which of `n_sites` (at most LULL_IDEAL_SITES) numbers counts where
     * the path changes to another thread, number 0 also where that is in no call. */
    const uint32_t *site_of;
    unsigned n_sites;
};

struct lull_ideal_result {
    int64_t runtime; /* ns; meaningless if absent */
    /* The critical path, [n_parts], ns, of which `runtime` is the sum: begin at the last thread to end, and
     * go back; where a thread waited, go on at the one for which it waited last. NULL: not wanted, or
     * the runtime is absent. Where two paths are as long, the one with more in its first parts counts. */
    const int64_t *path;
    /* With `path`: how long all threads that were followed together were in each part, ns: if threads differ in
     * nothing, each part has the same share of this and of the path. */
    const int64_t *spent;
    const int64_t *changes; /* with `path`: how often it comes from another thread, [n_sites] */
    const char *absent;     /* why there is none, in a few words ("collectives were not
                                       recorded"); NULL: there is one */
    const char *detail;     /* with `absent`: one line for the user with the place */
    /* With `absent` where threads wait for what was not recorded: until when the operations of each
     * thread are complete, [n_locations] on each member, ns. For the master of a process that never
     * came to MPI_Finalize that is its last event, at most; INT64_MAX: to its end. Else NULL. */
    const int64_t *ends;
    bool incomplete;                /* with `absent`: `runtime` is known, but too much time of calls
                                       was lost (lost_ns) */
    uint64_t messages, collectives; /* that were matched */
    /* Sends and receives of these messages, and each process in each of these collectives. */
    uint64_t operations;
    uint64_t unmatched_sends; /* messages that nobody receives */
    int64_t lost_ns;  /* of the thread with most of it: its time in calls whose records were lost.
                         It is not known what they waited for, and they are taken to need no time */
    const char *lost; /* name of such a call, "MPI_Ibarrier"; NULL: there was none */
};

/* ---- as a consumer of a pass --------------------------------------------------------------- */

struct lull_ideal;
struct lull_consumer;

/* For a pass with exactly so many workers, each with a thread of its own. `trace` and `options` are
 * borrowed until lull_ideal_destroy. */
lull_status lull_ideal_create(const struct lull_trace *trace,
                              const struct lull_ideal_options *options, unsigned workers,
                              struct lull_ideal **ret_ideal, struct lull_error *err);
void lull_ideal_destroy(struct lull_ideal *ideal); /* NULL is allowed */

/* The consumer to be given to the pass; it lives as long as `ideal`. */
void lull_ideal_consumer(struct lull_ideal *ideal, struct lull_consumer *ret_consumer);

/* After a pass: whether `presumes_masters` was wrong. */
bool lull_ideal_others_call(const struct lull_ideal *ideal);
/* After a pass that went well, by all members of a team together: whether the options presumed
 * something that was wrong for some member. Then *ret_again is true, `ideal` is good for nothing
 * but lull_ideal_destroy, and the run is to be read again with *options, which presume less now. */
lull_status lull_ideal_look_back(struct lull_ideal *ideal, struct lull_ideal_options *options,
                                 bool *ret_again, struct lull_error *err);

/* After lull_ideal_look_back, by all members together: the result, on the first. Whatever makes an
 * ideal runtime impossible is told in the result and is no failure; its texts live in `arena`. */
lull_status lull_ideal_conclude(struct lull_ideal *ideal, struct lull_arena *arena,
                                struct lull_ideal_result *ret_result, struct lull_error *err);

/* ---- in a pass of its own ------------------------------------------------------------------ */

/* The ideal runtime, in passes for nothing else. */
lull_status lull_ideal_runtime(const struct lull_trace *trace,
                               const struct lull_ideal_options *options, struct lull_arena *arena,
                               struct lull_ideal_result *ret_result, struct lull_error *err);

#endif
