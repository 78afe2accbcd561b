/* SPDX-License-Identifier: BSD-3-Clause */
/* Items: what a location did, as a replay needs it. Internal to the room.
 *
 * Items are made from steps (activity/step.h). The time that no network shortens (the kept time of
 * steps) is one of two things:
 *  - a burst: computation, and MPI inside an OpenMP parallel region, whose length the other threads
 *    decide as well;
 *  - fixed: I/O, one-sided and file operations of MPI, the tracer's flush, none of which a faster
 *    processor shortens either.
 * A wait for a device is an item by itself: no burst, whose length a what-if could change.
 * The time behind the last event of a location counts like all other time: a run lasts until its
 * end for all of them (replay/ideal/ideal.h). */
#ifndef LULL_REPLAY_PROGRAM_ITEMS_H
#define LULL_REPLAY_PROGRAM_ITEMS_H

#include "activity/pass.h"
#include "activity/step.h"

/* ==== items =================================================================================== */

enum lull_item_kind {
    LULL_ITEM_BURST, /* from begin to end; its length `ns` is less than end - begin if some of that
                        time was neither burst nor fixed */
    LULL_ITEM_FIXED, /* likewise */
    LULL_ITEM_AWAIT, /* likewise; behind the DEVICE_WAITs that say what for */
    LULL_ITEM_STEP,  /* a call begins or ends, or an operation of message passing, of threads or of
                        devices */
    LULL_ITEM_MEET   /* the master forks or joins */
};

struct lull_item {
    uint8_t kind; /* enum lull_item_kind */
    uint8_t mark; /* BURST, FIXED, AWAIT: of the innermost marked region; 0: in none */
    uint32_t
        region; /* BURST, FIXED, AWAIT: innermost region of the user at its end, or LULL_NONE */
    int64_t begin, end, ns;       /* STEP, MEET: begin and end are its time */
    const struct lull_step *step; /* STEP: lives as long as the steps that it comes from */
};

/* The kinds of steps that items are made from. */
#define LULL_ITEMS_WANT                                                                          \
    ((LULL_STEPS_OF_MPI & ~LULL_STEP_MASK(LULL_STEP_TEST)) | LULL_STEP_MASK(LULL_STEP_STRETCH) | \
     LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEPS_OF_THREADS |   \
     LULL_STEP_MASK(LULL_STEP_SUBMIT) | LULL_STEP_MASK(LULL_STEP_DEVICE_WAIT) |                  \
     LULL_STEP_MASK(LULL_STEP_END))

struct lull_items_options {
    /* True: each stretch of time without a break becomes a BURST or FIXED, and before each call
     * there is a BURST, of no length if nothing was computed; for users that need to know when each
     * stretch happened. False: a master has one BURST and one FIXED at most between two calls,
     * unless the mark changes. */
    bool pieces;
    bool master; /* the location is a master: its forks and joins become MEETs */
    /* There are no STRETCHes: as much as the kept time has grown before a call, or in it, is one
     * BURST. */
    bool by_kept_time;
    const struct lull_windows *windows; /* as in the options of the replay; NULL: the whole run */
    bool marks;                         /* markers become STEPs, too */
    int64_t shift;                      /* ns: a FIXED of this length comes first, and the time
                                           behind the last event is as much shorter; 0: none */
};

enum { LULL_ITEMS_OF_A_STEP = 3 };

/* The maker of a location's items: the time that is not an item yet. Fill with lull_items_init. */
struct lull_items {
    struct lull_items_options options;
    uint8_t kind, mark;    /* of the last stretch */
    uint32_t user;         /* region of the last stretch, as in struct lull_item */
    int64_t ns[2];         /* lengths of the BURST and the FIXED that are being gathered */
    int64_t began[2];      /* ns: when they began */
    int64_t kept;          /* the kept time that became items so far; if by_kept_time */
    uint32_t count;        /* how many items the present step has made */
    struct lull_item *out; /* where these are put */
};

void lull_items_init(struct lull_items *items, const struct lull_items_options *options);
/* The next step of the location. Returns how many items it makes, at most LULL_ITEMS_OF_A_STEP. */
uint32_t lull_items_take(struct lull_items *items, const struct lull_step *step,
                         struct lull_item *ret_items);

/* Reads the items of one location. A thread that is neither a master nor made by the program
 * follows its master: the forks and joins of the master are among its items, and its stretches of
 * time are cut there. */
struct lull_item_cursor;
/* Of steps in memory, which are those of a master without STRETCHes and outlive the cursor; else as
 * below. */
lull_status lull_item_cursor_of_steps(const struct lull_trace *trace, uint32_t location,
                                      const struct lull_step *steps, size_t count,
                                      const struct lull_items_options *options,
                                      struct lull_item_cursor **ret_cursor, struct lull_error *err);
lull_status lull_item_cursor_open(const struct lull_trace *trace, uint32_t location,
                                  const uint8_t *marks, const struct lull_items_options *options,
                                  struct lull_item_cursor **ret_cursor, struct lull_error *err);
/* The next items, which live until the next call; *ret_count is 0 at the end. */
lull_status lull_item_cursor_next(struct lull_item_cursor *cursor,
                                  const struct lull_item **ret_items, uint32_t *ret_count,
                                  struct lull_error *err);
void lull_item_cursor_close(struct lull_item_cursor *cursor); /* NULL is allowed */

/* ==== epochs ================================================================================== */

/* Blocking collective operations of all processes in which all wait for all divide a run into
 * epochs, which are the same on all processes. */

/* Whether a step ends an epoch, because such an operation of all `n_processes` is over with it. */
bool lull_is_epoch(const struct lull_trace *trace, const struct lull_step *step,
                   uint32_t n_processes);

/* How many processes of an application there are. */
uint32_t lull_count_processes(const struct lull_trace *trace, uint32_t application);

#endif
