/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of one location.
 *
 * An event file is a sequence of chunks of one size. A chunk is a header (mark, byte order, numbers
 * of its first and last event) and records; it ends with zeros, or the last chunk with a mark. A
 * record is a byte for its type, for nearly all types a byte for the length of what follows (255:
 * the length follows in 8 bytes), and what follows. Time stamps are records of their own, for all
 * events up to the next time stamp; attributes are records before the event that they belong to.
 *
 * A trace is mostly enters and leaves, each with its time stamp. These are decoded in one loop,
 * which also skips what nobody asked for. All other records are decoded one by one, with every byte
 * checked, for the callbacks that libotf2 would call. */

#include "base/file.h"
#include "trace/format/otf2/otf2_archive.h"
#include "trace/format/otf2/otf2_events.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the definitions of a location ----------------------------------------------------------- */

/* How far a location's clock was from the common one at a time when that was measured. Between two
 * such times, before the first and behind the last, the offset is on the straight line through two
 * of them. */
struct otf2_offset {
    uint64_t time;
    int64_t offset;
};

struct otf2_local {
    struct lull_arena *arena;                    /* of all that follows */
    bool unusual;                                /* libotf2 has to read this location */
    struct lull_otf2_map maps[OTF2_MAPPING_MAX]; /* ids of the file to ids of the archive */
    struct otf2_offset *offsets; /* in time order; if fewer than 2, no time is changed */
    size_t n_offsets, offset_capacity;

    /* The line in use, which holds up to `line_end`. Times go up, so the lines come one after the
     * other. */
    size_t line;
    uint64_t line_end;
    double slope;
};

/* Rounds to the nearest integer, ties to even, as libotf2 does, and for usual values without a
 * call. */
static inline int64_t otf2_round(double value)
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

static void otf2_local_seek(struct otf2_local *local, uint64_t ticks);

/* The time of the common clock at a time of the location's clock. */
static inline uint64_t otf2_correct(struct otf2_local *local, uint64_t ticks)
{
    if (local->n_offsets < 2)
        return ticks;
    if (ticks > local->line_end)
        otf2_local_seek(local, ticks);
    const struct otf2_offset *from = &local->offsets[local->line];
    double passed = (double)(int64_t)(ticks - from->time);
    return ticks + (uint64_t)from->offset + (uint64_t)otf2_round(local->slope * passed);
}

/* ---- records --------------------------------------------------------------------------------- */

/* A record that lull has a use for: what stands between its type and its end. */
struct otf2_record {
    const uint8_t *at, *end;
    uint8_t type;
    uint64_t time;     /* corrected */
    uint64_t position; /* number of the event in its location, from 1 */
};

/* ==== local =================================================================================== */

/* The definitions of a location: its clock offsets and the translation of its ids. libotf2 applies
 * them to events only if they were read before; our own decoder applies what is kept here. */

/* ---- ids ------------------------------------------------------------------------------------- */

struct pairs {
    struct otf2_local *local;
    uint64_t *ids;
    uint32_t *values;
    uint64_t count, capacity;
};

static void take_pair(uint64_t id, uint64_t value, void *user)
{
    struct pairs *pairs = user;
    if (pairs->count >= pairs->capacity || value >= LULL_NONE) {
        pairs->local->unusual = true;
        return;
    }
    pairs->ids[pairs->count] = id;
    pairs->values[pairs->count++] = (uint32_t)value;
}

static OTF2_CallbackCode on_mapping(void *user, OTF2_MappingType type, const OTF2_IdMap *map)
{
    struct otf2_local *local = user;
    uint64_t size;
    if (type == OTF2_MAPPING_LOCATION || type == OTF2_MAPPING_LOCATION_GROUP)
        return OTF2_CALLBACK_SUCCESS; /* no event names these */
    if (type >= OTF2_MAPPING_MAX || local->maps[type].dense || local->maps[type].slots ||
        OTF2_IdMap_GetSize(map, &size) != OTF2_SUCCESS || size >= LULL_NONE) {
        local->unusual = true;
        return OTF2_CALLBACK_SUCCESS;
    }
    struct pairs pairs = {.local = local, .capacity = size};
    pairs.ids = lull_arena_alloc(local->arena, size * sizeof *pairs.ids);
    pairs.values = lull_arena_alloc(local->arena, size * sizeof *pairs.values);
    OTF2_IdMap_Traverse(map, take_pair, &pairs);
    uint32_t repeated = lull_otf2_map_build(&local->maps[type], local->arena, pairs.ids,
                                            sizeof *pairs.ids, pairs.values, (uint32_t)pairs.count);
    local->unusual |= repeated > 0;
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- clock ----------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_clock_offset(void *user, OTF2_TimeStamp time, int64_t offset,
                                         double deviation)
{
    struct otf2_local *local = user;
    const int64_t most = INT64_MAX / 4; /* the difference of two offsets must not overflow */
    size_t n = local->n_offsets;
    (void)deviation;
    if ((n > 0 && time <= local->offsets[n - 1].time) || offset > most || offset < -most) {
        local->unusual = true;
        return OTF2_CALLBACK_SUCCESS;
    }
    local->offsets = lull_arena_grow(local->arena, local->offsets, &local->offset_capacity, n + 1,
                                     sizeof *local->offsets);
    local->offsets[local->n_offsets++] = (struct otf2_offset){time, offset};
    return OTF2_CALLBACK_SUCCESS;
}

static void begin_clock_line(struct otf2_local *local, size_t line)
{
    const struct otf2_offset *from = &local->offsets[line], *to = from + 1;
    local->line = line;
    local->line_end = line + 2 < local->n_offsets ? to->time : UINT64_MAX;
    local->slope = (double)(to->offset - from->offset) / (double)(to->time - from->time);
}

/* Moves on to the line that holds at this time. */
static void otf2_local_seek(struct otf2_local *local, uint64_t ticks)
{
    while (ticks > local->line_end)
        begin_clock_line(local, local->line + 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

static OTF2_ErrorCode keep_definitions(OTF2_Reader *reader, OTF2_DefReader *definitions,
                                       struct otf2_local *local)
{
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    if (!callbacks)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    OTF2_DefReaderCallbacks_SetMappingTableCallback(callbacks, on_mapping);
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_clock_offset);
    OTF2_ErrorCode code = OTF2_Reader_RegisterDefCallbacks(reader, definitions, callbacks, local);
    OTF2_DefReaderCallbacks_Delete(callbacks);
    return code;
}

/* Checks the file of definitions, which libotf2 opens by its name. It need not be there. */
static lull_status check_file(const struct lull_trace *trace, uint64_t id, struct lull_error *err)
{
    const struct lull_otf2_archive *archive = trace->format_data;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%" PRIu64 ".def", archive->location_dir, id);
    return access(path, F_OK) == 0 ? lull_check_read(path, err) : LULL_OK;
}

/* Reads the definitions of a location through `reader`, which has selected it, so that the reader
 * will apply them to events. `local` also keeps them; NULL: that is not wanted. */
static lull_status otf2_local_read(const struct lull_trace *trace, OTF2_Reader *reader, uint64_t id,
                                   struct otf2_local *local, struct lull_error *err)
{
    lull_status status = check_file(trace, id, err);
    if (status != LULL_OK)
        return status;
    OTF2_ErrorCode code = OTF2_Reader_OpenDefFiles(reader);
    OTF2_DefReader *definitions =
        code == OTF2_SUCCESS ? OTF2_Reader_GetDefReader(reader, id) : NULL;
    if (!definitions)
        return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot read its definitions",
                              trace->path, id);
    uint64_t count;
    if (local) {
        local->arena = lull_arena_create(NULL);
        code = keep_definitions(reader, definitions, local);
    }
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count);
    OTF2_Reader_CloseDefReader(reader, definitions);
    OTF2_Reader_CloseDefFiles(reader);
    if (code != OTF2_SUCCESS)
        return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot read its definitions",
                              trace->path, id);
    if (local && local->n_offsets >= 2)
        begin_clock_line(local, 0);
    return LULL_OK;
}

static void otf2_local_free(struct otf2_local *local)
{
    lull_arena_destroy(local->arena);
}

/* ==== records ================================================================================= */

/* ---- libotf2 --------------------------------------------------------------------------------- */

static void otf2_register(const struct lull_otf2_callbacks *callbacks,
                          OTF2_EvtReaderCallbacks *library)
{
#define REGISTER(type, kind, fields, arguments) \
    if (callbacks->kind)                        \
        OTF2_EvtReaderCallbacks_Set##kind##Callback(library, callbacks->kind);
    LULL_OTF2_RECORDS(REGISTER)
#undef REGISTER
}

/* ---- which records there are ----------------------------------------------------------------- */

enum record_type {
#define TYPE(type, kind, fields, arguments) TYPE_##kind = type,
    LULL_OTF2_RECORDS(TYPE)
#undef TYPE
};

static const char *const layouts[256] = {
#define LAYOUT(type, kind, fields, arguments) [type] = fields,
    LULL_OTF2_RECORDS(LAYOUT)
#undef LAYOUT
};

/* Whether a number of variable length follows the type directly. All other records, also those of
 * which we know nothing, have their length there. */
static bool otf2_is_plain(uint8_t type)
{
    switch (type) {
    case TYPE_Enter:
    case TYPE_Leave:
    case TYPE_MpiIsendComplete:
    case TYPE_MpiIrecvRequest:
    case TYPE_MpiRequestTest:
    case TYPE_MpiRequestCancelled:
    case TYPE_OmpFork:
    case TYPE_OmpTaskCreate:
    case TYPE_OmpTaskSwitch:
    case TYPE_OmpTaskComplete:
        return true;
    default:
        return false;
    }
}

/* Sets unwanted[type] to 1 for the types of events that no callback wants, else to 0. */
static void otf2_unwanted(const struct lull_otf2_callbacks *callbacks, uint8_t unwanted[256])
{
    for (unsigned type = 0; type < 256; type++)
        unwanted[type] = type >= TYPE_BufferFlush; /* the lowest type of an event */
#define WANTED(type, kind, fields, arguments) unwanted[type] = !callbacks->kind;
    LULL_OTF2_RECORDS(WANTED)
#undef WANTED
}

/* ---- fields ---------------------------------------------------------------------------------- */

enum { MOST_FIELDS = 6, MOST_METRICS = 255 };

struct fields {
    uint64_t value[MOST_FIELDS];
    OTF2_Type types[MOST_METRICS];
    OTF2_MetricValue metrics[MOST_METRICS];
};

static bool read_byte(struct otf2_record *record, uint64_t *ret_value)
{
    if (record->at >= record->end)
        return false;
    *ret_value = *record->at++;
    return true;
}

static bool read_byte_run(struct otf2_record *record, uint64_t count, uint64_t *ret_value)
{
    if (count > (uint64_t)(record->end - record->at))
        return false;
    uint64_t value = 0;
    for (uint64_t i = 0; i < count; i++)
        value |= (uint64_t)record->at[i] << 8 * i;
    record->at += count;
    *ret_value = value;
    return true;
}

/* Reads a number as its length and so many bytes; a length of 255 means that all its bits are
 * ones. */
static bool read_coded_number(struct otf2_record *record, unsigned most, uint64_t *ret_value)
{
    enum { ALL_ONES = 255 };
    uint64_t length;
    if (!read_byte(record, &length))
        return false;
    if (length == ALL_ONES) {
        *ret_value = UINT64_MAX >> (64 - 8 * most);
        return true;
    }
    return length <= most && read_byte_run(record, length, ret_value);
}

static bool read_id(struct otf2_record *record, const struct lull_otf2_map *map,
                    uint64_t *ret_value)
{
    uint64_t id;
    if (!read_coded_number(record, 4, &id))
        return false;
    uint32_t found = lull_otf2_find(map, id);
    *ret_value = found == LULL_NONE ? id : found; /* ids that the table lacks stay as they are */
    return true;
}

static bool read_metrics(struct otf2_record *record, struct fields *fields, uint64_t *ret_count)
{
    if (!read_byte(record, ret_count))
        return false;
    for (uint64_t m = 0; m < *ret_count; m++) {
        uint64_t type, value;
        if (!read_byte(record, &type) || !read_coded_number(record, 8, &value))
            return false;
        if (type != OTF2_TYPE_UINT64 && type != OTF2_TYPE_INT64 && type != OTF2_TYPE_DOUBLE)
            return false;
        fields->types[m] = (OTF2_Type)type;
        memcpy(&fields->metrics[m], &value, sizeof value);
    }
    return true;
}

static bool read_field(struct otf2_record *record, struct otf2_local *local, char form,
                       struct fields *fields, uint64_t *ret_value)
{
    static const uint8_t map_of[128] = {
        ['R'] = OTF2_MAPPING_REGION,    ['C'] = OTF2_MAPPING_COMM,
        ['M'] = OTF2_MAPPING_METRIC,    ['P'] = OTF2_MAPPING_PARAMETER,
        ['S'] = OTF2_MAPPING_STRING,    ['W'] = OTF2_MAPPING_RMA_WIN,
        ['G'] = OTF2_MAPPING_GROUP,     ['X'] = OTF2_MAPPING_CALLING_CONTEXT,
        ['H'] = OTF2_MAPPING_IO_HANDLE,
    };
    switch (form) {
    case '1':
        return read_byte(record, ret_value);
    case '4':
        return read_coded_number(record, 4, ret_value);
    case '8':
        return read_coded_number(record, 8, ret_value);
    case 't':
        if (!read_byte_run(record, 8, ret_value))
            return false;
        *ret_value = otf2_correct(local, *ret_value);
        return true;
    case 'v':
        return read_metrics(record, fields, ret_value);
    default:
        return read_id(record, &local->maps[map_of[form & 127]], ret_value);
    }
}

/* ---- translation ----------------------------------------------------------------------------- */

#define A0
#define A1      , v[0]
#define A2      A1, v[1]
#define A3      A2, v[2]
#define A4      A3, v[3]
#define A5      A4, v[4]
#define A6      A5, v[5]
#define METRICS A2, fields->types, fields->metrics
#define PROGRAM A1, 0, NULL /* a program's arguments mean nothing here */

/* Calls the callback as libotf2 would. Arguments are converted to the types that it takes. */
static OTF2_CallbackCode call_back(struct otf2_stream *stream,
                                   const struct lull_otf2_callbacks *callbacks,
                                   const struct otf2_record *record, const struct fields *fields)
{
    const uint64_t *v = fields->value;
    const uint64_t location = stream->trace->locations[stream->location].source_id;
    switch ((enum record_type)record->type) {
#define CASE(type, kind, layout, arguments) \
    case TYPE_##kind:                       \
        if (!callbacks->kind)               \
            break;                          \
        return callbacks->kind(location, record->time, record->position, stream, NULL arguments);
        LULL_OTF2_RECORDS(CASE)
#undef CASE
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* Translates a record. False: stream->status and stream->error tell what went wrong; if the status
 * is LULL_OK, the bytes are no such record. */
static bool otf2_translate(struct otf2_stream *stream, const struct lull_otf2_callbacks *callbacks,
                           struct otf2_local *local, struct otf2_record *record)
{
    struct fields fields;
    const char *layout = layouts[record->type];
    for (unsigned f = 0; layout[f]; f++)
        if (!read_field(record, local, layout[f], &fields, &fields.value[f]))
            return false;
    return call_back(stream, callbacks, record, &fields) == OTF2_CALLBACK_SUCCESS;
}

/* ==== decode ================================================================================== */

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
    /* The most bytes that a common record has, with its time stamp. */
    COMMON_SIZE = 16,
};

struct lull_otf2_decoder {
    struct lull_mapping mapping;
    size_t chunk_size;
    const uint8_t *at;               /* the next record */
    const uint8_t *chunk, *end;      /* of the chunk at hand */
    size_t window_begin, window_end; /* bytes that are mapped in; see slide_window */
    uint64_t ticks;                  /* the last time stamp, by the location's clock */
    uint64_t position;               /* events so far */
    struct otf2_local local;
    struct lull_otf2_callbacks callbacks;
    uint8_t unwanted[256];   /* by type */
    uint32_t *own_regions;   /* made if the location translates ids of regions; else NULL */
    const uint32_t *regions; /* from ids in the file to indices, for ids below n_regions */
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

/* Keeps a few hundred KiB of the file mapped in around the place of reading. What was read is given
 * back, so that memory does not grow with the length of the trace. What comes next is asked for at
 * once, which costs less than a page fault for every few pages. Both are hints to the kernel. */
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

/* Where the loop over common records must stop, because the next one might cross the end of the
 * window or of the chunk. */
static const uint8_t *common_limit(const struct lull_otf2_decoder *decoder)
{
    const uint8_t *window_end = decoder->mapping.data + decoder->window_end;
    const uint8_t *end = window_end < decoder->end ? window_end : decoder->end;
    return end - decoder->at < COMMON_SIZE ? decoder->at : end - COMMON_SIZE;
}

/* ---- common records -------------------------------------------------------------------------- */

/* Decodes records as long as they are enters, leaves or unwanted. Compiled twice: with and without
 * correction of the clock. */
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
            lull_otf2_ns(&clock, corrected ? otf2_correct(&decoder->local, ticks) : ticks);
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

/* Finds where the content of a record begins and ends, behind its type and, if there is one, its
 * length. False: it would end behind its chunk. */
static bool find_record(const struct lull_otf2_decoder *decoder, struct otf2_record *ret_record)
{
    const uint8_t *at = decoder->at + 1;
    uint64_t left = (uint64_t)(decoder->end - at);
    if (left == 0)
        return false;
    uint64_t length = *at;
    if (otf2_is_plain(*decoder->at)) {
        /* With the byte that is the length of the number. */
        length = length == LONG_LENGTH ? 1 : 1 + length;
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
    struct otf2_record record = {.type = *decoder->at};
    if (record.type < FIRST_EVENT && record.type != ATTRIBUTES)
        return damaged(stream, decoder->at, "no record begins here", err);
    if (!find_record(decoder, &record))
        return damaged(stream, decoder->at, "a record crosses the end of its chunk", err);
    const uint8_t *begin = decoder->at;
    decoder->at = record.end;
    decoder->position += record.type != ATTRIBUTES;
    if (decoder->unwanted[record.type])
        return LULL_OK;
    record.time = otf2_correct(&decoder->local, decoder->ticks);
    record.position = decoder->position;
    if (otf2_translate(stream, &decoder->callbacks, &decoder->local, &record))
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

/* Decodes common records. While a copy goes on, regions are no common records. */
static void decode_common(struct otf2_stream *stream, const struct lull_event *end)
{
    const struct lull_event *event = stream->next;
    if (stream->copies_begun > stream->copies_completed)
        return;
    decode_usual(stream, end);
    for (; stream->makes_copies && event < stream->next; event++) {
        if (event->kind == LULL_EVENT_ENTER)
            stream->depth++;
        else if (stream->depth > 0)
            stream->depth--;
    }
}

/* Adds events at stream->next up to `end`; sets stream->ended at the end of the file. */
static lull_status otf2_decoder_read(struct otf2_stream *stream, const struct lull_event *end,
                                     struct lull_error *err)
{
    struct lull_otf2_decoder *decoder = stream->decoder;
    lull_status status = LULL_OK;
    end -= stream->makes_copies; /* a record may give two events */
    while (status == LULL_OK && !stream->ended && stream->next < end && has_room(stream)) {
        if ((size_t)(decoder->at - decoder->mapping.data) + COMMON_SIZE > decoder->window_end &&
            decoder->window_end < decoder->mapping.size)
            slide_window(decoder);
        decode_common(stream, end);
        if (stream->next < end)
            status = read_other(stream, err);
    }
    return status;
}

/* Makes the table from ids of regions in the file to indices, through the location's own table.
 * False: memory ran out. */
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
            ? otf2_local_read(trace, reader, id, &stream->decoder->local, err)
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
    lull_otf2_set_callbacks(&decoder->callbacks, stream->mask, stream->makes_copies);
    otf2_unwanted(&decoder->callbacks, decoder->unwanted);
    decoder->unwanted[ATTRIBUTES] = 1;
    /* A flush moves the clock on when it ends, as in libotf2. */
    decoder->unwanted[BUFFER_FLUSH] = 0;
    return begin_chunk(stream, decoder->mapping.data, err);
}

static void otf2_decoder_close(struct lull_otf2_decoder *decoder);

/* Makes stream->decoder; leaves it NULL if libotf2 has to read the location. */
static lull_status otf2_decoder_open(struct otf2_stream *stream, struct lull_error *err)
{
    bool usual = false;
    stream->decoder = calloc(1, sizeof *stream->decoder);
    if (!stream->decoder)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
    lull_status status = prepare_decoder(stream, &usual, err);
    if (status == LULL_OK && !usual) {
        otf2_decoder_close(stream->decoder);
        stream->decoder = NULL;
    }
    return status;
}

/* NULL is allowed. */
static void otf2_decoder_close(struct lull_otf2_decoder *decoder)
{
    if (!decoder)
        return;
    otf2_local_free(&decoder->local);
    lull_unmap(&decoder->mapping);
    free(decoder->own_regions);
    free(decoder);
}

/* ==== stream ================================================================================== */

/* The events of one location, decoded here or, if its files hold something unusual, by libotf2. In
 * that case each stream has an OTF2_Reader of its own: handles on one archive share nothing that
 * changes, so several threads can read streams at once, and memory is held only for the locations
 * that are being read. Opening such a stream costs about as much as reading a few thousand
 * events. */

/* ---- handle ---------------------------------------------------------------------------------- */

static lull_status open_handle(const struct lull_trace *trace,
                               const struct lull_otf2_archive *archive, uint64_t id,
                               struct lull_otf2_handle *handle, struct lull_error *err)
{
    lull_otf2_quiet();
    handle->reader = OTF2_Reader_Open(archive->anchor);
    if (!handle->reader)
        return lull_otf2_fail(err, OTF2_ERROR_INVALID, "%s: cannot open the archive", trace->path);
    OTF2_Reader_SetSerialCollectiveCallbacks(handle->reader);
    OTF2_ErrorCode code = OTF2_Reader_SelectLocation(handle->reader, id);
    if (code == OTF2_SUCCESS && archive->local_definitions) {
        lull_status status = otf2_local_read(trace, handle->reader, id, NULL, err);
        if (status != LULL_OK)
            return status;
    }
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_OpenEvtFiles(handle->reader);
    if (code == OTF2_SUCCESS)
        handle->events = OTF2_Reader_GetEvtReader(handle->reader, id);
    if (!handle->events)
        return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot open its events",
                              trace->path, id);
    return LULL_OK;
}

static lull_status register_callbacks(struct otf2_stream *stream, struct lull_error *err)
{
    struct lull_otf2_callbacks wanted = {0};
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (!callbacks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
    lull_otf2_set_callbacks(&wanted, stream->mask, stream->makes_copies || stream->probing);
    otf2_register(&wanted, callbacks);
    OTF2_ErrorCode code = OTF2_Reader_RegisterEvtCallbacks(
        stream->handle.reader, stream->handle.events, callbacks, stream);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return code == OTF2_SUCCESS
               ? LULL_OK
               : lull_otf2_fail(err, code, "%s: cannot register callbacks", stream->trace->path);
}

/* ---- stream ---------------------------------------------------------------------------------- */

/* Makes room for the readings of one block. Reading stops when those of the next event might not
 * fit. */
static bool make_readings(struct otf2_stream *stream)
{
    enum { READINGS_ROOM = 4096 };
    uint32_t most = stream->archive->most_members;
    if (most == 0)
        return true;
    stream->most_readings = most > READINGS_ROOM ? most : READINGS_ROOM;
    stream->readings = malloc(stream->most_readings * sizeof *stream->readings);
    stream->previous = calloc(stream->trace->n_counters, sizeof *stream->previous);
    return stream->readings && stream->previous;
}

static lull_status open_library(struct otf2_stream *stream, struct lull_error *err)
{
    const struct lull_trace *trace = stream->trace;
    lull_status status = open_handle(
        trace, stream->archive, trace->locations[stream->location].source_id, &stream->handle, err);
    return status == LULL_OK ? register_callbacks(stream, err) : status;
}

static bool makes_copies(const struct otf2_stream *stream)
{
    const uint64_t regions = LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE);
    return stream->trace->locations[stream->location].kind == LULL_LOCATION_DEVICE &&
           stream->archive->copy_to_device != LULL_NONE && (stream->mask & regions) == regions;
}

static lull_status open_stream(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               bool probing, void **ret_stream, struct lull_error *err)
{
    struct otf2_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    stream->trace = trace;
    stream->archive = trace->format_data;
    stream->location = location;
    stream->process = trace->locations[location].process;
    stream->mask = stream->archive->own ? mask : mask & ~LULL_MASK_DEVICES;
    stream->submission = lull_otf2_nothing_told;
    stream->probing = probing;
    stream->makes_copies = !probing && makes_copies(stream);
    lull_status status = LULL_OK;
    if (mask & LULL_MASK(LULL_EVENT_COUNTERS) && !make_readings(stream))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    if (status == LULL_OK && !probing && !stream->archive->library_only)
        status = otf2_decoder_open(stream, err);
    if (status == LULL_OK && !stream->decoder)
        status = open_library(stream, err);
    if (status != LULL_OK) {
        lull_otf2_stream_close(stream);
        return status;
    }
    *ret_stream = stream;
    return LULL_OK;
}

lull_status lull_otf2_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *err)
{
    return open_stream(trace, location, mask, false, ret_stream, err);
}

lull_status lull_otf2_probe_open(const struct lull_trace *trace, uint32_t location,
                                 void **ret_stream, struct lull_error *err)
{
    return open_stream(trace, location, LULL_MASK_ALL, true, ret_stream, err);
}

/* How many more records fit into the block. Each becomes one event, or two where the stream makes
 * regions of copies, with at most as many readings as the largest metric class has members. */
static uint64_t budget(const struct otf2_stream *stream, size_t room)
{
    if (stream->makes_copies)
        room /= 2;
    if (stream->most_readings == 0)
        return room;
    uint64_t fitting = (stream->most_readings - stream->n_readings) / stream->archive->most_members;
    return fitting < room ? fitting : room;
}

static lull_status read_failed(const struct otf2_stream *stream, OTF2_ErrorCode code,
                               struct lull_error *err)
{
    if (stream->status != LULL_OK)
        return lull_fail(err, stream->status, "%s", stream->error.text);
    uint64_t position = 0;
    OTF2_EvtReader_GetPos(stream->handle.events, &position);
    return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot read behind event %" PRIu64,
                          stream->trace->path, stream->trace->locations[stream->location].source_id,
                          position);
}

/* How many of what was begun did not complete; 0 where not both kinds of events were read. */
static uint64_t missing_of(const struct otf2_stream *stream, unsigned begins, unsigned completes,
                           uint64_t begun, uint64_t completed)
{
    const uint64_t both = LULL_MASK(begins) | LULL_MASK(completes);
    return (stream->mask & both) == both && begun > completed ? begun - completed : 0;
}

/* Takes requests that were cancelled from those of one kind that did not complete. */
static uint64_t not_cancelled(uint64_t missing, uint64_t *cancelled)
{
    const uint64_t of_these = missing < *cancelled ? missing : *cancelled;
    *cancelled -= of_these;
    return missing - of_these;
}

/* Reports what the records of a location lack, when all have been seen. */
static void report_missing(struct otf2_stream *stream)
{
    const struct lull_trace *trace = stream->trace;
    uint64_t id = trace->locations[stream->location].source_id;
    uint64_t cancelled = stream->requests_cancelled;
    if (stream->probing)
        return;
    const uint64_t receives =
        not_cancelled(missing_of(stream, LULL_EVENT_RECV_POST, LULL_EVENT_RECV,
                                 stream->receives_posted, stream->receives_completed),
                      &cancelled);
    const uint64_t sends = not_cancelled(missing_of(stream, LULL_EVENT_SEND, LULL_EVENT_SEND_DONE,
                                                    stream->sends_posted, stream->sends_completed),
                                         &cancelled);
    const uint64_t collectives =
        missing_of(stream, LULL_EVENT_COLLECTIVE_BEGIN, LULL_EVENT_COLLECTIVE_END,
                   stream->collectives_begun, stream->collectives_ended);
    if (receives > 0)
        lull_trace_add_quirk(trace,
                             "non-blocking receives have no record of their completion; their "
                             "messages cannot be matched",
                             "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id, receives,
                             stream->receives_posted);
    if (sends > 0)
        lull_trace_add_quirk(trace, "non-blocking sends have no record of their completion",
                             "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id, sends,
                             stream->sends_posted);
    if (stream->copies_begun > stream->copies_completed)
        lull_trace_add_quirk(
            trace,
            "copies on a device stream have no record of their completion; the time "
            "behind them in which no kernel runs counts as copying",
            "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id,
            stream->copies_begun - stream->copies_completed, stream->copies_begun);
    if (collectives > 0)
        lull_trace_add_quirk(trace, "collective operations begin and have no record of their end",
                             "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id, collectives,
                             stream->collectives_begun);
}

/* Checks that events keep to clock properties that were trusted. Times go up within a block (the
 * scan checks that), so its first and its last one tell. What lies behind the end of the run is
 * moved to that end. */
static lull_status check_times(struct otf2_stream *stream, struct lull_event *events, size_t count,
                               struct lull_error *err)
{
    const struct lull_trace *trace = stream->trace;
    uint64_t id = trace->locations[stream->location].source_id;
    if (count == 0)
        return LULL_OK;
    /* A time before the origin wraps around, to one that is longer than any run. */
    if (events[0].time < 0 || events[0].time > LULL_OTF2_LONGEST_RUN)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: location %" PRIu64 ": events before tick %" PRIu64
                         ", at which the run begins by its clock properties",
                         trace->path, id, stream->archive->clock.origin);
    if (events[count - 1].time > trace->duration && !stream->reported_end) {
        stream->reported_end = true;
        lull_trace_add_quirk(trace, "events lie behind the end of the run; moved to its end",
                             "location %" PRIu64 ": %" PRId64 " ns, the run ends at %" PRId64, id,
                             events[count - 1].time, trace->duration);
    }
    for (size_t i = count; i > 0 && events[i - 1].time > trace->duration; i--)
        events[i - 1].time = trace->duration;
    return LULL_OK;
}

static lull_status read_library(struct otf2_stream *stream, const struct lull_event *end,
                                struct lull_error *err)
{
    lull_otf2_quiet();
    while (!stream->ended) {
        uint64_t wanted = budget(stream, (size_t)(end - stream->next));
        if (wanted == 0)
            break;
        uint64_t got = 0;
        OTF2_ErrorCode code =
            OTF2_Reader_ReadLocalEvents(stream->handle.reader, stream->handle.events, wanted, &got);
        if (code != OTF2_SUCCESS)
            return read_failed(stream, code, err);
        stream->ended = got < wanted;
    }
    return LULL_OK;
}

lull_status lull_otf2_stream_read(void *opened, struct lull_event *events, size_t capacity,
                                  size_t *ret_count, struct lull_error *err)
{
    struct otf2_stream *stream = opened;
    bool ended = stream->ended;
    stream->next = events;
    stream->n_readings = 0;
    lull_status status = stream->decoder ? otf2_decoder_read(stream, events + capacity, err)
                                         : read_library(stream, events + capacity, err);
    if (status != LULL_OK)
        return status;
    if (stream->ended && !ended)
        report_missing(stream);
    *ret_count = (size_t)(stream->next - events);
    return stream->probing ? LULL_OK : check_times(stream, events, *ret_count, err);
}

void lull_otf2_stream_close(void *opened)
{
    struct otf2_stream *stream = opened;
    otf2_decoder_close(stream->decoder);
    lull_otf2_quiet();
    if (stream->handle.reader)
        OTF2_Reader_Close(stream->handle.reader);
    free(stream->readings);
    free(stream->previous);
    free(stream);
}
