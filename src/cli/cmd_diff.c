/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull diff`: what runs spend more or less than others, by region and cause. */
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "view/diff_document.h"

#include <string.h>

/* What the user typed. */
static struct lull_history_settings diff_history_settings = {.application = 1, .no_replay = 1};
static char *against, *waterfall;
static struct lull_output_settings diff_output;

static const struct poptOption diff_options[] = {
    {"against", 'a', POPT_ARG_STRING, &against, 0,
     "a history; its runs stand beside those of A, for what is certain", "FILE"},
    LULL_HISTORY_KEY_OPTIONS(diff_history_settings),
    LULL_HISTORY_READ_OPTIONS(diff_history_settings),
    {"chart", '\0', POPT_ARG_STRING, &waterfall, 0, "draw the differences as SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(diff_output),
    POPT_TABLEEND,
};

/* A... -- B..., or two runs. */
static int divide_operands(const char *const *paths, uint32_t count,
                           struct lull_diff_group groups[2])
{
    uint32_t divider = 0;
    while (divider < count && strcmp(paths[divider], LULL_DIVIDER) != 0)
        divider++;
    const bool plain = divider == count && count == 2;
    groups[0] = (struct lull_diff_group){.paths = paths, .count = plain ? 1 : divider};
    if (plain)
        groups[1] = (struct lull_diff_group){.paths = paths + 1, .count = 1};
    else if (divider < count)
        groups[1] =
            (struct lull_diff_group){.paths = paths + divider + 1, .count = count - divider - 1};
    for (uint32_t i = 0; i < groups[1].count; i++)
        if (strcmp(groups[1].paths[i], LULL_DIVIDER) == 0)
            return lull_cli_usage("expected one -- between the runs");
    if (!groups[0].count || !groups[1].count)
        return lull_cli_usage("expected A... -- B..., or two runs");
    return LULL_EXIT_OK;
}

static int run_diff(struct lull_cli_call *call)
{
    struct lull_runs_options runs;
    struct lull_history_about about;
    struct lull_diff diff;
    struct lull_diff_group groups[2] = {{0}};
    lull_limits_raise_files();
    int status = divide_operands(call->operands, call->n_operands, groups);
    if (status == LULL_EXIT_OK)
        status = lull_cli_read(
            call, lull_history_settings_read(&diff_history_settings, call, &runs, &about));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(call, lull_diff_read(groups, against, &runs, &about, &call->notices,
                                                call->arena, &diff, &call->err));
    if (status == LULL_EXIT_OK && waterfall &&
        lull_waterfall_save(waterfall, lull_diff_waterfall(&diff, call->arena), &call->err) !=
            LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    return status == LULL_EXIT_OK
               ? lull_output_write(&diff_output,
                                   lull_diff_document(&diff, &call->notices, call->arena))
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
    .options = diff_options,
    .output = &diff_output,
    .run = run_diff,
    .divides = true,
};
