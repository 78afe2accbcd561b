/* Decimal numbers at speed, eight digits at a time; internal to the Paraver format.
 *
 * The text must be followed by at least 16 readable bytes. */
#ifndef LULL_TRACE_FORMAT_PARAVER_NUMBER_H
#define LULL_TRACE_FORMAT_PARAVER_NUMBER_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t lull_prv_load8(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

/* How many of the eight bytes, from the first, are digits. A byte is one when its upper nibble is
 * 3 and stays 3 when 6 is added; a carry can only disturb bytes behind the first that is none. */
static inline unsigned lull_prv_digits(uint64_t word)
{
    const uint64_t upper = UINT64_C(0xf0f0f0f0f0f0f0f0), threes = UINT64_C(0x3030303030303030);
    uint64_t other =
        ((word & upper) ^ threes) | (((word + UINT64_C(0x0606060606060606)) & upper) ^ threes);
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The number that `count` (1 .. 8) digits make: neighbours are joined three times. */
static inline uint64_t lull_prv_join(uint64_t word, unsigned count)
{
    word <<= 8 * (8 - count);
    word = ((word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561) >> 8;
    word = ((word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601) >> 16;
    return ((word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001)) >> 32;
}

/* The digits behind the first eight; false when the number exceeds 64 bits. */
bool lull_prv_long_number(const uint8_t **at, uint64_t *value);

/* Reads a number and moves *at behind it; false when there is none or it exceeds 64 bits. */
static inline bool lull_prv_number(const uint8_t **at, uint64_t *ret_value)
{
    uint64_t word = lull_prv_load8(*at);
    unsigned count = lull_prv_digits(word);
    if (count == 0)
        return false;
    *ret_value = lull_prv_join(word, count);
    *at += count;
    return count < 8 || lull_prv_long_number(at, ret_value);
}

#endif
