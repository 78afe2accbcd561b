/* Files of processes: which extents belong to what. See struct lull_tape_process_header. */
#include "tape/container.h"
#include "trace/format/tape/read/source.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces -----------------------------------------------------------------------------------
 */

/* Most lists have one piece, and there are many of them. */
static void append_piece(struct lull_arena *arena, struct lull_tape_pieces *pieces, uint64_t offset,
                         uint64_t size)
{
    if (pieces->capacity == 0) {
        pieces->list = lull_arena_zero(arena, 1, sizeof *pieces->list);
        pieces->capacity = 1;
    }
    pieces->list = lull_arena_grow(arena, pieces->list, &pieces->capacity, pieces->n + 1,
                                   sizeof *pieces->list);
    pieces->list[pieces->n++] = (struct lull_tape_piece){offset, size};
}

static void add_piece(struct lull_arena *arena, struct lull_tape_pieces *pieces, uint64_t offset,
                      uint64_t size)
{
    pieces->size += size;
    if (pieces->n > 0 &&
        pieces->list[pieces->n - 1].offset + pieces->list[pieces->n - 1].size == offset)
        pieces->list[pieces->n - 1].size += size;
    else
        append_piece(arena, pieces, offset, size);
}

void lull_tape_add_pieces(struct lull_arena *arena, struct lull_tape_pieces *to,
                          const struct lull_tape_pieces *pieces, uint64_t size)
{
    for (size_t i = 0; i < pieces->n && size > 0; i++) {
        const struct lull_tape_piece *piece = &pieces->list[i];
        const uint64_t part = piece->size < size ? piece->size : size;
        add_piece(arena, to, piece->offset, part);
        size -= part;
    }
}

uint64_t lull_tape_place_in(const struct lull_tape_pieces *pieces, uint64_t offset)
{
    for (size_t i = 0; i < pieces->n; i++) {
        if (offset < pieces->list[i].size)
            return pieces->list[i].offset + offset;
        offset -= pieces->list[i].size;
    }
    return UINT64_MAX;
}

ssize_t lull_tape_read_pieces(struct lull_tape_source *source,
                              const struct lull_tape_pieces *pieces, void *bytes, size_t size,
                              uint64_t offset)
{
    size_t done = 0;
    for (size_t i = 0; i < pieces->n && done < size; i++) {
        const struct lull_tape_piece *piece = &pieces->list[i];
        if (offset >= piece->size) {
            offset -= piece->size;
            continue;
        }
        const uint64_t left = piece->size - offset;
        const size_t part = left < size - done ? (size_t)left : size - done;
        const ssize_t got =
            lull_tape_source_read(source, (char *)bytes + done, part, piece->offset + offset);
        if (got < 0)
            return got;
        done += (size_t)got;
        if ((size_t)got < part)
            break;
        offset = 0;
    }
    return (ssize_t)done;
}

/* ---- the table --------------------------------------------------------------------------------
 */

struct extent_entry {
    struct lull_tape_extent extent;
    uint32_t number;
    uint64_t place; /* in the file */
};

/* The extents of a file in use, in the order of locations, parts and numbers. */
struct table {
    struct extent_entry *entries; /* malloc'd */
    size_t n;
    struct lull_tape_process_header header;
};

static int compare_entries(const void *a, const void *b)
{
    const struct extent_entry *x = a, *y = b;
    if (x->extent.location != y->extent.location)
        return x->extent.location < y->extent.location ? -1 : 1;
    if (x->extent.part != y->extent.part)
        return x->extent.part < y->extent.part ? -1 : 1;
    if (x->extent.part == LULL_TAPE_PART_RING && x->extent.pages != y->extent.pages)
        return x->extent.pages < y->extent.pages ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static lull_status check_process_header(const char *path, const struct lull_tape_source *source,
                                        uint32_t process,
                                        const struct lull_tape_process_header *header,
                                        struct lull_error *err)
{
    if (memcmp(header->magic, LULL_TAPE_PROCESS_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER || header->header_size != sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %llu: no header of a process", path,
                         (unsigned long long)source->base);
    if (!lull_tape_reads(header->version))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by a newer lull: version %u, this one reads %d", path,
                         header->version, LULL_TAPE_VERSION);
    if (header->process != process)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: belongs to process %u", path, header->process);
    if (header->n_extents > source->size / sizeof(struct lull_tape_extent))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %u extents in %llu bytes", path,
                         header->n_extents, (unsigned long long)source->size);
    return LULL_OK;
}

/* Where an extent stands in the file, whose table must be there. */
static uint64_t place_of_extent(const struct lull_tape_source *source,
                                const struct lull_tape_process_header *header, uint32_t extent)
{
    uint32_t place;
    const int table = lull_tape_table_of(extent, &place);
    return (table < 0 ? source->base + sizeof *header : header->tables[table]) +
           place * sizeof(struct lull_tape_extent);
}

/* As many extents as there are from one on, in one of the tables. */
static bool read_table_part(struct lull_tape_source *source,
                            const struct lull_tape_process_header *header, uint32_t first,
                            struct lull_tape_extent *extents, uint32_t *ret_count)
{
    uint32_t place, count = header->n_extents - first;
    const int table = lull_tape_table_of(first, &place);
    const uint32_t whole = table < 0 ? LULL_TAPE_FIRST_EXTENTS : UINT32_C(256) << table;
    if (count > whole - place)
        count = whole - place;
    if (table >= LULL_TAPE_TABLES || (table >= 0 && header->tables[table] == 0))
        return false;
    const uint64_t offset = place_of_extent(source, header, first);
    const size_t size = count * sizeof *extents;
    *ret_count = count;
    return offset <= INT64_MAX - size &&
           lull_tape_source_read(source, extents, size, offset) == (ssize_t)size;
}

static lull_status read_extents(struct lull_tape_source *source, const char *path,
                                const struct lull_tape_process_header *header,
                                struct lull_tape_extent *extents, struct lull_error *err)
{
    for (uint32_t i = 0, count; i < header->n_extents; i += count)
        if (!read_table_part(source, header, i, extents + i, &count))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: no table with extent %u", path,
                             i);
    return LULL_OK;
}

static uint32_t pages_of(const struct lull_tape_extent *extent)
{
    return extent->part == LULL_TAPE_PART_RING ? LULL_TAPE_CHUNK / LULL_TAPE_PAGE : extent->pages;
}

/* The file is given out up to the end that its header says. */
static lull_status check_extent(const char *path, uint64_t given,
                                const struct lull_tape_extent *extent, uint32_t number,
                                struct lull_error *err)
{
    const uint32_t pages = pages_of(extent);
    const uint64_t end = ((uint64_t)extent->page + pages) * LULL_TAPE_PAGE;
    if (extent->page == 0 || pages == 0 || end > given)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: extent %u: %u pages from page %u on do not lie in the %llu bytes "
                         "that are given out",
                         path, number, pages, extent->page, (unsigned long long)given);
    return LULL_OK;
}

/* How many bytes of the file are given out; what is read was given out before. */
static uint64_t end_of(struct lull_tape_source *source,
                       const struct lull_tape_process_header *header)
{
    uint64_t end = header->end;
    if (source->contained && lull_tape_source_read(source, &end, sizeof end,
                                                   offsetof(struct lull_tape_container_header,
                                                            end)) != (ssize_t)sizeof end)
        return 0;
    return end;
}

static lull_status take_extents(struct lull_tape_source *source, const char *path,
                                const struct lull_tape_process_header *header,
                                struct lull_tape_extent *extents, struct table *table,
                                struct lull_error *err)
{
    lull_status status = read_extents(source, path, header, extents, err);
    const uint64_t given = end_of(source, header);
    for (uint32_t i = 0; status == LULL_OK && i < header->n_extents; i++) {
        if (extents[i].part == LULL_TAPE_PART_NONE || extents[i].part >= LULL_TAPE_PARTS)
            continue;
        status = check_extent(path, given, &extents[i], i, err);
        table->entries[table->n++] =
            (struct extent_entry){extents[i], i, place_of_extent(source, header, i)};
    }
    qsort(table->entries, table->n, sizeof *table->entries, compare_entries);
    return status;
}

static lull_status read_table(struct lull_tape_source *source, const char *path, uint32_t process,
                              struct table *table, struct lull_error *err)
{
    struct lull_tape_process_header header;
    if (source->base % LULL_TAPE_PAGE != 0 || source->base > INT64_MAX - LULL_TAPE_PAGE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %llu: no header can stand there", path,
                         (unsigned long long)source->base);
    const ssize_t got = lull_tape_source_read(source, &header, sizeof header, source->base);
    if (got < 0)
        return lull_tape_source_fail(source, path, err);
    if (got < (ssize_t)sizeof header && source->contained)
        return lull_fail(
            err, LULL_ERR_FORMAT,
            "%s: offset %llu: truncated: its header is not in the %llu bytes there are", path,
            (unsigned long long)source->base, (unsigned long long)source->size);
    if (got < (ssize_t)sizeof header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %zd bytes, expected a header of %zu",
                         path, got, sizeof header);
    lull_status status = check_process_header(path, source, process, &header, err);
    if (status != LULL_OK)
        return status;
    const size_t most = header.n_extents + (size_t)1;
    struct lull_tape_extent *extents = malloc(most * sizeof *extents);
    table->entries = malloc(most * sizeof *table->entries);
    status = extents && table->entries ? take_extents(source, path, &header, extents, table, err)
                                       : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    table->header = header;
    free(extents);
    return status;
}

static lull_status open_table(const struct lull_trace *trace, uint32_t process, struct table *table,
                              struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_tape_source source;
    lull_tape_process_path(trace, process, path, sizeof path);
    *table = (struct table){0};
    lull_status status =
        lull_tape_source_open(trace, LULL_TAPE_NODE_PROCESS, process, 0, &source, err);
    if (status != LULL_OK)
        return status;
    lull_tape_source_sparse(&source);
    status = read_table(&source, path, process, table, err);
    lull_tape_source_close(&source);
    return status;
}

/* ---- locations --------------------------------------------------------------------------------
 */

static void add_extent(const struct lull_trace *trace, struct lull_tape_pieces *pieces,
                       const struct extent_entry *entry)
{
    add_piece(trace->arena, pieces, (uint64_t)entry->extent.page * LULL_TAPE_PAGE,
              (uint64_t)entry->extent.pages * LULL_TAPE_PAGE);
}

static void add_ring_chunk(const struct lull_trace *trace, struct lull_tape_file *file,
                           const struct extent_entry *entry)
{
    file->ring = lull_arena_grow(trace->arena, file->ring, &file->ring_capacity, file->n_ring + 1,
                                 sizeof *file->ring);
    file->ring[file->n_ring++] =
        (struct lull_tape_ring_chunk){entry->extent.pages, entry->extent.page, entry->place};
}

/* The parts of one location: `n` entries. False: it has no head. */
static bool take_location(const struct lull_trace *trace, const struct extent_entry *entries,
                          size_t n, struct lull_tape_file *file)
{
    bool has_head = false;
    file->packed = true;
    file->has_sums = false;
    file->chunks = file->rest = file->sums = (struct lull_tape_pieces){0};
    file->n_ring = 0;
    for (size_t i = 0; i < n; i++) {
        switch (entries[i].extent.part) {
        case LULL_TAPE_PART_HEAD:
            file->head = (uint64_t)entries[i].extent.page * LULL_TAPE_PAGE;
            has_head = true;
            break;
        case LULL_TAPE_PART_RECORDS:
            add_extent(trace, &file->chunks, &entries[i]);
            break;
        case LULL_TAPE_PART_TAIL:
            add_extent(trace, &file->rest, &entries[i]);
            break;
        case LULL_TAPE_PART_SUMS:
            add_extent(trace, &file->sums, &entries[i]);
            file->has_sums = true;
            break;
        case LULL_TAPE_PART_RING:
            add_ring_chunk(trace, file, &entries[i]);
            break;
        default:
            break;
        }
    }
    return has_head;
}

static size_t count_of_location(const struct table *table, size_t first)
{
    size_t n = 1;
    while (first + n < table->n &&
           table->entries[first + n].extent.location == table->entries[first].extent.location)
        n++;
    return n;
}

/* Definitions do not lie in one piece, but each of them by itself. */
static void take_definition_extents(const struct lull_trace *trace, const struct table *table,
                                    struct lull_tape_pieces *pieces)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct lull_tape_extent *extent = &table->entries[i].extent;
        if (extent->part != LULL_TAPE_PART_DEFINITIONS)
            continue;
        append_piece(trace->arena, pieces, (uint64_t)extent->page * LULL_TAPE_PAGE,
                     (uint64_t)extent->pages * LULL_TAPE_PAGE);
    }
}

static void add_process_locations(struct lull_trace *trace, const struct table *table,
                                  uint32_t process)
{
    struct lull_tape_data *data = trace->format_data;
    for (size_t i = 0, n; i < table->n; i += n) {
        struct lull_tape_file file = {.process = process,
                                      .number = table->entries[i].extent.location,
                                      .open_region = LULL_NONE};
        n = count_of_location(table, i);
        if (!take_location(trace, table->entries + i, n, &file))
            continue; /* its process died when it was about to begin */
        lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                            sizeof *data->files);
        data->files[data->n_files++] = file;
    }
}

/* What the process has in the file of a node. */
static bool hold_all(struct lull_trace *trace, const struct table *table, uint32_t process)
{
    const struct lull_tape_contained *contained = lull_tape_contained_find(trace, process);
    if (!contained)
        return true;
    bool good = lull_tape_hold_process(trace, contained, table->header.tables);
    for (size_t i = 0; good && i < table->n; i++) {
        const struct extent_entry *entry = &table->entries[i];
        good = lull_tape_hold_extent(trace, contained, entry->number, entry->extent.location,
                                     entry->extent.page, pages_of(&entry->extent));
    }
    return good;
}

lull_status lull_tape_read_process(struct lull_trace *trace, uint32_t process,
                                   struct lull_error *err)
{
    struct table table;
    lull_status status = open_table(trace, process, &table, err);
    if (status == LULL_OK) {
        add_process_locations(trace, &table, process);
        if (!hold_all(trace, &table, process))
            status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    }
    free(table.entries);
    return status;
}

void lull_tape_keep_ring(const struct lull_trace *trace, struct lull_tape_file *file)
{
    const uint64_t all = file->header.flushed / LULL_TAPE_CHUNK;
    while (file->n_ring > 0 && file->ring[file->n_ring - 1].number >= all)
        file->n_ring--; /* they are still in the tail */
    file->n_kept = 0;
    while (file->n_kept < file->n_ring && file->n_kept < all &&
           file->ring[file->n_ring - 1 - file->n_kept].number == all - 1 - file->n_kept)
        file->n_kept++;
    file->chunks = (struct lull_tape_pieces){0};
    for (size_t i = file->n_ring - file->n_kept; i < file->n_ring; i++)
        add_piece(trace->arena, &file->chunks, (uint64_t)file->ring[i].page * LULL_TAPE_PAGE,
                  LULL_TAPE_CHUNK);
    file->lost = (all - file->n_kept) * LULL_TAPE_CHUNK;
    file->header.flushed -= file->lost;
    file->header.committed -= file->lost;
}

bool lull_tape_has_kept(struct lull_tape_source *source, const struct lull_tape_file *file)
{
    for (size_t i = file->n_ring - file->n_kept; i < file->n_ring; i++) {
        const struct lull_tape_ring_chunk *chunk = &file->ring[i];
        struct lull_tape_extent now;
        if (lull_tape_source_read(source, &now, sizeof now, chunk->entry) != (ssize_t)sizeof now ||
            now.part != LULL_TAPE_PART_RING || now.location != file->number ||
            now.pages != chunk->number || now.page != chunk->page)
            return false;
    }
    return true;
}

lull_status lull_tape_refresh(const struct lull_trace *trace, struct lull_tape_file *file,
                              struct lull_error *err)
{
    struct table table;
    lull_status status = open_table(trace, file->process, &table, err);
    for (size_t i = 0, n; status == LULL_OK && i < table.n; i += n) {
        n = count_of_location(&table, i);
        if (table.entries[i].extent.location == file->number)
            take_location(trace, table.entries + i, n, file);
    }
    free(table.entries);
    return status;
}

lull_status lull_tape_find_definitions(const struct lull_trace *trace, uint32_t process,
                                       struct lull_tape_pieces *ret_pieces, struct lull_error *err)
{
    struct table table;
    lull_status status = open_table(trace, process, &table, err);
    if (status == LULL_OK)
        take_definition_extents(trace, &table, ret_pieces);
    free(table.entries);
    return status;
}
