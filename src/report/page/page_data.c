/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page/page_data.h"

#include "report/display.h"
#include "report/markup.h"
#include "report/model.h"
#include "report/page/base64.h"
#include "report/page/timeline_blocks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ==== pictures with less in them ============================================================== */

/* What stands behind the functions of a timeline with fewer rows. */
struct folded {
    const struct lull_picture_timeline *whole;
    uint32_t *row_of; /* of the whole, by row of the folded one */
};

static void read_cells(const void *data, uint32_t row, unsigned level, uint32_t first,
                       uint32_t count, int64_t *ret_ns)
{
    const struct folded *folded = data;
    folded->whole->cells(folded->whole->data, folded->row_of[row], level, first, count, ret_ns);
}

static uint32_t no_pieces(const void *data, uint32_t leaf)
{
    (void)data;
    (void)leaf;
    return 0;
}

/* Of each row the one that stands for it: itself, or the one that it is folded into. Returns how
 * many stand for themselves. */
static uint32_t find_kept(const struct lull_picture_timeline *timeline, unsigned depth,
                          uint32_t *kept, struct lull_arena *arena)
{
    unsigned *depths = lull_arena_zero(arena, (size_t)timeline->n_rows + 1, sizeof *depths);
    uint32_t count = 0;
    for (uint32_t row = 0; row < timeline->n_rows; row++) {
        const uint32_t parent = timeline->rows[row].parent;
        depths[row] = parent == LULL_PICTURE_NO_ROW ? 1 : depths[parent] + 1;
        kept[row] = depths[row] <= depth ? row : kept[parent];
        count += kept[row] == row;
    }
    return count;
}

/* Rows, and which leaf each leaf of the whole became. */
static void fold_rows(struct lull_picture_timeline *picture, struct folded *folded,
                      const uint32_t *kept, uint32_t *leaf_of, struct lull_arena *arena)
{
    const struct lull_picture_timeline *whole = folded->whole;
    uint32_t *number = lull_arena_zero(arena, (size_t)whole->n_rows + 1, sizeof *number);
    struct lull_picture_row *rows =
        lull_arena_zero(arena, (size_t)picture->n_rows + 1, sizeof *rows);
    uint32_t n = 0;
    for (uint32_t row = 0; row < whole->n_rows; row++) {
        if (kept[row] != row)
            continue;
        const bool has_children = row + 1 < whole->n_rows && kept[row + 1] == row + 1 &&
                                  whole->rows[row + 1].parent == row;
        rows[n] = whole->rows[row];
        if (rows[n].parent != LULL_PICTURE_NO_ROW)
            rows[n].parent = number[rows[n].parent];
        rows[n].leaf = has_children ? LULL_PICTURE_NO_ROW : picture->n_leaves++;
        folded->row_of[n] = row;
        number[row] = n++;
    }
    for (uint32_t row = 0; row < whole->n_rows; row++)
        if (whole->rows[row].leaf != LULL_PICTURE_NO_ROW)
            leaf_of[whole->rows[row].leaf] = rows[number[kept[row]]].leaf;
    picture->rows = rows;
}

const struct lull_picture_timeline *lull_page_fold(const struct lull_picture_timeline *timeline,
                                                   unsigned depth, struct lull_arena *arena)
{
    if (timeline->absent)
        return timeline;
    uint32_t *kept = lull_arena_zero(arena, (size_t)timeline->n_rows + 1, sizeof *kept);
    const uint32_t count = find_kept(timeline, depth, kept, arena);
    if (count == timeline->n_rows)
        return timeline;
    struct lull_picture_timeline *picture = lull_arena_zero(arena, 1, sizeof *picture);
    struct folded *folded = lull_arena_zero(arena, 1, sizeof *folded);
    uint32_t *leaf_of = lull_arena_zero(arena, (size_t)timeline->n_leaves + 1, sizeof *leaf_of);
    struct lull_picture_place *places =
        lull_arena_zero(arena, (size_t)timeline->n_places + 1, sizeof *places);
    *folded = (struct folded){timeline,
                              lull_arena_zero(arena, (size_t)count + 1, sizeof *folded->row_of)};
    *picture = *timeline;
    picture->n_rows = count;
    picture->n_leaves = 0;
    fold_rows(picture, folded, kept, leaf_of, arena);
    for (uint32_t i = 0; i < timeline->n_places; i++) {
        places[i] = timeline->places[i];
        places[i].leaf = leaf_of[places[i].leaf];
    }
    picture->places = places;
    picture->cells = read_cells;
    picture->pieces = no_pieces;
    picture->data = folded;
    picture->all_steps = false;
    picture->n_kept_messages = 0;
    picture->n_gaps = picture->n_causes = 0;
    picture->n_counters = picture->n_differing = 0;
    return picture;
}

static const char too_small[] = "the page would become larger than allowed (--max-size)";

/* A picture of which there is only the title, and why there is no more. */
static const struct lull_picture_timeline *
without_timeline(const struct lull_picture_timeline *timeline, struct lull_arena *arena)
{
    if (timeline->absent)
        return timeline;
    struct lull_picture_timeline *picture = lull_arena_zero(arena, 1, sizeof *picture);
    picture->id = timeline->id;
    picture->title = timeline->title;
    picture->absent = too_small;
    return picture;
}

/* The same of a matrix. */
static const struct lull_picture_matrix *without_matrix(const struct lull_picture_matrix *matrix,
                                                        struct lull_arena *arena)
{
    if (matrix->absent)
        return matrix;
    struct lull_picture_matrix *picture = lull_arena_zero(arena, 1, sizeof *picture);
    picture->id = matrix->id;
    picture->title = matrix->title;
    picture->absent = too_small;
    return picture;
}

/* ==== what the page knows of a picture ======================================================== */

/* Pictures of a page, while it is decided what of them fits, and what the script has to know of
 * each beside its blocks. */

struct page_block {
    const char *kind;      /* "tile", "messages", "gaps", "counts", "steps" or "layer" */
    unsigned level;        /* of a tile */
    const uint32_t *rows;  /* of a tile, [count] */
    uint32_t first, count; /* leaves of steps and counts, number of a layer */
    const char *base64;
    size_t length;
};

/* A timeline or a matrix. */
struct page_picture {
    const struct lull_picture_timeline *timeline;
    const struct lull_picture_matrix *matrix;
    struct page_block *blocks;
    size_t n_blocks, capacity;
    uint32_t kept_leaves;    /* whose steps are in blocks: those before this one */
    const char *left_out[6]; /* what did not fit, as sentences; NULL at the end */
};

static void put_meta_text(struct lull_json *json, const char *key, const char *value,
                          struct lull_arena *arena)
{
    lull_json_key(json, key);
    lull_json_string(json, value ? lull_page_name(arena, value) : NULL);
}

static void put_count(struct lull_json *json, const char *key, uint64_t value)
{
    lull_json_key(json, key);
    lull_json_uint(json, value);
}

static void put_meta_time(struct lull_json *json, const char *key, int64_t value)
{
    lull_json_key(json, key);
    lull_json_int(json, value);
}

/* -1 where there is none. */
static void put_index_or_none(struct lull_json *json, uint32_t index)
{
    lull_json_int(json, index == LULL_PICTURE_NO_ROW ? -1 : (int64_t)index);
}

/* The begin of an object that stands for something with a name. */
static void begin_named(struct lull_json *json, const char *id, const char *label,
                        struct lull_arena *arena)
{
    lull_json_object_begin(json);
    put_meta_text(json, "id", id, arena);
    put_meta_text(json, "label", label, arena);
}

static void put_kinds(struct lull_json *json, const struct lull_picture_timeline *timeline,
                      struct lull_arena *arena)
{
    lull_json_key(json, "activities");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < timeline->n_activities; i++) {
        begin_named(json, timeline->activities[i].id, timeline->activities[i].label, arena);
        put_count(json, "paint", timeline->activities[i].paint);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
    lull_json_key(json, "counters");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < timeline->n_counters; i++) {
        begin_named(json, timeline->counters[i].id, timeline->counters[i].label, arena);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

enum row_field { ROW_NAME, ROW_KIND, ROW_PARENT, ROW_LEAVES, ROW_LEAF, ROW_LEVEL, ROW_FIELDS };

/* One array per field, which deflates better than one object per row. */
static void put_timeline_rows(struct lull_json *json, const struct lull_picture_timeline *timeline,
                              struct lull_arena *arena)
{
    static const char *const keys[ROW_FIELDS] = {"name",   "kind", "parent",
                                                 "leaves", "leaf", "level"};
    lull_json_key(json, "rows");
    lull_json_object_begin(json);
    for (unsigned field = 0; field < ROW_FIELDS; field++) {
        lull_json_key(json, keys[field]);
        lull_json_array_begin(json);
        for (uint32_t i = 0; i < timeline->n_rows; i++) {
            const struct lull_picture_row *row = &timeline->rows[i];
            const uint32_t numbers[ROW_FIELDS] = {[ROW_PARENT] = row->parent,
                                                  [ROW_LEAVES] = row->n_leaves,
                                                  [ROW_LEAF] = row->leaf,
                                                  [ROW_LEVEL] = row->level};
            if (field == ROW_NAME)
                lull_json_string(json, lull_page_name(arena, row->name));
            else if (field == ROW_KIND)
                lull_json_string(json, row->kind);
            else
                put_index_or_none(json, numbers[field]);
        }
        lull_json_array_end(json);
    }
    lull_json_object_end(json);
}

/* The regions that places, gaps and kept steps name. */
static bool *find_used_regions(const struct page_picture *picture, struct lull_arena *arena)
{
    const struct lull_picture_timeline *timeline = picture->timeline;
    bool *used = lull_arena_zero(arena, (size_t)timeline->n_regions + 1, sizeof *used);
    for (uint32_t i = 0; i < timeline->n_places; i++)
        if (timeline->places[i].region != LULL_PICTURE_NO_ROW)
            used[timeline->places[i].region] = true;
    for (uint32_t i = 0; i < timeline->n_gaps; i++)
        if (timeline->gaps[i].region != LULL_PICTURE_NO_ROW)
            used[timeline->gaps[i].region] = true;
    for (uint32_t leaf = 0; leaf < picture->kept_leaves; leaf++) {
        uint32_t pieces = timeline->pieces(timeline->data, leaf);
        for (uint32_t p = 0; p < pieces; p++) {
            struct lull_picture_piece piece = timeline->piece(timeline->data, leaf, p);
            for (size_t i = 0; i < piece.count; i++) {
                uint32_t region = timeline->step(timeline->data, &piece, i).region;
                if (region != LULL_PICTURE_NO_ROW)
                    used[region] = true;
            }
        }
    }
    return used;
}

/* Each as [index, name, place in the source]. */
static void put_regions(struct lull_json *json, const struct page_picture *picture,
                        struct lull_arena *arena)
{
    const struct lull_picture_timeline *timeline = picture->timeline;
    const bool *used = find_used_regions(picture, arena);
    lull_json_key(json, "regions");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < timeline->n_regions; i++) {
        if (!used[i])
            continue;
        lull_json_array_begin(json);
        lull_json_uint(json, i);
        lull_json_string(json, lull_page_name(arena, timeline->regions[i].name));
        lull_json_string(json, lull_page_name(arena, timeline->regions[i].site));
        lull_json_array_end(json);
    }
    lull_json_array_end(json);
}

static void put_places(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    lull_json_key(json, "places");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < timeline->n_places; i++) {
        const struct lull_picture_place *place = &timeline->places[i];
        lull_json_object_begin(json);
        put_meta_time(json, "begin", place->begin - timeline->begin);
        put_meta_time(json, "end", place->end - timeline->begin);
        put_count(json, "leaf", place->leaf);
        put_count(json, "activity", place->activity);
        lull_json_key(json, "region");
        put_index_or_none(json, place->region);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void put_causes(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    lull_json_key(json, "causes");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < timeline->n_causes; i++) {
        lull_json_object_begin(json);
        lull_json_key(json, "label");
        lull_json_string(json, timeline->causes[i].label);
        put_count(json, "paint", timeline->causes[i].paint);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void put_timeline(struct lull_json *json, const struct page_picture *picture,
                         struct lull_arena *arena)
{
    const struct lull_picture_timeline *timeline = picture->timeline;
    lull_json_key(json, "command");
    lull_json_string(json, lull_display_clean(arena, timeline->command));
    put_meta_time(json, "begin", timeline->begin);
    put_meta_time(json, "end", timeline->end);
    put_count(json, "steps", timeline->n_steps);
    put_count(json, "messages", timeline->n_messages);
    lull_json_key(json, "all_steps");
    lull_json_bool(json, timeline->all_steps);
    lull_json_key(json, "all_messages");
    lull_json_bool(json, timeline->all_messages);
    put_kinds(json, timeline, arena);
    put_timeline_rows(json, timeline, arena);
    put_regions(json, picture, arena);
    put_places(json, timeline);
    put_causes(json, timeline);
}

static void put_names(struct lull_json *json, const char *key, const char *const *names,
                      uint32_t count, struct lull_arena *arena)
{
    lull_json_key(json, key);
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < count; i++)
        lull_json_string(json, lull_page_name(arena, names[i]));
    lull_json_array_end(json);
}

static void put_matrix(struct lull_json *json, const struct lull_picture_matrix *matrix,
                       struct lull_arena *arena)
{
    put_meta_text(json, "about", matrix->about, arena);
    put_meta_text(json, "row_axis", matrix->row_axis, arena);
    put_meta_text(json, "column_axis", matrix->column_axis, arena);
    put_names(json, "row_names", matrix->row_names, matrix->n_rows, arena);
    put_names(json, "column_names", matrix->column_names, matrix->n_columns, arena);
    lull_json_key(json, "layers");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < matrix->n_layers; i++) {
        begin_named(json, matrix->layers[i].id, matrix->layers[i].label, arena);
        put_meta_text(json, "unit", matrix->layers[i].unit, arena);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void put_blocks(struct lull_json *json, const struct page_picture *picture)
{
    lull_json_key(json, "blocks");
    lull_json_array_begin(json);
    for (size_t i = 0; i < picture->n_blocks; i++) {
        const struct page_block *block = &picture->blocks[i];
        lull_json_object_begin(json);
        lull_json_key(json, "kind");
        lull_json_string(json, block->kind);
        put_count(json, "level", block->level);
        put_count(json, "first", block->first);
        put_count(json, "count", block->count);
        if (block->rows) {
            lull_json_key(json, "rows");
            lull_json_array_begin(json);
            for (uint32_t r = 0; r < block->count; r++)
                lull_json_uint(json, block->rows[r]);
            lull_json_array_end(json);
        }
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

/* What the script knows of the picture beside the bytes of its blocks, as JSON in the arena. */
static const char *page_picture_meta(const struct page_picture *picture, struct lull_arena *arena)
{
    char *text;
    size_t size;
    struct lull_json json;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    const char *title = picture->timeline ? picture->timeline->title : picture->matrix->title;
    const char *absent = picture->timeline ? picture->timeline->absent : picture->matrix->absent;
    lull_json_begin(&json, out, true);
    lull_json_object_begin(&json);
    put_meta_text(&json, "id", picture->timeline ? picture->timeline->id : picture->matrix->id,
                  arena);
    put_meta_text(&json, "title", title, arena);
    put_meta_text(&json, "absent", absent, arena);
    if (!absent && picture->timeline)
        put_timeline(&json, picture, arena);
    else if (!absent)
        put_matrix(&json, picture->matrix, arena);
    put_blocks(&json, picture);
    lull_json_key(&json, "left_out");
    lull_json_array_begin(&json);
    for (size_t i = 0; picture->left_out[i]; i++)
        lull_json_string(&json, picture->left_out[i]);
    lull_json_array_end(&json);
    lull_json_object_end(&json);
    bool whole = !ferror(out);
    whole &= fclose(out) == 0;
    const char *kept = whole ? lull_arena_strndup(arena, text, size) : NULL;
    free(text);
    return kept;
}

/* ==== what fits into the page ================================================================= */

enum {
    COARSE = 6,            /* level of the cells that all leaves have */
    AROUND = 128,          /* most bytes around a block, and what the meta has of it */
    ROW_COST = 3,          /* bytes that the meta takes for a row of a tile, about */
    TILE_CELLS = 64 << 10, /* of a tile: what is inflated when one of its rows is looked at */
    LAYER_PART = 8         /* a layer of a matrix, or the counters of a run, take at most this
                              part of the room */
};

struct lull_page_data {
    struct lull_arena *arena;
    uint64_t room, size;           /* size of what is packed so far */
    struct page_picture *pictures; /* timelines, then matrices */
    const char **metas;            /* in base64 */
    size_t n_timelines, n_pictures;
};

static void leave_out(struct page_picture *picture, const char *sentence)
{
    size_t i = 0;
    while (picture->left_out[i] && picture->left_out[i] != sentence)
        i++;
    if (i + 1 < sizeof picture->left_out / sizeof *picture->left_out)
        picture->left_out[i] = sentence;
}

/* Adds a block if it fits, or must be there. */
static bool add_block(struct lull_page_data *data, struct page_picture *picture,
                      struct page_block block, const struct lull_bytes *bytes, bool must)
{
    const enum lull_deflate deflate = picture->matrix ? LULL_DEFLATE_RUNS : LULL_DEFLATE_REPEATS;
    block.base64 =
        lull_base64_deflated(data->arena, bytes->data, bytes->size, deflate, &block.length);
    uint64_t cost = AROUND + block.length + (block.rows ? ROW_COST * (uint64_t)block.count : 0);
    if (!block.base64 || (!must && data->size + cost > data->room))
        return false;
    picture->blocks = lull_arena_grow(data->arena, picture->blocks, &picture->capacity,
                                      picture->n_blocks + 1, sizeof *picture->blocks);
    picture->blocks[picture->n_blocks++] = block;
    data->size += cost;
    return true;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* All leaves, or the fine rows. */
static uint32_t list_rows(const struct lull_picture_timeline *timeline, bool fine,
                          struct lull_arena *arena, uint32_t **ret_rows)
{
    uint32_t *rows = lull_arena_zero(arena, (size_t)timeline->n_rows + 1, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < timeline->n_rows; i++)
        if (fine ? lull_block_is_fine(timeline, i) : timeline->rows[i].leaf != LULL_PICTURE_NO_ROW)
            rows[count++] = i;
    *ret_rows = rows;
    return count;
}

static bool add_tiles(struct lull_page_data *data, struct page_picture *picture,
                      const uint32_t *rows, uint32_t n_rows, unsigned level, bool must)
{
    const uint32_t most = TILE_CELLS >> level;
    for (uint32_t first = 0; first < n_rows; first += most) {
        struct lull_bytes bytes = {0};
        uint32_t count = n_rows - first < most ? n_rows - first : most;
        struct page_block block = {
            .kind = "tile", .level = level, .rows = rows + first, .count = count};
        bool added = lull_block_tile(picture->timeline, level, rows + first, count, &bytes) &&
                     add_block(data, picture, block, &bytes, must);
        lull_bytes_free(&bytes);
        if (!added)
            return false;
    }
    return true;
}

static bool is_there(const struct page_picture *picture)
{
    return picture->timeline ? !picture->timeline->absent : !picture->matrix->absent;
}

static void add_coarse(struct lull_page_data *data)
{
    for (size_t i = 0; i < data->n_timelines; i++) {
        struct page_picture *picture = &data->pictures[i];
        uint32_t *rows;
        if (!is_there(picture))
            continue;
        unsigned level = picture->timeline->level < COARSE ? picture->timeline->level : COARSE;
        uint32_t count = list_rows(picture->timeline, false, data->arena, &rows);
        if (!add_tiles(data, picture, rows, count, level, false))
            leave_out(picture, "cells of some rows");
    }
}

/* Of all timelines at one level; nothing of them if they do not fit. */
static bool add_fine_of(struct lull_page_data *data, unsigned level)
{
    uint64_t size = data->size;
    size_t *counts = lull_arena_zero(data->arena, data->n_timelines + 1, sizeof *counts);
    bool fits = true;
    for (size_t i = 0; i < data->n_timelines; i++) {
        struct page_picture *picture = &data->pictures[i];
        uint32_t *rows;
        counts[i] = picture->n_blocks;
        if (!fits || !is_there(picture) || picture->timeline->level <= COARSE)
            continue;
        uint32_t count = list_rows(picture->timeline, true, data->arena, &rows);
        unsigned own = picture->timeline->level < level ? picture->timeline->level : level;
        fits = add_tiles(data, picture, rows, count, own, false);
    }
    if (fits)
        return true;
    data->size = size;
    for (size_t i = 0; i < data->n_timelines; i++)
        data->pictures[i].n_blocks = counts[i];
    return false;
}

static void add_fine(struct lull_page_data *data)
{
    unsigned deepest = 0;
    for (size_t i = 0; i < data->n_timelines; i++)
        if (is_there(&data->pictures[i]) && data->pictures[i].timeline->level > deepest)
            deepest = data->pictures[i].timeline->level;
    unsigned level = deepest;
    while (level > COARSE && !add_fine_of(data, level))
        level--;
    for (size_t i = 0; i < data->n_timelines; i++)
        if (is_there(&data->pictures[i]) && data->pictures[i].timeline->level > level)
            leave_out(&data->pictures[i], "finer cells");
}

/* ---- steps, messages, layers ----------------------------------------------------------------- */

static void add_messages(struct lull_page_data *data, struct page_picture *picture)
{
    struct lull_bytes bytes = {0};
    struct page_block block = {.kind = "messages"};
    if (!is_there(picture) || picture->timeline->n_kept_messages == 0)
        return;
    if (!lull_block_messages(picture->timeline, &bytes) ||
        !add_block(data, picture, block, &bytes, false))
        leave_out(picture, "messages");
    lull_bytes_free(&bytes);
}

static void add_gaps(struct lull_page_data *data, struct page_picture *picture)
{
    struct lull_bytes bytes = {0};
    struct page_block block = {.kind = "gaps"};
    if (!is_there(picture) || picture->timeline->n_gaps == 0)
        return;
    if (!lull_block_gaps(picture->timeline, &bytes) ||
        !add_block(data, picture, block, &bytes, false))
        leave_out(picture, "gaps of devices");
    lull_bytes_free(&bytes);
}

/* What blocks of neighbouring leaves hold. */
struct by_leaves {
    const char *kind, *left_out;
    uint32_t group; /* leaves of a block: a look at one of them inflates no more than these */
    bool (*has_any)(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count);
    bool (*pack)(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                 struct lull_bytes *bytes);
};

static bool has_counters(const struct lull_picture_timeline *timeline, uint32_t first,
                         uint32_t count)
{
    (void)first;
    (void)count;
    return timeline->n_counters > 0;
}

static bool has_steps(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count)
{
    for (uint32_t leaf = first; leaf < first + count; leaf++)
        if (timeline->pieces(timeline->data, leaf) > 0)
            return true;
    return false;
}

static const struct by_leaves counts = {"counts", "counters of some rows", 64, has_counters,
                                        lull_block_counts};

static const struct by_leaves steps = {"steps", "steps of some locations", 16, has_steps,
                                       lull_block_steps};

/* As long as the page is smaller than `most`. Returns how many leaves are there. */
static uint32_t add_by_leaves(struct lull_page_data *data, struct page_picture *picture,
                              const struct by_leaves *what, uint64_t most)
{
    const struct lull_picture_timeline *timeline = picture->timeline;
    if (!is_there(picture))
        return 0;
    for (uint32_t first = 0, count; first < timeline->n_leaves; first += count) {
        count = timeline->n_leaves - first;
        count = count < what->group ? count : what->group;
        if (!what->has_any(timeline, first, count))
            continue;
        struct lull_bytes bytes = {0};
        const struct page_block block = {.kind = what->kind, .first = first, .count = count};
        const bool added = data->size < most && what->pack(timeline, first, count, &bytes) &&
                           add_block(data, picture, block, &bytes, false);
        lull_bytes_free(&bytes);
        if (!added) {
            leave_out(picture, what->left_out);
            return first;
        }
    }
    return timeline->n_leaves;
}

static void add_layers(struct lull_page_data *data, struct page_picture *picture)
{
    const struct lull_picture_matrix *matrix = picture->matrix;
    if (!is_there(picture))
        return;
    const size_t count = (size_t)matrix->n_rows * matrix->n_columns;
    for (uint32_t i = 0; i < matrix->n_layers; i++) {
        struct lull_bytes bytes = {0};
        struct page_block block = {.kind = "layer", .first = i};
        uint64_t size = data->size;
        const bool added = lull_block_layer(matrix->layers[i].values, count, &bytes) &&
                           add_block(data, picture, block, &bytes, false);
        lull_bytes_free(&bytes);
        if (!added || data->size - size > data->room / LAYER_PART) {
            picture->n_blocks -= data->size > size;
            data->size = size;
            leave_out(picture, "some layers");
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void add_metas(struct lull_page_data *data)
{
    data->metas = lull_arena_zero(data->arena, data->n_pictures + 1, sizeof *data->metas);
    data->size = 0;
    for (size_t i = 0; i < data->n_pictures; i++) {
        size_t length = 0;
        const char *meta = page_picture_meta(&data->pictures[i], data->arena);
        if (meta)
            data->metas[i] = lull_base64_deflated(data->arena, meta, strlen(meta),
                                                  LULL_DEFLATE_REPEATS, &length);
        data->size += length + AROUND;
        for (size_t k = 0; k < data->pictures[i].n_blocks; k++)
            data->size += data->pictures[i].blocks[k].length + AROUND;
    }
}

/* What a page gives up, in this order, where those parts of its pictures that it must have, as the
 * names of all rows, are too large. */
struct cut {
    unsigned depth; /* of rows; 0: no timeline */
    bool matrices;
};

static const struct cut cuts[] = {{UINT_MAX, true}, {3, true},  {2, true},
                                  {1, true},        {1, false}, {0, false}};

enum { CUTS = sizeof cuts / sizeof *cuts };

static const struct lull_picture_timeline *
cut_timeline(const struct lull_picture_timeline *timeline, const struct cut *cut,
             struct lull_arena *arena)
{
    return cut->depth ? lull_page_fold(timeline, cut->depth, arena)
                      : without_timeline(timeline, arena);
}

/* The pictures without a block. */
static struct lull_page_data *begin_data(const struct lull_document *document,
                                         const struct cut *cut)
{
    struct lull_arena *arena = document->arena;
    struct lull_page_data *data = lull_arena_zero(arena, 1, sizeof *data);
    data->arena = arena;
    data->n_timelines = document->n_timelines;
    data->n_pictures = document->n_timelines + document->n_matrices;
    data->pictures = lull_arena_zero(arena, data->n_pictures + 1, sizeof *data->pictures);
    for (size_t i = 0; i < document->n_timelines; i++) {
        struct page_picture *picture = &data->pictures[i];
        picture->timeline = cut_timeline(document->timelines[i], cut, arena);
        if (picture->timeline != document->timelines[i])
            leave_out(picture,
                      cut->depth
                          ? "rows inside of those that are here, with their steps and messages"
                          : "the timeline");
    }
    for (size_t i = 0; i < document->n_matrices; i++) {
        struct page_picture *picture = &data->pictures[document->n_timelines + i];
        const struct lull_picture_matrix *matrix = document->matrices[i];
        picture->matrix = cut->matrices ? matrix : without_matrix(matrix, arena);
        if (picture->matrix != matrix)
            leave_out(picture, "the matrix");
    }
    add_metas(data); /* how large they are at least */
    return data;
}

/* Packs what fits. How large the metas become with what is kept is not known before, so that the
 * result may be larger than `room`. */
static struct lull_page_data *pack(const struct lull_document *document, const struct cut *cut,
                                   uint64_t room)
{
    struct lull_page_data *data = begin_data(document, cut);
    data->room = room;
    add_coarse(data);
    for (size_t i = data->n_timelines; i < data->n_pictures; i++)
        add_layers(data, &data->pictures[i]);
    add_fine(data);
    for (size_t i = 0; i < data->n_timelines; i++)
        add_messages(data, &data->pictures[i]);
    for (size_t i = 0; i < data->n_timelines; i++)
        add_gaps(data, &data->pictures[i]);
    for (size_t i = 0; i < data->n_timelines; i++)
        add_by_leaves(data, &data->pictures[i], &counts, data->size + room / LAYER_PART);
    for (size_t i = 0; i < data->n_timelines; i++)
        data->pictures[i].kept_leaves = add_by_leaves(data, &data->pictures[i], &steps, data->room);
    add_metas(data);
    return data;
}

struct lull_page_data *lull_page_data_pack(const struct lull_document *document, uint64_t room)
{
    size_t cut = 0;
    uint64_t aim = room;
    while (cut + 1 < CUTS && begin_data(document, &cuts[cut])->size > room)
        cut++;
    struct lull_page_data *data = pack(document, &cuts[cut], aim);
    while (data->size > room && aim > 0) {
        const uint64_t excess = data->size - room, least = aim / 64 + 1;
        const uint64_t less = excess > least ? excess : least;
        aim = aim > less ? aim - less : 0;
        data = pack(document, &cuts[cut], aim);
    }
    return data;
}

uint64_t lull_page_data_least(const struct lull_document *document)
{
    return begin_data(document, &cuts[CUTS - 1])->size;
}

void lull_page_data_write(const struct lull_page_data *data, FILE *out)
{
    for (size_t i = 0; i < data->n_pictures; i++) {
        const struct page_picture *picture = &data->pictures[i];
        bool timeline = picture->timeline != NULL;
        size_t number = timeline ? i : i - data->n_timelines;
        const char *name = timeline ? "timeline" : "matrix";
        if (data->metas[i])
            fprintf(out, "<script type=\"application/x-lull\" id=\"%s-%zu\">%s</script>\n", name,
                    number, data->metas[i]);
        for (size_t k = 0; k < picture->n_blocks; k++)
            fprintf(out, "<script type=\"application/x-lull\" id=\"%s-%zu-%zu\">%s</script>\n",
                    name, number, k, picture->blocks[k].base64);
    }
}
