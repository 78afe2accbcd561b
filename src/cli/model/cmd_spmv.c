#include "base/text.h"
#include "bench/sparse/sparse.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/spmv/generate.h"
#include "model/spmv/market.h"
#include "view/spmv/spmv_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORES = 4096, USUAL_CHUNK = 32, USUAL_SIGMA = 256 };

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
    {"threads", 'j', POPT_ARG_INT, &settings.threads, 0,
     "threads to read and simulate with (all processors)", "N"},
    {"chart", '\0', POPT_ARG_STRING, &settings.chart, 0, "draw performance over cores as SVG",
     "FILE"},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

struct work {
    struct lull_arena *arena;
    const char *name;
    struct lull_machine *machine; /* NULL: none */
    struct lull_matrix matrix;
    struct lull_sell sell;
    bool has_sell;
    struct lull_spmv_shape shape;
    struct lull_spmv_core core;
    unsigned *cores;
    size_t n_cores;
    double seconds;
    struct lull_spmv_view_point *points; /* n_cores */
    struct lull_spmv_view view;
};

static const struct lull_sell *sell_of(const struct work *work)
{
    return work->has_sell ? &work->sell : NULL;
}

/* ---- what was typed ------------------------------------------------------------------------- */

/* A number from `least` up, NAN where nothing was said. */
static int read_number(const char *option, const char *text, double least, double *ret_value)
{
    char *stop;
    if (!text)
        return LULL_EXIT_OK;
    *ret_value = strtod(text, &stop);
    if (stop == text || *stop || !(*ret_value >= least) || !isfinite(*ret_value))
        return lull_cli_usage("--%s is '%s', expected a number from %g up", option, text, least);
    return LULL_EXIT_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int read_cores(struct work *work)
{
    size_t capacity = 0, different = 0;
    for (const char *text = settings.cores; text;) {
        size_t length = strcspn(text, ",");
        uint64_t number;
        if (lull_parse_u64(text, length, &number) != LULL_OK || !number || number > MOST_CORES)
            return lull_cli_usage("--cores is '%s', expected numbers from 1 to %d with commas",
                                  settings.cores, MOST_CORES);
        work->cores = lull_arena_grow(work->arena, work->cores, &capacity, work->n_cores + 1,
                                      sizeof *work->cores);
        work->cores[work->n_cores++] = (unsigned)number;
        text = text[length] ? text + length + 1 : NULL;
    }
    if (!work->n_cores)
        return LULL_EXIT_OK;
    qsort(work->cores, work->n_cores, sizeof *work->cores, compare_numbers);
    for (size_t i = 0; i < work->n_cores; i++)
        if (!i || work->cores[i] != work->cores[i - 1])
            work->cores[different++] = work->cores[i];
    work->n_cores = different;
    return LULL_EXIT_OK;
}

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

static int read_storage(struct work *work)
{
    static const char *const storages[] = {"crs", "sell", NULL};
    unsigned storage;
    int status = lull_option_word("storage", settings.storage, storages, &storage);
    if (status != LULL_EXIT_OK)
        return status;
    work->has_sell = storage == 2;
    if (work->has_sell && settings.transposed)
        return lull_cli_usage("--transposed is for --storage crs");
    if (!work->has_sell && (settings.chunk || settings.sigma))
        return lull_cli_usage("--chunk and --sigma are for --storage sell");
    settings.chunk = settings.chunk ? settings.chunk : USUAL_CHUNK;
    settings.sigma = settings.sigma ? settings.sigma : USUAL_SIGMA;
    return LULL_EXIT_OK;
}

static int read_settings(poptContext context, struct work *work)
{
    struct lull_error err;
    uint64_t bytes;
    work->name = poptGetArg(context);
    if (poptPeekArg(context))
        return lull_cli_usage("expected one MATRIX");
    int status = check_combinations(work->name != NULL, settings.rows || settings.nonzeros);
    if (status == LULL_EXIT_OK)
        status = read_storage(work);
    if (status == LULL_EXIT_OK)
        status = read_number("t-ol", settings.t_ol, 0, &work->core.t_ol);
    if (status == LULL_EXIT_OK)
        status = read_number("t-nol", settings.t_nol, 0, &work->core.t_nol);
    if (status == LULL_EXIT_OK)
        status = read_number("seconds", settings.seconds, 0.01, &work->seconds);
    if (status == LULL_EXIT_OK)
        status = read_cores(work);
    if (status == LULL_EXIT_OK)
        status = lull_option_threads(settings.threads);
    if (status != LULL_EXIT_OK)
        return status;
    if (settings.bytes && lull_parse_size(settings.bytes, &bytes, &err) != LULL_OK)
        return lull_cli_usage("--bytes: %s", err.text);
    work->view.volume = settings.bytes ? (double)bytes : NAN;
    return lull_output_check(&output);
}

/* ---- the matrix ----------------------------------------------------------------------------- */

static int read_sizes(struct work *work)
{
    double rows = 0, nonzeros = 0;
    int status = read_number("rows", settings.rows, 1, &rows);
    if (status == LULL_EXIT_OK)
        status = read_number("nonzeros", settings.nonzeros, 1, &nonzeros);
    work->name = "sizes alone";
    work->shape = (struct lull_spmv_shape){.rows = rows,
                                           .columns = rows,
                                           .nonzeros = nonzeros,
                                           .value_bytes = 8,
                                           .flops = 2,
                                           .transposed = settings.transposed,
                                           .stored = nonzeros};
    work->view.storage = "CRS";
    return status;
}

static lull_status read_matrix(struct work *work, struct lull_error *err)
{
    lull_status status =
        lull_generator_find(work->name)
            ? lull_generate(work->name, &work->matrix, err)
            : lull_market_read(work->name, (unsigned)settings.threads, &work->matrix, err);
    if (status != LULL_OK)
        return status;
    if (!lull_matrix_nonzeros(&work->matrix))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has no nonzeros", work->name);
    work->view.storage = "CRS";
    if (work->has_sell) {
        status = lull_sell_build(&work->matrix, (uint32_t)settings.chunk, (uint32_t)settings.sigma,
                                 &work->sell, err);
        work->view.storage =
            lull_arena_printf(work->arena, "SELL-%d-%d", settings.chunk, settings.sigma);
    }
    if (status == LULL_OK)
        work->shape = lull_spmv_shape(&work->matrix, settings.transposed, sell_of(work));
    return status;
}

/* ---- the predictions ------------------------------------------------------------------------ */

/* 1, 2, 4, ... and all of a memory domain. */
static void choose_cores(struct work *work)
{
    unsigned all = work->machine->cpu.cores_per_numa_domain;
    if (!all)
        all = work->machine->cpu.cores ? work->machine->cpu.cores : 1;
    size_t capacity = 0;
    for (unsigned n = 1; work->n_cores == 0 || work->cores[work->n_cores - 1] < all; n *= 2) {
        work->cores = lull_arena_grow(work->arena, work->cores, &capacity, work->n_cores + 1,
                                      sizeof *work->cores);
        work->cores[work->n_cores++] = n < all ? n : all;
    }
}

static lull_status predict(struct work *work, struct lull_error *err)
{
    struct lull_spmv_view_point *points =
        lull_arena_zero(work->arena, work->n_cores, sizeof *points);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < work->n_cores; i++) {
        struct lull_spmv_traffic traffic;
        points[i].measured = NAN;
        status =
            lull_spmv_simulate(&work->matrix, sell_of(work), settings.transposed, work->machine,
                               work->cores[i], (unsigned)settings.threads, &traffic, err);
        if (status == LULL_OK)
            status = lull_spmv_predict(&work->shape, &traffic, work->machine, work->cores[i],
                                       &work->core, work->arena, &points[i].prediction, err);
    }
    work->view.points = work->points = points;
    work->view.n_points = work->n_cores;
    return status == LULL_OK ? status : lull_fail_prefix(err, status, "%s", settings.machine);
}

static lull_status reorder(struct work *work, struct lull_error *err)
{
    if (work->matrix.rows != work->matrix.columns)
        return lull_fail(err, LULL_ERR_RANGE, "--reorder: %u x %u, expected a square matrix",
                         work->matrix.rows, work->matrix.columns);
    uint32_t *order = lull_arena_try(work->arena, work->matrix.rows, sizeof *order);
    if (!order)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to reorder the matrix");
    struct lull_matrix other;
    struct lull_sell sell = {0};
    struct lull_spmv_traffic traffic;
    lull_status status = lull_matrix_rcm(&work->matrix, order, err);
    if (status == LULL_OK)
        status = lull_matrix_permute(&work->matrix, order, &other, err);
    if (status != LULL_OK)
        return status;
    if (work->has_sell)
        status =
            lull_sell_build(&other, (uint32_t)settings.chunk, (uint32_t)settings.sigma, &sell, err);
    if (status == LULL_OK)
        status = lull_spmv_simulate(&other, work->has_sell ? &sell : NULL, settings.transposed,
                                    work->machine, work->cores[work->n_cores - 1],
                                    (unsigned)settings.threads, &traffic, err);
    work->view.bandwidth[0] = lull_matrix_bandwidth(&work->matrix);
    work->view.bandwidth[1] = lull_matrix_bandwidth(&other);
    work->view.reordered_alpha = status == LULL_OK ? traffic.alpha : NAN;
    work->view.reordered = true;
    lull_sell_free(&sell);
    lull_matrix_free(&other);
    return status;
}

/* ---- the measurement ------------------------------------------------------------------------ */

static struct lull_sparse sparse_of(const struct work *work)
{
    const struct lull_matrix *matrix = &work->matrix;
    if (!work->has_sell)
        return (struct lull_sparse){.rows = matrix->rows,
                                    .columns = matrix->columns,
                                    .starts = matrix->starts,
                                    .column = matrix->column,
                                    .values = matrix->values};
    return (struct lull_sparse){.rows = matrix->rows,
                                .columns = matrix->columns,
                                .column = work->sell.column,
                                .values = work->sell.values,
                                .chunk = work->sell.chunk,
                                .chunk_starts = work->sell.starts,
                                .row = work->sell.row};
}

static lull_status measure_on(struct work *work, const struct lull_topology *topology,
                              unsigned threads, double *ret_seconds, struct lull_error *err)
{
    const struct lull_sparse sparse = sparse_of(work);
    struct lull_sparse_part *parts = lull_arena_zero(work->arena, threads, sizeof *parts);
    for (unsigned t = 0; t < threads; t++)
        lull_spmv_split(&work->matrix, sell_of(work), threads, t, &parts[t].first, &parts[t].last);
    const struct lull_sparse_job job = {.sparse = &sparse,
                                        .transposed = settings.transposed,
                                        .threads = threads,
                                        .parts = parts,
                                        .seconds = work->seconds};
    return lull_sparse_time(topology, &job, ret_seconds, err);
}

static lull_status measure(struct work *work, struct lull_error *err)
{
    struct lull_topology *topology;
    if (work->matrix.complex)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "--run: %s: complex matrices are not measured",
                         work->name);
    lull_status status = lull_topology_open(work->arena, &topology, err);
    if (status != LULL_OK)
        return status;
    for (size_t i = 0; status == LULL_OK && i < work->n_cores; i++)
        if (work->cores[i] <= topology->n_cores)
            status = measure_on(work, topology, work->cores[i], &work->points[i].measured, err);
        else
            lull_cli_warn("%u cores are not measured: this machine lends %zu", work->cores[i],
                          topology->n_cores);
    lull_topology_close(topology);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static lull_status study(struct work *work, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (settings.machine)
        status = lull_machine_read(settings.machine, work->arena, &work->machine, err);
    if (status == LULL_OK)
        status = read_matrix(work, err);
    if (status != LULL_OK || !work->machine)
        return status;
    work->view.machine_name = work->machine->name ? work->machine->name : settings.machine;
    if (!work->n_cores)
        choose_cores(work);
    status = predict(work, err);
    if (status == LULL_OK && settings.run)
        status = measure(work, err);
    if (status == LULL_OK && settings.reorder)
        status = reorder(work, err);
    return status;
}

static void write_chart(const void *content, FILE *out)
{
    lull_chart_write(content, out);
}

static int report(poptContext context, struct work *work)
{
    struct lull_error err;
    int status = read_settings(context, work);
    if (status != LULL_EXIT_OK)
        return status;
    if (!work->name)
        status = read_sizes(work);
    else if (study(work, &err) != LULL_OK)
        status = lull_cli_fail("%s", err.text);
    if (status != LULL_EXIT_OK)
        return status;
    work->view.name = work->name;
    work->view.shape = &work->shape;
    if (settings.chart)
        status = lull_output_save(settings.chart, write_chart,
                                  lull_spmv_chart(&work->view, work->arena));
    return status == LULL_EXIT_OK
               ? lull_output_write(&output, lull_spmv_document(&work->view, work->arena))
               : status;
}

static int run(poptContext context)
{
    struct work work = {.arena = lull_cli_arena(), .core = {NAN, NAN}, .seconds = 2};
    int status;
    if (settings.list) {
        status = lull_output_check(&output);
        if (status == LULL_EXIT_OK)
            status = lull_output_write(&output, lull_spmv_list(work.arena));
    } else {
        status = report(context, &work);
    }
    lull_sell_free(&work.sell);
    lull_matrix_free(&work.matrix);
    lull_arena_destroy(work.arena);
    return status;
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
    .run = run,
};
