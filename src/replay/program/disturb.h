/* What a replay adds to computations where the program is supposed to be disturbed
 * (sim/disturbance.h): the same amounts at the same places as the recorder would (src/record,
 * docs/record.md). Internal to the room.
 *
 * A computation is what the master does for LULL_TAPE_LEAST_COMPUTATION or longer between the begin
 * of the part that is replayed, or the end of a call that sends, receives, waits or takes part in a
 * collective operation, and the begin of the next such call; tests are none. What refers to time
 * refers to the measured times. */
#ifndef LULL_REPLAY_PROGRAM_DISTURB_H
#define LULL_REPLAY_PROGRAM_DISTURB_H

#include "activity/step.h"
#include "sim/disturbance.h"

/* Of one stream. */
struct lull_disturbed {
    const struct lull_disturbance *disturbance; /* NULL: nothing is added */
    const struct lull_trace *trace;
    uint32_t rank;
    int64_t origin, began; /* ns: of the part that is replayed; of the computation */
    struct lull_noise_rank draws;
    int64_t iteration; /* calls of disturbance->iterations, less one */
    int64_t pending;   /* ns: delays of marks since the last call */
    bool *over;        /* [n_delays] */
};

/* False: there is no memory. Ends with lull_disturbed_close. */
bool lull_disturbed_open(struct lull_disturbed *disturbed, const struct lull_trace *trace,
                         const struct lull_disturbance *disturbance, uint32_t rank, int64_t origin);
void lull_disturbed_close(struct lull_disturbed *disturbed);

/* What comes before a step of the stream, in ns: a call that begins. The ends of calls and marks
 * are to be told, too; they and other steps add nothing. */
int64_t lull_disturbed_add(struct lull_disturbed *disturbed, const struct lull_step *step);

#endif
