/* SPDX-License-Identifier: BSD-3-Clause */
/* The document of `lull report`: what a run was like, on one page. */
#ifndef LULL_VIEW_REPORT_REPORT_DOCUMENT_H
#define LULL_VIEW_REPORT_REPORT_DOCUMENT_H

#include "report/document.h"
#include "study/notices.h"
#include "study/report_study.h"
#include "view/metrics/metrics_tables.h"

struct lull_report_wish {
    enum lull_scheme_choice scheme; /* the scheme that text shows; the other one is a detail */
    const char *options; /* what the command for a closer look repeats, " --application 2"; or "" */
    const char *region, *window; /* as the user typed them; NULL: the whole run */
    bool no_source;              /* leave out the text of sources */
};

/* "lull-report/1". The runs have their values. Report, wish and notices outlive the document. */
struct lull_document *lull_report_document(const struct lull_report *report,
                                           const struct lull_report_wish *wish,
                                           const struct lull_notices *notices,
                                           struct lull_arena *arena);

#endif
