/* The state of a writer of Chrome traces. chrome.c opens and closes it and tells events apart,
 * parts.c writes what all events are made of, messages.c and counters.c the events that need
 * memory. */
#ifndef LULL_TRACE_FORMAT_CHROME_WRITE_WRITER_H
#define LULL_TRACE_FORMAT_CHROME_WRITE_WRITER_H

#include "base/hash.h"
#include "base/json/json.h"
#include "base/output_file.h"
#include "trace/format/writer.h"

struct lull_chrome_open_region {
    int64_t begin;
    uint32_t region;
};

struct lull_chrome_counter_state {
    int64_t since;  /* time of the last reading that was used */
    uint64_t count; /* read since then */
};

struct lull_chrome_track {
    struct lull_chrome_open_region *open;
    size_t depth, capacity;
    struct lull_chrome_counter_state *counters; /* NULL before the first reading */
    bool flushed;                               /* the track of flushes has been named */
};

struct lull_chrome_channel { /* without padding: a key */
    uint32_t comm, source, destination;
    int32_t tag;
};

/* How many messages have passed through a channel. */
struct lull_chrome_passed {
    uint64_t sent, received;
};

struct lull_chrome {
    const struct lull_trace *trace;
    struct lull_output *output;
    FILE *file;
    int failure; /* of writing to it: errno */
    struct lull_json json;
    struct lull_chrome_track *tracks; /* per location */
    struct lull_hash channels;        /* -> passed */
    struct lull_chrome_passed *passed;
    size_t passed_capacity;
};

/* ---- parts.c --------------------------------------------------------------------------------- */

uint32_t lull_chrome_process_of(const struct lull_chrome *chrome, uint32_t location);
uint32_t lull_chrome_thread_of(const struct lull_chrome *chrome, uint32_t location);

/* Spans that may cross those of the program have tracks of their own. */
enum lull_chrome_track_kind { LULL_CHROME_STATES = 1, LULL_CHROME_FLUSHES };
uint32_t lull_chrome_track_of(const struct lull_chrome *chrome, uint32_t location,
                              enum lull_chrome_track_kind track);

void lull_chrome_write_text(struct lull_chrome *chrome, const char *key, const char *text);
void lull_chrome_write_count(struct lull_chrome *chrome, const char *key, uint64_t count);
void lull_chrome_write_time(struct lull_chrome *chrome, const char *key, int64_t ns);

/* An event is an object of its own line; what is written between these two belongs to it. */
void lull_chrome_begin_event(struct lull_chrome *chrome, const char *phase, const char *name,
                             uint32_t location, uint32_t thread);
void lull_chrome_end_event(struct lull_chrome *chrome);

/* Names and places a process or a thread in the viewer. */
void lull_chrome_write_name(struct lull_chrome *chrome, const char *what, uint32_t location,
                            uint32_t thread, const char *name, const char *more);
void lull_chrome_write_sort_index(struct lull_chrome *chrome, const char *what, uint32_t location,
                                  uint32_t thread, uint32_t index);

struct lull_chrome_span {
    const char *name, *category;
    int64_t begin, end;
    const char *site; /* NULL: none */
};
void lull_chrome_write_span(struct lull_chrome *chrome, uint32_t location, uint32_t thread,
                            const struct lull_chrome_span *span);
void lull_chrome_write_region(struct lull_chrome *chrome, uint32_t location, uint32_t index,
                              int64_t begin, int64_t end);

/* ---- messages.c ------------------------------------------------------------------------------ */

/* One end of an arrow from a send to its receive. */
void lull_chrome_write_arrow(struct lull_chrome *chrome, uint32_t location,
                             const struct lull_event *event);

/* ---- counters.c ------------------------------------------------------------------------------ */

lull_status lull_chrome_write_readings(struct lull_chrome *chrome, uint32_t location,
                                       const struct lull_event *event, struct lull_error *err);

#endif
