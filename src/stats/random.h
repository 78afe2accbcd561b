/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeded random numbers: xoshiro256** seeded by splitmix64 (Blackman and Vigna, public domain
 * algorithms). The same seed gives the same numbers on every machine. */
#ifndef LULL_STATS_RANDOM_H
#define LULL_STATS_RANDOM_H

#include <stdint.h>

struct lull_random {
    uint64_t state[4];
};

void lull_random_seed(struct lull_random *random, uint64_t seed);
uint64_t lull_random_u64(struct lull_random *random);
double lull_random_uniform(struct lull_random *random);                 /* in [0, 1) */
uint64_t lull_random_below(struct lull_random *random, uint64_t bound); /* in [0, bound) */

/* ==== elementary functions ==================================================================== */

/* Logarithm and exponential that give the same bits on every machine.
 *
 * Those of the C library differ in the last bit between machines and versions, which is enough to
 * change the course of a simulation. These consist of IEEE additions, multiplications and divisions
 * in a fixed order (compiled without contraction to fused operations) and are within 1 unit of the
 * last place. */

/* Natural logarithm of a finite, normal number above 0. */
double lull_log(double x);

/* e to the power of x; 0 below -700, infinite above 709. x is a number. */
double lull_exp(double x);

#endif
