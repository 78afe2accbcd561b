/* Disturbing the program on purpose (`lull record --inject`): computations that last longer, and
 * messages that take a time at least (record/mpi/disturb.h). What is to be done stands in a file of
 * plain numbers (tape/inject.h), whose path is in LULL_RECORD_INJECT.
 *
 * Nothing of this runs unless it is asked for: rec_process.disturbs is false then, and the wrappers
 * of MPI functions never come here. What cannot be done is left out and told once; the program then
 * runs on as it would alone.
 *
 * A computation is what the thread that called MPI_Init does for LULL_TAPE_LEAST_COMPUTATION or
 * longer between the end of MPI_Init, or of a call that sends, receives, waits or takes part in a
 * collective operation, and the begin of the next such call; tests are none. Noise and delays come
 * at its end, as regions `noise` and `delay`. */
#ifndef LULL_RECORD_INJECT_H
#define LULL_RECORD_INJECT_H

#include "tape/inject.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== inject ================================================================================== */

/* Of messages: `latency` ns and `ns_per_byte`; constant once the program runs. */
struct rec_injected_network {
    bool on;
    double latency, ns_per_byte;
};
extern struct rec_injected_network rec_injected_network;

/* Reads the file; sets rec_process.disturbs, unless it cannot be read, which is told. */
void rec_inject_start(const char *path);
/* The process ends: tells the run what became of its messages. */
void rec_inject_end(void);

/* MPI_Init is over on this thread, whose process has that rank in MPI_COMM_WORLD. */
void rec_inject_begin(uint32_t rank);
/* The name of the function whose calls begin iterations; NULL: marks do. */
const char *rec_inject_iterations(void);
/* A call begins before which a computation ends. Returns when it begins, behind noise and delays,
 * in ns of CLOCK_MONOTONIC. */
int64_t rec_inject_come(bool begins_iteration);
/* It ends. */
void rec_inject_go(void);
/* The program says that an iteration begins (lull.h). */
void rec_inject_mark(uint64_t iteration);

/* ns of CLOCK_MONOTONIC */
int64_t rec_inject_now(void);
/* Returns at that moment, or a few hundred ns later where the thread keeps its core. Sleeps while
 * that is far away, so that another thread may have the core; calls `progress`, unless it is NULL,
 * at least every 200 us. */
void rec_inject_hold(int64_t until, void (*progress)(void));

/* A message was held back or had come late enough by itself; or it is not known when it was sent.
 */
void rec_inject_count(bool known);

/* ==== computation ============================================================================= */

/* Computations that are made longer: how much, and when. Internal to the folder. */

/* What is lost to n > 0 detours of a period when `work` > 0 ns are done from its moment `at` on: a
 * detour that is under way, and each that begins before the work is done. The same as in
 * simulations (sim/noise/noise.h). */
int64_t rec_lost_to_detours(const struct lull_tape_detour *detours, uint32_t n, int64_t period,
                            int64_t at, int64_t work);

/* ==== moments ================================================================================= */

/* When messages were sent, and collective operations begun: what the processes of a node tell each
 * other through files of the run's folder that all of them map. Each process writes into its own;
 * who receives a message takes its moment away.
 *
 * A key names one message of all, or one process's part in one operation; it is a hash of 64 bits,
 * never 0. All functions may be called by several threads at a time. Internal to the folder. */

/* Makes the file of this process, which others call by that number. False: it cannot be made. */
bool rec_moments_begin(uint32_t process);
void rec_moments_end(void);

/* The message was sent at that moment. Where so many are under way that there is no room near its
 * place, the oldest there is forgotten. */
void rec_moment_send(uint64_t key, int64_t ns);
/* It was not sent after all. */
void rec_moment_withdraw(uint64_t key);
/* When a process has sent a message, in *ret_ns; it is forgotten if `take`. False: that is not
 * known. */
bool rec_moment_of_message(uint32_t process, uint64_t key, bool take, int64_t *ret_ns);

/* The process began its part of an operation at that moment; some thousand operations later that is
 * forgotten. */
void rec_moment_join(uint64_t key, int64_t ns);
bool rec_moment_of_part(uint32_t process, uint64_t key, int64_t *ret_ns);

#endif
