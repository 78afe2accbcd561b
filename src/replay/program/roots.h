/* The roots of blocking collective operations, where tracers tell them to the root alone (Paraver):
 * read from the whole trace once, 4 bytes for each operation. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_ROOTS_H
#define LULL_REPLAY_PROGRAM_ROOTS_H

#include "trace/trace.h"

struct lull_roots;
lull_status lull_roots_create(const struct lull_trace *trace, uint32_t application,
                              struct lull_roots **ret_roots, struct lull_error *err);
void lull_roots_destroy(struct lull_roots *roots); /* NULL is allowed */
/* The root of the n-th blocking operation on a communicator, as a process; LULL_NONE. */
uint32_t lull_roots_find(const struct lull_roots *roots, uint32_t comm, uint32_t number);

#endif
