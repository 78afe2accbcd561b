/* A waterfall as SVG: one bar for each step from one amount to another, each where the one before
 * ended; the first and the last stand from 0. */
#ifndef LULL_REPORT_CHART_WATERFALL_H
#define LULL_REPORT_CHART_WATERFALL_H

#include <stddef.h>
#include <stdio.h>

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

/* `content` is a struct lull_waterfall. The axis begins where no bar is cut, and not at 0 where the
 * steps would be too short to see: then the whole bars are broken. Errors of the stream stay in
 * ferror(). */
void lull_waterfall_write(const void *content, FILE *out);

#endif
