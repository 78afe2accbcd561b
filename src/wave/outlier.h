/* Outliers: where ranks were idle or late by more than usual.
 *
 * Waves are looked for in these, and nothing else of a field: a delay longer than noise makes it,
 * idleness that a wave may have caused, and what may explain idleness. Where a team shares a field
 * each member finds those of its ranks, and only they come to the first. */
#ifndef LULL_WAVE_OUTLIER_H
#define LULL_WAVE_OUTLIER_H

#include "wave/field.h"

/* What is usual in a field, apart from its waves; ns. */
struct lull_wave_usual {
    double cycle;        /* mean duration of an iteration */
    double work;         /* mean time between waits in one */
    double wait;         /* mean waiting in one */
    double comm;         /* waiting of those who wait least: what messages cost */
    int64_t least_delay; /* a longer stretch of work is a delay */
    int64_t least_idle;  /* a longer wait is idleness */
    int64_t least_stall; /* a longer wait that no other rank explains is a delay within the call */
};

/* An iteration of a rank. */
struct lull_wave_outlier {
    uint32_t iteration;
    uint8_t operation;  /* enum lull_collective: the last in it */
    int64_t begin, end; /* ns */
    /* ns longer than usual: waiting for messages, at work, in collective operations */
    int64_t idle, delay, collective;
};

struct lull_wave_outliers {
    struct lull_wave_usual usual;
    const uint64_t *first;                /* [n_ranks + 1]: where those of a rank begin */
    const struct lull_wave_outlier *list; /* by rank, then iteration */
};

enum {
    LULL_WAVE_LEAST_LEFT = 8 /* one part in so many of the idleness of a rank arrives at the next */
};

/* NULL: the rank did what it usually does. */
const struct lull_wave_outlier *lull_wave_outlier_of(const struct lull_wave_outliers *outliers,
                                                     uint32_t rank, uint32_t iteration);

/* What is usual, and all iterations with more than the least of least_idle, least_delay and
 * least_stall / LULL_WAVE_LEAST_LEFT, in `arena`. `least`: ns, of delays; 0: one iteration.
 * Together where the field is shared: others than the first have nothing then. */
lull_status lull_wave_outliers_find(const struct lull_wave_field *field, int64_t least,
                                    struct lull_arena *arena,
                                    struct lull_wave_outliers *ret_outliers,
                                    struct lull_error *err);

/* How much longer than usual a rank waited in an iteration, whose cell is here, ns. */
int64_t lull_wave_idle(const struct lull_wave_row *row, uint32_t iteration);

#endif
