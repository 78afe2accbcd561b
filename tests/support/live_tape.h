/* A tape that is written store by store, in the order in which a recorder writes: for tests of who
 * reads it meanwhile. What is to be written waits in a queue; each step makes one store of it, so that
 * a reader can look between any two. */
#ifndef LULL_TESTS_LIVE_TAPE_H
#define LULL_TESTS_LIVE_TAPE_H

#include "stats/random.h"
#include "tape/layout.h"

#include <stdbool.h>
#include <sys/types.h>

enum { LIVE_LOCATIONS = 2, LIVE_REGIONS = 4 /* with the ids from 1 on */ };

struct live_tape;
/* RUN with one process, whose locations have one record each. The process that
 * is said to write it does nothing, until live_tape_kill. */
struct live_tape *live_tape_begin(const char *run, struct lull_random *random);
/* Queues something: records, queries that found nothing, a call that is open for a while. Sometimes it is so much
 * that a chunk is almost full. */
void live_tape_go_on(struct live_tape *tape);
/* Queues the definition of one more region, "late", and a call of it by each location. */
void live_tape_define_late(struct live_tape *tape);
/* Queues the orderly end of all locations, or with `flag` an end for another reason. */
void live_tape_end(struct live_tape *tape, unsigned flag);
/* One store; false: the queue is empty. */
bool live_tape_step(struct live_tape *tape);
/* The process dies: what is queued is never written. */
void live_tape_kill(struct live_tape *tape);
void live_tape_free(struct live_tape *tape);

/* How often something happened, in all tapes: chunks were stored, records changed that were committed. */
struct live_tape_counts {
    unsigned chunks, changed, opened;
};
extern struct live_tape_counts live_tape_counts;

#endif
