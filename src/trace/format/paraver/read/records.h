/* Walking the records: whole lines, the fields that all records have, messages; internal. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_RECORDS_H
#define LULL_TRACE_FORMAT_PARAVER_READ_RECORDS_H

#include "trace/format/paraver/paraver.h"

#include <string.h>

enum { LULL_PRV_KNOWN_BITS = 8 };

/* "cpu:application:task:thread:" as text of up to 16 characters. */
struct lull_prv_known_object {
    uint64_t text[2], mask[2];
    uint32_t length, location; /* length 0: none */
};

struct lull_prv_records {
    const struct lull_trace *trace;
    const struct lull_paraver *paraver;
    struct lull_prv_source *source;
    uint8_t *carry; /* the beginning of a line that goes on in the next chunk */
    size_t n_carry;
    uint64_t line; /* of the record being read, from 1; the caller counts */
    bool again;    /* another pass counts the quirks */
    bool ended;
    /* Objects met before, by a hash of their first 8 characters: a file speaks of the same few
     * threads again and again. */
    struct lull_prv_known_object known[1 << LULL_PRV_KNOWN_BITS];
};

lull_status lull_prv_records_open(const struct lull_trace *trace, bool again,
                                  struct lull_prv_records *records, struct lull_error *err);
/* The next lines, each ended by '\n' and followed by LULL_PRV_PAD readable bytes;
 * *ret_begin == *ret_end at the end. */
lull_status lull_prv_records_next(struct lull_prv_records *records, const uint8_t **ret_begin,
                                  const uint8_t **ret_end, struct lull_error *err);
void lull_prv_records_close(struct lull_prv_records *records);

/* "<path>: line <n>: <what>" */
lull_status lull_prv_bad(const struct lull_prv_records *records, struct lull_error *err,
                         const char *what, ...) __attribute__((format(printf, 3, 4)));

/* cpu:application:task:thread: */
lull_status lull_prv_parse_object(struct lull_prv_records *records, const uint8_t **at,
                                  uint32_t *ret_location, struct lull_error *err);
/* The shortest object has 8 characters, so that all of those hashed are its own. */
static inline uint32_t lull_prv_known_index(uint64_t first)
{
    return (uint32_t)(first * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LULL_PRV_KNOWN_BITS));
}

static inline lull_status lull_prv_object(struct lull_prv_records *records, const uint8_t **at,
                                          uint32_t *ret_location, struct lull_error *err)
{
    uint64_t text[2];
    memcpy(text, *at, sizeof text);
    const struct lull_prv_known_object *known = &records->known[lull_prv_known_index(text[0])];
    if (((text[0] ^ known->text[0]) & known->mask[0]) |
        ((text[1] ^ known->text[1]) & known->mask[1]) | !known->length)
        return lull_prv_parse_object(records, at, ret_location, err);
    *at += known->length;
    *ret_location = known->location;
    return LULL_OK;
}

/* A time in ns, cut off at the end of the run. */
lull_status lull_prv_time(struct lull_prv_records *records, const uint8_t **at, int64_t *ret_time,
                          struct lull_error *err);

/* Half a message: what one of its two locations sees. */
struct lull_prv_half {
    int64_t time;
    uint64_t bytes;
    uint32_t location;
    int32_t peer, tag;
    uint8_t kind; /* LULL_EVENT_SEND or LULL_EVENT_RECV */
};

/* The line behind "3:". */
lull_status lull_prv_message(struct lull_prv_records *records, const uint8_t *at,
                             struct lull_prv_half ret_halves[2], struct lull_error *err);
struct lull_event lull_prv_message_event(const struct lull_prv_records *records,
                                         const struct lull_prv_half *half);

/* All messages of a file, in time order per location. */
struct lull_prv_messages {
    struct lull_prv_half *halves; /* malloc'd; sorted by location, time, receives first */
    size_t n_halves, capacity;
    size_t *first; /* per location, and one more */
};
lull_status lull_prv_messages_read(const struct lull_trace *trace,
                                   struct lull_prv_messages *messages, struct lull_error *err);
void lull_prv_messages_free(struct lull_prv_messages *messages);

static inline bool lull_prv_line_ends(const uint8_t *at)
{
    return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

#endif
