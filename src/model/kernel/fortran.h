/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops of Fortran as loops of C, for the reader of kernels.
 *
 * The C text has the same loops in the same lines, and says of everything else as much as matters for them: which
 * variables change, and from where how often procedures are called. An array a(n, m) is double a[m][n], whose last index
 * runs fastest, so that what lies side by side in memory does so in C, too; an index loses the lower bound of its
 * dimension. A loop or statement that is not understood is the call lull_refused("why").
 *
 * Understood are free form, do loops with a variable, assignments to numbers and elements of arrays, + - * / and small
 * whole powers, and intrinsic functions that C has. Arrays have constant or variable bounds, assumed shape, or the
 * shape of their one allocate statement. */
#ifndef LULL_MODEL_KERNEL_FORTRAN_H
#define LULL_MODEL_KERNEL_FORTRAN_H

#include "model/kernel/kernel.h"

struct lull_fortran_source {
    const char *path; /* for messages */
    const char *text;
    size_t size;
    bool is_program; /* it has program units; else it is declarations and one loop nest */
    const struct lull_kernel_size *sizes; /* integer parameters of other files may be among them */
    size_t n_sizes;
};

struct lull_fortran_text {
    const char *code;    /* as many lines as the source has */
    const char *helpers; /* functions and variables that it uses, in one line */
    const char
        *program; /* the name of the main program, which is main() in C; NULL: there is none */
};

/* Fails with LULL_ERR_FORMAT where the text is not what Fortran of free form can be: blocks that do not close,
 * statements that are too long. */
lull_status lull_fortran_read(const struct lull_fortran_source *source, struct lull_arena *arena,
                              struct lull_fortran_text *ret_text, struct lull_error *err);

#endif
