/* GOAL text for the slow reference simulators, read by their own means: one statement per line,
 * labels l1, l2, ... in this order, ranks in order. */
#ifndef LULL_TESTS_SLOW_GOAL_TEXT_H
#define LULL_TESTS_SLOW_GOAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slow_kind { SLOW_SEND, SLOW_RECEIVE, SLOW_COMPUTE, SLOW_MESSAGE };
enum { SLOW_ANY = -1, SLOW_UNITS = 256 };

struct slow_operation {
    enum slow_kind kind;
    int64_t size; /* bytes, or ns */
    int peer, tag, cpu, nic;
    unsigned waits; /* for so many others */
    bool done;
};

struct slow_requirement {
    unsigned before, after; /* operations, from 0 */
    bool from_start;
};

struct slow_rank {
    struct slow_operation *operations;
    struct slow_requirement *requirements;
    unsigned n_operations, n_requirements;
};

struct slow_program {
    struct slow_rank *ranks;
    unsigned n_ranks;
};

/* Aborts on text that it does not understand. */
void slow_program_read(struct slow_program *program, const char *text);
void slow_program_free(struct slow_program *program);

/* realloc that aborts when there is no memory. */
void *slow_room_for(void *array, unsigned count, size_t size);

#endif
