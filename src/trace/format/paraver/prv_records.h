/* From the lines of a .prv to items: records taken apart in batches by several threads, and all
 * messages of a file in order of time; internal to the Paraver format. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_RECORDS_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_RECORDS_H

#include "trace/format/paraver/paraver.h"

#include <string.h>

/* ==== messages ================================================================================ */

/* Half of a message: the send as the sender sees it, or the receive as the receiver does. */
struct lull_prv_half {
    int64_t time;
    uint64_t bytes;
    uint32_t location;
    int32_t peer, tag;
    uint8_t kind; /* LULL_EVENT_SEND or LULL_EVENT_RECV */
};

struct lull_event lull_prv_message_event(const struct lull_trace *trace,
                                         const struct lull_prv_half *half);

/* All messages of a file. */
struct lull_prv_messages {
    struct lull_prv_location_messages {
        struct lull_prv_half *halves; /* malloc'd; sorted by time, receives first */
        size_t n, capacity;
    } * of_location; /* [n_locations], malloc'd */
    uint32_t n_locations;
};
lull_status lull_prv_messages_read(const struct lull_trace *trace, unsigned workers,
                                   struct lull_prv_messages *messages, struct lull_error *err);
void lull_prv_messages_free(struct lull_prv_messages *messages);

/* ==== batches ================================================================================= */

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
    uint32_t line;     /* in the batch, from 0 */
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
    struct lull_prv_pair *pairs; /* of events, except counters, as far as they are wanted */
    struct lull_counter_reading *readings; /* of counters */
    struct lull_prv_half *halves;
    size_t n_items, n_pairs, n_readings, n_halves;
    size_t item_capacity, pair_capacity, reading_capacity, half_capacity;
    uint32_t n_lines;
    struct lull_error what; /* what is wrong with the bad item */
    bool no_memory;         /* memory ran out, and some lines are missing */
};

/* What is wanted of the lines. */
enum lull_prv_need { LULL_PRV_NEED_NOTHING, LULL_PRV_NEED_VALUE, LULL_PRV_NEED_READING };
struct lull_prv_wish {
    const struct lull_prv_types *types;
    const uint8_t *needs; /* per type, enum lull_prv_need */
    bool states, events;
    bool messages; /* in the order of the file */
    bool odd;      /* COMM and ODD items */
};

/* ==== pipe ==================================================================================== */

/* A pipe leads the lines of a file through several threads. The calling thread uses the batches in
 * the order of the file. The other threads fill batches ahead of it, and so does the calling thread
 * while the next batch is not there yet. Memory: a few pieces of the file per thread. */

/* Takes a batch. `line` is the number of its first line in the file, from 1; `share` (0 .. 1) of
 * the file has been read. A failure ends the reading. Bad items are left to this function to
 * report. */
typedef lull_status (*lull_prv_take)(void *context, const struct lull_prv_batch *batch,
                                     uint64_t line, double share, struct lull_error *err);

/* Reads the whole file. `again`: another pass over the file counts the quirks, this one does
 * not. */
lull_status lull_prv_pipe_run(const struct lull_trace *trace, bool again, unsigned workers,
                              const struct lull_prv_wish *wish, lull_prv_take take, void *context,
                              struct lull_error *err);

/* Fails with "<path>: line <n>: <what>" for a batch that ends with a bad item, or for no memory. */
lull_status lull_prv_bad_batch(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                               uint64_t line, struct lull_error *err);

/* Counts the times of the item that lay behind the end of the run as quirks. */
void lull_prv_tell_late(const struct lull_trace *trace, const struct lull_prv_item *item,
                        uint64_t line);

#endif
