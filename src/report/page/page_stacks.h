/* Stacks of activities: one bar per process, as far as they fit. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_STACKS_H
#define LULL_REPORT_PAGE_STACKS_H

#include "report/pictures.h"

/* The hatchings of all kinds of activities, for lull_page_stacks; once per page. */
void lull_page_hatchings(FILE *out);

/* What the rows of a timeline spent their time on; `number` is that of the timeline on the page.
 * Goes as deep into the rows as LULL_PAGE_STACKS bars allow, to processes. */
enum { LULL_PAGE_STACKS = 48 };
void lull_page_stacks(FILE *out, const struct lull_picture_timeline *timeline, size_t number,
                      struct lull_arena *arena);

#endif
