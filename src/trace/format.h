/* The trace formats: one constant struct per format, listed in format.c.
 *
 * A format is read, written or both; what it provides for that is in trace/format/reader.h and
 * trace/format/writer.h. CONTRIBUTING.md says how to add one. */
#ifndef LULL_TRACE_FORMAT_H
#define LULL_TRACE_FORMAT_H

#include "trace/format/reader.h"
#include "trace/format/writer.h"

struct lull_format {
    const char *name;    /* "otf2": as in --to */
    const char *summary; /* "OTF2 archive (Score-P, EZTrace)" */

    const struct lull_reader *reader; /* NULL for formats that are only written */

    /* NULL for formats that are only read. `trace` gives the definitions and must outlive the
     * writer; `replace` allows an existing output to be replaced. */
    lull_status (*writer_open)(const struct lull_trace *trace, const char *path, bool replace,
                               struct lull_writer *ret_writer, struct lull_error *err);
};

/* All formats, NULL at the end; order is the order of recognition. */
extern const struct lull_format *const lull_formats[];

/* The format that a user asks for by name; NULL if it is unknown. */
const struct lull_format *lull_format_find(const char *name);

/* "tape, otf2, paraver": those that this build can write. */
const char *lull_formats_writable(struct lull_arena *arena);

/* Our own: of recorded and simulated runs, and of temporary copies. */
extern const struct lull_format lull_format_tape;

#endif
