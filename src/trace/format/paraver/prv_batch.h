/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a .prv taken apart, in batches, and late lines put where they belong; internal to the
 * Paraver format. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_BATCH_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_BATCH_H

#include "trace/format/paraver/paraver.h"

/* ==== batch =================================================================================== */

/* Half of a message: the send as the sender sees it, or the receive as the receiver does. */
struct lull_prv_half {
    int64_t time;
    uint64_t bytes;
    uint32_t location;
    int32_t peer, tag;
    uint8_t kind; /* LULL_EVENT_SEND or LULL_EVENT_RECV */
};

/* A batch holds lines taken apart, as far as that does not depend on the lines before. Any thread
 * fills batches; one thread uses them, in the order of the file. */

enum lull_prv_item_kind {
    LULL_PRV_NO_ITEM,
    LULL_PRV_STATE_ITEM,
    LULL_PRV_EVENTS_ITEM,
    LULL_PRV_MESSAGE_ITEM, /* a message: the next two halves of the batch */
    LULL_PRV_COMM_ITEM,    /* a communicator that is defined too late */
    LULL_PRV_ODD_ITEM,     /* a record of an unknown kind */
    LULL_PRV_BAD_ITEM      /* a bad line, always the last item: batch->what says what is wrong */
};

/* A line. */
struct lull_prv_item {
    int64_t time;
    uint32_t location; /* LULL_NONE: the line was not read so far; else the time is known, too */
    uint32_t line;     /* counted from the first line of the batch, which is 0 */
    uint8_t kind;      /* enum lull_prv_item_kind */
    uint8_t late;      /* how many of its times lay behind the end of the run */
    uint32_t state;    /* index into trace->states. A state that is named nowhere has the last
                          index, and the next pair has the state's number as its value */
    union {
        int64_t end; /* of a state */
        struct {
            uint32_t n_pairs, n_readings; /* of events: so many of the batch's next pairs and
                                             readings belong to the line */
        };
    };
};

struct lull_prv_pair {
    const struct lull_prv_type *type; /* NULL: the type is named nowhere */
    uint64_t value;
};

struct lull_prv_batch {
    struct lull_prv_item *items;
    struct lull_prv_pair
        *pairs; /* of events, except counters, as far as they are wanted; never NULL
                                    in a batch that was cleared */
    struct lull_counter_reading *readings; /* of counters; never NULL, neither */
    struct lull_prv_half *halves;
    size_t n_items, n_pairs, n_readings, n_halves;
    size_t item_capacity, pair_capacity, reading_capacity, half_capacity;
    uint64_t line; /* number of the batch's first line in the file, from 1 */
    uint32_t n_lines;
    /* Of the lines of threads: whether no time is before the one in front of it, and the first and
     * last time; INT64_MAX and INT64_MIN where there are none. */
    bool in_order;
    int64_t first_time, last_time;
    struct lull_error what; /* what is wrong with the bad item */
    bool no_memory;         /* memory ran out, and some lines are missing */
};

/* Empties a batch and keeps its memory; where there is none for its arrays, no_memory is set. */
void lull_prv_batch_clear(struct lull_prv_batch *batch);
void lull_prv_batch_free(struct lull_prv_batch *batch);

/* ==== order =================================================================================== */

/* Some tracers write a few lines of a thread behind later ones of it. Who uses batches in the order
 * of the file has them in order nevertheless, if each batch is used only when LULL_PRV_LATE_LINES
 * lines behind it are known: a line moves up to where it belongs, past so many lines of the file at
 * most. A line that is later stays where it is. */
enum { LULL_PRV_LATE_LINES = 1000 };

struct lull_prv_thread_order {
    int64_t latest;      /* time of its lines so far */
    uint64_t late, line; /* how many lines were late, and the number of the first of them */
};

/* The order of a file's lines so far. */
struct lull_prv_order {
    const struct lull_trace *trace;
    int64_t latest;
    struct lull_prv_thread_order *threads; /* [n_locations], malloc'd; NULL: all lines were in order
                                              of time so far */
};

void lull_prv_order_begin(struct lull_prv_order *order, const struct lull_trace *trace);

/* Takes the next batch of the file. False: it must be given to lull_prv_order_restore, too. */
static inline bool lull_prv_order_holds(struct lull_prv_order *order,
                                        const struct lull_prv_batch *batch)
{
    if (order->threads || !batch->in_order || batch->first_time < order->latest)
        return false;
    if (batch->last_time > order->latest)
        order->latest = batch->last_time;
    return true;
}

/* Moves late lines of the last of the batches to their places in it or the others, which are those
 * in front of it that were not used yet, in the order of the file. Fails for lack of memory. */
lull_status lull_prv_order_restore(struct lull_prv_order *order,
                                   struct lull_prv_batch *const *batches, size_t n_batches,
                                   struct lull_error *err);

/* Frees the memory of an order. `tell`: late lines are told as quirks. */
void lull_prv_order_end(struct lull_prv_order *order, bool tell);

#endif
