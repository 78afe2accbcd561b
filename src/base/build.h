/* SPDX-License-Identifier: BSD-3-Clause */
/* What this lull was built of, and how. Its version is the macro LULL_VERSION. */
#ifndef LULL_BASE_BUILD_H
#define LULL_BASE_BUILD_H

struct lull_build {
    const char *commit; /* "0123456789ab, 5 after v1.0.0, changed"; "" where it is not known */
    const char *how;    /* "Release by gcc 12.2.0 for glibc 2.36" */
};

extern const struct lull_build lull_build;

#endif
