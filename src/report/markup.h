/* SPDX-License-Identifier: BSD-3-Clause */
/* Foreign texts inside of HTML and SVG. Internal to the report room. */
#ifndef LULL_REPORT_MARKUP_H
#define LULL_REPORT_MARKUP_H

#include "base/arena.h"

#include <stdio.h>

/* Writes any text as the content of an element or as the value of an attribute in double quotes.
 * What HTML would read is escaped. What must not be shown (controls, directions, bytes that are not
 * UTF-8, characters that HTML forbids) is written as "\x1b". */
void lull_markup_text(FILE *out, const char *text);

enum { LULL_PAGE_NAME = 200 }; /* characters of a name on a page */

/* A clean copy (report/display.h) of a name, without its middle where it has more than
 * LULL_PAGE_NAME characters. */
const char *lull_page_name(struct lull_arena *arena, const char *text);

/* Writes what lull_page_name returns, as lull_markup_text does. */
void lull_html_name(FILE *out, struct lull_arena *arena, const char *text);

#endif
