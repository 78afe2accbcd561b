/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeline: what each location of a run did when, at any zoom, in bounded memory.
 *
 * Time. The axis reaches from the begin of the first analysed window to the end of the last one; a
 * trace knows its end before it is read, so that bins never have to be merged while it is. Level L
 * cuts the axis into 2^L bins of equal length up to 1 ns: bin i begins at begin + floor(i * length
 * / 2^L). So each bin is two bins of the next level, and edges are whole nanoseconds.
 *
 * Rows. The locations of a run are the leaves of a tree: nodes, processes in them, threads and
 * device streams in these. What would have one child is left out: a process with one thread is a
 * leaf itself. Where there are more than LULL_TIMELINE_FINE_ROWS nodes, neighbours are joined to
 * bands.
 *
 * Cells. A cell holds, for one row and one bin, how many ns the locations of the row spent on each
 * activity. Cells add up and never sample: a row is the sum of its children, a bin that of its two
 * halves, and all bins of a location are what the breakdown says, to the nanosecond.
 *
 * Memory. Every location has cells of level LULL_TIMELINE_COARSE. The rows of one generation of the
 * tree, the lowest one that has no more than LULL_TIMELINE_FINE_ROWS, and those above them have
 * cells of level `fine` (options). That is some 8 x 64 bytes per location and activity that it has,
 * and a grid of at most 1,024 x 2,048 x 12 bytes per activity, however long the run.
 *
 * Steps. All spans are kept while there are no more than `most_steps` in the run; else those around
 * the longest wait of each location, of which those of the longest waits of the run stay. Messages
 * are kept while there are no more than `most_messages`, else counted; the messages of a channel
 * are matched in the order in which they were completed.
 *
 * Counters. Instructions and cycles that were counted in useful time are spread evenly over the
 * time since the reading before, in bins of level LULL_TIMELINE_COARSE, and add up likewise. Where
 * there are no more than some thousand leaves, the readings themselves are kept, up to 2^20 of all
 * leaves, then joined.
 *
 * The same bits come out for any number of workers. */
#ifndef LULL_TIMELINE_TIMELINE_H
#define LULL_TIMELINE_TIMELINE_H

#include "activity/pass.h"
#include "base/arena.h"
#include "team/division.h"

enum {
    LULL_TIMELINE_COARSE = 6,       /* level of all rows: 64 bins */
    LULL_TIMELINE_FINEST = 11,      /* the most that rows with fine cells have: 2,048 bins */
    LULL_TIMELINE_FINE_ROWS = 1024, /* the most rows with fine cells in one generation */
    LULL_TIMELINE_PLACES = 64,      /* longest waits that are told */
    LULL_TIMELINE_SIZES = 64        /* classes of message sizes */
};

enum lull_timeline_count { LULL_TIMELINE_INSTRUCTIONS, LULL_TIMELINE_CYCLES, LULL_TIMELINE_COUNTS };

enum lull_timeline_row_kind {
    LULL_TIMELINE_BAND, /* several neighbouring nodes, or processes where no nodes are known */
    LULL_TIMELINE_NODE,
    LULL_TIMELINE_PROCESS,
    LULL_TIMELINE_THREAD,
    LULL_TIMELINE_DEVICE,
    LULL_TIMELINE_ROW_KINDS
};

struct lull_timeline_row {
    uint8_t kind;    /* enum lull_timeline_row_kind; of a leaf that is all of its process:
                        LULL_TIMELINE_PROCESS */
    uint8_t level;   /* the deepest one of its cells */
    uint32_t parent; /* row, or LULL_NONE */
    uint32_t first_leaf, n_leaves; /* in leaves[] */
    uint32_t process, node; /* of the trace, those of its first leaf; node may be LULL_NONE */
    uint32_t members;       /* children of a band; else 0 */
};

/* One span of a location, or several that adjoin and are alike. */
struct lull_timeline_step {
    int64_t end;     /* ns; it begins where the one before ends */
    uint32_t region; /* of the trace, innermost; or LULL_NONE */
    uint8_t activity;
};

/* Steps without a gap between them. */
struct lull_timeline_piece {
    int64_t begin; /* ns, of the first step */
    const struct lull_timeline_step *steps;
    size_t count;
};

struct lull_timeline_leaf {
    uint32_t location, row;
    struct lull_timeline_piece *pieces; /* by time */
    uint32_t n_pieces;
};

/* A message that was both sent and received inside the windows. */
struct lull_timeline_message {
    int64_t sent, received;    /* ns */
    uint32_t sender, receiver; /* leaves */
    uint64_t bytes;
    int32_t tag;
};

/* A long wait: a span in MPI or at a barrier or lock of OpenMP. */
struct lull_timeline_place {
    int64_t begin, end; /* ns */
    uint32_t leaf, region;
    uint8_t activity;
};

/* What one process sent to another one, or one group of processes to another. */
struct lull_timeline_traffic {
    uint32_t source, target;   /* indices of lull_timeline.parties */
    uint64_t sent, sent_bytes; /* as the sender told it */
    uint64_t received, received_bytes;
    int64_t wait_ns; /* the target's, in MPI: from the begin of the span in which it received the
                        message, or from the one received before in that span, until it did */
};

/* Row and column of the traffic: a process, or several where there are more than
 * LULL_TIMELINE_FINE_ROWS: those of one node, or neighbours where there are more nodes than that.
 */
struct lull_timeline_party {
    uint32_t process; /* of the trace; the first one */
    uint32_t n_processes;
    uint32_t node; /* of the trace, where it is all processes of a node; else LULL_NONE */
};

struct lull_timeline {
    const struct lull_trace *trace;
    int64_t begin, end;                    /* ns, of the axis */
    unsigned fine;                         /* level of rows with fine cells */
    bool has_counts[LULL_TIMELINE_COUNTS]; /* there is such a counter */
    uint64_t activities; /* mask of enum lull_activity and those of step.h that have time */
    struct lull_timeline_row *rows; /* a row before its children */
    uint32_t n_rows;
    struct lull_timeline_leaf *leaves; /* in the order of rows */
    uint32_t n_leaves;

    uint64_t n_steps, n_messages;           /* of the run; kept or not */
    bool all_steps, all_messages;           /* kept */
    struct lull_timeline_message *messages; /* by time of sending, leaf, time of receiving */
    size_t n_kept_messages;
    uint64_t unmatched; /* messages of which only one side is in the windows */
    struct lull_timeline_place places[LULL_TIMELINE_PLACES]; /* the longest first */
    uint32_t n_places;

    struct lull_timeline_party *parties;
    uint32_t n_parties;
    struct lull_timeline_traffic *traffic; /* by source and target; those with messages only */
    size_t n_traffic;
    /* Messages sent by size: [0] has those of 0 bytes, [i] those from 2^(i-1) to below 2^i. */
    uint64_t sizes[LULL_TIMELINE_SIZES];
    /* Inside the windows, also to and from processes of other applications, which are no parties;
     * bytes as lull_received_bytes tells them. */
    uint64_t sent, sent_bytes, received, received_bytes;

    struct lull_timeline_grid *grid;   /* internal */
    struct lull_timeline_tally *tally; /* internal */
};

struct lull_timeline_options {
    const struct lull_reading *reading; /* that of the pass; may be NULL */
    unsigned fine;                      /* level: COARSE to FINEST; 0: FINEST */
    uint64_t most_steps, most_messages; /* that are kept */
};

/* A consumer of a pass; create, run the pass, conclude, use, destroy. The timeline is part of the
 * builder; its names are those of the trace. Fails with LULL_ERR_MEMORY, and LULL_ERR_RANGE where
 * the application has no processes. A run of no length has rows, and cells of 0 ns. */
struct lull_timeline_builder;
lull_status lull_timeline_create(const struct lull_trace *trace,
                                 const struct lull_timeline_options *options, unsigned workers,
                                 struct lull_timeline_builder **ret_builder,
                                 struct lull_error *err);
struct lull_consumer lull_timeline_consumer(struct lull_timeline_builder *builder);
/* Behind a pass that a team has shared, by all of its members, before the conclusion: the first has
 * all then. NULL: alone. */
lull_status lull_timeline_gather(struct lull_timeline_builder *builder,
                                 const struct lull_division *division, struct lull_error *err);
lull_status lull_timeline_conclude(struct lull_timeline_builder *builder,
                                   const struct lull_timeline **ret_timeline,
                                   struct lull_error *err);
void lull_timeline_destroy(struct lull_timeline_builder *builder); /* NULL is allowed */

/* When bin `bin` <= 2^level of a level begins; that of bin 2^level is the end of the axis. */
int64_t lull_timeline_edge(const struct lull_timeline *timeline, unsigned level, uint32_t bin);

/* The cells of `count` bins from `first` on, of a level that the row has: ns[count][
 * LULL_STEP_ACTIVITIES]. */
void lull_timeline_cells(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                         uint32_t first, uint32_t count, int64_t *ret_ns);
/* The same of some activities: ns[count][n]. */
void lull_timeline_cells_of(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                            uint32_t first, uint32_t count, const uint32_t *activities, uint32_t n,
                            int64_t *ret_ns);

/* What was counted in useful time, in the 64 bins of level LULL_TIMELINE_COARSE: adds to
 * counts[64], modulo 2^64. The steps of the pass must hold READINGs: somebody wants the ledger. */
void lull_timeline_counts(const struct lull_timeline *timeline, uint32_t row,
                          enum lull_timeline_count which, uint64_t *counts);

/* The same of a leaf between two moments, and how long it was useful then: added to `counted`.
 * Exact where both are moments of readings and of ends of useful time, as far as the run has few of
 * them: of many, neighbours are joined, as if counted evenly. False: there is no such counter, or
 * there are too many leaves to keep it. */
struct lull_timeline_counted {
    double counts[LULL_TIMELINE_COUNTS];
    double useful_ns;
};
bool lull_timeline_counted_between(const struct lull_timeline *timeline, uint32_t leaf,
                                   int64_t from, int64_t to, struct lull_timeline_counted *counted);

#endif
