/* Teams of forked members joined by sockets, whose size, delays and division are drawn. */
#ifndef LULL_TESTS_SUPPORT_DRAWN_TEAM_H
#define LULL_TESTS_SUPPORT_DRAWN_TEAM_H

#include "stats/random.h"
#include "team/division.h"

enum { DRAWN_TEAMS = 600, DRAWN_MEMBERS = 7, DRAWN_BRANCHES = 8 };

/* Calls `differs`, which may open a team, for each of some seeds in a process of its own. Fails
 * where that does not return 0. Returns how many seeds there were. */
unsigned drawn_teams_run(int (*differs)(uint64_t seed));

/* `differs` has reached a branch, whose number is less than DRAWN_BRANCHES: one process of a team
 * tells it once for a seed. */
void drawn_team_reach(unsigned branch);
/* For how many of the seeds of the last drawn_teams_run() it has. */
unsigned long drawn_teams_reached(unsigned branch);

/* Of `fewest` to DRAWN_MEMBERS members. Where it cannot be opened, the process
 * ends. */
struct lull_team *drawn_team_open(struct lull_random *random, uint64_t seed, unsigned fewest);
/* Each of n processes has a weight of a few. */
struct lull_division *drawn_team_divide(struct lull_team *team, uint32_t n,
                                        struct lull_random *random, struct lull_arena *arena);

#endif
