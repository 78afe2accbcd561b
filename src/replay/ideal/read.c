#include "replay/ideal/read.h"

#include "base/array.h"
#include "replay/ideal/channels.h"

/* New channels are made known to the share, which the reader of a crew holds already. */
static void hold_share(struct share *share, const struct stream *stream)
{
    if (!stream->process->crew)
        pthread_mutex_lock(&share->evaluation);
}

static void let_go_share(struct share *share, const struct stream *stream)
{
    if (!stream->process->crew)
        pthread_mutex_unlock(&share->evaluation);
}

/* NULL: no memory, which is noted. */
static struct route *find_route(struct share *share, struct stream *stream, uint32_t channel)
{
    if (!lull_array_reserve(&stream->routes, &stream->route_capacity, (size_t)channel + 1,
                            sizeof *stream->routes)) {
        lull_share_no_memory(share);
        return NULL;
    }
    while (stream->n_routes <= channel)
        stream->routes[stream->n_routes++] = (struct route){LULL_NONE, LULL_NONE};
    return &stream->routes[channel];
}

uint32_t lull_read_link(struct share *share, struct stream *stream, uint32_t channel,
                        const struct lull_channels *channels)
{
    hold_share(share, stream);
    struct route *route = find_route(share, stream, channel);
    uint32_t link = LULL_NONE;
    if (route)
        link = route->link = lull_channel_link(share, lull_channels_at(channels, channel));
    let_go_share(share, stream);
    return link;
}

uint32_t lull_read_queue(struct share *share, struct stream *stream, uint32_t channel,
                         const struct lull_channels *channels)
{
    hold_share(share, stream);
    struct route *route = find_route(share, stream, channel);
    uint32_t queue = LULL_NONE;
    if (route)
        queue = route->queue = lull_channel_queue(share, lull_channels_at(channels, channel));
    let_go_share(share, stream);
    return queue;
}

uint32_t lull_read_post(struct share *share, struct stream *stream, uint64_t request)
{
    struct reading *reading = &stream->reading;
    if (request == LULL_NO_REQUEST)
        return LULL_NONE;
    if (!lull_array_reserve(&reading->open, &reading->open_capacity, reading->n_open + 1,
                            sizeof *reading->open)) {
        hold_share(share, stream);
        lull_share_no_memory(share);
        let_go_share(share, stream);
        return LULL_NONE;
    }
    reading->open[reading->n_open++] = (struct read_post){request, reading->n_posts};
    return reading->n_posts++;
}

uint32_t lull_read_completion(struct reading *reading, uint64_t request)
{
    for (size_t i = 0; i < reading->n_open && request != LULL_NO_REQUEST; i++)
        if (reading->open[i].request == request) {
            const uint32_t post = reading->open[i].post;
            reading->open[i] = reading->open[--reading->n_open];
            return post;
        }
    return LULL_NONE;
}

bool lull_read_leaves_records(struct reading *reading, uint8_t call)
{
    reading->lost_collective |= call == LULL_CALL_ICOLLECTIVE;
    return call == LULL_CALL_TEST ? reading->lost_collective : lull_call_leaves_operations(call);
}

bool lull_read_is_beyond(const struct share *share, const struct reading *reading,
                         const struct lull_step *step)
{
    int64_t to = share->ideal->to;
    return reading->in_call ? step->kind == LULL_STEP_CALL_END && step->time > to
                            : step->time >= to;
}

bool lull_read_is_known(const struct share *share, const struct note *note)
{
    const struct lull_trace *trace = share->ideal->trace;
    return note->what < trace->n_comms && trace->comms[note->what].paradigm == LULL_PARADIGM_MPI &&
           note->op != LULL_COLLECTIVE_UNKNOWN;
}

bool lull_read_is_alone(const struct share *share, uint32_t comm)
{
    const struct lull_comm *c = &share->ideal->trace->comms[comm];
    return c->size == 1 && c->remote == LULL_NONE;
}

bool lull_read_is_root_between(const struct share *share, const struct lull_step *step)
{
    const struct lull_trace *trace = share->ideal->trace;
    return step->collective.root < 0 && step->comm < trace->n_comms &&
           trace->comms[step->comm].remote != LULL_NONE &&
           (step->collective.sent > 0 || step->collective.received > 0);
}

bool lull_read_gathers(const struct share *share, const struct note *note)
{
    bool begins = note->kind == LULL_STEP_COLLECTIVE_BEGIN;
    return begins == ((note->flags & NOTE_REQUEST) != 0) && lull_read_is_known(share, note) &&
           !lull_read_is_alone(share, note->what);
}
