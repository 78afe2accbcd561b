/* The events of a run that are one sequence (trace/relay.h), over a team. */
#ifndef LULL_STUDY_RELAY_H
#define LULL_STUDY_RELAY_H

#include "team/division.h"
#include "trace/trace.h"

/* The scans of a trace become those of all members, each of its part. Both live in `arena`. */
void lull_relay_attach(const struct lull_trace *trace, const struct lull_division *division,
                       struct lull_arena *arena);

#endif
