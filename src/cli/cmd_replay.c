#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"
#include "cli/options/simulation_options.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "study/replay/replay_study.h"
#include "trace/convert.h"
#include "view/replay_document.h"

#include <stdlib.h>
#include <string.h>

static char not_said[] = "";

/* What the user typed. */
static struct {
    char *network, *machine, *cpu_speed, *balance, *scheme, *run;
    char **regions, **medians, **inject;
    char *threads[LULL_THREADS_CHANGES];
    char *seed, *against;
    int eager, no_noise, application, raw_names, force, whole;
} settings = {
    .application = 1, .balance = not_said, .threads = {not_said, not_said, not_said, not_said}};
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"network", 'n', POPT_ARG_STRING, &settings.network, 0,
     "what if the network were another: NAME:KEY=VALUE,..., or a JSON file; a value may be a "
     "sweep, "
     "FROM:TO:N",
     "SPEC"},
    {"machine", 'm', POPT_ARG_STRING, &settings.machine, 0,
     "what if the network were that of a machine file (lull bench)", "FILE"},
    {"cpu-speed", '\0', POPT_ARG_STRING, &settings.cpu_speed, 0,
     "what if the processors were X times as fast", "X"},
    {"region", '\0', POPT_ARG_ARGV, &settings.regions, 0,
     "what if the time in a region were multiplied by FACTOR; may be repeated", "NAME=FACTOR"},
    {"balance", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &settings.balance, 0,
     "what if all processes computed alike between collective operations (in a region only: "
     "--balance=NAME)",
     "NAME"},
    {"median", '\0', POPT_ARG_ARGV, &settings.medians, 0,
     "what if a rank (rank=N), all of a node (node=NAME) or everybody (all) computed no longer "
     "than "
     "the median of its peers between collective operations (in a region only: region=NAME or "
     "rank=N,region=NAME); may be repeated",
     "WHERE"},
    {"balance-threads", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &settings.threads[LULL_THREADS_BALANCED], 0,
     "what if threads computed alike from barrier to barrier (in one parallel region only: "
     "--balance-threads=NAME)",
     "NAME"},
    {"no-locks", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &settings.threads[LULL_THREADS_NO_LOCKS], 0,
     "what if no thread waited for locks, critical sections and its turn (in one parallel region "
     "only: --no-locks=NAME)",
     "NAME"},
    {"no-scheduling", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &settings.threads[LULL_THREADS_NO_SCHEDULING], 0,
     "what if to begin parallel regions and to get iterations in them took no time (one only: "
     "--no-scheduling=NAME)",
     "NAME"},
    {"no-serial", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &settings.threads[LULL_THREADS_NO_SERIAL], 0,
     "what if all threads of a process shared what it computes outside parallel regions (in a "
     "region only: --no-serial=NAME)",
     "NAME"},
    {"no-noise", '\0', POPT_ARG_NONE, &settings.no_noise, 0,
     "what if no computation took longer than the median of those at its place", NULL},
    {"eager", '\0', POPT_ARG_NONE, &settings.eager, 0, "what if no send waited for its receive",
     NULL},
    {"inject", '\0', POPT_ARG_ARGV, &settings.inject, 0,
     "what if lull record had disturbed the program with --inject SPEC; may be repeated", "SPEC"},
    {"seed", '\0', POPT_ARG_STRING, &settings.seed, 0, "of the noise that is injected (1)", "N"},
    {"against", '\0', POPT_ARG_STRING, &settings.against, 0,
     "print the prediction beside another recorded run, with its error; where nothing is supposed, "
     "it is what that run was disturbed with",
     "RUN"},
    {"output", 'o', POPT_ARG_STRING, &settings.run, 0,
     "write the simulated run, as a tape that other commands read", "RUN"},
    {"scheme", 's', POPT_ARG_STRING, &settings.scheme, 0,
     "how efficiencies are split (multiplicative for runs with one thread per process, otherwise "
     "additive)",
     "additive|multiplicative"},
    {"whole", '\0', POPT_ARG_NONE, &settings.whole, 0,
     "the whole run; without it, a run that lull recorded is replayed from the end of "
     "MPI_Init to the begin of MPI_Finalize",
     NULL},
    LULL_APPLICATION_OPTION(settings.application, "which program of a trace that holds several"),
    LULL_RAW_NAMES_OPTION(settings.raw_names),
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0,
     "replace RUN if it is there, and go on where the tracer disturbed the run too much", NULL},
    LULL_FORMAT_OPTION(output),
    LULL_COLOUR_OPTION(output),
    LULL_DIGITS_OPTION(output),
    POPT_TABLEEND,
};

/* ---- what was typed ------------------------------------------------------------------------ */

static int read_settings(struct lull_supposition *supposition, enum lull_scheme_choice *ret_scheme,
                         struct lull_arena *arena)
{
    static const char *const schemes[] = {"additive", "multiplicative", NULL};
    struct lull_what_if_options *what_if = &supposition->what_if;
    struct lull_error err;
    unsigned scheme;
    if (lull_option_word("scheme", settings.scheme, schemes, &scheme, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (settings.cpu_speed && !lull_factor_read(settings.cpu_speed, &supposition->cpu_speed))
        return lull_cli_usage("--cpu-speed is '%s', expected a number above 0", settings.cpu_speed);
    if (lull_what_if_regions_read(settings.regions, arena, what_if, &err) != LULL_OK)
        return lull_cli_usage("--region is %s", err.text);
    if (lull_what_if_cuts_read(settings.medians, arena, what_if, &err) != LULL_OK)
        return lull_cli_usage("--median is %s", err.text);
    *ret_scheme = (enum lull_scheme_choice)scheme;
    supposition->application = (uint32_t)settings.application - 1;
    supposition->force = settings.force;
    supposition->whole = settings.whole;
    supposition->raw_names = settings.raw_names;
    what_if->application = supposition->application;
    what_if->eager = settings.eager;
    what_if->no_noise = settings.no_noise;
    what_if->balance = settings.balance != not_said;
    what_if->balanced = what_if->balance ? settings.balance : NULL;
    for (uint8_t change = 0; change < LULL_THREADS_CHANGES; change++)
        if (settings.threads[change] != not_said)
            what_if->threads[what_if->n_threads++] =
                (struct lull_what_if_threads){change, settings.threads[change]};
    return LULL_EXIT_OK;
}

static int read_network(struct lull_supposition *supposition, struct lull_arena *arena)
{
    struct lull_error err;
    if (settings.machine && settings.network)
        return lull_cli_usage("--network and --machine exclude each other");
    if (settings.machine)
        return lull_replay_machine_read(settings.machine, arena, &supposition->machine, &err) ==
                       LULL_OK
                   ? LULL_EXIT_OK
                   : lull_cli_fail("%s", err.text);
    if (!settings.network)
        return LULL_EXIT_OK;
    lull_status status =
        lull_replay_networks_read(settings.network, arena, &supposition->networks, &err);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_usage("--network: %s", err.text);
}

static int read_disturbance(struct lull_supposition *supposition, struct lull_arena *arena)
{
    int status =
        lull_injection_read(settings.inject, settings.seed, arena, &supposition->disturbance);
    if (status != LULL_EXIT_OK)
        return status;
    if (supposition->disturbance && supposition->disturbance->has_network &&
        (supposition->networks || supposition->machine))
        return lull_cli_usage("--inject with a network, and --network or --machine, exclude each "
                              "other");
    if (settings.against && supposition->networks && supposition->networks->n_points > 1)
        return lull_cli_usage("--against compares one prediction, not those of a sweep");
    supposition->against = settings.against;
    return LULL_EXIT_OK;
}

/* ---- what is supposed, in words ------------------------------------------------------------- */

enum { OTHER_WORDS = 8 };

static uint32_t add_words(const char **words, uint32_t n, const char *option, const char *value)
{
    if (!value)
        return n;
    words[n] = option;
    words[n + 1] = value;
    return n + 2;
}

static const char *const *spell(const struct lull_supposition *supposition,
                                struct lull_arena *arena)
{
    const char **of_what_if;
    const uint32_t n_of_what_if = lull_what_if_spell(&supposition->what_if, arena, &of_what_if);
    uint32_t n_injected = 0, n = 0;
    while (settings.inject && settings.inject[n_injected])
        n_injected++;
    const char **words = lull_arena_zero(
        arena, n_of_what_if + 2 * (size_t)n_injected + OTHER_WORDS + 1, sizeof *words);
    n = add_words(words, n, "--network", settings.network);
    n = add_words(words, n, "--machine", settings.machine);
    n = add_words(words, n, "--cpu-speed", settings.cpu_speed);
    for (uint32_t i = 0; i < n_of_what_if; i++)
        words[n++] = of_what_if[i];
    for (uint32_t i = 0; i < n_injected; i++)
        n = add_words(words, n, "--inject", settings.inject[i]);
    add_words(words, n, "--seed", n_injected ? settings.seed : NULL);
    return words;
}

/* ---- the command --------------------------------------------------------------------------- */

/* The last run: what if, where something was supposed. */
static int write_run(const struct lull_runs *runs)
{
    struct lull_error err;
    if (!settings.run)
        return LULL_EXIT_OK;
    lull_interrupt_clean_up();
    struct lull_progress progress;
    lull_progress_begin(&progress, settings.run);
    lull_status status =
        lull_convert(runs->runs[runs->count - 1].trace, settings.run, &lull_format_tape,
                     settings.force, lull_progress_update, &progress, &err);
    lull_progress_end(&progress);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", err.text);
}

static int replay(const char *path, struct lull_arena *arena)
{
    struct lull_supposition supposition = {0};
    enum lull_scheme_choice scheme;
    int status = read_settings(&supposition, &scheme, arena);
    if (status == LULL_EXIT_OK)
        status = read_network(&supposition, arena);
    if (status == LULL_EXIT_OK)
        status = read_disturbance(&supposition, arena);
    if (status != LULL_EXIT_OK)
        return status;
    supposition.words = spell(&supposition, arena);
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    struct lull_notices notices = {.arena = arena};
    struct lull_replay_study study;
    struct lull_error err;
    lull_status done =
        lull_replay_study_make(path, &supposition, &shown, &notices, arena, &study, &err);
    lull_cli_warn_all(&notices);
    status = done == LULL_OK ? write_run(&study.runs) : lull_cli_fail("%s", err.text);
    if (status == LULL_EXIT_OK)
        status = lull_output_write(&output, lull_replay_document(&study, scheme, &notices, arena));
    lull_replay_study_close(&study);
    return status;
}

static int run(poptContext context, struct lull_arena *arena)
{
    uint32_t count;
    const char *const *paths = lull_operands(context, &count);
    lull_limits_raise_files();
    return count == 1 ? replay(paths[0], arena) : lull_cli_usage("expected one RUN");
}

const struct lull_command lull_cmd_replay = {
    .name = "replay",
    .summary = "what a measured run would take if something were different",
    .operands = "RUN",
    .details = "The run is replayed on the network that its messages show, which tells how far a\n"
               "replay can be believed, and then with what is asked for.\n\n"
               "examples:\n"
               "  lull replay traces.otf2 --network ideal\n"
               "  lull replay run.tape --network hockney:latency=1us,bandwidth=1e8:1e10:5\n"
               "  lull replay run.tape --balance --cpu-speed 2 -o balanced.tape\n"
               "  lull replay run.tape --median rank=7,region=solve\n",
    .options = options,
    .output = &output,
    .run = run,
};
