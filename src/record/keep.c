/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/keep.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <sys/mman.h>

enum { BLOCK = 64 << 10 };

static pthread_mutex_t keep_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *at; /* the free part of the block; with the lock held, like `left` */
static size_t left;

static void *map_kept_pages(size_t size)
{
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

/* With the lock held. Where the block has too little left, a new one is begun and the rest given
 * up. */
static void *take_bytes(size_t size)
{
    if (size > left) {
        unsigned char *block = map_kept_pages(BLOCK);
        if (!block)
            return NULL;
        at = block;
        left = BLOCK;
    }
    void *taken = at;
    at += size;
    left -= size;
    return taken;
}

/* Another thread of the parent may have been taking from the block when the child was forked: the
 * child begins a new block. */
void rec_keep_forked(void)
{
    pthread_mutex_init(&keep_lock, NULL);
    left = 0;
}

void *rec_keep(size_t size)
{
    const size_t unit = alignof(max_align_t), whole = (size + unit - 1) / unit * unit;
    if (size > BLOCK / 8)
        return size <= SIZE_MAX / 2 ? map_kept_pages(size) : NULL;
    pthread_mutex_lock(&keep_lock);
    void *kept = take_bytes(whole);
    pthread_mutex_unlock(&keep_lock);
    return kept;
}
