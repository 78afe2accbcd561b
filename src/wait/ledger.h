/* SPDX-License-Identifier: BSD-3-Clause */
/* Ledgers: what a process spent its time on, by place, and how a wait is divided by that (wait.h
 * says why). A ledger has at most LULL_WAIT_LEDGER places; those with the least time become one,
 * "elsewhere". Internal to the room. */
#ifndef LULL_WAIT_LEDGER_H
#define LULL_WAIT_LEDGER_H

#include "trace/trace.h"
#include "wait/wait_result.h"

/* In the place of a process: the process whose ledger it is, so that the same regions of two
 * processes compare equal. */
#define LULL_WAIT_OWN LULL_NONE

/* The key of a place of a ledger: a process (or, among threads, a location) and its region of the
 * user, or WAIT_IN_MPI for its time in MPI. In the order of keys, the own places of a ledger come
 * last. */
#define WAIT_IN_MPI (UINT32_MAX - 2) /* in the place of a region */
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
    uint32_t call;  /* the call of the last addition (see struct lull_wait_place) */
    uint32_t clock; /* the clock of the ledger at the last addition, modulo 2^32 */
};

/* Entries in the order of keys, each key once. Behind them stands an entry with the largest of all
 * keys and no time, which ends searches. */
struct wait_places {
    struct wait_entry *entries; /* [count + 1]; NULL: there never was one */
    uint32_t count, capacity;
    uint32_t last; /* index of the entry that was added to last */
};

/* A ledger. Own places change with all that a process does, those of others only where it waits, so
 * snapshots share the latter. The process's own time in MPI grows with each call, so it is kept
 * beside the entries; then messages that are sent in several calls can share one snapshot of the
 * entries. A struct of zeros is empty. */
struct wait_ledger {
    struct wait_places own, others;
    int64_t in_mpi;
    uint32_t epoch;                     /* how often the ledger began anew */
    uint64_t clock;                     /* how many snapshots were taken */
    struct wait_snapshot *current;      /* the snapshot of its present entries; NULL: none was taken
                                           since they changed */
    struct wait_shared *current_others; /* likewise, of the present places of others */
};

/* The places of others in a ledger as they were, shared by snapshots. */
struct wait_shared {
    uint32_t references, count;
    struct wait_entry entries[]; /* [count + 1], as in a ledger */
};

/* The entries of a ledger as they were, shared by the moments that need them. */
struct wait_snapshot {
    struct wait_shared *others;
    uint32_t references, epoch;
    uint64_t clock;          /* entries with a later clock have changed since */
    uint32_t count;          /* number of own places */
    struct wait_entry own[]; /* [count + 1], as in a ledger */
};

/* A ledger as it was at a moment. */
struct wait_moment {
    struct wait_snapshot *snapshot; /* NULL: there is none, which counts as that of an empty
                                       ledger */
    int64_t in_mpi;
};

/* A part of a wait: time for what the late process did more of than the one that waited. */
struct wait_part {
    uint64_t key;  /* as in the ledger of the late process */
    uint32_t call; /* likewise */
    uint32_t at;   /* index of this place among the places of its kind in the other one's ledger;
                      LULL_NONE: it is not there */
    int64_t ns;
};

/* Adds time to a place. False: no memory. The own time in MPI is added to in_mpi instead. */
bool lull_wait_ledger_add(struct wait_ledger *ledger, uint64_t key, uint32_t call, int64_t ns);
/* The same with the key, call and ns of a part of a place of others; its index in the ledger may
 * have changed since the wait was divided. */
bool lull_wait_ledger_add_part(struct wait_ledger *ledger, const struct wait_part *part);
/* Empties a ledger, and begins another epoch. */
void lull_wait_ledger_begin_anew(struct wait_ledger *ledger);
void lull_wait_ledger_free(struct wait_ledger *ledger);

/* The present moment of a ledger, with a reference for the caller. Snapshot NULL: no memory. */
struct wait_moment lull_wait_moment_take(struct wait_ledger *ledger);
/* A copy of a moment with a reference of its own. */
struct wait_moment lull_wait_moment_keep(const struct wait_moment *moment);
/* Releases the reference of a moment, whose snapshot may be NULL. */
void lull_wait_moment_drop(struct wait_moment *moment);
/* Puts a moment with its reference into *place, whose own reference is dropped. */
void lull_wait_moment_move(struct wait_moment *place, struct wait_moment moment);

/* Two processes, one of which waits for the other. A moment without a snapshot, or whose epoch is
 * not that of the later state of the ledger, counts as one of an empty ledger. */
struct wait_between {
    uint32_t late, other;             /* processes */
    struct wait_moment at;            /* what the late process had done when it came */
    struct wait_moment late_since;    /* ... and when the two last met */
    const struct wait_ledger *ledger; /* what the waiting process had done when it began to wait */
    struct wait_moment other_since;
};

/* Divides a wait > 0 by what the late process did more of than the other one. What no excess
 * explains goes to the place `rest` of the late process. `ret` has room for LULL_WAIT_LEDGER + 2
 * parts. Returns how many parts there are; their ns add up to the wait. */
uint32_t lull_wait_divide(const struct wait_between *between, int64_t wait, uint64_t rest,
                          struct wait_part *ret);
/* Changes the parts of a wait so that they add up to `inside`, what of the wait is inside the
 * windows, in proportion to their ns before. */
void lull_wait_share_out(int64_t inside, int64_t wait, struct wait_part *parts, uint32_t count);

#endif
