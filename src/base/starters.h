/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of programs that start or run other programs: shells and interpreters. Included by the
 * recorder, too. */
#ifndef LULL_BASE_STARTERS_H
#define LULL_BASE_STARTERS_H

/* Shells: what they start are other programs. */
#define LULL_SHELLS "sh", "bash", "dash", "ash", "zsh", "ksh", "csh", "tcsh", "busybox"

/* Interpreters: they run the user's program in themselves. Names may end in a version:
 * python3.11. */
#define LULL_INTERPRETERS \
    "python", "perl", "ruby", "lua", "julia", "R", "Rscript", "octave", "node", "java"

/* An option for ASAN_OPTIONS. Without it a program with gcc's address sanitizer ends at once where
 * a library is loaded before the sanitizer's own. It is put first there, so that it can be taken
 * out again. */
#define LULL_ASAN_ORDER "verify_asan_link_order=0"

#endif
