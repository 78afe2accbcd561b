/* SPDX-License-Identifier: BSD-3-Clause */
/* Which regions of the host keep devices busy: what the kernels and copies took that were submitted
 * within a region, the innermost one that was open there (a range of NVTX, a function, an OpenMP
 * construct). An example: solve() calls apply(), which launches a kernel of 2 ms, and then launches one
 * of 1 ms itself: apply has 2 ms, solve 1 ms. */
#ifndef LULL_STUDY_SUBMITTERS_H
#define LULL_STUDY_SUBMITTERS_H

#include "activity/pass.h"
#include "trace/trace.h"

/* Of all devices and processes. */
struct lull_submitter {
    uint64_t kernels, kernel_ns, moves, move_ns;
    uint64_t bytes; /* that moved */
};

struct lull_submitters {
    /* [n_regions + 1]; the last one: what was submitted within no region, or nobody knows where */
    struct lull_submitter *regions;
};

/* Reads the threads of a run without windows, and then its device streams. The result lives in `arena`;
 * NULL: no region has submitted anything. In a team the first member has the result. Memory: 16 bytes
 * for each change of the region from one submission of a thread to its next. */
lull_status lull_submitters_take(const struct lull_trace *trace, const struct lull_reading *reading,
                                 struct lull_arena *arena, struct lull_submitters **ret_submitters,
                                 struct lull_error *err);

#endif
