/* The state of a writer; internal to the Paraver format.
 *
 * paraver_lines     pairs and states of a location to lines in the spool
 * paraver_traffic   messages and collectives
 * paraver_writer    events, regions, what ends by itself
 * paraver_finish    last states, the copy to the final files */
#ifndef LULL_TRACE_FORMAT_PARAVER_WRITE_WRITER_H
#define LULL_TRACE_FORMAT_PARAVER_WRITE_WRITER_H

#include "trace/format/paraver/write/codes.h"
#include "trace/format/paraver/write/match.h"
#include "trace/format/paraver/write/spool.h"

enum {
    LULL_PRV_INHERIT = LULL_ACTIVITIES,
    LULL_PRV_NOT_CREATED = 2, /* states */
    LULL_PRV_TRACING_DISABLED = 14,
};
#define LULL_PRV_NEVER       INT64_MAX
#define LULL_PRV_NO_POSITION UINT64_MAX

struct lull_prv_text {
    char *data; /* malloc'd */
    size_t length, capacity;
};

struct lull_prv_frame {
    uint32_t region, code;
    uint8_t activity; /* LULL_PRV_INHERIT: of what surrounds it */
};

/* The line that is being gathered, and what goes on on a location. */
struct lull_prv_writer_track {
    struct lull_prv_text pairs;
    struct lull_prv_text own; /* lull's own events come last: parameters behind them are theirs */
    struct lull_reading *counters;
    uint32_t n_counters;
    size_t counters_capacity;
    int64_t counted_time; /* of the last line with counters */
    bool in_line;         /* listed among those with something to write */

    struct lull_prv_frame *stack;
    size_t capacity;
    uint32_t depth, parallel_depth;
    bool began, off;
    int64_t call_end, flush_end, last_time;

    uint32_t state;
    int64_t state_begin;
    uint64_t state_position; /* of the end field in the spool */

    bool changes;                 /* `pairs` holds fields of fixed width */
    size_t collective_at;         /* of the open collective's sizes in `pairs`, 1-based; 0: none */
    uint64_t collective_position; /* or in the spool */
};

struct lull_prv_deadline {
    int64_t time;
    uint32_t location;
};

struct lull_prv_writer {
    const struct lull_trace *trace;
    struct lull_arena *arena;
    struct lull_prv_codes *codes;
    struct lull_output *prv, *pcf, *row;
    struct lull_prv_spool *spool;
    bool gzip;
    struct lull_prv_writer_track *tracks;
    uint32_t *in_line; /* locations with a line at `now`; as many as there are */
    uint32_t n_in_line;
    int64_t now, end;
    struct lull_prv_deadline *heap;
    size_t n_heap, heap_capacity;
    struct lull_prv_matcher matcher;
    bool out_of_memory;
};

/* ---- lines ----------------------------------------------------------------------------------- */

void lull_prv_append(struct lull_prv_writer *writer, struct lull_prv_text *text, const char *data,
                     size_t length);
size_t lull_prv_put_digits(char *out, uint64_t number); /* returns their number, at most 20 */
/* "cpu:application:task:thread:"; at most 84 characters */
size_t lull_prv_put_object(const struct lull_prv_writer *writer, char *out, uint32_t location);

/* A pair on the line of a location at writer->now; lull's own events stand behind the others. */
void lull_prv_add_pair(struct lull_prv_writer *writer, uint32_t location, uint64_t type,
                       uint64_t value);
void lull_prv_add_own_pair(struct lull_prv_writer *writer, uint32_t location, uint64_t type,
                           uint64_t value);
struct lull_prv_writer_track *lull_prv_open_line(struct lull_prv_writer *writer, uint32_t location);
/* To be called where the line may go on in another one: between two events. */
void lull_prv_break_line(struct lull_prv_writer *writer, uint32_t location);
void lull_prv_put_lines(struct lull_prv_writer *writer); /* all lines at writer->now */

/* States that are rebuilt; `alive`: between the first and the last event of the location. */
uint32_t lull_prv_state_now(const struct lull_prv_writer *writer, uint32_t location, bool alive);
void lull_prv_begin_state(struct lull_prv_writer *writer, uint32_t location, uint32_t state);
void lull_prv_update_state(struct lull_prv_writer *writer, uint32_t location);
/* A state of the trace itself. */
void lull_prv_put_state(struct lull_prv_writer *writer, uint32_t location,
                        const struct lull_event *event);

/* ---- messages and collectives ---------------------------------------------------------------- */

uint64_t lull_prv_comm_id(const struct lull_prv_writer *writer, uint32_t comm);
uint64_t lull_prv_target_of(int32_t process);
void lull_prv_add_message(struct lull_prv_writer *writer, uint32_t location,
                          const struct lull_event *event);
void lull_prv_begin_collective(struct lull_prv_writer *writer, uint32_t location,
                               const struct lull_event *event);
void lull_prv_end_collective(struct lull_prv_writer *writer, uint32_t location,
                             const struct lull_event *event);

/* ---- the end --------------------------------------------------------------------------------- */

/* Last states, copies, companions, and all three files to their names. */
lull_status lull_prv_finish(struct lull_prv_writer *writer, struct lull_error *err);

#endif
