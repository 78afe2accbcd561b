/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of few bytes: 7 bits in a byte, the lowest first; the highest bit of a byte says that more follow. 300 is
 * the bytes 0xac 0x02. Signed numbers near 0 become small ones (zigzag): 0, -1, 1, -2 are 0, 1, 2, 3. */
#ifndef LULL_BASE_VARINT_H
#define LULL_BASE_VARINT_H

#include "base/array.h"

#include <stdbool.h>
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

/* ==== lists =================================================================================== */

/* A growing list of such numbers. Zeros: empty; `bytes` is malloc'd, for the owner to free. A list of numbers of which
 * each is near the one before takes a byte or two for each: put_near keeps the difference, which may be negative. */
struct lull_varints {
    unsigned char *bytes;
    size_t size, capacity;
};

/* Room for so many more numbers; false: no memory. */
static inline bool lull_varints_reserve(struct lull_varints *list, size_t numbers)
{
    return lull_array_reserve(&list->bytes, &list->capacity,
                              list->size + numbers * LULL_MOST_VARINT, 1);
}

static inline void lull_varints_put(struct lull_varints *list, uint64_t number)
{
    unsigned char *at = list->bytes + list->size;
    list->size += (size_t)(lull_put_varint(at, number) - at);
}

static inline void lull_varints_put_near(struct lull_varints *list, uint64_t number, uint64_t from)
{
    lull_varints_put(list, lull_zigzag(number - from));
}

struct lull_varint_reader {
    const unsigned char *at, *end;
};

static inline struct lull_varint_reader lull_varints_read(const struct lull_varints *list)
{
    return (struct lull_varint_reader){list->bytes, list->bytes + list->size};
}

static inline bool lull_varints_more(const struct lull_varint_reader *reader)
{
    return reader->at < reader->end;
}

static inline uint64_t lull_varints_get(struct lull_varint_reader *reader)
{
    return lull_get_varint(&reader->at, reader->end);
}

static inline uint64_t lull_varints_get_near(struct lull_varint_reader *reader, uint64_t from)
{
    return from + lull_unzigzag(lull_varints_get(reader));
}

#endif
