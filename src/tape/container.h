/* Tape: the file of a node in which all its processes record, RUN/<node>.tapes. Each of them has in
 * it what it has else in a file of its own (layout.h): a header, tables of extents, extents.
 *
 *     struct lull_tape_container_header, and entries up to the end of the first page
 *     pages, of tables of entries, of processes' headers and tables, of extents
 *
 * Processes agree on nothing: space is taken by an atomic addition to `end` in the mapping that
 * they share, and a place in the table by an atomic exchange. So each may die at any moment: what
 * it has taken and not entered is a gap. The first 24 bytes are as in the file that `lull pack`
 * makes (layout.h), which has the same name. */
#ifndef LULL_TAPE_CONTAINER_H
#define LULL_TAPE_CONTAINER_H

#include "tape/layout.h"

#include <stdbool.h>

/* Entries are taken in their order, and never given back; the first one that is free ends them. */
struct lull_tape_container_entry {
    uint32_t taken; /* by which process: its number + 1; 0: free */
    uint32_t reserved;
    uint64_t place; /* where its header stands, a multiple of pages; stored last, with release
                       order. 0: not (yet) there */
};

/* The table with index k has 256 << k entries more than those in the first page. */
struct lull_tape_container_header {
    char magic[8];    /* LULL_TAPE_NODE_MAGIC; stored last: without it there is nothing yet */
    uint32_t version; /* LULL_TAPE_NODE_VERSION */
    uint32_t byte_order;
    uint32_t header_size; /* up to `tables` */
    uint32_t flags;       /* LULL_TAPE_NODE_RECORDED */
    uint64_t node;        /* the same for processes that one kernel runs */
    uint64_t end;         /* bytes that are given out */
    uint64_t reserved[2];
    uint64_t tables[LULL_TAPE_TABLES]; /* where they stand; 0: there is none yet */
};

#define LULL_TAPE_FIRST_ENTRIES                                                \
    ((uint32_t)((LULL_TAPE_PAGE - sizeof(struct lull_tape_container_header)) / \
                sizeof(struct lull_tape_container_entry)))

/* Makes `name` one of a file: of letters, digits and a few signs. */
void lull_tape_clean_name(char *name);

/* A file that is still empty is told to be written in place, where a file system would otherwise
 * ask for new blocks with every change. */
void lull_tape_write_in_place(int fd);

/* The file of this node in the folder of a run: opened, or made where there is none. `path`, with
 * room for `size` bytes, becomes its path. -1: it cannot be had, and errno says why: EFBIG where
 * files may not become as large as the program likes, EEXIST where all names are taken. Allocates
 * nothing; waits a second at most, for another process that is just making it. */
int lull_tape_container_open(const char *run, char *path, size_t size);

/* Whether the process has taken an entry in a file of a node of that run that can be read. */
bool lull_tape_containers_have(const char *run, uint32_t process);

#endif
