/* Random runs as steps, with the time that they would take on a network that costs nothing.
 *
 * A run is drawn in the order of measured time: the thread whose clock is behind acts next. So
 * messages of a channel match as they are recorded, even where several threads of a process send or
 * receive on it, and whoever waits (for a message, a collective operation) looks again later. While
 * it is drawn, each thread also has an ideal clock, which is the longest path to where it is:
 * everything that it waits for is known by then. */
#ifndef LULL_TESTS_SUPPORT_RANDOM_RUN_H
#define LULL_TESTS_SUPPORT_RANDOM_RUN_H

#include "activity/pass.h"
#include "support/memory_trace.h"

enum { RUN_PROCESSES = 6, RUN_THREADS = 3 };

/* The steps of a location, and when it ends on a network that costs nothing. */
struct run_steps {
    struct lull_step *steps;
    size_t count, capacity;
    struct lull_channels *channels;
    int64_t ideal;
};

struct random_run {
    struct lull_trace *trace; /* definitions without events */
    struct lull_arena *arena;
    uint32_t n_locations;
    struct run_steps locations[RUN_PROCESSES * RUN_THREADS];
    uint64_t sent, received, gathered; /* messages; collective operations of several processes */
};

/* `forgets`: one of the sends is not recorded, if there are enough of them. */
void random_run_draw(struct random_run *run, struct lull_random *random, bool forgets);
void random_run_free(struct random_run *run);

#endif
