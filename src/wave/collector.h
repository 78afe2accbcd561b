/* What makes a field, from inside. Internal to the wave room. */
#ifndef LULL_WAVE_COLLECTOR_H
#define LULL_WAVE_COLLECTOR_H

#include "wave/row.h"

/* What a simulation has told of a rank. A replay does not tell of calls: there a phase is what lies
 * between two computations, where something was completed. */
struct lull_wave_told {
    int64_t call_began, computed, done; /* ns: the last computation, the last completion */
    bool calls, waited;                 /* there are calls; something was completed since then */
    bool ended;                         /* it has a row */
};

struct lull_wave_collector {
    const struct lull_trace *trace; /* NULL: of a simulation */
    const char *name;
    uint32_t first_process;
    uint32_t marker;   /* that begins iterations; LULL_NONE: none does */
    uint8_t *calls_of; /* [n_regions]: enum lull_call, where SPANs are calls; NULL: they are not */
    struct lull_wave_builder *builders; /* [n_ranks] */
    struct lull_wave_told *told;        /* [n_ranks], of a simulation */
    struct lull_sim_sink sink;
    struct lull_wave_field field;
};

/* A rank of a simulation gets its row, unless it has one; false: no memory. */
bool lull_wave_collector_end_rank(struct lull_wave_collector *collector, uint32_t rank);

/* Of a collector: not enough memory for its iterations. */
lull_status lull_wave_no_memory(const struct lull_wave_collector *collector,
                                struct lull_error *err);

/* What is known of all ranks but their cells, to the first, together. */
lull_status lull_wave_collector_gather_heads(struct lull_wave_collector *collector,
                                             struct lull_error *err);

/* Releases what it has; it has nothing then. */
void lull_wave_row_free(struct lull_wave_row *row);

#endif
