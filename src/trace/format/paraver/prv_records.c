/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/paraver/prv_records.h"

#include "base/array.h"
#include "base/mix.h"
#include "base/parallel.h"
#include "base/sorted.h"
#include "trace/byte_source.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== records ================================================================================= */

/* ---- pieces -------------------------------------------------------------------------------- */

/* Whole lines of the file. Each ends with '\n', and LULL_BYTE_SOURCE_PAD readable bytes follow the last
 * one. */
struct prv_piece {
    uint8_t *memory; /* malloc'd by the caller, as large as a source wants it */
    const uint8_t *begin, *end;
};

/* The records of a file, read as one piece after the other. */
struct prv_records {
    const struct lull_trace *trace;
    struct lull_byte_source *source;
    uint8_t *carry; /* the beginning of a line that goes on in the next chunk */
    size_t n_carry;
    bool again; /* another pass over the file counts the quirks */
    bool ended;
};

/* ---- fields -------------------------------------------------------------------------------- */

enum { PRV_KNOWN_BITS = 8 };

/* An object, "cpu:application:task:thread:", as text of up to 16 characters, with its location. */
struct prv_known_object {
    uint64_t text[2], mask[2];
    uint32_t length, location; /* `length` 0: the place is empty */
};

/* What a thread needs to take lines apart. */
struct prv_parser {
    const struct lull_trace *trace;
    const struct lull_paraver *paraver;
    uint32_t late;          /* times of the line that lay behind the end of the run */
    struct lull_error what; /* what is wrong with the line, without path and line number */
    /* Objects met before: a file speaks of the same few threads again and again. An object is at
     * the index that its first 8 characters hash to, or at that index with its last bit flipped. */
    struct prv_known_object known[1 << PRV_KNOWN_BITS];
};

/* The shortest object has 8 characters, so that no character behind the object is hashed. */
static inline uint32_t prv_known_index(uint64_t first)
{
    return (uint32_t)(lull_spread(first) >> (64 - PRV_KNOWN_BITS));
}

static inline bool prv_is_object(const struct prv_known_object *known, const uint64_t text[2])
{
    return known->length && !(((text[0] ^ known->text[0]) & known->mask[0]) |
                              ((text[1] ^ known->text[1]) & known->mask[1]));
}

static bool prv_bad(struct prv_parser *parser, const char *what, ...)
    __attribute__((format(printf, 2, 3)));
static bool prv_parse_object(struct prv_parser *parser, const uint8_t **at, uint32_t *ret_location);

static inline bool prv_object(struct prv_parser *parser, const uint8_t **at, uint32_t *ret_location)
{
    uint64_t text[2];
    memcpy(text, *at, sizeof text);
    const uint32_t index = prv_known_index(text[0]);
    const struct prv_known_object *known = &parser->known[index];
    if (!prv_is_object(known, text) && !prv_is_object(known = &parser->known[index ^ 1], text))
        return prv_parse_object(parser, at, ret_location);
    *at += known->length;
    *ret_location = known->location;
    return true;
}

static inline bool prv_line_ends(const uint8_t *at)
{
    return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

static lull_status prv_records_open(const struct lull_trace *trace, bool again,
                                    struct prv_records *records, struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    *records = (struct prv_records){.trace = trace, .again = again};
    records->carry = malloc(LULL_BYTE_SOURCE_HEAD + 1 + LULL_BYTE_SOURCE_PAD);
    if (!records->carry)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status = lull_byte_source_open(trace, trace->path, paraver->records_offset, again,
                                               &records->source, err);
    if (status != LULL_OK)
        free(records->carry);
    return status;
}

static void prv_records_close(struct prv_records *records)
{
    lull_byte_source_close(records->source);
    free(records->carry);
}

/* Makes a piece of the last line if it lacks its newline: it may be cut, or a writer may have left
 * the newline out. */
static void last_line(struct prv_records *records, struct prv_piece *piece)
{
    uint8_t *line = records->carry;
    size_t size = records->n_carry;
    records->ended = true;
    piece->begin = piece->end = line;
    if (size == 0)
        return;
    line[size] = '\n';
    memset(line + size + 1, 0, LULL_BYTE_SOURCE_PAD);
    piece->end = line + size + 1;
    records->n_carry = 0;
    if (!records->again)
        lull_trace_add_quirk(records->trace, "the last line does not end; it is taken as it is",
                             "%s", "");
}

/* Reads the next piece; begin == end at the end of the file. */
static lull_status prv_records_next(struct prv_records *records, struct prv_piece *piece,
                                    struct lull_error *err)
{
    piece->begin = piece->end = records->carry;
    while (!records->ended) {
        size_t size;
        lull_status status = lull_byte_source_next(records->source, &piece->memory, &size, err);
        if (status != LULL_OK)
            return status;
        if (size == 0) {
            last_line(records, piece);
            break;
        }
        uint8_t *data = piece->memory + LULL_BYTE_SOURCE_HEAD;
        memset(data + size, 0, LULL_BYTE_SOURCE_PAD);
        const uint8_t *newline = memrchr(data, '\n', size);
        const uint8_t *end = newline ? newline + 1 : data;
        uint8_t *begin = data;
        if (newline) {
            begin -= records->n_carry;
            memcpy(begin, records->carry, records->n_carry);
            records->n_carry = 0;
        }
        size_t rest = (size_t)(data + size - end);
        if (records->n_carry + rest > LULL_BYTE_SOURCE_HEAD)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: a record is longer than %d KiB, expected lines of text",
                             records->trace->path, LULL_BYTE_SOURCE_HEAD >> 10);
        memcpy(records->carry + records->n_carry, end, rest);
        records->n_carry += rest;
        if (newline) {
            piece->begin = begin;
            piece->end = end;
            break;
        }
    }
    return LULL_OK;
}

/* ---- fields -------------------------------------------------------------------------------- */

/* Says in parser->what what is wrong, and returns false. */
static bool prv_bad(struct prv_parser *parser, const char *what, ...)
{
    va_list args;
    va_start(args, what);
    vsnprintf(parser->what.text, sizeof parser->what.text, what, args);
    va_end(args);
    return false;
}

static bool field(const uint8_t **at, uint64_t *ret_value)
{
    if (!lull_prv_number(at, ret_value) || **at != ':')
        return false;
    (*at)++;
    return true;
}

static bool bad_object(struct prv_parser *parser, const uint64_t ids[4])
{
    const struct lull_paraver *paraver = parser->paraver;
    if (paraver->n_cpus > 0 && ids[0] > paraver->n_cpus)
        return prv_bad(parser, "processor %llu, expected at most %u", (unsigned long long)ids[0],
                       paraver->n_cpus);
    if (ids[1] - 1 >= paraver->n_applications)
        return prv_bad(parser, "application %llu, expected 1 to %u", (unsigned long long)ids[1],
                       paraver->n_applications);
    const struct lull_prv_application *application = &paraver->applications[ids[1] - 1];
    if (ids[2] - 1 >= application->n_processes)
        return prv_bad(parser, "task %llu, expected 1 to %u", (unsigned long long)ids[2],
                       application->n_processes);
    const struct lull_process *process =
        &parser->trace->processes[application->first_process + ids[2] - 1];
    return prv_bad(parser, "thread %llu, expected 1 to %u", (unsigned long long)ids[3],
                   process->n_locations);
}

static void remember_object(struct prv_parser *parser, const uint8_t *text, size_t length,
                            uint32_t location)
{
    uint64_t first;
    memcpy(&first, text, sizeof first);
    const uint32_t index = prv_known_index(first);
    struct prv_known_object *known = &parser->known[index];
    parser->known[index ^ 1] = *known; /* the object that was here moves to the place beside */
    uint8_t mask[sizeof known->mask] = {0};
    known->length = length <= sizeof mask ? (uint32_t)length : 0;
    memset(mask, 0xff, known->length);
    memcpy(known->mask, mask, sizeof mask);
    memcpy(known->text, text, sizeof known->text);
    known->location = location;
}

/* Reads an object, "cpu:application:task:thread:". */
static bool prv_parse_object(struct prv_parser *parser, const uint8_t **at, uint32_t *ret_location)
{
    const struct lull_paraver *paraver = parser->paraver;
    const uint8_t *text = *at;
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        if (!field(at, &ids[i]))
            return prv_bad(parser, "expected 'processor:application:task:thread:'");
    if ((paraver->n_cpus > 0 && ids[0] > paraver->n_cpus) || ids[1] - 1 >= paraver->n_applications)
        return bad_object(parser, ids);
    const struct lull_prv_application *application = &paraver->applications[ids[1] - 1];
    if (ids[2] - 1 >= application->n_processes)
        return bad_object(parser, ids);
    const struct lull_process *process =
        &parser->trace->processes[application->first_process + ids[2] - 1];
    if (ids[3] - 1 >= process->n_locations)
        return bad_object(parser, ids);
    *ret_location = process->first_location + (uint32_t)(ids[3] - 1);
    remember_object(parser, text, (size_t)(*at - text), *ret_location);
    return true;
}

/* Reads a time in ns, cut off at the end of the run. */
static bool prv_time(struct prv_parser *parser, const uint8_t **at, int64_t *ret_time)
{
    uint64_t ticks, scale = parser->paraver->ticks_to_ns;
    if (!lull_prv_number(at, &ticks) || ticks > (uint64_t)INT64_MAX / 2 / scale)
        return prv_bad(parser, "expected a time");
    int64_t time = (int64_t)(ticks * scale);
    if (time > parser->trace->duration) {
        parser->late++;
        time = parser->trace->duration;
    }
    *ret_time = time;
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool times(struct prv_parser *parser, const uint8_t **at, int64_t *logical,
                  int64_t *physical)
{
    if (!prv_time(parser, at, logical))
        return false;
    if (*(*at)++ != ':')
        return prv_bad(parser, "expected ':' and the physical time");
    if (!prv_time(parser, at, physical))
        return false;
    return *(*at)++ == ':' || prv_bad(parser, "expected ':' behind a time");
}

/* Reads a message behind "3:", which is
 * <object>:logical send:physical send:<object>:logical receive:physical receive:size:tag
 * The send is posted at its logical time. The receive is complete when both the call has been made
 * and the data has come: at the later of the two receive times. */
static bool prv_message(struct prv_parser *parser, const uint8_t *at,
                        struct lull_prv_half ret_halves[2])
{
    uint32_t sender = 0, receiver = 0;
    int64_t send = 0, physical_send, receive = 0, physical_receive = 0;
    uint64_t size, tag;
    if (!prv_object(parser, &at, &sender) || !times(parser, &at, &send, &physical_send) ||
        !prv_object(parser, &at, &receiver) || !times(parser, &at, &receive, &physical_receive))
        return false;
    if (!field(&at, &size))
        return prv_bad(parser, "expected 'size:tag' of a message");
    bool negative = *at == '-';
    at += negative;
    if (!lull_prv_number(&at, &tag) || !prv_line_ends(at))
        return prv_bad(parser, "expected the tag of a message and the end of the line");
    const struct lull_location *locations = parser->trace->locations;
    ret_halves[0] = (struct lull_prv_half){.time = send,
                                           .bytes = size,
                                           .location = sender,
                                           .peer = (int32_t)locations[receiver].process,
                                           .tag = (int32_t)(negative ? -tag : tag),
                                           .kind = LULL_EVENT_SEND};
    ret_halves[1] =
        (struct lull_prv_half){.time = receive > physical_receive ? receive : physical_receive,
                               .bytes = size,
                               .location = receiver,
                               .peer = (int32_t)locations[sender].process,
                               .tag = ret_halves[0].tag,
                               .kind = LULL_EVENT_RECV};
    return true;
}

struct lull_event lull_prv_message_event(const struct lull_trace *trace,
                                         const struct lull_prv_half *half)
{
    const struct lull_paraver *paraver = trace->format_data;
    uint32_t process = trace->locations[half->location].process;
    uint32_t application = trace->processes[process].application;
    return (struct lull_event){.time = half->time,
                               .kind = half->kind,
                               .id = paraver->applications[application].world,
                               .message = {.bytes = half->bytes,
                                           .request = LULL_NO_REQUEST,
                                           .peer = half->peer,
                                           .tag = half->tag}};
}

/* ==== parse =================================================================================== */

/* Lines become items. Of a line of events only those pairs are kept that are wanted. */

/* ---- batches ------------------------------------------------------------------------------- */

static bool note_no_memory(struct lull_prv_batch *batch)
{
    batch->no_memory = true;
    return false;
}

static bool add_pair(struct lull_prv_batch *batch, const struct lull_prv_type *type, uint64_t value)
{
    if (!lull_array_reserve(&batch->pairs, &batch->pair_capacity, batch->n_pairs + 1,
                            sizeof *batch->pairs))
        return note_no_memory(batch);
    batch->pairs[batch->n_pairs++] = (struct lull_prv_pair){type, value};
    return true;
}

static bool add_reading(struct lull_prv_batch *batch, uint32_t counter, uint64_t value)
{
    if (!lull_array_reserve(&batch->readings, &batch->reading_capacity, batch->n_readings + 1,
                            sizeof *batch->readings))
        return note_no_memory(batch);
    batch->readings[batch->n_readings++] =
        (struct lull_counter_reading){.value = value, .counter = counter};
    return true;
}

/* ---- states and messages ------------------------------------------------------------------- */

/* Reads object and time of a state or event record. */
static bool begin_record(struct prv_parser *parser, const uint8_t **at, struct lull_prv_item *item)
{
    uint32_t location;
    int64_t time;
    if (!prv_object(parser, at, &location) || !prv_time(parser, at, &time))
        return false;
    if (*(*at)++ != ':')
        return prv_bad(parser, "the record ends early, expected ':'");
    item->location = location;
    item->time = time;
    return true;
}

static uint32_t find_state_number(const struct lull_trace *trace, uint64_t number)
{
    if (number < trace->n_states && trace->states[number].number == number)
        return (uint32_t)number;
    const uint32_t others =
        trace->n_states - 1; /* the last one, for all numbers that are not named */
    struct lull_bisection at = {.end = others};
    while (lull_bisect(&at))
        at.in_front = trace->states[at.middle].number < number;
    return trace->states[at.begin].number == number ? (uint32_t)at.begin : others;
}

/* Reads a line 1:<object>:begin:end:state. */
static bool parse_state(struct prv_parser *parser, const uint8_t **at, struct lull_prv_batch *batch,
                        struct lull_prv_item *item)
{
    int64_t end;
    uint64_t number;
    item->kind = LULL_PRV_STATE_ITEM;
    if (!begin_record(parser, at, item) || !prv_time(parser, at, &end))
        return false;
    if (*(*at)++ != ':' || !lull_prv_number(at, &number) || !prv_line_ends(*at))
        return prv_bad(parser, "expected ':', the state and the end of the line");
    if (end < item->time)
        return prv_bad(parser, "state ends before it begins (%lld, %lld)", (long long)end,
                       (long long)item->time);
    item->end = end;
    item->state = find_state_number(parser->trace, number);
    return item->state + 1 < parser->trace->n_states || add_pair(batch, NULL, number);
}

/* Extrae writes a line of a message from the thread that launches to the stream; so does lull, for Paraver to draw it. */
static bool is_launch(const struct lull_trace *trace, const struct lull_prv_half halves[2])
{
    return trace->locations[halves[0].location].kind == LULL_LOCATION_DEVICE ||
           trace->locations[halves[1].location].kind == LULL_LOCATION_DEVICE;
}

static bool parse_message(const struct lull_prv_wish *wish, struct prv_parser *parser,
                          const uint8_t *at, struct lull_prv_batch *batch,
                          struct lull_prv_item *item)
{
    if (!wish->messages)
        return true;
    if (!lull_array_reserve(&batch->halves, &batch->half_capacity, batch->n_halves + 2,
                            sizeof *batch->halves))
        return note_no_memory(batch);
    if (!prv_message(parser, at, &batch->halves[batch->n_halves]))
        return false;
    if (is_launch(parser->trace, &batch->halves[batch->n_halves]))
        return true;
    item->kind = LULL_PRV_MESSAGE_ITEM;
    batch->n_halves += 2;
    return true;
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* Reads "<type>:" and finds the type: by its digits as they stand, or by its number if it has more
 * than eight digits. */
static inline bool read_type(const struct lull_prv_types *types, const uint8_t **at,
                             uint32_t *ret_index)
{
    uint64_t word = lull_prv_load(*at), number;
    unsigned digits = lull_prv_digits(word);
    if (digits == 0)
        return false;
    if ((*at)[digits] == ':') {
        uint64_t key = lull_prv_align(word, digits);
        uint32_t slot = lull_prv_hash(key, types->shift);
        for (; types->by_text[slot].key; slot = (slot + 1) & types->mask) {
            if (types->by_text[slot].key == key) {
                *ret_index = types->by_text[slot].index;
                *at += digits + 1;
                return true;
            }
        }
    }
    if (!lull_prv_number(at, &number) || *(*at)++ != ':')
        return false;
    *ret_index = lull_prv_type_index(types, number);
    return true;
}

static inline bool read_value(const uint8_t **at, uint64_t *ret_value)
{
    bool negative = **at == '-';
    *at += negative;
    if (!lull_prv_number(at, ret_value))
        return false;
    if (negative)
        *ret_value = -*ret_value;
    return true;
}

static inline bool skip_value(const uint8_t **at)
{
    const uint8_t *from = *at += **at == '-';
    unsigned digits;
    do
        *at += digits = lull_prv_digits(lull_prv_load(*at));
    while (digits == 8);
    return *at > from;
}

/* Reads the pairs of a line. Readings of counters go to batch->readings, other pairs to
 * batch->pairs, as far as they are wanted. */
static bool parse_pairs(const struct lull_prv_wish *wish, struct prv_parser *parser,
                        const uint8_t **line, struct lull_prv_batch *batch)
{
    const struct lull_prv_types *types = wish->types;
    const uint8_t *at = *line;
    for (;; at++) {
        uint32_t index;
        uint64_t value;
        if (!read_type(types, &at, &index))
            return prv_bad(parser, "expected 'type:value' pairs");
        enum lull_prv_need need =
            index < types->n_types ? (enum lull_prv_need)wish->needs[index] : LULL_PRV_NEED_VALUE;
        if (need == LULL_PRV_NEED_NOTHING ? !skip_value(&at) : !read_value(&at, &value))
            return prv_bad(parser, "expected a number as value of an event");
        if (need == LULL_PRV_NEED_READING && !add_reading(batch, types->types[index].index, value))
            return false;
        if (need == LULL_PRV_NEED_VALUE &&
            !add_pair(batch, index < types->n_types ? &types->types[index] : NULL, value))
            return false;
        if (*at != ':')
            break;
    }
    *line = at;
    return prv_line_ends(at) || prv_bad(parser, "expected ':' or the end of the line");
}

/* Reads a line 2:<object>:time:type:value:type:value... */
static bool parse_events(const struct lull_prv_wish *wish, struct prv_parser *parser,
                         const uint8_t **at, struct lull_prv_batch *batch,
                         struct lull_prv_item *item)
{
    const size_t pairs = batch->n_pairs, readings = batch->n_readings;
    item->kind = LULL_PRV_EVENTS_ITEM;
    if (!begin_record(parser, at, item) || !parse_pairs(wish, parser, at, batch))
        return false;
    item->n_pairs = (uint32_t)(batch->n_pairs - pairs);
    item->n_readings = (uint32_t)(batch->n_readings - readings);
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool parse_odd(const struct lull_prv_wish *wish, struct prv_parser *parser,
                      const uint8_t *at, struct lull_prv_item *item)
{
    if (!wish->odd || prv_line_ends(at) || at[0] == '#')
        return true;
    if (at[0] == 'c')
        item->kind = LULL_PRV_COMM_ITEM;
    else if (at[0] >= '4' && at[0] <= '9' && at[1] == ':')
        item->kind = LULL_PRV_ODD_ITEM;
    else
        return prv_bad(parser, "expected a record (1:, 2: or 3:), '#' or 'c:'");
    return true;
}

/* Takes a line apart. Moves *at towards the end of the line, never behind it. If item->kind stays
 * LULL_PRV_NO_ITEM, nothing in the line is wanted. False: the line is wrong. */
static bool parse_line(const struct lull_prv_wish *wish, struct prv_parser *parser,
                       const uint8_t **at, struct lull_prv_batch *batch, struct lull_prv_item *item)
{
    const uint8_t *line = *at;
    if (line[1] != ':')
        return parse_odd(wish, parser, line, item);
    *at += 2;
    switch (line[0]) {
    case '1':
        return !wish->states || parse_state(parser, at, batch, item);
    case '2':
        return !wish->events || parse_events(wish, parser, at, batch, item);
    case '3':
        return parse_message(wish, parser, *at, batch, item);
    default:
        *at = line;
        return parse_odd(wish, parser, line, item);
    }
}

/* Skips lines, from the begin of one to the next that begins with '3', or to `end`. Blocks of 64
 * bytes without such a line are skipped at once, and only their line ends are counted. */
static const uint8_t *pass_over(const uint8_t *at, const uint8_t *end, uint32_t *n_lines)
{
    enum { BLOCK = 64 }; /* the byte behind a block is looked at, too; the pad allows that */
    if (*at == '3')
        return at;
    while (end - at >= BLOCK) {
        uint8_t lines = 0, found = 0;
        for (int i = 0; i < BLOCK; i++) {
            uint8_t ends = at[i] == '\n';
            lines = (uint8_t)(lines + ends);
            found |= ends & (at[i + 1] == '3');
        }
        if (found)
            break;
        *n_lines += lines;
        at += BLOCK;
    }
    do {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return end;
        at++;
        ++*n_lines;
    } while (at < end && *at != '3');
    return at;
}

/* Takes lines apart, from *at to `end`, `most` at most; *at moves behind the last one. Behind a
 * line that is wrong it stops, with *at at `end`. */
static void prv_parse(const struct lull_prv_wish *wish, struct prv_parser *parser,
                      const uint8_t **at, const uint8_t *end, uint32_t most,
                      struct lull_prv_batch *batch)
{
    const bool only_messages = wish->messages && !wish->states && !wish->events && !wish->odd;
    const uint8_t *here = *at;
    int64_t latest = INT64_MIN;
    lull_prv_batch_clear(batch);
    for (; here < end && batch->n_lines < most; batch->n_lines++) {
        if (only_messages && (here = pass_over(here, end, &batch->n_lines)) == end)
            break;
        if (!lull_array_reserve(&batch->items, &batch->item_capacity, batch->n_items + 1,
                                sizeof *batch->items)) {
            batch->no_memory = true;
            break;
        }
        struct lull_prv_item *item = &batch->items[batch->n_items];
        item->kind = LULL_PRV_NO_ITEM;
        item->location = LULL_NONE;
        item->line = batch->n_lines;
        parser->late = 0;
        bool good = parse_line(wish, parser, &here, batch, item);
        item->late = (uint8_t)parser->late;
        if (!good) {
            item->kind = LULL_PRV_BAD_ITEM;
            batch->what = parser->what;
            batch->n_items++;
            here = end;
            break;
        }
        batch->n_items += item->kind != LULL_PRV_NO_ITEM;
        if (item->location != LULL_NONE) {
            batch->in_order &= item->time >= latest;
            latest = item->time;
            if (batch->first_time == INT64_MAX)
                batch->first_time = latest;
        }
        if (*here != '\n')
            here = memchr(here, '\n', (size_t)(end - here));
        here++;
    }
    batch->last_time = latest;
    *at = here;
}

/* ==== pipe ==================================================================================== */

/* Batches that were filled are held back, until the lines behind them are known that may belong in
 * front of theirs. */

enum {
    FEW_LINES = 64, /* lines in a batch of a single thread, few enough for the fastest cache */
    /* Slots of a single thread: for the batches that are held back, the short one at the end of a
     * piece, and the next one. Of several threads: one is held back, and two of each. */
    SLOTS_ALONE = (LULL_PRV_LATE_LINES + FEW_LINES - 1) / FEW_LINES + 2,
    SLOTS_OF_WORKER = 2
};

struct slot {
    struct prv_piece piece; /* without memory where a single thread reads */
    struct lull_prv_batch batch;
    bool ready;
};

/* What a thread needs to take lines apart, in cache lines of its own. */
struct hand {
    struct lull_prv_wish wish;
    struct prv_parser parser;
};

struct pipe {
    const struct lull_trace *trace;
    lull_prv_take take;
    void *context;
    struct prv_records records; /* of the thread that has set `reading` */
    struct hand **hands;        /* [workers] */
    unsigned workers;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* [n_slots]. Number k of the batches is in slots[k % n_slots]. There are more slots where lines
     * are so long that few fit in a piece. */
    struct slot **slots;
    uint64_t n_slots, taken, begun; /* batches so far that were used, and that were begun */
    bool reading;                   /* some thread reads the next piece */
    bool ended;                     /* there are no more pieces */
    bool stopped;
    lull_status status; /* of the reading; told when all pieces before it have been used */
    struct lull_error err;

    /* Of the thread that uses the batches. */
    struct lull_prv_order order;
    struct lull_prv_batch **held; /* [n_slots] */
    uint64_t admitted;            /* batches so far whose place in the order is known */
    uint64_t line;                /* number of the first line behind them, from 1 */
    uint64_t lines_held;          /* lines in batches that were admitted and not used */
    uint64_t lines_to_hold;       /* so many must be behind a batch that is used */
};

lull_status lull_prv_bad_batch(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                               uint64_t line, struct lull_error *err)
{
    if (batch->no_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: %s", trace->path,
                     (unsigned long long)line, batch->what.text);
}

void lull_prv_tell_late(const struct lull_trace *trace, const struct lull_prv_item *item,
                        uint64_t line)
{
    for (unsigned i = 0; i < item->late; i++)
        lull_trace_add_quirk(trace, "records lie behind the end of the run; moved to its end",
                             "line %llu", (unsigned long long)line);
}

static struct slot *slot_of(const struct pipe *pipe, uint64_t number)
{
    return pipe->slots[number % pipe->n_slots];
}

/* Finds the place of the next batch in the order of the file; moves its late lines. */
static lull_status admit_batch(struct pipe *pipe, struct lull_error *err)
{
    struct lull_prv_batch *batch = &slot_of(pipe, pipe->admitted++)->batch;
    batch->line = pipe->line;
    pipe->line += batch->n_lines;
    pipe->lines_held += batch->n_lines;
    if (lull_prv_order_holds(&pipe->order, batch))
        return LULL_OK;
    size_t n = 0;
    for (uint64_t i = pipe->taken; i < pipe->admitted; i++)
        pipe->held[n++] = &slot_of(pipe, i)->batch;
    return lull_prv_order_restore(&pipe->order, pipe->held, n, err);
}

/* Whether a batch can be used: enough lines behind it are known. */
static bool is_batch_to_use(const struct pipe *pipe)
{
    if (pipe->taken == pipe->admitted)
        return false;
    const uint64_t behind = pipe->lines_held - slot_of(pipe, pipe->taken)->batch.n_lines;
    return behind >= pipe->lines_to_hold || (pipe->ended && pipe->admitted == pipe->begun);
}

static lull_status use_batch(struct pipe *pipe, const struct lull_prv_batch *batch,
                             struct lull_error *err)
{
    double share = lull_byte_source_share(pipe->records.source);
    lull_status status = pipe->take(pipe->context, batch, share, err);
    if (status == LULL_OK && batch->no_memory)
        status = lull_prv_bad_batch(pipe->trace, batch, batch->line, err);
    return status;
}

/* A batch was used. */
static void give_back_batch(struct pipe *pipe)
{
    pipe->lines_held -= slot_of(pipe, pipe->taken++)->batch.n_lines;
}

/* ---- slots --------------------------------------------------------------------------------- */

static struct slot *create_slot(bool with_memory)
{
    struct slot *slot = lull_alloc_apart(sizeof *slot);
    if (!slot || !with_memory || (slot->piece.memory = lull_byte_source_memory()))
        return slot;
    free(slot);
    return NULL;
}

static void release_slot(struct slot *slot)
{
    if (!slot)
        return;
    free(slot->piece.memory);
    lull_prv_batch_free(&slot->batch);
    free(slot);
}

/* Adds slots, up to `n`. Called under the lock, by the thread that uses the batches. */
static lull_status add_slots(struct pipe *pipe, uint64_t n, struct lull_error *err)
{
    struct slot **slots = calloc(n, sizeof(struct slot *));
    struct lull_prv_batch **held = calloc(n, sizeof(struct lull_prv_batch *));
    bool good = slots && held;
    for (uint64_t i = 0; good && i < n; i++) {
        const uint64_t number = pipe->taken + i;
        slots[number % n] =
            i < pipe->n_slots ? slot_of(pipe, number) : create_slot(pipe->workers > 1);
        good = slots[number % n];
    }
    if (!good) {
        for (uint64_t i = pipe->n_slots; slots && i < n; i++)
            release_slot(slots[(pipe->taken + i) % n]);
        free(slots);
        free(held);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", pipe->trace->path);
    }
    free(pipe->slots);
    free(pipe->held);
    pipe->slots = slots;
    pipe->held = held;
    pipe->n_slots = n;
    return LULL_OK;
}

/* Whether no batch can be used or begun without another slot. */
static bool lacks_slots(const struct pipe *pipe)
{
    return pipe->begun - pipe->taken == pipe->n_slots && pipe->admitted == pipe->begun &&
           !is_batch_to_use(pipe);
}

/* ---- one thread ---------------------------------------------------------------------------- */

/* Fills the next batch from the piece, or from the next one if it is used up. A failure to read is
 * told when the batches before it have been used. */
static void parse_few(struct pipe *pipe, struct prv_piece *piece)
{
    struct hand *hand = pipe->hands[0];
    if (piece->begin == piece->end)
        pipe->status = prv_records_next(&pipe->records, piece, &pipe->err);
    pipe->ended = pipe->status != LULL_OK || piece->begin == piece->end;
    if (!pipe->ended)
        prv_parse(&hand->wish, &hand->parser, &piece->begin, piece->end, FEW_LINES,
                  &slot_of(pipe, pipe->begun++)->batch);
}

static lull_status run_alone(struct pipe *pipe, struct lull_error *err)
{
    struct prv_piece piece = {.memory = lull_byte_source_memory()};
    lull_status status = LULL_OK;
    if (!piece.memory)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", pipe->trace->path);
    while (status == LULL_OK && !(pipe->ended && pipe->taken == pipe->begun)) {
        if (pipe->admitted < pipe->begun) {
            status = admit_batch(pipe, err);
        } else if (is_batch_to_use(pipe)) {
            status = use_batch(pipe, &slot_of(pipe, pipe->taken)->batch, err);
            give_back_batch(pipe);
        } else if (lacks_slots(pipe)) {
            status = add_slots(pipe, 2 * pipe->n_slots, err);
        } else {
            parse_few(pipe, &piece);
        }
    }
    free(piece.memory);
    if (status == LULL_OK && pipe->status != LULL_OK)
        status = lull_fail(err, pipe->status, "%s", pipe->err.text);
    return status;
}

/* ---- several ------------------------------------------------------------------------------- */

static bool is_piece_to_read(const struct pipe *pipe)
{
    return !pipe->stopped && !pipe->ended && !pipe->reading &&
           pipe->begun - pipe->taken < pipe->n_slots;
}

/* Reads the next piece and takes it apart. Called under the lock, and gives it back meanwhile. */
static void parse_piece(struct pipe *pipe, unsigned worker)
{
    struct slot *slot = slot_of(pipe, pipe->begun);
    struct hand *hand = pipe->hands[worker];
    struct lull_error err = {""};
    pipe->reading = true;
    pthread_mutex_unlock(&pipe->lock);
    lull_status status = prv_records_next(&pipe->records, &slot->piece, &err);
    pthread_mutex_lock(&pipe->lock);
    pipe->reading = false;
    pipe->ended = status != LULL_OK || slot->piece.begin == slot->piece.end;
    pthread_cond_broadcast(&pipe->changed);
    if (pipe->ended) {
        pipe->status = status;
        pipe->err = err;
        return;
    }
    slot->ready = false;
    pipe->begun++;
    pthread_mutex_unlock(&pipe->lock);
    prv_parse(&hand->wish, &hand->parser, &slot->piece.begin, slot->piece.end, UINT32_MAX,
              &slot->batch);
    pthread_mutex_lock(&pipe->lock);
    slot->ready = true;
    pthread_cond_broadcast(&pipe->changed);
}

static void help(struct pipe *pipe, unsigned worker)
{
    pthread_mutex_lock(&pipe->lock);
    while (!pipe->stopped && !pipe->ended) {
        if (is_piece_to_read(pipe))
            parse_piece(pipe, worker);
        else
            pthread_cond_wait(&pipe->changed, &pipe->lock);
    }
    pthread_mutex_unlock(&pipe->lock);
}

/* Admits the next batch. Called under the lock, and gives it back meanwhile. */
static lull_status admit_next(struct pipe *pipe, struct lull_error *err)
{
    pthread_mutex_unlock(&pipe->lock);
    lull_status status = admit_batch(pipe, err);
    pthread_mutex_lock(&pipe->lock);
    return status;
}

/* Uses the next batch. Called under the lock, and gives it back meanwhile. */
static lull_status use_next(struct pipe *pipe, struct lull_error *err)
{
    const struct slot *slot = slot_of(pipe, pipe->taken);
    pthread_mutex_unlock(&pipe->lock);
    lull_status status = use_batch(pipe, &slot->batch, err);
    pthread_mutex_lock(&pipe->lock);
    give_back_batch(pipe);
    pthread_cond_broadcast(&pipe->changed);
    return status;
}

/* What the thread does that uses the batches. */
static void lead(struct pipe *pipe)
{
    lull_status status = LULL_OK;
    struct lull_error err = {""};
    pthread_mutex_lock(&pipe->lock);
    while (status == LULL_OK && !(pipe->ended && pipe->taken == pipe->begun)) {
        if (pipe->admitted < pipe->begun && slot_of(pipe, pipe->admitted)->ready)
            status = admit_next(pipe, &err);
        else if (is_batch_to_use(pipe))
            status = use_next(pipe, &err);
        else if (is_piece_to_read(pipe))
            parse_piece(pipe, 0);
        else if (lacks_slots(pipe))
            status = add_slots(pipe, 2 * pipe->n_slots, &err);
        else
            pthread_cond_wait(&pipe->changed, &pipe->lock);
    }
    pipe->stopped = true;
    pthread_cond_broadcast(&pipe->changed);
    while (pipe->reading)
        pthread_cond_wait(&pipe->changed, &pipe->lock);
    /* This failure comes before those that the reading met further on in the file. */
    if (status != LULL_OK) {
        pipe->status = status;
        pipe->err = err;
    }
    pthread_mutex_unlock(&pipe->lock);
}

static void work_on_pipe(void *context, unsigned worker)
{
    struct pipe *pipe = context;
    if (worker == 0)
        lead(pipe);
    else
        help(pipe, worker);
}

/* ---- both ---------------------------------------------------------------------------------- */

static struct hand *create_hand(const struct lull_trace *trace, const struct lull_prv_wish *wish)
{
    struct hand *hand = lull_alloc_apart(sizeof *hand);
    if (hand) {
        hand->wish = *wish;
        hand->parser.trace = trace;
        hand->parser.paraver = trace->format_data;
    }
    return hand;
}

static lull_status make_pipe_room(struct pipe *pipe, const struct lull_prv_wish *wish,
                                  struct lull_error *err)
{
    pipe->hands = calloc(pipe->workers, sizeof(struct hand *));
    for (unsigned w = 0; w < pipe->workers; w++)
        if (!pipe->hands || !(pipe->hands[w] = create_hand(pipe->trace, wish)))
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", pipe->trace->path);
    return add_slots(pipe, pipe->workers == 1 ? SLOTS_ALONE : SLOTS_OF_WORKER * pipe->workers + 1,
                     err);
}

static void release_pipe(struct pipe *pipe)
{
    for (uint64_t i = 0; i < pipe->n_slots; i++)
        release_slot(pipe->slots[i]);
    for (unsigned w = 0; pipe->hands && w < pipe->workers; w++)
        free(pipe->hands[w]);
    free(pipe->slots);
    free(pipe->held);
    free(pipe->hands);
}

lull_status lull_prv_pipe_run(const struct lull_trace *trace, bool again, unsigned workers,
                              const struct lull_prv_wish *wish, lull_prv_take take, void *context,
                              struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    struct pipe pipe = {.trace = trace,
                        .take = take,
                        .context = context,
                        .line = paraver->records_line,
                        .lines_to_hold = wish->states || wish->events ? LULL_PRV_LATE_LINES : 0,
                        .workers = workers};
    lull_prv_order_begin(&pipe.order, trace);
    lull_status status = make_pipe_room(&pipe, wish, err);
    if (status == LULL_OK)
        status = prv_records_open(trace, again, &pipe.records, err);
    if (status == LULL_OK) {
        pthread_mutex_init(&pipe.lock, NULL);
        pthread_cond_init(&pipe.changed, NULL);
        if (workers == 1) {
            status = run_alone(&pipe, err);
        } else {
            lull_parallel_run(workers, work_on_pipe, &pipe);
            status = pipe.status;
            if (status != LULL_OK && err)
                *err = pipe.err;
        }
        pthread_cond_destroy(&pipe.changed);
        pthread_mutex_destroy(&pipe.lock);
        prv_records_close(&pipe.records);
    }
    lull_prv_order_end(&pipe.order, !again);
    release_pipe(&pipe);
    return status;
}
