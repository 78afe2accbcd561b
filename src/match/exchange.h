/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges: the collective operations of communicators of NCCL, with the kernels by which their ranks carry them out.
 *
 * NCCL's profiler tells the operations of a communicator, but not which kernel of which stream carries them out. The
 * order in which a thread submits does: NCCL launches a kernel, and the same thread then tells the operations that the
 * kernel carries out, before it launches anything else (NCCL 2.26 to 2.30, doLaunches in src/group.cc). Example: a thread
 * submits kernel 7, operation 8 of a communicator, kernel 9, and operation 10: kernel 7 carries out operation 8, and
 * kernel 9 operation 10. One kernel may carry out several. Where another thread tells them (NCCL does so of captured
 * graphs, and with CUDA_LAUNCH_BLOCKING), it is not known which kernel does.
 *
 * Operations of several ranks are one exchange if they have the same communicator, function and sequence number. An exchange is known only if
 *  - it is an operation in which each rank needs the data of all: AllReduce, AllGather, ReduceScatter, AlltoAll;
 *  - it is told how many ranks the communicator has, each is in a process of its own, and of each the kernel is known;
 *  - the kernels of all ranks carry out the same operations;
 *  - no kernel ended before the last one began, as the clocks say. */
#ifndef LULL_MATCH_EXCHANGE_H
#define LULL_MATCH_EXCHANGE_H

#include "base/collective.h"
#include "base/hash.h"
#include "match/device_log.h"

struct lull_joint_exchange {
    /* Exchanges with the same circle have kernels on the same streams, and come in the same order on each of these. */
    uint32_t circle;
    uint32_t n;     /* ranks */
    uint8_t op;     /* enum lull_collective; of several operations the first */
    bool sized;     /* all operations are of one function, and their bytes are told */
    uint64_t bytes; /* of all, as calls of NCCL count them: of one rank's part */
    int64_t met;    /* when the last kernel began; ns, on corrected clocks */
};

/* A rank's part in an exchange. */
struct lull_exchange_kernel {
    uint32_t location, order; /* its stream, and how many operations are before it there */
    uint32_t exchange;        /* index */
};

struct lull_exchanges {
    struct lull_joint_exchange *items;
    uint32_t count;
    size_t capacity;
    struct lull_exchange_kernel *kernels; /* by location, then by order */
    size_t n_kernels, kernels_capacity;
    struct lull_hash circles; /* of each the locations of its streams, by process */
    size_t n_sized;           /* kernels of exchanges that are sized */
    size_t n_all;             /* kernels of NCCL on streams, with and without an exchange */
};

/* From a log with names, which has all of the run. `shifts`: what is to be added to the times of each process so that
 * clocks agree, ns; NULL: nothing. Zeros, where nothing is known. Release it by lull_exchanges_free. */
lull_status lull_exchanges_find(const struct lull_trace *trace, uint32_t application,
                                const struct lull_device_log *log, const int64_t *shifts,
                                struct lull_exchanges *ret_exchanges, struct lull_error *err);
void lull_exchanges_free(struct lull_exchanges *exchanges); /* zeros are allowed */

/* The exchange in which an operation of a stream takes part, by its number on the stream; NULL: in none that is known. */
const struct lull_joint_exchange *lull_exchange_of(const struct lull_exchanges *exchanges,
                                                   uint32_t location, uint32_t order);

/* How many circles there are, how many streams one has, and the i-th of these. */
uint32_t lull_exchange_circles(const struct lull_exchanges *exchanges);
uint32_t lull_exchange_circle_size(const struct lull_exchanges *exchanges, uint32_t circle);
uint32_t lull_exchange_stream(const struct lull_exchanges *exchanges, uint32_t circle, uint32_t i);

#endif
