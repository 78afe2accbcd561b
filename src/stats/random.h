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

#endif
