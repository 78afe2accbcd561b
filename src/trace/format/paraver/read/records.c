#include "trace/format/paraver/read/records.h"

#include "trace/format/paraver/read/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lull_status lull_prv_records_open(const struct lull_trace *trace, bool again,
                                  struct lull_prv_records *records, struct lull_error *err)
{
    *records =
        (struct lull_prv_records){.trace = trace, .paraver = trace->format_data, .again = again};
    records->line = records->paraver->records_line;
    records->carry = malloc(LULL_PRV_HEAD + 1 + LULL_PRV_PAD);
    if (!records->carry)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status =
        lull_prv_source_open(trace, records->paraver->records_offset, again, &records->source, err);
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
static void last_line(struct lull_prv_records *records, const uint8_t **ret_begin,
                      const uint8_t **ret_end)
{
    uint8_t *line = records->carry;
    size_t size = records->n_carry;
    records->ended = true;
    *ret_begin = *ret_end = line;
    if (size == 0)
        return;
    line[size] = '\n';
    memset(line + size + 1, 0, LULL_PRV_PAD);
    *ret_end = line + size + 1;
    records->n_carry = 0;
    if (!records->again)
        lull_trace_add_quirk(records->trace, "the last line does not end; it is taken as it is",
                             "%s", "");
}

lull_status lull_prv_records_next(struct lull_prv_records *records, const uint8_t **ret_begin,
                                  const uint8_t **ret_end, struct lull_error *err)
{
    *ret_begin = *ret_end = records->carry;
    while (!records->ended) {
        uint8_t *data;
        size_t size;
        lull_status status = lull_prv_source_next(records->source, &data, &size, err);
        if (status != LULL_OK)
            return status;
        if (size == 0) {
            last_line(records, ret_begin, ret_end);
            break;
        }
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
            *ret_begin = begin;
            *ret_end = end;
            break;
        }
    }
    return LULL_OK;
}

lull_status lull_prv_bad(const struct lull_prv_records *records, struct lull_error *err,
                         const char *what, ...)
{
    char text[512];
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: %s", records->trace->path,
                     (unsigned long long)records->line, text);
}

static bool field(const uint8_t **at, uint64_t *ret_value)
{
    if (!lull_prv_number(at, ret_value) || **at != ':')
        return false;
    (*at)++;
    return true;
}

static lull_status bad_object(const struct lull_prv_records *records, const uint64_t ids[4],
                              struct lull_error *err)
{
    const struct lull_paraver *paraver = records->paraver;
    if (paraver->n_cpus > 0 && ids[0] > paraver->n_cpus)
        return lull_prv_bad(records, err, "processor %llu, expected at most %u",
                            (unsigned long long)ids[0], paraver->n_cpus);
    if (ids[1] - 1 >= paraver->n_applications)
        return lull_prv_bad(records, err, "application %llu, expected 1 to %u",
                            (unsigned long long)ids[1], paraver->n_applications);
    const struct lull_prv_application *application = &paraver->applications[ids[1] - 1];
    if (ids[2] - 1 >= application->n_processes)
        return lull_prv_bad(records, err, "task %llu, expected 1 to %u", (unsigned long long)ids[2],
                            application->n_processes);
    const struct lull_process *process =
        &records->trace->processes[application->first_process + ids[2] - 1];
    return lull_prv_bad(records, err, "thread %llu, expected 1 to %u", (unsigned long long)ids[3],
                        process->n_locations);
}

static void remember_object(struct lull_prv_records *records, const uint8_t *text, size_t length,
                            uint32_t location)
{
    uint64_t first;
    memcpy(&first, text, sizeof first);
    struct lull_prv_known_object *known = &records->known[lull_prv_known_index(first)];
    uint8_t mask[sizeof known->mask] = {0};
    known->length = length <= sizeof mask ? (uint32_t)length : 0;
    memset(mask, 0xff, known->length);
    memcpy(known->mask, mask, sizeof mask);
    memcpy(known->text, text, sizeof known->text);
    known->location = location;
}

lull_status lull_prv_parse_object(struct lull_prv_records *records, const uint8_t **at,
                                  uint32_t *ret_location, struct lull_error *err)
{
    const struct lull_paraver *paraver = records->paraver;
    const uint8_t *text = *at;
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        if (!field(at, &ids[i]))
            return lull_prv_bad(records, err, "expected 'processor:application:task:thread:'");
    if ((paraver->n_cpus > 0 && ids[0] > paraver->n_cpus) || ids[1] - 1 >= paraver->n_applications)
        return bad_object(records, ids, err);
    const struct lull_prv_application *application = &paraver->applications[ids[1] - 1];
    if (ids[2] - 1 >= application->n_processes)
        return bad_object(records, ids, err);
    const struct lull_process *process =
        &records->trace->processes[application->first_process + ids[2] - 1];
    if (ids[3] - 1 >= process->n_locations)
        return bad_object(records, ids, err);
    *ret_location = process->first_location + (uint32_t)(ids[3] - 1);
    remember_object(records, text, (size_t)(*at - text), *ret_location);
    return LULL_OK;
}

lull_status lull_prv_time(struct lull_prv_records *records, const uint8_t **at, int64_t *ret_time,
                          struct lull_error *err)
{
    uint64_t ticks, scale = records->paraver->ticks_to_ns;
    if (!lull_prv_number(at, &ticks) || ticks > (uint64_t)INT64_MAX / 2 / scale)
        return lull_prv_bad(records, err, "expected a time");
    int64_t time = (int64_t)(ticks * scale);
    if (time > records->trace->duration) {
        lull_trace_add_quirk(records->trace,
                             "records lie behind the end of the run; moved to its end", "line %llu",
                             (unsigned long long)records->line);
        time = records->trace->duration;
    }
    *ret_time = time;
    return LULL_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static lull_status times(struct lull_prv_records *records, const uint8_t **at, int64_t *logical,
                         int64_t *physical, struct lull_error *err)
{
    lull_status status = lull_prv_time(records, at, logical, err);
    if (status != LULL_OK)
        return status;
    if (*(*at)++ != ':')
        return lull_prv_bad(records, err, "expected ':' and the physical time");
    status = lull_prv_time(records, at, physical, err);
    if (status != LULL_OK)
        return status;
    return *(*at)++ == ':' ? LULL_OK : lull_prv_bad(records, err, "expected ':' behind a time");
}

/* <object>:logical send:physical send:<object>:logical receive:physical receive:size:tag
 * The send is posted at its logical time. The receive is complete when both the call has been made
 * and the data has come: the later of the two receive times. */
lull_status lull_prv_message(struct lull_prv_records *records, const uint8_t *at,
                             struct lull_prv_half ret_halves[2], struct lull_error *err)
{
    uint32_t sender, receiver;
    int64_t send, physical_send, receive, physical_receive;
    uint64_t size, tag;
    lull_status status = lull_prv_object(records, &at, &sender, err);
    if (status == LULL_OK)
        status = times(records, &at, &send, &physical_send, err);
    if (status == LULL_OK)
        status = lull_prv_object(records, &at, &receiver, err);
    if (status == LULL_OK)
        status = times(records, &at, &receive, &physical_receive, err);
    if (status != LULL_OK)
        return status;
    if (!field(&at, &size))
        return lull_prv_bad(records, err, "expected 'size:tag' of a message");
    bool negative = *at == '-';
    at += negative;
    if (!lull_prv_number(&at, &tag) || !lull_prv_line_ends(at))
        return lull_prv_bad(records, err, "expected the tag of a message and the end of the line");
    const struct lull_location *locations = records->trace->locations;
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
    return LULL_OK;
}

struct lull_event lull_prv_message_event(const struct lull_prv_records *records,
                                         const struct lull_prv_half *half)
{
    const struct lull_trace *trace = records->trace;
    uint32_t process = trace->locations[half->location].process;
    uint32_t application = trace->processes[process].application;
    return (struct lull_event){.time = half->time,
                               .kind = half->kind,
                               .id = records->paraver->applications[application].world,
                               .message = {.bytes = half->bytes,
                                           .request = LULL_NO_REQUEST,
                                           .peer = half->peer,
                                           .tag = half->tag}};
}
