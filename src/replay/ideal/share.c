/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/ideal/share.h"

#include "activity/pass.h"

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
    share->outboxes = calloc(ideal->n_shares, sizeof *share->outboxes);
    share->ports = calloc(ideal->n_shares, sizeof *share->ports);
    share->coming = calloc(ideal->n_shares, sizeof *share->coming);
    share->paths =
        ideal->n_parts > 0 ? lull_ideal_paths_create(ideal->n_parts, ideal->size_of_paths) : NULL;
    if (share->outboxes && share->ports && share->coming && (share->paths || ideal->n_parts == 0))
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

static void free_tails(struct stream *tail)
{
    for (struct stream *next; tail; tail = next) {
        next = tail->next_tail;
        free(tail->pending);
        free(tail);
    }
}

static void free_all_tails(struct share *share)
{
    const struct lull_ideal *ideal = share->ideal;
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        struct stream *stream = ideal->streams[l];
        if (!stream || ideal->share_of[stream->process->index] != share->index)
            continue;
        free_tails(stream->first_tail);
        stream->first_tail = NULL;
    }
    free_tails(share->spare_tails);
    share->spare_tails = NULL;
}

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
    lull_match_queues_free(&share->queues);
    free(share->handshakes);
    free(share->epochs);
    lull_ideal_paths_destroy(share->paths);
    free(share->coming);
    free_all_tails(share);
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

/* Gives a stream what its path needs. False: no memory. */
static bool want_path(const struct share *share, struct stream *stream)
{
    const struct lull_ideal *ideal = share->ideal;
    if (ideal->n_parts == 0)
        return true;
    stream->to_come = calloc(ideal->n_parts, sizeof *stream->to_come);
    stream->reading.path = lull_ideal_path_reading_create(ideal->options->part_of, ideal->n_parts);
    return stream->to_come && stream->reading.path;
}

static struct stream *create_stream(struct share *share, struct process *process, uint32_t location)
{
    const struct lull_trace *trace = share->ideal->trace;
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream || !want_path(share, stream)) {
        lull_share_free_stream(stream);
        lull_share_no_memory(share);
        return NULL;
    }
    stream->process = process;
    stream->location = location;
    stream->reader = share->ideal->readers[lull_pass_worker_of(
        trace, share->ideal->reading->range, share->ideal->n_readers, process->index)];
    stream->calls = trace->processes[process->index].first_location == location;
    stream->follows = !stream->calls && trace->locations[location].role != LULL_THREAD_FREE;
    /* The stream may meet the master inside a call; or options->message asks when calls began, and a
     * note of a receive has no room for that (`called` of struct note). */
    stream->tells_calls =
        stream->follows ||
        (share->ideal->options->message &&
         (share->ideal->synchronous || lull_share_is_crew(share->ideal, process->index)));
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
    return process;
}

struct stream *lull_share_stream(struct share *share, uint32_t location)
{
    struct lull_ideal *ideal = share->ideal;
    if (ideal->streams[location])
        return ideal->streams[location];
    struct process *process = lull_share_process(share, ideal->trace->locations[location].process);
    return process ? create_stream(share, process, location) : NULL;
}

void lull_share_end_stream(struct stream *stream)
{
    lull_stream_set(stream, ENDED);
    free(stream->pending);
    free(stream->open);
    free(stream->sends);
    free(stream->postings);
    stream->pending = NULL;
    stream->open = NULL;
    stream->sends = NULL;
    stream->postings = NULL;
    stream->pending_at = stream->n_pending = stream->pending_capacity = 0;
    stream->n_open = stream->open_capacity = 0;
    stream->n_sends = stream->send_capacity = 0;
    stream->n_postings = stream->posting_capacity = 0;
}

void lull_share_free_stream(struct stream *stream)
{
    if (!stream)
        return;
    lull_share_end_stream(stream);
    free(stream->routes.queues);
    free(stream->losses);
    lull_ideal_path_reading_destroy(stream->reading.path);
    free(stream->to_come);
    free(stream->reading.open);
    free(stream);
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

/* As tells_better (result.c), of streams of this member. */
static bool comes_before(const struct stream *a, const struct stream *b)
{
    if (a->blocked != b->blocked)
        return a->blocked < b->blocked;
    return a->stopped_at < b->stopped_at;
}

struct stream *lull_share_first_blocked(const struct lull_ideal *ideal)
{
    struct stream *first = NULL;
    for (uint32_t l = 0; l < ideal->trace->n_locations; l++) {
        struct stream *stream = ideal->streams[l];
        if (stream && stream->calls && stream->blocked != ENDED &&
            (!first || comes_before(stream, first)))
            first = stream;
    }
    return first;
}
