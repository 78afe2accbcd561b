#include "cli/message.h"

#include "base/text/utf8.h"
#include "cli/command.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static void put_line(const char *kind, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Texts from input files may hold control characters; they must not reach the terminal, and the
 * message stays one line, which the caller ends. */
static void put_line(const char *kind, const char *format, va_list arguments)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, command ? "lull %s: " : "lull: ", command);
    fputs(kind, stderr);
    for (const char *rest = text; *rest;) {
        char piece[LULL_UTF8_PIECE];
        size_t length = lull_utf8_clean(&rest, piece);
        fwrite(piece, 1, length, stderr);
    }
}

int lull_cli_fail(const char *format, ...)
{
    va_list arguments;
    if (muted)
        return LULL_EXIT_FAILURE;
    va_start(arguments, format);
    put_line("", format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return LULL_EXIT_FAILURE;
}

int lull_cli_usage(const char *format, ...)
{
    va_list arguments;
    if (muted)
        return LULL_EXIT_USAGE;
    va_start(arguments, format);
    put_line("", format, arguments);
    va_end(arguments);
    fprintf(stderr, command ? " (see 'lull %s --help')\n" : " (see 'lull help')\n", command);
    return LULL_EXIT_USAGE;
}

void lull_cli_warn(const char *format, ...)
{
    va_list arguments;
    if (muted)
        return;
    va_start(arguments, format);
    put_line("warning: ", format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void lull_cli_warn_all(const struct lull_notices *notices)
{
    for (size_t i = 0; i < notices->count; i++)
        if (notices->items[i].kind == LULL_NOTICE_WARNING)
            lull_cli_warn("%s", notices->items[i].text);
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
