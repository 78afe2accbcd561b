/* Solvers as kernels, counts and barriers: descriptions in Lua, and what the ECM model predicts of
 * them on a machine (docs/model-solver.md).
 *
 * The unit of work of a kernel is a line of results: 8 points in double precision. */
#ifndef LULL_MODEL_SOLVER_SOLVER_H
#define LULL_MODEL_SOLVER_SOLVER_H

#include "machine/machine.h"
#include "model/ecm.h"

/* ==== solver ================================================================================== */

enum { LULL_SOLVER_POINTS_PER_LINE = 8 };

struct lull_solver_kernel {
    const char *name;
    double count;                                /* executions per iteration of the solver */
    double points;                               /* results per execution */
    double t_ol, t_nol;                          /* in-core cycles per line of results */
    struct lull_ecm_lines lines[LULL_ECM_LINKS]; /* per line of results, nearest link first; where
                                                    the description counts them, what is written is
                                                    taken not to be read by the code */
    size_t n_lines;
    double flops;      /* per point */
    double regions;    /* parallel regions per execution */
    double barriers;   /* barriers per execution */
    double wavefronts; /* W > 0: n cores work as a pipeline of W + n - 1 steps with a barrier after
                          each, so that a core idles in n - 1 of them */
    double seconds;    /* per execution for what is no kernel: communication, say */
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
    struct lull_solver_kernel *kernels; /* with their lines on one core */
    size_t n_kernels;
    const struct lull_solver_walk *walks;     /* of each kernel, which name their arrays; NULL: they
                                                 give lines, the same on any number of cores */
    const double *sizes;                      /* B of each of these arrays */
    struct lull_solver_parameter *parameters; /* in the order of the description */
    size_t n_parameters;
};

/* Reads a description for a machine. `values` are what the user sets ("Nx"); one that the
 * description does not ask for is an error. Everything lives in the arena. Errors name file and
 * line or kernel: LULL_ERR_IO, LULL_ERR_FORMAT, LULL_ERR_RANGE, LULL_ERR_MEMORY. */
lull_status lull_solver_read(const char *path, const struct lull_machine *machine,
                             const struct lull_solver_parameter *values, size_t n_values,
                             struct lull_arena *arena, struct lull_solver *ret_solver,
                             struct lull_error *err);

/* The kernels with the lines that they move on that many cores. */
struct lull_solver_kernel *lull_solver_on_cores(const struct lull_solver *solver,
                                                const struct lull_machine *machine, unsigned cores,
                                                struct lull_arena *arena);

struct lull_solver_options {
    unsigned cores;       /* 0: those of a memory domain of the machine */
    const char *compiler; /* whose OpenMP: "gcc", "clang" */
    double barrier;       /* s of a barrier and of a region; NAN: as the machine file says */
};

struct lull_solver_kernel_time {
    struct lull_ecm ecm;
    struct lull_ecm_bandwidth memory;
    double cycles;       /* per line of results on one core */
    unsigned saturation; /* cores, if each moves the lines of one alone; 0: never */
    double limit;        /* cycles per line of results on all cores, naive */
    double seconds;      /* per iteration of the solver on one core */
};

struct lull_solver_scale {
    unsigned cores;
    size_t level;    /* where the data are: 0 the first cache, n_lines memory */
    double cycles;   /* sum of the kernels' cycles per line, weighted by their count; naive */
    double seconds;  /* per iteration, naive saturation, with everything */
    double latency;  /* the same with the latency penalty */
    double sync;     /* barriers and regions, part of both */
    double fill;     /* idle in the pipelines' first and last steps, part of `seconds` */
    double *kernels; /* n_kernels: seconds of each, naive, with its barriers */
};

struct lull_solver_prediction {
    const struct lull_solver *solver;
    double clock; /* Hz */
    struct lull_solver_kernel_time *kernels;
    struct lull_solver_scale *scales; /* 1 .. n_scales cores */
    size_t n_scales;
    double cycles, limit; /* sums of the kernels', weighted by count */
    bool sync_known;      /* the machine file or the user says what a barrier and a region cost */
};

/* Fails with LULL_ERR_RANGE where the machine file lacks a number, and says which. */
lull_status lull_solver_predict(const struct lull_solver *solver,
                                const struct lull_machine *machine,
                                const struct lull_solver_options *options, struct lull_arena *arena,
                                struct lull_solver_prediction *ret_prediction,
                                struct lull_error *err);

/* ==== reuse =================================================================================== */

/* Internal to the solver models: which lines kernels find in a cache because others, or the
 * iteration before, have used them there. */

enum { LULL_SOLVER_ARRAYS = 64 }; /* most arrays that the kernels of a solver may name */

struct lull_solver_use { /* of an array by a kernel */
    size_t array;        /* 0 .. LULL_SOLVER_ARRAYS - 1 */
    bool read, written;
    double times;       /* that each line is read, for its own row and those around it, beyond a */
    double layer_bytes; /* level that holds less than this; other levels let it be read once */
};

/* What a kernel does with arrays. Each execution walks through all elements of all of its arrays
 * side by side, each of which it uses once. */
struct lull_solver_walk {
    const struct lull_solver_use *uses; /* one per array */
    size_t n_uses;
    bool backward;
};

/* A level of the caches as some cores use it at the same time. */
struct lull_solver_cache {
    unsigned cores;   /* at work, from 1 up, each on an equal part of every array */
    unsigned sharers; /* that one instance has, from 1 up; the last one may have fewer */
    double bytes;     /* of one instance */
};

/* Fills the lines that each kernel moves over the link beyond a level that replaces what was used
 * least recently, in iterations without end: a layer condition between kernels. Between two uses of
 * an element others are touched, as many bytes at the begin of the arrays as said by one number, at
 * the end by another, and linearly many in between; what is more apart than the level holds is
 * loaded again. A line that was written leaves the level once, if it does so before it is written
 * again, and counts for the kernel that wrote it. Kernels execute in order, each of them
 * solver->kernels[i].count times in a row, a whole number from 1 up. sizes: bytes of each array.
 *
 * Of several cores each has its part of an array, so that an instance with m of n cores holds as
 * much of its parts as one n / m times as large would of the whole. What is touched around an
 * element has to fit into the share of one core: kernels split the rows of a grid among cores, so
 * that a row is as long as on one core, and those with wavefronts the points of each row. Between a
 * kernel of one kind and one of the other a core finds in its own instance only what both times was
 * its part, one part in as many as there are instances. */
void lull_solver_reuse(struct lull_solver *solver, const struct lull_solver_walk *walks,
                       const double *sizes, size_t level, const struct lull_solver_cache *cache);

#endif
