/* Where a reader of JSON is: a chain of steps from the root, for messages. */
#ifndef LULL_BASE_JSON_STEP_H
#define LULL_BASE_JSON_STEP_H

#include "base/error.h"

#include <stddef.h>

/* Into a member or an element of what is around it; NULL is the root. On the reader's stack. */
struct lull_json_step {
    const struct lull_json_step *up;
    const char *key; /* NULL: an index */
    size_t index;
};

/* "PATH: /threads/3/rank: WHAT" with LULL_ERR_FORMAT; a place that is too long is cut. */
lull_status lull_json_wrong(struct lull_error *err, const char *path,
                            const struct lull_json_step *step, const char *what);

#endif
