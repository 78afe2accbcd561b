/* Tables as text: the layout half of the text renderer. */
#ifndef LULL_REPORT_RENDER_TEXT_TABLE_H
#define LULL_REPORT_RENDER_TEXT_TABLE_H

#include "report/model.h"

/* A line in bold letters, or several. */
void lull_text_title(FILE *out, const char *title, const struct lull_render_options *options);

/* The table, in several parts where it is wider than options->width, and below it the reasons of
 * values that are absent. */
void lull_text_table(FILE *out, const struct lull_table *table,
                     const struct lull_render_options *options);

/* What the colours of efficiencies mean. */
void lull_text_legend(FILE *out);

#endif
