/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline of a run as a picture: activities that have time, regions that are named. */
#include "view/report/report_document.h"
#include "view/report/report_parts.h"

#include <string.h>

/* What the functions of the picture need: the timeline, and its numbers in those of the picture. */
struct adapter {
    const struct lull_timeline *timeline;
    uint32_t activities[LULL_STEP_ACTIVITIES]; /* the activities that the picture has */
    uint32_t n_activities;
    uint8_t numbers[LULL_STEP_ACTIVITIES]; /* the number of an activity in the picture */
    /* [n_regions of the trace]: the number of a region in the picture. */
    uint32_t *regions;
    enum lull_timeline_count counts[LULL_TIMELINE_COUNTS]; /* counts that the picture has */
    uint32_t n_counts;
};

static const char *const kinds[LULL_TIMELINE_ROW_KINDS] = {
    [LULL_TIMELINE_BAND] = "band",       [LULL_TIMELINE_NODE] = "node",
    [LULL_TIMELINE_PROCESS] = "process", [LULL_TIMELINE_THREAD] = "thread",
    [LULL_TIMELINE_DEVICE] = "device",
};

static const enum lull_picture_paint paints[LULL_STEP_ACTIVITIES] = {
    [LULL_USEFUL] = LULL_PAINT_USEFUL,
    [LULL_MPI_P2P] = LULL_PAINT_MESSAGES,
    [LULL_MPI_COLLECTIVE] = LULL_PAINT_COLLECTIVE,
    [LULL_MPI_ONE_SIDED] = LULL_PAINT_MPI,
    [LULL_MPI_IO] = LULL_PAINT_IO,
    [LULL_MPI_OTHER] = LULL_PAINT_MPI,
    [LULL_OMP_SYNC] = LULL_PAINT_SYNC,
    [LULL_OMP_SCHEDULE] = LULL_PAINT_SCHEDULE,
    [LULL_OMP_LOCK] = LULL_PAINT_LOCK,
    [LULL_IDLE] = LULL_PAINT_IDLE,
    [LULL_DEVICE] = LULL_PAINT_DEVICE,
    [LULL_IO] = LULL_PAINT_IO,
    [LULL_FLUSH] = LULL_PAINT_TRACER,
    [LULL_OTHER] = LULL_PAINT_NOTHING,
    [LULL_ACTIVITY_DISABLED] = LULL_PAINT_NOTHING,
    [LULL_ACTIVITY_OUTSIDE] = LULL_PAINT_NOTHING,
};

static const char *activity_id(unsigned activity)
{
    return activity == LULL_ACTIVITY_DISABLED  ? "disabled"
           : activity == LULL_ACTIVITY_OUTSIDE ? "outside"
                                               : lull_activity_id(activity);
}

static const char *activity_label(unsigned activity)
{
    return activity == LULL_ACTIVITY_DISABLED  ? "recording switched off"
           : activity == LULL_ACTIVITY_OUTSIDE ? "outside of what was analysed"
                                               : lull_activity_name(activity);
}

/* ---- names --------------------------------------------------------------------------------- */

static const char *name_of_node(const struct lull_trace *trace, uint32_t node,
                                struct lull_arena *arena)
{
    if (node == LULL_NONE || !*trace->nodes[node].name)
        return lull_arena_printf(arena, "node %u", node);
    return trace->nodes[node].name;
}

const char *lull_report_row_name(const struct lull_timeline *timeline, uint32_t row,
                                 struct lull_arena *arena)
{
    const struct lull_timeline_row *at = &timeline->rows[row];
    const struct lull_trace *trace = timeline->trace;
    const uint32_t rank = trace->processes[at->process].rank;
    const uint32_t end = timeline->leaves[at->first_leaf + at->n_leaves - 1].location;
    const uint32_t last = trace->processes[trace->locations[end].process].rank;
    const uint32_t number = trace->locations[timeline->leaves[at->first_leaf].location].number;
    switch (at->kind) {
    case LULL_TIMELINE_BAND:
        if (at->node == LULL_NONE)
            return lull_arena_printf(arena, "ranks %u-%u", rank, last);
        return lull_arena_printf(arena, "%s and %u more", name_of_node(trace, at->node, arena),
                                 at->members - 1);
    case LULL_TIMELINE_NODE:
        return name_of_node(trace, at->node, arena);
    case LULL_TIMELINE_THREAD:
        return lull_arena_printf(arena, "rank %u thread %u", rank, number);
    case LULL_TIMELINE_DEVICE:
        return lull_arena_printf(arena, "rank %u stream %u", rank, number);
    default:
        return lull_arena_printf(arena, "rank %u", rank);
    }
}

/* Writes a text so that a shell takes it as one word: in quotes if a character may mean something
 * to the shell. */
static const char *quote(const char *text, struct lull_arena *arena)
{
    if (*text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_./+,:@%-") == strlen(text))
        return text;
    char *quoted = lull_arena_alloc(arena, 4 * strlen(text) + 3), *to = quoted;
    *to++ = '\'';
    for (; *text; text++) {
        if (*text != '\'') {
            *to++ = *text;
            continue;
        }
        memcpy(to, "'\\''", 4);
        to += 4;
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

const char *lull_report_command(const struct lull_run *run, const struct lull_report_wish *wish,
                                struct lull_arena *arena)
{
    return lull_arena_printf(arena, "lull report %s%s --window", quote(run->path, arena),
                             wish->options);
}

/* ---- the functions of the picture ---------------------------------------------------------- */

static void read_cells(const void *data, uint32_t row, unsigned level, uint32_t first,
                       uint32_t count, int64_t *ret_ns)
{
    const struct adapter *adapter = data;
    lull_timeline_cells_of(adapter->timeline, row, level, first, count, adapter->activities,
                           adapter->n_activities, ret_ns);
}

static void read_counts(const void *data, uint32_t leaf, double *ret_counts)
{
    enum { COUNT_BINS = 1 << LULL_TIMELINE_COARSE };
    const struct adapter *adapter = data;
    for (uint32_t i = 0; i < adapter->n_counts; i++) {
        uint64_t counts[COUNT_BINS] = {0};
        lull_timeline_counts(adapter->timeline, adapter->timeline->leaves[leaf].row,
                             adapter->counts[i], counts);
        for (uint32_t bin = 0; bin < COUNT_BINS; bin++)
            *ret_counts++ = (double)(int64_t)counts[bin];
    }
}

static uint32_t count_pieces(const void *data, uint32_t leaf)
{
    const struct adapter *adapter = data;
    return adapter->timeline->leaves[leaf].n_pieces;
}

static struct lull_picture_piece read_piece(const void *data, uint32_t leaf, uint32_t piece)
{
    const struct adapter *adapter = data;
    const struct lull_timeline_piece *from = &adapter->timeline->leaves[leaf].pieces[piece];
    return (struct lull_picture_piece){from->begin, from->count, from->steps};
}

static uint32_t region_in_picture(const struct adapter *adapter, uint32_t region)
{
    return region == LULL_NONE ? LULL_PICTURE_NO_ROW : adapter->regions[region];
}

static struct lull_picture_step read_step(const void *data, const struct lull_picture_piece *piece,
                                          size_t step)
{
    const struct adapter *adapter = data;
    const struct lull_timeline_step *from = (const struct lull_timeline_step *)piece->steps + step;
    return (struct lull_picture_step){from->end, region_in_picture(adapter, from->region),
                                      adapter->numbers[from->activity]};
}

/* ---- what it consists of ------------------------------------------------------------------- */

static void add_activities(struct adapter *adapter, struct lull_picture_timeline *picture,
                           struct lull_arena *arena)
{
    struct lull_picture_activity *activities =
        lull_arena_zero(arena, LULL_STEP_ACTIVITIES, sizeof *activities);
    for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++) {
        if (!(adapter->timeline->activities >> a & 1))
            continue;
        adapter->numbers[a] = (uint8_t)adapter->n_activities;
        activities[adapter->n_activities] =
            (struct lull_picture_activity){activity_id(a), activity_label(a), paints[a]};
        adapter->activities[adapter->n_activities++] = a;
    }
    picture->activities = activities;
    picture->n_activities = adapter->n_activities;
}

static void add_timeline_counters(struct adapter *adapter, struct lull_picture_timeline *picture,
                                  struct lull_arena *arena)
{
    static const struct lull_picture_counter about[LULL_TIMELINE_COUNTS] = {
        [LULL_TIMELINE_INSTRUCTIONS] = {"instructions", "instructions"},
        [LULL_TIMELINE_CYCLES] = {"cycles", "cycles"}};
    struct lull_picture_counter *counters =
        lull_arena_zero(arena, LULL_TIMELINE_COUNTS, sizeof *counters);
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
        if (!adapter->timeline->has_counts[which])
            continue;
        counters[adapter->n_counts] = about[which];
        adapter->counts[adapter->n_counts++] = which;
    }
    picture->counters = counters;
    picture->n_counters = adapter->n_counts;
}

static void add_timeline_rows(const struct lull_timeline *timeline,
                              struct lull_picture_timeline *picture, struct lull_arena *arena)
{
    struct lull_picture_row *rows = lull_arena_zero(arena, timeline->n_rows, sizeof *rows);
    for (uint32_t r = 0; r < timeline->n_rows; r++) {
        const struct lull_timeline_row *from = &timeline->rows[r];
        const bool leaf = timeline->leaves[from->first_leaf].row == r;
        rows[r] = (struct lull_picture_row){
            .name = lull_report_row_name(timeline, r, arena),
            .kind = kinds[from->kind],
            .parent = from->parent == LULL_NONE ? LULL_PICTURE_NO_ROW : from->parent,
            .n_leaves = from->n_leaves,
            .leaf = leaf ? from->first_leaf : LULL_PICTURE_NO_ROW,
            .level = from->level};
        picture->level = from->level > picture->level ? from->level : picture->level;
    }
    picture->rows = rows;
    picture->n_rows = timeline->n_rows;
    picture->n_leaves = timeline->n_leaves;
}

static void use_region(struct adapter *adapter, struct lull_picture_timeline *picture,
                       struct lull_picture_region *regions, uint32_t region)
{
    if (region == LULL_NONE || adapter->regions[region] != LULL_PICTURE_NO_ROW)
        return;
    const struct lull_region *from = &adapter->timeline->trace->regions[region];
    adapter->regions[region] = picture->n_regions;
    regions[picture->n_regions++] = (struct lull_picture_region){from->name, from->site};
}

/* Adds the regions of the steps, waits and gaps that are kept, in the order of their first use. */
static void add_timeline_regions(struct adapter *adapter, const struct lull_breakdown *breakdown,
                                 struct lull_picture_timeline *picture, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = adapter->timeline;
    const uint32_t n = timeline->trace->n_regions;
    struct lull_picture_region *regions = lull_arena_zero(arena, n + (size_t)1, sizeof *regions);
    adapter->regions = lull_arena_alloc(arena, (n + (size_t)1) * sizeof *adapter->regions);
    for (uint32_t r = 0; r < n; r++)
        adapter->regions[r] = LULL_PICTURE_NO_ROW;
    for (uint32_t p = 0; p < timeline->n_places; p++)
        use_region(adapter, picture, regions, timeline->places[p].region);
    for (uint32_t l = 0; l < timeline->n_leaves; l++)
        for (uint32_t p = 0; p < timeline->leaves[l].n_pieces; p++)
            for (size_t s = 0; s < timeline->leaves[l].pieces[p].count; s++)
                use_region(adapter, picture, regions,
                           timeline->leaves[l].pieces[p].steps[s].region);
    for (uint32_t i = 0; breakdown && i < breakdown->n_stretches; i++)
        use_region(adapter, picture, regions, breakdown->stretches[i].region);
    picture->regions = regions;
}

static void add_places(const struct adapter *adapter, struct lull_picture_timeline *picture,
                       struct lull_arena *arena)
{
    const struct lull_timeline *timeline = adapter->timeline;
    struct lull_picture_place *places =
        lull_arena_zero(arena, timeline->n_places + (size_t)1, sizeof *places);
    for (uint32_t p = 0; p < timeline->n_places; p++) {
        const struct lull_timeline_place *from = &timeline->places[p];
        places[p] = (struct lull_picture_place){from->begin, from->end, from->leaf,
                                                region_in_picture(adapter, from->region),
                                                adapter->numbers[from->activity]};
    }
    picture->places = places;
    picture->n_places = timeline->n_places;
}

static void add_messages(const struct lull_timeline *timeline,
                         struct lull_picture_timeline *picture, struct lull_arena *arena)
{
    struct lull_picture_message *messages =
        lull_arena_alloc(arena, (timeline->n_kept_messages + 1) * sizeof *messages);
    for (size_t i = 0; i < timeline->n_kept_messages; i++) {
        const struct lull_timeline_message *from = &timeline->messages[i];
        messages[i] = (struct lull_picture_message){from->sent,     from->received, from->sender,
                                                    from->receiver, from->bytes,    from->tag};
    }
    picture->messages = messages;
    picture->n_kept_messages = timeline->n_kept_messages;
    picture->n_messages = timeline->n_messages;
    picture->all_messages = timeline->all_messages;
}

/* What an idle device waited for, in the colours of what the host does then. */
static const struct lull_picture_cause gap_causes[LULL_DEVICE_LOSSES] = {
    [LULL_LOST_COPYING] = {"copies run", LULL_PAINT_DEVICE},
    [LULL_LOST_EXCHANGING] = {"NCCL moves data", LULL_PAINT_DEVICE},
    [LULL_LOST_HOST] = {"the host computes before it submits", LULL_PAINT_USEFUL},
    [LULL_LOST_MPI] = {"the host is in MPI before it submits", LULL_PAINT_MPI},
    [LULL_LOST_RUNTIME] = {"the host is in other calls of the runtime before it submits",
                           LULL_PAINT_DEVICE},
    [LULL_LOST_LAUNCH] = {"from the call that submits to the begin", LULL_PAINT_SCHEDULE},
    [LULL_LOST_OTHER_DEVICE] = {"another device is waited for", LULL_PAINT_SYNC},
    [LULL_LOST_NO_WORK] = {"nothing comes any more", LULL_PAINT_IDLE},
    [LULL_LOST_UNKNOWN] = {"not known", LULL_PAINT_NOTHING},
};

/* Gaps that nothing ends are on no stream's row, and left out. */
static void add_gaps(const struct adapter *adapter, const struct lull_breakdown *breakdown,
                     struct lull_picture_timeline *picture, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = adapter->timeline;
    const uint32_t n_locations = timeline->trace->n_locations;
    struct lull_picture_cause *used =
        lull_arena_zero(arena, LULL_DEVICE_LOSSES, sizeof *used); /* those that gaps have */
    uint8_t numbers[LULL_DEVICE_LOSSES] = {0};
    uint32_t *leaf_of = lull_arena_alloc(arena, (n_locations + (size_t)1) * sizeof *leaf_of);
    struct lull_picture_gap *gaps =
        lull_arena_zero(arena, breakdown->n_stretches + (size_t)1, sizeof *gaps);
    for (uint32_t l = 0; l < n_locations; l++)
        leaf_of[l] = LULL_PICTURE_NO_ROW;
    for (uint32_t leaf = 0; leaf < timeline->n_leaves; leaf++)
        leaf_of[timeline->leaves[leaf].location] = leaf;
    for (uint32_t i = 0; i < breakdown->n_stretches; i++) {
        const struct lull_device_stretch *from = &breakdown->stretches[i];
        if (from->location == LULL_NONE || leaf_of[from->location] == LULL_PICTURE_NO_ROW ||
            from->begin < timeline->begin || from->until > timeline->end)
            continue;
        if (!numbers[from->loss]) {
            used[picture->n_causes++] = gap_causes[from->loss];
            numbers[from->loss] = (uint8_t)picture->n_causes;
        }
        gaps[picture->n_gaps++] = (struct lull_picture_gap){
            .begin = from->begin,
            .end = from->end,
            .submitted = from->submitted,
            .until = from->until,
            .leaf = leaf_of[from->location],
            .submitter =
                from->submitter == LULL_NONE ? LULL_PICTURE_NO_ROW : leaf_of[from->submitter],
            .region = region_in_picture(adapter, from->region),
            .cause = (uint8_t)(numbers[from->loss] - 1)};
    }
    picture->gaps = gaps;
    picture->causes = used;
}

static void add_differing(const struct lull_report_run *of, struct lull_picture_timeline *picture,
                          struct lull_arena *arena)
{
    uint32_t *rows = lull_arena_zero(arena, LULL_REPORT_DIFFERENCES, sizeof *rows);
    for (uint32_t d = 0; d < of->n_differences; d++)
        rows[d] = of->differences[d].row;
    picture->differing = rows;
    picture->n_differing = of->n_differences;
}

void lull_report_add_timeline(struct lull_document *document, const struct lull_run *run,
                              const struct lull_report_run *of, const struct lull_report_wish *wish,
                              struct lull_arena *arena)
{
    struct lull_picture_timeline *picture = lull_arena_zero(arena, 1, sizeof *picture);
    struct adapter *adapter = lull_arena_zero(arena, 1, sizeof *adapter);
    const struct lull_timeline *timeline = of->timeline;
    picture->id = picture->title = run->name;
    picture->absent = of->absent;
    if (timeline && timeline->begin == timeline->end)
        picture->absent = "The run has no length: there is nothing to draw.";
    lull_document_timeline(document, picture);
    if (picture->absent)
        return;
    adapter->timeline = timeline;
    picture->command = lull_report_command(run, wish, arena);
    picture->begin = timeline->begin;
    picture->end = timeline->end;
    picture->cells = read_cells;
    picture->pieces = count_pieces;
    picture->piece = read_piece;
    picture->step = read_step;
    picture->counts = read_counts;
    picture->data = adapter;
    picture->n_steps = timeline->n_steps;
    picture->all_steps = timeline->all_steps;
    add_activities(adapter, picture, arena);
    add_timeline_counters(adapter, picture, arena);
    add_timeline_rows(timeline, picture, arena);
    add_timeline_regions(adapter, run->breakdown, picture, arena);
    add_places(adapter, picture, arena);
    add_messages(timeline, picture, arena);
    if (run->breakdown)
        add_gaps(adapter, run->breakdown, picture, arena);
    add_differing(of, picture, arena);
}
