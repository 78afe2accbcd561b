#include "stats/random.h"

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

void lull_random_seed(struct lull_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = z ^ z >> 31;
    }
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
