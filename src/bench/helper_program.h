/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper programs: starting them, ending those that take too long, and reading what they write. */
#ifndef LULL_BENCH_HELPER_PROGRAM_H
#define LULL_BENCH_HELPER_PROGRAM_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* ==== starting ================================================================================ */

struct lull_launch {
    const char *const *command;     /* NULL at the end; the first word is looked for in PATH */
    const char *const *environment; /* "NAME=VALUE", added to the environment; NULL at the end;
                                       NULL: none */
    double seconds;                 /* after so many seconds the command is ended */
    const char *last; /* the line after which nothing else is to come; NULL: it is not known */
};

/* Runs a command with an empty standard input and returns what it wrote to standard output, as a
 * text. A command that does not end within seconds after its last line is ended, and its output
 * counts: MPI libraries may hang in MPI_Finalize, such as MPICH 4.0 over UCX between nodes. Fails
 * with LULL_ERR_IO where the command cannot be started, takes too long, or ends with a status other
 * than 0. The message is then the first line with a word in it that the command wrote to standard
 * error (launchers draw lines before they speak), or the status. */
lull_status lull_launch_run(const struct lull_launch *launch, struct lull_arena *arena,
                            const char **ret_output, struct lull_error *err);

/* The path of a program that is found in PATH, or NULL. */
const char *lull_launch_find(const char *program, struct lull_arena *arena);

/* ==== reading ================================================================================= */

/* Helper programs write lines of JSON. The first line names the kind of helper, the last one is
 * LULL_HELPER_LAST. Lines that do not begin with a brace are a launcher's and are passed over. */

#define LULL_HELPER_LAST "{\"end\":1}"

struct lull_helper_record {
    const char *what, *level, *detail; /* `level` and `detail` are NULL where the record has none */
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

/* Reads what a helper of that kind ("mpi" or "openmp") wrote. Fails with LULL_ERR_FORMAT and a
 * message that names the line: one that is no JSON, lacks a key or has samples that are no times,
 * or an output that ends too early. Fails also with what the helper itself complains of. */
lull_status lull_helper_read(const char *text, const char *kind, struct lull_arena *arena,
                             struct lull_helper_output *ret_output, struct lull_error *err);

#endif
