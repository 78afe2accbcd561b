/* Part: a simulation whose ranks several processes have, each neighbouring ones.
 *
 * That is possible where events may be handled in any order (sim/network/network.h): each process
 * lets its ranks run until they are blocked, and what they cause for ranks of others goes there as
 * a *letter*. Messages of one channel keep their order, as letters of one process to another do.
 * All times are those that one process finds.
 *
 * A message is a letter when it was sent, and where its sender waits for its receiver one back.
 * Collective operations that are made of messages need nothing more. Of one in closed form, in
 * which all wait for all, each process tells the one that has the first rank of the group when the
 * last of its ranks came, and is told when the last of all did. So far only networks on which such
 * an operation costs nothing have both closed forms and events in any order: its cost follows from
 * what the ranks of one process send and receive. */
#ifndef LULL_SIM_ENGINE_PART_H
#define LULL_SIM_ENGINE_PART_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lull_sim_letter_kind {
    LULL_LETTER_MESSAGE, /* a message is on its way to a rank */
    LULL_LETTER_SENT,    /* a send that waited for its receiver is over */
    LULL_LETTER_CAME,    /* to a collective operation: all ranks of a process */
    LULL_LETTER_LEAVES   /* all ranks of all have come to it */
};

struct lull_sim_letter {
    uint8_t kind;  /* enum lull_sim_letter_kind */
    uint8_t flags; /* MESSAGE: those of its record that networks look at ... */
    bool buffered; /* ... and this (sim/network/transfer.h) */
    uint8_t reserved;
    union {
        uint32_t source; /* MESSAGE, SENT: rank that sends */
        uint32_t group;  /* CAME, LEAVES: its index in the program ... */
    };
    union {
        uint32_t target; /* MESSAGE: rank */
        uint32_t number; /* ... and the number of the operation on it */
    };
    uint32_t tag, comm; /* MESSAGE */
    union {
        uint32_t id;      /* MESSAGE, SENT: of the sender's record */
        uint32_t n_ranks; /* CAME */
    };
    uint64_t bytes;  /* MESSAGE */
    int64_t sent_at; /* MESSAGE: ns, when its send began */
    int64_t time;    /* ns: when it arrives, or what the kind says has happened */
};

/* What has come. */
struct lull_sim_news {
    const struct lull_sim_letter *letters; /* until the next call */
    size_t count;
    bool full; /* others have yet to take much of what was posted: nothing is to be run */
    bool over; /* nobody has anything to do, and no letter is on its way */
};

/* What the engine is given by its caller. */
struct lull_sim_part {
    uint32_t index, n;    /* of this process, and how many there are */
    const uint32_t *cuts; /* [n + 1]: process p has the ranks [cuts[p], cuts[p + 1]) */
    /* [n_groups], cleared by the caller, or NULL where there are no groups: behind the simulation,
     * what the ranks of this process called on each group, as a number > 0 that is the same for all
     * that called the same; 0: it has no rank there. The caller sees to it that they agree. */
    uint64_t *signatures;
    void *context;
    /* To another process. */
    lull_status (*post)(void *context, uint32_t to, const struct lull_sim_letter *letter,
                        struct lull_error *err);
    /* Whether something has come, which `idle` ones wait for a little: those that have nothing to
     * do before. `kept`: messages of others that were not received yet, which take memory. */
    lull_status (*take)(void *context, bool idle, uint32_t kept, struct lull_sim_news *ret_news,
                        struct lull_error *err);
};

#endif
