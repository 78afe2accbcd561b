/* Lines taken apart: what of them does not depend on the lines before; internal to the Paraver
 * format. Batches are filled by any thread, and used in the order of the file by one. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_BATCH_H
#define LULL_TRACE_FORMAT_PARAVER_READ_BATCH_H

#include "trace/format/paraver/read/records.h"

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

void lull_prv_batch_clear(struct lull_prv_batch *batch);
void lull_prv_batch_free(struct lull_prv_batch *batch);

/* What of the lines somebody wants. */
enum lull_prv_need { LULL_PRV_NEED_NOTHING, LULL_PRV_NEED_VALUE, LULL_PRV_NEED_READING };
struct lull_prv_wish {
    const struct lull_prv_types *types;
    const uint8_t *needs; /* per type, enum lull_prv_need */
    bool states, events;
    bool messages; /* as they stand in the file */
    bool odd;      /* whatever else there is */
};

/* Takes lines apart, from *at to `end`, no more than `most`; *at moves behind the last of them.
 * Ends early, with *at at `end`, behind a line that is wrong. */
void lull_prv_parse(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                    const uint8_t **at, const uint8_t *end, uint32_t most,
                    struct lull_prv_batch *batch);

#endif
