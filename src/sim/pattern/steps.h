/* What one iteration of a pattern consists of. Internal to the sim room. */
#ifndef LULL_SIM_PATTERN_STEPS_H
#define LULL_SIM_PATTERN_STEPS_H

#include "sim/pattern/pattern.h"

enum { LULL_PATTERN_MOST_DISTANCES = 1024 };

enum lull_pattern_region {
    LULL_PATTERN_COMPUTE,
    LULL_PATTERN_ISEND,
    LULL_PATTERN_IRECV,
    LULL_PATTERN_WAITALL,
    LULL_PATTERN_COLLECTIVE,
    LULL_PATTERN_REGIONS
};

/* One step, the same for all ranks; a rank without such a neighbour passes over it. */
struct lull_pattern_step {
    uint8_t kind;      /* enum lull_op_kind */
    uint8_t dimension; /* SEND, RECV: of the neighbour ... */
    bool up;           /* ... which is above */
    uint32_t distance;
    uint32_t tag;
    uint32_t request;
};

struct lull_pattern_rank {
    uint32_t iteration, at; /* next step */
};

struct lull_pattern {
    uint32_t extents[3], strides[3];
    bool periodic;
    uint64_t bytes;
    const int64_t *exec; /* rank r computes exec[r % n_exec] */
    uint32_t n_exec;
    uint32_t iterations;
    uint8_t collective; /* enum lull_collective, or LULL_COLLECTIVES: none */
    uint32_t every, root;
    uint64_t collective_bytes;
    struct lull_pattern_step *steps;
    uint32_t n_steps;
    struct lull_pattern_rank *ranks;
};

enum lull_pattern_wait {
    LULL_PATTERN_WAIT_ALL,
    LULL_PATTERN_WAIT_DIRECTION,
    LULL_PATTERN_WAIT_DISTANCE,
    LULL_PATTERN_WAIT_EACH
};

/* Which messages an iteration exchanges. */
struct lull_pattern_exchange {
    uint32_t n_dimensions; /* 0: no messages */
    const uint32_t *distances;
    uint32_t n_distances;
    bool up, down;
    enum lull_pattern_wait wait;
    bool sends_up_first;
};

/* Sets steps and n_steps of the pattern, in `arena`. */
void lull_pattern_lay_out(struct lull_pattern *pattern,
                          const struct lull_pattern_exchange *exchange, struct lull_arena *arena);

#endif
