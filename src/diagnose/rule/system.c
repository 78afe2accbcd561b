/* What the system, files and the tracer take. */
#include "diagnose/rule/parallels.h"
#include "diagnose/rule/rules.h"

/* ---- input and output ---------------------------------------------------------------------- */

static void io(struct lull_case *c)
{
    const int64_t files = lull_case_activity_ns(c, LULL_IO);
    const int64_t mpi = lull_case_activity_ns(c, LULL_MPI_IO);
    if (files + mpi < c->least_ns)
        return;
    const struct lull_region_breakdown *region =
        lull_case_region_of(c, files > mpi ? LULL_IO : LULL_MPI_IO);
    struct lull_finding *finding = lull_case_add(c, files + mpi);
    if (region) {
        finding->place.region = region->name;
        finding->place.site = *region->site ? region->site : NULL;
        lull_finding_add_fact(finding, "calls", "calls of it", LULL_FACT_COUNT,
                              (double)region->visits);
    }
    lull_finding_add_fact(finding, "files", "calls for files", LULL_FACT_TIME, (double)files);
    lull_finding_add_fact(finding, "mpi", "of MPI's own", LULL_FACT_TIME, (double)mpi);
    finding->sentence = lull_arena_printf(
        c->arena, "Reading and writing takes %s of the threads' time%s%s.",
        lull_case_time(c, files + mpi), region ? ", most in " : "", region ? region->name : "");
    finding->cause = "Which files it was, lull metrics --by file tells of runs that were recorded "
                     "with --files.";
    finding->next = lull_arena_printf(c->arena, "lull metrics --by file %s",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_io = {"io", "input and output", "threads read and write files",
                                       io};

/* ---- the tracer ---------------------------------------------------------------------------- */

static void tracer(struct lull_case *c)
{
    const int64_t lost = lull_case_activity_ns(c, LULL_FLUSH);
    if (lost < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, lost);
    finding->sentence =
        lull_arena_printf(c->arena, "The tracer wrote its buffer for %s of the threads' time.",
                          lull_case_time(c, lost));
    finding->cause = "It is not the program: without the tracer it is faster, and others do not "
                     "wait for it.";
}

const struct lull_rule lull_rule_tracer = {"tracer", "tracer", "the tracer took time itself",
                                           tracer};

/* ---- oversubscription ---------------------------------------------------------------------- */

static void oversubscription(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    uint64_t on = 0, off = 0, preempted = 0;
    uint32_t without = 0, known = 0;
    for (uint32_t l = 0; trace && l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (trace->processes[location->process].application != c->evidence->application ||
            location->kind != LULL_LOCATION_THREAD || location->cores.on == 0)
            continue;
        known++;
        on += location->cores.on;
        off += location->cores.off;
        preempted += location->cores.preempted;
        without += location->cores.off > location->cores.on / 100;
    }
    if (known == 0)
        return;
    const double share = (double)off / (double)(on + off); /* of their life, also outside windows */
    const int64_t lost = (int64_t)fmin(share * (double)c->core_ns, (double)off);
    if (lost < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, lost);
    lull_finding_add_fact(finding, "share", "of the time in which they could run", LULL_FACT_SHARE,
                          share);
    lull_finding_add_fact(finding, "preempted", "times that a core was taken away", LULL_FACT_COUNT,
                          (double)preempted);
    lull_finding_add_fact(finding, "threads", "threads of which that is known", LULL_FACT_COUNT,
                          known);
    finding->sentence = lull_arena_printf(
        c->arena, "%u of %u threads had no core for %.0f %% of the time in which they could run.",
        without, known, 100 * share);
    finding->cause = "There were more threads than cores, or other programs ran there.";
    finding->next =
        lull_arena_printf(c->arena, "lull info %s", lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_oversubscription = {"oversubscription", "too few cores",
                                                     "threads could have run and had no core",
                                                     oversubscription};
