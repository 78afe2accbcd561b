/* SPDX-License-Identifier: BSD-3-Clause */
/* The primitives of program models: the functions in Lua from which terms are put together, as
 * compute{}, halo{}, allreduce{}, noise{}; what they look up outside of the model's file; and their
 * arguments. Internal to src/model/program. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVES_H
#define LULL_MODEL_PROGRAM_PRIMITIVES_H

#include "model/kernel/predict.h"
#include "model/program/closed_form.h"
#include "model/program/program_model.h"

#include <lua.h>

/* ==== outside of the file ===================================================================== */

/* What primitives look up outside of the model's file: predictions of kernels, and regions of
 * recorded runs. Each thing is looked up once and kept. */

enum { LULL_OUTSIDE_SIZES = 16 }; /* the most sizes of a kernel */

struct lull_outside {
    struct lull_arena *arena;           /* the model's, for what is kept */
    const char *path;                   /* the model's: other files are found from its folder */
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
    bool has_in_core;  /* in_core is given; else the compiler and llvm-mca find it */
    double in_core[2]; /* T_OL and T_nOL, cycles per unit of work */
    double cores;      /* that work at the same time, each on data of these sizes; 0: as many as
                          there are processes, at most those of a memory domain */
    double processes;
};

struct lull_kernel_time {
    double seconds;   /* of one execution of the loop nest on each of the cores */
    bool from_memory; /* more than half of it goes to data from memory */
};

/* The time of a kernel as `lull model kernel` predicts it: by ECM, with the latency penalty over
 * cores. Fails with LULL_ERR_RANGE without a machine, and as reading and predicting the kernel
 * fail. */
lull_status lull_outside_kernel(struct lull_outside *outside,
                                const struct lull_kernel_question *question,
                                struct lull_kernel_time *ret_time, struct lull_error *err);
/* The times of a region of a recorded run. */
lull_status lull_outside_region(struct lull_outside *outside, const char *run, const char *region,
                                struct lull_region_time *ret_time, struct lull_error *err);

/* ==== primitives ============================================================================== */

/* Each primitive returns seconds, adds them to the tally of the term, and, where operations are
 * recorded, leaves one for the simulator. It finds the tally through lua_getextraspace. */

enum { LULL_GRID_DIMENSIONS = 3 };

enum lull_model_operation_kind {
    LULL_MODEL_COMPUTE,
    LULL_MODEL_SHIFT, /* a message to the next rank and one from the rank before */
    LULL_MODEL_HALO,
    LULL_MODEL_TREE,
    LULL_MODEL_COLLECTIVE,
    LULL_MODEL_NOISE
};

struct lull_model_operation {
    enum lull_model_operation_kind kind;
    double count;                            /* how often it is repeated */
    double seconds;                          /* COMPUTE */
    double bytes[LULL_GRID_DIMENSIONS];      /* HALO: by dimension; all others: bytes[0] */
    uint32_t grid[LULL_GRID_DIMENSIONS];     /* HALO: extents */
    bool periodic;                           /* HALO */
    enum lull_tree tree;                     /* TREE */
    enum lull_tree_direction direction;      /* TREE */
    const struct lull_collective_form *form; /* COLLECTIVE */
    bool presumed;                           /* COLLECTIVE: the simulator chooses the algorithm by
                                                size, and `form` is what it would choose */
    struct lull_distribution noise;          /* NOISE, in seconds */
    struct lull_quantiles quantiles;         /* NOISE, in the place of `noise` unless its count is
                                                0, in seconds */
    double draws; /* NOISE: how many independent draws there are; neighbouring ranks share one */
};

struct lull_outside;

/* What the primitives of one term have added up. */
struct lull_tally {
    double processes, latency, bandwidth; /* at this point; NAN: the model does not say */
    struct lull_term_cost cost;           /* of one execution of the term */
    struct lull_outside *outside;
    struct lull_arena *recording; /* where operations are recorded; NULL: none are wanted */
    struct lull_model_operation *operations;
    size_t n_operations, capacity;
    size_t kept;           /* how many numbers the lists of all operations hold */
    double grid_processes; /* of the last grid that was asked for, as the next two */
    uint32_t grid_dimensions, grid[LULL_GRID_DIMENSIONS];
};

/* Adds the primitives to the globals of a Lua state; may raise an error in Lua. */
void lull_primitives_open(lua_State *L, struct lull_tally *tally);

/* A grid of all processes, as square as it can be, with the larger extents first: as
 * MPI_Dims_create makes it. */
void lull_grid_divide(uint32_t processes, uint32_t dimensions,
                      uint32_t ret_grid[LULL_GRID_DIMENSIONS]);

/* ==== the named arguments of primitives ======================================================= */

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
    uint64_t given;               /* bit k: the argument with key k is given */
    double numbers[KEY_PERIODIC]; /* by key */
    bool periodic;
    const char *words[KEYS - KEY_WORDS];   /* by key - KEY_WORDS; they live in Lua's table of
                                            arguments */
    double lists[2][LULL_GRID_DIMENSIONS]; /* `bytes` and `grid`, where these are lists */
    uint32_t lengths[2];                   /* of these lists; 0: a number, or not given */
};

#endif
