/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges: operations of communicators of NCCL, with the kernels by which their ranks carry them out, and for which other kernels
 * each of these waits.
 *
 * NCCL's profiler tells the operations of a communicator, but not which kernel of which stream carries them out. The
 * order in which a thread submits does: NCCL launches a kernel, and the same thread then tells the operations that the
 * kernel carries out, before it launches anything else (NCCL 2.26 to 2.30, doLaunches in src/group.cc). Example: a thread
 * submits kernel 7, operation 8 of a communicator, kernel 9, and operation 10: kernel 7 carries out operation 8, and
 * kernel 9 operation 10. One kernel may carry out several. Where another thread tells them (NCCL does so of captured
 * graphs, and with CUDA_LAUNCH_BLOCKING), it is not known which kernel does.
 *
 * A kernel that is *known* waits, until they have begun, for the kernels whose data it needs:
 *  - AllReduce, AllGather, ReduceScatter, AlltoAll: for those of all ranks, with which it makes a *joint exchange*;
 *  - Broadcast, Scatter: for that of the root, unless it is of the root itself;
 *  - Reduce, Gather: for those of all ranks, if it is of the root;
 *  - Send, Recv: the k-th Recv from a rank for the kernel with the k-th Send of that rank to it.
 * So a kernel that only sends waits for nobody. In truth it does if its receiver comes late and the data does not fit the buffers
 * between them; nobody tells whether, and that time is its own.
 *
 * Kernels of all ranks make a joint exchange if
 *  - they carry out the same operations, by functions and sequence numbers of one communicator;
 *  - it is told how many ranks the communicator has, and of each the kernel is known;
 *  - no kernel ended before the last one began, and was submitted, as the clocks say.
 * Otherwise a kernel is known if all its operations are Broadcasts, Reduces and so on, Sends and Recvs; of each that it waits for the other
 * kernels are known, all ranks name the same root, and Sends and Recvs between two ranks are equal in number; and it did not
 * end before those that it waits for began and were submitted. Kernels of two streams that wait for each other come in the same order on both. */
#ifndef LULL_MATCH_EXCHANGE_H
#define LULL_MATCH_EXCHANGE_H

#include "base/collective.h"
#include "base/hash.h"
#include "match/device_log.h"

struct lull_joint_exchange {
    /* Exchanges with the same circle are of one communicator, have kernels on the same streams, and come in the same order on
     * each of these. */
    uint32_t circle;
    uint32_t n;    /* ranks */
    uint32_t root; /* process; LULL_NONE: it has none */
    uint8_t op;    /* enum lull_collective; of several operations the first */
    bool
        sized; /* a network can say how long it takes: all operations are of one function, their bytes are told, and no two
                       ranks are of one process */
    uint64_t bytes; /* of all, as calls of NCCL count them: of one rank's part */
};

/* A kernel waits for another one to begin. */
struct lull_exchange_link {
    uint32_t
        circle; /* of two streams, first that of the kernel which is waited for; links with the same circle come in
                        the same order on both */
    uint32_t from, to; /* kernels, indices */
    uint64_t bytes;
    bool
        sized; /* a network can say how long they take: of Sends and Recvs alone, between two processes */
};

/* A rank's part in exchanges, a kernel. */
struct lull_exchange_kernel {
    uint32_t location, order; /* its stream, and how many operations are before it there */
    uint32_t exchange;        /* index; LULL_NONE: it is in no joint exchange */
    uint32_t position;        /* in that one, among its ranks */
    uint32_t
        latest;  /* index of the kernel, of itself and those that it waits for, that begins last */
    int64_t met; /* when that one begins; ns, on corrected clocks */
    int64_t
        came; /* when all of these had begun and were submitted: behind `met` only if a clock is wrong */
    /* Its links: those to it, [first_received, first_received + n_received), and from it, the same of `sent`. */
    uint32_t first_received, n_received, first_sent, n_sent;
    bool known; /* false: it may wait for others, which are not known; there are no links to it */
    bool
        sized; /* its joint exchange is, or all that it carries out are Sends and Recvs whose bytes are told, and all links to it
                   are sized */
};

struct lull_exchanges {
    struct lull_joint_exchange *items;
    uint32_t count;
    size_t capacity;
    struct lull_exchange_kernel *kernels; /* by location, then by order */
    size_t n_kernels, kernels_capacity;
    struct lull_exchange_link *links; /* [n_links] */
    const uint32_t *sent,
        *received; /* [n_links]: indices of links, by the kernels that they are from, and to */
    size_t n_links, links_capacity;
    struct lull_hash
        circles; /* of each the communicator's number, and the locations of its streams */
    size_t n_known, n_sized; /* kernels */
    size_t
        n_all; /* kernels of NCCL on streams, also those that take no part in anything that is told */
};

/* From a log with names, which has all of the run. `shifts`: what is to be added to the times of each process so that
 * clocks agree, ns; NULL: nothing. Zeros, where nothing is known. Release it by lull_exchanges_free. */
lull_status lull_exchanges_find(const struct lull_trace *trace, uint32_t application,
                                const struct lull_device_log *log, const int64_t *shifts,
                                struct lull_exchanges *ret_exchanges, struct lull_error *err);
void lull_exchanges_free(struct lull_exchanges *exchanges); /* zeros are allowed */

/* The kernel that an operation of a stream is, by its number on the stream; NULL: it takes part in nothing that is told. */
const struct lull_exchange_kernel *lull_exchange_of(const struct lull_exchanges *exchanges,
                                                    uint32_t location, uint32_t order);

/* How many circles there are, how many streams one has, and the i-th of these. */
uint32_t lull_exchange_circles(const struct lull_exchanges *exchanges);
uint32_t lull_exchange_circle_size(const struct lull_exchanges *exchanges, uint32_t circle);
uint32_t lull_exchange_stream(const struct lull_exchanges *exchanges, uint32_t circle, uint32_t i);

#endif
