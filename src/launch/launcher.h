/* The command lines of mpirun, mpiexec and srun: where the program stands in them. */
#ifndef LULL_LAUNCH_LAUNCHER_H
#define LULL_LAUNCH_LAUNCHER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the word is the name (with or without folder) of something that starts MPI programs. */
bool lull_is_launcher(const char *word);

/* The indices of the programs in argv, which begins with the launcher: more than one where ":"
 * separates several. Returns their number, 0 if there is none; at most `most` are stored. */
size_t lull_launcher_programs(char *const *argv, struct lull_arena *arena, size_t *ret_programs,
                              size_t most);

#endif
