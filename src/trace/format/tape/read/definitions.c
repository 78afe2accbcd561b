/* Definitions of a tape: read from one file for the run or one per process, and made one.
 *
 * Each process of a recorded run names things by its own ids. What means the same in several of
 * them (same content; for communicators the same key) becomes one definition of the trace. */
#include "base/file.h"
#include "tape/process.h"
#include "trace/format/tape/read/merge.h"
#include "trace/format/tape/read/source.h"
#include "trace/format/tape/share/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lull_tape_merge *lull_tape_merge_begin(struct lull_trace *trace)
{
    struct lull_tape_merge *merge = calloc(1, sizeof *merge);
    if (merge)
        merge->trace = trace;
    return merge;
}

/* Looks the content up; a new one gets `fresh` as its index and *ret_new. */
lull_status lull_tape_unify(struct lull_tape_merge *merge, enum lull_tape_map map,
                            const void *content, size_t size, uint32_t fresh, uint32_t *ret_index,
                            bool *ret_new)
{
    const uint64_t *index = lull_hash_add(&merge->known[map], content, size, fresh, ret_new);
    if (!index)
        return LULL_ERR_MEMORY;
    *ret_index = (uint32_t)*index;
    return LULL_OK;
}

void lull_tape_merge_free(struct lull_tape_merge *merge)
{
    for (int map = 0; map < LULL_TAPE_MAPS; map++) {
        lull_hash_free(&merge->known[map]);
        free(merge->room.ids[map]);
    }
    lull_hash_free(&merge->lists);
    free(merge);
}

/* Ids are counted from 0 on; one beyond the size of its file would take memory out of proportion.
 * Until all of its scope are there, they are in memory that the next scope will have. */
static lull_status set_id(struct lull_tape_merge *merge, struct lull_tape_scope *scope, int map,
                          uint32_t id, uint32_t index)
{
    const bool told = merge->names && map != LULL_TAPE_MAP_COMM;
    struct lull_tape_room *room = told ? &merge->names->room : &merge->room;
    struct lull_tape_ids *ids = &(told ? &merge->names->scope : scope)->maps[map];
    if (id >= LULL_TAPE_MOST_IDS || (!told && id >= merge->most_ids))
        return LULL_ERR_RANGE;
    if (!lull_array_reserve(&room->ids[map], &room->capacity[map], (size_t)id + 1,
                            sizeof *ids->index))
        return LULL_ERR_MEMORY;
    ids->index = room->ids[map];
    while (ids->count <= id)
        ids->index[ids->count++] = LULL_NONE;
    ids->index[id] = index;
    return LULL_OK;
}

/* Processes of one program give most things the same ids. */
static uint32_t *keep_list(struct lull_tape_merge *merge, int map, const struct lull_tape_ids *ids)
{
    const size_t size = ids->count * sizeof *ids->index;
    const bool may_be_known = map != LULL_TAPE_MAP_COMM; /* each has some of its own */
    const uint64_t *known = may_be_known ? lull_hash_find(&merge->lists, ids->index, size) : NULL;
    if (known)
        return (uint32_t *)(uintptr_t)*known;
    uint32_t *list = lull_arena_alloc(merge->trace->arena, size);
    memcpy(list, ids->index, size);
    if (may_be_known)
        lull_hash_add(&merge->lists, list, size, (uintptr_t)list, NULL);
    return list;
}

void lull_tape_keep_ids(struct lull_tape_merge *merge, struct lull_tape_scope *scope)
{
    for (int map = 0; map < LULL_TAPE_MAPS; map++)
        if (scope->maps[map].count > 0)
            scope->maps[map].index = keep_list(merge, map, &scope->maps[map]);
}

/* Which map a kind of shared definitions belongs to; -1: it is none. */
static int map_of(unsigned kind)
{
    switch (kind) {
    case LULL_TAPE_DEFINE_SITE:
        return LULL_TAPE_MAP_REGION;
    case LULL_TAPE_DEFINE_NODE:
        return LULL_TAPE_MAP_NODE;
    case LULL_TAPE_DEFINE_REGION:
        return LULL_TAPE_MAP_REGION;
    case LULL_TAPE_DEFINE_STATE:
        return LULL_TAPE_MAP_STATE;
    case LULL_TAPE_DEFINE_COUNTER:
        return LULL_TAPE_MAP_COUNTER;
    case LULL_TAPE_DEFINE_MARKER:
        return LULL_TAPE_MAP_MARKER;
    case LULL_TAPE_DEFINE_OBJECT:
        return LULL_TAPE_MAP_OBJECT;
    case LULL_TAPE_DEFINE_FILE:
        return LULL_TAPE_MAP_FILE;
    default:
        return -1;
    }
}

bool lull_tape_is_shared(unsigned kind)
{
    return map_of(kind) >= 0;
}

static uint32_t next_index(const struct lull_trace *trace, int map)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t counts[LULL_TAPE_MAPS] = {
        [LULL_TAPE_MAP_NODE] = trace->n_nodes,       [LULL_TAPE_MAP_REGION] = trace->n_regions,
        [LULL_TAPE_MAP_STATE] = trace->n_states,     [LULL_TAPE_MAP_COMM] = trace->n_comms,
        [LULL_TAPE_MAP_COUNTER] = trace->n_counters, [LULL_TAPE_MAP_MARKER] = trace->n_markers,
        [LULL_TAPE_MAP_OBJECT] = data->n_objects,    [LULL_TAPE_MAP_FILE] = trace->n_files,
    };
    return counts[map];
}

/* What means the same in several processes has the same content; only the parent of a node is
 * named by an id of the process. In memory of malloc, or `fields` itself. */
static const unsigned char *content_of(const struct lull_tape_scope *names, enum lull_tape_map map,
                                       const struct lull_tape_fields *fields, size_t *ret_size,
                                       unsigned char **ret_own)
{
    *ret_size = (size_t)(fields->end - fields->at);
    *ret_own = NULL;
    if (map != LULL_TAPE_MAP_NODE)
        return fields->at;
    struct lull_tape_fields copy = *fields;
    uint32_t parent =
        lull_tape_index_of(&names->maps[LULL_TAPE_MAP_NODE], lull_tape_field_u32(&copy));
    const size_t rest = (size_t)(copy.end - copy.at);
    unsigned char *content = malloc(sizeof parent + rest);
    if (!content)
        return NULL;
    memcpy(content, &parent, sizeof parent);
    memcpy(content + sizeof parent, copy.at, rest);
    *ret_size = sizeof parent + rest;
    *ret_own = content;
    return content;
}

/* `*index` is the index of a new one. */
static lull_status unify_definition(struct lull_tape_merge *merge,
                                    const struct lull_tape_scope *names, enum lull_tape_map map,
                                    const struct lull_tape_fields *fields, uint32_t *index,
                                    bool *ret_fresh)
{
    size_t size;
    unsigned char *own;
    const unsigned char *content = content_of(names, map, fields, &size, &own);
    if (!content)
        return LULL_ERR_MEMORY;
    lull_status status = lull_tape_unify(merge, map, content, size, *index, index, ret_fresh);
    free(own);
    return status;
}

static void define_unified(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                           unsigned kind, struct lull_tape_fields *fields)
{
    switch (kind) {
    case LULL_TAPE_DEFINE_NODE:
        lull_tape_define_node(merge, scope, fields);
        break;
    case LULL_TAPE_DEFINE_REGION:
        lull_tape_define_region(merge, fields);
        break;
    case LULL_TAPE_DEFINE_STATE:
        lull_tape_define_state(merge, fields);
        break;
    case LULL_TAPE_DEFINE_COUNTER:
        lull_tape_define_counter(merge, fields);
        break;
    case LULL_TAPE_DEFINE_OBJECT:
        lull_tape_define_object(merge->trace, fields);
        break;
    case LULL_TAPE_DEFINE_FILE:
        lull_tape_define_file(merge, fields);
        break;
    default:
        lull_tape_define_marker(merge, fields);
        break;
    }
}

lull_status lull_tape_define_shared(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                    bool whole_run, const struct lull_tape_definition *definition,
                                    struct lull_tape_fields *fields, uint32_t *ret_index,
                                    bool *ret_fresh)
{
    const struct lull_tape_scope *names = lull_tape_names_of(merge, scope);
    const enum lull_tape_map map = (enum lull_tape_map)map_of(definition->kind);
    lull_status status = LULL_OK;
    *ret_index = next_index(merge->trace, map);
    *ret_fresh = true;
    if (definition->kind == LULL_TAPE_DEFINE_SITE) {
        const uint32_t before = *ret_index;
        status = lull_tape_define_site(merge, names, fields, ret_index);
        *ret_fresh = merge->trace->n_regions > before;
        return status;
    }
    if (!whole_run) /* where every definition stands for itself */
        status = unify_definition(merge, names, map, fields, ret_index, ret_fresh);
    if (status == LULL_OK && *ret_fresh)
        define_unified(merge, names, definition->kind, fields);
    return status;
}

lull_status lull_tape_set_shared_id(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                    const struct lull_tape_definition *definition, uint32_t index)
{
    return set_id(merge, scope, map_of(definition->kind), definition->id, index);
}

/* What others have told means is known: the ids of a process alone are looked for. What is not
 * known, the program has defined since. */
static lull_status learn(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                         const struct lull_tape_definition *definition,
                         struct lull_tape_fields *fields)
{
    const int map = map_of(definition->kind);
    unsigned char *own = NULL;
    const unsigned char *content;
    size_t size;
    if (map < 0)
        return LULL_OK;
    if (definition->kind == LULL_TAPE_DEFINE_SITE)
        content = own = (unsigned char *)lull_tape_read_site(scope, fields, &size);
    else
        content = content_of(scope, (enum lull_tape_map)map, fields, &size, &own);
    if (!content)
        return fields->bad ? LULL_ERR_FORMAT : LULL_ERR_MEMORY;
    const uint64_t *index = lull_hash_find(&merge->known[map], content, size);
    free(own);
    return index ? set_id(merge, scope, map, definition->id, (uint32_t)*index) : LULL_OK;
}

static lull_status define(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                          bool whole_run, const struct lull_tape_definition *definition,
                          struct lull_tape_fields *fields)
{
    uint32_t index = 0;
    bool fresh;
    lull_status status;
    if (merge->telling)
        return lull_tape_tell_definition(merge, scope, definition, fields);
    if (merge->learns)
        return learn(merge, scope, definition, fields);
    if (lull_tape_is_shared(definition->kind)) {
        status =
            lull_tape_define_shared(merge, scope, whole_run, definition, fields, &index, &fresh);
        return status != LULL_OK ? status
                                 : lull_tape_set_shared_id(merge, scope, definition, index);
    }
    switch (definition->kind) {
    case LULL_TAPE_DEFINE_RUN:
        lull_tape_define_run(merge, scope, whole_run, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_CLOCK:
        lull_tape_define_clock(merge, scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_OFFSET:
        lull_tape_define_offset(merge, scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_WORLD:
        lull_tape_define_world(scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_DISTURBANCE:
        lull_tape_define_disturbance(merge, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_HELD:
        lull_tape_define_held(merge, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_PROCESS:
        lull_tape_define_process(merge, scope, definition->id, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_COMM:
        status = lull_tape_define_comm(merge, scope, whole_run, fields, &index);
        if (status == LULL_OK)
            status = set_id(merge, scope, LULL_TAPE_MAP_COMM, definition->id, index);
        return status;
    case LULL_TAPE_DEFINE_FAR:
        return lull_tape_define_far(merge, scope, definition->id, fields);
    case LULL_TAPE_DEFINE_THROTTLED:
        lull_tape_define_throttled(merge, scope, definition->id, fields);
        return LULL_OK;
    default: /* of a later version */
        lull_trace_add_quirk(merge->trace, "a definition of unknown kind; ignored", "kind %u",
                             definition->kind);
        return LULL_OK;
    }
}

lull_status lull_tape_define(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                             bool whole_run, const unsigned char *bytes)
{
    struct lull_tape_definition definition;
    memcpy(&definition, bytes, sizeof definition);
    struct lull_tape_fields fields = {bytes + sizeof definition, bytes + definition.size, false};
    lull_status status = define(merge, scope, whole_run, &definition, &fields);
    return status == LULL_OK && fields.bad ? LULL_ERR_FORMAT : status;
}

lull_status lull_tape_bad_definition(const char *path, uint64_t offset, const unsigned char *bytes,
                                     uint32_t id, lull_status status, struct lull_error *err)
{
    struct lull_tape_definition definition;
    memcpy(&definition, bytes, sizeof definition);
    return lull_fail(err, status, "%s: offset %llu: bad definition of kind %u, id %u", path,
                     (unsigned long long)offset, definition.kind, id);
}

static lull_status check_definitions(const char *path, uint32_t process, const unsigned char *bytes,
                                     size_t begin, size_t size,
                                     struct lull_tape_definitions_header *header,
                                     struct lull_error *err)
{
    if (size < sizeof *header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %zu bytes, expected a header of %zu",
                         path, size, sizeof *header);
    memcpy(header, bytes, sizeof *header);
    if (memcmp(header->magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header->magic) != 0 ||
        header->byte_order != LULL_TAPE_BYTE_ORDER || header->header_size < sizeof *header ||
        header->header_size > size)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: no header of tape definitions",
                         path, begin);
    if (!lull_tape_reads(header->version))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by a newer lull: version %u, this one reads %d", path,
                         header->version, LULL_TAPE_VERSION);
    if (header->process != process)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: belongs to process %u, expected %u",
                         path, begin + offsetof(struct lull_tape_definitions_header, process),
                         header->process, process);
    header->committed = __atomic_load_n(
        &((const struct lull_tape_definitions_header *)(const void *)bytes)->committed,
        __ATOMIC_ACQUIRE);
    if (header->committed > size - header->header_size)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: truncated: %llu bytes of definitions, the file holds %zu", path,
                         (unsigned long long)header->committed, size - header->header_size);
    return LULL_OK;
}

lull_status lull_tape_walk_definitions(struct lull_tape_merge *merge, const char *path,
                                       uint32_t process, const unsigned char *bytes, size_t begin,
                                       size_t size, struct lull_tape_scope *scope,
                                       struct lull_error *err)
{
    const bool whole_run = process == LULL_TAPE_WHOLE_RUN;
    struct lull_tape_definitions_header header;
    lull_status status = check_definitions(path, process, bytes, begin, size, &header, err);
    if (status != LULL_OK)
        return status;
    merge->most_ids += header.committed;
    if (merge->telling)
        lull_tape_tell_piece(merge, header.committed);
    for (size_t at = header.header_size, end = at + header.committed; at < end;) {
        struct lull_tape_definition definition;
        if (end - at < sizeof definition)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: definition is cut", path,
                             begin + at);
        memcpy(&definition, bytes + at, sizeof definition);
        if (definition.size < sizeof definition || definition.size > end - at ||
            definition.size % 8 != 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: definition of %u bytes", path,
                             begin + at, definition.size);
        if (merge->telling)
            merge->telling->offset = begin + at;
        status = lull_tape_define(merge, scope, whole_run, bytes + at);
        if (status != LULL_OK)
            return lull_tape_bad_definition(path, begin + at, bytes + at, definition.id, status,
                                            err);
        at += definition.size;
    }
    return LULL_OK;
}

lull_status lull_tape_read_definitions(struct lull_tape_merge *merge, const char *path,
                                       uint32_t process, struct lull_tape_scope *scope,
                                       bool *ret_found, struct lull_error *err)
{
    *ret_found = false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return LULL_OK;
    struct lull_mapping file;
    lull_status status = lull_map_file(path, &file, err);
    if (status != LULL_OK)
        return status;
    merge->most_ids = 0;
    status = lull_tape_walk_definitions(merge, path, process, file.data, 0, file.size, scope, err);
    lull_unmap(&file);
    if (status == LULL_OK)
        *ret_found = true;
    return status;
}

/* How far the definitions go in a part that begins with `size` bytes: what is behind need not be
 * read. */
static uint64_t used_of(const unsigned char *bytes, uint64_t size, uint64_t whole)
{
    struct lull_tape_definitions_header header;
    if (size < sizeof header)
        return size;
    memcpy(&header, bytes, sizeof header);
    const uint64_t used = header.header_size + header.committed;
    return used < header.committed || used > whole ? whole : used;
}

/* A part of a file. */
static lull_status walk_stored(struct lull_tape_merge *merge, struct lull_tape_source *source,
                               const char *path, uint32_t process, struct lull_tape_piece piece,
                               struct lull_tape_scope *scope, struct lull_error *err)
{
    if (piece.offset > source->size || piece.size > source->size - piece.offset)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: truncated: definitions up to byte %llu, the file holds %llu", path,
                         (unsigned long long)(piece.offset + piece.size),
                         (unsigned long long)source->size);
    unsigned char *bytes = malloc((size_t)piece.size + 1);
    if (!bytes)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    const size_t first = piece.size < LULL_TAPE_PAGE ? (size_t)piece.size : LULL_TAPE_PAGE;
    ssize_t got = lull_tape_source_read(source, bytes, first, piece.offset), more = 0;
    const uint64_t used = got == (ssize_t)first ? used_of(bytes, first, piece.size) : 0;
    if (used > first)
        more = lull_tape_source_read(source, bytes + first, (size_t)used - first,
                                     piece.offset + first);
    lull_status status =
        got < 0 || more < 0
            ? lull_tape_source_fail(source, path, err)
            : lull_tape_walk_definitions(merge, path, process, bytes, (size_t)piece.offset,
                                         (size_t)(got + more), scope, err);
    free(bytes);
    return status;
}

lull_status lull_tape_read_stored_definitions(struct lull_tape_merge *merge, const char *path,
                                              uint32_t process, struct lull_tape_scope *scope,
                                              struct lull_error *err)
{
    struct lull_tape_source source;
    lull_status status =
        lull_tape_source_open(merge->trace, LULL_TAPE_NODE_DEFINITIONS, process, 0, &source, err);
    merge->most_ids = 0;
    if (status == LULL_OK)
        status = walk_stored(merge, &source, path, process,
                             (struct lull_tape_piece){0, source.size}, scope, err);
    lull_tape_source_close(&source);
    return status;
}

/* Not mapped: of the page that is looked at, the system would read many around. */
lull_status lull_tape_read_packed_definitions(struct lull_tape_merge *merge, const char *path,
                                              uint32_t process,
                                              const struct lull_tape_pieces *pieces,
                                              struct lull_tape_scope *scope, struct lull_error *err)
{
    struct lull_tape_source source;
    lull_status status =
        lull_tape_source_open(merge->trace, LULL_TAPE_NODE_PROCESS, process, 0, &source, err);
    merge->most_ids = 0;
    if (status == LULL_OK)
        lull_tape_source_sparse(&source);
    for (size_t i = 0; status == LULL_OK && i < pieces->n; i++)
        status = walk_stored(merge, &source, path, process, pieces->list[i], scope, err);
    lull_tape_source_close(&source);
    return status;
}

lull_status lull_tape_merge_end(struct lull_tape_merge *merge, lull_status status,
                                struct lull_error *err)
{
    struct lull_tape_data *data = merge->trace->format_data;
    if (status == LULL_OK)
        lull_tape_join_halves(merge);
    data->outside =
        lull_arena_zero(merge->trace->arena, merge->trace->n_comms + 1, sizeof *data->outside);
    if (status == LULL_OK)
        status = lull_tape_find_members(merge->trace, err);
    lull_tape_sort_claims(merge);
    for (uint32_t c = 0; status == LULL_OK && c < merge->trace->n_comms; c++)
        status = lull_tape_resolve_comm(merge, c, err);
    if (status == LULL_OK && data->share)
        return lull_tape_share_keep(merge->trace, merge, err);
    lull_tape_merge_free(merge);
    return status;
}
