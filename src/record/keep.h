/* Memory that is kept until the process ends. */
#ifndef LULL_RECORD_KEEP_H
#define LULL_RECORD_KEEP_H

#include <stddef.h>

/* Zeroed, aligned for anything; NULL: there is none. Not malloc's: its blocks come to lie where
 * they would alone, on which the program's speed may hang (a region of libgomp on one thread takes
 * 1009 or 1205 instructions), and a leak checker in the program would blame it for what our tables
 * alone lead to. */
void *rec_keep(size_t size);
/* In a forked child: another thread of the parent may have been in there. */
void rec_keep_forked(void);

#endif
