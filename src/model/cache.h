/* SPDX-License-Identifier: BSD-3-Clause */
/* Cache simulator: accesses in, lines that travel between the levels out.
 *
 * Caches are set-associative, allocate on writes and write back. A level is private to a core or
 * shared by several cores. A line is looked up level by level, nearest first; what a level does
 * with a line that comes from a level beyond it is called its filling. Not modelled: prefetchers,
 * coherence (a core's write does not remove the line from the caches of others), the hashing of
 * addresses to slices, replacement other than LRU and tree PLRU.
 *
 * A dirty line that leaves a level goes to the next one. If the line is present there, it is marked
 * dirty, which does not count as a use. Else it is put in as the line used last, and is not read
 * from beyond. */
#ifndef LULL_MODEL_CACHE_H
#define LULL_MODEL_CACHE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lull_machine;

enum { LULL_CACHE_LEVELS = 4, LULL_CACHE_MAX_WAYS = 64 };

enum lull_cache_policy {
    LULL_CACHE_LRU, /* the line that has not been used for the longest time leaves */
    LULL_CACHE_PLRU /* a binary tree of bits, which point away from what was used, leads to the line
                       that leaves; the number of ways is a power of 2 */
};

enum lull_cache_filling {
    LULL_CACHE_NORMAL,    /* keeps every line that passes on its way to a nearer level; a line that
                             leaves it may stay in the nearer levels */
    LULL_CACHE_INCLUSIVE, /* as NORMAL, but a line that leaves it leaves the nearer levels, too */
    LULL_CACHE_VICTIM,    /* takes every line that leaves the nearer level, clean or dirty, and no
                             others; a line found in it stays in it */
    LULL_CACHE_EXCLUSIVE  /* as VICTIM, but a line found in it leaves it for the nearer level */
};

struct lull_cache_level {
    uint64_t bytes; /* of one instance; sets = bytes / (ways * line), rounded down, >= 1 */
    uint32_t ways;  /* 1 .. LULL_CACHE_MAX_WAYS */
    enum lull_cache_policy policy;
    enum lull_cache_filling filling; /* of the first level: NORMAL */
    uint32_t sharers; /* cores that share one instance, >= 1; core c uses instance c / sharers */
};

struct lull_cache_spec {
    struct lull_cache_level levels[LULL_CACHE_LEVELS]; /* nearest first */
    size_t n_levels;                                   /* >= 1 */
    uint32_t line_bytes;                               /* a power of 2 >= 8 */
    uint32_t cores;                                    /* >= 1 */
};

/* Lines, summed over the cores or instances of a level. */
struct lull_cache_traffic {
    uint64_t accesses; /* lines looked up here: those that missed in the nearer level, or for the
                          first level all accesses */
    uint64_t hits;     /* of the accesses: lines that were in this level */
    uint64_t misses;   /* of the accesses: lines that came from beyond this level */
    uint64_t writes;   /* dirty lines that left this level for the next one, or memory */
    uint64_t victims;  /* clean lines that left this level for the next one, which takes them
                          because it is VICTIM or EXCLUSIVE */
};

struct lull_cache;

/* An access of a program to an element that lies within one line: its address, and in the lowest
 * bit whether it writes. */
typedef uint64_t lull_cache_access;
static inline lull_cache_access lull_cache_read(uint64_t address)
{
    return address << 1;
}
static inline lull_cache_access lull_cache_write(uint64_t address)
{
    return address << 1 | 1;
}

/* Makes empty caches, which lull_cache_free ends. Fails with LULL_ERR_RANGE for a spec that is not
 * as stated above, and with LULL_ERR_MEMORY. */
lull_status lull_cache_create(const struct lull_cache_spec *spec, struct lull_cache **ret_cache,
                              struct lull_error *err);
void lull_cache_free(struct lull_cache *cache); /* NULL is allowed */

/* Makes `count` accesses of a core, in order. Addresses are below 2^60. */
void lull_cache_run(struct lull_cache *cache, uint32_t core, const lull_cache_access *accesses,
                    size_t count);
/* As lull_cache_run called `times` times, with the same counts and contents afterwards. From the
 * first repetition on in which all accesses hit the first level, the others would do the same and
 * are counted without being simulated. */
void lull_cache_repeat(struct lull_cache *cache, uint32_t core, const lull_cache_access *accesses,
                       size_t count, uint64_t times);

/* What has happened since the creation or the last reset. Of the last level, `misses` are the lines
 * read from memory and `writes` those written to it. */
struct lull_cache_traffic lull_cache_traffic(const struct lull_cache *cache, size_t level);
/* Counts from 0 again; contents stay: after a warm-up. */
void lull_cache_reset(struct lull_cache *cache);
/* Writes all dirty lines back, level by level, and empties the caches: for counts of a whole
 * program, in which every line that was written reaches memory. */
void lull_cache_flush(struct lull_cache *cache);

/* The caches of a machine, as `cores` cores use them at the same time that all belong to one
 * instance of the last level. With `whole`, the spec has that many cores, and levels are shared as
 * they are in the machine. Otherwise it has one core, which gets bytes / (cores in use that share
 * it) of each shared cache. A last level that the machine file calls not inclusive becomes VICTIM,
 * one that it calls inclusive becomes INCLUSIVE. Fails with LULL_ERR_RANGE where the machine file
 * does not know sizes. */
lull_status lull_cache_of_machine(const struct lull_machine *machine, uint32_t cores, bool whole,
                                  enum lull_cache_policy policy, struct lull_cache_spec *ret_spec,
                                  struct lull_error *err);

/* How cache.c keeps one set of a simulated cache: which way holds a line, and which line has to go.
 *
 * A line stays in its way until it leaves. Before its ways a set has a head, which for most caches
 * fits into one cache line of the host. The head holds one byte of hash for each way's line, so
 * that few compares find a line or tell that it is not there; and the order in which the ways were
 * used. With up to 16 ways this order is one word with a digit of four bits per way, the way used
 * last in the lowest digit. With more ways it is a list of bytes. With PLRU it is the bits of the
 * tree. Empty ways are the last in the order. */

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#endif
