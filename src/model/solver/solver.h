/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterative solvers, described in Lua as kernels with counts and barriers, and what the ECM model
 * predicts of them on a machine (docs/model-solver.md).
 *
 * The unit of work of a kernel is a line of results: 8 points in double precision. */
#ifndef LULL_MODEL_SOLVER_SOLVER_H
#define LULL_MODEL_SOLVER_SOLVER_H

#include "machine/machine.h"
#include "model/ecm.h"

/* ==== the solver ============================================================================== */

enum { LULL_SOLVER_POINTS_PER_LINE = 8 };

struct lull_solver_kernel {
    const char *name;
    double count;                                /* executions per iteration of the solver */
    double points;                               /* results per execution */
    double t_ol, t_nol;                          /* in-core cycles per line of results */
    struct lull_ecm_lines lines[LULL_ECM_LINKS]; /* per line of results, nearest link first; where
                                                    the description gives these numbers, the code is
                                                    taken not to read what it writes */
    size_t n_lines;
    double flops;      /* per point */
    double regions;    /* parallel regions per execution */
    double barriers;   /* barriers per execution */
    double wavefronts; /* W > 0: n cores work as a pipeline of W + n - 1 steps with a barrier after
                          each, so that each core is idle in n - 1 of the steps; 0: no pipeline */
    double seconds;    /* per execution, for what is not part of the kernel, as communication */
};

struct lull_solver_parameter {
    const char *name;
    double value;
    bool set; /* by the user, not by the description */
};

struct lull_solver_walk;

struct lull_solver {
    const char *title;
    double points;                      /* of the problem: updates per iteration */
    double bytes;                       /* of all arrays together; 0: more than any cache holds */
    struct lull_solver_kernel *kernels; /* with the lines that they move on one core */
    size_t n_kernels;
    const struct lull_solver_walk *walks;     /* [n_kernels], of kernels that name their arrays;
                                                 NULL: the description gives lines instead, the same
                                                 for any number of cores */
    const double *sizes;                      /* bytes of each array that walks name */
    struct lull_solver_parameter *parameters; /* in the order of the description */
    size_t n_parameters;
};

/* Reads a description for a machine. `values` are the parameters that the user sets ("Nx"); one
 * that the description does not ask for is an error. Everything lives in the arena. Errors name
 * file and line or kernel: LULL_ERR_IO, LULL_ERR_FORMAT, LULL_ERR_RANGE, LULL_ERR_MEMORY. */
lull_status lull_solver_read(const char *path, const struct lull_machine *machine,
                             const struct lull_solver_parameter *values, size_t n_values,
                             struct lull_arena *arena, struct lull_solver *ret_solver,
                             struct lull_error *err);

/* The kernels with the lines that they move on that many cores. */
struct lull_solver_kernel *lull_solver_on_cores(const struct lull_solver *solver,
                                                const struct lull_machine *machine, unsigned cores,
                                                struct lull_arena *arena);

struct lull_solver_options {
    unsigned cores;       /* the most cores; 0: those of a memory domain of the machine */
    const char *compiler; /* whose OpenMP runs the barriers: "gcc", "clang" */
    double barrier;       /* seconds of a barrier, and of a region; NAN: as the machine file says */
};

struct lull_solver_kernel_time {
    struct lull_ecm ecm;
    struct lull_ecm_bandwidth memory;
    double cycles;       /* per line of results on one core */
    unsigned saturation; /* cores that saturate the memory, if each moves as many lines as one core
                            alone does; 0: no number of cores does */
    double limit;        /* cycles per line of results on all cores, with naive saturation */
    double seconds;      /* per iteration of the solver on one core */
};

struct lull_solver_scale {
    unsigned cores;
    size_t level;    /* where the data are: 0 the first cache, n_lines memory */
    double cycles;   /* sum of the kernels' cycles per line of results, weighted with their counts;
                        naive saturation */
    double seconds;  /* per iteration of the solver with everything, naive saturation */
    double latency;  /* the same with the latency penalty */
    double sync;     /* seconds in barriers and regions, part of both */
    double fill;     /* idle seconds in the first and last steps of pipelines, part of `seconds` */
    double *kernels; /* [n_kernels] seconds of each with its barriers, naive saturation */
};

struct lull_solver_prediction {
    const struct lull_solver *solver;
    double clock;                            /* Hz */
    struct lull_solver_kernel_time *kernels; /* [n_kernels] */
    struct lull_solver_scale *scales;        /* [n_scales]: for 1 core up to n_scales cores */
    size_t n_scales;
    double cycles, limit; /* sums of those of the kernels, weighted with their counts */
    bool sync_known;      /* the machine file or the user says what a barrier and a region cost */
};

/* Fails with LULL_ERR_RANGE where the machine file lacks a number, and says which. */
lull_status lull_solver_predict(const struct lull_solver *solver,
                                const struct lull_machine *machine,
                                const struct lull_solver_options *options, struct lull_arena *arena,
                                struct lull_solver_prediction *ret_prediction,
                                struct lull_error *err);

/* ==== reuse between kernels =================================================================== */

/* Which lines a kernel finds in a cache because another kernel, or the iteration before, has used
 * them there. Only solver.c and its test know this section. */

enum { LULL_SOLVER_ARRAYS = 64 }; /* most arrays that the kernels of a solver may name */

struct lull_solver_use { /* of an array by a kernel */
    size_t array;        /* 0 .. LULL_SOLVER_ARRAYS - 1 */
    bool read, written;
    /* A line is used for its own row and for rows around it. A level that holds less than
     * layer_bytes does not keep it from one row to the next: the line is then read `times` times
     * from beyond that level, else once. */
    double times;
    double layer_bytes;
};

/* What a kernel does with arrays. Each execution walks through all of its arrays side by side, from
 * end to end, and uses each element once. */
struct lull_solver_walk {
    const struct lull_solver_use *uses; /* one per array */
    size_t n_uses;
    bool backward;
};

/* A level of the caches as some cores use it at the same time. */
struct lull_solver_cache {
    unsigned cores;   /* at work, 1 or more, each on an equal part of every array */
    unsigned sharers; /* cores that share one instance, 1 or more; the last one may have fewer */
    double bytes;     /* of one instance */
};

/* Fills the lines that each kernel moves over the link beyond a level. The level replaces what was
 * used least recently, and iterations go on without end. This is a layer condition between kernels:
 * an element is loaded again if, between two uses of it, more bytes are touched than the level
 * holds. How many these are is linear in the element's place in its array, from one number for the
 * first element to another for the last. A line that was written leaves the level once, if it
 * leaves before it is written again, and counts for the kernel that wrote it. Kernels execute in
 * order, each of them solver->kernels[i].count times in a row, a whole number from 1 up. `sizes`
 * holds the bytes of each array.
 *
 * With n cores, each has its part of an array. An instance that m of them share then holds as much
 * of their parts as an instance n / m times as large would hold of the whole. The rows around an
 * element have to fit into the share of one core. Most kernels split the rows of a grid among
 * cores, so that a row is as long as on one core; kernels with wavefronts split the points of each
 * row. Between a kernel of one kind and a kernel of the other, a core finds in its own instance
 * only what was its part in both kernels, which is 1 / (number of instances) of it. */
void lull_solver_reuse(struct lull_solver *solver, const struct lull_solver_walk *walks,
                       const double *sizes, size_t level, const struct lull_solver_cache *cache);

#endif
