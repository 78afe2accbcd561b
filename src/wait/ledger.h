/* Ledgers: what a process spent its time on, by place; internal to the room. */
#ifndef LULL_WAIT_LEDGER_H
#define LULL_WAIT_LEDGER_H

#include "wait/wait.h"

/* As a process: the one whose ledger it is, so that the same regions of two processes compare. */
#define LULL_WAIT_OWN LULL_NONE

struct wait_entry {
    struct lull_wait_place place;
    int64_t ns; /* > 0 */
};

/* In the order of places, each once, whatever its call, which is that of the last addition. Of
 * zeros: empty. */
struct wait_ledger {
    struct wait_entry *entries;
    uint32_t count, capacity;
    uint32_t last;                 /* that was added to */
    uint32_t epoch;                /* how often it began anew */
    struct wait_snapshot *current; /* of what it holds now; NULL: none was taken */
};

/* A ledger as it was, shared by all that need it. */
struct wait_snapshot {
    uint32_t references, epoch, count;
    struct wait_entry entries[];
};

/* False: no memory. */
bool lull_wait_ledger_add(struct wait_ledger *ledger, const struct lull_wait_place *place,
                          int64_t ns);
void lull_wait_ledger_begin_anew(struct wait_ledger *ledger);
void lull_wait_ledger_free(struct wait_ledger *ledger);

/* A reference for the caller. NULL: no memory. */
struct wait_snapshot *lull_wait_snapshot_take(struct wait_ledger *ledger);
struct wait_snapshot *lull_wait_snapshot_keep(struct wait_snapshot *snapshot); /* one more */
void lull_wait_snapshot_drop(struct wait_snapshot *snapshot);                  /* NULL is allowed */
/* Puts a reference into *place, whose own is dropped. */
void lull_wait_snapshot_move(struct wait_snapshot **place, struct wait_snapshot *snapshot);

/* What one did more of than the other, of which `ns` is charged. */
struct wait_excess {
    struct lull_wait_place place; /* as in the ledger */
    int64_t excess, ns;
};

/* Two processes, one of which waits for the other. A snapshot of another epoch than what came
 * later, or NULL, is an empty one. */
struct wait_between {
    uint32_t late, other;                   /* processes */
    const struct wait_snapshot *at;         /* what the late one had done when it came */
    const struct wait_snapshot *late_since; /* ... and when they last met */
    const struct wait_ledger *ledger;       /* what the other one had done when it began to wait */
    const struct wait_snapshot *other_since;
};

/* Divides a wait > 0 by what the late one did more of than the other. What no excess explains goes
 * to the time of the late one in MPI. `ret` has room for LULL_WAIT_LEDGER + 1; returns how many
 * there are, whose ns add up to the wait. */
uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait,
                          struct wait_excess *ret);
/* Divides a wait again in proportion to the excesses, whose sum is `sum` >= wait > 0. */
void lull_wait_share_out(int64_t wait, int64_t sum, struct wait_excess *parts, uint32_t count);

#endif
