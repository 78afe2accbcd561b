/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/output.h"

#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/message.h"
#include "report/display.h"

#include <string.h>
#include <unistd.h>

/* ---- options --------------------------------------------------------------------------------- */

static lull_status read_colour(const struct lull_output_settings *settings,
                               enum lull_colour *ret_colour, struct lull_error *err)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    unsigned number;
    lull_status status = lull_option_word("color", settings->colour, words, &number, err);
    *ret_colour = (enum lull_colour)number;
    return status;
}

/* The format that is asked for, by its name or by the ending of the output. */
static const char *format_of(const struct lull_output_settings *settings)
{
    static const char *const endings[][2] = {
        {".html", "html"}, {".htm", "html"}, {".json", "json"}, {".csv", "csv"}};
    const char *ending = settings->path ? strrchr(settings->path, '.') : NULL;
    for (size_t i = 0; !settings->format && ending && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i][0]) == 0)
            return endings[i][1];
    return settings->format ? settings->format : "text";
}

/* Whether a file is named like one of a format that is none of ours. */
static bool is_foreign(const char *path)
{
    static const char *const endings[] = {".pdf", ".png", ".svg", ".jpg", ".xml", ".docx", ".xlsx"};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return false;
}

int lull_output_check(const struct lull_output_settings *settings)
{
    enum lull_colour colour;
    struct lull_error err;
    if (settings->format && !lull_renderer_find(settings->format))
        return lull_cli_usage("--format is '%s', expected text, json, csv or html",
                              settings->format);
    if (read_colour(settings, &colour, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (settings->path && lull_is_directory(settings->path))
        return lull_cli_usage("--output '%s' is a directory, expected a file", settings->path);
    if (settings->path && !settings->format && is_foreign(settings->path))
        return lull_cli_usage(
            "--output '%s' has the ending of a format that is not written, expected "
            ".html, .json, .csv or .txt, or --format",
            settings->path);
    return LULL_EXIT_OK;
}

/* ---- documents ------------------------------------------------------------------------------- */

static int shown_on = STDOUT_FILENO;

void lull_output_pass_on(void)
{
    shown_on = -1;
}

struct rendering {
    const struct lull_output_settings *settings;
    const struct lull_document *document;
    struct lull_render_options options;
};

static const struct lull_renderer *renderer_of(const struct lull_output_settings *settings)
{
    return lull_renderer_find(format_of(settings));
}

static void render(const void *content, FILE *out)
{
    const struct rendering *rendering = content;
    renderer_of(rendering->settings)->render(rendering->document, &rendering->options, out);
}

static struct rendering prepare_rendering(const struct lull_output_settings *settings,
                                          const struct lull_document *document, int fd)
{
    enum lull_colour colour;
    read_colour(settings, &colour, NULL);
    struct rendering rendering = {settings, document, lull_terminal_options(fd, colour)};
    rendering.options.digits = settings->digits;
    rendering.options.most_bytes = settings->most_bytes;
    return rendering;
}

static int tell_written(lull_status status, const struct lull_error *err)
{
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", err->text);
}

int lull_output_chart(const char *path, const struct lull_chart *chart)
{
    struct lull_error err;
    return path ? tell_written(lull_chart_save(path, chart, &err), &err) : LULL_EXIT_OK;
}

int lull_output_probe(const char *path)
{
    struct lull_error err;
    return tell_written(lull_file_probe(path, &err), &err);
}

int lull_output_write(const struct lull_output_settings *settings,
                      const struct lull_document *document)
{
    const struct rendering shown = prepare_rendering(settings, document, shown_on);
    const struct lull_renderer *renderer = renderer_of(settings);
    struct lull_error err;
    if (renderer->check && renderer->check(document, &shown.options, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    const char *path = settings->path && strcmp(settings->path, "-") != 0 ? settings->path : NULL;
    if (!path) {
        render(&shown, stdout);
        return LULL_EXIT_OK; /* main looks after standard output */
    }
    const int fd = lull_file_direct(path);
    const struct rendering rendering = prepare_rendering(settings, document, fd);
    if (fd >= 0)
        return tell_written(lull_file_write_to(fd, path, render, &rendering, &err), &err);
    lull_interrupt_clean_up();
    return tell_written(lull_file_write(path, render, &rendering, &err), &err);
}
