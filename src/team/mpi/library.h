/* What a library of a family of MPI offers; internal to the room. It is loaded when lull was
 * started by that family's launcher, and knows nothing of lull: lull itself links no MPI. */
#ifndef LULL_TEAM_MPI_LIBRARY_H
#define LULL_TEAM_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_team_library {
    /* False: MPI lets only the thread call it that has begun it. */
    bool (*begin)(uint32_t *index, uint32_t *size);
    bool (*send)(uint32_t to, const void *head, size_t head_size, const void *bytes, size_t size);
    bool (*probe)(uint32_t *from, size_t *size);
    void (*fetch)(void *bytes);
    void (*end)(bool orderly);
};

#define LULL_TEAM_LIBRARY "lull_team_library" /* its name in the library */

#endif
