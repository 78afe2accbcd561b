/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/kernel_study.h"

#include "base/file.h"
#include "base/text.h"
#include "bench/loaded.h"
#include "stats/quantile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== the measurement ========================================================================= */

/* The kernel is timed in several visits of so many seconds: their median is the time, their spread
 * its interval. */
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

/* The number of elements of the array that the kernel accesses through an index array; 0: there is
 * none. */
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

/* Whether a loop, or one in `loops`, moves lines from or to memory while the bandwidth of memory is
 * a mean. */
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

/* Runs wish->kernel with its present sizes on as many cores as the options say, to compare it with
 * its prediction. Fails where compiling or timing fails, and with LULL_ERR_RANGE if an index array
 * is read and it is not known what it holds. */
static lull_status kernel_run_here(const struct lull_kernel_wish *wish,
                                   const struct lull_kernel_prediction *prediction,
                                   struct lull_arena *arena,
                                   struct lull_kernel_measured *ret_measured,
                                   struct lull_error *err)
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

/* ==== the wish ================================================================================ */

enum { MOST_VALUES = 1000, MOST_KERNEL_CORES = 4096 };

/* Whether it is a name, or that of a member as in "grid.rows". */
static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && (text[i] != '.' || i == 0))
            return false;
    return length > 0 && !isdigit((unsigned char)*text);
}

/* Splits "NAME=REST" and returns REST; NULL: the text is not of that form. */
static const char *split_at_equals(const char *text, struct lull_arena *arena,
                                   const char **ret_name)
{
    const char *equals = strchr(text, '=');
    if (!equals || !equals[1] || !is_name(text, (size_t)(equals - text)))
        return NULL;
    *ret_name = lull_arena_strndup(arena, text, (size_t)(equals - text));
    return equals + 1;
}

static size_t count_texts(const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

/* ---- sizes, costs, indices ------------------------------------------------------------------- */

static lull_status read_kernel_sizes(const char *const *texts, struct lull_arena *arena,
                                     struct lull_kernel_wish *wish, struct lull_error *err)
{
    size_t count = count_texts(texts);
    struct lull_kernel_size *sizes = lull_arena_zero(arena, count + 2, sizeof *sizes);
    for (size_t i = 0; i < count; i++) {
        const char *value = split_at_equals(texts[i], arena, &sizes[i].name);
        if (!value || lull_parse_real(value, &sizes[i].value) != LULL_OK ||
            sizes[i].value != floor(sizes[i].value) || fabs(sizes[i].value) > 1e15)
            return lull_fail(err, LULL_ERR_RANGE,
                             "-D: '%s', expected NAME=VALUE with a whole number up to 1e15",
                             texts[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(sizes[k].name, sizes[i].name) == 0)
                return lull_fail(err, LULL_ERR_RANGE, "-D: '%s' is given twice", sizes[i].name);
    }
    wish->source.sizes = sizes;
    wish->source.n_sizes = count;
    return LULL_OK;
}

static lull_status read_calls(const char *const *texts, struct lull_arena *arena,
                              struct lull_kernel_wish *wish, struct lull_error *err)
{
    size_t count = count_texts(texts);
    struct lull_kernel_cost *costs = lull_arena_zero(arena, count + 1, sizeof *costs);
    for (size_t i = 0; i < count; i++) {
        const char *value = split_at_equals(texts[i], arena, &costs[i].name);
        if (!value || lull_parse_real(value, &costs[i].cycles) != LULL_OK || costs[i].cycles < 0)
            return lull_fail(err, LULL_ERR_RANGE, "--call: '%s', expected NAME=CYCLES", texts[i]);
    }
    wish->source.costs = costs;
    wish->source.n_costs = count;
    return LULL_OK;
}

/* Reads indices from a file, with blanks, line ends or commas between them. */
static lull_status read_sample(const char *path, struct lull_arena *arena,
                               struct lull_kernel_index *index, struct lull_error *err)
{
    struct lull_mapping mapping;
    int64_t *sample = NULL;
    size_t capacity = 0, line = 1;
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    const char *text = (const char *)mapping.data, *end = text + mapping.size;
    while (text < end) {
        size_t length = 0;
        uint64_t value = 0;
        while (text + length < end && isdigit((unsigned char)text[length]))
            length++;
        line += *text == '\n';
        if (length == 0 && !isspace((unsigned char)*text) && *text != ',') {
            lull_unmap(&mapping);
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %zu: expected indices from 0", path,
                             line);
        }
        if (length > 0 && (lull_parse_u64(text, length, &value) != LULL_OK || value > INT64_MAX)) {
            lull_unmap(&mapping);
            return lull_fail(err, LULL_ERR_FORMAT, "%s: line %zu: this index is too large", path,
                             line);
        }
        if (length > 0) {
            sample = lull_arena_grow(arena, sample, &capacity, index->n_sample + 1, sizeof *sample);
            sample[index->n_sample++] = (int64_t)value;
        }
        text += length ? length : 1;
    }
    lull_unmap(&mapping);
    index->kind = LULL_INDEX_FILE;
    index->sample = sample;
    return index->n_sample ? LULL_OK : lull_fail(err, LULL_ERR_FORMAT, "%s: has no indices", path);
}

static lull_status read_index(const char *text, struct lull_arena *arena,
                              struct lull_kernel_index *index, struct lull_error *err)
{
    const char *what = split_at_equals(text, arena, &index->array);
    if (!what)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--index: '%s', expected ARRAY=uniform, sequential, band:WIDTH or a "
                         "FILE",
                         text);
    if (strcmp(what, "uniform") == 0 || strcmp(what, "sequential") == 0) {
        index->kind = *what == 'u' ? LULL_INDEX_UNIFORM : LULL_INDEX_SEQUENTIAL;
        return LULL_OK;
    }
    if (strncmp(what, "band:", 5) != 0)
        return read_sample(what, arena, index, err);
    index->kind = LULL_INDEX_BAND;
    if (lull_parse_real(what + 5, &index->width) != LULL_OK || index->width < 0 ||
        index->width > 1e15)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--index: '%s', expected band:WIDTH with a number of elements", text);
    return LULL_OK;
}

static lull_status read_indices(const char *const *texts, struct lull_arena *arena,
                                struct lull_kernel_wish *wish, struct lull_error *err)
{
    size_t count = count_texts(texts);
    struct lull_kernel_index *indices = lull_arena_zero(arena, count + 1, sizeof *indices);
    for (size_t i = 0; i < count; i++) {
        lull_status status = read_index(texts[i], arena, &indices[i], err);
        if (status != LULL_OK)
            return status;
    }
    wish->source.indices = indices;
    wish->source.n_indices = count;
    return LULL_OK;
}

/* ---- a sweep --------------------------------------------------------------------------------- */

/* Reads FROM:TO:STEPS into wish->values, with equal ratios between them. */
static bool read_range(const char *text, struct lull_kernel_wish *wish)
{
    double from, to, steps;
    char rest;
    if (sscanf(text, "%lf:%lf:%lf%c", &from, &to, &steps, &rest) != 3 || !(from >= 1) ||
        !(to > from) || !(to <= 1e15) || !(steps >= 2) || steps > MOST_VALUES ||
        steps != floor(steps))
        return false;
    for (double i = 0; i < steps; i++)
        wish->values[wish->n_values++] = round(from * pow(to / from, i / (steps - 1)));
    return true;
}

static bool read_list(const char *text, struct lull_arena *arena, struct lull_kernel_wish *wish)
{
    size_t count;
    const char **pieces = lull_split(text, ",", arena, &count);
    for (size_t i = 0; i < count; i++) {
        double value;
        if (wish->n_values == MOST_VALUES || lull_parse_real(pieces[i], &value) != LULL_OK ||
            value < 1 || value != floor(value) || value > 1e15)
            return false;
        wish->values[wish->n_values++] = value;
    }
    return true;
}

static lull_status read_kernel_sweep(const char *text, struct lull_arena *arena,
                                     struct lull_kernel_wish *wish, struct lull_error *err)
{
    const char *values = text ? split_at_equals(text, arena, &wish->sweep) : NULL;
    if (!text)
        return LULL_OK;
    wish->values = lull_arena_zero(arena, MOST_VALUES, sizeof *wish->values);
    if (!values ||
        !(strchr(values, ':') ? read_range(values, wish) : read_list(values, arena, wish)))
        return lull_fail(err, LULL_ERR_RANGE,
                         "--sweep: '%s', expected NAME=FROM:TO:STEPS or NAME=VALUE,... with "
                         "whole numbers from 1, at most %d",
                         text, MOST_VALUES);
    lull_sort(wish->values, wish->n_values);
    size_t kept = 0;
    for (size_t i = 0; i < wish->n_values; i++)
        if (kept == 0 || wish->values[i] != wish->values[kept - 1])
            wish->values[kept++] = wish->values[i];
    wish->n_values = kept;
    struct lull_kernel_size *sizes =
        lull_arena_zero(arena, wish->source.n_sizes + 1, sizeof *sizes);
    for (size_t i = 0; i < wish->source.n_sizes; i++) {
        sizes[i] = wish->source.sizes[i];
        if (strcmp(sizes[i].name, wish->sweep) == 0)
            return lull_fail(err, LULL_ERR_RANGE, "-D and --sweep both say %s", wish->sweep);
    }
    sizes[wish->source.n_sizes++] = (struct lull_kernel_size){wish->sweep, wish->values[0]};
    wish->source.sizes = sizes;
    return LULL_OK;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Splits a text at blanks into words, with NULL at the end. */
static const char *const *words_of(const char *text, struct lull_arena *arena)
{
    size_t count, kept = 0;
    const char **words = lull_split(text, " \t", arena, &count);
    for (size_t i = 0; i < count; i++)
        if (*words[i]) /* empty between two blanks */
            words[kept++] = words[i];
    words[kept] = NULL;
    return words;
}

/* Those flags that matter for reading C: folders of headers (-I) and macros (-D, -U). */
static const char *const *reading_flags(const char *const *flags, struct lull_arena *arena)
{
    size_t count = 0, kept = 0;
    while (flags && flags[count])
        count++;
    const char **some = lull_arena_zero(arena, count + 1, sizeof *some);
    for (size_t i = 0; i < count; i++)
        if (flags[i][0] == '-' && strchr("IDU", flags[i][1]) && flags[i][1])
            some[kept++] = flags[i];
    return some;
}

static lull_status read_in_core(const char *text, struct lull_arena *arena,
                                struct lull_incore_options *incore, struct lull_error *err)
{
    size_t count;
    if (!text)
        return LULL_OK;
    const char **pieces = lull_split(text, ",", arena, &count);
    double *numbers = lull_arena_zero(arena, count + 1, sizeof *numbers);
    bool good = count % 2 == 0;
    for (size_t i = 0; i < count; i++)
        good = good && lull_parse_real(pieces[i], &numbers[i]) == LULL_OK && numbers[i] >= 0 &&
               isfinite(numbers[i]);
    struct lull_incore_times *times = lull_arena_zero(arena, count, sizeof *times);
    for (size_t i = 0; i < count / 2; i++) {
        times[i] = (struct lull_incore_times){numbers[2 * i], numbers[2 * i + 1]};
        good = good && times[i].t_ol + times[i].t_nol > 0;
    }
    if (!good)
        return lull_fail(
            err, LULL_ERR_RANGE,
            "--in-core: '%s', expected T_OL,T_nOL in cycles, of several innermost loops "
            "one after the other",
            text);
    incore->given = times;
    incore->n_given = count / 2;
    return LULL_OK;
}

/* Reads FILE.c or FILE.c:PLACE. If there is a file whose name is the whole operand, it is that. */
static void read_operand(const char *operand, struct lull_arena *arena,
                         struct lull_kernel_wish *wish)
{
    const char *colon = strrchr(operand, ':');
    wish->source.path = operand;
    if (!colon || strchr(colon, '.') || !is_name(colon + 1, strlen(colon + 1)) ||
        access(operand, F_OK) == 0)
        return;
    wish->source.path = lull_arena_strndup(arena, operand, (size_t)(colon - operand));
    wish->source.place = colon + 1;
}

static lull_status read_kernel_options(const struct lull_kernel_texts *texts,
                                       struct lull_kernel_options *options, struct lull_error *err)
{
    static const char *const traffic[] = {"conditions", "simulation", NULL};
    static const char *const policies[] = {"lru", "plru", NULL}; /* as enum lull_cache_policy */
    unsigned chosen, policy;
    uint64_t cores = 1;
    options->seed = 1;
    lull_status status =
        lull_option_number("cores", texts->cores, 1, MOST_KERNEL_CORES, &cores, err);
    if (status == LULL_OK)
        status = lull_option_number("seed", texts->seed, 0, UINT64_MAX, &options->seed, err);
    if (status == LULL_OK)
        status = lull_option_word("traffic", texts->traffic, traffic, &chosen, err);
    if (status == LULL_OK)
        status = lull_option_word("policy", texts->policy, policies, &policy, err);
    if (status != LULL_OK)
        return status;
    options->cores = (unsigned)cores;
    options->traffic = chosen == 2 ? LULL_TRAFFIC_SIMULATION : LULL_TRAFFIC_CONDITIONS;
    options->policy = policy > 0 ? (enum lull_cache_policy)(policy - 1) : LULL_CACHE_LRU;
    /* Not in a sweep: each of its points would take about a second more. */
    options->simulate = !texts->no_simulation && !texts->sweep;
    return LULL_OK;
}

lull_status lull_kernel_wish_read(const struct lull_kernel_texts *texts, struct lull_arena *arena,
                                  struct lull_kernel_wish *wish, struct lull_error *err)
{
    struct lull_incore_options *incore = &wish->options.incore;
    read_operand(texts->source, arena, wish);
    incore->flags = texts->flags ? words_of(texts->flags, arena) : NULL;
    wish->source.flags = reading_flags(incore->flags, arena);
    lull_status status = read_kernel_options(texts, &wish->options, err);
    if (status == LULL_OK)
        status = read_kernel_sizes(texts->sizes, arena, wish, err);
    if (status == LULL_OK)
        status = read_calls(texts->calls, arena, wish, err);
    if (status == LULL_OK)
        status = read_kernel_sweep(texts->sweep, arena, wish, err);
    if (status == LULL_OK)
        status = read_in_core(texts->in_core, arena, incore, err);
    if (status == LULL_OK)
        status = read_indices(texts->indices, arena, wish, err);
    if (status == LULL_OK && texts->no_simulation &&
        wish->options.traffic == LULL_TRAFFIC_SIMULATION)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--no-simulation and --traffic simulation contradict each other");
    return status;
}

lull_status lull_kernel_wish_load(struct lull_kernel_wish *wish, const char *machine,
                                  struct lull_arena *arena, struct lull_error *err)
{
    lull_status status = lull_machine_read(machine, arena, &wish->machine, err);
    if (status == LULL_OK)
        status = lull_kernel_read(&wish->source, arena, &wish->kernel, err);
    wish->options.incore.here = status == LULL_OK && lull_machine_is_here(wish->machine);
    return status;
}

/* ==== the study =============================================================================== */

const struct lull_roofline *lull_kernel_all_cores(const struct lull_kernel_wish *wish,
                                                  const struct lull_kernel_prediction *prediction,
                                                  struct lull_arena *arena)
{
    struct lull_kernel_options all = wish->options;
    struct lull_kernel_prediction *other = lull_arena_alloc(arena, sizeof *other);
    struct lull_kernel_incores incores = lull_kernel_no_incores(wish->kernel, arena);
    incores.loops[prediction->kernel->body] = &prediction->incore;
    for (size_t l = 0; l < prediction->n_loops; l++)
        incores.loops[prediction->loops[l].kernel->body] = &prediction->loops[l].incore;
    all.cores = (unsigned)prediction->n_points;
    all.simulate = false;
    all.traffic = LULL_TRAFFIC_CONDITIONS;
    if (all.cores <= wish->options.cores ||
        lull_kernel_predict(wish->kernel, wish->machine, &wish->source, &all, &incores, arena,
                            other, NULL) != LULL_OK)
        return NULL;
    return &other->roofline;
}

static lull_status predict_one(const struct lull_kernel_wish *wish, size_t number,
                               struct lull_kernel_incores *incores, struct lull_kernel_study *study,
                               struct lull_arena *arena, struct lull_error *err)
{
    lull_status status =
        lull_kernel_predict(wish->kernel, wish->machine, &wish->source, &wish->options, incores,
                            arena, &study->predictions[number], err);
    if (status == LULL_OK && study->measured)
        status = kernel_run_here(wish, &study->predictions[number], arena, &study->measured[number],
                                 err);
    return status;
}

static lull_status predict_value(const struct lull_kernel_wish *wish, size_t number,
                                 struct lull_kernel_incores *incores,
                                 struct lull_kernel_study *study, struct lull_arena *arena,
                                 struct lull_error *err)
{
    struct lull_kernel_wish one = *wish;
    one.kernel = lull_arena_alloc(arena, sizeof *one.kernel);
    *one.kernel = *wish->kernel; /* each prediction keeps its own sizes */
    lull_kernel_resize(one.kernel, wish->sweep, wish->values[number]);
    lull_status status = lull_kernel_check(one.kernel, err);
    if (status == LULL_OK)
        status = predict_one(&one, number, incores, study, arena, err);
    return status == LULL_OK
               ? status
               : lull_fail_prefix(err, status, "%s=%.0f", wish->sweep, wish->values[number]);
}

lull_status lull_kernel_study_make(const struct lull_kernel_wish *wish, bool run,
                                   struct lull_arena *arena, struct lull_kernel_study *ret_study,
                                   struct lull_error *err)
{
    struct lull_kernel_study study = {.count = wish->sweep ? wish->n_values : 1};
    study.predictions = lull_arena_zero(arena, study.count, sizeof *study.predictions);
    struct lull_kernel_incores incores = lull_kernel_no_incores(wish->kernel, arena);
    if (run)
        study.measured = lull_arena_zero(arena, study.count, sizeof *study.measured);
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < study.count; i++)
        status = wish->sweep ? predict_value(wish, i, &incores, &study, arena, err)
                             : predict_one(wish, i, &incores, &study, arena, err);
    *ret_study = study;
    return status;
}
