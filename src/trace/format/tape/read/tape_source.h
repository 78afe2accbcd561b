/* The files of a run: on disk, or packed in those of nodes. Whoever reads a tape reads them through
 * this, as if all were on disk. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_SOURCE_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_SOURCE_H

#include "base/error.h"
#include "tape/layout.h"
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

/* The file of a node in which its processes have recorded (tape/container.h). */
struct lull_tape_container {
    const char *path;                           /* on disk, or of what it is packed in */
    int fd;                                     /* -1: it is packed */
    const struct lull_tape_packed_file *packed; /* then */
    uint32_t number;                            /* of those of the run, by their names */
    uint64_t tables[20];                        /* of processes; 0: it has no more */
};

/* A process in it. */
struct lull_tape_contained {
    uint32_t process;
    uint64_t place; /* of its header */
    const struct lull_tape_container *container;
};

/* All of a run. */
struct lull_tape_containers {
    struct lull_tape_container **list;
    size_t n, capacity;
    struct lull_tape_contained *processes; /* by number */
    size_t n_processes, processes_capacity;
    struct holding *holdings; /* malloc'd, until they are checked */
    size_t n_holdings, holdings_capacity;
};

/* The block that was decoded last while the run is being opened: the next small part that is read
 * is mostly in the same one. */
struct lull_tape_recent {
    const struct lull_tape_node *node; /* NULL: there is none */
    uint64_t block;                    /* its number there */
    uint32_t length;
    unsigned char *bytes; /* malloc'd */
};

/* All that is packed of a run. */
struct lull_tape_packed {
    struct lull_tape_recent recent;
    struct lull_tape_node **nodes;
    size_t n_nodes, nodes_capacity;
    struct lull_tape_packed_file *files; /* by process, number and kind */
    size_t n_files, files_capacity;
    struct lull_tape_packed_location *locations; /* by process and number */
    size_t n_locations, locations_capacity;
};

enum { TAPE_WINDOW = 16 }; /* blocks of the table that are known at a time */

struct lull_tape_source {
    const struct lull_trace *trace;
    const struct lull_tape_packed_file *packed;  /* NULL: a file on disk */
    const struct lull_tape_container *container; /* NULL: the file is not that of a node */
    bool contained;                              /* it is, and opened as that of one process */
    uint64_t base;                               /* where the header of the process stands */
    int fd;                                      /* of the file on disk */
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
/* Reads small parts here and there: the system shall read no more than these. */
void lull_tape_source_sparse(const struct lull_tape_source *source);
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

/* ---- tape.c ----------------------------------------------------------------------------------
 */

/* What the name of a file says: "12.3.tape" is 12, 3 and LULL_TAPE_NODE_TAPE. False: it is none of
 * a tape's. */
bool lull_tape_parse_name(const char *name, struct lull_tape_name *ret_name,
                          enum lull_tape_node_kind *ret_kind);

/* By process and number: structs that begin with such a name. */
int lull_tape_compare_names(const void *a, const void *b);
void lull_tape_sort_files(struct lull_tape_data *data);

/* What is damaged in the file of a node is told, and what cannot be read of it is missing. */
void lull_tape_note_damage(struct lull_trace *trace, const struct lull_error *err);

/* ---- process_files.c ------------------------------------------------------------------------------
 */

/* Such a file, whose descriptor is closed with the trace; or that is packed. */
void lull_tape_container_note(struct lull_trace *trace, const char *path, int fd,
                              const struct lull_tape_packed_file *packed);
/* When all are noted: finds their processes. Fails where one is there twice. */
lull_status lull_tape_containers_read(struct lull_trace *trace, struct lull_error *err);
void lull_tape_containers_close(struct lull_trace *trace);
/* NULL: there is none with that number. */
const struct lull_tape_container *lull_tape_container_find(const struct lull_trace *trace,
                                                           uint32_t number);
/* NULL: it is not in the file of a node. */
const struct lull_tape_contained *lull_tape_contained_find(const struct lull_trace *trace,
                                                           uint32_t process);
/* What a process has in the file of its node: its header with the LULL_TAPE_TABLES tables, and an
 * extent; false: there is no memory. Of processes that hold the same, when all have been asked,
 * lull_tape_check_holdings says so, and leaves them out. */
bool lull_tape_hold_process(struct lull_trace *trace, const struct lull_tape_contained *contained,
                            const uint64_t *tables);
bool lull_tape_hold_extent(struct lull_trace *trace, const struct lull_tape_contained *contained,
                           uint32_t number, uint32_t location, uint32_t page, uint32_t pages);
lull_status lull_tape_check_holdings(struct lull_trace *trace, struct lull_error *err);

/* ---- node.c -----------------------------------------------------------------------------------
 */

/* Reads the tables of RUN/<name>. */
lull_status lull_tape_node_open(struct lull_trace *trace, const char *name, struct lull_error *err);
/* When all are open: fails where a file is in two of them. */
lull_status lull_tape_nodes_join(struct lull_trace *trace, struct lull_error *err);
void lull_tape_nodes_close(struct lull_trace *trace);
/* The run is open, for which small parts of them have been read here and there, and no more than
 * these: from now on the system may read ahead. */
void lull_tape_nodes_opened(const struct lull_trace *trace);
/* NULL: it is not packed. */
const struct lull_tape_packed_file *lull_tape_packed_find(const struct lull_trace *trace,
                                                          enum lull_tape_node_kind kind,
                                                          uint32_t process, uint32_t number);
const struct lull_tape_node_location *lull_tape_packed_location(const struct lull_trace *trace,
                                                                uint32_t process, uint32_t number);

#endif
