#include "report/page/base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

static char *put_three(char *text, unsigned first, unsigned second, unsigned third)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    *text++ = digits[first >> 2];
    *text++ = digits[(first & 3) << 4 | second >> 4];
    *text++ = digits[(second & 15) << 2 | third >> 6];
    *text++ = digits[third & 63];
    return text;
}

static size_t length_of(size_t size)
{
    return (size + 2) / 3 * 4;
}

const char *lull_base64(struct lull_arena *arena, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    char *text = lull_arena_alloc(arena, length_of(size) + 1), *to = text;
    for (; size >= 3; size -= 3, from += 3)
        to = put_three(to, from[0], from[1], from[2]);
    if (size > 0) {
        to = put_three(to, from[0], size > 1 ? from[1] : 0, 0);
        to[-1] = '=';
        if (size == 1)
            to[-2] = '=';
    }
    *to = '\0';
    return text;
}

const char *lull_base64_deflated(struct lull_arena *arena, const void *bytes, size_t size,
                                 size_t *ret_length)
{
    enum { LEVEL = 1 }; /* a fifth of the time of level 6, and 3 % more bytes */
    uLongf packed_size = compressBound(size);
    Bytef *packed = malloc(packed_size);
    const char *text = NULL;
    if (packed && compress2(packed, &packed_size, bytes, size, LEVEL) == Z_OK) {
        text = lull_base64(arena, packed, packed_size);
        *ret_length = length_of(packed_size);
    }
    free(packed);
    return text;
}
