/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/proc_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool rec_read_proc(uint32_t thread, const char *name, char *text, size_t size)
{
    char path[64] = "/proc/thread-self/";
    if (thread == REC_OWN_THREAD)
        strcat(path, name);
    else
        snprintf(path, sizeof path, "/proc/self/task/%u/%s", thread, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

uint64_t rec_number_behind(const char *text, const char *word)
{
    const char *found = strstr(text, word);
    const char *colon = found ? strchr(found, ':') : NULL;
    return colon ? strtoull(colon + 1, NULL, 10) : 0;
}
