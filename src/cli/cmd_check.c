#include "base/text.h"
#include "cli/command.h"
#include "cli/history/confirm.h"
#include "cli/message.h"
#include "cli/options/history_options.h"
#include "cli/options/options.h"
#include "cli/options/runs_options.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "view/history/check_document.h"

/* Exit statuses of a check besides those of every command. */
enum { EXIT_FAILS = 3, EXIT_UNKNOWN = 4 };

/* What the user typed. */
static struct {
    char *against, *false_alarms, *missed, *confirm;
    char *junit, *markdown, *github, *gitlab, *badge;
    char **fail_if;
    int as_measured;
} settings;
static struct lull_history_settings shared = {.application = 1};
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"against", 'a', POPT_ARG_STRING, &settings.against, 0,
     "the history that tells the baseline and the noise", "FILE"},
    {"fail-if", '\0', POPT_ARG_ARGV, &settings.fail_if, 0,
     "what must not be; may be repeated: METRIC < or > a number, or a multiple of baseline",
     "CONDITION"},
    LULL_HISTORY_KEY_OPTIONS(shared),
    LULL_HISTORY_RUNS_OPTIONS(shared),
    {"confirm", '\0', POPT_ARG_STRING, &settings.confirm, 0,
     "before failing run this as often as there are RUNs; it writes a run to $LULL_RUN", "COMMAND"},
    {"false-alarms", '\0', POPT_ARG_STRING, &settings.false_alarms, 0,
     "how often runs without a change may fail, in percent (1)", "PERCENT"},
    {"missed", '\0', POPT_ARG_STRING, &settings.missed, 0,
     "how often runs at the limit may pass, in percent (5)", "PERCENT"},
    {"as-measured", '\0', POPT_ARG_NONE, &settings.as_measured, 0,
     "compare medians as they are, whatever the noise", NULL},
    {"junit", '\0', POPT_ARG_STRING, &settings.junit, 0, "also as JUnit's XML", "FILE"},
    {"markdown", '\0', POPT_ARG_STRING, &settings.markdown, 0, "also as Markdown", "FILE"},
    {"github", '\0', POPT_ARG_STRING, &settings.github, 0,
     "also as annotations of GitHub, at the line of the source that moved; /dev/stdout in a job",
     "FILE"},
    {"gitlab", '\0', POPT_ARG_STRING, &settings.gitlab, 0, "also as metrics of GitLab", "FILE"},
    {"badge", '\0', POPT_ARG_STRING, &settings.badge, 0, "also as a badge, an SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

struct wishes {
    struct lull_runs_options runs;
    struct lull_history_about about;
    struct lull_gate_options gate;
    struct lull_condition *conditions;
    uint32_t n_conditions;
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status read_conditions(struct wishes *wishes, struct lull_arena *arena,
                                   struct lull_error *err)
{
    while (settings.fail_if && settings.fail_if[wishes->n_conditions])
        wishes->n_conditions++;
    wishes->conditions =
        lull_arena_zero(arena, wishes->n_conditions + 1, sizeof(*wishes->conditions));
    for (uint32_t i = 0; i < wishes->n_conditions; i++) {
        lull_status status =
            lull_condition_read(settings.fail_if[i], arena, &wishes->conditions[i], err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "--fail-if");
        if (wishes->conditions[i].relative && !settings.against)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--fail-if: '%s' needs a baseline, which --against FILE tells",
                             settings.fail_if[i]);
    }
    return wishes->n_conditions
               ? LULL_OK
               : lull_fail(err, LULL_ERR_RANGE,
                           "expected at least one --fail-if, as 'runtime > 1.05 * baseline'");
}

static int read_settings(struct wishes *wishes, struct lull_arena *arena)
{
    struct lull_error err;
    wishes->gate = (struct lull_gate_options){
        .false_alarms = 0.01, .missed = 0.05, .as_measured = settings.as_measured};
    lull_status status = lull_history_settings_read(&shared, &wishes->runs, &wishes->about, &err);
    if (status == LULL_OK)
        status = read_conditions(wishes, arena, &err);
    if (status == LULL_OK)
        status = lull_option_percent("false-alarms", settings.false_alarms, 0.01, 20,
                                     &wishes->gate.false_alarms, &err);
    if (status == LULL_OK)
        status =
            lull_option_percent("missed", settings.missed, 0.01, 20, &wishes->gate.missed, &err);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_usage("%s", err.text);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* The series that the runs belong to; without --against one without runs. */
static lull_status read_series(const struct wishes *wishes, const struct lull_history_entry *runs,
                               uint32_t count, struct lull_arena *arena,
                               struct lull_history *ret_series, struct lull_error *err)
{
    struct lull_history history;
    *ret_series = (struct lull_history){.path = ""};
    lull_status status = LULL_OK;
    if (settings.against)
        status = lull_history_read(settings.against, arena, &history, err);
    if (status == LULL_OK && settings.against)
        status = lull_history_select(&history, &runs[0].key, wishes->about.commit, arena,
                                     ret_series, err);
    return status == LULL_OK ? lull_history_check(ret_series, runs, count, wishes->runs.force, err)
                             : status;
}

static void judge(const struct wishes *wishes, const struct lull_check_subject *subject,
                  struct lull_arena *arena, struct lull_gate *gate)
{
    lull_gate_judge(wishes->conditions, wishes->n_conditions, subject->runs, subject->n_runs,
                    subject->history, &wishes->gate, arena, gate);
}

/* What fails is run again, as often as before, and judged by all of its runs. */
static lull_status confirm(const struct wishes *wishes, struct lull_check_subject *subject,
                           struct lull_notices *notices, struct lull_arena *arena,
                           struct lull_gate *gate, struct lull_error *err)
{
    struct lull_history_entry *all, *again;
    const uint32_t before = subject->n_runs;
    lull_status status = lull_confirm_run(settings.confirm, before, &wishes->runs, &wishes->about,
                                          notices, arena, &again, &subject->n_confirming, err);
    if (status == LULL_OK)
        status = lull_history_check(subject->history, again, subject->n_confirming,
                                    wishes->runs.force, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "--confirm");
    subject->n_runs = before + subject->n_confirming;
    all = lull_arena_zero(arena, subject->n_runs, sizeof(*all));
    for (uint32_t i = 0; i < subject->n_runs; i++)
        all[i] = i < before ? subject->runs[i] : again[i - before];
    subject->runs = all;
    judge(wishes, subject, arena, gate);
    return LULL_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

struct form {
    const struct lull_checks_form *form;
    const struct lull_checks *checks;
};

static void write_form(const void *content, FILE *out)
{
    const struct form *form = content;
    form->form->write(form->checks, out);
}

static int write_forms(const struct lull_check_subject *subject, struct lull_arena *arena)
{
    const struct {
        const struct lull_checks_form *form;
        const char *path;
    } all[] = {{&lull_checks_junit, settings.junit},
               {&lull_checks_markdown, settings.markdown},
               {&lull_checks_github, settings.github},
               {&lull_checks_gitlab, settings.gitlab},
               {&lull_checks_badge, settings.badge}};
    const struct lull_checks *checks = lull_check_checks(subject, arena);
    int status = LULL_EXIT_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == LULL_EXIT_OK; i++)
        if (all[i].path)
            status = lull_output_save(all[i].path, write_form, &(struct form){all[i].form, checks});
    return status;
}

static int conclude(const struct lull_check_subject *subject, const struct lull_notices *notices,
                    struct lull_arena *arena)
{
    static const int statuses[] = {LULL_EXIT_OK, EXIT_FAILS, EXIT_UNKNOWN};
    int status = lull_output_write(&output, lull_check_document(subject, notices, arena));
    if (status == LULL_EXIT_OK)
        status = write_forms(subject, arena);
    return status == LULL_EXIT_OK ? statuses[subject->gate->verdict] : status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(poptContext context, struct lull_arena *arena)
{
    struct wishes wishes = {0};
    struct lull_notices notices = {.arena = arena};
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    struct lull_history_entry *runs;
    struct lull_history series;
    struct lull_gate gate;
    struct lull_error err;
    struct lull_check_subject subject = {.gate = &gate, .history = &series};
    uint32_t count;
    const char *const *paths = lull_operands(context, &count);
    lull_limits_raise_files();
    int usage = count ? read_settings(&wishes, arena) : lull_cli_usage("expected at least one RUN");
    if (usage != LULL_EXIT_OK)
        return usage;
    wishes.runs.progress = &shown;
    lull_status status = lull_history_measure(paths, count, &wishes.runs, &wishes.about, &notices,
                                              arena, &runs, &subject.n_runs, &err);
    if (status == LULL_OK)
        status = read_series(&wishes, runs, subject.n_runs, arena, &series, &err);
    subject.runs = runs;
    if (status == LULL_OK)
        judge(&wishes, &subject, arena, &gate);
    if (status == LULL_OK && settings.confirm && gate.verdict == LULL_GATE_FAIL)
        status = confirm(&wishes, &subject, &notices, arena, &gate, &err);
    lull_cli_warn_all(&notices);
    return status == LULL_OK ? conclude(&subject, &notices, arena) : lull_cli_fail("%s", err.text);
}

const struct lull_command lull_cmd_check = {
    .name = "check",
    .summary = "whether runs are worse than they may be; for continuous integration",
    .operands = "RUN...",
    .details =
        "Ends with 0 where all is well, 3 where a condition holds, 4 where the runs are too few\n"
        "or too noisy to tell; then it says how many more would do.\n"
        "METRIC is runtime, core_time or useful_time (of all threads), instructions, cycles,\n"
        "region:NAME, or one of `lull metrics` by the id that --format json shows.\n\n"
        "examples:\n"
        "  lull check run?.lull --against perf.jsonl --fail-if 'runtime > 1.05 * baseline'\n"
        "  lull check run.lull --fail-if 'parallel_efficiency < 0.8' --as-measured\n"
        "  lull check run?.lull --against perf.jsonl --fail-if 'region:solve > 1.1 * baseline' \\\n"
        "      --confirm 'lull record -o $LULL_RUN ./heat' --junit report.xml\n",
    .options = options,
    .output = &output,
    .run = run,
};
