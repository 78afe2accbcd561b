/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads read and write files.
 * Evidence: time of all threads in calls for files and in MPI's own. Formula: their sum. Silent:
 * below 1 % of the core time. Sums suffice; no replay tells how fast other files would be. */
#include "diagnose/rules.h"

static void find_io(struct lull_case *c)
{
    const int64_t files = lull_evidence_activity_ns(c->evidence, LULL_IO);
    const int64_t mpi = lull_evidence_activity_ns(c->evidence, LULL_MPI_IO);
    if (files + mpi < c->least_ns)
        return;
    const struct lull_region_breakdown *region =
        lull_evidence_region_of(c->evidence, files > mpi ? LULL_IO : LULL_MPI_IO);
    const bool knows_files = c->evidence->trace && c->evidence->trace->n_files > 0;
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
    finding->cause = knows_files ? "Which files these are, lull metrics --by file tells."
                                 : "Which files these are, the run does not tell.";
    if (!knows_files)
        return;
    finding->next = lull_arena_printf(c->arena, "lull metrics --by file %s",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_io = {"io", "input and output", "threads read and write files",
                                       find_io};
