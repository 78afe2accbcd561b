/* What helper programs say: lines of JSON, the first of which names the kind of helper, the last of
 * which is LULL_HELPER_LAST. Lines that do not begin with a brace are a launcher's. */
#ifndef LULL_BENCH_HELPER_OUTPUT_H
#define LULL_BENCH_HELPER_OUTPUT_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define LULL_HELPER_LAST "{\"end\":1}"

struct lull_helper_record {
    const char *what, *level, *detail; /* level, detail: NULL where it has none */
    uint64_t bytes;
    uint32_t ranks; /* or threads */
    double value;   /* NAN where it has none */
    uint64_t repetitions, interrupted;
    double *samples; /* s, >= 0 */
    size_t n_samples;
};

struct lull_helper_level {
    const char *name, *about;
};

struct lull_helper_output {
    const char *library; /* "Open MPI v4.1.4" */
    uint32_t ranks, nodes;
    struct lull_helper_level *levels;
    size_t n_levels;
    struct lull_helper_record *records;
    size_t n_records;
};

/* `kind`: "mpi" or "openmp". Fails with LULL_ERR_FORMAT and a line that names the line of the
 * output: what is no JSON, lacks a key, has samples that are no times, or ends before its end; and
 * with what the helper itself complains of. */
lull_status lull_helper_read(const char *text, const char *kind, struct lull_arena *arena,
                             struct lull_helper_output *ret_output, struct lull_error *err);

#endif
