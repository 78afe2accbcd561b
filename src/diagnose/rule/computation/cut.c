#include "diagnose/rule/computation/cut.h"

#include "diagnose/rule/computation/uneven.h"

void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect)
{
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    const char *region = finding->place.region;
    if (region && c->evidence->work &&
        lull_uneven_of(c, suspect->region, suspect->process).median <= 0) {
        fix->n_regions = 1;
        fix->regions[0] = region;
        fix->factors[0] = LULL_CASE_NOTHING;
        return;
    }
    fix->n_cuts = 1;
    fix->cuts[0] = (struct lull_what_if_cut){finding->place.rank, NULL, region};
}
