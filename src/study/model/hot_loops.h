/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops in which a run computed most, each beside what the machine allows: how long an iteration took, how
 * long ECM says that it takes on that machine, what limits it, and what would limit it next.
 *
 * Which loops these are and how much of the useful time each of them took is known from samples. Iterations
 * are counted by nobody. Their number is the product of how often the nest was executed and of the iterations of
 * one execution. The first is known where the recorder has counted it (executions of a parallel region that is
 * the nest, visits of a region that is its function), or where the source says it; the second where the
 * source or the user says the sizes. Where one of the two is not known, an iteration has a
 * prediction and no measured time. */
#ifndef LULL_STUDY_MODEL_HOT_LOOPS_H
#define LULL_STUDY_MODEL_HOT_LOOPS_H

#include "model/kernel/predict.h"
#include "study/run_code.h"

enum { LULL_HOT_LOOPS = 10 };
/* A loop is at its limit from this share of what the model allows on: nearer the model does not tell. */
#define LULL_HOT_AT_LIMIT 0.85

struct lull_hot_wish {
    const struct lull_machine *machine;
    const char *machine_path;
    bool force; /* go on where the machine file is of another machine than the run */
    /* What the user says of all loops; each loop takes what concerns it. */
    const struct lull_kernel_size *sizes;
    size_t n_sizes;
    const struct lull_kernel_cost *costs;
    size_t n_costs;
    const struct lull_kernel_index *indices;
    size_t n_indices;
    struct lull_incore_options incore;
    unsigned workers; /* threads */
};

/* How it is known how often the nest of a loop was executed. */
enum lull_hot_count {
    LULL_HOT_NOT_COUNTED,
    LULL_HOT_BY_PARALLEL, /* executions of the parallel region that it is */
    LULL_HOT_BY_REGION,   /* visits of the region that is its function */
    LULL_HOT_BY_SOURCE    /* loops of known lengths, from main() on */
};

/* The machine code of a loop, or of that of its loops in which most of its samples are: where a compiler makes
 * several of a loop, as of what is left of vectors, each has passes of its own. */
struct lull_hot_code {
    struct lull_incore_binary in_core; /* per pass */
    double seconds;                    /* in_core.cycles on the machine */
    unsigned n_others; /* blocks that some passes leave out, which are not counted */
    unsigned n_calls;  /* of functions, whose time is not counted */
};

struct lull_hot_loop {
    const struct lull_code_row *row;
    const char *why;                  /* in a few words, why it is not understood; NULL: it is */
    const struct lull_hot_code *code; /* NULL: it was not read */
    const char *no_code;              /* why not */
    /* What follows is of loops that are understood. */
    const struct lull_kernel_prediction *prediction; /* of the innermost loop */
    const char *sizes; /* "N 1000, grid.rows 250": what is known of them, and from whom */
    const char
        *supposed;     /* "n, m": sizes on which the prediction depends that nobody has said; NULL:
                             none */
    const char *notes; /* sentences on what was taken for granted; "": none */
    unsigned cores;    /* in use at the same time in a memory domain, as far as samples tell */
    uint8_t counted;   /* enum lull_hot_count */
    double executions; /* of the nest, in all processes together; NAN: not known */
    double iterations; /* of the loop, in all processes together; NAN: not known */
    const char *uncounted; /* why iterations are not known; NULL: they are */
    double allowed;  /* s: an iteration of one thread by the model, with so many cores in use */
    double measured; /* s: the same as measured; NAN: iterations are not known */
    double share;    /* allowed / measured; NAN */
    double compiled; /* s: `allowed` with the in-core time of the machine code; NAN: not known */
    const char *
        compilation; /* a sentence: how it was compiled keeps it from what the model allows; NULL: it
                                does not, or it is not known */
    const char *limit; /* "memory", "L2", "chain", "port HWPort0" ... */
    const char
        *steps; /* "in blocks of 1016 that L1 holds: 0.71 ns; ...": what other forms would reach;
                          NULL: the model knows none that is faster */
    const char *next; /* what would limit it then; NULL: nothing that the model knows */
    double gain;      /* by which factor it would be faster then */
};

struct lull_hot_loops {
    const struct lull_machine *machine;
    const char *absent; /* why there are none; NULL: there are */
    const char *other;  /* "haswell, not node7": the machine file is of another machine; NULL: it is
                            not */
    struct lull_hot_loop loops[LULL_HOT_LOOPS]; /* the most useful time first */
    uint32_t n_loops;
    double covered; /* the share of the useful time in all of them */
    double no_loop; /* the share in code that is in no loop */
    const struct lull_code_gap
        *gaps; /* files of which names or lines are missing, the largest first */
    uint32_t n_gaps;
};

/* Of a run that was asked for lull_code_analysis with loops, and for regions. What a loop is not understood
 * by is told with it; fails with LULL_ERR_MEMORY only. */
lull_status lull_hot_loops_find(const struct lull_run *run, const struct lull_hot_wish *wish,
                                struct lull_arena *arena, struct lull_hot_loops *ret_loops,
                                struct lull_error *err);

/* With what the floating-point instructions of machine code calculate: "1 double", "4 doubles"; NULL: it has none. */
const char *lull_hot_lanes(const struct lull_hot_code *code, struct lull_arena *arena);
/* The same with what the machine could do, where it is not done: "1 double each, where a vector of the machine
 * holds 4". NULL: there are no such instructions. */
const char *lull_hot_vectors(const struct lull_hot_code *code, const struct lull_machine *machine,
                             struct lull_arena *arena);

#endif
