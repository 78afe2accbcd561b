/* A timeline of a trace in memory, and the spans that it stands for, for tests. */
#ifndef LULL_TESTS_SUPPORT_TIMELINE_CASE_H
#define LULL_TESTS_SUPPORT_TIMELINE_CASE_H

#include "metrics/breakdown.h"
#include "timeline/timeline.h"

struct timeline_spans {
    struct lull_step *steps;
    size_t count, capacity;
};

struct timeline_case {
    struct lull_timeline_builder *builder;
    const struct lull_timeline *timeline;
    struct lull_breakdown *breakdown; /* of the same pass; in the trace's arena */
    struct timeline_spans *spans;     /* [n_locations], of the same pass */
    uint32_t n_locations;
};

/* One pass for all of them: what others want of it tells how long locations live. Ends the test
 * where something fails. */
void timeline_case_make(const struct lull_trace *trace, const struct lull_timeline_options *options,
                        unsigned workers, struct timeline_case *ret_case);
void timeline_case_free(struct timeline_case *made);

/* What spans say of a location between two times: ns[LULL_STEP_ACTIVITIES], which is added to. */
void timeline_case_raster(const struct timeline_case *made, uint32_t location, int64_t from,
                          int64_t to, int64_t *ns);

#endif
