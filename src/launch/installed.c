/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/installed.h"

#include <limits.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

const char *lull_own_path(struct lull_arena *arena)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? lull_arena_strndup(arena, path, (size_t)length) : "lull";
}

const char *const *lull_own_folders(struct lull_arena *arena)
{
    const char **folders = lull_arena_zero(arena, 3, sizeof *folders);
    const char *own = lull_own_path(arena);
    const char *slash = strrchr(own, '/');
    if (!slash)
        return folders;
    folders[0] = lull_arena_strndup(arena, own, (size_t)(slash - own));
    folders[1] = lull_arena_printf(arena, "%s/../" LULL_RECORD_FOLDER, folders[0]);
    return folders;
}
