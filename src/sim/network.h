/* Network: what messages cost. One constant struct per model, a table of them, one loop.
 *
 * A network is a class with numbers. Each class lists its parameters; a spec
 * ("loggops:L=2500,o=1500") or a JSON file sets them, for all levels or for one
 * ("hockney:latency=1us,node.latency=300ns"). Levels say how close two ranks are. */
#ifndef LULL_SIM_NETWORK_H
#define LULL_SIM_NETWORK_H

#include "sim/program.h"

enum lull_level {
    LULL_LEVEL_CORE,   /* the same core: a message of a rank to itself, or oversubscribed */
    LULL_LEVEL_SOCKET, /* the same socket */
    LULL_LEVEL_NODE,   /* the same node */
    LULL_LEVEL_SWITCH, /* the same switch */
    LULL_LEVEL_CLUSTER,
    LULL_LEVELS
};

/* Where the ranks are: rank r sits on core r (or on map[r]), cores are numbered through sockets,
 * nodes and switches. 0: there is no such level, all ranks share it. */
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
    LULL_COLLECTIVES_ALGORITHM, /* expanded to messages, sim/collective.h */
    LULL_COLLECTIVES_CLOSED     /* one formula; all leave after the last arrives */
};

struct lull_network_class;

struct lull_network {
    const struct lull_network_class *class;
    struct lull_placement placement;
    enum lull_collective_mode collectives;
    double values[LULL_LEVELS][16]; /* by level and position in the class's parameters */
    double cpu_speed;               /* of this machine relative to where the program was measured */
    const char *algorithms;         /* "allreduce=ring+bcast=binomial" or NULL: by size */
};

struct lull_engine;

#endif
