/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries that an ELF file says it needs. The file's bytes are read, and nothing of it is run.
 */
#ifndef LULL_BINARY_ELF_H
#define LULL_BINARY_ELF_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct lull_elf {
    bool executable;     /* a program or a library (ET_EXEC, ET_DYN) */
    bool dynamic;        /* is loaded by the dynamic linker, which obeys LD_PRELOAD */
    const char **needed; /* DT_NEEDED, as written there */
    size_t n_needed;
    const char *rpath; /* DT_RUNPATH, else DT_RPATH; "" if neither */
    /* The names that the compilers of its parts left, divided by ", "; that of the system's start
     * files is among them. "": none. */
    const char *compilers;
    bool has_mpi; /* defines MPI_Init or PMPI_Init itself */
};

/* Fails with LULL_ERR_FORMAT when the file is no ELF file of this machine's word size and byte
 * order, or is damaged. The result lives in `arena`. */
lull_status lull_elf_read(const char *path, struct lull_arena *arena, struct lull_elf *ret_elf,
                          struct lull_error *err);

/* Calls `visit` once with the name of every library that the program needs, directly or through
 * others, as far as they can be found the way the dynamic linker would (run paths,
 * LD_LIBRARY_PATH, /etc/ld.so.conf, the standard folders). Libraries that cannot be found are
 * visited, too, but not the libraries that these need. */
void lull_elf_libraries(const char *path, const struct lull_elf *program, struct lull_arena *arena,
                        void (*visit)(void *context, const char *name), void *context);

#endif
