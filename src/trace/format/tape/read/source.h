/* The files of a run: on disk, or packed in those of nodes. Whoever reads a tape reads them through
 * this, as if all were on disk. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_SOURCE_H
#define LULL_TRACE_FORMAT_TAPE_READ_SOURCE_H

#include "base/error.h"
#include "tape/node.h"
#include "trace/format/tape/tape.h"

#include <sys/types.h>

/* A file of a node. */
struct lull_tape_node {
    const char *path;
    int fd;
    uint64_t size;              /* that it has */
    uint64_t blocks;            /* where the table of blocks stands */
    uint64_t n_blocks, payload; /* payload: where the first block stands */
};

/* A file in it. */
struct lull_tape_packed_file {
    struct lull_tape_node_file file;
    const struct lull_tape_node *node;
};

struct lull_tape_packed_location {
    struct lull_tape_node_location location;
    const struct lull_tape_node *node;
};

struct pack_decoder;

/* All that is packed of a run. */
struct lull_tape_packed {
    struct lull_tape_node **nodes;
    size_t n_nodes, nodes_capacity;
    struct lull_tape_packed_file *files; /* by process, number and kind */
    size_t n_files, files_capacity;
    struct lull_tape_packed_location *locations; /* by process and number */
    size_t n_locations, locations_capacity;
};

enum { TAPE_WINDOW = 64 }; /* blocks of the table that are known at a time */

struct lull_tape_source {
    const struct lull_trace *trace;
    const struct lull_tape_packed_file *packed; /* NULL: a file on disk */
    int fd;                                     /* of the file on disk */
    uint64_t size;
    struct lull_tape_node_block window[TAPE_WINDOW]; /* of the table, from block `first` on */
    uint64_t first;
    uint32_t n_window;
    struct lull_error error; /* of a file that is packed */
};

/* Fails with LULL_ERR_IO where there is no such file. */
lull_status lull_tape_source_open(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number,
                                  struct lull_tape_source *ret_source, struct lull_error *err);
/* Whether there is one. */
bool lull_tape_source_there(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                            uint32_t process, uint32_t number);
void lull_tape_source_close(struct lull_tape_source *source);
/* As pread; what cannot be read is told by lull_tape_source_fail, to be called next. */
ssize_t lull_tape_source_read(struct lull_tape_source *source, void *bytes, size_t size,
                              uint64_t offset);
/* Of a packed file: all of the block that begins at `offset`; `bytes` has room for a chunk. */
ssize_t lull_tape_source_read_block(struct lull_tape_source *source, void *bytes, uint64_t offset);
lull_status lull_tape_source_fail(const struct lull_tape_source *source, const char *path,
                                  struct lull_error *err);
/* What the user knows the file by. Returns `buffer`. */
const char *lull_tape_source_path(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number, char *buffer, size_t size);

/* ---- files.c ----------------------------------------------------------------------------------
 */

/* What the name of a file says: "12.3.tape" is 12, 3 and LULL_TAPE_NODE_TAPE. False: it is none of
 * a tape's. */
bool lull_tape_parse_name(const char *name, struct lull_tape_name *ret_name,
                          enum lull_tape_node_kind *ret_kind);

/* ---- node.c -----------------------------------------------------------------------------------
 */

/* Reads the tables of RUN/<name>. */
lull_status lull_tape_node_open(struct lull_trace *trace, const char *name, struct lull_error *err);
/* When all are open: fails where a file is in two of them. */
lull_status lull_tape_nodes_join(struct lull_trace *trace, struct lull_error *err);
void lull_tape_nodes_close(struct lull_trace *trace);
/* NULL: it is not packed. */
const struct lull_tape_packed_file *lull_tape_packed_find(const struct lull_trace *trace,
                                                          enum lull_tape_node_kind kind,
                                                          uint32_t process, uint32_t number);
const struct lull_tape_node_location *lull_tape_packed_location(const struct lull_trace *trace,
                                                                uint32_t process, uint32_t number);

#endif
