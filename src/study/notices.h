/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices: what a study has to tell beside its numbers. They are assumptions, choices, and oddities
 * of an input that was read all the same, in the order in which they were found. Whoever shows the
 * numbers shows the notices, too. */
#ifndef LULL_STUDY_NOTICES_H
#define LULL_STUDY_NOTICES_H

#include "base/arena.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

enum lull_notice_kind {
    LULL_NOTICE_INFO,
    LULL_NOTICE_WARNING /* the user should know before he believes the numbers */
};

struct lull_notice {
    enum lull_notice_kind kind;
    const char *text; /* one line; it may hold names from a trace as they are there */
    const char *sort; /* the same text for all notices of a sort, whatever run they are of */
    const char
        *run; /* as the user gave it, one string for each run; NULL: it is of no single run */
};

/* Begins as {.arena = ...}; everything lives there. */
struct lull_notices {
    struct lull_arena *arena;
    struct lull_notice *items;
    size_t count, capacity;
};

void lull_notices_add(struct lull_notices *notices, enum lull_notice_kind kind, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* One warning per kind of quirk that was met in the trace so far, with its count and where it was
 * first met. `path` is what the user calls the trace. */
void lull_notices_add_quirks(struct lull_notices *notices, const struct lull_trace *trace,
                             const char *path);

/* Which part of a run has events, for people: "end at 1.5 s of 2 s". The trace has a part
 * (lull_has_part). */
const char *lull_notices_part(const struct lull_trace *trace, struct lull_arena *arena);

/* Adds a warning where a copy of the trace in `format` looks as if the run had ended with its last
 * event. That is so where events stop before the run does: only our own format has sums, which tell
 * of the rest. */
struct lull_format;
void lull_notices_add_cut_copy(struct lull_notices *notices, const struct lull_trace *trace,
                               const char *path, const struct lull_format *format);

#endif
