/* Units: what one stream computed, in parts of an epoch that can be set beside those of other
 * streams. A unit is 2^shift bursts one after the other. The shift grows where a run has more
 * than LULL_UNITS_MOST units, so that memory is bounded by that and by the number of epochs.
 * Internal to the room. */
#ifndef LULL_REPLAY_WHAT_IF_CUTS_H
#define LULL_REPLAY_WHAT_IF_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LULL_UNITS_MOST = 65536 };

struct lull_units_epoch {
    size_t first;    /* of its units */
    uint32_t bursts; /* in it, up to the last that takes time */
};

struct lull_units {
    double *values; /* ns, exact below 2^53 */
    size_t count, capacity;
    struct lull_units_epoch *epochs;
    size_t n_epochs, epochs_capacity;
    unsigned shift;
    uint32_t idle; /* bursts without time behind those of the last epoch */
};

/* The next burst, in an epoch that is not before that of the last; false: no memory. */
bool lull_units_add(struct lull_units *units, uint32_t epoch, int64_t ns);
/* Puts units together until there are 2^shift bursts in each. */
void lull_units_merge(struct lull_units *units, unsigned shift);
void lull_units_free(struct lull_units *units); /* leaves none */

size_t lull_units_in(const struct lull_units *units, size_t epoch);

#endif
