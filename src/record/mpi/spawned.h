/* SPDX-License-Identifier: BSD-3-Clause */
/* Worlds of MPI that are spawned: their process numbers, and who spawned them. Files in the run's
 * folder tell it (docs/formats/tape.md), not messages, so that nobody waits in vain for a process
 * that turns out not to be recorded. */
#ifndef LULL_RECORD_MPI_SPAWNED_H
#define LULL_RECORD_MPI_SPAWNED_H

#include <stdbool.h>
#include <stdint.h>

struct rec_spawned {
    uint32_t application;  /* 1 and up; the world that was started first is 0 */
    uint32_t first, count; /* rank r has the process number first + r */
    uint32_t n_parents;
    uint32_t *parents; /* process numbers of the ranks that spawn it, in their order; to be freed */
};

/* Claims an application and its process numbers. `wanted` has the count and the parents. The
 * numbers are above `above` and above all that were claimed before. The other parents find the
 * claim by its key; 0: it has none. False: the folder cannot be written. */
bool rec_spawned_claim(uint64_t key, uint32_t above, const struct rec_spawned *wanted,
                       struct rec_spawned *ret_claimed);

/* Finds what another parent has claimed under this key; the parents are not read. */
bool rec_spawned_find(uint64_t key, struct rec_spawned *ret_spawned);

bool rec_spawned_read(uint32_t application, struct rec_spawned *ret_spawned);

#endif
