/* Foreign texts inside of HTML. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_HTML_H
#define LULL_REPORT_PAGE_HTML_H

#include "base/arena.h"

#include <stdio.h>

enum { LULL_PAGE_NAME = 200 };

/* A clean copy (report/display.h), without its middle where it has more than LULL_PAGE_NAME
 * characters. */
const char *lull_page_name(struct lull_arena *arena, const char *text);

/* As lull_markup_text, cut like that. */
void lull_html_name(FILE *out, struct lull_arena *arena, const char *text);

/* An id or class of its own making: other characters than letters, digits, '-' and '_' become '-'.
 */
void lull_html_word(FILE *out, const char *text);

#endif
