/* For replay/ideal alone, as long as it reads events. Internal to the room. */
#ifndef LULL_REPLAY_LOST_H
#define LULL_REPLAY_LOST_H

#include "replay/program/lost.h"

bool lull_lost_is_epoch(const struct lull_trace *trace, const struct lull_event *event,
                        uint32_t n_processes);

#endif
