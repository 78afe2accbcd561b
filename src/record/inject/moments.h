/* When messages were sent, and collective operations begun: what the processes of a node tell each
 * other through files of the run's folder that all of them map. Each process writes into its own;
 * who receives a message takes its moment away.
 *
 * A key names one message of all, or one process's part in one operation; it is a hash of 64 bits,
 * never 0. All functions may be called by several threads at a time. Internal to the folder. */
#ifndef LULL_RECORD_INJECT_MOMENTS_H
#define LULL_RECORD_INJECT_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

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
