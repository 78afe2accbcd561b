#include "cli/progress.h"

#include "base/clock.h"
#include "cli/message.h"

#include <stdio.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000 /* before anything is shown */
#define PERIOD_NS   100000000  /* between updates */

void lull_progress_begin(void *context, const char *what)
{
    struct lull_progress *progress = context;
    int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    *progress = (struct lull_progress){.what = what,
                                       .terminal = isatty(STDERR_FILENO) && !lull_cli_is_muted(),
                                       .begin_ns = now,
                                       .next_ns = now + PATIENCE_NS};
}

void lull_progress_update(void *context, double share)
{
    struct lull_progress *progress = context;
    if (!progress->terminal)
        return;
    int64_t now = lull_clock_read(CLOCK_MONOTONIC);
    if (now < progress->next_ns)
        return;
    progress->next_ns = now + PERIOD_NS;
    progress->shown = true;
    double passed = (double)(now - progress->begin_ns) / 1e9;
    fprintf(stderr, "\r\033[K%s: %3.0f %%", progress->what, 100 * share);
    if (share > 0.01)
        fprintf(stderr, ", %.0f s left", passed * (1 - share) / share);
    fflush(stderr);
}

void lull_progress_end(void *context)
{
    struct lull_progress *progress = context;
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

struct lull_study_progress lull_progress_of_study(struct lull_progress *progress)
{
    return (struct lull_study_progress){lull_progress_begin, lull_progress_update,
                                        lull_progress_end, progress};
}
