/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents of `lull info`. */
#ifndef LULL_VIEW_INFO_DOCUMENT_H
#define LULL_VIEW_INFO_DOCUMENT_H

#include "report/document.h"
#include "study/census.h"
#include "study/submitters.h"

/* What a run holds: "lull-info/1". `submitters` may be NULL. */
struct lull_document *lull_info_run(const struct lull_trace *trace,
                                    const struct lull_census *census,
                                    const struct lull_submitters *submitters, const char *path,
                                    struct lull_arena *arena);

/* What this build of lull can do: "lull-build/1". */
struct lull_document *lull_info_build(struct lull_arena *arena);

#endif
