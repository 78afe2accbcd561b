/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/about.h"

#include "record/core.h"
#include "record/store/definitions.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINE = 4096 };

static uint64_t exit_status = LULL_TAPE_NOT_EXITED;

/* Copies a value and replaces codes such as "%0A" by their characters; what does not fit is left
 * out. */
static void decode(char *to, size_t size, const char *from, const char *end)
{
    char code[3] = "";
    for (; from < end && size > 1; from++, size--) {
        if (*from == '%' && end - from > 2) {
            memcpy(code, from + 1, 2);
            *to++ = (char)strtoul(code, NULL, 16);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Notes the status as the parent of the process sees it. A forked child has no place for it. */
static void note_exit(int status, void *unused)
{
    (void)unused;
    exit_status = (uint64_t)status & 0xff;
    if (rec_process.status)
        *rec_process.status = exit_status;
}

void rec_about_start(const char *lines)
{
    static char text[MOST_LINE];
    on_exit(note_exit, NULL);
    while (lines && *lines) {
        const char *end = lines + strcspn(lines, "\n"), *is = strchr(lines, '=');
        const size_t length = is && is < end ? (size_t)(is - lines) : 0;
        if (length > 0 && length + 1 < sizeof text) {
            memcpy(text, lines, length);
            text[length] = '\0';
            decode(text + length + 1, sizeof text - length - 1, is + 1, end);
            rec_define_property(text, text + length + 1);
        }
        lines = end + (*end == '\n');
    }
}

void rec_about_end(void)
{
    uint64_t *status = rec_definitions_end();
    if (status)
        *status = exit_status;
    rec_process.status = status;
}
