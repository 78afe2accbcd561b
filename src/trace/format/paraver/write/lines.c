#include "trace/format/paraver/write/writer.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

void lull_prv_append(struct lull_prv_writer *writer, struct lull_prv_text *text, const char *data,
                     size_t length)
{
    if (length == 0)
        return;
    if (!lull_array_reserve(&text->data, &text->capacity, text->length + length, 1)) {
        writer->out_of_memory = true;
        return;
    }
    memcpy(text->data + text->length, data, length);
    text->length += length;
}

size_t lull_prv_put_digits(char *out, uint64_t number)
{
    char digits[20];
    size_t n = 0, length = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        out[length++] = digits[--n];
    return length;
}

static void append_pair(struct lull_prv_writer *writer, struct lull_prv_text *text, uint64_t type,
                        uint64_t value)
{
    char pair[2 * 21];
    size_t length = 0;
    pair[length++] = ':';
    length += lull_prv_put_digits(pair + length, type);
    pair[length++] = ':';
    length += lull_prv_put_digits(pair + length, value);
    lull_prv_append(writer, text, pair, length);
}

size_t lull_prv_put_object(const struct lull_prv_writer *writer, char *out, uint32_t location)
{
    const struct lull_trace *trace = writer->trace;
    const uint32_t index = trace->locations[location].process;
    const struct lull_process *process = &trace->processes[index];
    size_t length = lull_prv_put_digits(out, writer->codes->cpus[location]);
    out[length++] = ':';
    length += lull_prv_put_digits(out + length, process->application + UINT64_C(1));
    out[length++] = ':';
    length += lull_prv_put_digits(out + length, writer->codes->tasks[index]);
    out[length++] = ':';
    length += lull_prv_put_digits(out + length, location - process->first_location + UINT64_C(1));
    out[length++] = ':';
    return length;
}

/* ---- lines of events ------------------------------------------------------------------------- */

static void put_pending_line(struct lull_prv_writer *writer, uint32_t location)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    /* The reader takes a counter's first value of a time: more wait for the next time. */
    uint32_t n_counters = track->counted_time == writer->now ? 0 : track->n_counters;
    if (track->pairs.length + track->own.length + n_counters == 0)
        return; /* all of it has been written */
    char head[128];
    size_t length = 0;
    if (track->changes)
        head[length++] = 'P';
    head[length++] = '2';
    head[length++] = ':';
    length += lull_prv_put_object(writer, head + length, location);
    length += lull_prv_put_digits(head + length, (uint64_t)writer->now);
    size_t before_pairs = length;
    for (uint32_t i = 0; i < n_counters; i++)
        append_pair(writer, &track->pairs, writer->codes->counters[track->counters[i].counter].type,
                    track->counters[i].value);
    lull_prv_append(writer, &track->pairs, track->own.data, track->own.length);
    lull_prv_append(writer, &track->pairs, "\n", 1);
    /* in one piece, so that the spool cannot part it */
    struct lull_prv_text line = {0};
    lull_prv_append(writer, &line, head, length);
    lull_prv_append(writer, &line, track->pairs.data, track->pairs.length);
    if (!writer->out_of_memory) {
        uint64_t position = lull_prv_spool_add(writer->spool, line.data, line.length);
        if (track->collective_at > 0)
            track->collective_position = position + before_pairs + track->collective_at - 1;
    }
    free(line.data);
    track->collective_at = 0;
    track->changes = false;
    track->pairs.length = track->own.length = 0;
    if (n_counters > 0) {
        track->n_counters = 0;
        track->counted_time = writer->now;
    }
}

/* Readers, ours among them, hold a line of events in memory. */
void lull_prv_break_line(struct lull_prv_writer *writer, uint32_t location)
{
    enum { LONG_LINE = 1 << 14 };
    const struct lull_prv_writer_track *track = &writer->tracks[location];
    if (track->pairs.length + track->own.length > LONG_LINE)
        put_pending_line(writer, location);
}

void lull_prv_put_lines(struct lull_prv_writer *writer)
{
    for (uint32_t i = 0; i < writer->n_in_line; i++) {
        writer->tracks[writer->in_line[i]].in_line = false;
        put_pending_line(writer, writer->in_line[i]);
    }
    writer->n_in_line = 0;
}

struct lull_prv_writer_track *lull_prv_open_line(struct lull_prv_writer *writer, uint32_t location)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (!track->in_line) {
        track->in_line = true;
        writer->in_line[writer->n_in_line++] = location;
    }
    return track;
}

void lull_prv_add_pair(struct lull_prv_writer *writer, uint32_t location, uint64_t type,
                       uint64_t value)
{
    append_pair(writer, &lull_prv_open_line(writer, location)->pairs, type, value);
}

void lull_prv_add_own_pair(struct lull_prv_writer *writer, uint32_t location, uint64_t type,
                           uint64_t value)
{
    append_pair(writer, &lull_prv_open_line(writer, location)->own, type, value);
}

/* ---- states ---------------------------------------------------------------------------------- */

void lull_prv_begin_state(struct lull_prv_writer *writer, uint32_t location, uint32_t state)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    char line[192] = "P1:";
    size_t length = 3;
    length += lull_prv_put_object(writer, line + length, location);
    length += lull_prv_put_digits(line + length, (uint64_t)writer->now);
    line[length++] = ':';
    size_t field = length;
    length += (size_t)snprintf(line + length, sizeof line - length, "%0*lld:%0*u\n", LULL_PRV_FIELD,
                               (long long)writer->now, LULL_PRV_FIELD, state);
    track->state = state;
    track->state_begin = writer->now;
    track->state_position = lull_prv_spool_add(writer->spool, line, length) + field;
}

/* Those of no length, which take turns at one time, are one line whose state changes. */
static void change_state(struct lull_prv_writer *writer, uint32_t location, uint32_t state)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (track->state == state)
        return;
    if (track->state_begin == writer->now) {
        track->state = state;
        lull_prv_spool_patch(writer->spool, track->state_position + LULL_PRV_FIELD + 1, state);
        return;
    }
    lull_prv_spool_patch(writer->spool, track->state_position, (uint64_t)writer->now);
    lull_prv_begin_state(writer, location, state);
}

static uint32_t base_state(const struct lull_prv_writer *writer, uint32_t location, bool alive)
{
    const struct lull_location *definition = &writer->trace->locations[location];
    const struct lull_prv_writer_track *track = &writer->tracks[location];
    if (definition->kind == LULL_LOCATION_DEVICE)
        return lull_prv_state_of(LULL_IDLE);
    if (definition->role == LULL_THREAD_WORKER)
        return lull_prv_state_of(track->parallel_depth ? LULL_USEFUL : LULL_IDLE);
    return alive ? lull_prv_state_of(LULL_USEFUL) : LULL_PRV_NOT_CREATED;
}

uint32_t lull_prv_state_now(const struct lull_prv_writer *writer, uint32_t location, bool alive)
{
    const struct lull_prv_writer_track *track = &writer->tracks[location];
    uint8_t top = track->depth ? track->stack[track->depth - 1].activity : LULL_PRV_INHERIT;
    if (track->off)
        return LULL_PRV_TRACING_DISABLED;
    if (track->flush_end != LULL_PRV_NEVER)
        return lull_prv_state_of(LULL_FLUSH);
    return top == LULL_PRV_INHERIT ? base_state(writer, location, alive) : lull_prv_state_of(top);
}

void lull_prv_update_state(struct lull_prv_writer *writer, uint32_t location)
{
    if (!writer->trace->has_states)
        change_state(writer, location,
                     lull_prv_state_now(writer, location, writer->tracks[location].began));
}

void lull_prv_put_state(struct lull_prv_writer *writer, uint32_t location,
                        const struct lull_event *event)
{
    char line[192] = "1:";
    size_t length = 2;
    length += lull_prv_put_object(writer, line + length, location);
    length += lull_prv_put_digits(line + length, (uint64_t)event->time);
    line[length++] = ':';
    length += lull_prv_put_digits(line + length, (uint64_t)(event->time + event->duration));
    line[length++] = ':';
    length += lull_prv_put_digits(line + length, writer->codes->states[event->id]);
    line[length++] = '\n';
    lull_prv_spool_add(writer->spool, line, length);
}
