/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/spmv_study.h"

#include "base/text.h"
#include "bench/sparse.h"
#include "model/spmv/generate.h"
#include "model/spmv/market.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the wish ================================================================================ */

enum { MOST_SPMV_CORES = 4096, USUAL_CHUNK = 32, USUAL_SIGMA = 256 };

static int compare_numbers(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static lull_status read_cores(const char *text, struct lull_arena *arena,
                              struct lull_spmv_wish *wish, struct lull_error *err)
{
    size_t count, different = 0;
    if (!text)
        return LULL_OK;
    const char **pieces = lull_split(text, ",", arena, &count);
    unsigned *cores = lull_arena_zero(arena, count, sizeof *cores);
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        if (lull_parse_u64(pieces[i], strlen(pieces[i]), &number) != LULL_OK || !number ||
            number > MOST_SPMV_CORES)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--cores is '%s', expected numbers from 1 to %d with commas", text,
                             MOST_SPMV_CORES);
        cores[i] = (unsigned)number;
    }
    qsort(cores, count, sizeof *cores, compare_numbers);
    for (size_t i = 0; i < count; i++)
        if (!i || cores[i] != cores[i - 1])
            cores[different++] = cores[i];
    wish->cores = cores;
    wish->n_cores = different;
    return LULL_OK;
}

static lull_status read_storage(const struct lull_spmv_texts *texts, struct lull_spmv_wish *wish,
                                struct lull_error *err)
{
    static const char *const storages[] = {"crs", "sell", NULL};
    unsigned storage;
    if (texts->chunk < 0 || texts->chunk > LULL_SPARSE_MOST_CHUNK || texts->sigma < 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--chunk and --sigma are numbers above 0, --chunk up to %d",
                         LULL_SPARSE_MOST_CHUNK);
    lull_status status = lull_option_word("storage", texts->storage, storages, &storage, err);
    if (status != LULL_OK)
        return status;
    bool is_sell = storage == 2;
    if (is_sell && wish->transposed)
        return lull_fail(err, LULL_ERR_RANGE, "--transposed is for --storage crs");
    if (!is_sell && (texts->chunk || texts->sigma))
        return lull_fail(err, LULL_ERR_RANGE, "--chunk and --sigma are for --storage sell");
    wish->chunk = !is_sell ? 0 : texts->chunk ? (uint32_t)texts->chunk : USUAL_CHUNK;
    wish->sigma = texts->sigma ? (uint32_t)texts->sigma : USUAL_SIGMA;
    return LULL_OK;
}

lull_status lull_spmv_wish_read(const struct lull_spmv_texts *texts, struct lull_arena *arena,
                                struct lull_spmv_wish *wish, struct lull_error *err)
{
    uint64_t volume = 0;
    wish->core = (struct lull_spmv_core){NAN, NAN};
    wish->seconds = 2;
    lull_status status = read_storage(texts, wish, err);
    if (status == LULL_OK)
        status = lull_option_real("t-ol", texts->t_ol, 0, &wish->core.t_ol, err);
    if (status == LULL_OK)
        status = lull_option_real("t-nol", texts->t_nol, 0, &wish->core.t_nol, err);
    if (status == LULL_OK)
        status = lull_option_real("seconds", texts->seconds, 0.01, &wish->seconds, err);
    if (status == LULL_OK)
        status = read_cores(texts->cores, arena, wish, err);
    if (status == LULL_OK)
        status = lull_option_size("bytes", texts->bytes, 0, "", &volume, err);
    wish->volume = texts->bytes ? (double)volume : NAN;
    if (status == LULL_OK)
        status = lull_option_real("rows", texts->rows, 1, &wish->rows, err);
    return status == LULL_OK
               ? lull_option_real("nonzeros", texts->nonzeros, 1, &wish->nonzeros, err)
               : status;
}

/* ==== the study =============================================================================== */

/* What one study works on. */
struct spmv_work {
    const struct lull_spmv_wish *wish;
    struct lull_arena *arena;
    struct lull_machine *machine;
    struct lull_matrix matrix;
    struct lull_sell built;
    const struct lull_sell *sell; /* NULL: CRS */
    const unsigned *cores;
    size_t n_cores;
    struct lull_spmv_study study;
};

/* ---- numbers of cores ------------------------------------------------------------------------ */

/* Chooses the numbers of cores: 1, 2, 4, ... and all of a memory domain. */
static void choose_cores(struct spmv_work *work)
{
    unsigned all = work->machine->cpu.cores_per_numa_domain, *cores = NULL;
    size_t count = 0, capacity = 0;
    if (!all)
        all = work->machine->cpu.cores ? work->machine->cpu.cores : 1;
    for (unsigned n = 1; count == 0 || cores[count - 1] < all; n *= 2) {
        cores = lull_arena_grow(work->arena, cores, &capacity, count + 1, sizeof *cores);
        cores[count++] = n < all ? n : all;
    }
    work->cores = cores;
    work->n_cores = count;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* The study of a matrix of which only the sizes are known: it predicts intensities alone. */
static struct lull_spmv_study study_sizes(const struct lull_spmv_wish *wish)
{
    return (struct lull_spmv_study){.name = "sizes alone",
                                    .storage = "CRS",
                                    .shape = {.rows = wish->rows,
                                              .columns = wish->rows,
                                              .nonzeros = wish->nonzeros,
                                              .value_bytes = 8,
                                              .flops = 2,
                                              .transposed = wish->transposed,
                                              .stored = wish->nonzeros},
                                    .volume = wish->volume};
}

static lull_status read_matrix(struct spmv_work *work, struct lull_error *err)
{
    const struct lull_spmv_wish *wish = work->wish;
    lull_status status = lull_generator_find(wish->matrix)
                             ? lull_generate(wish->matrix, &work->matrix, err)
                             : lull_market_read(wish->matrix, wish->workers, &work->matrix, err);
    if (status != LULL_OK)
        return status;
    if (!lull_matrix_nonzeros(&work->matrix))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has no nonzeros", wish->matrix);
    work->study.storage = "CRS";
    if (wish->chunk) {
        status = lull_sell_build(&work->matrix, wish->chunk, wish->sigma, &work->built, err);
        work->sell = &work->built;
        work->study.storage =
            lull_arena_printf(work->arena, "SELL-%u-%u", wish->chunk, wish->sigma);
    }
    if (status == LULL_OK)
        work->study.shape = lull_spmv_shape(&work->matrix, wish->transposed, work->sell);
    return status;
}

/* ---- the predictions ------------------------------------------------------------------------- */

static lull_status predict_spmv(struct spmv_work *work, struct lull_error *err)
{
    const struct lull_spmv_wish *wish = work->wish;
    struct lull_spmv_point *points = lull_arena_zero(work->arena, work->n_cores, sizeof *points);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < work->n_cores; i++) {
        struct lull_spmv_traffic traffic;
        points[i].measured = NAN;
        status = lull_spmv_simulate(&work->matrix, work->sell, wish->transposed, work->machine,
                                    work->cores[i], wish->workers, &traffic, err);
        if (status == LULL_OK)
            status = lull_spmv_predict(&work->study.shape, &traffic, work->machine, work->cores[i],
                                       &wish->core, work->arena, &points[i].prediction, err);
    }
    work->study.points = points;
    work->study.n_points = work->n_cores;
    return status == LULL_OK ? status : lull_fail_prefix(err, status, "%s", wish->machine);
}

static lull_status simulate_reordered(struct spmv_work *work, const struct lull_matrix *other,
                                      double *ret_alpha, struct lull_error *err)
{
    const struct lull_spmv_wish *wish = work->wish;
    struct lull_sell sell = {0};
    struct lull_spmv_traffic traffic = {.alpha = NAN};
    lull_status status =
        wish->chunk ? lull_sell_build(other, wish->chunk, wish->sigma, &sell, err) : LULL_OK;
    if (status == LULL_OK)
        status =
            lull_spmv_simulate(other, wish->chunk ? &sell : NULL, wish->transposed, work->machine,
                               work->cores[work->n_cores - 1], wish->workers, &traffic, err);
    *ret_alpha = traffic.alpha;
    lull_sell_free(&sell);
    return status;
}

static lull_status reorder(struct spmv_work *work, struct lull_error *err)
{
    if (work->matrix.rows != work->matrix.columns)
        return lull_fail(err, LULL_ERR_RANGE, "--reorder: %u x %u, expected a square matrix",
                         work->matrix.rows, work->matrix.columns);
    uint32_t *order = lull_arena_try(work->arena, work->matrix.rows, sizeof *order);
    if (!order)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to reorder the matrix");
    struct lull_matrix other;
    lull_status status = lull_matrix_rcm(&work->matrix, order, err);
    if (status == LULL_OK)
        status = lull_matrix_permute(&work->matrix, order, &other, err);
    if (status != LULL_OK)
        return status;
    status = simulate_reordered(work, &other, &work->study.reordered_alpha, err);
    work->study.bandwidth[0] = lull_matrix_bandwidth(&work->matrix);
    work->study.bandwidth[1] = lull_matrix_bandwidth(&other);
    work->study.reordered = true;
    lull_matrix_free(&other);
    return status;
}

/* ---- the measurement ------------------------------------------------------------------------- */

static struct lull_sparse sparse_of(const struct spmv_work *work)
{
    const struct lull_matrix *matrix = &work->matrix;
    const struct lull_sell *sell = work->sell;
    if (!sell)
        return (struct lull_sparse){.rows = matrix->rows,
                                    .columns = matrix->columns,
                                    .starts = matrix->starts,
                                    .column = matrix->column,
                                    .values = matrix->values};
    return (struct lull_sparse){.rows = matrix->rows,
                                .columns = matrix->columns,
                                .column = sell->column,
                                .values = sell->values,
                                .chunk = sell->chunk,
                                .chunk_starts = sell->starts,
                                .row = sell->row};
}

/* A measurement counts as disturbed if other programs had the cores for a larger share of the
 * time. */
static const double most_lost = 0.02;

/* Times the product on as many cores as the prediction is for, to compare the two. */
static lull_status measure_on(struct spmv_work *work, const struct lull_topology *topology,
                              const struct lull_spmv_prediction *predicted,
                              struct lull_notices *notices, double *ret_seconds,
                              struct lull_error *err)
{
    const struct lull_sparse sparse = sparse_of(work);
    const unsigned threads = predicted->cores;
    struct lull_sparse_part *parts = lull_arena_zero(work->arena, threads, sizeof *parts);
    for (unsigned t = 0; t < threads; t++)
        lull_spmv_split(&work->matrix, work->sell, threads, t, &parts[t].first, &parts[t].last);
    const struct lull_sparse_job job = {.sparse = &sparse,
                                        .transposed = work->wish->transposed,
                                        .threads = threads,
                                        .parts = parts,
                                        .seconds = work->wish->seconds,
                                        .mean = predicted->memory.mean && !predicted->in_cache};
    double lost;
    lull_status status = lull_sparse_time(topology, &job, ret_seconds, &lost, err);
    if (status == LULL_OK && lost > most_lost)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "the measurement on %u core%s was disturbed, for %.0f %% of the time by "
                         "other programs",
                         threads, threads == 1 ? "" : "s", 100 * lost);
    return status;
}

static lull_status measure_spmv(struct spmv_work *work, struct lull_notices *notices,
                                struct lull_error *err)
{
    struct lull_topology *topology;
    if (work->matrix.complex)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "--run: %s: complex matrices are not measured",
                         work->wish->matrix);
    lull_status status = lull_topology_open(work->arena, &topology, err);
    if (status != LULL_OK)
        return status;
    for (size_t i = 0; status == LULL_OK && i < work->n_cores; i++)
        if (work->cores[i] <= topology->n_cores)
            status = measure_on(work, topology, &work->study.points[i].prediction, notices,
                                &work->study.points[i].measured, err);
        else
            lull_notices_add(notices, LULL_NOTICE_WARNING,
                             "%u cores are not measured: this machine lends %zu", work->cores[i],
                             topology->n_cores);
    lull_topology_close(topology);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static lull_status carry_out(struct spmv_work *work, struct lull_notices *notices,
                             struct lull_error *err)
{
    const struct lull_spmv_wish *wish = work->wish;
    lull_status status = LULL_OK;
    if (wish->machine)
        status = lull_machine_read(wish->machine, work->arena, &work->machine, err);
    if (status == LULL_OK)
        status = read_matrix(work, err);
    if (status != LULL_OK || !work->machine)
        return status;
    work->study.machine_name = work->machine->name ? work->machine->name : wish->machine;
    if (!work->n_cores)
        choose_cores(work);
    status = predict_spmv(work, err);
    if (status == LULL_OK && wish->run)
        status = measure_spmv(work, notices, err);
    return status == LULL_OK && wish->reorder ? reorder(work, err) : status;
}

lull_status lull_spmv_study_make(const struct lull_spmv_wish *wish, struct lull_notices *notices,
                                 struct lull_arena *arena, struct lull_spmv_study *ret_study,
                                 struct lull_error *err)
{
    struct spmv_work work = {.wish = wish,
                             .arena = arena,
                             .cores = wish->cores,
                             .n_cores = wish->n_cores,
                             .study = {.name = wish->matrix, .volume = wish->volume}};
    if (!wish->matrix) {
        *ret_study = study_sizes(wish);
        return LULL_OK;
    }
    lull_status status = carry_out(&work, notices, err);
    lull_sell_free(&work.built);
    lull_matrix_free(&work.matrix);
    if (status == LULL_OK)
        *ret_study = work.study;
    return status;
}
