/* SPDX-License-Identifier: BSD-3-Clause */
#include "tape/definition.h"

#include <assert.h>
#include <string.h>

static void put(struct lull_tape_builder *builder, const void *bytes, size_t size)
{
    if (builder->size + size <= builder->capacity && size > 0)
        memcpy(builder->space + builder->size, bytes, size);
    builder->size += size;
}

void lull_tape_build_begin(struct lull_tape_builder *builder, void *space, size_t capacity,
                           unsigned kind, uint32_t id)
{
    *builder = (struct lull_tape_builder){.space = space, .capacity = capacity};
    struct lull_tape_definition definition = {.kind = (uint16_t)kind, .id = id};
    put(builder, &definition, sizeof definition);
}

void lull_tape_build_u32(struct lull_tape_builder *builder, uint32_t value)
{
    put(builder, &value, sizeof value);
}

void lull_tape_build_u64(struct lull_tape_builder *builder, uint64_t value)
{
    put(builder, &value, sizeof value);
}

void lull_tape_build_f64(struct lull_tape_builder *builder, double value)
{
    put(builder, &value, sizeof value);
}

void lull_tape_build_text(struct lull_tape_builder *builder, const char *text)
{
    size_t length = strlen(text);
    lull_tape_build_u32(builder, (uint32_t)length);
    put(builder, text, length);
}

static_assert(sizeof(struct lull_tape_memory) == 6 * sizeof(uint64_t), "fields without gaps");

void lull_tape_build_memory(struct lull_tape_builder *builder,
                            const struct lull_tape_memory *memory)
{
    put(builder, memory, sizeof *memory);
}

void lull_tape_build_reading(struct lull_tape_builder *builder,
                             const struct lull_tape_reading *reading)
{
    put(builder, reading, sizeof *reading);
}

void lull_tape_build_region_memory(struct lull_tape_builder *builder,
                                   const struct lull_tape_region_memory *memory)
{
    put(builder, memory, sizeof *memory);
}

size_t lull_tape_build_end(struct lull_tape_builder *builder)
{
    static const char padding[8];
    put(builder, padding, -builder->size & 7);
    uint32_t size = (uint32_t)builder->size;
    if (builder->size <= builder->capacity)
        memcpy(builder->space + offsetof(struct lull_tape_definition, size), &size, sizeof size);
    return builder->size;
}

static void get(struct lull_tape_fields *fields, void *bytes, size_t size)
{
    if (fields->bad || (size_t)(fields->end - fields->at) < size) {
        fields->bad = true;
        memset(bytes, 0, size);
        return;
    }
    memcpy(bytes, fields->at, size);
    fields->at += size;
}

uint32_t lull_tape_field_u32(struct lull_tape_fields *fields)
{
    uint32_t value;
    get(fields, &value, sizeof value);
    return value;
}

uint64_t lull_tape_field_u64(struct lull_tape_fields *fields)
{
    uint64_t value;
    get(fields, &value, sizeof value);
    return value;
}

double lull_tape_field_f64(struct lull_tape_fields *fields)
{
    double value;
    get(fields, &value, sizeof value);
    return value;
}

struct lull_tape_memory lull_tape_field_memory(struct lull_tape_fields *fields)
{
    struct lull_tape_memory memory;
    get(fields, &memory, sizeof memory);
    return memory;
}

bool lull_tape_field_reading(struct lull_tape_fields *fields, struct lull_tape_reading *ret_reading)
{
    if (fields->bad || (size_t)(fields->end - fields->at) < sizeof *ret_reading)
        return false;
    get(fields, ret_reading, sizeof *ret_reading);
    return true;
}

struct lull_tape_region_memory lull_tape_field_region_memory(struct lull_tape_fields *fields)
{
    struct lull_tape_region_memory memory;
    get(fields, &memory, sizeof memory);
    return memory;
}

const char *lull_tape_field_text(struct lull_tape_fields *fields, uint32_t *ret_length)
{
    uint32_t length = lull_tape_field_u32(fields);
    if (fields->bad || (size_t)(fields->end - fields->at) < length) {
        fields->bad = true;
        *ret_length = 0;
        return "";
    }
    const char *text = (const char *)fields->at;
    fields->at += length;
    *ret_length = length;
    return text;
}
