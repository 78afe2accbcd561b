/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of a run when it begins: what is started, where, on what, with which settings. The first
 * process of a job leaves the facts in the folder of the run, where they hold for all processes; each
 * other process hands the recorder what differs. So a million processes that are alike say nothing. */
#ifndef LULL_LAUNCH_ABOUT_H
#define LULL_LAUNCH_ABOUT_H

#include "base/error.h"
#include "launch/executable.h"

#include <stddef.h>

struct lull_about_item {
    const char *key, *value; /* keys as in docs/formats/tape.md */
};

struct lull_about {
    struct lull_about_item *items;
    size_t count, capacity;
};

/* Collects what this process knows. `command` is what it will execute, `labels` ("KEY=VALUE", NULL at
 * the end) what the user calls the run; both may be NULL. Of the environment only variables of OpenMP
 * and of the binding of MPI processes are read: others may hold secrets. Lives in `arena`. */
void lull_about_collect(const struct lull_executable *executable, char *const *command,
                        char *const *labels, struct lull_arena *arena,
                        struct lull_about *ret_about);

/* Writes `about` into the folder of a run (tape/layout.h). Without it the run is as good: false. */
bool lull_about_write(const struct lull_about *about, const char *folder, struct lull_arena *arena);

/* The items of `about` that differ from those in the folder, as lines "KEY=VALUE", which the recorder
 * reads (record/about.h); NULL: none. In `arena`. */
const char *lull_about_differing(const struct lull_about *about, const char *folder,
                                 struct lull_arena *arena);

#endif
