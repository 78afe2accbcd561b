/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats that runs are written in: those of the trace room (trace/format.h), and those that hold what
 * only steps tell. */
#ifndef LULL_STUDY_FORMATS_H
#define LULL_STUDY_FORMATS_H

#include "trace/format.h"

/* Formats that need steps, which the trace room does not know. They are written by lull_convert, and not
 * read. NULL at the end. */
extern const struct lull_format *const lull_formats_of_steps[];

/* Of all formats that this build can write the one with that name, or NULL; and their names: "tape, otf2,
 * paraver", in `arena`. */
const struct lull_format *lull_written_format(const char *name);
const char *lull_written_formats(struct lull_arena *arena);

#endif
