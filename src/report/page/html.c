#include "report/page/html.h"

#include "base/text.h"
#include "report/markup.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

void lull_html_word(FILE *out, const char *text)
{
    for (; *text; text++) {
        bool plain =
            *text == '_' || (isascii((unsigned char)*text) && isalnum((unsigned char)*text));
        fputc(plain ? *text : '-', out);
    }
}
