/* Short names of runs for the heads of columns. */
#ifndef LULL_CLI_RUN_NAME_H
#define LULL_CLI_RUN_NAME_H

#include "cli/runs.h"

/* "runs/epoch_4proc.prv.gz" is epoch_4proc; "scorep-8/traces.otf2" is scorep-8, because all
 * archives of that tracer have the same file name. */
const char *lull_run_name(const char *path, struct lull_arena *arena);

/* Fills `name` of all runs; where two would be the same the whole paths are taken, and where these
 * are the same they are numbered. */
void lull_run_names(struct lull_runs *runs, struct lull_arena *arena);

#endif
