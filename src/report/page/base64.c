/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page/base64.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#define ZLIB_CONST /* it only reads what it is handed */
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

/* False: no memory. */
static bool deflate_all(z_stream *stream, enum lull_deflate deflate_by)
{
    enum { LEVEL = 1 /* a fifth of the time of level 6, and 3 % more bytes */, MEMORY = 8 };
    const int strategy = deflate_by == LULL_DEFLATE_RUNS ? Z_RLE : Z_DEFAULT_STRATEGY;
    if (deflateInit2(stream, LEVEL, Z_DEFLATED, MAX_WBITS, MEMORY, strategy) != Z_OK)
        return false;
    const bool whole = deflate(stream, Z_FINISH) == Z_STREAM_END;
    return deflateEnd(stream) == Z_OK && whole;
}

const char *lull_base64_deflated(struct lull_arena *arena, const void *bytes, size_t size,
                                 enum lull_deflate deflate_by, size_t *ret_length)
{
    if (size > UINT32_MAX / 2) /* zlib counts what it is handed at once in 32 bits */
        return NULL;
    const uLong most = compressBound((uLong)size);
    Bytef *packed = malloc(most);
    z_stream stream = {
        .next_in = bytes, .avail_in = (uInt)size, .next_out = packed, .avail_out = (uInt)most};
    const char *text = NULL;
    if (packed && deflate_all(&stream, deflate_by)) {
        text = lull_base64(arena, packed, stream.total_out);
        *ret_length = length_of(stream.total_out);
    }
    free(packed);
    return text;
}
