/* FNV-1a: a hash of bytes, in one part or several. */
#ifndef LULL_RECORD_HASH_H
#define LULL_RECORD_HASH_H

#include <stddef.h>
#include <stdint.h>

#define REC_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t rec_hash(uint64_t hash, const void *bytes, size_t size)
{
    for (const unsigned char *at = bytes, *end = at + size; at < end; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
