#include "base/text.h"
#include "cli/command.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "cli/metrics_json.h"
#include "cli/metrics_tables.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "cli/study.h"

#include <stdlib.h>
#include <string.h>

/* What the user typed. */
static struct {
    char *scheme, *variant, *reference, *scaling, *region, *window, *by;
    int counters, raw, application, force, threads, no_replay;
} settings = {.application = 1};
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"scheme", 's', POPT_ARG_STRING, &settings.scheme, 0,
     "how efficiencies are split: their losses add up, or they multiply (multiplicative for runs "
     "with one thread per process, otherwise additive)",
     "additive|multiplicative|all"},
    {"variant", '\0', POPT_ARG_STRING, &settings.variant, 0,
     "of the multiplicative scheme for hybrid runs (bsc)", "bsc|nag"},
    {"reference", 'r', POPT_ARG_STRING, &settings.reference, 0,
     "the run that the others are compared with (that with the fewest threads)", "RUN"},
    {"scaling", '\0', POPT_ARG_STRING, &settings.scaling, 0,
     "how the problem grows with the threads: not, in proportion, or guess (strong)",
     "strong|weak|auto"},
    {"region", '\0', POPT_ARG_STRING, &settings.region, 0,
     "only the time each process spends in the region NAME", "NAME"},
    {"window", 'w', POPT_ARG_STRING, &settings.window, 0,
     "only the time between FROM and TO, as in 200ms:1.5s; without unit: seconds; either may be "
     "left out",
     "FROM:TO"},
    {"application", '\0', POPT_ARG_INT, &settings.application, 0,
     "which program of a trace that holds several (1)", "N"},
    {"by", 'b', POPT_ARG_STRING, &settings.by, 0, "add a table of the parts of each run",
     "region|callsite|process|thread"},
    {"raw", '\0', POPT_ARG_NONE, &settings.raw, 0, "add the times behind the efficiencies", NULL},
    {"counters", 'c', POPT_ARG_NONE, &settings.counters, 0, "add all hardware counters", NULL},
    {"digits", '\0', POPT_ARG_INT, &output.digits, 0, "decimals of efficiencies in text (2)", "N"},
    {"no-replay", '\0', POPT_ARG_NONE, &settings.no_replay, 0,
     "do not replay the run on an ideal network, which transfer and serialisation need", NULL},
    {"threads", 'j', POPT_ARG_INT, &settings.threads, 0, "threads to read with (all processors)",
     "N"},
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0,
     "go on where the tracer disturbed the run too much, or where runs seem not to be of one "
     "program",
     NULL},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

static bool one_of(const char *value, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(value, *words) == 0)
            return true;
    return false;
}

static int check_words(void)
{
    static const struct {
        char **value;
        const char *option, *expected;
        const char *words[5];
    } checks[] = {
        {&settings.scheme,
         "scheme",
         "additive, multiplicative or all",
         {"additive", "multiplicative", "all"}},
        {&settings.variant, "variant", "bsc or nag", {"bsc", "nag"}},
        {&settings.scaling, "scaling", "strong, weak or auto", {"strong", "weak", "auto"}},
        {&settings.by,
         "by",
         "region, callsite, process or thread",
         {"region", "callsite", "process", "thread"}},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (*checks[i].value && !one_of(*checks[i].value, checks[i].words))
            return lull_cli_usage("--%s is '%s', expected %s", checks[i].option, *checks[i].value,
                                  checks[i].expected);
    if (settings.threads < 0 || settings.threads > 1024)
        return lull_cli_usage("--threads is %d, expected 1 to 1024", settings.threads);
    if (settings.application < 1)
        return lull_cli_usage("--application is %d, expected 1 or more", settings.application);
    return lull_output_check(&output);
}

/* One end of the window; an empty text keeps what is there. */
static int parse_end(const char *text, int64_t *value)
{
    struct lull_error err;
    if (*text && lull_parse_time(text, 1e9, value, &err) != LULL_OK)
        return lull_cli_usage("--window: %s", err.text);
    return LULL_EXIT_OK;
}

static int parse_window(struct lull_arena *arena, struct lull_runs_options *wanted)
{
    if (!settings.window)
        return LULL_EXIT_OK;
    const char *colon = strchr(settings.window, ':');
    if (!colon)
        return lull_cli_usage("--window is '%s', expected FROM:TO as in 1.5s:3s", settings.window);
    *wanted = (struct lull_runs_options){.has_window = true, .from = 0, .to = INT64_MAX};
    const char *from =
        lull_arena_strndup(arena, settings.window, (size_t)(colon - settings.window));
    int status = parse_end(from, &wanted->from);
    if (status == LULL_EXIT_OK)
        status = parse_end(colon + 1, &wanted->to);
    if (status == LULL_EXIT_OK && wanted->from >= wanted->to)
        status = lull_cli_usage("--window '%s' ends before it begins", settings.window);
    return status;
}

static bool is(const char *value, const char *word)
{
    return value && strcmp(value, word) == 0;
}

static bool any_run(const struct lull_runs *runs, bool (*has)(const struct lull_run *run))
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (has(&runs->runs[i]))
            return true;
    return false;
}

static bool is_hybrid(const struct lull_run *run)
{
    return lull_pop_is_hybrid(run->input);
}

static bool has_devices(const struct lull_run *run)
{
    return run->input->n_devices > 0;
}

static void add_schemes(struct lull_document *document, const struct lull_runs *runs,
                        struct lull_arena *arena)
{
    bool hybrid = any_run(runs, is_hybrid);
    bool all = is(settings.scheme, "all");
    bool additive = all || (settings.scheme ? is(settings.scheme, "additive") : hybrid);
    bool multiplicative = all || !additive;
    enum lull_scheme sums = hybrid ? LULL_SCHEME_ADDITIVE : LULL_SCHEME_MPI_ADDITIVE;
    enum lull_scheme products = !hybrid                       ? LULL_SCHEME_MPI_MULTIPLICATIVE
                                : is(settings.variant, "nag") ? LULL_SCHEME_MULTIPLICATIVE_NAG
                                                              : LULL_SCHEME_MULTIPLICATIVE;
    if (additive)
        lull_table_of_scheme(document, runs, sums, arena);
    if (multiplicative)
        lull_table_of_scheme(document, runs, products, arena);
    if (any_run(runs, has_devices))
        lull_table_of_scheme(document, runs, LULL_SCHEME_DEVICE, arena);
    lull_note_of_loss(document, runs, additive ? sums : products, arena);
    if (multiplicative && products == LULL_SCHEME_MULTIPLICATIVE)
        lull_document_note(document, LULL_NOTE_INFO,
                           "The parallel efficiency is split twice: it is load balance x "
                           "communication efficiency, and also MPI x outside x OpenMP.");
    if (!settings.scheme)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Scheme: %s is usual for %s; --scheme %s or all shows the other.",
                           additive ? "additive" : "multiplicative",
                           hybrid ? "runs with OpenMP or several threads"
                                  : "runs with one thread per process",
                           additive ? "multiplicative" : "additive");
}

static void add_parts(struct lull_document *document, const struct lull_runs *runs,
                      struct lull_arena *arena)
{
    static const struct {
        const char *word;
        void (*add)(struct lull_document *document, const struct lull_runs *runs,
                    struct lull_arena *arena);
    } parts[] = {{"region", lull_tables_by_region},
                 {"callsite", lull_tables_by_callsite},
                 {"process", lull_tables_by_process},
                 {"thread", lull_tables_by_thread}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (is(settings.by, parts[i].word))
            parts[i].add(document, runs, arena);
}

/* From the runs, which are read, to the document. */
static int compare(struct lull_runs *runs, struct lull_document *document, struct lull_arena *arena)
{
    int status = lull_study_reference(runs, settings.reference, arena);
    if (status == LULL_EXIT_OK)
        status = lull_study_check(runs, settings.force, document, arena);
    if (status != LULL_EXIT_OK)
        return status;
    lull_study_scaling(runs, settings.scaling, document);
    status = lull_study_compute(runs, arena);
    if (status != LULL_EXIT_OK)
        return status;
    if (runs->count > 1)
        lull_document_note(document, LULL_NOTE_INFO, "Reference: %s%s.",
                           runs->runs[runs->reference].name,
                           settings.reference ? "" : ", the run with the fewest threads");
    add_schemes(document, runs, arena);
    if (settings.raw) {
        lull_table_of_times(document, runs, arena);
        lull_table_of_activities(document, runs, arena);
    }
    if (settings.counters)
        lull_table_of_counters(document, runs, arena);
    add_parts(document, runs, arena);
    return LULL_EXIT_OK;
}

static int report(const char *const *paths, uint32_t count, struct lull_arena *arena)
{
    struct lull_runs_options wanted = {0};
    int status = parse_window(arena, &wanted);
    if (status != LULL_EXIT_OK)
        return status;
    wanted.application = (uint32_t)settings.application - 1;
    wanted.region = settings.region;
    wanted.regions = is(settings.by, "region") || is(settings.by, "callsite");
    wanted.force = settings.force;
    wanted.no_replay = settings.no_replay;
    wanted.workers = (unsigned)settings.threads;
    struct lull_document *document = lull_document_create(arena, "lull-metrics/1", "");
    struct lull_runs runs;
    status = lull_runs_load(paths, count, &wanted, document, arena, &runs);
    if (status == LULL_EXIT_OK)
        status = compare(&runs, document, arena);
    if (status == LULL_EXIT_OK) {
        struct lull_metrics_settings said = {&runs, settings.region, settings.window};
        lull_metrics_attach(document, &said);
        status = lull_output_write(&output, document);
    }
    lull_runs_close(&runs);
    return status;
}

static int run(poptContext context)
{
    lull_limits_raise_files();
    const char **paths = poptGetArgs(context);
    uint32_t count = 0;
    while (paths && paths[count])
        count++;
    if (!count)
        return lull_cli_usage("expected at least one RUN");
    int status = check_words();
    if (status != LULL_EXIT_OK)
        return status;
    struct lull_arena *arena = lull_cli_arena();
    status = report(paths, count, arena);
    lull_arena_destroy(arena);
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
    .options = options,
    .run = run,
};
