/* Tables and single values as HTML. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_TABLE_H
#define LULL_REPORT_PAGE_TABLE_H

#include "report/model.h"

/* A tree of efficiencies: has rows below rows, and coloured cells. */
bool lull_page_is_tree(const struct lull_table *table);

/* The table in a region that can be scrolled, and below it the reasons of values that are absent.
 * `id` is that of the element. Rows beyond LULL_PAGE_ROWS are counted and left out. */
enum { LULL_PAGE_ROWS = 1000 };
void lull_page_table(FILE *out, const struct lull_table *table, const char *id,
                     const struct lull_render_options *options);

#endif
