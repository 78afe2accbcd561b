/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull info`: what a run holds; without a run, what this lull can do. */
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "metrics/windows.h"
#include "study/census.h"
#include "study/joint_pass.h"
#include "view/info_document.h"

static struct lull_output_settings info_output;
static int threads;

static const struct poptOption info_options[] = {
    LULL_THREADS_OPTION(threads, "threads to read with"),
    LULL_OUTPUT_OPTIONS(info_output),
    POPT_TABLEEND,
};

static int describe_run(const char *path, struct lull_cli_call *call)
{
    struct lull_trace *trace;
    struct lull_census *census;
    struct lull_submitters *submitters = NULL;
    if (lull_division_open(call->team, path, &trace, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    struct lull_division *division;
    lull_status done =
        lull_division_of_run(call->team, trace, LULL_NONE, call->arena, &division, &call->err);
    lull_progress_begin(&call->line, path);
    if (done == LULL_OK) {
        const struct lull_reading reading = {.application = LULL_NONE,
                                             .division = division,
                                             .range = lull_pass_range(division),
                                             .workers = (unsigned)threads,
                                             .progress = lull_progress_update,
                                             .progress_context = &call->line};
        done = lull_census_take(trace, &reading, call->arena, &census, &call->err);
        if (done == LULL_OK)
            done = lull_submitters_take(trace, &reading, call->arena, &submitters, &call->err);
    }
    lull_progress_end(&call->line);
    int status = lull_cli_done(call, done);
    if (status == LULL_EXIT_OK && lull_team_is_first(call->team))
        lull_cli_tell_division(call, division, trace);
    if (status == LULL_EXIT_OK && lull_team_is_first(call->team))
        status = lull_output_write(&info_output,
                                   lull_info_run(trace, census, submitters, path, call->arena));
    lull_trace_close(trace);
    return status;
}

static int run_info(struct lull_cli_call *call)
{
    const char *path;
    lull_limits_raise_files();
    int status = lull_cli_operand(call, "RUN", &path);
    if (status != LULL_EXIT_OK)
        return status;
    if (!path && !lull_team_is_first(call->team))
        return LULL_EXIT_OK;
    return path ? describe_run(path, call)
                : lull_output_write(&info_output, lull_info_build(call->arena));
}

const struct lull_command lull_cmd_info = {
    .name = "info",
    .summary = "what a run holds; without RUN: what this lull can do",
    .operands = "[RUN]",
    .details = "examples:\n"
               "  lull info epoch_4proc.prv.gz\n"
               "  lull info traces.otf2 --format json | jq .facts.duration\n",
    .options = info_options,
    .output = &info_output,
    .under_mpirun = LULL_WORKS_AS_TEAM,
    .run = run_info,
};
