/* The tables of the packed files of nodes. */
#include "base/file.h"
#include "trace/format/tape/pack/blocks.h"
#include "trace/format/tape/read/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lull_status check_node_header(const char *path, const struct lull_tape_node_header *header,
                                     struct lull_tape_node *node, struct lull_error *err)
{
    if (memcmp(header->magic, LULL_TAPE_NODE_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER || header->header_size != sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of a packed tape", path);
    if (header->version < LULL_TAPE_NODE_VERSION || header->version > LULL_TAPE_NODE_NEWEST ||
        header->flags != LULL_TAPE_NODE_PACKED)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by a newer lull: version %u with flags %u, this one reads "
                         "%d with %d",
                         path, header->version, header->flags, LULL_TAPE_NODE_NEWEST,
                         LULL_TAPE_NODE_PACKED);
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
    return file->kind < LULL_TAPE_NODE_KINDS && file->first <= node->n_blocks &&
           file->n_plain <= node->n_blocks - file->first &&
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
    const lull_status status = lull_pack_check_built(path, err);
    return status == LULL_OK ? read_tables(trace, node, header, err) : status;
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
    if (header.version != LULL_TAPE_NODE_VERSION || header.flags != LULL_TAPE_NODE_RECORDED)
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

/* ---- finding ----------------------------------------------------------------------------------
 */

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

const struct lull_tape_packed_file *lull_tape_packed_find(const struct lull_trace *trace,
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
