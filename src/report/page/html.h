/* Foreign texts and bytes inside of HTML. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_HTML_H
#define LULL_REPORT_PAGE_HTML_H

#include <stddef.h>
#include <stdio.h>

enum { LULL_HTML_NAME = 200 };

/* Any text as content of an element or value of an attribute in double quotes: what HTML would
 * read is escaped, and what must not be shown (controls, directions, bytes that are not UTF-8,
 * characters that HTML forbids) is written as "\x1b". */
void lull_html_text(FILE *out, const char *text);

/* The same, with the middle of a text of more than LULL_HTML_NAME characters left out. */
void lull_html_name(FILE *out, const char *text);

/* An id or class of its own making: other characters than letters, digits, '-' and '_' become '-'. */
void lull_html_word(FILE *out, const char *text);

/* JSON for a script element that is data: '<' is written as an escape. */
void lull_html_json(FILE *out, const char *json, size_t size);

/* Bytes in base64. */
void lull_html_base64(FILE *out, const void *bytes, size_t size);

/* Bytes deflated (zlib), in base64. Deflated in pieces, so that memory does not grow with `size`. */
void lull_html_deflated(FILE *out, const void *bytes, size_t size);

#endif
