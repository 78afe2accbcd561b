/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/distribution.h"

#include "stats/random.h"
#include "stats/special.h"

#include <math.h>
#include <stdbool.h>

static lull_status refuse(struct lull_error *err, const char *name, double value, const char *want)
{
    return lull_fail(err, LULL_ERR_RANGE, "%s is %g, expected %s", name, value, want);
}

/* A uniform draw from (0, 1], whose logarithm is finite. */
static double above_zero(struct lull_random *random)
{
    return 1 - lull_random_uniform(random);
}

/* The polar method (Marsaglia, Bray 1964). The second number of each pair is dropped, so that a
 * draw depends on the state of the generator alone. */
static double sample_standard_normal(struct lull_random *random)
{
    for (;;) {
        double u = 2 * lull_random_uniform(random) - 1;
        double v = 2 * lull_random_uniform(random) - 1;
        double square = u * u + v * v;
        if (square < 1 && square > 0)
            return u * sqrt(-2 * lull_log(square) / square);
    }
}

static double sample_constant(const struct lull_distribution *d, struct lull_random *random)
{
    (void)random;
    return d->a;
}

static double mean_constant(const struct lull_distribution *d)
{
    return d->a;
}

static double variance_constant(const struct lull_distribution *d)
{
    (void)d;
    return 0;
}

static double cdf_constant(const struct lull_distribution *d, double x)
{
    return x >= d->a;
}

static double sample_exponential(const struct lull_distribution *d, struct lull_random *random)
{
    return -d->a * lull_log(above_zero(random));
}

static double variance_exponential(const struct lull_distribution *d)
{
    return d->a * d->a;
}

static double cdf_exponential(const struct lull_distribution *d, double x)
{
    if (x < 0)
        return 0;
    return d->a > 0 ? -expm1(-x / d->a) : 1;
}

static double sample_uniform(const struct lull_distribution *d, struct lull_random *random)
{
    return d->a + (d->b - d->a) * lull_random_uniform(random);
}

static double mean_uniform(const struct lull_distribution *d)
{
    return d->a + (d->b - d->a) / 2;
}

static double variance_uniform(const struct lull_distribution *d)
{
    return (d->b - d->a) * (d->b - d->a) / 12;
}

static double cdf_uniform(const struct lull_distribution *d, double x)
{
    if (x < d->a)
        return 0;
    return x < d->b ? (x - d->a) / (d->b - d->a) : 1;
}

/* The method of Marsaglia and Tsang, "A simple method for generating gamma variables", 2000, for
 * shape >= 1. For a smaller shape: a draw with shape + 1, times a uniform draw to the power of
 * 1 / shape. */
static double sample_gamma(const struct lull_distribution *d, struct lull_random *random)
{
    double shape = d->b < 1 ? d->b + 1 : d->b, third = shape - 1.0 / 3;
    double c = 1 / sqrt(9 * third), v;
    for (;;) {
        double x = sample_standard_normal(random);
        v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = lull_log(above_zero(random));
        if (u < 0.5 * x * x + third - third * v + third * lull_log(v))
            break;
    }
    double draw = d->a * third * v;
    return d->b < 1 ? draw * lull_exp(lull_log(above_zero(random)) / d->b) : draw;
}

static double mean_gamma(const struct lull_distribution *d)
{
    return d->a * d->b;
}

static double variance_gamma(const struct lull_distribution *d)
{
    return d->a * d->a * d->b;
}

/* The regularised lower incomplete gamma function: below shape + 1 by its series, above by the
 * continued fraction of its complement with Lentz's method (DLMF 8.11.4, 8.9.2). */
static double cdf_gamma(const struct lull_distribution *d, double at)
{
    double s = d->b, x = d->a > 0 ? at / d->a : INFINITY;
    if (at < 0 || s <= 0)
        return at >= 0;
    if (at == 0 || isinf(x))
        return isinf(x);
    double front = exp(s * log(x) - x - lull_log_gamma(s));
    if (x < s + 1) {
        double term = 1 / s, sum = term;
        for (int n = 1; term > 1e-17 * sum && n < 100000; n++)
            sum += term *= x / (s + n);
        return front * sum;
    }
    double b = x + 1 - s, c = 1e300, e = 1 / b, fraction = e;
    for (int n = 1; n < 100000; n++) {
        double a = -n * (n - s);
        b += 2;
        e = 1 / (a * e + b);
        c = b + a / c;
        fraction *= c * e;
        if (fabs(c * e - 1) < 1e-15)
            break;
    }
    return 1 - front * fraction;
}

static double sample_bernoulli(const struct lull_distribution *d, struct lull_random *random)
{
    return lull_random_uniform(random) < d->b ? d->a : 0;
}

static double mean_bernoulli(const struct lull_distribution *d)
{
    return d->a * d->b;
}

static double variance_bernoulli(const struct lull_distribution *d)
{
    return d->a * d->a * d->b * (1 - d->b);
}

static double cdf_bernoulli(const struct lull_distribution *d, double x)
{
    return (x >= 0) * (1 - d->b) + (x >= d->a) * d->b;
}

/* Draws by rejection. The mean lies within the bounds. Therefore either at least a third of all
 * normal draws is kept, or the bounds are so near that uniform draws are used, which are kept with
 * a probability of at least exp(-1/2). */
static double sample_normal(const struct lull_distribution *d, struct lull_random *random)
{
    if (d->b == 0)
        return d->a;
    const double width = d->most - d->least;
    double x, z;
    if (width >= d->b) {
        do
            x = d->a + d->b * sample_standard_normal(random);
        while (x < d->least || x > d->most);
        return x;
    }
    do {
        x = d->least + width * lull_random_uniform(random);
        z = (x - d->a) / d->b;
    } while (lull_log(above_zero(random)) > -0.5 * z * z);
    return x;
}

static double normal_density(double z)
{
    return exp(-0.5 * z * z) / sqrt(2 * acos(-1));
}

/* The probability of a standard normal draw in [low, high]. */
static double normal_mass(double low, double high)
{
    return 0.5 * (erfc(-high / sqrt(2)) - erfc(-low / sqrt(2)));
}

/* The first and second moment of z = (x - mean) / sd of what the bounds keep. */
static void normal_moments(const struct lull_distribution *d, double *ret_first, double *ret_second)
{
    double low = (d->least - d->a) / d->b, high = (d->most - d->a) / d->b;
    double mass = normal_mass(low, high), at_low = normal_density(low);
    double at_high = normal_density(high);
    *ret_first = (at_low - at_high) / mass;
    *ret_second = 1 + ((isinf(low) ? 0 : low * at_low) - (isinf(high) ? 0 : high * at_high)) / mass;
}

static double mean_normal(const struct lull_distribution *d)
{
    double first, second;
    if (d->b == 0 || d->least == d->most)
        return d->a;
    normal_moments(d, &first, &second);
    return d->a + d->b * first;
}

static double variance_normal(const struct lull_distribution *d)
{
    double first, second;
    if (d->b == 0 || d->least == d->most)
        return 0;
    normal_moments(d, &first, &second);
    return d->b * d->b * (second - first * first);
}

static double cdf_normal(const struct lull_distribution *d, double x)
{
    if (x < d->least || x >= d->most || d->b == 0)
        return x >= (d->b == 0 ? d->a : d->most);
    double low = (d->least - d->a) / d->b;
    return normal_mass(low, (x - d->a) / d->b) / normal_mass(low, (d->most - d->a) / d->b);
}

static const struct {
    double (*sample)(const struct lull_distribution *d, struct lull_random *random);
    double (*mean)(const struct lull_distribution *d);
    double (*variance)(const struct lull_distribution *d);
    double (*cdf)(const struct lull_distribution *d, double x);
} kinds[LULL_DISTRIBUTIONS] = {
    {sample_constant, mean_constant, variance_constant, cdf_constant},
    {sample_exponential, mean_constant, variance_exponential, cdf_exponential},
    {sample_uniform, mean_uniform, variance_uniform, cdf_uniform},
    {sample_gamma, mean_gamma, variance_gamma, cdf_gamma},
    {sample_bernoulli, mean_bernoulli, variance_bernoulli, cdf_bernoulli},
    {sample_normal, mean_normal, variance_normal, cdf_normal},
};

double lull_distribution_sample(const struct lull_distribution *distribution,
                                struct lull_random *random)
{
    return kinds[distribution->kind].sample(distribution, random);
}

double lull_distribution_mean(const struct lull_distribution *distribution)
{
    return kinds[distribution->kind].mean(distribution);
}

double lull_distribution_variance(const struct lull_distribution *distribution)
{
    return kinds[distribution->kind].variance(distribution);
}

double lull_distribution_cdf(const struct lull_distribution *distribution, double x)
{
    return kinds[distribution->kind].cdf(distribution, x);
}

lull_status lull_distribution_constant(double value, struct lull_distribution *ret_distribution,
                                       struct lull_error *err)
{
    if (!isfinite(value))
        return refuse(err, "value", value, "a number");
    *ret_distribution = (struct lull_distribution){.kind = LULL_DISTRIBUTION_CONSTANT, .a = value};
    return LULL_OK;
}

lull_status lull_distribution_exponential(double mean, struct lull_distribution *ret_distribution,
                                          struct lull_error *err)
{
    if (!(mean >= 0) || isinf(mean))
        return refuse(err, "mean", mean, "0 or more");
    *ret_distribution =
        (struct lull_distribution){.kind = LULL_DISTRIBUTION_EXPONENTIAL, .a = mean};
    return LULL_OK;
}

lull_status lull_distribution_uniform(double least, double most,
                                      struct lull_distribution *ret_distribution,
                                      struct lull_error *err)
{
    if (!isfinite(least))
        return refuse(err, "the lower bound", least, "a number");
    if (!(most >= least) || isinf(most))
        return refuse(err, "the upper bound", most, "a number not below the lower bound");
    *ret_distribution =
        (struct lull_distribution){.kind = LULL_DISTRIBUTION_UNIFORM, .a = least, .b = most};
    return LULL_OK;
}

lull_status lull_distribution_gamma(double mean, double shape,
                                    struct lull_distribution *ret_distribution,
                                    struct lull_error *err)
{
    if (!(mean >= 0) || isinf(mean))
        return refuse(err, "mean", mean, "0 or more");
    if (!(shape >= 1e-3 && shape <= 1e9))
        return refuse(err, "shape", shape, "0.001 to 1e9");
    *ret_distribution =
        (struct lull_distribution){.kind = LULL_DISTRIBUTION_GAMMA, .a = mean / shape, .b = shape};
    return LULL_OK;
}

lull_status lull_distribution_bernoulli(double value, double probability,
                                        struct lull_distribution *ret_distribution,
                                        struct lull_error *err)
{
    if (!isfinite(value))
        return refuse(err, "value", value, "a number");
    if (!(probability > 0 && probability <= 1))
        return refuse(err, "probability", probability, "more than 0, up to 1");
    *ret_distribution = (struct lull_distribution){
        .kind = LULL_DISTRIBUTION_BERNOULLI, .a = value, .b = probability};
    return LULL_OK;
}

lull_status lull_distribution_normal(double mean, double sd, double least, double most,
                                     struct lull_distribution *ret_distribution,
                                     struct lull_error *err)
{
    if (!isfinite(mean))
        return refuse(err, "mean", mean, "a number");
    if (!(sd >= 0) || isinf(sd))
        return refuse(err, "sd", sd, "0 or more");
    if (!(least <= mean))
        return refuse(err, "the lower bound", least, "the mean or less");
    if (!(most >= mean))
        return refuse(err, "the upper bound", most, "the mean or more");
    *ret_distribution = (struct lull_distribution){LULL_DISTRIBUTION_NORMAL, mean, sd, least, most};
    return LULL_OK;
}
