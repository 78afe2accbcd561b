/* Memory that is kept until the process ends. */
#ifndef LULL_RECORD_KEEP_H
#define LULL_RECORD_KEEP_H

#include <stddef.h>

/* Zeroed, aligned for anything; NULL: there is none. Not malloc's: a leak checker in the program
 * would blame it for what our tables alone lead to. */
void *rec_keep(size_t size);

#endif
