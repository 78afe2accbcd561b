/* How the members of a team reach each other: one constant struct per back-end; internal to the
 * room. Calls for one member never overlap. */
#ifndef LULL_TEAM_BACKEND_H
#define LULL_TEAM_BACKEND_H

#include "team/team.h"

enum lull_team_probe {
    LULL_TEAM_NOTHING,
    LULL_TEAM_MAIL,     /* `from` and `size` are of the next one, which fetch takes */
    LULL_TEAM_GONE,     /* `from` will send nothing any more; told once */
    LULL_TEAM_NO_MEMORY /* for what may come; told once while it lasts */
};

struct lull_team_backend {
    /* Whether lull was started so. */
    bool (*recognise)(const struct lull_team_start *start);
    lull_status (*open)(const struct lull_team_start *start, void **ret_state, uint32_t *ret_index,
                        uint32_t *ret_size, struct lull_error *err);
    /* Copies the bytes: two pieces that become one. In order within a pair; false: no memory. */
    bool (*send)(void *state, uint32_t to, const void *head, size_t head_size, const void *bytes,
                 size_t size);
    enum lull_team_probe (*probe)(void *state, uint32_t *from, size_t *size);
    void (*fetch)(void *state, void *bytes);
    /* `orderly`: nothing is on its way, and all others close, too. False: on the first, another
     * ended with a failure, as far as that is told. */
    bool (*close)(void *state, bool orderly);
};

extern const struct lull_team_backend lull_team_alone, lull_team_chaos, lull_team_mpi;

#endif
