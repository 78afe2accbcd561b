/* Predictions of kernels as documents and charts. */
#ifndef LULL_VIEW_KERNEL_DOCUMENT_H
#define LULL_VIEW_KERNEL_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/kernel_study.h"
#include "study/notices.h"

struct lull_kernel_show {
    bool ports;                                  /* a table of ports, and the loop */
    const struct lull_kernel_measured *measured; /* NULL: not run */
};

/* One set of sizes. Notices get what the user should know. */
struct lull_document *lull_kernel_document(const struct lull_kernel_prediction *prediction,
                                           const struct lull_kernel_show *show,
                                           struct lull_notices *notices, struct lull_arena *arena);

/* Several values of one size, ascending; NULL measured: not run, else one per prediction. */
struct lull_document *lull_kernel_sweep_document(const struct lull_kernel_prediction *predictions,
                                                 const double *values, size_t count,
                                                 const char *size,
                                                 const struct lull_kernel_measured *measured,
                                                 struct lull_notices *notices,
                                                 struct lull_arena *arena);

/* Roofs of one core and of all cores of a domain, with the kernel on them, of several innermost
 * loops the busiest, without what was measured. `all`: the same kernel on all cores; may be NULL.
 */
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
