/* SPDX-License-Identifier: BSD-3-Clause */
/* A waterfall as SVG: how one amount becomes another in steps. Each step is a bar, which begins
 * where the one before ended; the first and the last bar are the whole amounts and begin at 0. */
#ifndef LULL_REPORT_WATERFALL_H
#define LULL_REPORT_WATERFALL_H

#include "base/error.h"

#include <stddef.h>

struct lull_waterfall_step {
    const char *label;
    double from, to;  /* amounts; of a whole amount `from` is 0 */
    const char *text; /* stands beside the bar */
};

struct lull_waterfall {
    const char *title;
    const struct lull_waterfall_step *steps;
    size_t count;
};

/* Writes the waterfall into a file, as lull_file_write does (base/output_file.h). Where steps would
 * be too short to see, the axis does not begin at 0 but just below the lowest step; then the bars
 * of the whole amounts are drawn broken. */
lull_status lull_waterfall_save(const char *path, const struct lull_waterfall *waterfall,
                                struct lull_error *err);

#endif
