/* SPDX-License-Identifier: BSD-3-Clause */
/* LogGOPS: a message has the latency L. It takes the processor time o, and O per byte, at either
 * end. A NIC has the gap g between messages, and takes G per byte. Messages of up to S bytes are
 * sent eagerly. Source: Hoefler, Schneider and Lumsdaine, "LogGOPSim" (HPDC 2010), section 2. What
 * the paper leaves open is decided so:
 *
 *  - Processors and NICs serve in the order of request. A send occupies the processor for o + B O
 *    (B = size - 1), then waits for the NIC without occupying the processor.
 *  - The last byte is at the receiver B G after the first; the NICs of both ends are busy for
 *    g + B G. The receiving processor works, o + B O, when the last byte is there and the receive
 *    was posted.
 *  - In a rendezvous the sender announces the message (o, L). When the announcement has come and
 *    the receive was posted, the receiver answers (o, L). Then the sender sends (o + B O, L, B G)
 *    and the receiver works as above. Announcement and answer pass the NICs like messages of one
 *    byte. While a processor computes, it does none of this.
 *  - A send is over when the processor is done with it and, with rendezvous, the last byte has
 *    left. */
#include "sim/network/transfer.h"

/* ==== loggops compat ========================================================================== */

/* LogGOPS as LogGOPSim computes it, so that results can be compared. The rules are those by which
 * the simulator of Hoefler, Schneider and Lumsdaine ("LogGOPSim", HPDC 2010) behaves, to the
 * nanosecond, but for one thing: where a rendezvous waits for its receive, LogGOPSim holds the
 * processor and NIC of the sender that have the numbers of the receive's, and looks at the
 * receive's size. Here the numbers and the size of the send count.
 *
 * B is size - 1 (0 for an empty message), t is the time at which an operation starts:
 *  - send: processor until t + o + B O, NIC until t + g + B G; the message is at the receiver at
 *    t + o + L; up to S bytes the send is done at t.
 *  - message, when processor and NIC are free: processor until t + o + max(B O, B G), NIC until
 *    t + g + B G; then it is matched.
 *  - match: the receive is done; beyond S bytes, so is the send, and the sender's processor and NIC
 *    are not free before.
 * The processor of the receiver is the one with the sender's number. Weaknesses of these rules: a
 * rendezvous takes no round trip, its payload is there when the receive is posted late, and with
 * several processors something can start before what it waits for has ended. */

enum { L, O_MESSAGE, G_MESSAGE, G_BYTE, O_BYTE, S };

static const struct lull_parameter loggops_parameters[] = {
    {"L", "latency", LULL_TIME_NS, 2500, 0, 1e15, true},
    {"o", "processor time per message", LULL_TIME_NS, 1500, 0, 1e15, true},
    {"g", "gap between messages of a NIC", LULL_TIME_NS, 1000, 0, 1e15, true},
    {"G", "gap per byte", LULL_TIME_PER_BYTE, 6, 0, 1e9, true},
    {"O", "processor time per byte", LULL_TIME_PER_BYTE, 0, 0, 1e9, true},
    {"S", "largest eager message", LULL_BYTES, 65535, 0, 1e18, true},
};

static double bytes_behind_first(const struct lull_transfer *message)
{
    return message->bytes ? (double)(message->bytes - 1) : 0;
}

static struct lull_moment nic_until(const struct lull_fabric *fabric, struct lull_moment moment,
                                    const double *v, double b)
{
    moment = lull_after(fabric, moment, LULL_PATH_WAITING, lull_cost(v[G_MESSAGE]));
    return lull_after(fabric, moment, LULL_PATH_BANDWIDTH, lull_cost(b * v[G_BYTE]));
}

static void send_compat(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    uint32_t source = message->source, target = message->target;
    const double *v = lull_between(fabric, source, target);
    double b = bytes_behind_first(message);
    bool rendezvous = lull_is_rendezvous(message, v[S]);
    int64_t o = lull_cost(v[O_MESSAGE]), busy = o + lull_cost(b * v[O_BYTE]);
    struct lull_moment start = lull_now(fabric, id, now);
    lull_keep_busy(lull_cpu(fabric, source, message->cpu),
                   lull_after(fabric, start, LULL_PATH_OVERHEAD, busy));
    lull_keep_busy(lull_nic(fabric, source, message->nic, LULL_CLOCK_SEND),
                   nic_until(fabric, start, v, b));
    fabric->ranks[source].overhead += busy;
    lull_started(fabric, id, start);
    struct lull_moment left = lull_after(fabric, start, LULL_PATH_OVERHEAD, o);
    lull_schedule(fabric, id, target, lull_hop(fabric, left, lull_cost(v[L])));
    if (!rendezvous)
        lull_sent(fabric, id, start);
}

static void advance_compat(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    double b = bytes_behind_first(message);
    struct lull_moment start = lull_now(fabric, id, now);
    int64_t o = lull_cost(v[O_MESSAGE]);
    double per_byte = v[O_BYTE] > v[G_BYTE] ? v[O_BYTE] : v[G_BYTE];
    enum lull_path_part part = v[O_BYTE] > v[G_BYTE] ? LULL_PATH_OVERHEAD : LULL_PATH_BANDWIDTH;
    int64_t bytes = lull_cost(b * per_byte);
    struct lull_moment until = lull_after(fabric, start, LULL_PATH_OVERHEAD, o);
    lull_keep_busy(lull_cpu(fabric, message->target, message->cpu),
                   lull_after(fabric, until, part, bytes));
    lull_keep_busy(lull_nic(fabric, message->target, message->nic, LULL_CLOCK_RECEIVE),
                   nic_until(fabric, start, v, b));
    fabric->ranks[message->target].overhead += o + bytes;
    lull_arrived(fabric, id, start);
}

static void match_compat(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_moment moment = lull_matched(fabric, id, receive, now);
    if (lull_is_rendezvous(message, v[S])) {
        struct lull_moment released = lull_hop(fabric, moment, 0);
        struct lull_clock cpu = lull_cpu(fabric, message->source, message->cpu);
        struct lull_clock nic = lull_nic(fabric, message->source, message->nic, LULL_CLOCK_SEND);
        lull_keep_busy(cpu, lull_free(released, cpu));
        lull_keep_busy(nic, lull_free(released, nic));
        lull_sent(fabric, id, released);
    }
    lull_received(fabric, id, moment);
}

const struct lull_network_class lull_network_loggops_compat = {
    .name = "loggops-compat",
    .summary = "LogGOPS with the rules of LogGOPSim, weaknesses included",
    .parameters = loggops_parameters,
    .n_parameters = sizeof loggops_parameters / sizeof *loggops_parameters,
    .occupies = true,
    .collectives = LULL_COLLECTIVES_ALGORITHM,
    .compat = true,
    .send = send_compat,
    .advance = advance_compat,
    .match = match_compat,
};

/* ==== loggops ================================================================================= */

/* A message's phase: which part of it is under way (by LOGGOPS_KINDS), and the bit PASSED_NIC once
 * this part has passed the NIC of the rank that it goes to. */
enum { ANNOUNCEMENT, ANSWER, PAYLOAD, LOGGOPS_KINDS = 3, PASSED_NIC = 4 };

/* Occupies a processor for a message of which `b` bytes count, from `moment` on or when it is free.
 * Returns when it is done. */
static struct lull_moment occupy_processor(struct lull_fabric *fabric, uint32_t rank,
                                           unsigned cpu_number, struct lull_moment moment,
                                           const double *v, double b)
{
    struct lull_clock cpu = lull_cpu(fabric, rank, cpu_number);
    int64_t busy = lull_cost(v[O_MESSAGE]) + lull_cost(b * v[O_BYTE]);
    struct lull_moment end = lull_after(fabric, lull_free(moment, cpu), LULL_PATH_OVERHEAD, busy);
    lull_keep_busy(cpu, end);
    fabric->ranks[rank].overhead += busy;
    return end;
}

/* Passes a NIC from `moment` on, or when it is free. Returns when the first byte passes. */
static struct lull_moment pass(const struct lull_fabric *fabric, struct lull_clock nic,
                               struct lull_moment moment, const double *v, double b)
{
    struct lull_moment first = lull_free(moment, nic);
    struct lull_moment until =
        lull_after(fabric, first, LULL_PATH_BANDWIDTH, lull_cost(b * v[G_BYTE]));
    lull_keep_busy(nic, lull_after(fabric, until, LULL_PATH_WAITING, lull_cost(v[G_MESSAGE])));
    return first;
}

/* Sends an announcement, answer or payload of a message, as `kind` says: first the processor works
 * for it, from `moment` on, then it passes the NIC. Returns when the processor is done with it;
 * *ret_left is when the last byte has left. */
static struct lull_moment launch(struct lull_fabric *fabric, uint32_t id, unsigned kind,
                                 struct lull_moment moment, struct lull_moment *ret_left)
{
    struct lull_transfer *message = &fabric->transfers[id];
    bool back = kind == ANSWER;
    uint32_t from = back ? message->target : message->source;
    uint32_t to = back ? message->source : message->target;
    const double *v = lull_between(fabric, message->source, message->target);
    double b = kind == PAYLOAD ? bytes_behind_first(message) : 0;
    unsigned cpu = back ? fabric->transfers[message->partner].cpu : message->cpu;
    unsigned nic = back ? fabric->transfers[message->partner].nic : message->nic;
    struct lull_moment end = occupy_processor(fabric, from, cpu, moment, v, b);
    struct lull_moment left = pass(fabric, lull_nic(fabric, from, nic, LULL_CLOCK_SEND), end, v, b);
    message->phase = kind & 0x3f;
    lull_schedule(fabric, id, to, lull_hop(fabric, left, lull_cost(v[L])));
    *ret_left = lull_after(fabric, left, LULL_PATH_BANDWIDTH, lull_cost(b * v[G_BYTE]));
    return end;
}

static void send_loggops(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_moment moment = lull_now(fabric, id, now), left;
    bool rendezvous = lull_is_rendezvous(message, v[S]);
    lull_started(fabric, id, lull_free(moment, lull_cpu(fabric, message->source, message->cpu)));
    struct lull_moment end = launch(fabric, id, rendezvous ? ANNOUNCEMENT : PAYLOAD, moment, &left);
    if (!rendezvous)
        lull_sent(fabric, id, end);
}

/* The payload is there and its receive was posted: the receiver's processor works for it. */
static void take_payload(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    unsigned cpu = fabric->transfers[message->partner].cpu;
    lull_received(
        fabric, id,
        occupy_processor(fabric, message->target, cpu, moment, v, bytes_behind_first(message)));
}

static void arrive_at_receiver(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    const struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_moment left;
    switch (message->phase & LOGGOPS_KINDS) {
    case ANSWER: {
        struct lull_moment end = launch(fabric, id, PAYLOAD, moment, &left);
        lull_sent(fabric, id, left.time > end.time ? left : end);
        break;
    }
    case PAYLOAD:
        if (lull_is_rendezvous(message, v[S])) {
            take_payload(fabric, id, moment);
            break;
        }
        /* fall through */
    default:
        lull_arrived(fabric, id, moment);
    }
}

static void advance_loggops(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    struct lull_moment moment = lull_now(fabric, id, now);
    if (message->phase & PASSED_NIC) {
        arrive_at_receiver(fabric, id, moment);
        return;
    }
    const double *v = lull_between(fabric, message->source, message->target);
    uint32_t at = message->phase == ANSWER ? message->source : message->target;
    double b = message->phase == PAYLOAD ? bytes_behind_first(message) : 0;
    struct lull_clock nic = lull_nic(fabric, at, message->nic, LULL_CLOCK_RECEIVE);
    moment = lull_after(fabric, pass(fabric, nic, moment, v, b), LULL_PATH_BANDWIDTH,
                        lull_cost(b * v[G_BYTE]));
    message->phase |= PASSED_NIC;
    if (moment.time > now)
        lull_postpone(fabric, id, at, moment);
    else
        arrive_at_receiver(fabric, id, moment);
}

static void match_loggops(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    struct lull_moment moment = lull_matched(fabric, id, receive, now), left;
    if ((fabric->transfers[id].phase & LOGGOPS_KINDS) == ANNOUNCEMENT)
        launch(fabric, id, ANSWER, moment, &left);
    else
        take_payload(fabric, id, moment);
}

/* Whatever goes to another rank occupies a processor for o at least, and is on its way for L. */
static int64_t lookahead(const struct lull_network *network)
{
    int64_t least = INT64_MAX;
    for (unsigned i = 0; i < LULL_LEVELS; i++) {
        const double *v = network->values[i];
        int64_t time = lull_cost(v[O_MESSAGE]) + lull_cost(v[L]);
        least = time < least ? time : least;
    }
    return least;
}

const struct lull_network_class lull_network_loggops = {
    .name = "loggops",
    .summary = "LogGOPS: processors, NICs, rendezvous with its round trip",
    .parameters = loggops_parameters,
    .n_parameters = sizeof loggops_parameters / sizeof *loggops_parameters,
    .occupies = true,
    .collectives = LULL_COLLECTIVES_ALGORITHM,
    .send = send_loggops,
    .advance = advance_loggops,
    .match = match_loggops,
    .lookahead = lookahead,
};
