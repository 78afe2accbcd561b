#include "base/text.h"
#include "bench/sparse/sparse.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/options.h"
#include "view/spmv/spmv_document.h"

#include <math.h>

enum { USUAL_CHUNK = 32, USUAL_SIGMA = 256 };

/* What the user typed. */
static struct {
    char *machine, *cores, *storage, *bytes, *t_ol, *t_nol, *rows, *nonzeros, *seconds, *chart;
    int chunk, sigma, transposed, reorder, run, threads, list;
} settings;
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"machine", 'm', POPT_ARG_STRING, &settings.machine, 0,
     "the machine to predict for, a file of `lull bench` or of data/ (intensities alone)", "FILE"},
    {"cores", 'n', POPT_ARG_STRING, &settings.cores, 0,
     "numbers of cores (1, 2, 4, ... and those of a memory domain)", "N,..."},
    {"storage", '\0', POPT_ARG_STRING, &settings.storage, 0,
     "how the matrix is stored: compressed rows, or SELL-C-sigma (crs)", "crs|sell"},
    {"chunk", '\0', POPT_ARG_INT, &settings.chunk, 0, "C of SELL-C-sigma (32)", "ROWS"},
    {"sigma", '\0', POPT_ARG_INT, &settings.sigma, 0,
     "rows that SELL-C-sigma sorts by length (256)", "ROWS"},
    {"transposed", '\0', POPT_ARG_NONE, &settings.transposed, 0, "y = A^T x instead of y = A x",
     NULL},
    {"reorder", '\0', POPT_ARG_NONE, &settings.reorder, 0,
     "say whether reverse Cuthill-McKee would help", NULL},
    {"run", '\0', POPT_ARG_NONE, &settings.run, 0,
     "measure on this machine, too, and print the errors of the predictions", NULL},
    {"seconds", '\0', POPT_ARG_STRING, &settings.seconds, 0,
     "that --run takes for each number of cores (2)", "SECONDS"},
    {"bytes", '\0', POPT_ARG_STRING, &settings.bytes, 0,
     "bytes from and to memory that were measured of one product: alpha follows", "SIZE"},
    {"t-ol", '\0', POPT_ARG_STRING, &settings.t_ol, 0,
     "cycles in the core per 8 nonzeros that overlap with transfers (estimated)", "CYCLES"},
    {"t-nol", '\0', POPT_ARG_STRING, &settings.t_nol, 0,
     "and those of loads and stores, which do not (estimated)", "CYCLES"},
    {"rows", '\0', POPT_ARG_STRING, &settings.rows, 0,
     "instead of a MATRIX: its rows, for intensities alone", "N"},
    {"nonzeros", '\0', POPT_ARG_STRING, &settings.nonzeros, 0, "and its nonzeros", "N"},
    {"list", '\0', POPT_ARG_NONE, &settings.list, 0, "list the matrices that can be made", NULL},
    LULL_THREADS_OPTION(settings.threads, "threads to read and simulate with"),
    {"chart", '\0', POPT_ARG_STRING, &settings.chart, 0, "draw performance over cores as SVG",
     "FILE"},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

/* ---- what was typed ------------------------------------------------------------------------- */

static int check_combinations(bool has_matrix, bool has_sizes)
{
    if (has_matrix == has_sizes)
        return lull_cli_usage("expected a MATRIX, or --rows and --nonzeros");
    if (has_sizes && (!settings.rows || !settings.nonzeros))
        return lull_cli_usage("--rows and --nonzeros belong together");
    if (has_sizes && (settings.machine || settings.storage || settings.reorder || settings.run))
        return lull_cli_usage("--rows and --nonzeros give intensities alone");
    if (!settings.machine && (settings.run || settings.reorder || settings.chart || settings.cores))
        return lull_cli_usage("%s needs --machine FILE: `lull bench -o FILE` writes one",
                              settings.run       ? "--run"
                              : settings.reorder ? "--reorder"
                              : settings.chart   ? "--chart"
                                                 : "--cores");
    if (settings.chunk < 0 || settings.chunk > LULL_SPARSE_MOST_CHUNK || settings.sigma < 0)
        return lull_cli_usage("--chunk and --sigma are numbers above 0, --chunk up to %d",
                              LULL_SPARSE_MOST_CHUNK);
    return LULL_EXIT_OK;
}

static int read_storage(struct lull_spmv_wish *wish)
{
    static const char *const storages[] = {"crs", "sell", NULL};
    unsigned storage;
    struct lull_error err;
    if (lull_option_word("storage", settings.storage, storages, &storage, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    bool is_sell = storage == 2;
    if (is_sell && settings.transposed)
        return lull_cli_usage("--transposed is for --storage crs");
    if (!is_sell && (settings.chunk || settings.sigma))
        return lull_cli_usage("--chunk and --sigma are for --storage sell");
    wish->chunk = !is_sell ? 0 : settings.chunk ? (uint32_t)settings.chunk : USUAL_CHUNK;
    wish->sigma = settings.sigma ? (uint32_t)settings.sigma : USUAL_SIGMA;
    return LULL_EXIT_OK;
}

static int read_numbers(struct lull_spmv_wish *wish, struct lull_arena *arena)
{
    struct lull_error err;
    lull_status status = lull_option_real("t-ol", settings.t_ol, 0, &wish->core.t_ol, &err);
    if (status == LULL_OK)
        status = lull_option_real("t-nol", settings.t_nol, 0, &wish->core.t_nol, &err);
    if (status == LULL_OK)
        status = lull_option_real("seconds", settings.seconds, 0.01, &wish->seconds, &err);
    if (status != LULL_OK)
        return lull_cli_usage("%s", err.text);
    if (settings.cores &&
        lull_spmv_cores_read(settings.cores, arena, &wish->cores, &wish->n_cores, &err) != LULL_OK)
        return lull_cli_usage("--cores is %s", err.text);
    return LULL_EXIT_OK;
}

static int read_settings(struct lull_spmv_wish *wish, double *ret_volume, struct lull_arena *arena)
{
    struct lull_error err;
    uint64_t bytes;
    int status = check_combinations(wish->matrix != NULL, settings.rows || settings.nonzeros);
    if (status == LULL_EXIT_OK)
        status = read_storage(wish);
    if (status == LULL_EXIT_OK)
        status = read_numbers(wish, arena);
    if (status != LULL_EXIT_OK)
        return status;
    if (settings.bytes && lull_parse_size(settings.bytes, &bytes, &err) != LULL_OK)
        return lull_cli_usage("--bytes: %s", err.text);
    *ret_volume = settings.bytes ? (double)bytes : NAN;
    wish->machine = settings.machine;
    wish->transposed = settings.transposed;
    wish->run = settings.run;
    wish->reorder = settings.reorder;
    wish->workers = (unsigned)settings.threads;
    return LULL_EXIT_OK;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int study_sizes(struct lull_spmv_study *ret_study)
{
    struct lull_error err;
    double rows, nonzeros;
    if (lull_option_real("rows", settings.rows, 1, &rows, &err) != LULL_OK ||
        lull_option_real("nonzeros", settings.nonzeros, 1, &nonzeros, &err) != LULL_OK)
        return lull_cli_usage("%s", err.text);
    *ret_study = lull_spmv_study_of_sizes(rows, nonzeros, settings.transposed);
    return LULL_EXIT_OK;
}

static int study_matrix(const struct lull_spmv_wish *wish, struct lull_spmv_study *ret_study,
                        struct lull_arena *arena)
{
    struct lull_notices notices = {.arena = arena};
    struct lull_error err;
    lull_status status = lull_spmv_study_make(wish, &notices, arena, ret_study, &err);
    lull_cli_warn_all(&notices);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", err.text);
}

static int run(poptContext context, struct lull_arena *arena)
{
    struct lull_spmv_wish wish = {.core = {NAN, NAN}, .seconds = 2};
    struct lull_spmv_study study;
    double volume;
    if (settings.list)
        return lull_output_write(&output, lull_spmv_list(arena));
    wish.matrix = poptGetArg(context);
    if (poptPeekArg(context))
        return lull_cli_usage("expected one MATRIX");
    int status = read_settings(&wish, &volume, arena);
    if (status == LULL_EXIT_OK)
        status = wish.matrix ? study_matrix(&wish, &study, arena) : study_sizes(&study);
    if (status != LULL_EXIT_OK)
        return status;
    study.volume = volume;
    if (settings.chart)
        status = lull_output_chart(settings.chart, lull_spmv_chart(&study, arena));
    return status == LULL_EXIT_OK ? lull_output_write(&output, lull_spmv_document(&study, arena))
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
    .options = options,
    .output = &output,
    .run = run,
};
