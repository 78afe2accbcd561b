/* Blocks of events on their way from the process that reads a file to those that own their
 * locations (relay.h); internal to the room. */
#ifndef LULL_TRACE_SCAN_RELAYED_H
#define LULL_TRACE_SCAN_RELAYED_H

#include "trace/relay.h"
#include "trace/scan.h"

/* By the first: what is to be put, [size] of the relay. NULL: no memory. */
struct lull_relayed;
struct lull_relayed *lull_relayed_create(const struct lull_relay *relay);
void lull_relayed_destroy(struct lull_relayed *relayed); /* NULL is allowed */

/* A block of a process of another. */
lull_status lull_relayed_put(struct lull_relayed *relayed, uint32_t process,
                             const struct lull_block *block, struct lull_error *err);
/* The sequence has ended, which all get to know. */
lull_status lull_relayed_end(struct lull_relayed *relayed, struct lull_error *err);

/* By the others: `take` is called for each block, in their order, until the end; its status is
 * returned where that fails. */
lull_status lull_relayed_get_all(const struct lull_relay *relay,
                                 lull_status (*take)(void *context, const struct lull_block *block,
                                                     struct lull_error *err),
                                 void *context, struct lull_error *err);

#endif
