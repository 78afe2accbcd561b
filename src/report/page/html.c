#include "report/page/html.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* https://infra.spec.whatwg.org/#noncharacter */
static bool is_noncharacter(uint32_t code)
{
    return (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

static void put_bytes_shown(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        fprintf(out, "\\x%02x", (unsigned char)text[i]);
}

static void put_piece(FILE *out, const char *piece, size_t length)
{
    uint32_t code = 0;
    if (length > 1 && lull_utf8_decode(piece, &code) == length && is_noncharacter(code)) {
        put_bytes_shown(out, piece, length);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        switch (piece[i]) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(piece[i], out);
        }
    }
}

void lull_html_text(FILE *out, const char *text)
{
    char piece[LULL_UTF8_PIECE + 1];
    while (*text) {
        size_t length = lull_utf8_clean(&text, piece);
        piece[length] = '\0';
        put_piece(out, piece, length);
    }
}

void lull_html_name(FILE *out, const char *text)
{
    enum { FRONT = 2 * LULL_HTML_NAME / 3 };
    char piece[LULL_UTF8_PIECE + 1];
    size_t count = 0;
    for (const char *at = text; *at; count++)
        lull_utf8_clean(&at, piece);
    for (size_t i = 0; *text; i++) {
        size_t length = lull_utf8_clean(&text, piece);
        piece[length] = '\0';
        if (count <= LULL_HTML_NAME || i < FRONT || i > count - (LULL_HTML_NAME - FRONT))
            put_piece(out, piece, length);
        else if (i == FRONT)
            fputs("\u2026", out);
    }
}

void lull_html_word(FILE *out, const char *text)
{
    for (; *text; text++) {
        bool plain = *text == '_' || (isascii((unsigned char)*text) && isalnum((unsigned char)*text));
        fputc(plain ? *text : '-', out);
    }
}

void lull_html_json(FILE *out, const char *json, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (json[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(json[i], out);
    }
}

/* What is left of a stream of bytes until three of them are together. */
struct base64 {
    FILE *out;
    uint8_t left[3];
    unsigned count;
};

static void put_three(FILE *out, const uint8_t bytes[3], unsigned count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char four[] = {digits[bytes[0] >> 2], digits[(bytes[0] & 3) << 4 | bytes[1] >> 4],
                         count > 1 ? digits[(bytes[1] & 15) << 2 | bytes[2] >> 6] : '=',
                         count > 2 ? digits[bytes[2] & 63] : '='};
    fwrite(four, 1, sizeof four, out);
}

static void base64_put(struct base64 *base64, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        base64->left[base64->count++] = bytes[i];
        if (base64->count == 3) {
            put_three(base64->out, base64->left, 3);
            base64->count = 0;
        }
    }
}

static void base64_end(struct base64 *base64)
{
    memset(base64->left + base64->count, 0, 3 - base64->count);
    if (base64->count)
        put_three(base64->out, base64->left, base64->count);
}

void lull_html_base64(FILE *out, const void *bytes, size_t size)
{
    struct base64 base64 = {.out = out};
    base64_put(&base64, bytes, size);
    base64_end(&base64);
}

void lull_html_deflated(FILE *out, const void *bytes, size_t size)
{
    enum { PIECE = 1 << 16 };
    static const size_t most = 1 << 30; /* zlib counts in 32 bits */
    uint8_t piece[PIECE];
    struct base64 base64 = {.out = out};
    z_stream stream = {0};
    if (deflateInit(&stream, 6) != Z_OK)
        return;
    const uint8_t *from = bytes;
    int flush;
    do {
        size_t part = size < most ? size : most;
        stream.next_in = (z_const Bytef *)(uintptr_t)from;
        stream.avail_in = (uInt)part;
        from += part;
        size -= part;
        flush = size ? Z_NO_FLUSH : Z_FINISH;
        do {
            stream.next_out = piece;
            stream.avail_out = PIECE;
            deflate(&stream, flush);
            base64_put(&base64, piece, PIECE - stream.avail_out);
        } while (stream.avail_out == 0);
    } while (flush != Z_FINISH);
    deflateEnd(&stream);
    base64_end(&base64);
}
