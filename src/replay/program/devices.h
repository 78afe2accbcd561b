/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices of a replay: each device stream is a stream of the program, whose operations need what they needed in the run.
 * Internal to the room.
 *
 * An operation begins at the latest of three moments: some *latency* after the call that submits it has begun; some *lag*
 * after the end of the operation before it on its stream; at the ends of the operations of other streams that it depends on.
 * A thread that waits for an operation, or for a stream, goes on when that has ended. Example: a kernel was submitted at
 * 10 and ran from 18 on, and its stream had been idle since 5: the latency is 8. The next one was submitted at 12, and
 * began at 41, when the first had ended at 40: the lag is 1. A replay in which the first kernel takes no time begins the
 * second one at 20, 8 behind its submission, as nothing says that its own latency was less.
 *
 * In SYNCs (sim/program.h) the thread that submits arrives, `latency` later, and the stream waits; at the end of an
 * operation the stream arrives, and those wait who did so in the run.
 *
 * What of the three was decisive in the run is known, and how long it took; the other two are taken to have been no slower
 * than is usual in the process (the lower quartile of the latencies, and of the lags, that were decisive), nor than the
 * moment when the operation began. So an unchanged replay begins each operation when it began in the run. An operation of which
 * no submission is known begins as long after the one before as in the run.
 *
 * Where nothing tells which operations depend on those of other streams (Kineto), one that begins late although its stream
 * is free is taken to depend on what had ended last on another stream.
 *
 * The kernels of a joint exchange (match/exchange.h) wait for each other: behind its begin each takes part in a COLLECTIVE of the
 * circle's group, and ends some time behind the begin of the last one, as in the run; or the network says how long. A kernel that others
 * wait for takes part in a COLLECTIVE of the two for each link when it begins, without waiting there. What
 * is not known takes as long as measured. Example: in a run rank 0 began at 10, rank 1 at 30, and both ended at 34. If
 * rank 1 begins at 15, both end at 19, and on an ideal network at 15.
 *
 * A thread beside the master that submits takes part as well. Where nothing tells what it waits for itself (it is in no
 * parallel region, was not seen to be made or joined, calls no MPI), the thread is *apart*: the master submits in its
 * place, as much later as in the run after the master's last change between computing, calling MPI and calling the
 * runtime. Example: an apart thread launches a kernel at 60, and the master is in a call that has begun at 50: the kernel
 * is submitted 10 after the begin of that call.
 *
 * A wait or dependence is left out if what it needs was submitted later, or waits for a rank that began no earlier than the wait
 * ended: clocks or numbers are wrong then, and the replay would never end.
 *
 * Copies overlapped (`overlap` of struct lull_device_change): the copies and fills of a stream that also has other
 * operations are on a *track* of their own, which is a stream of the program. Each operation comes behind the one before on
 * its track, not on its stream; its submission and the operations of other streams and tracks that it depends on, as the
 * run tells, are as before. Who waits for an operation, in the host or on another stream, waits for all of its stream up to
 * that, on both tracks, as an event of the device's runtime does. An operation of which no submission is known still comes
 * behind all before it on its stream. So nothing begins later than without the change. Example: a stream copies from 0 to 10 and computes from 10 to
 * 40, both were submitted before 0, and the host waits for the stream: the kernel runs from 0 to 30, and the host goes on at
 * 30. Mostly nothing but their order tells that the kernel needs what the copy brings; so this is the most that can be had.
 *
 * Graphs (`graphs` of struct lull_device_change): a *sequence* is what a thread submits between two of its waits for devices
 * or calls of MPI, by the names, streams and numbers of operations. If that is a shorter sequence of two submissions or more
 * again and again (a b c a b c a), the shorter one counts (a b c, twice). A sequence of two submissions or more that the thread
 * has submitted before is submitted by the call that submitted its first operation: the latency is that of the first one, and
 * the calls of the others take no time. What the thread does in between still takes its time. */
#ifndef LULL_REPLAY_PROGRAM_DEVICES_H
#define LULL_REPLAY_PROGRAM_DEVICES_H

#include "activity/reading.h"
#include "match/device_log.h"
#include "match/exchange.h"
#include "sim/program.h"

struct lull_replay_devices;

/* From the log of a run, with places, names and waits; `meets` says of each location whether it is known how it waits for
 * other threads of its process; `shifts` as in match/exchange.h; the trace must outlive the result. Memory: some 15 bytes for each operation,
 * and, for one process at a time, 200. */
lull_status lull_replay_devices_make(const struct lull_trace *trace, uint32_t application,
                                     const struct lull_device_log *log, const bool *meets,
                                     const int64_t *shifts,
                                     struct lull_replay_devices **ret_devices,
                                     struct lull_error *err);
void lull_replay_devices_destroy(struct lull_replay_devices *devices); /* NULL is allowed */

/* Whether a location is a stream that ran something, or a thread that submits or waits for something: it takes part. */
bool lull_replay_devices_need(const struct lull_replay_devices *devices, uint32_t location);

/* How long kernels ran on a stream, ns. */
int64_t lull_replay_devices_kernel_ns(const struct lull_replay_devices *devices, uint32_t location);

/* Whether a stream had both copies (or fills) and other operations. */
bool lull_replay_devices_mixes(const struct lull_replay_devices *devices, uint32_t location);

/* Whether a thread submits a sequence of operations again, so that graphs would make a difference. */
bool lull_replay_devices_repeat(const struct lull_replay_devices *devices);

/* The exchanges between devices that are known. */
const struct lull_exchanges *
lull_replay_devices_exchanges(const struct lull_replay_devices *devices);

/* ---- threads --------------------------------------------------------------------------------- */

struct lull_device_change;

/* `sync` numbers it in the process, `waiting` operations wait for it, `latency` (ns) is theirs. Of graphs: so many operations
 * wait if a call submits a whole sequence, 0: the sequence is submitted by another call; then this one, which takes
 * `call_ns` in the run, takes no time. */
struct lull_device_submission {
    uint32_t sync, waiting, together;
    int64_t latency, call_ns;
};
/* How many operations wait for it, where `change` (NULL: nothing) is supposed; 0: none, it is left out. */
uint32_t lull_device_waiting(const struct lull_device_submission *submission,
                             const struct lull_device_change *change);

/* What a thread submits and waits for, in its order; of a master also what threads that are apart submit. */
struct lull_device_caller {
    struct lull_varint_reader submits, waits, apart;
    struct lull_device_submission next; /* of those that are apart */
    int64_t anchor; /* measured: when the master's state began in which that was submitted */
    bool has_next;
    uint64_t submitted, awaited; /* the SYNCs that were read last, */
    int64_t end;                 /* and the end of an operation */
};
struct lull_device_caller lull_device_caller_open(const struct lull_replay_devices *devices,
                                                  uint32_t location);

/* For each SUBMIT of the thread in turn: false: nothing waits for it, or the thread is apart. */
bool lull_device_caller_submits(struct lull_device_caller *caller,
                                struct lull_device_submission *ret_submission);

/* The next submission of a thread apart whose anchor is not behind `time`; false: there is none. `latency` is from the
 * anchor on. */
bool lull_device_caller_submits_apart(struct lull_device_caller *caller, int64_t time,
                                      struct lull_device_submission *ret_submission);

/* For each DEVICE_WAIT of the thread in turn: false: it waits for nothing that is known. */
struct lull_device_awaited {
    uint32_t sync, waiting; /* of the operation, for which so many wait in all */
    int64_t end;            /* measured: of the operation, ns */
};
bool lull_device_caller_waits(struct lull_device_caller *caller,
                              struct lull_device_awaited *ret_awaited);

/* What is supposed of devices. */
struct lull_device_change {
    const double *kernels; /* [n_regions]: factor of kernels by name; NULL: as measured */
    const double *streams; /* [n_locations]: factor of the kernels there; NULL: as measured */
    double copies;         /* factor of copies and fills */
    bool no_latency;       /* operations could begin when the call that submits them does */
    bool ahead;            /* operations need no submission: it came long before */
    bool overlap;          /* copies and fills run beside the other operations of their stream */
    bool graphs;           /* one call submits a sequence that was submitted before */
};

/* SYNCs of devices. `change`, which may be NULL, decides how many arrive at the completion of an operation. */
struct lull_op lull_device_submitted(enum lull_sync_part part, uint32_t number, uint32_t waiting,
                                     int64_t delay);
struct lull_op lull_device_completed(enum lull_sync_part part, uint32_t number, uint32_t waiting,
                                     const struct lull_device_change *change);

/* ---- streams --------------------------------------------------------------------------------- */

struct lull_device_stream;

/* Which operations of a device stream are on a stream of the program. */
enum lull_device_track { LULL_TRACK_ALL, LULL_TRACK_COPIES, LULL_TRACK_OTHERS };

/* How long an exchange between devices (match/exchange.h) takes once its last rank has begun. */
enum lull_exchange_cost {
    LULL_EXCHANGES_AS_MEASURED,
    LULL_EXCHANGES_BY_NETWORK, /* as a collective operation of MPI; as measured where its bytes are not told */
    LULL_EXCHANGES_FREE /* no time */
};

/* `window`: what lies outside takes no time; submissions from `ends_at` on do not come. `change` may be NULL. */
struct lull_device_stream_options {
    struct lull_interval window;
    int64_t ends_at;
    int64_t shift; /* ns, before everything */
    const struct lull_device_change *change;
    uint8_t track;         /* enum lull_device_track */
    uint8_t exchanges;     /* enum lull_exchange_cost */
    uint32_t first_circle; /* group of the first circle */
    const uint32_t *ranks; /* [n_processes]: of the program */
};
struct lull_device_stream *
lull_device_stream_open(const struct lull_replay_devices *devices, uint32_t location,
                        const struct lull_device_stream_options *options); /* NULL: no memory */
void lull_device_stream_close(struct lull_device_stream *stream);          /* NULL is allowed */
/* The next operation of the stream; false: there is none. */
bool lull_device_stream_next(struct lull_device_stream *stream, struct lull_op *ret_op);

#endif
