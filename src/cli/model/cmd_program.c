#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "study/model/derive_study.h"
#include "study/model/program_study.h"
#include "view/program/program_chart.h"
#include "view/program/program_document.h"

#include <stdlib.h>
#include <string.h>

/* What the user typed; lists are NULL or ended by NULL. */
static struct {
    char *machine, *free, *confidence, *network, *seed, *chart, *draw;
    char **set, **sweep, **calibrate, **against;
    int simulate, derive, threads, force;
} settings;
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"set", 's', POPT_ARG_ARGV, &settings.set, 0, "a parameter has this value", "NAME=VALUE"},
    {"machine", 'm', POPT_ARG_STRING, &settings.machine, 0,
     "take parameters from a machine file (lull bench)", "FILE"},
    {"sweep", '\0', POPT_ARG_ARGV, &settings.sweep, 0,
     "evaluate at many values: FROM:TO:xRATIO, FROM:TO:+STEP or A,B,C; given several times: all "
     "combinations",
     "NAME=VALUES"},
    {"calibrate", 'c', POPT_ARG_ARGV, &settings.calibrate, 0,
     "find the free parameters from recorded runs, each with values that hold for it alone", //
     "RUN[,NAME=VALUE...][,RUN...]"},
    {"free", '\0', POPT_ARG_STRING, &settings.free, 0,
     "which parameters --calibrate finds (those that the model marks and --set does not give)",
     "NAME,..."},
    {"against", 'a', POPT_ARG_ARGV, &settings.against, 0,
     "print prediction, measurement and error for each term of recorded runs",
     "RUN[,NAME=VALUE...][,RUN...]"},
    {"confidence", '\0', POPT_ARG_STRING, &settings.confidence, 0, "of intervals, in percent (95)",
     "PERCENT"},
    {"simulate", '\0', POPT_ARG_NONE, &settings.simulate, 0,
     "also carry the model out by the simulator, with draws of its noise", NULL},
    {"network", 'n', POPT_ARG_STRING, &settings.network, 0,
     "simulate on this network (the machine's, or latency and bandwidth of the model)", "SPEC"},
    {"seed", '\0', POPT_ARG_STRING, &settings.seed, 0, "of all random numbers (1)", "N"},
    {"chart", '\0', POPT_ARG_STRING, &settings.chart, 0, "draw the sweep as SVG", "FILE"},
    {"draw", '\0', POPT_ARG_STRING, &settings.draw, 0,
     "what is drawn (speedup over processes, else time)", "time|speedup|efficiency|terms"},
    {"derive", '\0', POPT_ARG_NONE, &settings.derive, 0,
     "the operands are recorded runs, each with the size of its problem if these differ; write a "
     "model of them",
     NULL},
    LULL_THREADS_OPTION(settings.threads, "threads to read with"),
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0,
     "go on where the tracer disturbed a run too much, or where runs seem not to be of one program",
     NULL},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

struct wishes {
    struct lull_program_wish program;
    struct lull_model_engine engine;
    struct lull_runs_options runs;
    enum lull_program_drawing drawing;
};

/* ---- what was typed ------------------------------------------------------------------------- */

static int read_runs(const char *option, const char *const *texts,
                     const struct lull_model_run_wish **ret_wishes, uint32_t *ret_count,
                     struct lull_arena *arena)
{
    struct lull_error err;
    return lull_model_runs_read(texts, arena, ret_wishes, ret_count, &err) == LULL_OK
               ? LULL_EXIT_OK
               : lull_cli_usage("%s: %s", option, err.text);
}

static int read_settings(struct wishes *wishes, struct lull_arena *arena)
{
    static const char *const drawings[] = {"time", "speedup", "efficiency", "terms", NULL};
    struct lull_program_wish *program = &wishes->program;
    struct lull_error err;
    unsigned drawing;
    wishes->engine = (struct lull_model_engine){.network = settings.network, .seed = 1};
    program->engine = settings.simulate ? &wishes->engine : NULL;
    program->confidence = 0.95;
    if (lull_option_word("draw", settings.draw, drawings, &drawing, &err) != LULL_OK ||
        lull_option_percent("confidence", settings.confidence, 50, 99.99, &program->confidence,
                            &err) != LULL_OK ||
        lull_option_number("seed", settings.seed, 0, UINT64_MAX, &wishes->engine.seed, &err) !=
            LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (!settings.simulate && (settings.network || settings.seed))
        return lull_cli_usage("--%s is for --simulate", settings.network ? "network" : "seed");
    if (settings.free && !settings.calibrate)
        return lull_cli_usage("--free is for --calibrate");
    if ((settings.draw || settings.chart) && !settings.sweep)
        return lull_cli_usage("--%s is for --sweep", settings.chart ? "chart" : "draw");
    wishes->drawing = (enum lull_program_drawing)drawing;
    int status = read_runs("--calibrate", (const char *const *)settings.calibrate,
                           &program->calibrate, &program->n_calibrate, arena);
    return status == LULL_EXIT_OK ? read_runs("--against", (const char *const *)settings.against,
                                              &program->against, &program->n_against, arena)
                                  : status;
}

/* ---- what needs the model ------------------------------------------------------------------- */

static int take_machine(struct lull_program_model *model, struct wishes *wishes,
                        struct lull_notices *notices, struct lull_arena *arena)
{
    struct lull_machine *machine;
    struct lull_error err;
    const char *const *missing;
    if (!settings.machine)
        return LULL_EXIT_OK;
    if (lull_machine_read(settings.machine, arena, &machine, &err) != LULL_OK ||
        lull_model_take_machine(model, machine, settings.machine, &missing, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    for (; *missing; missing++)
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s", *missing);
    wishes->engine.machine = machine->n_network > 0 ? machine : NULL;
    return LULL_EXIT_OK;
}

static int read_with_model(struct lull_program_model *model, struct wishes *wishes,
                           struct lull_notices *notices, struct lull_arena *arena)
{
    struct lull_error err;
    for (char **text = settings.set; text && *text; text++)
        if (lull_model_set(model, *text, LULL_PARAMETER_SET, &err) != LULL_OK)
            return lull_cli_usage("--set: %s", err.text);
    int status = take_machine(model, wishes, notices, arena);
    struct lull_program_wish *program = &wishes->program;
    if (status == LULL_EXIT_OK && lull_model_free_read(model, settings.free, arena, &program->free,
                                                       &program->n_free, &err) != LULL_OK)
        return lull_cli_usage("--free: %s", err.text);
    if (status == LULL_EXIT_OK &&
        lull_model_axes_read(model, (const char *const *)settings.sweep, arena, &program->axes,
                             &program->n_axes, &err) != LULL_OK)
        return lull_cli_usage("--sweep: %s", err.text);
    return status;
}

/* ---- derived models ------------------------------------------------------------------------- */

struct derived {
    const struct lull_measured_runs *runs;
    struct lull_arena *arena;
};

static void write_derived(const void *content, FILE *out)
{
    const struct derived *derived = content;
    lull_derived_write(derived->runs, derived->arena, out);
}

static int derive(const char *const *operands, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    const struct lull_model_run_wish *wishes;
    struct lull_measured_runs measured;
    struct lull_error err;
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    const struct lull_runs_options wanted = {.regions = true,
                                             .no_replay = true,
                                             .force = settings.force,
                                             .workers = (unsigned)settings.threads,
                                             .progress = &shown};
    const char *size_name;
    const double *sizes;
    uint32_t count;
    int status = read_runs("--derive", operands, &wishes, &count, arena);
    if (status == LULL_EXIT_OK &&
        lull_model_sizes_read(wishes, count, arena, &size_name, &sizes, &err) != LULL_OK)
        return lull_cli_usage("--derive: %s", err.text);
    if (status != LULL_EXIT_OK)
        return status;
    const char **paths = lull_arena_zero(arena, count, sizeof *paths);
    for (uint32_t i = 0; i < count; i++)
        paths[i] = wishes[i].path;
    lull_status read =
        lull_derive_read(paths, count, size_name, sizes, &wanted, &notices, arena, &measured, &err);
    lull_cli_warn_all(&notices);
    if (read != LULL_OK)
        return lull_cli_fail("%s", err.text);
    return lull_output_save(output.path ? output.path : "/dev/stdout", write_derived,
                            &(struct derived){&measured, arena});
}

/* ---- the command ---------------------------------------------------------------------------- */

static int draw(const struct lull_program_study *study, const struct wishes *wishes,
                struct lull_arena *arena)
{
    const struct lull_chart *chart = lull_program_chart(study, wishes->drawing, arena);
    if (!chart)
        return lull_cli_fail("--chart: is for a sweep of one number%s",
                             wishes->drawing == LULL_DRAW_TERMS ? " with up to 4096 values" : "");
    return lull_output_chart(settings.chart, chart);
}

static int report(struct lull_program_model *model, struct wishes *wishes,
                  struct lull_notices *notices, struct lull_arena *arena)
{
    struct lull_program_study study;
    struct lull_error err;
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    wishes->runs = (struct lull_runs_options){.regions = true,
                                              .no_replay = true,
                                              .force = settings.force,
                                              .workers = (unsigned)settings.threads,
                                              .progress = &shown};
    wishes->program.runs = &wishes->runs;
    lull_status made =
        lull_program_study_make(model, &wishes->program, notices, arena, &study, &err);
    lull_cli_warn_all(notices);
    if (made != LULL_OK)
        return lull_cli_fail("%s", err.text);
    int status = settings.chart ? draw(&study, wishes, arena) : LULL_EXIT_OK;
    return status == LULL_EXIT_OK
               ? lull_output_write(&output, lull_program_document(&study, notices, arena))
               : status;
}

static int evaluate(const char *path, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    struct wishes wishes = {.drawing = LULL_DRAW_USUAL};
    struct lull_program_model model;
    struct lull_error err;
    int status = read_settings(&wishes, arena);
    if (status == LULL_EXIT_OK) {
        status = lull_program_model_open(path, arena, &model, &err) == LULL_OK
                     ? read_with_model(&model, &wishes, &notices, arena)
                     : lull_cli_fail("%s", err.text);
        if (status == LULL_EXIT_OK)
            status = report(&model, &wishes, &notices, arena);
        lull_program_model_close(&model);
    }
    return status;
}

static int run(poptContext context, struct lull_arena *arena)
{
    uint32_t count;
    const char *const *operands = lull_operands(context, &count);
    lull_limits_raise_files();
    if (!count)
        return lull_cli_usage("expected %s", settings.derive ? "RUNs" : "a model");
    if (settings.derive)
        return derive(operands, arena);
    return count == 1 ? evaluate(operands[0], arena) : lull_cli_usage("expected one model");
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
    .options = options,
    .output = &output,
    .run = run,
};
