/* Foreign texts inside of HTML and SVG. Internal to the report room. */
#ifndef LULL_REPORT_MARKUP_H
#define LULL_REPORT_MARKUP_H

#include <stdio.h>

/* Any text as content of an element or value of an attribute in double quotes: what HTML would
 * read is escaped, and what must not be shown (controls, directions, bytes that are not UTF-8,
 * characters that HTML forbids) is written as "\x1b". */
void lull_markup_text(FILE *out, const char *text);

#endif
