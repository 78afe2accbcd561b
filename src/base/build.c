/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/build.h"

#include "lull_build.h"

#include <features.h>

#define TEXT_OF(number) #number
#define TEXT(macro)     TEXT_OF(macro)

#if defined(__clang__)
#define COMPILER \
    "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#else
#define COMPILER "gcc " TEXT(__GNUC__) "." TEXT(__GNUC_MINOR__) "." TEXT(__GNUC_PATCHLEVEL__)
#endif
#if defined(__GLIBC__)
#define FOR_LIBC " for glibc " TEXT(__GLIBC__) "." TEXT(__GLIBC_MINOR__)
#else
#define FOR_LIBC ""
#endif

const struct lull_build lull_build = {
    .commit = LULL_COMMIT,
    .how = LULL_BUILD_TYPE " by " COMPILER FOR_LIBC,
};
