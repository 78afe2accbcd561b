/* SPDX-License-Identifier: BSD-3-Clause */
/* The critical path of a run by region: which part of the runtime on an ideal network each region of the user
 * has (replay/ideal/ideal.h, lull_ideal_result.path). */
#ifndef LULL_STUDY_CRITICAL_PATH_H
#define LULL_STUDY_CRITICAL_PATH_H

#include "trace/trace.h"

/* Into which parts a path is divided: one for each name of a region of the user and of a parallel region, as far as
 * there is room (lull_ideal_options); part 0 is time in none of these. */
struct lull_critical_parts {
    const uint32_t *part_of; /* [n_regions]; 0 for all other regions */
    const char **names;      /* [n_parts] */
    unsigned n_parts;
    unsigned left_out; /* names of which no part was left: the last part has them all */
    const uint32_t
        *site_of; /* [n_regions]: which number counts where a call of MPI hands the path over; calls
                                are told apart by name and call site, as far as there is room; 0: the rest */
    const struct lull_region **sites; /* [n_sites]: a region of that number; the first is NULL */
    unsigned n_sites;
};

/* Lives in `arena`. */
const struct lull_critical_parts *lull_critical_parts_of(const struct lull_trace *trace,
                                                         struct lull_arena *arena);
/* The part of a name; n_parts: the name has none of its own. */
unsigned lull_critical_part_of(const struct lull_critical_parts *parts, const char *name);
/* The number that counts for a call of MPI; n_sites: it has none of its own. */
unsigned lull_critical_site_of(const struct lull_critical_parts *parts, const char *name,
                               const char *site);

#endif
