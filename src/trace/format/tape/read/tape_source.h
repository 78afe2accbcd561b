/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run, on disk or packed in files of nodes. All readers of a tape read them through
 * a struct lull_tape_source, as if all were on disk; internal to the tape format. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_SOURCE_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_SOURCE_H

#include "base/error.h"
#include "tape/layout.h"
#include "trace/format/tape/tape_data.h"

#include <sys/types.h>

/* The packed file of a node (the last section of tape/layout.h). */
struct lull_tape_node {
    const char *path;
    int fd;
    uint64_t size;   /* bytes that are there; less than the header says if it was cut short */
    uint64_t blocks; /* where the table of blocks stands */
    uint64_t n_blocks;
    uint64_t payload; /* where the first block stands */
};

/* A file in the packed file of a node. */
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
    const char *path; /* of the container on disk, or of the file in which it is packed */
    int fd;           /* -1: the container is packed */
    const struct lull_tape_packed_file *packed; /* NULL: it is on disk */
    uint32_t number;     /* among the containers of the run, in the order of their names */
    uint64_t tables[20]; /* where the LULL_TAPE_TABLES tables of entries stand; 0: no more tables */
};

/* A process in a container. */
struct lull_tape_contained {
    uint32_t process;
    uint64_t place; /* where its header stands */
    const struct lull_tape_container *container;
};

/* All containers of a run. */
struct lull_tape_containers {
    struct lull_tape_container **list;
    size_t n, capacity;
    struct lull_tape_contained *processes; /* ascending by number */
    size_t n_processes, processes_capacity;
    struct holding *holdings; /* malloc'd, until they are checked */
    size_t n_holdings, holdings_capacity;
};

/* The block that was decoded last, kept while the run is being opened: most of the small parts that
 * are read then are in the same block as the part before. */
struct lull_tape_recent {
    const struct lull_tape_node *node; /* NULL: there is none */
    uint64_t block;                    /* number of the block in the node's table */
    uint32_t length;
    unsigned char *bytes; /* malloc'd */
};

/* Everything that is packed in a run. */
struct lull_tape_packed {
    struct lull_tape_recent recent;
    struct lull_tape_node **nodes;
    size_t n_nodes, nodes_capacity;
    struct lull_tape_packed_file *files; /* by process, number and kind */
    size_t n_files, files_capacity;
    struct lull_tape_packed_location *locations; /* by process and number */
    size_t n_locations, locations_capacity;
};

enum { TAPE_WINDOW = 16 }; /* entries of the table of blocks that a source holds at a time */

/* A file that is being read. */
struct lull_tape_source {
    const struct lull_trace *trace;
    const struct lull_tape_packed_file *packed;  /* NULL: a file on disk */
    const struct lull_tape_container *container; /* NULL: not a container */
    bool contained; /* the container is opened as the file of one of its processes */
    uint64_t base;  /* where the header of that process stands */
    int fd;         /* of the file on disk */
    uint64_t size;
    struct lull_tape_node_block window[TAPE_WINDOW]; /* entries of blocks from `first` on */
    uint64_t first;
    uint32_t n_window;
    struct lull_error error; /* why the last read of a packed file failed */
};

/* Fails with LULL_ERR_IO where there is no such file. */
lull_status lull_tape_source_open(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number,
                                  struct lull_tape_source *ret_source, struct lull_error *err);
/* Tells the system that only small parts will be read, here and there, so that it does not read
 * ahead. */
void lull_tape_source_sparse(const struct lull_tape_source *source);
void lull_tape_source_close(struct lull_tape_source *source);
/* As pread. After a failure, call lull_tape_source_fail, which says what is wrong. */
ssize_t lull_tape_source_read(struct lull_tape_source *source, void *bytes, size_t size,
                              uint64_t offset);
/* Reads all of the block of a packed file that begins at `offset`; `bytes` has room for a chunk. */
ssize_t lull_tape_source_read_block(struct lull_tape_source *source, void *bytes, uint64_t offset);
lull_status lull_tape_source_fail(const struct lull_tape_source *source, const char *path,
                                  struct lull_error *err);
/* The path by which the user knows the file. Returns `buffer`. */
const char *lull_tape_source_path(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number, char *buffer, size_t size);

/* ---- names of files -------------------------------------------------------------------------- */

/* Reads a number as lull writes it in names of files: "0" and "12", but not "00" or "012", with
 * which a file would have two names. */
bool lull_tape_parse_number(const char *text, size_t length, uint64_t *ret_number);

/* The process whose file has that name: 12 of "12.tape". False: no process's. */
bool lull_tape_parse_name(const char *name, uint32_t *ret_process);

/* Compares structs that begin with a struct lull_tape_name, by process and number. */
int lull_tape_compare_names(const void *a, const void *b);
void lull_tape_sort_files(struct lull_tape_data *data);

/* Notes a damage in the file of a node: it is told as a quirk, and what cannot be read is
 * missing. */
void lull_tape_note_damage(struct lull_trace *trace, const struct lull_error *err);
/* As lull_trace_leave_out; from then on nothing of the location is read. */
lull_status lull_tape_leave_out_location(const struct lull_trace *trace, uint32_t location,
                                         lull_status status, const struct lull_error *err);

/* ---- containers (process_files.c) ------------------------------------------------------------ */

/* Notes a container: by a descriptor, which is closed with the trace, or as a packed file. */
void lull_tape_container_note(struct lull_trace *trace, const char *path, int fd,
                              const struct lull_tape_packed_file *packed);
/* Finds the processes of all containers, when all are noted. Fails where a process is in two. */
lull_status lull_tape_containers_read(struct lull_trace *trace, struct lull_error *err);
void lull_tape_containers_close(struct lull_trace *trace);
/* The container with that number; NULL: there is none. */
const struct lull_tape_container *lull_tape_container_find(const struct lull_trace *trace,
                                                           uint32_t number);
/* Where a process is in a container; NULL: it is in none. */
const struct lull_tape_contained *lull_tape_contained_find(const struct lull_trace *trace,
                                                           uint32_t process);
/* These note which parts of a container a process holds: its header with LULL_TAPE_TABLES tables,
 * and each of its extents. False: no memory. When all processes have been noted,
 * lull_tape_check_holdings finds those that hold the same parts, and marks them as damaged. */
bool lull_tape_hold_process(struct lull_trace *trace, const struct lull_tape_contained *contained,
                            const uint64_t *tables);
bool lull_tape_hold_extent(struct lull_trace *trace, const struct lull_tape_contained *contained,
                           uint32_t number, uint32_t location, uint32_t page, uint32_t pages);
lull_status lull_tape_check_holdings(struct lull_trace *trace, struct lull_error *err);

/* ---- packed files of nodes (tape_source.c) --------------------------------------------------- */

/* Reads the tables of RUN/<name>. */
lull_status lull_tape_node_open(struct lull_trace *trace, const char *name, struct lull_error *err);
/* Joins the tables, when all nodes are open. Fails where a file is in two of them. */
lull_status lull_tape_nodes_join(struct lull_trace *trace, struct lull_error *err);
void lull_tape_nodes_close(struct lull_trace *trace);
/* To be called when the run is open. Opening a run reads small parts here and there, and the system
 * was told not to read ahead; from now on it may. */
void lull_tape_nodes_opened(const struct lull_trace *trace);
/* What the packed file of a node tells of a location; NULL: the location is not packed. */
const struct lull_tape_node_location *lull_tape_packed_location(const struct lull_trace *trace,
                                                                uint32_t process, uint32_t number);

#endif
