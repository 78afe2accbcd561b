/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of processes, and files of nodes in which several processes have recorded: which parts
 * belong to which process and location. See struct lull_tape_process_header. */
#include "base/array.h"
#include "base/file.h"
#include "tape/container.h"
#include "trace/format/tape/read/tape_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== container =============================================================================== */

/* Files of nodes in which processes have recorded: who is in them, and whether what each of them
 * has there is its own. See struct lull_tape_container_header. */

static struct lull_tape_containers *containers_of(const struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    if (!data->containers)
        data->containers = lull_arena_zero(trace->arena, 1, sizeof *data->containers);
    return data->containers;
}

void lull_tape_container_note(struct lull_trace *trace, const char *path, int fd,
                              const struct lull_tape_packed_file *packed)
{
    struct lull_tape_containers *all = containers_of(trace);
    struct lull_tape_container *container = lull_arena_zero(trace->arena, 1, sizeof *container);
    *container = (struct lull_tape_container){.path = path, .fd = fd, .packed = packed};
    all->list = lull_arena_grow(trace->arena, all->list, &all->capacity, all->n + 1,
                                sizeof(struct lull_tape_container *));
    all->list[all->n++] = container;
}

void lull_tape_containers_close(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_containers *all = data ? data->containers : NULL;
    for (size_t c = 0; all && c < all->n; c++)
        if (all->list[c]->fd >= 0)
            close(all->list[c]->fd);
    if (all) {
        free(all->holdings);
        free(all->processes);
    }
}

/* ---- the table of processes ------------------------------------------------------------------ */

static lull_status check_container_header(struct lull_tape_source *source, const char *path,
                                          struct lull_tape_container_header *header,
                                          struct lull_error *err)
{
    const ssize_t got = lull_tape_source_read(source, header, sizeof *header, 0);
    if (got < 0)
        return lull_tape_source_fail(source, path, err);
    if (source->size < LULL_TAPE_PAGE || got < (ssize_t)sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %llu bytes, expected a header of %d",
                         path, (unsigned long long)source->size, LULL_TAPE_PAGE);
    if (memcmp(header->magic, LULL_TAPE_NODE_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER || header->flags != LULL_TAPE_NODE_RECORDED ||
        header->header_size != offsetof(struct lull_tape_container_header, tables))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of the file of a node",
                         path);
    return lull_tape_check_version(path, header->version, err);
}

static void take_process(struct lull_trace *trace, const struct lull_tape_container *container,
                         const struct lull_tape_container_entry *entry)
{
    struct lull_tape_containers *all = containers_of(trace);
    if (entry->place == 0)
        return; /* the process died before it had its header */
    lull_tape_make_room(trace, &all->processes, &all->processes_capacity, all->n_processes + 1,
                        sizeof *all->processes);
    all->processes[all->n_processes++] =
        (struct lull_tape_contained){entry->taken - 1, entry->place, container};
}

/* Takes the processes in a table of entries. *ret_more: the table is full, and another may
 * follow. */
static lull_status take_entries(struct lull_trace *trace, struct lull_tape_source *source,
                                const char *path, uint64_t offset, uint32_t count, bool *ret_more,
                                struct lull_error *err)
{
    struct lull_tape_container_entry
        entries[LULL_TAPE_PAGE / sizeof(struct lull_tape_container_entry)];
    *ret_more = true;
    for (uint32_t i = 0, n; i < count; i += n) {
        n = count - i < sizeof entries / sizeof *entries ? count - i
                                                         : sizeof entries / sizeof *entries;
        const size_t size = n * sizeof *entries;
        if (offset > INT64_MAX - size ||
            lull_tape_source_read(source, entries, size, offset) != (ssize_t)size)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: offset %llu: truncated: the table of processes is not there",
                             path, (unsigned long long)offset);
        for (uint32_t e = 0; e < n; e++, offset += sizeof *entries) {
            *ret_more = entries[e].taken != 0;
            if (!*ret_more)
                return LULL_OK;
            take_process(trace, source->container, &entries[e]);
        }
    }
    return LULL_OK;
}

static lull_status read_container_processes(struct lull_trace *trace,
                                            struct lull_tape_container *container,
                                            struct lull_error *err)
{
    struct lull_tape_source source;
    struct lull_tape_container_header header;
    bool more = false;
    lull_status status =
        lull_tape_source_open(trace, LULL_TAPE_NODE_CONTAINER, 0, container->number, &source, err);
    if (status != LULL_OK)
        return status;
    status = check_container_header(&source, container->path, &header, err);
    if (status == LULL_OK)
        status = take_entries(trace, &source, container->path, sizeof header,
                              LULL_TAPE_FIRST_ENTRIES, &more, err);
    for (unsigned t = 0; status == LULL_OK && more && t < LULL_TAPE_TABLES && header.tables[t] != 0;
         t++) {
        container->tables[t] = header.tables[t];
        status = take_entries(trace, &source, container->path, header.tables[t], UINT32_C(256) << t,
                              &more, err);
    }
    lull_tape_source_close(&source);
    return status;
}

/* Numbers the containers. A packed one has its number already; the others get the numbers behind,
 * in the order of their names. */
static void number_containers(struct lull_tape_containers *all)
{
    uint32_t next = 0;
    for (size_t c = 0; c < all->n; c++) {
        struct lull_tape_container *container = all->list[c];
        if (container->packed)
            container->number = container->packed->file.number;
        if (container->packed && container->number >= next)
            next = container->number + 1;
    }
    for (size_t c = 0; c < all->n; c++)
        if (!all->list[c]->packed)
            all->list[c]->number = next++;
}

static int compare_containers(const void *a, const void *b)
{
    return strcmp((*(struct lull_tape_container *const *)a)->path,
                  (*(struct lull_tape_container *const *)b)->path);
}

static int compare_processes(const void *a, const void *b)
{
    const struct lull_tape_contained *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

static lull_status check_numbers(const struct lull_tape_containers *all, struct lull_error *err)
{
    for (size_t p = 1; p < all->n_processes; p++) {
        const struct lull_tape_contained *one = &all->processes[p - 1], *other = one + 1;
        if (one->process != other->process)
            continue;
        if (one->container == other->container)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: process %u is there twice, at offsets %llu and %llu",
                             one->container->path, one->process, (unsigned long long)one->place,
                             (unsigned long long)other->place);
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has process %u that %s has, too",
                         one->container->path, one->process, other->container->path);
    }
    return LULL_OK;
}

lull_status lull_tape_containers_read(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_containers *all = data->containers;
    if (!all)
        return LULL_OK;
    qsort(all->list, all->n, sizeof(struct lull_tape_container *), compare_containers);
    number_containers(all);
    for (size_t c = 0; c < all->n; c++) {
        const lull_status status = read_container_processes(trace, all->list[c], err);
        if (status == LULL_ERR_FORMAT)
            lull_tape_note_damage(trace, err);
        else if (status != LULL_OK)
            return status;
    }
    if (all->n_processes > 0)
        qsort(all->processes, all->n_processes, sizeof *all->processes, compare_processes);
    return check_numbers(all, err);
}

const struct lull_tape_container *lull_tape_container_find(const struct lull_trace *trace,
                                                           uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_containers *all = data->containers;
    for (size_t c = 0; all && c < all->n; c++)
        if (all->list[c]->number == number)
            return all->list[c];
    return NULL;
}

const struct lull_tape_contained *lull_tape_contained_find(const struct lull_trace *trace,
                                                           uint32_t process)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_containers *all = data->containers;
    const struct lull_tape_contained key = {.process = process};
    return all && all->n_processes > 0
               ? bsearch(&key, all->processes, all->n_processes, sizeof key, compare_processes)
               : NULL;
}

/* ---- what is whose --------------------------------------------------------------------------- */

/* Pages in the file of a node, and to what they belong. */
struct holding {
    uint64_t page, pages;
    const struct lull_tape_container *container;
    uint32_t process;          /* UINT32_MAX: the header or a table of the file itself */
    uint32_t extent, location; /* extent UINT32_MAX: the header or a table of the process */
};

static bool add_holding(struct lull_tape_containers *all, const struct holding *holding)
{
    if (!lull_array_reserve(&all->holdings, &all->holdings_capacity, all->n_holdings + 1,
                            sizeof *all->holdings))
        return false;
    all->holdings[all->n_holdings++] = *holding;
    return true;
}

static bool hold_bytes(struct lull_tape_containers *all, struct holding holding, uint64_t offset,
                       uint64_t size)
{
    holding.page = offset / LULL_TAPE_PAGE;
    holding.pages = (size + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE;
    return add_holding(all, &holding);
}

bool lull_tape_hold_process(struct lull_trace *trace, const struct lull_tape_contained *contained,
                            const uint64_t *tables)
{
    const struct holding holding = {
        .container = contained->container, .process = contained->process, .extent = UINT32_MAX};
    struct lull_tape_containers *all = containers_of(trace);
    bool good = hold_bytes(all, holding, contained->place, LULL_TAPE_PAGE);
    for (unsigned t = 0; good && t < LULL_TAPE_TABLES; t++)
        if (tables[t] != 0)
            good = hold_bytes(all, holding, tables[t],
                              (UINT64_C(256) << t) * sizeof(struct lull_tape_extent));
    return good;
}

bool lull_tape_hold_extent(struct lull_trace *trace, const struct lull_tape_contained *contained,
                           uint32_t number, uint32_t location, uint32_t page, uint32_t pages)
{
    const struct holding holding = {.page = page,
                                    .pages = pages,
                                    .container = contained->container,
                                    .process = contained->process,
                                    .extent = number,
                                    .location = location};
    return add_holding(containers_of(trace), &holding);
}

static bool hold_own(struct lull_tape_containers *all)
{
    bool good = true;
    for (size_t c = 0; good && c < all->n; c++) {
        const struct holding holding = {
            .container = all->list[c], .process = UINT32_MAX, .extent = UINT32_MAX};
        good = hold_bytes(all, holding, 0, LULL_TAPE_PAGE);
        for (unsigned t = 0; good && t < LULL_TAPE_TABLES; t++)
            if (all->list[c]->tables[t] != 0)
                good = hold_bytes(all, holding, all->list[c]->tables[t],
                                  (UINT64_C(256) << t) * sizeof(struct lull_tape_container_entry));
    }
    return good;
}

static int compare_holdings(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    if (x->container != y->container)
        return x->container->number < y->container->number ? -1 : 1;
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->extent > y->extent) - (x->extent < y->extent);
}

/* Writes for example "extent 3 of process 1, location 0". */
static const char *name_holding(const struct holding *holding, char *text, size_t size)
{
    if (holding->process == UINT32_MAX)
        snprintf(text, size, "the table of processes");
    else if (holding->extent == UINT32_MAX)
        snprintf(text, size, "a table of process %u", holding->process);
    else
        snprintf(text, size, "extent %u of process %u, location %u", holding->extent,
                 holding->process, holding->location);
    return text;
}

static void damage_process(struct lull_trace *trace, uint32_t process, const char *what)
{
    struct lull_tape_data *data = trace->format_data;
    for (size_t f = 0; f < data->n_files; f++)
        if (data->files[f].process == process && !data->files[f].damage)
            data->files[f].damage = what;
}

/* Marks both processes as damaged, because nobody can know which of the two is right. */
static void tell_overlap(struct lull_trace *trace, const struct holding *one,
                         const struct holding *other)
{
    char a[96], b[96];
    const char *what =
        lull_arena_printf(trace->arena, "%s: offset %llu: %s and %s overlap", one->container->path,
                          (unsigned long long)(other->page * LULL_TAPE_PAGE),
                          name_holding(one, a, sizeof a), name_holding(other, b, sizeof b));
    damage_process(trace, one->process, what);
    damage_process(trace, other->process, what);
}

lull_status lull_tape_check_holdings(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_containers *all = data->containers;
    if (!all)
        return LULL_OK;
    const bool good = hold_own(all);
    if (good && all->n_holdings > 0)
        qsort(all->holdings, all->n_holdings, sizeof *all->holdings, compare_holdings);
    const struct holding *furthest = NULL;
    for (size_t i = 0; good && i < all->n_holdings; i++) {
        const struct holding *holding = &all->holdings[i];
        const bool same = furthest && furthest->container == holding->container;
        if (same && holding->page < furthest->page + furthest->pages)
            tell_overlap(trace, furthest, holding);
        if (!same || holding->page + holding->pages > furthest->page + furthest->pages)
            furthest = holding;
    }
    free(all->holdings);
    all->holdings = NULL;
    all->n_holdings = all->holdings_capacity = 0;
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
}

/* ==== pieces ================================================================================== */

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Appends a piece. A list has room for one piece at first: there are many lists, most with one
 * piece. */
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

/* ---- the table ------------------------------------------------------------------------------- */

struct extent_entry {
    struct lull_tape_extent extent;
    uint32_t number;
    uint64_t place; /* in the file */
};

/* The extents of a process that are in use, in the order of locations, parts and numbers. */
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
    const lull_status status = lull_tape_check_version(path, header->version, err);
    if (status != LULL_OK)
        return status;
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

/* How many extents from `first` on stand in the table in which that one stands; 0: there is no such
 * table. */
static uint32_t extents_of_table(const struct lull_tape_process_header *header, uint32_t first)
{
    uint32_t place;
    const int table = lull_tape_table_of(first, &place);
    if (table >= LULL_TAPE_TABLES || (table >= 0 && header->tables[table] == 0))
        return 0;
    const uint32_t behind = header->n_extents - first,
                   whole = table < 0 ? LULL_TAPE_FIRST_EXTENTS : UINT32_C(256) << table;
    return behind < whole - place ? behind : whole - place;
}

static bool read_table_part(struct lull_tape_source *source,
                            const struct lull_tape_process_header *header, uint32_t first,
                            uint32_t count, struct lull_tape_extent *extents)
{
    const uint64_t offset = place_of_extent(source, header, first);
    const size_t size = count * sizeof *extents;
    return count > 0 && offset <= INT64_MAX - size &&
           lull_tape_source_read(source, extents, size, offset) == (ssize_t)size;
}

/* Reads all extents into *ret_extents, which grows table by table: a damaged header may count more
 * extents than there are. To be freed where it fails, too. */
static lull_status read_extents(struct lull_tape_source *source, const char *path,
                                const struct lull_tape_process_header *header,
                                struct lull_tape_extent **ret_extents, struct lull_error *err)
{
    size_t capacity = 0;
    for (uint32_t i = 0, count; i < header->n_extents; i += count) {
        count = extents_of_table(header, i);
        if (!lull_array_reserve(ret_extents, &capacity, i + (size_t)count, sizeof **ret_extents))
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
        if (!read_table_part(source, header, i, count, *ret_extents + i))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: no table with extent %u", path,
                             i);
    }
    return LULL_OK;
}

static uint32_t pages_of(const struct lull_tape_extent *extent)
{
    return extent->part == LULL_TAPE_PART_RING ? LULL_TAPE_CHUNK / LULL_TAPE_PAGE : extent->pages;
}

/* Checks that an extent lies in the first `given` bytes of the file, which are those in use. */
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

/* How many bytes of the file are in use. Read after the extents, so that all of them lie within. */
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

/* An entry is filled before its part is stored, but the bytes of a file may be copied in any order:
 * so entries are read twice, and the second reading counts of those that the first one found
 * filled. */
lull_status lull_tape_read_extents(struct lull_tape_source *source, const char *path,
                                   uint32_t process, uint32_t first, uint32_t room,
                                   struct lull_tape_extent *extents, uint32_t *ret_count,
                                   struct lull_error *err)
{
    struct lull_tape_process_header header;
    *ret_count = 0;
    if (lull_tape_source_read(source, &header, sizeof header, source->base) !=
        (ssize_t)sizeof header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: its header is gone", path);
    lull_status status = check_process_header(path, source, process, &header, err);
    if (status != LULL_OK || first >= header.n_extents)
        return status;
    const uint32_t there = extents_of_table(&header, first), count = there < room ? there : room;
    struct lull_tape_extent *again = malloc((count + (size_t)1) * sizeof *again);
    if (!again)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    bool good = read_table_part(source, &header, first, count, extents);
    LULL_TAPE_FENCE(__ATOMIC_ACQUIRE);
    good = good && read_table_part(source, &header, first, count, again);
    const uint64_t given = good ? end_of(source, &header) : 0;
    if (!good)
        status =
            lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: no table with extent %u", path, first);
    for (uint32_t e = 0; status == LULL_OK && e < count; e++) {
        const bool filled = extents[e].part != LULL_TAPE_PART_NONE;
        extents[e] = filled ? again[e] : extents[e];
        if (filled && extents[e].part < LULL_TAPE_PARTS)
            status = check_extent(path, given, &extents[e], first + e, err);
    }
    free(again);
    *ret_count = status == LULL_OK ? count : 0;
    return status;
}

static lull_status take_extents(struct lull_tape_source *source, const char *path,
                                const struct lull_tape_process_header *header,
                                const struct lull_tape_extent *extents, struct table *table,
                                struct lull_error *err)
{
    lull_status status = LULL_OK;
    const uint64_t given = end_of(source, header);
    table->entries = malloc((header->n_extents + (size_t)1) * sizeof *table->entries);
    if (!table->entries)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
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
    struct lull_tape_extent *extents = NULL;
    status = read_extents(source, path, &header, &extents, err);
    if (status == LULL_OK)
        status = take_extents(source, path, &header, extents, table, err);
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

/* ---- locations ------------------------------------------------------------------------------- */

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

/* Takes the parts of one location from its `n` entries. False: the location has no header. */
static bool take_location(const struct lull_trace *trace, const struct extent_entry *entries,
                          size_t n, struct lull_tape_file *file)
{
    bool has_head = false;
    file->has_sums = false;
    file->chunks = file->rest = file->sums = file->samples = (struct lull_tape_pieces){0};
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
        case LULL_TAPE_PART_SAMPLES:
            add_extent(trace, &file->samples, &entries[i]);
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

/* Takes the extents of definitions. Each stays a piece of its own, because each begins with a
 * header. */
static void take_definition_extents(struct lull_arena *arena, const struct table *table,
                                    struct lull_tape_pieces *pieces)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct lull_tape_extent *extent = &table->entries[i].extent;
        if (extent->part != LULL_TAPE_PART_DEFINITIONS)
            continue;
        append_piece(arena, pieces, (uint64_t)extent->page * LULL_TAPE_PAGE,
                     (uint64_t)extent->pages * LULL_TAPE_PAGE);
    }
}

static bool has_definitions(const struct table *table)
{
    size_t i = 0;
    while (i < table->n && table->entries[i].extent.part != LULL_TAPE_PART_DEFINITIONS)
        i++;
    return i < table->n;
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
            continue; /* the process died before the location had its header */
        lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                            sizeof *data->files);
        data->files[data->n_files++] = file;
    }
}

/* Notes what the process holds in the file of a node. */
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

lull_status lull_tape_read_process(struct lull_trace *trace, struct lull_tape_listed *process,
                                   struct lull_error *err)
{
    struct table table;
    lull_status status = open_table(trace, process->number, &table, err);
    if (status == LULL_OK) {
        add_process_locations(trace, &table, process->number);
        process->defines_nothing = !has_definitions(&table);
        if (!hold_all(trace, &table, process->number))
            status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    }
    free(table.entries);
    return status;
}

void lull_tape_keep_ring(const struct lull_trace *trace, struct lull_tape_file *file)
{
    const uint64_t all = file->header.flushed / LULL_TAPE_CHUNK;
    while (file->n_ring > 0 && file->ring[file->n_ring - 1].number >= all)
        file->n_ring--; /* the header says that these chunks are still in the tail */
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

lull_status lull_tape_find_definitions(struct lull_tape_source *source, const char *path,
                                       uint32_t process, struct lull_tape_pieces *ret_pieces,
                                       struct lull_error *err)
{
    struct table table = {0};
    const lull_status status = read_table(source, path, process, &table, err);
    if (status == LULL_OK)
        take_definition_extents(source->trace->arena, &table, ret_pieces);
    free(table.entries);
    return status;
}
