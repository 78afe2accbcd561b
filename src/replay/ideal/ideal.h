/* Ideal runtime: how long a measured run would have taken on a network that costs nothing.
 *
 * All that is not MPI stays as measured (replay/reader.h says what that is), and so do
 * one-sided and file operations. A call of MPI takes no time, except that it waits for what it
 * needs from others: a receive for its message to be sent; a barrier, allreduce, allgather,
 * alltoall or reduce_scatter for all; a broadcast or scatter for its root; a reduce or gather at
 * its root for all; a scan for the ranks before. Sends are complete at once. MPI inside an OpenMP
 * parallel region keeps its measured length, and waits longer where it must.
 *
 * That is a recurrence of sums and maxima without an event queue: each thread runs ahead until it
 * needs something that has not been sent, the one that lags in measured time first, so that memory
 * holds what is in flight. If no message was received before it was sent, and windows are the same
 * for all processes, then
 *     longest time of a master outside MPI <= ideal runtime <= measured runtime.
 * Source: POP metrics, "runtime on an ideal network"; Dimemas with no latency and no end to
 * bandwidth. */
#ifndef LULL_REPLAY_IDEAL_IDEAL_H
#define LULL_REPLAY_IDEAL_IDEAL_H

#include "trace/trace.h"

/* A message as it was measured, for who wants to know what messages cost. */
struct lull_ideal_message {
    uint32_t source, target; /* processes */
    uint64_t bytes;
    int64_t sent;     /* the sender began to send it */
    int64_t called;   /* the receiver began to wait for it */
    int64_t received; /* it was there */
};

struct lull_ideal_options {
    uint32_t application;
    const bool *callers; /* [n_locations]: threads that communicate beside the masters; NULL: none.
                            They meet their master when it forks and joins. */
    bool has_span;       /* only the time from `from` to `to`: what lies outside takes no time */
    int64_t from, to;    /* ns */
    void (*message)(void *context, const struct lull_ideal_message *message); /* may be NULL */
    void *message_context;
    void (*progress)(void *context, double share);
    void *progress_context;
};

struct lull_ideal_result {
    int64_t runtime;                /* ns; meaningless if absent */
    const char *absent;             /* why there is none, in a few words ("collectives were not
                                       recorded"); NULL: there is one */
    const char *detail;             /* with `absent`: one line for the user with the place */
    bool incomplete;                /* with `absent`: it is known but for the lost time below */
    uint64_t messages, collectives; /* matched */
    uint64_t unmatched_sends;       /* messages that nobody receives */
    int64_t lost_ns;  /* longest time of a thread in calls whose records were lost, so that
                         it is not known what they waited for; taken as no time */
    const char *lost; /* such a call, "MPI_Ibarrier"; NULL: there was none */
};

/* More lost time than this share of the runtime, and the ideal runtime is not given. */
#define LULL_IDEAL_LOST_MOST 0.01

/* What makes a replay impossible is told in the result; the status is for failures of reading. */
lull_status lull_ideal_runtime(const struct lull_trace *trace,
                               const struct lull_ideal_options *options, struct lull_arena *arena,
                               struct lull_ideal_result *ret_result, struct lull_error *err);

#endif
