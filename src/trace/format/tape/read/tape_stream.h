/* Decoding the records of one location: what its parts share. stream.c walks the records and
 * decodes the common ones, tape_records.c those of MPI calls, records.c all others. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_STREAM_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_STREAM_H

#include "base/file.h"
#include "tape/records.h"
#include "trace/format.h"
#include "trace/format/tape/read/tape_source.h"

#include <pthread.h>

/* ==== stream ================================================================================== */

/* What a request was opened as, until it completes. */
struct tape_request {
    uint64_t number; /* in the order of opening; LULL_NO_REQUEST of a blocking call */
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t comm;
    uint8_t record; /* CALL_ISEND, CALL_IRECV, CALL_ICOLLECTIVE; 0: a free slot of the table */
    uint8_t op;
    uint64_t received; /* of a collective; bytes are those sent */
};

/* The open requests, by number: 2^bits slots. */
struct tape_requests {
    struct tape_request *table;
    unsigned bits;
    uint64_t n_open, next;
};

/* A CALL_WAIT whose completions did not all fit into the caller's buffer. */
struct tape_waiting {
    const union lull_tape_slot *slot, *end;
    union lull_tape_slot all; /* stands for the slots of a record that has none */
    uint32_t done;            /* of the range in *slot */
    int64_t time;
};

/* The last call of a shape: what a CALL_LIKE is like. */
struct tape_shape {
    uint8_t kind;    /* of its record; 0: there was none */
    uint32_t region; /* index; LULL_NONE: unknown */
    struct tape_request posted;
    int32_t peer, tag; /* of the message that a CALL_SENDRECV received */
    uint32_t comm;
    uint64_t bytes;
};

struct tape_stream {
    const struct lull_trace *trace;
    const struct lull_tape_file *file;
    const struct lull_tape_data *data;
    /* Records that are there: some of one chunk, or all of a ring that is still written. NULL:
     * there are none. */
    const union lull_tape_slot *first, *at, *end;
    /* Room for `room` bytes of them; from the byte `next` on they are not read yet; `first` is
     * `base` bytes from the begin. */
    union lull_tape_slot *part;
    size_t room;
    uint64_t base, next;
    struct lull_tape_source *source; /* NULL: the file is opened for each part */
    bool counted;                    /* among those that are open */
    uint64_t mask;
    bool ticks;            /* times go through the clock */
    bool requests_matter;  /* messages or collectives are wanted: requests must be followed */
    bool has_common;       /* all kinds of region events are wanted */
    bool damaged;          /* it has ended early */
    int64_t last_time;     /* of the last event handed out */
    const uint8_t *common; /* by kind and extra of a record: see common.h */
    size_t segment;
    uint32_t location;
    struct tape_requests requests;
    uint64_t first_request; /* of those that the records tell of; the others were opened before */
    struct tape_waiting waiting;
    bool begins_late;              /* earlier records were not kept, and that is not told yet */
    bool joins;                    /* nor is the state read that they have left */
    struct tape_shape *shapes;     /* LULL_TAPE_SHAPES of them; NULL: there was none */
    struct lull_reading *readings; /* for as many COUNTERS as a block can hold */
    size_t readings_capacity, n_readings;
};

/* Where decoding puts events; `room` for the most that one record makes is guaranteed. */
struct tape_out {
    struct lull_event *events;
    size_t count;
};

static inline struct lull_event *tape_add(struct tape_out *out, unsigned kind, int64_t time,
                                          uint32_t id)
{
    struct lull_event *event = &out->events[out->count++];
    event->time = time;
    event->kind = (uint8_t)kind;
    event->op = 0;
    event->id = id;
    return event;
}

/* The trace's index for an id, or LULL_NONE for one that is not defined. */
static inline uint32_t tape_index_of(const struct tape_stream *stream, enum lull_tape_map map,
                                     uint32_t id)
{
    const struct lull_tape_ids *ids = &stream->file->ids->maps[map];
    return id < ids->count ? ids->index[id] : LULL_NONE;
}

/* Unsigned, as all arithmetic on times from a file: garbage wraps and is found by its range. */
static inline int64_t tape_ns_of(struct tape_stream *stream, uint64_t ticks)
{
    uint64_t ns = ticks;
    if (stream->ticks)
        ns = (uint64_t)lull_tape_ns(stream->file->clock, ticks, &stream->segment);
    return (int64_t)(ns - (uint64_t)stream->data->origin);
}

/* What began at `ticks`, which is `begin` in ns, and lasts that many ticks. A duration is the
 * difference of two converted times, so that what follows never overlaps. */
static inline int64_t tape_duration_of(const struct tape_stream *stream, uint64_t ticks,
                                       int64_t begin, uint64_t length)
{
    if (!stream->ticks)
        return (int64_t)length;
    size_t segment = stream->segment;
    const uint64_t end = (uint64_t)lull_tape_ns(stream->file->clock, ticks + length, &segment);
    return (int64_t)(end - (uint64_t)stream->data->origin - (uint64_t)begin);
}

/* Whether what begins at `begin` and lasts `duration` lies in the run. */
static inline bool tape_in_run(const struct tape_stream *stream, int64_t begin, int64_t duration)
{
    int64_t end = stream->trace->duration;
    return begin >= 0 && begin <= end && duration >= 0 && duration <= end - begin;
}

static inline bool tape_wanted(const struct tape_stream *stream, unsigned kind)
{
    return stream->mask >> kind & 1;
}

/* "FILE: offset N: what value" for the record at stream->at. */
lull_status lull_tape_bad_record(const struct tape_stream *stream, const char *what,
                                 unsigned long long value, struct lull_error *err);

/* Peers are process numbers or ranks in the communicator; wildcards are negative. */
lull_status lull_tape_process_of(const struct tape_stream *stream, int32_t peer, uint32_t comm,
                                 int32_t *ret_process, struct lull_error *err);

/* CALL and its kin; the completions of a CALL_WAIT follow by lull_tape_continue_wait. */
lull_status lull_tape_decode_call(struct tape_stream *stream, unsigned kind, unsigned extra,
                                  struct tape_out *out, struct lull_error *err);
/* The shape of a CALL_LIKE with that id; NULL: there is none. */
static inline const struct tape_shape *tape_shape_like(const struct tape_stream *stream,
                                                       uint32_t id)
{
    return id < LULL_TAPE_SHAPES && stream->shapes && stream->shapes[id].kind ? &stream->shapes[id]
                                                                              : NULL;
}

/* Keeps the region of a call of a shaped kind, where messages do not matter. */
lull_status lull_tape_keep_region(struct tape_stream *stream, const union lull_tape_slot *at,
                                  uint32_t region, struct lull_error *err);

/* COMPLETE: completions by themselves, at `time`; they follow by lull_tape_continue_wait. */
void lull_tape_begin_wait(struct tape_stream *stream, unsigned extra, int64_t time);
/* Writes the completions of the CALL_WAIT in progress as far as they fit. */
lull_status lull_tape_continue_wait(struct tape_stream *stream, struct lull_event *events,
                                    size_t capacity, size_t *count, struct lull_error *err);

/* Opens the location's next request; request->number becomes its number. */
lull_status lull_tape_open_request(struct tape_stream *stream, struct tape_request *request,
                                   struct lull_error *err);

/* A MESSAGE or COLLECTIVE with two slots of a file whose ids are those of the run, the short way.
 * Returns how many events it made; -1: it needs the long way. */
int lull_tape_decode_operation(const struct tape_stream *stream, const union lull_tape_slot *at,
                               int64_t time, struct lull_event *event);

/* Everything that is neither a region nor a call. */
lull_status lull_tape_decode_other(struct tape_stream *stream, unsigned kind, unsigned extra,
                                   struct tape_out *out, struct lull_error *err);

/* ==== common ================================================================================== */

/* The common records: most of a tape are regions, calls and operations. They are decoded in a loop
 * of their own: a table says, by the lowest ten bits of a record's head (kind and extra), which
 * event a record makes, that it is to be passed over, or that it needs the long way. Part of
 * stream.c, which enters the loop for every record that took the long way. */

/* What becomes of a record: made into events or passed over, a region's event to be made, or left
 * to the long way. */
enum fate { DONE, REGION, LEFT, FAILED };

#endif
