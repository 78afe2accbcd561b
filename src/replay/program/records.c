/* The records of MPI as operations with their requests. */
#include "replay/queue.h"

#include <stdlib.h>
#include <string.h>

static bool grow(void **array, uint32_t *capacity, uint32_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    uint32_t larger = *capacity ? 2 * *capacity : 16;
    void *fresh = realloc(*array, larger * size);
    if (!fresh)
        return false;
    *array = fresh;
    *capacity = larger;
    return true;
}

static uint64_t position_of(const stream_t *s, const struct entry *entry)
{
    return s->base + (uint64_t)(entry - s->queue);
}

/* NULL: it was handed out. */
static struct entry *entry_at(const stream_t *s, uint64_t position)
{
    return position != NO_ENTRY && position >= s->base + s->first ? &s->queue[position - s->base]
                                                                  : NULL;
}

/* ---- requests ------------------------------------------------------------------------------ */

static uint32_t new_number(stream_t *s)
{
    return s->n_free ? s->free_numbers[--s->n_free] : s->numbers++;
}

static bool free_number(stream_t *s, uint32_t number)
{
    if (!grow((void **)&s->free_numbers, &s->free_capacity, s->n_free + 1, sizeof number))
        return false;
    s->free_numbers[s->n_free++] = number;
    return true;
}

static struct open *add_open(stream_t *s, uint64_t request, uint8_t kind)
{
    if (!grow((void **)&s->open, &s->open_capacity, s->n_open + 1, sizeof *s->open))
        return NULL;
    struct open *open = &s->open[s->n_open++];
    *open = (struct open){.request = request, .kind = kind, .position = NO_ENTRY};
    return open;
}

static struct open *find_open(stream_t *s, uint64_t request)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].request == request)
            return &s->open[i];
    return NULL;
}

/* The oldest of a kind. */
static struct open *oldest_open(stream_t *s, uint8_t kind)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].kind == kind)
            return &s->open[i];
    return NULL;
}

/* The oldest receive with a request of the trace's own, or without. */
static struct open *oldest_receive(stream_t *s, bool named)
{
    for (uint32_t i = 0; i < s->n_open; i++)
        if (s->open[i].kind == OPEN_RECEIVE && (s->open[i].request != LULL_NO_REQUEST) == named)
            return &s->open[i];
    return NULL;
}

static void remove_open(stream_t *s, struct open *open)
{
    size_t at = (size_t)(open - s->open);
    memmove(open, open + 1, (--s->n_open - at) * sizeof *open);
}

static bool wait_for(stream_t *s, uint32_t number)
{
    if (!grow((void **)&s->call_waits, &s->call_capacity, s->n_call_waits + 1, sizeof number))
        return false;
    s->call_waits[s->n_call_waits++] = number;
    return true;
}

/* One WAIT for all that the call waited for; the numbers are free behind it. */
lull_status lull_replay_push_wait(stream_t *s, struct lull_error *err)
{
    if (s->n_call_waits == 0)
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_WAIT, s->call_region, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    for (uint32_t i = 0; i < s->n_call_waits; i++) {
        if (!lull_replay_make_room((void **)&s->waits, &s->waits_first, &s->waits_end,
                                   &s->waits_capacity, sizeof *s->waits))
            return lull_replay_no_memory(s, err);
        s->waits[s->waits_end++] = s->call_waits[i];
        if (!free_number(s, s->call_waits[i]))
            return lull_replay_no_memory(s, err);
    }
    entry->op.n_requests = s->n_call_waits;
    s->n_call_waits = 0;
    return LULL_OK;
}

/* ---- messages ------------------------------------------------------------------------------ */

static uint32_t rank_of(const stream_t *s, int32_t peer)
{
    return peer >= 0 && (uint32_t)peer < s->replay->trace->n_processes ? s->replay->ranks[peer]
                                                                       : LULL_NONE;
}

static void describe(const stream_t *s, struct entry *entry, const struct lull_event *event)
{
    entry->op.peer = rank_of(s, event->message.peer);
    entry->op.tag = (uint32_t)event->message.tag;
    entry->op.comm = event->id >= s->replay->trace->n_comms ? LULL_NONE
                     : s->replay->trace->comms[event->id].remote < event->id
                         ? s->replay->trace->comms[event->id].remote
                         : event->id;
    entry->op.bytes = event->message.bytes;
}

static bool to_nobody(const stream_t *s, const struct lull_event *event)
{
    return event->message.peer == LULL_PROC_NULL ||
           (event->message.peer >= 0 && rank_of(s, event->message.peer) == LULL_NONE);
}

static bool is_non_blocking(const stream_t *s, const struct lull_event *event)
{
    return event->message.request != LULL_NO_REQUEST || s->call == LULL_CALL_ISEND ||
           s->call == LULL_CALL_ISSEND;
}

static lull_status push_send(stream_t *s, const struct lull_event *event, struct lull_error *err)
{
    bool open = s->in_call && is_non_blocking(s, event);
    if (to_nobody(s, event))
        return !open || add_open(s, event->message.request, OPEN_NOTHING)
                   ? LULL_OK
                   : lull_replay_no_memory(s, err);
    struct entry *entry = lull_replay_push(s, LULL_OP_SEND, s->call_region, event->time);
    if (!entry)
        return lull_replay_no_memory(s, err);
    describe(s, entry, event);
    if (!s->in_call) /* begun before the trace: nobody waits for it */
        return LULL_OK;
    entry->op.request = new_number(s);
    if (s->call == LULL_CALL_SSEND || s->call == LULL_CALL_ISSEND)
        entry->op.flags = LULL_OP_SYNCHRONOUS;
    if (!open)
        return wait_for(s, entry->op.request) ? LULL_OK : lull_replay_no_memory(s, err);
    uint64_t position = position_of(s, entry);
    uint32_t number = entry->op.request;
    struct open *fresh = add_open(s, event->message.request, OPEN_SEND);
    if (!fresh)
        return lull_replay_no_memory(s, err);
    fresh->position = position;
    fresh->number = number;
    return LULL_OK;
}

/* A posted receive; event NULL: the tracer has no record of it. */
static lull_status post_receive(stream_t *s, const struct lull_event *event, int64_t measured,
                                struct lull_error *err)
{
    uint64_t request = event ? event->message.request : LULL_NO_REQUEST;
    if (event && event->message.peer == LULL_PROC_NULL)
        return add_open(s, request, OPEN_NOTHING) ? LULL_OK : lull_replay_no_memory(s, err);
    struct open *open = add_open(s, request, OPEN_RECEIVE);
    struct entry *entry = open ? lull_replay_push(s, LULL_OP_RECV, s->call_region, measured) : NULL;
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.request = open->number = new_number(s);
    open->position = position_of(s, entry);
    entry->pending = !event || event->message.peer < 0 || event->message.tag < 0 ||
                     event->id >= s->replay->trace->n_comms;
    if (!entry->pending)
        describe(s, entry, event);
    return LULL_OK;
}

/* A receive is complete: of an open request, or (NULL) of its own. */
static lull_status complete_receive(stream_t *s, struct open *open, const struct lull_event *event,
                                    struct lull_error *err)
{
    struct entry *entry = open ? entry_at(s, open->position) : NULL;
    uint32_t number = open ? open->number : 0;
    bool posted = open && open->position != NO_ENTRY;
    if (open)
        remove_open(s, open);
    if (to_nobody(s, event) || event->message.peer < 0) {
        if (entry && entry->pending) {
            entry->pending = false;
            entry->dropped = true;
            return free_number(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
        }
        return LULL_OK;
    }
    if (!posted) {
        if (!open)
            number = new_number(s);
        entry = lull_replay_push(s, LULL_OP_RECV, s->call_region, event->time);
        if (!entry)
            return lull_replay_no_memory(s, err);
        entry->op.request = number;
        entry->pending = true;
    }
    if (entry && entry->pending) {
        describe(s, entry, event);
        entry->pending = false;
    }
    return wait_for(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

static lull_status receive(stream_t *s, const struct lull_event *event, struct lull_error *err)
{
    struct open *open = NULL;
    if (event->message.request != LULL_NO_REQUEST)
        open = find_open(s, event->message.request);
    else if (s->in_call && (s->call == LULL_CALL_WAIT || s->call == LULL_CALL_WAITALL ||
                            s->call == LULL_CALL_TEST))
        open = oldest_receive(s, false);
    if (open && open->kind != OPEN_RECEIVE) {
        remove_open(s, open);
        return LULL_OK;
    }
    return complete_receive(s, open, event, err);
}

static lull_status drop(stream_t *s, struct open *open, struct lull_error *err)
{
    struct entry *entry = entry_at(s, open->position);
    bool back = entry && entry->pending;
    if (back) {
        entry->pending = false;
        entry->dropped = true;
    }
    uint32_t number = open->number;
    remove_open(s, open);
    return !back || free_number(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

static lull_status finish_request(stream_t *s, uint64_t request, struct lull_error *err)
{
    struct open *open = find_open(s, request);
    if (!open)
        return LULL_OK;
    bool waits = open->kind == OPEN_SEND;
    uint32_t number = open->number;
    remove_open(s, open);
    return !waits || wait_for(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

/* ---- collectives --------------------------------------------------------------------------- */

static bool known_comm(const stream_t *s, uint32_t comm)
{
    const struct lull_trace *trace = s->replay->trace;
    return comm < trace->n_comms && trace->comms[comm].paradigm == LULL_PARADIGM_MPI &&
           !(trace->comms[comm].size == 1 && trace->comms[comm].remote == LULL_NONE);
}

static bool has_root(uint8_t op)
{
    return op == LULL_COLLECTIVE_BCAST || op == LULL_COLLECTIVE_SCATTER ||
           op == LULL_COLLECTIVE_SCATTERV || op == LULL_COLLECTIVE_REDUCE ||
           op == LULL_COLLECTIVE_GATHER || op == LULL_COLLECTIVE_GATHERV;
}

/* The root of the operation that this process has come to, as a rank. */
static lull_status find_root(stream_t *s, const struct lull_event *event, uint32_t number,
                             uint32_t *ret_root, struct lull_error *err)
{
    struct lull_replay *replay = s->replay;
    uint32_t process = (uint32_t)event->collective.root;
    lull_status status = LULL_OK;
    *ret_root = LULL_OP_ANY;
    if (!has_root(event->op))
        return LULL_OK;
    if (event->collective.root < 0) {
        pthread_mutex_lock(&replay->lock);
        if (!replay->roots)
            status =
                lull_roots_create(replay->trace, replay->options.application, &replay->roots, err);
        pthread_mutex_unlock(&replay->lock);
        if (status != LULL_OK)
            return status;
        process = lull_roots_find(replay->roots, event->id, number);
    }
    uint32_t rank = process < replay->trace->n_processes ? replay->ranks[process] : LULL_NONE;
    const struct lull_comm *comm = &replay->trace->comms[event->id];
    if (rank == LULL_NONE) /* nobody says */
        rank = replay->ranks[lull_comm_member(comm, 0)];
    *ret_root = rank;
    return LULL_OK;
}

static uint8_t as_simulated(uint8_t op)
{
    return op == LULL_COLLECTIVE_CREATE || op >= LULL_COLLECTIVE_UNKNOWN ? LULL_COLLECTIVE_BARRIER
                                                                         : op;
}

static bool waits_for_nobody(uint8_t op)
{
    return op == LULL_COLLECTIVE_FREE || op == LULL_COLLECTIVE_NEIGHBOUR;
}

static void describe_collective(struct entry *entry, const struct lull_event *event, uint32_t root)
{
    entry->op.collective = as_simulated(event->op);
    entry->op.comm = event->id + 1;
    entry->op.peer = root;
    entry->op.bytes = event->collective.sent;
    entry->op.received = event->collective.received;
    entry->pending = false;
}

static lull_status begin_collective(stream_t *s, const struct lull_event *event,
                                    struct lull_error *err)
{
    if (event->collective.request == LULL_NO_REQUEST)
        return LULL_OK;
    bool known = event->op != LULL_COLLECTIVE_UNKNOWN && event->id < s->replay->trace->n_comms;
    bool nothing = known && (waits_for_nobody(event->op) || !known_comm(s, event->id));
    struct open *open =
        add_open(s, event->collective.request, nothing ? OPEN_NOTHING : OPEN_COLLECTIVE);
    if (!open)
        return lull_replay_no_memory(s, err);
    if (nothing)
        return LULL_OK;
    struct entry *entry = lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.request = open->number = new_number(s);
    entry->pending = true;
    open->position = position_of(s, entry);
    return LULL_OK;
}

static lull_status end_non_blocking(stream_t *s, const struct lull_event *event,
                                    struct lull_error *err)
{
    struct open *open = find_open(s, event->collective.request);
    if (!open)
        return LULL_OK;
    struct entry *entry = entry_at(s, open->position);
    if (open->kind != OPEN_COLLECTIVE || !known_comm(s, event->id) || waits_for_nobody(event->op))
        return drop(s, open, err);
    uint32_t number = open->number, root;
    remove_open(s, open);
    lull_status status = find_root(s, event, LULL_NONE, &root, err);
    if (status != LULL_OK)
        return status;
    if (!entry) { /* it could not wait so long: takes part now */
        entry = lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0);
        if (!entry)
            return lull_replay_no_memory(s, err);
        entry->op.request = number;
    }
    describe_collective(entry, event, root);
    return wait_for(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

static lull_status end_collective(stream_t *s, const struct lull_event *event,
                                  struct lull_error *err)
{
    if (event->collective.request != LULL_NO_REQUEST)
        return end_non_blocking(s, event, err);
    if (event->id >= s->replay->trace->n_comms)
        return LULL_OK;
    if (!s->collectives)
        s->collectives = calloc(s->replay->trace->n_comms, sizeof *s->collectives);
    if (!s->collectives)
        return lull_replay_no_memory(s, err);
    uint32_t number = s->collectives[event->id]++, root;
    if (lull_lost_is_epoch(s->replay->trace, event, s->replay->n_ranks)) {
        s->phase++;
        s->ordinal = 0;
    }
    if (!known_comm(s, event->id) || waits_for_nobody(event->op))
        return LULL_OK;
    lull_status status = find_root(s, event, number, &root, err);
    struct entry *entry =
        status == LULL_OK ? lull_replay_push(s, LULL_OP_COLLECTIVE, s->call_region, 0) : NULL;
    if (!entry)
        return status == LULL_OK ? lull_replay_no_memory(s, err) : status;
    describe_collective(entry, event, root);
    return LULL_OK;
}

/* ---- what was not recorded ----------------------------------------------------------------- */

/* A wait with open receives, of which nothing says that they are complete. */
static lull_status receive_lost(stream_t *s, const struct lull_replay_item *call,
                                struct lull_error *err)
{
    struct lull_replay *replay = s->replay;
    const struct lull_lost_send *sends;
    uint32_t open = 0, count = 0;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < s->n_open; i++)
        open += s->open[i].kind == OPEN_RECEIVE && s->open[i].request != LULL_NO_REQUEST;
    if (open == 0)
        return LULL_OK;
    struct lull_lost_wait wait = {.process = s->process,
                                  .epoch = s->phase,
                                  .time = call->end,
                                  .most = call->call == LULL_CALL_WAITALL ? open : 1};
    pthread_mutex_lock(&replay->lock);
    if (!replay->lost)
        status = lull_lost_create(replay->trace, replay->options.application, &replay->lost, err);
    if (status == LULL_OK)
        count = lull_lost_take(replay->lost, &wait, &sends);
    pthread_mutex_unlock(&replay->lock);
    for (uint32_t i = 0; i < count && status == LULL_OK; i++) {
        struct lull_event event = {
            .time = call->begin, .kind = LULL_EVENT_RECV, .id = sends[i].comm};
        event.message.peer = (int32_t)sends[i].source;
        event.message.tag = sends[i].tag;
        event.message.bytes = sends[i].bytes;
        status = complete_receive(s, oldest_receive(s, true), &event, err);
    }
    for (uint32_t i = count; i < open && call->call == LULL_CALL_WAITALL && status == LULL_OK; i++)
        status = drop(s, oldest_receive(s, true), err);
    return status;
}

/* Sends of which the tracer does not say when they were complete. */
static lull_status finish_sends(stream_t *s, bool all, struct lull_error *err)
{
    struct open *open;
    while ((open = oldest_open(s, OPEN_SEND)) != NULL) {
        uint32_t number = open->number;
        remove_open(s, open);
        if (!wait_for(s, number))
            return lull_replay_no_memory(s, err);
        if (!all)
            break;
    }
    return LULL_OK;
}

lull_status lull_replay_guess(stream_t *s, const struct lull_replay_item *call,
                              struct lull_error *err)
{
    bool waits = call->call == LULL_CALL_WAIT || call->call == LULL_CALL_WAITALL;
    lull_status status = LULL_OK;
    if (call->call == LULL_CALL_IRECV && !s->posted && !s->received)
        return post_receive(s, NULL, call->begin, err);
    if (waits && !s->has_records)
        status = receive_lost(s, call, err);
    bool some = s->n_call_waits > 0;
    if (status == LULL_OK && waits && !s->send_completions &&
        (call->call == LULL_CALL_WAITALL || !some))
        status = finish_sends(s, call->call == LULL_CALL_WAITALL, err);
    return status;
}

lull_status lull_replay_take_event(stream_t *s, const struct lull_event *event,
                                   struct lull_error *err)
{
    switch (event->kind) {
    case LULL_EVENT_SEND:
        s->has_records = true;
        return push_send(s, event, err);
    case LULL_EVENT_SEND_DONE:
        s->has_records = s->send_completions = true;
        return finish_request(s, event->message.request, err);
    case LULL_EVENT_RECV_POST:
        s->posted = true;
        return post_receive(s, event, event->time, err);
    case LULL_EVENT_RECV:
        s->has_records = s->received = true;
        return receive(s, event, err);
    case LULL_EVENT_REQUEST_CANCELLED: {
        struct open *open = find_open(s, event->message.request);
        return open ? drop(s, open, err) : LULL_OK;
    }
    case LULL_EVENT_COLLECTIVE_BEGIN:
        return begin_collective(s, event, err);
    case LULL_EVENT_COLLECTIVE_END:
        s->has_records = true;
        return end_collective(s, event, err);
    default:
        return LULL_OK;
    }
}
