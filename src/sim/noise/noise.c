/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/noise/noise.h"

#include "base/file.h"
#include "base/mix.h"
#include "base/sorted.h"
#include "base/text.h"
#include "sim/spec.h"
#include "stats/distribution.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== recording =============================================================================== */

#define MOST_RECORDED_NS (INT64_C(1) << 62)

enum { LONGEST_LINE = 256 };

struct detour_list {
    const char *path;
    struct lull_arena *arena;
    struct lull_recorded_detour *detours;
    size_t count, capacity;
    int64_t end;      /* ns: end of the last detour */
    int64_t lost;     /* ns: sum of the lengths of all detours */
    int64_t duration; /* ns; 0: not said */
};

/* Appends a detour, or says in `err` what is wrong with it. */
static lull_status append(struct detour_list *list, int64_t begin, int64_t length,
                          struct lull_error *err)
{
    if (begin < 0 || begin > MOST_RECORDED_NS)
        return lull_fail(err, LULL_ERR_FORMAT, "a detour begins at %lld ns, expected 0 to 2^62",
                         (long long)begin);
    if (length <= 0 || length > MOST_RECORDED_NS - begin)
        return lull_fail(err, LULL_ERR_FORMAT, "a detour of %lld ns, expected more than 0",
                         (long long)length);
    if (begin < list->end)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "a detour begins at %lld ns, before the last one ends at %lld ns",
                         (long long)begin, (long long)list->end);
    list->detours = lull_arena_grow(list->arena, list->detours, &list->capacity, list->count + 1,
                                    sizeof *list->detours);
    list->detours[list->count++] = (struct lull_recorded_detour){begin, length, list->lost};
    list->lost += length;
    list->end = begin + length;
    return LULL_OK;
}

static lull_status finish(const struct detour_list *list,
                          struct lull_noise_recording *ret_recording, struct lull_error *err)
{
    int64_t duration = list->duration ? list->duration : list->end;
    if (duration < list->end)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: duration is %lld ns, but the last detour ends at %lld ns", list->path,
                         (long long)duration, (long long)list->end);
    if (duration <= list->lost)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: detours leave no time in between", list->path);
    *ret_recording =
        (struct lull_noise_recording){duration, list->lost, list->count, list->detours};
    return LULL_OK;
}

static lull_status read_pair(struct detour_list *list, const json_t *pair, struct lull_error *err)
{
    const json_t *begin = json_array_get(pair, 0), *length = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(begin) || !json_is_integer(length))
        return lull_fail(err, LULL_ERR_FORMAT, "expected [begin, length] in whole ns");
    return append(list, json_integer_value(begin), json_integer_value(length), err);
}

static lull_status read_object(struct detour_list *list, const json_t *root, struct lull_error *err)
{
    const json_t *detours = json_object_get(root, "detours");
    const json_t *duration = json_object_get(root, "duration");
    if (json_integer_value(json_object_get(root, "lull_noise")) != 1)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: expected \"lull_noise\": 1", list->path);
    if (!json_is_array(detours))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: expected \"detours\", an array", list->path);
    if (duration && (!json_is_integer(duration) || json_integer_value(duration) <= 0 ||
                     json_integer_value(duration) > MOST_RECORDED_NS))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: expected \"duration\" in whole ns, above 0",
                         list->path);
    list->duration = json_integer_value(duration);
    for (size_t i = 0; i < json_array_size(detours); i++) {
        lull_status status = read_pair(list, json_array_get(detours, i), err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s: detour %zu", list->path, i);
    }
    return LULL_OK;
}

static lull_status read_json(struct detour_list *list, const struct lull_mapping *map,
                             struct lull_error *err)
{
    json_error_t cause;
    json_t *root = json_loadb((const char *)map->data, map->size, JSON_REJECT_DUPLICATES, &cause);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", list->path, cause.line,
                         cause.text);
    lull_status status = read_object(list, root, err);
    json_decref(root);
    return status;
}

/* Reads a whole number of ns; spaces around it are allowed. */
static bool read_whole_ns(const char *text, size_t length, int64_t *ret_value)
{
    uint64_t value;
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    if (lull_parse_u64(text, length, &value) != LULL_OK || value > INT64_MAX)
        return false;
    *ret_value = (int64_t)value;
    return true;
}

static lull_status read_line(struct detour_list *list, const char *line, size_t length,
                             size_t number, struct lull_error *err)
{
    static const char key[] = "# duration=";
    int64_t begin, detour;
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        length--;
    if (length > sizeof key - 1 && memcmp(line, key, sizeof key - 1) == 0) {
        if (!read_whole_ns(line + sizeof key - 1, length - sizeof key + 1, &list->duration) ||
            list->duration <= 0 || list->duration > MOST_RECORDED_NS)
            return lull_fail(err, LULL_ERR_FORMAT, "expected a duration in whole ns, above 0");
        return LULL_OK;
    }
    if (length == 0 || line[0] == '#')
        return LULL_OK;
    const char *comma = memchr(line, ',', length);
    if (!comma || !read_whole_ns(line, (size_t)(comma - line), &begin) ||
        !read_whole_ns(comma + 1, length - (size_t)(comma + 1 - line), &detour)) {
        if (number == 1 && comma && (line[0] < '0' || line[0] > '9'))
            return LULL_OK; /* names of the columns */
        return lull_fail(err, LULL_ERR_FORMAT, "expected begin,length in whole ns");
    }
    return append(list, begin, detour, err);
}

static lull_status read_csv(struct detour_list *list, const struct lull_mapping *map,
                            struct lull_error *err)
{
    const char *at = (const char *)map->data, *end = at + map->size;
    for (size_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        lull_status status = read_line(list, at, (size_t)(stop - at), number, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s: line %zu", list->path, number);
        at = stop < end ? stop + 1 : end;
    }
    return LULL_OK;
}

lull_status lull_noise_recording_read(const char *path, struct lull_arena *arena,
                                      struct lull_noise_recording *ret_recording,
                                      struct lull_error *err)
{
    struct lull_mapping map;
    struct detour_list list = {.path = path, .arena = arena};
    size_t first = 0;
    lull_status status = lull_map_file(path, &map, err);
    if (status != LULL_OK)
        return status;
    while (first < map.size && strchr(" \t\r\n", map.data[first]) && map.data[first])
        first++;
    bool is_json = first < map.size && map.data[first] == '{';
    status = is_json ? read_json(&list, &map, err) : read_csv(&list, &map, err);
    if (status == LULL_OK && list.end == 0 && list.duration == 0)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: neither a detour nor a duration", path);
    lull_unmap(&map);
    return status == LULL_OK ? finish(&list, ret_recording, err) : status;
}

/* How many ns were lost to detours before `at` in [0, duration). */
static int64_t lost_before(const struct lull_noise_recording *recording, int64_t at)
{
    struct lull_bisection over = {.end = recording->count}; /* detours that have ended at `at` */
    while (lull_bisect(&over)) {
        const struct lull_recorded_detour *detour = &recording->detours[over.middle];
        over.in_front = detour->begin + detour->length <= at;
    }
    if (over.begin == recording->count)
        return recording->lost;
    const struct lull_recorded_detour *next = &recording->detours[over.begin];
    return next->before + (at > next->begin ? at - next->begin : 0);
}

/* How many ns were lost when `work` ns of work are done, counted from the start of the recording:
 * the lengths of all detours that begin before this work is at its end. `work` is in
 * (0, duration - lost]. */
static int64_t lost_after(const struct lull_noise_recording *recording, int64_t work)
{
    struct lull_bisection at = {.end = recording->count}; /* detours with less work before them */
    while (lull_bisect(&at)) {
        const struct lull_recorded_detour *detour = &recording->detours[at.middle];
        at.in_front = detour->begin - detour->before < work;
    }
    return at.begin == recording->count ? recording->lost : recording->detours[at.begin].before;
}

int64_t lull_noise_recording_extend(const struct lull_noise_recording *recording, int64_t at,
                                    int64_t work)
{
    int64_t round = recording->duration - recording->lost, total;
    if (work <= 0)
        return 0;
    /* Both are counted from the start of the recording: what was lost before `at`, and the work
     * that is done when the computation ends. */
    int64_t lost = lost_before(recording, at), done = at - lost + work;
    int64_t rounds = (done - 1) / round; /* at least 1 ns of work is left for the last round */
    if (__builtin_mul_overflow(rounds, recording->lost, &total) || total > MOST_RECORDED_NS)
        return MOST_RECORDED_NS;
    total += lost_after(recording, done - rounds * round) - lost;
    return total < MOST_RECORDED_NS ? total : MOST_RECORDED_NS;
}

/* ==== noise =================================================================================== */

#define MOST_NOISE_NS (INT64_C(1) << 62)

struct lull_noise {
    const struct lull_noise_class *class;
    struct lull_distribution distribution; /* of the amounts, if the class draws them */
    double per;
    int64_t period, length;                /* ns, of class periodic */
    struct lull_noise_recording recording; /* of class recorded */
    bool synchronised;
    uint32_t n_ranges;
    const struct lull_rank_range *ranges; /* sorted, without overlaps */
};

/* The generator for the n-th draw of a rank; n = 0 is for its phase. */
static struct lull_random generator(uint64_t seed, uint32_t rank, uint32_t n)
{
    struct lull_random random;
    lull_random_seed(&random, lull_scatter(lull_scatter(lull_scatter(seed) + rank) + n));
    return random;
}

static lull_status init_constant(struct lull_noise *noise, const double *values,
                                 struct lull_error *err)
{
    return lull_distribution_constant(values[0], &noise->distribution, err);
}

static lull_status init_exponential(struct lull_noise *noise, const double *values,
                                    struct lull_error *err)
{
    return lull_distribution_exponential(values[0], &noise->distribution, err);
}

static lull_status init_uniform(struct lull_noise *noise, const double *values,
                                struct lull_error *err)
{
    return lull_distribution_uniform(values[0], values[1], &noise->distribution, err);
}

static lull_status init_gamma(struct lull_noise *noise, const double *values,
                              struct lull_error *err)
{
    return lull_distribution_gamma(values[0], values[1], &noise->distribution, err);
}

static lull_status init_bernoulli(struct lull_noise *noise, const double *values,
                                  struct lull_error *err)
{
    return lull_distribution_bernoulli(values[0] / values[1], values[1], &noise->distribution, err);
}

static lull_status init_normal(struct lull_noise *noise, const double *values,
                               struct lull_error *err)
{
    return lull_distribution_normal(values[0], values[1], values[2], values[3],
                                    &noise->distribution, err);
}

static lull_status init_periodic(struct lull_noise *noise, const double *values,
                                 struct lull_error *err)
{
    noise->period = llround(values[0]);
    noise->length = llround(values[1]);
    if (noise->length >= noise->period)
        return lull_fail(err, LULL_ERR_RANGE,
                         "duration is %lld ns, expected less than the period of %lld ns",
                         (long long)noise->length, (long long)noise->period);
    return LULL_OK;
}

#define MOST_NOISE 1e18 /* ns: 30 years */
#define TIME(name, summary, value, least)                            \
    {                                                                \
        name, summary, LULL_TIME_NS, value, least, MOST_NOISE, false \
    }
#define FACTOR(name, summary, value, least, most)             \
    {                                                         \
        name, summary, LULL_FACTOR, value, least, most, false \
    }

static const struct lull_parameter constant_parameters[] = {TIME("mean", "added time", NAN, 0)};
static const struct lull_parameter exponential_parameters[] = {TIME("mean", "mean", NAN, 0)};

static const struct lull_parameter uniform_parameters[] = {TIME("min", "least", 0, 0),
                                                           TIME("max", "most", NAN, 0)};

static const struct lull_parameter gamma_parameters[] = {
    TIME("mean", "mean", NAN, 0),
    FACTOR("shape", "shape k: the standard deviation is mean / sqrt(k)", NAN, 1e-3, 1e9)};

static const struct lull_parameter bernoulli_parameters[] = {
    TIME("mean", "mean: what hits is mean / p", NAN, 0), FACTOR("p", "probability", NAN, 1e-9, 1)};

static const struct lull_parameter normal_parameters[] = {
    TIME("mean", "mean before it is cut", NAN, 0), TIME("sd", "deviation before it is cut", NAN, 0),
    TIME("min", "least", 0, 0), TIME("max", "most", MOST_NOISE, 0)};

static const struct lull_parameter periodic_parameters[] = {
    TIME("period", "from the begin of one detour to that of the next", NAN, 1),
    TIME("duration", "of a detour", NAN, 0)};

#define PARAMETERS(array) .parameters = array, .n_parameters = sizeof array / sizeof *array

static const struct lull_noise_class none = {.name = "none", .summary = "no noise"};

static const struct lull_noise_class constant = {
    .name = "constant",
    .summary = "the same for each computation",
    PARAMETERS(constant_parameters),
    .has_per = true,
    .init = init_constant,
};

static const struct lull_noise_class exponential = {
    .name = "exponential",
    .summary = "exponentially distributed",
    PARAMETERS(exponential_parameters),
    .has_per = true,
    .init = init_exponential,
};

static const struct lull_noise_class uniform = {
    .name = "uniform",
    .summary = "equally likely between two bounds",
    PARAMETERS(uniform_parameters),
    .has_per = true,
    .init = init_uniform,
};

static const struct lull_noise_class gamma_class = {
    .name = "gamma",
    .summary = "gamma distributed",
    PARAMETERS(gamma_parameters),
    .has_per = true,
    .init = init_gamma,
};

static const struct lull_noise_class bernoulli = {
    .name = "bernoulli",
    .summary = "a fixed amount with some probability, else nothing",
    PARAMETERS(bernoulli_parameters),
    .has_per = true,
    .init = init_bernoulli,
};

static const struct lull_noise_class normal = {
    .name = "normal",
    .summary = "normally distributed, cut at bounds",
    PARAMETERS(normal_parameters),
    .has_per = true,
    .init = init_normal,
};

static const struct lull_noise_class periodic = {
    .name = "periodic",
    .summary = "detours of one length, one each period",
    PARAMETERS(periodic_parameters),
    .has_phase = true,
    .init = init_periodic,
};

static const struct lull_noise_class recorded = {
    .name = "recorded",
    .summary = "detours recorded on a machine, again and again",
    .has_phase = true,
    .has_file = true,
};

const struct lull_noise_class *const lull_noise_classes[] = {
    &none,      &constant, &exponential, &uniform,  &gamma_class,
    &bernoulli, &normal,   &periodic,    &recorded,
};

const unsigned lull_n_noise_classes = sizeof lull_noise_classes / sizeof *lull_noise_classes;

const struct lull_noise_class *lull_noise_find(const char *name)
{
    for (unsigned i = 0; i < lull_n_noise_classes; i++)
        if (strcmp(lull_noise_classes[i]->name, name) == 0)
            return lull_noise_classes[i];
    return NULL;
}

struct lull_noise_spec lull_noise_spec_empty(const struct lull_noise_class *class)
{
    struct lull_noise_spec spec = {.class = class};
    for (unsigned i = 0; i < LULL_NOISE_VALUES; i++)
        spec.values[i] = NAN;
    return spec;
}

/* Takes the values of the spec, and the default where none is said. Refuses what is missing or out
 * of bounds. */
static lull_status take_values(const struct lull_noise_spec *spec, double *values,
                               struct lull_error *err)
{
    for (unsigned i = 0; i < spec->class->n_parameters; i++) {
        const struct lull_parameter *parameter = &spec->class->parameters[i];
        values[i] = isnan(spec->values[i]) ? parameter->value : spec->values[i];
        if (isnan(values[i]))
            return lull_fail(err, LULL_ERR_RANGE, "noise '%s' needs %s (%s)", spec->class->name,
                             parameter->name, parameter->summary);
        if (!(values[i] >= parameter->least && values[i] <= parameter->most))
            return lull_fail(err, LULL_ERR_RANGE, "noise '%s': %s is %g, expected %g to %g",
                             spec->class->name, parameter->name, values[i], parameter->least,
                             parameter->most);
    }
    if (!(spec->per >= 0 && spec->per <= MOST_NOISE))
        return lull_fail(err, LULL_ERR_RANGE, "noise '%s': per is %g, expected 0 to %g ns",
                         spec->class->name, spec->per, MOST_NOISE);
    return LULL_OK;
}

static int by_first(const void *a, const void *b)
{
    const struct lull_rank_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sorts and joins the ranges. */
static lull_status take_rank_ranges(const struct lull_noise_spec *spec, struct lull_arena *arena,
                                    struct lull_noise *noise, struct lull_error *err)
{
    if (spec->n_ranges == 0)
        return LULL_OK;
    struct lull_rank_range *ranges = lull_arena_alloc(arena, spec->n_ranges * sizeof *ranges);
    memcpy(ranges, spec->ranges, spec->n_ranges * sizeof *ranges);
    qsort(ranges, spec->n_ranges, sizeof *ranges, by_first);
    uint32_t count = 0;
    for (uint32_t i = 0; i < spec->n_ranges; i++) {
        if (ranges[i].first > ranges[i].last)
            return lull_fail(err, LULL_ERR_RANGE, "ranks %u-%u: the last is before the first",
                             ranges[i].first, ranges[i].last);
        if (count == 0 || ranges[i].first > ranges[count - 1].last)
            ranges[count++] = ranges[i];
        else if (ranges[i].last > ranges[count - 1].last)
            ranges[count - 1].last = ranges[i].last;
    }
    noise->ranges = ranges;
    noise->n_ranges = count;
    return LULL_OK;
}

lull_status lull_noise_create(const struct lull_noise_spec *spec, struct lull_arena *arena,
                              const struct lull_noise **ret_noise, struct lull_error *err)
{
    double values[LULL_NOISE_VALUES];
    struct lull_noise *noise = lull_arena_zero(arena, 1, sizeof *noise);
    noise->class = spec->class;
    noise->per = spec->per;
    noise->synchronised = spec->synchronised;
    lull_status status = take_values(spec, values, err);
    if (status == LULL_OK && spec->class->init) {
        status = spec->class->init(noise, values, err);
        if (status != LULL_OK)
            lull_fail_prefix(err, status, "noise '%s'", spec->class->name);
    }
    if (status == LULL_OK && spec->class->has_file && spec->recording) {
        noise->recording = *spec->recording;
    } else if (status == LULL_OK && spec->class->has_file) {
        if (!spec->file)
            return lull_fail(err, LULL_ERR_RANGE, "noise '%s' needs file", spec->class->name);
        status = lull_noise_recording_read(spec->file, arena, &noise->recording, err);
    }
    if (status == LULL_OK)
        status = take_rank_ranges(spec, arena, noise, err);
    if (status == LULL_OK)
        *ret_noise = noise;
    return status;
}

static bool is_chosen(const struct lull_noise *noise, uint32_t rank)
{
    const size_t at = lull_sorted_first_u32(noise->ranges, noise->n_ranges, sizeof *noise->ranges,
                                            offsetof(struct lull_rank_range, last), rank);
    return noise->n_ranges == 0 || (at < noise->n_ranges && rank >= noise->ranges[at].first);
}

static int64_t draw(const struct lull_noise *noise, uint64_t seed, uint32_t rank, uint32_t n,
                    int64_t duration)
{
    struct lull_random random = generator(seed, rank, n);
    double amount = lull_distribution_sample(&noise->distribution, &random);
    if (noise->per > 0)
        amount *= (double)duration / noise->per;
    if (!(amount > 0))
        return 0;
    return amount < 0x1p62 ? (int64_t)(amount + 0.5) : MOST_NOISE_NS;
}

/* How many ns periodic detours add to `work` ns of computation that begin at `at` in [0, period). A
 * detour takes the first `length` ns of each period. What is left of a detour that is under way
 * comes first; then each stretch between two detours that is used up before the work is done costs
 * one detour more. */
static int64_t extend_periodic(const struct lull_noise *noise, int64_t at, int64_t work)
{
    int64_t between = noise->period - noise->length, added = 0, total;
    int64_t stretch = noise->period - at;
    if (at < noise->length) {
        added = noise->length - at;
        stretch = between;
    }
    if (work <= stretch)
        return added;
    int64_t detours = (work - stretch - 1) / between + 1;
    if (__builtin_mul_overflow(detours, noise->length, &total) || total > MOST_NOISE_NS - added)
        return MOST_NOISE_NS;
    return added + total;
}

/* Where in the period (or recording) a rank is at the start, in ns. */
static int64_t phase(const struct lull_noise *noise, uint64_t seed, uint32_t rank, int64_t period)
{
    if (noise->synchronised)
        return 0;
    struct lull_random random = generator(seed, rank, 0);
    return (int64_t)lull_random_below(&random, (uint64_t)period);
}

int64_t lull_noise_extend(const struct lull_noise *noise, uint64_t seed, uint32_t rank,
                          struct lull_noise_rank *state, int64_t begin, int64_t duration)
{
    const struct lull_noise_class *class = noise->class;
    if (class == &none || !is_chosen(noise, rank))
        return 0;
    if (class->has_per)
        return draw(noise, seed, rank, ++state->draws, duration);
    int64_t period = class == &periodic ? noise->period : noise->recording.duration;
    if (duration == 0)
        return 0;
    int64_t at = (begin % period + phase(noise, seed, rank, period)) % period;
    return class == &periodic ? extend_periodic(noise, at, duration)
                              : lull_noise_recording_extend(&noise->recording, at, duration);
}

bool lull_noise_has(const struct lull_noise *noise, uint32_t rank)
{
    return noise->class != &none && is_chosen(noise, rank);
}

bool lull_noise_is_for(const struct lull_noise *noise, uint32_t n_ranks)
{
    return noise->n_ranges == 0 || noise->ranges[0].first < n_ranks;
}

double lull_noise_per(const struct lull_noise *noise)
{
    return noise->per;
}

bool lull_noise_detours(const struct lull_noise *noise, uint64_t seed, uint32_t rank,
                        struct lull_arena *arena, struct lull_noise_recording *ret_detours,
                        int64_t *ret_phase)
{
    struct lull_noise_recording detours = noise->recording;
    if (!noise->class->has_phase)
        return false;
    if (noise->class == &periodic) {
        struct lull_recorded_detour *detour = lull_arena_zero(arena, 1, sizeof *detour);
        detour->length = noise->length;
        detours = (struct lull_noise_recording){
            .duration = noise->period, .lost = noise->length, .count = 1, .detours = detour};
    }
    *ret_detours = detours;
    *ret_phase = phase(noise, seed, rank, detours.duration);
    return true;
}

double lull_noise_mean(const struct lull_noise *noise, bool *ret_share)
{
    *ret_share = noise->class->has_phase;
    if (noise->class->has_per)
        return lull_distribution_mean(&noise->distribution);
    if (noise->class == &periodic)
        return (double)noise->length / (double)(noise->period - noise->length);
    if (noise->class == &recorded)
        return (double)noise->recording.lost /
               (double)(noise->recording.duration - noise->recording.lost);
    return 0;
}

/* ==== spec ==================================================================================== */

static lull_status find_noise_class(const struct lull_spec *spec,
                                    const struct lull_noise_class **ret, struct lull_error *err)
{
    const char *names[32];
    unsigned count = 0;
    *ret = lull_noise_find(lull_spec_name(spec));
    if (*ret)
        return LULL_OK;
    for (; count < lull_n_noise_classes && count < 31; count++)
        names[count] = lull_noise_classes[count]->name;
    names[count] = NULL;
    return lull_spec_unknown_name(spec, "noise", names, err);
}

static lull_status read_per(struct lull_spec *spec, double *ret_per, struct lull_error *err)
{
    static const struct lull_parameter per = {
        "per", "time of computation that one amount is for", LULL_TIME_NS, 0, 1, 1e18, false};
    if (strcmp(lull_spec_string(spec, "per", "operation"), "operation") == 0)
        return LULL_OK;
    return lull_spec_number(spec, &per, ret_per, err);
}

static lull_status read_noisy_ranks(struct lull_spec *spec, uint32_t n_ranks,
                                    struct lull_arena *arena, struct lull_noise_spec *noise,
                                    struct lull_error *err)
{
    const uint32_t *list;
    uint32_t count;
    lull_status status = lull_spec_list(spec, "ranks", 0, n_ranks - 1, &list, &count, err);
    if (status != LULL_OK || count == 0)
        return status;
    struct lull_rank_range *ranges = lull_arena_alloc(arena, count * sizeof *ranges);
    for (uint32_t i = 0; i < count; i++) {
        if (noise->n_ranges && ranges[noise->n_ranges - 1].last + 1 == list[i])
            ranges[noise->n_ranges - 1].last = list[i];
        else
            ranges[noise->n_ranges++] = (struct lull_rank_range){list[i], list[i]};
    }
    noise->ranges = ranges;
    return LULL_OK;
}

lull_status lull_noise_read(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                            const struct lull_noise **ret_noise, struct lull_error *err)
{
    static const char *const phases[] = {"random", "synchronised", NULL};
    const struct lull_noise_class *class;
    unsigned phase = 0;
    lull_status status = find_noise_class(spec, &class, err);
    if (status != LULL_OK)
        return status;
    struct lull_noise_spec noise = lull_noise_spec_empty(class);
    for (unsigned i = 0; i < class->n_parameters && status == LULL_OK; i++)
        status = lull_spec_number(spec, &class->parameters[i], &noise.values[i], err);
    if (status == LULL_OK && class->has_per)
        status = read_per(spec, &noise.per, err);
    if (status == LULL_OK && class->has_phase)
        status = lull_spec_choice(spec, "phase", phases, 0, &phase, err);
    noise.synchronised = phase == 1;
    if (status == LULL_OK && class->has_file)
        noise.file = lull_spec_string(spec, "file", NULL);
    if (status == LULL_OK)
        status = read_noisy_ranks(spec, n_ranks, arena, &noise, err);
    if (status == LULL_OK)
        status = lull_spec_finish(spec, err);
    return status == LULL_OK ? lull_noise_create(&noise, arena, ret_noise, err) : status;
}
