/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a device that could begin and do not, while others run beside which they might. Internal to the room.
 *
 * An operation is *ready* when it has been submitted, the one before it on its stream has ended, and those have ended that
 * it is known to depend on. Until it begins it is *held*
 *  - by a default stream: while, of its own process, an operation of the default stream runs and it is on another one, or
 *    an operation of another stream runs and it is on the default one;
 *  - by other processes: while kernels of other processes run, and nothing of its own process does.
 * Example: a default stream runs a kernel from 0 to 10. One of another stream was submitted at 4 and runs from 10 to 30.
 * It was held for 6; a second one of the default stream, submitted at 5, is held from 10 to 30. Side by side they would
 * have taken 20 instead of 40 at best.
 *
 * At a moment each stream has one operation that runs, is ready, or comes next, so that memory is that of the streams. */
#ifndef LULL_METRICS_HELD_OPERATIONS_H
#define LULL_METRICS_HELD_OPERATIONS_H

#include "metrics/breakdown.h"

struct lull_held_operation {
    int64_t ready; /* `begin` or more: it is not known to have waited */
    int64_t begin, end;
    uint64_t region;
    bool is_kernel;
};

/* A default stream, and those that may wait for it. Neither: its operations do not begin in order, so that nothing is known of
 * when one is ready; they run beside the others all the same. */
enum lull_held_side { LULL_SIDE_OTHER, LULL_SIDE_DEFAULT, LULL_SIDE_NEITHER, LULL_HELD_SIDES };

struct lull_held_stream {
    uint32_t process; /* of those that use the device, from 0 on */
    uint8_t side;     /* enum lull_held_side */
};

/* A device. Times are counted in `windows` alone, which are in order. */
struct lull_held_device {
    const struct lull_held_stream *streams; /* [n_streams] */
    uint32_t n_streams, n_processes;
    const struct lull_interval *windows;
    size_t n_windows;
    bool default_streams; /* what default streams hold is looked at */
    void *context;
    /* The next operation of a stream, which begins no earlier than the one before has ended; false: there is none. */
    bool (*next)(void *context, uint32_t stream, struct lull_held_operation *ret_operation);
    /* An operation was held for so long. */
    void (*held)(void *context, uint32_t stream, const struct lull_held_operation *operation,
                 enum lull_device_hold hold, int64_t ns);
};

void lull_held_operations_find(const struct lull_held_device *device, struct lull_arena *scratch,
                               struct lull_device_held ret_held[LULL_DEVICE_HOLDS]);

#endif
