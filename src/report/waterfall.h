/* A waterfall as SVG: one bar for each step from one amount to another, each where the one before
 * ended; the first and the last stand from 0. */
#ifndef LULL_REPORT_WATERFALL_H
#define LULL_REPORT_WATERFALL_H

#include "base/error.h"

#include <stddef.h>

struct lull_waterfall_step {
    const char *label;
    double from, to;  /* the whole: from 0 */
    const char *text; /* beside the bar */
};

struct lull_waterfall {
    const char *title;
    const struct lull_waterfall_step *steps;
    size_t count;
};

/* Writes it as SVG into a file, as lull_file_write does (base/output_file.h). The axis begins where
 * no bar is cut, and not at 0 where the steps would be too short to see: then the whole bars are
 * broken. */
lull_status lull_waterfall_save(const char *path, const struct lull_waterfall *waterfall,
                                struct lull_error *err);

#endif
