/* From when to when the records of a location go, so that who opens the run need not read them. */
#ifndef LULL_RECORD_STORE_ENDS_H
#define LULL_RECORD_STORE_ENDS_H

#include "record/core.h"

/* Of a location whose mappings are gone, and whose header says what its file holds. Where that
 * cannot be told, as in a ring, nothing is known. */
void rec_ends_find(const struct rec_thread *self, const struct lull_tape_header *header,
                   struct lull_tape_ends *ret_ends);

#endif
