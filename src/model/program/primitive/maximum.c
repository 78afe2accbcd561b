#include "model/program/primitive/maximum.h"

#include <math.h>

/* Sum of 1/k up to n: exact sum for small n, the asymptotic series beyond (DLMF 5.11.2). */
static double harmonic(double n)
{
    double above = 0;
    while (n < 16) { /* H(n) = H(n + 1) - 1 / (n + 1) */
        n += 1;
        above += 1 / n;
    }
    double square = 1 / (n * n);
    const double euler = 0.57721566490153286;
    return log(n) + euler + 0.5 / n - square / 12 + square * square / 120 -
           square * square * square / 252 + square * square * square * square / 240 - above;
}

/* 1 - F(x)^draws, without loss of digits where F is near 1. */
static double exceeds(const struct lull_distribution *distribution, double draws, double x)
{
    double cdf = lull_distribution_cdf(distribution, x);
    return cdf <= 0 ? 1 : -expm1(draws * log(cdf));
}

/* Simpson's rule in t, x = low + (high - low) t^4: steep where gamma distributions are. */
static double integrate(const struct lull_distribution *distribution, double draws, double low,
                        double high)
{
    enum { SIMPSON_STEPS = 4000 };
    double sum = 0;
    for (int i = 0; i <= SIMPSON_STEPS; i++) {
        double t = (double)i / SIMPSON_STEPS, weight = i == 0 || i == SIMPSON_STEPS ? 1
                                                       : i % 2                      ? 4
                                                                                    : 2;
        double x = low + (high - low) * t * t * t * t;
        sum += weight * exceeds(distribution, draws, x) * 4 * t * t * t;
    }
    return sum * (high - low) / (3 * SIMPSON_STEPS);
}

static double by_integration(const struct lull_distribution *distribution, double draws)
{
    double sd = sqrt(lull_distribution_variance(distribution));
    double low = distribution->kind == LULL_DISTRIBUTION_NORMAL
                     ? fmax(distribution->least, distribution->a - 40 * distribution->b)
                     : 0;
    double high = lull_distribution_mean(distribution) + sd;
    if (sd == 0)
        return high;
    while (exceeds(distribution, draws, high) > 1e-9 && high + sd > high)
        high += sd;
    return low + integrate(distribution, draws, low, high);
}

double lull_expected_maximum(const struct lull_distribution *distribution, double draws)
{
    double a = distribution->a, b = distribution->b;
    switch (distribution->kind) {
    case LULL_DISTRIBUTION_CONSTANT:
        return a;
    case LULL_DISTRIBUTION_EXPONENTIAL:
        return a * harmonic(draws);
    case LULL_DISTRIBUTION_UNIFORM:
        return a + (b - a) * draws / (draws + 1);
    case LULL_DISTRIBUTION_BERNOULLI:
        return b >= 1 ? a : -a * expm1(draws * log1p(-b));
    default:
        return by_integration(distribution, draws);
    }
}

static double probability_of(const struct lull_quantiles *quantiles, size_t i)
{
    return quantiles->probabilities ? quantiles->probabilities[i]
                                    : (double)i / ((double)quantiles->count - 1);
}

/* E = Q(1) - integral of Q'(u) u^draws, with Q' constant between two quantiles. */
double lull_expected_maximum_of_quantiles(const struct lull_quantiles *quantiles, double draws)
{
    const double *values = quantiles->values;
    double expected = values[quantiles->count - 1];
    for (size_t i = 0; i + 1 < quantiles->count; i++) {
        double from = probability_of(quantiles, i), to = probability_of(quantiles, i + 1);
        double slope = (values[i + 1] - values[i]) / (to - from);
        expected -= slope * (pow(to, draws + 1) - pow(from, draws + 1)) / (draws + 1);
    }
    return expected;
}

double lull_quantiles_sample(const struct lull_quantiles *quantiles, double probability)
{
    size_t i = 0;
    while (i + 2 < quantiles->count && probability_of(quantiles, i + 1) <= probability)
        i++;
    double from = probability_of(quantiles, i), to = probability_of(quantiles, i + 1);
    return quantiles->values[i] +
           (probability - from) / (to - from) * (quantiles->values[i + 1] - quantiles->values[i]);
}
