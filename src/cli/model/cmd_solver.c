#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "view/solver/solver_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORES = 65536 };

/* What the user typed. */
static struct {
    char *machine, *compiler, *barrier, *sweep, *chart;
    char **define;
    int cores;
} settings;
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"machine", 'm', POPT_ARG_STRING, &settings.machine, 0,
     "the machine to predict for, a file of `lull bench` or of data/", "FILE"},
    {"define", 'D', POPT_ARG_ARGV, &settings.define, 0,
     "set a parameter of the description; may be repeated", "NAME=VALUE"},
    {"cores", 'n', POPT_ARG_INT, &settings.cores, 0,
     "predict up to that many cores (those of a memory domain)", "N"},
    {"sweep", 's', POPT_ARG_STRING, &settings.sweep, 0,
     "predict for several values of a parameter, too", "NAME=V1,V2,..."},
    {"compiler", '\0', POPT_ARG_STRING, &settings.compiler, 0,
     "whose OpenMP barriers and regions the machine file is asked for (gcc)", "gcc|clang"},
    {"barrier", '\0', POPT_ARG_STRING, &settings.barrier, 0,
     "what a barrier and a parallel region cost, instead of what the machine file says", "TIME"},
    {"chart", '\0', POPT_ARG_STRING, &settings.chart, 0,
     "draw iterations per second over cores, or what barriers cost over the sweep, as SVG", "FILE"},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

struct wishes {
    const char *path;
    struct lull_solver_options options;
    struct lull_solver_parameter *values; /* n_values, and room for the swept one */
    size_t n_values;
    const char *swept;
    double *sweep;
    size_t n_sweep;
};

static bool read_number(const char *text, size_t length, double *ret_value)
{
    char *stop;
    *ret_value = strtod(text, &stop);
    return length > 0 && stop == text + length && isfinite(*ret_value);
}

static int read_define(const char *text, struct lull_arena *arena,
                       struct lull_solver_parameter *value)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !read_number(sign + 1, strlen(sign + 1), &value->value))
        return lull_cli_usage("--define: '%s', expected NAME=NUMBER", text);
    value->name = lull_arena_strndup(arena, text, (size_t)(sign - text));
    return LULL_EXIT_OK;
}

static int read_defines(struct wishes *wishes, struct lull_arena *arena)
{
    while (settings.define && settings.define[wishes->n_values])
        wishes->n_values++;
    wishes->values = lull_arena_zero(arena, wishes->n_values + 1, sizeof *wishes->values);
    int status = LULL_EXIT_OK;
    for (size_t i = 0; status == LULL_EXIT_OK && i < wishes->n_values; i++)
        status = read_define(settings.define[i], arena, &wishes->values[i]);
    return status;
}

static int read_sweep(struct wishes *wishes, struct lull_arena *arena)
{
    const char *text = settings.sweep, *sign = text ? strchr(text, '=') : NULL;
    size_t capacity = 0;
    if (!text)
        return LULL_EXIT_OK;
    if (!sign || sign == text)
        return lull_cli_usage("--sweep: '%s', expected NAME=V1,V2,...", text);
    wishes->swept = lull_arena_strndup(arena, text, (size_t)(sign - text));
    for (const char *piece = sign + 1;;) {
        size_t length = strcspn(piece, ",");
        wishes->sweep = lull_arena_grow(arena, wishes->sweep, &capacity, wishes->n_sweep + 1,
                                        sizeof *wishes->sweep);
        if (!read_number(piece, length, &wishes->sweep[wishes->n_sweep++]))
            return lull_cli_usage("--sweep: '%s', expected numbers with commas", text);
        if (!piece[length])
            return LULL_EXIT_OK;
        piece += length + 1;
    }
}

static int read_options(struct wishes *wishes)
{
    static const char *const compilers[] = {"gcc", "clang", NULL};
    unsigned compiler;
    struct lull_error err;
    int status = lull_option_word("compiler", settings.compiler, compilers, &compiler);
    if (status != LULL_EXIT_OK)
        return status;
    if (settings.cores < 0 || settings.cores > MOST_CORES)
        return lull_cli_usage("--cores is %d, expected 1 to %d", settings.cores, MOST_CORES);
    double ns = NAN;
    if (settings.barrier && lull_parse_time_real(settings.barrier, 1, &ns, &err) != LULL_OK)
        return lull_cli_usage("--barrier: %s", err.text);
    if (ns < 0)
        return lull_cli_usage("--barrier is below 0");
    wishes->options =
        (struct lull_solver_options){.cores = (unsigned)settings.cores,
                                     .compiler = compilers[compiler ? compiler - 1 : 0],
                                     .barrier = ns * 1e-9};
    return LULL_EXIT_OK;
}

static int read_settings(poptContext context, struct wishes *wishes, struct lull_arena *arena)
{
    wishes->path = poptGetArg(context);
    if (!wishes->path || poptPeekArg(context))
        return lull_cli_usage("expected one description of a solver");
    if (!settings.machine)
        return lull_cli_usage("expected --machine FILE: `lull bench -o FILE` writes one");
    int status = read_defines(wishes, arena);
    if (status == LULL_EXIT_OK)
        status = read_sweep(wishes, arena);
    if (status == LULL_EXIT_OK)
        status = read_options(wishes);
    return status == LULL_EXIT_OK ? lull_output_check(&output) : status;
}

static lull_status predict(const struct wishes *wishes, const struct lull_machine *machine,
                           size_t n_values, struct lull_arena *arena,
                           struct lull_solver_prediction *ret_prediction, struct lull_error *err)
{
    struct lull_solver *solver = lull_arena_zero(arena, 1, sizeof *solver);
    lull_status status =
        lull_solver_read(wishes->path, machine, wishes->values, n_values, arena, solver, err);
    if (status != LULL_OK)
        return status;
    status = lull_solver_predict(solver, machine, &wishes->options, arena, ret_prediction, err);
    return status == LULL_OK ? status : lull_fail_prefix(err, status, "%s", settings.machine);
}

static lull_status predict_sweep(struct wishes *wishes, const struct lull_machine *machine,
                                 struct lull_arena *arena, struct lull_solver_view *view,
                                 struct lull_error *err)
{
    struct lull_solver_sweep_point *points =
        lull_arena_zero(arena, wishes->n_sweep + 1, sizeof *points);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < wishes->n_sweep; i++) {
        points[i].value = wishes->sweep[i];
        wishes->values[wishes->n_values] =
            (struct lull_solver_parameter){.name = wishes->swept, .value = wishes->sweep[i]};
        status = predict(wishes, machine, wishes->n_values + 1, arena, &points[i].prediction, err);
    }
    view->swept = wishes->swept;
    view->sweep = points;
    view->n_sweep = wishes->n_sweep;
    return status;
}

static void write_chart(const void *content, FILE *out)
{
    lull_chart_write(content, out);
}

static int report(poptContext context, struct lull_arena *arena)
{
    struct wishes wishes = {0};
    struct lull_machine *machine;
    struct lull_solver_prediction prediction;
    struct lull_error err;
    int status = read_settings(context, &wishes, arena);
    if (status != LULL_EXIT_OK)
        return status;
    struct lull_solver_view view = {.machine_name = settings.machine, .prediction = &prediction};
    if (lull_machine_read(settings.machine, arena, &machine, &err) != LULL_OK ||
        predict(&wishes, machine, wishes.n_values, arena, &prediction, &err) != LULL_OK ||
        predict_sweep(&wishes, machine, arena, &view, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    view.machine = machine;
    if (machine->name)
        view.machine_name = machine->name;
    const struct lull_document *document = lull_solver_document(&view, arena);
    if (!prediction.sync_known)
        lull_cli_warn("%s: does not say what barriers and parallel regions cost, they count "
                      "nothing; --barrier sets it",
                      settings.machine);
    if (settings.chart)
        status = lull_output_save(settings.chart, write_chart, lull_solver_chart(&view, arena));
    return status == LULL_EXIT_OK ? lull_output_write(&output, document) : status;
}

static int run(poptContext context)
{
    struct lull_arena *arena = lull_cli_arena();
    int status = report(context, arena);
    lull_arena_destroy(arena);
    return status;
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
    .options = options,
    .run = run,
};
