/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/tape/read/tape_definitions.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "tape/definition.h"
#include "tape/layout.h"
#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_data.h"
#include "trace/format/tape/tape_share.h"
#include "trace/open_trace.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The scope in which all ids but those of communicators are looked up: that of the member that
 * tells, or the process's own. */
static inline struct lull_tape_scope *tape_names_of(const struct lull_tape_merge *merge,
                                                    struct lull_tape_scope *scope)
{
    return merge->names ? &merge->names->scope : scope;
}

/* What a member needs to tell definitions to the others. It tells each content once, with ids of
 * its own. */
struct lull_tape_telling {
    struct lull_trace *scratch;    /* a trace of the contents that it has told so far */
    struct lull_tape_merge *merge; /* of `scratch` */
    struct lull_tape_words *words;
    uint64_t offset; /* of the present definition in its file */
};

enum lull_tape_told_kind { TOLD_DEFINITION, TOLD_PIECE, TOLD_DAMAGE };

/* Stands in front of what is told of a process. */
struct lull_tape_told_process {
    uint32_t number;
    uint32_t found; /* whether the process has definitions */
    uint64_t size;
};

/* TOLD_DEFINITION: a definition follows, which stands at `offset` of its file. TOLD_PIECE: the
 * process has `offset` more bytes of definitions. TOLD_DAMAGE: a text follows that says what is
 * wrong with the definitions. */
struct lull_tape_told_entry {
    uint64_t offset;
    uint32_t kind, id; /* enum lull_tape_told_kind; the id in the file */
};

static lull_status tell_definition(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                   const struct lull_tape_definition *definition,
                                   struct lull_tape_fields *fields);
static void tell_piece(struct lull_tape_merge *merge, uint64_t size);

/* ==== kinds =================================================================================== */

/* One function for each kind of definition: puts a definition of a tape into the trace. */

const char *lull_tape_take_text(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    uint32_t length;
    const char *text = lull_tape_field_text(fields, &length);
    return lull_arena_strndup(merge->trace->arena, text, length);
}

/* The RUN of a process does not say how long the run was: the process cannot know how long others
 * went on. */
static void tape_define_run(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                            bool whole_run, struct lull_tape_fields *fields)
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
    trace->producer = lull_tape_take_text(merge, fields);
}

static void tape_define_clock(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
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

static void tape_define_offset(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                               struct lull_tape_fields *fields)
{
    scope->offsets = lull_arena_grow(merge->trace->arena, scope->offsets, &scope->offsets_capacity,
                                     scope->n_offsets + 1, sizeof *scope->offsets);
    struct lull_tape_offset *offset = &scope->offsets[scope->n_offsets++];
    offset->ns = (int64_t)lull_tape_field_u64(fields);
    offset->to_run = (int64_t)lull_tape_field_u64(fields);
    offset->error = lull_tape_field_f64(fields);
}

/* All processes say the same, so the first one counts. */
static void tape_define_disturbance(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_trace *trace = merge->trace;
    const uint64_t seed = lull_tape_field_u64(fields);
    const char *specs = lull_tape_take_text(merge, fields);
    if (trace->disturbed)
        return;
    trace->disturbed = specs;
    trace->disturbed_seed = seed;
}

static void tape_define_held(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    merge->trace->held += lull_tape_field_u64(fields);
    merge->trace->not_held += lull_tape_field_u64(fields);
}

static void tape_define_node(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                             struct lull_tape_fields *fields)
{
    struct lull_node *node = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_NODE, nodes, n_nodes);
    node->parent =
        lull_tape_index_of(&scope->maps[LULL_TAPE_MAP_NODE], lull_tape_field_u32(fields));
    node->name = lull_tape_take_text(merge, fields);
    node->class_name = lull_tape_take_text(merge, fields);
}

static void tape_define_process(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
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
    process->node = lull_tape_index_of(&tape_names_of(merge, scope)->maps[LULL_TAPE_MAP_NODE],
                                       lull_tape_field_u32(fields));
    process->name = lull_tape_take_text(merge, fields);
    if ((size_t)(fields->end - fields->at) >= sizeof scope->clock) /* less is padding */
        scope->clock = lull_tape_field_u64(fields);
}

static void tape_define_life(struct lull_tape_scope *scope, struct lull_tape_fields *fields)
{
    scope->life.node = lull_tape_field_u64(fields);
    scope->life.space = lull_tape_field_u64(fields);
    scope->life.pid = lull_tape_field_u64(fields);
    scope->life.start = lull_tape_field_u64(fields);
}

static void tape_define_memory(struct lull_tape_merge *merge, uint32_t number,
                               struct lull_tape_fields *fields)
{
    const uint32_t index = lull_tape_process_index(merge->trace, number);
    const struct lull_tape_memory of = lull_tape_field_memory(fields);
    const uint64_t all = of.peak | of.resident | of.swapped | of.node | of.limit | of.group;
    if (all > INT64_MAX)
        lull_trace_add_quirk(merge->trace,
                             "a process says that it had more memory than there can be; ignored",
                             "process %u", number);
    else if (index != LULL_NONE && !fields->bad)
        merge->trace->processes[index].memory =
            (struct lull_process_memory){.peak = of.peak,
                                         .resident = of.resident,
                                         .swapped = of.swapped,
                                         .node = of.node,
                                         .limit = of.limit,
                                         .group = of.group};
}

/* Times stay in ticks until the clocks are known (lull_tape_place_readings). */
static void tape_define_readings(struct lull_tape_merge *merge, uint32_t number,
                                 struct lull_tape_fields *fields)
{
    const uint32_t index = lull_tape_process_index(merge->trace, number);
    const size_t most = (size_t)(fields->end - fields->at) / sizeof(struct lull_tape_reading);
    if (index == LULL_NONE || most == 0)
        return;
    struct lull_process *process = &merge->trace->processes[index];
    process->readings = lull_arena_zero(merge->trace->arena, most, sizeof *process->readings);
    process->n_readings = 0;
    struct lull_tape_reading reading;
    while (lull_tape_field_reading(fields, &reading))
        if (reading.bytes > 0 && reading.bytes <= INT64_MAX)
            process->readings[process->n_readings++] =
                (struct lull_memory_reading){(int64_t)reading.time, reading.bytes};
}

static void tape_define_region(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_region *region = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_REGION, regions, n_regions);
    uint32_t paradigm = lull_tape_field_u32(fields), role = lull_tape_field_u32(fields);
    region->paradigm = paradigm < LULL_PARADIGMS ? (uint8_t)paradigm : LULL_PARADIGM_OTHER;
    region->role = role < LULL_ROLES ? (uint8_t)role : LULL_ROLE_FUNCTION;
    region->parallel = lull_tape_field_u32(fields) != 0;
    region->line = lull_tape_field_u32(fields);
    region->name = lull_tape_take_text(merge, fields);
    region->file = lull_tape_take_text(merge, fields);
    /* These two fields are there only for a call site. */
    bool has_site = (size_t)(fields->end - fields->at) >= 2 * sizeof(uint32_t);
    region->whole = has_site ? lull_tape_field_u32(fields) : LULL_NONE;
    region->site = has_site ? lull_tape_take_text(merge, fields) : "";
}

/* Finds or makes the region of a call site; a new one is a copy of the whole region, and gets its
 * own place when sites are named. *index: its index. */
static lull_status tape_define_site(struct lull_tape_merge *merge,
                                    const struct lull_tape_scope *scope,
                                    struct lull_tape_fields *fields, uint32_t *index)
{
    struct lull_trace *trace = merge->trace;
    size_t size;
    struct lull_tape_site *site = lull_tape_read_site(scope, fields, &size);
    bool fresh = false;
    if (!site)
        return fields->bad ? LULL_ERR_FORMAT : LULL_ERR_MEMORY;
    *index = trace->n_regions;
    lull_status status = fields->bad ? LULL_ERR_FORMAT
                                     : lull_tape_unify(merge, LULL_TAPE_MAP_REGION, site, size,
                                                       *index, index, &fresh);
    if (fresh) {
        const struct lull_region whole = trace->regions[site->whole];
        *TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_REGION, regions, n_regions) = whole;
        lull_tape_add_site(trace, *index, site, size);
    }
    free(site);
    return status;
}

static void tape_define_state(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_state *state = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_STATE, states, n_states);
    state->number = lull_tape_field_u32(fields);
    uint32_t activity = lull_tape_field_u32(fields);
    state->activity = activity < LULL_ACTIVITIES ? (uint8_t)activity : LULL_OTHER;
    state->name = lull_tape_take_text(merge, fields);
}

static void tape_define_counter(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_counter *counter =
        TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_COUNTER, counters, n_counters);
    counter->source_id = lull_tape_field_u64(fields);
    uint32_t role = lull_tape_field_u32(fields);
    counter->role = role < LULL_COUNTER_ROLES ? (uint8_t)role : LULL_COUNTER_OTHER;
    counter->name = lull_tape_take_text(merge, fields);
    counter->unit = lull_tape_take_text(merge, fields);
}

static void tape_define_file(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_file *file = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_FILE, files, n_files);
    uint32_t kind = lull_tape_field_u32(fields);
    file->kind = kind < LULL_FILE_KINDS ? (uint8_t)kind : LULL_FILE_OTHER;
    file->name = lull_tape_take_text(merge, fields);
}

static void tape_define_marker(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_marker *marker = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_MARKER, markers, n_markers);
    marker->source_id = lull_tape_field_u64(fields);
    marker->name = lull_tape_take_text(merge, fields);
}

/* ==== memory of regions ======================================================================= */

static void tape_define_region_memory(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                      struct lull_tape_fields *fields)
{
    struct lull_trace *trace = merge->trace;
    struct lull_tape_data *data = trace->format_data;
    const uint32_t region =
                       lull_tape_index_of(&tape_names_of(merge, scope)->maps[LULL_TAPE_MAP_REGION],
                                          lull_tape_field_u32(fields)),
                   process = lull_tape_process_index(trace, lull_tape_field_u32(fields));
    const struct lull_tape_region_memory memory = lull_tape_field_region_memory(fields);
    if (region == LULL_NONE)
        fields->bad = true;
    if (fields->bad || process == LULL_NONE)
        return;
    if ((memory.peak | memory.visits) > INT64_MAX || memory.measured > memory.visits) {
        lull_trace_add_quirk(trace, "the memory of a region contradicts itself; ignored", "%s",
                             trace->regions[region].name);
        return;
    }
    trace->region_memory =
        lull_arena_grow(trace->arena, trace->region_memory, &data->region_memory_capacity,
                        trace->n_region_memory + 1, sizeof *trace->region_memory);
    trace->region_memory[trace->n_region_memory++] =
        (struct lull_region_memory){process, region, memory.peak, memory.measured, memory.visits};
}

/* ==== throttled =============================================================================== */

/* Functions whose calls were left out because they are short: the user has to know that there were
 * more calls. */

static void tape_define_throttled(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                  uint32_t id, struct lull_tape_fields *fields)
{
    struct lull_tape_data *data = merge->trace->format_data;
    const uint32_t region =
        lull_tape_index_of(&tape_names_of(merge, scope)->maps[LULL_TAPE_MAP_REGION], id);
    const uint64_t ns = lull_tape_field_u64(fields), calls = lull_tape_field_u64(fields);
    if (region == LULL_NONE)
        fields->bad = true;
    if (fields->bad)
        return;
    struct lull_tape_throttled *known = data->throttled;
    while (known && known->region != region)
        known = known->next;
    if (!known) {
        known = lull_arena_zero(merge->trace->arena, 1, sizeof *known);
        *known = (struct lull_tape_throttled){.next = data->throttled, .region = region, .ns = ns};
        data->throttled = known;
    }
    if (calls != LULL_TAPE_NOT_COUNTED)
        known->calls += calls;
    else
        known->processes++; /* a process says this first, and the number of calls at its end */
    known->counted += calls != LULL_TAPE_NOT_COUNTED;
    if (ns > known->ns)
        known->ns = ns;
}

static int by_calls(const void *a, const void *b)
{
    const struct lull_left_out *x = a, *y = b;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return (x->region > y->region) - (x->region < y->region);
}

static void list_left_out(struct lull_trace *trace, const struct lull_tape_throttled *all)
{
    uint32_t count = 0;
    for (const struct lull_tape_throttled *one = all; one; one = one->next)
        count++;
    trace->left_out = lull_arena_zero(trace->arena, count, sizeof *trace->left_out);
    for (const struct lull_tape_throttled *one = all; one; one = one->next)
        trace->left_out[trace->n_left_out++] =
            (struct lull_left_out){.region = one->region,
                                   .calls = one->calls,
                                   .at_least = one->counted < one->processes,
                                   .ns = (int64_t)one->ns};
    qsort(trace->left_out, count, sizeof *trace->left_out, by_calls);
}

void lull_tape_tell_throttled(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    if (!data->throttled)
        return;
    list_left_out(trace, data->throttled);
    for (uint32_t i = 0; i < trace->n_left_out; i++)
        lull_trace_add_quirk(trace,
                             "calls of short functions are left out, their time is that of their "
                             "callers (lull record --throttle; lull info lists them)",
                             "%s", trace->regions[trace->left_out[i].region].name);
}

/* ==== definitions ============================================================================= */

/* Definitions of a tape are read from one file for the run, or from the file of each process, and
 * merged.
 *
 * Each process of a recorded run names things by its own ids. Definitions of several processes that
 * have the same content (communicators: the same key) become one definition of the trace. */

struct lull_tape_merge *lull_tape_merge_begin(struct lull_trace *trace)
{
    struct lull_tape_merge *merge = calloc(1, sizeof *merge);
    if (merge)
        merge->trace = trace;
    return merge;
}

void lull_tape_merge_process(struct lull_tape_merge *merge, uint32_t process)
{
    merge->process = process;
}

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
    lull_hash_free(&merge->properties);
    free(merge);
}

/* Gives an id its index. Ids are counted from 0 on; one beyond the size of its file is refused,
 * because its map would take memory out of proportion. The maps of a scope are in merge->room until
 * lull_tape_keep_ids; then the next scope has this memory. */
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

/* Keeps the map of a scope. Processes of one program give most things the same ids, so that they
 * can share one map. */
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

/* Whether definitions of this kind become one where they mean the same in several processes. */
static bool is_shared_kind(unsigned kind)
{
    return map_of(kind) >= 0;
}

static uint32_t next_index(const struct lull_trace *trace, int map)
{
    const uint32_t counts[LULL_TAPE_MAPS] = {
        [LULL_TAPE_MAP_NODE] = trace->n_nodes,       [LULL_TAPE_MAP_REGION] = trace->n_regions,
        [LULL_TAPE_MAP_STATE] = trace->n_states,     [LULL_TAPE_MAP_COMM] = trace->n_comms,
        [LULL_TAPE_MAP_COUNTER] = trace->n_counters, [LULL_TAPE_MAP_MARKER] = trace->n_markers,
        [LULL_TAPE_MAP_OBJECT] = trace->n_objects,   [LULL_TAPE_MAP_FILE] = trace->n_files,
    };
    return counts[map];
}

/* The content by which equal definitions are found: the fields themselves. Only the parent of a
 * node is an id of the process, and is replaced by its index, in a copy that the caller frees
 * (*ret_own). */
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

/* Finds the index of a definition with the same content; a new one gets *index. */
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
        tape_define_node(merge, scope, fields);
        break;
    case LULL_TAPE_DEFINE_REGION:
        tape_define_region(merge, fields);
        break;
    case LULL_TAPE_DEFINE_STATE:
        tape_define_state(merge, fields);
        break;
    case LULL_TAPE_DEFINE_COUNTER:
        tape_define_counter(merge, fields);
        break;
    case LULL_TAPE_DEFINE_OBJECT:
        lull_tape_define_object(merge->trace, fields);
        break;
    case LULL_TAPE_DEFINE_FILE:
        tape_define_file(merge, fields);
        break;
    default:
        tape_define_marker(merge, fields);
        break;
    }
}

/* Finds or makes a definition of a shared kind: its index, and whether it is new. */
static lull_status define_shared(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                 bool whole_run, const struct lull_tape_definition *definition,
                                 struct lull_tape_fields *fields, uint32_t *ret_index,
                                 bool *ret_fresh)
{
    const struct lull_tape_scope *names = tape_names_of(merge, scope);
    const enum lull_tape_map map = (enum lull_tape_map)map_of(definition->kind);
    lull_status status = LULL_OK;
    *ret_index = next_index(merge->trace, map);
    *ret_fresh = true;
    if (definition->kind == LULL_TAPE_DEFINE_SITE) {
        const uint32_t before = *ret_index;
        status = tape_define_site(merge, names, fields, ret_index);
        *ret_fresh = merge->trace->n_regions > before;
        return status;
    }
    if (!whole_run) /* in definitions of the run every one stands for itself */
        status = unify_definition(merge, names, map, fields, ret_index, ret_fresh);
    if (status == LULL_OK && *ret_fresh)
        define_unified(merge, names, definition->kind, fields);
    return status;
}

static lull_status set_shared_id(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                 const struct lull_tape_definition *definition, uint32_t index)
{
    return set_id(merge, scope, map_of(definition->kind), definition->id, index);
}

/* Looks up what an id of a process means, when all definitions have been told. A definition that is
 * not known is one that the program has made since. */
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
        return tell_definition(merge, scope, definition, fields);
    if (merge->learns)
        return learn(merge, scope, definition, fields);
    if (is_shared_kind(definition->kind)) {
        status = define_shared(merge, scope, whole_run, definition, fields, &index, &fresh);
        return status != LULL_OK ? status : set_shared_id(merge, scope, definition, index);
    }
    switch (definition->kind) {
    case LULL_TAPE_DEFINE_RUN:
        tape_define_run(merge, scope, whole_run, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_CLOCK:
        tape_define_clock(merge, scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_OFFSET:
        tape_define_offset(merge, scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_WORLD:
        lull_tape_define_world(scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_DISTURBANCE:
        tape_define_disturbance(merge, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_HELD:
        tape_define_held(merge, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_PROPERTY:
        lull_tape_define_property(merge, whole_run, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_EXIT:
        lull_tape_define_exit(merge, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_PROCESS:
        tape_define_process(merge, scope, definition->id, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_LIFE:
        tape_define_life(scope, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_MEMORY:
        tape_define_memory(merge, definition->id, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_READINGS:
        tape_define_readings(merge, definition->id, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_COMM:
        status = lull_tape_define_comm(merge, scope, whole_run, fields, &index);
        if (status == LULL_OK)
            status = set_id(merge, scope, LULL_TAPE_MAP_COMM, definition->id, index);
        return status;
    case LULL_TAPE_DEFINE_FAR:
        return lull_tape_define_far(merge, scope, definition->id, fields);
    case LULL_TAPE_DEFINE_THROTTLED:
        tape_define_throttled(merge, scope, definition->id, fields);
        return LULL_OK;
    case LULL_TAPE_DEFINE_REGION_MEMORY:
        tape_define_region_memory(merge, scope, fields);
        return LULL_OK;
    default: /* of a later version */
        lull_trace_add_quirk(merge->trace, "a definition of unknown kind; ignored", "kind %u",
                             definition->kind);
        return LULL_OK;
    }
}

static lull_status define_bytes(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                bool whole_run, const unsigned char *bytes)
{
    struct lull_tape_definition definition;
    memcpy(&definition, bytes, sizeof definition);
    struct lull_tape_fields fields = {bytes + sizeof definition, bytes + definition.size, false};
    lull_status status = define(merge, scope, whole_run, &definition, &fields);
    return status == LULL_OK && fields.bad ? LULL_ERR_FORMAT : status;
}

static lull_status bad_definition(const char *path, uint64_t offset, const unsigned char *bytes,
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
    const lull_status status = lull_tape_check_version(path, header->version, err);
    if (status != LULL_OK)
        return status;
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

/* Takes all definitions in `size` bytes, which stand in the file from `begin` on. */
static lull_status walk_definitions(struct lull_tape_merge *merge, const char *path,
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
        tell_piece(merge, header.committed);
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
        status = define_bytes(merge, scope, whole_run, bytes + at);
        if (status != LULL_OK)
            return bad_definition(path, begin + at, bytes + at, definition.id, status, err);
        at += definition.size;
    }
    return LULL_OK;
}

lull_status lull_tape_read_definitions(struct lull_tape_merge *merge, const char *path,
                                       struct lull_tape_scope *scope, bool *ret_found,
                                       struct lull_error *err)
{
    *ret_found = false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return LULL_OK;
    struct lull_mapping file;
    lull_status status = lull_map_file(path, &file, err);
    if (status != LULL_OK)
        return status;
    merge->most_ids = 0;
    status =
        walk_definitions(merge, path, LULL_TAPE_WHOLE_RUN, file.data, 0, file.size, scope, err);
    lull_unmap(&file);
    if (status == LULL_OK)
        *ret_found = true;
    return status;
}

/* How many bytes of a part hold definitions, by the header at its begin; `size` bytes of the part
 * are there. What is behind need not be read. */
static uint64_t used_of(const unsigned char *bytes, uint64_t size, uint64_t whole)
{
    struct lull_tape_definitions_header header;
    if (size < sizeof header)
        return size;
    memcpy(&header, bytes, sizeof header);
    const uint64_t used = header.header_size + header.committed;
    return used < header.committed || used > whole ? whole : used;
}

/* Reads a part of a file and takes the definitions in it. */
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
    lull_status status = got < 0 || more < 0
                             ? lull_tape_source_fail(source, path, err)
                             : walk_definitions(merge, path, process, bytes, (size_t)piece.offset,
                                                (size_t)(got + more), scope, err);
    free(bytes);
    return status;
}

static bool defines_nothing(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    const size_t at = lull_sorted_first_u32(data->listed, data->n_listed, sizeof *data->listed,
                                            offsetof(struct lull_tape_listed, number), number);
    return at < data->n_listed && data->listed[at].number == number &&
           data->listed[at].defines_nothing;
}

/* The file is read and not mapped: with a mapping the system would read many pages around each one
 * that is looked at. */
lull_status lull_tape_read_definitions_of(const struct lull_trace *trace,
                                          struct lull_tape_merge *merge, uint32_t number,
                                          struct lull_tape_scope *scope, char *path,
                                          bool *ret_found, struct lull_error *err)
{
    struct lull_tape_source source;
    struct lull_tape_pieces pieces = {0};
    lull_tape_process_path(trace, number, path, LULL_TAPE_PATH);
    *ret_found = false;
    if (defines_nothing(trace, number))
        return LULL_OK;
    lull_status status =
        lull_tape_source_open(trace, LULL_TAPE_NODE_PROCESS, number, 0, &source, err);
    if (status != LULL_OK)
        return status;
    lull_tape_source_sparse(&source);
    merge->most_ids = 0;
    status = lull_tape_find_definitions(&source, path, number, &pieces, err);
    for (size_t i = 0; status == LULL_OK && i < pieces.n; i++)
        status = walk_stored(merge, &source, path, number, pieces.list[i], scope, err);
    *ret_found = pieces.n > 0;
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

lull_status lull_tape_leave_out_process(struct lull_trace *trace, uint32_t process,
                                        const struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    data->scopes[process] = (struct lull_tape_scope){0};
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
        if (trace->locations[l].process == process)
            status = lull_tape_leave_out_location(trace, l, LULL_ERR_FORMAT, err);
    return status;
}

lull_status lull_tape_no_definitions(const struct lull_trace *trace, uint32_t number,
                                     struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    return lull_fail(err, LULL_ERR_FORMAT, "%s: has no definitions, and there is no %s/definitions",
                     lull_tape_process_path(trace, number, path, sizeof path), trace->path);
}

/* ==== tell ==================================================================================== */

/* Telling definitions to the other members of a team. A member tells the definitions of its own
 * processes. Those that belong to one process alone (clocks, communicators ...) it tells as they
 * stand in the file. Of those that many processes have in common (regions, call sites, counters
 * ...) it tells the ones that it has not told before, and gives them ids of its own: 0, 1, ... for
 * each kind. */

/* How a definition is changed before it is told: it gets another id, and `change` changes its
 * fields, which have `size` bytes. */
struct translation {
    const struct lull_tape_scope *scope;
    void (*change)(const struct lull_tape_scope *scope, unsigned char *fields, size_t size);
    uint32_t id;
};

static void tell_translated(struct lull_tape_merge *merge,
                            const struct lull_tape_definition *definition,
                            const struct lull_tape_fields *fields,
                            const struct translation *translation)
{
    struct lull_tape_words *words = merge->telling->words;
    const struct lull_tape_told_entry entry = {
        .offset = merge->telling->offset, .kind = TOLD_DEFINITION, .id = definition->id};
    lull_tape_say(words, &entry, sizeof entry);
    const size_t at = words->size;
    lull_tape_say(words, fields->at - sizeof *definition, definition->size);
    if (words->failed)
        return;
    struct lull_tape_definition *told = (void *)(words->bytes + at);
    told->id = translation->id;
    if (translation->change)
        translation->change(translation->scope, words->bytes + at + sizeof *told,
                            definition->size - sizeof *told);
}

static void tell_piece(struct lull_tape_merge *merge, uint64_t size)
{
    const struct lull_tape_told_entry entry = {.offset = size, .kind = TOLD_PIECE};
    lull_tape_say(merge->telling->words, &entry, sizeof entry);
}

/* ---- ids in definitions ---------------------------------------------------------------------- */

static void change_id(const struct lull_tape_scope *scope, enum lull_tape_map map,
                      unsigned char *field)
{
    uint32_t id;
    memcpy(&id, field, sizeof id);
    id = lull_tape_index_of(&scope->maps[map], id);
    memcpy(field, &id, sizeof id);
}

static void change_node(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    if (size >= sizeof(uint32_t))
        change_id(scope, LULL_TAPE_MAP_NODE, fields); /* the parent of the node */
}

static void change_process(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    enum { NODE = 2 * sizeof(uint32_t) };
    if (size >= NODE + sizeof(uint32_t))
        change_id(scope, LULL_TAPE_MAP_NODE, fields + NODE);
}

static void change_region(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    if (size >= sizeof(uint32_t))
        change_id(scope, LULL_TAPE_MAP_REGION, fields);
}

/* The fields are those of a site that was read without a failure. */
static void change_site(const struct lull_tape_scope *scope, unsigned char *fields, size_t size)
{
    enum { SITE_HEAD = 2 * sizeof(uint32_t), PLACES = SITE_HEAD + sizeof(uint32_t) };
    enum { PLACE = sizeof(uint32_t) + sizeof(uint64_t) };
    uint32_t count;
    memcpy(&count, fields + SITE_HEAD, sizeof count);
    change_id(scope, LULL_TAPE_MAP_REGION, fields);
    for (size_t at = PLACES; count > 0 && size - at >= PLACE; count--, at += PLACE)
        change_id(scope, LULL_TAPE_MAP_OBJECT, fields + at);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static lull_status tell_shared(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                               const struct lull_tape_definition *definition,
                               struct lull_tape_fields *fields)
{
    const struct lull_tape_fields whole = *fields;
    struct translation translation = {.scope = scope};
    bool fresh = false;
    if (definition->kind == LULL_TAPE_DEFINE_NODE)
        translation.change = change_node;
    else if (definition->kind == LULL_TAPE_DEFINE_SITE)
        translation.change = change_site;
    lull_status status =
        define_shared(merge, scope, false, definition, fields, &translation.id, &fresh);
    if (status == LULL_OK && fresh)
        tell_translated(merge, definition, &whole, &translation);
    return status != LULL_OK ? status : set_shared_id(merge, scope, definition, translation.id);
}

static lull_status tell_definition(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                                   const struct lull_tape_definition *definition,
                                   struct lull_tape_fields *fields)
{
    struct translation translation = {.scope = scope, .id = definition->id};
    if (is_shared_kind(definition->kind))
        return tell_shared(merge, scope, definition, fields);
    if (definition->kind == LULL_TAPE_DEFINE_PROCESS)
        translation.change = change_process;
    if (definition->kind == LULL_TAPE_DEFINE_REGION_MEMORY)
        translation.change = change_region;
    if (definition->kind == LULL_TAPE_DEFINE_THROTTLED) {
        translation.id = lull_tape_index_of(&scope->maps[LULL_TAPE_MAP_REGION], definition->id);
        if (translation.id == LULL_NONE)
            return LULL_ERR_FORMAT;
    }
    tell_translated(merge, definition, fields, &translation);
    return LULL_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void set_size(struct lull_tape_words *words, size_t begin, bool found)
{
    if (words->failed)
        return;
    struct lull_tape_told_process *told = (void *)(words->bytes + begin);
    told->found = found;
    told->size = words->size - begin - sizeof *told;
}

/* Keeps what the ids of a process mean among the ids of this member, until `translate` knows what
 * they mean to all. */
static void keep_own(const struct lull_trace *trace, struct lull_tape_merge *merge,
                     uint32_t process, struct lull_tape_scope *scope)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_tape_keep_ids(merge, scope);
    for (int map = 0; map < LULL_TAPE_MAPS; map++)
        if (map != LULL_TAPE_MAP_COMM)
            data->scopes[process].maps[map] = scope->maps[map];
}

static lull_status tell_process(const struct lull_trace *trace, struct lull_tape_telling *telling,
                                uint32_t process, struct lull_tape_words *words,
                                struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_told_process told = {.number = data->process_numbers[process]};
    const struct lull_tape_told_entry damage = {.kind = TOLD_DAMAGE};
    const size_t begin = words->size;
    struct lull_tape_scope scope = {0};
    char path[LULL_TAPE_PATH];
    bool found;
    telling->words = words;
    lull_tape_say(words, &told, sizeof told);
    lull_status status = lull_tape_read_definitions_of(telling->scratch, telling->merge,
                                                       told.number, &scope, path, &found, err);
    if (status == LULL_ERR_FORMAT) {
        lull_tape_say(words, &damage, sizeof damage);
        lull_tape_say_text(words, err->text);
        found = true;
        status = LULL_OK;
    } else if (status == LULL_OK) {
        keep_own(trace, telling->merge, process, &scope);
    }
    set_size(words, begin, found);
    return status;
}

/* A trace into which a member puts what it has told, as if that were a run. */
static struct lull_trace *make_scratch(const struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_trace *scratch = lull_trace_create();
    struct lull_tape_data *own = lull_arena_zero(scratch->arena, 1, sizeof *own);
    own->packed_run = data->packed_run;
    own->containers = data->containers;
    own->listed = data->listed;
    own->n_listed = data->n_listed;
    scratch->path = trace->path;
    scratch->format_data = own;
    scratch->shared->opening = true;
    return scratch;
}

static lull_status begin_telling(const struct lull_trace *trace, struct lull_tape_telling *telling,
                                 struct lull_error *err)
{
    *telling = (struct lull_tape_telling){.scratch = make_scratch(trace)};
    telling->merge = lull_tape_merge_begin(telling->scratch);
    if (!telling->merge)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    telling->merge->telling = telling;
    return LULL_OK;
}

static void end_telling(struct lull_tape_telling *telling)
{
    if (telling->merge)
        lull_tape_merge_free(telling->merge);
    lull_trace_close(telling->scratch);
}

/* ==== listen ================================================================================== */

/* Taking the definitions that members have told, in the order of processes, from whichever member
 * tells of each. */

/* What a member has told, and how far it was taken. */
struct speech {
    struct lull_tape_ear ear;
    struct lull_tape_names names;
};

struct listener {
    struct lull_trace *trace;
    struct lull_tape_merge *merge;
    struct speech *speeches; /* [members] */
    uint32_t begin, end;     /* the processes that are told of */
    bool found_run;          /* the run has definitions */
};

/* ---- of the run ------------------------------------------------------------------------------ */

static char *run_path(const struct lull_trace *trace, char *path)
{
    snprintf(path, LULL_TAPE_PATH, "%s/definitions", trace->path);
    return path;
}

/* The first member reads the definitions of the run for all. */
static lull_status tell_run(const struct lull_trace *trace, struct lull_tape_words *words,
                            struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    struct lull_mapping file = {0};
    uint64_t size = UINT64_MAX; /* there are none */
    lull_status status = LULL_OK;
    if (access(run_path(trace, path), F_OK) == 0 || errno != ENOENT) {
        status = lull_map_file(path, &file, err);
        size = file.size;
    }
    if (status != LULL_OK)
        return status;
    lull_tape_say(words, &size, sizeof size);
    if (size != UINT64_MAX)
        lull_tape_say(words, file.data, file.size);
    lull_unmap(&file);
    return LULL_OK;
}

static lull_status hear_run(struct listener *listener, struct lull_error *err)
{
    struct lull_trace *trace = listener->trace;
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_merge *merge = listener->merge;
    struct lull_tape_ear *ear = &listener->speeches[0].ear;
    char path[LULL_TAPE_PATH];
    uint64_t size;
    lull_tape_hear(ear, &size, sizeof size);
    listener->found_run = !ear->bad && size != UINT64_MAX;
    if (!listener->found_run)
        return LULL_OK;
    const unsigned char *bytes = lull_tape_hear_bytes(ear, size);
    merge->most_ids = 0;
    lull_status status = bytes ? walk_definitions(merge, run_path(trace, path), LULL_TAPE_WHOLE_RUN,
                                                  bytes, 0, size, &data->run, err)
                               : lull_tape_other_run(trace, err);
    lull_tape_keep_ids(merge, &data->run);
    return status;
}

/* ---- of a process ---------------------------------------------------------------------------- */

/* The next entry that is told of a process, with the bytes of its definition, if it has one. */
static bool next_entry(struct lull_tape_ear *ear, struct lull_tape_told_entry *entry,
                       const unsigned char **ret_definition)
{
    struct lull_tape_definition definition = {.size = 0};
    if (ear->at >= ear->end || !lull_tape_hear(ear, entry, sizeof *entry))
        return false;
    *ret_definition = NULL;
    if (entry->kind != TOLD_DEFINITION)
        return true;
    if ((size_t)(ear->end - ear->at) >= sizeof definition)
        memcpy(&definition, ear->at, sizeof definition);
    if (definition.size < sizeof definition) {
        ear->bad = true;
        return false;
    }
    *ret_definition = lull_tape_hear_bytes(ear, definition.size);
    return *ret_definition != NULL;
}

/* Takes the rest of what is told of a process that is left out, because a definition made no sense.
 * Shared definitions in the rest are needed: the member does not tell them again. */
static void hear_rest(struct lull_tape_merge *merge, struct lull_tape_ear *ear,
                      struct lull_tape_scope *scope)
{
    struct lull_tape_told_entry entry;
    const unsigned char *definition;
    while (next_entry(ear, &entry, &definition)) {
        struct lull_tape_definition head = {.kind = 0};
        if (definition)
            memcpy(&head, definition, sizeof head);
        if (definition && is_shared_kind(head.kind))
            define_bytes(merge, scope, false, definition);
        else if (entry.kind == TOLD_DAMAGE)
            lull_tape_hear_text(ear);
    }
}

static lull_status hear_entries(const struct listener *listener, struct lull_tape_ear *ear,
                                uint32_t number, struct lull_tape_scope *scope,
                                struct lull_error *err)
{
    struct lull_tape_merge *merge = listener->merge;
    struct lull_tape_told_entry entry;
    const unsigned char *definition = NULL;
    char path[LULL_TAPE_PATH];
    lull_status status = LULL_OK;
    merge->most_ids = 0;
    while (status == LULL_OK && next_entry(ear, &entry, &definition)) {
        if (entry.kind == TOLD_PIECE)
            merge->most_ids += entry.offset;
        else if (definition)
            status = define_bytes(merge, scope, false, definition);
        else
            return lull_fail(err, LULL_ERR_FORMAT, "%s", lull_tape_hear_text(ear));
    }
    if (status != LULL_OK)
        status = bad_definition(lull_tape_process_path(listener->trace, number, path, sizeof path),
                                entry.offset, definition, entry.id, status, err);
    if (status == LULL_ERR_FORMAT)
        hear_rest(merge, ear, scope);
    return ear->bad ? lull_tape_other_run(listener->trace, err) : status;
}

/* What the member has told that tells of the process; NULL: it is not the next process there. */
static struct speech *speech_of(const struct listener *listener, uint32_t number)
{
    const struct lull_tape_data *data = listener->trace->format_data;
    const uint32_t owner = lull_tape_owner(data->share, number);
    struct lull_tape_told_process next = {.number = 0};
    if (owner == LULL_NONE)
        return NULL;
    struct speech *speech = &listener->speeches[owner];
    const struct lull_tape_ear *ear = &speech->ear;
    if ((size_t)(ear->end - ear->at) < sizeof next)
        return NULL;
    memcpy(&next, ear->at, sizeof next);
    return next.number == number ? speech : NULL;
}

/* Keeps the process's ids of communicators; its other ids are known to its owner alone. */
static void keep_comms(struct lull_tape_merge *merge, struct lull_tape_scope *scope)
{
    struct lull_tape_scope comms = {0};
    comms.maps[LULL_TAPE_MAP_COMM] = scope->maps[LULL_TAPE_MAP_COMM];
    lull_tape_keep_ids(merge, &comms);
    scope->maps[LULL_TAPE_MAP_COMM] = comms.maps[LULL_TAPE_MAP_COMM];
}

static lull_status hear_process(const struct listener *listener, uint32_t process,
                                struct lull_error *err)
{
    struct lull_trace *trace = listener->trace;
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_merge *merge = listener->merge;
    const uint32_t number = data->process_numbers[process];
    struct speech *speech = speech_of(listener, number);
    struct lull_tape_told_process told;
    if (!speech)
        return lull_tape_other_run(trace, err);
    lull_tape_hear(&speech->ear, &told, sizeof told);
    const unsigned char *bytes = lull_tape_hear_bytes(&speech->ear, told.size);
    if (!bytes)
        return lull_tape_other_run(trace, err);
    struct lull_tape_ear ear = {bytes, bytes + told.size, false};
    merge->names = &speech->names;
    merge->process = process;
    lull_status status = hear_entries(listener, &ear, number, &data->scopes[process], err);
    merge->names = NULL;
    if (status == LULL_ERR_FORMAT)
        status = lull_tape_leave_out_process(trace, process, err);
    keep_comms(merge, &data->scopes[process]);
    if (status == LULL_OK && !told.found && !listener->found_run)
        status = lull_tape_no_definitions(trace, number, err);
    return status;
}

/* ---- of all ---------------------------------------------------------------------------------- */

static lull_status hear_all(struct listener *listener, struct lull_error *err)
{
    lull_status status = listener->begin == 0 ? hear_run(listener, err) : LULL_OK;
    for (uint32_t p = listener->begin; status == LULL_OK && p < listener->end; p++)
        status = hear_process(listener, p, err);
    return status;
}

/* Notes what a member has told, and takes everything when the last member has told. */
static lull_status hear_definitions(void *context, uint32_t index, const void *bytes, size_t size,
                                    struct lull_error *err)
{
    struct listener *listener = context;
    const struct lull_tape_data *data = listener->trace->format_data;
    const unsigned char *at = bytes;
    listener->speeches[index].ear = (struct lull_tape_ear){at, at + size, false};
    return index + 1 < data->share->exchange->size ? LULL_OK : hear_all(listener, err);
}

static lull_status tell_own(const struct listener *listener, struct lull_tape_telling *telling,
                            struct lull_tape_words *words, struct lull_error *err)
{
    const struct lull_trace *trace = listener->trace;
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    if (listener->begin == 0 && data->share->index == 0)
        status = tell_run(trace, words, err);
    for (uint32_t p = listener->begin; status == LULL_OK && p < listener->end; p++)
        if (lull_tape_is_own(trace, data->process_numbers[p]))
            status = tell_process(trace, telling, p, words, err);
    return status;
}

/* Turns what the ids of an own process mean among this member's ids into what they mean to all. */
static lull_status translate(const struct listener *listener, uint32_t process,
                             struct lull_error *err)
{
    struct lull_tape_data *data = listener->trace->format_data;
    const struct lull_tape_scope *to = &listener->speeches[data->share->index].names.scope;
    struct lull_tape_scope *scope = &data->scopes[process], all = {0};
    for (int map = 0; map < LULL_TAPE_MAPS; map++) {
        const struct lull_tape_ids *own = &scope->maps[map];
        if (map == LULL_TAPE_MAP_COMM || own->count == 0)
            continue;
        uint32_t *ids = malloc(own->count * sizeof *ids);
        if (!ids)
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", listener->trace->path);
        for (size_t i = 0; i < own->count; i++)
            ids[i] = lull_tape_index_of(&to->maps[map], own->index[i]);
        all.maps[map] = (struct lull_tape_ids){ids, own->count};
    }
    struct lull_tape_scope kept = all;
    lull_tape_keep_ids(listener->merge, &kept);
    for (int map = 0; map < LULL_TAPE_MAPS; map++) {
        if (map != LULL_TAPE_MAP_COMM)
            scope->maps[map] = kept.maps[map];
        free(all.maps[map].index);
    }
    return LULL_OK;
}

static lull_status translate_own(const struct listener *listener, struct lull_error *err)
{
    const struct lull_trace *trace = listener->trace;
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++)
        if (lull_tape_is_own(trace, data->process_numbers[p]))
            status = translate(listener, p, err);
    return status;
}

static lull_status share_definitions(struct listener *listener, struct lull_tape_telling *telling,
                                     lull_status status, struct lull_error *err)
{
    const struct lull_trace *trace = listener->trace;
    do {
        struct lull_tape_words words = {0};
        const uint32_t left = trace->n_processes - listener->begin;
        listener->end = listener->begin + (left < LULL_TAPE_AT_A_TIME ? left : LULL_TAPE_AT_A_TIME);
        if (status == LULL_OK)
            status = tell_own(listener, telling, &words, err);
        status = lull_tape_tell_all(trace, &words, status, hear_definitions, listener, err);
        listener->begin = listener->end;
    } while (status == LULL_OK && listener->begin < trace->n_processes);
    return status == LULL_OK ? translate_own(listener, err) : status;
}

lull_status lull_tape_share_definitions(struct lull_trace *trace, struct lull_tape_merge *merge,
                                        struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    const uint32_t members = data->share->exchange->size;
    struct listener listener = {.trace = trace, .merge = merge};
    struct lull_tape_telling telling;
    lull_status status = begin_telling(trace, &telling, err);
    listener.speeches = calloc(members, sizeof *listener.speeches);
    if (status == LULL_OK && !listener.speeches)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    status = share_definitions(&listener, &telling, status, err);
    for (uint32_t m = 0; listener.speeches && m < members; m++)
        for (int map = 0; map < LULL_TAPE_MAPS; map++)
            free(listener.speeches[m].names.room.ids[map]);
    free(listener.speeches);
    end_telling(&telling);
    return status;
}
