/* Threads read and write files.
 * Evidence: time of all threads in calls for files and in MPI's own. Formula: their sum. Silent:
 * below 1 % of the core time. Sums suffice; no replay tells how fast other files would be. */
#include "diagnose/rules.h"

/* Which files it was, as far as the trace has their names: those of MPI are always recorded, those of
 * the C library where that was asked for. Sets the next command where that tells them. */
static void tell_files(struct lull_case *c, struct lull_finding *finding, int64_t files)
{
    const struct lull_trace *trace = c->evidence->trace;
    const uint32_t n = trace ? trace->n_files : 0;
    if (trace && n == 0 && files == 0) {
        finding->cause = "The trace does not tell which files it was.";
        return;
    }
    finding->cause = n == 0 ? "Which files it was, lull metrics --by file tells of runs that were "
                              "recorded with --files."
                     : n == 1
                         ? lull_arena_printf(c->arena, "It was one file, %s.", trace->files[0].name)
                         : lull_arena_printf(c->arena,
                                             "The trace has %u files; lull metrics --by file "
                                             "tells what each took.",
                                             n);
    finding->next = lull_arena_printf(c->arena, "lull metrics --by file %s",
                                      lull_case_word(c, c->evidence->path));
}

static void find_io(struct lull_case *c)
{
    const int64_t files = lull_evidence_activity_ns(c->evidence, LULL_IO);
    const int64_t mpi = lull_evidence_activity_ns(c->evidence, LULL_MPI_IO);
    if (files + mpi < c->least_ns)
        return;
    const struct lull_region_breakdown *region =
        lull_evidence_region_of(c->evidence, files > mpi ? LULL_IO : LULL_MPI_IO);
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
    tell_files(c, finding, files);
}

const struct lull_rule lull_rule_io = {"io", "input and output", "threads read and write files",
                                       find_io};
