/* Files: read-only mappings, and outputs that appear whole or not at all. */
#ifndef LULL_BASE_FILE_H
#define LULL_BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* Reads up to `size` bytes from the start of a file (recognising a format). */
lull_status lull_read_head(const char *path, void *buffer, size_t size, size_t *ret_got,
                           struct lull_error *err);

bool lull_is_directory(const char *path);

/* Where temporary files go: $TMPDIR, or /tmp where that is not set or empty. Borrowed from the
 * environment. */
const char *lull_temporary_folder(void);

/* An output under a temporary name in the target's own folder, renamed on commit. `directory`
 * chooses a folder instead of a file. Fails when `path` exists and `replace` is false; with it,
 * files replace files, and folders replace folders that hold a file of the same name or nothing. */
struct lull_output;
lull_status lull_output_begin(const char *path, bool directory, bool replace,
                              struct lull_output **ret_output, struct lull_error *err);
const char *lull_output_path(const struct lull_output *output); /* the temporary name */
/* Renames into place; on failure the temporary is removed. Frees `output` in either case. */
lull_status lull_output_commit(struct lull_output *output, struct lull_error *err);
void lull_output_discard(struct lull_output *output); /* NULL is allowed */
/* For a process that is about to end by a signal: removes the temporaries of all outputs in
 * progress. Outputs begun, committed or discarded after that wait for ever. */
void lull_output_discard_pending(void);

/* Removes a file or a folder with all that is in it; missing is no error. */
lull_status lull_remove_tree(const char *path, struct lull_error *err);

#endif
