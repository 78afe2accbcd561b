/* Files of processes made extent by extent, as a recorder writes them: for tests of the reader. */
#ifndef LULL_TESTS_PROCESS_MAKER_H
#define LULL_TESTS_PROCESS_MAKER_H

#include "support/tape_maker.h"
#include "tape/layout.h"

#include <stdbool.h>

/* Zeroed before the first extent. */
struct process_maker {
    unsigned char *bytes; /* malloc'd; NULL: there is no extent yet */
    size_t size, capacity;
    uint32_t process, n_extents;
};

/* Bytes as an extent of their own, filled up to whole pages; returns its number. */
uint32_t process_add(struct process_maker *maker, unsigned part, uint32_t location,
                     const void *bytes, size_t size);
/* The entry of an extent, and the header; valid until the next process_add. */
struct lull_tape_extent *process_entry(struct process_maker *maker, uint32_t number);
struct lull_tape_process_header *process_header(struct process_maker *maker);

/* The definitions, and the location with its chunks in extents of `chunks` each and the newest
 * records in a tail, if it is to have one; frees what they have. */
void process_add_definitions(struct process_maker *maker, struct definitions_maker *definitions);
void process_add_location(struct process_maker *maker, struct tape_maker *tape, unsigned chunks,
                          bool tailed);

/* Writes RUN/<group>/<p>.tape. */
void process_write(const struct process_maker *maker, const char *run);
void process_free(struct process_maker *maker);

/* Puts one part into RUN/<group>/<p>.tape, in the place of the same part of the same location if
 * the file has it; parts stand there by location and part. */
void process_put(const char *run, uint32_t process, unsigned part, uint32_t location,
                 const void *bytes, size_t size);
/* Where such a part begins in the file. */
size_t process_place(const char *run, uint32_t process, unsigned part, uint32_t location);

#endif
