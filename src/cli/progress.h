/* Progress of long work: a line on stderr when that is a terminal and the work takes more than a
 * second; gone when the work is done. */
#ifndef LULL_CLI_PROGRESS_H
#define LULL_CLI_PROGRESS_H

#include "study/runs.h"

#include <stdbool.h>
#include <stdint.h>

struct lull_progress {
    const char *what; /* borrowed */
    bool shown;
    bool terminal;
    int64_t begin_ns, next_ns;
};

void lull_progress_begin(struct lull_progress *progress, const char *what);
/* As the progress callbacks of the rooms below want it; `context` is a struct lull_progress. */
void lull_progress_update(void *context, double share);
void lull_progress_end(struct lull_progress *progress);

/* The same three as a study wants them. */
struct lull_study_progress lull_progress_of_study(struct lull_progress *progress);

#endif
