/* Causes as bytes; internal to the room. Ledgers are most of them: of what an agent sends to a
 * member in messages, one behind the other, only what has changed goes along. */
#ifndef LULL_WAIT_SHARED_WIRE_H
#define LULL_WAIT_SHARED_WIRE_H

#include "base/hash.h"
#include "wait/share.h"

/* The last snapshot that was told of each agent to each member, or by it; kept. */
struct wait_told {
    struct lull_hash by_agent;
    struct wait_snapshot **snapshots;
    size_t capacity;
};
void lull_wait_told_free(struct wait_told *told);

/* So many bytes a cause needs at most. */
enum {
    WIRE_MOMENT = 32,
    WIRE_CAUSE =
        24 + 2 * (WIRE_MOMENT + (2 * LULL_WAIT_LEDGER + 4) * (int)sizeof(struct wait_entry))
};

/* Returns behind it. `told`: of messages to a member; NULL: all of it is written. */
unsigned char *lull_wait_write_cause(unsigned char *at, const struct wait_cause *cause,
                                     struct wait_told *told, uint32_t member, bool *ret_no_memory);
/* Likewise; *ret_cause has references. Without a snapshot: no memory, which is noted. */
const unsigned char *lull_wait_read_cause(const unsigned char *at, struct wait_told *told,
                                          uint32_t member, struct wait_cause *ret_cause,
                                          bool *ret_no_memory);

#endif
