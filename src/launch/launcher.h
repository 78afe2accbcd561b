/* SPDX-License-Identifier: BSD-3-Clause */
/* The command lines of launchers (mpirun, mpiexec, srun) and of commands that a program is wrapped
 * in (taskset, numactl, time, env): where the program stands in them. */
#ifndef LULL_LAUNCH_LAUNCHER_H
#define LULL_LAUNCH_LAUNCHER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== launchers =============================================================================== */

/* Whether the word names, with or without a folder, something that starts the program that follows
 * it. */
bool lull_is_launcher(const char *word);

/* The indices of the programs in argv, which begins with the launcher. There is more than one where
 * ":" separates several. Returns their number, 0 if there is none; at most `most` are stored. */
size_t lull_launcher_programs(char *const *argv, struct lull_arena *arena, size_t *ret_programs,
                              size_t most);

/* The command line with `words` (NULL at the end) in front of each of its programs; in `arena`.
 * NULL where no program is found. */
char **lull_launcher_insert(char *const *argv, char *const *words, struct lull_arena *arena);

/* The folder to which the launched programs write together, where the user named `output` (NULL:
 * not named). Several programs get the name of one run, and the path is made absolute, because the
 * launcher may start them elsewhere. NULL: each run is named by itself. */
const char *lull_launcher_output(char *const *argv, const char *output, struct lull_arena *arena);

/* ==== words =================================================================================== */

struct lull_words {
    char **items; /* [count], with NULL behind them */
    size_t count, capacity;
    struct lull_arena *arena;
};

/* Copies the word, or adds a NULL. */
void lull_words_add(struct lull_words *words, const char *word);

/* "--NAME=VALUE"; nothing where the value is NULL. */
void lull_words_option(struct lull_words *words, const char *name, const char *value);

#endif
