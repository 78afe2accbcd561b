/* SPDX-License-Identifier: BSD-3-Clause */
/* Generators: matrices that are made from specs such as "stencil5:nx=1000,ny=500". */
#ifndef LULL_MODEL_SPMV_GENERATE_H
#define LULL_MODEL_SPMV_GENERATE_H

#include "model/spmv/matrix.h"

enum { LULL_GENERATOR_PARAMETERS = 4 };

struct lull_generator {
    const char *name, *summary;
    struct {
        const char *name;          /* NULL at the end */
        double usual, least, most; /* the default; the bounds */
        bool whole;                /* only whole numbers */
    } parameters[LULL_GENERATOR_PARAMETERS];
    lull_status (*make)(const double *values, struct lull_matrix *ret_matrix,
                        struct lull_error *err);
};

/* All generators, NULL at the end. */
extern const struct lull_generator *const lull_generators[];

/* The generator that a spec names; NULL: it names none, so that it may be a file. */
const struct lull_generator *lull_generator_find(const char *spec);

/* Makes the matrix of a spec. Random matrices have a seed in the spec, and are the same on every
 * machine. Fails with LULL_ERR_RANGE if something in the spec is wrong, and with LULL_ERR_MEMORY.
 */
lull_status lull_generate(const char *spec, struct lull_matrix *ret_matrix, struct lull_error *err);

#endif
