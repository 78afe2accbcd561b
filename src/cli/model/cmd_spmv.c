/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull model spmv`: predicts sparse matrix times vector (Roofline and ECM). */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "view/spmv_document.h"

/* What the user typed. */
static struct lull_spmv_texts spmv_texts;
static struct {
    char *machine, *chart;
    int transposed, reorder, run, threads, list;
} spmv_settings;
static struct lull_output_settings spmv_output;

static const struct poptOption spmv_options[] = {
    {"machine", 'm', POPT_ARG_STRING, &spmv_settings.machine, 0,
     "the machine to predict for, a file of `lull bench` or of data/ (intensities alone)", "FILE"},
    {"cores", 'n', POPT_ARG_STRING, &spmv_texts.cores, 0,
     "numbers of cores (1, 2, 4, ... and those of a memory domain)", "N,..."},
    {"storage", '\0', POPT_ARG_STRING, &spmv_texts.storage, 0,
     "how the matrix is stored: compressed rows, or SELL-C-sigma (crs)", "crs|sell"},
    {"chunk", '\0', POPT_ARG_INT, &spmv_texts.chunk, 0, "C of SELL-C-sigma (32)", "ROWS"},
    {"sigma", '\0', POPT_ARG_INT, &spmv_texts.sigma, 0,
     "rows that SELL-C-sigma sorts by length (256)", "ROWS"},
    {"transposed", '\0', POPT_ARG_NONE, &spmv_settings.transposed, 0,
     "y = A^T x instead of y = A x", NULL},
    {"reorder", '\0', POPT_ARG_NONE, &spmv_settings.reorder, 0,
     "say whether reverse Cuthill-McKee would help", NULL},
    {"run", '\0', POPT_ARG_NONE, &spmv_settings.run, 0,
     "measure on this machine, too, and print the errors of the predictions", NULL},
    {"seconds", '\0', POPT_ARG_STRING, &spmv_texts.seconds, 0,
     "that --run takes for each number of cores (2)", "SECONDS"},
    {"bytes", '\0', POPT_ARG_STRING, &spmv_texts.bytes, 0,
     "bytes from and to memory that were measured of one product: alpha follows", "SIZE"},
    {"t-ol", '\0', POPT_ARG_STRING, &spmv_texts.t_ol, 0,
     "cycles in the core per 8 nonzeros that overlap with transfers (estimated)", "CYCLES"},
    {"t-nol", '\0', POPT_ARG_STRING, &spmv_texts.t_nol, 0,
     "and those of loads and stores, which do not (estimated)", "CYCLES"},
    {"rows", '\0', POPT_ARG_STRING, &spmv_texts.rows, 0,
     "instead of a MATRIX: its rows, for intensities alone", "N"},
    {"nonzeros", '\0', POPT_ARG_STRING, &spmv_texts.nonzeros, 0, "and its nonzeros", "N"},
    {"list", '\0', POPT_ARG_NONE, &spmv_settings.list, 0, "list the matrices that can be made",
     NULL},
    LULL_THREADS_OPTION(spmv_settings.threads, "threads to read and simulate with"),
    {"chart", '\0', POPT_ARG_STRING, &spmv_settings.chart, 0, "draw performance over cores as SVG",
     "FILE"},
    LULL_OUTPUT_OPTIONS(spmv_output),
    POPT_TABLEEND,
};

/* ---- what was typed -------------------------------------------------------------------------- */

static lull_status check_combinations(bool has_matrix, bool has_sizes, struct lull_error *err)
{
    const char *of_machine =
        lull_option_said(spmv_options, LULL_OPTION_NAMES("run", "reorder", "chart", "cores"));
    if (has_matrix == has_sizes)
        return lull_fail(err, LULL_ERR_RANGE, "expected a MATRIX, or --rows and --nonzeros");
    if (has_sizes && (!spmv_texts.rows || !spmv_texts.nonzeros))
        return lull_fail(err, LULL_ERR_RANGE, "--rows and --nonzeros belong together");
    if (has_sizes &&
        (spmv_settings.machine || spmv_texts.storage || spmv_settings.reorder || spmv_settings.run))
        return lull_fail(err, LULL_ERR_RANGE, "--rows and --nonzeros give intensities alone");
    if (!spmv_settings.machine && of_machine)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--%s needs --machine FILE: `lull bench -o FILE` writes one", of_machine);
    return LULL_OK;
}

static lull_status read_spmv_settings(struct lull_spmv_wish *wish, struct lull_cli_call *call)
{
    wish->machine = spmv_settings.machine;
    wish->transposed = spmv_settings.transposed;
    wish->run = spmv_settings.run;
    wish->reorder = spmv_settings.reorder;
    wish->workers = (unsigned)spmv_settings.threads;
    lull_status status = check_combinations(wish->matrix != NULL,
                                            spmv_texts.rows || spmv_texts.nonzeros, &call->err);
    return status == LULL_OK ? lull_spmv_wish_read(&spmv_texts, call->arena, wish, &call->err)
                             : status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_spmv(struct lull_cli_call *call)
{
    struct lull_spmv_wish wish = {0};
    struct lull_spmv_study study;
    if (spmv_settings.list)
        return lull_output_write(&spmv_output, lull_spmv_list(call->arena));
    if (call->n_operands > 1)
        return lull_cli_usage("expected one MATRIX");
    wish.matrix = call->operands[0];
    int status = lull_cli_read(call, read_spmv_settings(&wish, call));
    if (status != LULL_EXIT_OK)
        return status;
    status = lull_cli_done(
        call, lull_spmv_study_make(&wish, &call->notices, call->arena, &study, &call->err));
    if (status == LULL_EXIT_OK && spmv_settings.chart)
        status = lull_output_chart(spmv_settings.chart, lull_spmv_chart(&study, call->arena));
    return status == LULL_EXIT_OK
               ? lull_output_write(&spmv_output, lull_spmv_document(&study, call->arena))
               : status;
}

const struct lull_command lull_cmd_model_spmv = {
    .name = "model spmv",
    .summary = "sparse matrix times vector (Roofline and ECM)",
    .operands = "MATRIX",
    .details = "A MATRIX is a Matrix Market file, plain or .gz, or one that is made, as\n"
               "stencil5:nx=1000,ny=1000 (see --list).\n\n"
               "examples:\n"
               "  lull model spmv pwtk.mtx.gz --machine machine.json --run\n"
               "  lull model spmv stencil7:nx=200,ny=200,nz=200 -m machine.json --chart spmv.svg\n"
               "  lull model spmv random:n=1000000,row=8 -m machine.json --reorder\n"
               "  lull model spmv --rows 2063494 --nonzeros 14612663 --bytes 258MB\n",
    .options = spmv_options,
    .output = &spmv_output,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_spmv,
};
