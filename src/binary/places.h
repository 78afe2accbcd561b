/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of many places in many files: those of the samples of a run. */
#ifndef LULL_BINARY_PLACES_H
#define LULL_BINARY_PLACES_H

#include "base/arena.h"
#include "base/error.h"
#include "binary/symbols.h"

/* A file with code. */
struct lull_places_file {
    const char *path;
    const char *build_id; /* as for lull_symbols_open */
    /* Results: whether the file was found, and if it was not, or its debug information cannot be read,
     * one line with its path and the cause, in the arena; else "". */
    enum lull_symbols_found found;
    const char *why;
};

struct lull_place {
    uint32_t file;   /* its index */
    uint64_t offset; /* counts as the addresses in the file do */
    /* Results: what lull_symbols_find and lull_symbols_loop say of the place. Of a file that was not
     * found they are empty. */
    struct lull_symbol symbol;
    const struct lull_loop *loop; /* NULL, too, where loops are not asked for */
};

/* Finds the names of `n_places` places in any order, and with `loops` their loops, with `workers`
 * threads: each place once, each compilation unit by one thread. Texts live in `arena`. Beside the
 * result each thread needs memory for what libdw keeps of 64 MiB of debug information and of the
 * largest unit; debug sections that are compressed take their whole size, in each thread. Fails with
 * LULL_ERR_MEMORY only. */
lull_status lull_places_find(struct lull_places_file *files, uint32_t n_files,
                             struct lull_place *places, size_t n_places, bool loops,
                             unsigned workers, struct lull_arena *arena, struct lull_error *err);

#endif
