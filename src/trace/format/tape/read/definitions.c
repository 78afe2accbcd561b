/* Definitions of a tape: read from one file for the run or one per process, and made one.
 *
 * Each process of a recorded run names things by its own ids. What means the same in several of
 * them (same content; for communicators the same key) becomes one definition of the trace. */
#include "base/file.h"
#include "base/table.h"
#include "tape/definition.h"
#include "trace/format/tape/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct comm_draft {
    uint32_t parent, remote; /* ids in `scope` */
    const struct lull_tape_scope *scope;
    bool whole_run;
};

struct lull_tape_merge {
    struct lull_trace *trace;
    struct lull_table known[LULL_TAPE_MAPS]; /* content -> index */
    size_t capacity[LULL_TAPE_MAPS], processes_capacity;
    struct comm_draft *drafts; /* parallel to trace->comms */
    size_t drafts_capacity;
    uint64_t most_ids; /* of the file being read: as many as it has bytes of definitions */
};

struct lull_tape_merge *lull_tape_merge_begin(struct lull_trace *trace)
{
    struct lull_tape_merge *merge = calloc(1, sizeof *merge);
    if (merge)
        merge->trace = trace;
    return merge;
}

/* Looks the content up; a new one gets `fresh` as its index and *ret_new. */
static lull_status unify(struct lull_tape_merge *merge, enum lull_tape_map map, const void *content,
                         size_t size, uint32_t fresh, uint32_t *ret_index, bool *ret_new)
{
    const uint64_t *index = lull_table_add(&merge->known[map], content, size, fresh, ret_new);
    if (!index)
        return LULL_ERR_MEMORY;
    *ret_index = (uint32_t)*index;
    return LULL_OK;
}

static void forget(struct lull_tape_merge *merge)
{
    for (int map = 0; map < LULL_TAPE_MAPS; map++)
        lull_table_free(&merge->known[map]);
}

/* Ids are counted from 0 on; one beyond the size of its file would take memory out of proportion.
 */
static lull_status set_id(struct lull_tape_merge *merge, struct lull_tape_ids *ids, uint32_t id,
                          uint32_t index)
{
    struct lull_trace *trace = merge->trace;
    if (id >= LULL_TAPE_MOST_IDS || id >= merge->most_ids)
        return LULL_ERR_RANGE;
    size_t old = ids->count;
    ids->index =
        lull_arena_grow(trace->arena, ids->index, &ids->count, (size_t)id + 1, sizeof *ids->index);
    for (size_t i = old; i < ids->count; i++)
        ids->index[i] = LULL_NONE;
    ids->index[id] = index;
    return LULL_OK;
}

/* One more element at the end of an array of the trace. */
#define NEW_ELEMENT(merge, map, array, count)                                                   \
    ((merge)->trace->array =                                                                    \
         lull_arena_grow((merge)->trace->arena, (merge)->trace->array, &(merge)->capacity[map], \
                         (size_t)(merge)->trace->count + 1, sizeof *(merge)->trace->array),     \
     &(merge)->trace->array[(merge)->trace->count++])

static const char *take_text(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    uint32_t length;
    const char *text = lull_tape_field_text(fields, &length);
    return lull_arena_strndup(merge->trace->arena, text, length);
}

/* ---- one kind after the other ---------------------------------------------------------------- */

/* That of a process cannot know how long the others went on. */
static void define_run(struct lull_tape_merge *merge, struct lull_tape_scope *scope, bool whole_run,
                       struct lull_tape_fields *fields)
{
    struct lull_trace *trace = merge->trace;
    struct lull_tape_data *data = trace->format_data;
    int64_t duration = (int64_t)lull_tape_field_u64(fields);
    int64_t origin = (int64_t)lull_tape_field_u64(fields);
    if (whole_run) {
        trace->duration = duration;
        data->origin = origin;
        data->closed = true;
    }
    trace->start_realtime = (int64_t)lull_tape_field_u64(fields);
    trace->clock_resolution = scope->ns_per_tick = lull_tape_field_f64(fields);
    double clock_error = lull_tape_field_f64(fields);
    if (whole_run || clock_error > trace->clock_error)
        trace->clock_error = clock_error;
    trace->has_states = lull_tape_field_u32(fields) != 0;
    trace->producer = take_text(merge, fields);
}

static void define_clock(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                         struct lull_tape_fields *fields)
{
    scope->points = lull_arena_grow(merge->trace->arena, scope->points, &scope->points_capacity,
                                    scope->n_points + 1, sizeof *scope->points);
    struct lull_tape_clock_point *point = &scope->points[scope->n_points++];
    point->ticks = lull_tape_field_u64(fields);
    point->ns = (int64_t)lull_tape_field_u64(fields);
    double error = lull_tape_field_f64(fields);
    if (error > merge->trace->clock_error)
        merge->trace->clock_error = error;
    if (error > scope->points_error)
        scope->points_error = error;
}

static void define_offset(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                          struct lull_tape_fields *fields)
{
    scope->offsets = lull_arena_grow(merge->trace->arena, scope->offsets, &scope->offsets_capacity,
                                     scope->n_offsets + 1, sizeof *scope->offsets);
    struct lull_tape_offset *offset = &scope->offsets[scope->n_offsets++];
    offset->ns = (int64_t)lull_tape_field_u64(fields);
    offset->to_run = (int64_t)lull_tape_field_u64(fields);
    offset->error = lull_tape_field_f64(fields);
}

static uint32_t index_of(const struct lull_tape_ids *ids, uint32_t id)
{
    return id < ids->count ? ids->index[id] : LULL_NONE;
}

static void define_node(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                        struct lull_tape_fields *fields)
{
    struct lull_node *node = NEW_ELEMENT(merge, LULL_TAPE_MAP_NODE, nodes, n_nodes);
    node->parent = index_of(&scope->maps[LULL_TAPE_MAP_NODE], lull_tape_field_u32(fields));
    node->name = take_text(merge, fields);
    node->class_name = take_text(merge, fields);
}

static void define_process(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                           uint32_t number, struct lull_tape_fields *fields)
{
    uint32_t index = lull_tape_process_index(merge->trace, number);
    struct lull_process ignored, *process = &ignored;
    if (index != LULL_NONE) {
        process = &merge->trace->processes[index];
    } else {
        lull_trace_add_quirk(merge->trace, "a process has no records; left out", "process %u",
                             number);
    }
    process->application = lull_tape_field_u32(fields);
    process->rank = lull_tape_field_u32(fields);
    process->node = index_of(&scope->maps[LULL_TAPE_MAP_NODE], lull_tape_field_u32(fields));
    process->name = take_text(merge, fields);
}

static void define_region(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_region *region = NEW_ELEMENT(merge, LULL_TAPE_MAP_REGION, regions, n_regions);
    uint32_t paradigm = lull_tape_field_u32(fields), role = lull_tape_field_u32(fields);
    region->paradigm = paradigm < LULL_PARADIGMS ? (uint8_t)paradigm : LULL_PARADIGM_OTHER;
    region->role = role < LULL_ROLES ? (uint8_t)role : LULL_ROLE_FUNCTION;
    region->parallel = lull_tape_field_u32(fields) != 0;
    region->line = lull_tape_field_u32(fields);
    region->name = take_text(merge, fields);
    region->file = take_text(merge, fields);
    /* Since there are sites, and only where there is one. */
    bool has_site = (size_t)(fields->end - fields->at) >= 2 * sizeof(uint32_t);
    region->whole = has_site ? lull_tape_field_u32(fields) : LULL_NONE;
    region->site = has_site ? take_text(merge, fields) : "";
}

/* A region like the whole, but for its place. */
static lull_status define_site(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                               struct lull_tape_fields *fields, uint32_t *index)
{
    struct lull_trace *trace = merge->trace;
    size_t size;
    struct lull_tape_site *site = lull_tape_read_site(scope, fields, &size);
    bool fresh = false;
    if (!site)
        return fields->bad ? LULL_ERR_FORMAT : LULL_ERR_MEMORY;
    *index = trace->n_regions;
    lull_status status =
        fields->bad ? LULL_ERR_FORMAT
                    : unify(merge, LULL_TAPE_MAP_REGION, site, size, *index, index, &fresh);
    if (fresh) {
        const struct lull_region whole = trace->regions[site->whole];
        *NEW_ELEMENT(merge, LULL_TAPE_MAP_REGION, regions, n_regions) = whole;
        lull_tape_add_site(trace, *index, site, size);
    }
    free(site);
    return status;
}

static void define_state(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_state *state = NEW_ELEMENT(merge, LULL_TAPE_MAP_STATE, states, n_states);
    state->number = lull_tape_field_u32(fields);
    uint32_t activity = lull_tape_field_u32(fields);
    state->activity = activity < LULL_ACTIVITIES ? (uint8_t)activity : LULL_OTHER;
    state->name = take_text(merge, fields);
}

static void define_counter(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_counter *counter = NEW_ELEMENT(merge, LULL_TAPE_MAP_COUNTER, counters, n_counters);
    counter->source_id = lull_tape_field_u64(fields);
    uint32_t role = lull_tape_field_u32(fields);
    counter->role = role <= LULL_COUNTER_CYCLES ? (uint8_t)role : LULL_COUNTER_OTHER;
    counter->name = take_text(merge, fields);
    counter->unit = take_text(merge, fields);
}

static void define_marker(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_marker *marker = NEW_ELEMENT(merge, LULL_TAPE_MAP_MARKER, markers, n_markers);
    marker->source_id = lull_tape_field_u64(fields);
    marker->name = take_text(merge, fields);
}

/* Members are process numbers until merge_end knows that all is there; a list that does not fit
 * its definition makes the definition bad. */
static void read_members(struct lull_tape_merge *merge, struct lull_comm *comm, uint32_t listed,
                         struct lull_tape_fields *fields)
{
    if (fields->bad || (size_t)(fields->end - fields->at) / sizeof(uint32_t) < listed) {
        fields->bad = true;
        return;
    }
    uint32_t *members = lull_arena_zero(merge->trace->arena, listed, sizeof *members);
    for (uint32_t i = 0; i < listed; i++)
        members[i] = lull_tape_field_u32(fields);
    comm->members = members;
}

static lull_status define_comm(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                               bool whole_run, struct lull_tape_fields *fields, uint32_t *ret_index)
{
    struct lull_trace *trace = merge->trace;
    uint64_t key = lull_tape_field_u64(fields);
    uint32_t index = trace->n_comms;
    bool fresh = true;
    lull_status status = LULL_OK;
    if (key != 0)
        status = unify(merge, LULL_TAPE_MAP_COMM, &key, sizeof key, index, &index, &fresh);
    if (status != LULL_OK)
        return status;
    if (fresh) {
        NEW_ELEMENT(merge, LULL_TAPE_MAP_COMM, comms, n_comms)->members = NULL;
        merge->drafts = lull_arena_grow(trace->arena, merge->drafts, &merge->drafts_capacity,
                                        (size_t)index + 1, sizeof *merge->drafts);
    }
    struct lull_comm *comm = &trace->comms[index];
    struct comm_draft *draft = &merge->drafts[index];
    uint32_t paradigm = lull_tape_field_u32(fields), size = lull_tape_field_u32(fields);
    comm->paradigm = paradigm < LULL_PARADIGMS ? (uint8_t)paradigm : LULL_PARADIGM_OTHER;
    if (!fresh && comm->size != size)
        return LULL_ERR_FORMAT;
    comm->size = size;
    comm->first = lull_tape_field_u32(fields);
    draft->parent = lull_tape_field_u32(fields);
    draft->remote = lull_tape_field_u32(fields);
    draft->scope = scope;
    draft->whole_run = whole_run;
    uint32_t listed = lull_tape_field_u32(fields);
    if (listed != 0 && listed != size)
        return LULL_ERR_FORMAT;
    if (listed != 0)
        read_members(merge, comm, listed, fields);
    comm->name = take_text(merge, fields);
    *ret_index = index;
    return LULL_OK;
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* Which map a kind of definition belongs to. */
static int map_of(unsigned kind)
{
    switch (kind) {
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
    default:
        return -1;
    }
}

static uint32_t next_index(const struct lull_trace *trace, int map)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t counts[LULL_TAPE_MAPS] = {
        [LULL_TAPE_MAP_NODE] = trace->n_nodes,       [LULL_TAPE_MAP_REGION] = trace->n_regions,
        [LULL_TAPE_MAP_STATE] = trace->n_states,     [LULL_TAPE_MAP_COMM] = trace->n_comms,
        [LULL_TAPE_MAP_COUNTER] = trace->n_counters, [LULL_TAPE_MAP_MARKER] = trace->n_markers,
        [LULL_TAPE_MAP_OBJECT] = data->n_objects,
    };
    return counts[map];
}

/* What means the same in several processes has the same content; only the parent of a node is
 * named by an id of the process. `*index` is the index of a new one. */
static lull_status unify_definition(struct lull_tape_merge *merge,
                                    const struct lull_tape_scope *scope, enum lull_tape_map map,
                                    const struct lull_tape_fields *fields, uint32_t *index,
                                    bool *ret_fresh)
{
    size_t size = (size_t)(fields->end - fields->at);
    if (map != LULL_TAPE_MAP_NODE)
        return unify(merge, map, fields->at, size, *index, index, ret_fresh);
    struct lull_tape_fields copy = *fields;
    uint32_t parent = index_of(&scope->maps[LULL_TAPE_MAP_NODE], lull_tape_field_u32(&copy));
    unsigned char *content = malloc(size + sizeof parent);
    if (!content)
        return LULL_ERR_MEMORY;
    memcpy(content, &parent, sizeof parent);
    memcpy(content + sizeof parent, copy.at, (size_t)(copy.end - copy.at));
    lull_status status = unify(merge, map, content, sizeof parent + (size_t)(copy.end - copy.at),
                               *index, index, ret_fresh);
    free(content);
    return status;
}

static void define_unified(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                           unsigned kind, struct lull_tape_fields *fields)
{
    switch (kind) {
    case LULL_TAPE_DEFINE_NODE:
        define_node(merge, scope, fields);
        break;
    case LULL_TAPE_DEFINE_REGION:
        define_region(merge, fields);
        break;
    case LULL_TAPE_DEFINE_STATE:
        define_state(merge, fields);
        break;
    case LULL_TAPE_DEFINE_COUNTER:
        define_counter(merge, fields);
        break;
    case LULL_TAPE_DEFINE_OBJECT:
        lull_tape_define_object(merge->trace, fields);
        break;
    default:
        define_marker(merge, fields);
        break;
    }
}

static lull_status define(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                          bool whole_run, const struct lull_tape_definition *definition,
                          struct lull_tape_fields *fields)
{
    int map = map_of(definition->kind);
    uint32_t index = 0;
    bool fresh = true;
    lull_status status = LULL_OK;
    if (map >= 0) {
        /* In the scope of the run every definition stands for itself. */
        index = next_index(merge->trace, map);
        if (!whole_run)
            status =
                unify_definition(merge, scope, (enum lull_tape_map)map, fields, &index, &fresh);
        if (status == LULL_OK && fresh)
            define_unified(merge, scope, definition->kind, fields);
        if (status == LULL_OK)
            status = set_id(merge, &scope->maps[map], definition->id, index);
        return status;
    }
    switch (definition->kind) {
    case LULL_TAPE_DEFINE_RUN:
        define_run(merge, scope, whole_run, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_CLOCK:
        define_clock(merge, scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_OFFSET:
        define_offset(merge, scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_PROCESS:
        define_process(merge, scope, definition->id, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_SITE:
        status = define_site(merge, scope, fields, &index);
        if (status == LULL_OK)
            status = set_id(merge, &scope->maps[LULL_TAPE_MAP_REGION], definition->id, index);
        return status;
    case LULL_TAPE_DEFINE_COMM:
        status = define_comm(merge, scope, whole_run, fields, &index);
        if (status == LULL_OK)
            status = set_id(merge, &scope->maps[LULL_TAPE_MAP_COMM], definition->id, index);
        return status;
    default: /* of a later version */
        lull_trace_add_quirk(merge->trace, "a definition of unknown kind; ignored", "kind %u",
                             definition->kind);
        return LULL_OK;
    }
}

static lull_status walk(struct lull_tape_merge *merge, const char *path, uint32_t process,
                        const struct lull_mapping *file, struct lull_tape_scope *scope,
                        struct lull_error *err)
{
    bool whole_run = process == LULL_TAPE_WHOLE_RUN;
    struct lull_tape_definitions_header header;
    if (file->size < sizeof header)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: truncated: %zu bytes, expected a header of %zu",
                         path, file->size, sizeof header);
    memcpy(&header, file->data, sizeof header);
    if (memcmp(header.magic, LULL_TAPE_DEFINITIONS_MAGIC, sizeof header.magic) != 0 ||
        header.byte_order != LULL_TAPE_BYTE_ORDER || header.header_size < sizeof header ||
        header.header_size > file->size)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset 0: no header of tape definitions", path);
    if (header.version != LULL_TAPE_VERSION)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written by a newer lull: version %u, this one reads %d", path,
                         header.version, LULL_TAPE_VERSION);
    if (header.process != process)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: belongs to process %u, expected %u",
                         path, offsetof(struct lull_tape_definitions_header, process),
                         header.process, process);
    uint64_t committed = __atomic_load_n(
        &((const struct lull_tape_definitions_header *)(const void *)file->data)->committed,
        __ATOMIC_ACQUIRE);
    if (committed > file->size - header.header_size)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: truncated: %llu bytes of definitions, the file holds %zu", path,
                         (unsigned long long)committed, file->size - header.header_size);
    merge->most_ids = committed;
    for (size_t at = header.header_size, end = at + committed; at < end;) {
        struct lull_tape_definition definition;
        if (end - at < sizeof definition)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: definition is cut", path, at);
        memcpy(&definition, file->data + at, sizeof definition);
        if (definition.size < sizeof definition || definition.size > end - at ||
            definition.size % 8 != 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: definition of %u bytes", path,
                             at, definition.size);
        struct lull_tape_fields fields = {file->data + at + sizeof definition,
                                          file->data + at + definition.size, false};
        lull_status status = define(merge, scope, whole_run, &definition, &fields);
        if (status != LULL_OK || fields.bad)
            return lull_fail(err, status != LULL_OK ? status : LULL_ERR_FORMAT,
                             "%s: offset %zu: bad definition of kind %u, id %u", path, at,
                             definition.kind, definition.id);
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
    status = walk(merge, path, process, &file, scope, err);
    lull_unmap(&file);
    if (status == LULL_OK)
        status = lull_tape_make_clock(merge->trace, path, scope, err);
    if (status == LULL_OK)
        *ret_found = true;
    return status;
}

static uint32_t mapped_comm(const struct comm_draft *draft, uint32_t id)
{
    return index_of(&draft->scope->maps[LULL_TAPE_MAP_COMM], id);
}

/* Index of thread `number` of a process, LULL_NONE if it has no tape. */
static uint32_t thread_index(const struct lull_trace *trace, uint32_t process, uint32_t number)
{
    uint32_t low = 0, high = trace->n_locations; /* its first location */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->locations[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < trace->n_locations && trace->locations[low].process == process; low++)
        if (trace->locations[low].number == number)
            return low;
    return LULL_NONE;
}

/* The members of a team are locations: in the scope of the run their indices, in that of a process
 * thread numbers. */
static lull_status resolve_team(struct lull_tape_merge *merge, uint32_t c, struct lull_error *err)
{
    struct lull_trace *trace = merge->trace;
    const struct lull_tape_data *data = trace->format_data;
    struct lull_comm *comm = &trace->comms[c];
    const struct comm_draft *draft = &merge->drafts[c];
    if (draft->whole_run)
        return LULL_OK;
    uint32_t process = (uint32_t)(draft->scope - data->scopes);
    uint32_t *members = NULL;
    bool missing = comm->size > trace->n_locations;
    if (!missing)
        members = lull_arena_zero(trace->arena, comm->size, sizeof *members);
    for (uint32_t r = 0; !missing && r < comm->size; r++) {
        members[r] =
            thread_index(trace, process, comm->members ? comm->members[r] : comm->first + r);
        missing = members[r] == LULL_NONE;
    }
    if (missing)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: team '%s' has a thread without a tape",
                         trace->path, comm->name);
    comm->members = members;
    return LULL_OK;
}

/* Whether a process that is not in the run was left out of it, and has not lost its tape: where
 * processes are spawned, numbers are given to them before it shows whether they are recorded. */
static bool is_outsider(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    return number == UINT32_MAX ||
           (data->spawns && lull_tape_process_index(trace, number) == LULL_NONE);
}

/* Of the members only those are kept that were recorded; which rank the others have is not known.
 */
static bool has_outsiders(struct lull_tape_merge *merge, struct lull_comm *comm)
{
    struct lull_trace *trace = merge->trace;
    const struct lull_tape_data *data = trace->format_data;
    bool row = !comm->members && comm->size > 0, found = false;
    uint32_t n = 0, most = row && comm->size > trace->n_processes ? trace->n_processes : comm->size;
    if (row && (comm->first == UINT32_MAX || data->spawns))
        for (uint32_t r = 0; r <= most && r < comm->size && !found; r++)
            found = is_outsider(trace, comm->first + r);
    for (uint32_t r = 0; comm->members && r < comm->size; r++)
        found |= is_outsider(trace, comm->members[r]);
    if (!found)
        return false;
    uint32_t *known = lull_arena_zero(trace->arena, (size_t)most + 1, sizeof *known);
    for (uint32_t r = 0; comm->members && r < comm->size; r++) {
        uint32_t process = lull_tape_process_index(trace, comm->members[r]);
        if (process != LULL_NONE)
            known[n++] = process;
    }
    for (uint32_t p = 0; row && comm->first != UINT32_MAX && p < trace->n_processes; p++)
        if (data->process_numbers[p] - comm->first < comm->size)
            known[n++] = p;
    comm->members = known;
    comm->size = n;
    lull_trace_add_quirk(trace, "a communicator has members that were not recorded", "'%s'",
                         comm->name);
    return true;
}

/* Process numbers become indices, ids of other communicators become indices. */
static lull_status resolve_comm(struct lull_tape_merge *merge, uint32_t c, struct lull_error *err)
{
    struct lull_trace *trace = merge->trace;
    struct lull_comm *comm = &trace->comms[c];
    const struct comm_draft *draft = &merge->drafts[c];
    comm->parent = mapped_comm(draft, draft->parent);
    comm->remote = mapped_comm(draft, draft->remote);
    if (comm->paradigm == LULL_PARADIGM_OPENMP)
        return resolve_team(merge, c, err);
    struct lull_tape_data *data = trace->format_data;
    data->outside[c] = has_outsiders(merge, comm);
    if (data->outside[c])
        return LULL_OK;
    bool missing = false;
    if (comm->members) {
        uint32_t *members = lull_arena_zero(trace->arena, comm->size, sizeof *members);
        for (uint32_t r = 0; r < comm->size; r++) {
            members[r] = lull_tape_process_index(trace, comm->members[r]);
            missing |= members[r] == LULL_NONE;
        }
        comm->members = members;
    } else if (comm->size > 0) {
        uint32_t first = lull_tape_process_index(trace, comm->first);
        uint32_t last = lull_tape_process_index(trace, comm->first + comm->size - 1);
        missing = first == LULL_NONE || last == LULL_NONE || last - first != comm->size - 1;
        comm->first = first;
    }
    if (!missing)
        return LULL_OK;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: communicator '%s' has a member without a tape",
                     trace->path, comm->name);
}

lull_status lull_tape_merge_end(struct lull_tape_merge *merge, lull_status status,
                                struct lull_error *err)
{
    struct lull_tape_data *data = merge->trace->format_data;
    data->outside =
        lull_arena_zero(merge->trace->arena, merge->trace->n_comms + 1, sizeof *data->outside);
    for (uint32_t c = 0; status == LULL_OK && c < merge->trace->n_comms; c++)
        status = resolve_comm(merge, c, err);
    forget(merge);
    free(merge);
    return status;
}
