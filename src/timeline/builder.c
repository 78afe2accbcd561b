/* SPDX-License-Identifier: BSD-3-Clause */
/* The consumer: what each span and message of a pass goes to. */
#include "timeline/timeline.h"

#include "timeline/builder.h"

#include <stdlib.h>

/* ==== gather ================================================================================== */

/* What other members of a team have read comes to the first: leaf by leaf, then what several leaves
 * share. All of it is integers that add up. */

struct gathering {
    struct lull_timeline_builder *builder;
    const struct lull_division *division;
    bool all_steps, all_messages; /* of the run are kept */
};

/* Whether all steps and messages fit is known by their numbers in all members. */
static lull_status count_all(struct gathering *gathering, struct lull_error *err)
{
    const struct lull_timeline_builder *builder = gathering->builder;
    struct lull_team *team = gathering->division->team;
    int64_t counts[2] = {0, (int64_t)atomic_load(&builder->mail.count)};
    for (uint32_t l = 0; l < builder->timeline.n_leaves; l++)
        counts[0] += (int64_t)builder->recording.recorders[l].count;
    lull_status status = lull_team_sum_to_all(team, counts, 2, err);
    gathering->all_steps = (uint64_t)counts[0] <= builder->recording.most;
    gathering->all_messages = (uint64_t)counts[1] <= 2 * builder->mail.most;
    return status;
}

/* ---- leaf by leaf -------------------------------------------------------------------------- */

static bool put_leaf(const struct gathering *gathering, uint32_t leaf, struct lull_flow *flow)
{
    const struct lull_timeline_builder *builder = gathering->builder;
    return lull_timeline_grid_put_leaf(builder->timeline.grid, leaf, flow) &&
           lull_timeline_tally_put(&builder->tally, leaf, flow) &&
           lull_timeline_record_put(&builder->recording, leaf, gathering->all_steps, flow) &&
           lull_timeline_mail_put_leaf(&builder->mail, leaf, gathering->all_messages, flow);
}

static bool get_leaf(const struct gathering *gathering, uint32_t leaf, struct lull_flow *flow)
{
    struct lull_timeline_builder *builder = gathering->builder;
    return lull_timeline_grid_get_leaf(builder->timeline.grid, leaf, flow) &&
           lull_timeline_tally_get(&builder->tally, leaf, flow) &&
           lull_timeline_record_get(&builder->recording, leaf, gathering->all_steps, flow) &&
           lull_timeline_mail_get_leaf(&builder->mail, leaf, gathering->all_messages, flow);
}

/* Each leaf of the processes that a member reads goes its way. */
static bool go_over(const struct gathering *gathering, uint32_t member, struct lull_flow *flow,
                    bool (*go)(const struct gathering *gathering, uint32_t leaf,
                               struct lull_flow *flow))
{
    const struct lull_trace *trace = gathering->builder->timeline.trace;
    const uint32_t *leaf_of = gathering->builder->layout.leaf_of;
    const uint32_t *cuts = gathering->division->cuts;
    bool good = true;
    for (uint32_t p = cuts[member]; p < cuts[member + 1]; p++) {
        const struct lull_process *process = &trace->processes[p];
        for (uint32_t i = 0; good && i < process->n_locations; i++) {
            const uint32_t leaf = leaf_of[process->first_location + i];
            good = leaf == LULL_NONE || go(gathering, leaf, flow);
        }
    }
    return good;
}

/* ---- both ---------------------------------------------------------------------------------- */

static bool put(void *context, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    const struct lull_timeline_builder *builder = gathering->builder;
    const uint64_t activities = atomic_load(&builder->activities);
    return go_over(gathering, lull_team_index(gathering->division->team), flow, put_leaf) &&
           lull_flow_put(flow, &activities, sizeof activities) &&
           lull_timeline_grid_put(builder->timeline.grid, flow) &&
           lull_timeline_mail_put(&builder->mail, flow);
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    struct lull_timeline_builder *builder = gathering->builder;
    uint64_t activities;
    if (!go_over(gathering, member, flow, get_leaf) ||
        !lull_flow_get(flow, &activities, sizeof activities))
        return false;
    atomic_fetch_or(&builder->activities, activities);
    return lull_timeline_grid_get(builder->timeline.grid, flow) &&
           lull_timeline_mail_get(&builder->mail, flow);
}

lull_status lull_timeline_gather(struct lull_timeline_builder *builder,
                                 const struct lull_division *division, struct lull_error *err)
{
    struct gathering gathering = {.builder = builder, .division = division};
    const struct lull_freight freight = {put, get, &gathering, "a timeline of all locations"};
    if (!division)
        return LULL_OK;
    lull_status status = count_all(&gathering, err);
    if (status != LULL_OK)
        return lull_team_agree(division->team, status, err);
    atomic_store(&builder->mail.over, !gathering.all_messages);
    return lull_team_bring(division->team, &freight, err);
}

/* ==== rows ==================================================================================== */

/* The tree of rows: bands, nodes, processes, threads. */

/* A process in the order of rows. */
struct process_place {
    uint32_t process, node; /* node: LULL_NONE where nodes are not told */
    uint32_t order;         /* of the first process of its node */
};

struct layout {
    const struct lull_trace *trace;
    struct lull_timeline *timeline;
    struct lull_timeline_layout *out;
    struct process_place *places;
    uint32_t n_places, n_tops; /* tops: rows below no node or band */
    uint8_t *generation;       /* [row]: 0 thread, 1 process, 2 node, 3 band */
};

static int compare_places(const void *a, const void *b)
{
    const struct process_place *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

/* Processes of one node become neighbours, where the trace tells several nodes. */
static void find_places(struct layout *layout, uint32_t application, struct lull_arena *arena)
{
    const struct lull_trace *trace = layout->trace;
    uint32_t *first = lull_arena_alloc(arena, (trace->n_nodes + (size_t)1) * sizeof *first);
    bool several = false, known = true;
    layout->places = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *layout->places);
    for (uint32_t n = 0; n < trace->n_nodes; n++)
        first[n] = LULL_NONE;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != application)
            continue;
        const uint32_t node = trace->processes[p].node;
        known &= node != LULL_NONE;
        several |= layout->n_places > 0 && node != layout->places[0].node;
        if (node != LULL_NONE && first[node] == LULL_NONE)
            first[node] = p;
        layout->places[layout->n_places++] =
            (struct process_place){p, node, node == LULL_NONE ? p : first[node]};
    }
    if (several && known) {
        qsort(layout->places, layout->n_places, sizeof *layout->places, compare_places);
        return;
    }
    for (uint32_t i = 0; i < layout->n_places; i++)
        layout->places[i].node = LULL_NONE;
}

/* How many of the places from `i` on are of one node. */
static uint32_t of_one_node(const struct layout *layout, uint32_t i)
{
    uint32_t n = 1;
    while (layout->places[i].node != LULL_NONE && i + n < layout->n_places &&
           layout->places[i + n].node == layout->places[i].node)
        n++;
    return n;
}

/* ---- making rows --------------------------------------------------------------------------- */

static uint32_t add_row(struct layout *layout, uint8_t kind, unsigned generation, uint32_t parent,
                        uint32_t process)
{
    struct lull_timeline *timeline = layout->timeline;
    const uint32_t row = timeline->n_rows++;
    layout->generation[row] = (uint8_t)generation;
    timeline->rows[row] =
        (struct lull_timeline_row){.kind = kind,
                                   .level = LULL_TIMELINE_COARSE,
                                   .parent = parent,
                                   .first_leaf = timeline->n_leaves,
                                   .process = process,
                                   .node = layout->trace->processes[process].node};
    return row;
}

static void add_leaf(struct layout *layout, uint32_t row, uint32_t location)
{
    struct lull_timeline *timeline = layout->timeline;
    layout->out->leaf_of[location] = timeline->n_leaves;
    timeline->leaves[timeline->n_leaves++] =
        (struct lull_timeline_leaf){.location = location, .row = row};
}

static void add_process(struct layout *layout, uint32_t index, uint32_t parent)
{
    const struct lull_process *process = &layout->trace->processes[index];
    if (process->n_locations == 0)
        return;
    uint32_t row = add_row(layout, LULL_TIMELINE_PROCESS, 1, parent, index);
    for (uint32_t i = 0; i < process->n_locations; i++) {
        const uint32_t location = process->first_location + i;
        const bool device = layout->trace->locations[location].kind == LULL_LOCATION_DEVICE;
        uint32_t leaf = row;
        if (process->n_locations > 1)
            leaf = add_row(layout, device ? LULL_TIMELINE_DEVICE : LULL_TIMELINE_THREAD, 0, row,
                           index);
        add_leaf(layout, leaf, location);
        layout->timeline->rows[leaf].n_leaves = 1;
    }
    layout->timeline->rows[row].n_leaves =
        layout->timeline->n_leaves - layout->timeline->rows[row].first_leaf;
}

/* A node, or its only process. Returns how many places it took. */
static uint32_t add_top(struct layout *layout, uint32_t i, uint32_t parent)
{
    const uint32_t n = of_one_node(layout, i);
    if (n == 1) {
        add_process(layout, layout->places[i].process, parent);
        return 1;
    }
    uint32_t row = add_row(layout, LULL_TIMELINE_NODE, 2, parent, layout->places[i].process);
    for (uint32_t p = 0; p < n; p++)
        add_process(layout, layout->places[i + p].process, row);
    layout->timeline->rows[row].n_leaves =
        layout->timeline->n_leaves - layout->timeline->rows[row].first_leaf;
    return n;
}

static void add_bands(struct layout *layout, uint32_t per_band)
{
    for (uint32_t i = 0; i < layout->n_places;) {
        uint32_t row = add_row(layout, LULL_TIMELINE_BAND, 3, LULL_NONE, layout->places[i].process);
        uint32_t members = 0;
        for (; members < per_band && i < layout->n_places; members++)
            i += add_top(layout, i, row);
        struct lull_timeline_row *band = &layout->timeline->rows[row];
        band->members = members;
        band->n_leaves = layout->timeline->n_leaves - band->first_leaf;
    }
}

static void add_rows(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->n_places; i += of_one_node(layout, i))
        layout->n_tops++;
    const uint32_t most = LULL_TIMELINE_FINE_ROWS;
    if (layout->n_tops > most) {
        add_bands(layout, (layout->n_tops + most - 1) / most);
        return;
    }
    for (uint32_t i = 0; i < layout->n_places;)
        i += add_top(layout, i, LULL_NONE);
}

/* ---- fine cells ---------------------------------------------------------------------------- */

/* The row that stands for a leaf in a generation: the highest one above it that is of that
 * generation or an earlier one. */
static uint32_t row_in_generation(const struct layout *layout, uint32_t leaf, unsigned generation)
{
    uint32_t row = layout->timeline->leaves[leaf].row;
    for (;;) {
        uint32_t parent = layout->timeline->rows[row].parent;
        if (parent == LULL_NONE || layout->generation[parent] > generation)
            return row;
        row = parent;
    }
}

static uint32_t rows_in_generation(const struct layout *layout, unsigned generation)
{
    uint32_t count = 0, last = LULL_NONE;
    for (uint32_t leaf = 0; leaf < layout->timeline->n_leaves; leaf++) {
        uint32_t row = row_in_generation(layout, leaf, generation);
        count += row != last;
        last = row;
    }
    return count;
}

static void choose_fine_rows(struct layout *layout, struct lull_arena *arena)
{
    struct lull_timeline *timeline = layout->timeline;
    unsigned generation = 0;
    while (generation < 3 && rows_in_generation(layout, generation) > LULL_TIMELINE_FINE_ROWS)
        generation++;
    struct lull_timeline_layout *out = layout->out;
    uint32_t n = rows_in_generation(layout, generation);
    out->fine_rows = lull_arena_zero(arena, n + (size_t)1, sizeof *out->fine_rows);
    out->fine_of_leaf =
        lull_arena_zero(arena, timeline->n_leaves + (size_t)1, sizeof *out->fine_of_leaf);
    for (uint32_t leaf = 0; leaf < timeline->n_leaves; leaf++) {
        uint32_t row = row_in_generation(layout, leaf, generation);
        if (out->n_fine_rows == 0 || out->fine_rows[out->n_fine_rows - 1] != row)
            out->fine_rows[out->n_fine_rows++] = row;
        out->fine_of_leaf[leaf] = out->n_fine_rows - 1;
        for (; row != LULL_NONE; row = timeline->rows[row].parent)
            timeline->rows[row].level = (uint8_t)timeline->fine;
    }
}

/* ---- parties of the traffic ---------------------------------------------------------------- */

static void add_parties(struct layout *layout, struct lull_arena *arena)
{
    struct lull_timeline *timeline = layout->timeline;
    const uint32_t n = layout->n_places, most = LULL_TIMELINE_FINE_ROWS;
    const bool nodes = n > most && layout->n_tops <= most;
    const uint32_t per_party = n > most && !nodes ? (n + most - 1) / most : 1;
    timeline->parties =
        lull_arena_zero(arena, (n < most ? n : most) + (size_t)1, sizeof *timeline->parties);
    for (uint32_t i = 0; i < n;) {
        uint32_t members = nodes ? of_one_node(layout, i) : per_party;
        members = members < n - i ? members : n - i;
        for (uint32_t p = 0; p < members; p++)
            layout->out->party_of[layout->places[i + p].process] = timeline->n_parties;
        timeline->parties[timeline->n_parties++] = (struct lull_timeline_party){
            layout->places[i].process, members, nodes ? layout->places[i].node : LULL_NONE};
        i += members;
    }
}

static uint32_t *no_indices(uint32_t count, struct lull_arena *arena)
{
    uint32_t *indices = lull_arena_alloc(arena, (count + (size_t)1) * sizeof *indices);
    for (uint32_t i = 0; i < count; i++)
        indices[i] = LULL_NONE;
    return indices;
}

/* All in the arena. */
static void lay_out_rows(struct lull_timeline *timeline, uint32_t application,
                         struct lull_arena *arena, struct lull_timeline_layout *ret_layout)
{
    const struct lull_trace *trace = timeline->trace;
    struct layout layout = {.trace = trace, .timeline = timeline, .out = ret_layout};
    *ret_layout = (struct lull_timeline_layout){.leaf_of = no_indices(trace->n_locations, arena),
                                                .party_of = no_indices(trace->n_processes, arena)};
    find_places(&layout, application, arena);
    /* each leaf, each process, and fewer nodes and bands than processes each */
    const size_t most_rows = trace->n_locations + 3 * (size_t)layout.n_places + 1;
    timeline->rows = lull_arena_zero(arena, most_rows, sizeof *timeline->rows);
    timeline->leaves =
        lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *timeline->leaves);
    layout.generation = lull_arena_zero(arena, most_rows, sizeof *layout.generation);
    add_rows(&layout);
    choose_fine_rows(&layout, arena);
    add_parties(&layout, arena);
}

/* ==== timeline ================================================================================ */

static lull_status no_memory(const struct lull_timeline_builder *builder, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a timeline of %u locations",
                     builder->timeline.trace->path, builder->timeline.n_leaves);
}

/* ---- the axis ------------------------------------------------------------------------------ */

static void set_axis(struct lull_timeline *timeline, const struct lull_windows *windows)
{
    timeline->begin = 0;
    timeline->end = timeline->trace->duration;
    if (!windows)
        return;
    int64_t begin = INT64_MAX, end = 0;
    for (uint32_t p = 0; p < windows->n_processes; p++) {
        const uint32_t n = windows->counts[p];
        if (n == 0)
            continue;
        begin = windows->intervals[p][0].begin < begin ? windows->intervals[p][0].begin : begin;
        end = windows->intervals[p][n - 1].end > end ? windows->intervals[p][n - 1].end : end;
    }
    timeline->begin = begin < end ? begin : 0;
    timeline->end = begin < end ? end : 0;
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool take_span(struct lull_timeline_builder *builder, uint32_t leaf,
                      const struct lull_step *span, uint64_t *activities)
{
    const struct lull_timeline *timeline = &builder->timeline;
    const int64_t begin = span->time > timeline->begin ? span->time : timeline->begin;
    const int64_t end = span->span.end < timeline->end ? span->span.end : timeline->end;
    if (builder->mail.posts[leaf].n_arrivals > 0)
        lull_timeline_mail_span(&builder->mail, leaf, span);
    if (begin >= end)
        return true;
    *activities |= UINT64_C(1) << span->activity;
    const struct lull_timeline_step step = {end, span->region, span->activity};
    if (span->activity == LULL_USEFUL &&
        !lull_timeline_tally_useful(&builder->tally, leaf, begin, end))
        return false;
    return lull_timeline_grid_add(timeline->grid, leaf, span->activity, begin, end) &&
           lull_timeline_record(&builder->recording, leaf, &step, begin);
}

static bool take_end(struct lull_timeline_builder *builder, uint32_t leaf,
                     const struct lull_channels *channels)
{
    return lull_timeline_grid_end(builder->timeline.grid, leaf) &&
           lull_timeline_record_end(&builder->recording, leaf) &&
           lull_timeline_mail_end(&builder->mail, leaf, channels);
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct lull_timeline_builder *builder = context;
    const uint32_t leaf = builder->layout.leaf_of[steps->location];
    uint64_t activities = 0;
    bool good = true;
    if (leaf == LULL_NONE)
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count && good; i++) {
        const struct lull_step *step = &steps->steps[i];
        switch (step->kind) {
        case LULL_STEP_SPAN:
            good = take_span(builder, leaf, step, &activities);
            break;
        case LULL_STEP_SEND:
        case LULL_STEP_RECV:
            good = lull_timeline_mail_message(&builder->mail, worker, leaf, step);
            break;
        case LULL_STEP_READING:
            good = lull_timeline_tally_add(&builder->tally, &builder->timeline, leaf, step);
            break;
        case LULL_STEP_END:
            good = take_end(builder, leaf, steps->channels);
            break;
        default:
            break;
        }
    }
    if (activities & ~atomic_load_explicit(&builder->activities, memory_order_relaxed))
        atomic_fetch_or_explicit(&builder->activities, activities, memory_order_relaxed);
    return good ? LULL_OK : no_memory(builder, err);
}

/* ---- from begin to end --------------------------------------------------------------------- */

static bool make_room(struct lull_timeline_builder *builder,
                      const struct lull_timeline_options *options, unsigned workers)
{
    struct lull_timeline *timeline = &builder->timeline;
    builder->mail.timeline = timeline;
    builder->mail.layout = &builder->layout;
    builder->mail.windows = lull_reading_of(options->reading)->windows;
    builder->mail.most = options->most_messages;
    return lull_timeline_grid_create(timeline, &builder->layout) &&
           lull_timeline_tally_create(&builder->tally, timeline) &&
           lull_timeline_recording_create(&builder->recording, timeline->n_leaves,
                                          options->most_steps) &&
           lull_timeline_mail_create(&builder->mail, workers);
}

lull_status lull_timeline_create(const struct lull_trace *trace,
                                 const struct lull_timeline_options *options, unsigned workers,
                                 struct lull_timeline_builder **ret_builder, struct lull_error *err)
{
    struct lull_timeline_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a timeline", trace->path);
    builder->arena = lull_arena_create(NULL);
    builder->timeline.trace = trace;
    builder->timeline.fine = options->fine ? options->fine : LULL_TIMELINE_FINEST;
    const struct lull_reading *reading = lull_reading_of(options->reading);
    set_axis(&builder->timeline, reading->windows);
    lay_out_rows(&builder->timeline, reading->application, builder->arena, &builder->layout);
    lull_status status = LULL_OK;
    if (builder->timeline.n_leaves == 0)
        status = lull_fail(err, LULL_ERR_RANGE, "%s: there is no process of application %u",
                           trace->path, reading->application);
    else if (!make_room(builder, options, workers))
        status = no_memory(builder, err);
    if (status != LULL_OK) {
        lull_timeline_destroy(builder);
        return status;
    }
    *ret_builder = builder;
    return LULL_OK;
}

struct lull_consumer lull_timeline_consumer(struct lull_timeline_builder *builder)
{
    return (struct lull_consumer){
        .context = builder,
        .wants = LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_SEND) |
                 LULL_STEP_MASK(LULL_STEP_RECV) | LULL_STEP_MASK(LULL_STEP_READING) |
                 LULL_STEP_MASK(LULL_STEP_END),
        .steps = take_steps};
}

lull_status lull_timeline_conclude(struct lull_timeline_builder *builder,
                                   const struct lull_timeline **ret_timeline,
                                   struct lull_error *err)
{
    struct lull_timeline *timeline = &builder->timeline;
    timeline->activities = atomic_load(&builder->activities);
    lull_timeline_grid_conclude(timeline->grid);
    lull_status status =
        lull_timeline_record_conclude(&builder->recording, timeline, builder->arena, err);
    if (status == LULL_OK)
        status = lull_timeline_mail_conclude(&builder->mail, timeline, builder->arena, err);
    if (status == LULL_OK)
        *ret_timeline = timeline;
    return status;
}

void lull_timeline_destroy(struct lull_timeline_builder *builder)
{
    if (!builder)
        return;
    lull_timeline_grid_destroy(builder->timeline.grid);
    lull_timeline_tally_release(&builder->tally);
    lull_timeline_recording_release(&builder->recording);
    lull_timeline_mail_release(&builder->mail);
    lull_arena_destroy(builder->arena);
    free(builder);
}
