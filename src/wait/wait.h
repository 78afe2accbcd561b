/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits: how long each process waited in MPI, and each thread for other threads of its process; for
 * whom it waited, and what caused the wait.
 *
 * A wait in MPI is the part of a call before the event that the call needed:
 *
 *   late sender      a call that receives messages: until the last of them was sent
 *   barrier, n to n  until the last process came to the operation
 *   early reduce     the root of a reduce or gather: until the last process came
 *   late broadcast   all but the root of a broadcast or scatter: until the root came
 *   early scan       until the last of the lower ranks came
 *   finalize         MPI_Finalize: until the last process came to it. Found only where some
 *                    communicator of the trace has all processes of the program
 *   wrong order      a late sender, where another message that the process received in a later call
 *                    had been sent when the wait began: the definition of Scalasca. Of each process
 *                    only the last LULL_WAIT_HELD waits for senders can become one
 *   late receiver    a send that waits for its receive: until the receive was posted, by a call
 *                    that began before the send ended. Such sends are synchronous sends, and
 *                    blocking sends of the standard mode (MPI_Send) with more than LULL_WAIT_EAGER
 *                    bytes that began before the post and ended after it; that the latter waited is
 *                    likely, not certain. Not found where it is not known when the send ends which
 *                    message the receive takes (a receive from any source or of any tag that is not
 *                    complete), nor for persistent receives in traces of other tracers than lull
 *
 * In an inter-communicator, a process waits for those of the other group whose data it gets: in a
 * barrier or n to n for the last of them, as the root of a reduce also for the last of them, in a
 * broadcast for the root. The other processes of the root's group wait for nobody.
 *
 * Where several processes came last in the same ns, the one of the lowest rank is charged: each of
 * them alone would have been waited for as long. To divide a wait among all of them would take as
 * many divisions as there are ranks, for each rank that waits.
 *
 * The rest of a call is transfer; or it is unmatched, if the trace does not tell what the call
 * waited for. So
 *     waits + transfer + unmatched = time in calls of MPI, in ns, for each process.
 *
 * Each wait is charged to places, along the chain of processes that kept each other waiting. Each
 * process has a ledger of what it did since the last meeting of all processes: its own time by
 * region of the user, its time in MPI without waits, and its waits by the places that they were
 * charged to. When A waits for B, A waits because of what B did more of than A since the two last
 * met. For each entry of the ledgers the excess is d = max(0, B's - A's), and the wait is divided
 * in proportion to the excesses, in whole ns; what rounding leaves goes to the parts with the
 * largest fractions. A part is charged to B's region or, where the entry is a wait of B, to the
 * place that B's wait was charged to; and the part becomes a wait in A's ledger. So a delay that
 * comes through others is charged to the process that began it. Example: B computes 3 s in "solve"
 * while A computes 1 s there, so A's wait of 2 s is charged to B's "solve". Two processes meet
 * where one waits for the other, because from then on neither is behind, and where both take part
 * in an operation in which all wait for all. Where such an operation is one of all processes of the
 * program, all ledgers begin anew.
 *
 * That is the delay cost of D. Boehme et al., Identifying the Root Causes of Wait States in
 * Large-Scale Parallel Applications, ACM TOPC 3(2), 2016, 10.1145/2934661, in one pass forward: the
 * authors replay the trace backward, from each wait to the meeting before it.
 *
 * Waits of threads of a process (with `threads` of the options):
 *
 *   thread barrier   from when a thread comes to a barrier of OpenMP or pthreads, also an implicit
 *                    one, until the last thread came. When the first thread leaves, all have come;
 *                    tasks that run meanwhile are no wait. Nested teams are taken for one team.
 *                    Where a trace tells no implicit barrier (Extrae), all threads meet at the end
 *                    of a parallel region
 *   lock             for a critical or ordered section: while another thread of the process was in
 *                    such a section. For a lock that is set by a call: while another thread had the
 *                    lock, where the trace says who took and gave back which lock (Score-P does,
 *                    lull's own recorder does not). The thread that had the lock last before the
 *                    wait ended is charged with the time that it had the lock during the wait; then
 *                    the thread that had it before that one, and so on
 *   thread join      until a thread that the program made has ended
 *
 * The rest of the time in barriers, joins and for locks is time in which nobody was waited for any
 * more, or for which the trace does not tell who was waited for. So for each thread of a process
 * with several threads
 *     waits + rest = time in synchronisation and for locks of the breakdown, in ns,
 * plus the waits at the ends of parallel regions whose barrier is not told. The breakdown counts
 * these waits elsewhere: those of the master as fork and join, those of other threads as time in
 * which nothing is recorded. Waits at barriers and in joins are divided by ledgers of threads,
 * which begin anew with each parallel region and barrier. Where a program has no regions of its
 * own, the innermost construct stands for them.
 *
 * A wait is in measured time, so clocks that differ between nodes change it. Waits in one-sided
 * operations are not found.
 *
 * Only the first thread of a process is followed in MPI, unless `each_thread` says that other
 * threads communicate, too. Then each thread waits, is waited for, and has a ledger, which never
 * begins anew. The messages of a channel and the collective operations are those of the process:
 * they are numbered by the times at which its threads sent, received and took part. Two threads
 * have met where one waited for the other, and where both were the last of their processes to take
 * part in an operation in which all wait for all. Late receivers are not found then.
 *
 * Waits for devices, and of devices (with `devices` of the options): what kept threads in calls that
 * wait for operations of devices, and what kept devices that ran nothing (wait/device_wait.h). They are
 * charged apart from the waits above.
 *
 * The analysis is a consumer of a pass (activity/pass.h). The result does not depend on the number
 * of workers, nor on the order in which they read. Memory:
 *  - per process a ledger of at most LULL_WAIT_LEDGER places of 24 bytes (the places with the least
 *    time become one, "elsewhere"), two more ledgers for each process that it waits for, and one
 *    for each communicator;
 *  - a charge for each place that made others wait;
 *  - the notes of processes that cannot go on yet;
 *  - messages that are sent and not received, each with the ledger of its sender. A worker reads a
 *    block of events of each process at a time, so these are the messages of a block.
 *
 * In a team a message to a process of another member goes to that member with the ledger of its
 * sender. Readers of a member rest while it is more than 64 MiB of such letters ahead of the others
 * (wait/letters.h). */
#ifndef LULL_WAIT_WAIT_H
#define LULL_WAIT_WAIT_H

#include "activity/reading.h"
#include "team/division.h"
#include "wait/wait_result.h"

struct lull_wait_options {
    /* The reading of the pass; may be NULL. In a team, all members create, pass and conclude
     * together, and the first member has the result. */
    const struct lull_reading *reading;
    unsigned workers; /* the number of workers of the pass; used only where the reading has a
                         division */
    bool each_thread; /* threads other than the first of their process communicate: each thread is
                         followed */
    bool threads;     /* waits of threads for others of their process are wanted, too: the pass then
                         reads all threads */
    bool devices; /* what kept threads in calls that wait for devices is wanted, too: the pass then
                         reads all locations */
};

struct lull_waits;

/* `trace` and the reading are borrowed until lull_waits_destroy. Fails with LULL_ERR_MEMORY, or
 * where the team fails. */
lull_status lull_waits_create(const struct lull_trace *trace,
                              const struct lull_wait_options *options,
                              struct lull_waits **ret_waits, struct lull_error *err);
void lull_waits_destroy(struct lull_waits *waits); /* NULL is allowed */

/* The consumer to be given to a pass; lives as long as `waits`. Any worker may hand over any
 * location. */
struct lull_consumer lull_waits_consumer(struct lull_waits *waits);

/* Called by all members together, after a pass that succeeded. The result lives in `arena`; on
 * members other than the first it tells only whether it is absent. */
lull_status lull_waits_conclude(struct lull_waits *waits, struct lull_arena *arena,
                                struct lull_wait_result *ret_result, struct lull_error *err);

#endif
