#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "study/model/derive_study.h"
#include "study/model/program_study.h"
#include "view/program/program_chart.h"
#include "view/program/program_document.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    {"threads", 'j', POPT_ARG_INT, &settings.threads, 0, "threads to read with (all processors)",
     "N"},
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

/* "RUN,L=100,RUN2": pieces with '=' that are no files belong to the run before them. */
static int read_runs(const char *option, const char *const *texts,
                     const struct lull_model_run_wish **ret_wishes, uint32_t *ret_count,
                     struct lull_arena *arena)
{
    struct lull_model_run_wish *wishes = NULL;
    const char **pairs = NULL;
    size_t capacity = 0, count = 0, n_pairs = 0, pairs_capacity = 0;
    for (; texts && *texts; texts++)
        for (const char *text = *texts; text;) {
            size_t length = strcspn(text, ",");
            bool is_whole = access(text, F_OK) == 0; /* a name with a comma */
            const char *piece = is_whole ? text : lull_arena_strndup(arena, text, length);
            text = !is_whole && text[length] ? text + length + 1 : NULL;
            if (!strchr(piece, '=') || access(piece, F_OK) == 0) {
                wishes = lull_arena_grow(arena, wishes, &capacity, count + 1, sizeof *wishes);
                wishes[count++] = (struct lull_model_run_wish){piece, NULL};
                pairs = NULL;
                n_pairs = pairs_capacity = 0;
                continue;
            }
            if (count == 0)
                return lull_cli_usage("%s: '%s', expected a RUN before it", option, piece);
            pairs = lull_arena_grow(arena, pairs, &pairs_capacity, n_pairs + 2, sizeof *pairs);
            pairs[n_pairs++] = piece;
            pairs[n_pairs] = NULL;
            wishes[count - 1].settings = pairs;
        }
    *ret_wishes = wishes;
    *ret_count = (uint32_t)count;
    return LULL_EXIT_OK;
}

static int read_confidence(double *ret_confidence)
{
    char *end;
    double percent = settings.confidence ? strtod(settings.confidence, &end) : 95;
    if (settings.confidence &&
        (*end || end == settings.confidence || !(percent >= 50) || percent > 99.99))
        return lull_cli_usage("--confidence is '%s', expected 50 to 99.99 percent",
                              settings.confidence);
    *ret_confidence = percent / 100;
    return LULL_EXIT_OK;
}

static int read_engine(struct wishes *wishes)
{
    wishes->engine = (struct lull_model_engine){.network = settings.network, .seed = 1};
    if (settings.seed &&
        lull_parse_u64(settings.seed, strlen(settings.seed), &wishes->engine.seed) != LULL_OK)
        return lull_cli_usage("--seed is '%s', expected a whole number", settings.seed);
    if (settings.simulate)
        wishes->program.engine = &wishes->engine;
    else if (settings.network || settings.seed)
        return lull_cli_usage("--%s is for --simulate", settings.network ? "network" : "seed");
    return LULL_EXIT_OK;
}

static int read_settings(struct wishes *wishes, struct lull_arena *arena)
{
    static const char *const drawings[] = {"time", "speedup", "efficiency", "terms", NULL};
    struct lull_program_wish *program = &wishes->program;
    unsigned drawing;
    int status = lull_option_word("draw", settings.draw, drawings, &drawing);
    if (status == LULL_EXIT_OK)
        status = read_runs("--calibrate", (const char *const *)settings.calibrate,
                           &program->calibrate, &program->n_calibrate, arena);
    if (status == LULL_EXIT_OK)
        status = read_runs("--against", (const char *const *)settings.against, &program->against,
                           &program->n_against, arena);
    if (status == LULL_EXIT_OK)
        status = read_confidence(&program->confidence);
    if (status == LULL_EXIT_OK)
        status = read_engine(wishes);
    if (status == LULL_EXIT_OK)
        status = lull_option_threads(settings.threads);
    if (status == LULL_EXIT_OK && settings.free && program->n_calibrate == 0)
        status = lull_cli_usage("--free is for --calibrate");
    if (status == LULL_EXIT_OK && (settings.draw || settings.chart) && !settings.sweep)
        status = lull_cli_usage("--%s is for --sweep", settings.chart ? "chart" : "draw");
    wishes->drawing = (enum lull_program_drawing)drawing;
    return status == LULL_EXIT_OK ? lull_output_check(&output) : status;
}

/* ---- what needs the model ------------------------------------------------------------------- */

static int read_free(const struct lull_program_model *model, struct wishes *wishes,
                     struct lull_arena *arena)
{
    uint32_t *free = lull_arena_zero(arena, model->n_parameters, sizeof *free);
    size_t count = 0;
    for (uint32_t p = 0; p < model->n_parameters && !settings.free; p++)
        if (model->parameters[p].is_free && model->parameters[p].source != LULL_PARAMETER_SET)
            free[count++] = p;
    for (const char *text = settings.free; text;) {
        size_t length = strcspn(text, ",");
        const char *name = lull_arena_strndup(arena, text, length);
        uint32_t parameter = lull_model_parameter_find(model, name);
        if (parameter == LULL_MODEL_NONE || model->parameters[parameter].choices)
            return lull_cli_usage("--free: %s has no number '%s'", model->path, name);
        for (size_t i = 0; i < count; i++)
            if (free[i] == parameter)
                return lull_cli_usage("--free: '%s' is there twice", name);
        free[count++] = parameter;
        text = text[length] ? text + length + 1 : NULL;
    }
    wishes->program.free = free;
    wishes->program.n_free = count;
    return LULL_EXIT_OK;
}

static int read_axes(struct lull_program_model *model, struct wishes *wishes,
                     struct lull_arena *arena)
{
    struct lull_error err;
    size_t count = 0;
    while (settings.sweep && settings.sweep[count])
        count++;
    struct lull_model_axis *axes = lull_arena_zero(arena, count + 1, sizeof *axes);
    for (size_t a = 0; a < count; a++) {
        if (lull_model_axis_read(model, settings.sweep[a], arena, &axes[a], &err) != LULL_OK)
            return lull_cli_usage("--sweep: %s", err.text);
        struct lull_model_parameter *parameter = &model->parameters[axes[a].parameter];
        if (parameter->source == LULL_PARAMETER_ABSENT) { /* it has values */
            parameter->value = axes[a].values[0];
            parameter->source = LULL_PARAMETER_SET;
        }
    }
    wishes->program.axes = axes;
    wishes->program.n_axes = count;
    return LULL_EXIT_OK;
}

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
    if (status == LULL_EXIT_OK)
        status = read_free(model, wishes, arena);
    return status == LULL_EXIT_OK ? read_axes(model, wishes, arena) : status;
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

/* A name of Lua that no other parameter of a derived model has. */
static bool is_size_name(const char *name)
{
    static const char *const taken[] = {"P", "T", "B", "iterations"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return false;
    for (const char *c = name; *c; c++)
        if (!isalpha((unsigned char)*c) && *c != '_' && (c == name || !isdigit((unsigned char)*c)))
            return false;
    return *name != '\0';
}

/* "N=1000" behind every run, with one name, or behind none. */
static int read_sizes(const struct lull_model_run_wish *wishes, uint32_t count,
                      const char **ret_name, const double **ret_sizes, struct lull_arena *arena)
{
    double *sizes = lull_arena_zero(arena, count, sizeof *sizes);
    *ret_name = NULL;
    *ret_sizes = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *const *texts = wishes[i].settings;
        char *end;
        if (!texts && !*ret_name)
            continue;
        if (!texts || texts[1])
            return lull_cli_usage("--derive: %s: expected one size, as behind the other runs",
                                  wishes[i].path);
        const char *equals = strchr(texts[0], '=');
        const char *name = lull_arena_strndup(arena, texts[0], (size_t)(equals - texts[0]));
        sizes[i] = strtod(equals + 1, &end);
        if (!is_size_name(name) || (*ret_name ? strcmp(name, *ret_name) != 0 : i > 0))
            return lull_cli_usage("--derive: '%s': expected one name of a size behind every run, "
                                  "and not P, T, B, iterations",
                                  texts[0]);
        if (end == equals + 1 || *end || !(sizes[i] > 0) || !isfinite(sizes[i]))
            return lull_cli_usage("--derive: '%s', expected a number above 0", texts[0]);
        *ret_name = name;
        *ret_sizes = sizes;
    }
    return LULL_EXIT_OK;
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
    if (status == LULL_EXIT_OK)
        status = read_sizes(wishes, count, &size_name, &sizes, arena);
    if (status == LULL_EXIT_OK)
        status = lull_option_threads(settings.threads);
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

static void write_chart(const void *content, FILE *out)
{
    lull_chart_write(content, out);
}

static int draw(const struct lull_program_study *study, const struct wishes *wishes,
                struct lull_arena *arena)
{
    const struct lull_chart *chart = lull_program_chart(study, wishes->drawing, arena);
    if (!chart)
        return lull_cli_fail("--chart: is for a sweep of one number%s",
                             wishes->drawing == LULL_DRAW_TERMS ? " with up to 4096 values" : "");
    return lull_output_save(settings.chart, write_chart, chart);
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

static int run(poptContext context)
{
    lull_limits_raise_files();
    const char **operands = poptGetArgs(context);
    if (!operands || !*operands)
        return lull_cli_usage("expected %s", settings.derive ? "RUNs" : "a model");
    if (operands[1] && !settings.derive)
        return lull_cli_usage("expected one model");
    struct lull_arena *arena = lull_cli_arena();
    int status = settings.derive ? derive((const char *const *)operands, arena)
                                 : evaluate(operands[0], arena);
    lull_arena_destroy(arena);
    return status;
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
    .run = run,
};
