#include "study/model/kernel/kernel_run.h"

#include "base/file.h"
#include "bench/loaded.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of a visit, and visits: their median is what counts, their spread the interval. */
static const double visit_seconds = 0.4;
enum { VISITS = 5 };

static const struct lull_kernel_index *index_of(const struct lull_kernel_source *source,
                                                const char *array)
{
    for (size_t i = 0; i < source->n_indices; i++)
        if (strcmp(source->indices[i].array, array) == 0)
            return &source->indices[i];
    return NULL;
}

/* Which array the kernel accesses through an index array; the number of its elements. */
static double target_elements(const struct lull_kernel *kernel, size_t index_array)
{
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        if (access->index_access != LULL_KERNEL_NONE &&
            kernel->accesses[access->index_access].array == index_array)
            return lull_kernel_array_bytes(kernel, access->array) /
                   kernel->arrays[access->array].bytes;
    }
    return 0;
}

static lull_status describe_array(const struct lull_kernel_wish *wish, size_t number,
                                  struct lull_arena *arena, struct lull_loaded_array *array,
                                  struct lull_error *err)
{
    const struct lull_kernel_array *of = &wish->kernel->arrays[number];
    double target = target_elements(wish->kernel, number);
    *array =
        (struct lull_loaded_array){.bytes = (uint64_t)lull_kernel_array_bytes(wish->kernel, number),
                                   .element = of->bytes,
                                   .floating = of->floating};
    if (target == 0)
        return LULL_OK;
    const struct lull_kernel_index *index = index_of(&wish->source, of->name);
    if (!index)
        return lull_fail(err, LULL_ERR_RANGE, "what '%s' holds is not known: say it with --index",
                         of->name);
    array->n_sample = index->n_sample;
    array->sample = index->sample;
    if (index->kind == LULL_INDEX_FILE)
        return LULL_OK;
    array->n_sample = array->bytes / array->element;
    int64_t *sample = lull_arena_try(arena, array->n_sample, sizeof *sample);
    if (!sample)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for indices");
    lull_kernel_draw_indices(index, wish->options.seed, (int64_t)target, sample, array->n_sample);
    array->sample = sample;
    return LULL_OK;
}

static lull_status describe_loaded(const struct lull_kernel_wish *wish, struct lull_arena *arena,
                                   struct lull_loaded *loaded, struct lull_error *err)
{
    const struct lull_kernel *kernel = wish->kernel;
    long *sizes = lull_arena_zero(arena, LULL_POLY_SYMBOLS, sizeof *sizes);
    struct lull_loaded_array *arrays = lull_arena_zero(arena, kernel->n_arrays + 1, sizeof *arrays);
    unsigned *scalars = lull_arena_zero(arena, kernel->n_scalars + 1, sizeof *scalars);
    size_t n_sizes = 0;
    lull_status status = LULL_OK;
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size && !kernel->symbols[s].divisor)
            sizes[n_sizes++] = (long)kernel->symbols[s].value;
    for (size_t a = 0; status == LULL_OK && a < kernel->n_arrays; a++)
        status = describe_array(wish, a, arena, &arrays[a], err);
    for (size_t i = 0; i < kernel->n_scalars; i++)
        scalars[i] = kernel->scalars[i].type && strstr(kernel->scalars[i].type, "float")
                         ? sizeof(float)
                         : sizeof(double);
    loaded->sizes = sizes;
    loaded->arrays = arrays;
    loaded->n_arrays = kernel->n_arrays;
    loaded->scalar_bytes = scalars;
    loaded->n_scalars = kernel->n_scalars;
    loaded->sums = kernel->reduces;
    return status;
}

/* Whether a loop has lines from memory, whose bandwidth is a mean. */
static bool takes_means(const struct lull_kernel_prediction *prediction)
{
    const struct lull_ecm_lines *memory = &prediction->lines[prediction->ecm.n_links - 1];
    bool any = prediction->memory.mean && memory->loads + memory->stores > 0;
    for (size_t l = 0; l < prediction->n_loops; l++)
        any |= takes_means(&prediction->loops[l]);
    return any;
}

static lull_status measure_kernel(const struct lull_loaded *loaded, bool mean,
                                  struct lull_arena *arena, struct lull_kernel_measured *measured,
                                  struct lull_error *err)
{
    double seconds[VISITS], cycles[VISITS], steal = 0, lost = 0;
    for (int i = 0; i < VISITS; i++) {
        struct lull_round round;
        lull_status status = lull_loaded_time(loaded, &round, err);
        if (status != LULL_OK)
            return status;
        seconds[i] = mean && round.mean > 0 ? round.mean : round.value;
        cycles[i] = round.cycle;
        steal = fmax(steal, round.steal);
        lost = fmax(lost, round.lost);
    }
    lull_sort(seconds, VISITS);
    lull_sort(cycles, VISITS);
    *measured = (struct lull_kernel_measured){.seconds = seconds[VISITS / 2],
                                              .low = seconds[0],
                                              .high = seconds[VISITS - 1],
                                              .mean = mean,
                                              .cycle = cycles[VISITS / 2],
                                              .cores = loaded->threads};
    if (steal > 0.02 || lost > 0.02)
        measured->disturbed = lull_arena_printf(
            arena, "its core was not its own for %.0f %% of the time", 100 * fmax(steal, lost));
    return LULL_OK;
}

lull_status lull_kernel_run_here(const struct lull_kernel_wish *wish,
                                 const struct lull_kernel_prediction *prediction,
                                 struct lull_arena *arena,
                                 struct lull_kernel_measured *ret_measured, struct lull_error *err)
{
    struct lull_incore_options options = wish->options.incore;
    struct lull_loaded loaded = {
        .threads = wish->options.cores, .seconds = visit_seconds, .quantile = LULL_BENCH_QUANTILE};
    const char *folder;
    lull_status status = lull_make_temporary_folder(arena, &folder, err);
    if (status != LULL_OK)
        return status;
    loaded.path = lull_arena_printf(arena, "%s/kernel.so", folder);
    options.here = true;
    status = describe_loaded(wish, arena, &loaded, err);
    if (status == LULL_OK)
        status = lull_incore_build(wish->kernel, wish->machine, &options, loaded.path, arena, err);
    if (status == LULL_OK)
        status = measure_kernel(&loaded, takes_means(prediction), arena, ret_measured, err);
    lull_remove_tree(folder, NULL);
    return status;
}

double lull_kernel_seconds(const struct lull_kernel_prediction *prediction, unsigned cores)
{
    const struct lull_kernel *kernel = prediction->kernel;
    double units = lull_kernel_iterations(kernel, kernel->body) / prediction->unit, sum = 0;
    for (size_t l = 0; l < prediction->n_loops; l++)
        sum += lull_kernel_seconds(&prediction->loops[l], cores);
    if (prediction->n_loops > 0)
        return sum;
    return cores * units * lull_ecm_scale(prediction->cycles, prediction->ecm.shared, cores) /
           prediction->clock;
}

double lull_kernel_error(const struct lull_kernel_prediction *prediction,
                         const struct lull_kernel_measured *measured)
{
    return lull_kernel_seconds(prediction, measured->cores) / measured->seconds - 1;
}
