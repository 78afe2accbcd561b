/* SPDX-License-Identifier: BSD-3-Clause */
/* The document of `lull top`: a look at a run while it is recorded. */
#ifndef LULL_VIEW_TOP_DOCUMENT_H
#define LULL_VIEW_TOP_DOCUMENT_H

#include "report/document.h"
#include "study/look.h"

/* "lull-top/1". The look outlives the document. */
struct lull_document *lull_top_document(const struct lull_look *look, struct lull_arena *arena);

#endif
