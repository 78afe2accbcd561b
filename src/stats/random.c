/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/random.h"

#include "base/mix.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ==== elementary ============================================================================== */

/* Reductions and series are as in common C libraries, but the coefficients are those of the plain
 * series, so that everybody can check them: the terms left out are below 2^-58 of the result. */

/* ln 2 in two parts; the high one has so few bits that products with an exponent are exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

/* x = 2^exponent (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). With s = f / (2 + f):
 * ln(1 + f) = 2 (s + s^3/3 + s^5/5 + ...) = f - f^2/2 + s (f^2/2 + R), R = 2 (s^2/3 + s^4/5 + ...)
 */
double lull_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        exponent++;
    }
    double f = m - 1, s = f / (2 + f), z = s * s, series = 0;
    for (int n = 25; n >= 3; n -= 2)
        series = (series + 2.0 / n) * z;
    double half = 0.5 * f * f, e = exponent;
    return e * ln2_high - ((half - (s * (half + series) + e * ln2_low)) - f);
}

double lull_exp(double x)
{
    if (x < -700)
        return 0;
    if (x > 709)
        return INFINITY;
    int k = (int)(x * 0x1.71547652b82fep0 + (x < 0 ? -0.5 : 0.5));
    double high = x - k * ln2_high, low = k * ln2_low, r = high - low;
    /* e^r - 1 - r - r^2/2 by Taylor's series, |r| <= 0.35 */
    double series = 0;
    for (int n = 15; n >= 3; n--)
        series = (series + 1) * r / n;
    double result = 1 + (high + (0.5 * r * r * (1 + series) - low));
    uint64_t bits;
    memcpy(&bits, &result, sizeof bits);
    bits += (uint64_t)(int64_t)k << 52;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* ==== random ================================================================================== */

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

void lull_random_seed(struct lull_random *random, uint64_t seed)
{
    for (uint64_t i = 0; i < 4; i++)
        random->state[i] = lull_scatter(seed + lull_spread(i));
}

uint64_t lull_random_u64(struct lull_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

double lull_random_uniform(struct lull_random *random)
{
    return (double)(lull_random_u64(random) >> 11) * 0x1p-53;
}

uint64_t lull_random_below(struct lull_random *random, uint64_t bound)
{
    /* The high half of a 128-bit product; rejecting the first values removes the bias. */
    uint64_t reject = -bound % bound;
    for (;;) {
        unsigned __int128 product = (unsigned __int128)lull_random_u64(random) * bound;
        if ((uint64_t)product >= reject)
            return (uint64_t)(product >> 64);
    }
}
