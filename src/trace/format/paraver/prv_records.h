/* Walking the records: whole lines, the fields that all records have, messages; internal. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_RECORDS_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_RECORDS_H

#include "trace/format/paraver/paraver.h"

#include <string.h>

/* ==== records ================================================================================= */

/* Half a message: what one of its two locations sees. */
struct lull_prv_half {
    int64_t time;
    uint64_t bytes;
    uint32_t location;
    int32_t peer, tag;
    uint8_t kind; /* LULL_EVENT_SEND or LULL_EVENT_RECV */
};

struct lull_event lull_prv_message_event(const struct lull_trace *trace,
                                         const struct lull_prv_half *half);

/* ---- all messages -------------------------------------------------------------------------- */

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

/* ==== batch =================================================================================== */

/* Lines taken apart: what of them does not depend on the lines before; internal to the Paraver
 * format. Batches are filled by any thread, and used in the order of the file by one. */

enum lull_prv_item_kind {
    LULL_PRV_NO_ITEM,
    LULL_PRV_STATE_ITEM,
    LULL_PRV_EVENTS_ITEM,
    LULL_PRV_MESSAGE_ITEM, /* the next two halves */
    LULL_PRV_COMM_ITEM,    /* a communicator that is defined too late */
    LULL_PRV_ODD_ITEM,     /* a record of an unknown kind */
    LULL_PRV_BAD_ITEM      /* the last one: batch->what is wrong with the line */
};

/* A line. */
struct lull_prv_item {
    int64_t time;
    uint32_t location; /* LULL_NONE: it was not read as far; else the time is known, too */
    uint32_t line;     /* in the batch, from 0 */
    uint8_t kind;      /* enum lull_prv_item_kind */
    uint8_t late;      /* how many times lay behind the end of the run */
    uint32_t state;    /* index into trace->states; the last, for those that are named nowhere: the
                          next pair has its number as value */
    union {
        int64_t end; /* of a state */
        struct {
            uint32_t n_pairs, n_readings; /* of events: the next ones of the batch */
        };
    };
};

struct lull_prv_pair {
    const struct lull_prv_type *type; /* NULL: named nowhere */
    uint64_t value;
};

struct lull_prv_batch {
    struct lull_prv_item *items;
    struct lull_prv_pair *pairs;   /* all but counters, as far as they are wanted */
    struct lull_reading *readings; /* all counters */
    struct lull_prv_half *halves;
    size_t n_items, n_pairs, n_readings, n_halves;
    size_t item_capacity, pair_capacity, reading_capacity, half_capacity;
    uint32_t n_lines;
    struct lull_error what;
    bool no_memory; /* some lines are missing */
};

/* What of the lines somebody wants. */
enum lull_prv_need { LULL_PRV_NEED_NOTHING, LULL_PRV_NEED_VALUE, LULL_PRV_NEED_READING };
struct lull_prv_wish {
    const struct lull_prv_types *types;
    const uint8_t *needs; /* per type, enum lull_prv_need */
    bool states, events;
    bool messages; /* as they stand in the file */
    bool odd;      /* whatever else there is */
};

/* ==== pipe ==================================================================================== */

/* The lines of a file through several threads; internal to the Paraver format.
 *
 * The calling thread uses batches in the order of the file. The others take pieces of the file
 * apart, ahead of it, and so does the calling thread while the next batch is not there. Memory: a
 * few pieces per thread. */

/* `line`: the number of the batch's first line in the file, from 1. `share` of the file that has
 * been read. Ends the reading when it fails; a bad item is for it to tell. */
typedef lull_status (*lull_prv_take)(void *context, const struct lull_prv_batch *batch,
                                     uint64_t line, double share, struct lull_error *err);

/* `again`: the file has been or will be read by another pass, which counts the quirks. */
lull_status lull_prv_pipe_run(const struct lull_trace *trace, bool again, unsigned workers,
                              const struct lull_prv_wish *wish, lull_prv_take take, void *context,
                              struct lull_error *err);

/* "<path>: line <n>: <what>", of a batch that ends with a bad item; or no memory. */
lull_status lull_prv_bad_batch(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                               uint64_t line, struct lull_error *err);

/* Counts the times of the item that lay behind the end of the run. */
void lull_prv_tell_late(const struct lull_trace *trace, const struct lull_prv_item *item,
                        uint64_t line);

#endif
