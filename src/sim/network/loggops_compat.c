/* LogGOPS as LogGOPSim computes it, so that results can be compared. Source of the rules: the
 * simulator by Hoefler, Schneider and Lumsdaine ("LogGOPSim", HPDC 2010), as it behaves, to the
 * nanosecond but for one thing: where a rendezvous waits for its receive, it holds the sender's
 * processor and NIC with the numbers of the receive, and looks at the receive's size. Here those of
 * the send count, for they are the sender's.
 *
 * With B = size - 1 (0 for nothing), t the time at which an operation starts:
 *  - send: processor until t + o + B O, NIC until t + g + B G; the message is at the receiver at
 *    t + o + L; up to S bytes the send is done at t.
 *  - message, when processor and NIC are free: processor until t + o + max(B O, B G), NIC until
 *    t + g + B G; then it is matched.
 *  - match: the receive is done; beyond S bytes, so is the send, and the sender's processor and NIC
 *    are not free before.
 * The processor of the receiver is the one with the sender's number. Weaknesses of these rules: a
 * rendezvous takes no round trip, its payload is there when the receive is posted late, and with
 * several processors something can start before what it waits for has ended. */
#include "sim/network/transfer.h"

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
