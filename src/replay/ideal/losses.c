/* Calls of which nothing was recorded that should have been. What they waited for is taken as
 * nothing, and counted; receives whose completion a tracer does not record are guessed
 * (replay/program/lost.h). */
#include "replay/ideal/channels.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/share.h"
#include "replay/program/lost.h"
#include "trace/silent.h"

static struct losses *losses_of(struct share *share, struct stream *stream)
{
    if (!stream->losses)
        stream->losses = calloc(1, sizeof *stream->losses);
    if (!stream->losses)
        lull_share_no_memory(share);
    return stream->losses;
}

static void lose(struct share *share, struct stream *stream, const struct note *call)
{
    struct losses *losses = losses_of(share, stream);
    if (!losses)
        return;
    const struct lull_ideal *ideal = share->ideal;
    int64_t from = stream->stopped_at > ideal->from ? stream->stopped_at : ideal->from;
    int64_t to = call->time < ideal->to ? call->time : ideal->to;
    losses->ns[call->op] += to > from ? to - from : 0;
    losses->region[call->op] = call->what;
}

/* A member of a team reads all of the run for it, and counts what is odd there no second time. */
static lull_status create_lost(struct lull_ideal *ideal, struct lull_error *err)
{
    const struct lull_trace *trace = ideal->trace;
    if (ideal->mail && !ideal->silent)
        ideal->silent = lull_trace_silent_create(trace);
    if (ideal->mail && !ideal->silent)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    return lull_lost_create(ideal->mail ? ideal->silent : trace, ideal->options->application,
                            &ideal->lost, err);
}

/* All threads share one list, made when the first needs it. NULL: a failure, which is noted. */
static struct lull_lost *open_lost(struct share *share)
{
    struct lull_ideal *ideal = share->ideal;
    struct lull_error err;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&ideal->lost_lock);
    if (!ideal->lost)
        status = create_lost(ideal, &err);
    struct lull_lost *lost = ideal->lost;
    pthread_mutex_unlock(&ideal->lost_lock);
    if (status != LULL_OK)
        lull_share_fail(share, status, &err);
    return status == LULL_OK ? lost : NULL;
}

static void receive_guessed(struct share *share, struct stream *stream, const struct note *call,
                            const struct lull_lost_send *send)
{
    static const char quirk[] =
        "non-blocking receives do not say what they received; what had been sent before their "
        "wait ended is taken";
    const struct lull_trace *trace = share->ideal->trace;
    const struct lull_channel channel = {send->source, stream->process->index,
                                         lull_comm_canonical(trace, send->comm), send->tag};
    uint32_t queue = lull_channel_queue(share, &channel);
    if (queue == LULL_NONE)
        return;
    const struct pending wanted = {.what = queue,
                                   .number = share->queues[queue].received++,
                                   .comm = LULL_NONE,
                                   .time = call->time,
                                   .bytes = send->bytes};
    lull_trace_add_quirk(&share->ideal->tally.trace, quirk, "rank %u at %.9g s",
                         trace->processes[stream->process->index].rank,
                         1e-9 * (double)stream->stopped_at);
    lull_ideal_stream_receive(share, stream, &wanted);
}

/* A wait of whose completions nothing was recorded, although receives are open. */
static void count_lost_receives(struct share *share, struct stream *stream, const struct note *call)
{
    const struct lull_lost_send *sends;
    if (share->ideal->most_epochs > 0) { /* or what is guessed would be told, and may be void */
        lull_epochs_spoil(share->ideal);
        return;
    }
    struct lull_lost *lost = open_lost(share);
    if (!lost)
        return;
    uint64_t most = call->op == LULL_CALL_WAITALL ? stream->open_receives : 1;
    struct lull_lost_wait wait = {.process = stream->process->index,
                                  .epoch = stream->lost_epoch,
                                  .time = call->time,
                                  .most = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most};
    uint32_t count = lull_lost_take(lost, &wait, &sends);
    stream->open_receives -= call->op == LULL_CALL_WAITALL ? most : count;
    for (uint32_t i = 0; i < count && share->status == LULL_OK; i++)
        receive_guessed(share, stream, call, &sends[i]);
}

static void look_at_wait(struct share *share, struct stream *stream, const struct note *call)
{
    struct losses *losses = stream->losses;
    bool waits = call->op != LULL_CALL_TEST;
    if (losses && losses->open > 0) {
        lose(share, stream, call);
        if (waits)
            losses->open -= call->op == LULL_CALL_WAIT ? 1 : losses->open;
    }
    if (waits && stream->open_receives > 0)
        count_lost_receives(share, stream, call);
}

void lull_ideal_stream_look_for_lost(struct share *share, struct stream *stream,
                                     const struct note *call)
{
    struct losses *losses;
    switch (call->op) {
    case LULL_CALL_WAIT:
    case LULL_CALL_WAITALL:
    case LULL_CALL_TEST:
        look_at_wait(share, stream, call);
        return;
    case LULL_CALL_ICOLLECTIVE:
        losses = losses_of(share, stream);
        if (losses)
            losses->open++;
        lose(share, stream, call);
        return;
    case LULL_CALL_SEND:
    case LULL_CALL_SSEND:
    case LULL_CALL_BSEND:
    case LULL_CALL_RECV:
    case LULL_CALL_SENDRECV: /* lost, unless others are recorded: then it was with MPI_PROC_NULL */
    case LULL_CALL_COLLECTIVE:
        lose(share, stream, call);
        return;
    default:
        return;
    }
}
