/* What the members of a team need to know for replays that they simulate together, from the first
 * to all. Internal to study. */
#ifndef LULL_STUDY_REPLAY_TO_ALL_H
#define LULL_STUDY_REPLAY_TO_ALL_H

#include "study/replay/measured.h"

/* Behind lull_measured_gather and before lull_measured_conclude, by all together: others than the
 * first have the survey of the whole run then, concluded. */
lull_status lull_measured_survey_to_all(struct lull_measured *measured,
                                        const struct lull_trace *trace, uint32_t application,
                                        struct lull_team *team, struct lull_error *err);

/* Behind lull_measured_conclude: the network that the run shows, with the nodes of the trace, and
 * its threads that communicate (study/analyse.h). Both are the first's, and are set on others. */
lull_status lull_measured_network_to_all(const struct lull_trace *trace, uint32_t application,
                                         struct lull_team *team, struct lull_arena *arena,
                                         struct lull_network *network, const bool **callers,
                                         struct lull_error *err);

#endif
