#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history_options.h"
#include "cli/options/options.h"
#include "cli/options/runs_options.h"
#include "cli/process.h"
#include "cli/progress.h"

#include <stdio.h>

/* What the user typed. */
static struct lull_history_settings shared = {.application = 1};
static char *wait_text;

static const struct poptOption options[] = {
    LULL_HISTORY_KEY_OPTIONS(shared),
    LULL_HISTORY_RUNS_OPTIONS(shared),
    {"wait", '\0', POPT_ARG_STRING, &wait_text, 0,
     "how long to wait for another program that writes into FILE (10)", "SECONDS"},
    POPT_TABLEEND,
};

static int add_runs(const char *file, const char *const *paths, uint32_t count,
                    const struct lull_runs_options *runs, const struct lull_history_about *about,
                    double patience, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    struct lull_history_entry *entries;
    struct lull_error err;
    uint32_t n_entries, added;
    lull_status status = lull_history_measure(paths, count, runs, about, &notices, arena, &entries,
                                              &n_entries, &err);
    lull_cli_warn_all(&notices);
    if (status == LULL_OK)
        status = lull_history_append(file, entries, n_entries, patience, arena, &added, &err);
    if (status != LULL_OK)
        return lull_cli_fail("%s", err.text);
    fprintf(stderr, "lull history add: %u of %u run%s added to %s%s\n", added, n_entries,
            n_entries == 1 ? "" : "s", file,
            added < n_entries ? " (the others are there already)" : "");
    return LULL_EXIT_OK;
}

static int run(poptContext context, struct lull_arena *arena)
{
    struct lull_runs_options runs;
    struct lull_history_about about;
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    struct lull_error err;
    double patience = 10;
    uint32_t count;
    const char *const *operands = lull_operands(context, &count);
    lull_limits_raise_files();
    if (count < 2)
        return lull_cli_usage("expected the FILE of a history and at least one RUN");
    if (lull_option_real("wait", wait_text, 0, &patience, &err) != LULL_OK ||
        lull_history_settings_read(&shared, &runs, &about, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    runs.progress = &shown;
    return add_runs(operands[0], operands + 1, count - 1, &runs, &about, patience, arena);
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
    .options = options,
    .run = run,
};
