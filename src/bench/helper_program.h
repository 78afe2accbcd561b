/* Helper programs: started, listened to, ended when they take too long. */
#ifndef LULL_BENCH_HELPER_PROGRAM_H
#define LULL_BENCH_HELPER_PROGRAM_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* ==== launch ================================================================================== */

struct lull_launch {
    const char *const *command;     /* ends with NULL; the first is looked for in PATH */
    const char *const *environment; /* "NAME=VALUE" beside what there is; NULL, or ends with NULL */
    double seconds;                 /* after which it is ended */
    const char *last; /* a line: when it was written, all is said; NULL: not known before the end */
};

/* Runs a command with an empty standard input and returns what it wrote to standard output, as a
 * text. A command that does not end within seconds after its last line is ended, and its output
 * counts: MPI libraries may hang in MPI_Finalize, such as MPICH 4.0 over UCX between nodes. Fails
 * with LULL_ERR_IO where it cannot be started, takes too long, or ends with a status other than 0:
 * then the message is the first line with a word in it that it wrote to standard error (launchers
 * draw lines before they speak), or the status. */
lull_status lull_launch_run(const struct lull_launch *launch, struct lull_arena *arena,
                            const char **ret_output, struct lull_error *err);

/* The path of a program: in PATH, or NULL. */
const char *lull_launch_find(const char *program, struct lull_arena *arena);

/* ==== helper output =========================================================================== */

/* What helper programs say: lines of JSON, the first of which names the kind of helper, the last of
 * which is LULL_HELPER_LAST. Lines that do not begin with a brace are a launcher's. */

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
