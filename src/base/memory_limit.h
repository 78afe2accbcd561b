/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory the system lets this process have: Linux puts processes into control groups, each of
 * which may have a limit that holds for all processes in it and in the groups below it. Batch systems and
 * containers limit jobs so. Versions 1 and 2 of control groups are known. The recorder calls this in the
 * measured program, and so all of it is in line: no memory is allocated. */
#ifndef LULL_BASE_MEMORY_LIMIT_H
#define LULL_BASE_MEMORY_LIMIT_H

#include "base/fnv.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lull_memory_limit {
    /* The least limit of the groups that the process is in, bytes; 0: there is none. */
    uint64_t bytes;
    /* The number of the group that has this limit: the same in all processes of a system, and above 0. */
    uint64_t group;
    /* The bytes that may still be taken until one of the limits is reached; UINT64_MAX: there is none. */
    uint64_t left;
};

/* Of a path, and of the list of groups that a process is in. What does not fit is left out. */
enum { LULL_MEMORY_LIMIT_PATH = 1024, LULL_MEMORY_LIMIT_GROUPS = 4096 };

/* From here on a number of bytes means that there is no limit: version 1 says so by about 2^63. */
#define LULL_MEMORY_NO_LIMIT (UINT64_C(1) << 60)

/* Where the groups of a version are, and the names of their files. */
struct lull_memory_hierarchy {
    const char *folder, *limit, *used;
};

/* The text of FOLDER/NAME; "": there is none. */
static inline void lull_memory_limit_text(const char *folder, const char *name, char *text,
                                          size_t size)
{
    char path[LULL_MEMORY_LIMIT_PATH];
    text[0] = '\0';
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
}

/* The number in a file; `otherwise`: there is none, as where it says "max". */
static inline uint64_t lull_memory_limit_number(const char *folder, const char *name,
                                                uint64_t otherwise)
{
    char text[32], *end;
    lull_memory_limit_text(folder, name, text, sizeof text);
    const uint64_t number = strtoull(text, &end, 10);
    return end != text ? number : otherwise;
}

/* Takes the limit of one group into account. */
static inline void lull_memory_limit_group(const struct lull_memory_hierarchy *in,
                                           const char *folder, struct lull_memory_limit *limit)
{
    const uint64_t bytes = lull_memory_limit_number(folder, in->limit, UINT64_MAX);
    if (bytes >= LULL_MEMORY_NO_LIMIT || bytes == 0)
        return;
    const uint64_t used = lull_memory_limit_number(folder, in->used, 0),
                   left = bytes > used ? bytes - used : 0;
    limit->left = left < limit->left ? left : limit->left;
    if (limit->bytes > 0 && limit->bytes <= bytes)
        return;
    limit->bytes = bytes;
    limit->group = (lull_fnv(LULL_FNV_BEGIN, folder, strlen(folder)) >> 1) | 1;
}

/* The group with that path and all groups around it. A process in a container may be told a path that it
 * cannot see; the groups around it that it sees count. */
static inline void lull_memory_limit_groups(const struct lull_memory_hierarchy *in,
                                            const char *root, const char *path,
                                            struct lull_memory_limit *limit)
{
    char folder[LULL_MEMORY_LIMIT_PATH];
    const int top = snprintf(folder, sizeof folder, "%s%s", root, in->folder);
    if (top < 0 || (size_t)top + strlen(path) >= sizeof folder)
        return;
    strcpy(folder + top, path);
    for (char *end = folder + strlen(folder); end >= folder + top; end--) {
        if (*end != '/' && *end != '\0')
            continue;
        const bool is_empty = *end == '\0' && end > folder + top && end[-1] == '/';
        *end = '\0';
        if (!is_empty)
            lull_memory_limit_group(in, folder, limit);
    }
}

/* A line of /proc/self/cgroup is "0::PATH" for version 2, and "NUMBER:CONTROLLERS:PATH" for version 1,
 * with commas between the controllers. */
static inline void lull_memory_limit_line(const char *root, char *line,
                                          struct lull_memory_limit *limit)
{
    static const struct lull_memory_hierarchy
        unified[] = {{"/sys/fs/cgroup", "memory.max", "memory.current"},
                     {"/sys/fs/cgroup/unified", "memory.max", "memory.current"}},
        memory = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"};
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *controllers++ = '\0';
    *path++ = '\0';
    if (strcmp(line, "0") == 0 && *controllers == '\0') {
        for (size_t i = 0; i < sizeof unified / sizeof *unified; i++)
            lull_memory_limit_groups(&unified[i], root, path, limit);
        return;
    }
    for (char *rest = NULL, *one = strtok_r(controllers, ",", &rest); one;
         one = strtok_r(NULL, ",", &rest))
        if (strcmp(one, "memory") == 0)
            lull_memory_limit_groups(&memory, root, path, limit);
}

/* `root` is put before the paths of the system's files ("/proc/self/cgroup", "/sys/fs/cgroup/..."):
 * "", or a folder that looks like a system. What cannot be read counts as no limit. */
static inline struct lull_memory_limit lull_memory_limit_find(const char *root)
{
    struct lull_memory_limit limit = {.left = UINT64_MAX};
    char folder[LULL_MEMORY_LIMIT_PATH], text[LULL_MEMORY_LIMIT_GROUPS];
    if (snprintf(folder, sizeof folder, "%s/proc/self", root) >= (int)sizeof folder)
        return limit;
    lull_memory_limit_text(folder, "cgroup", text, sizeof text);
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        lull_memory_limit_line(root, line, &limit);
    return limit;
}

#endif
