#include "diagnose/rule/cut.h"

#include "diagnose/rule/uneven.h"

void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect)
{
    const char *region = finding->place.region;
    if (!c->evidence->work || lull_uneven_of(c, suspect->region).median <= 0)
        region = NULL;
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
