/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of lull itself: how many, running a function on all of them, and memory that they do not
 * share. */
#ifndef LULL_BASE_PARALLEL_H
#define LULL_BASE_PARALLEL_H

#include "base/error.h"

#include <stddef.h>

/* The number of processors that this process may use (its affinity mask), at least 1. The
 * environment variable LULL_THREADS takes its place when it holds a number from 1 to 1024. */
unsigned lull_worker_count(void);

/* Runs `body(context, worker)` for worker = 0 .. workers-1, worker 0 on the calling thread, and
 * returns when all have returned. Where a thread cannot be created fewer workers run: bodies take
 * their work from a shared queue, never from their number. */
void lull_parallel_run(unsigned workers, void (*body)(void *context, unsigned worker),
                       void *context);

/* The same with exactly `workers` threads, for bodies that wait for each other. Fails with
 * LULL_ERR_MEMORY, before any body has begun, where not all can be created. */
lull_status lull_parallel_run_all(unsigned workers, void (*body)(void *context, unsigned worker),
                                  void *context, struct lull_error *err);

/* What one thread writes again and again lies this many bytes apart from what other threads use;
 * else each would wait for the other's cache lines. Lines have 64 bytes, and processors fetch them
 * in pairs. */
enum { LULL_APART = 128 };

/* Zeroed memory that shares no cache line with other memory; free() releases it. NULL: none. */
void *lull_alloc_apart(size_t size);

#endif
