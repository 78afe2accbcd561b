/* SPDX-License-Identifier: BSD-3-Clause */
/* A census: counts what a trace holds, in one pass over all events. */
#ifndef LULL_STUDY_CENSUS_H
#define LULL_STUDY_CENSUS_H

#include "activity/pass.h"
#include "trace/trace.h"

/* What a device stream did: numbers and lengths of its kernels and of what moves data, and the bytes
 * that moved, where the tracer tells them. */
struct lull_census_stream {
    uint64_t kernels, kernel_ns, moves, move_ns, bytes;
    /* Of its operations those that have a sequence number, and a hash of all their regions and numbers
     * that does not depend on their order: two ranks of a communicator for which both are the same took
     * part in the same exchanges. */
    uint64_t exchanges, exchanges_hash;
};

struct lull_census {
    uint64_t events[LULL_EVENT_KINDS];
    uint64_t collectives[LULL_COLLECTIVES];      /* how often a process took part in one: an
                                                    operation of 4 processes counts 4 */
    uint64_t collective_bytes[LULL_COLLECTIVES]; /* sent, all processes together */
    uint64_t sent, received;   /* messages, without those to and from MPI_PROC_NULL */
    uint64_t sent_bytes;       /* of these messages */
    uint64_t received_bytes;   /* or LULL_UNKNOWN_BYTES: see lull_received_bytes */
    uint64_t largest_message;  /* that was sent */
    uint64_t largest_received; /* as the receives tell it */
    uint64_t rma_bytes, io_bytes;
    uint64_t *readings; /* [n_counters] readings of each counter */
    struct lull_census_samples {
        uint64_t ways[LULL_SAMPLES_WAYS]; /* threads by how they were sampled */
        uint64_t kept, taken, lost;       /* of all threads, as in struct lull_sampling */
        uint64_t interval, last_interval; /* the longest of all threads */
        uint64_t refused;                 /* the largest errno of the threads that have one */
    } samples;
    uint32_t n_streams;
    struct lull_census_stream *streams; /* [n_streams], in the order of their locations */
    uint64_t
        *streams_end; /* [n_streams] ns: until then it is known what the stream did; 0: nothing is
                              known of it */
};

/* Counts what a reading without windows holds. The result lives in `arena`. In a team the first
 * member has the result and the quirks of all. */
lull_status lull_census_take(const struct lull_trace *trace, const struct lull_reading *reading,
                             struct lull_arena *arena, struct lull_census **ret_census,
                             struct lull_error *err);

#endif
