/* SPDX-License-Identifier: BSD-3-Clause */
/* FNV-1a: a hash of bytes, in one part or several. */
#ifndef LULL_BASE_FNV_H
#define LULL_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define LULL_FNV_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t lull_fnv(uint64_t hash, const void *bytes, size_t size)
{
    for (const unsigned char *at = bytes, *end = at + size; at < end; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
