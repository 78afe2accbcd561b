/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are read; outputs are in base/output_file.h. */
#ifndef LULL_BASE_FILE_H
#define LULL_BASE_FILE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct lull_mapping {
    const uint8_t *data; /* NULL when size is 0 */
    size_t size;
};

/* Maps a regular file read-only and shared; fails on directories and special files. The caller
 * releases it with lull_unmap. A file that is truncated while mapped raises SIGBUS; callers that
 * read files still being written must look at committed lengths only. */
lull_status lull_map_file(const char *path, struct lull_mapping *ret_mapping,
                          struct lull_error *err);
void lull_unmap(struct lull_mapping *mapping);

/* Opens a regular file for reading. Fails at once on anything else, so that nobody waits for a
 * pipe. The file counts as read (lull_protect_inputs), as it does with lull_map_file. */
lull_status lull_open_read(const char *path, int *ret_fd, struct stat *ret_info,
                           struct lull_error *err);
/* Checks the same for a file that a library will open by its name. */
lull_status lull_check_read(const char *path, struct lull_error *err);
/* From now on this process remembers which files it reads, and no output replaces them. For
 * programs that read, write and end; called before they start threads. */
void lull_protect_inputs(void);
bool lull_was_read(const struct stat *info);

/* Reads up to `size` bytes from the start of a file, to recognise its format; that does not count
 * as reading. */
lull_status lull_read_head(const char *path, void *buffer, size_t size, size_t *ret_got,
                           struct lull_error *err);

bool lull_is_directory(const char *path);

/* Where temporary files go: $TMPDIR, or /tmp where that is not set or empty. Borrowed from the
 * environment. */
const char *lull_temporary_folder(void);
/* Makes a new folder there, whose name is in the arena; the caller removes it. */
lull_status lull_make_temporary_folder(struct lull_arena *arena, const char **ret_folder,
                                       struct lull_error *err);

/* Removes a file or a folder with all that is in it; missing is no error. */
lull_status lull_remove_tree(const char *path, struct lull_error *err);

#endif
