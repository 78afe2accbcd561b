/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull replay`: what a measured run would take if something were different. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/replay/replay_study.h"
#include "trace/convert.h"
#include "view/replay_document.h"

static char not_said[] = "";

/* What the user typed. */
static struct lull_supposition_texts replay_texts;
static struct {
    char *balance, *scheme, *run;
    char *threads[LULL_THREADS_CHANGES];
    char *device_speed, **kernels;
    char *against, *window;
    int no_launch_latency, submit_ahead, launch_graph, no_copies, overlap_copies, balance_devices;
    int eager, no_noise, application, raw_names, force, whole;
} replay_settings = {
    .application = 1, .balance = not_said, .threads = {not_said, not_said, not_said, not_said}};
static struct lull_output_settings replay_output;

static const struct poptOption replay_options[] = {
    {"network", 'n', POPT_ARG_STRING, &replay_texts.network, 0,
     "what if the network were another: NAME:KEY=VALUE,..., or a JSON file; a value may be a "
     "sweep, "
     "FROM:TO:N",
     "SPEC"},
    {"machine", 'm', POPT_ARG_STRING, &replay_texts.machine, 0,
     "what if the network were that of a machine file (lull bench)", "FILE"},
    {"cpu-speed", '\0', POPT_ARG_STRING, &replay_texts.cpu_speed, 0,
     "what if the processors were X times as fast", "X"},
    {"region", '\0', POPT_ARG_ARGV, &replay_texts.regions, 0,
     "what if the time in a region were multiplied by FACTOR; may be repeated", "NAME=FACTOR"},
    {"balance", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &replay_settings.balance, 0,
     "what if all processes computed alike between collective operations (in a region only: "
     "--balance=NAME)",
     "NAME"},
    {"median", '\0', POPT_ARG_ARGV, &replay_texts.medians, 0,
     "what if a rank (rank=N), all of a node (node=NAME) or everybody (all) computed no longer "
     "than "
     "the median of its peers between collective operations (in a region only: region=NAME or "
     "rank=N,region=NAME), or lost a share of what it took longer (rank=N,share=S); may be "
     "repeated",
     "WHERE"},
    {"balance-threads", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &replay_settings.threads[LULL_THREADS_BALANCED], 0,
     "what if threads computed alike from barrier to barrier (in one parallel region only: "
     "--balance-threads=NAME)",
     "NAME"},
    {"no-locks", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &replay_settings.threads[LULL_THREADS_NO_LOCKS], 0,
     "what if no thread waited for locks, critical sections and its turn (in one parallel region "
     "only: --no-locks=NAME)",
     "NAME"},
    {"no-scheduling", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &replay_settings.threads[LULL_THREADS_NO_SCHEDULING], 0,
     "what if to begin parallel regions and to get iterations in them took no time (one only: "
     "--no-scheduling=NAME)",
     "NAME"},
    {"no-serial", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
     &replay_settings.threads[LULL_THREADS_NO_SERIAL], 0,
     "what if all threads of a process shared what it computes outside parallel regions (in a "
     "region only: --no-serial=NAME)",
     "NAME"},
    {"no-noise", '\0', POPT_ARG_NONE, &replay_settings.no_noise, 0,
     "what if no computation took longer than the median of those at its place", NULL},
    {"eager", '\0', POPT_ARG_NONE, &replay_settings.eager, 0,
     "what if no send waited for its receive", NULL},
    {"kernel", '\0', POPT_ARG_ARGV, &replay_settings.kernels, 0,
     "what if a kernel of devices took FACTOR of its time; may be repeated", "NAME*FACTOR"},
    {"device-speed", '\0', POPT_ARG_STRING, &replay_settings.device_speed, 0,
     "what if all kernels were X times as fast", "X"},
    {"no-copies", '\0', POPT_ARG_NONE, &replay_settings.no_copies, 0,
     "what if copies and fills of devices took no time", NULL},
    {"overlap-copies", '\0', POPT_ARG_NONE, &replay_settings.overlap_copies, 0,
     "what if copies and fills ran beside the other operations of their stream", NULL},
    {"no-launch-latency", '\0', POPT_ARG_NONE, &replay_settings.no_launch_latency, 0,
     "what if operations of devices could begin when the call that submits them does", NULL},
    {"submit-ahead", '\0', POPT_ARG_NONE, &replay_settings.submit_ahead, 0,
     "what if operations of devices had been submitted long before they could begin", NULL},
    {"launch-graph", '\0', POPT_ARG_NONE, &replay_settings.launch_graph, 0,
     "what if one call submitted each sequence of operations that a thread submits again", NULL},
    {"balance-devices", '\0', POPT_ARG_NONE, &replay_settings.balance_devices, 0,
     "what if all devices had kernels for as long as on average", NULL},
    {"inject", '\0', POPT_ARG_ARGV, &replay_texts.inject, 0,
     "what if lull record had disturbed the program with --inject SPEC; may be repeated", "SPEC"},
    {"seed", '\0', POPT_ARG_STRING, &replay_texts.seed, 0, "of the noise that is injected (1)",
     "N"},
    {"against", '\0', POPT_ARG_STRING, &replay_settings.against, 0,
     "print the prediction beside another recorded run, with its error; where nothing is supposed, "
     "it is what that run was disturbed with",
     "RUN"},
    {"output", 'o', POPT_ARG_STRING, &replay_settings.run, 0,
     "write the simulated run, as a tape that other commands read", "RUN"},
    {"scheme", 's', POPT_ARG_STRING, &replay_settings.scheme, 0,
     "how efficiencies are split (multiplicative for runs with one thread per process, otherwise "
     "additive)",
     "additive|multiplicative"},
    {"window", 'w', POPT_ARG_STRING, &replay_settings.window, 0,
     "only the time between FROM and TO, as in 200ms:1.5s; without unit: seconds; either may be "
     "left out",
     "FROM:TO"},
    {"whole", '\0', POPT_ARG_NONE, &replay_settings.whole, 0,
     "the whole run; without it, or a window, a run that lull recorded is replayed from the end of "
     "MPI_Init to the begin of MPI_Finalize",
     NULL},
    LULL_APPLICATION_OPTION(replay_settings.application,
                            "which program of a trace that holds several"),
    LULL_RAW_NAMES_OPTION(replay_settings.raw_names),
    {"force", '\0', POPT_ARG_NONE, &replay_settings.force, 0,
     "replace RUN if it is there, and go on where the tracer disturbed the run too much", NULL},
    LULL_FORMAT_OPTION(replay_output),
    LULL_COLOUR_OPTION(replay_output),
    LULL_DIGITS_OPTION(replay_output),
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status read_what_if(struct lull_what_if_options *what_if, struct lull_cli_call *call)
{
    static const char *const options[] = {
        [LULL_THREADS_BALANCED] = "--balance-threads",
        [LULL_THREADS_NO_LOCKS] = "--no-locks",
        [LULL_THREADS_NO_SCHEDULING] = "--no-scheduling",
        [LULL_THREADS_NO_SERIAL] = "--no-serial",
    };
    struct lull_what_if_devices *devices = &what_if->devices;
    devices->no_latency = replay_settings.no_launch_latency;
    devices->ahead = replay_settings.submit_ahead;
    devices->no_copies = replay_settings.no_copies;
    devices->overlap = replay_settings.overlap_copies;
    devices->graphs = replay_settings.launch_graph;
    devices->balance = replay_settings.balance_devices;
    lull_status status =
        lull_what_if_kernels_read(replay_settings.kernels, call->arena, devices, &call->err);
    if (status == LULL_OK && replay_settings.device_speed &&
        !lull_factor_read(replay_settings.device_speed, &devices->speed))
        status = lull_fail(&call->err, LULL_ERR_RANGE,
                           "--device-speed is '%s', expected a number above 0",
                           replay_settings.device_speed);
    if (status != LULL_OK)
        return status;
    what_if->application = (uint32_t)replay_settings.application - 1;
    what_if->eager = replay_settings.eager;
    what_if->no_noise = replay_settings.no_noise;
    what_if->balance = replay_settings.balance != not_said;
    if (what_if->balance)
        status = lull_what_if_extent_read(replay_settings.balance, "--balance", call->arena,
                                          &what_if->balanced, &what_if->balance_share, &call->err);
    for (uint8_t change = 0; change < LULL_THREADS_CHANGES && status == LULL_OK; change++) {
        if (replay_settings.threads[change] == not_said)
            continue;
        struct lull_what_if_threads *threads = &what_if->threads[what_if->n_threads++];
        threads->change = change;
        status =
            lull_what_if_extent_read(replay_settings.threads[change], options[change], call->arena,
                                     &threads->region, &threads->share, &call->err);
    }
    return status;
}

static lull_status read_replay_window(struct lull_supposition *supposition,
                                      struct lull_cli_call *call)
{
    struct lull_runs_options part = {0};
    lull_status status =
        replay_settings.window
            ? lull_runs_window_read(replay_settings.window, call->arena, &part, &call->err)
            : LULL_OK;
    supposition->has_window = part.has_window;
    supposition->from = part.from;
    supposition->to = part.to;
    return status;
}

static lull_status read_replay_settings(struct lull_supposition *supposition,
                                        enum lull_scheme_choice *ret_scheme,
                                        struct lull_cli_call *call)
{
    static const char *const schemes[] = {"additive", "multiplicative", NULL};
    unsigned scheme;
    lull_status status =
        lull_option_word("scheme", replay_settings.scheme, schemes, &scheme, &call->err);
    *ret_scheme = (enum lull_scheme_choice)scheme;
    supposition->team = call->team;
    supposition->application = (uint32_t)replay_settings.application - 1;
    supposition->force = replay_settings.force;
    supposition->whole = replay_settings.whole;
    supposition->raw_names = replay_settings.raw_names;
    supposition->against = replay_settings.against;
    supposition->whole_run = replay_settings.run != NULL;
    if (status == LULL_OK)
        status = read_what_if(&supposition->what_if, call);
    if (status == LULL_OK)
        status = read_replay_window(supposition, call);
    if (status == LULL_OK)
        status = lull_injection_read(replay_texts.inject, replay_texts.seed, call,
                                     &supposition->disturbance);
    return status == LULL_OK
               ? lull_supposition_read(&replay_texts, call->arena, supposition, &call->err)
               : status;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The last run: what if, where something was supposed. */
static int write_run(const struct lull_runs *runs, struct lull_cli_call *call)
{
    if (!replay_settings.run)
        return LULL_EXIT_OK;
    lull_interrupt_clean_up();
    lull_progress_begin(&call->line, replay_settings.run);
    lull_status status =
        lull_convert(runs->runs[runs->count - 1].trace, replay_settings.run, &lull_format_tape,
                     replay_settings.force, lull_progress_update, &call->line, &call->err);
    lull_progress_end(&call->line);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", call->err.text);
}

static int show_replay(const struct lull_replay_study *study, enum lull_scheme_choice scheme,
                       struct lull_cli_call *call)
{
    const struct lull_run *measured = &study->runs.runs[0];
    if (measured->reading->division) {
        lull_cli_tell_division(call, measured->reading->division, measured->trace);
        if (study->unshared)
            lull_cli_tell_unshared(call, "replaying");
    }
    int status = write_run(&study->runs, call);
    return status == LULL_EXIT_OK
               ? lull_output_write(&replay_output,
                                   lull_replay_document(study, scheme, &call->notices, call->arena))
               : status;
}

static int run_replay(struct lull_cli_call *call)
{
    struct lull_supposition supposition = {0};
    enum lull_scheme_choice scheme;
    struct lull_replay_study study;
    lull_limits_raise_files();
    if (call->n_operands != 1)
        return lull_cli_usage("expected one RUN");
    int status = lull_cli_read(call, read_replay_settings(&supposition, &scheme, call));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(call,
                           lull_replay_study_make(call->operands[0], &supposition, &call->progress,
                                                  &call->notices, call->arena, &study, &call->err));
    if (status == LULL_EXIT_OK && lull_team_is_first(call->team))
        status = show_replay(&study, scheme, call);
    lull_replay_study_close(&study);
    return status;
}

const struct lull_command lull_cmd_replay = {
    .name = "replay",
    .summary = "what a measured run would take if something were different",
    .operands = "RUN",
    .details =
        "The run is replayed on the network that its messages show, which tells how far a\n"
        "replay can be believed, and then with what is asked for.\n\n"
        "--balance, --balance-threads, --no-locks, --no-scheduling and --no-serial also take\n"
        "share=S or share=S,region=NAME: then a share S of what is lost is gone.\n\n"
        "examples:\n"
        "  lull replay traces.otf2 --network ideal\n"
        "  lull replay run.tape --network hockney:latency=1us,bandwidth=1e8:1e10:5\n"
        "  lull replay run.tape --balance --cpu-speed 2 -o balanced.tape\n"
        "  lull replay run.tape --median rank=7,region=solve\n"
        "  lull replay run.tape --no-serial=share=0.6\n",
    .options = replay_options,
    .output = &replay_output,
    .under_mpirun = LULL_WORKS_AS_TEAM,
    .run = run_replay,
};
