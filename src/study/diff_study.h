/* Two groups of runs compared part by part: what the one spends more or less than the other, in
 * rows that add up exactly to the difference of the time of all threads. */
#ifndef LULL_STUDY_DIFF_STUDY_H
#define LULL_STUDY_DIFF_STUDY_H

#include "study/history/check.h"

/* What is known about a difference, after minus before. */
struct lull_difference {
    double probability; /* of such an order of the runs without a difference, two-sided */
    bool certain;       /* so improbable that, over all rows, none is claimed wrongly in 95 % */
    /* The median of the differences between a run after and one before (Hodges and Lehmann), and
     * its interval of 95 %, in s; has_interval: there are enough runs. */
    double shift, low, high;
    bool has_interval;
};

struct lull_diff_row {
    const struct lull_part *part; /* NULL: all parts that are too small for a row */
    int64_t before_ns, after_ns;  /* means over the runs */
    struct lull_difference difference;
};

/* Where the difference of the computation comes from, in ns that add up to it. */
struct lull_diff_computation {
    const char *absent; /* why it is not known; NULL: it is */
    int64_t instructions_ns, ipc_ns, frequency_ns;
};

struct lull_diff {
    const struct lull_history_entry *before, *after;
    uint32_t n_before, n_after;
    const struct lull_history *history; /* whose runs stand beside those before, for what is
                                           certain; no entries: none do */
    bool by_activity;                   /* not by region, because some run has no regions */
    int64_t before_ns, after_ns;        /* time of all threads: the sums of the rows */
    double before_s, after_s;           /* runtimes, means */
    struct lull_difference runtime;
    struct lull_diff_row *rows; /* the largest differences first, the small ones together last */
    uint32_t n_rows;
    struct lull_diff_computation computation;
};

/* `before` and `after` have runs, `history` may have none; all are borrowed. */
void lull_diff_make(const struct lull_history_entry *before, uint32_t n_before,
                    const struct lull_history_entry *after, uint32_t n_after,
                    const struct lull_history *history, struct lull_arena *arena,
                    struct lull_diff *ret_diff);

/* Runs to be read. */
struct lull_diff_group {
    const char *const *paths;
    uint32_t count;
};

/* Reads the runs of both sides, and those of a history (`against`; NULL: none) that belong to the
 * first, checks that all can be compared, and makes the difference, in `arena`. */
lull_status lull_diff_read(const struct lull_diff_group groups[2], const char *against,
                           const struct lull_runs_options *runs,
                           const struct lull_history_about *about, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_diff *ret_diff,
                           struct lull_error *err);

#endif
