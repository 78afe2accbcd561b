/* Waves that are traced: from rank to rank, along the messages. Internal to the wave room. */
#ifndef LULL_WAVE_TRACE_H
#define LULL_WAVE_TRACE_H

#include "wave/wave.h"

#include <stddef.h>

enum { LULL_WAVE_AHEAD = 2 }; /* iterations after the sender's in which a rank may become idle */

/* Ranks that are idle in an iteration, to be followed: a list for each iteration. */
struct lull_wave_visit {
    uint32_t wave, rank, next; /* `next`: place of the next one plus 1 */
    int64_t idle;              /* ns */
};

struct lull_wave_tracing {
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    const struct lull_wave_outliers *outliers;
    struct lull_wave *waves; /* room for LULL_WAVE_MOST */
    uint32_t n_waves;
    struct lull_wave_visit *visits;
    size_t n_visits, visits_room;
    uint32_t *heads; /* [n_iterations]: place plus 1 */
};

/* Finds the paths of the waves from `first` on, whose paths reach nobody yet. They go on together,
 * an iteration after the other, so that none takes what another one has reached before. False: no
 * memory. */
bool lull_wave_trace(struct lull_wave_tracing *tracing, uint32_t first);
/* Whether a rank is idle in an iteration because of a wave, or is where it begins. */
bool lull_wave_is_taken(const struct lull_wave_tracing *tracing, uint32_t rank, int32_t iteration);
/* Adds the waves that began within a call: each first wait longer than least_stall that belongs to
 * no wave and that no other rank explains. False: no memory. */
bool lull_wave_trace_stalls(struct lull_wave_tracing *tracing, struct lull_arena *arena);

#endif
