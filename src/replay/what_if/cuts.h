/* SPDX-License-Identifier: BSD-3-Clause */
/* Units: what one stream computed, in parts of an epoch that can be compared with the same parts of
 * other streams. A unit is 2^shift bursts one after the other. If there are more than
 * LULL_UNITS_MOST units, the shift grows, so that memory is bounded by this number and by the
 * number of epochs. Internal to the room. */
#ifndef LULL_REPLAY_WHAT_IF_CUTS_H
#define LULL_REPLAY_WHAT_IF_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LULL_UNITS_MOST = 65536 };

struct lull_units_epoch {
    size_t first;    /* index of its first unit */
    uint32_t bursts; /* how many it has, up to the last one that takes time */
};

struct lull_units {
    double *values; /* [count]: ns of each unit, exact below 2^53 */
    size_t count, capacity;
    struct lull_units_epoch *epochs;
    size_t n_epochs, epochs_capacity;
    unsigned shift;
    uint32_t idle; /* bursts without length at the end of the last epoch; they are counted only once
                      a burst with a length follows them */
};

/* Adds the next burst, whose epoch is not before that of the last one; false: no memory. */
bool lull_units_add(struct lull_units *units, uint32_t epoch, int64_t ns);
/* Puts units together until there are 2^shift bursts in each. */
void lull_units_merge(struct lull_units *units, unsigned shift);
void lull_units_free(struct lull_units *units); /* leaves none */

/* How many units an epoch has; 0 if nothing was computed in it. */
size_t lull_units_in(const struct lull_units *units, size_t epoch);

#endif
