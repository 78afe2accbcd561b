#include "base/text/utf8.h"

#include <string.h>

size_t lull_utf8_decode(const char *text, uint32_t *ret_code)
{
    static const struct {
        uint8_t mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t length = 1; length <= 4; length++) {
        if ((bytes[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        uint32_t code = bytes[0] & (uint8_t)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (bytes[i] & 0x3f);
        }
        if (code < forms[length - 1].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return 0;
        *ret_code = code;
        return length;
    }
    return 0;
}

bool lull_utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t lull_utf8_clean(const char **text, char piece[LULL_UTF8_PIECE])
{
    static const char digits[] = "0123456789abcdef";
    const char *from = *text;
    uint32_t code = 0;
    size_t bytes = lull_utf8_decode(from, &code), length = 0;
    *text += bytes ? bytes : 1;
    if (bytes == 1 && (code == '\n' || code == '\t')) {
        *piece = ' ';
        return 1;
    }
    if (bytes > 0 && !lull_utf8_is_control(code)) {
        memcpy(piece, from, bytes);
        return bytes;
    }
    for (; from < *text; from++) {
        const uint8_t byte = (uint8_t)*from;
        const char shown[] = {'\\', 'x', digits[byte >> 4], digits[byte & 0xf]};
        memcpy(piece + length, shown, sizeof shown);
        length += sizeof shown;
    }
    return length;
}
