/* Epochs: collective operations in which all processes wait for all divide a run into epochs, alike
 * on all of them. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_EPOCH_H
#define LULL_REPLAY_PROGRAM_EPOCH_H

#include "activity/step.h"

/* Whether a step ends an epoch: a blocking operation of that kind, of all `n_processes`, is over.
 */
bool lull_is_epoch(const struct lull_trace *trace, const struct lull_step *step,
                   uint32_t n_processes);

/* How many processes of an application there are. */
uint32_t lull_count_processes(const struct lull_trace *trace, uint32_t application);

#endif
