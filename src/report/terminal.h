/* What can be shown where a document goes. */
#ifndef LULL_REPORT_TERMINAL_H
#define LULL_REPORT_TERMINAL_H

#include "report/document.h"

/* Auto is what nothing said means, too: colours on a terminal, unless NO_COLOR is set
 * (https://no-color.org) or TERM is "dumb". */
enum lull_colour { LULL_COLOUR_NOT_SAID, LULL_COLOUR_AUTO, LULL_COLOUR_ALWAYS, LULL_COLOUR_NEVER };

/* Colours, characters and width: those of the locale and of the terminal that `fd` is; a file, or
 * -1, is none and has no width. $COLUMNS is asked before the terminal. */
struct lull_render_options lull_terminal_options(int fd, enum lull_colour colour);

#endif
