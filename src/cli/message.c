/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/message.h"

#include "base/text.h"
#include "report/display.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *command;
static bool muted;

void lull_cli_set_command(const char *name)
{
    command = name;
}

void lull_cli_mute(void)
{
    muted = true;
}

bool lull_cli_is_muted(void)
{
    return muted;
}

static void put_line(const char *kind, const char *ending, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* On a terminal lines are broken between words. */
enum { LEAST_WIDTH = 20, INDENT_OF_LINES = 2 };

/* Texts from input files may hold control characters; they must not reach the terminal, and the
 * message stays one line. It is written at once, because launchers write to the same place; without
 * memory for that, piece by piece. */
static void put_line(const char *kind, const char *ending, const char *format, va_list arguments)
{
    char text[2048], *line = NULL;
    size_t size;
    FILE *whole = open_memstream(&line, &size), *out = whole ? whole : stderr;
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(out, command ? "lull %s: " : "lull: ", command);
    fputs(kind, out);
    for (const char *rest = text; *rest;) {
        char piece[LULL_UTF8_PIECE];
        size_t length = lull_utf8_clean(&rest, piece);
        fwrite(piece, 1, length, out);
    }
    fputs(ending, out);
    if (whole && fclose(whole) == 0) {
        const unsigned width = lull_terminal_options(STDERR_FILENO, LULL_COLOUR_NEVER).width;
        if (width > LEAST_WIDTH)
            lull_display_wrap(stderr, line, width, INDENT_OF_LINES);
        else
            fwrite(line, 1, size, stderr);
    }
    free(line);
}

int lull_cli_fail(const char *format, ...)
{
    va_list arguments;
    if (muted)
        return LULL_EXIT_FAILURE;
    va_start(arguments, format);
    put_line("", "\n", format, arguments);
    va_end(arguments);
    return LULL_EXIT_FAILURE;
}

int lull_cli_usage(const char *format, ...)
{
    va_list arguments;
    if (muted)
        return LULL_EXIT_USAGE;
    char ending[64];
    snprintf(ending, sizeof ending, command ? " (see 'lull %s --help')\n" : " (see 'lull help')\n",
             command);
    va_start(arguments, format);
    put_line("", ending, format, arguments);
    va_end(arguments);
    return LULL_EXIT_USAGE;
}

void lull_cli_warn(const char *format, ...)
{
    va_list arguments;
    if (muted)
        return;
    va_start(arguments, format);
    put_line("warning: ", "\n", format, arguments);
    va_end(arguments);
}

/* Whether two notices say the same of different runs. */
static bool are_alike(const struct lull_notice *a, const struct lull_notice *b)
{
    return a->kind == b->kind && a->run && b->run && a->run != b->run &&
           strcmp(a->sort, b->sort) == 0;
}

/* How many notices [from, to) are like another one. */
static size_t count_alike(const struct lull_notices *notices, const struct lull_notice *notice,
                          size_t from, size_t to)
{
    size_t alike = 0;
    for (size_t i = from; i < to; i++)
        alike += are_alike(&notices->items[i], notice);
    return alike;
}

void lull_cli_warn_all(const struct lull_notices *notices)
{
    for (size_t i = 0; i < notices->count; i++) {
        const struct lull_notice *notice = &notices->items[i];
        if (notice->kind != LULL_NOTICE_WARNING)
            continue;
        const size_t before = count_alike(notices, notice, 0, i);
        const size_t after = count_alike(notices, notice, i + 1, notices->count);
        if (before + after < 2)
            lull_cli_warn("%s", notice->text);
        else if (before == 0)
            lull_cli_warn("%s; and %zu more warnings of this sort, which --format json has",
                          notice->text, after);
    }
}

void lull_cli_out_of_memory(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (muted) {
        muted = false;
        exit(lull_cli_fail("a process on %s: out of memory", host));
    }
    exit(lull_cli_fail("out of memory"));
}

struct lull_arena *lull_cli_arena(void)
{
    return lull_arena_create(lull_cli_out_of_memory);
}
