/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a file, inflated where it is a gzip file, chunk by chunk; internal to the trace room.
 *
 * A gzip file is inflated in a thread of its own, a few buffers ahead of the caller; of a plain
 * file each chunk is read when asked for. */
#ifndef LULL_TRACE_BYTE_SOURCE_H
#define LULL_TRACE_BYTE_SOURCE_H

#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LULL_BYTE_SOURCE_CHUNK = 1 << 18, /* bytes of a chunk at most */
    LULL_BYTE_SOURCE_HEAD =
        1 << 16,              /* free bytes before it: the longest line that spans two chunks */
    LULL_BYTE_SOURCE_PAD = 16 /* free bytes behind it */
};

struct lull_byte_source;

/* Begins at byte `offset` of the uncompressed content of the file at `path`, which must outlive the source.
 * `trace` gives the list of quirks. `again`: another source of the file counts the quirks, this one does
 * not. */
lull_status lull_byte_source_open(const struct lull_trace *trace, const char *path, uint64_t offset,
                                  bool again, struct lull_byte_source **ret_source,
                                  struct lull_error *err);

/* Memory for a chunk with its head and pad; free() releases it. NULL: none. */
uint8_t *lull_byte_source_memory(void);

/* Reads the next chunk to behind the head of *memory; *ret_size is 0 at the end. *memory belongs to
 * the caller and may be replaced by another one of the same size. Truncated or corrupt gzip data is
 * an error that names the place. */
lull_status lull_byte_source_next(struct lull_byte_source *source, uint8_t **memory,
                                  size_t *ret_size, struct lull_error *err);

/* Share of the file that has been read, 0 .. 1. */
double lull_byte_source_share(const struct lull_byte_source *source);

/* Size of the file as it lies on the disk, and whether it is a gzip file. */
uint64_t lull_byte_source_file_size(const struct lull_byte_source *source);
bool lull_byte_source_gzip(const struct lull_byte_source *source);

void lull_byte_source_close(struct lull_byte_source *source); /* NULL is allowed */

#endif
