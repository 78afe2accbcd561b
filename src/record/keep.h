/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is kept until the process ends. */
#ifndef LULL_RECORD_KEEP_H
#define LULL_RECORD_KEEP_H

#include <stddef.h>

/* Memory of `size` bytes, zeroed and aligned for anything; NULL: there is none. It is not malloc's,
 * for two reasons. The program's own blocks lie where they would lie without the recorder; its
 * speed may depend on that (a region of libgomp on one thread was counted to take 1009 or 1205
 * instructions, as the block that libgomp allocates for it came to lie). And a leak checker in the
 * program would blame the program for blocks that only our tables lead to. */
void *rec_keep(size_t size);
/* In a forked child: frees the lock, which another thread of the parent may have held. */
void rec_keep_forked(void);

#endif
