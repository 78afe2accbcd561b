/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message may quote names from files: keep it on one line and free of terminal escapes. */
static void make_one_line(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
}

lull_status lull_fail(struct lull_error *err, lull_status status, const char *format, ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    make_one_line(err->text);
    return status;
}

lull_status lull_fail_errno(struct lull_error *err, const char *format, ...)
{
    int saved = errno;
    if (!err)
        return LULL_ERR_IO;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof err->text - length, ": %s", strerror(saved));
    make_one_line(err->text);
    return LULL_ERR_IO;
}

lull_status lull_fail_prefix(struct lull_error *err, lull_status status, const char *format, ...)
{
    if (!err)
        return status;
    char rest[sizeof err->text];
    memcpy(rest, err->text, sizeof rest);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof err->text - length, ": %s", rest);
    make_one_line(err->text);
    return status;
}
