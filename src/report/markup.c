/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/arena.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ==== markup ================================================================================== */

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

static void put_escaped_piece(FILE *out, const char *piece, size_t length)
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

void lull_markup_text(FILE *out, const char *text)
{
    char piece[LULL_UTF8_PIECE + 1];
    while (*text) {
        size_t length = lull_utf8_clean(&text, piece);
        piece[length] = '\0';
        put_escaped_piece(out, piece, length);
    }
}

/* ==== html ==================================================================================== */

const char *lull_page_name(struct lull_arena *arena, const char *text)
{
    enum { FRONT = 2 * LULL_PAGE_NAME / 3 };
    char piece[LULL_UTF8_PIECE];
    size_t count = 0;
    for (const char *at = text; *at; count++)
        lull_utf8_clean(&at, piece);
    bool cut = count > LULL_PAGE_NAME;
    char *name = lull_arena_alloc(arena, (cut ? LULL_PAGE_NAME : count) * LULL_UTF8_PIECE + 4);
    char *end = name;
    for (size_t i = 0; *text; i++) {
        size_t length = lull_utf8_clean(&text, piece);
        if (cut && i == FRONT)
            end = stpcpy(end, "\u2026");
        if (cut && i >= FRONT && i <= count - (LULL_PAGE_NAME - FRONT))
            continue;
        memcpy(end, piece, length);
        end += length;
    }
    *end = '\0';
    return name;
}

void lull_html_name(FILE *out, struct lull_arena *arena, const char *text)
{
    lull_markup_text(out, strlen(text) > LULL_PAGE_NAME ? lull_page_name(arena, text) : text);
}
