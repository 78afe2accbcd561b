/* What a trace format provides: one constant struct per format, listed in format.c.
 *
 * To add a format: write trace/format/NAME.c with a `const struct lull_format lull_format_NAME`,
 * add its address to the array in format.c, a page to docs/formats, tests and a fuzz target.
 *
 * Reading is done in one of two ways:
 *  - pull, where each location can be read by itself: stream_open / stream_read / stream_close;
 *  - push, where one sequence holds all locations: drive() walks it once and hands over small
 *    blocks per location through the sink.
 * Readers need not repair nesting and need not check that time runs forward: the scan does both
 * for all formats. */
#ifndef LULL_TRACE_FORMAT_H
#define LULL_TRACE_FORMAT_H

#include "trace/scan.h"
#include "trace/sums.h"
#include "trace/trace.h"

struct lull_probe {
    const char *path;
    bool directory;
    const uint8_t *head; /* the first bytes of a file, decompressed if it is a gzip file */
    size_t head_size;
    bool gzip;
};

/* Where a push format delivers. `events` must stay valid during the call only. */
struct lull_sink;
lull_status lull_sink_block(struct lull_sink *sink, uint32_t location,
                            const struct lull_event *events, uint32_t count,
                            struct lull_error *err);
/* Reports progress (0 .. 1); call it every megabyte or so. */
void lull_sink_progress(struct lull_sink *sink, double share);

struct lull_stream; /* each format's own */

/* Receives a trace event by event, for conversion and for simulated runs. */
struct lull_writer {
    void *state;
    /* Blocks of one location in time order; different locations in any interleaving, unless the
     * format asks for global_order: then over all locations in time order. */
    lull_status (*block)(void *state, const struct lull_block *block, struct lull_error *err);
    /* Ends the writing and frees the state, in success and failure. `commit` false: the output is
     * dropped. Nothing appears under the final name before a successful commit. */
    lull_status (*close)(void *state, bool commit, struct lull_error *err);
};

struct lull_format {
    const char *name;    /* "otf2": as in --to */
    const char *summary; /* "OTF2 archive (Score-P, EZTrace)" */

    /* Reading; all NULL for formats that are only written. */
    bool (*recognise)(const struct lull_probe *probe);
    /* Fills the definitions of a created trace whose path is set and calls lull_trace_complete. */
    lull_status (*open)(struct lull_trace *trace, struct lull_error *err);
    void (*close)(struct lull_trace *trace); /* releases format_data; also after a failed open */

    lull_status (*stream_open)(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               struct lull_stream **ret_stream, struct lull_error *err);
    /* Up to `capacity` (>= 64) events; 0 at the end. Readings live until the next read. */
    lull_status (*stream_read)(struct lull_stream *stream, struct lull_event *events,
                               size_t capacity, size_t *ret_count, struct lull_error *err);
    void (*stream_close)(struct lull_stream *stream);

    lull_status (*drive)(const struct lull_trace *trace, uint64_t mask, bool unordered,
                         struct lull_sink *sink, struct lull_error *err);

    /* As lull_trace_read_sums; NULL where trace->has_sums never is set. */
    lull_status (*read_sums)(const struct lull_trace *trace, uint32_t location,
                             struct lull_arena *arena, struct lull_sums *ret_sums,
                             struct lull_error *err);

    /* Writing; NULL for formats that are only read. `trace` gives the definitions and must
     * outlive the writer; `replace` allows an existing output to be replaced. */
    lull_status (*writer_open)(const struct lull_trace *trace, const char *path, bool replace,
                               struct lull_writer *ret_writer, struct lull_error *err);
    bool global_order;
};

/* All formats, NULL at the end; order is the order of recognition. */
extern const struct lull_format *const lull_formats[];
const struct lull_format *lull_format_find(const char *name); /* NULL if unknown */

/* Writes all events of `trace` to `path` in another format. `progress` may be NULL. */
lull_status lull_convert(const struct lull_trace *trace, const char *path,
                         const struct lull_format *format, bool replace,
                         void (*progress)(void *context, double share), void *progress_context,
                         struct lull_error *err);

#endif
