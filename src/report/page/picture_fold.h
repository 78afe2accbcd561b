/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures with less in them, for pages that have no room for all of their rows. Internal to the
 * report room. */
#ifndef LULL_REPORT_PAGE_PICTURE_FOLD_H
#define LULL_REPORT_PAGE_PICTURE_FOLD_H

#include "report/model.h"

/* The timeline with its rows down to a depth (1: only rows without a parent), in the arena. Rows
 * whose children are left out become leaves with the same cells, and have neither steps, messages
 * nor counters. Where no row lies deeper, it is `timeline` itself. */
const struct lull_picture_timeline *lull_page_fold(const struct lull_picture_timeline *timeline,
                                                   unsigned depth, struct lull_arena *arena);

/* A picture of which there is only the title, and why there is no more. */
const struct lull_picture_timeline *
lull_page_without_timeline(const struct lull_picture_timeline *timeline, struct lull_arena *arena);
const struct lull_picture_matrix *lull_page_without_matrix(const struct lull_picture_matrix *matrix,
                                                           struct lull_arena *arena);

#endif
