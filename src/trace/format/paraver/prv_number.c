/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/paraver/prv_number.h"

static const uint64_t powers_of_ten[] = {1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000};

/* Appends up to eight digits; false: the number exceeds 64 bits. */
static bool append_digits(uint64_t word, unsigned count, uint64_t *value)
{
    return !__builtin_mul_overflow(*value, powers_of_ten[count], value) &&
           !__builtin_add_overflow(*value, lull_prv_join(lull_prv_align(word, count)), value);
}

bool lull_prv_long_number(const uint8_t **at, uint64_t *value)
{
    uint64_t word = lull_prv_load(*at);
    unsigned count = lull_prv_digits(word);
    if (count == 0)
        return true;
    /* The first sixteen digits always fit in 64 bits, and times hardly have more. */
    *value = *value * powers_of_ten[count] + lull_prv_join(lull_prv_align(word, count));
    *at += count;
    while (count == 8) {
        word = lull_prv_load(*at);
        count = lull_prv_digits(word);
        if (count > 0 && !append_digits(word, count, value))
            return false;
        *at += count;
    }
    return true;
}
