/* Internal to study: runs that an earlier `lull metrics --format json` saved as profiles. */
#ifndef LULL_STUDY_SAVED_H
#define LULL_STUDY_SAVED_H

#include "metrics/breakdown/breakdown.h"

#include <stdbool.h>

struct lull_saved {
    const char *name; /* as it was called in its document */
    struct lull_breakdown *breakdown;
};

/* Whether the file is JSON, which no trace is. */
bool lull_saved_recognise(const char *path);

/* All runs of a document or a single profile, in their order; they live in `arena`. */
lull_status lull_saved_load(const char *path, struct lull_arena *arena,
                            struct lull_saved **ret_saved, uint32_t *ret_count,
                            struct lull_error *err);

#endif
