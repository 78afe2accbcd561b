/* Medians: how much of their time is left to streams whose epochs take no longer than the median of
 * their peers.
 *
 * By how much an epoch is shortened follows from its sums; which of its units lose how much, from
 * the peers that have as many bursts in it. Internal to the room. */
#ifndef LULL_REPLAY_WHAT_IF_MEDIANS_H
#define LULL_REPLAY_WHAT_IF_MEDIANS_H

#include "replay/what_if/units.h"

/* What one stream computed in epochs from a certain one on; in those behind its own it did nothing.
 */
struct lull_slice {
    struct lull_units_epoch *epochs; /* [n_epochs] */
    double *values;                  /* of units; those of an epoch from its `first` on */
    uint32_t n_epochs;
    bool meant; /* to be cut */
};

/* All slices begin with the same epoch, and their units have the same length. What is left of the
 * units of those that are meant replaces their values, as a share. `all_meant`: that all are, so
 * that they are peers of each other. The order of slices does not matter. False: no memory. */
bool lull_slices_cut(struct lull_slice *slices, uint32_t count, unsigned shift, bool all_meant);

#endif
