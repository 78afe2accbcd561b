/* SPDX-License-Identifier: BSD-3-Clause */
/* Where lull itself is, and what was built or installed with it. */
#ifndef LULL_LAUNCH_INSTALLED_H
#define LULL_LAUNCH_INSTALLED_H

#include "base/arena.h"

/* The path of the program that runs; "lull" where the system does not tell. */
const char *lull_own_path(struct lull_arena *arena);

/* Folders that may hold recorders and helper programs, NULL at the end: that of lull itself, as in
 * a build, and the library folder beside it, as installed. */
const char *const *lull_own_folders(struct lull_arena *arena);

#endif
