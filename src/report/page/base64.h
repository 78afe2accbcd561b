/* Bytes as text. Internal to the report room. */
#ifndef LULL_REPORT_PAGE_BASE64_H
#define LULL_REPORT_PAGE_BASE64_H

#include "base/arena.h"

#include <stddef.h>

/* In base64 (RFC 4648), in the arena. */
const char *lull_base64(struct lull_arena *arena, const void *bytes, size_t size);

/* What zlib looks for. Of bytes that are noise or the same for long, looking for runs alone takes a
 * third of the time. */
enum lull_deflate { LULL_DEFLATE_REPEATS, LULL_DEFLATE_RUNS };

/* Deflated (zlib's format, RFC 1950) and in base64, in the arena; NULL: zlib had no memory. */
const char *lull_base64_deflated(struct lull_arena *arena, const void *bytes, size_t size,
                                 enum lull_deflate deflate, size_t *ret_length);

#endif
