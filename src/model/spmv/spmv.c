/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/spmv/spmv.h"

#include "base/parallel.h"
#include "base/sorted.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== bytes and intensity ===================================================================== */

enum { COLUMN_INDEX_BYTES = 4, CHUNK_START_BYTES = 8 };

struct lull_spmv_shape lull_spmv_shape(const struct lull_matrix *matrix, bool transposed,
                                       const struct lull_sell *sell)
{
    double nonzeros = (double)lull_matrix_nonzeros(matrix);
    return (struct lull_spmv_shape){.rows = matrix->rows,
                                    .columns = matrix->columns,
                                    .nonzeros = nonzeros,
                                    .value_bytes = matrix->complex ? 16 : 8,
                                    .flops = matrix->complex ? 8 : 2,
                                    .transposed = transposed,
                                    .chunk = sell ? sell->chunk : 0,
                                    .stored = sell ? (double)sell->stored : nonzeros};
}

/* Bytes per nonzero and unit of alpha: those that are loaded, and as many that are stored if the
 * vector is a result that is updated. */
static double alpha_bytes(const struct lull_spmv_shape *shape)
{
    return shape->transposed ? 2 * shape->value_bytes : shape->value_bytes;
}

/* Bytes per nonzero without the vector that is accessed through indices. */
static double fixed_bytes(const struct lull_spmv_shape *shape)
{
    double per_row = COLUMN_INDEX_BYTES;
    per_row += shape->transposed ? shape->value_bytes : 2 * shape->value_bytes;
    if (shape->chunk > 0)
        per_row += CHUNK_START_BYTES / shape->chunk;
    return (shape->value_bytes + COLUMN_INDEX_BYTES) * shape->stored / shape->nonzeros +
           per_row * shape->rows / shape->nonzeros;
}

double lull_spmv_bytes(const struct lull_spmv_shape *shape, double alpha)
{
    return fixed_bytes(shape) + alpha * alpha_bytes(shape);
}

double lull_spmv_intensity(const struct lull_spmv_shape *shape, double alpha)
{
    return shape->flops / lull_spmv_bytes(shape, alpha);
}

double lull_spmv_alpha(const struct lull_spmv_shape *shape, double bytes)
{
    return (bytes / shape->nonzeros - fixed_bytes(shape)) / alpha_bytes(shape);
}

double lull_spmv_alpha_once(const struct lull_spmv_shape *shape)
{
    return shape->columns / shape->nonzeros;
}

/* ==== the simulation ========================================================================== */

enum array { VALUES, COLUMNS, STARTS, ROWS, VECTOR, RESULT };

/* Where an array lies: far from the others, and not at the same place of a cache as they. */
static uint64_t base_of(enum array array)
{
    return (uint64_t)(array + 1) << 50 | (uint64_t)array * 4160;
}

enum { SEGMENT = 512, LEAST_LINE = 8, INDEX_BYTES = 4, START_BYTES = 8 };

/* How many accesses fit into a batch: those of the lines of a segment's values (16 bytes) and
 * indices (4 bytes), and those of its rows. */
enum { BATCH = SEGMENT * 20 / LEAST_LINE + 4 * SEGMENT };

struct walk {
    const struct lull_matrix *matrix;
    const struct lull_sell *sell; /* or NULL */
    bool transposed;
    uint32_t value_bytes, line_bytes;
    struct lull_cache *cache;
    size_t last;            /* level */
    uint64_t vector_misses; /* lines of the vector that came from memory */
    uint64_t accesses;
    size_t count;
    lull_cache_access batch[BATCH];
};

static void add_access(struct walk *walk, lull_cache_access access)
{
    walk->batch[walk->count++] = access;
}

static void run_batch(struct walk *walk)
{
    lull_cache_run(walk->cache, 0, walk->batch, walk->count);
    walk->accesses += walk->count;
    walk->count = 0;
}

/* Reads an array from byte `from` to `to`. A line is accessed when its first byte is read; if this
 * is the `first` part of a walk, also the line in which it begins. */
static void add_stream(struct walk *walk, enum array array, uint64_t from, uint64_t to, bool first)
{
    uint64_t line = walk->line_bytes;
    uint64_t base = base_of(array) & ~(line - 1);
    for (uint64_t at = first ? from & ~(line - 1) : (from + line - 1) & ~(line - 1); at < to;
         at += line)
        add_access(walk, lull_cache_read(base + at));
}

/* Walks over the elements first .. last - 1 of the matrix as it is stored; `begins`: the walk
 * begins with them. */
static void walk_elements(struct walk *walk, uint64_t first, uint64_t last, bool begins)
{
    const uint32_t *column = walk->sell ? walk->sell->column : walk->matrix->column;
    for (uint64_t from = first; from < last; from += SEGMENT) {
        uint64_t to = last - from < SEGMENT ? last : from + SEGMENT;
        bool start = begins && from == first;
        add_stream(walk, VALUES, from * walk->value_bytes, to * walk->value_bytes, start);
        add_stream(walk, COLUMNS, from * INDEX_BYTES, to * INDEX_BYTES, start);
        run_batch(walk);
        uint64_t before = lull_cache_traffic(walk->cache, walk->last).misses;
        uint64_t vector = base_of(walk->transposed ? RESULT : VECTOR);
        for (uint64_t i = from; i < to; i++) {
            uint64_t address = vector + (uint64_t)column[i] * walk->value_bytes;
            walk->batch[i - from] =
                walk->transposed ? lull_cache_write(address) : lull_cache_read(address);
        }
        walk->count = to - from;
        run_batch(walk);
        walk->vector_misses += lull_cache_traffic(walk->cache, walk->last).misses - before;
    }
}

/* Accesses the element that a row has in the vector with one element per row. */
static void add_row(struct walk *walk, uint32_t row)
{
    uint64_t address =
        base_of(walk->transposed ? VECTOR : RESULT) + (uint64_t)row * walk->value_bytes;
    add_access(walk, walk->transposed ? lull_cache_read(address) : lull_cache_write(address));
}

static void walk_rows(struct walk *walk, uint32_t first, uint32_t last)
{
    const uint32_t *starts = walk->matrix->starts;
    for (uint32_t row = first; row < last; row++) {
        bool begins = row == first;
        add_stream(walk, STARTS, (uint64_t)row * INDEX_BYTES, (uint64_t)(row + 1) * INDEX_BYTES,
                   begins);
        add_row(walk, row);
        walk_elements(walk, starts[row], starts[row + 1], begins);
        run_batch(walk);
    }
}

static void walk_chunks(struct walk *walk, uint32_t first, uint32_t last)
{
    const struct lull_sell *sell = walk->sell;
    for (uint32_t chunk = first; chunk < last; chunk++) {
        bool begins = chunk == first;
        uint32_t row = chunk * sell->chunk;
        uint32_t end = sell->rows - row < sell->chunk ? sell->rows : row + sell->chunk;
        add_stream(walk, STARTS, (uint64_t)chunk * START_BYTES, (uint64_t)(chunk + 1) * START_BYTES,
                   begins);
        walk_elements(walk, sell->starts[chunk], sell->starts[chunk + 1], begins);
        for (; row < end; row++) {
            add_stream(walk, ROWS, (uint64_t)row * INDEX_BYTES, (uint64_t)(row + 1) * INDEX_BYTES,
                       begins && row == chunk * sell->chunk);
            add_row(walk, sell->row[row]);
            if (walk->count >= SEGMENT)
                run_batch(walk);
        }
        run_batch(walk);
    }
}

static void walk_part(struct walk *walk, uint32_t first, uint32_t last)
{
    if (walk->sell)
        walk_chunks(walk, first, last);
    else
        walk_rows(walk, first, last);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* The first row or chunk whose elements begin at `element` or behind it. */
static uint32_t part_at(const struct lull_matrix *matrix, const struct lull_sell *sell,
                        uint64_t element)
{
    return (uint32_t)(sell ? lull_sorted_first_u64(sell->starts, sell->n_chunks,
                                                   sizeof *sell->starts, 0, element)
                           : lull_sorted_first_u32(matrix->starts, matrix->rows,
                                                   sizeof *matrix->starts, 0, (uint32_t)element));
}

void lull_spmv_split(const struct lull_matrix *matrix, const struct lull_sell *sell,
                     unsigned threads, unsigned thread, uint32_t *ret_first, uint32_t *ret_last)
{
    uint64_t stored = sell ? sell->stored : lull_matrix_nonzeros(matrix);
    uint32_t parts = sell ? sell->n_chunks : matrix->rows;
    *ret_first = thread ? part_at(matrix, sell, stored * thread / threads) : 0;
    *ret_last =
        thread + 1 < threads ? part_at(matrix, sell, stored * (thread + 1) / threads) : parts;
}

struct part_result {
    uint64_t loads[LULL_CACHE_LEVELS], stores[LULL_CACHE_LEVELS], vector_misses, accesses;
    uint64_t nonzeros;
    lull_status status;
};

struct product_simulation {
    const struct lull_matrix *matrix;
    const struct lull_sell *sell;
    bool transposed;
    const struct lull_cache_spec *spec;
    unsigned threads;
    struct part_result *results; /* [threads] */
    atomic_uint next;
};

/* How many nonzeros the rows or chunks first .. last - 1 have, without padding. */
static uint64_t nonzeros_of(const struct product_simulation *simulation, uint32_t first,
                            uint32_t last)
{
    const struct lull_sell *sell = simulation->sell;
    const uint32_t *starts = simulation->matrix->starts;
    if (!sell)
        return starts[last] - starts[first];
    uint64_t sum = 0;
    for (uint64_t place = (uint64_t)first * sell->chunk;
         place < (uint64_t)last * sell->chunk && place < sell->rows; place++)
        sum += starts[sell->row[place] + 1] - starts[sell->row[place]];
    return sum;
}

static void simulate_thread(const struct product_simulation *simulation, unsigned thread,
                            struct part_result *result)
{
    uint32_t first, last;
    struct walk *walk = malloc(sizeof *walk);
    struct lull_cache *cache = NULL;
    if (walk)
        result->status = lull_cache_create(simulation->spec, &cache, NULL);
    if (!walk || result->status != LULL_OK) {
        result->status = LULL_ERR_MEMORY;
        free(walk);
        return;
    }
    *walk = (struct walk){.matrix = simulation->matrix,
                          .sell = simulation->sell,
                          .transposed = simulation->transposed,
                          .value_bytes = simulation->matrix->complex ? 16 : 8,
                          .line_bytes = simulation->spec->line_bytes,
                          .cache = cache,
                          .last = simulation->spec->n_levels - 1};
    lull_spmv_split(simulation->matrix, simulation->sell, simulation->threads, thread, &first,
                    &last);
    walk_part(walk, first, last);
    lull_cache_reset(cache);
    walk->vector_misses = 0;
    walk_part(walk, first, last);
    for (size_t n = 0; n <= walk->last; n++) {
        struct lull_cache_traffic traffic = lull_cache_traffic(cache, n);
        result->loads[n] = traffic.misses;
        result->stores[n] = traffic.writes + traffic.victims;
    }
    result->vector_misses = walk->vector_misses;
    result->accesses = walk->accesses;
    result->nonzeros = nonzeros_of(simulation, first, last);
    lull_cache_free(cache);
    free(walk);
}

static void simulate_threads(void *context, unsigned worker)
{
    struct product_simulation *simulation = context;
    (void)worker;
    for (unsigned t; (t = atomic_fetch_add(&simulation->next, 1)) < simulation->threads;)
        simulate_thread(simulation, t, &simulation->results[t]);
}

static lull_status add_up_threads(const struct product_simulation *simulation,
                                  struct lull_spmv_traffic *traffic, struct lull_error *err)
{
    double nonzeros = (double)lull_matrix_nonzeros(simulation->matrix);
    double of_a_line =
        (double)simulation->spec->line_bytes / (simulation->matrix->complex ? 16 : 8);
    *traffic =
        (struct lull_spmv_traffic){.n_levels = simulation->spec->n_levels, .alpha_low = INFINITY};
    for (unsigned t = 0; t < simulation->threads; t++) {
        const struct part_result *result = &simulation->results[t];
        if (result->status != LULL_OK)
            return lull_fail(err, result->status, "not enough memory to simulate the caches");
        for (size_t n = 0; n < traffic->n_levels; n++) {
            traffic->lines[n].loads += (double)result->loads[n] / nonzeros;
            traffic->lines[n].stores += (double)result->stores[n] / nonzeros;
        }
        traffic->alpha += (double)result->vector_misses * of_a_line / nonzeros;
        traffic->accesses += result->accesses;
        if (!result->nonzeros)
            continue;
        double alpha = (double)result->vector_misses * of_a_line / (double)result->nonzeros;
        traffic->alpha_low = fmin(traffic->alpha_low, alpha);
        traffic->alpha_high = fmax(traffic->alpha_high, alpha);
    }
    /* The result of y = A x is written without being read, so that its loads are write-allocates;
     * the result of y = A^T x is updated. */
    for (size_t n = 0; n < traffic->n_levels && !simulation->transposed; n++)
        traffic->lines[n].allocates = fmin(traffic->lines[n].loads, traffic->lines[n].stores);
    return LULL_OK;
}

lull_status lull_spmv_simulate(const struct lull_matrix *matrix, const struct lull_sell *sell,
                               bool transposed, const struct lull_machine *machine,
                               unsigned threads, unsigned workers,
                               struct lull_spmv_traffic *ret_traffic, struct lull_error *err)
{
    struct lull_cache_spec spec;
    lull_status status = lull_cache_of_machine(machine, threads, false, LULL_CACHE_LRU, &spec, err);
    if (status != LULL_OK)
        return status;
    if (!lull_matrix_nonzeros(matrix))
        return lull_fail(err, LULL_ERR_RANGE, "the matrix has no nonzeros");
    struct product_simulation simulation = {.matrix = matrix,
                                            .sell = sell,
                                            .transposed = transposed,
                                            .spec = &spec,
                                            .threads = threads,
                                            .results = calloc(threads, sizeof *simulation.results)};
    if (!simulation.results)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to simulate the caches");
    if (!workers)
        workers = lull_worker_count();
    lull_parallel_run(workers < threads ? workers : threads, simulate_threads, &simulation);
    struct lull_spmv_traffic traffic;
    status = add_up_threads(&simulation, &traffic, err);
    free(simulation.results);
    if (status == LULL_OK)
        *ret_traffic = traffic;
    return status;
}

/* ==== the prediction ========================================================================== */

enum { UNIT = 8 }; /* nonzeros that ECM counts cycles for */

struct lull_spmv_core lull_spmv_estimate_core(const struct lull_spmv_shape *shape)
{
    static const double loads_per_cycle = 2, adds_per_cycle = 2, add_cycles = 4, partial_sums = 4;
    double rows = UNIT * shape->rows / shape->nonzeros; /* per unit */
    double elements = UNIT * shape->stored / shape->nonzeros;
    double of_complex = shape->value_bytes / 8;
    return (struct lull_spmv_core){
        .t_nol = (elements * (1 + 2 * of_complex) + rows * (1 + of_complex)) / loads_per_cycle,
        .t_ol = elements * add_cycles / partial_sums * of_complex +
                rows * (partial_sums - 1) / adds_per_cycle * of_complex};
}

/* Cache lines per nonzero for clearing the private results of a transposed product and adding them
 * up; none if they all stay in the last cache. Clearing writes each private result once, adding up
 * reads them and writes the result. */
static struct lull_ecm_lines update_lines(const struct lull_spmv_shape *shape,
                                          const struct lull_machine *machine, size_t levels,
                                          unsigned cores)
{
    const struct lull_machine_cache *last = lull_machine_cache(machine, (unsigned)levels);
    double bytes = shape->columns * shape->value_bytes;
    unsigned shared = last->shared_cores ? last->shared_cores : 1;
    double capacity = (double)last->bytes * ((cores + shared - 1) / shared);
    if (!shape->transposed || cores < 2 || bytes * cores <= capacity)
        return (struct lull_ecm_lines){0};
    double lines = bytes / 64 / shape->nonzeros;
    return (struct lull_ecm_lines){.loads = lines * (2 * cores + 1),
                                   .stores = lines * (cores + 1),
                                   .allocates = lines * (cores + 1)};
}

/* The memory bandwidth of so many cores; where the machine file does not have it, that of as many
 * as saturate the memory. */
static lull_status memory_of(const struct lull_machine *machine, const struct lull_ecm_lines *lines,
                             unsigned cores, struct lull_ecm_bandwidth *ret_memory,
                             struct lull_error *err)
{
    if (lull_ecm_memory_bandwidth(machine, lines, cores, ret_memory, NULL) == LULL_OK)
        return LULL_OK;
    return lull_ecm_memory_bandwidth(machine, lines, 0, ret_memory, err);
}

static void scale_lines(const struct lull_spmv_traffic *traffic, struct lull_ecm_lines update,
                        struct lull_ecm_lines *lines)
{
    for (size_t n = 0; n < traffic->n_levels; n++) {
        lines[n].loads = UNIT * (traffic->lines[n].loads + update.loads);
        lines[n].stores = UNIT * (traffic->lines[n].stores + update.stores);
        lines[n].allocates = UNIT * (traffic->lines[n].allocates + update.allocates);
    }
}

lull_status lull_spmv_predict(const struct lull_spmv_shape *shape,
                              const struct lull_spmv_traffic *traffic,
                              const struct lull_machine *machine, unsigned cores,
                              const struct lull_spmv_core *core, struct lull_arena *arena,
                              struct lull_spmv_prediction *ret_prediction, struct lull_error *err)
{
    struct lull_spmv_prediction prediction = {.cores = cores, .traffic = *traffic};
    struct lull_spmv_core estimate = lull_spmv_estimate_core(shape);
    struct lull_ecm_lines lines[LULL_CACHE_LEVELS];
    struct lull_ecm_bandwidth saturated;
    double clock;
    struct lull_ecm_lines update = update_lines(shape, machine, traffic->n_levels, cores);
    scale_lines(traffic, update, lines);
    const struct lull_ecm_lines *memory = &lines[traffic->n_levels - 1];
    lull_status status = memory_of(machine, memory, cores, &prediction.memory, err);
    if (status == LULL_OK)
        status = lull_ecm_clock(machine, &clock, err);
    prediction.ecm.t_ol = isnan(core->t_ol) ? estimate.t_ol : core->t_ol;
    prediction.ecm.t_nol = isnan(core->t_nol) ? estimate.t_nol : core->t_nol;
    if (status == LULL_OK)
        status = lull_ecm_links(machine, lines, traffic->n_levels, arena, &prediction.ecm,
                                &saturated, err);
    if (status != LULL_OK)
        return status;
    prediction.update_bytes = 64 * (update.loads + update.stores);
    double bytes = 64 * (memory->loads + memory->stores) / UNIT;
    prediction.in_cache = bytes < 0.01 * lull_spmv_bytes(shape, 0);
    prediction.roofline_once =
        shape->flops * prediction.memory.value /
        (lull_spmv_bytes(shape, lull_spmv_alpha_once(shape)) + prediction.update_bytes);
    prediction.roofline =
        prediction.in_cache ? NAN : shape->flops * prediction.memory.value / bytes;
    double alone = lull_ecm_time(&prediction.ecm, prediction.ecm.n_links);
    double naive = lull_ecm_scale(alone, prediction.ecm.shared, cores);
    double latency = lull_ecm_scale_latency(alone, prediction.ecm.shared, cores);
    prediction.ecm_naive = UNIT * shape->flops * clock / naive;
    prediction.ecm_latency = UNIT * shape->flops * clock / latency;
    prediction.seconds = shape->nonzeros * shape->flops / prediction.ecm_naive;
    *ret_prediction = prediction;
    return LULL_OK;
}
