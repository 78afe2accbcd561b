/* Numbers in text: strict parsing with units, and short printing. */
#ifndef LULL_BASE_TEXT_H
#define LULL_BASE_TEXT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Decimal digits only, the whole of [text, text + length); LULL_ERR_RANGE on overflow. */
lull_status lull_parse_u64(const char *text, size_t length, uint64_t *ret_value);

/* A finite number, the whole of the text; else LULL_ERR_RANGE. */
lull_status lull_parse_real(const char *text, double *ret_value);

/* A time with unit: "250ns", "1.5us", "3ms", "2s", "1min"; a bare number counts in `bare_ns`
 * nanoseconds each. Result in ns, rounded to the nearest; may be negative. */
lull_status lull_parse_time(const char *text, double bare_ns, int64_t *ret_ns,
                            struct lull_error *err);

/* The same, not rounded, for times per byte and the like. */
lull_status lull_parse_time_real(const char *text, double bare_ns, double *ret_ns,
                                 struct lull_error *err);

/* A size with unit: "512", "1KiB", "4MB" (KiB, MiB, GiB binary; kB, MB, GB decimal). In bytes. */
lull_status lull_parse_size(const char *text, uint64_t *ret_bytes, struct lull_error *err);

struct lull_arena;
/* The pieces between separators (each of the characters is one), in `arena`, NULL at the end; one
 * of an empty text. For NULL there are none, and NULL is returned. */
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

#endif
