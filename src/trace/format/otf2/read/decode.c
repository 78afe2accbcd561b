/* An event file is a sequence of chunks of one size. A chunk is a header (mark, byte order, numbers
 * of its first and last event) and records, ended by zeros, or in the last chunk by a mark. A
 * record is a byte for its type and, for nearly all types, one for the length of what follows (255:
 * the length follows in 8 bytes). Time stamps are records of their own, for all events up to the
 * next; attributes are records before the event that they belong to.
 *
 * A trace is mostly enters and leaves, each with its time stamp: they are decoded in one loop,
 * which also skips what nobody asked for. Anything else in it goes the slower way: record by
 * record, with every byte checked, to the callbacks that libotf2 would call. */
#include "trace/format/otf2/read/decode.h"
#include "trace/format/otf2/read/events.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    END_OF_CHUNK = 0,
    END_OF_FILE = 2,
    CHUNK = 3,
    TIME_STAMP = 5,
    ATTRIBUTES = 6,
    BUFFER_FLUSH = 10,
    FIRST_EVENT = BUFFER_FLUSH, /* the lowest type of an event */
    ENTER = 12,
    LEAVE = 13,
};

enum {
    CHUNK_HEADER = 18,
    LITTLE_ENDIAN_MARK = 'B',
    BIG_ENDIAN_MARK = '#',
    TIME_STAMP_SIZE = 9,
    LONG_LENGTH = 255,
    /* Nothing of a common record and its time stamp lies further behind its begin. */
    COMMON_SIZE = 16,
};

struct lull_otf2_decoder {
    struct lull_mapping mapping;
    size_t chunk_size;
    const uint8_t *at;               /* the next record */
    const uint8_t *chunk, *end;      /* of the current chunk */
    size_t window_begin, window_end; /* bytes that are mapped in; see slide_window */
    uint64_t ticks;                  /* of the last time stamp, by the location's clock */
    uint64_t position;               /* events passed */
    struct lull_otf2_local local;
    struct lull_otf2_callbacks callbacks;
    uint8_t unwanted[256];   /* by type */
    uint32_t *own_regions;   /* where the location translates ids */
    const uint32_t *regions; /* id in the file -> index, for ids below: */
    uint64_t n_regions;
};

static uint64_t read_fixed_number(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static lull_status damaged(const struct otf2_stream *stream, const uint8_t *at, const char *what,
                           struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s/%" PRIu64 ".evt: byte %zu: %s",
                     stream->archive->location_dir,
                     stream->trace->locations[stream->location].source_id,
                     (size_t)(at - stream->decoder->mapping.data), what);
}

/* ---- chunks and window ----------------------------------------------------------------------- */

static lull_status begin_chunk(struct otf2_stream *stream, const uint8_t *at,
                               struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    size_t left = decoder->mapping.size - (size_t)(at - decoder->mapping.data);
    if (left < CHUNK_HEADER)
        return damaged(stream, at, "the file ends where a chunk is expected", err);
    if (at[0] != CHUNK || at[1] != LITTLE_ENDIAN_MARK)
        return damaged(stream, at, "no chunk begins here", err);
    decoder->chunk = at;
    decoder->end = at + (left < decoder->chunk_size ? left : decoder->chunk_size);
    decoder->at = at + CHUNK_HEADER;
    return LULL_OK;
}

static lull_status end_chunk(struct otf2_stream *stream, struct lull_error *err)
{
    const struct lull_otf2_decoder *decoder = stream->decoder;
    if ((size_t)(decoder->end - decoder->chunk) < decoder->chunk_size)
        return damaged(stream, decoder->end, "the file ends inside its last chunk", err);
    return begin_chunk(stream, decoder->end, err);
}

/* Keeps a few hundred KiB of the file mapped in around the place of reading: what has been read is
 * given back, so that memory does not grow with the length of the trace, and what comes is asked
 * for at once, which costs less than a fault for every few pages. Both are hints. */
static void slide_window(struct lull_otf2_decoder *decoder)
{
    enum { STEP = 256 << 10 };
    uint8_t *base = (uint8_t *)(uintptr_t)decoder->mapping.data;
    size_t begin = (size_t)(decoder->at - decoder->mapping.data) / STEP * STEP;
    size_t left = decoder->mapping.size - begin;
    size_t end = begin + (left < 2 * STEP ? left : 2 * STEP);
    if (begin > decoder->window_begin)
        madvise(base + decoder->window_begin, begin - decoder->window_begin, MADV_DONTNEED);
    decoder->window_begin = begin;
    if (begin > decoder->window_end)
        decoder->window_end = begin;
#ifdef MADV_POPULATE_READ
    madvise(base + decoder->window_end, end - decoder->window_end, MADV_POPULATE_READ);
#endif
    decoder->window_end = end;
}

/* Where common records can no longer be read without looking at the end of window and chunk. */
static const uint8_t *common_limit(const struct lull_otf2_decoder *decoder)
{
    const uint8_t *window_end = decoder->mapping.data + decoder->window_end;
    const uint8_t *end = window_end < decoder->end ? window_end : decoder->end;
    return end - decoder->at < COMMON_SIZE ? decoder->at : end - COMMON_SIZE;
}

/* ---- common records -------------------------------------------------------------------------- */

/* Reads on while records are enters, leaves or unwanted. Compiled for each way of telling time. */
static inline void decode_usual_records(struct otf2_stream *stream, const struct lull_event *last,
                                        const bool corrected)
{
    static const uint32_t id_mask[5] = {0, 0xff, 0xffff, 0xffffff, 0xffffffff};
    struct lull_otf2_decoder *decoder = stream->decoder;
    const struct lull_otf2_clock clock = stream->archive->clock;
    const uint8_t *at = decoder->at, *end = decoder->end, *limit = common_limit(decoder);
    struct lull_event *event = stream->next;
    uint64_t ticks = decoder->ticks, position = decoder->position;
    while (at < limit && event < last) {
        if (*at == TIME_STAMP) {
            ticks = read_fixed_number(at + 1);
            at += TIME_STAMP_SIZE;
        }
        const unsigned type = at[0], length = at[1];
        if (decoder->unwanted[type]) {
            if (length == LONG_LENGTH || length + 2 > (size_t)(end - at))
                break;
            at += 2 + length;
            position += type != ATTRIBUTES;
            continue;
        }
        if (type != ENTER && type != LEAVE)
            break;
        uint32_t id =
            (uint32_t)at[2] | (uint32_t)at[3] << 8 | (uint32_t)at[4] << 16 | (uint32_t)at[5] << 24;
        if (length > 4)
            break;
        id &= id_mask[length];
        if (id >= decoder->n_regions || decoder->regions[id] == LULL_NONE)
            break;
        event->time =
            lull_otf2_ns(&clock, corrected ? lull_otf2_correct(&decoder->local, ticks) : ticks);
        event->kind = type == ENTER ? LULL_EVENT_ENTER : LULL_EVENT_LEAVE;
        event->op = 0;
        event->reserved = 0;
        event->id = decoder->regions[id];
        event++;
        position++;
        at += 2 + length;
    }
    decoder->at = at;
    decoder->ticks = ticks;
    decoder->position = position;
    stream->next = event;
}

static void decode_usual(struct otf2_stream *stream, const struct lull_event *last)
{
    if (stream->decoder->local.n_offsets >= 2)
        decode_usual_records(stream, last, true);
    else
        decode_usual_records(stream, last, false);
}

/* ---- all other records ----------------------------------------------------------------------- */

static lull_status read_time_stamp(struct otf2_stream *stream, struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    if (decoder->end - decoder->at < TIME_STAMP_SIZE)
        return damaged(stream, decoder->at, "a time stamp crosses the end of its chunk", err);
    decoder->ticks = read_fixed_number(decoder->at + 1);
    decoder->at += TIME_STAMP_SIZE;
    return LULL_OK;
}

/* What lies between the type of a record (and its length, where there is one) and its end; false:
 * it would end behind its chunk. */
static bool find_record(const struct lull_otf2_decoder *decoder,
                        struct lull_otf2_record *ret_record)
{
    const uint8_t *at = decoder->at + 1;
    uint64_t left = (uint64_t)(decoder->end - at);
    if (left == 0)
        return false;
    uint64_t length = *at;
    if (lull_otf2_is_plain(*decoder->at)) {
        length = length == LONG_LENGTH ? 1 : 1 + length; /* with the length of the number */
    } else if (length != LONG_LENGTH) {
        at += 1;
    } else if (left < 1 + sizeof length) {
        return false;
    } else {
        length = read_fixed_number(at + 1);
        at += 1 + sizeof length;
    }
    if (length > (uint64_t)(decoder->end - at))
        return false;
    ret_record->at = at;
    ret_record->end = at + length;
    return true;
}

static lull_status read_record(struct otf2_stream *stream, struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    struct lull_otf2_record record = {.type = *decoder->at};
    if (record.type < FIRST_EVENT && record.type != ATTRIBUTES)
        return damaged(stream, decoder->at, "no record begins here", err);
    if (!find_record(decoder, &record))
        return damaged(stream, decoder->at, "a record crosses the end of its chunk", err);
    const uint8_t *begin = decoder->at;
    decoder->at = record.end;
    decoder->position += record.type != ATTRIBUTES;
    if (decoder->unwanted[record.type])
        return LULL_OK;
    record.time = lull_otf2_correct(&decoder->local, decoder->ticks);
    record.position = decoder->position;
    if (lull_otf2_translate(stream, &decoder->callbacks, &decoder->local, &record))
        return LULL_OK;
    if (stream->status != LULL_OK)
        return lull_fail(err, stream->status, "%s", stream->error.text);
    return damaged(stream, begin, "the fields of a record do not fit into it", err);
}

static lull_status read_other(struct otf2_stream *stream, struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    switch (decoder->at < decoder->end ? *decoder->at : END_OF_CHUNK) {
    case TIME_STAMP:
        return read_time_stamp(stream, err);
    case END_OF_CHUNK:
        return end_chunk(stream, err);
    case END_OF_FILE:
        stream->ended = true;
        return LULL_OK;
    default:
        return read_record(stream, err);
    }
}

/* ---- the decoder ----------------------------------------------------------------------------- */

/* Whether the readings of the largest metric class would fit into this block. */
static bool has_room(const struct otf2_stream *stream)
{
    return stream->most_readings == 0 ||
           stream->most_readings - stream->n_readings >= stream->archive->most_members;
}

lull_status lull_otf2_decoder_read(struct otf2_stream *stream, const struct lull_event *end,
                                   struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    lull_status status = LULL_OK;
    while (status == LULL_OK && !stream->ended && stream->next < end && has_room(stream)) {
        if ((size_t)(decoder->at - decoder->mapping.data) + COMMON_SIZE > decoder->window_end &&
            decoder->window_end < decoder->mapping.size)
            slide_window(decoder);
        decode_usual(stream, end);
        if (stream->next < end)
            status = read_other(stream, err);
    }
    return status;
}

/* Ids of regions in the file -> indices, through the location's own table. */
static bool map_regions(struct otf2_stream *stream)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    const struct lull_otf2_map *archive = &stream->archive->regions;
    const struct lull_otf2_map *own = &decoder->local.maps[OTF2_MAPPING_REGION];
    decoder->regions = archive->dense;
    decoder->n_regions = archive->n_dense;
    if (!own->dense && !own->slots)
        return true;
    uint64_t count = own->n_dense > archive->n_dense ? own->n_dense : archive->n_dense;
    decoder->own_regions = malloc((count + 1) * sizeof *decoder->own_regions);
    if (!decoder->own_regions)
        return false;
    for (uint64_t id = 0; id < count; id++) {
        uint32_t translated = lull_otf2_find(own, id);
        decoder->own_regions[id] =
            lull_otf2_find(archive, translated == LULL_NONE ? id : translated);
    }
    decoder->regions = decoder->own_regions;
    decoder->n_regions = count;
    return true;
}

static lull_status read_local_definitions(struct otf2_stream *stream, struct lull_error *err)
{
    const struct lull_trace *trace = stream->trace;
    uint64_t id = trace->locations[stream->location].source_id;
    lull_otf2_quiet();
    OTF2_Reader *reader = OTF2_Reader_Open(stream->archive->anchor);
    if (!reader)
        return lull_otf2_fail(err, OTF2_ERROR_INVALID, "%s: cannot open the archive", trace->path);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    OTF2_ErrorCode code = OTF2_Reader_SelectLocation(reader, id);
    lull_status status =
        code == OTF2_SUCCESS
            ? lull_otf2_local_read(trace, reader, id, &stream->decoder->local, err)
            : lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot select", trace->path, id);
    OTF2_Reader_Close(reader);
    return status;
}

static lull_status prepare_decoder(struct otf2_stream *stream, bool *ret_usual,
                                   struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    const struct lull_otf2_archive *archive = stream->archive;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%" PRIu64 ".evt", archive->location_dir,
             stream->trace->locations[stream->location].source_id);
    lull_status status = LULL_OK;
    if (archive->local_definitions)
        status = read_local_definitions(stream, err);
    if (status == LULL_OK)
        status = lull_map_file(path, &decoder->mapping, err);
    if (status != LULL_OK)
        return status;
    decoder->chunk_size = archive->event_chunk;
    bool swapped = decoder->mapping.size >= 2 && decoder->mapping.data[0] == CHUNK &&
                   decoder->mapping.data[1] == BIG_ENDIAN_MARK;
    *ret_usual = !swapped && !decoder->local.unusual && decoder->chunk_size >= CHUNK_HEADER;
    if (!*ret_usual)
        return LULL_OK;
    if (!map_regions(stream))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
    lull_otf2_set_callbacks(&decoder->callbacks, stream->mask);
    lull_otf2_unwanted(&decoder->callbacks, decoder->unwanted);
    decoder->unwanted[ATTRIBUTES] = 1;
    decoder->unwanted[BUFFER_FLUSH] = 0; /* its end moves the clock on, as libotf2 has it */
    return begin_chunk(stream, decoder->mapping.data, err);
}

lull_status lull_otf2_decoder_open(struct otf2_stream *stream, struct lull_error *err)
{
    bool usual = false;
    stream->decoder = calloc(1, sizeof *stream->decoder);
    if (!stream->decoder)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
    lull_status status = prepare_decoder(stream, &usual, err);
    if (status == LULL_OK && !usual) {
        lull_otf2_decoder_close(stream->decoder);
        stream->decoder = NULL;
    }
    return status;
}

void lull_otf2_decoder_close(struct lull_otf2_decoder *decoder)
{
    if (!decoder)
        return;
    lull_otf2_local_free(&decoder->local);
    lull_unmap(&decoder->mapping);
    free(decoder->own_regions);
    free(decoder);
}
