/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the packed file of a node. */
#ifndef LULL_TRACE_FORMAT_TAPE_PACK_NODE_WRITER_H
#define LULL_TRACE_FORMAT_TAPE_PACK_NODE_WRITER_H

#include "trace/format/tape/read/tape_source.h"

struct pack_progress {
    void (*report)(void *context, double share);
    void *context;
    uint64_t done, all; /* bytes */
};

/* Packs `n_files` files, which are sorted, with the locations that are in them, into a new file.
 * Sets the fields of `files` that describe their blocks. */
lull_status lull_pack_write_node(const struct lull_trace *trace, const char *path,
                                 struct lull_tape_node_file *files, uint32_t n_files,
                                 const struct lull_tape_node_location *locations,
                                 uint32_t n_locations, struct pack_progress *progress,
                                 struct lull_error *err);

/* Writes all of `size` bytes at `offset`. */
lull_status lull_pack_write_at(int fd, const char *path, const void *bytes, size_t size,
                               uint64_t offset, struct lull_error *err);

#endif
