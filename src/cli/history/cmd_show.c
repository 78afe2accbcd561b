#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/history_options.h"
#include "study/history/gate.h"
#include "view/history/history_document.h"

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
