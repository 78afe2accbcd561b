/* Random message-passing programs with what their waits cost and who is charged, found slowly.
 *
 * The whole history of each process is kept as a list. Where one waits for another, what each did
 * since they last met is added up over the lists, however long they are; src/wait keeps ledgers,
 * and evaluates processes in whatever order they are read. */
#ifndef LULL_TESTS_SUPPORT_SLOW_WAITS_H
#define LULL_TESTS_SUPPORT_SLOW_WAITS_H

#include "stats/random.h"
#include "wait/wait.h"

enum {
    SLOW_RANKS = 6,
    SLOW_REGIONS = 3,        /* of the user: the first of the trace */
    SLOW_MPI = SLOW_REGIONS, /* the place that is MPI itself */
    SLOW_PLACES = SLOW_MPI + 1
};

struct slow_steps {
    struct lull_step *steps;
    size_t count, capacity;
    struct lull_channels *channels;
};

struct slow_run {
    struct lull_trace *trace; /* definitions without events */
    uint32_t n_ranks;         /* locations: processes, or where each_thread several of each */
    bool each_thread;
    struct slow_steps steps[SLOW_RANKS];
    int64_t charged[SLOW_RANKS][SLOW_PLACES][LULL_WAIT_KINDS];
    struct lull_wait_location sums[SLOW_RANKS];
    int64_t waited_ns;
};

void slow_run_draw(struct slow_run *run, struct lull_random *random);
void slow_run_free(struct slow_run *run);

#endif
