/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull history add` and `lull history show`: what runs took is kept in a file, and shown with when it
 * changed. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/history/gate.h"
#include "view/history_document.h"

#include <stdio.h>

/* ==== cmd add ================================================================================= */

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

/* ==== cmd show ================================================================================ */

static char usual_metrics[] = "runtime,parallel_efficiency";

/* What the user typed. */
static struct {
    char *program, *input, *machine, *layout, *metrics, *chart;
} history_show_settings = {.metrics = usual_metrics};

static struct lull_output_settings history_show_output;

static const struct poptOption history_show_options[] = {
    {"metric", '\0', POPT_ARG_STRING, &history_show_settings.metrics, 0,
     "what to show, with commas (runtime,parallel_efficiency)", "ID,..."},
    LULL_HISTORY_KEY_OPTIONS(history_show_settings),
    {"layout", '\0', POPT_ARG_STRING, &history_show_settings.layout, 0,
     "processes and threads of each, as '2 x 1'", "P x T"},
    {"chart", '\0', POPT_ARG_STRING, &history_show_settings.chart, 0,
     "draw the first metric as SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(history_show_output),
    POPT_TABLEEND,
};

static int run_history_show(struct lull_cli_call *call)
{
    const struct lull_history_key wish = {.program = history_show_settings.program,
                                          .input = history_show_settings.input,
                                          .machine = history_show_settings.machine,
                                          .layout = history_show_settings.layout};
    const char *path, **metrics;
    size_t n_metrics;
    struct lull_history series;
    int status = lull_cli_operand(call, "FILE", &path);
    if (status != LULL_EXIT_OK)
        return status;
    if (!path)
        return lull_cli_usage("expected the FILE of a history");
    if (lull_condition_metrics(history_show_settings.metrics, call->arena, &metrics, &n_metrics,
                               &call->err) != LULL_OK)
        return lull_cli_usage("--metric: %s", call->err.text);
    if (lull_history_read_series(path, &wish, NULL, call->arena, &series, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    if (history_show_settings.chart)
        status = lull_output_chart(history_show_settings.chart,
                                   lull_history_chart(&series, metrics[0], call->arena));
    return status == LULL_EXIT_OK
               ? lull_output_write(&history_show_output,
                                   lull_history_document(&series, metrics, n_metrics, call->arena))
               : status;
}

const struct lull_command lull_cmd_history_show = {
    .name = "history show",
    .summary = "the runs of a history and when their level changed",
    .operands = "FILE",
    .details = "examples:\n"
               "  lull history show perf.jsonl\n"
               "  lull history show perf.jsonl --metric runtime,region:solve --chart runtime.svg\n",
    .options = history_show_options,
    .output = &history_show_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_history_show,
};

/* ==== cmd history ============================================================================= */

extern const struct lull_command lull_cmd_history_add, lull_cmd_history_show;

static const struct lull_command *const history_parts[] = {&lull_cmd_history_add,
                                                           &lull_cmd_history_show, NULL};

const struct lull_command lull_cmd_history = {
    .name = "history",
    .summary = "keep what runs took, and see when that changed",
    .operands = "PART [OPTION...] FILE [RUN...]",
    .parts = history_parts,
};
