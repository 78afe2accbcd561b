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

/* A series of operations (match/circle.h). */
struct series {
    uint32_t comm;
    uint32_t next;         /* index of another series of the communicator, or LULL_NONE */
    uint8_t kind;          /* lull_circle_series */
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

#endif
