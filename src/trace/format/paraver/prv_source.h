/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a .prv or .prv.gz file, chunk by chunk; internal to the Paraver format.
 *
 * A gzip file is inflated in a thread of its own, a few buffers ahead of the caller; of a plain
 * file each chunk is read when asked for. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_SOURCE_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_SOURCE_H

#include "trace/trace.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ==== source ================================================================================== */

enum {
    LULL_PRV_CHUNK = 1 << 18, /* bytes of a chunk at most */
    LULL_PRV_HEAD = 1 << 16,  /* free bytes before it: the longest line that spans two chunks */
    LULL_PRV_PAD = 16         /* free bytes behind it */
};

struct lull_prv_source;

/* Begins at byte `offset` of the uncompressed content. `trace` gives the path and the list of
 * quirks. `again`: another source of the file counts the quirks, this one does not. */
lull_status lull_prv_source_open(const struct lull_trace *trace, uint64_t offset, bool again,
                                 struct lull_prv_source **ret_source, struct lull_error *err);

/* Memory for a chunk with its head and pad; free() releases it. NULL: none. */
uint8_t *lull_prv_source_memory(void);

/* Reads the next chunk to behind the head of *memory; *ret_size is 0 at the end. *memory belongs to
 * the caller and may be replaced by another one of the same size. Truncated or corrupt gzip data is
 * an error that names the place. */
lull_status lull_prv_source_next(struct lull_prv_source *source, uint8_t **memory, size_t *ret_size,
                                 struct lull_error *err);

/* Share of the file that has been read, 0 .. 1. */
double lull_prv_source_share(const struct lull_prv_source *source);

/* Size of the file as it lies on the disk, and whether it is a gzip file. */
uint64_t lull_prv_source_file_size(const struct lull_prv_source *source);
bool lull_prv_source_gzip(const struct lull_prv_source *source);

void lull_prv_source_close(struct lull_prv_source *source); /* NULL is allowed */

/* ==== numbers ================================================================================= */

/* Decimal numbers are read fast, eight digits at a time. The text must be followed by at least 16
 * readable bytes. */

/* Loads eight characters: digits become 0 .. 9, all others something above 9. */
static inline uint64_t lull_prv_load(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word) ^ UINT64_C(0x3030303030303030);
}

/* How many of the eight characters, from the first, are digits. Adding 0x76 sets the upper bit of
 * each other character; a carry can only disturb characters behind the first of these. */
static inline unsigned lull_prv_digits(uint64_t word)
{
    uint64_t others = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* Aligns the first `count` (1 .. 8) digits to the right, so that leading zeros do not matter. */
static inline uint64_t lull_prv_align(uint64_t word, unsigned count)
{
    return word << (8 * (8 - count));
}

/* The number that eight digits make: neighbours are joined, to 4 numbers below 100, then to 2 below
 * 10000, then to one. */
static inline uint64_t lull_prv_join(uint64_t word)
{
    word = (word * 2561) >> 8;
    word = ((word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601) >> 16;
    return ((word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001)) >> 32;
}

/* The digits behind the first eight; false when the number exceeds 64 bits. */
bool lull_prv_long_number(const uint8_t **at, uint64_t *value);

/* Reads a number and moves *at behind it; false when there is none or it exceeds 64 bits. */
static inline bool lull_prv_number(const uint8_t **at, uint64_t *ret_value)
{
    uint64_t word = lull_prv_load(*at);
    unsigned count = lull_prv_digits(word);
    if (count == 0)
        return false;
    *ret_value = lull_prv_join(lull_prv_align(word, count));
    *at += count;
    return count < 8 || lull_prv_long_number(at, ret_value);
}

#endif
