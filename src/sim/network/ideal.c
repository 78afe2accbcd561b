/* SPDX-License-Identifier: BSD-3-Clause */
/* The ideal network, on which messages cost nothing. What remains is that a receive needs its
 * message sent, and that a send of more than `eager` bytes needs its receive posted. Collective
 * operations cost nothing either: a rank leaves when the ranks whose data it needs have arrived. */
#include "sim/network/transfer.h"

#include <math.h>

enum { IDEAL_EAGER };

static const struct lull_parameter ideal_parameters[] = {
    {"eager", "largest eager message", LULL_BYTES, (double)INFINITY, 0, (double)INFINITY, true},
};

static void send_ideal(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_moment moment = lull_now(fabric, id, now);
    message->time = now;
    lull_started(fabric, id, moment);
    if (!lull_is_rendezvous(message, v[IDEAL_EAGER]))
        lull_sent(fabric, id, moment);
    lull_arrived(fabric, id, lull_hop(fabric, moment, 0));
}

/* Never called, because nothing is scheduled on this network. */
static void advance_ideal(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    lull_arrived(fabric, id, lull_now(fabric, id, now));
}

static void match_ideal(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_moment moment = lull_posted(fabric, receive);
    (void)now;
    if (moment.time < message->time)
        moment = lull_now(fabric, id, message->time);
    if (lull_is_rendezvous(message, v[IDEAL_EAGER]))
        lull_sent(fabric, id, lull_hop(fabric, moment, 0));
    lull_received(fabric, id, moment);
}

static int64_t ideal_collective_cost(const struct lull_network *network,
                                     const struct lull_collective_shape *shape)
{
    (void)network;
    (void)shape;
    return 0;
}

const struct lull_network_class lull_network_ideal = {
    .name = "ideal",
    .summary = "messages take no time",
    .parameters = ideal_parameters,
    .n_parameters = sizeof ideal_parameters / sizeof *ideal_parameters,
    .collectives = LULL_COLLECTIVES_CLOSED,
    .waits_as_needed = true,
    .any_order = true,
    .send = send_ideal,
    .advance = advance_ideal,
    .match = match_ideal,
    .collective = ideal_collective_cost,
};
