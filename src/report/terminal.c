#include "report/terminal.h"

#include "base/text.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool wants_colour(bool terminal, enum lull_colour colour)
{
    if (colour == LULL_COLOUR_ALWAYS || colour == LULL_COLOUR_NEVER)
        return colour == LULL_COLOUR_ALWAYS;
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return terminal && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

static unsigned width_of(int fd)
{
    const char *columns = getenv("COLUMNS");
    uint64_t value;
    if (columns && lull_parse_u64(columns, strlen(columns), &value) == LULL_OK && value > 0 &&
        value <= 10000)
        return (unsigned)value;
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    return 0;
}

struct lull_render_options lull_terminal_options(int fd, enum lull_colour colour)
{
    bool terminal = isatty(fd);
    return (struct lull_render_options){
        .colour = wants_colour(terminal, colour),
        .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .width = terminal ? width_of(fd) : 0,
    };
}
