#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "study/census.h"
#include "view/info_document.h"

static struct lull_output_settings output;
static int threads;

static const struct poptOption options[] = {
    LULL_THREADS_OPTION(threads, "threads to read with"),
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

static int describe_run(const char *path, struct lull_arena *arena)
{
    struct lull_error err;
    struct lull_trace *trace;
    if (lull_trace_open(path, &trace, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    struct lull_progress progress;
    lull_progress_begin(&progress, path);
    struct lull_census *census;
    lull_status done = lull_census_take(trace, (unsigned)threads, lull_progress_update, &progress,
                                        arena, &census, &err);
    lull_progress_end(&progress);
    int status;
    if (done == LULL_OK)
        status = lull_output_write(&output, lull_info_run(trace, census, path, arena));
    else
        status = lull_cli_fail("%s", err.text);
    lull_trace_close(trace);
    return status;
}

static int run(poptContext context, struct lull_arena *arena)
{
    const char *path;
    lull_limits_raise_files();
    int status = lull_one_operand(context, "RUN", &path);
    if (status != LULL_EXIT_OK)
        return status;
    return path ? describe_run(path, arena) : lull_output_write(&output, lull_info_build(arena));
}

const struct lull_command lull_cmd_info = {
    .name = "info",
    .summary = "what a run holds; without RUN: what this lull can do",
    .operands = "[RUN]",
    .details = "examples:\n"
               "  lull info epoch_4proc.prv.gz\n"
               "  lull info traces.otf2 --format json | jq .facts.duration\n",
    .options = options,
    .output = &output,
    .run = run,
};
