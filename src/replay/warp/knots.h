/* Knots: for each process a growing list of pairs of times.
 *
 * The newest knots of each process are in memory, about 1 KiB; full blocks of them go to a file
 * without a name in $TMPDIR, or /tmp, that is mapped: its pages leave memory when others need it.
 * 16 bytes for each knot, two knots for each call of MPI at most. */
#ifndef LULL_REPLAY_WARP_KNOTS_H
#define LULL_REPLAY_WARP_KNOTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct lull_knot {
    int64_t measured, simulated;
};

struct lull_knots;

struct lull_knots *lull_knots_create(uint32_t n_processes); /* NULL: no memory */
void lull_knots_destroy(struct lull_knots *knots);          /* NULL is allowed */

/* Appends a knot unless it is the same as the last one. Fails when there is no memory or no room
 * for the file. Not to be called while others read. */
lull_status lull_knots_add(struct lull_knots *knots, uint32_t process, int64_t measured,
                           int64_t simulated, struct lull_error *err);

size_t lull_knots_count(const struct lull_knots *knots, uint32_t process);
/* Knot i < count; valid until the next lull_knots_add. */
const struct lull_knot *lull_knots_at(const struct lull_knots *knots, uint32_t process, size_t i);

#endif
