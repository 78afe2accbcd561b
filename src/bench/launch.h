/* Helper programs: started, listened to, ended when they take too long. */
#ifndef LULL_BENCH_LAUNCH_H
#define LULL_BENCH_LAUNCH_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>

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

#endif
