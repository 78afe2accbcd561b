/* Threads wait for locks, critical sections and ordered.
 * Evidence: time of all threads in them. Formula: its sum; no more can be gained. Silent: below
 * 1 % of the core time, also where there are very many. Sums suffice; with
 * events the thread is named that has them four fifths of the time that others wait. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/threads/late_thread.h"
#include "diagnose/rule/threads/parallels.h"

static void find_lock(struct lull_case *c)
{
    const int64_t lost = lull_evidence_activity_ns(c->evidence, LULL_OMP_LOCK);
    struct lull_parallels *all;
    if (lost < c->least_ns)
        return;
    const uint32_t n = lull_parallels_of(c, &all);
    const struct lull_parallels *most = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (all[i].lock_ns > 0 && (!most || all[i].lock_ns > most->lock_ns))
            most = &all[i];
    const struct lull_region_breakdown *region =
        lull_evidence_region_of(c->evidence, LULL_OMP_LOCK);
    struct lull_finding *finding = lull_case_add(c, lost);
    if (most) {
        finding->place.region = most->name;
        lull_parallels_set_process(c, finding, most);
    }
    if (region) {
        finding->place.site = *region->site ? region->site : region->name;
        lull_finding_add_fact(finding, "waits", "times that a lock was asked for", LULL_FACT_COUNT,
                              (double)region->visits);
    }
    finding->sentence = lull_arena_printf(
        c->arena, "Threads wait %s for locks, critical sections or their turn%s%s%s.",
        lull_case_time(c, lost), most ? ", most in " : "", most ? most->name : "",
        region ? lull_arena_printf(c->arena, " (%s)", region->name) : "");
    const struct lull_late_thread late = lull_late_thread_of(c, LULL_WAIT_LOCK, NULL);
    lull_late_thread_tell(c, finding, &late, "One thread at a time goes on there");
    lull_threads_fix(c, finding, LULL_THREADS_NO_LOCKS, NULL);
}

const struct lull_rule lull_rule_lock = {
    "lock", "locks", "threads wait for locks, critical sections and ordered", find_lock};
