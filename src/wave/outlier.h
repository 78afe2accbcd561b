/* SPDX-License-Identifier: BSD-3-Clause */
/* Outliers: iterations in which a rank was idle or late by more than usual.
 *
 * Waves are looked for in the outliers of a field and nowhere else. Outliers are delays that are
 * longer than noise makes them, idleness that a wave may have caused, and what may explain
 * idleness. Where a team shares a field, each member finds the outliers of its ranks, and only
 * these are sent to the first member. */
#ifndef LULL_WAVE_OUTLIER_H
#define LULL_WAVE_OUTLIER_H

#include "wave/field.h"

/* What is usual in a field, apart from its waves; ns. The last three are limits for what is longer
 * than the usual of its rank. */
struct lull_wave_usual {
    double cycle;        /* mean duration of an iteration */
    double work;         /* mean time between waits in an iteration */
    double wait;         /* mean time in waits in an iteration */
    double comm;         /* 5 % of iterations wait no longer than this: what messages cost */
    int64_t least_delay; /* work that is longer than usual by more is a delay */
    int64_t least_idle;  /* a wait that is longer than usual by more is idleness */
    int64_t least_stall; /* a wait that is longer than usual by more, and that no other rank
                            explains, is a delay within the call */
};

/* An unusual iteration of a rank. */
struct lull_wave_outlier {
    uint32_t iteration;
    uint8_t operation;  /* enum lull_collective: the last operation in it */
    int64_t begin, end; /* ns */
    /* By how many ns longer than usual the rank waited for messages, worked, and was in collective
     * operations. */
    int64_t idle, delay, collective;
};

struct lull_wave_outliers {
    struct lull_wave_usual usual;
    const uint64_t *first;                /* [n_ranks + 1]: where those of a rank begin */
    const struct lull_wave_outlier *list; /* by rank, then iteration */
};

enum {
    /* A wave goes on to the next rank only if this rank is idle for at least one part in so many of
     * the time that the rank before it was idle. */
    LULL_WAVE_LEAST_LEFT = 8
};

/* The outlier of a rank in an iteration; NULL: the rank did what it usually does. */
const struct lull_wave_outlier *lull_wave_outlier_of(const struct lull_wave_outliers *outliers,
                                                     uint32_t rank, uint32_t iteration);

/* Finds what is usual, and as outliers all iterations in which something is longer than usual by
 * more than the smallest of least_idle, least_delay and least_stall / LULL_WAVE_LEAST_LEFT.
 * `least`: how long a delay is at least, in ns; 0: about one iteration. The result lives in
 * `arena`. Where the field is shared, all members call this together, and only the first gets
 * outliers. */
lull_status lull_wave_outliers_find(const struct lull_wave_field *field, int64_t least,
                                    struct lull_arena *arena,
                                    struct lull_wave_outliers *ret_outliers,
                                    struct lull_error *err);

/* By how many ns longer than usual a rank waited in an iteration. This member must have its cells.
 */
int64_t lull_wave_idle(const struct lull_wave_row *row, uint32_t iteration);

#endif
