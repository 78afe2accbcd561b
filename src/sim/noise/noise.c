#include "sim/noise/noise.h"

#include "sim/noise/recording.h"
#include "stats/distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NOISE_NS (INT64_C(1) << 62)

struct lull_noise {
    const struct lull_noise_class *class;
    struct lull_distribution distribution; /* of what draws */
    double per;
    int64_t period, length;                /* periodic */
    struct lull_noise_recording recording; /* recorded */
    bool synchronised;
    uint32_t n_ranges;
    const struct lull_rank_range *ranges; /* sorted, apart from each other */
};

/* The finaliser of splitmix64: neighbouring numbers become unlike each other. */
static uint64_t scatter(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The n-th generator of a rank; n = 0 is for its phase. */
static struct lull_random generator(uint64_t seed, uint32_t rank, uint32_t n)
{
    struct lull_random random;
    lull_random_seed(&random, scatter(scatter(scatter(seed) + rank) + n));
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

/* What was said, else the default; refuses what is missing or out of bounds. */
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
    uint32_t low = 0, high = noise->n_ranges;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rank > noise->ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return noise->n_ranges == 0 || (low < noise->n_ranges && rank >= noise->ranges[low].first);
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

/* Detours take the first `length` ns of each period; `at` in [0, period). What is left of a detour
 * that is under way comes first, then one for each stretch between two that is worked to its end
 * and beyond. */
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

/* Where in the period (or recording) a rank is at the start. */
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
