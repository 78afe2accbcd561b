/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/proc_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file descriptor; -1: the system does not have the file. */
static int open_proc(uint32_t thread, const char *name)
{
    char path[64] = "/proc/thread-self/";
    if (thread == REC_OWN_THREAD)
        strcat(path, name);
    else
        snprintf(path, sizeof path, "/proc/self/task/%u/%s", thread, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool rec_read_proc(uint32_t thread, const char *name, char *text, size_t size)
{
    const int fd = open_proc(thread, name);
    const ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static void read_line(const char *line, struct rec_proc_number *numbers, size_t n_numbers)
{
    for (size_t i = 0; i < n_numbers; i++) {
        const size_t length = strlen(numbers[i].word);
        if (strncmp(line, numbers[i].word, length) != 0)
            continue;
        const char *colon = line + length + strspn(line + length, " \t");
        if (*colon == ':')
            numbers[i].value = strtoull(colon + 1, NULL, 10);
    }
}

/* Reads all whole lines of a text, and moves what is behind them to its begin. How much that is. */
static size_t read_lines(char *text, size_t length, struct rec_proc_number *numbers,
                         size_t n_numbers)
{
    char *line = text, *end;
    while ((end = memchr(line, '\n', (size_t)(text + length - line))) != NULL) {
        *end = '\0';
        read_line(line, numbers, n_numbers);
        line = end + 1;
    }
    const size_t rest = (size_t)(text + length - line);
    memmove(text, line, rest);
    return rest;
}

bool rec_read_proc_numbers(uint32_t thread, const char *name, struct rec_proc_number *numbers,
                           size_t n_numbers)
{
    char text[512];
    size_t length = 0;
    bool any = false;
    for (size_t i = 0; i < n_numbers; i++)
        numbers[i].value = 0;
    const int fd = open_proc(thread, name);
    ssize_t got;
    while (fd >= 0 && (got = read(fd, text + length, sizeof text - length)) > 0) {
        any = true;
        length = read_lines(text, length + (size_t)got, numbers, n_numbers);
        if (length == sizeof text) /* of a line that does not fit its begin is left out */
            length = 0;
    }
    if (fd >= 0)
        close(fd);
    return any;
}
