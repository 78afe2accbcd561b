/* The tree of rows: bands, nodes, processes, threads. */
#include "timeline/builder.h"

#include <stdlib.h>

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

void lull_timeline_lay_out(struct lull_timeline *timeline, uint32_t application,
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
