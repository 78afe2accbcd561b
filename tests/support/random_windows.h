/* Random windows of a trace. */
#ifndef LULL_TESTS_RANDOM_WINDOWS_H
#define LULL_TESTS_RANDOM_WINDOWS_H

#include "activity/pass.h"
#include "stats/random.h"
#include "trace/trace.h"

/* Up to four of each process, some of which have none; in the trace's arena. */
struct lull_windows *random_windows_draw(struct lull_random *random,
                                         const struct lull_trace *trace);

#endif
