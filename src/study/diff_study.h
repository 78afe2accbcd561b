/* SPDX-License-Identifier: BSD-3-Clause */
/* A difference between two groups of runs, before and after a change, part by part: what the runs
 * after spend more or less than those before, in rows that add up exactly to the difference of the
 * time of all threads. */
#ifndef LULL_STUDY_DIFF_STUDY_H
#define LULL_STUDY_DIFF_STUDY_H

#include "study/history/check.h"

/* What is known about a difference, after minus before. */
struct lull_difference {
    double probability; /* that the values of the runs would be in such an order if there were no
                           difference, two-sided */
    double asked;       /* how small the probability has to be for `certain`, as so many rows are
                           tested; NAN: nothing was tested */
    bool certain;       /* this is so improbable that in 95 of 100 comparisons no row at all is
                           called certain wrongly */
    /* The median of all differences between a run after and a run before (Hodges and Lehmann), and
     * its interval of 95 %, in seconds. */
    double shift, low, high;
    bool has_interval; /* there are enough runs for an interval */
};

struct lull_diff_row {
    const struct lull_part *part; /* NULL: all parts together that are too small for a row */
    int64_t before_ns, after_ns;  /* means over the runs of each group */
    struct lull_difference difference;
};

/* Where the difference of the computation comes from: its parts in ns, which add up to it, from
 * other numbers of instructions, other instructions per cycle, and another clock frequency. */
struct lull_diff_computation {
    const char *absent; /* why the parts are not known; NULL: they are */
    int64_t instructions_ns, ipc_ns, frequency_ns;
};

/* A function, by samples: useful time of all threads, means over the runs of each group. */
struct lull_diff_function {
    const char *id; /* "smooth (heat.c)"; NULL: all together that are too small for a row */
    int64_t before_ns, after_ns;
    /* The interval of 95 % of the difference of the means. With several runs on both sides that of Welch,
     * from how the runs differ. Else it says only how many samples there are: what differs between
     * two runs by chance is not in it. */
    double low_ns, high_ns;
};

struct lull_diff {
    const struct lull_history_entry *before, *after;
    uint32_t n_before, n_after;
    const struct lull_history *history; /* its runs are added to those before where it is judged
                                           what is certain; may have no entries */
    bool by_activity;                   /* parts are told by activity alone, because some run has no
                                           regions */
    int64_t before_ns, after_ns;        /* time of all threads: the sums of the rows */
    double before_s, after_s;           /* mean runtimes, seconds */
    struct lull_difference runtime;
    struct lull_diff_row *rows; /* largest differences first; last the row of all small parts */
    uint32_t n_rows;
    /* How many runs on either side could make certain what is not, although its interval does not
     * contain 0: the rows differ in as many runs as there are. 0: there is no such row. */
    uint32_t more_runs;
    struct lull_diff_computation computation;
    struct lull_diff_function
        *functions; /* the largest differences first; NULL: some run has no samples */
    uint32_t n_functions;
    bool functions_of_runs; /* there are several runs on both sides */
};

/* Makes the difference. `before` and `after` have runs, `history` may have none; all are borrowed.
 */
void lull_diff_make(const struct lull_history_entry *before, uint32_t n_before,
                    const struct lull_history_entry *after, uint32_t n_after,
                    const struct lull_history *history, struct lull_arena *arena,
                    struct lull_diff *ret_diff);

/* Runs to be read. */
struct lull_diff_group {
    const char *const *paths;
    uint32_t count;
};

/* Reads the runs of both groups, and from the history at the path `against` (NULL: none) those that
 * belong to the first group; checks that all can be compared; and makes the difference, in
 * `arena`. */
lull_status lull_diff_read(const struct lull_diff_group groups[2], const char *against,
                           const struct lull_runs_options *runs,
                           const struct lull_history_about *about, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_diff *ret_diff,
                           struct lull_error *err);

#endif
