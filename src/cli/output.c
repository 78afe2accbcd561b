#include "cli/output.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/process.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ------------------------------------------------------------------------------- */

/* In the order of the words, counted from 1; 0 is not said, which means auto. */
enum colour { COLOUR_NOT_SAID, COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

static int read_colour(const struct lull_output_settings *settings, enum colour *ret_colour)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    unsigned number;
    int status = lull_option_word("color", settings->colour, words, &number);
    *ret_colour = (enum colour)number;
    return status;
}

int lull_output_check(const struct lull_output_settings *settings)
{
    enum colour colour;
    if (settings->format && !lull_renderer_find(settings->format))
        return lull_cli_usage("--format is '%s', expected text, json or csv", settings->format);
    int status = read_colour(settings, &colour);
    if (status != LULL_EXIT_OK)
        return status;
    if (settings->digits < 0 || settings->digits > 15)
        return lull_cli_usage("--digits is %d, expected 1 to 15", settings->digits);
    if (settings->path && lull_is_directory(settings->path))
        return lull_cli_usage("--output '%s' is a directory, expected a file", settings->path);
    return LULL_EXIT_OK;
}

/* ---- what the terminal can show ------------------------------------------------------------ */

/* AUTO means colours on a terminal, unless NO_COLOR is set (https://no-color.org) or TERM is
 * "dumb". */
static bool wants_colour(bool terminal, enum colour colour)
{
    if (colour == COLOUR_ALWAYS || colour == COLOUR_NEVER)
        return colour == COLOUR_ALWAYS;
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

static struct lull_render_options describe_terminal(FILE *out, enum colour colour)
{
    bool terminal = isatty(fileno(out));
    return (struct lull_render_options){
        .colour = wants_colour(terminal, colour),
        .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .width = terminal ? width_of(fileno(out)) : 0,
    };
}

/* ---- documents ----------------------------------------------------------------------------- */

struct rendering {
    const struct lull_output_settings *settings;
    const struct lull_document *document;
};

static void render(const void *content, FILE *out)
{
    const struct rendering *rendering = content;
    const struct lull_output_settings *settings = rendering->settings;
    enum colour colour;
    read_colour(settings, &colour);
    struct lull_render_options options = describe_terminal(out, colour);
    options.digits = settings->digits;
    lull_renderer_find(settings->format ? settings->format : "text")
        ->render(rendering->document, &options, out);
}

/* Devices and pipes (/dev/null, /dev/stdout) are written to; renaming would replace them. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Writes into `file`, an existing device or a temporary; the user knows it as `path`. */
static int write_file(const char *file, const char *path,
                      void (*write)(const void *content, FILE *out), const void *content)
{
    FILE *out = fopen(file, "we");
    if (!out)
        return lull_cli_fail("%s: cannot write: %s", path, strerror(errno));
    write(content, out);
    bool failed = fflush(out) != 0 || ferror(out);
    int reason = errno;
    failed |= fclose(out) != 0;
    return failed ? lull_cli_fail("%s: cannot write: %s", path, strerror(reason)) : LULL_EXIT_OK;
}

int lull_output_save(const char *path, void (*write)(const void *content, FILE *out),
                     const void *content)
{
    struct lull_error err;
    struct lull_output *output;
    if (lull_output_begin(path, false, true, &output, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    int status = write_file(lull_output_path(output), path, write, content);
    if (status != LULL_EXIT_OK) {
        lull_output_discard(output);
        return status;
    }
    return lull_output_commit(output, &err) == LULL_OK ? LULL_EXIT_OK
                                                       : lull_cli_fail("%s", err.text);
}

int lull_output_write(const struct lull_output_settings *settings,
                      const struct lull_document *document)
{
    const struct rendering rendering = {settings, document};
    if (!settings->path || strcmp(settings->path, "-") == 0) {
        render(&rendering, stdout);
        return LULL_EXIT_OK; /* main looks after standard output */
    }
    if (is_special(settings->path))
        return write_file(settings->path, settings->path, render, &rendering);
    lull_interrupt_clean_up();
    return lull_output_save(settings->path, render, &rendering);
}
