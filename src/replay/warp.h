/* SPDX-License-Identifier: BSD-3-Clause */
/* Warp: a measured trace as it looks in simulated time.
 *
 * A replay says when each stretch of a master's time that is not MPI begins and ends in simulated
 * time. These pairs of measured and simulated times are the knots of a map for each process: it is
 * monotone, and linear between knots. The simulated run is the measured trace seen through these
 * maps: all threads, regions, messages and counters are there, at other times. Threads other than
 * the master follow their master's map; device streams that took part in the replay have maps of their
 * own, and the others follow the master, too. Where the copies of a device stream are replayed beside its other operations
 * (program/devices.h), they are a location of their own in the simulated run, "stream 7 copies", behind the other locations of
 * their process, as operations of a location never overlap.
 *
 * Knots are kept in a temporary file, so that memory does not grow with the trace. */
#ifndef LULL_REPLAY_WARP_H
#define LULL_REPLAY_WARP_H

#include "base/error.h"
#include "replay/replay.h"
#include "sim/engine/engine.h"

#include <stddef.h>
#include <stdint.h>

/* ==== warp ==================================================================================== */

struct lull_warp;

/* For a program opened with options.pieces; lives until lull_warp_destroy. */
struct lull_warp *lull_warp_create(const struct lull_program *replay,
                                   const struct lull_trace *trace); /* NULL: no memory */
void lull_warp_destroy(struct lull_warp *warp);                     /* NULL is allowed */

/* To be given to lull_simulate; valid as long as the warp. */
const struct lull_sim_sink *lull_warp_sink(struct lull_warp *warp);

/* The simulated time of a measured one, for a process of the trace. */
int64_t lull_warp_time(const struct lull_warp *warp, uint32_t process, int64_t measured);

/* The trace through the warp; both must outlive it. Release it with lull_trace_close. `runtime` is
 * the simulated one, in ns. */
struct lull_trace *lull_warp_trace(const struct lull_warp *warp, int64_t runtime);

/* ==== knots =================================================================================== */

/* Growing lists of pairs of times, one for each process or device stream.
 *
 * The newest knots of each list are in memory, about 1 KiB. Full blocks of knots go to a file
 * without a name in $TMPDIR, or /tmp. The file is mapped, so that its pages leave memory when
 * others need it. A knot takes 16 bytes, and a call of MPI adds two knots at most. */

struct lull_knot {
    int64_t measured, simulated; /* ns */
};

struct lull_knots;

struct lull_knots *lull_knots_create(uint32_t n_lists); /* NULL: no memory */
void lull_knots_destroy(struct lull_knots *knots);      /* NULL is allowed */

/* Appends a knot unless it is the same as the last one. Fails when there is no memory or no room
 * for the file. Not to be called while others read. */
lull_status lull_knots_add(struct lull_knots *knots, uint32_t index, int64_t measured,
                           int64_t simulated, struct lull_error *err);

size_t lull_knots_count(const struct lull_knots *knots, uint32_t index);
/* Knot i < count; valid until the next lull_knots_add. */
const struct lull_knot *lull_knots_at(const struct lull_knots *knots, uint32_t index, size_t i);

#endif
