/* Teams of a given size: members that are forked here and joined by sockets. */
#ifndef LULL_TESTS_SUPPORT_TEAM_OF_H
#define LULL_TESTS_SUPPORT_TEAM_OF_H

#include "team/team.h"

/* What each member does. Returns NULL, or what is wrong. */
typedef const char *team_body(struct lull_team *team);

/* Opens a team (lull_team_open) whose delays between members follow from the seed; `more` is what
 * LULL_TEAM_CHAOS says behind these two. */
lull_status team_of(unsigned members, unsigned seed, const char *more, struct lull_team **ret_team,
                    struct lull_error *err);
/* Calls `body` in each member of a team that lives in a process of its own. The test fails where one
 * member finds something wrong, which it says on standard error. */
void team_of_run(team_body *body, unsigned members, unsigned seed);

#endif
