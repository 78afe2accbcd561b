/* SPDX-License-Identifier: BSD-3-Clause */
/* Tape: the file of a node in which all its processes record, RUN/<node>.tapes. In it each process
 * has what it would otherwise have in a file of its own (tape/layout.h): a header, tables of
 * extents, and extents.
 *
 *     struct lull_tape_container_header, and entries up to the end of the first page
 *     pages: tables of entries, headers and tables of processes, extents, in any order
 *
 * The processes need no agreement: each takes space by an atomic addition to `end` in the mapping
 * that they share, and an entry of the table by an atomic exchange. So each may die at any moment;
 * space that it has taken and not entered stays a gap. The first 24 bytes are as in the file that
 * `lull pack` makes (tape/layout.h), which has the same name. */
#ifndef LULL_TAPE_CONTAINER_H
#define LULL_TAPE_CONTAINER_H

#include "tape/layout.h"

#include <stdbool.h>

/* A process of the node. Entries are taken in their order and never given back; the first free one
 * ends the list. */
struct lull_tape_container_entry {
    uint32_t taken; /* the number of the process that has taken it, plus 1; 0: free */
    uint32_t reserved;
    uint64_t place; /* where the header of the process stands: bytes from the begin of the file, a
                       multiple of LULL_TAPE_PAGE. Stored last, with release order. 0: the process
                       has not written its header (yet) */
};

/* The table with index k has 256 << k entries more than those in the first page. */
struct lull_tape_container_header {
    char magic[8];    /* LULL_TAPE_NODE_MAGIC */
    uint32_t version; /* LULL_TAPE_VERSION */
    uint32_t byte_order;
    uint32_t header_size; /* up to `tables` */
    uint32_t flags;       /* LULL_TAPE_NODE_RECORDED */
    uint64_t node;        /* the same for all processes that run under one kernel */
    uint64_t end;         /* bytes of the file that are given out */
    uint64_t reserved[2];
    uint64_t
        tables[LULL_TAPE_TABLES]; /* where each table of entries stands; 0: there is none yet */
};

/* Entries in the first page. */
#define LULL_TAPE_FIRST_ENTRIES                                                \
    ((uint32_t)((LULL_TAPE_PAGE - sizeof(struct lull_tape_container_header)) / \
                sizeof(struct lull_tape_container_entry)))

/* Makes the name of a file from `name`, in place: letters, digits and a few signs stay. */
void lull_tape_clean_name(char *name);

/* Asks the file system to write a file in place, where it would otherwise take new blocks for every
 * change. The file must still be empty. */
void lull_tape_write_in_place(int fd);

/* Opens the file of this node in the folder of a run, or makes it where there is none. Returns its
 * descriptor, and writes its path to `path`, which has room for `size` bytes. On failure it returns
 * -1 and errno says why: EFBIG where the size of files is limited (RLIMIT_FSIZE), EEXIST where all
 * names are taken; the file system's own errors where it has no hard links. Allocates nothing, and
 * waits for nobody. */
int lull_tape_container_open(const char *run, char *path, size_t size);

/* Whether the process has taken an entry in one of the run's files of nodes that can be read. */
bool lull_tape_containers_have(const char *run, uint32_t process);

#endif
