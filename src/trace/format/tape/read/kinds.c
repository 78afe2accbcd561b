/* One definition of a tape after the other, into the trace. */
#include "trace/format/tape/read/merge.h"

#include <stdlib.h>

const char *lull_tape_take_text(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    uint32_t length;
    const char *text = lull_tape_field_text(fields, &length);
    return lull_arena_strndup(merge->trace->arena, text, length);
}

/* That of a process cannot know how long the others went on. */
void lull_tape_define_run(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
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

void lull_tape_define_clock(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
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

void lull_tape_define_offset(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
                             struct lull_tape_fields *fields)
{
    scope->offsets = lull_arena_grow(merge->trace->arena, scope->offsets, &scope->offsets_capacity,
                                     scope->n_offsets + 1, sizeof *scope->offsets);
    struct lull_tape_offset *offset = &scope->offsets[scope->n_offsets++];
    offset->ns = (int64_t)lull_tape_field_u64(fields);
    offset->to_run = (int64_t)lull_tape_field_u64(fields);
    offset->error = lull_tape_field_f64(fields);
}

/* All processes say the same. */
void lull_tape_define_disturbance(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_trace *trace = merge->trace;
    const uint64_t seed = lull_tape_field_u64(fields);
    const char *specs = lull_tape_take_text(merge, fields);
    if (trace->disturbed)
        return;
    trace->disturbed = specs;
    trace->disturbed_seed = seed;
}

void lull_tape_define_held(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    merge->trace->held += lull_tape_field_u64(fields);
    merge->trace->not_held += lull_tape_field_u64(fields);
}

void lull_tape_define_node(struct lull_tape_merge *merge, const struct lull_tape_scope *scope,
                           struct lull_tape_fields *fields)
{
    struct lull_node *node = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_NODE, nodes, n_nodes);
    node->parent =
        lull_tape_index_of(&scope->maps[LULL_TAPE_MAP_NODE], lull_tape_field_u32(fields));
    node->name = lull_tape_take_text(merge, fields);
    node->class_name = lull_tape_take_text(merge, fields);
}

void lull_tape_define_process(struct lull_tape_merge *merge, struct lull_tape_scope *scope,
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
    process->node = lull_tape_index_of(&lull_tape_names_of(merge, scope)->maps[LULL_TAPE_MAP_NODE],
                                       lull_tape_field_u32(fields));
    process->name = lull_tape_take_text(merge, fields);
    if ((size_t)(fields->end - fields->at) >= sizeof scope->clock) /* less is padding */
        scope->clock = lull_tape_field_u64(fields);
}

void lull_tape_define_region(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_region *region = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_REGION, regions, n_regions);
    uint32_t paradigm = lull_tape_field_u32(fields), role = lull_tape_field_u32(fields);
    region->paradigm = paradigm < LULL_PARADIGMS ? (uint8_t)paradigm : LULL_PARADIGM_OTHER;
    region->role = role < LULL_ROLES ? (uint8_t)role : LULL_ROLE_FUNCTION;
    region->parallel = lull_tape_field_u32(fields) != 0;
    region->line = lull_tape_field_u32(fields);
    region->name = lull_tape_take_text(merge, fields);
    region->file = lull_tape_take_text(merge, fields);
    /* Since there are sites, and only where there is one. */
    bool has_site = (size_t)(fields->end - fields->at) >= 2 * sizeof(uint32_t);
    region->whole = has_site ? lull_tape_field_u32(fields) : LULL_NONE;
    region->site = has_site ? lull_tape_take_text(merge, fields) : "";
}

/* A region like the whole, but for its place. */
lull_status lull_tape_define_site(struct lull_tape_merge *merge,
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

void lull_tape_define_state(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_state *state = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_STATE, states, n_states);
    state->number = lull_tape_field_u32(fields);
    uint32_t activity = lull_tape_field_u32(fields);
    state->activity = activity < LULL_ACTIVITIES ? (uint8_t)activity : LULL_OTHER;
    state->name = lull_tape_take_text(merge, fields);
}

void lull_tape_define_counter(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_counter *counter =
        TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_COUNTER, counters, n_counters);
    counter->source_id = lull_tape_field_u64(fields);
    uint32_t role = lull_tape_field_u32(fields);
    counter->role = role < LULL_COUNTER_ROLES ? (uint8_t)role : LULL_COUNTER_OTHER;
    counter->name = lull_tape_take_text(merge, fields);
    counter->unit = lull_tape_take_text(merge, fields);
}

void lull_tape_define_file(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_file *file = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_FILE, files, n_files);
    uint32_t kind = lull_tape_field_u32(fields);
    file->kind = kind < LULL_FILE_KINDS ? (uint8_t)kind : LULL_FILE_OTHER;
    file->name = lull_tape_take_text(merge, fields);
}

void lull_tape_define_marker(struct lull_tape_merge *merge, struct lull_tape_fields *fields)
{
    struct lull_marker *marker = TAPE_NEW_ELEMENT(merge, LULL_TAPE_MAP_MARKER, markers, n_markers);
    marker->source_id = lull_tape_field_u64(fields);
    marker->name = lull_tape_take_text(merge, fields);
}
