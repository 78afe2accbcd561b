/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing JSON: streams to a FILE, keeps track of commas and nesting, escapes strings.
 *
 * Numbers are written so that they read back to the same double (%.17g, shortened where exact); NaN
 * and infinities are written as null. Errors of the stream stay in ferror(). JSON is read with
 * jansson; for its readers there is only a message here (lull_json_wrong). */
#ifndef LULL_BASE_JSON_H
#define LULL_BASE_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ==== writing ================================================================================= */

struct lull_json {
    FILE *out;
    int depth;
    bool compact;   /* no newlines and indentation */
    bool first[64]; /* per nesting level: nothing written yet */
    bool after_key;
};

void lull_json_begin(struct lull_json *json, FILE *out, bool compact);
void lull_json_object_begin(struct lull_json *json);
void lull_json_object_end(struct lull_json *json);
void lull_json_array_begin(struct lull_json *json);
void lull_json_array_end(struct lull_json *json);
void lull_json_key(struct lull_json *json, const char *key);
void lull_json_string(struct lull_json *json, const char *value); /* NULL is written as null */
void lull_json_int(struct lull_json *json, int64_t value);
void lull_json_uint(struct lull_json *json, uint64_t value);
void lull_json_number(struct lull_json *json, double value);
void lull_json_bool(struct lull_json *json, bool value);
void lull_json_null(struct lull_json *json);

/* ==== where a reader is ======================================================================= */

/* A step into a member or an element of the value around it. The place of a reader is a chain of
 * steps up to the root, which is NULL; the steps live on the reader's stack. */
struct lull_json_step {
    const struct lull_json_step *up;
    const char *key; /* of a member; NULL: an element, by its index */
    size_t index;
};

/* Fails with LULL_ERR_FORMAT and "PATH: /threads/3/rank: WHAT"; a place that is too long is cut. */
lull_status lull_json_wrong(struct lull_error *err, const char *path,
                            const struct lull_json_step *step, const char *what);

#endif
