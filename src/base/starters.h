/* How programs are started under the recorder: those that are not what a user means to measure, or run
 * a user's program without being it, by name. Included by the recorder, too. */
#ifndef LULL_BASE_STARTERS_H
#define LULL_BASE_STARTERS_H

/* What they start are other programs. */
#define LULL_SHELLS "sh", "bash", "dash", "ash", "zsh", "ksh", "csh", "tcsh", "busybox"

/* Names may end in a version: python3.11. */
#define LULL_INTERPRETERS \
    "python", "perl", "ruby", "lua", "julia", "R", "Rscript", "octave", "node", "java"

/* A program with the address sanitizer of gcc ends at once where a library comes before the
 * sanitizer's own, unless ASAN_OPTIONS has this. It stands first there, so that it can be taken out
 * again. */
#define LULL_ASAN_ORDER "verify_asan_link_order=0"

#endif
