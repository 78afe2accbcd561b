#include "support/container_maker.h"

#include "base/array.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cleared; returns where they begin. */
static size_t more(struct container_maker *maker, size_t size)
{
    const size_t begin = maker->size;
    size = (size + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE * LULL_TAPE_PAGE;
    if (!lull_array_reserve(&maker->bytes, &maker->capacity, begin + size, 1))
        abort();
    memset(maker->bytes + begin, 0, size);
    maker->size += size;
    container_header(maker)->end = maker->size;
    return begin;
}

struct lull_tape_container_header *container_header(struct container_maker *maker)
{
    return (void *)maker->bytes;
}

struct lull_tape_container_entry *container_entry(struct container_maker *maker, uint32_t index)
{
    uint32_t place;
    const int table = lull_tape_table_behind(LULL_TAPE_FIRST_ENTRIES, index, &place);
    const size_t begin = table < 0 ? sizeof(struct lull_tape_container_header)
                                   : container_header(maker)->tables[table];
    return (struct lull_tape_container_entry *)(void *)(maker->bytes + begin) + place;
}

struct lull_tape_process_header *container_process(struct container_maker *maker, uint32_t index)
{
    return (void *)(maker->bytes + container_entry(maker, index)->place);
}

struct lull_tape_extent *container_extent(struct container_maker *maker, uint32_t index,
                                          uint32_t number)
{
    uint32_t place;
    const int table = lull_tape_table_of(number, &place);
    const struct lull_tape_process_header *header = container_process(maker, index);
    unsigned char *first = table < 0 ? (unsigned char *)container_process(maker, index) +
                                           sizeof(struct lull_tape_process_header)
                                     : maker->bytes + header->tables[table];
    return (struct lull_tape_extent *)(void *)first + place;
}

static void begin_process(struct container_maker *maker, const struct process_maker *process)
{
    const uint32_t index = maker->n_processes++;
    uint32_t at;
    const int table = lull_tape_table_behind(LULL_TAPE_FIRST_ENTRIES, index, &at);
    if (table >= 0 && at == 0) {
        const size_t begin =
            more(maker, ((size_t)256 << table) * sizeof(struct lull_tape_container_entry));
        container_header(maker)->tables[table] = begin;
    }
    const size_t place = more(maker, LULL_TAPE_PAGE);
    *container_entry(maker, index) =
        (struct lull_tape_container_entry){.taken = process->process + 1, .place = place};
    memcpy(maker->bytes + place, process->bytes, sizeof(struct lull_tape_process_header));
    struct lull_tape_process_header *header = container_process(maker, index);
    header->end = 0;
    memset(header->tables, 0, sizeof header->tables);
}

static void copy_extent(struct container_maker *maker, uint32_t index,
                        const struct process_maker *process, uint32_t number)
{
    struct process_maker from = *process;
    struct lull_tape_extent extent = *process_entry(&from, number);
    uint32_t place;
    const int table = lull_tape_table_of(number, &place);
    if (table >= 0 && place == 0) {
        const size_t begin = more(maker, ((size_t)256 << table) * sizeof extent);
        container_process(maker, index)->tables[table] = begin;
    }
    const size_t size = (size_t)extent.pages * LULL_TAPE_PAGE, begin = more(maker, size);
    if (size > 0)
        memcpy(maker->bytes + begin, process->bytes + (size_t)extent.page * LULL_TAPE_PAGE, size);
    extent.page = (uint32_t)(begin / LULL_TAPE_PAGE);
    *container_extent(maker, index, number) = extent;
}

void container_make(struct container_maker *maker, const struct process_maker *processes,
                    uint32_t n)
{
    *maker = (struct container_maker){0};
    if (!lull_array_reserve(&maker->bytes, &maker->capacity, LULL_TAPE_PAGE, 1))
        abort();
    more(maker, LULL_TAPE_PAGE);
    *container_header(maker) = (struct lull_tape_container_header){
        .version = LULL_TAPE_VERSION,
        .byte_order = LULL_TAPE_BYTE_ORDER,
        .header_size = offsetof(struct lull_tape_container_header, tables),
        .flags = LULL_TAPE_NODE_RECORDED,
        .node = 1,
        .end = LULL_TAPE_PAGE};
    memcpy(container_header(maker)->magic, LULL_TAPE_NODE_MAGIC, 8);
    bool more_to_come = true;
    for (uint32_t p = 0; p < n; p++)
        begin_process(maker, &processes[p]);
    for (uint32_t number = 0; more_to_come; number++) {
        more_to_come = false;
        for (uint32_t p = 0; p < n; p++) {
            if (number < processes[p].n_extents)
                copy_extent(maker, p, &processes[p], number);
            more_to_come |= number + 1 < processes[p].n_extents;
        }
    }
}

void container_free(struct container_maker *maker)
{
    free(maker->bytes);
    *maker = (struct container_maker){0};
}

void container_write(const struct container_maker *maker, const char *run, const char *name)
{
    char path[4600];
    snprintf(path, sizeof path, "%s/%s", run, name);
    folder_write(path, maker->bytes, maker->size);
}
