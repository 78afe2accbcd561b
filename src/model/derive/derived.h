/* SPDX-License-Identifier: BSD-3-Clause */
/* A derived model: a model of a program that is found from recorded runs at two or more sizes, and
 * written as a file that `lull model program` reads. What was measured comes in as plain numbers
 * (struct lull_measured_runs); laws of scaling, the shape of the communication and the noise of the
 * computation are found from them. */
#ifndef LULL_MODEL_DERIVE_DERIVED_H
#define LULL_MODEL_DERIVE_DERIVED_H

#include "base/arena.h"
#include "base/error.h"
#include "model/derive/disturbance.h"
#include "model/derive/graph.h"
#include "model/derive/law.h"

#include <stdio.h>

/* The computation of a process, on average, in one region. */
struct lull_measured_region {
    const char *name;     /* "" for what is outside of all regions */
    const double *useful; /* [n_runs] seconds directly inside */
    bool is_whole;        /* in every run these seconds are all that the region takes */
};

/* One collective operation, as MPI counts it. */
struct lull_measured_collective {
    uint8_t operation;   /* enum lull_collective */
    const double *calls; /* [n_runs] of a process */
    const double *bytes; /* [n_runs] sent in a call, by a process on average */
};

/* What was measured of all runs. Arrays of numbers are [n_runs]. */
struct lull_measured_runs {
    const char *title;
    const char *size_name; /* name of the parameter that is the problem's size; NULL: the size is
                              not known, or the same in all runs */
    size_t n_runs;
    const char *const *names;
    const struct lull_links *links;
    struct lull_tagged tagged; /* the same links by tags */
    const double *size;        /* of the problem; 1 without a name */
    const double *seconds;     /* of the run */
    const double *cores;       /* that the run's processes might use; 0: not known */
    const double *threads;     /* of a process, on average */
    const double *useful;      /* seconds with a core: mean of the processes */
    const double *most_useful; /* the same of the process that computes longest */
    bool had_cores;            /* whether `useful` is known to contain no waiting for a core */
    const struct lull_measured_region *regions;
    size_t n_regions;
    const struct lull_measured_collective *collectives;
    size_t n_collectives;
    const struct lull_measured_marks *marks; /* [n_marks], one for each rank of the last of the runs
                                                whose threads had a core each */
    size_t n_marks;
};

/* Writes the model: terms with laws, and comments that say what each term explains and which
 * messages or times no term explains. Errors of the stream stay in ferror(out). */
void lull_derived_write(const struct lull_measured_runs *runs, struct lull_arena *arena, FILE *out);
/* Writes the model into a file, as lull_file_write does (base/output_file.h). */
lull_status lull_derived_save(const char *path, const struct lull_measured_runs *runs,
                              struct lull_arena *arena, struct lull_error *err);

#endif
