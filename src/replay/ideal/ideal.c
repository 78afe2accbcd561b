#include "base/text.h"
#include "replay/ideal/run.h"

#include <stdlib.h>

lull_status lull_ideal_no_memory(struct ideal *ideal)
{
    return lull_fail(ideal->err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                     ideal->trace->path);
}

/* Ends the replay with a reason instead of a number. */
lull_status lull_ideal_impossible(struct ideal *ideal, const char *absent, const char *detail)
{
    ideal->result->absent = absent;
    ideal->result->detail = detail;
    return LULL_ERR_CANCELLED;
}

const char *lull_ideal_place(const struct ideal *ideal, const struct stream *stream, int64_t time)
{
    return lull_arena_printf(ideal->arena, "rank %u at %.9g s",
                             ideal->trace->processes[stream->process].rank, 1e-9 * (double)time);
}

/* ---- the stream that lags ------------------------------------------------------------------ */

static void push(struct ideal *ideal, uint32_t index)
{
    struct entry entry = {lull_replay_reader_now(ideal->streams[index].reader), index};
    uint32_t at = ideal->n_heap++;
    for (; at > 0 && ideal->heap[(at - 1) / 2].time > entry.time; at = (at - 1) / 2)
        ideal->heap[at] = ideal->heap[(at - 1) / 2];
    ideal->heap[at] = entry;
}

static uint32_t pop(struct ideal *ideal)
{
    struct entry *heap = ideal->heap;
    uint32_t top = heap[0].stream, n = --ideal->n_heap, at = 0;
    struct entry last = heap[n];
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1].time < heap[child].time;
        if (heap[child].time >= last.time)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

void lull_ideal_wake(struct ideal *ideal, uint32_t index)
{
    ideal->streams[index].blocked = RUNNABLE;
    push(ideal, index);
}

/* ---- one stream ---------------------------------------------------------------------------- */

/* Behind the analysed span nothing takes time, and nothing in it waits for what comes then; except
 * for the arrival of a call that reaches beyond. */
static bool is_beyond(const struct ideal *ideal, const struct stream *stream,
                      const struct lull_replay_item *item)
{
    if (!ideal->options->has_span)
        return false;
    return item->kind == LULL_ITEM_CALL_END ? item->end > ideal->codes->to
                                            : !stream->in_call && item->begin >= ideal->codes->to;
}

/* A fork or join: whether all threads have come to it; else the stream is blocked. */
static bool meet(struct ideal *ideal, struct stream *stream)
{
    struct meeting *meeting = &ideal->meetings[stream->process];
    if (meeting->size < 2)
        return true;
    if (!stream->meets) {
        stream->meets = true;
        meeting->arrived++;
        meeting->latest = stream->time > meeting->latest ? stream->time : meeting->latest;
        if (meeting->arrived == meeting->size) {
            meeting->arrived = 0;
            meeting->over++;
            meeting->left_at = meeting->latest;
            for (uint32_t s = ideal->first_stream[stream->process];
                 s < ideal->first_stream[stream->process + 1]; s++)
                if (ideal->streams[s].blocked == ON_THREADS)
                    lull_ideal_wake(ideal, s);
        }
    }
    if (meeting->over == stream->meetings) {
        stream->blocked = ON_THREADS;
        return false;
    }
    stream->meetings++;
    stream->meets = false;
    stream->time = meeting->left_at > stream->time ? meeting->left_at : stream->time;
    return true;
}

/* *ret_stopped: the stream has to wait within this item, and takes it up again later. */
static lull_status take_item(struct ideal *ideal, struct stream *stream,
                             const struct lull_replay_item *item, bool *ret_stopped)
{
    lull_status status = LULL_OK;
    *ret_stopped = is_beyond(ideal, stream, item);
    if (*ret_stopped) {
        stream->blocked = ENDED;
        return LULL_OK;
    }
    switch (item->kind) {
    case LULL_ITEM_BURST:
    case LULL_ITEM_FIXED:
        stream->time += item->ns;
        return LULL_OK;
    case LULL_ITEM_CALL_BEGIN:
        stream->in_call = true;
        stream->call_began = item->begin;
        stream->completed = false;
        stream->done = stream->time;
        return LULL_OK;
    case LULL_ITEM_CALL_END:
        if (stream->in_call)
            status = lull_ideal_look_for_lost(ideal, stream, item);
        stream->in_call = false;
        stream->stopped_at = item->begin;
        *ret_stopped = status == LULL_OK && !lull_ideal_wait(ideal, stream);
        return status;
    case LULL_ITEM_EVENT:
        if (stream->in_call)
            return lull_ideal_event(ideal, stream, item->event);
        if (stream->n_pending == 0) { /* not in a call: not taken up again */
            stream->done = stream->time;
            status = lull_ideal_event(ideal, stream, item->event);
        }
        stream->stopped_at = item->begin;
        *ret_stopped = status == LULL_OK && !lull_ideal_wait(ideal, stream);
        return status;
    default: /* FORK, JOIN */
        stream->stopped_at = item->begin;
        *ret_stopped = !meet(ideal, stream);
        return LULL_OK;
    }
}

static lull_status run_stream(struct ideal *ideal, uint32_t index)
{
    struct stream *stream = &ideal->streams[index];
    if (stream->at == stream->n_items) {
        stream->at = 0;
        lull_status status = lull_replay_reader_next(stream->reader, stream->items, LULL_IDEAL_ROOM,
                                                     &stream->n_items, ideal->err);
        if (status != LULL_OK)
            return status;
        if (stream->n_items == 0) {
            stream->blocked = ENDED;
            return LULL_OK;
        }
    }
    for (; stream->at < stream->n_items; stream->at++) {
        bool stopped;
        lull_status status = take_item(ideal, stream, &stream->items[stream->at], &stopped);
        if (status != LULL_OK || stopped)
            return status;
    }
    push(ideal, index);
    return LULL_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Whether a thread has a stream: masters, and those that communicate. */
static bool has_stream(const struct ideal *ideal, uint32_t location)
{
    const struct lull_location *l = &ideal->trace->locations[location];
    const struct lull_process *p = &ideal->trace->processes[l->process];
    return p->application == ideal->options->application && l->kind == LULL_LOCATION_THREAD &&
           (location == p->first_location ||
            (ideal->options->callers && ideal->options->callers[location]));
}

static lull_status open_stream(struct ideal *ideal, uint32_t location)
{
    struct stream *stream = &ideal->streams[ideal->n_streams];
    stream->process = ideal->trace->locations[location].process;
    ideal->meetings[stream->process].size +=
        ideal->trace->locations[location].role != LULL_THREAD_FREE;
    lull_status status =
        lull_replay_reader_open(ideal->codes, location, &stream->reader, ideal->err);
    if (status == LULL_OK)
        push(ideal, ideal->n_streams++);
    return status;
}

static lull_status open_streams(struct ideal *ideal)
{
    const struct lull_trace *trace = ideal->trace;
    uint32_t n = 0;
    ideal->first_stream = calloc(trace->n_processes + (size_t)1, sizeof *ideal->first_stream);
    ideal->meetings = calloc(trace->n_processes + (size_t)1, sizeof *ideal->meetings);
    if (!ideal->first_stream || !ideal->meetings)
        return lull_ideal_no_memory(ideal);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (has_stream(ideal, l)) {
            ideal->first_stream[trace->locations[l].process + 1]++;
            ideal->n_ranks += trace->processes[trace->locations[l].process].first_location == l;
            n++;
        }
    for (uint32_t p = 0; p < trace->n_processes; p++)
        ideal->first_stream[p + 1] += ideal->first_stream[p];
    ideal->streams = calloc(n + (size_t)1, sizeof *ideal->streams);
    ideal->heap = calloc(n + (size_t)1, sizeof *ideal->heap);
    ideal->gatherings = lull_gatherings_create(trace);
    if (!ideal->streams || !ideal->heap || !ideal->gatherings)
        return lull_ideal_no_memory(ideal);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        lull_status status = has_stream(ideal, l) ? open_stream(ideal, l) : LULL_OK;
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static void close_all(struct ideal *ideal)
{
    for (uint32_t s = 0; ideal->streams && s < ideal->n_streams; s++) {
        lull_replay_reader_close(ideal->streams[s].reader);
        free(ideal->streams[s].pending);
        free(ideal->streams[s].open);
    }
    free(ideal->streams);
    free(ideal->heap);
    free(ideal->first_stream);
    free(ideal->meetings);
    lull_messages_free(&ideal->messages);
    lull_gatherings_destroy(ideal->gatherings);
    lull_lost_destroy(ideal->lost);
}

static void tell(struct ideal *ideal, uint32_t stream)
{
    if (!ideal->options->progress || ideal->steps++ % 4096 != 0)
        return;
    int64_t now = lull_replay_reader_now(ideal->streams[stream].reader);
    ideal->options->progress(ideal->options->progress_context,
                             (double)now / (double)(ideal->trace->duration + 1));
}

static lull_status run_all(struct ideal *ideal)
{
    while (ideal->n_heap > 0) {
        uint32_t index = pop(ideal);
        tell(ideal, index);
        lull_status status = run_stream(ideal, index);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* Nobody can go on: what the first of them waits for is not in the trace. */
static lull_status explain(struct ideal *ideal, const struct stream *stream)
{
    const char *place = lull_ideal_place(ideal, stream, stream->stopped_at);
    if (stream->blocked == ON_MESSAGE &&
        ideal->trace->processes[stream->waits_for.source].application !=
            ideal->options->application)
        return lull_ideal_impossible(
            ideal, "messages come from another application",
            lull_arena_printf(ideal->arena,
                              "%s waits for a message of '%s', which "
                              "belongs to another application",
                              place, ideal->trace->processes[stream->waits_for.source].name));
    if (stream->blocked == ON_MESSAGE)
        return lull_ideal_impossible(
            ideal, "messages were not recorded",
            lull_arena_printf(ideal->arena,
                              "%s waits for a message of rank %u with tag %d that is "
                              "not sent in this trace",
                              place, ideal->trace->processes[stream->waits_for.source].rank,
                              stream->waits_for.tag));
    if (stream->blocked == ON_THREADS)
        return lull_ideal_impossible(
            ideal, "the threads do not meet",
            lull_arena_printf(ideal->arena, "%s waits for threads of its process", place));
    const struct pending *pending = &stream->pending[0];
    return lull_ideal_impossible(
        ideal, "collectives were not recorded",
        lull_arena_printf(ideal->arena,
                          "%s waits in %s on '%s' for processes that do not come in "
                          "this trace",
                          place, lull_collective_name(pending->gathering->op),
                          ideal->trace->comms[pending->arrival.comm].name));
}

/* Who waits for a message says more than who waits for somebody who waits for a message. */
static bool comes_before(const struct stream *a, const struct stream *b)
{
    if (a->blocked != b->blocked)
        return a->blocked < b->blocked;
    return a->stopped_at < b->stopped_at;
}

static void add_lost(struct ideal *ideal, const struct stream *stream)
{
    int64_t lost = 0;
    const char *name = NULL;
    for (int call = 0; call < LULL_REPLAY_CALLS; call++) {
        bool to_nobody = call >= LULL_CALL_SEND && call <= LULL_CALL_SENDRECV;
        if (stream->lost_ns[call] == 0 || (to_nobody && ideal->recorded[call]))
            continue;
        lost += stream->lost_ns[call];
        name = ideal->lost_name[call];
    }
    if (lost > ideal->result->lost_ns) {
        ideal->result->lost_ns = lost;
        ideal->result->lost = name;
    }
}

static lull_status conclude(struct ideal *ideal)
{
    struct lull_ideal_result *result = ideal->result;
    const struct stream *first = NULL;
    for (uint32_t s = 0; s < ideal->n_streams; s++) {
        const struct stream *stream = &ideal->streams[s];
        if (stream->blocked != ENDED && (!first || comes_before(stream, first)))
            first = stream;
        result->runtime = stream->time > result->runtime ? stream->time : result->runtime;
        add_lost(ideal, stream);
    }
    if (first)
        return explain(ideal, first);
    result->unmatched_sends = ideal->messages.count;
    int64_t span = ideal->codes->to - ideal->codes->from;
    char lost[32];
    if (ideal->n_ranks > 1 && /* there is somebody to wait for */
        (double)result->lost_ns > LULL_IDEAL_LOST_MOST * (double)span) {
        result->incomplete = true;
        return lull_ideal_impossible(
            ideal, "records of MPI calls are missing",
            lull_arena_printf(ideal->arena,
                              "it is not recorded what calls such as %s waited for, in which a "
                              "thread spent %s",
                              result->lost, lull_format_time(result->lost_ns, lost, sizeof lost)));
    }
    return LULL_OK;
}

lull_status lull_ideal_runtime(const struct lull_trace *trace,
                               const struct lull_ideal_options *options, struct lull_arena *arena,
                               struct lull_ideal_result *ret_result, struct lull_error *err)
{
    struct lull_ideal_result result = {0};
    struct ideal ideal = {
        .trace = trace, .options = options, .arena = arena, .result = &result, .err = err};
    lull_status status = lull_replay_codes_create(trace, arena, &ideal.codes, err);
    if (status != LULL_OK)
        return status;
    if (options->has_span) {
        ideal.codes->from = options->from > 0 ? options->from : 0;
        ideal.codes->to = options->to < trace->duration ? options->to : trace->duration;
    }
    status = open_streams(&ideal);
    if (status == LULL_OK)
        status = run_all(&ideal);
    if (status == LULL_OK)
        status = conclude(&ideal);
    close_all(&ideal);
    if (status == LULL_ERR_CANCELLED && result.absent)
        status = LULL_OK;
    if (status == LULL_OK)
        *ret_result = result;
    return status;
}
