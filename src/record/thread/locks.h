/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for locks: mutexes, conditions, semaphores, read-write locks of pthreads, C and C++. */
#ifndef LULL_RECORD_THREAD_LOCKS_H
#define LULL_RECORD_THREAD_LOCKS_H

/* Reads the settings, before they are taken out of the environment. */
void rec_locks_prepare(void);
/* The rate of the clock is known: waits are recorded from here on. */
void rec_locks_start(void);

#endif
