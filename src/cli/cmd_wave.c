/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull wave`: idle waves, predicted, simulated and found in runs. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/join.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/wave/wave_study.h"
#include "view/simulation_document.h"
#include "view/wave_document.h"

enum { MOST_REPEATS = 10000 };

/* What the user typed. */
static struct {
    struct lull_simulation_settings simulation;
    char *run, *least, *marker, *repeat, *chart, *amplitude;
    int list, threads, application, no_replay, force;
} wave_settings = {.application = 1};
static struct lull_output_settings wave_output;

static const struct poptOption wave_options[] = {
    LULL_PATTERN_OPTION(wave_settings.simulation, "simulate a pattern instead of reading a run"),
    LULL_DELAY_OPTION(wave_settings.simulation),
    LULL_NOISE_OPTION(wave_settings.simulation),
    LULL_NETWORK_OPTION(wave_settings.simulation, "hockney"),
    LULL_MACHINE_OPTION(wave_settings.simulation),
    LULL_PLACEMENT_OPTION(wave_settings.simulation),
    LULL_MEMORY_OPTION(wave_settings.simulation),
    LULL_SEED_OPTION(wave_settings.simulation),
    {"repeat", 'r', POPT_ARG_STRING, &wave_settings.repeat, 0,
     "simulate N times with successive seeds, and give means with intervals (1)", "N"},
    {"output", 'o', POPT_ARG_STRING, &wave_settings.run, 0, "write the simulated run as a trace",
     "RUN"},
    {"least", '\0', POPT_ARG_STRING, &wave_settings.least, 0,
     "the shortest delay that counts (one iteration)", "TIME"},
    {"iterations", '\0', POPT_ARG_STRING, &wave_settings.marker, 0,
     "of a RUN: each event of this marker begins an iteration, such as 'iteration' for "
     "lull_iteration (found in the messages)",
     "MARKER"},
    {"no-replay", '\0', POPT_ARG_NONE, &wave_settings.no_replay, 0,
     "of a RUN: do not replay it, which tells what waves cost", NULL},
    {"chart", '\0', POPT_ARG_STRING, &wave_settings.chart, 0,
     "draw ranks over time with the waves as SVG", "FILE"},
    {"amplitude", '\0', POPT_ARG_STRING, &wave_settings.amplitude, 0,
     "draw how long ranks were idle over their distance as SVG", "FILE"},
    LULL_APPLICATION_OPTION(wave_settings.application, "of a RUN: which program of the trace"),
    {"force", '\0', POPT_ARG_NONE, &wave_settings.force, 0,
     "go on where the tracer disturbed a run too much", NULL},
    LULL_SPECS_OPTION(wave_settings.list, 'l'),
    LULL_THREADS_OPTION(wave_settings.threads, "simulations at the same time"),
    LULL_FORMAT_OPTION(wave_output),
    LULL_COLOUR_OPTION(wave_output),
    POPT_TABLEEND,
};

/* ---- what was typed --------------------------------------------------------------------------*/

static lull_status read_least(struct lull_wave_options *wanted, struct lull_error *err)
{
    return lull_option_time("least", wave_settings.least, 1, "a time above 0", &wanted->least, err);
}

static lull_status read_inputs(struct lull_wave_inputs *inputs, struct lull_cli_call *call)
{
    uint64_t repeat = 1;
    if (wave_settings.marker || wave_settings.no_replay)
        return lull_fail(&call->err, LULL_ERR_RANGE, "--iterations and --no-replay are for a RUN");
    inputs->simulate.tape = wave_settings.run;
    inputs->simulate.out_of_memory = lull_cli_out_of_memory;
    lull_status status =
        lull_option_number("repeat", wave_settings.repeat, 1, MOST_REPEATS, &repeat, &call->err);
    inputs->repeat = (uint32_t)repeat;
    if (status == LULL_OK)
        status = read_least(&inputs->options, &call->err);
    if (status == LULL_OK)
        status =
            lull_simulation_read(&wave_settings.simulation, "hockney", call, &inputs->simulate);
    const char *single =
        lull_option_said(wave_options, LULL_OPTION_NAMES("output", "chart", "amplitude"));
    if (status == LULL_OK && inputs->simulate.sweep->n_axes > 0 && single)
        return lull_fail(&call->err, LULL_ERR_RANGE, "--%s is for one simulation, not for a sweep",
                         single);
    return status;
}

static lull_status read_run_options(struct lull_wave_run_options *wanted,
                                    struct lull_cli_call *call)
{
    *wanted = (struct lull_wave_run_options){.marker = wave_settings.marker,
                                             .force = wave_settings.force,
                                             .no_replay = wave_settings.no_replay,
                                             .application = (uint32_t)wave_settings.application - 1,
                                             .team = call->team,
                                             .progress = &call->progress};
    const char *said = lull_option_said(
        wave_options, LULL_OPTION_NAMES("delay", "noise", "network", "machine", "placement",
                                        "memory", "seed", "repeat", "output"));
    lull_status status = read_least(&wanted->options, &call->err);
    if (status == LULL_OK && said)
        return lull_fail(&call->err, LULL_ERR_RANGE, "--%s is for --pattern, not for a RUN", said);
    return status;
}

/* ---- charts ----------------------------------------------------------------------------------*/

static int save_charts(const struct lull_wave_scene *scene,
                       const struct lull_wave_prediction *predicted, struct lull_arena *arena)
{
    int status = LULL_EXIT_OK;
    if (wave_settings.chart)
        status = lull_output_chart(wave_settings.chart, lull_wave_chart(scene, arena));
    if (wave_settings.amplitude && status == LULL_EXIT_OK)
        status = lull_output_chart(wave_settings.amplitude,
                                   lull_wave_amplitude_chart(scene, predicted, arena));
    return status;
}

/* ---- running ---------------------------------------------------------------------------------*/

/* The first case that failed, whatever thread it ran on. */
static int tell_failed_cases(const struct lull_wave_case *cases, uint64_t count)
{
    for (uint64_t c = 0; c < count; c++)
        if (cases[c].status != LULL_OK)
            return cases[c].usage ? lull_cli_usage("%s", cases[c].err.text)
                                  : lull_cli_fail("%s", cases[c].err.text);
    return LULL_EXIT_OK;
}

static int simulate_waves(struct lull_cli_call *call)
{
    struct lull_wave_inputs inputs = {.repeat = 1};
    int status = lull_cli_read(call, read_inputs(&inputs, call));
    if (status != LULL_EXIT_OK)
        return status;
    uint64_t points = inputs.simulate.sweep->n_points;
    struct lull_wave_case *cases = lull_arena_zero(call->arena, points, sizeof *cases);
    lull_wave_simulate(&inputs, cases, (unsigned)wave_settings.threads, call->arena);
    status = tell_failed_cases(cases, points);
    if (status == LULL_EXIT_OK)
        status = lull_output_write(&wave_output,
                                   inputs.simulate.sweep->n_axes > 0
                                       ? lull_wave_sweep_document(&inputs, cases, call->arena)
                                       : lull_wave_case_document(&inputs, cases, call->arena));
    if (status == LULL_EXIT_OK && (wave_settings.chart || wave_settings.amplitude))
        status = cases->collective_only
                     ? lull_cli_fail("%s: there is nothing to draw: its ranks exchange messages in "
                                     "collective operations only",
                                     wave_settings.simulation.specs[LULL_SIMULATE_PATTERN])
                     : save_charts(&cases->scene, &cases->predicted, call->arena);
    lull_wave_cases_release(&inputs, cases);
    return status;
}

static int show_waves(const char *path, const struct lull_wave_run *run, struct lull_cli_call *call)
{
    lull_cli_tell_division(call, run->division, lull_wave_run_trace(run));
    if (run->replays && !run->shared)
        lull_cli_tell_unshared(call, "replaying");
    int status = lull_output_write(&wave_output,
                                   lull_wave_run_document(path, run, &call->notices, call->arena));
    return status == LULL_EXIT_OK ? save_charts(&run->measured, run->predicted, call->arena)
                                  : status;
}

static int analyse(const char *path, struct lull_cli_call *call)
{
    struct lull_wave_run_options wanted;
    struct lull_wave_run run;
    int status = lull_cli_read(call, read_run_options(&wanted, call));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(
        call, lull_wave_run_make(path, &wanted, &call->notices, call->arena, &run, &call->err));
    if (status == LULL_EXIT_OK && lull_team_is_first(call->team))
        status = show_waves(path, &run, call);
    lull_wave_run_close(&run);
    return status;
}

static int run_wave(struct lull_cli_call *call)
{
    const char *path;
    lull_limits_raise_files();
    int status = lull_cli_operand(call, "RUN", &path);
    if (status != LULL_EXIT_OK)
        return status;
    if (!wave_settings.list && !path == !wave_settings.simulation.specs[LULL_SIMULATE_PATTERN])
        return lull_cli_usage("expected a RUN or --pattern%s", path ? ", not both" : "");
    if ((wave_settings.list || !path) && lull_cli_leaves_work_to_one(call))
        return LULL_EXIT_OK;
    if (wave_settings.list)
        return lull_output_write(&wave_output, lull_simulate_list(call->arena));
    lull_interrupt_clean_up();
    return path ? analyse(path, call) : simulate_waves(call);
}

const struct lull_command lull_cmd_wave = {
    .name = "wave",
    .summary = "idle waves: predicted, simulated and found in runs",
    .operands = "[RUN]",
    .details = "A SPEC is NAME:KEY=VALUE,KEY=VALUE or a JSON file with the same keys; lists are\n"
               "joined with '+', FROM:TO:N[:log] and A/B/C give one row per value.\n\n"
               "examples:\n"
               "  lull wave --pattern chain:ranks=64 --delay 31@i10:20ms --chart wave.svg\n"
               "  lull wave --pattern chain:ranks=200,distances=1+2,iterations=200 \\\n"
               "      --delay 100@i50:40ms --noise exponential:mean=50us/100us/200us --repeat 10\n"
               "  lull wave --pattern collective:op=bcast,ranks=32,iterations=1 --delay 5@i0:10ms\n"
               "  lull wave run.lull --chart waves.svg\n",
    .options = wave_options,
    .output = &wave_output,
    .under_mpirun = LULL_WORKS_AS_TEAM,
    .run = run_wave,
};
