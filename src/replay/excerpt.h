/* SPDX-License-Identifier: BSD-3-Clause */
/* An excerpt of a run: of the steps of its masters so many that a replay of them tells how long a
 * replay of the whole run takes. It is taken while the run is read, and kept in memory.
 *
 * Epochs (replay/program/items.h) are the same on all processes, and at their borders all have waited
 * for all. So one epoch can be replayed without the one before. A short run is kept whole. Of a longer
 * one epochs are drawn: from the second epoch on, each stratum of 2^level neighbouring epochs has one
 * that is drawn by a hash of the stratum's number; the first epoch, which often differs from all
 * others, is always kept. The epochs of a level are among those of the level below: so each process
 * begins with all of them, and goes to the next level when it has kept too many steps. At the end all
 * take the highest level of a process. What is drawn depends on the run alone, and not on the order in
 * which its processes are read.
 *
 * Example of 9 epochs, 0 to 8, of which one in four is kept: epoch 0, one of 1 to 4, and one of 5 to 8.
 *
 * The runtime of a replay of the whole run is found by the ratio of the replayed to the measured time
 * of the epochs that were drawn. Source of the estimate and its variance: W. Cochran, Sampling
 * Techniques, 3rd edition, 6.2 and 6.4, with the quantile of Student's distribution.
 *
 * Memory: a struct lull_step for each step that is kept. */
#ifndef LULL_REPLAY_EXCERPT_H
#define LULL_REPLAY_EXCERPT_H

#include "activity/pass.h"

struct lull_excerpt;

/* Of a run with up to so many steps all are kept, and of a longer one between half as many and so
 * many. */
enum { LULL_EXCERPT_STEPS = 100000 };

/* `most_steps`: usually LULL_EXCERPT_STEPS. `trace` is borrowed until lull_excerpt_destroy. */
lull_status lull_excerpt_create(const struct lull_trace *trace, uint32_t application,
                                uint64_t most_steps, struct lull_excerpt **ret_excerpt,
                                struct lull_error *err);
void lull_excerpt_destroy(struct lull_excerpt *excerpt); /* NULL is allowed */

/* For one pass over all processes of the application. */
struct lull_consumer lull_excerpt_consumer(struct lull_excerpt *excerpt);

/* After the pass, once. Returns whether epochs were drawn that can be replayed. That is not so of a
 * run of up to `most_steps` steps; where fewer than LULL_EXCERPT_LEAST epochs are left; or where a
 * message or request goes over the border of an epoch that was drawn. */
bool lull_excerpt_conclude(struct lull_excerpt *excerpt);
enum { LULL_EXCERPT_LEAST = 16 };

/* After lull_excerpt_conclude has returned true. */

/* How many epochs were drawn, the first one included, and how many the run has. */
uint32_t lull_excerpt_epochs(const struct lull_excerpt *excerpt, uint32_t *ret_all);

/* The steps that are kept of the master of a process, [*ret_count]: those of MPI, with operations
 * and calls, but no STRETCHes. Their kept time goes on from epoch to epoch as if nothing lay in
 * between; each epoch ends with the call that ends it. */
const struct lull_step *lull_excerpt_steps(const struct lull_excerpt *excerpt, uint32_t process,
                                           size_t *ret_count);

/* What a replay of the whole run takes. `ends`: when all processes have left each of the drawn
 * epochs in a replay of them one after the other, ns, [lull_excerpt_epochs]; `part`: the part of the
 * run that is replayed, which all epochs lie in, measured. *ret_error: in 95 of 100 runs the
 * replay of the whole run is nearer to *ret_replayed than that, ns. */
void lull_excerpt_estimate(const struct lull_excerpt *excerpt, const int64_t *ends,
                           const struct lull_interval *part, int64_t *ret_replayed,
                           int64_t *ret_error);

#endif
