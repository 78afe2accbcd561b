/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of a page: what its script draws, timelines and matrices, in elements that browsers do
 * not run. Each element is deflated JSON that lists its blocks, followed by the blocks as
 * docs/formats/report.md describes them. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_PAGE_DATA_H
#define LULL_REPORT_PAGE_PAGE_DATA_H

#include "report/model.h"

struct lull_page_data;

/* Packs as much as fits into `room` bytes; what is wanted most is packed first. The result lives in
 * the document's arena, and is never NULL. */
struct lull_page_data *lull_page_data_pack(const struct lull_document *document, uint64_t room);
/* The smallest size in bytes that the data can have: titles, and why there is nothing else. */
uint64_t lull_page_data_least(const struct lull_document *document);
void lull_page_data_write(const struct lull_page_data *data, FILE *out);

/* The timeline with its rows down to a depth (1: only rows without a parent), in the arena, for pages that have
 * no room for all of them. Rows whose children are left out become leaves with the same cells, and have neither
 * steps, messages nor counters. Where no row lies deeper, it is `timeline` itself. */
const struct lull_picture_timeline *lull_page_fold(const struct lull_picture_timeline *timeline,
                                                   unsigned depth, struct lull_arena *arena);

#endif
