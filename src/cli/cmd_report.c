/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull report`: one page of what the cores did in one or more runs. */
#include "base/output_file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/model/kernel_study.h"
#include "view/report/report_document.h"

#include <string.h>

/* What the user typed. */
static struct {
    char *scheme, *max_size, *machine, **sizes, **calls;
    int no_prices, no_waits, waits, replay, no_source;
} report_settings;
static struct lull_runs_settings report_runs_settings = {.application = 1};
static struct lull_output_settings report_output;

static const struct poptOption report_options[] = {
    {"scheme", 's', POPT_ARG_STRING, &report_settings.scheme, 0,
     "which tree of efficiencies text shows (multiplicative for runs with one thread per process, "
     "otherwise additive); the others have both",
     "additive|multiplicative"},
    LULL_RUNS_OPTIONS(report_runs_settings),
    LULL_APPLICATION_OPTION(report_runs_settings.application,
                            "which program of a trace that holds several"),
    {"max-size", 'm', POPT_ARG_STRING, &report_settings.max_size, 0,
     "how large the page may become, which decides how deep it goes (16MB)", "SIZE"},
    LULL_RAW_NAMES_OPTION(report_runs_settings.raw_names),
    LULL_DIGITS_OPTION(report_output),
    LULL_NO_REPLAY_OPTION(report_runs_settings),
    {"no-prices", '\0', POPT_ARG_NONE, &report_settings.no_prices, 0,
     "findings without what a fix would save, which replays tell", NULL},
    {"replay", '\0', POPT_ARG_NONE, &report_settings.replay, 0,
     "do replay also runs of more than 20,000 threads on an ideal network", NULL},
    {"no-waits", '\0', POPT_ARG_NONE, &report_settings.no_waits, 0,
     "do not follow who made others wait, which takes most of the time and memory of large runs",
     NULL},
    {"waits", '\0', POPT_ARG_NONE, &report_settings.waits, 0,
     "do follow that also in runs of more than 20,000 threads", NULL},
    {"no-source", '\0', POPT_ARG_NONE, &report_settings.no_source, 0,
     "leave out the text of the program's source, as for a page that is mailed", NULL},
    {"machine", '\0', POPT_ARG_STRING, &report_settings.machine, 0,
     "what lull bench measured of the machine: hot loops beside what it allows; findings then tell "
     "where its memory is saturated",
     "FILE"},
    {"define", 'D', POPT_ARG_ARGV, &report_settings.sizes, 0,
     "with --machine: value of a size of hot loops that the source does not say", "NAME=VALUE"},
    {"call", '\0', POPT_ARG_ARGV, &report_settings.calls, 0,
     "with --machine: cycles of a call of a function in hot loops", "NAME=CYCLES"},
    LULL_THREADS_OPTION(report_runs_settings.threads, "threads to read with"),
    LULL_FORCE_OPTION(report_runs_settings),
    LULL_OUTPUT_OPTIONS(report_output),
    POPT_TABLEEND,
};

/* What is to be read, compared and shown. */
struct report_wishes {
    struct lull_report_options report;
    struct lull_comparison_wish comparison;
    struct lull_report_wish view;
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status read_scheme(struct report_wishes *wishes, struct lull_error *err)
{
    static const char *const schemes[] = {"additive", "multiplicative", NULL};
    unsigned scheme;
    lull_status status = lull_option_word("scheme", report_settings.scheme, schemes, &scheme, err);
    if (status == LULL_OK)
        wishes->view.scheme = (enum lull_scheme_choice)scheme;
    return status;
}

/* Reads how large a page may become; that decides also how much is kept while the runs are read. */
static lull_status read_size(struct report_wishes *wishes, struct lull_error *err)
{
    report_output.most_bytes = 16000000;
    lull_status status = lull_option_size("max-size", report_settings.max_size, 1, "a size above 0",
                                          &report_output.most_bytes, err);
    lull_report_budget(report_output.most_bytes, &wishes->report);
    return status;
}

/* The options that the command for a closer look repeats. */
static const char *repeated_options(struct lull_arena *arena)
{
    const char *repeated = "";
    if (report_runs_settings.application != 1)
        repeated = lull_arena_printf(arena, " --application %d", report_runs_settings.application);
    if (report_runs_settings.no_replay)
        repeated = lull_arena_printf(arena, "%s --no-replay", repeated);
    if (report_settings.replay)
        repeated = lull_arena_printf(arena, "%s --replay", repeated);
    if (report_settings.waits)
        repeated = lull_arena_printf(arena, "%s --waits", repeated);
    return repeated;
}

static lull_status read_report_machine(struct lull_report_options *report,
                                       struct lull_cli_call *call)
{
    struct lull_machine *machine;
    if (!report_settings.machine)
        return LULL_OK;
    const struct lull_kernel_texts texts = {.source = "",
                                            .sizes = (const char *const *)report_settings.sizes,
                                            .calls = (const char *const *)report_settings.calls};
    struct lull_kernel_wish wish = {0};
    lull_status status =
        lull_machine_read(report_settings.machine, call->arena, &machine, &call->err);
    if (status == LULL_OK)
        status = lull_kernel_wish_read(&texts, call->arena, &wish, &call->err);
    if (status != LULL_OK)
        return status;
    report->machine = machine;
    report->hot = (struct lull_hot_wish){.machine = machine,
                                         .machine_path = report_settings.machine,
                                         .force = report_runs_settings.force,
                                         .sizes = wish.source.sizes,
                                         .n_sizes = wish.source.n_sizes,
                                         .costs = wish.source.costs,
                                         .n_costs = wish.source.n_costs,
                                         .incore = {.here = lull_machine_is_here(machine)},
                                         .workers = report_runs_settings.threads > 0
                                                        ? (unsigned)report_runs_settings.threads
                                                        : lull_worker_count()};
    return LULL_OK;
}

/* In runs of many threads, waits and the replay, which follow all threads at once, are left out
 * unless they are asked for. */
static lull_status read_bounds(struct lull_runs_options *runs, struct lull_error *err)
{
    if (report_settings.sizes && !report_settings.machine)
        return lull_fail(err, LULL_ERR_RANGE, "-D is for hot loops, which need --machine FILE");
    if (report_settings.calls && !report_settings.machine)
        return lull_fail(err, LULL_ERR_RANGE, "--call is for hot loops, which need --machine FILE");
    if (report_settings.waits && report_settings.no_waits)
        return lull_fail(err, LULL_ERR_RANGE, "--waits and --no-waits exclude each other");
    if (report_settings.replay && report_runs_settings.no_replay)
        return lull_fail(err, LULL_ERR_RANGE, "--replay and --no-replay exclude each other");
    runs->waits = !report_runs_settings.region && !report_settings.no_waits;
    runs->most_with_waits = report_settings.waits ? 0 : LULL_REPORT_MOST_ABREAST;
    runs->most_with_replay = report_settings.replay ? 0 : LULL_REPORT_MOST_ABREAST;
    return LULL_OK;
}

static lull_status read_report_settings(struct report_wishes *wishes, struct lull_cli_call *call)
{
    struct lull_runs_options *runs = &wishes->report.runs;
    lull_status status =
        lull_runs_settings_read(&report_runs_settings, call, runs, &wishes->comparison);
    if (status == LULL_OK)
        status = read_bounds(runs, &call->err);
    if (status == LULL_OK)
        status = read_scheme(wishes, &call->err);
    if (status == LULL_OK)
        status = read_size(wishes, &call->err);
    if (status != LULL_OK)
        return status;
    runs->regions = runs->files = true;
    runs->excerpt_steps = 0; /* prices are of replays of the whole run, one of which is the check */
    wishes->report.hot_loops = report_settings.machine != NULL;
    wishes->report.no_prices = report_settings.no_prices || report_runs_settings.no_replay;
    wishes->view.region = report_runs_settings.region;
    wishes->view.window = report_runs_settings.window;
    wishes->view.no_source = report_settings.no_source;
    wishes->view.options = repeated_options(call->arena);
    runs->team = call->team;
    return lull_team_is_first(call->team) ? read_report_machine(&wishes->report, call) : LULL_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Tells which members of a team had nothing to do, and with which run. */
static void tell_report_division(const struct lull_report *report, const struct lull_cli_call *call)
{
    for (uint32_t i = 0; i < report->n_of; i++) {
        const struct lull_run *run = &report->runs.runs[i];
        if (run->trace)
            lull_cli_tell_division(call, run->reading->division, run->trace);
    }
}

static lull_status complete(struct report_wishes *wishes, struct lull_report *report,
                            struct lull_cli_call *call)
{
    lull_status status = LULL_OK;
    if (lull_team_is_first(call->team))
        status = lull_study_compare_loaded(&report->runs, &wishes->comparison, &call->notices,
                                           call->arena, &call->err);
    if (status == LULL_OK && !report_runs_settings.region)
        status = lull_report_diagnose(report, &wishes->report, call->arena, &call->err);
    return status;
}

static int run_report(struct lull_cli_call *call)
{
    const bool is_first = lull_team_is_first(call->team);
    struct report_wishes wishes = {0};
    struct lull_report report;
    lull_limits_raise_files();
    if (!call->n_operands)
        return lull_cli_usage("expected at least one RUN");
    int status = lull_cli_read(call, read_report_settings(&wishes, call));
    if (status == LULL_EXIT_OK && is_first && report_output.path &&
        strcmp(report_output.path, "-") != 0)
        status = lull_output_probe(report_output.path); /* before the work */
    if (status != LULL_EXIT_OK)
        return status;
    lull_status done = lull_report_load(call->operands, call->n_operands, &wishes.report,
                                        &call->notices, call->arena, &report, &call->err);
    if (done == LULL_OK)
        done = complete(&wishes, &report, call);
    status = lull_cli_done(call, done);
    if (status == LULL_EXIT_OK && is_first) {
        tell_report_division(&report, call);
        status =
            lull_output_write(&report_output, lull_report_document(&report, &wishes.view,
                                                                   &call->notices, call->arena));
    }
    lull_report_close(&report);
    return status;
}

const struct lull_command lull_cmd_report = {
    .name = "report",
    .summary = "one page of what the cores did in one or more runs, at any zoom",
    .operands = "RUN...",
    .details = "As text: how far to trust the data, the efficiencies, and a timeline of at most\n"
               "20 rows. With -o FILE.html a page that opens in a browser without a network, in\n"
               "which one can zoom down to single steps and messages.\n\n"
               "examples:\n"
               "  lull report run.lull\n"
               "  lull report run1.lull run2.lull run4.lull -o report.html\n"
               "  lull report run.lull --window 1.2s:1.3s -o closer.html\n",
    .options = report_options,
    .output = &report_output,
    .under_mpirun = LULL_WORKS_AS_TEAM,
    .run = run_report,
};
