/* What if: other lengths for the computations of a replay.
 *
 * - Without noise: no burst is longer than the median of the bursts at its place, that is of the
 * same thread and region with the same number since the last collective operation in which all
 * processes wait for all (the same burst of another iteration).
 * - A factor for regions: time inside (of the innermost of those named) is multiplied by it.
 * - Balanced: between two collective operations in which all wait for all, each process that
 * computes (in the region, where one is named) computes as long as they all do on average. The
 * total stays the same, but for rounding to ns. They apply in this order.
 *
 * The first and the last need to know all bursts first. They learn them in a pass in which other
 * analyses may take part (lull_what_if_consumer), or else in one of their own; where both are
 * wanted, the last needs a second pass. If threads beside the masters communicate, or the clocks
 * of processes contradict each other, the streams of the replay are known behind the first pass
 * only, and the program is read instead. Memory: with balancing 8 bytes, without noise up to 600
 * bytes for each place of each process. */
#ifndef LULL_REPLAY_WHAT_IF_H
#define LULL_REPLAY_WHAT_IF_H

#include "replay/replay.h"

#define LULL_WHAT_IF_REGIONS 254

struct lull_what_if_options {
    uint32_t application;
    bool no_noise;
    bool balance;
    const char *balanced; /* region; NULL: all of the time */
    uint32_t n_regions;
    const char *regions[LULL_WHAT_IF_REGIONS];
    double factors[LULL_WHAT_IF_REGIONS]; /* > 0 */
};

/* A number above 0 and at most 10^6. */
bool lull_factor_read(const char *text, double *ret_factor);
/* "NAME=FACTOR" each, NULL at the end, or NULL: sets regions and factors. Fails with
 * LULL_ERR_RANGE; the text goes behind "--region is". */
lull_status lull_what_if_regions_read(char *const *texts, struct lull_arena *arena,
                                      struct lull_what_if_options *options, struct lull_error *err);

struct lull_what_if;

/* LULL_ERR_RANGE: a region that does not exist. Trace and
 * *wanted must live as long, until lull_what_if_destroy. */
lull_status lull_what_if_create(const struct lull_trace *trace,
                                const struct lull_what_if_options *wanted,
                                struct lull_what_if **ret_what_if, struct lull_error *err);

/* Whether there is something to learn; if so, a pass over the whole run may hold this consumer. It
 * needs these marks (activity/pass.h). */
bool lull_what_if_learns(const struct lull_what_if *what_if);
const uint8_t *lull_what_if_marks(const struct lull_what_if *what_if);
lull_status lull_what_if_consumer(struct lull_what_if *what_if, struct lull_consumer *ret_consumer,
                                  struct lull_error *err);

/* Sets pieces, marks, length and context of *options, whose other members are those of the replay
 * to come; learns what is not known yet. */
lull_status lull_what_if_conclude(struct lull_what_if *what_if, struct lull_replay_options *options,
                                  struct lull_error *err);

/* A replay may be rewound only after this. */
void lull_what_if_rewind(struct lull_what_if *what_if);
void lull_what_if_destroy(struct lull_what_if *what_if); /* NULL is allowed */

#endif
