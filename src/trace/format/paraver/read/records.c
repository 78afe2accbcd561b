#include "trace/format/paraver/read/records.h"

#include "trace/format/paraver/read/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lull_status lull_prv_records_open(const struct lull_trace *trace, bool again,
                                  struct lull_prv_records *records, struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    *records = (struct lull_prv_records){.trace = trace, .again = again};
    records->carry = malloc(LULL_PRV_HEAD + 1 + LULL_PRV_PAD);
    if (!records->carry)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status =
        lull_prv_source_open(trace, paraver->records_offset, again, &records->source, err);
    if (status != LULL_OK)
        free(records->carry);
    return status;
}

void lull_prv_records_close(struct lull_prv_records *records)
{
    lull_prv_source_close(records->source);
    free(records->carry);
}

/* The last line lacks its newline: it may be cut, or a writer may have left it out. */
static void last_line(struct lull_prv_records *records, struct lull_prv_piece *piece)
{
    uint8_t *line = records->carry;
    size_t size = records->n_carry;
    records->ended = true;
    piece->begin = piece->end = line;
    if (size == 0)
        return;
    line[size] = '\n';
    memset(line + size + 1, 0, LULL_PRV_PAD);
    piece->end = line + size + 1;
    records->n_carry = 0;
    if (!records->again)
        lull_trace_add_quirk(records->trace, "the last line does not end; it is taken as it is",
                             "%s", "");
}

lull_status lull_prv_records_next(struct lull_prv_records *records, struct lull_prv_piece *piece,
                                  struct lull_error *err)
{
    piece->begin = piece->end = records->carry;
    while (!records->ended) {
        size_t size;
        lull_status status = lull_prv_source_next(records->source, &piece->memory, &size, err);
        if (status != LULL_OK)
            return status;
        if (size == 0) {
            last_line(records, piece);
            break;
        }
        uint8_t *data = piece->memory + LULL_PRV_HEAD;
        memset(data + size, 0, LULL_PRV_PAD);
        const uint8_t *newline = memrchr(data, '\n', size);
        const uint8_t *end = newline ? newline + 1 : data;
        uint8_t *begin = data;
        if (newline) {
            begin -= records->n_carry;
            memcpy(begin, records->carry, records->n_carry);
            records->n_carry = 0;
        }
        size_t rest = (size_t)(data + size - end);
        if (records->n_carry + rest > LULL_PRV_HEAD)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: a record is longer than %d KiB, expected lines of text",
                             records->trace->path, LULL_PRV_HEAD >> 10);
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

bool lull_prv_bad(struct lull_prv_parser *parser, const char *what, ...)
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

static bool bad_object(struct lull_prv_parser *parser, const uint64_t ids[4])
{
    const struct lull_paraver *paraver = parser->paraver;
    if (paraver->n_cpus > 0 && ids[0] > paraver->n_cpus)
        return lull_prv_bad(parser, "processor %llu, expected at most %u",
                            (unsigned long long)ids[0], paraver->n_cpus);
    if (ids[1] - 1 >= paraver->n_applications)
        return lull_prv_bad(parser, "application %llu, expected 1 to %u",
                            (unsigned long long)ids[1], paraver->n_applications);
    const struct lull_prv_application *application = &paraver->applications[ids[1] - 1];
    if (ids[2] - 1 >= application->n_processes)
        return lull_prv_bad(parser, "task %llu, expected 1 to %u", (unsigned long long)ids[2],
                            application->n_processes);
    const struct lull_process *process =
        &parser->trace->processes[application->first_process + ids[2] - 1];
    return lull_prv_bad(parser, "thread %llu, expected 1 to %u", (unsigned long long)ids[3],
                        process->n_locations);
}

static void remember_object(struct lull_prv_parser *parser, const uint8_t *text, size_t length,
                            uint32_t location)
{
    uint64_t first;
    memcpy(&first, text, sizeof first);
    const uint32_t index = lull_prv_known_index(first);
    struct lull_prv_known_object *known = &parser->known[index];
    parser->known[index ^ 1] = *known; /* whoever was here moves aside */
    uint8_t mask[sizeof known->mask] = {0};
    known->length = length <= sizeof mask ? (uint32_t)length : 0;
    memset(mask, 0xff, known->length);
    memcpy(known->mask, mask, sizeof mask);
    memcpy(known->text, text, sizeof known->text);
    known->location = location;
}

bool lull_prv_parse_object(struct lull_prv_parser *parser, const uint8_t **at,
                           uint32_t *ret_location)
{
    const struct lull_paraver *paraver = parser->paraver;
    const uint8_t *text = *at;
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        if (!field(at, &ids[i]))
            return lull_prv_bad(parser, "expected 'processor:application:task:thread:'");
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

bool lull_prv_time(struct lull_prv_parser *parser, const uint8_t **at, int64_t *ret_time)
{
    uint64_t ticks, scale = parser->paraver->ticks_to_ns;
    if (!lull_prv_number(at, &ticks) || ticks > (uint64_t)INT64_MAX / 2 / scale)
        return lull_prv_bad(parser, "expected a time");
    int64_t time = (int64_t)(ticks * scale);
    if (time > parser->trace->duration) {
        parser->late++;
        time = parser->trace->duration;
    }
    *ret_time = time;
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool times(struct lull_prv_parser *parser, const uint8_t **at, int64_t *logical,
                  int64_t *physical)
{
    if (!lull_prv_time(parser, at, logical))
        return false;
    if (*(*at)++ != ':')
        return lull_prv_bad(parser, "expected ':' and the physical time");
    if (!lull_prv_time(parser, at, physical))
        return false;
    return *(*at)++ == ':' || lull_prv_bad(parser, "expected ':' behind a time");
}

/* <object>:logical send:physical send:<object>:logical receive:physical receive:size:tag
 * The send is posted at its logical time. The receive is complete when both the call has been made
 * and the data has come: the later of the two receive times. */
bool lull_prv_message(struct lull_prv_parser *parser, const uint8_t *at,
                      struct lull_prv_half ret_halves[2])
{
    uint32_t sender = 0, receiver = 0;
    int64_t send = 0, physical_send, receive = 0, physical_receive = 0;
    uint64_t size, tag;
    if (!lull_prv_object(parser, &at, &sender) || !times(parser, &at, &send, &physical_send) ||
        !lull_prv_object(parser, &at, &receiver) ||
        !times(parser, &at, &receive, &physical_receive))
        return false;
    if (!field(&at, &size))
        return lull_prv_bad(parser, "expected 'size:tag' of a message");
    bool negative = *at == '-';
    at += negative;
    if (!lull_prv_number(&at, &tag) || !lull_prv_line_ends(at))
        return lull_prv_bad(parser, "expected the tag of a message and the end of the line");
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
