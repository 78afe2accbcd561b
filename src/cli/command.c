/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/clock.h"
#include "cli/message.h"
#include "trace/scan.h"

#include <stdio.h>
#include <unistd.h>

/* ==== call of a command ======================================================================= */

int lull_cli_read(const struct lull_cli_call *call, lull_status status)
{
    if (status == LULL_OK)
        return LULL_EXIT_OK;
    return status == LULL_ERR_RANGE ? lull_cli_usage("%s", call->err.text)
                                    : lull_cli_fail("%s", call->err.text);
}

int lull_cli_done(const struct lull_cli_call *call, lull_status status)
{
    lull_cli_warn_all(&call->notices);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", call->err.text);
}

void lull_cli_tell_division(const struct lull_cli_call *call, const struct lull_division *division,
                            const struct lull_trace *trace)
{
    const uint32_t idle = lull_division_idle(division), members = lull_team_size(call->team);
    if (idle > 0)
        lull_cli_warn("%s: has %u %s, so that %u of the %u of lull have nothing to do", trace->path,
                      trace->n_processes, trace->n_processes == 1 ? "process" : "processes", idle,
                      members);
    if (lull_division_divides(division) && lull_trace_is_sequence(trace))
        lull_cli_warn("%s: is read by the first process of lull for the others, as its events are "
                      "one sequence (lull convert makes a tape of it, which all can read)",
                      trace->path);
}

int lull_cli_operand(const struct lull_cli_call *call, const char *what, const char **ret_operand)
{
    *ret_operand = call->operands[0];
    return call->n_operands > 1
               ? lull_cli_usage("expected one %s, got also '%s'", what, call->operands[1])
               : LULL_EXIT_OK;
}

/* ==== progress ================================================================================ */

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
