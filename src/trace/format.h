/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace formats: one constant struct per format, listed in format.c.
 *
 * A format is read, written or both: it provides a struct lull_reader, a function that opens a
 * struct lull_writer, or both. CONTRIBUTING.md says how to add one. */
#ifndef LULL_TRACE_FORMAT_H
#define LULL_TRACE_FORMAT_H

#include "trace/event.h"
#include "trace/trace.h"

/* ==== reader ================================================================================== */

/* How the runs of a format are recognised and read.
 *
 * Events are read in one of two ways:
 *  - pull, where each location can be read by itself: stream_open, stream_read, stream_close;
 *  - push, where one sequence holds all locations: drive() walks it once and delivers small blocks
 *    per location to the sink (trace/scan.h).
 * Readers need not repair nesting and need not check that time runs forward: the scan does both
 * for all formats. */

/* A file whose format is not known yet. */
struct lull_candidate {
    const char *path;
    bool directory;
    const uint8_t *head; /* the first bytes of a file, decompressed if it is a gzip file */
    size_t head_size;
    bool gzip;
};

/* The first bytes of a file, and what they are when inflated. */
enum { LULL_HEAD_SIZE = 4096 };
struct lull_head {
    uint8_t raw[LULL_HEAD_SIZE], inflated[LULL_HEAD_SIZE];
};
/* Reads the begin of a file into `head`, which the candidate points to. For formats whose run is a folder of files
 * that are recognised one by one. */
lull_status lull_candidate_read(const char *path, struct lull_head *head,
                                struct lull_candidate *ret_candidate, struct lull_error *err);

struct lull_sink;

struct lull_reader {
    /* The first three are for formats in lull_formats; a reader of made-up traces may lack them. */
    const char *expected;   /* "a Paraver trace": what the user is told if nothing fits */
    bool leaves_out_damage; /* a damaged location ends at the damage; false: the trace is refused */
    /* Whether the file is of this format, by its content rather than its name. */
    bool (*recognise)(const struct lull_candidate *candidate);
    /* Fills the definitions of a created trace whose path is set and calls lull_trace_complete. */
    lull_status (*open)(struct lull_trace *trace, struct lull_error *err);
    void (*close)(struct lull_trace *trace); /* releases format_data; also after a failed open */

    /* Pull; all NULL for push. `mask` has a bit for each kind of event that is wanted. Several
     * threads read streams of different locations at the same time. */
    lull_status (*stream_open)(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               void **ret_stream, struct lull_error *err);
    /* Gives up to `capacity` (>= 64) events; *ret_count is 0 at the end. Readings of counters live
     * until the next call. */
    lull_status (*stream_read)(void *stream, struct lull_event *events, size_t capacity,
                               size_t *ret_count, struct lull_error *err);
    void (*stream_close)(void *stream);
    /* Why the last stream_read gave no events, of a trace that was opened live; NULL for formats that
     * nobody writes while they are read. */
    enum lull_events_state (*stream_state)(const void *stream);
    uint32_t most_abreast; /* streams that can be open at a time; 0: any number */

    /* Push; NULL for pull. `unordered`: messages of a location may come out of time order. */
    lull_status (*drive)(const struct lull_trace *trace, uint64_t mask, bool unordered,
                         struct lull_sink *sink, struct lull_error *err);

    /* As lull_trace_living and lull_trace_now; NULL for formats whose runs have ended. */
    enum lull_living (*living)(const struct lull_trace *trace, uint32_t process);
    bool (*now)(const struct lull_trace *trace, int64_t *ret_now);

    /* As lull_trace_read_sums; NULL for formats that never set trace->has_sums. */
    lull_status (*read_sums)(const struct lull_trace *trace, uint32_t location,
                             struct lull_arena *arena, struct lull_sums *ret_sums,
                             struct lull_error *err);
    /* As lull_trace_read_sampling; NULL for formats without samples. */
    lull_status (*read_sampling)(const struct lull_trace *trace, uint32_t location,
                                 struct lull_sampling *ret_sampling, struct lull_error *err);
    /* As lull_trace_details_open and those behind it; NULL for formats whose samples have no more. */
    lull_status (*details_open)(const struct lull_trace *trace, uint32_t location,
                                struct lull_sample_details **ret_details, struct lull_error *err);
    lull_status (*detail_read)(struct lull_sample_details *details, uint64_t number,
                               struct lull_sample_detail *ret_detail, struct lull_error *err);
    void (*details_close)(struct lull_sample_details *details);
};

/* ==== writer ================================================================================== */

/* A writer receives a trace event by event and writes it in some format: for conversion, and for
 * runs that lull makes itself. The `writer_open` of a format opens it. */

struct lull_writer {
    void *state;
    /* True: the blocks must come in time order over all locations. False: the blocks of one
     * location must come in time order, those of different locations may come in any order. */
    bool global_order;
    lull_status (*block)(void *state, const struct lull_block *block, struct lull_error *err);
    /* Ends the writing and frees the state, in success and failure. `commit` false: the output is
     * dropped. Nothing appears under the final name before a successful commit. */
    lull_status (*close)(void *state, bool commit, struct lull_error *err);
};

/* ==== format ================================================================================== */

struct lull_format {
    const char *name;    /* "otf2": as in --to */
    const char *summary; /* "OTF2 archive (Score-P, EZTrace)" */

    const struct lull_reader *reader; /* NULL for formats that are only written */

    /* NULL for formats that are only read. `trace` gives the definitions and must outlive the
     * writer; `replace` allows an existing output to be replaced. */
    lull_status (*writer_open)(const struct lull_trace *trace, const char *path, bool replace,
                               struct lull_writer *ret_writer, struct lull_error *err);

    /* Instead of writer_open, for formats that hold more than events: writes the whole run. NULL for
     * all others. `progress` (0 .. 1) may be NULL. */
    lull_status (*write)(const struct lull_trace *trace, const char *path, bool replace,
                         void (*progress)(void *context, double share), void *progress_context,
                         struct lull_error *err);
};

/* All formats, NULL at the end; a run is offered to them in this order. */
extern const struct lull_format *const lull_formats[];

/* The format that a user asks for by name; NULL if it is unknown. */
const struct lull_format *lull_format_find(const char *name);

/* Our own format: of recorded and simulated runs, and of temporary copies for cursors. */
extern const struct lull_format lull_format_tape;

#endif
