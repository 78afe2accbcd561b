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
    share->free_message = LULL_NONE;
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

/* A channel as a key of a hash table: without padding, and with an unsigned tag. */
struct channel_key {
    uint32_t source, target, comm, tag;
};

static struct channel_key key_of_channel(const struct lull_channel *channel)
{
    return (struct channel_key){channel->source, channel->target, channel->comm,
                                (uint32_t)channel->tag};
}

uint32_t lull_channel_queue(struct share *share, const struct lull_channel *channel)
{
    const struct channel_key key = key_of_channel(channel);
    size_t count = share->queues_by_channel.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&share->queues, &share->queue_capacity, count + 1,
                           sizeof *share->queues))
        index = lull_hash_add(&share->queues_by_channel, &key, sizeof key, count, &is_new);
    if (!index) {
        lull_share_no_memory(share);
        return LULL_NONE;
    }
    if (is_new)
        share->queues[count] = (struct queue){
            .first = LULL_NONE, .last = LULL_NONE, .begun = LULL_NONE, .asked = LULL_NONE};
    return (uint32_t)*index;
}

struct lull_channel lull_channel_of_queue(const struct share *share, uint32_t queue)
{
    struct channel_key key;
    memcpy(&key, lull_hash_key(&share->queues_by_channel, queue), sizeof key);
    return (struct lull_channel){key.source, key.target, key.comm, (int32_t)key.tag};
}

/* Tells the share of the receiver of a channel, before the first message, and gives it a port. */
static bool introduce_channel(struct share *share, struct link *link,
                              const struct lull_channel *channel)
{
    struct letter *letter = lull_post(share, link->share, LETTER_CHANNEL);
    if (!letter)
        return false;
    link->queue = share->outboxes[link->share].ports++;
    letter->a = link->queue;
    letter->b = channel->source;
    letter->c = channel->target;
    letter->time = channel->comm;
    letter->measured = channel->tag;
    return true;
}

static bool make_link(struct share *share, struct link *link, const struct lull_channel *channel)
{
    uint16_t to = share->ideal->share_of[channel->target];
    *link = (struct link){.share = to == NOBODY ? LULL_NONE : to, .answers = LULL_NONE};
    if (to == NOBODY)
        return true;
    if (to != share->index)
        return introduce_channel(share, link, channel);
    link->queue = lull_channel_queue(share, channel);
    return link->queue != LULL_NONE;
}

uint32_t lull_channel_link(struct share *share, const struct lull_channel *channel)
{
    const struct channel_key key = key_of_channel(channel);
    size_t count = share->links_by_channel.count;
    bool is_new = false;
    uint64_t *index = NULL;
    if (lull_array_reserve(&share->links, &share->link_capacity, count + 1, sizeof *share->links))
        index = lull_hash_add(&share->links_by_channel, &key, sizeof key, count, &is_new);
    if (!index || (is_new && !make_link(share, &share->links[count], channel))) {
        lull_share_no_memory(share);
        return LULL_NONE;
    }
    return (uint32_t)*index;
}

void lull_channel_post(struct share *share, const struct link *link, uint32_t number, int64_t time,
                       int64_t sent)
{
    struct letter *letter = lull_post(share, link->share, LETTER_MESSAGE);
    if (!letter)
        return;
    letter->a = link->queue;
    letter->b = number;
    letter->time = time;
    letter->measured = sent;
}

void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    struct ports *ports = &share->ports[from];
    if (letter->kind == LETTER_MESSAGE) {
        lull_channel_put(share, ports->queues[letter->a], letter->b, letter->time,
                         letter->measured);
        return;
    }
    const struct lull_channel channel = {letter->b, letter->c, (uint32_t)letter->time,
                                         (int32_t)letter->measured};
    uint32_t queue = lull_channel_queue(share, &channel);
    if (queue == LULL_NONE || !lull_array_reserve(&ports->queues, &ports->capacity,
                                                  (size_t)letter->a + 1, sizeof *ports->queues))
        lull_share_no_memory(share);
    else
        ports->queues[letter->a] = queue;
}

/* Puts a message into a queue that is not empty, by its number. The messages of one thread come in
 * their order; those of several threads of a process, whose streams run ahead of each other, may
 * not. */
void lull_channel_insert(struct share *share, struct queue *queue, uint32_t place)
{
    struct message *messages = share->messages, *fresh = &messages[place];
    if ((int32_t)(fresh->number - messages[queue->last].number) > 0) {
        messages[queue->last].next = place;
        queue->last = place;
        return;
    }
    uint32_t *link = &queue->first;
    while ((int32_t)(fresh->number - messages[*link].number) > 0)
        link = &messages[*link].next;
    fresh->next = *link;
    *link = place;
}

void lull_channel_wake(struct share *share, struct queue *queue, uint32_t number)
{
    for (struct stream **link = &queue->waiting; *link; link = &(*link)->next_waiting)
        if ((*link)->pending[(*link)->pending_at].number == number) {
            struct stream *stream = *link;
            *link = stream->next_waiting;
            lull_share_ready(share, stream);
            return;
        }
}

uint64_t lull_channel_left(const struct share *share)
{
    uint64_t left = 0;
    for (size_t q = 0; q < share->queues_by_channel.count; q++)
        for (uint32_t at = share->queues[q].first; at != LULL_NONE; at = share->messages[at].next)
            left++;
    return left;
}

static void channels_free(struct share *share)
{
    lull_hash_free(&share->links_by_channel);
    lull_hash_free(&share->queues_by_channel);
    free(share->links);
    free(share->queues);
    free(share->messages);
}
