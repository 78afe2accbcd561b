/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: a breakdown as a JSON file, so that a run need not be read again, and parts of a run
 * that were analysed apart can be merged. The form is described in docs/formats/profile.md. */
#ifndef LULL_METRICS_PROFILE_H
#define LULL_METRICS_PROFILE_H

#include "base/json.h"
#include "metrics/breakdown.h"

#include <jansson.h>

/* ==== profiles ================================================================================ */

#define LULL_PROFILE_SCHEMA "lull-profile/1"

/* Writes the breakdown as one JSON object, at a place where a value is expected. */
void lull_profile_write(struct lull_json *json, const struct lull_breakdown *breakdown);

/* Whether the file is a JSON object that names the schema near its beginning. */
bool lull_profile_recognise(const char *path);

/* Reads a profile written by lull_profile_write; unknown keys are ignored. The result lives in
 * `arena`. LULL_ERR_FORMAT names the place in the file: "run.json: /threads/3/times/useful: ...".
 */
lull_status lull_profile_read(const char *path, struct lull_arena *arena,
                              struct lull_breakdown **ret_breakdown, struct lull_error *err);

/* Reads a profile from memory; `path` serves messages only. */
lull_status lull_profile_parse(const char *text, size_t size, const char *path,
                               struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                               struct lull_error *err);

/* ==== reading values ========================================================================== */

/* Internal to the folder: what readers of values, which check types, ranges and lengths, work
 * with. */

struct lull_profile_reader {
    const char *path;
    struct lull_arena *arena;
    struct lull_error *err;
    struct lull_breakdown *to;
    size_t allowance; /* bytes of counters that a file of this size may ask for */
    struct lull_profile_rank {
        uint32_t rank, index;
    } * ranks; /* sorted */
};

typedef lull_status lull_profile_item(struct lull_profile_reader *reader, const json_t *object,
                                      const struct lull_json_step *step, size_t index);

#endif
