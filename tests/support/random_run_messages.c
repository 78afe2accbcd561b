/* Messages of a random run, in all the ways in which they are sent and received. */
#include "support/random_run_drawing.h"

static void message_step(struct program *p, struct thread *t, unsigned kind, uint32_t peer)
{
    struct lull_step *step = add(t, kind);
    bool sends = kind == LULL_STEP_SEND;
    const struct lull_channel channel = {sends ? t->process : peer, sends ? peer : t->process,
                                         lull_comm_canonical(p->run->trace, t->comm), t->tag};
    step->comm = t->comm;
    step->channel = lull_channels_find(t->steps->channels, &channel);
    step->message.bytes = 8;
    step->message.request = draw(p, 2) ? LULL_NO_REQUEST : t->requests++;
    step->message.peer = (int32_t)peer;
    step->message.tag = t->tag;
}

/* A synchronous message whose receive is there already has begun. */
static void see_begin(struct channel *channel)
{
    struct sent *first = channel->first;
    if (first && channel->poster && first->begun < 0)
        first->begun = channel->poster->post_ideal;
}

void run_send(struct program *p, struct thread *t)
{
    uint32_t target = (uint32_t)draw(p, p->n_processes);
    t->comm = (uint32_t)draw(p, COMMS - 2);
    t->tag = (int32_t)draw(p, TAGS);
    struct channel *channel = &p->channels[t->process][target][t->comm][t->tag];
    struct sent *sent = lull_arena_zero(p->run->arena, 1, sizeof *sent);
    sent->ideal = t->ideal;
    sent->begun = -1;
    if (channel->first)
        channel->last->next = sent;
    else
        channel->first = sent;
    channel->last = sent;
    see_begin(channel);
    if (++p->run->sent != p->forgets)
        message_step(p, t, LULL_STEP_SEND, target);
}

/* In a call of its own, which has begun; one that does not block is waited for later. */
void run_send_synchronously(struct program *p, struct thread *t)
{
    const bool blocks = t->call == LULL_CALL_SSEND;
    const size_t before = t->steps->count;
    run_send(p, t);
    if (t->steps->count == before) { /* it is not recorded */
        leave_call(p, t);
        return;
    }
    struct lull_step *step = &t->steps->steps[before];
    struct channel *channel = &p->channels[t->process][step->message.peer][t->comm][t->tag];
    t->synchronous = channel->last;
    t->sent_on = channel;
    t->sent_request = blocks ? LULL_NO_REQUEST : 5000 + t->requests++;
    step->op = LULL_SEND_SYNCHRONOUS;
    step->message.request = t->sent_request;
    t->tries = 15;
    t->doing = blocks ? SENDING_SYNCHRONOUSLY : LEAVING;
}

/* Until its receive has begun; one that nobody receives for too long is never received. */
void run_go_on_sending(struct program *p, struct thread *t)
{
    if (t->synchronous->begun < 0 && t->tries-- > 0) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    t->sent_on->dead |= t->synchronous->begun < 0;
    t->done = t->synchronous->begun > t->done ? t->synchronous->begun : t->done;
    t->synchronous = NULL;
    if (t->sent_request != LULL_NO_REQUEST) {
        struct lull_step *step = add(t, LULL_STEP_SEND_DONE);
        step->message.request = t->sent_request;
    }
    leave_call(p, t);
}

void run_choose_channel(struct program *p, struct thread *t)
{
    for (int tries = 0; tries < 6; tries++) {
        t->source = (uint32_t)draw(p, p->n_processes);
        t->comm = (uint32_t)draw(p, COMMS - 2);
        t->tag = (int32_t)draw(p, TAGS);
        t->channel = &p->channels[t->source][t->process][t->comm][t->tag];
        if (t->channel->first && !t->channel->poster)
            break;
    }
}

/* False: there is none yet. */
static bool receive(struct program *p, struct thread *t)
{
    struct sent *sent = t->channel->first;
    if (!sent || t->channel->dead || t->channel->poster)
        return false;
    sent->begun = t->ideal;
    t->channel->first = sent->next;
    t->done = sent->ideal > t->done ? sent->ideal : t->done;
    p->run->received++;
    message_step(p, t, LULL_STEP_RECV, t->source);
    return true;
}

/* A receive that does not block: the next message of a channel is its own. */
void run_post(struct program *p, struct thread *t)
{
    run_choose_channel(p, t);
    begin_call(p, t, LULL_CALL_OTHER, P2P);
    if (!t->channel->poster && !t->channel->dead) {
        t->posted = t->channel;
        t->posted->poster = t;
        t->post_request = 9000 + t->requests++;
        t->post_source = t->source;
        t->post_comm = t->comm;
        t->post_tag = t->tag;
        t->post_ideal = t->ideal;
        see_begin(t->posted);
        const bool named = draw(p, 2);
        struct lull_step *step = add(t, LULL_STEP_RECV_POST);
        step->comm = t->comm;
        step->message.peer = named ? (int32_t)t->source : LULL_ANY;
        step->message.tag = named ? t->tag : LULL_ANY;
        step->message.request = t->post_request;
    }
    leave_call(p, t);
}

/* The end of a receive that does not block, or its cancellation. */
void run_complete_post(struct program *p, struct thread *t)
{
    struct channel *channel = t->posted;
    struct sent *sent = channel->first;
    if (!sent && t->tries-- > 0 && draw(p, 8)) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    channel->poster = NULL;
    t->posted = NULL;
    if (sent) {
        channel->first = sent->next;
        sent->begun = t->post_ideal;
        t->done = sent->ideal > t->done ? sent->ideal : t->done;
        p->run->received++;
        t->comm = t->post_comm;
        t->tag = t->post_tag;
        message_step(p, t, LULL_STEP_RECV, t->post_source);
        t->steps->steps[t->steps->count - 1].message.request = t->post_request;
    } else {
        add(t, draw(p, 2) ? LULL_STEP_CANCEL : LULL_STEP_FREE)->message.request = t->post_request;
    }
    leave_call(p, t);
}

/* What does not block and is open. */
void run_complete(struct program *p, struct thread *t)
{
    begin_call(p, t, LULL_CALL_OTHER, P2P);
    t->tries = 15;
    t->doing = t->posted ? COMPLETING : SENDING_SYNCHRONOUSLY;
}

bool run_has_open(const struct thread *t)
{
    return t->posted || t->synchronous;
}

void run_go_on_receiving(struct program *p, struct thread *t)
{
    if (receive(p, t) && draw(p, 3) == 0) { /* a call that completes several */
        run_choose_channel(p, t);
        spend(t, 1, true);
        return;
    }
    if (t->channel->first == NULL && t->tries-- > 0 && draw(p, 8)) {
        spend(t, 1 + draw(p, 20), true);
        return;
    }
    if (draw(p, 4) == 0)
        run_send(p, t);
    leave_call(p, t);
}

/* Outside of any call each operation waits for itself. */
void run_bare_operation(struct program *p, struct thread *t)
{
    t->call_region = LULL_NONE;
    take_time(t);
    t->done = t->ideal;
    run_choose_channel(p, t);
    if (draw(p, 2) || !receive(p, t))
        run_send(p, t);
    t->ideal = t->done;
    spend(t, 1 + draw(p, 10), false);
}
