/* SPDX-License-Identifier: BSD-3-Clause */
/* Disturbing the program on purpose (`lull record --inject`): computations that last longer, and
 * messages that take at least a given time (record/mpi/disturb.h). A file of plain numbers
 * (tape/inject.h), whose path is in LULL_RECORD_INJECT, says what is to be done.
 *
 * Nothing of this runs unless it is asked for: rec_process.disturbs is false then, and the wrappers
 * of MPI functions never come here. What cannot be done is left out and told once; the program then
 * runs on as it would alone.
 *
 * A computation is what the thread that called MPI_Init does between the end of MPI_Init, or of a
 * call that sends, receives, waits or takes part in a collective operation, and the begin of the
 * next such call, if that is LULL_TAPE_LEAST_COMPUTATION or longer. Calls that only test end no
 * computation. Noise and delays come at its end, as regions `noise` and `delay`. */
#ifndef LULL_RECORD_INJECT_H
#define LULL_RECORD_INJECT_H

#include "tape/inject.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== inject ================================================================================== */

/* The network that messages are to have at least: `latency` in ns, and ns per byte. Constant once
 * the program runs. */
struct rec_injected_network {
    bool on;
    double latency, ns_per_byte;
};
extern struct rec_injected_network rec_injected_network;

/* Reads the file; sets rec_process.disturbs, unless it cannot be read, which is told. */
void rec_inject_start(const char *path);
/* The process ends: writes into the run how many messages were held back (rec_define_held). */
void rec_inject_end(void);

/* MPI_Init is over on this thread, whose process has that rank in MPI_COMM_WORLD. */
void rec_inject_begin(uint32_t rank);
/* The name of the function whose calls begin iterations; NULL: the program marks them (lull.h). */
const char *rec_inject_iterations(void);
/* Called where a call begins that ends a computation. First the time of the noise and the delays
 * passes; the function returns when the call begins after that, in ns of CLOCK_MONOTONIC. */
int64_t rec_inject_come(bool begins_iteration);
/* Called when that call has ended: the next computation begins. */
void rec_inject_go(void);
/* The program says that an iteration begins (lull.h). */
void rec_inject_mark(uint64_t iteration);

/* The present, in ns of CLOCK_MONOTONIC. */
int64_t rec_inject_now(void);
/* Returns at the moment `until`, or less than 1 us later where the thread keeps its core. While
 * `until` is far away the thread sleeps, so that another thread may have the core. Calls
 * `progress`, unless it is NULL, at least every 200 us. */
void rec_inject_hold(int64_t until, void (*progress)(void));

/* Counts a message that was received. `known`: it is known when the message was sent, so that the
 * message was held back, or had come late enough by itself. A message of which that is not known
 * was not held back. */
void rec_inject_count(bool known);

/* ==== longer computations ===================================================================== */

/* What follows is internal to the folder. */

/* How much time is lost to detours while `work` > 0 ns are done, from the moment `at` of a period
 * on that has n > 0 detours. Lost are the rest of the detour that is under way at that moment, and
 * each detour that begins before the work is done. Simulations calculate the same
 * (sim/noise/noise.h). */
int64_t rec_lost_to_detours(const struct lull_tape_detour *detours, uint32_t n, int64_t period,
                            int64_t at, int64_t work);

/* ==== moments of sending ====================================================================== */

/* When messages were sent and collective operations begun. The processes of a node tell each other
 * through files in the run's folder that all of them map: each process writes into its own file,
 * and the receiver of a message takes its moment out of the sender's file.
 *
 * A key names one message of all, or one process's part in one operation; it is a hash of 64 bits,
 * never 0. All functions may be called by several threads at a time. Internal to the folder. */

/* Makes the file into which this process writes its moments; other processes find that file by the
 * number `process`. False: the file cannot be made. */
bool rec_moments_begin(uint32_t process);
void rec_moments_end(void);

/* The message was sent at that moment. Where there is no room near its place in the table, because
 * too many messages are under way, the oldest message there is forgotten. */
void rec_moment_send(uint64_t key, int64_t ns);
/* The message was not sent after all. */
void rec_moment_withdraw(uint64_t key);
/* Writes to *ret_ns when the process has sent the message, and with `take` forgets that moment.
 * False: the moment is not known. */
bool rec_moment_of_message(uint32_t process, uint64_t key, bool take, int64_t *ret_ns);

/* rec_moment_join notes when this process began its part of an operation; some thousand operations
 * later that moment is forgotten. rec_moment_of_part asks for the moment at which any process began
 * its part; false: the moment is not known. */
void rec_moment_join(uint64_t key, int64_t ns);
bool rec_moment_of_part(uint32_t process, uint64_t key, int64_t *ret_ns);

#endif
