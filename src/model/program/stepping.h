/* Internal to model/program: a model as a program of the simulator, rank by rank. */
#ifndef LULL_MODEL_PROGRAM_STEPPING_H
#define LULL_MODEL_PROGRAM_STEPPING_H

#include "model/program/primitive/primitives.h"
#include "sim/program.h"

/* What a rank does next: the same for all; one without such a neighbour passes over it. */
struct step {
    uint8_t kind;      /* enum lull_op_kind */
    uint8_t dimension; /* SEND, RECV: of the grid */
    bool up;           /* SEND: to the next rank of the dimension; RECV: from it */
    bool draws;        /* COMPUTE: of noise */
    bool children;     /* SEND, RECV: one with each child in a tree */
    bool parent;       /* SEND, RECV: with the parent */
    const struct lull_operation *operation;
};

struct term {
    const struct step *steps;
    size_t n_steps;
    double every;
    bool is_uneven; /* the last rank has so much more, the others together so much less */
};

struct rank_state {
    uint32_t iteration, term, at, draws;
    uint32_t child; /* the next one of a step with all children */
    int64_t owed;   /* ns, not above 0: by which the next computation is shorter */
};

struct model_program {
    uint64_t seed;
    uint32_t iterations, n_terms;
    double share; /* processes of a core, at least 1: computations are so much longer */
    struct term *terms;
    struct rank_state *ranks;
};

/* Its data is a struct model_program. */
extern const struct lull_program_class lull_program_of_model;

#endif
