#include "cli/output.h"
#include "cli/interrupt.h"

#include "base/file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char *const colour_names[] = {
    [LULL_COLOUR_AUTO] = "auto", [LULL_COLOUR_ALWAYS] = "always", [LULL_COLOUR_NEVER] = "never"};
#define COLOURS (sizeof(colour_names) / sizeof(*colour_names))

static size_t find_colour(const char *name)
{
    size_t i = 0;
    while (i < COLOURS && strcmp(colour_names[i], name) != 0)
        i++;
    return i;
}

int lull_output_check(const struct lull_output_settings *settings)
{
    if (settings->format && !lull_renderer_find(settings->format))
        return lull_cli_usage("--format is '%s', expected text, json or csv", settings->format);
    if (settings->colour && find_colour(settings->colour) == COLOURS)
        return lull_cli_usage("--color is '%s', expected auto, always or never", settings->colour);
    if (settings->digits < 0 || settings->digits > 15)
        return lull_cli_usage("--digits is %d, expected 1 to 15", settings->digits);
    if (settings->path && lull_is_directory(settings->path))
        return lull_cli_usage("--output '%s' is a directory, expected a file", settings->path);
    return LULL_EXIT_OK;
}

static void render(const struct lull_output_settings *settings,
                   const struct lull_document *document, FILE *out)
{
    size_t colour = settings->colour ? find_colour(settings->colour) : LULL_COLOUR_AUTO;
    struct lull_render_options options;
    lull_terminal_describe(out, (enum lull_colour)colour, &options);
    options.digits = settings->digits;
    lull_renderer_find(settings->format ? settings->format : "text")
        ->render(document, &options, out);
}

/* Renders into `path`, an existing device or a temporary, and closes it. */
static int write_file(const struct lull_output_settings *settings,
                      const struct lull_document *document, const char *path)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return lull_cli_fail("%s: cannot write: %s", settings->path, strerror(errno));
    render(settings, document, out);
    bool failed = fflush(out) != 0 || ferror(out);
    int reason = errno;
    failed |= fclose(out) != 0;
    return failed ? lull_cli_fail("%s: cannot write: %s", settings->path, strerror(reason))
                  : LULL_EXIT_OK;
}

/* Devices and pipes (/dev/null, /dev/stdout) are written to; renaming would replace them. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

int lull_output_write(const struct lull_output_settings *settings,
                      const struct lull_document *document)
{
    if (!settings->path || strcmp(settings->path, "-") == 0) {
        render(settings, document, stdout);
        return LULL_EXIT_OK; /* main looks after standard output */
    }
    if (is_special(settings->path))
        return write_file(settings, document, settings->path);
    struct lull_error err;
    lull_interrupt_clean_up();
    struct lull_output *output;
    if (lull_output_begin(settings->path, false, true, &output, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    int status = write_file(settings, document, lull_output_path(output));
    if (status != LULL_EXIT_OK) {
        lull_output_discard(output);
        return status;
    }
    if (lull_output_commit(output, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    return LULL_EXIT_OK;
}
