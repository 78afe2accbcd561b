/* Our own decoder of event files, several times faster than libotf2. decode.c walks the records
 * and decodes those of regions, records.c all others, local.c holds what the definitions
 * of the location say. Internal to the OTF2 format. */
#ifndef LULL_TRACE_FORMAT_OTF2_READ_DECODE_H
#define LULL_TRACE_FORMAT_OTF2_READ_DECODE_H

#include "base/file.h"
#include "trace/format/otf2/otf2.h"
#include "trace/format/otf2/read/records.h"

#include <math.h>
#include <string.h>

/* ---- the definitions of a location ----------------------------------------------------------- */

/* How far a location's clock was from the common one at some times: measured, and between them
 * (and before the first, behind the last) on the straight line through two of them. */
struct lull_otf2_offset {
    uint64_t time;
    int64_t offset;
};

struct lull_otf2_local {
    struct lull_arena *arena;                    /* of all that follows */
    bool unusual;                                /* leave this location to libotf2 */
    struct lull_otf2_map maps[OTF2_MAPPING_MAX]; /* the file's ids -> the archive's */
    struct lull_otf2_offset *offsets;            /* in time order; fewer than 2 say nothing */
    size_t n_offsets, offset_capacity;

    /* The line in use, which holds up to `line_end`. Times go up: lines come one after the other.
     */
    size_t line;
    uint64_t line_end;
    double slope;
};

/* Reads the definitions of a location through `reader`, which has selected it, and applies them to
 * the events that the reader will give. `local` (NULL: not wanted) also keeps them. */
lull_status lull_otf2_local_read(const struct lull_trace *trace, OTF2_Reader *reader, uint64_t id,
                                 struct lull_otf2_local *local, struct lull_error *err);
void lull_otf2_local_free(struct lull_otf2_local *local);

/* Moves on to the line that holds for this time. */
void lull_otf2_local_seek(struct lull_otf2_local *local, uint64_t ticks);

/* To the nearest integer, ties to even, as libotf2 rounds; without a call for usual values. */
static inline int64_t lull_otf2_round(double value)
{
    const double magic = 6755399441055744.0; /* 1.5 x 2^52: adding it leaves no bits behind the
                                                point of values below 2^51 */
    if (!(fabs(value) < 2251799813685248.0))
        return llrint(value);
    double shifted = value + magic;
    int64_t bits, zero;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&zero, &magic, sizeof zero);
    return bits - zero;
}

/* The common clock's time at a time of the location's clock. */
static inline uint64_t lull_otf2_correct(struct lull_otf2_local *local, uint64_t ticks)
{
    if (local->n_offsets < 2)
        return ticks;
    if (ticks > local->line_end)
        lull_otf2_local_seek(local, ticks);
    const struct lull_otf2_offset *from = &local->offsets[local->line];
    double passed = (double)(int64_t)(ticks - from->time);
    return ticks + (uint64_t)from->offset + (uint64_t)lull_otf2_round(local->slope * passed);
}

/* ---- records --------------------------------------------------------------------------------- */

/* One that lull has a use for, between its type and its end. */
struct lull_otf2_record {
    const uint8_t *at, *end;
    uint8_t type;
    uint64_t time;     /* corrected */
    uint64_t position; /* 1: the first event of the location */
};

/* By type: 1 for events that no callback wants, else 0. */
void lull_otf2_unwanted(const struct lull_otf2_callbacks *callbacks, uint8_t unwanted[256]);

/* Has the record translated; false: stream->status and stream->error tell why it cannot be, or
 * with status LULL_OK the bytes are no such record. */
bool lull_otf2_translate(struct otf2_stream *stream, const struct lull_otf2_callbacks *callbacks,
                         struct lull_otf2_local *local, struct lull_otf2_record *record);

/* Whether a number stands behind the type, and no length. */
bool lull_otf2_is_plain(uint8_t type);

/* ---- the decoder ----------------------------------------------------------------------------- */

/* Makes stream->decoder, or leaves it NULL where the location is one for libotf2. */
lull_status lull_otf2_decoder_open(struct otf2_stream *stream, struct lull_error *err);
/* Adds events at stream->next up to `end`; sets stream->ended at the end of the file. */
lull_status lull_otf2_decoder_read(struct otf2_stream *stream, const struct lull_event *end,
                                   struct lull_error *err);
void lull_otf2_decoder_close(struct lull_otf2_decoder *decoder); /* NULL is allowed */

#endif
