/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page/picture_fold.h"

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

const struct lull_picture_timeline *
lull_page_without_timeline(const struct lull_picture_timeline *timeline, struct lull_arena *arena)
{
    if (timeline->absent)
        return timeline;
    struct lull_picture_timeline *picture = lull_arena_zero(arena, 1, sizeof *picture);
    picture->id = timeline->id;
    picture->title = timeline->title;
    picture->absent = too_small;
    return picture;
}

const struct lull_picture_matrix *lull_page_without_matrix(const struct lull_picture_matrix *matrix,
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
