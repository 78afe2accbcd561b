/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory the system lets this process have: Linux puts processes into control groups, each of
 * which may have a limit that holds for all processes in it and in the groups below it. Batch systems and
 * containers limit jobs so. Versions 1 and 2 of control groups are known. The recorder calls this in the
 * measured program: no memory is allocated. */
#ifndef LULL_BASE_MEMORY_LIMIT_H
#define LULL_BASE_MEMORY_LIMIT_H

#include <stdint.h>

struct lull_memory_limit {
    uint64_t bytes; /* the least limit of the groups that the process is in; 0: there is none */
    uint64_t
        group; /* of the group that has this limit: the same number in all processes of a system, and above 0 */
    uint64_t
        left; /* what may still be taken until one of the limits is reached; UINT64_MAX: there is none */
};

/* `root` is put before the paths of the system's files ("/proc/self/cgroup", "/sys/fs/cgroup/..."):
 * "", or a folder that looks like a system. What cannot be read counts as no limit. */
struct lull_memory_limit lull_memory_limit_find(const char *root);

#endif
