/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the process waits at its end for one of its threads, which may never come: the program may call exit() in a signal
 * handler, while the interrupted thread has the lock, or a runtime may not answer. On a busy machine that thread may as well
 * wait for a core. So time counts in which no other thread of the process could run, as the system tells; and all time, once
 * the others have computed for ten seconds together: then they do something else.
 *
 *     struct rec_patience patience = rec_patience_of(2);
 *     while (!done() && rec_patience_lasts(&patience))
 *         wait for some REC_PATIENCE_NS;
 */
#ifndef LULL_RECORD_PATIENCE_H
#define LULL_RECORD_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { REC_PATIENCE_NS = 100000000 }; /* between two looks */

struct rec_patience {
    unsigned left;  /* waits of REC_PATIENCE_NS */
    int64_t others; /* ns of processor time that other threads had spent */
};

/* Patience for so many seconds of the time that counts. */
struct rec_patience rec_patience_of(unsigned seconds);
/* Called between the waits. It takes no memory of the heap and no lock. */
bool rec_patience_lasts(struct rec_patience *patience);
/* Takes the lock, if its owner gives it back within a second. */
bool rec_patience_lock(pthread_mutex_t *lock);

#endif
