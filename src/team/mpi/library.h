/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library for a family of MPI offers; internal to the room. lull itself links no MPI: it
 * loads this library where a launcher of the family has started it. The library uses nothing of
 * lull. */
#ifndef LULL_TEAM_MPI_LIBRARY_H
#define LULL_TEAM_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_team_library {
    /* False: MPI may be called only by the thread that has called this. */
    bool (*begin)(uint32_t *index, uint32_t *size);
    bool (*send)(uint32_t to, const void *head, size_t head_size, const void *bytes, size_t size);
    bool (*probe)(uint32_t *from, size_t *size);
    void (*fetch)(void *bytes);
    void (*end)(bool orderly);
};

#define LULL_TEAM_LIBRARY "lull_team_library" /* its name in the library */

#endif
