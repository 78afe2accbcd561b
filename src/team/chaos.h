/* Chaos: the back-end that tests use, as far as the rest of the room must know it. */
#ifndef LULL_TEAM_CHAOS_H
#define LULL_TEAM_CHAOS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this member is to say that it is of another version. */
bool lull_team_chaos_is_other(uint32_t index, uint32_t size);

#endif
