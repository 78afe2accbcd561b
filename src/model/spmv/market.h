/* Matrix Market files: coordinate and array, every field and symmetry, plain or .gz.
 * Source: R. F. Boisvert, R. Pozo and K. A. Remington, The Matrix Market Exchange Formats (1996).
 */
#ifndef LULL_MODEL_SPMV_MARKET_H
#define LULL_MODEL_SPMV_MARKET_H

#include "model/spmv/matrix.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a file begins as Matrix Market files do; false where it cannot be read. */
bool lull_market_recognise(const char *path);

/* Reads a file with that many threads (0: all processors); the result does not depend on their
 * number. Symmetric, skew-symmetric and Hermitian matrices are completed; patterns have the value
 * 1; of complex values the real part is kept. Duplicates stay apart. Errors name file and line:
 * LULL_ERR_IO, LULL_ERR_FORMAT, LULL_ERR_MEMORY. */
lull_status lull_market_read(const char *path, unsigned threads, struct lull_matrix *ret_matrix,
                             struct lull_error *err);

/* The same from memory, not compressed; `path` is for messages. */
lull_status lull_market_parse(const char *text, size_t size, const char *path, unsigned threads,
                              struct lull_matrix *ret_matrix, struct lull_error *err);

/* Reads a real number behind blanks, rounded to the nearest double, and moves *place behind it.
 * Returns false where there is none. Only market.c and its test use it. */
bool lull_market_real(const char **place, const char *end, double *ret_value);

#endif
