/* Network: what messages cost. One constant struct per model, a table of them, one loop.
 *
 * A network is a class with numbers. Each class lists its parameters; a spec
 * ("loggops:L=2500,o=1500") or a JSON file sets them, for all levels or for one
 * ("hockney:latency=1us,node.latency=300ns"). Levels say how close two ranks are. */
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

/* Where the ranks are: rank r sits on core r (or on map[r]), cores are numbered through sockets,
 * nodes and switches. A level of size 0 is not told from the next wider one: without sockets, cores
 * of one node are at NODE; without switches, nodes are at CLUSTER. cores_per_node 0: one node. */
struct lull_placement {
    uint32_t cores_per_socket, cores_per_node, nodes_per_switch;
    uint32_t n_ranks;
    const uint32_t *map; /* core of each rank; NULL: r */
};
/* All ranks on different nodes: cores_per_node = 1. */

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
    double value;       /* when nothing is said */
    double least, most; /* else "absurd": refused with one line */
    bool per_level;     /* may differ between levels */
};

/* How collectives are carried out. */
enum lull_collective_mode {
    LULL_COLLECTIVES_ALGORITHM, /* expanded to messages, sim/collective/collective.h */
    LULL_COLLECTIVES_CLOSED     /* one formula; all leave after the last arrives */
};

/* Messages of more bytes than the range before takes, up to `to`, cost latency + bytes / bandwidth,
 * and a wait for one takes at least receive + bytes / copy. */
struct lull_network_range_cost {
    uint64_t to;
    double latency, bandwidth; /* ns; bytes/s */
    double receive, copy;      /* likewise */
};

#define LULL_NETWORK_PARAMETERS 16 /* a class has at most this many */

struct lull_network_class;

struct lull_network {
    const struct lull_network_class *class;
    struct lull_placement placement;
    enum lull_collective_mode collectives;
    /* By level and position in the class's parameters; of parameters that are not per level only
     * values[0] counts. Times are in ns, sizes in bytes, bandwidths in bytes/s (INFINITY is
     * allowed), times per byte in ns. */
    double values[LULL_LEVELS][LULL_NETWORK_PARAMETERS];
    /* Class `ranges`: by level, ascending, the last without end; n_ranges 0: its parameters. */
    const struct lull_network_range_cost *ranges[LULL_LEVELS];
    uint32_t n_ranges[LULL_LEVELS];
    bool ranges_of_messages; /* not of those that collective operations are made of: these cost by
                                the parameters, and `collective_delay` ns more */
    double collective_delay;
    double cpu_speed;       /* of this machine relative to where the program was measured */
    const char *algorithms; /* "allreduce:ring+bcast:binomial" or NULL: by size */
};

/* What a collective operation in closed form costs depends on. */
struct lull_collective_shape {
    uint8_t operation; /* enum lull_collective */
    enum lull_level widest;
    uint32_t n_ranks;
    uint64_t sent_least, sent_most, sent_sum; /* bytes, over the ranks of the group */
    uint64_t received_least, received_most, received_sum;
};

struct lull_fabric;   /* sim/network/transfer.h: what the engine offers to back-ends */
struct lull_transfer; /* sim/network/transfer.h: a message on its way */

/* A model: numbers, and what they mean. For each message the engine calls: `send` when the sender
 * is ready for it, `advance` each time an event comes that the back-end scheduled for the message,
 * and `match` once: when a receive was posted and the back-end has said (lull_arrived) that the
 * envelope is there. The back-end says when the operations are over (lull_sent, lull_received).
 * Envelopes of one channel that pass the same NIC must arrive in the order in which they were sent.
 *
 * Processors and NICs are *reserved*: who asks first gets them first, from max(now, free) on; see
 * sim/network/transfer.h. A message that must wait for something shared (buses, links) is kept by
 * the back-end, which schedules it when it is let go. */
struct lull_network_class {
    const char *name, *summary;
    const struct lull_parameter *parameters;
    uint32_t n_parameters;
    enum lull_collective_mode collectives; /* when nothing is said */
    /* In closed form a rank waits only for those whose data it needs (base/collective.h), not for
     * all. */
    bool waits_as_needed;
    bool occupies; /* messages take time of the processors */
    /* The written rules of LogGOPSim: what becomes ready together starts sends first, then
     * receives, then computations; a computation counts as done when it starts; what finds its
     * processor or NIC busy comes again when they are free, in the order of first insertion. */
    bool compat;
    /* All times follow from when sends and receives begin; nothing is shared. Then events may be
     * handled in any order that keeps each channel's own, and without wildcards the engine needs no
     * queue: each stream runs until it is blocked. `match` must not look at its `now`. Sender and
     * receiver may be in two processes (sim/engine/engine.h): `send` may touch the message and its
     * sender alone, `match` the message, its receive and the receiver. */
    bool any_order;
    /* ns: what a rank causes for another one comes at least so much later, and all else that an
     * event of a rank touches is its own, so that ranks can be followed apart for so long. NULL: 0.
     */
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
    /* ns of processor time that a stream's receive of so many bytes takes in the wait for it, from
     * a rank at that level, also where the message has been there for long: a wait lasts at least
     * as long as its receives take together. NULL: none. */
    int64_t (*receiving)(const struct lull_network *network, enum lull_level level, uint64_t bytes);
    /* Closed form: ns from the arrival of the last rank until all leave. NULL: the class has no
     * closed forms. */
    int64_t (*collective)(const struct lull_network *network,
                          const struct lull_collective_shape *shape);
};

/* All classes, ended by NULL; `loggops` first. */
extern const struct lull_network_class *const lull_networks[];

/* NULL: there is no such class. */
const struct lull_network_class *lull_network_find(const char *name);
/* "loggops, loggops-compat, ..." for messages to the user. */
const char *lull_network_names(char *text, size_t size);
/* Position of a parameter in the class, or n_parameters. */
uint32_t lull_network_parameter(const struct lull_network_class *class, const char *name);

/* All parameters as they are when nothing is said, all ranks on nodes of their own. */
void lull_network_init(struct lull_network *network, const struct lull_network_class *class);

/* Sets one parameter for one level, or for all (LULL_LEVELS). */
void lull_network_set(struct lull_network *network, uint32_t parameter, enum lull_level level,
                      double value);

/* Fails with LULL_ERR_RANGE for values outside their limits, a placement that is not possible, and
 * what the class finds. `n_ranks`: of the program. */
lull_status lull_network_check(const struct lull_network *network, uint32_t n_ranks,
                               struct lull_error *err);

/* Closed forms: the widest level that separates two of the ranks. */
enum lull_level lull_placement_widest(const struct lull_placement *placement,
                                      const struct lull_group *group);

#endif
