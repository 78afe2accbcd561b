#include "report/page/picture_meta.h"

#include "report/display.h"
#include "report/page/html.h"

#include <stdlib.h>
#include <string.h>

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

/* The regions that places and kept steps name. */
static bool *find_used_regions(const struct lull_page_picture *picture, struct lull_arena *arena)
{
    const struct lull_picture_timeline *timeline = picture->timeline;
    bool *used = lull_arena_zero(arena, (size_t)timeline->n_regions + 1, sizeof *used);
    for (uint32_t i = 0; i < timeline->n_places; i++)
        if (timeline->places[i].region != LULL_PICTURE_NO_ROW)
            used[timeline->places[i].region] = true;
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
static void put_regions(struct lull_json *json, const struct lull_page_picture *picture,
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

static void put_timeline(struct lull_json *json, const struct lull_page_picture *picture,
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

static void put_blocks(struct lull_json *json, const struct lull_page_picture *picture)
{
    lull_json_key(json, "blocks");
    lull_json_array_begin(json);
    for (size_t i = 0; i < picture->n_blocks; i++) {
        const struct lull_page_block *block = &picture->blocks[i];
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

const char *lull_page_picture_meta(const struct lull_page_picture *picture,
                                   struct lull_arena *arena)
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
