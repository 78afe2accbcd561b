/* SPDX-License-Identifier: BSD-3-Clause */
/* How much the system's kernel did for the threads of a run, as their recorder learned. */
#ifndef LULL_TRACE_USAGE_H
#define LULL_TRACE_USAGE_H

#include "trace/trace.h"

struct lull_usage_sum {
    uint32_t known; /* threads of which it is known; 0: all below is 0 */
    /* Of all of them, in ns of processor time: in the program, in the kernel, and of the latter at
     * least so much outside of recorded calls. */
    double user, system, outside;
    double minor, major, voluntary;
    const struct lull_location *most; /* the thread with most of `outside`; NULL: none has any */
};

/* Of the threads of an application; LULL_NONE: of all. */
struct lull_usage_sum lull_usage_of(const struct lull_trace *trace, uint32_t application);

#endif
