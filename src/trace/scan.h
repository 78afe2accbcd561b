/* SPDX-License-Identifier: BSD-3-Clause */
/* Visiting the events of a trace: a scan of everything, or a cursor on one location.
 *
 * What both guarantee, for every format:
 *  - The events of one location come in order of non-decreasing time (a STATE, CALL or FLUSH
 *    counts at its begin). A file in which time runs backwards is an error, and is not reordered.
 *    In formats that leave out damage (trace/format.h) the location ends there instead, with
 *    MEASURE_OFF.
 *  - ENTER and LEAVE nest: each LEAVE closes the innermost open ENTER and names the same region.
 *    What is wrong in a file is repaired and counted as a quirk: a LEAVE without ENTER is dropped,
 *    a LEAVE that skips open regions closes them at the same time, and regions that are open at the
 *    end of a location are closed at the end of the trace.
 *  - A CALL holds no ENTER, LEAVE or CALL; message and collective events that belong to it follow
 *    it, with times inside it.
 *  - COUNTERS have the time of the ENTER or LEAVE that they were read with, and stand behind or
 *    before it, as in the file; a reading at time t describes the time up to t.
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

/* A visitor keeps its state per location (an array of trace->n_locations) or per worker.
 *  - The calls for one location never overlap and come in order: begin, block ..., end.
 *  - Calls for different locations may overlap, on `workers` threads; `worker` < workers.
 *  - Skew: a worker stays with the process that it read last, begins the next one when it has
 *    nothing to do there, and helps with another only when all are begun. Within a process the
 *    location that lags most in time goes next. While a block of a location is being visited, the
 *    locations of the same process that are ahead of it in time take no more than four blocks each.
 * A status other than LULL_OK ends the scan and is returned from it. begin and end may be NULL. */
struct lull_visitor {
    void *context;
    lull_status (*begin)(void *context, unsigned worker, uint32_t location, struct lull_error *err);
    lull_status (*block)(void *context, unsigned worker, const struct lull_block *block,
                         struct lull_error *err);
    lull_status (*end)(void *context, unsigned worker, uint32_t location, struct lull_error *err);
};

/* Whether a process is one of the range. */
bool lull_in_range(struct lull_process_range range, uint32_t process);

struct lull_scan_options {
    uint64_t mask;        /* kinds wanted; 0: LULL_MASK_ALL */
    unsigned workers;     /* threads; 0: lull_worker_count(). Of a format that is one sequence one
                             worker visits all events, and the other threads parse the file. */
    uint32_t application; /* only the locations of this application; LULL_NONE: all */
    struct lull_process_range range; /* only the locations of these processes */
    bool masters_only;               /* only the first thread of each process */
    bool unordered; /* messages may come out of time order, which saves sorting them: enough for a
                       visitor that only counts */
    /* Called now and then from one thread at a time with the share done, 0 .. 1; may be NULL. */
    void (*progress)(void *context, double share);
    void *progress_context;
};

lull_status lull_scan(const struct lull_trace *trace, const struct lull_scan_options *options,
                      const struct lull_visitor *visitor, struct lull_error *err);

/* The number of workers a scan with these options will use at most, for sizing per-worker state. */
unsigned lull_scan_workers(const struct lull_trace *trace, const struct lull_scan_options *options);

/* ---- abreast --------------------------------------------------------------------------------- */

/* A scan in which all locations of a process belong to one worker from begin to end, and a worker
 * reads its locations abreast: the one that lags most in time goes next. For analyses in which the
 * threads of a run wait for each other. Formats that hold all locations in one sequence are visited
 * by one worker, in that sequence. Memory: a stream for each location. */
struct lull_abreast {
    struct lull_visitor visitor;
    /* Whether the next block of a location may come now. When no location of a worker is welcome,
     * `rest` is called, and then they are asked again. NULL: always welcome. */
    bool (*welcome)(void *context, unsigned worker, uint32_t location);
    lull_status (*rest)(void *context, unsigned worker, struct lull_error *err);
    /* All locations of the worker have ended. May be NULL. */
    lull_status (*finish)(void *context, unsigned worker, struct lull_error *err);
    /* The scan has failed: calls of `rest` and `finish` that still run must return. May be NULL. */
    void (*stop)(void *context);
};

/* The number of the worker, below `workers`, that has the locations of a process of the range. */
unsigned lull_scan_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process);

/* As lull_scan; uses exactly lull_scan_workers() threads. */
lull_status lull_scan_abreast(const struct lull_trace *trace,
                              const struct lull_scan_options *options,
                              const struct lull_abreast *abreast, struct lull_error *err);

/* How many locations can be read abreast; UINT32_MAX: any number. */
uint32_t lull_scan_most_abreast(const struct lull_trace *trace);

/* ---- cursor ---------------------------------------------------------------------------------- */

/* A cursor pulls the events of one location. Thousands may be open side by side; each is used by
 * one thread at a time. Where the format stores all locations in one sequence (Paraver), the
 * first cursor of a trace converts the whole trace into a temporary tape in $TMPDIR, which is
 * removed when the trace is closed. Later scans and cursors read that copy, location by location. */
struct lull_cursor;
/* How many events a cursor hands out at once, at most: few where thousands may be open. */
uint32_t lull_cursor_block(const struct lull_trace *trace);
lull_status lull_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                             struct lull_cursor **ret_cursor, struct lull_error *err);
/* Makes the temporary tape of the locations of a range of processes now, before other scans and cursors
 * of them. All members of a team that share a relay (below) call it, each for its own range. Nothing
 * happens for formats that can be read location by location. Where it fails in one member, the others
 * may wait for that one until the relay tells them. */
lull_status lull_cursors_prepare(const struct lull_trace *trace, struct lull_process_range range,
                                 struct lull_error *err);
/* ret_block->count == 0: the end; of a trace that was opened live, lull_cursor_state says why, and
 * after LULL_EVENTS_WAIT the next call looks again. */
lull_status lull_cursor_next(struct lull_cursor *cursor, struct lull_block *ret_block,
                             struct lull_error *err);
enum lull_events_state lull_cursor_state(const struct lull_cursor *cursor);
void lull_cursor_close(struct lull_cursor *cursor); /* NULL is allowed */

/* How many times the events of a location have been opened so far, by scans and cursors, those of a
 * temporary tape included: what a command reads twice shows here. A walk through all locations of a
 * sequence opens each of them. */
uint64_t lull_trace_openings(const struct lull_trace *trace);

/* ==== relay =================================================================================== */

/* A relay: how several members of a team read a run whose events are one sequence (Paraver). The
 * first member walks the file, and each gets the events of its own processes, as if it had read
 * them itself. The trace room does not know how the members reach each other: the caller provides
 * that. */

struct lull_relay {
    uint32_t index, size; /* the number of this member, 0 is the first; how many there are */
    void *context;
    /* The member that has a process of the run. */
    uint32_t (*owner)(void *context, uint32_t process);
    /* Called by every member when a scan begins, and when it has ended, well or not. */
    void (*begin)(void *context);
    void (*end)(void *context);
    /* Called by the first member: sends bytes to another one, which gets them in this order. The
     * bytes are copied. Waits while the other has not taken what was put before. */
    lull_status (*put)(void *context, uint32_t to, const void *bytes, size_t size,
                       struct lull_error *err);
    /* Called by the others: waits for what the first puts next. The bytes are aligned to 8 and live
     * until the next call. Both put and get fail where another member has failed. */
    lull_status (*get)(void *context, const void **ret_bytes, size_t *ret_size,
                       struct lull_error *err);
};

/* From now on a scan of a range of processes is done by all members together: each of them must
 * make the same scans, in the same order. A scan of the whole run is still done by one member
 * alone. `relay` must outlive the trace's scans. Nothing happens for formats that can be read
 * location by location. */
void lull_trace_relay(const struct lull_trace *trace, const struct lull_relay *relay);
/* From now on scans and cursors end each location behind its time of `ends` ([n_locations], ns;
 * INT64_MAX: at its own end), as if nothing more had been recorded. A second cut leaves what both
 * leave. Not for formats that are one sequence. */
void lull_trace_cut(struct lull_trace *trace, const int64_t *ends);
/* Whether the format holds the events of all locations in one sequence (push). */
bool lull_trace_is_sequence(const struct lull_trace *trace);

/* ==== sink ==================================================================================== */

/* A sink: where the reader of a format that is one sequence delivers events. The scan passes it to
 * drive() of struct lull_reader (trace/format.h). */

struct lull_sink;

/* Delivers events of one location, in its order; `events` must stay valid during the call only. A
 * reader returns when this fails. */
lull_status lull_sink_block(struct lull_sink *sink, uint32_t location,
                            const struct lull_event *events, uint32_t count,
                            struct lull_error *err);

/* Reports which share of the file has been read, 0 .. 1; call it every megabyte or so. */
void lull_sink_progress(struct lull_sink *sink, double share);

/* How many threads may work for this reading, >= 1; events are delivered by the calling one. */
unsigned lull_sink_workers(const struct lull_sink *sink);

#endif
