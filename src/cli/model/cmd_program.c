/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull model program`: how long a program takes on P processes, from a model in Lua. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/model/derive_study.h"
#include "study/model/program_study.h"
#include "view/program_document.h"

/* What the user typed; lists are NULL or ended by NULL. */
static struct lull_program_texts program_texts;
static struct {
    char *chart, *draw;
    int derive, threads, force;
} program_settings;
static struct lull_output_settings program_output;

static const struct poptOption program_options[] = {
    {"set", 's', POPT_ARG_ARGV, &program_texts.set, 0, "a parameter has this value", "NAME=VALUE"},
    {"machine", 'm', POPT_ARG_STRING, &program_texts.machine, 0,
     "take parameters from a machine file (lull bench)", "FILE"},
    {"sweep", '\0', POPT_ARG_ARGV, &program_texts.sweep, 0,
     "evaluate at many values: FROM:TO:xRATIO, FROM:TO:+STEP or A,B,C; given several times: all "
     "combinations",
     "NAME=VALUES"},
    {"calibrate", 'c', POPT_ARG_ARGV, &program_texts.calibrate, 0,
     "find the free parameters from recorded runs, each with values that hold for it alone", //
     "RUN[,NAME=VALUE...][,RUN...]"},
    {"free", '\0', POPT_ARG_STRING, &program_texts.free, 0,
     "which parameters --calibrate finds (those that the model marks and --set does not give)",
     "NAME,..."},
    {"against", 'a', POPT_ARG_ARGV, &program_texts.against, 0,
     "print prediction, measurement and error for each term of recorded runs",
     "RUN[,NAME=VALUE...][,RUN...]"},
    {"confidence", '\0', POPT_ARG_STRING, &program_texts.confidence, 0,
     "of intervals, in percent (95)", "PERCENT"},
    {"simulate", '\0', POPT_ARG_NONE, &program_texts.simulate, 0,
     "also carry the model out by the simulator, with draws of its noise", NULL},
    {"network", 'n', POPT_ARG_STRING, &program_texts.network, 0,
     "simulate on this network (the machine's, or latency and bandwidth of the model)", "SPEC"},
    {"seed", '\0', POPT_ARG_STRING, &program_texts.seed, 0, "of all random numbers (1)", "N"},
    {"chart", '\0', POPT_ARG_STRING, &program_settings.chart, 0, "draw the sweep as SVG", "FILE"},
    {"draw", '\0', POPT_ARG_STRING, &program_settings.draw, 0,
     "what is drawn (speedup over processes, else time)", "time|speedup|efficiency|terms"},
    {"derive", '\0', POPT_ARG_NONE, &program_settings.derive, 0,
     "the operands are recorded runs, each with the size of its problem if these differ; write a "
     "model of them",
     NULL},
    LULL_THREADS_OPTION(program_settings.threads, "threads to read with"),
    {"force", '\0', POPT_ARG_NONE, &program_settings.force, 0,
     "go on where the tracer disturbed a run too much, or where runs seem not to be of one program",
     NULL},
    LULL_OUTPUT_OPTIONS(program_output),
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

static struct lull_runs_options runs_options(struct lull_cli_call *call)
{
    return (struct lull_runs_options){.regions = true,
                                      .no_replay = true,
                                      .force = program_settings.force,
                                      .workers = (unsigned)program_settings.threads,
                                      .progress = &call->progress};
}

static lull_status read_drawing(enum lull_program_drawing *ret_drawing, struct lull_error *err)
{
    static const char *const drawings[] = {"time", "speedup", "efficiency", "terms", NULL};
    unsigned drawing;
    lull_status status = lull_option_word("draw", program_settings.draw, drawings, &drawing, err);
    const char *swept = lull_option_said(program_options, LULL_OPTION_NAMES("chart", "draw"));
    if (status == LULL_OK && swept && !program_texts.sweep)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is for --sweep", swept);
    *ret_drawing = (enum lull_program_drawing)drawing;
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int derive(struct lull_cli_call *call)
{
    const struct lull_runs_options runs = runs_options(call);
    struct lull_derive_wish wish;
    struct lull_measured_runs measured;
    int status =
        lull_cli_read(call, lull_derive_wish_read(call->operands, call->arena, &wish, &call->err));
    if (status != LULL_EXIT_OK)
        return status;
    lull_status done =
        lull_derive_read(&wish, &runs, &call->notices, call->arena, &measured, &call->err);
    if (done == LULL_OK)
        done = lull_derived_save(program_output.path ? program_output.path : "/dev/stdout",
                                 &measured, call->arena, &call->err);
    return lull_cli_done(call, done);
}

static int draw_program_charts(const struct lull_program_study *study,
                               enum lull_program_drawing drawing, struct lull_arena *arena)
{
    const struct lull_chart *chart = lull_program_chart(study, drawing, arena);
    if (!chart)
        return lull_cli_fail("--chart: is for a sweep of one number%s",
                             drawing == LULL_DRAW_TERMS ? " with up to 4096 values" : "");
    return lull_output_chart(program_settings.chart, chart);
}

static int evaluate(struct lull_program_model *model, struct lull_program_wish *wish,
                    enum lull_program_drawing drawing, struct lull_cli_call *call)
{
    struct lull_program_study study;
    int status = lull_cli_read(call, lull_program_wish_apply(&program_texts, model, &call->notices,
                                                             call->arena, wish, &call->err));
    if (status == LULL_EXIT_OK)
        status = lull_cli_done(call, lull_program_study_make(model, wish, &call->notices,
                                                             call->arena, &study, &call->err));
    if (status == LULL_EXIT_OK && program_settings.chart)
        status = draw_program_charts(&study, drawing, call->arena);
    return status == LULL_EXIT_OK
               ? lull_output_write(&program_output,
                                   lull_program_document(&study, &call->notices, call->arena))
               : status;
}

static int open_model(const char *path, struct lull_cli_call *call)
{
    struct lull_program_wish wish = {.runs = runs_options(call)};
    struct lull_program_model model;
    enum lull_program_drawing drawing;
    lull_status read = read_drawing(&drawing, &call->err);
    if (read == LULL_OK)
        read = lull_program_wish_read(&program_texts, call->arena, &wish, &call->err);
    if (read != LULL_OK)
        return lull_cli_read(call, read);
    int status = lull_program_model_open(path, call->arena, &model, &call->err) == LULL_OK
                     ? evaluate(&model, &wish, drawing, call)
                     : lull_cli_fail("%s", call->err.text);
    lull_program_model_close(&model);
    return status;
}

static int run_program(struct lull_cli_call *call)
{
    lull_limits_raise_files();
    if (!call->n_operands)
        return lull_cli_usage("expected %s", program_settings.derive ? "RUNs" : "a model");
    if (program_settings.derive)
        return derive(call);
    return call->n_operands == 1 ? open_model(call->operands[0], call)
                                 : lull_cli_usage("expected one model");
}

const struct lull_command lull_cmd_model_program = {
    .name = "model program",
    .summary = "how long a program takes on P processes, from a model in Lua",
    .operands = "MODEL.lua | --derive RUN[,NAME=VALUE]...",
    .details = "examples:\n"
               "  lull model program image.lua --sweep P=1:4096:x2 --chart image.svg\n"
               "  lull model program image.lua --machine machine.json --set L=2000\n"
               "  lull model program image.lua --calibrate run1 --calibrate run2 --against run4\n"
               "  lull model program image.lua --set P=64 --simulate --network loggops\n"
               "  lull model program --derive run16 run64 run256 -o model.lua\n",
    .options = program_options,
    .output = &program_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_program,
};
