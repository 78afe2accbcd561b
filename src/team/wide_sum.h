/* A sum of times that may not fit into 64 bits, in two parts, which a team adds up as integers. */
#ifndef LULL_TEAM_WIDE_SUM_H
#define LULL_TEAM_WIDE_SUM_H

#include <stdint.h>

/* low + 2^32 high, of up to 2^31 values. */
struct lull_wide_sum {
    int64_t low, high;
};

static inline void lull_wide_sum_add(struct lull_wide_sum *sum, int64_t value)
{
    sum->low += value & UINT32_MAX;
    sum->high += value >> 32;
}

static inline double lull_wide_sum_value(const struct lull_wide_sum *sum)
{
    return (double)sum->low + 0x1p32 * (double)sum->high;
}

#endif
