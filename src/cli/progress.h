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

/* As the rooms below want their callbacks: `context` is a struct lull_progress. */
void lull_progress_begin(void *context, const char *what);
void lull_progress_update(void *context, double share);
void lull_progress_end(void *context);

/* The same three as a study wants them. */
struct lull_study_progress lull_progress_of_study(struct lull_progress *progress);

#endif
