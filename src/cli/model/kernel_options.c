#include "cli/model/kernel_options.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "stats/quantile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_VALUES = 1000 };

static bool is_number(const char *text, double *ret_value)
{
    char *end;
    *ret_value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret_value);
}

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return length > 0 && !isdigit((unsigned char)*text);
}

/* "NAME=REST": the rest; NULL: it is no such thing. */
static const char *split(const char *text, struct lull_arena *arena, const char **ret_name)
{
    const char *equals = strchr(text, '=');
    if (!equals || !equals[1] || !is_name(text, (size_t)(equals - text)))
        return NULL;
    *ret_name = lull_arena_strndup(arena, text, (size_t)(equals - text));
    return equals + 1;
}

static size_t count_texts(char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

/* ---- sizes, costs, indices ------------------------------------------------------------------ */

static int read_sizes(char *const *texts, struct lull_arena *arena, struct lull_kernel_wish *wish)
{
    size_t count = count_texts(texts);
    struct lull_kernel_size *sizes = lull_arena_zero(arena, count + 2, sizeof *sizes);
    for (size_t i = 0; i < count; i++) {
        const char *value = split(texts[i], arena, &sizes[i].name);
        if (!value || !is_number(value, &sizes[i].value) ||
            sizes[i].value != floor(sizes[i].value) || fabs(sizes[i].value) > 1e15)
            return lull_cli_usage("-D: '%s', expected NAME=VALUE with a whole number", texts[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(sizes[k].name, sizes[i].name) == 0)
                return lull_cli_usage("-D: '%s' is given twice", sizes[i].name);
    }
    wish->source.sizes = sizes;
    wish->source.n_sizes = count;
    return LULL_EXIT_OK;
}

static int read_calls(char *const *texts, struct lull_arena *arena, struct lull_kernel_wish *wish)
{
    size_t count = count_texts(texts);
    struct lull_kernel_cost *costs = lull_arena_zero(arena, count + 1, sizeof *costs);
    for (size_t i = 0; i < count; i++) {
        const char *value = split(texts[i], arena, &costs[i].name);
        if (!value || !is_number(value, &costs[i].cycles) || costs[i].cycles < 0)
            return lull_cli_usage("--call: '%s', expected NAME=CYCLES", texts[i]);
    }
    wish->source.costs = costs;
    wish->source.n_costs = count;
    return LULL_EXIT_OK;
}

/* Indices in a text, with anything but digits between them. */
static int read_sample(const char *path, struct lull_arena *arena, struct lull_kernel_index *index)
{
    struct lull_mapping mapping;
    struct lull_error err;
    int64_t *sample = NULL;
    size_t capacity = 0, line = 1;
    if (lull_map_file(path, &mapping, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    const char *text = (const char *)mapping.data, *end = text + mapping.size;
    while (text < end) {
        size_t length = 0;
        uint64_t value = 0;
        while (text + length < end && isdigit((unsigned char)text[length]))
            length++;
        line += *text == '\n';
        if (length == 0 && !isspace((unsigned char)*text) && *text != ',') {
            lull_unmap(&mapping);
            return lull_cli_fail("%s: line %zu: expected indices from 0", path, line);
        }
        if (length > 0 && (lull_parse_u64(text, length, &value) != LULL_OK || value > INT64_MAX)) {
            lull_unmap(&mapping);
            return lull_cli_fail("%s: line %zu: this index is too large", path, line);
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
    return index->n_sample ? LULL_EXIT_OK : lull_cli_fail("%s: has no indices", path);
}

static int read_index(const char *text, struct lull_arena *arena, struct lull_kernel_index *index)
{
    const char *what = split(text, arena, &index->array);
    if (!what)
        return lull_cli_usage("--index: '%s', expected ARRAY=uniform, sequential, band:WIDTH or a "
                              "FILE",
                              text);
    if (strcmp(what, "uniform") == 0 || strcmp(what, "sequential") == 0) {
        index->kind = *what == 'u' ? LULL_INDEX_UNIFORM : LULL_INDEX_SEQUENTIAL;
        return LULL_EXIT_OK;
    }
    if (strncmp(what, "band:", 5) != 0)
        return read_sample(what, arena, index);
    index->kind = LULL_INDEX_BAND;
    if (!is_number(what + 5, &index->width) || index->width < 0 || index->width > 1e15)
        return lull_cli_usage("--index: '%s', expected band:WIDTH with a number of elements", text);
    return LULL_EXIT_OK;
}

static int read_indices(char *const *texts, struct lull_arena *arena, struct lull_kernel_wish *wish)
{
    size_t count = count_texts(texts);
    struct lull_kernel_index *indices = lull_arena_zero(arena, count + 1, sizeof *indices);
    for (size_t i = 0; i < count; i++) {
        int status = read_index(texts[i], arena, &indices[i]);
        if (status != LULL_EXIT_OK)
            return status;
    }
    wish->source.indices = indices;
    wish->source.n_indices = count;
    return LULL_EXIT_OK;
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
    while (text) {
        size_t length = strcspn(text, ",");
        double value;
        if (wish->n_values == MOST_VALUES ||
            !is_number(lull_arena_strndup(arena, text, length), &value) || value < 1 ||
            value != floor(value) || value > 1e15)
            return false;
        wish->values[wish->n_values++] = value;
        text = text[length] ? text + length + 1 : NULL;
    }
    return true;
}

static int read_sweep(const char *text, struct lull_arena *arena, struct lull_kernel_wish *wish)
{
    const char *values = text ? split(text, arena, &wish->sweep) : NULL;
    if (!text)
        return LULL_EXIT_OK;
    wish->values = lull_arena_zero(arena, MOST_VALUES, sizeof *wish->values);
    if (!values ||
        !(strchr(values, ':') ? read_range(values, wish) : read_list(values, arena, wish)))
        return lull_cli_usage("--sweep: '%s', expected NAME=FROM:TO:STEPS or NAME=VALUE,... with "
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
            return lull_cli_usage("-D and --sweep both say %s", wish->sweep);
    }
    sizes[wish->source.n_sizes++] = (struct lull_kernel_size){wish->sweep, wish->values[0]};
    wish->source.sizes = sizes;
    return LULL_EXIT_OK;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* Words between blanks; NULL at the end. */
static const char *const *words_of(const char *text, struct lull_arena *arena)
{
    const char **words = NULL;
    size_t capacity = 0, count = 0;
    for (;;) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, " \t");
        words = lull_arena_grow(arena, words, &capacity, count + 2, sizeof *words);
        words[count] = NULL;
        if (length == 0)
            return words;
        words[count++] = lull_arena_strndup(arena, text, length);
        words[count] = NULL;
        text += length;
    }
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

static int read_in_core(const char *text, struct lull_incore_options *incore)
{
    char rest;
    if (!text)
        return LULL_EXIT_OK;
    incore->given = true;
    if (sscanf(text, "%lf,%lf%c", &incore->t_ol, &incore->t_nol, &rest) != 2 ||
        !(incore->t_ol >= 0) || !(incore->t_nol >= 0) || !(incore->t_ol + incore->t_nol > 0) ||
        !isfinite(incore->t_ol + incore->t_nol))
        return lull_cli_usage("--in-core: '%s', expected T_OL,T_nOL in cycles", text);
    return LULL_EXIT_OK;
}

static int read_numbers(const struct lull_kernel_settings *settings, struct lull_kernel_wish *wish)
{
    uint64_t cores = 1;
    wish->options.seed = 1;
    if (settings->cores &&
        (lull_parse_u64(settings->cores, strlen(settings->cores), &cores) != LULL_OK || cores < 1 ||
         cores > 4096))
        return lull_cli_usage("--cores is '%s', expected 1 to 4096", settings->cores);
    wish->options.cores = (unsigned)cores;
    if (settings->seed &&
        lull_parse_u64(settings->seed, strlen(settings->seed), &wish->options.seed) != LULL_OK)
        return lull_cli_usage("--seed is '%s', expected a number", settings->seed);
    return LULL_EXIT_OK;
}

static int read_words(const struct lull_kernel_settings *settings, struct lull_kernel_wish *wish)
{
    static const char *const traffic[] = {"conditions", "simulation", NULL};
    static const char *const policies[] = {"lru", "plru", NULL};
    unsigned chosen, policy;
    int status = lull_option_word("traffic", settings->traffic, traffic, &chosen);
    if (status == LULL_EXIT_OK)
        status = lull_option_word("policy", settings->policy, policies, &policy);
    if (status != LULL_EXIT_OK)
        return status;
    wish->options.traffic = chosen == 2 ? LULL_TRAFFIC_SIMULATION : LULL_TRAFFIC_CONDITIONS;
    wish->options.policy = policy == 2 ? LULL_CACHE_PLRU : LULL_CACHE_LRU;
    /* Of a sweep every point would take its second. */
    wish->options.simulate = !settings->no_simulation && !settings->sweep;
    if (settings->no_simulation && chosen == 2)
        return lull_cli_usage("--no-simulation and --traffic simulation contradict each other");
    return LULL_EXIT_OK;
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

int lull_kernel_settings_read(const struct lull_kernel_settings *settings, const char *operand,
                              struct lull_arena *arena, struct lull_kernel_wish *ret_wish)
{
    struct lull_kernel_wish wish = {.machine_path = settings->machine};
    read_operand(operand, arena, &wish);
    if (!settings->machine)
        return lull_cli_usage("expected --machine FILE; 'lull bench -o FILE' makes one of this "
                              "machine");
    int status = read_sizes(settings->sizes, arena, &wish);
    if (status == LULL_EXIT_OK)
        status = read_calls(settings->calls, arena, &wish);
    if (status == LULL_EXIT_OK)
        status = read_sweep(settings->sweep, arena, &wish);
    if (status == LULL_EXIT_OK)
        status = read_in_core(settings->in_core, &wish.options.incore);
    if (status == LULL_EXIT_OK)
        status = read_numbers(settings, &wish);
    if (status == LULL_EXIT_OK)
        status = read_words(settings, &wish);
    if (status == LULL_EXIT_OK)
        status = read_indices(settings->indices, arena, &wish);
    wish.options.incore.compiler = settings->compiler;
    wish.options.incore.flags = settings->flags ? words_of(settings->flags, arena) : NULL;
    wish.options.incore.mca = settings->mca;
    wish.options.incore.estimate = settings->estimate;
    wish.source.flags = reading_flags(wish.options.incore.flags, arena);
    if (status == LULL_EXIT_OK)
        *ret_wish = wish;
    return status;
}

int lull_kernel_wish_load(struct lull_kernel_wish *wish, struct lull_arena *arena)
{
    struct lull_error err;
    if (lull_machine_read(wish->machine_path, arena, &wish->machine, &err) != LULL_OK ||
        lull_kernel_read(&wish->source, arena, &wish->kernel, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    wish->options.incore.here = lull_machine_is_here(wish->machine);
    return LULL_EXIT_OK;
}
