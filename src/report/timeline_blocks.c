#include "report/timeline_blocks.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void lull_bytes_free(struct lull_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct lull_bytes){0};
}

static bool put_byte(struct lull_bytes *bytes, unsigned value)
{
    if (!lull_array_reserve(&bytes->data, &bytes->capacity, bytes->size + 1, 1))
        return false;
    bytes->data[bytes->size++] = (unsigned char)value;
    return true;
}

static bool put_varint(struct lull_bytes *bytes, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        if (!put_byte(bytes, 0x80 | (value & 0x7f)))
            return false;
    return put_byte(bytes, (unsigned)value);
}

static bool put_zigzag(struct lull_bytes *bytes, int64_t value)
{
    return put_varint(bytes, value < 0 ? 2 * (uint64_t)(-(value + 1)) + 1 : 2 * (uint64_t)value);
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

/* The cells of the rows, as ns[row][bin][activity]; NULL: no memory. */
static int64_t *cells_of(const struct lull_picture_timeline *timeline, unsigned level,
                         const uint32_t *rows, uint32_t n_rows)
{
    const size_t bins = (size_t)1 << level, width = bins * timeline->n_activities;
    int64_t *ns = malloc((width * n_rows + 1) * sizeof *ns);
    for (uint32_t r = 0; ns && r < n_rows; r++)
        timeline->cells(timeline->data, rows[r], level, 0, (uint32_t)bins, ns + width * r);
    return ns;
}

bool lull_block_tile(const struct lull_picture_timeline *timeline, unsigned level,
                     const uint32_t *rows, uint32_t n_rows, struct lull_bytes *bytes)
{
    const uint32_t n = timeline->n_activities;
    const size_t cells = ((size_t)1 << level) * n_rows;
    int64_t *ns = cells_of(timeline, level, rows, n_rows);
    int64_t *all = ns ? calloc(cells + 1, sizeof *all) : NULL;
    unsigned mask = 0;
    for (size_t cell = 0; all && cell < cells; cell++)
        for (uint32_t a = 0; a < n; a++) {
            const int64_t time = ns[cell * n + a];
            all[cell] += time;
            mask |= (unsigned)(time > 0) << a;
        }
    bool good = all && put_byte(bytes, mask & 0xff) && put_byte(bytes, mask >> 8);
    for (uint32_t a = 0; good && a < n; a++) {
        if (!(mask >> a & 1))
            continue;
        good = lull_array_reserve(&bytes->data, &bytes->capacity, bytes->size + cells, 1);
        for (size_t cell = 0; good && cell < cells; cell++)
            bytes->data[bytes->size++] = (unsigned char)share_of(ns[cell * n + a], all[cell]);
    }
    free(ns);
    free(all);
    return good;
}

/* ---- steps and messages -------------------------------------------------------------------- */

static bool put_piece(const struct lull_picture_timeline *timeline,
                      const struct lull_picture_piece *piece, struct lull_bytes *bytes)
{
    int64_t began = piece->begin;
    bool good =
        put_varint(bytes, (uint64_t)(began - timeline->begin)) && put_varint(bytes, piece->count);
    for (size_t s = 0; good && s < piece->count; s++) {
        const struct lull_picture_step step = timeline->step(timeline->data, piece, s);
        good =
            put_varint(bytes, (uint64_t)(step.end - began)) && put_byte(bytes, step.activity) &&
            put_varint(bytes, step.region == LULL_PICTURE_NO_ROW ? 0 : step.region + UINT64_C(1));
        began = step.end;
    }
    return good;
}

bool lull_block_steps(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                      struct lull_bytes *bytes)
{
    bool good = true;
    for (uint32_t leaf = first; good && leaf < first + count; leaf++) {
        const uint32_t n = timeline->pieces(timeline->data, leaf);
        good = put_varint(bytes, n);
        for (uint32_t p = 0; good && p < n; p++) {
            const struct lull_picture_piece piece = timeline->piece(timeline->data, leaf, p);
            good = put_piece(timeline, &piece, bytes);
        }
    }
    return good;
}

bool lull_block_messages(const struct lull_picture_timeline *timeline, struct lull_bytes *bytes)
{
    bool good = put_varint(bytes, timeline->n_kept_messages);
    int64_t before = timeline->begin;
    for (size_t i = 0; good && i < timeline->n_kept_messages; i++) {
        const struct lull_picture_message *message = &timeline->messages[i];
        good = put_varint(bytes, (uint64_t)(message->sent - before)) &&
               put_zigzag(bytes, message->received - message->sent) &&
               put_varint(bytes, message->sender) && put_varint(bytes, message->receiver) &&
               put_varint(bytes, message->bytes) && put_zigzag(bytes, message->tag);
        before = message->sent;
    }
    return good;
}

/* ---- counters ------------------------------------------------------------------------------ */

static bool put_float(struct lull_bytes *bytes, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool good = true;
    for (unsigned shift = 0; good && shift < 32; shift += 8)
        good = put_byte(bytes, bits >> shift & 0xff);
    return good;
}

bool lull_block_counts(const struct lull_picture_timeline *timeline, uint32_t first, uint32_t count,
                       struct lull_bytes *bytes)
{
    const size_t n = (size_t)timeline->n_counters << LULL_PICTURE_COARSE;
    double *counts = calloc(n + 1, sizeof *counts);
    bool good = counts != NULL;
    for (uint32_t leaf = first; good && leaf < first + count; leaf++) {
        timeline->counts(timeline->data, leaf, counts);
        for (size_t i = 0; good && i < n; i++)
            good = put_float(bytes, (float)counts[i]);
    }
    free(counts);
    return good;
}
