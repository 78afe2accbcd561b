/* Random programs of streams: rounds of non-blocking sends and receives between random streams,
 * then waits, computations, collective operations of all ranks and joins of a rank's streams. Few
 * different times, sizes and tags, so that much happens at the same moment. */
#ifndef LULL_TESTS_RANDOM_STREAMS_H
#define LULL_TESTS_RANDOM_STREAMS_H

#include "sim/program.h"
#include "stats/random.h"

struct random_streams_options {
    uint32_t ranks, streams, rounds; /* at most; streams of a rank */
    unsigned wildcards;              /* per cent of receives with any source or tag */
    unsigned shared;                 /* per cent of messages that any stream may have sent */
    unsigned unequal; /* per cent of collective operations with other sizes on each rank */
    unsigned
        groups; /* per cent of them on a group of some ranks: neighbours, or any in any order */
};

struct lull_program *random_streams(struct lull_random *random,
                                    const struct random_streams_options *options);

#endif
