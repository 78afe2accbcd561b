/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps on their way to the consumers: they gather in an array of the worker, and are handed over
 * when it is full and at the end of each block of events. */
#include "activity/interpreter.h"
#include "base/array.h"

#include <string.h>

void lull_emit_deliver(struct lull_interpreter *it)
{
    struct lull_emitter *out = it->out;
    if (out->n_consumers == 0)
        return;
    const struct lull_steps steps = {.location = it->location,
                                     .count = (uint32_t)out->count,
                                     .steps = out->steps,
                                     .ledger = &it->ledger,
                                     .channels = it->channels};
    const uint64_t kinds = out->kinds;
    out->count = 0;
    out->kinds = 0;
    const struct lull_consumer *consumer = out->consumers, *end = consumer + out->n_consumers;
    for (; consumer < end && out->status == LULL_OK; consumer++)
        if (consumer->wants_ledger || consumer->wants & kinds ||
            (consumer->abreast && steps.count > 0))
            out->status = consumer->steps(consumer->context, out->worker, &steps, out->err);
}

/* Makes room for one more step. Without memory the last step is overwritten and out->status says
 * so; this works because the owner begins with room for some steps. */
void lull_emit_make_room(struct lull_interpreter *it)
{
    struct lull_emitter *out = it->out;
    if (out->n_consumers > 0) {
        lull_emit_deliver(it);
        return;
    }
    if (!lull_array_reserve(&out->steps, &out->capacity, out->count + 1, sizeof *out->steps)) {
        out->status =
            lull_fail(out->err, LULL_ERR_MEMORY, "not enough memory for %zu steps", out->count + 1);
        out->count--;
    }
}

void lull_emit_span(struct lull_interpreter *it)
{
    int64_t begin = it->span.begin;
    it->span.begin = it->ledger.now;
    if (begin == it->ledger.now || it->span.slot == NO_STATE)
        return;
    struct lull_step *step = lull_emit(it, LULL_STEP_SPAN, begin, lull_kept(it));
    step->activity = ACTIVITY_OF(it->span.slot);
    step->parallel = it->span.slot >= LULL_SLOT_ACTIVITIES;
    step->region = it->span.region;
    step->span.end = it->ledger.now;
    step->span.user = it->span.user;
    step->span.mark = it->span.mark;
    if (it->crew)
        lull_crew_step(it, *step);
}

void lull_emit_stretch(struct lull_interpreter *it)
{
    int64_t begin = it->stretch.begin;
    it->stretch.begin = it->ledger.now;
    if (begin == it->ledger.now)
        return;
    struct lull_step *step = lull_emit(it, LULL_STEP_STRETCH, begin, lull_kept(it));
    step->op = it->stretch.kind;
    step->span.end = it->ledger.now;
    step->span.user = it->stretch.user;
    step->span.mark = it->stretch.mark;
}

void lull_emit_phase(struct lull_interpreter *it)
{
    const int64_t begin = it->phase.begin;
    it->phase.begin = it->ledger.now;
    if (begin == it->ledger.now)
        return;
    struct lull_step *step = lull_emit(it, LULL_STEP_PHASE, begin, 0);
    step->activity = it->phase.activity;
    step->region = it->phase.region;
    step->phase.end = it->ledger.now;
    step->phase.number = it->phase.refers.number;
    step->phase.bytes = it->phase.refers.bytes;
    step->phase.stream = it->phase.refers.stream;
    step->phase.call = it->phase.refers.call;
    step->peer = it->phase.refers.peer;
}

void lull_emit_parallel(struct lull_interpreter *it, uint8_t kind)
{
    if (!lull_wants(it, kind) || !it->cpu)
        return;
    if (kind != LULL_STEP_TICK)
        lull_emit_time(it);
    int64_t kept = it->shared->wants & LULL_STEPS_OF_MPI ? lull_kept(it) : 0;
    struct lull_step *step = lull_emit(it, kind, it->ledger.now, kept);
    step->region = it->parallel_region;
    step->parallel = 1;
    step->forked = it->ledger.forked;
    step->parallel_ns = NULL;
    if (it->out->parallel_ns && kind != LULL_STEP_FORK)
        step->parallel_ns =
            memcpy(it->out->parallel_ns[step - it->out->steps],
                   &it->ledger.ns[LULL_SLOT_ACTIVITIES], sizeof *it->out->parallel_ns);
    if (it->crew)
        lull_crew_step(it, *step);
}

/* ---- operations ---------------------------------------------------------------------------- */

static const uint8_t kind_of_event[LULL_EVENT_KINDS] = {
    [LULL_EVENT_SEND] = LULL_STEP_SEND,
    [LULL_EVENT_SEND_DONE] = LULL_STEP_SEND_DONE,
    [LULL_EVENT_RECV_POST] = LULL_STEP_RECV_POST,
    [LULL_EVENT_RECV] = LULL_STEP_RECV,
    [LULL_EVENT_REQUEST_TEST] = LULL_STEP_TEST,
    [LULL_EVENT_REQUEST_CANCELLED] = LULL_STEP_CANCEL,
    [LULL_EVENT_REQUEST_FREED] = LULL_STEP_FREE,
    [LULL_EVENT_COLLECTIVE_BEGIN] = LULL_STEP_COLLECTIVE_BEGIN,
    [LULL_EVENT_COLLECTIVE_END] = LULL_STEP_COLLECTIVE_END,
    [LULL_EVENT_RMA] = LULL_STEP_ONE_SIDED,
    [LULL_EVENT_IO] = LULL_STEP_IO,
    [LULL_EVENT_SUBMIT] = LULL_STEP_SUBMIT,
    [LULL_EVENT_DEPEND] = LULL_STEP_DEPEND,
    [LULL_EVENT_DEVICE_WAIT] = LULL_STEP_DEVICE_WAIT,
    [LULL_EVENT_LOCK_ACQUIRE] = LULL_STEP_LOCK_ACQUIRE,
    [LULL_EVENT_LOCK_RELEASE] = LULL_STEP_LOCK_RELEASE,
    [LULL_EVENT_MARKER] = LULL_STEP_MARKER,
    [LULL_EVENT_SAMPLE] = LULL_STEP_SAMPLE,
    [LULL_EVENT_THREAD_CREATE] = LULL_STEP_THREAD_CREATE,
    [LULL_EVENT_THREAD_BEGIN] = LULL_STEP_THREAD_BEGIN,
    [LULL_EVENT_THREAD_END] = LULL_STEP_THREAD_END,
    [LULL_EVENT_THREAD_WAIT_BEGIN] = LULL_STEP_THREAD_WAIT_BEGIN,
    [LULL_EVENT_THREAD_WAIT_END] = LULL_STEP_THREAD_WAIT_END,
};

static uint32_t find_channel(struct lull_interpreter *it, const struct lull_event *event)
{
    if (event->message.peer < 0)
        return LULL_NONE;
    bool sends = event->kind == LULL_EVENT_SEND;
    uint32_t peer = (uint32_t)event->message.peer;
    const struct lull_channel channel = {.source = sends ? it->process : peer,
                                         .target = sends ? peer : it->process,
                                         .comm = lull_comm_canonical(it->shared->trace, event->id),
                                         .tag = event->message.tag};
    uint32_t index = lull_channels_find(it->channels, &channel);
    if (index == LULL_NONE)
        it->out->status = lull_fail(it->out->err, LULL_ERR_MEMORY,
                                    "%s: not enough memory for channels", it->shared->trace->path);
    return index;
}

/* Whether an event becomes a step of its own. In a pass with CALLs the begin of a blocking
 * collective operation does not, because its end says more. */
static inline bool is_told(const struct lull_interpreter *it, const struct lull_event *event,
                           uint8_t kind)
{
    return lull_wants(it, kind) && !(it->brief && kind == LULL_STEP_COLLECTIVE_BEGIN &&
                                     event->collective.request == LULL_NO_REQUEST);
}

/* Notes an event that becomes no step of its own, for the CALL or `posts` that tells it. */
static void count_operation(struct lull_interpreter *it, const struct lull_event *event)
{
    it->sends |= event->kind == LULL_EVENT_SEND_DONE;
    it->told |= event->kind == LULL_EVENT_COLLECTIVE_BEGIN;
    if (event->kind != LULL_EVENT_RECV_POST || ++it->posts < LULL_STEP_MOST_POSTS)
        return;
    lull_emit(it, LULL_STEP_RECV_POST, event->time, it->call_kept)->posts = it->posts;
    it->posts = 0;
}

static void tell_posts(struct lull_interpreter *it, struct lull_step *step)
{
    if (!(LULL_STEPS_OF_MPI >> step->kind & 1))
        return;
    if (step->kind == LULL_STEP_SEND)
        it->sends = true;
    else
        it->told = true;
    if (step->kind == LULL_STEP_COLLECTIVE_BEGIN)
        return;
    step->posts = it->posts;
    it->posts = 0;
}

/* The mode of a send, from the event or else from the function that sends. */
static uint8_t mode_of_send(const struct lull_interpreter *it, const struct lull_event *event)
{
    static const uint8_t modes[LULL_CALLS] = {[LULL_CALL_SSEND] = LULL_SEND_SYNCHRONOUS,
                                              [LULL_CALL_ISSEND] = LULL_SEND_SYNCHRONOUS,
                                              [LULL_CALL_BSEND] = LULL_SEND_BUFFERED,
                                              [LULL_CALL_IBSEND] = LULL_SEND_BUFFERED};
    if (event->op != LULL_SEND_STANDARD || it->call_region == LULL_NONE)
        return event->op;
    return modes[it->codes[it->call_region].call];
}

static uint64_t believe(const struct lull_interpreter *it, uint64_t bytes)
{
    return lull_believed_bytes(it->shared->trace, it->location, bytes);
}

static void fill_sample(const struct lull_interpreter *it, const struct lull_event *event,
                        struct lull_step *step)
{
    const struct frame *top = it->depth > 0 ? &it->stack[it->depth - 1] : NULL;
    step->activity = ACTIVITY_OF(it->slot);
    step->region = top ? top->region : LULL_NONE;
    step->object = event->id;
    step->sample.offset = event->sample.offset;
    step->sample.weight = event->sample.weight;
    step->sample.number = event->sample.number;
    step->sample.user = top ? top->user : LULL_NONE;
    step->sample.locked = (top && top->locked) || it->locks > 0;
}

/* Which operation a device stream runs, or which one the open call waits for. */
static void note_for_phase(struct lull_interpreter *it, const struct lull_event *event)
{
    const bool waits = event->kind == LULL_EVENT_DEVICE_WAIT;
    const bool numbered = !waits && event->operation.sequence != LULL_NO_SEQUENCE;
    const uint32_t call = it->depth > 0 ? it->stack[it->depth - 1].region : LULL_NONE;
    it->refers = (struct reference){
        .number = event->operation.number,
        .bytes = waits ? 0 : event->operation.bytes,
        .stream = waits && event->operation.number == 0 ? event->operation.location
                  : numbered ? (uint32_t)(event->operation.sequence % LULL_NONE)
                             : LULL_NONE,
        .call = waits ? call : event->id,
        .peer = waits ? LULL_ANY : event->operation.peer,
        .serial = it->refers.serial};
}

void lull_emit_operation(struct lull_interpreter *it, const struct lull_event *event, int64_t kept)
{
    if (event->kind == LULL_EVENT_OPERATION || event->kind == LULL_EVENT_DEVICE_WAIT)
        note_for_phase(it, event);
    if (event->kind == LULL_EVENT_OPERATION)
        return;
    uint8_t kind = kind_of_event[event->kind];
    if (!is_told(it, event, kind)) {
        if (it->brief)
            count_operation(it, event);
        return;
    }
    if ((kind == LULL_STEP_SUBMIT || kind == LULL_STEP_DEVICE_WAIT) && it->device_stretches)
        lull_emit_stretch(it);
    if (LULL_STEP_MASK(kind) & LULL_STEPS_OF_THREADS)
        lull_emit_time(it);
    uint32_t channel =
        kind == LULL_STEP_SEND || kind == LULL_STEP_RECV ? find_channel(it, event) : LULL_NONE;
    struct lull_step *step =
        lull_emit(it, kind, event->time, it->brief && it->mpi_depth > 0 ? it->call_kept : kept);
    if (it->brief)
        tell_posts(it, step);
    step->op = kind == LULL_STEP_SEND ? mode_of_send(it, event) : event->op;
    step->parallel = it->parallel_depth > 0;
    step->region = it->call_region;
    step->comm = event->id;
    step->channel = channel;
    switch (kind) {
    case LULL_STEP_COLLECTIVE_BEGIN:
    case LULL_STEP_COLLECTIVE_END:
        step->collective.sent = believe(it, event->collective.sent);
        step->collective.received = believe(it, event->collective.received);
        step->collective.request = event->collective.request;
        step->collective.root = event->collective.root;
        break;
    case LULL_STEP_ONE_SIDED:
    case LULL_STEP_IO:
        step->transfer.bytes = believe(it, event->transfer.bytes);
        step->transfer.target = event->transfer.target;
        break;
    case LULL_STEP_DEPEND:
        step->depend.number = event->operation.number;
        step->depend.other = event->operation.other;
        break;
    case LULL_STEP_SUBMIT:
        step->number = event->operation.number;
        break;
    case LULL_STEP_DEVICE_WAIT:
        step->phase.number = event->operation.number;
        step->phase.stream = event->operation.number == 0 ? event->operation.location : LULL_NONE;
        break;
    case LULL_STEP_LOCK_ACQUIRE:
    case LULL_STEP_LOCK_RELEASE:
    case LULL_STEP_THREAD_CREATE:
    case LULL_STEP_THREAD_BEGIN:
    case LULL_STEP_THREAD_END:
        step->number = event->number;
        break;
    case LULL_STEP_SAMPLE:
        fill_sample(it, event, step);
        break;
    case LULL_STEP_MARKER:
        step->marker = event->id;
        step->number = event->number;
        break;
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        step->meeting.number = event->meeting.number;
        step->meeting.location = event->meeting.location;
        step->meeting.threads = event->meeting.threads;
        break;
    default:
        step->message.bytes = believe(it, event->message.bytes);
        step->message.request = event->message.request;
        step->message.peer = event->message.peer;
        step->message.tag = event->message.tag;
    }
    if (it->crew)
        lull_crew_step(it, *step);
}
