/* Runs compared: do they belong together, which is the reference, how does the problem grow. */
#ifndef LULL_CLI_STUDY_H
#define LULL_CLI_STUDY_H

#include "cli/runs.h"

/* Fails when two runs are certainly not of one program: both name at least three functions of
 * the user, and none is in both. Notes what makes them hard to compare (other counters, the same
 * run twice, a growth of work that is neither strong nor weak scaling). Returns an exit status. */
int lull_study_check(const struct lull_runs *runs, bool force, struct lull_document *document,
                     struct lull_arena *arena);

/* The run called `name` (its path or name); NULL: the first, that with the fewest threads. */
int lull_study_reference(struct lull_runs *runs, const char *name, struct lull_arena *arena);

/* `scaling` is "strong", "weak" or "auto"; NULL: strong. Notes the choice and for auto its
 * evidence. */
void lull_study_scaling(struct lull_runs *runs, const char *scaling,
                        struct lull_document *document);

/* Fills the values of all runs. Returns an exit status. */
int lull_study_compute(struct lull_runs *runs, struct lull_arena *arena);

#endif
