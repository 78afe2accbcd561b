/* Internal to model/program: what primitives look up outside of the file, each thing once. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVE_OUTSIDE_H
#define LULL_MODEL_PROGRAM_PRIMITIVE_OUTSIDE_H

#include "model/kernel/predict.h"
#include "model/program/program_model.h"

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

#endif
