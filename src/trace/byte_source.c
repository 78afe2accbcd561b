/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/byte_source.h"

#include "base/file.h"
#include "trace/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== source ================================================================================== */

enum { RING = 4, PACKED = 1 << 17 };

struct chunk {
    uint8_t *memory; /* head, data, pad */
    size_t size;
};

struct lull_byte_source {
    const struct lull_trace *trace;
    const char *path;
    int fd;
    bool gzip, again;
    uint64_t file_size;
    _Atomic uint64_t consumed; /* bytes of the file that were read */
    struct chunk ring[RING];   /* of a gzip file */

    /* Of a gzip file: a thread fills chunks, and the caller takes them. Both numbers only grow. */
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken;
    bool ended, cancelled;
    lull_status status;
    struct lull_error err;
    uint64_t skip; /* bytes of content to be dropped first */
};

static lull_status read_some(struct lull_byte_source *source, void *buffer, size_t size,
                             size_t *ret_got, struct lull_error *err)
{
    ssize_t got;
    do
        got = read(source->fd, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return lull_fail_errno(err, "%s: cannot read", source->path);
    atomic_fetch_add_explicit(&source->consumed, (uint64_t)got, memory_order_relaxed);
    *ret_got = (size_t)got;
    return LULL_OK;
}

/* ---- gzip ------------------------------------------------------------------------------------ */

struct inflater {
    struct lull_byte_source *source;
    struct lull_gunzip gunzip;
    uint8_t *packed;
    bool in_member; /* a member has begun and has not ended */
    bool any_member;
    bool at_end; /* of the file */
};

static uint64_t packed_offset(const struct inflater *inflater)
{
    return atomic_load_explicit(&inflater->source->consumed, memory_order_relaxed) -
           inflater->gunzip.n_in;
}

static lull_status refill(struct inflater *inflater, struct lull_error *err)
{
    if (inflater->gunzip.n_in > 0 || inflater->at_end)
        return LULL_OK;
    size_t got;
    lull_status status = read_some(inflater->source, inflater->packed, PACKED, &got, err);
    if (status != LULL_OK)
        return status;
    inflater->gunzip.in = inflater->packed;
    inflater->gunzip.n_in = (uint32_t)got;
    inflater->at_end = got == 0;
    return LULL_OK;
}

/* To be called between members. Skips zeros, with which tapes were padded. What follows is another
 * member, or else garbage, which is ignored, as gzip does. */
static void begin_member(struct inflater *inflater)
{
    while (inflater->gunzip.n_in > 0 && *inflater->gunzip.in == 0) {
        inflater->gunzip.in++;
        inflater->gunzip.n_in--;
    }
    if (inflater->gunzip.n_in == 0)
        return;
    if (inflater->any_member && *inflater->gunzip.in != 0x1f) {
        if (!inflater->source->again)
            lull_trace_add_quirk(
                inflater->source->trace, "bytes behind the gzip data are no gzip data; ignored",
                "compressed offset %llu", (unsigned long long)packed_offset(inflater));
        inflater->gunzip.n_in = 0;
        inflater->at_end = true;
        return;
    }
    lull_gunzip_begin(&inflater->gunzip);
    inflater->in_member = true;
}

/* Inflates until the output is full or the file ends. */
static lull_status inflate_chunk(struct inflater *inflater, uint8_t *data, size_t *ret_size,
                                 struct lull_error *err)
{
    const char *path = inflater->source->path, *what;
    struct lull_gunzip *gunzip = &inflater->gunzip;
    gunzip->out = data;
    gunzip->n_out = LULL_BYTE_SOURCE_CHUNK;
    while (gunzip->n_out > 0) {
        lull_status status = refill(inflater, err);
        if (status != LULL_OK)
            return status;
        if (!inflater->in_member)
            begin_member(inflater);
        if (gunzip->n_in == 0 && !inflater->at_end)
            continue;
        if (!inflater->in_member && inflater->at_end)
            break;
        uint32_t room = gunzip->n_out;
        enum lull_gunzip_result result = lull_gunzip_run(gunzip, &what);
        if (result == LULL_GUNZIP_BAD)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: gzip data is corrupt at compressed offset %llu (%s)", path,
                             (unsigned long long)packed_offset(inflater), what);
        inflater->in_member = result != LULL_GUNZIP_END;
        inflater->any_member |= result == LULL_GUNZIP_END;
        if (inflater->at_end && inflater->in_member && gunzip->n_out == room)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: gzip data ends early at compressed offset %llu", path,
                             (unsigned long long)packed_offset(inflater));
    }
    *ret_size = LULL_BYTE_SOURCE_CHUNK - gunzip->n_out;
    return LULL_OK;
}

/* Waits for a free chunk; NULL: the caller wants no more. */
static struct chunk *free_chunk(struct lull_byte_source *source)
{
    pthread_mutex_lock(&source->lock);
    while (!source->cancelled && source->filled - source->taken == RING)
        pthread_cond_wait(&source->changed, &source->lock);
    struct chunk *chunk = source->cancelled ? NULL : &source->ring[source->filled % RING];
    pthread_mutex_unlock(&source->lock);
    return chunk;
}

static void give(struct lull_byte_source *source, bool ended, lull_status status,
                 const struct lull_error *err)
{
    pthread_mutex_lock(&source->lock);
    if (ended || status != LULL_OK) {
        source->ended = true;
        source->status = status;
        source->err = *err;
    } else {
        source->filled++;
    }
    pthread_cond_broadcast(&source->changed);
    pthread_mutex_unlock(&source->lock);
}

static size_t drop_skipped(struct lull_byte_source *source, uint8_t *data, size_t size)
{
    size_t drop = source->skip < size ? (size_t)source->skip : size;
    source->skip -= drop;
    if (drop > 0)
        memmove(data, data + drop, size - drop);
    return size - drop;
}

static void inflate_all(struct inflater *inflater)
{
    struct lull_byte_source *source = inflater->source;
    struct lull_error err = {""};
    for (struct chunk *chunk; (chunk = free_chunk(source));) {
        size_t size = 0;
        uint8_t *data = chunk->memory + LULL_BYTE_SOURCE_HEAD;
        lull_status status = inflate_chunk(inflater, data, &size, &err);
        bool ended = status == LULL_OK && size == 0;
        chunk->size = drop_skipped(source, data, size);
        if (status == LULL_OK && !ended && chunk->size == 0)
            continue;
        give(source, ended, status, &err);
        if (ended || status != LULL_OK)
            return;
    }
}

static void *inflate_thread(void *context)
{
    struct lull_byte_source *source = context;
    struct inflater inflater = {.source = source, .packed = malloc(PACKED)};
    if (!inflater.packed || !lull_gunzip_open(&inflater.gunzip)) {
        struct lull_error err;
        lull_status status = lull_fail(&err, LULL_ERR_MEMORY, "%s: out of memory", source->path);
        give(source, true, status, &err);
    } else {
        inflate_all(&inflater);
        lull_gunzip_close(&inflater.gunzip);
    }
    free(inflater.packed);
    return NULL;
}

static lull_status next_inflated(struct lull_byte_source *source, uint8_t **memory,
                                 size_t *ret_size, struct lull_error *err)
{
    pthread_mutex_lock(&source->lock);
    while (!source->ended && source->filled == source->taken)
        pthread_cond_wait(&source->changed, &source->lock);
    lull_status status = LULL_OK;
    *ret_size = 0;
    if (source->filled > source->taken) {
        struct chunk *chunk = &source->ring[source->taken++ % RING];
        uint8_t *empty = *memory;
        *memory = chunk->memory;
        *ret_size = chunk->size;
        chunk->memory = empty;
        pthread_cond_broadcast(&source->changed);
    } else if (source->status != LULL_OK) {
        status = lull_fail(err, source->status, "%s", source->err.text);
    }
    pthread_mutex_unlock(&source->lock);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

static lull_status open_source_file(struct lull_byte_source *source, struct lull_error *err)
{
    const char *path = source->path;
    struct stat info;
    uint8_t magic[2];
    lull_status status = lull_open_read(path, &source->fd, &info, err);
    if (status != LULL_OK)
        return status;
    ssize_t got = pread(source->fd, magic, sizeof magic, 0);
    if (got < 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    source->file_size = (uint64_t)info.st_size;
    source->gzip = got == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    return LULL_OK;
}

static lull_status prepare_input(struct lull_byte_source *source, uint64_t offset,
                                 struct lull_error *err)
{
    const char *path = source->path;
    for (int i = 0; source->gzip && i < RING; i++) {
        source->ring[i].memory = lull_byte_source_memory();
        if (!source->ring[i].memory)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    if (!source->gzip) {
        if (lseek(source->fd, (off_t)offset, SEEK_SET) < 0)
            return lull_fail_errno(err, "%s: cannot seek", path);
        atomic_store(&source->consumed, offset);
        return LULL_OK;
    }
    source->skip = offset;
    int failed = pthread_create(&source->thread, NULL, inflate_thread, source);
    if (failed) {
        errno = failed;
        return lull_fail_errno(err, "%s: cannot start a thread", path);
    }
    source->threaded = true;
    return LULL_OK;
}

lull_status lull_byte_source_open(const struct lull_trace *trace, const char *path, uint64_t offset,
                                  bool again, struct lull_byte_source **ret_source,
                                  struct lull_error *err)
{
    struct lull_byte_source *source = calloc(1, sizeof *source);
    if (!source)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    source->trace = trace;
    source->path = path;
    source->again = again;
    pthread_mutex_init(&source->lock, NULL);
    pthread_cond_init(&source->changed, NULL);
    source->fd = -1;
    lull_status status = open_source_file(source, err);
    if (status == LULL_OK)
        status = prepare_input(source, offset, err);
    if (status != LULL_OK) {
        lull_byte_source_close(source);
        return status;
    }
    *ret_source = source;
    return LULL_OK;
}

uint8_t *lull_byte_source_memory(void)
{
    return malloc(LULL_BYTE_SOURCE_HEAD + LULL_BYTE_SOURCE_CHUNK + LULL_BYTE_SOURCE_PAD);
}

lull_status lull_byte_source_next(struct lull_byte_source *source, uint8_t **memory,
                                  size_t *ret_size, struct lull_error *err)
{
    if (source->gzip)
        return next_inflated(source, memory, ret_size, err);
    return read_some(source, *memory + LULL_BYTE_SOURCE_HEAD, LULL_BYTE_SOURCE_CHUNK, ret_size,
                     err);
}

double lull_byte_source_share(const struct lull_byte_source *source)
{
    uint64_t consumed = atomic_load_explicit(&source->consumed, memory_order_relaxed);
    return source->file_size ? (double)consumed / (double)source->file_size : 1;
}

uint64_t lull_byte_source_file_size(const struct lull_byte_source *source)
{
    return source->file_size;
}

bool lull_byte_source_gzip(const struct lull_byte_source *source)
{
    return source->gzip;
}

void lull_byte_source_close(struct lull_byte_source *source)
{
    if (!source)
        return;
    if (source->threaded) {
        pthread_mutex_lock(&source->lock);
        source->cancelled = true;
        pthread_cond_broadcast(&source->changed);
        pthread_mutex_unlock(&source->lock);
        pthread_join(source->thread, NULL);
    }
    if (source->fd >= 0)
        close(source->fd);
    for (int i = 0; i < RING; i++)
        free(source->ring[i].memory);
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->lock);
    free(source);
}
