/* The model of Dimemas: a message takes its startup, which occupies the sender's processor, then
 * waits for a bus of the network, an output link of the node that it leaves and an input link of
 * the node that it goes to, and then moves, size / bandwidth. Inside a node the numbers of level
 * node (or closer) hold, and the node's own buses. What waits is served in the order of request,
 * except that a message whose links are free passes one whose links are not. Up to `eager` bytes a
 * message moves at once, beyond when its receive was posted too; then the sender waits for the end.
 *
 * Collective operations in closed form: all leave when the last has arrived, plus fan-in and
 * fan-out, each 0, one step, P - 1 steps or ceil(log2 P) steps of (startup + size / bandwidth),
 * with a size made from those of the ranks. Which, says a table. (R. Badia, J. Labarta, J. Gimenez,
 * F. Escale, "DIMEMAS: Predicting MPI applications behavior in Grid environments", 2003.) */
#include "sim/network/transfer.h"

#include "base/collective.h"

#include <math.h>
#include <string.h>

enum { STARTUP, BANDWIDTH, EAGER, BUSES, NODE_BUSES, IN_LINKS, OUT_LINKS };

static const struct lull_parameter parameters[] = {
    {"startup", "processor time before a message moves", LULL_TIME_NS, 2000, 0, 1e15, true},
    {"bandwidth", "bytes per second", LULL_BANDWIDTH, 1e10, 1, (double)INFINITY, true},
    {"eager", "largest eager message", LULL_BYTES, 65536, 0, (double)INFINITY, true},
    {"buses", "messages on the network at once; 0: any", LULL_COUNT, 0, 0, 1e9, false},
    {"node_buses", "messages inside a node at once; 0: any", LULL_COUNT, 0, 0, 1e9, false},
    {"in", "messages into a node at once; 0: any", LULL_COUNT, 1, 0, 1e9, false},
    {"out", "messages out of a node at once; 0: any", LULL_COUNT, 1, 0, 1e9, false},
};

/* Of a message. */
enum { THERE = 1, WAITS = 2, MOVES = 4, MOVED = 8, MATCHED = 16 };

struct node {
    uint32_t inside, in, out; /* messages under way */
};

struct state {
    uint32_t on_network;
    struct node *nodes;
    uint32_t *waiting; /* messages in the order of request */
    size_t n_waiting, room;
};

static uint32_t node_of(const struct lull_fabric *fabric, uint32_t rank)
{
    return lull_placement_node(&fabric->network->placement, rank);
}

static lull_status open(struct lull_fabric *fabric, struct lull_error *err)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < fabric->n_ranks; r++) {
        uint32_t node = node_of(fabric, r);
        most = node > most ? node : most;
    }
    struct state *state = lull_arena_zero(fabric->arena, 1, sizeof *state);
    state->nodes = lull_arena_try(fabric->arena, most + (size_t)1, sizeof *state->nodes);
    if (!state->nodes)
        return lull_fail(err, LULL_ERR_MEMORY, "simulation: not enough memory for %u nodes", most);
    fabric->state = state;
    return LULL_OK;
}

static bool fits(uint32_t used, double most)
{
    return most == 0 || used < most;
}

/* Takes (+1) or gives back (-1) what a message occupies. */
static void occupy(const struct lull_fabric *fabric, const struct lull_transfer *message,
                   uint32_t change)
{
    struct state *state = fabric->state;
    uint32_t from = node_of(fabric, message->source), to = node_of(fabric, message->target);
    if (from == to) {
        state->nodes[from].inside += change;
        return;
    }
    state->on_network += change;
    state->nodes[from].out += change;
    state->nodes[to].in += change;
}

static bool may_move(const struct lull_fabric *fabric, const struct lull_transfer *message)
{
    const struct state *state = fabric->state;
    const double *v = fabric->network->values[0];
    uint32_t from = node_of(fabric, message->source), to = node_of(fabric, message->target);
    if (from == to)
        return fits(state->nodes[from].inside, v[NODE_BUSES]);
    return fits(state->on_network, v[BUSES]) && fits(state->nodes[from].out, v[OUT_LINKS]) &&
           fits(state->nodes[to].in, v[IN_LINKS]);
}

static void move(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    message->phase = (uint8_t)((message->phase & ~WAITS) | MOVES);
    occupy(fabric, message, 1);
    lull_schedule(fabric, id, message->target,
                  lull_after(fabric, moment, LULL_PATH_BANDWIDTH,
                             lull_cost((double)message->bytes * 1e9 / v[BANDWIDTH])));
}

static void request(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    struct state *state = fabric->state;
    struct lull_transfer *message = &fabric->transfers[id];
    if (may_move(fabric, message)) {
        move(fabric, id, moment);
        return;
    }
    message->phase |= WAITS;
    message->time = moment.time;
    if (fabric->path)
        fabric->transfer_path[id] = moment.path;
    state->waiting = lull_arena_grow(fabric->arena, state->waiting, &state->room,
                                     state->n_waiting + 1, sizeof *state->waiting);
    state->waiting[state->n_waiting++] = id;
}

/* Something was given back: those that wait, in their order. */
static void move_others(struct lull_fabric *fabric, int64_t now)
{
    struct state *state = fabric->state;
    size_t kept = 0;
    for (size_t i = 0; i < state->n_waiting; i++) {
        uint32_t id = state->waiting[i];
        const struct lull_transfer *message = &fabric->transfers[id];
        if (!may_move(fabric, message)) {
            state->waiting[kept++] = id;
            continue;
        }
        struct lull_moment asked = lull_now(fabric, id, message->time);
        move(fabric, id, lull_after(fabric, asked, LULL_PATH_WAITING, now - message->time));
    }
    state->n_waiting = kept;
}

static bool is_rendezvous(const struct lull_fabric *fabric, const struct lull_transfer *message)
{
    return lull_is_rendezvous(message,
                              lull_between(fabric, message->source, message->target)[EAGER]);
}

static void send(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    struct lull_clock cpu = lull_cpu(fabric, message->source, message->cpu);
    struct lull_moment begin = lull_free(lull_now(fabric, id, now), cpu);
    int64_t startup = lull_cost(v[STARTUP]);
    struct lull_moment end = lull_hop(fabric, begin, startup);
    lull_keep_busy(cpu, end);
    fabric->ranks[message->source].overhead += startup;
    lull_started(fabric, id, begin);
    lull_schedule(fabric, id, message->target, end);
    if (!is_rendezvous(fabric, message))
        lull_sent(fabric, id, end);
}

static void over(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    if (is_rendezvous(fabric, &fabric->transfers[id]))
        lull_sent(fabric, id, moment);
    lull_received(fabric, id, moment);
}

static void advance(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    struct lull_moment moment = lull_now(fabric, id, now);
    if (!(message->phase & THERE)) {
        message->phase |= THERE;
        lull_arrived(fabric, id, moment);
        if (!is_rendezvous(fabric, message))
            request(fabric, id, moment);
        return;
    }
    message->phase = (uint8_t)((message->phase & ~MOVES) | MOVED);
    occupy(fabric, message, (uint32_t)-1);
    bool matched = message->phase & MATCHED;
    move_others(fabric, now);
    if (matched)
        over(fabric, id, moment);
}

static void match(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    struct lull_moment moment = lull_matched(fabric, id, receive, now);
    message->phase |= MATCHED;
    if (message->phase & MOVED)
        over(fabric, id, moment);
    else if (is_rendezvous(fabric, message))
        request(fabric, id, moment);
}

/* ---- collective operations ----------------------------------------------------------------- */

enum steps { NONE, CONSTANT, LINEAR, LOGARITHMIC };
enum size { LEAST, MOST, MEAN, TWICE_MOST, SUM };

struct fan {
    uint8_t steps, size;
};

static const struct {
    struct fan in, out;
} forms[LULL_COLLECTIVES] = {
    [LULL_COLLECTIVE_BARRIER] = {{LOGARITHMIC, MOST}, {NONE, MOST}},
    [LULL_COLLECTIVE_BCAST] = {{LOGARITHMIC, MOST}, {NONE, MOST}},
    [LULL_COLLECTIVE_GATHER] = {{LOGARITHMIC, MEAN}, {NONE, MOST}},
    [LULL_COLLECTIVE_GATHERV] = {{LOGARITHMIC, MEAN}, {NONE, MOST}},
    [LULL_COLLECTIVE_SCATTER] = {{NONE, MOST}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_SCATTERV] = {{NONE, MOST}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_ALLGATHER] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_ALLGATHERV] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_ALLTOALL] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MOST}},
    [LULL_COLLECTIVE_ALLTOALLV] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MOST}},
    [LULL_COLLECTIVE_ALLTOALLW] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MOST}},
    [LULL_COLLECTIVE_ALLREDUCE] = {{LOGARITHMIC, MOST}, {NONE, MOST}},
    [LULL_COLLECTIVE_REDUCE] = {{LOGARITHMIC, TWICE_MOST}, {NONE, MOST}},
    [LULL_COLLECTIVE_REDUCE_SCATTER] = {{LOGARITHMIC, TWICE_MOST}, {LINEAR, LEAST}},
    [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = {{LOGARITHMIC, TWICE_MOST}, {LINEAR, LEAST}},
    [LULL_COLLECTIVE_SCAN] = {{LOGARITHMIC, MOST}, {LOGARITHMIC, MOST}},
    [LULL_COLLECTIVE_EXSCAN] = {{LOGARITHMIC, MOST}, {LOGARITHMIC, MOST}},
    [LULL_COLLECTIVE_CREATE] = {{LOGARITHMIC, MOST}, {NONE, MOST}},
    [LULL_COLLECTIVE_UNKNOWN] = {{LOGARITHMIC, MOST}, {NONE, MOST}},
};

static double steps_of(uint8_t steps, uint32_t ranks)
{
    double logarithm = 0;
    for (uint64_t reached = 1; reached < ranks; reached *= 2)
        logarithm++;
    const double counts[] = {
        [NONE] = 0, [CONSTANT] = 1, [LINEAR] = ranks - 1.0, [LOGARITHMIC] = logarithm};
    return ranks > 1 ? counts[steps] : 0;
}

static double size_of(uint8_t size, const struct lull_collective_shape *shape)
{
    double sent = (double)shape->sent_most, received = (double)shape->received_most;
    double most = fmax(sent, received);
    double sum =
        (double)(shape->sent_sum > shape->received_sum ? shape->sent_sum : shape->received_sum);
    const double sizes[] = {[LEAST] =
                                fmin((double)shape->sent_least, (double)shape->received_least),
                            [MOST] = most,
                            [MEAN] = sum / shape->n_ranks,
                            [TWICE_MOST] = 2 * most,
                            [SUM] = sum};
    return sizes[size];
}

static int64_t collective(const struct lull_network *network,
                          const struct lull_collective_shape *shape)
{
    const double *v = network->values[shape->widest];
    const struct fan fans[] = {forms[shape->operation].in, forms[shape->operation].out};
    double cost = 0;
    for (int i = 0; i < 2; i++)
        cost += steps_of(fans[i].steps, shape->n_ranks) *
                (v[STARTUP] + size_of(fans[i].size, shape) * 1e9 / v[BANDWIDTH]);
    return lull_cost(cost);
}

const struct lull_network_class lull_network_dimemas = {
    .name = "dimemas",
    .summary = "startup, buses and links of nodes, collectives in closed form",
    .parameters = parameters,
    .n_parameters = sizeof parameters / sizeof *parameters,
    .occupies = true,
    .collectives = LULL_COLLECTIVES_CLOSED,
    .open = open,
    .send = send,
    .advance = advance,
    .match = match,
    .collective = collective,
};
