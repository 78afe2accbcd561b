/* Ledgers: what a process spent its time on, by place, and how a wait is divided by that (wait.h
 * says why). A ledger has at most LULL_WAIT_LEDGER places; those with least time become one,
 * "elsewhere". Internal to the room. */
#ifndef LULL_WAIT_LEDGER_H
#define LULL_WAIT_LEDGER_H

#include "trace/trace.h"
#include "wait/wait_result.h"

/* As a process: the one whose ledger it is, so that the same regions of two processes compare. */
#define LULL_WAIT_OWN LULL_NONE

/* A place of a ledger as one number: a process (or, among threads, a location) and its region of
 * the user, or that it was in MPI. Own places are the last in their order. */
#define WAIT_IN_MPI (UINT32_MAX - 2) /* as a region */
static inline uint64_t lull_wait_key(uint32_t process, uint32_t region)
{
    return (uint64_t)process << 32 | region;
}
static inline uint32_t lull_wait_key_process(uint64_t key)
{
    return (uint32_t)(key >> 32);
}
static inline uint32_t lull_wait_key_region(uint64_t key)
{
    return (uint32_t)key;
}

struct wait_entry {
    uint64_t key;
    int64_t ns;     /* > 0 */
    uint32_t call;  /* that of the last addition */
    uint32_t clock; /* of the ledger, then, modulo 2^32 */
};

/* In the order of keys, each once, and behind them one with the largest of all keys and no time,
 * which ends searches. */
struct wait_places {
    struct wait_entry *entries; /* [count + 1]; NULL: there never were any */
    uint32_t count, capacity;
    uint32_t last; /* that was added to */
};

/* Own places change with all that a process does, those of others only where it waits; so snapshots
 * share the latter. The process's own time in MPI, which grows with each call, is kept beside the
 * entries, so that what is sent in several calls shares one snapshot of them. Of zeros: empty. */
struct wait_ledger {
    struct wait_places own, others;
    int64_t in_mpi;
    uint32_t epoch;                     /* how often it began anew */
    uint64_t clock;                     /* how many snapshots were taken */
    struct wait_snapshot *current;      /* of what it holds now; NULL: none was taken */
    struct wait_shared *current_others; /* likewise, of the places of others */
};

/* Entries as they were. */
struct wait_shared {
    uint32_t references, count;
    struct wait_entry entries[]; /* [count + 1], as in a ledger */
};

/* The entries of a ledger as they were, shared by all that need them. */
struct wait_snapshot {
    struct wait_shared *others;
    uint32_t references, epoch;
    uint64_t clock;          /* entries of a later clock have changed since */
    uint32_t count;          /* of own places */
    struct wait_entry own[]; /* [count + 1], as in a ledger */
};

/* A ledger as it was at a moment. */
struct wait_moment {
    struct wait_snapshot *snapshot; /* NULL: none, or of an empty ledger */
    int64_t in_mpi;
};

/* Of a wait, for what one did more of than the other. */
struct wait_part {
    uint64_t key;  /* as in the ledger */
    uint32_t call; /* likewise */
    uint32_t at;   /* where the other one's ledger has this place, if it is one of others;
                      LULL_NONE: it has not */
    int64_t ns;
};

/* False: no memory. Not for the own time in MPI, which is in_mpi. */
bool lull_wait_ledger_add(struct wait_ledger *ledger, uint64_t key, uint32_t call, int64_t ns);
/* The same with the ns of a part, of a place of others, which may have moved since it was divided.
 */
bool lull_wait_ledger_add_part(struct wait_ledger *ledger, const struct wait_part *part);
void lull_wait_ledger_begin_anew(struct wait_ledger *ledger);
void lull_wait_ledger_free(struct wait_ledger *ledger);

/* A reference for the caller. Its snapshot is NULL: no memory. */
struct wait_moment lull_wait_moment_take(struct wait_ledger *ledger);
struct wait_moment lull_wait_moment_keep(const struct wait_moment *moment); /* one more */
void lull_wait_moment_drop(struct wait_moment *moment);                     /* also a NULL in it */
/* Puts a reference into *place, whose own is dropped. */
void lull_wait_moment_move(struct wait_moment *place, struct wait_moment moment);

/* Two processes, one of which waits for the other. A moment of another epoch than what came later,
 * or without a snapshot, is of an empty ledger. */
struct wait_between {
    uint32_t late, other;             /* processes */
    struct wait_moment at;            /* what the late one had done when it came */
    struct wait_moment late_since;    /* ... and when they last met */
    const struct wait_ledger *ledger; /* what the other one had done when it began to wait */
    struct wait_moment other_since;
};

/* Divides a wait > 0 by what the late one did more of than the other. What no excess explains goes
 * to `rest` of the late one. `ret` has room for LULL_WAIT_LEDGER + 2; returns how many there are,
 * whose ns add up to the wait. */
uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait, uint64_t rest,
                          struct wait_part *ret);
/* Divides what of a wait is inside the windows, in proportion to its parts. */
void lull_wait_share_out(int64_t inside, int64_t wait, struct wait_part *parts, uint32_t count);

#endif
