/* Field: what all ranks of a run do in each iteration, and whom they exchange messages with.
 *
 * Idle waves live in rank x iteration. A field holds, for every rank and iteration, when the
 * iteration ended and how long the rank waited for messages in it. It is made from the steps of a
 * trace or, without a trace, from a simulation as it goes. Iterations are found in the messages of
 * each rank (wave/row.h). Memory: 16 bytes per rank and iteration.
 *
 * Where a team shares a run, iterations stay with the member that was told of the rank; of all
 * ranks the first knows what is usual, and their messages. What is unusual it learns from
 * wave/outlier.h. */
#ifndef LULL_WAVE_FIELD_H
#define LULL_WAVE_FIELD_H

#include "activity/pass.h"
#include "base/arena.h"
#include "sim/engine/engine.h"
#include "team/division.h"

#include <stdbool.h>
#include <stdint.h>

struct lull_wave_cell {
    int64_t end;  /* ns: the last waiting call of the iteration has ended */
    int64_t wait; /* ns in calls that wait for messages */
};

/* A message that a rank sends or receives in every iteration. */
struct lull_wave_message {
    uint32_t peer;
    uint32_t phase; /* in which it is received, or whose call waits for it to be sent */
    uint64_t bytes;
    bool send;
};

struct lull_wave_collective {
    uint32_t iteration;
    uint8_t operation; /* enum lull_collective */
    int64_t begin, end;
};

struct lull_wave_row {
    struct lull_wave_cell *cells; /* [n_cells]; NULL: another member has them */
    uint32_t n_cells;
    uint32_t n_phases;                  /* of an iteration */
    int64_t begin;                      /* ns: the first iteration begins */
    struct lull_wave_message *messages; /* [n_messages], in order */
    uint32_t n_messages;
    struct lull_wave_collective *collectives; /* in order; where the cells are */
    uint32_t n_collectives;
    /* ns: medians over the iterations, and over the collective operations */
    int64_t usual_wait, usual_work, usual_collective;
};

struct lull_wave_field {
    uint32_t n_ranks;
    uint32_t n_iterations; /* of the rank with the fewest; 0: some rank has none */
    uint32_t first_origin; /* iterations before it may hold the start of the program */
    struct lull_wave_row *rows;
    double clock_error;     /* ns between ranks; negative: unknown */
    struct lull_team *team; /* which shares the cells; NULL: all are here */
    uint32_t own, own_end;  /* this member has those of the ranks [own, own_end) */
};

/* What a rank did between its waits in an iteration, ns. */
int64_t lull_wave_work(const struct lull_wave_row *row, uint32_t iteration);
/* The collective operations between the end of the iteration before and that of this one. Returns
 * how many there are, from *ret_first on. */
uint32_t lull_wave_collectives(const struct lull_wave_row *row, uint32_t iteration,
                               uint32_t *ret_first);

/* ---- from a trace: a consumer of a pass over masters ------------------------------------------
 */

struct lull_wave_collector;

/* The processes of one application are the ranks. Each event of the marker begins an iteration;
 * NULL: they are found in the messages. Fails with LULL_ERR_RANGE where the trace has no marker of
 * that name. */
lull_status lull_wave_collector_create(const struct lull_trace *trace, uint32_t application,
                                       const char *marker,
                                       struct lull_wave_collector **ret_collector,
                                       struct lull_error *err);
struct lull_consumer lull_wave_collector_consumer(struct lull_wave_collector *collector);
/* In its place: a SPAN in MPI is a call that ends, which costs less where others want SPANs anyway,
 * and a pass tells them calls in short. Fails with LULL_ERR_MEMORY. */
lull_status lull_wave_collector_consumer_of_spans(struct lull_wave_collector *collector,
                                                  struct lull_consumer *ret_consumer,
                                                  struct lull_error *err);

/* ---- from a simulation ----------------------------------------------------------------------- */

/* `n_ranks` streams, one per rank. */
lull_status lull_wave_collector_of_simulation(uint32_t n_ranks,
                                              struct lull_wave_collector **ret_collector,
                                              struct lull_error *err);
const struct lull_sim_sink *lull_wave_collector_sink(struct lull_wave_collector *collector);

/* ---- both ------------------------------------------------------------------------------------ */

/* Behind a simulation that a team shares: this member was told of the ranks [first, end). */
void lull_wave_collector_share(struct lull_wave_collector *collector, struct lull_team *team,
                               uint32_t first, uint32_t end);
/* The same behind a pass over a trace, of processes. NULL: alone. */
void lull_wave_collector_share_processes(struct lull_wave_collector *collector,
                                         const struct lull_division *division);
/* What is shared comes to the first, which has all cells then and is alone with them; others have
 * none. Together (team.h). */
lull_status lull_wave_collector_gather(struct lull_wave_collector *collector,
                                       struct lull_error *err);
/* Behind the pass or the simulation; where it is shared by all members together. Fails with
 * LULL_ERR_FORMAT, on all alike and in one line, where there is nothing to be found: one rank, no
 * messages, no iterations. The field belongs to the collector. */
lull_status lull_wave_collector_conclude(struct lull_wave_collector *collector,
                                         const struct lull_wave_field **ret_field,
                                         struct lull_error *err);
void lull_wave_collector_destroy(struct lull_wave_collector *collector); /* NULL is allowed */

#endif
