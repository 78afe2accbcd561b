/* The file of a node, as recorders of several processes write it at the same time: their extents
 * stand in turns. For tests of the reader. */
#ifndef LULL_TESTS_CONTAINER_MAKER_H
#define LULL_TESTS_CONTAINER_MAKER_H

#include "support/process_maker.h"
#include "tape/container.h"

struct container_maker {
    unsigned char *bytes; /* malloc'd */
    size_t size, capacity;
    uint32_t n_processes;
};

/* Of files of processes, which stay as they are. */
void container_make(struct container_maker *maker, const struct process_maker *processes,
                    uint32_t n);
void container_free(struct container_maker *maker);

/* Valid until the next call of container_make. `index` counts the processes. */
struct lull_tape_container_header *container_header(struct container_maker *maker);
struct lull_tape_container_entry *container_entry(struct container_maker *maker, uint32_t index);
struct lull_tape_process_header *container_process(struct container_maker *maker, uint32_t index);
struct lull_tape_extent *container_extent(struct container_maker *maker, uint32_t index,
                                          uint32_t number);

/* Writes RUN/<name>. */
void container_write(const struct container_maker *maker, const char *run, const char *name);

#endif
