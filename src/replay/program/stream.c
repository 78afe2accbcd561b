/* Operations wait in a queue until what a receive takes, or which communicator a collective
 * operation is on, is known from further on in the trace. */
#include "base/array.h"
#include "replay/program/queue.h"

#include <stdlib.h>
#include <string.h>

lull_status lull_replay_no_memory(const stream_t *s, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                     s->replay->trace->path);
}

/* Room for one more behind `end` in an array of which [first, end) are in use: moves them to the
 * front where that pays, else grows. */
bool lull_replay_make_room(void **array, size_t *first, size_t *end, size_t *capacity, size_t size)
{
    if (*end < *capacity)
        return true;
    if (*first > *capacity / 2) {
        memmove(*array, (char *)*array + *first * size, (*end - *first) * size);
        *end -= *first;
        *first = 0;
        return true;
    }
    return lull_array_reserve(array, capacity, *end + 1, size);
}

/* ---- the queue ----------------------------------------------------------------------------- */

struct entry *lull_replay_push(stream_t *s, uint8_t kind, uint32_t region, int64_t measured)
{
    size_t before = s->first;
    if (!lull_replay_make_room((void **)&s->queue, &s->first, &s->end, &s->capacity,
                               sizeof *s->queue))
        return NULL;
    s->base += before - s->first;
    struct entry *entry = &s->queue[s->end++];
    memset(entry, 0, sizeof *entry);
    entry->op.kind = kind;
    entry->op.region = region;
    entry->op.measured = measured;
    entry->op.request = LULL_OP_NO_REQUEST;
    return entry;
}

/* ---- time ---------------------------------------------------------------------------------- */

static lull_status push_burst(stream_t *s, const struct lull_item *item, struct lull_error *err)
{
    const struct lull_replay_options *options = &s->replay->options;
    int64_t ns = item->ns;
    s->since_poll += ns;
    if (options->length) {
        const struct lull_replay_burst burst = {.stream = s->index,
                                                .location = s->location,
                                                .region = item->region,
                                                .mark = item->mark,
                                                .fixed = item->kind == LULL_ITEM_FIXED,
                                                .phase = s->phase,
                                                .ordinal = s->ordinal++,
                                                .execution = lull_replay_execution(s->meets),
                                                .begin = item->begin,
                                                .end = item->end,
                                                .ns = ns};
        ns = options->length(options->context, &burst);
    }
    s->in_call_time += s->in_call ? ns : 0;
    if (ns == 0 && !options->pieces)
        return LULL_OK;
    uint32_t region = item->region == LULL_NONE ? LULL_OP_NO_REGION : item->region;
    struct entry *entry = lull_replay_push(s, LULL_OP_COMPUTE, region, item->begin);
    if (!entry)
        return lull_replay_no_memory(s, err);
    uint64_t length = (uint64_t)(item->end - item->begin);
    entry->op.duration = ns;
    entry->op.tag = (uint32_t)(length >> 32);
    entry->op.comm = (uint32_t)length;
    entry->op.flags = item->kind == LULL_ITEM_FIXED ? LULL_OP_NOT_SCALED : 0;
    return LULL_OK;
}

/* In MPI_Finalize of a simulated run a process waits for the others to end, and does nothing else.
 */
static bool waits_at_end(const stream_t *s, const struct lull_step *call)
{
    const struct lull_trace *trace = s->replay->trace;
    return call->op == LULL_CALL_OTHER && call->time >= trace->duration &&
           lull_trace_is_simulated(trace);
}

/* What of a call lies in the part that is replayed; nothing of one that goes on beyond it, where a
 * process waits for the others to end. */
static uint64_t length_in_part(const stream_t *s, const struct lull_step *call)
{
    const struct lull_windows *windows = s->replay->options.windows;
    if (waits_at_end(s, call))
        return 0;
    if (!windows)
        return (uint64_t)(call->time - call->call_began);
    const struct lull_interval part = windows->intervals[s->process][0];
    int64_t begin = call->call_began > part.begin ? call->call_began : part.begin;
    return call->time > part.end || call->time < begin ? 0 : (uint64_t)(call->time - begin);
}

/* Of calls that wait for nobody. */
static bool keeps_length(const stream_t *s, const struct lull_step *call)
{
    const uint8_t keep = s->replay->options.keep_calls;
    switch (call->op) {
    case LULL_CALL_OTHER:
    case LULL_CALL_START:
    case LULL_CALL_REQUEST_FREE:
    case LULL_CALL_TEST:
    case LULL_CALL_IPROBE:
        return keep != LULL_KEEP_NONE && !s->has_records;
    case LULL_CALL_ISEND:
    case LULL_CALL_IBSEND:
    case LULL_CALL_IRECV:
    case LULL_CALL_ICOLLECTIVE:
        return keep == LULL_KEEP_ALL;
    default:
        return keep == LULL_KEEP_ALL && s->sent;
    }
}

/* A call that waits for nobody keeps its length. Of queries that found nothing it is seen by what
 * comes next whether they are part of the work or of waiting. */
static lull_status push_kept(stream_t *s, const struct lull_step *call, struct lull_error *err)
{
    if (!keeps_length(s, call) || (s->n_call_waits > 0 && !s->sent) || s->in_call_time > 0)
        return LULL_OK;
    uint64_t length = length_in_part(s, call);
    int64_t measured = length > 0 ? call->time - (int64_t)length : call->call_began;
    struct entry *entry = lull_replay_push(s, LULL_OP_COMPUTE, call->region, measured);
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.duration = (int64_t)length;
    entry->op.tag = (uint32_t)(length >> 32);
    entry->op.comm = (uint32_t)length;
    entry->op.flags = LULL_OP_NOT_SCALED;
    if (call->op == LULL_CALL_TEST || call->op == LULL_CALL_IPROBE) {
        entry->pending = true;
        s->poll = lull_entry_position(s, entry);
        s->since_poll = 0;
    }
    return LULL_OK;
}

static bool awaits_message(uint8_t call)
{
    return call == LULL_CALL_TEST || call == LULL_CALL_IPROBE || call == LULL_CALL_PROBE ||
           call == LULL_CALL_WAIT || call == LULL_CALL_WAITALL || call == LULL_CALL_RECV;
}

/* A query that found nothing is part of a wait if the next call asks again, or waits, the program
 * did less in between than it asked, and the place waits as a rule, or the query stands behind
 * others that wait. Such a wait ends when what it waits for is there; all other queries are work.
 */
static void judge_poll(stream_t *s, uint8_t next)
{
    struct entry *entry = lull_entry_at(s, s->poll);
    const bool polls = s->polls;
    s->poll = NO_ENTRY;
    s->polls = false;
    if (!entry)
        return;
    s->polls = awaits_message(next) && s->since_poll < entry->op.duration &&
               (polls || lull_survey_polls_wait(s->replay->survey, s->location, entry->op.region));
    entry->pending = false;
    entry->dropped = s->polls;
}

/* ---- items --------------------------------------------------------------------------------- */

/* The threads of the process meet. */
static lull_status push_sync(stream_t *s, struct lull_error *err)
{
    uint32_t threads = s->replay->meets[s->replay->ranks[s->process]];
    if (threads < 2)
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_SYNC, LULL_OP_NO_REGION, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.peer = threads;
    entry->op.tag = s->syncs++;
    return LULL_OK;
}

static lull_status end_call_of_stream(stream_t *s, const struct lull_step *call,
                                      struct lull_error *err)
{
    lull_status status = lull_replay_guess(s, call, err);
    if (status == LULL_OK)
        status = push_kept(s, call, err);
    if (status == LULL_OK)
        status = lull_request_push_wait(s, err);
    s->in_call = false;
    s->call_region = LULL_OP_NO_REGION;
    return status;
}

/* What was supposed to lengthen the computation that is over: nothing of it was measured. */
static lull_status push_disturbance(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    const int64_t ns = lull_disturbed_add(&s->disturbed, step);
    if (ns <= 0)
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_COMPUTE, LULL_OP_NO_REGION, step->time);
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.duration = ns;
    entry->op.flags = LULL_OP_NOT_SCALED;
    return LULL_OK;
}

static lull_status take_stream_step(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    if (s->disturbed.disturbance) {
        lull_status status = push_disturbance(s, step, err);
        if (status != LULL_OK || step->kind == LULL_STEP_MARKER)
            return status;
    }
    if (step->kind == LULL_STEP_CALL_END)
        return end_call_of_stream(s, step, err);
    if (step->kind == LULL_STEP_CALL_BEGIN) {
        judge_poll(s, step->op);
        s->in_call = true;
        s->has_records = s->received = s->posted = s->sent = false;
        s->call = step->op;
        s->call_region = step->region;
        s->in_call_time = 0;
        return LULL_OK;
    }
    if (LULL_STEP_MASK(step->kind) & LULL_STEPS_OF_THREADS)
        return lull_replay_take_thread(s, step, err);
    lull_status status = lull_replay_take_operation(s, step, err);
    return status == LULL_OK && !s->in_call ? lull_request_push_wait(s, err) : status;
}

static lull_status take_stream_item(stream_t *s, const struct lull_item *item,
                                    struct lull_error *err)
{
    if (item->kind == LULL_ITEM_STEP)
        return take_stream_step(s, item->step, err);
    if (item->kind == LULL_ITEM_MEET) {
        s->meets++;
        return push_sync(s, err);
    }
    return push_burst(s, item, err);
}

/* ---- pulling ------------------------------------------------------------------------------- */

/* Too many operations wait for the first, or nothing more is known of it. A receive that was never
 * completed may have taken a message all the same; else it will be posted when it completes. */
static lull_status give_up_first(stream_t *s, struct lull_error *err)
{
    struct entry *entry = &s->queue[s->first];
    struct open *open = NULL;
    bool taken = false;
    for (uint32_t i = 0; i < s->n_open && !entry->optional; i++)
        if (s->open[i].position == s->base + s->first)
            open = &s->open[i];
    if (open && lull_survey_completes_receives(s->replay->survey)) {
        lull_status status = lull_replay_take_unreceived(s, open, &taken, err);
        if (status != LULL_OK || taken)
            return status;
    }
    entry->pending = false;
    entry->dropped = !entry->optional;
    if (open)
        open->position = NO_ENTRY;
    return LULL_OK;
}

static lull_status read_items(stream_t *s, struct lull_error *err)
{
    const struct lull_item *items;
    uint32_t count;
    lull_status status = lull_item_cursor_next(s->cursor, &items, &count, err);
    if (status != LULL_OK)
        return status;
    s->ended = count == 0;
    for (uint32_t i = 0; i < count && status == LULL_OK; i++)
        status = take_stream_item(s, &items[i], err);
    if (s->ended) {
        judge_poll(s, LULL_CALL_OTHER);
        lull_item_cursor_close(s->cursor);
        s->cursor = NULL;
    }
    return status;
}

/* Nothing more comes of it: thousands of others may go on, and the run that all of them make is
 * read while the program is still there. */
static void let_go_stream(stream_t *s)
{
    free(s->queue);
    free(s->open);
    free(s->waits);
    s->queue = NULL;
    s->open = NULL;
    s->waits = NULL;
    s->first = s->end = s->capacity = 0;
    s->n_open = 0;
    s->open_capacity = 0;
    s->waits_first = s->waits_end = s->waits_capacity = 0;
}

/* Until the first operation may be handed out, or there is none. */
static lull_status prepare(stream_t *s, struct lull_error *err)
{
    for (;;) {
        while (s->first < s->end && s->queue[s->first].dropped)
            s->first++;
        bool some = s->first < s->end;
        if (some && !s->queue[s->first].pending)
            return LULL_OK;
        if (some && (s->ended || s->end - s->first > LULL_REPLAY_AHEAD)) {
            lull_status status = give_up_first(s, err);
            if (status != LULL_OK)
                return status;
            continue;
        }
        if (s->ended)
            return LULL_OK;
        lull_status status = read_items(s, err);
        if (status != LULL_OK)
            return status;
    }
}

lull_status lull_replay_stream_next(stream_t *s, struct lull_op *ops, uint32_t room,
                                    uint32_t *ret_count, struct lull_error *err)
{
    uint32_t count = 0;
    lull_status status = prepare(s, err);
    if (status != LULL_OK)
        return status;
    for (; s->first < s->end && count < room; s->first++) {
        const struct entry *entry = &s->queue[s->first];
        if (entry->pending)
            break;
        if (entry->dropped)
            continue;
        struct lull_op *op = &ops[count++];
        *op = entry->op;
        if (op->kind == LULL_OP_WAIT) {
            op->requests = &s->waits[s->waits_first];
            s->waits_first += op->n_requests;
        }
        if (lull_op_blocks(op)) {
            s->first++;
            break;
        }
    }
    if (count == 0)
        let_go_stream(s);
    *ret_count = count;
    return LULL_OK;
}

lull_status lull_replay_stream_open(struct lull_replay *replay, uint32_t index,
                                    struct lull_replay_stream **ret_stream, struct lull_error *err)
{
    stream_t *s = calloc(1, sizeof *s);
    if (!s)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                         replay->trace->path);
    s->replay = replay;
    s->index = index;
    uint32_t location = replay->locations[index];
    s->location = location;
    s->process = replay->trace->locations[location].process;
    s->call_region = LULL_OP_NO_REGION;
    s->poll = NO_ENTRY;
    s->withdraws = lull_survey_withdraws(replay->survey, location);
    const bool disturbs = replay->options.disturbance &&
                          location == replay->trace->processes[s->process].first_location;
    const struct lull_windows *windows = replay->options.windows;
    if (!lull_disturbed_open(
            &s->disturbed, replay->trace, disturbs ? replay->options.disturbance : NULL,
            replay->ranks[s->process], windows ? windows->intervals[s->process][0].begin : 0)) {
        lull_status status = lull_replay_no_memory(s, err);
        free(s);
        return status;
    }
    const struct lull_items_options options = {.pieces = replay->options.pieces,
                                               .windows = replay->options.windows,
                                               .marks = disturbs,
                                               .shift =
                                                   lull_survey_shift(replay->survey, s->process)};
    lull_status status = lull_item_cursor_open(replay->trace, location, replay->options.marks,
                                               &options, &s->cursor, err);
    if (status != LULL_OK) {
        lull_disturbed_close(&s->disturbed);
        free(s);
        return status;
    }
    *ret_stream = s;
    return LULL_OK;
}

bool lull_replay_stream_was_delayed(const struct lull_replay_stream *s, uint32_t delay)
{
    return s->disturbed.over[delay];
}

void lull_replay_stream_close(struct lull_replay_stream *s)
{
    if (!s)
        return;
    lull_item_cursor_close(s->cursor);
    lull_disturbed_close(&s->disturbed);
    let_go_stream(s);
    free(s->free_numbers);
    free(s->call_waits);
    lull_hash_free(&s->collectives);
    lull_hash_free(&s->given_up);
    free(s);
}
