/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a source of Python defines its functions and classes. A name is that of Python (PEP 3155): "Grid.step" of a
 * method, "solve.<locals>.inner" of a function within a function, "<module>" of the source itself. */
#ifndef LULL_BINARY_PYTHON_SOURCE_H
#define LULL_BINARY_PYTHON_SOURCE_H

#include "base/hash.h"

enum {
    LULL_PYTHON_MOST_BYTES = 16 << 20, /* a larger source defines nothing */
    LULL_PYTHON_MOST_NAME = 4096 /* bytes of a file and a name in it; longer ones are left out */
};

/* Adds the names that a source defines to a table, "FILE\nNAME", with the line of `def` or `class`; with 0 where
 * several have the name, as nobody knows which of them was executed. A source that was changed after `latest` (ns
 * since 1970), that is no regular file or cannot be read, defines nothing. False: not enough memory. */
bool lull_python_source_read(const char *file, int64_t latest, struct lull_hash *names);

#endif
