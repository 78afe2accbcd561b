#include "study/model/kernel/kernel_wish.h"

#include "base/file.h"
#include "base/text.h"
#include "base/text/option.h"
#include "stats/quantile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_VALUES = 1000, MOST_KERNEL_CORES = 4096 };

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return length > 0 && !isdigit((unsigned char)*text);
}

/* "NAME=REST": the rest; NULL: it is no such thing. */
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

/* ---- sizes, costs, indices ------------------------------------------------------------------ */

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

/* Indices in a text, with anything but digits between them. */
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

/* ---- a sweep -------------------------------------------------------------------------------- */

/* FROM:TO:STEPS */
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

/* ---- the rest ------------------------------------------------------------------------------- */

/* Words between blanks; NULL at the end. */
static const char *const *words_of(const char *text, struct lull_arena *arena)
{
    size_t count, kept = 0;
    const char **words = lull_split(text, " \t", arena, &count);
    for (size_t i = 0; i < count; i++)
        if (*words[i]) /* not between two blanks */
            words[kept++] = words[i];
    words[kept] = NULL;
    return words;
}

/* What matters for reading C: where headers are, and macros. */
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

/* FILE.c:PLACE; a file of the whole name goes first. */
static void read_operand(const char *operand, struct lull_arena *arena,
                         struct lull_kernel_wish *wish)
{
    const char *colon = strrchr(operand, ':');
    wish->source.path = operand;
    if (!colon || !is_name(colon + 1, strlen(colon + 1)) || access(operand, F_OK) == 0)
        return;
    wish->source.path = lull_arena_strndup(arena, operand, (size_t)(colon - operand));
    wish->source.place = colon + 1;
}

static lull_status read_kernel_options(const struct lull_kernel_texts *texts,
                                       struct lull_kernel_options *options, struct lull_error *err)
{
    static const char *const traffic[] = {"conditions", "simulation", NULL};
    static const char *const policies[] = {"lru", "plru", NULL};
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
    options->policy = policy == 2 ? LULL_CACHE_PLRU : LULL_CACHE_LRU;
    /* Of a sweep every point would take its second. */
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
