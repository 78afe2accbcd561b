/* Recording of noise: when a processor did not belong to the program, as measured on a machine.
 *
 * JSON, as `lull bench` exports it, in whole ns from the start of the recording:
 *     {"lull_noise": 1, "duration": 1000000000, "detours": [[begin, length], ...]}
 * or CSV: lines "begin,length" in ns, with or without a line of names before them; empty lines and
 * lines that begin with '#' are left out, but "# duration=NS" sets the duration. Without a duration
 * the recording ends where the last detour does.
 *
 * Detours are in order of time, do not overlap, and leave some time to the program. The recording
 * is repeated without end. */
#ifndef LULL_SIM_NOISE_RECORDING_H
#define LULL_SIM_NOISE_RECORDING_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

struct lull_recorded_detour {
    int64_t begin, length; /* ns; length > 0 */
    int64_t before;        /* sum of the lengths of those before it */
};

struct lull_noise_recording {
    int64_t duration; /* ns, > lost */
    int64_t lost;     /* sum of the lengths */
    uint64_t count;
    const struct lull_recorded_detour *detours;
};

/* Fails with LULL_ERR_IO or LULL_ERR_FORMAT and "FILE: line N: cause" or "FILE: detour N: cause".
 */
lull_status lull_noise_recording_read(const char *path, struct lull_arena *arena,
                                      struct lull_noise_recording *ret_recording,
                                      struct lull_error *err);

/* What detours add to a computation that begins at `at` in [0, duration) of the recording, with
 * those that hit what was added; `work` >= 0, at most 2^61. The sum is cut at 2^62. */
int64_t lull_noise_recording_extend(const struct lull_noise_recording *recording, int64_t at,
                                    int64_t work);

#endif
