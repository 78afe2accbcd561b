#include "report/page/base64.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* A text that grows; `left` are bytes that are not three yet. */
struct encoding {
    struct lull_arena *arena;
    char *text;
    size_t length, capacity;
    uint8_t left[3];
    unsigned n_left;
};

static void put_three(struct encoding *encoding, unsigned count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *bytes = encoding->left;
    char *text = encoding->text + encoding->length;
    text[0] = digits[bytes[0] >> 2];
    text[1] = digits[(bytes[0] & 3) << 4 | bytes[1] >> 4];
    text[2] = '=';
    text[3] = '=';
    if (count > 1)
        text[2] = digits[(bytes[1] & 15) << 2 | bytes[2] >> 6];
    if (count > 2)
        text[3] = digits[bytes[2] & 63];
    encoding->length += 4;
}

static void encode(struct encoding *encoding, const uint8_t *bytes, size_t size)
{
    encoding->text = lull_arena_grow(encoding->arena, encoding->text, &encoding->capacity,
                                     encoding->length + size / 3 * 4 + 9, 1);
    for (size_t i = 0; i < size; i++) {
        encoding->left[encoding->n_left++] = bytes[i];
        if (encoding->n_left == 3) {
            put_three(encoding, 3);
            encoding->n_left = 0;
        }
    }
}

static void finish(struct encoding *encoding)
{
    for (unsigned i = encoding->n_left; i < 3; i++)
        encoding->left[i] = 0;
    if (encoding->n_left)
        put_three(encoding, encoding->n_left);
    encoding->text[encoding->length] = '\0';
}

const char *lull_base64(struct lull_arena *arena, const void *bytes, size_t size)
{
    struct encoding encoding = {.arena = arena};
    encode(&encoding, bytes, size);
    finish(&encoding);
    return encoding.text;
}

const char *lull_base64_deflated(struct lull_arena *arena, const void *bytes, size_t size,
                                 size_t *ret_length)
{
    enum { PIECE = 1 << 14, LEVEL = 4 }; /* half of the time of level 6, and 2 % more bytes */
    uint8_t piece[PIECE];
    struct encoding encoding = {.arena = arena};
    z_stream stream = {0};
    if (size > UINT32_MAX || deflateInit(&stream, LEVEL) != Z_OK)
        return NULL;
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    do {
        stream.next_out = piece;
        stream.avail_out = PIECE;
        deflate(&stream, Z_FINISH);
        encode(&encoding, piece, PIECE - stream.avail_out);
    } while (stream.avail_out == 0);
    deflateEnd(&stream);
    finish(&encoding);
    *ret_length = encoding.length;
    return encoding.text;
}
