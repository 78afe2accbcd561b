/* Short names of runs for the heads of columns. */
#ifndef LULL_STUDY_RUN_NAME_H
#define LULL_STUDY_RUN_NAME_H

#include "study/runs.h"

/* "runs/epoch_4proc.prv.gz" is epoch_4proc; "scorep-8/traces.otf2" is scorep-8, because all
 * archives of that tracer have the same file name. */
const char *lull_run_name(const char *path, struct lull_arena *arena);

/* Where runs have the same name the path takes its place (with the name behind it for one of
 * several runs in a file), and where these are the same they are numbered. */
void lull_run_make_names_differ(struct lull_runs *runs, struct lull_arena *arena);

#endif
