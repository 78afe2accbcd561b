/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull fit`: laws of scaling, fitted to runs or tables of measurements. */
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/model/fit_study.h"
#include "view/fit_document.h"

/* What the user typed. */
static struct lull_fit_texts fit_texts;
static struct {
    char *at, *chart;
    int extrapolate, list, threads, force;
} fit_settings;
static struct lull_output_settings fit_output;

static const struct poptOption fit_options[] = {
    {"x", 'x', POPT_ARG_STRING, &fit_texts.x, 0,
     "over what: of runs processes, threads or size (what differs), of tables the names of columns "
     "or parameters (all); at most three, with commas",
     "NAME,..."},
    {"y", 'y', POPT_ARG_STRING, &fit_texts.y, 0,
     "what is fitted: of runs the runtime, the memory of the largest process, the time in a region "
     "or a metric; of a CSV a column (the last); of other tables a region or a metric",
     "runtime|memory|region:NAME|metric:NAME|COLUMN"},
    {"law", 'l', POPT_ARG_STRING, &fit_texts.laws, 0,
     "laws to choose from, with commas (all; see --list)", "LAW,...|all"},
    {"kind", '\0', POPT_ARG_STRING, &fit_texts.kind, 0, "what y is (by its name; otherwise a time)",
     "time|throughput|efficiency|quantity"},
    {"errors", '\0', POPT_ARG_STRING, &fit_texts.errors, 0,
     "errors of measurements: in proportion to them, or all alike (relative; absolute for a "
     "throughput)",
     "relative|absolute"},
    {"at", '\0', POPT_ARG_STRING, &fit_settings.at, 0,
     "predict at these x; with several parameters as 64:1000,128:1000 (doublings of the range)",
     "X,..."},
    {"extrapolate", '\0', POPT_ARG_NONE, &fit_settings.extrapolate, 0,
     "predict also where the data do not bear it", NULL},
    {"confidence", '\0', POPT_ARG_STRING, &fit_texts.confidence, 0, "of intervals, in percent (95)",
     "PERCENT"},
    {"sizes", '\0', POPT_ARG_STRING, &fit_texts.sizes, 0,
     "size of the problem of each RUN, in their order", "N,..."},
    {"by", 'b', POPT_ARG_STRING, &fit_texts.by, 0,
     "fit each region of the runs, too: which one stops scaling first", "region"},
    {"chart", '\0', POPT_ARG_STRING, &fit_settings.chart, 0,
     "draw measurements, law and interval as SVG", "FILE"},
    {"list", '\0', POPT_ARG_NONE, &fit_settings.list, 0, "list the laws", NULL},
    LULL_THREADS_OPTION(fit_settings.threads, "threads to read with"),
    {"force", '\0', POPT_ARG_NONE, &fit_settings.force, 0,
     "go on where the tracer disturbed a run too much, or where runs seem not to be of one program",
     NULL},
    LULL_OUTPUT_OPTIONS(fit_output),
    POPT_TABLEEND,
};

static int write_study(const struct lull_fit_study *study, const struct lull_fit_show *show,
                       struct lull_cli_call *call)
{
    const struct lull_document *document =
        lull_fit_document(study, show, &call->notices, call->arena);
    lull_cli_warn_all(&call->notices);
    const struct lull_chart *chart =
        fit_settings.chart ? lull_fit_chart(study, show, call->arena) : NULL;
    if (fit_settings.chart && !chart)
        return lull_cli_fail("--chart: is for one parameter, there are %zu",
                             study->table->n_params);
    int status = chart ? lull_output_chart(fit_settings.chart, chart) : LULL_EXIT_OK;
    return status == LULL_EXIT_OK ? lull_output_write(&fit_output, document) : status;
}

static int run_fit(struct lull_cli_call *call)
{
    const struct lull_runs_options runs = {.force = fit_settings.force,
                                           .workers = (unsigned)fit_settings.threads,
                                           .progress = &call->progress};
    struct lull_fit_wish wish;
    struct lull_fit_options options_of_fit;
    struct lull_fit_show show = {.extrapolate = fit_settings.extrapolate};
    struct lull_fit_table *table;
    struct lull_fit_study study;
    size_t front;
    lull_limits_raise_files();
    if (fit_settings.list)
        return lull_output_write(&fit_output, lull_fit_list(call->arena));
    if (!call->n_operands)
        return lull_cli_usage("expected RUNs or a table of measurements");
    int status = lull_cli_read(
        call, lull_fit_wish_read(&fit_texts, call->arena, &wish, &options_of_fit, &call->err));
    if (status != LULL_EXIT_OK)
        return status;
    lull_status done = lull_fit_measured_read(call->operands, call->n_operands, &wish, &runs,
                                              &call->notices, &table, &front, &call->err);
    if (done != LULL_OK)
        return lull_cli_done(call, done);
    if (lull_fit_places_read(fit_settings.at, table->n_params, call->arena, &show.at, &show.n_at,
                             &call->err) != LULL_OK)
        return lull_cli_usage("--at: %s", call->err.text);
    done = lull_fit_study_make(table, front, &options_of_fit, call->arena, &study, &call->err);
    if (done != LULL_OK && call->n_operands == 1)
        lull_fail_prefix(&call->err, done, "%s", call->operands[0]);
    return done == LULL_OK ? write_study(&study, &show, call) : lull_cli_done(call, done);
}

const struct lull_command lull_cmd_fit = {
    .name = "fit",
    .summary = "laws of scaling, fitted to runs or tables of measurements",
    .operands = "RUN...|TABLE",
    .details =
        "A TABLE is a CSV file with a line of names, or an Extra-P file (text or JSON Lines).\n\n"
        "examples:\n"
        "  lull fit run1.prv.gz run4.prv.gz run8.prv.gz --by region\n"
        "  lull fit times.csv --x processes --y runtime --at 256,512 --chart fit.svg\n"
        "  lull fit throughput.csv --law usl\n"
        "  lull fit experiment.txt --y region:solve --law pmnf --at 4096:1000\n",
    .options = fit_options,
    .output = &fit_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_fit,
};
