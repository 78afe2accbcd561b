/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull metrics`: the efficiency metrics of one or more runs. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/run_code.h"
#include "view/metrics/metrics_document.h"

/* What the user typed. */
static struct {
    char *scheme, *variant, *by;
    int counters, raw;
} metrics_settings;
static struct lull_runs_settings metrics_runs_settings = {.application = 1};
static struct lull_output_settings metrics_output;

static const struct poptOption metrics_options[] = {
    {"scheme", 's', POPT_ARG_STRING, &metrics_settings.scheme, 0,
     "how efficiencies are split: their losses add up, or they multiply (multiplicative for runs "
     "with one thread per process, otherwise additive)",
     "additive|multiplicative|all"},
    {"variant", '\0', POPT_ARG_STRING, &metrics_settings.variant, 0,
     "of the multiplicative scheme for hybrid runs (bsc)", "bsc|nag"},
    LULL_RUNS_OPTIONS(metrics_runs_settings),
    LULL_APPLICATION_OPTION(metrics_runs_settings.application,
                            "which program of a trace that holds several"),
    {"by", 'b', POPT_ARG_STRING, &metrics_settings.by, 0, "add a table of the parts of each run",
     "region|callsite|process|thread|device|stream|kernel|copy|file|wait|function|line|loop"},
    {"raw", '\0', POPT_ARG_NONE, &metrics_settings.raw, 0, "add the times behind the efficiencies",
     NULL},
    LULL_RAW_NAMES_OPTION(metrics_runs_settings.raw_names),
    {"counters", 'c', POPT_ARG_NONE, &metrics_settings.counters, 0, "add all hardware counters",
     NULL},
    LULL_DIGITS_OPTION(metrics_output),
    LULL_NO_REPLAY_OPTION(metrics_runs_settings),
    LULL_THREADS_OPTION(metrics_runs_settings.threads, "threads to read with"),
    LULL_FORCE_OPTION(metrics_runs_settings),
    LULL_OUTPUT_OPTIONS(metrics_output),
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

/* What is to be read, compared and shown. */
struct metrics_wishes {
    struct lull_runs_options runs;
    struct lull_comparison_wish comparison;
    struct lull_metrics_wish metrics;
    struct lull_asked code; /* where in the code useful time was spent */
};

static lull_status read_words(struct lull_metrics_wish *metrics, struct lull_error *err)
{
    static const char *const schemes[] = {"additive", "multiplicative", "all", NULL};
    static const char *const variants[] = {"bsc", "nag", NULL};
    unsigned scheme, variant;
    lull_status status = lull_option_word("scheme", metrics_settings.scheme, schemes, &scheme, err);
    if (status == LULL_OK)
        status = lull_option_word("variant", metrics_settings.variant, variants, &variant, err);
    if (status != LULL_OK)
        return status;
    metrics->scheme = (enum lull_scheme_choice)scheme;
    metrics->nag = variant == 2;
    metrics->part = metrics_settings.by ? lull_metrics_part_find(metrics_settings.by) : NULL;
    if (metrics_settings.by && !metrics->part)
        return lull_fail(
            err, LULL_ERR_RANGE,
            "--by is '%s', expected region, callsite, process, thread, device, stream, "
            "kernel, copy, file, wait, function, line or loop",
            metrics_settings.by);
    return LULL_OK;
}

static lull_status read_metrics_settings(struct metrics_wishes *wishes, struct lull_cli_call *call)
{
    struct lull_metrics_wish *metrics = &wishes->metrics;
    lull_status status =
        lull_runs_settings_read(&metrics_runs_settings, call, &wishes->runs, &wishes->comparison);
    if (status == LULL_OK)
        status = read_words(metrics, &call->err);
    if (status != LULL_OK)
        return status;
    wishes->runs.regions = metrics->part && metrics->part->regions;
    wishes->runs.operations = metrics->part && metrics->part->operations;
    wishes->runs.files = metrics->part && metrics->part->files;
    wishes->runs.waits = metrics->part && metrics->part->waits;
    wishes->runs.device_waits = metrics->part && metrics->part->device_waits;
    wishes->code = (struct lull_asked){.analysis = &lull_code_analysis};
    if (metrics->part && metrics->part->code) {
        wishes->code.options = metrics->part->code;
        wishes->runs.asked = &wishes->code;
        wishes->runs.n_asked = 1;
    }
    wishes->runs.team = call->team;
    metrics->raw = metrics_settings.raw;
    metrics->counters = metrics_settings.counters;
    metrics->reference_named = metrics_runs_settings.reference != NULL;
    metrics->region = metrics_runs_settings.region;
    metrics->window = metrics_runs_settings.window;
    return LULL_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Tells which members of the team had nothing to do. */
static void tell_runs_division(const struct lull_runs *runs, const struct lull_cli_call *call)
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->runs[i].trace)
            lull_cli_tell_division(call, runs->runs[i].reading->division, runs->runs[i].trace);
}

static int run_metrics(struct lull_cli_call *call)
{
    struct metrics_wishes wishes = {0};
    struct lull_runs runs;
    lull_limits_raise_files();
    if (!call->n_operands)
        return lull_cli_usage("expected at least one RUN");
    int status = lull_cli_read(call, read_metrics_settings(&wishes, call));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(call, lull_study_compare(call->operands, call->n_operands, &wishes.runs,
                                                    &wishes.comparison, &call->notices, call->arena,
                                                    &runs, &call->err));
    const bool shows = status == LULL_EXIT_OK && lull_team_is_first(call->team);
    if (shows)
        tell_runs_division(&runs, call);
    if (shows)
        status =
            lull_output_write(&metrics_output, lull_metrics_document(&runs, &wishes.metrics,
                                                                     &call->notices, call->arena));
    lull_runs_close(&runs);
    return status;
}

const struct lull_command lull_cmd_metrics = {
    .name = "metrics",
    .summary = "efficiency metrics of one or more runs",
    .operands = "RUN...",
    .details = "One column per run, from the fewest threads to the most. A RUN may also be a file\n"
               "written before with --format json, which is read in no time.\n\n"
               "examples:\n"
               "  lull metrics run1.prv.gz run4.prv.gz run8.prv.gz\n"
               "  lull metrics traces.otf2 --by process --raw\n"
               "  lull metrics run1.json run4.prv.gz --scheme all --format csv -o table.csv\n",
    .options = metrics_options,
    .output = &metrics_output,
    .under_mpirun = LULL_WORKS_AS_TEAM,
    .run = run_metrics,
};
