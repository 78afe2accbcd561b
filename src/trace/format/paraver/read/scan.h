/* The state of a scan, and the buffers of its locations; internal to the Paraver format.
 *
 * Each location has one small buffer, events from its front, readings from its back, which is
 * handed over when they meet. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_SCAN_H
#define LULL_TRACE_FORMAT_PARAVER_READ_SCAN_H

#include "trace/format/paraver/read/batch.h"

#include <string.h>

struct lull_prv_open {
    const struct lull_prv_type *type;
    uint32_t region;
};

/* The state of one location. */
struct lull_prv_track {
    uint8_t *buffer; /* malloc'd at the first event */
    uint32_t n_events, n_readings;
    struct lull_prv_open *open;
    size_t open_capacity;
    uint32_t n_open;
    int64_t counted_time; /* of the last readings */
    uint64_t *counted;    /* a bit for each counter that has been read at that time */
    bool in_collective;
    uint32_t collective_open;                          /* index of its call in open[] */
    struct lull_event collective;                      /* what its end will say */
    const struct lull_prv_half *next_half, *last_half; /* its messages; NULL, NULL: none */
};

struct lull_prv_scan {
    const struct lull_trace *trace;
    const struct lull_paraver *paraver;
    struct lull_sink *sink;
    uint64_t mask;
    bool unordered;
    struct lull_prv_messages messages; /* in time order, unless `unordered` */
    uint8_t *needs;                    /* per type, enum lull_prv_need */
    struct lull_prv_wish wish;
    struct lull_prv_track *tracks;
    size_t buffer_size;
    size_t counted_words;
    int64_t last_time;
    struct lull_reading *readings; /* of the line; as many as there are counters */
    uint32_t n_readings;
    /* the line at hand */
    uint64_t line; /* its number, from 1 */
    struct lull_prv_track *track;
    uint32_t location;
    int64_t time;
};

lull_status lull_prv_hand_over(struct lull_prv_scan *scan, uint32_t location,
                               struct lull_error *err);
lull_status lull_prv_no_memory(const struct lull_prv_scan *scan, struct lull_error *err);

/* Room for an event and its readings in the buffer of the location at hand. */
static inline lull_status lull_prv_make_room(struct lull_prv_scan *scan, size_t readings,
                                             struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    size_t used = (track->n_events + 1) * sizeof(struct lull_event) +
                  (track->n_readings + readings) * sizeof(struct lull_reading);
    return used <= scan->buffer_size ? LULL_OK : lull_prv_hand_over(scan, scan->location, err);
}

static inline lull_status lull_prv_put(struct lull_prv_scan *scan, const struct lull_event *event,
                                       struct lull_error *err)
{
    if (!(scan->mask >> event->kind & 1))
        return LULL_OK;
    lull_status status = lull_prv_make_room(scan, 0, err);
    if (status != LULL_OK)
        return status;
    struct lull_prv_track *track = scan->track;
    memcpy(track->buffer + track->n_events++ * sizeof *event, event, sizeof *event);
    return LULL_OK;
}

static inline lull_status lull_prv_put_simple(struct lull_prv_scan *scan, uint8_t kind, uint32_t id,
                                              struct lull_error *err)
{
    return lull_prv_put(scan, &(struct lull_event){.time = scan->time, .kind = kind, .id = id},
                        err);
}

/* Pairs of the line at hand but counters, as events. */
lull_status lull_prv_put_pairs(struct lull_prv_scan *scan, const struct lull_prv_pair *pairs,
                               size_t n_pairs, struct lull_error *err);

#endif
