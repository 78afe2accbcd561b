/* Files of nodes in which processes have recorded: who is in them, and whether what each of them
 * has there is its own. See struct lull_tape_container_header. */
#include "tape/container.h"

#include "base/array.h"
#include "base/file.h"
#include "trace/format/tape/read/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- the table of processes -------------------------------------------------------------------
 */

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
        header->byte_order != LULL_TAPE_BYTE_ORDER || header->version != LULL_TAPE_NODE_VERSION ||
        header->flags != LULL_TAPE_NODE_RECORDED ||
        header->header_size != offsetof(struct lull_tape_container_header, tables))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of the file of a node",
                         path);
    return LULL_OK;
}

static void take_process(struct lull_trace *trace, const struct lull_tape_container *container,
                         const struct lull_tape_container_entry *entry)
{
    struct lull_tape_containers *all = containers_of(trace);
    if (entry->place == 0)
        return; /* it died when it was about to begin */
    lull_tape_make_room(trace, &all->processes, &all->processes_capacity, all->n_processes + 1,
                        sizeof *all->processes);
    all->processes[all->n_processes++] =
        (struct lull_tape_contained){entry->taken - 1, entry->place, container};
}

/* A table of entries. *ret_more: it is full, and another may follow. */
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

/* Packed ones have theirs; the others come behind, by their names. */
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

/* ---- what is whose ----------------------------------------------------------------------------
 */

/* Pages of a file of a node, and what is there. */
struct holding {
    uint64_t page, pages;
    const struct lull_tape_container *container;
    uint32_t process;          /* UINT32_MAX: the file's own tables */
    uint32_t extent, location; /* extent UINT32_MAX: a header or table of the process */
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

/* "extent 3 of process 1, location 0" */
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

/* Which of the two is right cannot be known. */
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
