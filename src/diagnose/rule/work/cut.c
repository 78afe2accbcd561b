#include "diagnose/rule/work/cut.h"

#include "diagnose/rule/work/uneven.h"

/* Nobody else computes there, so that there is no median to cut to: it takes no time. */
static void leave_out(struct lull_case *c, struct lull_finding *finding)
{
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    const char *region = finding->place.region;
    fix->n_regions = 1;
    fix->regions[0] = region;
    fix->factors[0] = LULL_CASE_NOTHING;
    finding->next = lull_arena_printf(
        c->arena, "lull replay %s --region %s", lull_case_word(c, c->evidence->path),
        lull_case_word(c, lull_arena_printf(c->arena, "%s=%g", region, LULL_CASE_NOTHING)));
}

void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect)
{
    const char *region = finding->place.region;
    if (region && c->evidence->work &&
        lull_uneven_of(c, suspect->region, suspect->process).median <= 0) {
        leave_out(c, finding);
        return;
    }
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->n_cuts = 1;
    fix->cuts[0] = (struct lull_what_if_cut){finding->place.rank, NULL, region};
    const char *meant =
        region ? lull_arena_printf(c->arena, "rank=%u,region=%s", finding->place.rank, region)
               : lull_arena_printf(c->arena, "rank=%u", finding->place.rank);
    finding->next =
        lull_arena_printf(c->arena, "lull replay %s --median %s",
                          lull_case_word(c, c->evidence->path), lull_case_word(c, meant));
}
