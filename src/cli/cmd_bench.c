/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull bench`: measures what this machine can do, and writes it as a machine file and charts. */
#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "bench/benchmark.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "launch/executable.h"
#include "machine/noise_trace.h"
#include "view/machine_document.h"

#include <stdlib.h>
#include <string.h>

static struct lull_output_settings bench_output;
static struct {
    char *machine, *show, *charts, *precision, *memory, *noise_trace, *mpi, *mpi_launch;
    int quick, full, list, compare;
} bench_settings;

static const struct poptOption bench_options[] = {
    {"output", 'o', POPT_ARG_STRING, &bench_settings.machine, 0, "write the machine file", "FILE"},
    {"quick", 'q', POPT_ARG_NONE, &bench_settings.quick, 0, "everything in under a minute", NULL},
    {"full", '\0', POPT_ARG_NONE, &bench_settings.full, 0, "take the time to be sure", NULL},
    {"precision", '\0', POPT_ARG_STRING, &bench_settings.precision, 0,
     "how well numbers are to be known, in percent (1)", "PERCENT"},
    {"memory", '\0', POPT_ARG_STRING, &bench_settings.memory, 0,
     "memory to be used at most (half of what is free)", "SIZE"},
    {"mpi", '\0', POPT_ARG_STRING, &bench_settings.mpi, 0,
     "the MPI library to measure (the first that runs)", "openmpi|mpich"},
    {"mpi-launch", '\0', POPT_ARG_STRING, &bench_settings.mpi_launch, 0,
     "how to start MPI programs, such as 'srun -n 4'", "COMMAND"},
    {"charts", '\0', POPT_ARG_STRING, &bench_settings.charts, 0, "write charts into DIR, as SVG",
     "DIR"},
    {"noise-trace", '\0', POPT_ARG_STRING, &bench_settings.noise_trace, 0,
     "write the recorded noise, for simulations", "FILE"},
    {"list", 'l', POPT_ARG_NONE, &bench_settings.list, 0, "list the benchmarks", NULL},
    {"show", '\0', POPT_ARG_STRING, &bench_settings.show, 0, "print a machine file", "FILE"},
    {"compare", '\0', POPT_ARG_NONE, &bench_settings.compare, 0,
     "which numbers of two machine files differ", NULL},
    LULL_FORMAT_OPTION(bench_output),
    LULL_COLOUR_OPTION(bench_output),
    POPT_TABLEEND,
};

/* ---- machine files --------------------------------------------------------------------------- */

static lull_status export_noise(const struct lull_machine *machine, struct lull_cli_call *call)
{
    struct lull_noise_trace trace;
    lull_status status = lull_noise_trace_of(machine, call->arena, &trace, &call->err);
    return status == LULL_OK
               ? lull_noise_trace_save(bench_settings.noise_trace, &trace, &call->err)
               : lull_fail_prefix(&call->err, status, "%s", bench_settings.noise_trace);
}

static int show_measured_machine(const struct lull_machine *machine, struct lull_cli_call *call)
{
    lull_status status = LULL_OK;
    if (bench_settings.charts)
        status = lull_machine_charts_save(bench_settings.charts, machine, call->arena, &call->err);
    if (bench_settings.noise_trace && status == LULL_OK)
        status = export_noise(machine, call);
    return status == LULL_OK
               ? lull_output_write(&bench_output, lull_bench_document(machine, call->arena))
               : lull_cli_fail("%s", call->err.text);
}

static int show_file(struct lull_cli_call *call)
{
    struct lull_machine *machine;
    return lull_machine_read(bench_settings.show, call->arena, &machine, &call->err) == LULL_OK
               ? show_measured_machine(machine, call)
               : lull_cli_fail("%s", call->err.text);
}

static int compare(struct lull_cli_call *call)
{
    const char *const *paths = call->operands;
    struct lull_machine *a, *b;
    if (call->n_operands != 2)
        return lull_cli_usage("--compare expects two machine files");
    if (lull_machine_read(paths[0], call->arena, &a, &call->err) != LULL_OK ||
        lull_machine_read(paths[1], call->arena, &b, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    return lull_output_write(&bench_output,
                             lull_bench_comparison(a, paths[0], b, paths[1], call->arena));
}

/* ---- measuring ------------------------------------------------------------------------------- */

static lull_status read_limits(struct lull_bench_settings *bench, struct lull_error *err)
{
    lull_status status = lull_option_percent("precision", bench_settings.precision, 0.01, 100,
                                             &bench->precision, err);
    return status == LULL_OK ? lull_option_size("memory", bench_settings.memory, UINT64_C(1) << 20,
                                                "1 MiB or more", &bench->memory, err)
                             : status;
}

/* The line of the progress names what is measured at the moment. */
static void tell_bench_progress(void *context, double share, const char *what)
{
    struct lull_progress *progress = context;
    progress->what = what;
    lull_progress_update(progress, share);
}

/* Told before anything is measured. */
static int check_outputs(struct lull_arena *arena)
{
    const char *const paths[] = {bench_settings.machine, bench_settings.noise_trace,
                                 bench_settings.charts};
    int status = LULL_EXIT_OK;
    for (size_t i = 0; status == LULL_EXIT_OK && i < sizeof paths / sizeof *paths; i++) {
        const char *path = paths[i];
        if (path && lull_is_directory(path)) /* charts go into it */
            path = lull_arena_printf(arena, "%s/lull", path);
        if (path)
            status = lull_output_probe(path);
    }
    return status;
}

/* The words of "srun -n 4", where quotes keep blanks in a word. */
static int divide_launch(struct lull_cli_call *call, const char *const **ret_words)
{
    int n;
    const char **words;
    *ret_words = NULL;
    if (!bench_settings.mpi_launch)
        return LULL_EXIT_OK;
    if (poptParseArgvString(bench_settings.mpi_launch, &n, &words) != 0)
        return lull_cli_usage(
            "--mpi-launch is '%s', expected a command: a quote has no end, or nothing is there",
            bench_settings.mpi_launch);
    const char **kept = lull_arena_alloc(call->arena, ((size_t)n + 1) * sizeof *kept);
    for (int i = 0; i < n; i++)
        kept[i] = lull_arena_strdup(call->arena, words[i]);
    kept[n] = NULL;
    free(words);
    *ret_words = kept;
    if (n > LULL_BENCH_LAUNCH_WORDS)
        return lull_cli_usage("--mpi-launch is '%s', expected a command of at most %d words",
                              bench_settings.mpi_launch, LULL_BENCH_LAUNCH_WORDS);
    return LULL_EXIT_OK;
}

static int measure(struct lull_cli_call *call)
{
    const char *const *launch;
    int divided = divide_launch(call, &launch);
    if (divided != LULL_EXIT_OK)
        return divided;
    struct lull_bench_settings bench = {.effort = bench_settings.quick  ? LULL_EFFORT_QUICK
                                                  : bench_settings.full ? LULL_EFFORT_FULL
                                                                        : LULL_EFFORT_STANDARD,
                                        .helper_folders = lull_own_folders(call->arena),
                                        .mpi = bench_settings.mpi,
                                        .mpi_launch = launch,
                                        .progress = tell_bench_progress,
                                        .progress_context = &call->line};
    struct lull_machine *machine;
    lull_status read = lull_benchmarks_choose(call->operands, call->arena, &bench.wanted,
                                              &bench.n_wanted, &call->err);
    if (read == LULL_OK)
        read = read_limits(&bench, &call->err);
    int status = lull_cli_read(call, read);
    lull_interrupt_clean_up();
    if (status == LULL_EXIT_OK)
        status = check_outputs(call->arena);
    if (status != LULL_EXIT_OK)
        return status;
    lull_progress_begin(&call->line, "bench");
    lull_status done = lull_bench_run(&bench, NULL, call->arena, &machine, &call->err);
    lull_progress_end(&call->line);
    if (done == LULL_OK && bench_settings.machine)
        done = lull_machine_save(bench_settings.machine, machine, &call->err);
    return done == LULL_OK ? show_measured_machine(machine, call)
                           : lull_cli_fail("%s", call->err.text);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_usage(const char *operand)
{
    int modes = bench_settings.list + bench_settings.compare + (bench_settings.show != NULL);
    if (bench_settings.quick && bench_settings.full)
        return lull_cli_usage("--quick and --full exclude each other");
    if (modes > 1)
        return lull_cli_usage("--list, --show and --compare exclude each other");
    if (modes &&
        lull_option_said(bench_options, LULL_OPTION_NAMES("quick", "full", "output", "precision",
                                                          "memory", "mpi", "mpi-launch")))
        return lull_cli_usage("--list, --show and --compare measure nothing");
    if (bench_settings.charts && (bench_settings.list || bench_settings.compare))
        return lull_cli_usage("--charts goes with measuring or with --show");
    if (bench_settings.mpi && strcmp(bench_settings.mpi, "openmpi") != 0 &&
        strcmp(bench_settings.mpi, "mpich") != 0)
        return lull_cli_usage("--mpi is '%s', expected openmpi or mpich", bench_settings.mpi);
    if (bench_settings.noise_trace && (bench_settings.list || bench_settings.compare))
        return lull_cli_usage("--noise-trace goes with measuring or with --show");
    if ((bench_settings.list || bench_settings.show) && operand)
        return lull_cli_usage("unexpected '%s'", operand);
    if (bench_settings.machine && lull_is_directory(bench_settings.machine))
        return lull_cli_usage("--output '%s' is a directory, expected a file",
                              bench_settings.machine);
    return LULL_EXIT_OK;
}

static int run_bench(struct lull_cli_call *call)
{
    int status = check_usage(call->operands[0]);
    if (status != LULL_EXIT_OK)
        return status;
    if (bench_settings.list)
        return lull_output_write(&bench_output, lull_bench_list(call->arena));
    if (bench_settings.show)
        return show_file(call);
    return bench_settings.compare ? compare(call) : measure(call);
}

const struct lull_command lull_cmd_bench = {
    .name = "bench",
    .summary = "measure what this machine can do",
    .operands = "[NAME...]",
    .details = "NAME is a benchmark or a group of them (--list); without one all are run.\n\n"
               "examples:\n"
               "  lull bench --quick -o machine.json       measure and keep the numbers\n"
               "  lull bench load copy triad               single benchmarks\n"
               "  lull bench --show machine.json --charts charts\n"
               "  lull bench --compare before.json after.json\n",
    .options = bench_options,
    .output = &bench_output,
    .under_mpirun = LULL_REFUSES,
    .run = run_bench,
};
