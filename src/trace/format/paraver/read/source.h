/* The bytes of a .prv or .prv.gz file, chunk by chunk; internal to the Paraver format.
 *
 * A gzip file is inflated in a thread of its own, a few buffers ahead of the caller; of a plain
 * file each chunk is read when asked for. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_SOURCE_H
#define LULL_TRACE_FORMAT_PARAVER_READ_SOURCE_H

#include "trace/trace.h"

#include <stddef.h>

enum {
    LULL_PRV_CHUNK = 1 << 18, /* bytes of a chunk at most */
    LULL_PRV_HEAD = 1 << 16,  /* free bytes before it: the longest line that spans two chunks */
    LULL_PRV_PAD = 16         /* free bytes behind it */
};

struct lull_prv_source;

/* Begins at byte `offset` of the (uncompressed) content. `trace` gives path and quirk list;
 * `again`: the file has been or will be read by another source, which counts the quirks. */
lull_status lull_prv_source_open(const struct lull_trace *trace, uint64_t offset, bool again,
                                 struct lull_prv_source **ret_source, struct lull_error *err);

/* Memory for a chunk with its head and pad; free() releases it. NULL: none. */
uint8_t *lull_prv_source_memory(void);

/* The next chunk, behind the head of *memory, which is the caller's and may be exchanged for
 * another; *ret_size is 0 at the end. Truncated or corrupt gzip data is an error that names the
 * place. */
lull_status lull_prv_source_next(struct lull_prv_source *source, uint8_t **memory, size_t *ret_size,
                                 struct lull_error *err);

/* Share of the file that has been read, 0 .. 1. */
double lull_prv_source_share(const struct lull_prv_source *source);

/* Size of the file as it lies on the disk, and whether it is a gzip file. */
uint64_t lull_prv_source_file_size(const struct lull_prv_source *source);
bool lull_prv_source_gzip(const struct lull_prv_source *source);

void lull_prv_source_close(struct lull_prv_source *source); /* NULL is allowed */

#endif
