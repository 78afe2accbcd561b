/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes of numbers. Which messages a sample keeps, and what a disturbed program draws, follows from
 * what is returned here: the same numbers give the same results in every version. */
#ifndef LULL_BASE_MIX_H
#define LULL_BASE_MIX_H

#include <stdint.h>

/* Each of the upper bits of the result depends on all bits of `value` below it. Source: D. Knuth, The
 * Art of Computer Programming 3, 6.4, multiplication by the golden ratio. */
static inline uint64_t lull_spread(uint64_t value)
{
    return value * UINT64_C(0x9e3779b97f4a7c15);
}

/* The hash of several numbers, one after the other; 0 is what the first is mixed into. */
static inline uint64_t lull_mix(uint64_t hash, uint64_t value)
{
    hash = lull_spread(hash ^ value);
    return hash ^ hash >> 29;
}

/* Neighbouring numbers become unlike each other in all bits. Source: G. Steele, D. Lea, C. Flood, Fast
 * splittable pseudorandom number generators, OOPSLA 2014 (SplitMix64, with D. Stafford's mix 13). */
static inline uint64_t lull_scatter(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

#endif
