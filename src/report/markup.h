/* Foreign texts inside of HTML and SVG. Internal to the report room. */
#ifndef LULL_REPORT_MARKUP_H
#define LULL_REPORT_MARKUP_H

#include "base/arena.h"

#include <stdio.h>

/* ==== markup ================================================================================== */

/* Any text as content of an element or value of an attribute in double quotes: what HTML would
 * read is escaped, and what must not be shown (controls, directions, bytes that are not UTF-8,
 * characters that HTML forbids) is written as "\x1b". */
void lull_markup_text(FILE *out, const char *text);

/* ==== html ==================================================================================== */

/* Foreign texts inside of HTML. Internal to the report room. */

enum { LULL_PAGE_NAME = 200 };

/* A clean copy (report/display.h), without its middle where it has more than LULL_PAGE_NAME
 * characters. */
const char *lull_page_name(struct lull_arena *arena, const char *text);

/* As lull_markup_text, cut like that. */
void lull_html_name(FILE *out, struct lull_arena *arena, const char *text);

#endif
