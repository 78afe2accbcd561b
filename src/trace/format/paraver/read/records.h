/* Walking the records: whole lines, the fields that all records have, messages; internal. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_RECORDS_H
#define LULL_TRACE_FORMAT_PARAVER_READ_RECORDS_H

#include "trace/format/paraver/paraver.h"

#include <string.h>

/* ---- pieces -------------------------------------------------------------------------------- */

/* Whole lines of the file: each is ended by '\n', and LULL_PRV_PAD readable bytes follow the last.
 */
struct lull_prv_piece {
    uint8_t *memory; /* malloc'd, as a source wants it; the caller's */
    const uint8_t *begin, *end;
};

/* The file as pieces, in turn. */
struct lull_prv_records {
    const struct lull_trace *trace;
    struct lull_prv_source *source;
    uint8_t *carry; /* the beginning of a line that goes on in the next chunk */
    size_t n_carry;
    bool again; /* another pass counts the quirks */
    bool ended;
};

lull_status lull_prv_records_open(const struct lull_trace *trace, bool again,
                                  struct lull_prv_records *records, struct lull_error *err);
/* The next piece; begin == end at the end. */
lull_status lull_prv_records_next(struct lull_prv_records *records, struct lull_prv_piece *piece,
                                  struct lull_error *err);
void lull_prv_records_close(struct lull_prv_records *records);

/* ---- fields -------------------------------------------------------------------------------- */

enum { LULL_PRV_KNOWN_BITS = 8 };

/* "cpu:application:task:thread:" as text of up to 16 characters. */
struct lull_prv_known_object {
    uint64_t text[2], mask[2];
    uint32_t length, location; /* length 0: none */
};

/* Takes lines apart, whichever thread has them. */
struct lull_prv_parser {
    const struct lull_trace *trace;
    const struct lull_paraver *paraver;
    uint32_t late;          /* times of the line that lay behind the end of the run */
    struct lull_error what; /* is wrong with the line: without path and line */
    /* Objects met before, by a hash of their first 8 characters, or beside that place: a file
     * speaks of the same few threads again and again. */
    struct lull_prv_known_object known[1 << LULL_PRV_KNOWN_BITS];
};

/* Says in parser->what what is wrong; false. */
bool lull_prv_bad(struct lull_prv_parser *parser, const char *what, ...)
    __attribute__((format(printf, 2, 3)));

/* cpu:application:task:thread: */
bool lull_prv_parse_object(struct lull_prv_parser *parser, const uint8_t **at,
                           uint32_t *ret_location);
/* The shortest object has 8 characters, so that all of those hashed are its own. */
static inline uint32_t lull_prv_known_index(uint64_t first)
{
    return (uint32_t)(first * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LULL_PRV_KNOWN_BITS));
}

static inline bool lull_prv_is_object(const struct lull_prv_known_object *known,
                                      const uint64_t text[2])
{
    return known->length && !(((text[0] ^ known->text[0]) & known->mask[0]) |
                              ((text[1] ^ known->text[1]) & known->mask[1]));
}

static inline bool lull_prv_object(struct lull_prv_parser *parser, const uint8_t **at,
                                   uint32_t *ret_location)
{
    uint64_t text[2];
    memcpy(text, *at, sizeof text);
    const uint32_t index = lull_prv_known_index(text[0]);
    const struct lull_prv_known_object *known = &parser->known[index];
    if (!lull_prv_is_object(known, text) &&
        !lull_prv_is_object(known = &parser->known[index ^ 1], text))
        return lull_prv_parse_object(parser, at, ret_location);
    *at += known->length;
    *ret_location = known->location;
    return true;
}

/* A time in ns, cut off at the end of the run. */
bool lull_prv_time(struct lull_prv_parser *parser, const uint8_t **at, int64_t *ret_time);

/* Half a message: what one of its two locations sees. */
struct lull_prv_half {
    int64_t time;
    uint64_t bytes;
    uint32_t location;
    int32_t peer, tag;
    uint8_t kind; /* LULL_EVENT_SEND or LULL_EVENT_RECV */
};

/* The line behind "3:". */
bool lull_prv_message(struct lull_prv_parser *parser, const uint8_t *at,
                      struct lull_prv_half ret_halves[2]);
struct lull_event lull_prv_message_event(const struct lull_trace *trace,
                                         const struct lull_prv_half *half);

static inline bool lull_prv_line_ends(const uint8_t *at)
{
    return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

/* ---- all messages -------------------------------------------------------------------------- */

/* All messages of a file. */
struct lull_prv_messages {
    struct lull_prv_location_messages {
        struct lull_prv_half *halves; /* malloc'd; sorted by time, receives first */
        size_t n, capacity;
    } * of_location; /* [n_locations], malloc'd */
    uint32_t n_locations;
};
lull_status lull_prv_messages_read(const struct lull_trace *trace, unsigned workers,
                                   struct lull_prv_messages *messages, struct lull_error *err);
void lull_prv_messages_free(struct lull_prv_messages *messages);

#endif
