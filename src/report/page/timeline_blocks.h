/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of bytes in which the page holds timelines and matrices, before they are deflated:
 * docs/formats/report.md, "What the page embeds". */
#ifndef LULL_REPORT_PAGE_TIMELINE_BLOCKS_H
#define LULL_REPORT_PAGE_TIMELINE_BLOCKS_H

#include "report/pictures.h"

/* Bytes that grow; begins as zeros, ends with lull_bytes_free. */
struct lull_bytes {
    unsigned char *data;
    size_t size, capacity;
};
void lull_bytes_free(struct lull_bytes *bytes);

/* Each adds a block to `bytes`; false: no memory. */

/* The cells of rows[n_rows] at a level; all of these rows have cells of that level. */
bool lull_block_tile(const struct lull_picture_timeline *timeline, unsigned level,
                     const uint32_t *rows, uint32_t n_rows, struct lull_bytes *bytes);
/* The steps of `count` leaves from `first` on. */
bool lull_block_steps(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                      struct lull_bytes *bytes);
bool lull_block_messages(const struct lull_picture_timeline *timeline, struct lull_bytes *bytes);
bool lull_block_gaps(const struct lull_picture_timeline *timeline, struct lull_bytes *bytes);
bool lull_block_counts(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                       struct lull_bytes *bytes);
/* One layer of a matrix: its values, row by row. */
bool lull_block_layer(const double *values, size_t count, struct lull_bytes *bytes);

/* Whether a row's cells are embedded at its own level beyond level 6: it has fine cells, and none
 * of its children has. */
bool lull_block_is_fine(const struct lull_picture_timeline *timeline, uint32_t row);

#endif
