/* Idle waves: found in a field, and described.
 *
 * A delay of one rank makes those idle who wait for its messages, then those who wait for theirs,
 * and so on: an idle period travels from rank to rank. A wave is traced from the delay on, along
 * the messages that carried it (wave/graph.h). Each rank belongs to a wave once, with the
 * iteration in which it was idle. */
#ifndef LULL_WAVE_WAVE_H
#define LULL_WAVE_WAVE_H

#include "wave/graph.h"
#include "wave/outlier.h"

/* A number with its confidence interval; NAN: there is none. */
struct lull_wave_value {
    double value, low, high;
};

/* Why a wave went no further. */
enum lull_wave_end {
    LULL_WAVE_END_NONE,       /* it did not go this way */
    LULL_WAVE_END_BOUNDARY,   /* there is nobody beyond */
    LULL_WAVE_END_ITSELF,     /* on a ring: it met its other front */
    LULL_WAVE_END_OTHER,      /* it met another wave */
    LULL_WAVE_END_COLLECTIVE, /* all waited for the delayed rank in a collective operation */
    LULL_WAVE_END_RUN,        /* the run ended first */
    LULL_WAVE_END_SLACK,      /* the next rank is used to wait as long as that */
    LULL_WAVE_END_NOISE,      /* what is left of it cannot be told from the usual waiting */
    LULL_WAVE_ENDS
};
const char *lull_wave_end_id(unsigned end);   /* "boundary": key in documents */
const char *lull_wave_end_text(unsigned end); /* for people */

struct lull_wave_front {
    uint32_t n_ranks;                           /* reached */
    int64_t distance;                           /* of the last one, in ranks */
    uint32_t last_rank;                         /* the last one ... */
    int32_t last_iteration;                     /* ... and when it was idle */
    struct lull_wave_value ranks_per_iteration; /* of the leading edge */
    struct lull_wave_value ranks_per_second;
    enum lull_wave_end end;
    uint8_t operation; /* with LULL_WAVE_END_COLLECTIVE */
};

struct lull_wave {
    uint32_t rank;                             /* that was delayed ... */
    int32_t iteration;                         /* ... in which iteration ... */
    bool twice;                                /* ... and in the next one, too ... */
    int64_t begin;                             /* ... which began at this time, ns ... */
    int64_t length;                            /* ... by how much, ns */
    bool within_call;                          /* in a call that waits, not in its computation */
    uint32_t n_ranks;                          /* that were idle because of it */
    struct lull_wave_front up, down;           /* to higher, and to lower ranks */
    struct lull_wave_value hops_per_iteration; /* messages, whatever the numbers of the ranks */
    struct lull_wave_value decay;              /* ns of idleness less per rank */
    struct lull_wave_path path;
};

struct lull_waves {
    struct lull_wave_outliers outliers;
    struct lull_wave *waves; /* by iteration, then rank */
    uint32_t count;
    uint32_t delays_alone; /* delays that made nobody idle */
    uint32_t left_out;     /* of more than LULL_WAVE_MOST delays: the shorter ones */
};

struct lull_wave_options {
    int64_t least;     /* ns: shorter delays make no wave; 0: one iteration */
    double confidence; /* of intervals; 0: 0.95 */
};

/* Results live in `arena`. A delay counts where it is longer than the noise of the whole run makes
 * any likely (once in a thousand runs, if its tail is exponential). A rank is delayed in its
 * computation, or within a call that waits: it is idle though none of the ranks whose messages it
 * waits for was late. `outliers` are of the field. */
lull_status lull_waves_find(const struct lull_wave_field *field,
                            const struct lull_wave_graph *graph,
                            const struct lull_wave_outliers *outliers,
                            const struct lull_wave_options *options, struct lull_arena *arena,
                            struct lull_waves *ret_waves, struct lull_error *err);

/* How much longer than usual a rank that a wave has reached waited in the iteration of its arrival,
 * ns. */
int64_t lull_wave_idle_at_arrival(const struct lull_waves *waves, const struct lull_wave *wave,
                                  uint32_t rank);

/* The speed of a front in ranks per iteration from its path alone (a prediction), with the interval
 * that whole iterations and ranks leave; *ret_distance is how far it gets. */
struct lull_wave_value lull_wave_speed(const struct lull_wave_graph *graph, uint32_t rank,
                                       int32_t begin, const struct lull_wave_path *path, bool up,
                                       int64_t *ret_distance);

#endif
