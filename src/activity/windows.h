/* Windows: the parts of a run that are analysed, as intervals of time per process. */
#ifndef LULL_ACTIVITY_WINDOWS_H
#define LULL_ACTIVITY_WINDOWS_H

#include <stdint.h>

struct lull_interval {
    int64_t begin, end; /* ns, begin <= end */
};

/* Intervals of a process are sorted and do not overlap. */
struct lull_windows {
    uint32_t n_processes;             /* of the trace */
    struct lull_interval **intervals; /* [process][n] */
    uint32_t *counts;
};

#endif
