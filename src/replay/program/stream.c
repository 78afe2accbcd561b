/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/program/stream.h"

#include "activity/channel.h"
#include "base/array.h"
#include "base/collective.h"
#include "base/hash.h"
#include "replay/excerpt.h"
#include "replay/program/disturb.h"
#include "replay/program/items.h"

#include <stdlib.h>
#include <string.h>

#define NO_ENTRY UINT64_MAX

enum open_kind { OPEN_SEND, OPEN_RECEIVE, OPEN_COLLECTIVE, OPEN_NOTHING };

typedef struct lull_replay_stream stream_t;

/* ==== requests ================================================================================ */

/* The requests of a stream: those of the trace that are open, and their numbers in the program. */

/* ---- positions in the queue ---------------------------------------------------------------- */

static uint64_t entry_position(const stream_t *s, const struct entry *entry)
{
    return s->base + (uint64_t)(entry - s->queue);
}

/* The entry at a position; NULL: there is none, or its operation was handed out already. */
static struct entry *entry_at(const stream_t *s, uint64_t position)
{
    return position != NO_ENTRY && position >= s->base + s->first ? &s->queue[position - s->base]
                                                                  : NULL;
}

/* ---- requests ------------------------------------------------------------------------------ */

/* A free number for a request of the program. */
static uint32_t request_number(stream_t *s)
{
    return s->n_free ? s->free_numbers[--s->n_free] : s->numbers++;
}

static bool request_release(stream_t *s, uint32_t number)
{
    if (!lull_array_reserve(&s->free_numbers, &s->free_capacity, s->n_free + 1, sizeof number))
        return false;
    s->free_numbers[s->n_free++] = number;
    return true;
}

/* A request of the trace is open from now on; `kind`: enum open_kind. NULL: no memory. */
static struct open *request_add(stream_t *s, uint64_t request, uint8_t kind)
{
    if (!lull_array_reserve(&s->open, &s->open_capacity, s->n_open + 1, sizeof *s->open))
        return NULL;
    struct open *open = &s->open[s->n_open++];
    *open = (struct open){.request = request, .kind = kind, .position = NO_ENTRY};
    return open;
}

/* The open request with this number in the trace; NULL: there is none. */
static struct open *request_find(stream_t *s, uint64_t request)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].request == request)
            return &s->open[i];
    return NULL;
}

/* The oldest open request of a kind; NULL: there is none. */
static struct open *request_oldest(stream_t *s, uint8_t kind)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].kind == kind)
            return &s->open[i];
    return NULL;
}

/* The oldest open receive among those to which the tracer gives a request (`named`), or among those
 * to which it gives none; NULL: there is none. */
static struct open *request_oldest_receive(stream_t *s, bool named)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].kind == OPEN_RECEIVE && (s->open[i].request != LULL_NO_REQUEST) == named)
            return &s->open[i];
    return NULL;
}

static void request_remove(stream_t *s, struct open *open)
{
    size_t at = (size_t)(open - s->open);
    memmove(open, open + 1, (--s->n_open - at) * sizeof *open);
}

/* The present call waits for a request of the program; false: no memory. */
static bool request_wait(stream_t *s, uint32_t number)
{
    if (!lull_array_reserve(&s->call_waits, &s->call_capacity, s->n_call_waits + 1, sizeof number))
        return false;
    s->call_waits[s->n_call_waits++] = number;
    return true;
}

static lull_status replay_no_memory(const stream_t *s, struct lull_error *err);
static bool replay_make_room(void **array, size_t *first, size_t *end, size_t *capacity,
                             size_t size);
static struct entry *replay_push(stream_t *s, uint8_t kind, uint32_t region, int64_t measured);
static lull_status replay_take_unreceived(stream_t *s, struct open *open, bool *ret_taken,
                                          struct lull_error *err);
static lull_status replay_guess(stream_t *s, const struct lull_step *call, struct lull_error *err);
static lull_status replay_take_operation(stream_t *s, const struct lull_step *step,
                                         struct lull_error *err);

/* Pushes one WAIT for all requests that the call waited for, and frees their numbers. */
static lull_status request_push_wait(stream_t *s, struct lull_error *err)
{
    if (s->n_call_waits == 0)
        return LULL_OK;
    struct entry *entry = replay_push(s, LULL_OP_WAIT, s->call_region, 0);
    if (!entry)
        return replay_no_memory(s, err);
    for (uint32_t i = 0; i < s->n_call_waits; i++) {
        if (!replay_make_room((void **)&s->waits, &s->waits_first, &s->waits_end,
                              &s->waits_capacity, sizeof *s->waits))
            return replay_no_memory(s, err);
        s->waits[s->waits_end++] = s->call_waits[i];
        if (!request_release(s, s->call_waits[i]))
            return replay_no_memory(s, err);
    }
    entry->op.n_requests = s->n_call_waits;
    s->n_call_waits = 0;
    return LULL_OK;
}

/* Forgets an open request of which it will never be known what it did. If its operation still waits
 * in the queue, the operation is left out. */
static lull_status request_drop(stream_t *s, struct open *open, struct lull_error *err)
{
    struct entry *entry = entry_at(s, open->position);
    bool back = entry && entry->pending;
    if (back) {
        entry->pending = false;
        entry->dropped = true;
    }
    uint32_t number = open->number;
    request_remove(s, open);
    return !back || request_release(s, number) ? LULL_OK : replay_no_memory(s, err);
}

/* ==== threads ================================================================================= */

/* Threads that the program makes: where one thread waits for another, the one arrives at a SYNC and
 * the other waits in it. */

/* Kinds of SYNCs. Forks and joins have the kind 0, barriers of the program the kinds from 1 on. */
enum { BEGINS = UINT32_MAX, ENDS = UINT32_MAX - 1 };

/* The threads that meet in a SYNC. The number is, for BEGINS and ENDS, that of the thread, and for
 * a barrier it counts the meetings at this barrier. The size is how many threads arrive; for BEGINS
 * and ENDS only one of the two does, and the other waits. */
struct thread_meeting {
    uint32_t kind, number, size;
};

static lull_status push_part(stream_t *s, enum lull_sync_part part,
                             const struct thread_meeting *meeting, struct lull_error *err)
{
    struct entry *entry = replay_push(s, LULL_OP_SYNC, LULL_OP_NO_REGION, 0);
    if (!entry)
        return replay_no_memory(s, err);
    entry->op.collective = (uint8_t)part;
    entry->op.peer = meeting->size;
    entry->op.bytes = meeting->size;
    entry->op.tag = meeting->number;
    entry->op.comm = meeting->kind;
    return LULL_OK;
}

/* A thread comes to a barrier of the program, or waits in it. If it was not recorded that all
 * threads came, nobody is waited for, as in the ideal runtime (replay/ideal/ideal.h). */
static lull_status meet_at_barrier(stream_t *s, const struct lull_step *step,
                                   struct lull_error *err)
{
    const struct thread_meeting meeting = {.kind = 1 + (uint32_t)(step->meeting.number >> 32),
                                           .number = (uint32_t)step->meeting.number,
                                           .size = step->meeting.threads};
    if (!lull_survey_all_came(s->replay->survey, s->process, step))
        return LULL_OK;
    return push_part(
        s, step->kind == LULL_STEP_THREAD_WAIT_BEGIN ? LULL_SYNC_ARRIVES : LULL_SYNC_WAITS,
        &meeting, err);
}

/* Pushes one part of a SYNC of two, if the survey has seen the other part: else the SYNC would stay
 * open to the end. */
static lull_status push_known(stream_t *s, enum lull_sync_part part, const struct lull_step *step,
                              uint32_t kind, enum lull_life other, struct lull_error *err)
{
    const struct thread_meeting meeting = {kind, (uint32_t)step->number, 1};
    return lull_survey_knows(s->replay->survey, s->process, step->number, other)
               ? push_part(s, part, &meeting, err)
               : LULL_OK;
}

/* A step in the life of a thread that the program makes: it is made, begins, waits, or ends. */
static lull_status replay_take_thread(stream_t *s, const struct lull_step *step,
                                      struct lull_error *err)
{
    if (step->number == 0)
        return LULL_OK;
    switch (step->kind) {
    case LULL_STEP_THREAD_CREATE:
        return push_known(s, LULL_SYNC_ARRIVES, step, BEGINS, LULL_LIFE_BEGINS, err);
    case LULL_STEP_THREAD_BEGIN:
        return push_known(s, LULL_SYNC_WAITS, step, BEGINS, LULL_LIFE_MADE, err);
    case LULL_STEP_THREAD_END:
        return push_known(s, LULL_SYNC_ARRIVES, step, ENDS, LULL_LIFE_JOINED, err);
    default:
        break;
    }
    if (step->op == LULL_THREAD_WAIT_BARRIER)
        return meet_at_barrier(s, step, err);
    return step->kind == LULL_STEP_THREAD_WAIT_END
               ? push_known(s, LULL_SYNC_WAITS, step, ENDS, LULL_LIFE_ENDS, err)
               : LULL_OK;
}

/* ==== stream ================================================================================== */

static lull_status replay_no_memory(const stream_t *s, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                     s->replay->trace->path);
}

/* Room for one more item behind `end` in an array of which [first, end) are in use: moves these to
 * the front if that frees more than half of the array, else grows. */
static bool replay_make_room(void **array, size_t *first, size_t *end, size_t *capacity,
                             size_t size)
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

/* Adds an operation at the end of the queue. The entry is valid until the next call; NULL: no
 * memory. */
static struct entry *replay_push(stream_t *s, uint8_t kind, uint32_t region, int64_t measured)
{
    size_t before = s->first;
    if (!replay_make_room((void **)&s->queue, &s->first, &s->end, &s->capacity, sizeof *s->queue))
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
    struct entry *entry = replay_push(s, LULL_OP_COMPUTE, region, item->begin);
    if (!entry)
        return replay_no_memory(s, err);
    uint64_t length = (uint64_t)(item->end - item->begin);
    entry->op.duration = ns;
    entry->op.tag = (uint32_t)(length >> 32);
    entry->op.comm = (uint32_t)length;
    entry->op.flags = item->kind == LULL_ITEM_FIXED ? LULL_OP_NOT_SCALED : 0;
    return LULL_OK;
}

/* Whether a call is the MPI_Finalize of a simulated run, in which a process only waits for the
 * others to end. */
static bool waits_at_end(const stream_t *s, const struct lull_step *call)
{
    const struct lull_trace *trace = s->replay->trace;
    return call->op == LULL_CALL_FINALIZE && call->time >= trace->duration &&
           lull_trace_is_simulated(trace);
}

/* How much of a call lies in the part that is replayed, in ns; 0 for a call that goes on beyond
 * this part, and for the wait at the end. */
static uint64_t length_in_part(const stream_t *s, const struct lull_step *call)
{
    const struct lull_windows *windows = s->replay->reading.windows;
    if (waits_at_end(s, call))
        return 0;
    if (!windows)
        return (uint64_t)(call->time - call->call_began);
    const struct lull_interval part = windows->intervals[s->process][0];
    int64_t begin = call->call_began > part.begin ? call->call_began : part.begin;
    return call->time > part.end || call->time < begin ? 0 : (uint64_t)(call->time - begin);
}

/* Whether a call takes as long in the program as it took in the run (enum lull_replay_keep). */
static bool keeps_length(const stream_t *s, const struct lull_step *call)
{
    const uint8_t keep = s->replay->options.keep_calls;
    switch (call->op) {
    case LULL_CALL_OTHER:
    case LULL_CALL_FINALIZE:
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

/* Pushes the time of a call that waits for nobody, if it keeps its length. The time of a query that
 * found nothing stays pending: what the program does next tells whether the query is work or part
 * of a wait (judge_poll). */
static lull_status push_kept(stream_t *s, const struct lull_step *call, struct lull_error *err)
{
    if (!keeps_length(s, call) || (s->n_call_waits > 0 && !s->sent) || s->in_call_time > 0)
        return LULL_OK;
    uint64_t length = length_in_part(s, call);
    int64_t measured = length > 0 ? call->time - (int64_t)length : call->call_began;
    struct entry *entry = replay_push(s, LULL_OP_COMPUTE, call->region, measured);
    if (!entry)
        return replay_no_memory(s, err);
    entry->op.duration = (int64_t)length;
    entry->op.tag = (uint32_t)(length >> 32);
    entry->op.comm = (uint32_t)length;
    entry->op.flags = LULL_OP_NOT_SCALED;
    if (call->op == LULL_CALL_TEST || call->op == LULL_CALL_IPROBE) {
        entry->pending = true;
        s->poll = entry_position(s, entry);
        s->since_poll = 0;
    }
    return LULL_OK;
}

static bool awaits_message(uint8_t call)
{
    return call == LULL_CALL_TEST || call == LULL_CALL_IPROBE || call == LULL_CALL_PROBE ||
           call == LULL_CALL_WAIT || call == LULL_CALL_WAITALL || call == LULL_CALL_RECV;
}

/* Decides about the last query if it found nothing; `next` is the call that follows. The query is
 * part of a wait if three things are true: `next` asks again or waits for a message; the program
 * computed for a shorter time in between than the query took; and the place of the query waits as a
 * rule (survey.h), or the query before it was part of a wait. The time of such a query is dropped,
 * since the wait ends when what it waits for is there. All other queries are work. */
static void judge_poll(stream_t *s, uint8_t next)
{
    struct entry *entry = entry_at(s, s->poll);
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

/* ---- devices ------------------------------------------------------------------------------- */

/* How much of a piece of measured time lies in the part that is replayed, in ns. */
static int64_t time_in_part(const stream_t *s, int64_t begin, int64_t end)
{
    const struct lull_windows *windows = s->replay->reading.windows;
    if (windows) {
        const struct lull_interval part = windows->intervals[s->process][0];
        begin = begin > part.begin ? begin : part.begin;
        end = end < part.end ? end : part.end;
    }
    return end > begin ? end - begin : 0;
}

static lull_status push_device_sync(stream_t *s, const struct lull_op *sync, struct lull_error *err)
{
    struct entry *entry = replay_push(s, LULL_OP_SYNC, LULL_OP_NO_REGION, 0);
    if (!entry)
        return replay_no_memory(s, err);
    entry->op = *sync;
    return LULL_OK;
}

/* The thread submits an operation, which may begin some time later. */
static lull_status submit_operation(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    const struct lull_device_change *change = s->replay->options.change;
    struct lull_device_submission submission;
    if (!s->replay->devices || !lull_device_caller_submits(&s->caller, &submission))
        return LULL_OK;
    const uint32_t waiting = lull_device_waiting(&submission, change);
    if (change && change->graphs && submission.together == 0)
        s->spared = step->time + submission.call_ns;
    if (waiting == 0)
        return LULL_OK;
    const int64_t latency = change && change->no_latency
                                ? 0
                                : time_in_part(s, step->time, step->time + submission.latency);
    const struct lull_op sync =
        lull_device_submitted(LULL_SYNC_ARRIVES, submission.sync, waiting, latency);
    return push_device_sync(s, &sync, err);
}

/* What threads apart have submitted since a state of this master began, which is behind the begin of the item or lies in
 * it. */
static lull_status submit_apart(stream_t *s, const struct lull_item *item, struct lull_error *err)
{
    const struct lull_device_change *change = s->replay->options.change;
    const int64_t last = item->end > item->begin ? item->end - 1 : item->begin;
    struct lull_device_submission submission;
    int64_t anchor = s->caller.anchor;
    for (; lull_device_caller_submits_apart(&s->caller, last, &submission);
         anchor = s->caller.anchor) {
        const int64_t from = anchor > item->begin ? item->begin : anchor;
        const uint32_t waiting = lull_device_waiting(&submission, change);
        if (waiting == 0)
            continue;
        const struct lull_op sync =
            lull_device_submitted(LULL_SYNC_ARRIVES, submission.sync, waiting,
                                  time_in_part(s, from, anchor + submission.latency));
        lull_status status = push_device_sync(s, &sync, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status await_operation(stream_t *s, struct lull_error *err)
{
    struct lull_device_awaited awaited;
    if (!s->replay->devices || !lull_device_caller_waits(&s->caller, &awaited))
        return LULL_OK;
    if (awaited.end > s->awaited)
        s->awaited = awaited.end;
    const struct lull_op sync = lull_device_completed(LULL_SYNC_WAITS, awaited.sync,
                                                      awaited.waiting, s->replay->options.change);
    return push_device_sync(s, &sync, err);
}

/* The time of a wait for a device: what of it came behind the end of the operations that it was for, if a SYNC stands for
 * the rest. */
static lull_status push_await(stream_t *s, const struct lull_item *item, struct lull_error *err)
{
    int64_t begin = item->begin;
    if (s->awaited > begin)
        begin = s->awaited < item->end ? s->awaited : item->end;
    s->awaited = 0;
    const int64_t ns = item->ns < item->end - begin ? item->ns : item->end - begin;
    s->since_poll += ns;
    if (ns == 0 && !s->replay->options.pieces)
        return LULL_OK;
    struct entry *entry = replay_push(
        s, LULL_OP_COMPUTE, item->region == LULL_NONE ? LULL_OP_NO_REGION : item->region, begin);
    if (!entry)
        return replay_no_memory(s, err);
    const uint64_t length = (uint64_t)(item->end - begin);
    entry->op.duration = ns;
    entry->op.tag = (uint32_t)(length >> 32);
    entry->op.comm = (uint32_t)length;
    entry->op.flags = LULL_OP_NOT_SCALED;
    return LULL_OK;
}

/* A computation that begins with a call which takes no time, as its operation is submitted with others. */
static lull_status push_spared(stream_t *s, const struct lull_item *item, struct lull_error *err)
{
    struct lull_item rest = *item;
    rest.begin = s->spared < item->end ? s->spared : item->end;
    const int64_t ns = time_in_part(s, item->begin, rest.begin);
    rest.ns -= ns < rest.ns ? ns : rest.ns;
    if (s->replay->options.pieces) {
        const uint64_t length = (uint64_t)(rest.begin - item->begin);
        struct entry *entry =
            replay_push(s, LULL_OP_COMPUTE,
                        item->region == LULL_NONE ? LULL_OP_NO_REGION : item->region, item->begin);
        if (!entry)
            return replay_no_memory(s, err);
        entry->op.tag = (uint32_t)(length >> 32);
        entry->op.comm = (uint32_t)length;
        entry->op.flags = LULL_OP_NOT_SCALED;
    }
    return push_burst(s, &rest, err);
}

/* ---- items --------------------------------------------------------------------------------- */

/* The threads of the process meet at a fork or a join of the master. */
static lull_status push_sync(stream_t *s, struct lull_error *err)
{
    uint32_t threads = s->replay->meets[s->replay->ranks[s->process]];
    if (threads < 2)
        return LULL_OK;
    struct entry *entry = replay_push(s, LULL_OP_SYNC, LULL_OP_NO_REGION, 0);
    if (!entry)
        return replay_no_memory(s, err);
    entry->op.peer = threads;
    entry->op.tag = s->syncs++;
    return LULL_OK;
}

/* An epoch of an excerpt is over. */
static lull_status push_mark(stream_t *s, struct lull_error *err)
{
    struct entry *entry = replay_push(s, LULL_OP_MARK, LULL_OP_NO_REGION, 0);
    if (!entry)
        return replay_no_memory(s, err);
    entry->op.bytes = s->marks++;
    s->ends_epoch = false;
    return LULL_OK;
}

static lull_status end_call_of_stream(stream_t *s, const struct lull_step *call,
                                      struct lull_error *err)
{
    lull_status status = replay_guess(s, call, err);
    if (status == LULL_OK)
        status = push_kept(s, call, err);
    if (status == LULL_OK)
        status = request_push_wait(s, err);
    if (status == LULL_OK && s->ends_epoch)
        status = push_mark(s, err);
    s->in_call = false;
    s->call_region = LULL_OP_NO_REGION;
    return status;
}

/* Pushes the disturbance that lengthens the computation before a call. None of its time was
 * measured. */
static lull_status push_disturbance(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    const int64_t ns = lull_disturbed_add(&s->disturbed, step);
    if (ns <= 0)
        return LULL_OK;
    struct entry *entry = replay_push(s, LULL_OP_COMPUTE, LULL_OP_NO_REGION, step->time);
    if (!entry)
        return replay_no_memory(s, err);
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
        return replay_take_thread(s, step, err);
    if (step->kind == LULL_STEP_SUBMIT)
        return submit_operation(s, step, err);
    if (step->kind == LULL_STEP_DEVICE_WAIT)
        return await_operation(s, err);
    lull_status status = replay_take_operation(s, step, err);
    if (status == LULL_OK && !s->in_call)
        status = request_push_wait(s, err);
    return status == LULL_OK && !s->in_call && s->ends_epoch ? push_mark(s, err) : status;
}

static lull_status take_stream_item(stream_t *s, const struct lull_item *item,
                                    struct lull_error *err)
{
    if (s->caller.has_next) {
        lull_status status = submit_apart(s, item, err);
        if (status != LULL_OK)
            return status;
    }
    if (item->kind == LULL_ITEM_STEP)
        return take_stream_step(s, item->step, err);
    if (item->kind == LULL_ITEM_MEET) {
        s->meets++;
        return push_sync(s, err);
    }
    if (item->kind == LULL_ITEM_AWAIT)
        return push_await(s, item, err);
    return s->spared > item->begin ? push_spared(s, item, err) : push_burst(s, item, err);
}

/* ---- pulling ------------------------------------------------------------------------------- */

/* Decides about the first operation of the queue, although it is pending: too many operations wait
 * behind it, or the trace has ended. A receive of which no completion is recorded may have taken a
 * message all the same. Else the operation is left out; if it completes later, it is pushed then.
 */
static lull_status give_up_first(stream_t *s, struct lull_error *err)
{
    struct entry *entry = &s->queue[s->first];
    struct open *open = NULL;
    bool taken = false;
    for (uint32_t i = 0; i < s->n_open && !entry->optional; i++)
        if (s->open[i].position == s->base + s->first)
            open = &s->open[i];
    if (open && lull_survey_completes_receives(s->replay->survey)) {
        lull_status status = replay_take_unreceived(s, open, &taken, err);
        if (status != LULL_OK || taken)
            return status;
    }
    entry->pending = false;
    entry->dropped = !entry->optional;
    if (open)
        open->position = NO_ENTRY;
    return LULL_OK;
}

static bool has_pending(const stream_t *s)
{
    for (size_t i = s->first; i < s->end; i++)
        if (s->queue[i].pending)
            return true;
    return false;
}

/* An item behind the part that is replayed: of interest are only the messages that receives took
 * which were posted before. */
static lull_status take_item_behind(stream_t *s, const struct lull_item *item,
                                    struct lull_error *err)
{
    const struct lull_step *step = item->step;
    if (item->kind != LULL_ITEM_STEP || step->kind != LULL_STEP_RECV ||
        !request_find(s, step->message.request))
        return LULL_OK;
    lull_status status = replay_take_operation(s, step, err);
    s->n_call_waits = 0;
    return status;
}

static lull_status read_items(stream_t *s, struct lull_error *err)
{
    const struct lull_item *items;
    uint32_t count;
    lull_status status = lull_item_cursor_next(s->cursor, &items, &count, err);
    if (status != LULL_OK)
        return status;
    s->ended = count == 0;
    for (uint32_t i = 0; i < count && status == LULL_OK; i++) {
        const struct lull_item *item = &items[i];
        const bool waits = item->kind == LULL_ITEM_STEP || item->kind == LULL_ITEM_MEET;
        s->behind |= waits && !s->in_call && item->end >= s->replay->ends_at;
        status = s->behind ? take_item_behind(s, item, err) : take_stream_item(s, item, err);
    }
    s->ended |= s->behind && !has_pending(s);
    if (s->ended) {
        judge_poll(s, LULL_CALL_OTHER);
        lull_item_cursor_close(s->cursor);
        s->cursor = NULL;
    }
    return status;
}

/* Frees what a stream that has ended no longer needs. Thousands of others may go on, and the
 * program may stay open long after the last of them. */
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

/* Reads on until the first operation of the queue may be handed out, or there are no more. */
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

static lull_status open_items(stream_t *s, const struct lull_items_options *options,
                              struct lull_error *err)
{
    const struct lull_replay *replay = s->replay;
    size_t count;
    if (!replay->options.excerpt)
        return lull_item_cursor_open(replay->trace, s->location, replay->options.marks, options,
                                     &s->cursor, err);
    const struct lull_step *steps = lull_excerpt_steps(replay->options.excerpt, s->process, &count);
    return lull_item_cursor_of_steps(replay->trace, s->location, steps, count, options, &s->cursor,
                                     err);
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
    if (replay->devices)
        s->caller = lull_device_caller_open(replay->devices, location);
    const bool disturbs = replay->options.disturbance &&
                          location == replay->trace->processes[s->process].first_location;
    const struct lull_windows *windows = replay->reading.windows;
    if (!lull_disturbed_open(
            &s->disturbed, replay->trace, disturbs ? replay->options.disturbance : NULL,
            replay->ranks[s->process], windows ? windows->intervals[s->process][0].begin : 0)) {
        lull_status status = replay_no_memory(s, err);
        free(s);
        return status;
    }
    const struct lull_items_options options = {.pieces = replay->options.pieces,
                                               .windows = replay->reading.windows,
                                               .marks = disturbs,
                                               .shift =
                                                   lull_survey_shift(replay->survey, s->process)};
    lull_status status = open_items(s, &options, err);
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

/* ==== groups ================================================================================== */

/* A group for the operations of one root on an inter-communicator. */
struct rooted {
    uint32_t comm, root; /* comm: canonical; root: a process */
};

struct rooted_list {
    struct rooted *items; /* malloc'd; fill_groups copies them into the arena */
    size_t count, capacity;
};

/* Adds the ranks of a communicator's members behind n others; returns how many there are then. */
static uint32_t add_ranks(const struct lull_replay *replay, uint32_t comm, uint32_t *ranks,
                          uint32_t n)
{
    const struct lull_trace *trace = replay->trace;
    const struct lull_comm *members = &trace->comms[comm];
    for (uint32_t i = 0; i < members->size; i++) {
        uint32_t process = lull_comm_member(members, i);
        uint32_t rank = process < trace->n_processes ? replay->ranks[process] : LULL_NONE;
        if (rank != LULL_NONE)
            ranks[n++] = rank;
    }
    return n;
}

static struct lull_group group_of_ranks(const uint32_t *ranks, uint32_t n)
{
    bool contiguous = true;
    for (uint32_t i = 1; i < n; i++)
        contiguous &= ranks[i] == ranks[0] + i;
    return (struct lull_group){
        .size = n, .ranks = contiguous ? NULL : ranks, .first = n ? ranks[0] : 0};
}

/* The group of a communicator; of an inter-communicator, both sides of it, if the trace tells the
 * other one. In the group of its canonical number each side waits for the other; in that of the
 * other number all wait for all. */
static bool make_group(const struct lull_replay *replay, struct lull_arena *arena, uint32_t comm,
                       struct lull_group *ret_group)
{
    const struct lull_trace *trace = replay->trace;
    const struct lull_comm *local = &trace->comms[comm];
    if (local->paradigm != LULL_PARADIGM_MPI)
        return true;
    size_t size = local->size + (size_t)1;
    size += local->remote == LULL_NONE ? 0 : trace->comms[local->remote].size;
    uint32_t *ranks = lull_arena_try(arena, size, sizeof *ranks);
    if (!ranks)
        return false;
    uint32_t n = add_ranks(replay, comm, ranks, 0);
    uint32_t own = n;
    if (local->remote != LULL_NONE)
        n = add_ranks(replay, local->remote, ranks, n);
    *ret_group = group_of_ranks(ranks, n);
    if (local->remote != LULL_NONE && lull_comm_canonical(trace, comm) == comm)
        ret_group->split = own;
    return true;
}

static bool has_member(const struct lull_comm *comm, uint32_t process)
{
    uint32_t i = 0;
    while (i < comm->size && lull_comm_member(comm, i) != process)
        i++;
    return i < comm->size;
}

static bool make_rooted_group(const struct lull_replay *replay, struct lull_arena *arena,
                              const struct rooted *rooted, struct lull_group *ret_group)
{
    const struct lull_trace *trace = replay->trace;
    uint32_t other = rooted->comm, remote = trace->comms[rooted->comm].remote;
    if (has_member(&trace->comms[other], rooted->root))
        other = remote;
    uint32_t *ranks = lull_arena_try(arena, trace->comms[other].size + (size_t)1, sizeof *ranks);
    if (!ranks)
        return false;
    ranks[0] = replay->ranks[rooted->root];
    *ret_group = group_of_ranks(ranks, add_ranks(replay, other, ranks, ranks[0] != LULL_NONE));
    return true;
}

static uint32_t find_rooted(const struct rooted *items, size_t count, uint32_t comm, uint32_t root)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i].comm == comm && items[i].root == root)
            return i;
    return LULL_NONE;
}

static bool list_roots(const struct lull_replay *replay, uint32_t comm, struct rooted_list *list)
{
    uint32_t count = lull_survey_operations(replay->survey, comm);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = lull_survey_root(replay->survey, comm, i);
        if (root >= replay->trace->n_processes ||
            find_rooted(list->items, list->count, comm, root) != LULL_NONE)
            continue;
        if (!lull_array_reserve(&list->items, &list->capacity, list->count + 1,
                                sizeof *list->items))
            return false;
        list->items[list->count++] = (struct rooted){comm, root};
    }
    return true;
}

static bool list_all_roots(const struct lull_replay *replay, struct rooted_list *list)
{
    const struct lull_trace *trace = replay->trace;
    bool fits = true;
    for (uint32_t c = 0; fits && c < trace->n_comms; c++)
        if (trace->comms[c].remote != LULL_NONE && lull_comm_canonical(trace, c) == c)
            fits = list_roots(replay, c, list);
    return fits;
}

/* The processes of the streams of a circle (match/exchange.h). */
static bool make_circle(const struct lull_replay *replay, struct lull_arena *arena, uint32_t circle,
                        struct lull_group *ret_group)
{
    const struct lull_trace *trace = replay->trace;
    const struct lull_exchanges *exchanges = lull_replay_devices_exchanges(replay->devices);
    const uint32_t n = lull_exchange_circle_size(exchanges, circle);
    uint32_t *ranks = lull_arena_try(arena, n + (size_t)1, sizeof *ranks);
    if (!ranks)
        return false;
    for (uint32_t i = 0; i < n; i++)
        ranks[i] =
            replay->ranks[trace->locations[lull_exchange_stream(exchanges, circle, i)].process];
    *ret_group = group_of_ranks(ranks, n);
    return true;
}

static bool fill_groups(struct lull_program *program, struct lull_replay *replay,
                        const struct rooted_list *list)
{
    const uint32_t n_comms = replay->trace->n_comms;
    const uint32_t first_circle = 1 + n_comms + (uint32_t)list->count;
    const uint32_t n_circles =
        replay->devices ? lull_exchange_circles(lull_replay_devices_exchanges(replay->devices)) : 0;
    struct lull_group *groups =
        lull_arena_try(program->arena, (size_t)first_circle + n_circles, sizeof *groups);
    struct rooted *rooted = lull_arena_try(program->arena, 1 + list->count, sizeof *rooted);
    bool fits = groups && rooted;
    if (fits)
        groups[0].size = replay->n_ranks;
    for (uint32_t c = 0; fits && c < n_comms; c++)
        fits = make_group(replay, program->arena, c, &groups[1 + c]);
    for (uint32_t i = 0; fits && i < list->count; i++) {
        rooted[i] = list->items[i];
        fits = make_rooted_group(replay, program->arena, &rooted[i], &groups[1 + n_comms + i]);
    }
    for (uint32_t i = 0; fits && i < n_circles; i++)
        fits = make_circle(replay, program->arena, i, &groups[first_circle + i]);
    program->groups = groups;
    program->n_groups = first_circle + n_circles;
    program->has_meetings = n_circles > 0;
    replay->first_circle = first_circle;
    replay->rooted = rooted;
    replay->n_rooted = (uint32_t)list->count;
    return fits;
}

lull_status lull_replay_make_groups(struct lull_program *program, struct lull_replay *replay,
                                    struct lull_error *err)
{
    struct rooted_list list = {0};
    bool fits = list_all_roots(replay, &list) && fill_groups(program, replay, &list);
    free(list.items);
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            replay->trace->path);
}

/* The group of the operations on an inter-communicator whose root is this process; LULL_NONE: there
 * are none. */
static uint32_t replay_rooted_group(const struct lull_replay *replay, uint32_t comm, uint32_t root)
{
    uint32_t at = find_rooted(replay->rooted, replay->n_rooted, comm, root);
    return at == LULL_NONE ? LULL_NONE : 1 + replay->trace->n_comms + at;
}

/* ==== collectives ============================================================================= */

/* Whether collective operations on a communicator are simulated: it is one of MPI and not of a
 * single process. */
static bool known_comm(const stream_t *s, uint32_t comm)
{
    const struct lull_trace *trace = s->replay->trace;
    return comm < trace->n_comms && trace->comms[comm].paradigm == LULL_PARADIGM_MPI &&
           !(trace->comms[comm].size == 1 && trace->comms[comm].remote == LULL_NONE);
}

static bool has_root(uint8_t op)
{
    enum lull_collective_needs needs = lull_collective_needs(op);
    return needs == LULL_NEEDS_ROOT || needs == LULL_ROOT_NEEDS_ALL;
}

static bool is_between_groups(const stream_t *s, uint32_t comm)
{
    return s->replay->trace->comms[comm].remote != LULL_NONE;
}

/* The process that is the root of an operation; LULL_NONE: there is none, or nothing tells it.
 * `number`: which of the blocking operations on this communicator it is; LULL_NONE: unknown. */
static uint32_t find_root(const stream_t *s, const struct lull_step *step, uint32_t number)
{
    if (!has_root(step->op))
        return LULL_NONE;
    if (step->collective.root >= 0)
        return (uint32_t)step->collective.root;
    return lull_survey_root(s->replay->survey, step->comm, number);
}

static uint32_t rank_of_root(const stream_t *s, uint32_t process)
{
    return process < s->replay->trace->n_processes ? s->replay->ranks[process] : LULL_NONE;
}

/* Whether this process takes no part in an operation on an inter-communicator: it is on the root's
 * side without being the root (in MPI it gives MPI_PROC_NULL as root then), or the root is not
 * replayed. */
static bool takes_no_part(const stream_t *s, const struct lull_step *step, uint32_t root)
{
    return is_between_groups(s, step->comm) && root != LULL_NONE &&
           (rank_of_root(s, root) == LULL_NONE ||
            (step->collective.root < 0 && root != s->process));
}

static uint8_t as_simulated(uint8_t op)
{
    return op == LULL_COLLECTIVE_CREATE || op >= LULL_COLLECTIVE_UNKNOWN ? LULL_COLLECTIVE_BARRIER
                                                                         : op;
}

/* Whether nobody of one of two groups was recorded, as where a program spawns a script. */
static bool has_empty_group(const stream_t *s, uint32_t comm)
{
    const struct lull_comm *comms = s->replay->trace->comms;
    return comms[comm].remote != LULL_NONE &&
           (comms[comm].size == 0 || comms[comms[comm].remote].size == 0);
}

/* Whether no process that is replayed waits for another one in the operation. */
static bool waits_for_nobody(const stream_t *s, const struct lull_step *step)
{
    return !known_comm(s, step->comm) || lull_collective_needs(step->op) == LULL_NEEDS_NOBODY ||
           (has_empty_group(s, step->comm) &&
            lull_collective_needs_between(step->op) != LULL_NEEDS_ALL);
}

static void set_root(const stream_t *s, struct lull_op *op, const struct lull_step *step,
                     uint32_t root)
{
    const struct lull_replay *replay = s->replay;
    uint32_t comm = lull_comm_canonical(replay->trace, step->comm);
    uint32_t rank = rank_of_root(s, root);
    op->peer = LULL_OP_ANY;
    if (!has_root(step->op))
        return;
    if (!is_between_groups(s, step->comm)) {
        op->peer = rank != LULL_NONE
                       ? rank
                       : replay->ranks[lull_comm_member(&replay->trace->comms[comm], 0)];
        return;
    }
    uint32_t group = rank != LULL_NONE ? replay_rooted_group(replay, comm, root) : LULL_NONE;
    if (group == LULL_NONE) { /* all wait for all */
        op->collective = LULL_COLLECTIVE_BARRIER;
        op->comm = replay->trace->comms[comm].remote + 1;
        return;
    }
    op->comm = group;
    op->peer = rank;
}

static void describe_collective(const stream_t *s, struct entry *entry,
                                const struct lull_step *step, uint32_t root)
{
    uint32_t comm = lull_comm_canonical(s->replay->trace, step->comm);
    if (is_between_groups(s, comm) && lull_collective_needs_between(step->op) == LULL_NEEDS_ALL)
        comm = s->replay->trace->comms[comm].remote; /* the same members: see groups in stream.h */
    entry->op.collective = as_simulated(step->op);
    entry->op.comm = comm + 1;
    entry->op.bytes = step->collective.sent;
    entry->op.received = step->collective.received;
    entry->pending = false;
    set_root(s, &entry->op, step, root);
}

static lull_status replay_begin_collective(stream_t *s, const struct lull_step *step,
                                           struct lull_error *err)
{
    if (step->collective.request == LULL_NO_REQUEST)
        return LULL_OK;
    bool known = step->op != LULL_COLLECTIVE_UNKNOWN && step->comm < s->replay->trace->n_comms;
    bool nothing = known && waits_for_nobody(s, step);
    struct open *open =
        request_add(s, step->collective.request, nothing ? OPEN_NOTHING : OPEN_COLLECTIVE);
    if (!open)
        return replay_no_memory(s, err);
    if (nothing)
        return LULL_OK;
    struct entry *entry = replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
    if (!entry)
        return replay_no_memory(s, err);
    entry->op.request = open->number = request_number(s);
    entry->pending = true;
    open->position = entry_position(s, entry);
    return LULL_OK;
}

static lull_status end_non_blocking(stream_t *s, const struct lull_step *step,
                                    struct lull_error *err)
{
    struct open *open = request_find(s, step->collective.request);
    if (!open)
        return LULL_OK;
    struct entry *entry = entry_at(s, open->position);
    if (open->kind != OPEN_COLLECTIVE || waits_for_nobody(s, step))
        return request_drop(s, open, err);
    uint32_t number = open->number;
    request_remove(s, open);
    if (!entry) { /* it was left out while it was pending: takes part now */
        entry = replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
        if (!entry)
            return replay_no_memory(s, err);
        entry->op.request = number;
    }
    describe_collective(s, entry, step, find_root(s, step, LULL_NONE));
    return request_wait(s, number) ? LULL_OK : replay_no_memory(s, err);
}

static lull_status replay_end_collective(stream_t *s, const struct lull_step *step,
                                         struct lull_error *err)
{
    if (step->collective.request != LULL_NO_REQUEST)
        return end_non_blocking(s, step, err);
    if (step->comm >= s->replay->trace->n_comms)
        return LULL_OK;
    uint32_t comm = lull_comm_canonical(s->replay->trace, step->comm);
    uint64_t *next = lull_hash_add(&s->collectives, &comm, sizeof comm, 0, NULL);
    if (!next)
        return replay_no_memory(s, err);
    uint32_t number = (uint32_t)(*next)++;
    if (lull_is_epoch(s->replay->trace, step, s->replay->n_ranks)) {
        s->phase++;
        s->ordinal = 0;
        s->ends_epoch = s->replay->options.excerpt != NULL;
    }
    if (waits_for_nobody(s, step))
        return LULL_OK;
    uint32_t root = find_root(s, step, number);
    if (takes_no_part(s, step, root))
        return LULL_OK;
    struct entry *entry = replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
    if (!entry)
        return replay_no_memory(s, err);
    describe_collective(s, entry, step, root);
    return LULL_OK;
}

/* ==== messages ================================================================================ */

static uint32_t rank_of(const stream_t *s, int32_t peer)
{
    return peer >= 0 && (uint32_t)peer < s->replay->trace->n_processes ? s->replay->ranks[peer]
                                                                       : LULL_NONE;
}

static void describe_message(const stream_t *s, struct entry *entry, const struct lull_step *step)
{
    entry->op.peer = rank_of(s, step->message.peer);
    entry->op.tag = (uint32_t)step->message.tag;
    entry->op.comm = lull_comm_canonical(s->replay->trace, step->comm);
    entry->op.bytes = step->message.bytes;
}

static bool to_nobody(const stream_t *s, const struct lull_step *step)
{
    return step->message.peer == LULL_PROC_NULL ||
           (step->message.peer >= 0 && rank_of(s, step->message.peer) == LULL_NONE);
}

static bool is_non_blocking(const stream_t *s, const struct lull_step *step)
{
    return step->message.request != LULL_NO_REQUEST || s->call == LULL_CALL_ISEND ||
           s->call == LULL_CALL_ISSEND || s->call == LULL_CALL_IBSEND;
}

static bool is_eager(const stream_t *s, const struct lull_op *op)
{
    const struct lull_network *network = s->replay->options.network;
    if (op->flags & LULL_OP_BUFFERED)
        return true;
    if (!network || s->replay->eager >= network->class->n_parameters)
        return false;
    uint32_t own = s->replay->ranks[s->process];
    enum lull_level level = lull_placement_level(&network->placement, own, op->peer);
    return (double)op->bytes <= network->values[level][s->replay->eager];
}

/* Makes a send buffered, if this is supposed of all sends. Only to be called after what depends on
 * the send as it was measured. */
static void suppose_eager(const stream_t *s, struct entry *entry)
{
    if (s->replay->options.eager_sends)
        entry->op.flags = LULL_OP_BUFFERED;
}

static lull_status push_send(stream_t *s, const struct lull_step *step, struct lull_error *err)
{
    bool open = s->in_call && is_non_blocking(s, step);
    if (to_nobody(s, step))
        return !open || request_add(s, step->message.request, OPEN_NOTHING)
                   ? LULL_OK
                   : replay_no_memory(s, err);
    struct entry *entry = replay_push(s, LULL_OP_SEND, s->call_region, step->time);
    if (!entry)
        return replay_no_memory(s, err);
    describe_message(s, entry, step);
    if (!s->in_call) /* begun before the trace: nobody waits for it */
        return LULL_OK;
    entry->op.request = request_number(s);
    if (step->op == LULL_SEND_SYNCHRONOUS)
        entry->op.flags = LULL_OP_SYNCHRONOUS;
    else if (step->op == LULL_SEND_BUFFERED)
        entry->op.flags = LULL_OP_BUFFERED;
    entry->pending = entry->optional = open && s->withdraws;
    if (!open) {
        bool sends = s->call == LULL_CALL_SEND || s->call == LULL_CALL_BSEND;
        s->sent = sends && is_eager(s, &entry->op);
        suppose_eager(s, entry);
        return request_wait(s, entry->op.request) ? LULL_OK : replay_no_memory(s, err);
    }
    suppose_eager(s, entry);
    uint64_t position = entry_position(s, entry);
    uint32_t number = entry->op.request;
    struct open *fresh = request_add(s, step->message.request, OPEN_SEND);
    if (!fresh)
        return replay_no_memory(s, err);
    fresh->position = position;
    fresh->number = number;
    return LULL_OK;
}

/* Pushes a receive that is posted; step NULL: the tracer has no record of it. */
static lull_status post_receive(stream_t *s, const struct lull_step *step, int64_t measured,
                                struct lull_error *err)
{
    uint64_t request = step ? step->message.request : LULL_NO_REQUEST;
    if (step && step->message.peer == LULL_PROC_NULL)
        return request_add(s, request, OPEN_NOTHING) ? LULL_OK : replay_no_memory(s, err);
    struct open *open = request_add(s, request, OPEN_RECEIVE);
    struct entry *entry = open ? replay_push(s, LULL_OP_RECV, s->call_region, measured) : NULL;
    if (!entry)
        return replay_no_memory(s, err);
    entry->op.request = open->number = request_number(s);
    open->position = entry_position(s, entry);
    entry->pending = !step || step->message.peer < 0 || step->message.tag < 0 ||
                     step->comm >= s->replay->trace->n_comms || s->withdraws;
    if (step && step->comm < s->replay->trace->n_comms)
        describe_message(s, entry, step);
    else
        entry->op.comm = LULL_NONE;
    return LULL_OK;
}

/* A receive is complete; `open` is its request, NULL if it has none that is open. */
static lull_status complete_receive(stream_t *s, struct open *open, const struct lull_step *step,
                                    struct lull_error *err)
{
    struct entry *entry = open ? entry_at(s, open->position) : NULL;
    uint32_t number = open ? open->number : 0;
    bool posted = open && open->position != NO_ENTRY;
    if (open)
        request_remove(s, open);
    if (to_nobody(s, step) || step->message.peer < 0) {
        if (entry && entry->pending) {
            entry->pending = false;
            entry->dropped = true;
            return request_release(s, number) ? LULL_OK : replay_no_memory(s, err);
        }
        return LULL_OK;
    }
    if (!posted) {
        if (!open)
            number = request_number(s);
        entry = replay_push(s, LULL_OP_RECV, s->call_region, step->time);
        if (!entry)
            return replay_no_memory(s, err);
        entry->op.request = number;
        entry->op.flags = s->call == LULL_CALL_RECV ? LULL_OP_BLOCKING : 0;
        entry->pending = true;
    }
    if (entry && entry->pending) {
        describe_message(s, entry, step);
        entry->pending = false;
    }
    return request_wait(s, number) ? LULL_OK : replay_no_memory(s, err);
}

static lull_status receive(stream_t *s, const struct lull_step *step, struct lull_error *err)
{
    struct open *open = NULL;
    if (step->message.request != LULL_NO_REQUEST)
        open = request_find(s, step->message.request);
    else if (s->in_call && (s->call == LULL_CALL_WAIT || s->call == LULL_CALL_WAITALL ||
                            s->call == LULL_CALL_TEST))
        open = request_oldest_receive(s, false);
    if (open && open->kind != OPEN_RECEIVE) {
        request_remove(s, open);
        return LULL_OK;
    }
    return complete_receive(s, open, step, err);
}

static uint32_t process_of(const struct lull_replay *replay, uint32_t rank)
{
    return rank < replay->n_ranks
               ? replay->trace->locations[replay->locations[replay->first_stream[rank]]].process
               : LULL_NONE;
}

/* Fails with LULL_ERR_UNSUPPORTED if the replay covers some processes only: what is asked for
 * follows from the events of all processes. */
static lull_status check_range(const struct lull_replay *replay, struct lull_error *err)
{
    if (replay->reading.range.end == 0)
        return LULL_OK;
    return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: what was received follows from what was sent",
                     replay->trace->path);
}

static lull_status find_unreceived(struct lull_replay *replay,
                                   const struct lull_unreceived **ret_unreceived,
                                   struct lull_error *err)
{
    lull_status status = check_range(replay, err);
    if (status != LULL_OK)
        return status;
    pthread_mutex_lock(&replay->lock);
    if (!replay->unreceived)
        status = lull_unreceived_create(replay->trace, replay->reading.application,
                                        &replay->unreceived, err);
    *ret_unreceived = replay->unreceived;
    pthread_mutex_unlock(&replay->lock);
    return status;
}

/* A posted receive of which nothing more is recorded takes a message that was sent and that no
 * other receive has taken. If there is such a message, *ret_taken is true and the request no longer
 * open. */
static lull_status replay_take_unreceived(stream_t *s, struct open *open, bool *ret_taken,
                                          struct lull_error *err)
{
    struct lull_replay *replay = s->replay;
    struct entry *entry = open->kind == OPEN_RECEIVE ? entry_at(s, open->position) : NULL;
    stream_t *first = replay->streams[replay->first_stream[replay->ranks[s->process]]];
    const struct lull_unreceived *unreceived;
    struct lull_channel channel;
    bool fits;
    *ret_taken = false;
    if (!entry || !entry->pending || entry->op.comm >= replay->trace->n_comms)
        return LULL_OK;
    lull_status status = find_unreceived(replay, &unreceived, err);
    if (status != LULL_OK)
        return status;
    const struct lull_channel wanted = {.source = process_of(replay, entry->op.peer),
                                        .target = s->process,
                                        .comm = entry->op.comm,
                                        .tag = (int32_t)entry->op.tag};
    if (!lull_unreceived_take(unreceived, &wanted, &first->given_up, &channel, &fits))
        return fits ? LULL_OK : replay_no_memory(s, err);
    entry->op.peer = replay->ranks[channel.source];
    entry->op.tag = (uint32_t)channel.tag;
    entry->pending = false;
    request_remove(s, open); /* its number is not freed, because no WAIT ends it */
    *ret_taken = true;
    return LULL_OK;
}

/* The program gives a receive up (MPI_Request_free). If no message came for it, it is left out. */
static lull_status give_up_receive(stream_t *s, struct open *open, struct lull_error *err)
{
    bool taken;
    lull_status status = replay_take_unreceived(s, open, &taken, err);
    return status == LULL_OK && !taken ? request_drop(s, open, err) : status;
}

static lull_status finish_request(stream_t *s, uint64_t request, struct lull_error *err)
{
    struct open *open = request_find(s, request);
    if (!open)
        return LULL_OK;
    bool waits = open->kind == OPEN_SEND && s->call != LULL_CALL_REQUEST_FREE;
    struct entry *entry = entry_at(s, open->position);
    if (entry && entry->optional)
        entry->pending = false;
    uint32_t number = open->number;
    request_remove(s, open);
    return !waits || request_wait(s, number) ? LULL_OK : replay_no_memory(s, err);
}

/* ---- what was not recorded ----------------------------------------------------------------- */

/* Completes receives at the end of a wait in a trace that does not tell which ones it completed
 * (lost.h). MPI_Waitall drops those for which no message is left. */
static lull_status complete_lost_receives(stream_t *s, const struct lull_step *call,
                                          struct lull_error *err)
{
    struct lull_replay *replay = s->replay;
    const struct lull_lost_send *sends;
    uint32_t open = 0, count = 0;
    for (uint32_t i = 0; i < s->n_open; i++)
        open += s->open[i].kind == OPEN_RECEIVE && s->open[i].request != LULL_NO_REQUEST;
    if (open == 0)
        return LULL_OK;
    struct lull_lost_wait wait = {.process = s->process,
                                  .epoch = s->phase,
                                  .time = call->time,
                                  .most = call->op == LULL_CALL_WAITALL ? open : 1};
    lull_status status = check_range(replay, err);
    if (status != LULL_OK)
        return status;
    pthread_mutex_lock(&replay->lock);
    if (!replay->lost)
        status = lull_lost_create(replay->trace, replay->reading.application, &replay->lost, err);
    if (status == LULL_OK)
        count = lull_lost_take(replay->lost, &wait, &sends);
    pthread_mutex_unlock(&replay->lock);
    for (uint32_t i = 0; i < count && status == LULL_OK; i++) {
        struct lull_step step = {
            .time = call->call_began, .kind = LULL_STEP_RECV, .comm = sends[i].comm};
        step.message.peer = (int32_t)sends[i].source;
        step.message.tag = sends[i].tag;
        step.message.bytes = sends[i].bytes;
        status = complete_receive(s, request_oldest_receive(s, true), &step, err);
    }
    for (uint32_t i = count; i < open && call->op == LULL_CALL_WAITALL && status == LULL_OK; i++)
        status = request_drop(s, request_oldest_receive(s, true), err);
    return status;
}

/* Completes the oldest open send, or all of them, where the trace does not tell when sends were
 * complete. */
static lull_status finish_sends(stream_t *s, bool all, struct lull_error *err)
{
    struct open *open;
    while ((open = request_oldest(s, OPEN_SEND)) != NULL) {
        uint32_t number = open->number;
        request_remove(s, open);
        if (!request_wait(s, number))
            return replay_no_memory(s, err);
        if (!all)
            break;
    }
    return LULL_OK;
}

/* Supposes what a call did of which nothing was recorded; called when it ends. */
static lull_status replay_guess(stream_t *s, const struct lull_step *call, struct lull_error *err)
{
    bool waits = call->op == LULL_CALL_WAIT || call->op == LULL_CALL_WAITALL;
    lull_status status = LULL_OK;
    if (call->op == LULL_CALL_IRECV && !s->posted && !s->received)
        return post_receive(s, NULL, call->call_began, err);
    if (waits && !s->has_records && !lull_survey_completes_receives(s->replay->survey))
        status = complete_lost_receives(s, call, err);
    bool some = s->n_call_waits > 0;
    if (status == LULL_OK && waits && !lull_survey_completes_sends(s->replay->survey) &&
        (call->op == LULL_CALL_WAITALL || !some))
        status = finish_sends(s, call->op == LULL_CALL_WAITALL, err);
    return status;
}

/* An operation of message passing. */
static lull_status replay_take_operation(stream_t *s, const struct lull_step *step,
                                         struct lull_error *err)
{
    switch (step->kind) {
    case LULL_STEP_SEND:
        s->has_records = true;
        return push_send(s, step, err);
    case LULL_STEP_SEND_DONE:
        s->has_records = true;
        return finish_request(s, step->message.request, err);
    case LULL_STEP_RECV_POST:
        s->posted = true;
        return post_receive(s, step, step->time, err);
    case LULL_STEP_RECV:
        s->has_records = s->received = true;
        return receive(s, step, err);
    case LULL_STEP_CANCEL:
    case LULL_STEP_FREE: {
        struct open *open = request_find(s, step->message.request);
        if (!open)
            return LULL_OK;
        return step->kind == LULL_STEP_FREE ? give_up_receive(s, open, err)
                                            : request_drop(s, open, err);
    }
    case LULL_STEP_COLLECTIVE_BEGIN:
        return replay_begin_collective(s, step, err);
    case LULL_STEP_COLLECTIVE_END:
        s->has_records = true;
        return replay_end_collective(s, step, err);
    default:
        return LULL_OK;
    }
}
