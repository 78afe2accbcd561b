/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/paraver/prv_spool.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

struct lull_prv_spool {
    char *path;
    int fd;
    int failed; /* errno of the first failure */
    uint64_t written;
    size_t used;
    char buffer[BUFFER];
};

lull_status lull_prv_spool_open(const char *path, struct lull_prv_spool **ret_spool,
                                struct lull_error *err)
{
    struct lull_prv_spool *spool = malloc(sizeof *spool);
    if (!spool)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    spool->failed = 0;
    spool->written = spool->used = 0;
    spool->path = strdup(path);
    char *temporary = NULL;
    if (!spool->path || asprintf(&temporary, "%s.XXXXXX", path) < 0) {
        free(spool->path);
        free(spool);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    spool->fd = mkostemp(temporary, O_CLOEXEC);
    lull_status status = LULL_OK;
    if (spool->fd < 0)
        status = lull_fail_errno(err, "%s: cannot create a temporary file beside it", path);
    else
        unlink(temporary);
    free(temporary);
    if (status != LULL_OK) {
        free(spool->path);
        free(spool);
        return status;
    }
    *ret_spool = spool;
    return LULL_OK;
}

static void write_at(struct lull_prv_spool *spool, const char *data, size_t size, uint64_t at)
{
    while (size > 0 && !spool->failed) {
        ssize_t done = pwrite(spool->fd, data, size, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            spool->failed = errno;
            return;
        }
        data += done;
        size -= (size_t)done;
        at += (uint64_t)done;
    }
}

static void flush_spool(struct lull_prv_spool *spool)
{
    write_at(spool, spool->buffer, spool->used, spool->written);
    spool->written += spool->used;
    spool->used = 0;
}

uint64_t lull_prv_spool_add(struct lull_prv_spool *spool, const char *line, size_t length)
{
    if (spool->used + length > BUFFER)
        flush_spool(spool);
    uint64_t position = spool->written + spool->used;
    if (length > BUFFER) {
        write_at(spool, line, length, position);
        spool->written += length;
        return position;
    }
    memcpy(spool->buffer + spool->used, line, length);
    spool->used += length;
    return position;
}

void lull_prv_spool_patch(struct lull_prv_spool *spool, uint64_t position, uint64_t value)
{
    char field[LULL_PRV_FIELD + 1];
    snprintf(field, sizeof field, "%0*llu", LULL_PRV_FIELD, (unsigned long long)value);
    if (position >= spool->written)
        memcpy(spool->buffer + (position - spool->written), field, LULL_PRV_FIELD);
    else
        write_at(spool, field, LULL_PRV_FIELD, position);
}

/* ---- reading back ---------------------------------------------------------------------------- */

/* Takes leading zeros off all numbers of a line, in place; returns the new length. */
static size_t strip_zeros(char *text, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        bool leading = text[i] == '0' && (kept == 0 || text[kept - 1] == ':') && i + 1 < length &&
                       text[i + 1] >= '0' && text[i + 1] <= '9';
        if (!leading)
            text[kept++] = text[i];
    }
    return kept;
}

/* Whether a line is a state that ends when it begins:
 * 1:cpu:application:task:thread:begin:end:state. */
static bool is_empty_state(const char *text, size_t length)
{
    if (length < 2 || text[0] != '1')
        return false;
    const char *fields[9] = {text};
    int n = 1;
    for (size_t i = 0; i < length && n < 9; i++)
        if (text[i] == ':')
            fields[n++] = text + i + 1;
    return n == 8 && fields[6] - fields[5] == fields[7] - fields[6] &&
           memcmp(fields[5], fields[6], (size_t)(fields[6] - fields[5])) == 0;
}

struct spool_output {
    void (*line)(void *context, const char *text, size_t length);
    void *context;
};

static void put_spooled_line(const struct spool_output *output, char *line, size_t length)
{
    if (line[0] == 'P') {
        line++;
        length = strip_zeros(line, length - 1);
        if (is_empty_state(line, length))
            return;
    }
    output->line(output->context, line, length);
}

/* Hands over the whole lines of the buffer. Returns how many bytes are left, which move to the
 * front. */
static size_t put_lines(const struct spool_output *output, char *buffer, size_t size)
{
    char *at = buffer, *end = buffer + size;
    for (char *newline; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
        put_spooled_line(output, at, (size_t)(newline + 1 - at));
    memmove(buffer, at, (size_t)(end - at));
    return (size_t)(end - at);
}

static lull_status failure(const struct lull_prv_spool *spool, int error, struct lull_error *err)
{
    errno = error;
    return lull_fail_errno(err, "%s: cannot write or read the temporary file beside it",
                           spool->path);
}

lull_status lull_prv_spool_read(struct lull_prv_spool *spool,
                                void (*line)(void *context, const char *text, size_t length),
                                void *context, struct lull_error *err)
{
    struct spool_output output = {line, context};
    flush_spool(spool);
    size_t kept = 0, capacity = BUFFER;
    char *buffer = malloc(capacity);
    lull_status status = buffer ? LULL_OK : LULL_ERR_MEMORY;
    for (uint64_t at = 0; status == LULL_OK && !spool->failed && at < spool->written;) {
        if (kept == capacity) { /* one line is longer than the buffer */
            if (!lull_array_reserve(&buffer, &capacity, capacity + 1, 1))
                status = LULL_ERR_MEMORY;
            continue;
        }
        ssize_t got = pread(spool->fd, buffer + kept, capacity - kept, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            spool->failed = got < 0 ? errno : EIO;
            break;
        }
        at += (uint64_t)got;
        kept = put_lines(&output, buffer, kept + (size_t)got);
    }
    if (status != LULL_OK)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", spool->path);
    else if (spool->failed)
        status = failure(spool, spool->failed, err);
    free(buffer);
    return status;
}

void lull_prv_spool_close(struct lull_prv_spool *spool)
{
    if (!spool)
        return;
    close(spool->fd);
    free(spool->path);
    free(spool);
}
