/* How the runs of a format are recognised and read.
 *
 * Events are read in one of two ways:
 *  - pull, where each location can be read by itself: stream_open, stream_read, stream_close;
 *  - push, where one sequence holds all locations: drive() walks it once and hands over small
 *    blocks per location through the sink (trace/format/sink.h).
 * Readers need not repair nesting and need not check that time runs forward: the scan does both
 * for all formats. */
#ifndef LULL_TRACE_FORMAT_READER_H
#define LULL_TRACE_FORMAT_READER_H

#include "trace/sums.h"
#include "trace/trace.h"

/* A file whose format is not known yet. */
struct lull_candidate {
    const char *path;
    bool directory;
    const uint8_t *head; /* the first bytes of a file, decompressed if it is a gzip file */
    size_t head_size;
    bool gzip;
};

struct lull_sink;

struct lull_reader {
    /* These three belong to formats in lull_formats; a trace that is made may leave them out. */
    const char *expected;   /* "a Paraver trace": what the user is told if nothing fits */
    bool leaves_out_damage; /* of the location where it is; otherwise the trace is refused */
    /* Looks at the content rather than at names. */
    bool (*recognise)(const struct lull_candidate *candidate);
    /* Fills the definitions of a created trace whose path is set and calls lull_trace_complete. */
    lull_status (*open)(struct lull_trace *trace, struct lull_error *err);
    void (*close)(struct lull_trace *trace); /* releases format_data; also after a failed open */

    /* Pull; all NULL for push. `mask` has a bit for each kind of events that is wanted. Streams of
     * different locations are read at the same time by several threads. */
    lull_status (*stream_open)(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               void **ret_stream, struct lull_error *err);
    /* Up to `capacity` (>= 64) events; 0 at the end. Readings live until the next read. */
    lull_status (*stream_read)(void *stream, struct lull_event *events, size_t capacity,
                               size_t *ret_count, struct lull_error *err);
    void (*stream_close)(void *stream);
    uint32_t most_abreast; /* streams that can be open at a time; 0: as many as there are */

    /* Push; NULL for pull. `unordered`: messages of a location may come out of time order. */
    lull_status (*drive)(const struct lull_trace *trace, uint64_t mask, bool unordered,
                         struct lull_sink *sink, struct lull_error *err);

    /* As lull_trace_read_sums; NULL where trace->has_sums never is set. */
    lull_status (*read_sums)(const struct lull_trace *trace, uint32_t location,
                             struct lull_arena *arena, struct lull_sums *ret_sums,
                             struct lull_error *err);
};

#endif
