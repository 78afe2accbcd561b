/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull check`: whether runs are worse than they may be, for continuous integration. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "view/history_document.h"

/* Exit statuses of a check besides those of every command. */
enum { EXIT_FAILS = 3, EXIT_UNKNOWN = 4 };

/* What the user typed. */
static struct {
    char *against, *false_alarms, *missed, *confirm;
    char *junit, *markdown, *github, *gitlab, *badge;
    char **fail_if;
    int as_measured;
} check_settings;
static struct lull_history_settings check_history_settings = {.application = 1};
static struct lull_output_settings check_output;

static const struct poptOption check_options[] = {
    {"against", 'a', POPT_ARG_STRING, &check_settings.against, 0,
     "the history that tells the baseline and the noise", "FILE"},
    {"fail-if", '\0', POPT_ARG_ARGV, &check_settings.fail_if, 0,
     "what must not be; may be repeated: METRIC < or > a number, or a multiple of baseline",
     "CONDITION"},
    LULL_HISTORY_KEY_OPTIONS(check_history_settings),
    LULL_HISTORY_RUNS_OPTIONS(check_history_settings),
    {"confirm", '\0', POPT_ARG_STRING, &check_settings.confirm, 0,
     "before failing run this as often as there are RUNs; it writes a run to $LULL_RUN", "COMMAND"},
    {"false-alarms", '\0', POPT_ARG_STRING, &check_settings.false_alarms, 0,
     "how often runs without a change may fail, in percent (1)", "PERCENT"},
    {"missed", '\0', POPT_ARG_STRING, &check_settings.missed, 0,
     "how often runs at the limit may pass, in percent (5)", "PERCENT"},
    {"as-measured", '\0', POPT_ARG_NONE, &check_settings.as_measured, 0,
     "compare medians as they are, whatever the noise", NULL},
    {"junit", '\0', POPT_ARG_STRING, &check_settings.junit, 0, "also as JUnit's XML", "FILE"},
    {"markdown", '\0', POPT_ARG_STRING, &check_settings.markdown, 0, "also as Markdown", "FILE"},
    {"github", '\0', POPT_ARG_STRING, &check_settings.github, 0,
     "also as annotations of GitHub, at the line of the source that moved; /dev/stdout in a job",
     "FILE"},
    {"gitlab", '\0', POPT_ARG_STRING, &check_settings.gitlab, 0, "also as metrics of GitLab",
     "FILE"},
    {"badge", '\0', POPT_ARG_STRING, &check_settings.badge, 0, "also as a badge, an SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(check_output),
    POPT_TABLEEND,
};

static lull_status read_check_settings(struct lull_check_wish *wish, struct lull_cli_call *call)
{
    wish->against = check_settings.against;
    wish->confirm = check_settings.confirm;
    wish->gate = (struct lull_gate_options){
        .false_alarms = 0.01, .missed = 0.05, .as_measured = check_settings.as_measured};
    lull_status status =
        lull_history_settings_read(&check_history_settings, call, &wish->runs, &wish->about);
    if (status == LULL_OK)
        status = lull_conditions_read((const char *const *)check_settings.fail_if,
                                      check_settings.against != NULL, call->arena,
                                      &wish->conditions, &wish->n_conditions, &call->err);
    if (status == LULL_OK)
        status = lull_option_percent("false-alarms", check_settings.false_alarms, 0.01, 20,
                                     &wish->gate.false_alarms, &call->err);
    if (status == LULL_OK)
        status = lull_option_percent("missed", check_settings.missed, 0.01, 20, &wish->gate.missed,
                                     &call->err);
    return status;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static int write_forms(const struct lull_check_study *study, struct lull_cli_call *call)
{
    const struct {
        const struct lull_checks_form *form;
        const char *path;
    } all[] = {{&lull_checks_junit, check_settings.junit},
               {&lull_checks_markdown, check_settings.markdown},
               {&lull_checks_github, check_settings.github},
               {&lull_checks_gitlab, check_settings.gitlab},
               {&lull_checks_badge, check_settings.badge}};
    const struct lull_checks *checks = lull_check_checks(study, call->arena);
    lull_status status = LULL_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == LULL_OK; i++)
        if (all[i].path)
            status = lull_checks_save(all[i].path, all[i].form, checks, &call->err);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", call->err.text);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_check(struct lull_cli_call *call)
{
    static const int statuses[] = {LULL_EXIT_OK, EXIT_FAILS, EXIT_UNKNOWN};
    struct lull_check_wish wish = {0};
    struct lull_check_study study;
    lull_limits_raise_files();
    if (!call->n_operands)
        return lull_cli_usage("expected at least one RUN");
    if (check_settings.confirm && lull_team_size(call->team) > 1)
        return lull_cli_fail("--confirm starts a program, which does not work under mpirun: start "
                             "it alone");
    int status = lull_cli_read(call, read_check_settings(&wish, call));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(call, lull_check_make(call->operands, call->n_operands, &wish,
                                                 &call->notices, call->arena, &study, &call->err));
    if (status == LULL_EXIT_OK)
        status = lull_output_write(&check_output,
                                   lull_check_document(&study, &call->notices, call->arena));
    if (status == LULL_EXIT_OK)
        status = write_forms(&study, call);
    return status == LULL_EXIT_OK ? statuses[study.gate.verdict] : status;
}

const struct lull_command lull_cmd_check = {
    .name = "check",
    .summary = "whether runs are worse than they may be; for continuous integration",
    .operands = "RUN...",
    .details =
        "Ends with 0 where all is well, 3 where a condition holds, 4 where the runs are too few\n"
        "or too noisy to tell; then it says how many more would do.\n"
        "METRIC is runtime, core_time or useful_time (of all threads), instructions, cycles,\n"
        "region:NAME, function:NAME (by samples), or one of `lull metrics` by the id that --format "
        "json shows.\n\n"
        "examples:\n"
        "  lull check run?.lull --against perf.jsonl --fail-if 'runtime > 1.05 * baseline'\n"
        "  lull check run.lull --fail-if 'parallel_efficiency < 0.8' --as-measured\n"
        "  lull check run?.lull --against perf.jsonl --fail-if 'region:solve > 1.1 * baseline' \\\n"
        "      --confirm 'lull record -o $LULL_RUN ./heat' --junit report.xml\n",
    .options = check_options,
    .output = &check_output,
    .run = run_check,
};
