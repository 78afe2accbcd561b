/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull model kernel`: predicts a loop nest: traffic, Roofline, ECM, saturation. */
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/run_code.h"
#include "view/hot_loops_document.h"
#include "view/kernel_document.h"

/* What the user typed. */
static struct lull_kernel_texts kernel_texts;
static struct {
    char *machine, *compiler, *mca;
    char *roofline_chart, *cores_chart, *sweep_chart, *of;
    int run, estimate, ports, force, threads;
} kernel_settings;
static struct lull_output_settings kernel_output;

static const struct poptOption kernel_options[] = {
    {"define", 'D', POPT_ARG_ARGV, &kernel_texts.sizes, 0, "value of a size", "NAME=VALUE"},
    {"machine", 'm', POPT_ARG_STRING, &kernel_settings.machine, 0,
     "machine file: of lull bench, or published", "FILE"},
    {"of", '\0', POPT_ARG_STRING, &kernel_settings.of, 0,
     "instead of a KERNEL: the ten loops in which RUN computed most, each beside what is measured",
     "RUN"},
    {"cores", 'n', POPT_ARG_STRING, &kernel_texts.cores, 0,
     "cores that work at the same time, each on arrays of these sizes (1)", "N"},
    {"sweep", '\0', POPT_ARG_STRING, &kernel_texts.sweep, 0,
     "one size over values with commas, or from:to:steps, evenly on a logarithmic scale",
     "NAME=VALUES"},
    {"run", '\0', POPT_ARG_NONE, &kernel_settings.run, 0,
     "compile and run it on this machine: prediction, measurement, error", NULL},
    {"traffic", '\0', POPT_ARG_STRING, &kernel_texts.traffic, 0,
     "what the models take lines from (conditions)", "conditions|simulation"},
    {"no-simulation", '\0', POPT_ARG_NONE, &kernel_texts.no_simulation, 0,
     "leave out the cache simulation beside the layer conditions", NULL},
    {"policy", '\0', POPT_ARG_STRING, &kernel_texts.policy, 0, "of simulated caches (lru)",
     "lru|plru"},
    {"index", '\0', POPT_ARG_ARGV, &kernel_texts.indices, 0,
     "what an index array holds: uniform, sequential, band:WIDTH, or a FILE of indices",
     "ARRAY=WHAT"},
    {"seed", '\0', POPT_ARG_STRING, &kernel_texts.seed, 0, "of random indices (1)", "N"},
    {"call", '\0', POPT_ARG_ARGV, &kernel_texts.calls, 0, "cycles of a call of a function",
     "NAME=CYCLES"},
    {"in-core", '\0', POPT_ARG_STRING, &kernel_texts.in_core, 0,
     "cycles per unit of work, instead of compiling; of several innermost loops one after the "
     "other",
     "T_OL,T_nOL[,...]"},
    {"cc", '\0', POPT_ARG_STRING, &kernel_settings.compiler, 0, "compiler (cc)", "PROGRAM"},
    {"cflags", '\0', POPT_ARG_STRING, &kernel_texts.flags, 0,
     "its options (-O3 -funroll-loops -march=..., for sums -ffast-math)", "OPTIONS"},
    {"mca", '\0', POPT_ARG_STRING, &kernel_settings.mca, 0, "llvm-mca (any version in PATH)",
     "PROGRAM"},
    {"estimate", '\0', POPT_ARG_NONE, &kernel_settings.estimate, 0,
     "do without llvm-mca: a rough estimate of the in-core times", NULL},
    {"ports", '\0', POPT_ARG_NONE, &kernel_settings.ports, 0,
     "show how busy each port is, and the loop", NULL},
    {"roofline-chart", '\0', POPT_ARG_STRING, &kernel_settings.roofline_chart, 0,
     "draw the Roofline as SVG", "FILE"},
    {"cores-chart", '\0', POPT_ARG_STRING, &kernel_settings.cores_chart, 0,
     "draw performance over cores as SVG", "FILE"},
    {"sweep-chart", '\0', POPT_ARG_STRING, &kernel_settings.sweep_chart, 0,
     "draw cycles over the size as SVG", "FILE"},
    {"force", '\0', POPT_ARG_NONE, &kernel_settings.force, 0,
     "with --of: go on where the machine file is of another machine than RUN", NULL},
    LULL_THREADS_OPTION(kernel_settings.threads, "with --of: threads to read and compile with"),
    LULL_OUTPUT_OPTIONS(kernel_output),
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status read_kernel_settings(struct lull_kernel_wish *wish, const char *source,
                                        struct lull_cli_call *call)
{
    kernel_texts.source = source;
    if (!kernel_settings.machine)
        return lull_fail(&call->err, LULL_ERR_RANGE,
                         "expected --machine FILE; 'lull bench -o FILE' makes one of this machine");
    wish->options.incore.compiler = kernel_settings.compiler;
    wish->options.incore.mca = kernel_settings.mca;
    wish->options.incore.estimate = kernel_settings.estimate;
    lull_status status = lull_kernel_wish_read(&kernel_texts, call->arena, wish, &call->err);
    if (status != LULL_OK)
        return status;
    if (wish->sweep && (kernel_settings.roofline_chart || kernel_settings.cores_chart))
        return lull_fail(&call->err, LULL_ERR_RANGE,
                         "--roofline-chart and --cores-chart are for one set of sizes");
    return !wish->sweep && kernel_settings.sweep_chart
               ? lull_fail(&call->err, LULL_ERR_RANGE, "--sweep-chart is for --sweep")
               : LULL_OK;
}

/* ---- loops of a run -------------------------------------------------------------------------- */

/* Options that make no sense for loops of a run. */
static int check_of(const struct lull_cli_call *call)
{
    const char *said = lull_option_said(
        kernel_options,
        LULL_OPTION_NAMES("cores", "sweep", "run", "traffic", "no-simulation", "policy", "seed",
                          "in-core", "ports", "cores-chart", "sweep-chart"));
    if (call->n_operands != 0)
        return lull_cli_usage("--of RUN finds the loops itself: no KERNEL goes with it");
    return said ? lull_cli_usage("--of and --%s exclude each other", said) : LULL_EXIT_OK;
}

static lull_status load_of(struct lull_cli_call *call, struct lull_runs *runs)
{
    static const struct lull_code_options code = {.loops = true};
    const struct lull_asked asked = {.analysis = &lull_code_analysis, .options = &code};
    const struct lull_runs_options options = {.regions = true,
                                              .no_replay = true,
                                              .force = true,
                                              .workers = (unsigned)kernel_settings.threads,
                                              .asked = &asked,
                                              .n_asked = 1};
    const char *const paths[] = {kernel_settings.of};
    return lull_runs_load(paths, 1, &options, &call->notices, call->arena, runs, &call->err);
}

static lull_status find_of(const struct lull_kernel_wish *wish, const struct lull_runs *runs,
                           struct lull_cli_call *call, struct lull_hot_loops *loops)
{
    struct lull_machine *machine;
    lull_status status =
        lull_machine_read(kernel_settings.machine, call->arena, &machine, &call->err);
    if (status != LULL_OK)
        return status;
    struct lull_hot_wish hot = {.machine = machine,
                                .machine_path = kernel_settings.machine,
                                .force = kernel_settings.force,
                                .sizes = wish->source.sizes,
                                .n_sizes = wish->source.n_sizes,
                                .costs = wish->source.costs,
                                .n_costs = wish->source.n_costs,
                                .indices = wish->source.indices,
                                .n_indices = wish->source.n_indices,
                                .incore = wish->options.incore,
                                .workers = kernel_settings.threads > 0
                                               ? (unsigned)kernel_settings.threads
                                               : lull_worker_count()};
    hot.incore.here = lull_machine_is_here(machine);
    status = lull_hot_loops_find(&runs->runs[0], &hot, call->arena, loops, &call->err);
    return status == LULL_OK && loops->absent
               ? lull_fail(&call->err, LULL_ERR_RANGE, "%s: %s", kernel_settings.of, loops->absent)
               : status;
}

static int run_kernel_of(struct lull_cli_call *call)
{
    struct lull_kernel_wish wish = {0};
    struct lull_runs runs;
    struct lull_hot_loops loops;
    int status = check_of(call);
    if (status == LULL_EXIT_OK)
        status = lull_cli_read(call, read_kernel_settings(&wish, "", call));
    if (status != LULL_EXIT_OK)
        return status;
    lull_status done = load_of(call, &runs);
    if (done == LULL_OK)
        done = find_of(&wish, &runs, call, &loops);
    status = lull_cli_done(call, done);
    if (status == LULL_EXIT_OK && kernel_settings.roofline_chart) {
        const struct lull_chart *chart = lull_hot_loops_chart(&runs.runs[0], &loops, call->arena);
        status = chart ? lull_output_chart(kernel_settings.roofline_chart, chart)
                       : lull_cli_fail("--roofline-chart: no loop that is understood computes with "
                                       "floating-point numbers");
    }
    if (status == LULL_EXIT_OK)
        status =
            lull_output_write(&kernel_output, lull_hot_loops_document(&runs.runs[0], &loops,
                                                                      &call->notices, call->arena));
    lull_runs_close(&runs);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int draw_kernel_charts(const struct lull_kernel_wish *wish,
                              const struct lull_kernel_study *study, struct lull_arena *arena)
{
    const struct lull_kernel_prediction *prediction = study->predictions;
    int status = LULL_EXIT_OK;
    if (kernel_settings.roofline_chart)
        status = lull_output_chart(
            kernel_settings.roofline_chart,
            lull_kernel_roofline_chart(prediction, lull_kernel_all_cores(wish, prediction, arena),
                                       study->measured, arena));
    if (kernel_settings.cores_chart && status == LULL_EXIT_OK)
        status = lull_output_chart(kernel_settings.cores_chart,
                                   lull_kernel_cores_chart(prediction, arena));
    if (kernel_settings.sweep_chart && status == LULL_EXIT_OK)
        status = lull_output_chart(kernel_settings.sweep_chart,
                                   lull_kernel_sweep_chart(prediction, wish->values, study->count,
                                                           wish->sweep, study->measured, arena));
    return status;
}

static int run_kernel(struct lull_cli_call *call)
{
    struct lull_kernel_wish wish = {0};
    struct lull_kernel_study study;
    if (kernel_settings.of)
        return run_kernel_of(call);
    if (call->n_operands != 1)
        return lull_cli_usage("expected one KERNEL");
    int status = lull_cli_read(call, read_kernel_settings(&wish, call->operands[0], call));
    if (status != LULL_EXIT_OK)
        return status;
    if (lull_kernel_wish_load(&wish, kernel_settings.machine, call->arena, &call->err) != LULL_OK ||
        lull_kernel_study_make(&wish, kernel_settings.run, call->arena, &study, &call->err) !=
            LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    const struct lull_kernel_show show = {.ports = kernel_settings.ports,
                                          .measured = study.measured};
    const struct lull_document *document =
        wish.sweep
            ? lull_kernel_sweep_document(study.predictions, wish.values, study.count, wish.sweep,
                                         study.measured, &call->notices, call->arena)
            : lull_kernel_document(study.predictions, &show, &call->notices, call->arena);
    lull_cli_warn_all(&call->notices);
    status = draw_kernel_charts(&wish, &study, call->arena);
    return status == LULL_EXIT_OK ? lull_output_write(&kernel_output, document) : status;
}

const struct lull_command lull_cmd_model_kernel = {
    .name = "model kernel",
    .summary = "a loop nest: traffic, Roofline, ECM, saturation",
    .operands = "KERNEL.c|FILE.c:FUNCTION|FILE.c:MARK|--of RUN",
    .details =
        "A KERNEL.c holds declarations and one loop nest; sizes are given by -D. In a source file\n"
        "loops are named by their function, or by a mark before them: #pragma lull kernel MARK\n"
        "Fortran of free form is read likewise (FILE.f90:PROCEDURE, !$lull kernel MARK).\n\n"
        "examples:\n"
        "  lull model kernel triad.c -D N=1000000 --machine machine.json\n"
        "  lull model kernel stencil.c -D N=1000 -D M=1000 --machine machine.json --run\n"
        "  lull model kernel stencil.c -D M=1000 --sweep N=100:10000:20 --machine machine.json\n"
        "  lull model kernel solver.c:relax -D n=4000 --machine machine.json --cflags '-O2 "
        "-Iinc'\n"
        "  lull model kernel --of run.lull --machine machine.json\n",
    .options = kernel_options,
    .output = &kernel_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_kernel,
};
