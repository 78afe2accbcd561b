/* Collective operations, communicators and their members; internal to the room. */
#ifndef LULL_REPLAY_IDEAL_GATHER_H
#define LULL_REPLAY_IDEAL_GATHER_H

#include "base/array.h"
#include "replay/ideal/share.h"

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

#endif
