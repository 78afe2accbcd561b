/* SPDX-License-Identifier: BSD-3-Clause */
/* Field: what all ranks of a run do in each iteration, and whom they exchange messages with.
 *
 * Idle waves are seen in the plane of ranks and iterations. A field holds, for every rank and
 * iteration, when the iteration ended and how long the rank waited for messages in it. It is made
 * from the steps of a trace or, without a trace, from a simulation as it goes. Iterations are found
 * in the messages of each rank (section row). Memory: 16 bytes per rank and iteration.
 *
 * Where a team shares a run, the iterations of a rank stay with the member that read it. The first
 * member knows, of all ranks, the messages and what is usual; unusual iterations it learns by
 * wave/outlier.h. */
#ifndef LULL_WAVE_FIELD_H
#define LULL_WAVE_FIELD_H

#include "activity/pass.h"
#include "base/arena.h"
#include "sim/engine/engine.h"
#include "team/division.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== field =================================================================================== */

struct lull_wave_cell {
    int64_t end;  /* ns: the last waiting call of the iteration has ended */
    int64_t wait; /* ns in calls that wait for messages */
};

/* A message that a rank sends or receives in every iteration. */
struct lull_wave_message {
    uint32_t peer;
    uint32_t phase; /* the phase (section row) whose call waits for its receive or its send */
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

/* ---- from a trace: a consumer of a pass over masters ----------------------------------------- */

struct lull_wave_collector;

/* The processes of one application are the ranks. Each event of the marker begins an iteration;
 * NULL: they are found in the messages. Fails with LULL_ERR_RANGE where the trace has no marker of
 * that name. */
lull_status lull_wave_collector_create(const struct lull_trace *trace, uint32_t application,
                                       const char *marker,
                                       struct lull_wave_collector **ret_collector,
                                       struct lull_error *err);
struct lull_consumer lull_wave_collector_consumer(struct lull_wave_collector *collector);
/* Another consumer, to be used instead: it takes a SPAN in MPI as a call that ends. That costs less
 * where other consumers want SPANs anyway, because the pass need not tell calls. Fails with
 * LULL_ERR_MEMORY. */
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
/* By all members together: all cells come to the first, whose field is not shared any more; others
 * have none then. */
lull_status lull_wave_collector_gather(struct lull_wave_collector *collector,
                                       struct lull_error *err);
/* After the pass or the simulation; if it is shared, by all members together. Fails with
 * LULL_ERR_FORMAT, on all members alike, where there is nothing to be found: one rank, no messages,
 * no iterations. The field belongs to the collector. */
lull_status lull_wave_collector_conclude(struct lull_wave_collector *collector,
                                         const struct lull_wave_field **ret_field,
                                         struct lull_error *err);
void lull_wave_collector_destroy(struct lull_wave_collector *collector); /* NULL is allowed */

/* ==== row ===================================================================================== */

/* One rank of a run, reduced to its iterations. Internal to the wave room.
 *
 * A *phase* is a call that waits for messages, with all messages sent and received since the phase
 * before it. The phases of a rank repeat; the shortest sequence of phases that does is an
 * iteration. Where the program marks its iterations, they are what lies from mark to mark instead.
 * Memory while a rank is followed: 24 bytes per phase; afterwards 16 bytes per iteration. */

struct lull_wave_phase {
    int64_t begin, end; /* of the call */
    uint32_t kind;
};

/* Phases with the same messages are of one kind. */
struct lull_wave_phase_kind {
    uint64_t hash;         /* of the messages, in any order */
    uint32_t first, count; /* messages */
    uint32_t shape; /* number of messages sent and received, for programs that change partners */
};

struct lull_wave_builder {
    struct lull_wave_phase *phases;
    size_t n_phases, phases_room;
    struct lull_wave_phase_kind *kinds;
    size_t n_kinds, kinds_room, next_kind; /* next_kind: probably the next one */
    struct lull_wave_message *messages;    /* of all kinds, then of the phase that is open */
    size_t n_messages, messages_room, first_open;
    uint64_t open_hash;
    uint32_t open_sent, open_received;
    struct lull_wave_collective *collectives;
    size_t n_collectives, collectives_room;
    size_t *marks; /* how many phases there are before each */
    size_t n_marks, marks_room;
};

/* All return false when memory runs out. */
bool lull_wave_builder_message(struct lull_wave_builder *builder, bool send, uint32_t peer,
                               uint64_t bytes);
/* A call that waits has ended; without messages since the last one it is no phase. */
bool lull_wave_builder_wait(struct lull_wave_builder *builder, int64_t begin, int64_t end);
bool lull_wave_builder_collective(struct lull_wave_builder *builder, uint8_t operation,
                                  int64_t begin, int64_t end);
/* The program says that an iteration begins. */
bool lull_wave_builder_mark(struct lull_wave_builder *builder);
/* Finds the iterations, those that were marked or those that repeat. `begin`: when the first one
 * may have begun at the earliest. Empties the builder. A rank without three iterations gets none.
 */
bool lull_wave_builder_finish(struct lull_wave_builder *builder, int64_t begin, bool marked,
                              struct lull_wave_row *ret_row);

/* ==== collector =============================================================================== */

/* What makes a field, from inside. Internal to the wave room. */

/* What a simulation has told of a rank. A replay does not tell of calls. There a phase is what lies
 * between two computations if some message was completed in between. */
struct lull_wave_told {
    int64_t call_began, computed, done; /* ns: begin of the call; end of the last computation; last
                                           completion */
    bool calls, waited;                 /* calls are told; something was completed since
                                           `computed` */
    bool ended;                         /* its row is made */
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

/* ==== select ================================================================================== */

/* The k-th smallest of some times, without sorting them. Internal to the wave room. */

/* Reorders `values`; k < count. Quickselect (Hoare 1961) with the median of three as pivot. */
int64_t lull_wave_select(int64_t *values, size_t count, size_t k);

#endif
