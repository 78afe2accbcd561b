/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/display.h"

#include "base/text.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ==== the terminal ============================================================================ */

static bool wants_colour(bool terminal, enum lull_colour colour)
{
    if (colour == LULL_COLOUR_ALWAYS || colour == LULL_COLOUR_NEVER)
        return colour == LULL_COLOUR_ALWAYS;
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return terminal && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

static unsigned width_of(int fd)
{
    const char *columns = getenv("COLUMNS");
    uint64_t value;
    if (columns && lull_parse_u64(columns, strlen(columns), &value) == LULL_OK && value > 0 &&
        value <= 10000)
        return (unsigned)value;
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    return 0;
}

struct lull_render_options lull_terminal_options(int fd, enum lull_colour colour)
{
    bool terminal = isatty(fd);
    return (struct lull_render_options){
        .colour = wants_colour(terminal, colour),
        .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .width = terminal ? width_of(fd) : 0,
    };
}

/* ==== text ==================================================================================== */

struct range {
    uint32_t first, last;
};

/* The common ranges of Unicode 15; by table, because wcwidth() depends on the locale. */
static const struct range no_columns[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
};

static const struct range two_columns[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static size_t columns_of(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (in_ranges(no_columns, sizeof(no_columns) / sizeof(*no_columns), code))
        return 0;
    return in_ranges(two_columns, sizeof(two_columns) / sizeof(*two_columns), code) ? 2 : 1;
}

const char *lull_display_clean(struct lull_arena *arena, const char *text)
{
    size_t length = strlen(text);
    char *clean = lull_arena_alloc(arena, 4 * length + LULL_UTF8_PIECE); /* "\xff" at worst */
    char *end = clean;
    while (*text)
        end += lull_utf8_clean(&text, end);
    *end = '\0';
    return clean;
}

size_t lull_display_width(const char *text)
{
    size_t width = 0;
    for (size_t bytes; *text; text += bytes) {
        uint32_t code = 0;
        bytes = lull_utf8_decode(text, &code);
        width += bytes ? columns_of(code) : 1;
        bytes = bytes ? bytes : 1;
    }
    return width;
}

size_t lull_display_fit(const char *text, size_t width)
{
    const char *begin = text;
    for (size_t bytes; *text; text += bytes) {
        uint32_t code = 0;
        bytes = lull_utf8_decode(text, &code);
        size_t columns = bytes ? columns_of(code) : 1;
        if (columns > width)
            break;
        width -= columns;
        bytes = bytes ? bytes : 1;
    }
    return (size_t)(text - begin);
}

/* The last part of a text that fills at most `width` columns. */
static const char *tail(const char *text, size_t width)
{
    size_t excess = lull_display_width(text);
    while (*text && excess > width) {
        uint32_t code = 0;
        size_t bytes = lull_utf8_decode(text, &code);
        excess -= bytes ? columns_of(code) : 1;
        text += bytes ? bytes : 1;
    }
    return text;
}

const char *lull_display_shorten(struct lull_arena *arena, const char *text, size_t width,
                                 bool unicode)
{
    if (lull_display_width(text) <= width)
        return text;
    const char *ellipsis = unicode ? "\u2026" : "..";
    size_t room = width - lull_display_width(ellipsis);
    size_t front = room - room / 2;
    return lull_arena_printf(arena, "%.*s%s%s", (int)lull_display_fit(text, front), text, ellipsis,
                             tail(text, room / 2));
}

/* The next piece of a line: up to the next blank, and no more than fits into a line of its own. */
static size_t next_piece(const char *text, size_t width)
{
    size_t word = strcspn(text, " "), fits = lull_display_fit(text, width);
    return word <= fits || fits == 0 ? word : fits;
}

void lull_display_wrap(FILE *out, const char *text, size_t width, size_t indent)
{
    size_t used = 0;
    bool after_blank = false;
    while (*text) {
        size_t length = next_piece(text, width > indent ? width - indent : width);
        size_t columns = 0;
        for (size_t at = 0; at < length;) {
            uint32_t code = 0;
            size_t bytes = lull_utf8_decode(text + at, &code);
            columns += bytes ? columns_of(code) : 1;
            at += bytes ? bytes : 1;
        }
        if (used > 0 && used + after_blank + columns > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (after_blank) {
            fputc(' ', out);
            used++;
        }
        fwrite(text, 1, length, out);
        used += columns;
        size_t blanks = strspn(text + length, " ");
        after_blank = blanks > 0;
        text += length + blanks;
    }
}
