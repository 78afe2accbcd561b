/* SPDX-License-Identifier: BSD-3-Clause */
/* Disturbances of a replay: the noise and the delays of sim/disturbance.h are added to the
 * computations of its masters. They have the same lengths at the same places as if the recorder had
 * disturbed the program (src/record, docs/record-reference.md). Internal to the room.
 *
 * A call communicates if it sends, receives, waits or takes part in a collective operation; tests
 * do not. A computation is what the master does between the end of such a call (or the begin of the
 * part that is replayed) and the begin of the next one, if that lasts LULL_TAPE_LEAST_COMPUTATION
 * or longer. Times at which delays and detours happen are times of the measured run. */
#ifndef LULL_REPLAY_PROGRAM_DISTURB_H
#define LULL_REPLAY_PROGRAM_DISTURB_H

#include "activity/step.h"
#include "sim/disturbance.h"

/* The disturbances of one stream. */
struct lull_disturbed {
    const struct lull_disturbance *disturbance; /* NULL: nothing is added */
    const struct lull_trace *trace;
    uint32_t rank;
    int64_t origin, began; /* ns: begin of the part that is replayed; of the present computation */
    struct lull_noise_rank draws;
    int64_t iteration; /* its number: calls of disturbance->iterations so far, less one */
    int64_t pending;   /* ns: delays due at marks, which the next call brings */
    bool *over;        /* [n_delays]: the delay has come */
};

/* False: there is no memory. Ends with lull_disturbed_close. */
bool lull_disturbed_open(struct lull_disturbed *disturbed, const struct lull_trace *trace,
                         const struct lull_disturbance *disturbance, uint32_t rank, int64_t origin);
void lull_disturbed_close(struct lull_disturbed *disturbed);

/* How many ns to add before this step: more than 0 only if a call begins with it. To be called for
 * all begins and ends of calls and all markers of the stream, in order. */
int64_t lull_disturbed_add(struct lull_disturbed *disturbed, const struct lull_step *step);

#endif
