#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"
#include "view/solver/solver_document.h"

#include <math.h>

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

static int read_options(struct lull_solver_options *ret_options)
{
    static const char *const compilers[] = {"gcc", "clang", NULL};
    unsigned compiler;
    double ns = NAN;
    struct lull_error err;
    if (lull_option_word("compiler", settings.compiler, compilers, &compiler, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (settings.cores < 0 || settings.cores > MOST_CORES)
        return lull_cli_usage("--cores is %d, expected 1 to %d", settings.cores, MOST_CORES);
    if (settings.barrier && lull_parse_time_real(settings.barrier, 1, &ns, &err) != LULL_OK)
        return lull_cli_usage("--barrier: %s", err.text);
    if (ns < 0)
        return lull_cli_usage("--barrier is below 0");
    *ret_options = (struct lull_solver_options){.cores = (unsigned)settings.cores,
                                                .compiler = compilers[compiler ? compiler - 1 : 0],
                                                .barrier = ns * 1e-9};
    return LULL_EXIT_OK;
}

static int read_settings(poptContext context, struct lull_solver_wish *wish,
                         struct lull_arena *arena)
{
    struct lull_error err;
    wish->path = poptGetArg(context);
    wish->machine_path = settings.machine;
    if (!wish->path || poptPeekArg(context))
        return lull_cli_usage("expected one description of a solver");
    if (!settings.machine)
        return lull_cli_usage("expected --machine FILE: `lull bench -o FILE` writes one");
    if (lull_solver_values_read((const char *const *)settings.define, arena, wish, &err) != LULL_OK)
        return lull_cli_usage("--define: %s", err.text);
    if (settings.sweep && lull_solver_sweep_read(settings.sweep, arena, wish, &err) != LULL_OK)
        return lull_cli_usage("--sweep: %s", err.text);
    return read_options(&wish->options);
}

static int run(poptContext context, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    struct lull_solver_wish wish = {0};
    struct lull_solver_study study;
    struct lull_error err;
    int status = read_settings(context, &wish, arena);
    if (status != LULL_EXIT_OK)
        return status;
    if (lull_solver_study_make(&wish, &notices, arena, &study, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    lull_cli_warn_all(&notices);
    const struct lull_document *document = lull_solver_document(&study, arena);
    if (settings.chart)
        status = lull_output_chart(settings.chart, lull_solver_chart(&study, arena));
    return status == LULL_EXIT_OK ? lull_output_write(&output, document) : status;
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
    .output = &output,
    .run = run,
};
