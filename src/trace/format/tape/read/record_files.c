/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a location, and its tail: the newest records of a location that is being recorded,
 * or was when its program died. See struct lull_tape_header. */
#include "base/file.h"
#include "tape/layout.h"
#include "trace/format/tape/read/tape_definitions.h"
#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 1000 };

static struct lull_tape_told told_by(const struct lull_tape_header *header)
{
    return (struct lull_tape_told){.flags = header->flags,
                                   .committed = header->committed,
                                   .flushed = header->flushed,
                                   .main_begin = header->main_begin,
                                   .main_end = header->main_end,
                                   .ends = header->ends};
}

static lull_status check_records_header(const char *path, const struct lull_tape_file *file,
                                        const struct lull_tape_header *header,
                                        struct lull_error *err)
{
    const struct lull_tape_told *told = &file->header;
    if (memcmp(header->magic, LULL_TAPE_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of a tape", path);
    const lull_status status = lull_tape_check_version(path, header->version, err);
    if (status != LULL_OK)
        return status;
    if (header->record_size != sizeof(union lull_tape_slot) ||
        header->header_size != LULL_TAPE_HEADER_SIZE)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: offset %zu: records of %u bytes behind a header of %u, expected %zu "
                         "and %d",
                         path, offsetof(struct lull_tape_header, header_size), header->record_size,
                         header->header_size, sizeof(union lull_tape_slot), LULL_TAPE_HEADER_SIZE);
    if (header->process != file->process)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: belongs to process %u", path, header->process);
    bool tailed = told->flags & LULL_TAPE_TAILED;
    uint64_t in_file = tailed ? told->flushed : told->committed, there = file->chunks.size;
    if (told->committed % 16 != 0 || in_file > there)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: truncated: %llu bytes of records, the file holds %llu", path,
                         (unsigned long long)in_file, (unsigned long long)there);
    if (tailed && (told->flushed % LULL_TAPE_CHUNK != 0 || told->committed < told->flushed ||
                   told->committed - told->flushed > LULL_TAPE_CHUNK))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: %llu bytes of records, %llu of them in the file: more in the tail "
                         "than one chunk",
                         path, (unsigned long long)told->committed,
                         (unsigned long long)told->flushed);
    static const struct lull_tape_stream none;
    if (header->kind == 0 && memcmp(&header->stream, &none, sizeof none) != 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: a thread is no stream of a device",
                         path, offsetof(struct lull_tape_header, stream));
    if (memchr(header->name, '\0', sizeof header->name) == NULL)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: name is not terminated", path,
                         offsetof(struct lull_tape_header, name));
    return LULL_OK;
}

/* Whether the known parts of the file hold less than the header says. */
static bool lacks_parts(const struct lull_tape_file *file)
{
    const struct lull_tape_told *header = &file->header;
    return header->flags & LULL_TAPE_TAILED &&
           (header->flushed > file->chunks.size ||
            header->committed - header->flushed > file->rest.size);
}

static lull_status read_records_header(const struct lull_trace *trace,
                                       struct lull_tape_source *source, const char *path,
                                       struct lull_tape_file *file, struct lull_tape_header *header,
                                       struct lull_error *err)
{
    struct stat info;
    const ssize_t got = lull_tape_source_read(source, header, sizeof *header, file->head);
    if (got < 0)
        return lull_tape_source_fail(source, path, err);
    if (!source->packed && fstat(source->fd, &info) == 0) /* it may have grown */
        source->size = (uint64_t)info.st_size;
    if (got < (ssize_t)sizeof *header || source->size < LULL_TAPE_HEADER_SIZE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %llu bytes, expected a header of %d",
                         path, (unsigned long long)source->size, LULL_TAPE_HEADER_SIZE);
    lull_status status = LULL_OK;
    file->header = told_by(header);
    const bool ring = file->header.flags & LULL_TAPE_RING;
    file->lost = 0;
    if (ring || lacks_parts(file)) /* the recorder has added parts meanwhile */
        status = lull_tape_refresh(trace, file, err);
    if (status == LULL_OK && ring)
        lull_tape_keep_ring(trace, file);
    return status == LULL_OK ? check_records_header(path, file, header, err) : status;
}

/* Reads the tail that belongs to file->header, and one slot more. */
static lull_status read_tail(struct lull_tape_source *source, const char *path,
                             const struct lull_tape_file *file, unsigned char *bytes,
                             size_t *ret_got, struct lull_error *err)
{
    size_t used = (size_t)(file->header.committed - file->header.flushed);
    size_t size = used + sizeof(union lull_tape_slot);
    if (size > LULL_TAPE_CHUNK)
        size = LULL_TAPE_CHUNK;
    ssize_t got = lull_tape_read_pieces(source, &file->rest, bytes, size, 0);
    if (got < 0)
        return lull_tape_source_fail(source, path, err);
    if ((size_t)got < used)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %zd bytes, expected %zu", path, got,
                         used);
    *ret_got = (size_t)got;
    return LULL_OK;
}

/* The recorder has closed the tape: the tail is read as one more chunk. */
static void join_tail(const struct lull_trace *trace, struct lull_tape_file *file)
{
    struct lull_tape_pieces all = {0};
    lull_tape_add_pieces(trace->arena, &all, &file->chunks, file->header.flushed);
    lull_tape_add_pieces(trace->arena, &all, &file->rest, file->rest.size);
    file->chunks = all;
    file->header.flags &= (uint16_t)~LULL_TAPE_TAILED;
}

/* Reads header and tail of a program that may be writing at this moment. Records that it has
 * committed stay in the tail until it says in the header that the chunk is in the file (`flushed`).
 * Where `flushed` is the same before and after the reading, header and tail belong together. */
static lull_status read_snapshot(const struct lull_trace *trace, struct lull_tape_source *source,
                                 const char *path, struct lull_tape_file *file,
                                 struct lull_tape_header *header, struct lull_error *err)
{
    unsigned char bytes[LULL_TAPE_CHUNK];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        lull_status status = read_records_header(trace, source, path, file, header, err);
        if (status != LULL_OK || !(file->header.flags & LULL_TAPE_TAILED))
            return status;
        if (file->header.flags & LULL_TAPE_CLOSED) {
            join_tail(trace, file);
            return LULL_OK;
        }
        size_t got;
        status = read_tail(source, path, file, bytes, &got, err);
        struct lull_tape_file after = *file;
        struct lull_tape_header header_after;
        if (status == LULL_OK)
            status = read_records_header(trace, source, path, &after, &header_after, err);
        if (status != LULL_OK)
            return status;
        if (after.header.flushed != file->header.flushed || after.lost != file->lost ||
            !(after.header.flags & LULL_TAPE_TAILED))
            continue;
        unsigned char *tail = lull_arena_zero(trace->arena, got + 1, 1);
        memcpy(tail, bytes, got);
        file->tail = tail;
        file->tail_size = got;
        return LULL_OK;
    }
    return lull_fail(err, LULL_ERR_FORMAT, "%s: changes faster than it can be read", path);
}

lull_status lull_tape_open_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file,
                                   struct lull_tape_source *ret_source, struct lull_error *err)
{
    return lull_tape_source_open(trace, LULL_TAPE_NODE_PROCESS, file->process, 0, ret_source, err);
}

/* Fails unless the table in the packed file of a node is about these records. */
static lull_status check_known(const char *path, const struct lull_tape_file *file,
                               struct lull_error *err)
{
    if (!file->known || file->known->committed == file->header.committed)
        return LULL_OK;
    return lull_fail(
        err, LULL_ERR_FORMAT, "%s: %llu bytes of records, expected %llu as in the table", path,
        (unsigned long long)file->header.committed, (unsigned long long)file->known->committed);
}

lull_status lull_tape_read_header(const struct lull_trace *trace, struct lull_tape_file *file,
                                  struct lull_tape_header *ret_header, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_source source;
    lull_tape_file_path(trace, file, path, sizeof path);
    lull_status status = lull_tape_open_records(trace, file, &source, err);
    if (status != LULL_OK)
        return status;
    lull_tape_source_sparse(&source);
    status = read_snapshot(trace, &source, path, file, ret_header, err);
    file->has_own_file = !source.packed && !source.contained;
    lull_tape_source_close(&source);
    if (status == LULL_OK)
        status = check_known(path, file, err);
    return status;
}

lull_status lull_tape_read_records_from(struct lull_tape_source *source,
                                        const struct lull_tape_file *file, uint64_t begin,
                                        size_t size, void *bytes, size_t *ret_got,
                                        struct lull_error *err)
{
    if (file->tail && begin >= file->header.flushed) {
        uint64_t at = begin - file->header.flushed;
        size_t left = at < file->tail_size ? file->tail_size - (size_t)at : 0;
        *ret_got = size < left ? size : left;
        memcpy(bytes, file->tail + file->tail_size - left, *ret_got);
        return LULL_OK;
    }
    const ssize_t got = lull_tape_read_pieces(source, &file->chunks, bytes, size, begin);
    if (got < 0) {
        char path[LULL_TAPE_PATH];
        return lull_tape_source_fail(
            source, lull_tape_file_path(source->trace, file, path, sizeof path), err);
    }
    *ret_got = (size_t)got;
    return LULL_OK;
}

lull_status lull_tape_read_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, uint64_t begin, size_t size,
                                   void *bytes, size_t *ret_got, struct lull_error *err)
{
    struct lull_tape_source source;
    lull_status status = lull_tape_open_records(trace, file, &source, err);
    if (status != LULL_OK)
        return status;
    status = lull_tape_read_records_from(&source, file, begin, size, bytes, ret_got, err);
    lull_tape_source_close(&source);
    return status;
}

uint64_t lull_tape_offset_of(const struct lull_tape_file *file, uint64_t begin)
{
    const uint64_t in_file = file->tail ? file->header.flushed : file->chunks.size;
    return begin < in_file ? lull_tape_place_in(&file->chunks, begin)
                           : lull_tape_place_in(&file->rest, begin - in_file);
}

static bool is_open(const struct lull_tape_file *file)
{
    return !(file->header.flags & LULL_TAPE_CLOSED);
}

bool lull_tape_may_give_way(const struct lull_trace *trace, const struct lull_tape_file *file)
{
    const struct lull_tape_data *data = trace->format_data;
    bool any = false;
    for (size_t i = 0; file->n_kept > 0 && !any && i < data->n_files; i++)
        any = data->files[i].process == file->process && is_open(&data->files[i]);
    return any;
}

lull_status lull_tape_copy_records(const struct lull_trace *trace,
                                   const struct lull_tape_file *file, void *bytes,
                                   struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_source source;
    const uint64_t all = file->header.committed;
    lull_status status = lull_tape_open_records(trace, file, &source, err);
    if (status != LULL_OK)
        return status;
    lull_tape_file_path(trace, file, path, sizeof path);
    for (uint64_t at = 0; status == LULL_OK && at < all;) {
        size_t got = 0;
        const uint64_t left = all - at;
        status = lull_tape_read_records_from(&source, file, at,
                                             left < LULL_TAPE_CHUNK ? left : LULL_TAPE_CHUNK,
                                             (unsigned char *)bytes + at, &got, err);
        if (status == LULL_OK && got == 0)
            status = lull_fail(err, LULL_ERR_FORMAT, "%s: truncated since it was opened", path);
        at += got;
    }
    if (status == LULL_OK && !lull_tape_has_kept(&source, file))
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: changes faster than it can be read", path);
    lull_tape_source_close(&source);
    return status;
}

/* ==== need ==================================================================================== */

/* Members of a team do not tell each other where the records of a process stand, nor what its ids
 * mean. A member that is about to read a process of another one finds this out here. */

lull_status lull_tape_share_keep(struct lull_trace *trace, struct lull_tape_merge *merge,
                                 struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_share *share = data->share;
    lull_hash_free(&merge->known[LULL_TAPE_MAP_COMM]); /* ids of communicators have been told */
    merge->learns = true;
    share->merge = merge;
    share->known = calloc(trace->n_processes + (size_t)1, sizeof *share->known);
    if (!share->known)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        share->known[p] = lull_tape_is_own(trace, data->process_numbers[p]);
    free(share->heads);
    share->heads = NULL;
    lull_arena_destroy(share->texts);
    share->texts = NULL;
    return LULL_OK;
}

/* Takes from `now` where the records of a location stand. A program that is still running may have
 * added records since the owner told the header of the location; these do not count. */
static lull_status take_records_place(const struct lull_trace *trace, struct lull_tape_file *file,
                                      const struct lull_tape_file *now, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    if (now->header.committed < file->header.committed || now->lost != file->lost)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: changes faster than it can be read",
                         lull_tape_file_path(trace, file, path, sizeof path));
    file->header.flags = (uint16_t)((file->header.flags & ~LULL_TAPE_TAILED) |
                                    (now->header.flags & LULL_TAPE_TAILED));
    file->header.flushed = now->header.flushed;
    file->chunks = now->chunks;
    file->rest = now->rest;
    file->sums = now->sums;
    file->samples = now->samples;
    file->ring = now->ring;
    file->n_ring = now->n_ring;
    file->n_kept = now->n_kept;
    file->tail = now->tail;
    file->tail_size = now->tail_size;
    return LULL_OK;
}

/* Finds where the records of a location stand. */
static lull_status find_place(const struct lull_trace *view, struct lull_tape_file *file,
                              struct lull_error *err)
{
    struct lull_tape_header header;
    struct lull_tape_file now = {.process = file->process,
                                 .number = file->number,
                                 .known = file->known,
                                 .open_region = LULL_NONE};
    lull_status status = lull_tape_refresh(view, &now, err);
    if (status == LULL_OK)
        status = lull_tape_read_header(view, &now, &header, err);
    return status == LULL_OK ? take_records_place(view, file, &now, err) : status;
}

static lull_status find_places(const struct lull_trace *view, uint32_t process,
                               struct lull_error *err)
{
    const struct lull_tape_data *data = view->format_data;
    const struct lull_process *all = &view->processes[process];
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < all->n_locations; l++) {
        struct lull_tape_file *file = &data->files[all->first_location + l];
        if (!file->left_out)
            status = find_place(view, file, err);
    }
    return status;
}

static lull_status find_ids(const struct lull_tape_share *share, uint32_t process,
                            struct lull_error *err)
{
    const struct lull_trace *view = &share->view;
    const struct lull_tape_data *data = view->format_data;
    struct lull_tape_scope scope = {0};
    char path[LULL_TAPE_PATH];
    bool found;
    lull_status status = lull_tape_read_definitions_of(
        view, share->merge, data->process_numbers[process], &scope, path, &found, err);
    lull_tape_keep_ids(share->merge, &scope);
    for (int map = 0; map < LULL_TAPE_MAPS; map++)
        if (map != LULL_TAPE_MAP_COMM)
            data->scopes[process].maps[map] = scope.maps[map];
    return status;
}

lull_status lull_tape_need(const struct lull_trace *trace, uint32_t location,
                           struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_share *share = data->share;
    const uint32_t process = trace->locations[location].process;
    lull_status status = LULL_OK;
    if (!share || data->files[location].left_out)
        return LULL_OK;
    pthread_mutex_lock(&share->lock);
    if (!share->known[process]) {
        if (!share->view.arena) {
            share->view = *trace;
            share->view.arena = lull_arena_create(NULL);
            share->merge->trace = &share->view;
        }
        status = find_places(&share->view, process, err);
        if (status == LULL_OK)
            status = find_ids(share, process, err);
        share->known[process] = status == LULL_OK;
    }
    pthread_mutex_unlock(&share->lock);
    return status;
}
