#include "base/process.h"
#include "base/text/option.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history_options.h"
#include "cli/options/options.h"
#include "cli/options/runs_options.h"

#include <stdio.h>

/* What the user typed. */
static struct lull_history_settings add_history_settings = {.application = 1};
static char *wait_text;

static const struct poptOption history_add_options[] = {
    LULL_HISTORY_KEY_OPTIONS(add_history_settings),
    LULL_HISTORY_RUNS_OPTIONS(add_history_settings),
    {"wait", '\0', POPT_ARG_STRING, &wait_text, 0,
     "how long to wait for another program that writes into FILE (10)", "SECONDS"},
    POPT_TABLEEND,
};

static int append(const char *file, const struct lull_history_entry *entries, uint32_t count,
                  double patience, struct lull_cli_call *call)
{
    uint32_t added;
    if (lull_history_append(file, entries, count, patience, call->arena, &added, &call->err) !=
        LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    fprintf(stderr, "lull history add: %u of %u run%s added to %s%s\n", added, count,
            count == 1 ? "" : "s", file, added < count ? " (the others are there already)" : "");
    return LULL_EXIT_OK;
}

static int run_history_add(struct lull_cli_call *call)
{
    struct lull_runs_options runs;
    struct lull_history_about about;
    struct lull_history_entry *entries;
    uint32_t count;
    double patience = 10;
    lull_limits_raise_files();
    if (call->n_operands < 2)
        return lull_cli_usage("expected the FILE of a history and at least one RUN");
    lull_status read = lull_option_real("wait", wait_text, 0, &patience, &call->err);
    if (read == LULL_OK)
        read = lull_history_settings_read(&add_history_settings, call, &runs, &about);
    if (read != LULL_OK)
        return lull_cli_read(call, read);
    int status = lull_cli_done(
        call, lull_history_measure(call->operands + 1, call->n_operands - 1, &runs, &about,
                                   &call->notices, call->arena, &entries, &count, &call->err));
    return status == LULL_EXIT_OK ? append(call->operands[0], entries, count, patience, call)
                                  : status;
}

const struct lull_command lull_cmd_history_add = {
    .name = "history add",
    .summary = "add runs to a history",
    .operands = "FILE RUN...",
    .details = "FILE has one line for each run and is made where there is none; keep it with the\n"
               "source. Runs are compared that have the same program, input, machine, processes\n"
               "and threads.\n\n"
               "examples:\n"
               "  lull history add perf.jsonl run.lull --program heat --input n=512\n"
               "  lull history add perf.jsonl runs/*.lull --machine ci --commit $(git rev-parse "
               "HEAD)\n",
    .options = history_add_options,
    .run = run_history_add,
};
