/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of Dimemas. A message first takes its startup, which occupies the sender's processor,
 * and for as long the receiver's once it waits for the message. Then the message waits for a bus of
 * the network, an output link of the node that it leaves and an input link of the node that it goes
 * to. Then it moves, which takes size / bandwidth. Inside a node the values of level node (or
 * closer) hold, and the node has its own buses. Messages that wait are served in the order in which
 * they asked, except that a message whose links are free passes one whose links are not. A message
 * of up to `eager` bytes moves at once, a larger one when its receive was posted, too; until then
 * the sender waits. A blocking receive counts as posted behind its startup.
 *
 * Collective operations have closed forms: all ranks leave when the last has arrived, and the times
 * of a fan-in and a fan-out have passed. Each of these is 0, 1, P - 1 or ceil(log2 P) steps of
 * (startup + size / bandwidth), with a size made from those of the ranks; the table `forms` says
 * which. Source: R. Badia, J. Labarta, J. Gimenez, F. Escale, "DIMEMAS: Predicting MPI applications
 * behavior in Grid environments", 2003. */
#include "sim/network/transfer.h"

#include "base/collective.h"

#include <math.h>
#include <string.h>

enum { STARTUP, DIMEMAS_BANDWIDTH, DIMEMAS_EAGER, BUSES, NODE_BUSES, IN_LINKS, OUT_LINKS };

static const struct lull_parameter dimemas_parameters[] = {
    {"startup", "processor time before a message moves", LULL_TIME_NS, 2000, 0, 1e15, true},
    {"bandwidth", "bytes per second", LULL_BANDWIDTH, 1e10, 1, (double)INFINITY, true},
    {"eager", "largest eager message", LULL_BYTES, 65536, 0, (double)INFINITY, true},
    {"buses", "messages on the network at once; 0: any", LULL_COUNT, 0, 0, 1e9, false},
    {"node_buses", "messages inside a node at once; 0: any", LULL_COUNT, 0, 0, 1e9, false},
    {"in", "messages into a node at once; 0: any", LULL_COUNT, 1, 0, 1e9, false},
    {"out", "messages out of a node at once; 0: any", LULL_COUNT, 1, 0, 1e9, false},
};

/* Bits of a message's phase: its startup is over, it has moved, it is matched, the receiver's
 * startup is under way. */
enum { IS_THERE = 1, MOVED = 2, MATCHED = 4, STARTS = 8 };

struct waiting {
    uint64_t number; /* of the request, in the order of asking */
    uint32_t id;
};

/* Buses or links of one kind. A message that lacks several resources waits for the first of them.
 * The messages that wait are a heap by number, so that giving a resource back looks only at
 * messages that wait for it. */
struct resource {
    double most; /* how many there are; 0: any number */
    uint32_t used;
    struct waiting *heap;
    size_t count, room;
};

struct node_links {
    struct resource inside, in, out;
};

struct state {
    struct resource buses;
    struct node_links *nodes;
    uint64_t requests; /* so far */
};

static uint32_t node_of(const struct lull_fabric *fabric, uint32_t rank)
{
    return lull_placement_node(&fabric->network->placement, rank);
}

static lull_status open_dimemas(struct lull_fabric *fabric, struct lull_error *err)
{
    const double *v = fabric->network->values[0];
    uint32_t most = 0;
    for (uint32_t r = 0; r < fabric->n_ranks; r++) {
        uint32_t node = node_of(fabric, r);
        most = node > most ? node : most;
    }
    struct state *state = lull_arena_zero(fabric->arena, 1, sizeof *state);
    state->nodes = lull_arena_try(fabric->arena, most + (size_t)1, sizeof *state->nodes);
    if (!state->nodes)
        return lull_fail(err, LULL_ERR_MEMORY, "simulation: not enough memory for %u nodes", most);
    state->buses.most = v[BUSES];
    for (uint32_t n = 0; n <= most; n++) {
        state->nodes[n].inside.most = v[NODE_BUSES];
        state->nodes[n].in.most = v[IN_LINKS];
        state->nodes[n].out.most = v[OUT_LINKS];
    }
    fabric->state = state;
    return LULL_OK;
}

/* ---- resources ----------------------------------------------------------------------------- */

enum { RESOURCES = 3 };

/* Finds what a message occupies while it moves; returns how many resources these are. */
static unsigned find_resources(const struct lull_fabric *fabric,
                               const struct lull_transfer *message,
                               struct resource *ret_resources[RESOURCES])
{
    struct state *state = fabric->state;
    uint32_t from = node_of(fabric, message->source), to = node_of(fabric, message->target);
    if (from == to) {
        ret_resources[0] = &state->nodes[from].inside;
        return 1;
    }
    ret_resources[0] = &state->buses;
    ret_resources[1] = &state->nodes[from].out;
    ret_resources[2] = &state->nodes[to].in;
    return RESOURCES;
}

static bool is_free(const struct resource *resource)
{
    return resource->most == 0 || resource->used < resource->most;
}

static void enter_line(const struct lull_fabric *fabric, struct resource *resource,
                       struct waiting waiting)
{
    resource->heap = lull_arena_grow(fabric->arena, resource->heap, &resource->room,
                                     resource->count + 1, sizeof *resource->heap);
    size_t at = resource->count++;
    for (; at > 0 && resource->heap[(at - 1) / 2].number > waiting.number; at = (at - 1) / 2)
        resource->heap[at] = resource->heap[(at - 1) / 2];
    resource->heap[at] = waiting;
}

static struct waiting leave_line(struct resource *resource)
{
    struct waiting *heap = resource->heap, first = heap[0], last = heap[--resource->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < resource->count) {
        child += child + 1 < resource->count && heap[child + 1].number < heap[child].number;
        if (heap[child].number > last.number)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* ---- moving -------------------------------------------------------------------------------- */

static void move(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    struct lull_transfer *message = &fabric->transfers[id];
    const double *v = lull_between(fabric, message->source, message->target);
    lull_schedule(fabric, id, message->target,
                  lull_after(fabric, moment, LULL_PATH_BANDWIDTH,
                             lull_cost((double)message->bytes * 1e9 / v[DIMEMAS_BANDWIDTH])));
}

/* Takes all resources that a message needs; if one is not free, puts the message into its line
 * instead and returns false. */
static bool occupy(struct lull_fabric *fabric, struct waiting waiting)
{
    struct resource *resources[RESOURCES];
    unsigned n = find_resources(fabric, &fabric->transfers[waiting.id], resources);
    for (unsigned i = 0; i < n; i++)
        if (!is_free(resources[i])) {
            enter_line(fabric, resources[i], waiting);
            return false;
        }
    for (unsigned i = 0; i < n; i++)
        resources[i]->used++;
    return true;
}

static void request(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    struct state *state = fabric->state;
    struct lull_transfer *message = &fabric->transfers[id];
    if (occupy(fabric, (struct waiting){state->requests++, id})) {
        move(fabric, id, moment);
        return;
    }
    message->time = moment.time;
    if (fabric->path)
        fabric->transfer_path[id] = moment.path;
}

/* The resource, free and waited for, whose first message asked before those of the others; NULL:
 * there is none. */
static struct resource *find_next(struct resource *const *resources, unsigned n)
{
    struct resource *next = NULL;
    for (unsigned i = 0; i < n; i++)
        if (resources[i]->count > 0 && is_free(resources[i]) &&
            (!next || resources[i]->heap[0].number < next->heap[0].number))
            next = resources[i];
    return next;
}

/* A message gives back its resources; messages that wait for these move, in the order of asking. */
static void give_back(struct lull_fabric *fabric, const struct lull_transfer *message, int64_t now)
{
    struct resource *resources[RESOURCES], *next;
    unsigned n = find_resources(fabric, message, resources);
    for (unsigned i = 0; i < n; i++)
        resources[i]->used--;
    while ((next = find_next(resources, n)) != NULL) {
        struct waiting waiting = leave_line(next);
        if (!occupy(fabric, waiting))
            continue;
        int64_t asked = fabric->transfers[waiting.id].time;
        move(fabric, waiting.id,
             lull_after(fabric, lull_now(fabric, waiting.id, asked), LULL_PATH_WAITING,
                        now - asked));
    }
}

static bool is_rendezvous(const struct lull_fabric *fabric, const struct lull_transfer *message)
{
    return lull_is_rendezvous(
        message, lull_between(fabric, message->source, message->target)[DIMEMAS_EAGER]);
}

static void send_dimemas(struct lull_fabric *fabric, uint32_t id, int64_t now)
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

/* Both sides of a rendezvous are there: the message moves, and the sender goes on. */
static void begin_rendezvous(struct lull_fabric *fabric, uint32_t id, struct lull_moment moment)
{
    request(fabric, id, moment);
    lull_sent(fabric, id, moment);
}

static void advance_dimemas(struct lull_fabric *fabric, uint32_t id, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    struct lull_moment moment = lull_now(fabric, id, now);
    if (!(message->phase & IS_THERE)) {
        message->phase |= IS_THERE;
        lull_arrived(fabric, id, moment);
        if (!is_rendezvous(fabric, message))
            request(fabric, id, moment);
        return;
    }
    if (message->phase & STARTS) {
        message->phase &= (uint8_t)~STARTS & 0x3f;
        begin_rendezvous(fabric, id, moment);
        return;
    }
    message->phase |= MOVED;
    bool matched = message->phase & MATCHED;
    give_back(fabric, message, now);
    if (matched)
        lull_received(fabric, id, moment);
}

static void match_dimemas(struct lull_fabric *fabric, uint32_t id, uint32_t receive, int64_t now)
{
    struct lull_transfer *message = &fabric->transfers[id];
    struct lull_moment moment = lull_matched(fabric, id, receive, now);
    message->phase |= MATCHED;
    if (message->phase & MOVED) {
        lull_received(fabric, id, moment);
        return;
    }
    if (!is_rendezvous(fabric, message))
        return;
    struct lull_moment posted = lull_posted(fabric, receive);
    int64_t startup = lull_cost(lull_between(fabric, message->source, message->target)[STARTUP]);
    if (!fabric->transfers[receive].blocking || posted.time + startup <= now) {
        begin_rendezvous(fabric, id, moment);
        return;
    }
    message->phase |= STARTS; /* the receiver's startup comes first */
    lull_schedule(fabric, id, message->target,
                  lull_after(fabric, posted, LULL_PATH_OVERHEAD, startup));
}

/* A receive takes a startup, too. */
static int64_t dimemas_receive_cost(const struct lull_network *network, enum lull_level level,
                                    uint64_t bytes)
{
    (void)bytes;
    return lull_cost(network->values[level][STARTUP]);
}

/* ---- collective operations ----------------------------------------------------------------- */

enum tree_steps { NO_STEPS, CONSTANT, LINEAR, LOGARITHMIC };
enum size { LEAST, MOST_BYTES, MEAN, TWICE_MOST, SUM };

struct fan {
    uint8_t steps, size;
};

static const struct {
    struct fan in, out;
} forms[LULL_COLLECTIVES] = {
    [LULL_COLLECTIVE_BARRIER] = {{LOGARITHMIC, MOST_BYTES}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_BCAST] = {{LOGARITHMIC, MOST_BYTES}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_GATHER] = {{LOGARITHMIC, MEAN}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_GATHERV] = {{LOGARITHMIC, MEAN}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_SCATTER] = {{NO_STEPS, MOST_BYTES}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_SCATTERV] = {{NO_STEPS, MOST_BYTES}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_ALLGATHER] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_ALLGATHERV] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MEAN}},
    [LULL_COLLECTIVE_ALLTOALL] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MOST_BYTES}},
    [LULL_COLLECTIVE_ALLTOALLV] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MOST_BYTES}},
    [LULL_COLLECTIVE_ALLTOALLW] = {{LOGARITHMIC, MEAN}, {LOGARITHMIC, MOST_BYTES}},
    [LULL_COLLECTIVE_ALLREDUCE] = {{LOGARITHMIC, MOST_BYTES}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_REDUCE] = {{LOGARITHMIC, TWICE_MOST}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_REDUCE_SCATTER] = {{LOGARITHMIC, TWICE_MOST}, {LINEAR, LEAST}},
    [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = {{LOGARITHMIC, TWICE_MOST}, {LINEAR, LEAST}},
    [LULL_COLLECTIVE_SCAN] = {{LOGARITHMIC, MOST_BYTES}, {LOGARITHMIC, MOST_BYTES}},
    [LULL_COLLECTIVE_EXSCAN] = {{LOGARITHMIC, MOST_BYTES}, {LOGARITHMIC, MOST_BYTES}},
    [LULL_COLLECTIVE_CREATE] = {{LOGARITHMIC, MOST_BYTES}, {NO_STEPS, MOST_BYTES}},
    [LULL_COLLECTIVE_UNKNOWN] = {{LOGARITHMIC, MOST_BYTES}, {NO_STEPS, MOST_BYTES}},
};

static double steps_of(uint8_t steps, uint32_t ranks)
{
    double logarithm = 0;
    for (uint64_t reached = 1; reached < ranks; reached *= 2)
        logarithm++;
    const double counts[] = {
        [NO_STEPS] = 0, [CONSTANT] = 1, [LINEAR] = ranks - 1.0, [LOGARITHMIC] = logarithm};
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
                            [MOST_BYTES] = most,
                            [MEAN] = sum / shape->n_ranks,
                            [TWICE_MOST] = 2 * most,
                            [SUM] = sum};
    return sizes[size];
}

static int64_t dimemas_collective_cost(const struct lull_network *network,
                                       const struct lull_collective_shape *shape)
{
    const double *v = network->values[shape->widest];
    const struct fan fans[] = {forms[shape->operation].in, forms[shape->operation].out};
    double cost = 0;
    for (int i = 0; i < 2; i++)
        cost += steps_of(fans[i].steps, shape->n_ranks) *
                (v[STARTUP] + size_of(fans[i].size, shape) * 1e9 / v[DIMEMAS_BANDWIDTH]);
    return lull_cost(cost);
}

const struct lull_network_class lull_network_dimemas = {
    .name = "dimemas",
    .summary = "startup, buses and links of nodes, collectives in closed form",
    .parameters = dimemas_parameters,
    .n_parameters = sizeof dimemas_parameters / sizeof *dimemas_parameters,
    .occupies = true,
    .collectives = LULL_COLLECTIVES_CLOSED,
    .open = open_dimemas,
    .send = send_dimemas,
    .advance = advance_dimemas,
    .match = match_dimemas,
    .receiving = dimemas_receive_cost,
    .collective = dimemas_collective_cost,
};
