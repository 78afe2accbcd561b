/* A run that a team reads, each member its processes. */
#ifndef LULL_STUDY_DIVISION_H
#define LULL_STUDY_DIVISION_H

#include "team/division.h"
#include "trace/trace.h"

/* Opens a run, on all members: fails, too, where one of them does not see it, or sees another.
 * NULL: alone. */
lull_status lull_division_open(struct lull_team *team, const char *path,
                               struct lull_trace **ret_trace, struct lull_error *err);
/* Neighbouring processes of an application (LULL_NONE: of all), whole nodes where there are as many
 * as members, by threads. Where the events are one sequence, the first reads them for all
 * (relay.h), as long as `arena` lives. NULL for a team of one. */
lull_status lull_division_of_run(struct lull_team *team, const struct lull_trace *trace,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_division **ret_division, struct lull_error *err);
/* Once the members have read a run: the quirks of all come to the first. Fails where nobody has
 * read a location without damage. */
lull_status lull_division_gather_quirks(const struct lull_division *division,
                                        const struct lull_trace *trace, struct lull_error *err);

#endif
