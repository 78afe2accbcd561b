/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known about a program before it is started: which libraries it needs, and what keeps a
 * recorder out of it. And where the recorders and helper programs of lull itself are. */
#ifndef LULL_LAUNCH_EXECUTABLE_H
#define LULL_LAUNCH_EXECUTABLE_H

#include "base/arena.h"

#include <stdbool.h>

enum lull_mpi_family { LULL_MPI_NONE, LULL_MPI_OPENMPI, LULL_MPI_MPICH, LULL_MPI_FAMILIES };

struct lull_executable {
    const char *path;        /* of the file that runs; NULL: not found */
    const char *name;        /* last part of what the user called it */
    const char *interpreter; /* of a script: its path; else NULL */
    bool shell;              /* a script for a shell: what it starts are other programs */
    bool interprets;         /* a script, or an interpreter by its name: it loads libraries later */
    bool elf;
    bool dynamic;
    bool static_mpi;
    bool privileged;       /* setuid, setgid, or with capabilities by file: LD_PRELOAD is ignored */
    const char *compilers; /* of a program (binary/elf.h); "": of a script, or not known */
    bool openmp;           /* needs an OpenMP runtime */
    bool openshmem;        /* needs the OpenSHMEM of Open MPI */
    enum lull_mpi_family mpi;
};

/* Finds `word` as exec would and looks into it. */
void lull_executable_inspect(const char *word, struct lull_arena *arena,
                             struct lull_executable *ret_executable);

/* What runs of the command are named after: the script where it begins with an interpreter or a shell
 * ("app" for "python3 -u app.py"), else executable->name. In `arena`. */
const char *lull_executable_title(const struct lull_executable *executable, char *const *command,
                                  struct lull_arena *arena);

/* The path of `word`, found as execvp does, or NULL. */
const char *lull_executable_find(const char *word, struct lull_arena *arena);

/* "openmpi", "mpich" or "none", as the user writes it. */
const char *lull_mpi_family_name(enum lull_mpi_family family);

/* ==== what is installed with lull ============================================================= */

/* The path of the program that runs; "lull" where the system does not tell. */
const char *lull_own_path(struct lull_arena *arena);

/* Folders that may hold recorders and helper programs, NULL at the end: that of lull itself, as in
 * a build, and the library folder beside it, as installed. */
const char *const *lull_own_folders(struct lull_arena *arena);

#endif
