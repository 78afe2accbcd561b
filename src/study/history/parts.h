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

/* By region, site and activity. The sum of all parts is `total_ns`: what was analysed of all
 * threads and streams. */
struct lull_parts {
    struct lull_part *parts;
    uint32_t count;
    int64_t total_ns;
};

/* Of a run with its breakdown, by region where it has one. Useful time belongs to the region that
 * it is directly inside; the rest of a runtime's region to the activity of the region; of what
 * remains only the activity is known. */
void lull_parts_of_run(const struct lull_run *run, struct lull_arena *arena,
                       struct lull_parts *ret_parts);

/* The sum of the useful ones. */
int64_t lull_parts_useful(const struct lull_parts *parts);

/* < 0, 0, > 0: their order. */
int lull_part_compare(const struct lull_part *a, const struct lull_part *b);
/* The part of the same region, site and activity; NULL: there is none. */
const struct lull_part *lull_parts_find(const struct lull_parts *parts,
                                        const struct lull_part *like);

/* What an edit of the program moved to other lines has the names of an edited run from here on
 * ("!$omp parallel @heat.c:125", calls from "exchange (heat.c:120)"): of those that only one of the
 * two has, as many with each name without its lines, in the order of lines. Returns how many such
 * places there are. */
uint32_t lull_parts_follow_edit(struct lull_parts *parts, const struct lull_parts *edited,
                                struct lull_arena *arena);

/* Whether it is worth a place in a history: at least a thousandth of the whole. */
bool lull_part_is_kept(const struct lull_part *part, const struct lull_parts *parts);

/* "computation", "MPI point-to-point", "not recorded". */
const char *lull_part_cause(const struct lull_part *part);
/* "computation in solve", "MPI_Recv from exchange (heat.c:120)", "idle". */
const char *lull_part_describe(const struct lull_part *part, struct lull_arena *arena);

#endif
