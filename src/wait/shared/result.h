/* What the members of a team have found, to the first; internal to the room. */
#ifndef LULL_WAIT_SHARED_RESULT_H
#define LULL_WAIT_SHARED_RESULT_H

#include "wait/share.h"

/* Together, when all is charged: `result` has what this member has found, of its own locations. On
 * the first it has what all have then. Charges are added up in `waits`, before they are listed. */
lull_status lull_wait_gather_result(struct lull_waits *waits, struct lull_wait_result *result,
                                    struct lull_wait_location *locations, struct lull_error *err);

/* The same of whether threads communicate that are no masters: on all. */
lull_status lull_wait_gather_others(struct lull_waits *waits, bool *others, struct lull_error *err);

#endif
