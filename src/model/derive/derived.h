/* A model of a program, derived from recorded runs at two or more sizes, and written as a file that
 * `lull model program` reads. */
#ifndef LULL_MODEL_DERIVE_DERIVED_H
#define LULL_MODEL_DERIVE_DERIVED_H

#include "base/arena.h"
#include "base/error.h"
#include "model/derive/disturbance.h"
#include "model/derive/graph.h"
#include "model/derive/law.h"

#include <stdio.h>

/* Computation in one region, of a process on average. */
struct lull_measured_region {
    const char *name;     /* "" for what is outside of all */
    const double *useful; /* [n_runs] seconds directly inside */
    bool is_whole;        /* which is all that the region takes, in every run */
};

/* One collective operation, as MPI counts it. */
struct lull_measured_collective {
    uint8_t operation;   /* enum lull_collective */
    const double *calls; /* [n_runs] of a process */
    const double *bytes; /* [n_runs] sent in a call, by a process on average */
};

/* What was measured of all runs. */
struct lull_measured_runs {
    const char *title;
    const char *size_name; /* of a parameter: the problem's size; NULL: unknown, or alike in all */
    size_t n_runs;
    const char *const *names;
    const struct lull_links *links;
    const double *size;        /* [n_runs]; 1 without a name */
    const double *seconds;     /* of the run */
    const double *cores;       /* [n_runs] that its processes might use; 0: not known */
    const double *threads;     /* [n_runs] of a process, on average */
    const double *useful;      /* mean of the processes, while they had a core */
    const double *most_useful; /* of the one that computes longest */
    bool had_cores;            /* whether `useful` is known to contain no waiting for a core */
    const struct lull_measured_region *regions;
    size_t n_regions;
    const struct lull_measured_collective *collectives;
    size_t n_collectives;
    const struct lull_measured_marks *marks; /* [n_marks]: of the ranks of the last run whose
                                                threads had a core each */
    size_t n_marks;
};

/* Writes the model: terms with laws, comments that say what each explains and what no term does.
 * Errors of the stream stay in ferror(out). */
void lull_derived_write(const struct lull_measured_runs *runs, struct lull_arena *arena, FILE *out);
/* The same into a file, as lull_file_write does (base/output_file.h). */
lull_status lull_derived_save(const char *path, const struct lull_measured_runs *runs,
                              struct lull_arena *arena, struct lull_error *err);

#endif
