#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history_options.h"
#include "cli/options/options.h"
#include "cli/options/runs_options.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "view/diff/diff_document.h"

#include <string.h>

/* What the user typed. */
static struct lull_history_settings shared = {.application = 1, .no_replay = 1};
static char *against, *waterfall;
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"against", 'a', POPT_ARG_STRING, &against, 0,
     "a history; its runs stand beside those of A, for what is certain", "FILE"},
    LULL_HISTORY_KEY_OPTIONS(shared),
    LULL_HISTORY_READ_OPTIONS(shared),
    {"chart", '\0', POPT_ARG_STRING, &waterfall, 0, "draw the differences as SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

/* Runs of one side. */
struct group {
    const char *const *paths;
    uint32_t count;
    struct lull_history_entry *entries;
    uint32_t n_entries;
};

/* A... -- B..., or two runs. */
static int divide_operands(const char *const *paths, uint32_t count, struct group groups[2])
{
    uint32_t divider = 0;
    while (divider < count && strcmp(paths[divider], LULL_DIVIDER) != 0)
        divider++;
    const bool plain = divider == count && count == 2;
    groups[0] = (struct group){.paths = paths, .count = plain ? 1 : divider};
    if (plain)
        groups[1] = (struct group){.paths = paths + 1, .count = 1};
    else if (divider < count)
        groups[1] = (struct group){.paths = paths + divider + 1, .count = count - divider - 1};
    for (uint32_t i = 0; i < groups[1].count; i++)
        if (strcmp(groups[1].paths[i], LULL_DIVIDER) == 0)
            return lull_cli_usage("expected one -- between the runs");
    if (!groups[0].count || !groups[1].count)
        return lull_cli_usage("expected A... -- B..., or two runs");
    return LULL_EXIT_OK;
}

/* The runs of the history that belong to those of A; none without --against. */
static lull_status read_history(const struct group *before, struct lull_arena *arena,
                                struct lull_history *ret_series, struct lull_error *err)
{
    struct lull_history all;
    *ret_series = (struct lull_history){.path = ""};
    if (!against)
        return LULL_OK;
    lull_status status = lull_history_read(against, arena, &all, err);
    return status == LULL_OK
               ? lull_history_select(&all, &before->entries[0].key, NULL, arena, ret_series, err)
               : status;
}

static lull_status measure(struct group groups[2], const struct lull_runs_options *runs,
                           const struct lull_history_about *about, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_history *ret_series,
                           struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (int i = 0; status == LULL_OK && i < 2; i++)
        status = lull_history_measure(groups[i].paths, groups[i].count, runs, about, notices, arena,
                                      &groups[i].entries, &groups[i].n_entries, err);
    if (status == LULL_OK)
        status = read_history(&groups[0], arena, ret_series, err);
    const struct lull_history other = {
        .path = groups[0].paths[0], .entries = groups[0].entries, .count = groups[0].n_entries};
    if (status == LULL_OK)
        status =
            lull_history_check(&other, groups[0].entries, groups[0].n_entries, runs->force, err);
    if (status == LULL_OK)
        status =
            lull_history_check(&other, groups[1].entries, groups[1].n_entries, runs->force, err);
    return status;
}

static int run(poptContext context, struct lull_arena *arena)
{
    struct lull_runs_options runs;
    struct lull_history_about about;
    struct lull_notices notices = {.arena = arena};
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    struct lull_history series;
    struct lull_diff diff;
    struct lull_error err;
    struct group groups[2] = {{0}};
    uint32_t count;
    const char *const *paths = lull_operands(context, &count);
    lull_limits_raise_files();
    int status = divide_operands(paths, count, groups);
    if (status != LULL_EXIT_OK)
        return status;
    if (lull_history_settings_read(&shared, &runs, &about, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    runs.progress = &shown;
    lull_status done = measure(groups, &runs, &about, &notices, arena, &series, &err);
    lull_cli_warn_all(&notices);
    if (done != LULL_OK)
        return lull_cli_fail("%s", err.text);
    lull_diff_make(groups[0].entries, groups[0].n_entries, groups[1].entries, groups[1].n_entries,
                   &series, arena, &diff);
    if (waterfall)
        status =
            lull_output_save(waterfall, lull_waterfall_write, lull_diff_waterfall(&diff, arena));
    return status == LULL_EXIT_OK
               ? lull_output_write(&output, lull_diff_document(&diff, &notices, arena))
               : status;
}

const struct lull_command lull_cmd_diff = {
    .name = "diff",
    .summary = "what runs spend more or less than others, by region and cause",
    .operands = "A... -- B...",
    .details = "One row for each region and what its time is spent on; the rows add up to the\n"
               "difference of the time of all threads. With several runs on both sides it says\n"
               "which differences are more than noise.\n\n"
               "examples:\n"
               "  lull diff old.lull new.lull\n"
               "  lull diff old?.lull -- new?.lull --chart waterfall.svg\n"
               "  lull diff old.lull new.lull --against perf.jsonl --program heat\n",
    .options = options,
    .output = &output,
    .run = run,
    .divides = true,
};
