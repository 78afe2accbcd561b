/* What the recorder is to disturb a program with, left in the folder of its run before it begins:
 * plain numbers (tape/inject.h), and the environment that leads to them. */
#ifndef LULL_LAUNCH_INJECTION_H
#define LULL_LAUNCH_INJECTION_H

#include "launch/recording.h"
#include "sim/disturbance.h"

/* For the process that `recording` is about, after lull_recording_prepare; NULL: nothing. */
lull_status lull_injection_write(const struct lull_disturbance *disturbance,
                                 const struct lull_recording *recording, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
