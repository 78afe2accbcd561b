/* SPDX-License-Identifier: BSD-3-Clause */
/* Text on a terminal: how wide it is, and what of a foreign text may be sent there. */
#ifndef LULL_REPORT_DISPLAY_H
#define LULL_REPORT_DISPLAY_H

#include "base/arena.h"
#include "report/document.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ==== text ==================================================================================== */

/* A clean copy of a text, because names from trace files may hold anything. Control characters and
 * bytes that are not UTF-8 are written as "\x1b", so that they neither reach the terminal nor upset
 * the columns. Newlines and tabs become spaces. */
const char *lull_display_clean(struct lull_arena *arena, const char *text);

/* Terminal columns of a clean text: wide characters take two, combining ones none. */
size_t lull_display_width(const char *text);

/* The first bytes of a clean text that fill at most `width` columns. */
size_t lull_display_fit(const char *text, size_t width);

/* Writes a clean text as one paragraph of that width. Lines are broken between words, and inside a
 * word that is longer than a line; those after the first are indented. There is no newline at the
 * end. */
void lull_display_wrap(FILE *out, const char *text, size_t width, size_t indent);

/* The text if it fits into `width` >= 4 columns, otherwise its begin and end around an ellipsis. */
const char *lull_display_shorten(struct lull_arena *arena, const char *text, size_t width,
                                 bool unicode);

/* ==== the terminal ============================================================================ */

/* LULL_COLOUR_AUTO means colours on a terminal, unless NO_COLOR is set (https://no-color.org) or
 * TERM is "dumb"; LULL_COLOUR_NOT_SAID means the same. */
enum lull_colour { LULL_COLOUR_NOT_SAID, LULL_COLOUR_AUTO, LULL_COLOUR_ALWAYS, LULL_COLOUR_NEVER };

/* What can be shown where a document goes: colours, characters and width, those of the locale and
 * of the terminal behind `fd`. A file, or -1, is no terminal and has no width. $COLUMNS is asked
 * before the terminal. */
struct lull_render_options lull_terminal_options(int fd, enum lull_colour colour);

#endif
