/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of a tape, byte by byte: a builder into the caller's memory, and a bounds-checked
 * reader. Neither allocates: the recorder uses them on its mapped file. */
#ifndef LULL_TAPE_DEFINITION_H
#define LULL_TAPE_DEFINITION_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes one definition at `space`. Fields that do not fit are counted and not written: where
 * lull_tape_build_end() returns more than `capacity`, build the definition again with that much. */
struct lull_tape_builder {
    unsigned char *space;
    size_t capacity, size;
};

void lull_tape_build_begin(struct lull_tape_builder *builder, void *space, size_t capacity,
                           unsigned kind, uint32_t id);
void lull_tape_build_u32(struct lull_tape_builder *builder, uint32_t value);
void lull_tape_build_u64(struct lull_tape_builder *builder, uint64_t value);
void lull_tape_build_f64(struct lull_tape_builder *builder, double value);
void lull_tape_build_text(struct lull_tape_builder *builder, const char *text);
/* The fields of LULL_TAPE_DEFINE_MEMORY. */
void lull_tape_build_memory(struct lull_tape_builder *builder,
                            const struct lull_tape_memory *memory);
/* One of the readings of LULL_TAPE_DEFINE_READINGS. */
void lull_tape_build_reading(struct lull_tape_builder *builder,
                             const struct lull_tape_reading *reading);
/* The last fields of LULL_TAPE_DEFINE_REGION_MEMORY. */
void lull_tape_build_region_memory(struct lull_tape_builder *builder,
                                   const struct lull_tape_region_memory *memory);
/* Pads the definition, sets its size, and returns it in bytes. */
size_t lull_tape_build_end(struct lull_tape_builder *builder);

/* Reads the fields of one definition, in their order. From the first field that does not fit on,
 * all values are 0 and `bad` is set. */
struct lull_tape_fields {
    const unsigned char *at, *end;
    bool bad;
};

uint32_t lull_tape_field_u32(struct lull_tape_fields *fields);
uint64_t lull_tape_field_u64(struct lull_tape_fields *fields);
double lull_tape_field_f64(struct lull_tape_fields *fields);
/* The fields of LULL_TAPE_DEFINE_MEMORY. */
struct lull_tape_memory lull_tape_field_memory(struct lull_tape_fields *fields);
/* The next reading of LULL_TAPE_DEFINE_READINGS; false: there is none. */
bool lull_tape_field_reading(struct lull_tape_fields *fields,
                             struct lull_tape_reading *ret_reading);
/* The last fields of LULL_TAPE_DEFINE_REGION_MEMORY. */
struct lull_tape_region_memory lull_tape_field_region_memory(struct lull_tape_fields *fields);
/* The text is not terminated and points into the file. */
const char *lull_tape_field_text(struct lull_tape_fields *fields, uint32_t *ret_length);

#endif
