/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the files of a run as if all were on disk. Of a packed file those blocks are decoded in
 * which the wanted bytes are; a block that is wanted as a whole is decoded into the caller's
 * memory, others through a buffer. */
#include "trace/format/tape/read/tape_source.h"

#include "base/file.h"
#include "base/sorted.h"
#include "base/text.h"
#include "trace/format/tape/pack/blocks.h"
#include "trace/open_trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== node ==================================================================================== */

/* The tables of the packed files of nodes. */

static lull_status check_node_header(const char *path, const struct lull_tape_node_header *header,
                                     struct lull_tape_node *node, struct lull_error *err)
{
    if (memcmp(header->magic, LULL_TAPE_NODE_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER || header->header_size != sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of a packed tape", path);
    const lull_status status = lull_tape_check_version(path, header->version, err);
    if (status != LULL_OK)
        return status;
    if (header->flags != LULL_TAPE_NODE_PACKED)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by a newer lull: flags %u, this one reads %d and %d", path,
                         header->flags, LULL_TAPE_NODE_PACKED, LULL_TAPE_NODE_RECORDED);
    const uint64_t blocks = sizeof *header +
                            header->n_files * (uint64_t)sizeof(struct lull_tape_node_file) +
                            header->n_locations * (uint64_t)sizeof(struct lull_tape_node_location);
    if (blocks > node->size ||
        header->n_blocks > (node->size - blocks) / sizeof(struct lull_tape_node_block))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: truncated: tables of %u files, %u locations and %llu blocks in %llu "
                         "bytes",
                         path, header->n_files, header->n_locations,
                         (unsigned long long)header->n_blocks, (unsigned long long)node->size);
    node->blocks = blocks;
    node->n_blocks = header->n_blocks;
    node->payload = blocks + header->n_blocks * sizeof(struct lull_tape_node_block);
    return LULL_OK;
}

static bool is_file(const struct lull_tape_node_file *file, const struct lull_tape_node *node)
{
    return (file->kind == LULL_TAPE_NODE_PROCESS || file->kind == LULL_TAPE_NODE_CONTAINER) &&
           file->first <= node->n_blocks && file->n_plain <= node->n_blocks - file->first &&
           file->n_chunks <= node->n_blocks - file->first - file->n_plain &&
           file->size <= INT64_MAX && file->process != UINT32_MAX && file->number != UINT32_MAX;
}

static lull_status take_files(struct lull_trace *trace, const struct lull_tape_node *node,
                              const struct lull_tape_node_file *files, uint32_t n,
                              struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_packed *packed = data->packed_run;
    for (uint32_t f = 0; f < n; f++) {
        if (files[f].kind > LULL_TAPE_NODE_PROCESS && files[f].kind < LULL_TAPE_NODE_CONTAINER)
            return lull_tape_old_form(node->path, err);
        if (!is_file(&files[f], node))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: bad entry of a file",
                             node->path, sizeof(struct lull_tape_node_header) + f * sizeof *files);
        lull_tape_make_room(trace, &packed->files, &packed->files_capacity, packed->n_files + 1,
                            sizeof *packed->files);
        packed->files[packed->n_files++] = (struct lull_tape_packed_file){files[f], node};
    }
    return LULL_OK;
}

static void take_locations(struct lull_trace *trace, const struct lull_tape_node *node,
                           const struct lull_tape_node_location *locations, uint32_t n)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_packed *packed = data->packed_run;
    for (uint32_t l = 0; l < n; l++) {
        lull_tape_make_room(trace, &packed->locations, &packed->locations_capacity,
                            packed->n_locations + 1, sizeof *packed->locations);
        packed->locations[packed->n_locations++] =
            (struct lull_tape_packed_location){locations[l], node};
    }
}

static lull_status read_tables(struct lull_trace *trace, struct lull_tape_node *node,
                               const struct lull_tape_node_header *header, struct lull_error *err)
{
    lull_status status = check_node_header(node->path, header, node, err);
    if (status == LULL_OK)
        status = lull_pack_check_built(node->path, err);
    if (status != LULL_OK)
        return status;
    const size_t size = (size_t)(node->blocks - sizeof *header);
    unsigned char *tables = malloc(size + 1);
    if (!tables)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", node->path);
    if (pread(node->fd, tables, size, sizeof *header) != (ssize_t)size)
        status = lull_fail_errno(err, "%s: cannot read", node->path);
    else if (lull_tape_checksum(header->n_blocks, tables, size) != header->checksum)
        status = lull_fail(err, LULL_ERR_FORMAT,
                           "%s: offset %zu: the tables are not those that were written", node->path,
                           sizeof *header);
    else
        status = take_files(trace, node, (const void *)tables, header->n_files, err);
    if (status == LULL_OK)
        take_locations(
            trace, node,
            (const void *)(tables + header->n_files * sizeof(struct lull_tape_node_file)),
            header->n_locations);
    free(tables);
    return status;
}

static lull_status read_node_header(const char *path, int fd, struct lull_tape_node_header *header,
                                    struct lull_error *err)
{
    const ssize_t got = pread(fd, header, sizeof *header, 0);
    if (got < 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    if (got < (ssize_t)sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %zd bytes, expected a header of %zu",
                         path, got, sizeof *header);
    return LULL_OK;
}

static lull_status open_packed(struct lull_trace *trace, const char *path, int fd, uint64_t size,
                               const struct lull_tape_node_header *header, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_node *node = lull_arena_zero(trace->arena, 1, sizeof *node);
    *node = (struct lull_tape_node){.path = path, .fd = fd, .size = size};
    if (!data->packed_run)
        data->packed_run = lull_arena_zero(trace->arena, 1, sizeof *data->packed_run);
    struct lull_tape_packed *packed = data->packed_run;
    packed->nodes = lull_arena_grow(trace->arena, packed->nodes, &packed->nodes_capacity,
                                    packed->n_nodes + 1, sizeof(struct lull_tape_node *));
    packed->nodes[packed->n_nodes++] = node;
    return read_tables(trace, node, header, err);
}

lull_status lull_tape_node_open(struct lull_trace *trace, const char *name, struct lull_error *err)
{
    const char *path = lull_arena_printf(trace->arena, "%s/%s", trace->path, name);
    struct lull_tape_node_header header;
    struct stat info;
    int fd;
    lull_status status = lull_open_read(path, &fd, &info, err);
    if (status != LULL_OK)
        return status;
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* before the first byte is read */
    status = read_node_header(path, fd, &header, err);
    if (status != LULL_OK) {
        close(fd);
        return status;
    }
    if (header.flags != LULL_TAPE_NODE_RECORDED)
        return open_packed(trace, path, fd, (uint64_t)info.st_size, &header, err);
    lull_tape_container_note(trace, path, fd, NULL);
    return LULL_OK;
}

void lull_tape_nodes_close(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_packed *packed = data ? data->packed_run : NULL;
    if (!packed)
        return;
    for (size_t n = 0; n < packed->n_nodes; n++)
        close(packed->nodes[n]->fd);
    free(packed->files);
    free(packed->locations);
    free(packed->recent.bytes);
}

void lull_tape_nodes_opened(const struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_packed *packed = data->packed_run;
    const struct lull_tape_containers *recorded = data->containers;
    for (size_t n = 0; packed && n < packed->n_nodes; n++)
        posix_fadvise(packed->nodes[n]->fd, 0, 0, POSIX_FADV_NORMAL);
    for (size_t c = 0; recorded && c < recorded->n; c++)
        if (recorded->list[c]->fd >= 0)
            posix_fadvise(recorded->list[c]->fd, 0, 0, POSIX_FADV_NORMAL);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int compare_node_ids(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_packed_files(const void *a, const void *b)
{
    const struct lull_tape_node_file *x = &((const struct lull_tape_packed_file *)a)->file,
                                     *y = &((const struct lull_tape_packed_file *)b)->file;
    return x->process != y->process ? compare_node_ids(x->process, y->process)
           : x->number != y->number ? compare_node_ids(x->number, y->number)
                                    : compare_node_ids(x->kind, y->kind);
}

static int compare_locations(const void *a, const void *b)
{
    const struct lull_tape_node_location
        *x = &((const struct lull_tape_packed_location *)a)->location,
        *y = &((const struct lull_tape_packed_location *)b)->location;
    return x->process != y->process ? compare_node_ids(x->process, y->process)
                                    : compare_node_ids(x->number, y->number);
}

lull_status lull_tape_nodes_join(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_tape_packed *packed = data->packed_run;
    if (!packed)
        return LULL_OK;
    if (packed->n_files > 0)
        qsort(packed->files, packed->n_files, sizeof *packed->files, compare_packed_files);
    if (packed->n_locations > 0)
        qsort(packed->locations, packed->n_locations, sizeof *packed->locations, compare_locations);
    for (size_t f = 1; f < packed->n_files; f++)
        if (compare_packed_files(&packed->files[f - 1], &packed->files[f]) == 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: has files of process %u that %s has, too",
                             packed->files[f].node->path, packed->files[f].file.process,
                             packed->files[f - 1].node->path);
    return LULL_OK;
}

static const struct lull_tape_packed_file *find_packed_file(const struct lull_trace *trace,
                                                            enum lull_tape_node_kind kind,
                                                            uint32_t process, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_packed *packed = data->packed_run;
    const struct lull_tape_packed_file key = {
        .file = {.process = process, .number = number, .kind = kind}};
    return packed && packed->n_files > 0
               ? bsearch(&key, packed->files, packed->n_files, sizeof key, compare_packed_files)
               : NULL;
}

const struct lull_tape_node_location *lull_tape_packed_location(const struct lull_trace *trace,
                                                                uint32_t process, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_packed *packed = data->packed_run;
    const struct lull_tape_packed_location key = {
        .location = {.process = process, .number = number}};
    const struct lull_tape_packed_location *found =
        packed && packed->n_locations > 0
            ? bsearch(&key, packed->locations, packed->n_locations, sizeof key, compare_locations)
            : NULL;
    return found ? &found->location : NULL;
}

/* ==== source ================================================================================== */

static const struct lull_tape_container *find_container(const struct lull_trace *trace,
                                                        enum lull_tape_node_kind kind,
                                                        uint32_t process, uint32_t number,
                                                        uint64_t *ret_base)
{
    const struct lull_tape_contained *contained =
        kind == LULL_TAPE_NODE_PROCESS ? lull_tape_contained_find(trace, process) : NULL;
    *ret_base = contained ? contained->place : 0;
    if (contained)
        return contained->container;
    return kind == LULL_TAPE_NODE_CONTAINER ? lull_tape_container_find(trace, number) : NULL;
}

const char *lull_tape_source_path(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number, char *buffer, size_t size)
{
    uint64_t base;
    const struct lull_tape_container *container =
        find_container(trace, kind, process, number, &base);
    if (container) {
        snprintf(buffer, size, "%s", container->path);
        const size_t length = strlen(buffer);
        if (base > 0)
            snprintf(buffer + length, size - length, ": process %u", process);
        return buffer;
    }
    const struct lull_tape_packed_file *packed = find_packed_file(trace, kind, process, number);
    const char *where = packed ? packed->node->path : trace->path;
    const char *between = packed ? ": " : "/";
    snprintf(buffer, size, "%s%s%u/%u.tape", where, between, process / LULL_TAPE_GROUP, process);
    return buffer;
}

/* Opens a container as a source. The descriptor is the container's and stays open when the source
 * is closed. */
static lull_status open_container(struct lull_tape_source *source, struct lull_error *err)
{
    const struct lull_tape_container *container = source->container;
    struct stat info;
    source->contained = source->base > 0;
    source->packed = container->packed;
    source->fd = container->fd;
    if (container->packed)
        source->size = container->packed->file.size;
    else if (fstat(container->fd, &info) == 0)
        source->size = (uint64_t)info.st_size;
    else
        return lull_fail_errno(err, "%s: cannot read", container->path);
    return LULL_OK;
}

lull_status lull_tape_source_open(const struct lull_trace *trace, enum lull_tape_node_kind kind,
                                  uint32_t process, uint32_t number,
                                  struct lull_tape_source *ret_source, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct stat info;
    uint64_t base;
    const struct lull_tape_container *container =
        find_container(trace, kind, process, number, &base);
    if (container) {
        *ret_source =
            (struct lull_tape_source){.trace = trace, .container = container, .base = base};
        return open_container(ret_source, err);
    }
    *ret_source = (struct lull_tape_source){
        .trace = trace, .packed = find_packed_file(trace, kind, process, number), .fd = -1};
    if (ret_source->packed) {
        ret_source->size = ret_source->packed->file.size;
        return LULL_OK;
    }
    lull_tape_source_path(trace, kind, process, number, path, sizeof path);
    lull_status status = lull_open_read(path, &ret_source->fd, &info, err);
    if (status == LULL_OK)
        ret_source->size = (uint64_t)info.st_size;
    return status;
}

void lull_tape_source_sparse(const struct lull_tape_source *source)
{
    if (source->fd >= 0 && !source->container)
        posix_fadvise(source->fd, 0, 0, POSIX_FADV_RANDOM);
}

void lull_tape_source_close(struct lull_tape_source *source)
{
    if (source->fd >= 0 && !source->container)
        close(source->fd);
    source->fd = -1;
}

lull_status lull_tape_source_fail(const struct lull_tape_source *source, const char *path,
                                  struct lull_error *err)
{
    if (source->packed && source->contained)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: %s", path, source->error.text);
    if (source->packed)
        return lull_fail(err, LULL_ERR_FORMAT, "%s", source->error.text);
    return lull_fail_errno(err, "%s: cannot read", path);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint64_t place_in_table(const struct lull_tape_node *node, uint64_t block)
{
    return node->blocks + block * sizeof(struct lull_tape_node_block);
}

/* Sets source->error: what is wrong at `offset` of the packed file. Returns false. */
static bool fail_at(struct lull_tape_source *source, uint64_t offset, const char *what)
{
    const struct lull_tape_node_file *file = &source->packed->file;
    char path[LULL_TAPE_PATH];
    if (source->container) {
        lull_fail(&source->error, LULL_ERR_FORMAT, "%s%soffset %llu: %s",
                  source->contained ? "" : source->container->path, source->contained ? "" : ": ",
                  (unsigned long long)offset, what);
        return false;
    }
    lull_tape_source_path(source->trace, file->kind, file->process, file->number, path,
                          sizeof path);
    lull_fail(&source->error, LULL_ERR_FORMAT, "%s: offset %llu: %s", path,
              (unsigned long long)offset, what);
    return false;
}

/* Reads `n` entries of the table of blocks from `first` on. */
static bool read_entries(struct lull_tape_source *source, uint64_t first, uint32_t n,
                         struct lull_tape_node_block *entries)
{
    const struct lull_tape_node *node = source->packed->node;
    const uint64_t offset = place_in_table(node, first);
    const size_t size = n * sizeof *entries;
    return pread(node->fd, entries, size, (off_t)offset) == (ssize_t)size ||
           fail_at(source, offset, "the table of blocks cannot be read");
}

/* How many of the `n` blocks from `first` on, which are sorted, begin at `offset` or before. */
static bool count_before(struct lull_tape_source *source, uint64_t first, uint64_t n,
                         uint64_t offset, uint64_t *ret_count)
{
    struct lull_bisection at = {.end = n};
    while (lull_bisect(&at)) {
        struct lull_tape_node_block block;
        if (!read_entries(source, first + at.middle, 1, &block))
            return false;
        at.in_front = block.origin <= offset;
    }
    *ret_count = at.begin;
    return true;
}

static const struct lull_tape_node_block *find_in_window(const struct lull_tape_source *source,
                                                         uint64_t offset)
{
    const size_t behind =
        lull_sorted_first_u64(source->window, source->n_window, sizeof *source->window,
                              offsetof(struct lull_tape_node_block, origin), offset + 1);
    const struct lull_tape_node_block *block = behind > 0 ? &source->window[behind - 1] : NULL;
    return block && offset - block->origin < lull_tape_block_length(block) ? block : NULL;
}

/* Looks for the block that holds byte `offset` among `n` blocks from `first` on, and keeps the
 * entries around it in the window. */
static const struct lull_tape_node_block *find_among(struct lull_tape_source *source,
                                                     uint64_t first, uint64_t n, uint64_t offset)
{
    uint64_t count = 0;
    source->n_window = 0;
    if (n > TAPE_WINDOW && !count_before(source, first, n, offset, &count))
        return NULL;
    if (count > 0)
        count--;
    if (count > n - (n < TAPE_WINDOW ? n : TAPE_WINDOW))
        count = n - (n < TAPE_WINDOW ? n : TAPE_WINDOW);
    const uint32_t many = n - count < TAPE_WINDOW ? (uint32_t)(n - count) : TAPE_WINDOW;
    if (!read_entries(source, first + count, many, source->window))
        return NULL;
    source->first = first + count;
    source->n_window = many;
    return find_in_window(source, offset);
}

/* The block that holds byte `offset` of the file; NULL: there is none, and source->error tells
 * it. */
static const struct lull_tape_node_block *find_block(struct lull_tape_source *source,
                                                     uint64_t offset)
{
    const struct lull_tape_node_file *file = &source->packed->file;
    const struct lull_tape_node_block *block = find_in_window(source, offset);
    source->error.text[0] = '\0';
    if (!block && file->n_chunks > 0)
        block = find_among(source, file->first + file->n_plain, file->n_chunks, offset);
    if (!block && file->n_plain > 0 && source->error.text[0] == '\0')
        block = find_among(source, file->first, file->n_plain, offset);
    if (!block && source->error.text[0] == '\0')
        fail_at(source, place_in_table(source->packed->node, file->first),
                "there is a gap between blocks");
    return block;
}

/* Whether the block can be where its entry says. */
static bool check_packed_block(struct lull_tape_source *source,
                               const struct lull_tape_node_block *block)
{
    const struct lull_tape_node *node = source->packed->node;
    const uint64_t entry = place_in_table(node, source->first + (uint64_t)(block - source->window));
    if (lull_tape_block_length(block) > PACK_MOST_LENGTH || block->size > PACK_MOST_LENGTH ||
        block->place < node->payload)
        return fail_at(source, entry, "bad entry of a block");
    if (block->place > node->size || block->size > node->size - block->place)
        return fail_at(source, block->place, "the file is cut short before the end of a block");
    return true;
}

static bool decode_packed_block(struct lull_tape_source *source,
                                const struct lull_tape_node_block *block, void *bytes)
{
    unsigned char packed[PACK_MOST_LENGTH];
    if (!check_packed_block(source, block))
        return false;
    if (pread(source->packed->node->fd, packed, block->size, (off_t)block->place) !=
        (ssize_t)block->size)
        return fail_at(source, block->place, "a block cannot be read");
    return lull_unpack_block(block, packed, bytes) ||
           fail_at(source, block->place, "a damaged block");
}

/* The block that was decoded last, for the one thread that opens the run; NULL: the run is open, or
 * there is no memory. */
static struct lull_tape_recent *recent_of(const struct lull_tape_source *source)
{
    const struct lull_tape_data *data = source->trace->format_data;
    struct lull_tape_recent *recent = &data->packed_run->recent;
    if (!source->trace->shared->opening)
        return NULL;
    if (!recent->bytes)
        recent->bytes = aligned_alloc(16, PACK_MOST_LENGTH);
    return recent->bytes ? recent : NULL;
}

static bool decode_recent(struct lull_tape_source *source, const struct lull_tape_node_block *block,
                          struct lull_tape_recent *recent)
{
    const struct lull_tape_node *node = source->packed->node;
    const uint64_t number = source->first + (uint64_t)(block - source->window);
    if (recent->node == node && recent->block == number &&
        recent->length == lull_tape_block_length(block))
        return true;
    recent->node = NULL;
    if (!decode_packed_block(source, block, recent->bytes))
        return false;
    recent->node = node;
    recent->block = number;
    recent->length = lull_tape_block_length(block);
    return true;
}

/* Reads up to `size` bytes from `offset` on, as many as are in one block; 0: it cannot be
 * decoded. */
static size_t read_from_block(struct lull_tape_source *source, void *bytes, size_t size,
                              uint64_t offset)
{
    const struct lull_tape_node_block *block = find_block(source, offset);
    if (!block)
        return 0;
    const size_t length = lull_tape_block_length(block), skip = (size_t)(offset - block->origin);
    const size_t part = size < length - skip ? size : length - skip;
    if (part == length && ((uintptr_t)bytes & 15) == 0)
        return decode_packed_block(source, block, bytes) ? part : 0;
    struct lull_tape_recent *recent = recent_of(source);
    if (recent) {
        if (!decode_recent(source, block, recent))
            return 0;
        memcpy(bytes, recent->bytes + skip, part);
        return part;
    }
    void *whole = aligned_alloc(16, PACK_MOST_LENGTH);
    if (!whole) {
        lull_fail(&source->error, LULL_ERR_MEMORY, "out of memory");
        return 0;
    }
    const bool good = decode_packed_block(source, block, whole);
    if (good)
        memcpy(bytes, (unsigned char *)whole + skip, part);
    free(whole);
    return good ? part : 0;
}

ssize_t lull_tape_source_read(struct lull_tape_source *source, void *bytes, size_t size,
                              uint64_t offset)
{
    if (!source->packed)
        return pread(source->fd, bytes, size, (off_t)offset);
    if (offset >= source->size)
        return 0;
    if (size > source->size - offset)
        size = (size_t)(source->size - offset);
    for (size_t done = 0; done < size;) {
        const size_t part =
            read_from_block(source, (unsigned char *)bytes + done, size - done, offset + done);
        if (part == 0)
            return -1;
        done += part;
    }
    return (ssize_t)size;
}

ssize_t lull_tape_source_read_block(struct lull_tape_source *source, void *bytes, uint64_t offset)
{
    const struct lull_tape_node_block *block = find_block(source, offset);
    if (!block || !decode_packed_block(source, block, bytes))
        return -1;
    const uint32_t length = lull_tape_block_length(block);
    if (block->origin != offset || length > source->size - offset) {
        fail_at(source, block->place, "a block that lies in another");
        return -1;
    }
    return (ssize_t)length;
}

/* ==== names and damage ======================================================================== */

bool lull_tape_parse_number(const char *text, size_t length, uint64_t *ret_number)
{
    return lull_parse_u64(text, length, ret_number) == LULL_OK && (length == 1 || text[0] != '0');
}

bool lull_tape_parse_name(const char *name, uint32_t *ret_process)
{
    const char *dot = strchr(name, '.');
    uint64_t process;
    if (!dot || strcmp(dot, ".tape") != 0 ||
        !lull_tape_parse_number(name, (size_t)(dot - name), &process) || process >= UINT32_MAX)
        return false;
    *ret_process = (uint32_t)process;
    return true;
}

int lull_tape_compare_names(const void *a, const void *b)
{
    const struct lull_tape_name *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int compare_file_names(const void *a, const void *b)
{
    const struct lull_tape_file *x = a, *y = b;
    const struct lull_tape_name left = {x->process, x->number}, right = {y->process, y->number};
    return lull_tape_compare_names(&left, &right);
}

void lull_tape_sort_files(struct lull_tape_data *data)
{
    if (data->n_files > 0)
        qsort(data->files, data->n_files, sizeof *data->files, compare_file_names);
}

const char *lull_tape_process_path(const struct lull_trace *trace, uint32_t process, char *buffer,
                                   size_t size)
{
    return lull_tape_source_path(trace, LULL_TAPE_NODE_PROCESS, process, 0, buffer, size);
}

const char *lull_tape_file_path(const struct lull_trace *trace, const struct lull_tape_file *file,
                                char *buffer, size_t size)
{
    lull_tape_process_path(trace, file->process, buffer, size);
    const size_t length = strlen(buffer);
    if (lull_tape_contained_find(trace, file->process))
        snprintf(buffer + length, size - length, ", location %u", file->number);
    return buffer;
}

lull_status lull_tape_check_version(const char *path, uint32_t version, struct lull_error *err)
{
    if (version > LULL_TAPE_VERSION)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by a newer lull: version %u, this one reads %d", path,
                         version, LULL_TAPE_VERSION);
    if (version < LULL_TAPE_VERSION)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by an older lull: version %u, this one reads %d; record it "
                         "again, or have that lull convert it to otf2 or paraver",
                         path, version, LULL_TAPE_VERSION);
    return LULL_OK;
}

lull_status lull_tape_old_form(const char *path, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_UNSUPPORTED,
                     "%s: written by an older lull, with files of single locations; record it "
                     "again, or have that lull convert it to otf2 or paraver",
                     path);
}

lull_status lull_tape_leave_out_location(const struct lull_trace *trace, uint32_t location,
                                         lull_status status, const struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    status = lull_trace_leave_out(trace, location, status, err);
    data->files[location].left_out |= status == LULL_OK;
    return status;
}

void lull_tape_note_damage(struct lull_trace *trace, const struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_trace_add_quirk(trace, "a file of a node is damaged; what it holds is left out", "%s",
                         err->text);
    if (data->damage[0] == '\0')
        snprintf(data->damage, sizeof data->damage, "%s", err->text);
}
