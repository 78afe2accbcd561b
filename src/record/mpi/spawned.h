/* Worlds of MPI that are spawned: their process numbers, and who spawned them, by files in the
 * run's folder (docs/formats/tape.md). No message is needed for it, so that nobody waits in vain
 * for a process that turns out not to be recorded. */
#ifndef LULL_RECORD_MPI_SPAWNED_H
#define LULL_RECORD_MPI_SPAWNED_H

#include <stdbool.h>
#include <stdint.h>

struct rec_spawned {
    uint32_t application;  /* 1 and up; the world that was started first is 0 */
    uint32_t first, count; /* process numbers: that of its rank r is first + r */
    uint32_t n_parents;
    uint32_t *parents; /* process numbers of those who spawn it, by rank; to be freed */
};

/* Claims an application and its numbers: `wanted` has the count and the parents. Numbers are above
 * `above` and all that were claimed before. By the key, which may be 0, the other parents find it.
 * False: the folder does not let us. */
bool rec_spawned_claim(uint64_t key, uint32_t above, const struct rec_spawned *wanted,
                       struct rec_spawned *ret_claimed);

/* What another parent has claimed by this key; parents are not read. */
bool rec_spawned_find(uint64_t key, struct rec_spawned *ret_spawned);

bool rec_spawned_read(uint32_t application, struct rec_spawned *ret_spawned);

#endif
