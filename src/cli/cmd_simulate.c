/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull simulate`: programs of message passing on a modelled network. */
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "sim/goal/goal.h"
#include "study/simulated.h"
#include "view/simulation_document.h"

#include <stdio.h>
#include <unistd.h>

/* What the user typed. */
static struct {
    struct lull_simulation_settings simulation;
    char *tape;
    int per_rank, no_path, list, threads;
} simulate_settings;
static struct lull_output_settings simulate_output;

static const struct poptOption simulate_options[] = {
    LULL_PATTERN_OPTION(simulate_settings.simulation, "simulate a pattern instead of a file"),
    LULL_NETWORK_OPTION(simulate_settings.simulation, "loggops"),
    LULL_MACHINE_OPTION(simulate_settings.simulation),
    LULL_NOISE_OPTION(simulate_settings.simulation),
    LULL_DELAY_OPTION(simulate_settings.simulation),
    LULL_PLACEMENT_OPTION(simulate_settings.simulation),
    LULL_MEMORY_OPTION(simulate_settings.simulation),
    LULL_SEED_OPTION(simulate_settings.simulation),
    {"output", 'o', POPT_ARG_STRING, &simulate_settings.tape, 0,
     "write the simulated run as a trace", "RUN"},
    {"per-rank", '\0', POPT_ARG_NONE, &simulate_settings.per_rank, 0, "add a row for every rank",
     NULL},
    {"no-path", '\0', POPT_ARG_NONE, &simulate_settings.no_path, 0,
     "do not follow the longest path, which costs time and memory", NULL},
    LULL_SPECS_OPTION(simulate_settings.list, 'l'),
    LULL_THREADS_OPTION(simulate_settings.threads, "points of a sweep at the same time"),
    LULL_FORMAT_OPTION(simulate_output),
    LULL_COLOUR_OPTION(simulate_output),
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status read_simulate_settings(const char *path, struct lull_cli_call *call,
                                          struct lull_simulate_inputs *inputs)
{
    inputs->path = !simulate_settings.no_path;
    inputs->tape = simulate_settings.tape;
    inputs->out_of_memory = lull_cli_out_of_memory;
    lull_status status =
        lull_simulation_read(&simulate_settings.simulation, "loggops", call, inputs);
    if (status != LULL_OK)
        return status;
    const char *single =
        lull_option_said(simulate_options, LULL_OPTION_NAMES("output", "per-rank"));
    if (inputs->sweep->n_axes > 0 && single)
        return lull_fail(&call->err, LULL_ERR_RANGE, "--%s is for one simulation, not for a sweep",
                         single);
    if (!path == !simulate_settings.simulation.specs[LULL_SIMULATE_PATTERN])
        return lull_fail(&call->err, LULL_ERR_RANGE, "expected a GOAL file or --pattern%s",
                         path ? ", not both" : "");
    return LULL_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The first point that failed, whatever thread it ran on. */
static int tell_failed_points(const struct lull_simulate_point *points, uint64_t count)
{
    for (uint64_t p = 0; p < count; p++) {
        const struct lull_simulate_point *point = &points[p];
        if (point->status == LULL_OK)
            continue;
        int status = point->usage ? lull_cli_usage("%s", point->err.text)
                                  : lull_cli_fail("%s", point->err.text);
        for (const char *const *problem = point->problems; problem && *problem; problem++)
            fprintf(stderr, "  %s\n", *problem);
        return status;
    }
    return LULL_EXIT_OK;
}

static void tell_speed(const struct lull_simulate_point *points, uint64_t count)
{
    double seconds = 0, events = 0;
    for (uint64_t p = 0; p < count; p++) {
        seconds += points[p].seconds;
        events += (double)lull_simulate_events(&points[p].result);
    }
    if (isatty(STDERR_FILENO) && seconds > 0.01)
        fprintf(stderr, "%.0f events in %.2f s: %.2f million a second\n", events, seconds,
                events / seconds / 1e6);
}

static int simulate_sweep(struct lull_simulate_inputs *inputs, struct lull_cli_call *call)
{
    uint64_t count = inputs->sweep->n_points;
    struct lull_simulate_point *points = lull_arena_zero(call->arena, count, sizeof *points);
    lull_simulate_run(inputs, points, (unsigned)simulate_settings.threads);
    int status = tell_failed_points(points, count);
    if (status == LULL_EXIT_OK) {
        tell_speed(points, count);
        status = lull_output_write(
            &simulate_output,
            inputs->sweep->n_axes > 0
                ? lull_simulate_sweep(inputs, points, call->arena)
                : lull_simulate_one(inputs, points, simulate_settings.per_rank, call->arena));
    }
    lull_simulate_release(inputs, points);
    return status;
}

static int run_simulate(struct lull_cli_call *call)
{
    struct lull_simulate_inputs inputs = {0};
    const char *path;
    lull_limits_raise_files();
    int status = lull_cli_operand(call, "file", &path);
    if (status != LULL_EXIT_OK)
        return status;
    if (simulate_settings.list)
        return lull_output_write(&simulate_output, lull_simulate_list(call->arena));
    status = lull_cli_read(call, read_simulate_settings(path, call, &inputs));
    if (status != LULL_EXIT_OK)
        return status;
    lull_interrupt_clean_up();
    if (path && lull_goal_open(path, &inputs.goal, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    return simulate_sweep(&inputs, call);
}

const struct lull_command lull_cmd_simulate = {
    .name = "simulate",
    .summary = "message passing on a modelled network",
    .operands = "[FILE.goal]",
    .details =
        "A SPEC is NAME:KEY=VALUE,KEY=VALUE or a JSON file with the same keys; lists are\n"
        "joined with '+', FROM:TO:N[:log] and A/B/C give one row per value.\n\n"
        "examples:\n"
        "  lull simulate schedule.goal --network loggops:L=2us,o=1us,g=1us,G=0.1\n"
        "  lull simulate --pattern chain:ranks=64,exec=1ms --delay 31@i10:20ms -o wave\n"
        "  lull simulate --pattern grid:ranks=8x8x8,bytes=64KiB \\\n"
        "      --network hockney:latency=1us,bandwidth=1GB/s:16GB/s:5:log\n"
        "  lull bench --quick -o machine.json && lull simulate schedule.goal -m machine.json\n"
        "  lull simulate --pattern collective:op=allreduce,ranks=4096,exec=1ms \\\n"
        "      --noise periodic:period=10ms,duration=100us --seed 7\n",
    .options = simulate_options,
    .output = &simulate_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_simulate,
};
