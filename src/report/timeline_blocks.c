#include "report/timeline_blocks.h"

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void lull_bytes_free(struct lull_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct lull_bytes){0};
}

static bool reserve(struct lull_bytes *bytes, size_t more)
{
    return lull_array_reserve(&bytes->data, &bytes->capacity, bytes->size + more, 1);
}

static bool put_byte(struct lull_bytes *bytes, unsigned byte)
{
    if (!reserve(bytes, 1))
        return false;
    bytes->data[bytes->size++] = (unsigned char)byte;
    return true;
}

static bool put_varint(struct lull_bytes *bytes, uint64_t value)
{
    enum { MOST = 10 };
    if (!reserve(bytes, MOST))
        return false;
    for (; value >= 128; value >>= 7)
        bytes->data[bytes->size++] = (unsigned char)(value | 128);
    bytes->data[bytes->size++] = (unsigned char)value;
    return true;
}

static bool put_zigzag(struct lull_bytes *bytes, int64_t value)
{
    return put_varint(bytes, value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1);
}

/* ---- tiles --------------------------------------------------------------------------------- */

/* Rounded to the nearest of 255ths, but what is there does not vanish. */
static unsigned char share_of(int64_t ns, int64_t all)
{
    if (ns <= 0 || all <= 0)
        return 0;
    unsigned share = (unsigned)(255.0 * ((double)ns / (double)all) + 0.5);
    return (unsigned char)(share ? share : 1);
}

/* The bytes of a row, of all activities: planes[activity][bin]. */
static void fill_row(const struct lull_picture_timeline *timeline, const int64_t *ns,
                     uint32_t n_bins, unsigned char *planes)
{
    for (uint32_t bin = 0; bin < n_bins; bin++) {
        const int64_t *cell = &ns[(size_t)bin * timeline->n_activities];
        int64_t all = 0;
        for (uint32_t a = 0; a < timeline->n_activities; a++)
            all += cell[a];
        for (uint32_t a = 0; a < timeline->n_activities; a++)
            planes[(size_t)a * n_bins + bin] = share_of(cell[a], all);
    }
}

static bool any_set(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return true;
    return false;
}

/* `planes` is [row][activity][bin]; planes without any time are left out. */
static bool put_planes(struct lull_bytes *bytes, const unsigned char *planes, uint32_t n_rows,
                       uint32_t n_activities, uint32_t n_bins)
{
    unsigned mask = 0;
    for (uint32_t a = 0; a < n_activities; a++)
        for (uint32_t row = 0; row < n_rows; row++)
            if (any_set(&planes[((size_t)row * n_activities + a) * n_bins], n_bins))
                mask |= 1u << a;
    if (!put_byte(bytes, mask & 255) || !put_byte(bytes, mask >> 8))
        return false;
    for (uint32_t a = 0; a < n_activities; a++) {
        if (!(mask >> a & 1))
            continue;
        if (!reserve(bytes, (size_t)n_rows * n_bins))
            return false;
        for (uint32_t row = 0; row < n_rows; row++) {
            memcpy(bytes->data + bytes->size, &planes[((size_t)row * n_activities + a) * n_bins],
                   n_bins);
            bytes->size += n_bins;
        }
    }
    return true;
}

bool lull_block_tile(const struct lull_picture_timeline *timeline, unsigned level,
                     const uint32_t *rows, uint32_t n_rows, struct lull_bytes *bytes)
{
    const uint32_t n_bins = UINT32_C(1) << level, count = timeline->n_activities;
    int64_t *ns = calloc((size_t)n_bins * count + 1, sizeof *ns);
    unsigned char *planes = calloc((size_t)n_rows * count * n_bins + 1, 1);
    bool done = ns && planes;
    for (uint32_t i = 0; done && i < n_rows; i++) {
        timeline->cells(timeline->data, rows[i], level, 0, n_bins, ns);
        fill_row(timeline, ns, n_bins, &planes[(size_t)i * count * n_bins]);
    }
    done = done && put_planes(bytes, planes, n_rows, count, n_bins);
    free(planes);
    free(ns);
    return done;
}

bool lull_block_is_fine(const struct lull_picture_timeline *timeline, uint32_t row)
{
    enum { COARSE = 6 };
    if (timeline->rows[row].level <= COARSE)
        return false;
    bool has_children = row + 1 < timeline->n_rows && timeline->rows[row + 1].parent == row;
    return !has_children || timeline->rows[row + 1].level <= COARSE;
}

/* ---- steps and messages -------------------------------------------------------------------- */

static bool put_piece(struct lull_bytes *bytes, const struct lull_picture_timeline *timeline,
                      const struct lull_picture_piece *piece)
{
    int64_t at = piece->begin;
    bool done = put_varint(bytes, (uint64_t)(piece->begin - timeline->begin)) &&
                put_varint(bytes, piece->count);
    for (size_t i = 0; done && i < piece->count; i++) {
        struct lull_picture_step step = timeline->step(timeline->data, piece, i);
        uint64_t region = step.region == LULL_PICTURE_NO_ROW ? 0 : (uint64_t)step.region + 1;
        done = put_varint(bytes, (uint64_t)(step.end - at)) && put_byte(bytes, step.activity) &&
               put_varint(bytes, region);
        at = step.end;
    }
    return done;
}

bool lull_block_steps(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                      struct lull_bytes *bytes)
{
    bool done = true;
    for (uint32_t leaf = first; done && leaf < first + count; leaf++) {
        uint32_t n_pieces = timeline->pieces(timeline->data, leaf);
        done = put_varint(bytes, n_pieces);
        for (uint32_t i = 0; done && i < n_pieces; i++) {
            struct lull_picture_piece piece = timeline->piece(timeline->data, leaf, i);
            done = put_piece(bytes, timeline, &piece);
        }
    }
    return done;
}

bool lull_block_messages(const struct lull_picture_timeline *timeline, struct lull_bytes *bytes)
{
    int64_t before = timeline->begin;
    bool done = put_varint(bytes, timeline->n_kept_messages);
    for (size_t i = 0; done && i < timeline->n_kept_messages; i++) {
        const struct lull_picture_message *message = &timeline->messages[i];
        done = put_varint(bytes, (uint64_t)(message->sent - before)) &&
               put_zigzag(bytes, message->received - message->sent) &&
               put_varint(bytes, message->sender) && put_varint(bytes, message->receiver) &&
               put_varint(bytes, message->bytes) && put_zigzag(bytes, message->tag);
        before = message->sent;
    }
    return done;
}
