/* Collective operations, communicators and their members. Internal to the room; what other files
 * call is declared in share.h.
 *
 * All members of a communicator arrive at its home, the share of its first analysed process. The
 * home tells other shares with members what these wait for. Whether a member may go on is decided
 * in its own share. */
#ifndef LULL_REPLAY_IDEAL_GATHER_H
#define LULL_REPLAY_IDEAL_GATHER_H

#include "base/array.h"
#include "replay/ideal/share.h"

/* A series: the operations on a communicator one after the other, either the blocking ones or the
 * non-blocking ones of one kind. Each series is matched by itself, because tracers tell the
 * communicator of a non-blocking operation only when it ends. */
struct series {
    uint32_t comm;
    uint32_t next;         /* index of another series of the communicator, or LULL_NONE */
    uint8_t kind;          /* 0: blocking; else 1 + operation (enum lull_collective) */
    uint32_t first;        /* the number of the oldest open operation */
    struct lull_ring open; /* of struct gathering, from `first` on */
};

/* A communicator as a share sees it. */
struct circle {
    bool known;
    bool has_all;              /* its members are the processes that are analysed, each once; false
                                  also in a reading without epochs */
    uint32_t home, size, here; /* index of the home; members in all; members in this share */
    uint32_t series;           /* index of its first series */
    uint32_t *others;          /* [n_others]: other shares with members */
    uint32_t n_others;
};

/* A process in a series. */
struct member {
    uint32_t comm, series, rank;
    uint32_t count; /* its operations so far; the next one has this number */
    uint32_t next;  /* index of another membership of the same process, or LULL_NONE */
    uint8_t kind;   /* of the series */
};

/* The process of a rank. The ranks of the two groups of an inter-communicator are one sequence:
 * those of the remote group follow those of the local one. */
uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank);

#endif
