/* Messages as operations with their requests. */
#include "replay/program/queue.h"

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

/* What the measured call did is known by then. */
static void suppose_eager(const stream_t *s, struct entry *entry)
{
    if (s->replay->options.eager_sends)
        entry->op.flags = LULL_OP_BUFFERED;
}

static lull_status push_send(stream_t *s, const struct lull_step *step, struct lull_error *err)
{
    bool open = s->in_call && is_non_blocking(s, step);
    if (to_nobody(s, step))
        return !open || lull_request_add(s, step->message.request, OPEN_NOTHING)
                   ? LULL_OK
                   : lull_replay_no_memory(s, err);
    struct entry *entry = lull_replay_push(s, LULL_OP_SEND, s->call_region, step->time);
    if (!entry)
        return lull_replay_no_memory(s, err);
    describe_message(s, entry, step);
    if (!s->in_call) /* begun before the trace: nobody waits for it */
        return LULL_OK;
    entry->op.request = lull_request_number(s);
    if (step->op == LULL_SEND_SYNCHRONOUS)
        entry->op.flags = LULL_OP_SYNCHRONOUS;
    else if (step->op == LULL_SEND_BUFFERED)
        entry->op.flags = LULL_OP_BUFFERED;
    entry->pending = entry->optional = open && s->withdraws;
    if (!open) {
        bool sends = s->call == LULL_CALL_SEND || s->call == LULL_CALL_BSEND;
        s->sent = sends && is_eager(s, &entry->op);
        suppose_eager(s, entry);
        return lull_request_wait(s, entry->op.request) ? LULL_OK : lull_replay_no_memory(s, err);
    }
    suppose_eager(s, entry);
    uint64_t position = lull_entry_position(s, entry);
    uint32_t number = entry->op.request;
    struct open *fresh = lull_request_add(s, step->message.request, OPEN_SEND);
    if (!fresh)
        return lull_replay_no_memory(s, err);
    fresh->position = position;
    fresh->number = number;
    return LULL_OK;
}

/* A posted receive; step NULL: the tracer has no record of it. */
static lull_status post_receive(stream_t *s, const struct lull_step *step, int64_t measured,
                                struct lull_error *err)
{
    uint64_t request = step ? step->message.request : LULL_NO_REQUEST;
    if (step && step->message.peer == LULL_PROC_NULL)
        return lull_request_add(s, request, OPEN_NOTHING) ? LULL_OK : lull_replay_no_memory(s, err);
    struct open *open = lull_request_add(s, request, OPEN_RECEIVE);
    struct entry *entry = open ? lull_replay_push(s, LULL_OP_RECV, s->call_region, measured) : NULL;
    if (!entry)
        return lull_replay_no_memory(s, err);
    entry->op.request = open->number = lull_request_number(s);
    open->position = lull_entry_position(s, entry);
    entry->pending = !step || step->message.peer < 0 || step->message.tag < 0 ||
                     step->comm >= s->replay->trace->n_comms || s->withdraws;
    if (step && step->comm < s->replay->trace->n_comms)
        describe_message(s, entry, step);
    else
        entry->op.comm = LULL_NONE;
    return LULL_OK;
}

/* A receive is complete: of an open request, or (NULL) of its own. */
static lull_status complete_receive(stream_t *s, struct open *open, const struct lull_step *step,
                                    struct lull_error *err)
{
    struct entry *entry = open ? lull_entry_at(s, open->position) : NULL;
    uint32_t number = open ? open->number : 0;
    bool posted = open && open->position != NO_ENTRY;
    if (open)
        lull_request_remove(s, open);
    if (to_nobody(s, step) || step->message.peer < 0) {
        if (entry && entry->pending) {
            entry->pending = false;
            entry->dropped = true;
            return lull_request_release(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
        }
        return LULL_OK;
    }
    if (!posted) {
        if (!open)
            number = lull_request_number(s);
        entry = lull_replay_push(s, LULL_OP_RECV, s->call_region, step->time);
        if (!entry)
            return lull_replay_no_memory(s, err);
        entry->op.request = number;
        entry->op.flags = s->call == LULL_CALL_RECV ? LULL_OP_BLOCKING : 0;
        entry->pending = true;
    }
    if (entry && entry->pending) {
        describe_message(s, entry, step);
        entry->pending = false;
    }
    return lull_request_wait(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

static lull_status receive(stream_t *s, const struct lull_step *step, struct lull_error *err)
{
    struct open *open = NULL;
    if (step->message.request != LULL_NO_REQUEST)
        open = lull_request_find(s, step->message.request);
    else if (s->in_call && (s->call == LULL_CALL_WAIT || s->call == LULL_CALL_WAITALL ||
                            s->call == LULL_CALL_TEST))
        open = lull_request_oldest_receive(s, false);
    if (open && open->kind != OPEN_RECEIVE) {
        lull_request_remove(s, open);
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

/* What only the events of all processes tell, where there are those of some. */
static lull_status check_range(const struct lull_replay *replay, struct lull_error *err)
{
    if (replay->options.range.end == 0)
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
        status = lull_unreceived_create(replay->trace, replay->options.application,
                                        &replay->unreceived, err);
    *ret_unreceived = replay->unreceived;
    pthread_mutex_unlock(&replay->lock);
    return status;
}

lull_status lull_replay_take_unreceived(stream_t *s, struct open *open, bool *ret_taken,
                                        struct lull_error *err)
{
    struct lull_replay *replay = s->replay;
    struct entry *entry = open->kind == OPEN_RECEIVE ? lull_entry_at(s, open->position) : NULL;
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
        return fits ? LULL_OK : lull_replay_no_memory(s, err);
    entry->op.peer = replay->ranks[channel.source];
    entry->op.tag = (uint32_t)channel.tag;
    entry->pending = false;
    lull_request_remove(s, open); /* its number stays in use: nobody waits for it */
    *ret_taken = true;
    return LULL_OK;
}

/* A receive is given up. If nothing came for it, it is taken not to have been active. */
static lull_status give_up_receive(stream_t *s, struct open *open, struct lull_error *err)
{
    bool taken;
    lull_status status = lull_replay_take_unreceived(s, open, &taken, err);
    return status == LULL_OK && !taken ? lull_request_drop(s, open, err) : status;
}

static lull_status finish_request(stream_t *s, uint64_t request, struct lull_error *err)
{
    struct open *open = lull_request_find(s, request);
    if (!open)
        return LULL_OK;
    bool waits = open->kind == OPEN_SEND && s->call != LULL_CALL_REQUEST_FREE;
    struct entry *entry = lull_entry_at(s, open->position);
    if (entry && entry->optional)
        entry->pending = false;
    uint32_t number = open->number;
    lull_request_remove(s, open);
    return !waits || lull_request_wait(s, number) ? LULL_OK : lull_replay_no_memory(s, err);
}

/* ---- what was not recorded ----------------------------------------------------------------- */

/* A wait with open receives, of which nothing says that they are complete. */
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
        status = lull_lost_create(replay->trace, replay->options.application, &replay->lost, err);
    if (status == LULL_OK)
        count = lull_lost_take(replay->lost, &wait, &sends);
    pthread_mutex_unlock(&replay->lock);
    for (uint32_t i = 0; i < count && status == LULL_OK; i++) {
        struct lull_step step = {
            .time = call->call_began, .kind = LULL_STEP_RECV, .comm = sends[i].comm};
        step.message.peer = (int32_t)sends[i].source;
        step.message.tag = sends[i].tag;
        step.message.bytes = sends[i].bytes;
        status = complete_receive(s, lull_request_oldest_receive(s, true), &step, err);
    }
    for (uint32_t i = count; i < open && call->op == LULL_CALL_WAITALL && status == LULL_OK; i++)
        status = lull_request_drop(s, lull_request_oldest_receive(s, true), err);
    return status;
}

/* Sends of which the tracer does not say when they were complete. */
static lull_status finish_sends(stream_t *s, bool all, struct lull_error *err)
{
    struct open *open;
    while ((open = lull_request_oldest(s, OPEN_SEND)) != NULL) {
        uint32_t number = open->number;
        lull_request_remove(s, open);
        if (!lull_request_wait(s, number))
            return lull_replay_no_memory(s, err);
        if (!all)
            break;
    }
    return LULL_OK;
}

lull_status lull_replay_guess(stream_t *s, const struct lull_step *call, struct lull_error *err)
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

lull_status lull_replay_take_operation(stream_t *s, const struct lull_step *step,
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
        struct open *open = lull_request_find(s, step->message.request);
        if (!open)
            return LULL_OK;
        return step->kind == LULL_STEP_FREE ? give_up_receive(s, open, err)
                                            : lull_request_drop(s, open, err);
    }
    case LULL_STEP_COLLECTIVE_BEGIN:
        return lull_replay_begin_collective(s, step, err);
    case LULL_STEP_COLLECTIVE_END:
        s->has_records = true;
        return lull_replay_end_collective(s, step, err);
    default:
        return LULL_OK;
    }
}
