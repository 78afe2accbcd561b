/* Collective operations, communicators and their members; internal to the room. */
#ifndef LULL_REPLAY_IDEAL_GATHER_H
#define LULL_REPLAY_IDEAL_GATHER_H

#include "base/ring.h"
#include "replay/ideal/share.h"

/* One operation as a share sees it, until its members have done with it. At the home of the
 * communicator, the share of its first process, all members arrive. */
struct gathering {
    int64_t latest;  /* of all arrivals so far */
    int64_t root_at; /* arrival of the root that others wait for, or -1 */
    int64_t *below;  /* scans, by rank: at home below first_missing the latest of the ranks up to
                        this one, and else its own arrival or -1 */
    struct stream *waiting;
    uint32_t arrived;       /* at home */
    uint32_t left;          /* of this share */
    uint32_t first_missing; /* scans, at home: the first rank that has not arrived */
    uint32_t root_share;    /* of the root that waits for all, or LULL_NONE */
    bool all;               /* have arrived */
    uint32_t arrived_of[2]; /* between two groups, at home: those of each, ... */
    int64_t latest_of[2];   /* ... and the latest of them */
    int64_t all_of[2];      /* the latest of each group when all of it have arrived; -1: not yet */
    uint8_t low_op, other_op;
    uint32_t low_rank, other_rank; /* the lowest rank, and the lowest with another operation */
    int64_t low_measured, other_measured;
};

/* The operations on a communicator in turn: blocking ones, or non-blocking ones of one kind. Those
 * are matched apart because tracers tell the communicator of the latter only when they end. */
struct series {
    uint32_t comm;
    uint32_t next;         /* on the same communicator, or LULL_NONE */
    uint8_t kind;          /* 0: blocking; else 1 + operation */
    uint32_t first;        /* the number of the oldest that is open */
    struct lull_ring open; /* of struct gathering, from `first` on */
};

/* A communicator as a share sees it. */
struct circle {
    bool known;
    bool has_all; /* each process that is analysed, once; false where there are no epochs */
    uint32_t home, size, here; /* members in all, and in this share */
    uint32_t series;           /* the first one */
    uint32_t *others;          /* at home: other shares with members */
    uint32_t n_others;
};

/* A process in a series. */
struct member {
    uint32_t comm, series, rank;
    uint32_t count; /* operations so far */
    uint32_t next;  /* of the same process */
    uint8_t kind;   /* of the series */
};

/* The process of a rank; both sides of an inter-communicator are one sequence. */
uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank);
/* NULL: no memory, which is noted. */
struct circle *lull_circle_open(struct share *share, uint32_t comm);
/* The series of a kind of operation; LULL_NONE: no memory. */
uint32_t lull_circle_series(struct share *share, uint32_t comm, uint8_t kind);
/* A process in a series; NULL: no memory, or `ret_stranger`: it is no member at all. */
struct member *lull_circle_member(struct share *share, struct process *process, uint32_t comm,
                                  uint8_t kind, bool *ret_stranger);

#endif
