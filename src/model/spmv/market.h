/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading Matrix Market files: coordinate and array, every field and symmetry, plain or .gz.
 * Source: R. F. Boisvert, R. Pozo and K. A. Remington, The Matrix Market Exchange Formats (1996).
 */
#ifndef LULL_MODEL_SPMV_MARKET_H
#define LULL_MODEL_SPMV_MARKET_H

#include "model/spmv/matrix.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a file begins as Matrix Market files do; false if it cannot be read. */
bool lull_market_recognise(const char *path);

/* Reads a file with that many threads (0: as many as processors); the result does not depend on
 * their number. Symmetric, skew-symmetric and Hermitian matrices are completed by the half that the
 * file leaves out. The entries of a pattern have the value 1, and of complex values the real part
 * is kept. Entries at the same place stay apart. Fails with LULL_ERR_IO, LULL_ERR_FORMAT (with file
 * and line), LULL_ERR_MEMORY. */
lull_status lull_market_read(const char *path, unsigned threads, struct lull_matrix *ret_matrix,
                             struct lull_error *err);

/* The same for text in memory that is not compressed; `path` is for messages. */
lull_status lull_market_parse(const char *text, size_t size, const char *path, unsigned threads,
                              struct lull_matrix *ret_matrix, struct lull_error *err);

/* Reads a real number behind blanks, rounded to the nearest double, and moves *place behind it.
 * Returns false if there is none. Only market.c and its test use it. */
bool lull_market_real(const char **place, const char *end, double *ret_value);

#endif
