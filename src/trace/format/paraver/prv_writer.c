/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a Paraver trace: events of all locations, in time order, become lines of a .prv.
 *
 * What happens on a location at one time is gathered into one line. Calls and flushes end without
 * an event: their ends wait in a heap. If the trace has no states, they are made from the regions,
 * by the rules by which a breakdown without states attributes time; so reading the result gives the
 * same breakdown. */
#include "base/array.h"
#include "base/output_file.h"
#include "trace/format/paraver/prv_codes.h"
#include "trace/format/paraver/prv_spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

struct prv_waiting {
    uint32_t comm, source, destination;
    int32_t tag;
    bool send; /* true: waits for its receive; false: a receive that waits for its send */
    uint32_t location;
    int64_t time;
    uint64_t bytes;
    uint64_t
        moved; /* of a launch (PRV_LAUNCHES): bytes that the operation moves, once it has run */
    struct prv_waiting *next;
};

struct prv_bucket { /* in order of arrival */
    struct prv_waiting *first, *last;
};

struct prv_matcher {
    struct prv_bucket *buckets; /* [n_buckets], malloc'd */
    size_t n_buckets, n_waiting;
};

enum {
    PRV_INHERIT = LULL_ACTIVITIES,
    PRV_NOT_CREATED = 2, /* states */
    PRV_TRACING_DISABLED = 14,
};

/* Launches are matched like messages. In the place of a communicator they have PRV_LAUNCHES, in that of the bytes the
 * number of the operation, which is unique in its process. */
#define PRV_LAUNCHES (LULL_NONE - 1)
enum { PRV_KEPT_LAUNCHES = 4096 };
#define PRV_NEVER       INT64_MAX
#define PRV_NO_POSITION UINT64_MAX

struct prv_text {
    char *data; /* malloc'd */
    size_t length, capacity;
};

struct prv_frame {
    uint32_t region, code;
    uint8_t activity; /* PRV_INHERIT: that of the region around it */
};

/* A location: the line that is being gathered for it, and what goes on there. */
struct prv_writer_track {
    struct prv_text pairs;
    /* Lull's own events. They come last on the line, with their parameters behind them. */
    struct prv_text own;
    struct lull_counter_reading *counters;
    uint32_t n_counters;
    size_t counters_capacity;
    int64_t counted_time; /* the time of the last line with counters */
    bool in_line;         /* it is in the writer's `in_line` */

    struct prv_frame *stack;
    size_t capacity;
    uint32_t depth, parallel_depth;
    bool began, off;
    int64_t call_end, flush_end, last_time;

    uint32_t state;
    int64_t state_begin;
    uint64_t state_position; /* where the end of the state stands in the spool */

    bool changes; /* `pairs` holds fields of fixed width, which are changed later */
    /* Where the sizes of the open collective are: in `pairs`, plus 1 (0: not there), or in the
     * spool. */
    size_t collective_at;
    uint64_t collective_position;
};

struct prv_deadline {
    int64_t time;
    uint32_t location;
};

struct prv_writer {
    const struct lull_trace *trace;
    struct lull_arena *arena;
    struct lull_prv_codes *codes;
    struct lull_output *prv, *pcf, *row;
    struct lull_prv_spool *spool;
    bool gzip;
    struct prv_writer_track *tracks;
    uint32_t *in_line; /* [n_in_line] locations that have something to write at `now` */
    uint32_t n_in_line;
    int64_t now, end;
    struct prv_deadline *heap;
    size_t n_heap, heap_capacity;
    struct prv_matcher matcher;
    struct prv_waiting *launches; /* [PRV_KEPT_LAUNCHES] that were matched; bytes 0: none */
    bool out_of_memory;
};

/* ==== lines =================================================================================== */

/* ---- text ------------------------------------------------------------------------------------ */

static void prv_append(struct prv_writer *writer, struct prv_text *text, const char *data,
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

/* Returns how many digits it wrote, at most 20. */
static size_t prv_put_digits(char *out, uint64_t number)
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

static void append_pair(struct prv_writer *writer, struct prv_text *text, uint64_t type,
                        uint64_t value)
{
    char pair[2 * 21];
    size_t length = 0;
    pair[length++] = ':';
    length += prv_put_digits(pair + length, type);
    pair[length++] = ':';
    length += prv_put_digits(pair + length, value);
    prv_append(writer, text, pair, length);
}

/* Writes "cpu:application:task:thread:", at most 84 characters; returns how many. */
static size_t prv_put_object(const struct prv_writer *writer, char *out, uint32_t location)
{
    const struct lull_trace *trace = writer->trace;
    const uint32_t index = trace->locations[location].process;
    const struct lull_process *process = &trace->processes[index];
    size_t length = prv_put_digits(out, writer->codes->cpus[location]);
    out[length++] = ':';
    length += prv_put_digits(out + length, process->application + UINT64_C(1));
    out[length++] = ':';
    length += prv_put_digits(out + length, writer->codes->tasks[index]);
    out[length++] = ':';
    length += prv_put_digits(out + length, location - process->first_location + UINT64_C(1));
    out[length++] = ':';
    return length;
}

/* ---- lines of events ------------------------------------------------------------------------- */

static void put_pending_line(struct prv_writer *writer, uint32_t location)
{
    struct prv_writer_track *track = &writer->tracks[location];
    /* The reader takes the first value of a counter at a time, so further values wait for the next
     * time. */
    uint32_t n_counters = track->counted_time == writer->now ? 0 : track->n_counters;
    if (track->pairs.length + track->own.length + n_counters == 0)
        return; /* all has been written already */
    char head[128];
    size_t length = 0;
    if (track->changes)
        head[length++] = 'P';
    head[length++] = '2';
    head[length++] = ':';
    length += prv_put_object(writer, head + length, location);
    length += prv_put_digits(head + length, (uint64_t)writer->now);
    size_t before_pairs = length;
    for (uint32_t i = 0; i < n_counters; i++)
        append_pair(writer, &track->pairs, writer->codes->counters[track->counters[i].counter].type,
                    track->counters[i].value);
    prv_append(writer, &track->pairs, track->own.data, track->own.length);
    prv_append(writer, &track->pairs, "\n", 1);
    /* The line is added in one piece, so that the spool cannot part it. */
    struct prv_text line = {0};
    prv_append(writer, &line, head, length);
    prv_append(writer, &line, track->pairs.data, track->pairs.length);
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

/* Writes the line so far if it is long: readers, ours among them, hold a line of events in memory.
 * To be called between two events, where the line may be parted. */
static void prv_break_line(struct prv_writer *writer, uint32_t location)
{
    enum { LONG_LINE = 1 << 14 };
    const struct prv_writer_track *track = &writer->tracks[location];
    if (track->pairs.length + track->own.length > LONG_LINE)
        put_pending_line(writer, location);
}

/* Writes all lines of the time writer->now. */
static void prv_put_lines(struct prv_writer *writer)
{
    for (uint32_t i = 0; i < writer->n_in_line; i++) {
        writer->tracks[writer->in_line[i]].in_line = false;
        put_pending_line(writer, writer->in_line[i]);
    }
    writer->n_in_line = 0;
}

static struct prv_writer_track *prv_open_line(struct prv_writer *writer, uint32_t location)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (!track->in_line) {
        track->in_line = true;
        writer->in_line[writer->n_in_line++] = location;
    }
    return track;
}

/* Adds a pair to the line of a location at writer->now. */
static void prv_add_pair(struct prv_writer *writer, uint32_t location, uint64_t type,
                         uint64_t value)
{
    append_pair(writer, &prv_open_line(writer, location)->pairs, type, value);
}

static void prv_add_own_pair(struct prv_writer *writer, uint32_t location, uint64_t type,
                             uint64_t value)
{
    append_pair(writer, &prv_open_line(writer, location)->own, type, value);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void prv_begin_state(struct prv_writer *writer, uint32_t location, uint32_t state)
{
    struct prv_writer_track *track = &writer->tracks[location];
    char line[192] = "P1:";
    size_t length = 3;
    length += prv_put_object(writer, line + length, location);
    length += prv_put_digits(line + length, (uint64_t)writer->now);
    line[length++] = ':';
    size_t field = length;
    length += (size_t)snprintf(line + length, sizeof line - length, "%0*lld:%0*u\n", LULL_PRV_FIELD,
                               (long long)writer->now, LULL_PRV_FIELD, state);
    track->state = state;
    track->state_begin = writer->now;
    track->state_position = lull_prv_spool_add(writer->spool, line, length) + field;
}

/* Ends the state of a location and begins another one. If the old one began at this very time, its
 * line is changed instead. */
static void change_state(struct prv_writer *writer, uint32_t location, uint32_t state)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (track->state == state)
        return;
    if (track->state_begin == writer->now) {
        track->state = state;
        lull_prv_spool_patch(writer->spool, track->state_position + LULL_PRV_FIELD + 1, state);
        return;
    }
    lull_prv_spool_patch(writer->spool, track->state_position, (uint64_t)writer->now);
    prv_begin_state(writer, location, state);
}

static uint32_t base_state(const struct prv_writer *writer, uint32_t location, bool alive)
{
    const struct lull_location *definition = &writer->trace->locations[location];
    const struct prv_writer_track *track = &writer->tracks[location];
    if (definition->kind == LULL_LOCATION_DEVICE)
        return lull_prv_state_of(LULL_IDLE);
    if (definition->role == LULL_THREAD_WORKER)
        return lull_prv_state_of(track->parallel_depth ? LULL_USEFUL : LULL_IDLE);
    return alive ? lull_prv_state_of(LULL_USEFUL) : PRV_NOT_CREATED;
}

/* The state of a location by the regions that are open. `alive`: the time is between the first and
 * the last event of the location. */
static uint32_t prv_state_now(const struct prv_writer *writer, uint32_t location, bool alive)
{
    const struct prv_writer_track *track = &writer->tracks[location];
    uint8_t top = track->depth ? track->stack[track->depth - 1].activity : PRV_INHERIT;
    if (track->off)
        return PRV_TRACING_DISABLED;
    if (track->flush_end != PRV_NEVER)
        return lull_prv_state_of(LULL_FLUSH);
    return top == PRV_INHERIT ? base_state(writer, location, alive) : lull_prv_state_of(top);
}

static void prv_update_state(struct prv_writer *writer, uint32_t location)
{
    if (!writer->trace->has_states)
        change_state(writer, location,
                     prv_state_now(writer, location, writer->tracks[location].began));
}

/* Writes a state that the trace itself has. */
static void prv_put_state(struct prv_writer *writer, uint32_t location,
                          const struct lull_event *event)
{
    char line[192] = "1:";
    size_t length = 2;
    length += prv_put_object(writer, line + length, location);
    length += prv_put_digits(line + length, (uint64_t)event->time);
    line[length++] = ':';
    length += prv_put_digits(line + length, (uint64_t)(event->time + event->duration));
    line[length++] = ':';
    length += prv_put_digits(line + length, writer->codes->states[event->id]);
    line[length++] = '\n';
    lull_prv_spool_add(writer->spool, line, length);
}

/* ==== match =================================================================================== */

/* Sends and receives that wait for their other half.
 *
 * The first half of a channel that came is matched first, as in MPI; a channel is communicator,
 * source, destination, tag and size. Halves of different sizes are not matched, whatever the trace
 * says, because a record has one size. The hash table is not that of base, because halves leave it:
 * memory follows the number of halves that wait. */

static size_t hash(const struct prv_waiting *half, size_t n_buckets)
{
    /* Halves that stay alone are written in the order of the buckets: another hash gives lines of the
     * same time another order. */
    uint64_t key = ((uint64_t)half->comm << 32 | half->source) * UINT64_C(0x9e3779b97f4a7c15);
    key ^= ((uint64_t)half->destination << 32 | (uint32_t)half->tag) * UINT64_C(0xc2b2ae3d27d4eb4f);
    key += half->bytes * UINT64_C(0x165667b19e3779f9);
    return (size_t)((key ^ key >> 29) & (n_buckets - 1));
}

static bool same_channel(const struct prv_waiting *a, const struct prv_waiting *b)
{
    return a->comm == b->comm && a->source == b->source && a->destination == b->destination &&
           a->tag == b->tag && a->bytes == b->bytes;
}

static void append_half(struct prv_bucket *bucket, struct prv_waiting *half)
{
    half->next = NULL;
    if (bucket->last)
        bucket->last->next = half;
    else
        bucket->first = half;
    bucket->last = half;
}

/* Makes more buckets. The halves of a channel were in one bucket, so their order is kept. */
static bool grow(struct prv_matcher *matcher)
{
    size_t n_buckets = matcher->n_buckets ? matcher->n_buckets * 4 : 256;
    struct prv_bucket *buckets = calloc(n_buckets, sizeof *buckets);
    if (!buckets)
        return false;
    for (size_t b = 0; b < matcher->n_buckets; b++) {
        for (struct prv_waiting *half = matcher->buckets[b].first, *next; half; half = next) {
            next = half->next;
            append_half(&buckets[hash(half, n_buckets)], half);
        }
    }
    free(matcher->buckets);
    matcher->buckets = buckets;
    matcher->n_buckets = n_buckets;
    return true;
}

static void take_out(struct prv_bucket *bucket, struct prv_waiting *before,
                     struct prv_waiting *half)
{
    if (before)
        before->next = half->next;
    else
        bucket->first = half->next;
    if (bucket->last == half)
        bucket->last = before;
}

/* Finds the first half that waits for `half` and takes it out: *ret_other, to be freed by the
 * caller. If none does, *ret_other is NULL, and a copy of `half` waits. False: memory ran out. */
static bool prv_match(struct prv_matcher *matcher, const struct prv_waiting *half,
                      struct prv_waiting **ret_other)
{
    if (matcher->n_waiting >= matcher->n_buckets && !grow(matcher))
        return false;
    struct prv_bucket *bucket = &matcher->buckets[hash(half, matcher->n_buckets)];
    struct prv_waiting *before = NULL, *found = bucket->first;
    for (; found && !same_channel(found, half); found = found->next)
        before = found;
    /* What waits in a channel are all sends or all receives, so the first one tells which. */
    if (found && found->send != half->send) {
        take_out(bucket, before, found);
        matcher->n_waiting--;
        *ret_other = found;
        return true;
    }
    struct prv_waiting *copy = malloc(sizeof *copy);
    if (!copy)
        return false;
    *copy = *half;
    append_half(bucket, copy);
    matcher->n_waiting++;
    *ret_other = NULL;
    return true;
}

static void prv_matcher_free(struct prv_matcher *matcher)
{
    for (size_t b = 0; b < matcher->n_buckets; b++) {
        for (struct prv_waiting *half = matcher->buckets[b].first, *next; half; half = next) {
            next = half->next;
            free(half);
        }
    }
    free(matcher->buckets);
}

/* ==== traffic ================================================================================= */

/* ---- messages and collectives ---------------------------------------------------------------- */

static void put_message_line(struct prv_writer *writer, const struct prv_waiting *send,
                             const struct prv_waiting *receive)
{
    char line[320] = "3:";
    size_t length = 2;
    length += prv_put_object(writer, line + length, send->location);
    length += (size_t)snprintf(line + length, sizeof line - length,
                               "%lld:%lld:", (long long)send->time, (long long)send->time);
    length += prv_put_object(writer, line + length, receive->location);
    length += (size_t)snprintf(line + length, sizeof line - length, "%lld:%lld:%llu:%d\n",
                               (long long)receive->time, (long long)receive->time,
                               (unsigned long long)receive->bytes, receive->tag);
    lull_prv_spool_add(writer->spool, line, length);
}

static uint64_t prv_comm_id(const struct prv_writer *writer, uint32_t comm)
{
    return comm < writer->trace->n_comms ? writer->codes->comms[comm] : 0;
}

static uint64_t prv_target_of(int32_t process)
{
    return process == LULL_PROC_NULL ? LULL_PRV_NOBODY : (uint64_t)(process + INT64_C(1));
}

/* Writes a message whose peer is no process, or not known: no other half of it will come. */
static void lone_message(struct prv_writer *writer, uint32_t location,
                         const struct lull_event *event)
{
    prv_add_own_pair(writer, location,
                     event->kind == LULL_EVENT_SEND ? LULL_PRV_OWN_SEND : LULL_PRV_OWN_RECEIVE, 1);
    prv_add_own_pair(writer, location, LULL_PRV_RMA_SIZE, event->message.bytes);
    prv_add_own_pair(writer, location, LULL_PRV_RMA_TARGET, prv_target_of(event->message.peer));
    prv_add_own_pair(writer, location, LULL_PRV_OWN_TAG, (uint32_t)event->message.tag);
    if (prv_comm_id(writer, event->id))
        prv_add_own_pair(writer, location, LULL_PRV_COMMUNICATOR, prv_comm_id(writer, event->id));
}

static void prv_add_message(struct prv_writer *writer, uint32_t location,
                            const struct lull_event *event)
{
    bool send = event->kind == LULL_EVENT_SEND;
    uint32_t process = writer->trace->locations[location].process;
    if (event->message.peer < 0 || (uint32_t)event->message.peer >= writer->trace->n_processes) {
        lone_message(writer, location, event);
        return;
    }
    uint32_t peer = (uint32_t)event->message.peer;
    struct prv_waiting half = {.comm = event->id,
                               .source = send ? process : peer,
                               .destination = send ? peer : process,
                               .tag = event->message.tag,
                               .send = send,
                               .location = location,
                               .time = event->time,
                               .bytes = event->message.bytes};
    struct prv_waiting *other;
    if (!prv_match(&writer->matcher, &half, &other)) {
        writer->out_of_memory = true;
        return;
    }
    if (other)
        put_message_line(writer, send ? &half : other, send ? other : &half);
    free(other);
}

static void put_launch_line(struct prv_writer *writer, const struct prv_waiting *submit,
                            const struct prv_waiting *run)
{
    struct prv_waiting receive = *run;
    receive.bytes = run->moved;
    receive.tag = (int32_t)(run->bytes & INT32_MAX);
    put_message_line(writer, submit, &receive);
}

/* Adds an end of a launch: the call that submits, or the operation that runs. Paraver draws a line from one to the other.
 * One call may submit several operations by one number, such as those of a graph: its end is kept for further ones until
 * PRV_KEPT_LAUNCHES later numbers have come. */
static void prv_add_launch(struct prv_writer *writer, uint32_t location,
                           const struct lull_event *event)
{
    const uint32_t process = writer->trace->locations[location].process;
    const bool submits = event->kind == LULL_EVENT_SUBMIT;
    const struct prv_waiting half = {.comm = PRV_LAUNCHES,
                                     .source = process,
                                     .destination = process,
                                     .send = submits,
                                     .location = location,
                                     .time = event->time,
                                     .bytes = event->operation.number,
                                     .moved = submits ? 0 : event->operation.bytes};
    struct prv_waiting *kept = &writer->launches[(half.bytes + process) % PRV_KEPT_LAUNCHES];
    struct prv_waiting *other;
    if (half.bytes == 0)
        return;
    if (!submits && kept->bytes == half.bytes && kept->source == process) {
        put_launch_line(writer, kept, &half);
        return;
    }
    if (!prv_match(&writer->matcher, &half, &other)) {
        writer->out_of_memory = true;
        return;
    }
    if (other) {
        *kept = submits ? half : *other;
        put_launch_line(writer, kept, submits ? other : &half);
    }
    free(other);
}

static void put_given_pair(struct prv_writer *writer, uint32_t location, bool given, uint64_t type,
                           uint64_t value)
{
    if (given)
        prv_add_pair(writer, location, type, value);
}

/* Writes what a thread submits to devices or waits for there, or what a stream runs. It stands behind the begin of its
 * region, so that it is told apart from regions that begin on the same line. */
static void prv_put_submission(struct prv_writer *writer, uint32_t location,
                               const struct lull_event *event, uint64_t type)
{
    const struct lull_trace *trace = writer->trace;
    const bool runs = event->kind == LULL_EVENT_OPERATION, called = runs && event->id != LULL_NONE;
    const uint32_t process = trace->locations[location].process;
    const uint32_t other = event->operation.location;
    prv_add_pair(writer, location, type, event->operation.number + 1);
    put_given_pair(writer, location, other != LULL_NONE, LULL_PRV_OWN_LOCATION,
                   other - trace->processes[process].first_location + UINT64_C(1));
    if (called) {
        const uint32_t whole = trace->regions[event->id].whole;
        struct lull_prv_code *code =
            &writer->codes->regions[whole == LULL_NONE ? event->id : whole];
        code->used = true;
        prv_add_pair(writer, location, LULL_PRV_OWN_CALL_TYPE, code->type);
        prv_add_pair(writer, location, LULL_PRV_OWN_CALL_VALUE, code->value);
    }
    put_given_pair(writer, location, runs && event->operation.bytes > 0, LULL_PRV_RMA_SIZE,
                   event->operation.bytes);
    put_given_pair(writer, location, event->kind == LULL_EVENT_DEPEND, LULL_PRV_OWN_OTHER,
                   event->operation.other);
    put_given_pair(writer, location, runs && event->operation.sequence != LULL_NO_SEQUENCE,
                   LULL_PRV_OWN_SEQUENCE, event->operation.sequence);
    put_given_pair(writer, location, runs && event->operation.peer >= 0, LULL_PRV_OWN_PEER,
                   (uint64_t)event->operation.peer + 1);
    if (runs || event->kind == LULL_EVENT_SUBMIT)
        prv_add_launch(writer, location, event);
}

/* Whether Extrae's parameters can tell the event: it is blocking, and in an MPI call of its
 * operation. */
static bool is_standard(const struct prv_writer *writer, uint32_t location,
                        const struct lull_event *event)
{
    const struct prv_writer_track *track = &writer->tracks[location];
    if (event->collective.request != LULL_NO_REQUEST || track->depth == 0)
        return false;
    const struct prv_frame *top = &track->stack[track->depth - 1];
    return writer->codes->regions[top->code].type == LULL_PRV_MPI_COLLECTIVE &&
           (event->op == writer->trace->regions[top->region].collective ||
            event->op == LULL_COLLECTIVE_UNKNOWN);
}

static const uint64_t collective_parameters[] = {LULL_PRV_SEND_SIZE, LULL_PRV_RECEIVE_SIZE,
                                                 LULL_PRV_IS_ROOT, LULL_PRV_COMMUNICATOR};

enum {
    N_PARAMETERS = sizeof collective_parameters / sizeof *collective_parameters,
    PARAMETER_WIDTH = 1 + 8 + 1 + LULL_PRV_FIELD /* ":50100001:" and the field */
};

/* Begins a collective: leaves fields on its line for the sizes, which are known when it ends. */
static void prv_begin_collective(struct prv_writer *writer, uint32_t location,
                                 const struct lull_event *event)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (track->collective_at > 0 || track->collective_position != PRV_NO_POSITION ||
        !is_standard(writer, location, event)) {
        prv_add_own_pair(writer, location, LULL_PRV_OWN_EVENTS + 12, event->op + UINT64_C(1));
        if (prv_comm_id(writer, event->id))
            prv_add_own_pair(writer, location, LULL_PRV_COMMUNICATOR,
                             prv_comm_id(writer, event->id));
        return;
    }
    prv_open_line(writer, location);
    track->changes = true;
    track->collective_at = track->pairs.length + 1;
    for (int i = 0; i < N_PARAMETERS; i++) {
        char text[64];
        int length = snprintf(text, sizeof text, ":%llu:%0*d",
                              (unsigned long long)collective_parameters[i], LULL_PRV_FIELD, 0);
        prv_append(writer, &track->pairs, text, (size_t)length);
    }
}

static void patch_collective(struct prv_writer *writer, struct prv_writer_track *track,
                             const uint64_t values[N_PARAMETERS])
{
    for (int i = 0; i < N_PARAMETERS; i++) {
        size_t field = (size_t)i * PARAMETER_WIDTH + PARAMETER_WIDTH - LULL_PRV_FIELD;
        if (track->collective_position != PRV_NO_POSITION) {
            lull_prv_spool_patch(writer->spool, track->collective_position + field, values[i]);
            continue;
        }
        char text[LULL_PRV_FIELD + 1];
        snprintf(text, sizeof text, "%0*llu", LULL_PRV_FIELD, (unsigned long long)values[i]);
        memcpy(track->pairs.data + track->collective_at - 1 + field, text, LULL_PRV_FIELD);
    }
    track->collective_at = 0;
    track->collective_position = PRV_NO_POSITION;
}

static void prv_end_collective(struct prv_writer *writer, uint32_t location,
                               const struct lull_event *event)
{
    struct prv_writer_track *track = &writer->tracks[location];
    uint32_t process = writer->trace->locations[location].process;
    uint64_t comm = prv_comm_id(writer, event->id);
    bool begun = track->collective_at > 0 || track->collective_position != PRV_NO_POSITION;
    if (begun && is_standard(writer, location, event)) {
        bool root = event->collective.root >= 0 && (uint32_t)event->collective.root == process;
        const uint64_t values[] = {event->collective.sent, event->collective.received, root, comm};
        patch_collective(writer, track, values);
        return;
    }
    prv_add_own_pair(writer, location, LULL_PRV_OWN_EVENTS + 13, event->op + UINT64_C(1));
    prv_add_own_pair(writer, location, LULL_PRV_SEND_SIZE, event->collective.sent);
    prv_add_own_pair(writer, location, LULL_PRV_RECEIVE_SIZE, event->collective.received);
    if (comm)
        prv_add_own_pair(writer, location, LULL_PRV_COMMUNICATOR, comm);
    if (event->collective.root >= 0)
        prv_add_own_pair(writer, location, LULL_PRV_OWN_ROOT, (uint64_t)event->collective.root + 1);
}

/* ==== finish ================================================================================== */

/* ---- the end --------------------------------------------------------------------------------- */

/* What is known only at the end and belongs before lines already written: a last state, or a
 * message without its other half. It is put in its place when the lines are copied. */
struct late {
    int64_t time;
    uint32_t location, state;
    const struct prv_waiting *message; /* NULL: a state */
};

struct final_copy {
    const struct prv_writer *writer;
    gzFile gzip;
    FILE *file;
    struct late *late; /* sorted by time */
    size_t n_late, next_late;
    int failure; /* errno of the first write that failed */
};

static void put_bytes(struct final_copy *copy, const char *data, size_t length)
{
    if (!copy->gzip)
        fwrite(data, 1, length, copy->file);
    else if (!copy->failure && gzwrite(copy->gzip, data, (unsigned)length) != (int)length)
        copy->failure = errno;
}

static void put_string(void *context, const char *text)
{
    put_bytes(context, text, strlen(text));
}

static void put_late_state(struct final_copy *copy, const struct late *late)
{
    char line[192] = "1:";
    size_t length = 2;
    length += prv_put_object(copy->writer, line + length, late->location);
    length += (size_t)snprintf(line + length, sizeof line - length, "%lld:%lld:%u\n",
                               (long long)late->time, (long long)copy->writer->end, late->state);
    put_bytes(copy, line, length);
}

static void put_late_message(struct final_copy *copy, const struct late *late)
{
    const struct prv_waiting *half = late->message;
    uint64_t comm = prv_comm_id(copy->writer, half->comm);
    char line[320] = "2:";
    size_t length = 2;
    length += prv_put_object(copy->writer, line + length, late->location);
    length += (size_t)snprintf(
        line + length, sizeof line - length, "%lld:%d:1:%d:%llu:%d:%llu:%d:%u",
        (long long)late->time, half->send ? LULL_PRV_OWN_SEND : LULL_PRV_OWN_RECEIVE,
        LULL_PRV_RMA_SIZE, (unsigned long long)half->bytes, LULL_PRV_RMA_TARGET,
        (half->send ? half->destination : half->source) + 1ull, LULL_PRV_OWN_TAG,
        (uint32_t)half->tag);
    if (comm)
        length += (size_t)snprintf(line + length, sizeof line - length, ":%d:%llu",
                                   LULL_PRV_COMMUNICATOR, (unsigned long long)comm);
    line[length++] = '\n';
    put_bytes(copy, line, length);
}

static void put_late(struct final_copy *copy, int64_t until)
{
    for (; copy->next_late < copy->n_late; copy->next_late++) {
        const struct late *late = &copy->late[copy->next_late];
        if (late->time > until)
            break;
        if (late->message)
            put_late_message(copy, late);
        else
            put_late_state(copy, late);
    }
}

/* The time of a state or event line, which is its sixth field. */
static int64_t time_of_line(const char *line, size_t length)
{
    int colons = 0;
    for (size_t i = 0; i < length; i++)
        if (line[i] == ':' && ++colons == 5)
            return strtoll(line + i + 1, NULL, 10);
    return 0;
}

static void copy_line(void *context, const char *line, size_t length)
{
    struct final_copy *copy = context;
    if (copy->next_late < copy->n_late && line[0] != '3')
        put_late(copy, time_of_line(line, length));
    put_bytes(copy, line, length);
}

static int compare_late(const void *a, const void *b)
{
    const struct late *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->location < right->location ? -1 : left->location > right->location;
}

/* Ends the last states. From its last event on a thread is not there any more. */
static void end_states(struct prv_writer *writer, struct final_copy *copy)
{
    for (uint32_t l = 0; !writer->trace->has_states && l < writer->trace->n_locations; l++) {
        struct prv_writer_track *track = &writer->tracks[l];
        uint32_t state = prv_state_now(writer, l, false);
        int64_t end = writer->end;
        if (state != track->state && track->last_time <= track->state_begin) {
            lull_prv_spool_patch(writer->spool, track->state_position + LULL_PRV_FIELD + 1, state);
        } else if (state != track->state && track->last_time < end) {
            end = track->last_time;
            copy->late[copy->n_late++] = (struct late){end, l, state, NULL};
        }
        lull_prv_spool_patch(writer->spool, track->state_position, (uint64_t)end);
    }
}

static void end_messages(const struct prv_writer *writer, struct final_copy *copy)
{
    const struct prv_matcher *matcher = &writer->matcher;
    for (size_t b = 0; b < matcher->n_buckets; b++)
        for (const struct prv_waiting *half = matcher->buckets[b].first; half; half = half->next)
            if (half->comm != PRV_LAUNCHES)
                copy->late[copy->n_late++] = (struct late){half->time, half->location, 0, half};
}

static lull_status copy_all(struct prv_writer *writer, struct final_copy *copy,
                            struct lull_error *err)
{
    const char *path = lull_output_path(writer->prv);
    if (writer->gzip)
        copy->gzip = gzopen(path, "wb");
    else
        copy->file = lull_output_stream_open(path, &copy->failure);
    if (!copy->gzip && !copy->file)
        return lull_fail_errno(err, "%s: cannot write", path);
    lull_prv_write_header(writer->trace, writer->codes, writer->end, put_string, copy);
    lull_status status = lull_prv_spool_read(writer->spool, copy_line, copy, err);
    put_late(copy, INT64_MAX);
    if (!copy->gzip) {
        struct lull_error *told = status == LULL_OK ? err : NULL;
        lull_status closed = lull_output_stream_close(copy->file, &copy->failure, path, told);
        return status == LULL_OK ? closed : status;
    }
    if (gzclose(copy->gzip) != Z_OK && !copy->failure)
        copy->failure = errno;
    errno = copy->failure;
    return status == LULL_OK && copy->failure ? lull_fail_errno(err, "%s: cannot write", path)
                                              : status;
}

static lull_status write_final_files(struct prv_writer *writer, struct lull_error *err)
{
    writer->end = writer->now > writer->trace->duration ? writer->now : writer->trace->duration;
    struct final_copy copy = {.writer = writer};
    copy.late = calloc(writer->trace->n_locations + writer->matcher.n_waiting, sizeof *copy.late);
    if (!copy.late || writer->out_of_memory) {
        free(copy.late);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_output_path(writer->prv));
    }
    end_states(writer, &copy);
    end_messages(writer, &copy);
    qsort(copy.late, copy.n_late, sizeof *copy.late, compare_late);
    lull_status status = copy_all(writer, &copy, err);
    free(copy.late);
    if (status == LULL_OK)
        status =
            lull_prv_write_pcf(writer->trace, writer->codes, lull_output_path(writer->pcf), err);
    if (status == LULL_OK)
        status =
            lull_prv_write_row(writer->trace, writer->codes, lull_output_path(writer->row), err);
    return status;
}

/* Puts all files in place, the .prv last: where it is, the .pcf and the .row are. */
static lull_status commit_all(struct prv_writer *writer, struct lull_error *err)
{
    struct lull_output *const outputs[] = {writer->pcf, writer->row, writer->prv};
    writer->pcf = writer->row = writer->prv = NULL;
    return lull_output_commit_all(outputs, sizeof outputs / sizeof *outputs, err);
}

/* Writes the last states, copies the lines, writes .pcf and .row, and puts all files in place. */
static lull_status prv_finish(struct prv_writer *writer, struct lull_error *err)
{
    lull_status status = write_final_files(writer, err);
    return status == LULL_OK ? commit_all(writer, err) : status;
}

/* ==== writer ================================================================================== */

/* ---- regions --------------------------------------------------------------------------------- */

/* The code to enter a region by. If a region of the same type is open and the type does not stack,
 * it is the region's second code, of another type. */
static uint32_t code_of(const struct prv_writer *writer, const struct prv_writer_track *track,
                        uint32_t region)
{
    const struct lull_prv_code *codes = writer->codes->regions;
    if (writer->trace->regions[region].whole != LULL_NONE)
        region = writer->trace->regions[region].whole;
    for (uint32_t i = 0; !codes[region].nests && i < track->depth; i++)
        if (codes[track->stack[i].code].type == codes[region].type)
            return writer->trace->n_regions + region;
    return region;
}

static void enter_written_region(struct prv_writer *writer, uint32_t location, uint32_t region)
{
    struct prv_writer_track *track = &writer->tracks[location];
    uint32_t code = code_of(writer, track, region);
    if (!lull_array_reserve(&track->stack, &track->capacity, (size_t)track->depth + 1,
                            sizeof *track->stack)) {
        writer->out_of_memory = true;
        return;
    }
    uint8_t activity =
        lull_activity_on(&writer->trace->regions[region], writer->trace->locations[location].kind);
    if (activity == PRV_INHERIT && track->depth > 0)
        activity = track->stack[track->depth - 1].activity;
    track->stack[track->depth++] = (struct prv_frame){region, code, activity};
    track->parallel_depth += writer->trace->regions[region].parallel;
    writer->codes->regions[code].used = true;
    prv_add_pair(writer, location, writer->codes->regions[code].type,
                 writer->codes->regions[code].value);
    if (*writer->trace->regions[region].site) {
        writer->codes->regions[region].called = true;
        prv_add_pair(writer, location, LULL_PRV_CALLER, LULL_PRV_OWN_VALUES + region);
    }
}

static void leave_written_region(struct prv_writer *writer, uint32_t location)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (track->depth == 0)
        return;
    const struct prv_frame *frame = &track->stack[--track->depth];
    track->parallel_depth -= writer->trace->regions[frame->region].parallel;
    prv_add_pair(writer, location, writer->codes->regions[frame->code].type, 0);
    if (*writer->trace->regions[frame->region].site)
        prv_add_pair(writer, location, LULL_PRV_CALLER, 0);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static bool is_deadline_before(const struct prv_deadline *a, const struct prv_deadline *b)
{
    return a->time != b->time ? a->time < b->time : a->location < b->location;
}

static void add_deadline(struct prv_writer *writer, int64_t time, uint32_t location)
{
    if (!lull_array_reserve(&writer->heap, &writer->heap_capacity, writer->n_heap + 1,
                            sizeof *writer->heap)) {
        writer->out_of_memory = true;
        return;
    }
    struct prv_deadline added = {time, location};
    size_t at = writer->n_heap++;
    for (; at > 0 && is_deadline_before(&added, &writer->heap[(at - 1) / 2]); at = (at - 1) / 2)
        writer->heap[at] = writer->heap[(at - 1) / 2];
    writer->heap[at] = added;
}

static struct prv_deadline take_deadline(struct prv_writer *writer)
{
    struct prv_deadline first = writer->heap[0], last = writer->heap[--writer->n_heap];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= writer->n_heap)
            break;
        if (child + 1 < writer->n_heap &&
            is_deadline_before(&writer->heap[child + 1], &writer->heap[child]))
            child++;
        if (!is_deadline_before(&writer->heap[child], &last))
            break;
        writer->heap[at] = writer->heap[child];
        at = child;
    }
    writer->heap[at] = last;
    return first;
}

static void move_to(struct prv_writer *writer, int64_t time)
{
    if (time <= writer->now)
        return;
    prv_put_lines(writer);
    writer->now = time;
}

static void end_call(struct prv_writer *writer, uint32_t location)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (track->call_end == PRV_NEVER)
        return;
    track->call_end = PRV_NEVER;
    leave_written_region(writer, location);
}

/* Ends the call and the flush of a location that end by now. A deadline may find nothing, because
 * its call was cut short. */
static void end_due(struct prv_writer *writer, uint32_t location)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (track->call_end <= writer->now)
        end_call(writer, location);
    if (track->flush_end <= writer->now) {
        track->flush_end = PRV_NEVER;
        prv_add_pair(writer, location, LULL_PRV_FLUSH, 0);
    }
}

/* Ends what ends before `time`. What ends at `time` waits: messages and collectives of the call
 * come first. */
static void pass_deadlines(struct prv_writer *writer, int64_t time)
{
    while (writer->n_heap > 0 && writer->heap[0].time < time) {
        struct prv_deadline deadline = take_deadline(writer);
        struct prv_writer_track *track = &writer->tracks[deadline.location];
        move_to(writer, deadline.time);
        track->last_time = writer->now > track->last_time ? writer->now : track->last_time;
        end_due(writer, deadline.location);
        prv_update_state(writer, deadline.location);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Adds readings to those of the same time: the reader would take only the first of a time. */
static void counters(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    if (event->readings.count == 0)
        return;
    struct prv_writer_track *track = prv_open_line(writer, location);
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_counter_reading *reading = &event->readings.values[i];
        uint32_t at = 0;
        while (at < track->n_counters && track->counters[at].counter != reading->counter)
            at++;
        if (!lull_array_reserve(&track->counters, &track->counters_capacity, (size_t)at + 1,
                                sizeof *track->counters)) {
            writer->out_of_memory = true;
            return;
        }
        if (at == track->n_counters)
            track->counters[track->n_counters++] =
                (struct lull_counter_reading){.counter = reading->counter};
        track->counters[at].value += reading->value;
    }
}

/* Writes an event that Extrae does not have: its type, and as value 1 or a number + 1. */
static void write_own_event(struct prv_writer *writer, uint32_t location,
                            const struct lull_event *event)
{
    uint64_t type = 0, value = 1;
    for (size_t i = 0; i < lull_prv_n_known_types; i++)
        if (lull_prv_known_types[i].kind == LULL_PRV_OWN &&
            lull_prv_known_types[i].index == event->kind)
            type = lull_prv_known_types[i].number;
    switch (event->kind) {
    case LULL_EVENT_FORK:
    case LULL_EVENT_TASK_CREATE:
    case LULL_EVENT_TASK_SWITCH:
    case LULL_EVENT_TASK_COMPLETE:
    case LULL_EVENT_LOCK_ACQUIRE:
    case LULL_EVENT_LOCK_RELEASE:
        value = event->number + 1;
        break;
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        value = event->op + UINT64_C(1);
        break;
    default:
        break;
    }
    if (type == 0)
        return; /* requests: Paraver knows complete messages only */
    if (LULL_MASK_DEVICES >> event->kind & 1) {
        prv_put_submission(writer, location, event, type);
        return;
    }
    prv_add_own_pair(writer, location, type, value);
    if (event->kind != LULL_EVENT_RMA && event->kind != LULL_EVENT_IO)
        return;
    prv_add_own_pair(writer, location, LULL_PRV_RMA_SIZE, event->transfer.bytes);
    prv_add_own_pair(writer, location, LULL_PRV_RMA_TARGET, prv_target_of(event->transfer.target));
}

static void write_call(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    end_call(writer, location);
    enter_written_region(writer, location, event->id);
    writer->tracks[location].call_end = event->time + event->duration;
    add_deadline(writer, event->time + event->duration, location);
}

static void begin_flush(struct prv_writer *writer, uint32_t location,
                        const struct lull_event *event)
{
    struct prv_writer_track *track = &writer->tracks[location];
    int64_t end = event->time + event->duration;
    if (track->flush_end == PRV_NEVER)
        prv_add_pair(writer, location, LULL_PRV_FLUSH, 1);
    if (track->flush_end == PRV_NEVER || track->flush_end < end)
        track->flush_end = end;
    add_deadline(writer, end, location);
}

static void team(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    struct prv_writer_track *track = &writer->tracks[location];
    if (event->kind == LULL_EVENT_TEAM_BEGIN)
        track->parallel_depth++;
    else if (track->parallel_depth > 0)
        track->parallel_depth--;
    write_own_event(writer, location, event);
}

/* Events of these kinds come behind the end of what ends at the same time. */
#define BEGINS_OR_ENDS \
    (LULL_MASK_TIME & ~(LULL_MASK(LULL_EVENT_STATE) | LULL_MASK(LULL_EVENT_COUNTERS)))

static void put_event(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    struct prv_writer_track *track = &writer->tracks[location];
    prv_break_line(writer, location);
    if (BEGINS_OR_ENDS >> event->kind & 1)
        end_due(writer, location);
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        end_call(writer, location);
        enter_written_region(writer, location, event->id);
        break;
    case LULL_EVENT_LEAVE:
        end_call(writer, location);
        leave_written_region(writer, location);
        break;
    case LULL_EVENT_CALL:
        write_call(writer, location, event);
        break;
    case LULL_EVENT_STATE:
        prv_put_state(writer, location, event);
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        prv_add_message(writer, location, event);
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
        prv_begin_collective(writer, location, event);
        break;
    case LULL_EVENT_COLLECTIVE_END:
        prv_end_collective(writer, location, event);
        break;
    case LULL_EVENT_COUNTERS:
        counters(writer, location, event);
        break;
    case LULL_EVENT_FLUSH:
        begin_flush(writer, location, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        team(writer, location, event);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        track->off = event->kind == LULL_EVENT_MEASURE_OFF;
        prv_add_pair(writer, location, LULL_PRV_TRACING, !track->off);
        break;
    case LULL_EVENT_MARKER:
        writer->codes->markers[event->id].used = true;
        prv_add_pair(writer, location, writer->codes->markers[event->id].type, event->number);
        break;
    default:
        write_own_event(writer, location, event);
    }
}

/* Notes when a thread lives: from its first event to its last, of those that say how it spends its
 * time. */
static void note_life(struct prv_writer_track *track, const struct lull_event *event)
{
    if (!(LULL_MASK_TIME >> event->kind & 1))
        return;
    track->last_time = event->time;
    track->began = event->kind != LULL_EVENT_THREAD_END;
}

static lull_status write_prv_block(void *state, const struct lull_block *block,
                                   struct lull_error *err)
{
    struct prv_writer *writer = state;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        if (event->kind == LULL_EVENT_SAMPLE)
            continue; /* the format has no form for it */
        pass_deadlines(writer, event->time);
        move_to(writer, event->time);
        note_life(&writer->tracks[block->location], event);
        put_event(writer, block->location, event);
        prv_update_state(writer, block->location);
    }
    if (writer->out_of_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_output_path(writer->prv));
    return LULL_OK;
}

static void release_writer(struct prv_writer *writer)
{
    for (uint32_t l = 0; writer->tracks && l < writer->trace->n_locations; l++) {
        free(writer->tracks[l].pairs.data);
        free(writer->tracks[l].own.data);
        free(writer->tracks[l].counters);
        free(writer->tracks[l].stack);
    }
    free(writer->tracks);
    free(writer->in_line);
    free(writer->heap);
    prv_matcher_free(&writer->matcher);
    free(writer->launches);
    lull_prv_spool_close(writer->spool);
    lull_output_discard(writer->prv);
    lull_output_discard(writer->pcf);
    lull_output_discard(writer->row);
    lull_arena_destroy(writer->arena);
    free(writer);
}

static lull_status close_prv_writer(void *state, bool commit, struct lull_error *err)
{
    struct prv_writer *writer = state;
    lull_status status = LULL_OK;
    if (commit) {
        pass_deadlines(writer, INT64_MAX);
        prv_put_lines(writer);
        status = prv_finish(writer, err);
    }
    release_writer(writer);
    return status;
}

/* ---- the beginning --------------------------------------------------------------------------- */

static lull_status open_outputs(struct prv_writer *writer, const char *path, bool replace,
                                struct lull_error *err)
{
    lull_status status = lull_output_begin(path, false, replace, &writer->prv, err);
    if (status == LULL_OK)
        status = lull_output_begin(lull_prv_sibling(path, ".pcf", writer->arena), false, replace,
                                   &writer->pcf, err);
    if (status == LULL_OK)
        status = lull_output_begin(lull_prv_sibling(path, ".row", writer->arena), false, replace,
                                   &writer->row, err);
    if (status == LULL_OK)
        status = lull_prv_spool_open(path, &writer->spool, err);
    return status;
}

static lull_status prepare_writer(struct prv_writer *writer, const char *path,
                                  struct lull_error *err)
{
    const struct lull_trace *trace = writer->trace;
    writer->codes = lull_prv_codes_make(trace, writer->arena);
    writer->tracks = calloc(trace->n_locations, sizeof *writer->tracks);
    writer->in_line = calloc(trace->n_locations, sizeof *writer->in_line);
    writer->launches = calloc(PRV_KEPT_LAUNCHES, sizeof *writer->launches);
    if (!writer->tracks || !writer->in_line || !writer->launches)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations", path,
                         trace->n_locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct prv_writer_track *track = &writer->tracks[l];
        track->call_end = track->flush_end = PRV_NEVER;
        track->counted_time = INT64_MIN;
        track->collective_position = PRV_NO_POSITION;
        if (!trace->has_states)
            prv_begin_state(writer, l, prv_state_now(writer, l, false));
    }
    return LULL_OK;
}

lull_status lull_prv_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                 struct lull_writer *ret_writer, struct lull_error *err)
{
    struct prv_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    size_t length = strlen(path);
    writer->trace = trace;
    writer->arena = lull_arena_create(NULL);
    writer->gzip = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
    lull_status status = open_outputs(writer, path, replace, err);
    if (status == LULL_OK)
        status = prepare_writer(writer, path, err);
    if (status != LULL_OK) {
        release_writer(writer);
        return status;
    }
    *ret_writer = (struct lull_writer){
        .state = writer, .global_order = true, .block = write_prv_block, .close = close_prv_writer};
    return LULL_OK;
}
