/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of few bytes: 7 bits in a byte, the lowest first; the highest bit of a byte says that more follow. 300 is
 * the bytes 0xac 0x02. Signed numbers near 0 become small ones (zigzag): 0, -1, 1, -2 are 0, 1, 2, 3. */
#ifndef LULL_BASE_VARINT_H
#define LULL_BASE_VARINT_H

#include <stdint.h>

enum { LULL_MOST_VARINT = 10 }; /* bytes of a number */

/* Returns what is behind the number. The caller has seen to it that there is room for LULL_MOST_VARINT bytes. */
static inline unsigned char *lull_put_varint(unsigned char *to, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        *to++ = (unsigned char)(0x80 | (number & 0x7f));
    *to++ = (unsigned char)number;
    return to;
}

/* A number that ends at `end`, which a damaged one may not: 0 bits take the place of what is missing. */
static inline uint64_t lull_get_varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return number;
}

/* Of two's complement: the difference of two numbers modulo 2^64 is one. */
static inline uint64_t lull_zigzag(uint64_t number)
{
    return number >> 63 ? ~(number << 1) : number << 1;
}

static inline uint64_t lull_unzigzag(uint64_t number)
{
    return number & 1 ? ~(number >> 1) : number >> 1;
}

#endif
