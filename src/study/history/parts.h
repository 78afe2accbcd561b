/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of a run went, as parts that add up: one for each region and activity. */
#ifndef LULL_STUDY_HISTORY_PARTS_H
#define LULL_STUDY_HISTORY_PARTS_H

#include "study/runs.h"

/* One region's time with one activity, summed over all threads. */
struct lull_part {
    const char *region; /* "": outside of every region that is known */
    const char *site;   /* where it is called, "exchange (heat.c:120)"; "": not known */
    uint8_t activity;   /* enum lull_activity; LULL_ACTIVITIES: not recorded */
    int64_t ns;
    const char *file; /* of the call site or of the region; "": not known */
    uint32_t line;
};

/* Parts, sorted by region, site and activity. Their times add up to total_ns, the time that was
 * analysed of all threads and streams. */
struct lull_parts {
    struct lull_part *parts;
    uint32_t count;
    int64_t total_ns;
};

/* Finds the parts of a run from its breakdown, by region where that has regions. Useful time
 * belongs to the region that it is directly inside. The other time of a region of MPI or OpenMP
 * belongs to this region and its activity. Of what remains only the activity is known. */
void lull_parts_of_run(const struct lull_run *run, struct lull_arena *arena,
                       struct lull_parts *ret_parts);

/* The time of all parts that are useful, in ns. */
int64_t lull_parts_useful(const struct lull_parts *parts);

/* Below 0, 0 or above 0, as `a` comes before `b`, is the same part, or comes after it. */
int lull_part_compare(const struct lull_part *a, const struct lull_part *b);
/* The part of the same region, site and activity; NULL: there is none. */
const struct lull_part *lull_parts_find(const struct lull_parts *parts,
                                        const struct lull_part *like);

/* Renames parts whose place an edit of the program has moved to other lines, as
 * "!$omp parallel @heat.c:125" or calls from "exchange (heat.c:120)", to the names that `edited`, a
 * run of the edited program, has for them. Considered are names that only one of the two runs has.
 * Names that are the same but for their lines are paired in the order of lines, if both runs have
 * as many of them. Returns how many places were renamed. */
uint32_t lull_parts_follow_edit(struct lull_parts *parts, const struct lull_parts *edited,
                                struct lull_arena *arena);

/* Whether a part is worth a place in a history: it is at least a thousandth of the total. */
bool lull_part_is_kept(const struct lull_part *part, const struct lull_parts *parts);

/* "computation", "MPI point-to-point", "not recorded". */
const char *lull_part_cause(const struct lull_part *part);
/* "computation in solve", "MPI_Recv from exchange (heat.c:120)", "idle". */
const char *lull_part_describe(const struct lull_part *part, struct lull_arena *arena);

#endif
