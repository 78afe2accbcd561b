/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents and the charts of `lull model kernel`. */
#ifndef LULL_VIEW_KERNEL_DOCUMENT_H
#define LULL_VIEW_KERNEL_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/kernel_study.h"
#include "study/notices.h"

struct lull_kernel_show {
    bool ports;                                  /* a table of ports, and the assembler code */
    const struct lull_kernel_measured *measured; /* NULL: not run */
};

/* The document of one prediction. Notices get what the user should know. */
struct lull_document *lull_kernel_document(const struct lull_kernel_prediction *prediction,
                                           const struct lull_kernel_show *show,
                                           struct lull_notices *notices, struct lull_arena *arena);

/* The document of a sweep: `count` predictions for ascending values of one size. `measured` has one
 * entry per prediction; NULL: not run. */
struct lull_document *lull_kernel_sweep_document(const struct lull_kernel_prediction *predictions,
                                                 const double *values, size_t count,
                                                 const char *size,
                                                 const struct lull_kernel_measured *measured,
                                                 struct lull_notices *notices,
                                                 struct lull_arena *arena);

/* The rooflines of one core and of all cores of a memory domain, with the kernel on them. Of a
 * nest with several innermost loops the busiest loop is shown, without its measurement. `all` is
 * the roofline of the same kernel on all cores; may be NULL. */
struct lull_chart *lull_kernel_roofline_chart(const struct lull_kernel_prediction *prediction,
                                              const struct lull_roofline *all,
                                              const struct lull_kernel_measured *measured,
                                              struct lull_arena *arena);
/* Performance over cores, naive and with the latency penalty. */
struct lull_chart *lull_kernel_cores_chart(const struct lull_kernel_prediction *prediction,
                                           struct lull_arena *arena);
/* Cycles per unit of work over a size, by what they are spent on. */
struct lull_chart *lull_kernel_sweep_chart(const struct lull_kernel_prediction *predictions,
                                           const double *values, size_t count, const char *size,
                                           const struct lull_kernel_measured *measured,
                                           struct lull_arena *arena);

#endif
