/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the measuring threads: one region per core. The thread that is pinned to the core
 * touches it first, and it is kept for the whole run, so that it is touched only once. */
#ifndef LULL_BENCH_MEMORY_MEMORY_H
#define LULL_BENCH_MEMORY_MEMORY_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_bench_memory;

/* Address space for `regions` regions of at most `most` bytes each. Huge pages are asked for.
 * LULL_ERR_MEMORY where there is no address space. */
lull_status lull_bench_memory_open(size_t regions, uint64_t most, struct lull_arena *arena,
                                   struct lull_bench_memory **ret_memory, struct lull_error *err);
void lull_bench_memory_close(struct lull_bench_memory *memory); /* NULL is allowed */

/* The region of a core, aligned to 2 MiB; pages that were never written to belong to nobody yet. */
void *lull_bench_memory_region(const struct lull_bench_memory *memory, size_t region);
/* Writes to those of the first `bytes` of a region that were not written to yet; called by the
 * thread of the core. */
void lull_bench_memory_touch(struct lull_bench_memory *memory, size_t region, uint64_t bytes);

/* Which pages the touched memory has: "transparent huge pages", "pages of 4 KiB". */
const char *lull_bench_memory_pages(const struct lull_bench_memory *memory,
                                    struct lull_arena *arena);

/* Bytes that can be had without paging: of the system, or of the control group where that is less;
 * 0: unknown. */
uint64_t lull_bench_memory_free(void);

#endif
