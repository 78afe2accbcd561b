/* SPDX-License-Identifier: BSD-3-Clause */
/* Idle waves: found in a field, and described.
 *
 * A delay of one rank makes the ranks idle that wait for its messages, then those that wait for the
 * messages of these, and so on: an idle period travels from rank to rank. A wave is traced from the
 * delay on, along the messages that carried it (wave/graph.h). A rank belongs to a wave at most
 * once, with the iteration in which it was idle. */
#ifndef LULL_WAVE_WAVE_H
#define LULL_WAVE_WAVE_H

#include "wave/graph.h"
#include "wave/outlier.h"

/* A number with its confidence interval; NAN: there is none. */
struct lull_wave_value {
    double value, low, high;
};

/* Why a front of a wave went no further. */
enum lull_wave_end {
    LULL_WAVE_END_NONE,       /* the wave did not go this way */
    LULL_WAVE_END_BOUNDARY,   /* there is no rank beyond */
    LULL_WAVE_END_ITSELF,     /* on a ring: it met its other front */
    LULL_WAVE_END_OTHER,      /* it met another wave */
    LULL_WAVE_END_COLLECTIVE, /* all waited for the delayed rank in a collective operation */
    LULL_WAVE_END_RUN,        /* the run ended first */
    LULL_WAVE_END_SLACK,      /* the next rank usually waits for half as long as that, or longer */
    LULL_WAVE_END_NOISE,      /* what is left of it cannot be told from the usual waiting */
    LULL_WAVE_ENDS
};
const char *lull_wave_end_id(unsigned end);   /* "boundary": key in documents */
const char *lull_wave_end_text(unsigned end); /* for people */

/* One direction in which a wave travels. */
struct lull_wave_front {
    uint32_t n_ranks;                           /* how many it reached */
    int64_t distance;                           /* ranks from the origin to the farthest one */
    uint32_t last_rank;                         /* the farthest one ... */
    int32_t last_iteration;                     /* ... and the iteration in which it was idle */
    struct lull_wave_value ranks_per_iteration; /* speed of the leading edge */
    struct lull_wave_value ranks_per_second;
    enum lull_wave_end end;
    uint8_t operation; /* enum lull_collective, with LULL_WAVE_END_COLLECTIVE */
};

/* A delay over more iterations is several: more are not taken out of a replay together. */
enum { LULL_WAVE_DELAYED_MOST = 32 };

struct lull_wave {
    uint32_t rank;                   /* that was delayed: the origin */
    int32_t iteration;               /* in which it was delayed */
    uint32_t n_delayed;              /* iterations, one behind the other, in which it was delayed */
    int64_t begin;                   /* ns: of the iteration; within_call: of the wait */
    int64_t length;                  /* ns: of the delay, over all these iterations */
    bool within_call;                /* delayed in a call that waits, not at work */
    uint32_t n_ranks;                /* how many other ranks were idle because of it */
    struct lull_wave_front up, down; /* to higher, and to lower ranks */
    struct lull_wave_value hops_per_iteration; /* messages, whatever the numbers of the ranks */
    struct lull_wave_value decay;              /* ns of idleness that are lost per rank */
    struct lull_wave_path path;
};

struct lull_waves {
    struct lull_wave_outliers outliers;
    struct lull_wave *waves; /* by iteration, then rank */
    uint32_t count;
    uint32_t delays_alone; /* delays that made nobody idle */
    uint32_t left_out;     /* delays that were not followed: there are too many longer ones */
};

struct lull_wave_options {
    int64_t least;     /* ns: shorter delays make no wave; 0: about one iteration */
    double confidence; /* of intervals, below 1; 0: 0.95 */
};

/* Finds the waves of a field, in `arena`. A delay counts only if noise makes one so long in fewer
 * than one of a thousand runs, supposing that the tail of the noise is exponential. A rank is
 * delayed in its computation or within a call that waits; the latter means that it is idle though
 * none of the ranks whose messages it waits for was late. `outliers` are those of the field. */
lull_status lull_waves_find(const struct lull_wave_field *field,
                            const struct lull_wave_graph *graph,
                            const struct lull_wave_outliers *outliers,
                            const struct lull_wave_options *options, struct lull_arena *arena,
                            struct lull_waves *ret_waves, struct lull_error *err);

/* By how many ns longer than usual a rank that a wave has reached waited in the iteration in which
 * the wave arrived. */
int64_t lull_wave_idle_at_arrival(const struct lull_waves *waves, const struct lull_wave *wave,
                                  uint32_t rank);

/* The speed of a front in ranks per iteration, from its path alone, as for a prediction. Its
 * interval is at least what counting in whole iterations and ranks leaves open. *ret_distance is
 * how many ranks far the front gets. */
struct lull_wave_value lull_wave_speed(const struct lull_wave_graph *graph, uint32_t rank,
                                       int32_t begin, const struct lull_wave_path *path, bool up,
                                       int64_t *ret_distance);

#endif
