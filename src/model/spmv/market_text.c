#include "model/spmv/market_text.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

void lull_market_skip_blanks(const char **place, const char *end)
{
    while (*place < end && (**place == ' ' || **place == '\t' || **place == '\r'))
        ++*place;
}

bool lull_market_at_line_end(const char *place, const char *end)
{
    return place == end || *place == '\n';
}

void lull_market_next_line(const char **place, const char *end)
{
    const char *found = *place < end ? memchr(*place, '\n', (size_t)(end - *place)) : NULL;
    *place = found ? found + 1 : end;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

bool lull_market_whole(const char **place, const char *end, uint64_t most, uint64_t *ret_value)
{
    lull_market_skip_blanks(place, end);
    const char *c = *place;
    uint64_t value = 0;
    for (; c < end && is_digit(*c); c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > most)
            return false;
    }
    bool found = c > *place;
    *place = c;
    *ret_value = value;
    return found;
}

/* The C library's, for what has too many digits to be exact at once. */
static bool read_slowly(const char **place, const char *end, double *ret_value)
{
    char copy[512];
    size_t length = 0;
    while (*place + length < end && length + 1 < sizeof copy &&
           !strchr(" \t\r\n", (*place)[length]) && (*place)[length])
        length++;
    memcpy(copy, *place, length);
    copy[length] = '\0';
    char *stop;
    *ret_value = strtod(copy, &stop);
    *place += stop - copy;
    return stop > copy;
}

/* Nineteen digits and powers of 10 up to 27 are exact in a type with 64 bits of mantissa: their
 * product or quotient is within half a unit of its last place, and rounds to the right double
 * unless it lies next to the middle between two. */
static bool read_extended(uint64_t digits, int exponent, double *ret_value)
{
#if LDBL_MANT_DIG == 64
    enum { MOST_TENS = 27, BELOW_DOUBLE = 0x7ff, MIDDLE = 0x400 };
    static const long double tens[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                       1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (exponent > MOST_TENS || exponent < -MOST_TENS)
        return false;
    long double value = (long double)digits;
    value = exponent < 0 ? value / tens[-exponent] : value * tens[exponent];
    uint64_t mantissa;
    memcpy(&mantissa, &value, sizeof mantissa);
    int rest = (int)(mantissa & BELOW_DOUBLE);
    if (rest >= MIDDLE - 1 && rest <= MIDDLE + 1)
        return false;
    *ret_value = (double)value;
    return true;
#else
    (void)digits, (void)exponent, (void)ret_value;
    return false;
#endif
}

/* Up to 2^53 and with a power of 10 up to 22 both are exact, and one operation rounds once. */
bool lull_market_real(const char **place, const char *end, double *ret_value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MOST_TENS = 22, MOST_DIGITS = 19 };
    lull_market_skip_blanks(place, end);
    const char *c = *place;
    bool negative = c < end && *c == '-';
    if (c < end && (*c == '-' || *c == '+'))
        c++;
    uint64_t digits = 0;
    int n_digits = 0, exponent = 0;
    for (; c < end && is_digit(*c); c++, n_digits++)
        digits = digits * 10 + (uint64_t)(*c - '0');
    if (c < end && *c == '.')
        for (c++; c < end && is_digit(*c); c++, n_digits++, exponent--)
            digits = digits * 10 + (uint64_t)(*c - '0');
    if (!n_digits)
        return read_slowly(place, end, ret_value); /* inf, nan */
    if (c + 1 < end && (*c == 'e' || *c == 'E' || *c == 'd' || *c == 'D')) {
        const char *e = c + 1;
        bool below = *e == '-';
        int power = 0;
        if (*e == '-' || *e == '+')
            e++;
        if (*c == 'd' || *c == 'D' || e == end || !is_digit(*e))
            return read_slowly(place, end, ret_value);
        for (; e < end && is_digit(*e) && power < 10000; e++)
            power = power * 10 + (*e - '0');
        exponent += below ? -power : power;
        c = e;
    }
    double value;
    bool exact = digits <= UINT64_C(1) << 53 && exponent <= MOST_TENS && exponent >= -MOST_TENS;
    if (n_digits > MOST_DIGITS || (!exact && !read_extended(digits, exponent, &value)))
        return read_slowly(place, end, ret_value);
    if (exact) {
        value = (double)digits;
        value = exponent < 0 ? value / tens[-exponent] : value * tens[exponent];
    }
    *ret_value = negative ? -value : value;
    *place = c;
    return true;
}
