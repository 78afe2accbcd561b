#include "diagnose/rule/threads/late_thread.h"

#include <string.h>

/* The parallel region of that name, or NULL. */
static const struct lull_region *find_parallel(const struct lull_trace *trace, const char *name)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].parallel && strcmp(trace->regions[r].name, name) == 0)
            return &trace->regions[r];
    return NULL;
}

/* Which charges are meant. */
struct question {
    const struct lull_trace *trace;
    unsigned kind;
    const struct lull_region *at; /* where the barrier stands; NULL: anywhere */
};

static bool is_asked_for(const struct question *question, const struct lull_wait_charge *charge)
{
    const struct lull_trace *trace = question->trace;
    const struct lull_region *at = question->at;
    if (charge->kind != question->kind || charge->place.thread >= trace->n_locations)
        return false;
    if (!at)
        return true;
    if (charge->place.call >= trace->n_regions || !*at->file || at->line == 0)
        return false;
    const struct lull_region *barrier = &trace->regions[charge->place.call];
    return barrier->line == at->line && strcmp(barrier->file, at->file) == 0;
}

/* LULL_NONE: nobody has most of them. *ret_ns: what it has. */
static uint32_t find_most(const struct lull_wait_result *waits, const struct question *question,
                          int64_t *ret_ns)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    int64_t *sums =
        lull_arena_zero(scratch, question->trace->n_locations + (size_t)1, sizeof *sums);
    int64_t total = 0;
    uint32_t most = LULL_NONE;
    *ret_ns = 0;
    for (uint32_t i = 0; i < waits->n_charges; i++) {
        const struct lull_wait_charge *charge = &waits->charges[i];
        if (!is_asked_for(question, charge))
            continue;
        total += charge->ns;
        sums[charge->place.thread] += charge->ns;
        if (sums[charge->place.thread] > *ret_ns) {
            most = charge->place.thread;
            *ret_ns = sums[most];
        }
    }
    lull_arena_destroy(scratch);
    return (double)*ret_ns >= LULL_SUSPECTS_MOST * (double)total ? most : LULL_NONE;
}

struct lull_late_thread lull_late_thread_of(const struct lull_case *c, unsigned kind,
                                            const char *parallel)
{
    const struct lull_late_thread nobody = {.location = LULL_NONE};
    const struct lull_wait_result *waits = c->evidence->waits;
    const struct lull_trace *trace = c->evidence->trace;
    struct lull_late_thread late = nobody;
    if (!waits || waits->absent || !trace)
        return nobody;
    const struct question question = {trace, kind,
                                      parallel ? find_parallel(trace, parallel) : NULL};
    if (parallel && !question.at)
        return nobody;
    late.location = find_most(waits, &question, &late.ns);
    for (uint32_t i = 0; i < waits->n_charges; i++) { /* those with most ns come first */
        const struct lull_wait_charge *charge = &waits->charges[i];
        if (charge->place.thread != late.location || !is_asked_for(&question, charge))
            continue;
        late.region = charge->place.region;
        late.call = charge->place.call;
        return late;
    }
    return nobody;
}

void lull_late_thread_tell(struct lull_case *c, struct lull_finding *finding,
                           const struct lull_late_thread *late, const char *cause)
{
    const struct lull_trace *trace = c->evidence->trace;
    finding->cause = lull_arena_printf(c->arena, "%s.", cause);
    if (late->location == LULL_NONE)
        return;
    const struct lull_location *location = &trace->locations[late->location];
    lull_finding_set_process(c, finding, location->process);
    finding->place.location = late->location;
    lull_finding_add_fact(finding, "late_thread", "waits for that thread", LULL_FACT_TIME,
                          (double)late->ns);
    finding->cause = lull_arena_printf(
        c->arena, "%s; the others wait %s for thread %u of rank %u, which is %s.", cause,
        lull_case_time(c, late->ns), location->number, trace->processes[location->process].rank,
        lull_case_where(c, late->region, late->call));
}
