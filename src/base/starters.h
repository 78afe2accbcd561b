/* Programs by name that are not what a user means to measure, and those that run a user's program
 * without being it. Included by the recorder, too. */
#ifndef LULL_BASE_STARTERS_H
#define LULL_BASE_STARTERS_H

/* What they start are other programs. */
#define LULL_SHELLS "sh", "bash", "dash", "ash", "zsh", "ksh", "csh", "tcsh", "busybox"

/* Names may end in a version: python3.11. */
#define LULL_INTERPRETERS \
    "python", "perl", "ruby", "lua", "julia", "R", "Rscript", "octave", "node", "java"

#endif
