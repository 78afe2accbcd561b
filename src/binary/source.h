/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of the source around a place in the code. */
#ifndef LULL_BINARY_SOURCE_H
#define LULL_BINARY_SOURCE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LULL_SOURCE_MOST_LINES = 1000, /* of one call */
    LULL_SOURCE_MOST_BYTES = 500   /* of a line */
};

/* Where source is looked for. */
struct lull_source_search {
    /* Folders of the user, for sources that are not where they were compiled: "/home/x/heat/src/grid.c"
     * is looked for as "FOLDER/home/x/heat/src/grid.c", "FOLDER/x/heat/src/grid.c" ...
     * "FOLDER/grid.c", in the folders in their order. They come before the place of the compilation. */
    const char *const *folders;
    size_t n_folders;
    const char *binary; /* the file that was compiled of the source; NULL: not known */
};

struct lull_source_text {
    const char *path; /* where the file was found */
    /* The lines from `first` on. Tabs are blanks up to the next column that is a multiple of 8,
     * other control characters are escaped as in lull_utf8_clean, and a line that is longer than
     * LULL_SOURCE_MOST_BYTES ends with "...". */
    const char **lines;
    uint32_t first, count;
    bool newer; /* than the binary: its lines may be others than those that were compiled */
};

/* Reads the lines `first` (counted from 1) to `last` of a source file, as far as the file has them, and
 * no more than LULL_SOURCE_MOST_LINES. Fails with LULL_ERR_IO where the file is not found or cannot be
 * read, and with LULL_ERR_RANGE where it ends before `first`. The result lives in `arena`. */
lull_status lull_source_read(const char *file, uint32_t first, uint32_t last,
                             const struct lull_source_search *search, struct lull_arena *arena,
                             struct lull_source_text *ret_source, struct lull_error *err);

#endif
