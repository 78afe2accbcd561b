/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page/timeline_blocks.h"

#include "base/array.h"
#include "base/varint.h"

#include <stdlib.h>
#include <string.h>

void lull_bytes_free(struct lull_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct lull_bytes){0};
}

/* Room for so many bytes more, which the caller puts where the bytes end. NULL: no memory. */
static unsigned char *make_room(struct lull_bytes *bytes, size_t most)
{
    if (!lull_array_reserve(&bytes->data, &bytes->capacity, bytes->size + most, 1))
        return NULL;
    return bytes->data + bytes->size;
}

/* `end` is behind the last byte that was put into the room. */
static void take_room(struct lull_bytes *bytes, const unsigned char *end)
{
    bytes->size = (size_t)(end - bytes->data);
}

/* ---- tiles --------------------------------------------------------------------------------- */

bool lull_block_is_fine(const struct lull_picture_timeline *timeline, uint32_t row)
{
    const struct lull_picture_row *rows = timeline->rows;
    if (rows[row].level <= LULL_PICTURE_COARSE)
        return false;
    for (uint32_t child = row + 1; child < timeline->n_rows; child++) {
        if (rows[child].parent != row)
            return true; /* leaves; else children follow their parent at once */
        return rows[child].level < rows[row].level;
    }
    return true;
}

/* 255 x the share, to the nearest, but of some time at least 1. */
static unsigned share_of(int64_t ns, int64_t all)
{
    if (ns <= 0 || all <= 0)
        return 0;
    const unsigned share = (unsigned)(255 * ((double)ns / (double)all) + 0.5);
    return share > 0 ? share : 1;
}

/* The cells of one row, ns[n_cells][n], as bytes of planes that begin `apart` bytes apart. Returns
 * the mask of activities that have time. */
static unsigned put_row_planes(const int64_t *ns, size_t n_cells, uint32_t n, unsigned char *planes,
                               size_t apart)
{
    unsigned mask = 0;
    for (size_t cell = 0; cell < n_cells; cell++, ns += n) {
        int64_t all = 0;
        for (uint32_t a = 0; a < n; a++)
            all += ns[a];
        for (uint32_t a = 0; a < n; a++) {
            planes[a * apart + cell] = (unsigned char)share_of(ns[a], all);
            mask |= (unsigned)(ns[a] > 0) << a;
        }
    }
    return mask;
}

/* The first plane of those that are there becomes the sum of all. A cell whose activities fill it
 * sums to about 255, so that the sums deflate to nearly nothing; with two activities, which many
 * programs have, that is half of a tile. */
static void sum_first(unsigned char *planes, unsigned mask, size_t apart)
{
    const unsigned first = mask ? (unsigned)__builtin_ctz(mask) : 0;
    for (unsigned rest = mask & (mask - 1); rest; rest &= rest - 1) {
        const unsigned char *plane = planes + (size_t)__builtin_ctz(rest) * apart;
        for (size_t cell = 0; cell < apart; cell++)
            planes[first * apart + cell] =
                (unsigned char)(planes[first * apart + cell] + plane[cell]);
    }
}

bool lull_block_tile(const struct lull_picture_timeline *timeline, unsigned level,
                     const uint32_t *rows, uint32_t n_rows, struct lull_bytes *bytes)
{
    const uint32_t n = timeline->n_activities, bins = UINT32_C(1) << level;
    const size_t apart = (size_t)bins * n_rows;
    int64_t *ns = malloc(((size_t)bins * n + 1) * sizeof *ns);
    unsigned char *planes = malloc(apart * n + 1);
    unsigned char *to = ns && planes ? make_room(bytes, 2 + apart * n) : NULL;
    unsigned mask = 0;
    for (uint32_t r = 0; to && r < n_rows; r++) {
        timeline->cells(timeline->data, rows[r], level, 0, bins, ns);
        mask |= put_row_planes(ns, bins, n, planes + (size_t)bins * r, apart);
    }
    if (to) {
        sum_first(planes, mask, apart);
        *to++ = mask & 0xff;
        *to++ = (unsigned char)(mask >> 8);
        for (uint32_t a = 0; a < n; a++)
            if (mask >> a & 1) {
                memcpy(to, planes + a * apart, apart);
                to += apart;
            }
        take_room(bytes, to);
    }
    free(ns);
    free(planes);
    return to != NULL;
}

/* ---- steps and messages -------------------------------------------------------------------- */

/* A leaf or a region, of which there may be none. */
static unsigned char *put_maybe(unsigned char *to, uint32_t index)
{
    return lull_put_varint(to, index == LULL_PICTURE_NO_ROW ? 0 : index + UINT64_C(1));
}

static bool put_timeline_piece(const struct lull_picture_timeline *timeline,
                               const struct lull_picture_piece *piece, struct lull_bytes *bytes)
{
    int64_t began = piece->begin;
    unsigned char *to = make_room(bytes, 2 * LULL_MOST_VARINT);
    if (!to)
        return false;
    to = lull_put_varint(to, (uint64_t)(began - timeline->begin));
    take_room(bytes, lull_put_varint(to, piece->count));
    for (size_t s = 0; s < piece->count; s++) {
        const struct lull_picture_step step = timeline->step(timeline->data, piece, s);
        to = make_room(bytes, 2 * LULL_MOST_VARINT + 1);
        if (!to)
            return false;
        to = lull_put_varint(to, (uint64_t)(step.end - began));
        *to++ = step.activity;
        take_room(bytes, put_maybe(to, step.region));
        began = step.end;
    }
    return true;
}

bool lull_block_steps(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                      struct lull_bytes *bytes)
{
    bool good = true;
    for (uint32_t leaf = first; good && leaf < first + count; leaf++) {
        const uint32_t n = timeline->pieces(timeline->data, leaf);
        unsigned char *to = make_room(bytes, LULL_MOST_VARINT);
        good = to != NULL;
        if (good)
            take_room(bytes, lull_put_varint(to, n));
        for (uint32_t p = 0; good && p < n; p++) {
            const struct lull_picture_piece piece = timeline->piece(timeline->data, leaf, p);
            good = put_timeline_piece(timeline, &piece, bytes);
        }
    }
    return good;
}

bool lull_block_messages(const struct lull_picture_timeline *timeline, struct lull_bytes *bytes)
{
    unsigned char *to = make_room(bytes, LULL_MOST_VARINT);
    int64_t before = timeline->begin;
    if (to)
        take_room(bytes, lull_put_varint(to, timeline->n_kept_messages));
    for (size_t i = 0; to && i < timeline->n_kept_messages; i++) {
        const struct lull_picture_message *message = &timeline->messages[i];
        to = make_room(bytes, 6 * LULL_MOST_VARINT);
        if (!to)
            return false;
        to = lull_put_varint(to, (uint64_t)(message->sent - before));
        to = lull_put_varint(to, lull_zigzag((uint64_t)(message->received - message->sent)));
        to = lull_put_varint(to, message->sender);
        to = lull_put_varint(to, message->receiver);
        to = lull_put_varint(to, message->bytes);
        take_room(bytes, lull_put_varint(to, lull_zigzag((uint64_t)message->tag)));
        before = message->sent;
    }
    return to != NULL;
}

bool lull_block_gaps(const struct lull_picture_timeline *timeline, struct lull_bytes *bytes)
{
    unsigned char *to = make_room(bytes, LULL_MOST_VARINT);
    int64_t before = timeline->begin;
    if (to)
        take_room(bytes, lull_put_varint(to, timeline->n_gaps));
    for (uint32_t i = 0; to && i < timeline->n_gaps; i++) {
        const struct lull_picture_gap *gap = &timeline->gaps[i];
        to = make_room(bytes, 8 * LULL_MOST_VARINT);
        if (!to)
            return false;
        to = lull_put_varint(to, (uint64_t)(gap->begin - before));
        to = lull_put_varint(to, (uint64_t)(gap->end - gap->begin));
        to = lull_put_varint(to, (uint64_t)(gap->until - gap->end));
        to = lull_put_varint(to, lull_zigzag((uint64_t)(gap->until - gap->submitted)));
        to = lull_put_varint(to, gap->leaf);
        to = put_maybe(to, gap->submitter);
        to = put_maybe(to, gap->region);
        take_room(bytes, lull_put_varint(to, gap->cause));
        before = gap->begin;
    }
    return to != NULL;
}

/* ---- counters ------------------------------------------------------------------------------ */

static unsigned char *put_float(unsigned char *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned shift = 0; shift < 32; shift += 8)
        *to++ = bits >> shift & 0xff;
    return to;
}

bool lull_block_counts(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                       struct lull_bytes *bytes)
{
    const size_t n = (size_t)timeline->n_counters << LULL_PICTURE_COARSE;
    double *counts = calloc(n + 1, sizeof *counts);
    unsigned char *to = counts ? make_room(bytes, n * count * sizeof(float)) : NULL;
    for (uint32_t leaf = first; to && leaf < first + count; leaf++) {
        timeline->counts(timeline->data, leaf, counts);
        for (size_t i = 0; i < n; i++)
            to = put_float(to, (float)counts[i]);
    }
    if (to)
        take_room(bytes, to);
    free(counts);
    return to != NULL;
}

/* ---- layers -------------------------------------------------------------------------------- */

bool lull_block_layer(const double *values, size_t count, struct lull_bytes *bytes)
{
    unsigned char *to = make_room(bytes, count * sizeof(float));
    for (size_t i = 0; to && i < count; i++) {
        unsigned char parts[sizeof(float)];
        put_float(parts, (float)values[i]);
        for (size_t part = 0; part < sizeof(float); part++)
            to[part * count + i] = parts[part];
    }
    if (to)
        take_room(bytes, to + count * sizeof(float));
    return to != NULL;
}
