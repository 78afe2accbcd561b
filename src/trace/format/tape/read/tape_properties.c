/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run says of itself: for all processes in RUN/about, and for each process, in its
 * definitions, what differs from that. */
#include "base/file.h"
#include "base/hash.h"
#include "tape/definition.h"
#include "trace/format/tape/read/tape_definitions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits, because each of a million processes may say something else: values of one key that are
 * told apart, and properties of the run. */
enum { MOST_VALUES = 16, MOST_PROPERTIES = 4096 };

/* ---- collecting ------------------------------------------------------------------------------ */

static struct lull_property *add_property(struct lull_tape_merge *merge, const char *key,
                                          const char *value)
{
    struct lull_trace *trace = merge->trace;
    trace->properties =
        lull_arena_grow(trace->arena, trace->properties, &merge->properties_capacity,
                        (size_t)trace->n_properties + 1, sizeof *trace->properties);
    struct lull_property *property = &trace->properties[trace->n_properties++];
    *property = (struct lull_property){.key = lull_arena_strdup(trace->arena, key),
                                       .value = lull_arena_strdup(trace->arena, value)};
    return property;
}

/* The property with that key and value, made where it is missing and `may_add`; NULL: it is
 * missing. */
static struct lull_property *look_up_property(struct lull_tape_merge *merge, const char *key,
                                              const char *value, bool may_add)
{
    struct lull_trace *trace = merge->trace;
    const size_t first = strlen(key) + 1, size = first + strlen(value) + 1;
    struct lull_property *found = NULL;
    char *both = malloc(size);
    if (!both)
        return NULL;
    memcpy(both, key, first);
    memcpy(both + first, value, size - first);
    const uint64_t *known = lull_hash_find(&merge->properties, both, size);
    if (known)
        found = &trace->properties[*known];
    else if (may_add && lull_hash_add(&merge->properties, both, size, trace->n_properties, NULL))
        found = add_property(merge, key, value);
    free(both);
    return found;
}

/* Finds or makes the property with that key and value. In the table a key alone leads to the number
 * of its values so far; values beyond MOST_VALUES become "(others)". */
static struct lull_property *find_property(struct lull_tape_merge *merge, const char *key,
                                           const char *value)
{
    struct lull_property *found = look_up_property(merge, key, value, false);
    if (found || merge->trace->n_properties >= MOST_PROPERTIES)
        return found;
    uint64_t *values = lull_hash_add(&merge->properties, key, strlen(key) + 1, 0, NULL);
    if (!values)
        return NULL;
    if (*values == MOST_VALUES)
        return look_up_property(merge, key, "(others)", true);
    ++*values;
    return look_up_property(merge, key, value, true);
}

static void say_for_process(struct lull_tape_merge *merge, const char *key, const char *value)
{
    struct lull_property *property = find_property(merge, key, value);
    if (!property)
        return;
    if (property->processes++ == 0)
        property->first = merge->process;
}

void lull_tape_define_property(struct lull_tape_merge *merge, bool whole_run,
                               struct lull_tape_fields *fields)
{
    const char *key = lull_tape_take_text(merge, fields);
    const char *value = lull_tape_take_text(merge, fields);
    if (fields->bad)
        return;
    if (strcmp(key, LULL_TAPE_PROPERTY_CLOCK_DRIFT) == 0)
        lull_trace_add_quirk(merge->trace,
                             "the processor's counter did not keep time with the system's clock",
                             "%s", value);
    if (!whole_run) {
        say_for_process(merge, key, value);
        return;
    }
    struct lull_property *property = find_property(merge, key, value);
    if (!property || (size_t)(fields->end - fields->at) < 2 * sizeof(uint32_t)) /* only padding */
        return;
    property->processes = lull_tape_field_u32(fields);
    property->first = lull_tape_field_u32(fields);
    if (property->first >= merge->trace->n_processes)
        property->first = 0;
}

static bool is_variable(const char *key)
{
    return key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

void lull_tape_complete_properties(struct lull_tape_merge *merge)
{
    const struct lull_trace *trace = merge->trace;
    const uint32_t n = trace->n_properties;
    for (uint32_t i = 0; i < n; i++) {
        const char *key = trace->properties[i].key;
        uint64_t processes = 0;
        bool first = true, whole_run = false;
        for (uint32_t k = 0; k < n; k++) {
            if (strcmp(trace->properties[k].key, key) != 0)
                continue;
            processes += trace->properties[k].processes;
            whole_run |= trace->properties[k].processes == 0;
            first &= k >= i;
        }
        if (first && !whole_run && processes < trace->n_processes && is_variable(key))
            find_property(merge, key, "");
    }
}

void lull_tape_define_exit(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    char text[32];
    const uint64_t status = lull_tape_field_u64(fields);
    snprintf(text, sizeof text, "%llu", (unsigned long long)status);
    if (!fields->bad && status != LULL_TAPE_NOT_EXITED)
        say_for_process(merge, "exit", text);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Takes the properties in the file, and no other kinds of definitions. Returns what is wrong. */
static const char *take_about(struct lull_tape_merge *merge, const unsigned char *bytes,
                              size_t size)
{
    struct lull_tape_definitions_header header;
    struct lull_tape_definition definition;
    if (size < sizeof header)
        return "it is too short";
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header.magic) != 0 ||
        header.version != LULL_TAPE_VERSION || header.byte_order != LULL_TAPE_BYTE_ORDER ||
        header.header_size < sizeof header || header.header_size > size ||
        header.committed > size - header.header_size)
        return "its header is damaged";
    for (size_t at = header.header_size, end = at + header.committed; at < end;) {
        if (end - at < sizeof definition)
            return "a definition is cut";
        memcpy(&definition, bytes + at, sizeof definition);
        if (definition.size < sizeof definition || definition.size > end - at ||
            definition.size % 8 != 0 || definition.kind != LULL_TAPE_DEFINE_PROPERTY)
            return "a definition is damaged";
        struct lull_tape_fields fields = {bytes + at + sizeof definition,
                                          bytes + at + definition.size, false};
        lull_tape_define_property(merge, true, &fields);
        if (fields.bad)
            return "a definition is damaged";
        at += definition.size;
    }
    return NULL;
}

void lull_tape_read_about(struct lull_tape_merge *merge)
{
    const struct lull_trace *trace = merge->trace;
    char path[LULL_TAPE_PATH];
    struct lull_mapping file;
    struct lull_error err;
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ABOUT_NAME, trace->path);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return;
    const bool there = lull_map_file(path, &file, &err) == LULL_OK;
    const char *wrong = there ? take_about(merge, file.data, file.size) : err.text;
    if (there)
        lull_unmap(&file);
    if (wrong)
        lull_trace_add_quirk(trace, "what the run says of itself cannot be read as a whole",
                             "%s: %s", path, wrong);
}
