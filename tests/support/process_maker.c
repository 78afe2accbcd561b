#include "support/process_maker.h"

#include "base/array.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const char *run, uint32_t process)
{
    static char path[4600];
    snprintf(path, sizeof path, "%s/%u", run, process / LULL_TAPE_GROUP);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%u/%u.tape", run, process / LULL_TAPE_GROUP, process);
    return path;
}

static size_t whole_pages(size_t size)
{
    return (size + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE * LULL_TAPE_PAGE;
}

/* Cleared; returns where they begin. */
static size_t more(struct process_maker *maker, size_t size)
{
    const size_t begin = maker->size;
    if (!lull_array_reserve(&maker->bytes, &maker->capacity, begin + size, 1))
        abort();
    memset(maker->bytes + begin, 0, size);
    maker->size += size;
    if (begin > 0)
        process_header(maker)->end = maker->size;
    return begin;
}

struct lull_tape_process_header *process_header(struct process_maker *maker)
{
    return (void *)maker->bytes;
}

struct lull_tape_extent *process_entry(struct process_maker *maker, uint32_t number)
{
    uint32_t place;
    const int table = lull_tape_table_of(number, &place);
    const size_t begin =
        table < 0 ? sizeof(struct lull_tape_process_header) : process_header(maker)->tables[table];
    return (struct lull_tape_extent *)(void *)(maker->bytes + begin) + place;
}

static void begin_file(struct process_maker *maker)
{
    more(maker, LULL_TAPE_PAGE);
    *process_header(maker) =
        (struct lull_tape_process_header){.version = LULL_TAPE_VERSION,
                                          .byte_order = LULL_TAPE_BYTE_ORDER,
                                          .header_size = sizeof(struct lull_tape_process_header),
                                          .process = maker->process,
                                          .end = LULL_TAPE_PAGE};
    memcpy(process_header(maker)->magic, LULL_TAPE_PROCESS_MAGIC, 8);
}

uint32_t process_add(struct process_maker *maker, unsigned part, uint32_t location,
                     const void *bytes, size_t size)
{
    const uint32_t number = maker->n_extents++;
    uint32_t place;
    if (!maker->bytes)
        begin_file(maker);
    const int table = lull_tape_table_of(number, &place);
    if (table >= 0 && place == 0) {
        const size_t begin = more(maker, ((size_t)256 << table) * sizeof(struct lull_tape_extent));
        process_header(maker)->tables[table] = begin;
    }
    const size_t begin = more(maker, whole_pages(size));
    if (size > 0)
        memcpy(maker->bytes + begin, bytes, size);
    *process_entry(maker, number) =
        (struct lull_tape_extent){.page = (uint32_t)(begin / LULL_TAPE_PAGE),
                                  .pages = (uint32_t)(whole_pages(size) / LULL_TAPE_PAGE),
                                  .location = location,
                                  .part = part};
    process_header(maker)->n_extents = maker->n_extents;
    return number;
}

void process_add_definitions(struct process_maker *maker, struct definitions_maker *definitions)
{
    const size_t header = sizeof definitions->header, size = header + definitions->size;
    unsigned char *bytes = malloc(size);
    if (!bytes)
        abort();
    definitions->header.committed = definitions->size;
    memcpy(bytes, &definitions->header, header);
    if (definitions->size > 0)
        memcpy(bytes + header, definitions->bytes, definitions->size);
    process_add(maker, LULL_TAPE_PART_DEFINITIONS, 0, bytes, size);
    free(bytes);
    free(definitions->bytes);
    definitions->bytes = NULL;
}

void process_add_location(struct process_maker *maker, struct tape_maker *tape, unsigned chunks,
                          bool tailed)
{
    const uint32_t number = tape->header.number;
    const size_t size = tape->count * sizeof *tape->slots, step = chunks * (size_t)LULL_TAPE_CHUNK;
    const unsigned char *records = (const unsigned char *)tape->slots;
    tape->header.committed = size;
    tape->header.flushed =
        tailed ? (size > 0 ? (size - 1) / LULL_TAPE_CHUNK * LULL_TAPE_CHUNK : 0) : size;
    tape->header.flags |= tailed ? LULL_TAPE_TAILED : 0;
    for (size_t at = 0; at < tape->header.flushed; at += step) {
        const size_t left = tape->header.flushed - at;
        process_add(maker, LULL_TAPE_PART_RECORDS, number, records + at, left < step ? left : step);
    }
    if (tailed) { /* a page, and the rest */
        const size_t left = size - tape->header.flushed;
        unsigned char chunk[LULL_TAPE_CHUNK] = {0};
        if (left > 0)
            memcpy(chunk, records + tape->header.flushed, left);
        process_add(maker, LULL_TAPE_PART_TAIL, number, chunk, LULL_TAPE_PAGE);
        process_add(maker, LULL_TAPE_PART_TAIL, number, chunk + LULL_TAPE_PAGE,
                    LULL_TAPE_CHUNK - LULL_TAPE_PAGE);
    }
    process_add(maker, LULL_TAPE_PART_HEAD, number, &tape->header, sizeof tape->header);
    free(tape->slots);
    tape->slots = NULL;
}

void process_write(const struct process_maker *maker, const char *run)
{
    folder_write(path_of(run, maker->process), maker->bytes, maker->size);
}

/* ---- part by part ---------------------------------------------------------------------------- */

struct part {
    uint32_t location, part;
    const void *bytes;
    size_t size;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->location != y->location)
        return x->location < y->location ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

/* All that the file has but for one part. */
static size_t other_parts(struct process_maker *file, unsigned part, uint32_t location,
                          struct part *ret_parts)
{
    size_t n = 0;
    for (uint32_t i = 0; file->bytes && i < process_header(file)->n_extents; i++) {
        const struct lull_tape_extent *entry = process_entry(file, i);
        if (entry->part != part || entry->location != location)
            ret_parts[n++] = (struct part){entry->location, entry->part,
                                           file->bytes + (size_t)entry->page * LULL_TAPE_PAGE,
                                           (size_t)entry->pages * LULL_TAPE_PAGE};
    }
    return n;
}

static struct process_maker read_process(const char *run, uint32_t process)
{
    struct process_maker file = {.process = process};
    const char *path = path_of(run, process);
    if (access(path, F_OK) == 0)
        file.bytes = folder_read(path, &file.size);
    return file;
}

void process_put(const char *run, uint32_t process, unsigned part, uint32_t location,
                 const void *bytes, size_t size)
{
    struct process_maker old = read_process(run, process), new = {.process = process};
    const size_t most = old.bytes ? process_header(&old)->n_extents + (size_t)1 : 1;
    struct part *parts = malloc(most * sizeof *parts);
    if (!parts)
        abort();
    size_t n = other_parts(&old, part, location, parts);
    if (size > 0)
        parts[n++] = (struct part){location, part, bytes, size};
    if (n > 0)
        qsort(parts, n, sizeof *parts, compare_parts);
    for (size_t i = 0; i < n; i++)
        process_add(&new, parts[i].part, parts[i].location, parts[i].bytes, parts[i].size);
    if (n > 0)
        process_write(&new, run);
    process_free(&old);
    process_free(&new);
    free(parts);
}

size_t process_place(const char *run, uint32_t process, unsigned part, uint32_t location)
{
    struct process_maker file = read_process(run, process);
    size_t place = 0;
    for (uint32_t i = 0; i < process_header(&file)->n_extents; i++) {
        const struct lull_tape_extent *entry = process_entry(&file, i);
        if (entry->part == part && entry->location == location)
            place = (size_t)entry->page * LULL_TAPE_PAGE;
    }
    process_free(&file);
    if (place == 0)
        abort();
    return place;
}

void process_free(struct process_maker *maker)
{
    free(maker->bytes);
    *maker = (struct process_maker){0};
}
