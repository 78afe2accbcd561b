/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull model solver`: predicts iterative solvers as kernels, counts and barriers (ECM). */
#include "cli/command.h"
#include "cli/message.h"
#include "view/solver_document.h"

/* What the user typed. */
static struct lull_solver_texts solver_texts;
static struct {
    char *machine, *chart;
} solver_settings;
static struct lull_output_settings solver_output;

static const struct poptOption solver_options[] = {
    {"machine", 'm', POPT_ARG_STRING, &solver_settings.machine, 0,
     "the machine to predict for, a file of `lull bench` or of data/", "FILE"},
    {"define", 'D', POPT_ARG_ARGV, &solver_texts.values, 0,
     "set a parameter of the description; may be repeated", "NAME=VALUE"},
    {"cores", 'n', POPT_ARG_INT, &solver_texts.cores, 0,
     "predict up to that many cores (those of a memory domain)", "N"},
    {"sweep", 's', POPT_ARG_STRING, &solver_texts.sweep, 0,
     "predict for several values of a parameter, too", "NAME=V1,V2,..."},
    {"compiler", '\0', POPT_ARG_STRING, &solver_texts.compiler, 0,
     "whose OpenMP barriers and regions the machine file is asked for (gcc)", "gcc|clang"},
    {"barrier", '\0', POPT_ARG_STRING, &solver_texts.barrier, 0,
     "what a barrier and a parallel region cost, instead of what the machine file says", "TIME"},
    {"chart", '\0', POPT_ARG_STRING, &solver_settings.chart, 0,
     "draw iterations per second over cores, or what barriers cost over the sweep, as SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(solver_output),
    POPT_TABLEEND,
};

static int run_solver(struct lull_cli_call *call)
{
    struct lull_solver_wish wish = {.path = call->operands[0],
                                    .machine_path = solver_settings.machine};
    struct lull_solver_study study;
    if (call->n_operands != 1)
        return lull_cli_usage("expected one description of a solver");
    if (!solver_settings.machine)
        return lull_cli_usage("expected --machine FILE: `lull bench -o FILE` writes one");
    int status =
        lull_cli_read(call, lull_solver_wish_read(&solver_texts, call->arena, &wish, &call->err));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(
        call, lull_solver_study_make(&wish, &call->notices, call->arena, &study, &call->err));
    if (status == LULL_EXIT_OK && solver_settings.chart)
        status = lull_output_chart(solver_settings.chart, lull_solver_chart(&study, call->arena));
    return status == LULL_EXIT_OK
               ? lull_output_write(&solver_output, lull_solver_document(&study, call->arena))
               : status;
}

const struct lull_command lull_cmd_model_solver = {
    .name = "model solver",
    .summary = "iterative solvers as kernels, counts and barriers (ECM)",
    .operands = "DESCRIPTION",
    .details =
        "examples:\n"
        "  lull model solver data/solvers/cg.lua -m data/haswell-e5-2695v3-cod-cg.json\n"
        "  lull model solver data/solvers/pcg.lua -m machine.json -D Nx=1000 -D Ny=1000\n"
        "  lull model solver data/solvers/cg.lua -m machine.json --sweep Nx=100,1000,10000\n",
    .options = solver_options,
    .output = &solver_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_solver,
};
