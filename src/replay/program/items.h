/* Items: what a location did, as a replay needs it. Internal to the room.
 *
 * Made from steps (activity/step.h). The time that no network shortens (their kept time) is one of
 * two things:
 *  - a burst: computation, and MPI inside an OpenMP parallel region, whose length the other threads
 *    decide as well;
 *  - fixed: I/O, one-sided and file operations of MPI, the tracer's flush: no faster processor
 *    shortens it either.
 * The time behind the last event of a location counts like all other time: a run lasts until its
 * end for all of them (replay/ideal/ideal.h). */
#ifndef LULL_REPLAY_PROGRAM_ITEMS_H
#define LULL_REPLAY_PROGRAM_ITEMS_H

#include "activity/pass.h"
#include "activity/step.h"

/* ==== items =================================================================================== */

enum lull_item_kind {
    LULL_ITEM_BURST, /* from begin to end: ns, less than end - begin where some of it was neither */
    LULL_ITEM_FIXED, /* likewise */
    LULL_ITEM_STEP,  /* a call begins or ends, or an operation of message passing or of threads */
    LULL_ITEM_MEET   /* the master forks or joins */
};

struct lull_item {
    uint8_t kind;    /* enum lull_item_kind */
    uint8_t mark;    /* BURST, FIXED: of the innermost marked region; 0: in none */
    uint32_t region; /* BURST, FIXED: innermost region of the user at its end, or LULL_NONE */
    int64_t begin, end, ns;       /* STEP, MEET: begin and end are its time */
    const struct lull_step *step; /* STEP: lives as long as the steps that it comes from */
};

/* The kinds of steps that items are made from. */
#define LULL_ITEMS_WANT                                                                          \
    ((LULL_STEPS_OF_MPI & ~LULL_STEP_MASK(LULL_STEP_TEST)) | LULL_STEP_MASK(LULL_STEP_STRETCH) | \
     LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEPS_OF_THREADS |   \
     LULL_STEP_MASK(LULL_STEP_END))

struct lull_items_options {
    bool pieces; /* a BURST or FIXED for each stretch without a break, and a BURST before each call,
                    of no length if there is nothing to compute: for who needs to know when each
                    happened. Otherwise one BURST and one FIXED between two calls of a master. */
    bool master; /* MEET is told of masters alone */
    const struct lull_windows *windows; /* replay/replay.h; NULL: the whole run */
    bool marks;                         /* STEP is told of MARKERs, too */
    int64_t shift;                      /* a FIXED of this length comes before all else, and the
                                           time behind the last event is as much shorter; 0: none */
};

enum { LULL_ITEMS_OF_A_STEP = 3 };

/* What waits to become an item; fill with lull_items_init. */
struct lull_items {
    struct lull_items_options options;
    uint8_t kind, mark; /* of the last stretch */
    uint32_t user;
    int64_t ns[2];    /* BURST and FIXED that wait to be handed out ... */
    int64_t began[2]; /* ... where they began ... */
    uint32_t count;   /* ... and what is handed out */
    struct lull_item *out;
};

void lull_items_init(struct lull_items *items, const struct lull_items_options *options);
/* The next step of the location, which makes up to LULL_ITEMS_OF_A_STEP items; how many. */
uint32_t lull_items_take(struct lull_items *items, const struct lull_step *step,
                         struct lull_item *ret_items);

/* The items of one location, pulled. Those of a thread that follows its master (not the master, and
 * not made by the program) hold the forks and joins of its master, too, and are cut there. */
struct lull_item_cursor;
lull_status lull_item_cursor_open(const struct lull_trace *trace, uint32_t location,
                                  const uint8_t *marks, const struct lull_items_options *options,
                                  struct lull_item_cursor **ret_cursor, struct lull_error *err);
/* The next items, which live until the next call; *ret_count is 0 at the end. */
lull_status lull_item_cursor_next(struct lull_item_cursor *cursor,
                                  const struct lull_item **ret_items, uint32_t *ret_count,
                                  struct lull_error *err);
void lull_item_cursor_close(struct lull_item_cursor *cursor); /* NULL is allowed */

/* ==== epoch =================================================================================== */

/* Epochs: collective operations in which all processes wait for all divide a run into epochs, alike
 * on all of them. */

/* Whether a step ends an epoch: a blocking operation of that kind, of all `n_processes`, is over.
 */
bool lull_is_epoch(const struct lull_trace *trace, const struct lull_step *step,
                   uint32_t n_processes);

/* How many processes of an application there are. */
uint32_t lull_count_processes(const struct lull_trace *trace, uint32_t application);

#endif
