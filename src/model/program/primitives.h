/* Internal to model/program: what primitives look up outside of the file, each thing once. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVES_H
#define LULL_MODEL_PROGRAM_PRIMITIVES_H

#include "model/kernel/predict.h"
#include "model/program/closed_form.h"
#include "model/program/program_model.h"

#include <lua.h>

/* ==== outside ================================================================================= */

enum { LULL_OUTSIDE_SIZES = 16 }; /* of a kernel */

struct lull_outside {
    struct lull_arena *arena;           /* of the model, for what is kept */
    const char *path;                   /* of the model: other files are found from its folder */
    const struct lull_machine *machine; /* NULL: none */
    struct lull_outside_kernel *kernels;
    size_t n_kernels, kernels_capacity;
    struct lull_outside_region *regions;
    size_t n_regions, regions_capacity;
    lull_region_reader *read_region; /* NULL: there is nobody to read runs */
    void *reader;
};

/* What is asked of a kernel. */
struct lull_kernel_question {
    const char *file; /* "triad.c", "program.c:function" */
    struct lull_kernel_size sizes[LULL_OUTSIDE_SIZES];
    size_t n_sizes;
    bool has_in_core; /* else the compiler and llvm-mca say it */
    double in_core[2];
    double cores; /* that work at the same time, each on data of these sizes; 0: as many as there
                     are processes or cores in a memory domain */
    double processes;
};

struct lull_kernel_time {
    double seconds;   /* of one execution of the loop nest on each of the cores */
    bool from_memory; /* more than half of it goes to data from memory */
};

/* As `lull model kernel` predicts it: ECM with the latency penalty over cores. Fails with
 * LULL_ERR_RANGE without a machine, and as its parts do. */
lull_status lull_outside_kernel(struct lull_outside *outside,
                                const struct lull_kernel_question *question,
                                struct lull_kernel_time *ret_time, struct lull_error *err);
/* The times of a region of a recorded run. */
lull_status lull_outside_region(struct lull_outside *outside, const char *run, const char *region,
                                struct lull_region_time *ret_time, struct lull_error *err);

/* ==== primitives ============================================================================== */

/* Internal to model/program: the functions that terms are put together from.
 *
 * Each returns seconds, adds to the tally of the term, and with `recording` leaves an operation for
 * the simulator. The tally is found through lua_getextraspace. */

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

/* ==== arguments =============================================================================== */

/* Internal to model/program: the named arguments of primitives. */

enum key {
    KEY_FLOPS,
    KEY_RATE,
    KEY_SECONDS,
    KEY_BYTES,
    KEY_BANDWIDTH,
    KEY_LATENCY,
    KEY_COUNT,
    KEY_THREADS,
    KEY_OVERHEAD,
    KEY_IMBALANCE,
    KEY_DRAWS,
    KEY_MEAN,
    KEY_VALUE,
    KEY_PROBABILITY,
    KEY_LEAST,
    KEY_MOST,
    KEY_SHAPE,
    KEY_SD,
    KEY_PERIOD,
    KEY_LENGTH,
    KEY_DURATION,
    KEY_CORES,
    KEY_PERIODIC, /* the numbers end here */
    KEY_GRID,
    KEY_QUANTILES,
    KEY_PROBABILITIES,
    KEY_SIZES,
    KEY_IN_CORE,
    KEY_WORDS, /* words from here on */
    KEY_ALGORITHM = KEY_WORDS,
    KEY_DISTRIBUTION,
    KEY_KIND,
    KEY_DIRECTION,
    KEY_KERNEL,
    KEY_REGION,
    KEY_RUN,
    KEY_OF,
    KEY_PER,
    KEYS
};

struct arguments {
    lua_State *L;
    const char *primitive;
    uint64_t given; /* bits of keys */
    double numbers[KEY_PERIODIC];
    bool periodic;
    const char *words[KEYS - KEY_WORDS]; /* from KEY_WORDS on; in the table of arguments */
    double lists[2][LULL_GRID_DIMENSIONS];
    uint32_t lengths[2]; /* of bytes and grid; 0: a number, or not given */
};

#endif
