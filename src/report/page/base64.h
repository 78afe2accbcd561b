/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as text for a page: base64, deflated or not. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_BASE64_H
#define LULL_REPORT_PAGE_BASE64_H

#include "base/arena.h"

#include <stddef.h>

/* The bytes in base64 (RFC 4648), in the arena. */
const char *lull_base64(struct lull_arena *arena, const void *bytes, size_t size);

/* What zlib looks for: all repeats, or only runs of the same byte. For bytes that are noise or the
 * same for long, the latter takes a third of the time. */
enum lull_deflate { LULL_DEFLATE_REPEATS, LULL_DEFLATE_RUNS };

/* The bytes deflated (zlib's format, RFC 1950) and in base64, in the arena. NULL: zlib had no
 * memory. */
const char *lull_base64_deflated(struct lull_arena *arena, const void *bytes, size_t size,
                                 enum lull_deflate deflate, size_t *ret_length);

#endif
