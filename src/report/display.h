/* Text on a terminal: how wide it is, and what of a foreign text may be sent there. */
#ifndef LULL_REPORT_DISPLAY_H
#define LULL_REPORT_DISPLAY_H

#include "base/arena.h"
#include "report/document.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ==== display ================================================================================= */

/* Names from trace files may hold anything. A copy in which control characters and bytes that are
 * not UTF-8 are written as "\x1b", so that they neither reach the terminal nor upset the columns.
 * Newlines and tabs become spaces. */
const char *lull_display_clean(struct lull_arena *arena, const char *text);

/* Terminal columns of a clean text: wide characters take two, combining ones none. */
size_t lull_display_width(const char *text);

/* The first bytes of a clean text that fill at most `width` columns. */
size_t lull_display_fit(const char *text, size_t width);

/* One paragraph of a clean text, broken between words, and words that are longer, to fit the width;
 * lines after the first are indented. Without a newline at its end. */
void lull_display_wrap(FILE *out, const char *text, size_t width, size_t indent);

/* The text if it fits into `width` >= 4 columns, otherwise its begin and end around an ellipsis. */
const char *lull_display_shorten(struct lull_arena *arena, const char *text, size_t width,
                                 bool unicode);

/* ==== terminal ================================================================================ */

/* What can be shown where a document goes. */

/* Auto is what nothing said means, too: colours on a terminal, unless NO_COLOR is set
 * (https://no-color.org) or TERM is "dumb". */
enum lull_colour { LULL_COLOUR_NOT_SAID, LULL_COLOUR_AUTO, LULL_COLOUR_ALWAYS, LULL_COLOUR_NEVER };

/* Colours, characters and width: those of the locale and of the terminal that `fd` is; a file, or
 * -1, is none and has no width. $COLUMNS is asked before the terminal. */
struct lull_render_options lull_terminal_options(int fd, enum lull_colour colour);

#endif
