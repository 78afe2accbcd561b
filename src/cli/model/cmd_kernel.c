#include "cli/command.h"
#include "cli/message.h"
#include "cli/model/kernel_options.h"
#include "cli/model/kernel_run.h"
#include "cli/options.h"
#include "cli/output.h"
#include "view/kernel/kernel_document.h"

#include <math.h>
#include <string.h>

/* What the user typed. */
static struct lull_kernel_settings settings;
static char *roofline_path, *cores_path, *sweep_path;
static int ports;
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"define", 'D', POPT_ARG_ARGV, &settings.sizes, 0, "value of a size", "NAME=VALUE"},
    {"machine", 'm', POPT_ARG_STRING, &settings.machine, 0,
     "machine file: of lull bench, or published", "FILE"},
    {"cores", 'n', POPT_ARG_STRING, &settings.cores, 0,
     "cores that work at the same time, each on arrays of these sizes (1)", "N"},
    {"sweep", '\0', POPT_ARG_STRING, &settings.sweep, 0,
     "one size over values with commas, or from:to:steps, evenly on a logarithmic scale",
     "NAME=VALUES"},
    {"run", '\0', POPT_ARG_NONE, &settings.run, 0,
     "compile and run it on this machine: prediction, measurement, error", NULL},
    {"traffic", '\0', POPT_ARG_STRING, &settings.traffic, 0,
     "what the models take lines from (conditions)", "conditions|simulation"},
    {"no-simulation", '\0', POPT_ARG_NONE, &settings.no_simulation, 0,
     "leave out the cache simulation beside the layer conditions", NULL},
    {"policy", '\0', POPT_ARG_STRING, &settings.policy, 0, "of simulated caches (lru)", "lru|plru"},
    {"index", '\0', POPT_ARG_ARGV, &settings.indices, 0,
     "what an index array holds: uniform, sequential, band:WIDTH, or a FILE of indices",
     "ARRAY=WHAT"},
    {"seed", '\0', POPT_ARG_STRING, &settings.seed, 0, "of random indices (1)", "N"},
    {"call", '\0', POPT_ARG_ARGV, &settings.calls, 0, "cycles of a call of a function",
     "NAME=CYCLES"},
    {"in-core", '\0', POPT_ARG_STRING, &settings.in_core, 0,
     "cycles per unit of work, instead of compiling", "T_OL,T_nOL"},
    {"cc", '\0', POPT_ARG_STRING, &settings.compiler, 0, "compiler (cc)", "PROGRAM"},
    {"cflags", '\0', POPT_ARG_STRING, &settings.flags, 0,
     "its options (-O3 -funroll-loops -march=..., for sums -ffast-math)", "OPTIONS"},
    {"mca", '\0', POPT_ARG_STRING, &settings.mca, 0, "llvm-mca (any version in PATH)", "PROGRAM"},
    {"estimate", '\0', POPT_ARG_NONE, &settings.estimate, 0,
     "do without llvm-mca: a rough estimate of the in-core times", NULL},
    {"ports", '\0', POPT_ARG_NONE, &ports, 0, "show how busy each port is, and the loop", NULL},
    {"roofline-chart", '\0', POPT_ARG_STRING, &roofline_path, 0, "draw the Roofline as SVG",
     "FILE"},
    {"cores-chart", '\0', POPT_ARG_STRING, &cores_path, 0, "draw performance over cores as SVG",
     "FILE"},
    {"sweep-chart", '\0', POPT_ARG_STRING, &sweep_path, 0, "draw cycles over the size as SVG",
     "FILE"},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

static void write_chart(const void *content, FILE *out)
{
    lull_chart_write(content, out);
}

/* ---- one set of sizes ----------------------------------------------------------------------- */

/* The same kernel on all cores of a memory domain, for the upper roofs. */
static const struct lull_roofline *on_all_cores(const struct lull_kernel_wish *wish,
                                                const struct lull_kernel_prediction *prediction,
                                                struct lull_arena *arena)
{
    struct lull_kernel_options all = wish->options;
    struct lull_kernel_prediction *other = lull_arena_alloc(arena, sizeof *other);
    all.cores = (unsigned)prediction->n_points;
    all.simulate = false;
    all.traffic = LULL_TRAFFIC_CONDITIONS;
    if (all.cores <= wish->options.cores ||
        lull_kernel_predict(wish->kernel, wish->machine, &wish->source, &all, &prediction->incore,
                            arena, other, NULL) != LULL_OK)
        return NULL;
    return &other->roofline;
}

static int draw(const struct lull_kernel_wish *wish,
                const struct lull_kernel_prediction *prediction,
                const struct lull_kernel_measured *measured, struct lull_arena *arena)
{
    int status = LULL_EXIT_OK;
    if (roofline_path)
        status = lull_output_save(roofline_path, write_chart,
                                  lull_kernel_roofline_chart(prediction,
                                                             on_all_cores(wish, prediction, arena),
                                                             measured, arena));
    if (cores_path && status == LULL_EXIT_OK)
        status =
            lull_output_save(cores_path, write_chart, lull_kernel_cores_chart(prediction, arena));
    return status;
}

static int predict_one(const struct lull_kernel_wish *wish, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    struct lull_kernel_prediction prediction;
    struct lull_kernel_measured measured;
    struct lull_kernel_show show = {.ports = ports};
    struct lull_error err;
    if (lull_kernel_predict(wish->kernel, wish->machine, &wish->source, &wish->options, NULL, arena,
                            &prediction, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    if (settings.run) {
        if (lull_kernel_run_here(wish, arena, &measured, &err) != LULL_OK)
            return lull_cli_fail("%s", err.text);
        show.measured = &measured;
    }
    const struct lull_document *document =
        lull_kernel_document(&prediction, &show, &notices, arena);
    lull_cli_warn_all(&notices);
    int status = draw(wish, &prediction, show.measured, arena);
    return status == LULL_EXIT_OK ? lull_output_write(&output, document) : status;
}

/* ---- a sweep -------------------------------------------------------------------------------- */

static lull_status predict_at(struct lull_kernel_wish *wish, size_t number,
                              struct lull_kernel_prediction *predictions,
                              struct lull_kernel_measured *measured, struct lull_arena *arena,
                              struct lull_error *err)
{
    struct lull_kernel *kernel = lull_arena_alloc(arena, sizeof *kernel);
    *kernel = *wish->kernel; /* each prediction keeps its own sizes */
    lull_kernel_resize(kernel, wish->sweep, wish->values[number]);
    lull_status status = lull_kernel_check(kernel, err);
    if (status == LULL_OK)
        status = lull_kernel_predict(kernel, wish->machine, &wish->source, &wish->options,
                                     number ? &predictions[0].incore : NULL, arena,
                                     &predictions[number], err);
    if (status == LULL_OK && settings.run) {
        struct lull_kernel_wish one = *wish;
        one.kernel = kernel;
        status = lull_kernel_run_here(&one, arena, &measured[number], err);
    }
    return status == LULL_OK
               ? status
               : lull_fail_prefix(err, status, "%s=%.0f", wish->sweep, wish->values[number]);
}

static int predict_sweep(struct lull_kernel_wish *wish, struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    struct lull_kernel_prediction *predictions =
        lull_arena_zero(arena, wish->n_values, sizeof *predictions);
    struct lull_kernel_measured *measured =
        lull_arena_zero(arena, wish->n_values, sizeof *measured);
    struct lull_error err;
    for (size_t i = 0; i < wish->n_values; i++)
        if (predict_at(wish, i, predictions, measured, arena, &err) != LULL_OK)
            return lull_cli_fail("%s", err.text);
    measured = settings.run ? measured : NULL;
    const struct lull_document *document = lull_kernel_sweep_document(
        predictions, wish->values, wish->n_values, wish->sweep, measured, &notices, arena);
    lull_cli_warn_all(&notices);
    int status = LULL_EXIT_OK;
    if (sweep_path)
        status = lull_output_save(sweep_path, write_chart,
                                  lull_kernel_sweep_chart(predictions, wish->values, wish->n_values,
                                                          wish->sweep, measured, arena));
    return status == LULL_EXIT_OK ? lull_output_write(&output, document) : status;
}

static int predict(const char *operand, struct lull_arena *arena)
{
    struct lull_kernel_wish wish = {0};
    int status = lull_output_check(&output);
    if (status == LULL_EXIT_OK)
        status = lull_kernel_settings_read(&settings, operand, arena, &wish);
    if (status == LULL_EXIT_OK && wish.sweep && (roofline_path || cores_path))
        status = lull_cli_usage("--roofline-chart and --cores-chart are for one set of sizes");
    if (status == LULL_EXIT_OK && !wish.sweep && sweep_path)
        status = lull_cli_usage("--sweep-chart is for --sweep");
    if (status == LULL_EXIT_OK)
        status = lull_kernel_wish_load(&wish, arena);
    if (status != LULL_EXIT_OK)
        return status;
    return wish.sweep ? predict_sweep(&wish, arena) : predict_one(&wish, arena);
}

static int run(poptContext context)
{
    const char **operands = poptGetArgs(context);
    if (!operands || !operands[0] || operands[1])
        return lull_cli_usage("expected one KERNEL");
    struct lull_arena *arena = lull_cli_arena();
    int status = predict(operands[0], arena);
    lull_arena_destroy(arena);
    return status;
}

const struct lull_command lull_cmd_model_kernel = {
    .name = "model kernel",
    .summary = "a loop nest: traffic, Roofline, ECM, saturation",
    .operands = "KERNEL.c|FILE.c:FUNCTION|FILE.c:MARK",
    .details =
        "A KERNEL.c holds declarations and one loop nest; sizes are given by -D. In a source file\n"
        "loops are named by their function, or by a mark before them: #pragma lull kernel MARK\n\n"
        "examples:\n"
        "  lull model kernel triad.c -D N=1000000 --machine machine.json\n"
        "  lull model kernel stencil.c -D N=1000 -D M=1000 --machine machine.json --run\n"
        "  lull model kernel stencil.c -D M=1000 --sweep N=100:10000:20 --machine machine.json\n"
        "  lull model kernel solver.c:relax -D n=4000 --machine machine.json --cflags '-O2 "
        "-Iinc'\n",
    .options = options,
    .run = run,
};
