/* Internal to model/program: the functions that terms are put together from.
 *
 * Each returns seconds, adds to the tally of the term, and with `recording` leaves an operation for
 * the simulator. The tally is found through lua_getextraspace. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVE_PRIMITIVES_H
#define LULL_MODEL_PROGRAM_PRIMITIVE_PRIMITIVES_H

#include "model/program/primitive/collective_form.h"
#include "model/program/primitive/maximum.h"
#include "model/program/primitive/tree.h"
#include "model/program/program_model.h"

#include <lua.h>

enum { LULL_GRID_DIMENSIONS = 3 };

enum lull_operation_kind {
    LULL_OPERATION_COMPUTE,
    LULL_OPERATION_SHIFT, /* a message to the next rank, one from the last */
    LULL_OPERATION_HALO,
    LULL_OPERATION_TREE,
    LULL_OPERATION_COLLECTIVE,
    LULL_OPERATION_NOISE
};

struct lull_operation {
    enum lull_operation_kind kind;
    double count;                            /* how often it is repeated */
    double seconds;                          /* COMPUTE */
    double bytes[LULL_GRID_DIMENSIONS];      /* HALO: by dimension; else the first */
    uint32_t grid[LULL_GRID_DIMENSIONS];     /* HALO */
    bool periodic;                           /* HALO */
    enum lull_tree tree;                     /* TREE */
    enum lull_tree_direction direction;      /* TREE */
    const struct lull_collective_form *form; /* COLLECTIVE */
    bool presumed;                           /* COLLECTIVE: by size, as the simulator does it */
    struct lull_distribution noise;          /* NOISE, in seconds */
    struct lull_quantiles quantiles;         /* NOISE: instead, in seconds; count 0: none */
    double draws; /* NOISE: independent ones; ranks that are neighbours share them */
};

struct lull_outside; /* outside.h */

struct lull_tally {
    double processes, latency, bandwidth; /* at this point; NAN: the model does not say */
    struct lull_term_cost cost;           /* of one execution of the term */
    struct lull_outside *outside;
    struct lull_arena *recording; /* NULL: no operations are wanted */
    struct lull_operation *operations;
    size_t n_operations, capacity;
    size_t kept;           /* numbers of lists that operations hold */
    double grid_processes; /* the last grid that was asked for */
    uint32_t grid_dimensions, grid[LULL_GRID_DIMENSIONS];
};

/* Adds the primitives to the globals; may raise an error. */
void lull_primitives_open(lua_State *L, struct lull_tally *tally);

/* As square as it can be, the larger extents first: as MPI_Dims_create does it. */
void lull_grid_divide(uint32_t processes, uint32_t dimensions,
                      uint32_t ret_grid[LULL_GRID_DIMENSIONS]);

#endif
