/* One member: nobody to reach. */
#include "team/backend.h"

static bool recognise_alone(const struct lull_team_start *start)
{
    return start->size <= 1;
}

const struct lull_team_backend lull_team_alone = {.recognise = recognise_alone};
