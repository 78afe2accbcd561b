/* What the recorder is to disturb a program with, left in the folder of its run before it begins:
 * plain numbers (tape/inject.h), and the environment that leads to them. */
#ifndef LULL_LAUNCH_INJECTION_H
#define LULL_LAUNCH_INJECTION_H

#include "base/error.h"
#include "launch/recording.h"
#include "tape/inject.h"

#include <stdbool.h>
#include <stdint.h>

struct lull_injection {
    bool has_network;
    double latency, ns_per_byte;
    uint64_t seed;
    const struct lull_tape_delay *delays;
    uint32_t n_delays;
    const int64_t *draws; /* noise of this process: tape/inject.h */
    uint32_t n_draws;
    double per;
    const struct lull_tape_detour *detours;
    uint32_t n_detours;
    int64_t period, phase;
    const char *iterations; /* a function whose calls begin them; NULL: marks do */
    const char *text;       /* what the user wrote */
};

/* For the process that `recording` is about; after lull_recording_prepare. */
lull_status lull_injection_write(const struct lull_injection *injection,
                                 const struct lull_recording *recording, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
