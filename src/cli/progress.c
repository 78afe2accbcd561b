#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000 /* before anything is shown */
#define PERIOD_NS   100000000  /* between updates */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void lull_progress_begin(struct lull_progress *progress, const char *what)
{
    int64_t now = now_ns();
    *progress = (struct lull_progress){.what = what,
                                       .terminal = isatty(STDERR_FILENO),
                                       .begin_ns = now,
                                       .next_ns = now + PATIENCE_NS};
}

void lull_progress_update(void *context, double share)
{
    struct lull_progress *progress = context;
    if (!progress->terminal)
        return;
    int64_t now = now_ns();
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

void lull_progress_end(struct lull_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

static void begin_piece(void *context, const char *what)
{
    lull_progress_begin(context, what);
}

static void end_piece(void *context)
{
    lull_progress_end(context);
}

struct lull_study_progress lull_progress_of_study(struct lull_progress *progress)
{
    return (struct lull_study_progress){begin_piece, lull_progress_update, end_piece, progress};
}
