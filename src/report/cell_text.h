/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of cells as people read them, in text and on a page. */
#ifndef LULL_REPORT_CELL_TEXT_H
#define LULL_REPORT_CELL_TEXT_H

#include "report/model.h"

/* The unit in which times are shown that are compared with each other. */
struct lull_time_unit;

/* The unit for the row or column that the cell is compared with: one in which no time has less than
 * two digits, if the largest has four digits before the point at most there, else that of the
 * largest; a time that has less than two digits in that unit is shown in its own. */
const struct lull_time_unit *lull_table_time_unit(const struct lull_table *table, size_t row,
                                                  size_t column);

/* The text of a cell that has a value; `unit` is for times. It is clean and lives in the arena. */
const char *lull_cell_format(struct lull_arena *arena, struct lull_cell cell,
                             const struct lull_render_options *options,
                             const struct lull_time_unit *unit);

/* The text of a single value that is compared with no others. It lives in the arena. */
const char *lull_text_cell(struct lull_arena *arena, struct lull_cell cell,
                           const struct lull_render_options *options);

/* How good an efficiency is, and what each band means to people. */
enum lull_efficiency_band { LULL_BAND_GOOD, LULL_BAND_LOOK, LULL_BAND_POOR, LULL_BANDS };
enum lull_efficiency_band lull_efficiency_band(double value);
extern const char *const lull_band_meanings[LULL_BANDS];

#endif
