/* SPDX-License-Identifier: BSD-3-Clause */
/* Hockney's model: a message of n bytes takes latency + n / bandwidth, whatever else is under way.
 * Source: R. Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994. Messages
 * take no time of processors.
 *
 * A message of up to `eager` bytes is transferred at once, and the sender goes on at once. A larger
 * one is transferred when its receive was posted, too, and sender and receiver go on when this
 * ends. A message is matched a latency after it was sent, whatever its size, so that the messages
 * of a pair of ranks are matched in the order in which they were sent.
 *
 * A wait for a message takes at least `receive` + bytes / `copy`, even if the message came long
 * before, because it has to be copied out.
 *
 * The class `ranges` is the same with values for each range of sizes, as a machine file or the
 * messages of a trace have them; it matches a message after the latency of the smallest ones. */
#include "sim/network/transfer.h"

#include <math.h>

enum { LATENCY, HOCKNEY_BANDWIDTH, HOCKNEY_EAGER, RECEIVE, COPY };

static const struct lull_parameter hockney_parameters[] = {
    {"latency", "time of a message without content", LULL_TIME_NS, 2000, 0, 1e15, true},
    {"bandwidth", "bytes per second", LULL_BANDWIDTH, 1e10, 1, (double)INFINITY, true},
    {"eager", "largest eager message", LULL_BYTES, 65536, 0, (double)INFINITY, true},
    {"receive", "least time of a wait for a message", LULL_TIME_NS, 0, 0, 1e15, true},
    {"copy", "bytes per second that a wait copies", LULL_BANDWIDTH, (double)INFINITY, 1,
     (double)INFINITY, true},
};

static int64_t content(const struct lull_transfer *message, const double *v)
{
    return lull_cost((double)message->bytes * 1e9 / v[HOCKNEY_BANDWIDTH]);
}

static void send_hockney(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_moment moment = lull_now(fabric, id, now);
    message->time = now;
    lull_started(fabric, id, moment);
    lull_schedule(fabric, id, message->target, lull_hop(fabric, moment, lull_cost(v[LATENCY])));
    if (!lull_is_rendezvous(message, v[HOCKNEY_EAGER]))
        lull_sent(fabric, id, moment);
}

static void advance_hockney(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    lull_arrived(fabric, id, lull_now(fabric, id, now));
}

static int64_t hockney_receive_cost(const struct lull_network *network, enum lull_level level,
                                    uint64_t bytes)
{
    const double *v = network->values[level];
    return lull_cost(v[RECEIVE] + (double)bytes * 1e9 / v[COPY]);
}

/* The range of a message with so many bytes; NULL: the level has no ranges. */
static const struct lull_network_range_cost *find_range(const struct lull_network *network,
                                                        enum lull_level level, uint64_t bytes)
{
    const struct lull_network_range_cost *range = network->ranges[level];
    if (network->n_ranges[level] == 0)
        return NULL;
    while (range->to < bytes)
        range++;
    return range;
}

static int64_t receiving_by_range(const struct lull_network *network, enum lull_level level,
                                  uint64_t bytes)
{
    const struct lull_network_range_cost *range = find_range(network, level, bytes);
    return range ? lull_cost(range->receive + (double)bytes * 1e9 / range->copy)
                 : hockney_receive_cost(network, level, bytes);
}

/* How long a message takes behind the latency of the smallest messages, in ns. */
static int64_t content_by_range(const struct lull_fabric *fabric,
                                const struct lull_transfer *message, const double *v)
{
    const struct lull_network *network = fabric->network;
    enum lull_level level =
        lull_placement_level(&network->placement, message->source, message->target);
    const struct lull_network_range_cost *range = find_range(network, level, message->bytes);
    if (network->ranges_of_messages && (message->flags & LULL_TRANSFER_OF_SCRIPT))
        return content(message, v) + lull_cost(network->collective_delay);
    if (!range)
        return content(message, v);
    int64_t cost = lull_cost(range->latency + (double)message->bytes * 1e9 / range->bandwidth);
    int64_t latency = lull_cost(v[LATENCY]);
    return cost > latency ? cost - latency : 0;
}

static void transfer(struct lull_fabric *fabric, uint32_t id, uint32_t receive, const double *v,
                     int64_t length)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    int64_t latency = lull_cost(v[LATENCY]);
    struct lull_moment posted = lull_posted(fabric, receive);
    bool rendezvous = lull_is_rendezvous(message, v[HOCKNEY_EAGER]);
    struct lull_moment end = lull_now(fabric, id, message->time + latency);
    if (rendezvous && posted.time > message->time)
        end = lull_hop(fabric, posted, latency);
    end = lull_after(fabric, end, LULL_PATH_BANDWIDTH, length);
    if (end.time < posted.time)
        end = posted;
    if (rendezvous)
        lull_sent(fabric, id, end);
    lull_received(fabric, id, end);
}

static void match_hockney(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    (void)now;
    transfer(fabric, id, receive, v, content(message, v));
}

static void match_by_range(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    (void)now;
    transfer(fabric, id, receive, v, content_by_range(fabric, message, v));
}

const struct lull_network_class lull_network_hockney = {
    .name = "hockney",
    .summary = "latency + bytes / bandwidth",
    .parameters = hockney_parameters,
    .n_parameters = sizeof hockney_parameters / sizeof *hockney_parameters,
    .collectives = LULL_COLLECTIVES_ALGORITHM,
    .any_order = true,
    .send = send_hockney,
    .advance = advance_hockney,
    .match = match_hockney,
    .receiving = hockney_receive_cost,
};

const struct lull_network_class lull_network_ranges = {
    .name = "ranges",
    .summary = "hockney with the numbers of each range of sizes, from a machine file",
    .parameters = hockney_parameters,
    .n_parameters = sizeof hockney_parameters / sizeof *hockney_parameters,
    .collectives = LULL_COLLECTIVES_ALGORITHM,
    .any_order = true,
    .send = send_hockney,
    .advance = advance_hockney,
    .match = match_by_range,
    .receiving = receiving_by_range,
};
