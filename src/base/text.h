/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts: strict parsing of numbers with units, short printing of numbers, values of options,
 * similar words, and characters of UTF-8. */
#ifndef LULL_BASE_TEXT_H
#define LULL_BASE_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== numbers ================================================================================= */

/* Decimal digits only, the whole of [text, text + length); LULL_ERR_RANGE on overflow. */
lull_status lull_parse_u64(const char *text, size_t length, uint64_t *ret_value);

/* A finite number, the whole of the text; else LULL_ERR_RANGE. */
lull_status lull_parse_real(const char *text, double *ret_value);

/* A time with unit: "250ns", "1.5us", "3ms", "2s", "1min", "1h"; a bare number counts in `bare_ns`
 * nanoseconds each. Result in ns, rounded to the nearest; may be negative. */
lull_status lull_parse_time(const char *text, double bare_ns, int64_t *ret_ns,
                            struct lull_error *err);

/* The same, not rounded, for example for times per byte. */
lull_status lull_parse_time_real(const char *text, double bare_ns, double *ret_ns,
                                 struct lull_error *err);

/* A size with unit: "512", "1KiB", "4MB" (KiB to TiB binary; kB to TB decimal). In bytes. */
lull_status lull_parse_size(const char *text, uint64_t *ret_bytes, struct lull_error *err);

struct lull_arena;
/* Splits a text at separators, each of which is one character. The pieces live in `arena`, NULL at
 * the end; an empty text has one. For NULL there are none, and NULL is returned. */
const char **lull_split(const char *text, const char *separators, struct lull_arena *arena,
                        size_t *ret_count);

/* "12.3 us", "1.234 s": three or four significant digits, written into `buffer`; returns it. */
const char *lull_format_time(int64_t ns, char *buffer, size_t size);
/* "12.3 MiB". */
const char *lull_format_size(uint64_t bytes, char *buffer, size_t size);
/* "35.20 GB/s", "1.786 ns": four significant digits with a prefix of powers of 1000; `unit` is an
 * SI unit without one. */
const char *lull_format_quantity(double value, const char *unit, char *buffer, size_t size);
/* "22,180". */
const char *lull_format_count(uint64_t count, char *buffer, size_t size);

/* ==== values of options ======================================================================= */

/* Values that users give to options --NAME; NULL where the option was not given. All fail with
 * LULL_ERR_RANGE and a text that begins with the option. */

/* Which of the words (NULL at the end) the value is, counted from 1; 0: not given. */
lull_status lull_option_word(const char *name, const char *value, const char *const *words,
                             unsigned *ret_number, struct lull_error *err);
/* A whole number from `least` to `most`; not given: *value stays. */
lull_status lull_option_number(const char *name, const char *text, uint64_t least, uint64_t most,
                               uint64_t *value, struct lull_error *err);
/* A number from `least` up that may have a fraction; not given: *value stays. */
lull_status lull_option_real(const char *name, const char *text, double least, double *value,
                             struct lull_error *err);
/* Percent from `least` to `most`, divided by 100 for *value; not given: *value stays. */
lull_status lull_option_percent(const char *name, const char *text, double least, double most,
                                double *value, struct lull_error *err);
/* A size of `least` bytes or more, and a time in ns of `least` or more, with units as above.
 * `expected` says in words what would be enough. Not given: *value stays. */
lull_status lull_option_size(const char *name, const char *text, uint64_t least,
                             const char *expected, uint64_t *value, struct lull_error *err);
lull_status lull_option_time(const char *name, const char *text, int64_t least,
                             const char *expected, int64_t *value, struct lull_error *err);

/* ==== similar words =========================================================================== */

/* The candidate that `word` most likely stands for, or NULL if none is near. Candidates that are
 * NULL are passed over. */
const char *lull_suggest(const char *word, const char *const *candidates, size_t count);

/* ==== characters ============================================================================== */

/* Characters of foreign texts: names from traces and machine files may hold anything. */

/* Decodes one character of UTF-8: its length in bytes, or 0 if there is none (malformed, overlong,
 * surrogate, beyond U+10FFFF). */
size_t lull_utf8_decode(const char *text, uint32_t *ret_code);

/* Whether the character is a control of ASCII or C1, a mark or an override of direction, or a
 * separator of lines. */
bool lull_utf8_is_control(uint32_t code);

/* Moves *text on by one character, or by one byte that begins no character, and puts what may be
 * shown of it into `piece`: the character itself, a blank for newline and tab, or its bytes as
 * "\x1b". Returns the length of that, at most LULL_UTF8_PIECE; no zero follows. */
enum { LULL_UTF8_PIECE = 16 };
size_t lull_utf8_clean(const char **text, char piece[LULL_UTF8_PIECE]);

#endif
