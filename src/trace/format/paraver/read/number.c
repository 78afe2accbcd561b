#include "trace/format/paraver/read/number.h"

static const uint64_t powers_of_ten[] = {1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000};

bool lull_prv_long_number(const uint8_t **at, uint64_t *value)
{
    for (unsigned count = 8; count == 8;) {
        uint64_t word = lull_prv_load(*at);
        count = lull_prv_digits(word);
        if (count == 0)
            return true;
        if (__builtin_mul_overflow(*value, powers_of_ten[count], value) ||
            __builtin_add_overflow(*value, lull_prv_join(lull_prv_align(word, count)), value))
            return false;
        *at += count;
    }
    return true;
}
