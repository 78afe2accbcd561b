/* Visiting the events of a trace: a scan of everything, or a cursor on one location.
 *
 * What both guarantee, for every format:
 *  - The events of one location come in order of non-decreasing time (a STATE, CALL or FLUSH
 *    counts at its begin). A file in which time runs backwards is an error, not a reordering. Of
 *    formats that leave out damage (trace/format.h), the location ends there instead, with
 *    MEASURE_OFF.
 *  - ENTER and LEAVE nest: each LEAVE closes the innermost open ENTER and names the same region.
 *    What a file lacks is put right and counted as a quirk: a LEAVE without ENTER is dropped, a
 *    LEAVE that skips open regions closes them at the same time, and what is open at the end of a
 *    location is closed at the end of the trace.
 *  - A CALL holds no ENTER, LEAVE or CALL; message and collective events that belong to it follow
 *    it, with times inside it.
 *  - COUNTERS follow the ENTER or LEAVE they were read with, at the same time, or stand before it
 *    as the file has it; a reading at time t describes the time up to t.
 *  - Events outside the mask are not delivered, and formats skip their decoding where they can.
 *
 * Blocks and what they point to are valid only during the visit, or until the next call on the
 * cursor. Memory: a scan holds one block per worker (and for formats that store all locations in
 * one sequence about 1 KiB per location), a cursor holds one block. */
#ifndef LULL_TRACE_SCAN_H
#define LULL_TRACE_SCAN_H

#include "base/error.h"
#include "trace/event.h"
#include "trace/trace.h"

#include <stddef.h>

/* ==== scan ==================================================================================== */

struct lull_block {
    uint32_t location;
    uint32_t count;
    const struct lull_event *events;
};

/* A visitor keeps its state per location (an array of trace->n_locations) or per worker.
 *  - The calls for one location never overlap and come in order: begin, block ..., end.
 *  - Calls for different locations may overlap, on `workers` threads; `worker` < workers.
 *  - Skew: a worker stays with the process that it read last, begins the next one when it has
 *    nothing to do there, and helps with another only when all are begun. Within a process the
 *    location that lags most in time goes next; a thread of a process takes no more than four
 * blocks while a block of another, earlier in time, is being visited. A status other than LULL_OK
 * ends the scan and is returned from it. begin and end may be NULL. */
struct lull_visitor {
    void *context;
    lull_status (*begin)(void *context, unsigned worker, uint32_t location, struct lull_error *err);
    lull_status (*block)(void *context, unsigned worker, const struct lull_block *block,
                         struct lull_error *err);
    lull_status (*end)(void *context, unsigned worker, uint32_t location, struct lull_error *err);
};

/* Neighbouring processes, [first, end) by index; end 0: all. None where first is end. */
struct lull_process_range {
    uint32_t first, end;
};
bool lull_in_range(struct lull_process_range range, uint32_t process);

struct lull_scan_options {
    uint64_t mask;        /* kinds wanted; 0: LULL_MASK_ALL */
    unsigned workers;     /* threads; 0: lull_worker_count(). Where one worker visits all, others
                             take the file apart for it. */
    uint32_t application; /* only the locations of this application; LULL_NONE: all */
    struct lull_process_range range; /* only the locations of these processes */
    bool masters_only;               /* only the first thread of each process */
    bool unordered; /* messages may come out of order (counting): saves sorting them */
    /* Called now and then from one thread at a time with the share done, 0 .. 1; may be NULL. */
    void (*progress)(void *context, double share);
    void *progress_context;
};

lull_status lull_scan(const struct lull_trace *trace, const struct lull_scan_options *options,
                      const struct lull_visitor *visitor, struct lull_error *err);

/* The number of workers a scan with these options will use at most, for sizing per-worker state. */
unsigned lull_scan_workers(const struct lull_trace *trace, const struct lull_scan_options *options);

/* ---- abreast
 * -------------------------------------------------------------------------------------
 *
 * A scan in which all locations of a process belong to one worker from begin to end, and a worker
 * reads its locations abreast: the one that lags most in time goes next. For analyses in which the
 * threads of a run wait for each other. Formats that hold all locations in one sequence are visited
 * by one worker, in that sequence. Memory: a stream for each location. */
struct lull_abreast {
    struct lull_visitor visitor;
    /* Whether a block of a location may come now. When none of a worker's may, `rest` is called,
     * and they are asked again. NULL: always. */
    bool (*welcome)(void *context, unsigned worker, uint32_t location);
    lull_status (*rest)(void *context, unsigned worker, struct lull_error *err);
    /* All locations of the worker have ended. May be NULL. */
    lull_status (*finish)(void *context, unsigned worker, struct lull_error *err);
    /* The scan has failed: whoever rests or finishes is to return. May be NULL. */
    void (*stop)(void *context);
};

/* Which of `workers` has the locations of a process of the range. */
unsigned lull_scan_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process);

/* As lull_scan; uses exactly lull_scan_workers() threads. */
lull_status lull_scan_abreast(const struct lull_trace *trace,
                              const struct lull_scan_options *options,
                              const struct lull_abreast *abreast, struct lull_error *err);

/* How many locations can be read abreast; UINT32_MAX: any number. */
uint32_t lull_scan_most_abreast(const struct lull_trace *trace);

/* A cursor pulls the events of one location. Thousands may be open side by side; each is used by
 * one thread at a time. Where the format stores all locations in one sequence (Paraver), the
 * first cursor of a trace converts it once into a temporary tape in $TMPDIR, removed when the
 * trace is closed; what has been prepared is read from there. */
struct lull_cursor;
/* How many events a cursor hands out at once, at most: few where thousands may be open. */
uint32_t lull_cursor_block(const struct lull_trace *trace);
lull_status lull_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                             struct lull_cursor **ret_cursor, struct lull_error *err);
/* By all who share the reading of a sequence (relay.h), before they open cursors on the locations
 * of their processes: each gets a copy of these alone. Nothing happens otherwise. Where it fails on
 * one, others may wait for it, until they hear of that. */
lull_status lull_cursors_prepare(const struct lull_trace *trace, struct lull_process_range range,
                                 struct lull_error *err);
/* ret_block->count == 0: the end. */
lull_status lull_cursor_next(struct lull_cursor *cursor, struct lull_block *ret_block,
                             struct lull_error *err);
void lull_cursor_close(struct lull_cursor *cursor); /* NULL is allowed */

/* ==== relay =================================================================================== */

/* Several processes read a run whose events are one sequence (Paraver): the first walks the file,
 * and each gets the events of its processes, as if it had read them itself. How they reach each
 * other, the trace room does not know. */

struct lull_relay {
    uint32_t index, size; /* of this process, of all; 0 is the first */
    void *context;
    /* Who has a process of the run. */
    uint32_t (*owner)(void *context, uint32_t process);
    /* A scan begins, or has ended, well or not: on all. */
    void (*begin)(void *context);
    void (*end)(void *context);
    /* By the first: bytes for another, which are copied, in their order. Waits where the other has
     * not taken what it has got before. */
    lull_status (*put)(void *context, uint32_t to, const void *bytes, size_t size,
                       struct lull_error *err);
    /* By the others: waits for what the first puts next. The bytes are aligned to 8 and live until
     * the next call. Both fail where another process has failed. */
    lull_status (*get)(void *context, const void **ret_bytes, size_t *ret_size,
                       struct lull_error *err);
};

/* From now on, a scan of a range of processes is one of all who share the relay, in the same order;
 * one of the whole run is still one's own. `relay` outlives the trace's scans. Nothing happens
 * where locations can be read one by one. */
void lull_trace_relay(const struct lull_trace *trace, const struct lull_relay *relay);
/* Whether the events of a trace are one sequence. */
bool lull_trace_is_sequence(const struct lull_trace *trace);

/* ==== sink ==================================================================================== */

/* Where a format that is read in one sequence delivers: the scan's side of struct lull_reader's
 * drive(). */

struct lull_sink;

/* Events of one location, in its order; `events` must stay valid during the call only. Ends the
 * reading when it fails. */
lull_status lull_sink_block(struct lull_sink *sink, uint32_t location,
                            const struct lull_event *events, uint32_t count,
                            struct lull_error *err);

/* Reports progress (0 .. 1); call it every megabyte or so. */
void lull_sink_progress(struct lull_sink *sink, double share);

/* How many threads may work for this reading, >= 1; events are delivered by the calling one. */
unsigned lull_sink_workers(const struct lull_sink *sink);

#endif
