#include "support/tape_maker.h"

#include "support/folder.h"
#include "support/process_maker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

void tape_begin(struct tape_maker *maker, uint32_t process, uint32_t number)
{
    *maker = (struct tape_maker){.header = {.version = LULL_TAPE_VERSION,
                                            .byte_order = LULL_TAPE_BYTE_ORDER,
                                            .header_size = LULL_TAPE_HEADER_SIZE,
                                            .record_size = sizeof(struct lull_tape_record),
                                            .process = process,
                                            .number = number}};
    memcpy(maker->header.magic, LULL_TAPE_MAGIC, sizeof maker->header.magic);
    snprintf(maker->header.name, sizeof maker->header.name, "%u.%u", process, number);
}

static union lull_tape_slot *append(struct tape_maker *maker, size_t count)
{
    if (maker->count + count > maker->capacity) {
        maker->capacity = 2 * (maker->count + count);
        maker->slots = must(realloc(maker->slots, maker->capacity * sizeof *maker->slots));
    }
    union lull_tape_slot *room = maker->slots + maker->count;
    memset(room, 0, count * sizeof *room);
    maker->count += count;
    return room;
}

union lull_tape_slot *tape_room(struct tape_maker *maker, unsigned count)
{
    const size_t slots_of_chunk = LULL_TAPE_CHUNK / sizeof(union lull_tape_slot);
    size_t left = slots_of_chunk - maker->count % slots_of_chunk;
    if (count > left)
        append(maker, left)->record.head = LULL_TAPE_PAD;
    return append(maker, count);
}

union lull_tape_slot *tape_record(struct tape_maker *maker, uint64_t time, unsigned kind,
                                  unsigned extra, uint32_t id, uint32_t value)
{
    union lull_tape_slot *slot = tape_room(maker, 1 + extra);
    slot->record = (struct lull_tape_record){time, lull_tape_head(kind, extra, id), value};
    return slot;
}

void tape_call(struct tape_maker *maker, uint64_t time, uint32_t region, uint64_t duration)
{
    union lull_tape_slot slots[2];
    unsigned count = lull_tape_put_call(slots, time, region, duration);
    memcpy(tape_room(maker, count), slots, count * sizeof *slots);
}

void tape_message_call(struct tape_maker *maker, unsigned kind, uint64_t time, uint32_t region,
                       uint32_t duration, int32_t peer, int32_t tag, uint32_t comm, uint64_t bytes)
{
    lull_tape_put_message_call(tape_room(maker, 2), kind, time, region, duration, peer, tag, comm,
                               bytes);
}

void tape_write(struct tape_maker *maker, const char *run, size_t behind)
{
    const uint32_t process = maker->header.process, number = maker->header.number;
    maker->header.committed = (maker->count - behind) * sizeof *maker->slots;
    process_put(run, process, LULL_TAPE_PART_HEAD, number, &maker->header, sizeof maker->header);
    process_put(run, process, LULL_TAPE_PART_RECORDS, number, maker->slots,
                maker->count * sizeof *maker->slots);
    free(maker->slots);
    maker->slots = NULL;
}

void definitions_begin(struct definitions_maker *maker, uint32_t process)
{
    *maker = (struct definitions_maker){.header = {.version = LULL_TAPE_VERSION,
                                                   .byte_order = LULL_TAPE_BYTE_ORDER,
                                                   .header_size = sizeof maker->header,
                                                   .process = process}};
    memcpy(maker->header.magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof maker->header.magic);
}

static void add_built(struct definitions_maker *maker, const unsigned char *bytes, size_t size)
{
    maker->bytes = must(realloc(maker->bytes, maker->size + size));
    memcpy(maker->bytes + maker->size, bytes, size);
    maker->size += size;
}

void definitions_add(struct definitions_maker *maker, unsigned kind, uint32_t id,
                     const char *fields, ...)
{
    unsigned char space[8192];
    struct lull_tape_builder builder;
    lull_tape_build_begin(&builder, space, sizeof space, kind, id);
    va_list args;
    va_start(args, fields);
    for (; *fields; fields++) {
        if (*fields == 'u')
            lull_tape_build_u32(&builder, va_arg(args, uint32_t));
        else if (*fields == 'U')
            lull_tape_build_u64(&builder, va_arg(args, uint64_t));
        else if (*fields == 'f')
            lull_tape_build_f64(&builder, va_arg(args, double));
        else
            lull_tape_build_text(&builder, va_arg(args, const char *));
    }
    va_end(args);
    size_t size = lull_tape_build_end(&builder);
    if (size > sizeof space)
        abort();
    add_built(maker, space, size);
}

void define_region(struct definitions_maker *maker, uint32_t id, const char *name)
{
    definitions_add(maker, LULL_TAPE_DEFINE_REGION, id, "uuuuss", 0u, 0u, 0u, 0u, name, "");
}

void define_comm(struct definitions_maker *maker, uint32_t id, uint64_t key, uint32_t size,
                 const uint32_t *members, uint32_t remote, const char *name)
{
    const uint32_t mpi = 2, none = UINT32_MAX;
    unsigned char space[8192];
    struct lull_tape_builder builder;
    lull_tape_build_begin(&builder, space, sizeof space, LULL_TAPE_DEFINE_COMM, id);
    lull_tape_build_u64(&builder, key);
    lull_tape_build_u32(&builder, mpi);
    lull_tape_build_u32(&builder, size);
    lull_tape_build_u32(&builder, 0);
    lull_tape_build_u32(&builder, none);
    lull_tape_build_u32(&builder, remote);
    lull_tape_build_u32(&builder, members ? size : 0);
    for (uint32_t r = 0; members && r < size; r++)
        lull_tape_build_u32(&builder, members[r]);
    lull_tape_build_text(&builder, name);
    add_built(maker, space, lull_tape_build_end(&builder));
}

void definitions_write(struct definitions_maker *maker, const char *run)
{
    char path[4600];
    const uint32_t process = maker->header.process;
    const size_t size = sizeof maker->header + maker->size;
    maker->header.committed = maker->size;
    unsigned char *bytes = must(malloc(size));
    memcpy(bytes, &maker->header, sizeof maker->header);
    if (maker->size > 0)
        memcpy(bytes + sizeof maker->header, maker->bytes, maker->size);
    snprintf(path, sizeof path, "%s/definitions", run);
    if (process == LULL_TAPE_WHOLE_RUN)
        folder_write(path, bytes, size);
    else
        process_put(run, process, LULL_TAPE_PART_DEFINITIONS, 0, bytes, size);
    free(bytes);
    free(maker->bytes);
    maker->bytes = NULL;
}

void run_begin(const char *run)
{
    char path[4600];
    mkdir(run, 0700);
    snprintf(path, sizeof path, "%s/0", run);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, run);
    folder_write(path, LULL_TAPE_ANCHOR, strlen(LULL_TAPE_ANCHOR));
}
