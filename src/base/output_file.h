/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs: files and folders that appear whole or not at all; and what a program that writes them
 * asks of its own process. */
#ifndef LULL_BASE_OUTPUT_FILE_H
#define LULL_BASE_OUTPUT_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ==== output file ============================================================================= */

/* An output under a temporary name in the target's own folder, renamed on commit. `directory`
 * chooses a folder instead of a file. Where `path` is a symbolic link, the target is what it points
 * to, and the link stays.
 *
 * Fails when the target exists and `replace` is false. With `replace`, files replace files, and
 * folders replace folders that are empty or hold a file of the same name as the new one. Three
 * things are never replaced: what is neither file nor folder, what was read (lull_protect_inputs)
 * or has such a file in it, and what came to the place of the target after lull_output_begin. */
struct lull_output;
lull_status lull_output_begin(const char *path, bool directory, bool replace,
                              struct lull_output **ret_output, struct lull_error *err);
const char *lull_output_path(const struct lull_output *output); /* the temporary name */
/* Renames into place; on failure the temporary is removed. Frees `output` in either case. */
lull_status lull_output_commit(struct lull_output *output, struct lull_error *err);
/* The same for several outputs that belong together: all appear, or everything is as it was
 * before. */
lull_status lull_output_commit_all(struct lull_output *const *outputs, size_t count,
                                   struct lull_error *err);
void lull_output_discard(struct lull_output *output); /* NULL is allowed */
/* For a process that is about to end by a signal: removes the temporaries of all outputs in
 * progress. Whoever begins, commits or discards an output after that waits for ever. */
void lull_output_discard_pending(void);

FILE *lull_output_stream_open(const char *path, int *ret_failure);
/* Closes the stream: LULL_OK, or "PATH: cannot write: CAUSE". */
lull_status lull_output_stream_close(FILE *stream, const int *failure, const char *path,
                                     struct lull_error *err);

/* Writes a file, which appears whole or not at all. `write` leaves errors in the stream. Devices,
 * pipes, and what standard output and standard error are (/dev/stdout) are written into. Only a
 * regular file is ever replaced, and none that was read. */
lull_status lull_file_write(const char *path, void (*write)(const void *content, FILE *out),
                            const void *content, struct lull_error *err);
/* Whether lull_file_write will be able to begin: to be asked before long work. */
lull_status lull_file_probe(const char *path, struct lull_error *err);
/* The descriptor into which lull_file_write writes directly, where `path` names a device, a pipe,
 * or what standard output or standard error are, even if that is a file. -1 where it does not write
 * directly, or with a reason in errno where that cannot be opened. */
int lull_file_direct(const char *path);
/* Writes to a descriptor and closes it; messages call it `path`. */
lull_status lull_file_write_to(int fd, const char *path,
                               void (*write)(const void *content, FILE *out), const void *content,
                               struct lull_error *err);

/* ==== the process: limits and signals ========================================================= */

/* Raises the number of open files to what the system allows, because some formats keep one open per
 * location. For programs that read traces, not for those that start the user's program, which would
 * inherit the limit. */
void lull_limits_raise_files(void);

/* From now on Ctrl-C and termination remove the temporary files of an output that is being written;
 * then the signal ends the process as usual. Called before threads are made, by programs that write
 * files. */
void lull_interrupt_clean_up(void);

#endif
