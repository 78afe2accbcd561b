/* Characters of foreign texts: names from traces and machine files may hold anything. */
#ifndef LULL_BASE_UTF8_H
#define LULL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one character of UTF-8: its length in bytes, or 0 if there is none (malformed, overlong,
 * surrogate, beyond U+10FFFF). */
size_t lull_utf8_decode(const char *text, uint32_t *ret_code);

/* Controls of ASCII and of C1, marks and overrides of direction, separators of lines. */
bool lull_utf8_is_control(uint32_t code);

/* Moves *text on by one character, or one byte that begins none, and puts what may be shown of it
 * into `piece`: itself, a blank for newline and tab, or its bytes as "\x1b". Returns the length,
 * at most LULL_UTF8_PIECE; no zero follows. */
enum { LULL_UTF8_PIECE = 16 };
size_t lull_utf8_clean(const char **text, char piece[LULL_UTF8_PIECE]);

#endif
