/* SPDX-License-Identifier: BSD-3-Clause */
/* Network: what messages cost.
 *
 * A network is a class, which is a model of costs, with values for its parameters. Each class is a
 * constant struct that lists its parameters. A spec ("loggops:L=2500,o=1500") or a JSON file sets
 * them for all levels or for one ("hockney:latency=1us,node.latency=300ns"). Levels say how close
 * two ranks are. */
#ifndef LULL_SIM_NETWORK_NETWORK_H
#define LULL_SIM_NETWORK_NETWORK_H

#include "sim/program.h"

#include <stddef.h>

enum lull_level {
    LULL_LEVEL_CORE,   /* the same core: a message of a rank to itself, or oversubscribed */
    LULL_LEVEL_SOCKET, /* the same socket */
    LULL_LEVEL_NODE,   /* the same node */
    LULL_LEVEL_SWITCH, /* the same switch */
    LULL_LEVEL_CLUSTER,
    LULL_LEVELS
};

/* Where the ranks are: rank r is on core r, or on core map[r]. Cores are numbered throughout, those
 * of a socket, of a node and of the nodes of a switch one after the other. A size of 0 means that
 * there is no such level: without sockets, cores of one node are at NODE; without switches, nodes
 * are at CLUSTER; without nodes, all ranks are on one node. With cores_per_node = 1 all ranks are
 * on different nodes. */
struct lull_placement {
    uint32_t cores_per_socket, cores_per_node, nodes_per_switch;
    uint32_t n_ranks;
    const uint32_t *map; /* [n_ranks]: core of each rank; NULL: rank r is on core r */
};

enum lull_level lull_placement_level(const struct lull_placement *placement, uint32_t a,
                                     uint32_t b);
uint32_t lull_placement_node(const struct lull_placement *placement, uint32_t rank);

enum lull_quantity {
    LULL_TIME_NS,
    LULL_BYTES,
    LULL_BANDWIDTH,
    LULL_TIME_PER_BYTE,
    LULL_FACTOR,
    LULL_COUNT
};

struct lull_parameter {
    const char *name; /* "L" */
    const char *summary;
    enum lull_quantity quantity;
    double value;       /* the default; NAN: there is none */
    double least, most; /* other values are refused */
    bool per_level;     /* may differ between levels */
};

/* How collectives are carried out. */
enum lull_collective_mode {
    LULL_COLLECTIVES_ALGORITHM, /* expanded to messages, sim/collective/collective.h */
    LULL_COLLECTIVES_CLOSED     /* by a formula for each operation, without messages */
};

/* The cost of messages in a range of sizes: from behind the range before up to `to` bytes. A
 * message takes latency + bytes / bandwidth, and a wait for it takes at least receive + bytes /
 * copy. */
struct lull_network_range_cost {
    uint64_t to;
    double latency, bandwidth; /* ns; bytes/s */
    double receive, copy;      /* ns; bytes/s */
};

#define LULL_NETWORK_PARAMETERS 16 /* a class has at most this many */

struct lull_network_class;

struct lull_network {
    const struct lull_network_class *class;
    struct lull_placement placement;
    enum lull_collective_mode collectives;
    /* By level and by position in the class's parameters. A parameter that is not per level has its
     * value in values[0]. Times are in ns, sizes in bytes, bandwidths in bytes/s (INFINITY is
     * allowed), times per byte in ns. */
    double values[LULL_LEVELS][LULL_NETWORK_PARAMETERS];
    /* For class `ranges`: the ranges of each level, by size, of which the last has no end. Where
     * n_ranges is 0, messages cost by the parameters. */
    const struct lull_network_range_cost *ranges[LULL_LEVELS];
    uint32_t n_ranges[LULL_LEVELS];
    bool ranges_of_messages; /* the ranges are not for the messages that collective operations are
                                made of: these cost by the parameters, and collective_delay more */
    double collective_delay; /* ns */
    double cpu_speed;        /* of this machine relative to where the program was measured */
    const char *algorithms;  /* such as "allreduce:ring+bcast:binomial"; NULL: chosen by size */
};

/* What the cost of a collective operation in closed form depends on. */
struct lull_collective_shape {
    uint8_t operation;      /* enum lull_collective */
    enum lull_level widest; /* that separates two of the ranks */
    uint32_t n_ranks;
    uint64_t sent_least, sent_most, sent_sum; /* bytes, over the ranks of the group */
    uint64_t received_least, received_most, received_sum;
};

struct lull_fabric;   /* sim/network/transfer.h: what the engine offers to back-ends */
struct lull_transfer; /* sim/network/transfer.h: a message on its way */

/* A class of networks: its parameters, and a back-end that says what they mean.
 *
 * For each message the engine calls `send` when the sender is ready for it, `advance` each time an
 * event comes that the back-end scheduled for the message, and `match` once: when a receive was
 * posted and the back-end has said by lull_arrived that the envelope is there. The back-end says by
 * lull_sent and lull_received when the operations are over. Envelopes of one channel that pass the
 * same NIC must arrive in the order in which they were sent.
 *
 * Processors and NICs are *reserved*: a message that asks first gets them first, from the moment on
 * when both it is ready and they are free (sim/network/transfer.h). A message that must wait for
 * something shared (buses, links) is kept by the back-end, which schedules it when its turn comes.
 */
struct lull_network_class {
    const char *name, *summary;
    const struct lull_parameter *parameters;
    uint32_t n_parameters;
    enum lull_collective_mode collectives; /* the default */
    /* In closed form a rank waits only for the ranks whose data it needs (base/collective.h), not
     * for all. */
    bool waits_as_needed;
    bool occupies; /* messages take time of the processors */
    /* The engine follows the rules of LogGOPSim. Of operations that become ready together, sends
     * start first, then receives, then computations. A computation counts as done when it starts.
     * An operation that finds its processor or NIC busy comes again when they are free, in the
     * order in which operations were first inserted. */
    bool compat;
    /* All times follow from when sends and receives begin, because nothing is shared. Then events
     * may be handled in any order that keeps the order of each channel, and without wildcards the
     * engine needs no queue: each stream runs until it is blocked. `match` must not look at its
     * `now`. Sender and receiver may be in two processes (sim/engine/engine.h): `send` may touch
     * the message and its sender only, `match` the message, its receive and the receiver only. */
    bool any_order;
    /* How many ns pass at least between an event of a rank and what it causes at another rank. All
     * else that an event of a rank touches must belong to this rank, so that ranks can be followed
     * apart from each other for so long. NULL: 0. */
    int64_t (*lookahead)(const struct lull_network *network);
    /* Checks values against each other; each is within its limits already. NULL: nothing. */
    lull_status (*check)(const struct lull_network *network, struct lull_error *err);
    /* Prepares one simulation: sets fabric->state, in memory of fabric->arena. NULL: nothing. */
    lull_status (*open)(struct lull_fabric *fabric, struct lull_error *err);
    /* A send is ready at `now` (with `compat`: and processor and NIC of the sender are free). */
    void (*send)(struct lull_fabric *fabric, uint32_t message, int64_t now);
    /* An event of the message, as scheduled by the back-end (with `compat`: and processor and NIC
     * of the receiver are free). */
    void (*advance)(struct lull_fabric *fabric, uint32_t message, int64_t now);
    /* The message's envelope is there, and `receive` was posted for it. */
    void (*match)(struct lull_fabric *fabric, uint32_t message, uint32_t receive, int64_t now);
    /* How many ns of processor time a stream's receive of so many bytes, from a rank at that level,
     * takes in the wait for it, even if the message came long before: a wait lasts at least as long
     * as its receives take together. NULL: none. */
    int64_t (*receiving)(const struct lull_network *network, enum lull_level level, uint64_t bytes);
    /* Closed form: ns from the arrival of the last rank until all leave. NULL: the class has no
     * closed forms. */
    int64_t (*collective)(const struct lull_network *network,
                          const struct lull_collective_shape *shape);
};

/* All classes, ended by NULL; `loggops` first. */
extern const struct lull_network_class *const lull_networks[];

/* The class of that name; NULL: there is none. */
const struct lull_network_class *lull_network_find(const char *name);
/* The names of all classes, "loggops, loggops-compat, ...", for messages; returns `text`. */
const char *lull_network_names(char *text, size_t size);
/* The position of a parameter in the class; n_parameters: there is none of that name. */
uint32_t lull_network_parameter(const struct lull_network_class *class, const char *name);

/* Gives all parameters their defaults, and puts each rank on a node of its own. */
void lull_network_init(struct lull_network *network, const struct lull_network_class *class);

/* Sets one parameter for one level, or for all (LULL_LEVELS). */
void lull_network_set(struct lull_network *network, uint32_t parameter, enum lull_level level,
                      double value);

/* Fails with LULL_ERR_RANGE for values outside their limits, a placement that is not possible, and
 * what the class finds. `n_ranks`: of the program. */
lull_status lull_network_check(const struct lull_network *network, uint32_t n_ranks,
                               struct lull_error *err);

/* The widest level that separates two ranks of a group, for closed forms. */
enum lull_level lull_placement_widest(const struct lull_placement *placement,
                                      const struct lull_group *group);

#endif
