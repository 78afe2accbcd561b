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

/* ==== part ==================================================================================== */

/* Part: a simulation whose ranks several processes have, each neighbouring ones.
 *
 * That is possible where events may be handled in any order (sim/network/network.h): each process
 * lets its ranks run until they are blocked, and what they cause for ranks of others goes there as
 * a *letter*. Messages of one channel keep their order, as letters of one process to another do.
 * All times are those that one process finds.
 *
 * A message is a letter when it was sent, and where its sender waits for its receiver one back.
 * Collective operations that are made of messages need nothing more. Of one in closed form, in
 * which all wait for all, each process tells the one that has the first rank of the group when the
 * last of its ranks came, and is told when the last of all did. So far only networks on which such
 * an operation costs nothing have both closed forms and events in any order: its cost follows from
 * what the ranks of one process send and receive. */

enum lull_sim_letter_kind {
    LULL_LETTER_MESSAGE, /* a message is on its way to a rank */
    LULL_LETTER_SENT,    /* a send that waited for its receiver is over */
    LULL_LETTER_CAME,    /* to a collective operation: all ranks of a process */
    LULL_LETTER_LEAVES   /* all ranks of all have come to it */
};

struct lull_sim_letter {
    uint8_t kind;  /* enum lull_sim_letter_kind */
    uint8_t flags; /* MESSAGE: those of its record that networks look at ... */
    bool buffered; /* ... and this (sim/network/transfer.h) */
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

/* What has come. */
struct lull_sim_news {
    const struct lull_sim_letter *letters; /* until the next call */
    size_t count;
    bool full; /* others have yet to take much of what was posted: nothing is to be run */
    bool over; /* nobody has anything to do, and no letter is on its way */
};

/* What the engine is given by its caller. */
struct lull_sim_part {
    uint32_t index, n;    /* of this process, and how many there are */
    const uint32_t *cuts; /* [n + 1]: process p has the ranks [cuts[p], cuts[p + 1]) */
    /* [n_groups], cleared by the caller, or NULL where there are no groups: behind the simulation,
     * what the ranks of this process called on each group, as a number > 0 that is the same for all
     * that called the same; 0: it has no rank there. The caller sees to it that they agree. */
    uint64_t *signatures;
    void *context;
    /* To another process. */
    lull_status (*post)(void *context, uint32_t to, const struct lull_sim_letter *letter,
                        struct lull_error *err);
    /* Whether something has come, which `idle` ones wait for a little: those that have nothing to
     * do before. `kept`: messages of others that were not received yet, which take memory. */
    lull_status (*take)(void *context, bool idle, uint32_t kept, struct lull_sim_news *ret_news,
                        struct lull_error *err);
};

/* ==== engine ================================================================================== */

struct lull_noise;  /* sim/noise/noise.h */
struct lull_memory; /* sim/memory.h */

/* A one-off delay: `length` ns longer a rank computes, from its first computation on that begins
 * at or after a time or iteration. */
struct lull_delay {
    uint32_t rank;
    bool at_iteration;
    int64_t when; /* ns, or iteration */
    int64_t length;
};

/* Fails with LULL_ERR_RANGE: says that no computation was there for it. */
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
    bool any_order;               /* it takes each stream as it comes ... */
    void (*again)(void *context); /* ... and is told where that was in vain: all that was told is
                                     void, and comes once more */
};

struct lull_sim_options {
    const struct lull_network *network;
    const struct lull_noise *noise;   /* NULL: none */
    const struct lull_memory *memory; /* that computations share, by time and on one thread; NULL:
                                         they do not. Not for graphs, nor for networks whose
                                         messages take time of processors. */
    const struct lull_delay *delays;
    uint32_t n_delays;
    uint64_t seed;
    const struct lull_sim_part *part; /* this process simulates these ranks, whose result it is, and
                                         others the rest; without delays, memory and path. NULL:
                                         all ranks */
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
 * With a part, who cannot go on fails when all have come to the end, at once only with what `take`
 * fails: with LULL_ERR_UNSUPPORTED where the order of time matters, and with LULL_ERR_FORMAT,
 * without words, where something is left over. One process alone can do the one and has words for
 * the other. */
lull_status lull_simulate(struct lull_program *program, const struct lull_sim_options *options,
                          struct lull_arena *arena, struct lull_sim_result *ret_result,
                          const char *const **ret_problems, struct lull_error *err);

#endif
