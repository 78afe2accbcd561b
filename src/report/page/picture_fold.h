/* Pictures with less in them, for pages that are too small for all of their rows. Internal to the
 * report room. */
#ifndef LULL_REPORT_PAGE_PICTURE_FOLD_H
#define LULL_REPORT_PAGE_PICTURE_FOLD_H

#include "report/model.h"

/* The timeline with its rows down to a depth (1: those that are in no other one), in the arena:
 * rows whose children are left out become leaves with the same cells, and have neither steps,
 * messages nor counters. `timeline` itself where nothing lies deeper. */
const struct lull_picture_timeline *lull_page_fold(const struct lull_picture_timeline *timeline,
                                                   unsigned depth, struct lull_arena *arena);

/* The title alone, and why there is no more. */
const struct lull_picture_timeline *
lull_page_without_timeline(const struct lull_picture_timeline *timeline, struct lull_arena *arena);
const struct lull_picture_matrix *lull_page_without_matrix(const struct lull_picture_matrix *matrix,
                                                           struct lull_arena *arena);

#endif
