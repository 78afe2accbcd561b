/* What the terminal can show. */
#ifndef LULL_CLI_TERMINAL_H
#define LULL_CLI_TERMINAL_H

#include "report/document.h"

enum lull_colour { LULL_COLOUR_AUTO, LULL_COLOUR_ALWAYS, LULL_COLOUR_NEVER };

/* Fills colour, unicode and width for a stream. AUTO means colours on a terminal, unless the
 * environment variable NO_COLOR is set (https://no-color.org) or TERM is "dumb". The locale must
 * be set. */
void lull_terminal_describe(FILE *out, enum lull_colour colour,
                            struct lull_render_options *ret_options);

#endif
