/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines on their way into a .prv, some of which change later; internal to the Paraver format.
 *
 * A .prv is sorted by the begin of states, so a state is written when it begins, although its end
 * is known only later. Therefore lines first go to a nameless temporary file, with fields of fixed
 * width where they may change, and are copied from there when everything is known. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_SPOOL_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_SPOOL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LULL_PRV_FIELD = 20 }; /* characters of a number that may change */

struct lull_prv_spool;

/* `path` is where the result will be: the temporary file lies in the same folder. */
lull_status lull_prv_spool_open(const char *path, struct lull_prv_spool **ret_spool,
                                struct lull_error *err);

/* Adds a line (with its newline); returns its position. A line with fields that may change begins
 * with an additional 'P'. Failures are kept until lull_prv_spool_read. */
uint64_t lull_prv_spool_add(struct lull_prv_spool *spool, const char *line, size_t length);

/* Overwrites the field (of LULL_PRV_FIELD digits) at a position. */
void lull_prv_spool_patch(struct lull_prv_spool *spool, uint64_t position, uint64_t value);

/* Hands over all lines in order and in their final form: without leading zeros, and without states
 * that end where they begin. */
lull_status lull_prv_spool_read(struct lull_prv_spool *spool,
                                void (*line)(void *context, const char *text, size_t length),
                                void *context, struct lull_error *err);

void lull_prv_spool_close(struct lull_prv_spool *spool); /* NULL is allowed */

#endif
