#include "trace/format/otf2/read/records.h"

#include "trace/format/otf2/read/decode.h"

/* ---- libotf2 --------------------------------------------------------------------------------- */

void lull_otf2_register(const struct lull_otf2_callbacks *callbacks,
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

/* All but these, also those of which we know nothing, begin with their length. */
bool lull_otf2_is_plain(uint8_t type)
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

void lull_otf2_unwanted(const struct lull_otf2_callbacks *callbacks, uint8_t unwanted[256])
{
    for (unsigned type = 0; type < 256; type++)
        unwanted[type] = type >= TYPE_BufferFlush; /* the first */
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

static bool read_byte(struct lull_otf2_record *record, uint64_t *ret_value)
{
    if (record->at >= record->end)
        return false;
    *ret_value = *record->at++;
    return true;
}

static bool read_byte_run(struct lull_otf2_record *record, uint64_t count, uint64_t *ret_value)
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

/* A length and as many bytes; a length of 255 means all ones. */
static bool read_coded_number(struct lull_otf2_record *record, unsigned most, uint64_t *ret_value)
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

static bool read_id(struct lull_otf2_record *record, const struct lull_otf2_map *map,
                    uint64_t *ret_value)
{
    uint64_t id;
    if (!read_coded_number(record, 4, &id))
        return false;
    uint32_t found = lull_otf2_find(map, id);
    *ret_value = found == LULL_NONE ? id : found; /* what a table leaves out is not translated */
    return true;
}

static bool read_metrics(struct lull_otf2_record *record, struct fields *fields,
                         uint64_t *ret_count)
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

static bool read_field(struct lull_otf2_record *record, struct lull_otf2_local *local, char form,
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
        *ret_value = lull_otf2_correct(local, *ret_value);
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

/* Calls back as libotf2 would; arguments take the width that the callback gives them. */
static OTF2_CallbackCode call_back(struct otf2_stream *stream,
                                   const struct lull_otf2_callbacks *callbacks,
                                   const struct lull_otf2_record *record,
                                   const struct fields *fields)
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

bool lull_otf2_translate(struct otf2_stream *stream, const struct lull_otf2_callbacks *callbacks,
                         struct lull_otf2_local *local, struct lull_otf2_record *record)
{
    struct fields fields;
    const char *layout = layouts[record->type];
    for (unsigned f = 0; layout[f]; f++)
        if (!read_field(record, local, layout[f], &fields, &fields.value[f]))
            return false;
    return call_back(stream, callbacks, record, &fields) == OTF2_CALLBACK_SUCCESS;
}
