#include "replay/ideal/share.h"

#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/epochs.h"

#include <string.h>

/* ==== shares ================================================================================== */

void lull_share_fail(struct share *share, lull_status status, const struct lull_error *err)
{
    if (share->status != LULL_OK)
        return;
    share->status = status;
    share->error = *err;
}

void lull_share_no_memory(struct share *share)
{
    struct lull_error err;
    lull_fail(&err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
              share->ideal->trace->path);
    lull_share_fail(share, LULL_ERR_MEMORY, &err);
}

struct share *lull_share_create(struct lull_ideal *ideal, unsigned index)
{
    struct share *share = lull_alloc_apart(sizeof *share);
    if (!share)
        return NULL;
    share->ideal = ideal;
    share->index = index;
    pthread_mutex_init(&share->lock, NULL);
    pthread_mutex_init(&share->evaluation, NULL);
    share->circles = calloc(ideal->trace->n_comms + (size_t)1, sizeof *share->circles);
    share->outboxes = calloc(ideal->n_shares, sizeof *share->outboxes);
    share->ports = calloc(ideal->n_shares, sizeof *share->ports);
    if (share->circles && share->outboxes && share->ports)
        return share;
    lull_share_destroy(share);
    return NULL;
}

static void free_batch_list(struct batch *batch)
{
    for (struct batch *next; batch; batch = next) {
        next = batch->next;
        free(batch);
    }
}

static void free_batches(struct share *share)
{
    free_batch_list(share->inbox);
    free_batch_list(share->spare);
    for (unsigned s = 0; s < share->ideal->n_shares; s++) {
        if (share->outboxes)
            free(share->outboxes[s].batch);
        if (share->ports)
            free(share->ports[s].queues);
    }
    free(share->outboxes);
    free(share->ports);
}

static void channels_free(struct share *share);

void lull_share_destroy(struct share *share)
{
    if (!share)
        return;
    lull_share_drop_notes(share);
    for (struct note_block *block = share->pool.free, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free_batches(share);
    channels_free(share);
    lull_gather_free(share);
    free(share->epochs);
    lull_ahead_free(share);
    pthread_mutex_destroy(&share->lock);
    pthread_mutex_destroy(&share->evaluation);
    free(share);
}

/* ---- processes and streams ----------------------------------------------------------------- */

bool lull_share_is_crew(const struct lull_ideal *ideal, uint32_t process)
{
    return ideal->trace->processes[process].n_threads > 1 && !ideal->options->masters_only &&
           !ideal->presumes_masters;
}

static struct stream *create_stream(struct share *share, struct process *process, uint32_t location)
{
    const struct lull_trace *trace = share->ideal->trace;
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        lull_share_no_memory(share);
        return NULL;
    }
    stream->process = process;
    stream->location = location;
    stream->reader = share->ideal->readers[lull_pass_worker_of(
        trace, share->ideal->reading->range, share->ideal->n_readers, process->index)];
    stream->calls = trace->processes[process->index].first_location == location;
    stream->follows = !stream->calls && trace->locations[location].role != LULL_THREAD_FREE;
    /* it may meet the master inside a call, or options->message asks when calls began */
    stream->tells_calls = stream->follows || share->ideal->options->message;
    share->ideal->streams[location] = stream;
    return stream;
}

struct process *lull_share_process(struct share *share, uint32_t index)
{
    struct lull_ideal *ideal = share->ideal;
    struct process *process = ideal->processes[index];
    if (process)
        return process;
    process = calloc(1, sizeof *process);
    if (!process) {
        lull_share_no_memory(share);
        return NULL;
    }
    process->index = index;
    process->first_member = LULL_NONE;
    ideal->processes[index] = process;
    if (lull_share_is_crew(ideal, index))
        lull_crew_create(share, process);
    return process;
}

struct stream *lull_share_stream(struct share *share, uint32_t location)
{
    struct lull_ideal *ideal = share->ideal;
    if (ideal->streams[location])
        return ideal->streams[location];
    struct process *process = /* if it is new, its crew is made with it, with all streams */
        lull_share_process(share, ideal->trace->locations[location].process);
    if (!process || ideal->streams[location])
        return ideal->streams[location];
    return create_stream(share, process, location);
}

void lull_share_drop_notes(struct share *share)
{
    const struct lull_ideal *ideal = share->ideal;
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        struct stream *stream = ideal->streams[l];
        if (!stream || ideal->share_of[stream->process->index] != share->index)
            continue;
        for (struct stream *at = stream; at; at = at == stream ? at->first_tail : at->next_tail)
            while (!lull_notes_empty(&at->notes))
                lull_notes_pop(&share->pool, &at->notes);
    }
}

/* ---- going on ------------------------------------------------------------------------------ */

void lull_share_ready(struct share *share, struct stream *stream)
{
    stream->next_ready = share->ready;
    share->ready = stream;
}

void lull_share_run(struct share *share)
{
    while (share->ready && share->status == LULL_OK) {
        struct stream *stream = share->ready;
        share->ready = stream->next_ready;
        lull_ideal_stream_resume(share, stream);
    }
}

/* ==== channels ================================================================================ */

/* Tells the share of the receiver of a channel, before the first message, and gives it a port. */
static bool introduce_channel(struct share *share, struct lull_match_queue *queue,
                              const struct lull_channel *channel)
{
    struct letter *letter = lull_post(share, queue->holder, LETTER_CHANNEL);
    if (!letter)
        return false;
    queue->port = share->ports[queue->holder].given++;
    letter->a = queue->port;
    letter->b = channel->source;
    letter->c = channel->target;
    letter->time = channel->comm;
    letter->measured = channel->tag;
    return true;
}

static bool open_queue(struct share *share, uint32_t index, const struct lull_channel *channel)
{
    struct lull_match_queue *queue = &share->queues.all[index];
    const uint16_t holder = share->ideal->share_of[channel->target];
    queue->holder = holder == NOBODY ? LULL_NONE : holder;
    if (share->ideal->synchronous) {
        if (!lull_array_reserve(&share->handshakes, &share->handshake_capacity, index + (size_t)1,
                                sizeof *share->handshakes))
            return false;
        share->handshakes[index] = (struct handshake){LULL_NONE, LULL_NONE, LULL_NONE, NULL};
    }
    return holder == NOBODY || holder == share->index || introduce_channel(share, queue, channel);
}

uint32_t lull_channel_queue(struct share *share, const struct lull_channel *channel)
{
    bool is_new;
    const uint32_t index = lull_match_queue_of(&share->queues, channel, &is_new);
    if (index != LULL_NONE && (!is_new || open_queue(share, index, channel)))
        return index;
    lull_share_no_memory(share);
    return LULL_NONE;
}

void lull_channel_post(struct share *share, const struct lull_match_queue *queue, uint32_t number,
                       int64_t time, int64_t sent)
{
    struct letter *letter = lull_post(share, queue->holder, LETTER_MESSAGE);
    if (!letter)
        return;
    letter->a = queue->port;
    letter->b = number;
    letter->time = time;
    letter->measured = sent;
}

void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    struct lull_match_ports *ports = &share->ports[from];
    if (letter->kind == LETTER_MESSAGE) {
        lull_channel_put(share, ports->queues[letter->a], letter->b, letter->time,
                         letter->measured);
        return;
    }
    const struct lull_channel channel = {letter->b, letter->c, (uint32_t)letter->time,
                                         (int32_t)letter->measured};
    const uint32_t queue = lull_channel_queue(share, &channel);
    if (queue == LULL_NONE || !lull_match_port_set(ports, letter->a, queue))
        lull_share_no_memory(share);
}

void lull_channel_wake(struct share *share, uint32_t index, uint32_t number)
{
    struct lull_match_queue *queue = &share->queues.all[index];
    struct stream *before = NULL, *stream = queue->waiting;
    for (; stream && stream->pending[stream->pending_at].number != number;
         stream = stream->next_waiting)
        before = stream;
    if (!stream)
        return;
    if (before)
        before->next_waiting = stream->next_waiting;
    else
        queue->waiting = stream->next_waiting;
    lull_share_ready(share, stream);
}

static void channels_free(struct share *share)
{
    lull_match_queues_free(&share->queues);
    free(share->handshakes);
}
