/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: each with its send and its receive. Collectives: each process's part in each operation.
 *
 * What is sent on a channel is taken in the order in which it was sent (match/queue.h). A pass reads
 * the locations abreast, but by blocks, so a receive may come before its send: whichever comes first
 * waits in the queue of the channel. Threads of one process may use the same channel: operations of
 * such a process wait until all its threads have been read up to them, and are taken in the order of
 * their times. */
#include "base/collective.h"
#include "columns/tables.h"
#include "match/circle.h"
#include "match/queue.h"

#include <stdlib.h>

enum message_column {
    MESSAGE_SOURCE,
    MESSAGE_TARGET,
    MESSAGE_SOURCE_LOCATION,
    MESSAGE_TARGET_LOCATION,
    MESSAGE_COMM,
    MESSAGE_TAG,
    MESSAGE_BYTES,
    MESSAGE_SENT,
    MESSAGE_SEND_REGION,
    MESSAGE_SEND_NAME,
    MESSAGE_RECEIVE_BEGAN,
    MESSAGE_RECEIVED,
    MESSAGE_RECEIVE_REGION,
    MESSAGE_RECEIVE_NAME,
    MESSAGE_COLUMNS
};

enum collective_column {
    COLLECTIVE_LOCATION,
    COLLECTIVE_PROCESS,
    COLLECTIVE_COMM,
    COLLECTIVE_OPERATION,
    COLLECTIVE_SERIES,
    COLLECTIVE_INSTANCE,
    COLLECTIVE_ROOT,
    COLLECTIVE_BLOCKS,
    COLLECTIVE_BYTES_SENT,
    COLLECTIVE_BYTES_RECEIVED,
    COLLECTIVE_BEGAN,
    COLLECTIVE_ENDED,
    COLLECTIVE_REGION,
    COLLECTIVE_NAME,
    COLLECTIVE_COLUMNS
};

/* Operations of a process that wait for slow threads, at most; beyond that the earliest is taken. In
 * a format that is one sequence, a thread of which nothing is told is behind until the end. */
enum { MOST_WAITING = 1 << 16 };

/* A send or a receive of which the other half is not known yet; what its queue carries. */
struct half {
    int64_t time, call_began;
    uint64_t bytes;
    uint32_t location, region;
};

/* An operation, as its step tells it. */
struct operation {
    struct lull_step step;
    int64_t call_began;
    uint32_t location;
    uint32_t queue; /* of a message; LULL_NONE: it has no other end */
};

enum holder { HOLDS_SENDS = 1, HOLDS_RECEIVES }; /* what is in a queue that is not empty */

/* A part in an operation of many, as far as its begin tells it. */
struct part {
    uint64_t request;
    int64_t began;
    uint32_t series;   /* LULL_NONE: not known yet, or the operation cannot be followed */
    uint64_t instance; /* with a series: which operation of it, from 0 */
};

struct location_state {
    int64_t call_began; /* of the open call of MPI; -1: there is none */
    int64_t begin_told; /* the last begin of a blocking collective operation */
    int64_t reached;    /* what happened before is known */
    struct lull_match_routes routes;
    struct part *open; /* operations that do not block */
    size_t n_open, open_capacity;
    struct lull_ring waiting; /* operations of a process with several locations */
};

struct lull_operation_tables {
    const struct lull_tables *shared;
    struct lull_arrow_file messages, collectives;
    struct lull_column_words operations; /* names of collective operations */
    struct location_state *locations;
    uint32_t *waiting; /* by process: operations that wait for others of its threads */
    struct lull_match_queues queues;
    struct lull_hash series;    /* {communicator, kind} -> number */
    struct lull_hash instances; /* {process, series} -> operations so far */
};

/* ==== messages ================================================================================ */

static void set_half(struct lull_operation_tables *tables, const struct half *half, bool sends)
{
    struct lull_arrow_file *file = &tables->messages;
    const unsigned location = sends ? MESSAGE_SOURCE_LOCATION : MESSAGE_TARGET_LOCATION;
    const unsigned time = sends ? MESSAGE_SENT : MESSAGE_RECEIVED;
    const uint32_t region = half ? half->region : LULL_NONE;
    lull_set_index(file, location, half ? half->location : LULL_NONE);
    lull_set_index(file, sends ? MESSAGE_SEND_REGION : MESSAGE_RECEIVE_REGION, region);
    lull_set_word(file, sends ? MESSAGE_SEND_NAME : MESSAGE_RECEIVE_NAME, &tables->shared->regions,
                  region);
    if (half)
        lull_set_int64(file, time, half->time);
    else
        lull_set_null(file, time);
    if (sends)
        return;
    if (half && half->call_began >= 0)
        lull_set_int64(file, MESSAGE_RECEIVE_BEGAN, half->call_began);
    else
        lull_set_null(file, MESSAGE_RECEIVE_BEGAN);
}

/* Either half may be NULL: it is not in the trace. */
static lull_status put_message_row(struct lull_operation_tables *tables, uint32_t queue,
                                   const struct half *send, const struct half *receive,
                                   uint64_t bytes, struct lull_error *err)
{
    const struct lull_channel channel = lull_match_channel(&tables->queues, queue);
    struct lull_arrow_file *file = &tables->messages;
    lull_set_int32(file, MESSAGE_SOURCE, channel.source);
    lull_set_int32(file, MESSAGE_TARGET, channel.target);
    lull_set_word(file, MESSAGE_COMM, &tables->shared->comms, channel.comm);
    lull_set_int32(file, MESSAGE_TAG, (uint32_t)channel.tag);
    lull_set_uint64(file, MESSAGE_BYTES, bytes);
    set_half(tables, send, true);
    set_half(tables, receive, false);
    return lull_arrow_row(file, err);
}

/* Takes a send or a receive: with its other half it is a row, else it waits for that. */
static lull_status take_half(struct lull_operation_tables *tables,
                             const struct operation *operation, struct lull_error *err)
{
    const struct lull_step *step = &operation->step;
    const bool sends = step->kind == LULL_STEP_SEND;
    const struct half half = {.time = step->time,
                              .call_began = operation->call_began,
                              .bytes = step->message.bytes,
                              .location = operation->location,
                              .region = step->region};
    const uint32_t holder = sends ? HOLDS_SENDS : HOLDS_RECEIVES;
    struct lull_match_queue *queue = &tables->queues.all[operation->queue];
    if (queue->first != LULL_NONE && queue->holder != holder) {
        struct half other;
        lull_match_take(&tables->queues, sizeof other, operation->queue, 0, &other);
        return put_message_row(tables, operation->queue, sends ? &half : &other,
                               sends ? &other : &half, sends ? half.bytes : other.bytes, err);
    }
    queue->holder = holder;
    struct half *kept = lull_match_put(&tables->queues, sizeof half, operation->queue, 0);
    if (!kept)
        return lull_tables_no_memory(tables->shared, err);
    *kept = half;
    return LULL_OK;
}

/* The halves whose other half is not in the trace. */
static lull_status put_left_messages(struct lull_operation_tables *tables, struct lull_error *err)
{
    lull_status status = LULL_OK;
    struct half half;
    for (uint32_t q = 0; q < tables->queues.by_channel.count; q++) {
        const bool sends = tables->queues.all[q].holder == HOLDS_SENDS;
        while (status == LULL_OK && lull_match_take(&tables->queues, sizeof half, q, 0, &half))
            status = put_message_row(tables, q, sends ? &half : NULL, sends ? NULL : &half,
                                     half.bytes, err);
    }
    return status;
}

/* The queue of a channel of a location; LULL_NONE: no memory. */
static uint32_t queue_of(struct lull_operation_tables *tables, struct location_state *state,
                         uint32_t channel, const struct lull_channels *channels)
{
    bool is_new;
    uint32_t queue = lull_match_route_of(&state->routes, channel);
    if (queue != LULL_NONE)
        return queue;
    uint32_t *route = lull_match_route(&state->routes, channel);
    if (route)
        queue = *route =
            lull_match_queue_of(&tables->queues, lull_channels_at(channels, channel), &is_new);
    return queue;
}

/* ==== collective operations =================================================================== */

/* Gives a part its place in the series of its operation. False: no memory. */
static bool join_series(struct lull_operation_tables *tables, const struct operation *operation,
                        struct part *part)
{
    const struct lull_trace *trace = tables->shared->trace;
    const struct lull_step *step = &operation->step;
    part->series = LULL_NONE;
    if (!lull_circle_knows(trace, step->comm, step->op))
        return true;
    const uint32_t key[2] = {
        lull_comm_canonical(trace, step->comm),
        lull_circle_series(step->op, step->collective.request == LULL_NO_REQUEST)};
    const uint64_t *series =
        lull_hash_add(&tables->series, key, sizeof key, tables->series.count, NULL);
    if (!series)
        return false;
    const uint32_t member[2] = {trace->locations[operation->location].process, (uint32_t)*series};
    uint64_t *instance = lull_hash_add(&tables->instances, member, sizeof member, 0, NULL);
    if (!instance)
        return false;
    part->series = (uint32_t)*series;
    part->instance = (*instance)++;
    return true;
}

/* The operation of a request, which is not open any more; a part without begin if it began before
 * the trace. */
static struct part take_open_part(struct location_state *state, uint64_t request)
{
    for (size_t i = 0; i < state->n_open; i++)
        if (state->open[i].request == request) {
            const struct part part = state->open[i];
            state->open[i] = state->open[--state->n_open];
            return part;
        }
    return (struct part){.began = -1, .series = LULL_NONE};
}

static lull_status begin_part(struct lull_operation_tables *tables,
                              const struct operation *operation, struct lull_error *err)
{
    struct location_state *state = &tables->locations[operation->location];
    struct part part = {.request = operation->step.collective.request,
                        .began = operation->step.time};
    if (part.request == LULL_NO_REQUEST) {
        state->begin_told = part.began;
        return LULL_OK;
    }
    if (!join_series(tables, operation, &part) ||
        !lull_array_reserve(&state->open, &state->open_capacity, state->n_open + 1,
                            sizeof *state->open))
        return lull_tables_no_memory(tables->shared, err);
    state->open[state->n_open++] = part;
    return LULL_OK;
}

static lull_status end_part(struct lull_operation_tables *tables, const struct operation *operation,
                            struct lull_error *err)
{
    const struct lull_step *step = &operation->step;
    struct location_state *state = &tables->locations[operation->location];
    struct lull_arrow_file *file = &tables->collectives;
    const bool blocks = step->collective.request == LULL_NO_REQUEST;
    struct part part = {.began =
                            operation->call_began >= 0 ? operation->call_began : state->begin_told,
                        .series = LULL_NONE};
    state->begin_told = -1;
    if (!blocks)
        part = take_open_part(state, step->collective.request);
    if (part.series == LULL_NONE && !join_series(tables, operation, &part))
        return lull_tables_no_memory(tables->shared, err);
    const struct lull_trace *trace = tables->shared->trace;
    lull_set_int32(file, COLLECTIVE_LOCATION, operation->location);
    lull_set_int32(file, COLLECTIVE_PROCESS, trace->locations[operation->location].process);
    lull_set_word(file, COLLECTIVE_COMM, &tables->shared->comms, step->comm);
    lull_set_word(file, COLLECTIVE_OPERATION, &tables->operations, step->op);
    lull_set_index(file, COLLECTIVE_SERIES, part.series);
    if (part.series != LULL_NONE)
        lull_set_int64(file, COLLECTIVE_INSTANCE, (int64_t)part.instance);
    else
        lull_set_null(file, COLLECTIVE_INSTANCE);
    lull_set_index(file, COLLECTIVE_ROOT,
                   step->collective.root < 0 ? LULL_NONE : (uint32_t)step->collective.root);
    lull_set_bool(file, COLLECTIVE_BLOCKS, blocks);
    lull_set_uint64(file, COLLECTIVE_BYTES_SENT, step->collective.sent);
    lull_set_uint64(file, COLLECTIVE_BYTES_RECEIVED, step->collective.received);
    if (part.began >= 0)
        lull_set_int64(file, COLLECTIVE_BEGAN, part.began);
    else
        lull_set_null(file, COLLECTIVE_BEGAN);
    lull_set_int64(file, COLLECTIVE_ENDED, step->time);
    lull_set_index(file, COLLECTIVE_REGION, step->region);
    lull_set_word(file, COLLECTIVE_NAME, &tables->shared->regions, step->region);
    return lull_arrow_row(file, err);
}

/* ==== operations in the order of their process ================================================ */

static lull_status take_operation(struct lull_operation_tables *tables,
                                  const struct operation *operation, struct lull_error *err)
{
    switch (operation->step.kind) {
    case LULL_STEP_COLLECTIVE_BEGIN:
        return begin_part(tables, operation, err);
    case LULL_STEP_COLLECTIVE_END:
        return end_part(tables, operation, err);
    default:
        return operation->queue == LULL_NONE ? LULL_OK : take_half(tables, operation, err);
    }
}

/* The location of a process whose next operation is the earliest of those that wait; LULL_NONE: none
 * waits. */
static uint32_t earliest_location(const struct lull_operation_tables *tables,
                                  const struct lull_process *process, int64_t *ret_time)
{
    uint32_t earliest = LULL_NONE;
    for (uint32_t i = 0; i < process->n_locations; i++) {
        const struct lull_ring *ring = &tables->locations[process->first_location + i].waiting;
        if (ring->count == 0)
            continue;
        const struct operation *operation = lull_ring_at(ring, sizeof *operation, 0);
        if (earliest == LULL_NONE || operation->step.time < *ret_time) {
            earliest = process->first_location + i;
            *ret_time = operation->step.time;
        }
    }
    return earliest;
}

/* Takes the operations of a process that nothing can come before any more. */
static lull_status settle_process(struct lull_operation_tables *tables, uint32_t index,
                                  struct lull_error *err)
{
    const struct lull_process *process = &tables->shared->trace->processes[index];
    int64_t horizon = INT64_MAX, time = 0;
    for (uint32_t i = 0; i < process->n_locations; i++) {
        const int64_t reached = tables->locations[process->first_location + i].reached;
        horizon = reached < horizon ? reached : horizon;
    }
    lull_status status = LULL_OK;
    while (status == LULL_OK && tables->waiting[index] > 0) {
        const uint32_t location = earliest_location(tables, process, &time);
        if (time >= horizon && tables->waiting[index] <= MOST_WAITING)
            break;
        struct lull_ring *ring = &tables->locations[location].waiting;
        const struct operation operation =
            *(struct operation *)lull_ring_at(ring, sizeof operation, 0);
        lull_ring_pop(ring);
        tables->waiting[index]--;
        status = take_operation(tables, &operation, err);
    }
    return status;
}

static lull_status note_operation(struct lull_operation_tables *tables,
                                  const struct lull_steps *steps, const struct lull_step *step,
                                  struct lull_error *err)
{
    struct location_state *state = &tables->locations[steps->location];
    const uint32_t process = tables->shared->trace->locations[steps->location].process;
    const bool is_message = step->kind == LULL_STEP_SEND || step->kind == LULL_STEP_RECV;
    struct operation operation = {.step = *step,
                                  .call_began = state->call_began,
                                  .location = steps->location,
                                  .queue = LULL_NONE};
    if (is_message && step->channel != LULL_NONE) {
        operation.queue = queue_of(tables, state, step->channel, steps->channels);
        if (operation.queue == LULL_NONE)
            return lull_tables_no_memory(tables->shared, err);
    }
    if (tables->shared->trace->processes[process].n_locations == 1)
        return take_operation(tables, &operation, err);
    struct operation *kept = lull_ring_push(&state->waiting, sizeof *kept);
    if (!kept)
        return lull_tables_no_memory(tables->shared, err);
    *kept = operation;
    tables->waiting[process]++;
    return LULL_OK;
}

static lull_status put_operations(void *context, unsigned worker, const struct lull_steps *steps,
                                  struct lull_error *err)
{
    struct lull_operation_tables *tables = context;
    struct location_state *state = &tables->locations[steps->location];
    lull_status status = LULL_OK;
    (void)worker;
    if (state->reached < steps->ledger->now)
        state->reached = steps->ledger->now;
    for (uint32_t i = 0; i < steps->count && status == LULL_OK; i++) {
        const struct lull_step *step = &steps->steps[i];
        switch (step->kind) {
        case LULL_STEP_CALL_BEGIN:
            state->call_began = step->time;
            break;
        case LULL_STEP_CALL_END:
            state->call_began = -1;
            break;
        case LULL_STEP_SEND:
        case LULL_STEP_RECV:
        case LULL_STEP_COLLECTIVE_BEGIN:
        case LULL_STEP_COLLECTIVE_END:
            status = note_operation(tables, steps, step, err);
            break;
        case LULL_STEP_END:
            state->reached = INT64_MAX;
            break;
        default:
            break;
        }
    }
    const uint32_t process = tables->shared->trace->locations[steps->location].process;
    return status == LULL_OK && tables->waiting[process] > 0 ? settle_process(tables, process, err)
                                                             : status;
}

/* ==== tables ================================================================================== */

static void free_operation_tables(struct lull_operation_tables *tables)
{
    const struct lull_trace *trace = tables->shared->trace;
    for (uint32_t i = 0; tables->locations && i < trace->n_locations; i++) {
        free(tables->locations[i].routes.queues);
        free(tables->locations[i].open);
        lull_ring_free(&tables->locations[i].waiting);
    }
    free(tables->locations);
    free(tables->waiting);
    lull_match_queues_free(&tables->queues);
    lull_hash_free(&tables->series);
    lull_hash_free(&tables->instances);
    lull_column_words_free(&tables->operations);
    free(tables);
}

static bool make_operation_state(struct lull_operation_tables *tables)
{
    const struct lull_trace *trace = tables->shared->trace;
    tables->locations = calloc((size_t)trace->n_locations + 1, sizeof *tables->locations);
    tables->waiting = calloc((size_t)trace->n_processes + 1, sizeof *tables->waiting);
    for (uint32_t i = 0; tables->locations && i < trace->n_locations; i++)
        tables->locations[i].call_began = tables->locations[i].begin_told = -1;
    return tables->locations && tables->waiting &&
           lull_column_words_add_all(&tables->operations, LULL_COLLECTIVE_UNKNOWN,
                                     lull_collective_name);
}

static lull_status open_messages(struct lull_operation_tables *tables, struct lull_error *err)
{
    const struct lull_hash *regions = &tables->shared->regions.texts;
    const struct lull_hash *comms = &tables->shared->comms.texts;
    const struct lull_arrow_column columns[MESSAGE_COLUMNS] = {
        [MESSAGE_SOURCE] = {"source", LULL_ARROW_INT32, false, NULL},
        [MESSAGE_TARGET] = {"target", LULL_ARROW_INT32, false, NULL},
        [MESSAGE_SOURCE_LOCATION] = {"source_location", LULL_ARROW_INT32, true, NULL},
        [MESSAGE_TARGET_LOCATION] = {"target_location", LULL_ARROW_INT32, true, NULL},
        [MESSAGE_COMM] = {"communicator", LULL_ARROW_NAME, true, comms},
        [MESSAGE_TAG] = {"tag", LULL_ARROW_INT32, false, NULL},
        [MESSAGE_BYTES] = {"bytes", LULL_ARROW_UINT64, false, NULL},
        [MESSAGE_SENT] = {"sent", LULL_ARROW_INT64, true, NULL},
        [MESSAGE_SEND_REGION] = {"send_region", LULL_ARROW_INT32, true, NULL},
        [MESSAGE_SEND_NAME] = {"send_name", LULL_ARROW_NAME, true, regions},
        [MESSAGE_RECEIVE_BEGAN] = {"receive_began", LULL_ARROW_INT64, true, NULL},
        [MESSAGE_RECEIVED] = {"received", LULL_ARROW_INT64, true, NULL},
        [MESSAGE_RECEIVE_REGION] = {"receive_region", LULL_ARROW_INT32, true, NULL},
        [MESSAGE_RECEIVE_NAME] = {"receive_name", LULL_ARROW_NAME, true, regions},
    };
    return lull_table_open(tables->shared, "messages", columns, MESSAGE_COLUMNS, &tables->messages,
                           err);
}

static lull_status open_collectives(struct lull_operation_tables *tables, struct lull_error *err)
{
    const struct lull_arrow_column columns[COLLECTIVE_COLUMNS] = {
        [COLLECTIVE_LOCATION] = {"location", LULL_ARROW_INT32, false, NULL},
        [COLLECTIVE_PROCESS] = {"process", LULL_ARROW_INT32, false, NULL},
        [COLLECTIVE_COMM] = {"communicator", LULL_ARROW_NAME, true, &tables->shared->comms.texts},
        [COLLECTIVE_OPERATION] = {"operation", LULL_ARROW_NAME, true, &tables->operations.texts},
        [COLLECTIVE_SERIES] = {"series", LULL_ARROW_INT32, true, NULL},
        [COLLECTIVE_INSTANCE] = {"instance", LULL_ARROW_INT64, true, NULL},
        [COLLECTIVE_ROOT] = {"root", LULL_ARROW_INT32, true, NULL},
        [COLLECTIVE_BLOCKS] = {"blocking", LULL_ARROW_BOOL, false, NULL},
        [COLLECTIVE_BYTES_SENT] = {"bytes_sent", LULL_ARROW_UINT64, false, NULL},
        [COLLECTIVE_BYTES_RECEIVED] = {"bytes_received", LULL_ARROW_UINT64, false, NULL},
        [COLLECTIVE_BEGAN] = {"began", LULL_ARROW_INT64, true, NULL},
        [COLLECTIVE_ENDED] = {"ended", LULL_ARROW_INT64, false, NULL},
        [COLLECTIVE_REGION] = {"region", LULL_ARROW_INT32, true, NULL},
        [COLLECTIVE_NAME] = {"name", LULL_ARROW_NAME, true, &tables->shared->regions.texts},
    };
    return lull_table_open(tables->shared, "collectives", columns, COLLECTIVE_COLUMNS,
                           &tables->collectives, err);
}

lull_status lull_operation_tables_open(const struct lull_tables *shared,
                                       struct lull_operation_tables **ret_tables,
                                       struct lull_error *err)
{
    struct lull_operation_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return lull_tables_no_memory(shared, err);
    tables->shared = shared;
    lull_status status = make_operation_state(tables) ? open_messages(tables, err)
                                                      : lull_tables_no_memory(shared, err);
    if (status == LULL_OK)
        status = open_collectives(tables, err);
    if (status != LULL_OK) {
        lull_operation_tables_close(tables, false, NULL);
        return status;
    }
    *ret_tables = tables;
    return LULL_OK;
}

struct lull_consumer lull_operation_tables_consumer(struct lull_operation_tables *tables)
{
    const struct lull_trace *trace = tables->shared->trace;
    return (struct lull_consumer){
        .context = tables,
        .wants = LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) |
                 LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_RECV) |
                 LULL_STEP_MASK(LULL_STEP_COLLECTIVE_BEGIN) |
                 LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END) | LULL_STEP_MASK(LULL_STEP_END),
        /* Threads that tell nothing have to be seen going on. */
        .wants_ledger = trace->n_locations > trace->n_processes,
        .steps = put_operations,
        .abreast = true};
}

lull_status lull_operation_tables_close(struct lull_operation_tables *tables, bool complete,
                                        struct lull_error *err)
{
    lull_status status = complete ? put_left_messages(tables, err) : LULL_OK;
    const lull_status messages = lull_arrow_close(&tables->messages, complete && status == LULL_OK,
                                                  status == LULL_OK ? err : NULL);
    status = status != LULL_OK ? status : messages;
    const lull_status collectives = lull_arrow_close(
        &tables->collectives, complete && status == LULL_OK, status == LULL_OK ? err : NULL);
    free_operation_tables(tables);
    return status != LULL_OK ? status : collectives;
}
