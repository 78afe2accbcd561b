/* SPDX-License-Identifier: BSD-3-Clause */
/* Engine: deterministic discrete-event simulation of a program on a network.
 *
 * The result depends on the program, the network, the noise and the seed, and on nothing else. */
#ifndef LULL_SIM_ENGINE_ENGINE_H
#define LULL_SIM_ENGINE_ENGINE_H

#include "base/error.h"
#include "sim/engine/path.h"
#include "sim/network/network.h"
#include "sim/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== a part of a simulation ================================================================== */

/* Several processes can simulate one program together. Each has a part of the ranks, which are
 * neighbours.
 *
 * That is possible where events may be handled in any order (sim/network/network.h): each process
 * lets its ranks run until they are blocked. What they cause for ranks of other processes is sent
 * there as a *letter*. Letters of one process to another keep their order, so messages of one
 * channel do, too. All times are the same as if one process simulated all.
 *
 * A message is one letter to its receiver and, if its sender waits for the receiver, one letter
 * back. Collective operations that are made of messages need nothing more. For an operation in
 * closed form, in which all wait for all, each process tells the process with the first rank of the
 * group when the last of its own ranks came, and is told when the last of all ranks did. So far
 * only networks on which such an operation costs nothing have both closed forms and events in any
 * order, because its cost would depend on what the ranks of other processes send and receive. */

enum lull_sim_letter_kind {
    LULL_LETTER_MESSAGE, /* a message is on its way to a rank */
    LULL_LETTER_SENT,    /* a send that waited for its receiver is over */
    LULL_LETTER_CAME,    /* all ranks of a process have come to a collective operation */
    LULL_LETTER_LEAVES   /* all ranks of all processes have come to it */
};

struct lull_sim_letter {
    uint8_t kind;  /* enum lull_sim_letter_kind */
    uint8_t flags; /* MESSAGE: those of its record that networks look at; and ... */
    bool buffered; /* ... this one (sim/network/transfer.h) */
    uint8_t reserved;
    union {
        uint32_t source; /* MESSAGE, SENT: rank that sends */
        uint32_t group;  /* CAME, LEAVES: its index in the program ... */
    };
    union {
        uint32_t target; /* MESSAGE: rank */
        uint32_t number; /* ... and the number of the operation on it */
    };
    uint32_t tag, comm; /* MESSAGE */
    union {
        uint32_t id;      /* MESSAGE, SENT: of the sender's record */
        uint32_t n_ranks; /* CAME */
    };
    uint64_t bytes;  /* MESSAGE */
    int64_t sent_at; /* MESSAGE: ns, when its send began */
    int64_t time;    /* ns: when it arrives, or what the kind says has happened */
};

/* What has come to a process. */
struct lull_sim_news {
    const struct lull_sim_letter *letters; /* valid until the next call */
    size_t count;
    bool full; /* others have not taken much of what was posted to them: run nothing meanwhile */
    bool over; /* no process has anything to do, and no letter is on its way */
};

/* What the caller gives the engine. */
struct lull_sim_part {
    uint32_t index, n;    /* number of this process, and how many processes there are */
    const uint32_t *cuts; /* [n + 1]: process p has the ranks [cuts[p], cuts[p + 1]) */
    /* [n_groups], cleared by the caller, or NULL where there are no groups. After the simulation it
     * holds, for each group, a number > 0 that stands for what the ranks of this process called on
     * it, and is the same for all processes that called the same; 0: this process has no rank in
     * the group. The caller compares the numbers of all processes. */
    uint64_t *signatures;
    void *context;
    /* Sends a letter to another process. */
    lull_status (*post)(void *context, uint32_t to, const struct lull_sim_letter *letter,
                        struct lull_error *err);
    /* Takes what has come. `idle`: this process has nothing to do before something comes, so the
     * call waits for it a little. `kept`: how many messages of others were not received yet, and
     * take memory. */
    lull_status (*take)(void *context, bool idle, uint32_t kept, struct lull_sim_news *ret_news,
                        struct lull_error *err);
};

/* ==== engine ================================================================================== */

struct lull_noise;  /* sim/noise/noise.h */
struct lull_memory; /* sim/memory.h */

/* A one-off delay: the first computation of a rank that begins at or after a time or iteration
 * takes `length` ns longer. */
struct lull_delay {
    uint32_t rank;
    bool at_iteration;
    int64_t when; /* ns, or iteration */
    int64_t length;
};

/* Fails with LULL_ERR_RANGE, and says that the delay found no computation to lengthen. */
lull_status lull_delay_missed(const struct lull_delay *delay, struct lull_error *err);

/* Follows the simulation as it goes; all times in ns of simulated time, never decreasing for one
 * stream. Any member may be NULL. Graph programs have one stream per rank. Without `any_order` the
 * streams are told of in the order of time. */
struct lull_sim_sink {
    void *context;
    /* A computation of a stream; noise and delay are the parts of it that were added. `measured` is
     * that of the operation. */
    lull_status (*compute)(void *context, uint32_t stream, const struct lull_op *op, int64_t begin,
                           int64_t end, int64_t noise, int64_t delay, struct lull_error *err);
    /* A call begins / ends (LULL_OP_CALL_BEGINS / ENDS). Not for graphs: there, what is not
     * computation is communication. */
    lull_status (*call)(void *context, uint32_t stream, const struct lull_op *op, bool begins,
                        int64_t time, struct lull_error *err);
    /* An operation starts (SEND, RECV posted, COLLECTIVE begun, MARK passed) ... */
    lull_status (*start)(void *context, uint32_t stream, const struct lull_op *op, int64_t time,
                         struct lull_error *err);
    /* ... and the stream learns that a request is complete: in a WAIT, or at once. For a RECV
     * `source`, `tag` and `bytes` are those of the message, else those of the operation. */
    lull_status (*done)(void *context, uint32_t stream, const struct lull_op *op, uint32_t source,
                        uint32_t tag, uint64_t bytes, int64_t time, struct lull_error *err);
    bool any_order;               /* it takes each stream by itself, in any order of streams */
    void (*again)(void *context); /* with any_order: all that was told is void, and the simulation
                                     begins again */
};

struct lull_sim_options {
    const struct lull_network *network;
    const struct lull_noise *noise;   /* NULL: none */
    const struct lull_memory *memory; /* whose bandwidth computations share (events in the order of
                                         time, on one thread); NULL: they share none. Not for
                                         graphs, nor for networks whose messages take time of
                                         processors. */
    const struct lull_delay *delays;
    uint32_t n_delays;
    uint64_t seed;
    const struct lull_sim_part
        *part;        /* this process simulates these ranks, others the rest, and the
                                         result is that of these ranks; not with delays, memory or
                                         path. NULL: all ranks */
    bool path;        /* find the longest path (costs time and memory, and takes one thread) */
    unsigned workers; /* threads, where the network allows it; 0: lull_worker_count() where there
                         are ranks enough */
    const struct lull_sim_sink *sink;                   /* NULL: none */
    void (*progress)(void *context, int64_t simulated); /* now and then; NULL: not told */
    void *progress_context;
};

struct lull_sim_rank {
    int64_t end;     /* ns */
    int64_t compute; /* without noise */
    int64_t noise;
    int64_t overhead;        /* processor busy with messages */
    uint64_t sent, received; /* messages */
    uint64_t bytes_sent, bytes_received;
};

struct lull_sim_result {
    int64_t runtime; /* ns: the latest end of a rank */
    uint32_t n_ranks;
    struct lull_sim_rank *ranks;
    uint64_t n_sends, n_receives, n_computes, n_messages, n_collectives;
    int64_t path[LULL_PATH_PARTS]; /* with options->path */
    int64_t *path_compute;         /* [program->n_regions]: computation on the path by region, with
                                      options->path and regions; else NULL */
    uint32_t path_rank;            /* the rank that ends last */
    uint64_t path_hops;            /* how often the path passes from one rank to another */
};

/* Fails with LULL_ERR_FORMAT and one line that names the place: unmatched sends or receives, a
 * deadlock (with its cycle of ranks), collectives in different order or with different roots. After
 * such a failure *ret_problems (if not NULL) holds the first ten in words, one line each, for a
 * table. The result lives in `arena`.
 *
 * With a part, a process that cannot go on fails only when all have come to the end, unless `take`
 * or `post` fails: with LULL_ERR_UNSUPPORTED where the order of time matters, and with
 * LULL_ERR_FORMAT, without a text, where something is left over. One process that simulates all
 * ranks can handle the former, and has a text for the latter. */
lull_status lull_simulate(struct lull_program *program, const struct lull_sim_options *options,
                          struct lull_arena *arena, struct lull_sim_result *ret_result,
                          const char *const **ret_problems, struct lull_error *err);

#endif
