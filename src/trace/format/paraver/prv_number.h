/* SPDX-License-Identifier: BSD-3-Clause */
/* Decimal numbers, read fast, eight digits at a time; internal to the Paraver format. The text must be
 * followed by at least 16 readable bytes. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_NUMBER_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_NUMBER_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Loads eight characters: digits become 0 .. 9, all others something above 9. */
static inline uint64_t lull_prv_load(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word) ^ UINT64_C(0x3030303030303030);
}

/* How many of the eight characters, from the first, are digits. Adding 0x76 sets the upper bit of
 * each other character; a carry can only disturb characters behind the first of these. */
static inline unsigned lull_prv_digits(uint64_t word)
{
    uint64_t others = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* Aligns the first `count` (1 .. 8) digits to the right, so that leading zeros do not matter. */
static inline uint64_t lull_prv_align(uint64_t word, unsigned count)
{
    return word << (8 * (8 - count));
}

/* The number that eight digits make: neighbours are joined, to 4 numbers below 100, then to 2 below
 * 10000, then to one. */
static inline uint64_t lull_prv_join(uint64_t word)
{
    word = (word * 2561) >> 8;
    word = ((word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601) >> 16;
    return ((word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001)) >> 32;
}

/* The digits behind the first eight; false when the number exceeds 64 bits. */
bool lull_prv_long_number(const uint8_t **at, uint64_t *value);

/* Reads a number and moves *at behind it; false when there is none or it exceeds 64 bits. */
static inline bool lull_prv_number(const uint8_t **at, uint64_t *ret_value)
{
    uint64_t word = lull_prv_load(*at);
    unsigned count = lull_prv_digits(word);
    if (count == 0)
        return false;
    *ret_value = lull_prv_join(lull_prv_align(word, count));
    *at += count;
    return count < 8 || lull_prv_long_number(at, ret_value);
}

#endif
