/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding the records of one location; internal to the tape format. tape_stream.c walks the
 * records and decodes the common ones, tape_records.c those of MPI calls and all others. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_STREAM_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_STREAM_H

#include "base/file.h"
#include "tape/records.h"
#include "trace/format.h"
#include "trace/format/tape/read/tape_source.h"

#include <pthread.h>

/* What a request was opened with, until it completes. */
struct tape_request {
    uint64_t number; /* in the order of opening; LULL_NO_REQUEST for a blocking call */
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t comm;
    uint8_t record; /* CALL_ISEND, CALL_IRECV, CALL_ICOLLECTIVE; 0: a free slot of the table */
    uint8_t op;
    uint64_t received; /* of a collective operation, whose `bytes` are those sent */
};

/* The open requests: a hash table by number with 2^bits slots. */
struct tape_requests {
    struct tape_request *table;
    unsigned bits;
    uint64_t n_open, next;
};

/* A CALL_WAIT or COMPLETE of which not all completions have been told yet. */
struct tape_waiting {
    const union lull_tape_slot *slot, *end;
    union lull_tape_slot all; /* the completions of a record without slots: all open requests */
    uint32_t done;            /* how many requests of the range in *slot have been told */
    int64_t time;
};

/* The last call of a shape, which a record CALL_LIKE repeats. */
struct tape_shape {
    uint8_t kind;    /* of the call's record; 0: there was no such call */
    uint32_t region; /* index; LULL_NONE: unknown */
    struct tape_request posted;
    int32_t peer, tag; /* of the message that a CALL_SENDRECV received */
    uint32_t comm;
    uint64_t bytes;
};

/* Where samples are joined with the events of records. */
struct tape_joining {
    struct tape_samples *samples;
    struct lull_event *events; /* of records that were read and not handed out yet */
    size_t at, count;
    bool ended; /* there are no more records */
};

struct tape_live;

struct tape_stream {
    const struct lull_trace *trace;
    const struct lull_tape_file *file;
    const struct lull_tape_data *data;
    /* The records in memory: some of one chunk, or all of a ring that is still being written. `at`
     * is the next one. NULL: there are none. */
    const union lull_tape_slot *first, *at, *end;
    /* Memory for `room` bytes of records. `base` is the position of `first`, and `next` that of the
     * first record that was not read yet, both in bytes from the location's first record. */
    union lull_tape_slot *part;
    size_t room;
    uint64_t base, next;
    struct lull_tape_source *source; /* NULL: the file is opened for each part */
    bool counted;                    /* the stream is counted in `streams` of tape_stream.c */
    uint64_t mask;
    bool ticks;            /* times go through the clock */
    bool requests_matter;  /* messages or collectives are wanted: requests must be followed */
    bool has_common;       /* all kinds of region events are wanted */
    bool damaged;          /* the stream has ended early, at a damage */
    int64_t last_time;     /* of the last event handed out */
    const uint8_t *common; /* the table of common records (see enum fate): by kind and extra */
    size_t segment;
    uint32_t location;
    struct tape_requests requests;
    uint64_t first_request; /* requests with smaller numbers were opened by records not kept */
    struct tape_waiting waiting;
    bool begins_late;          /* earlier records were not kept, and no event has told this yet */
    bool joins;                /* in a ring: the first RESUME has still to be read */
    struct tape_shape *shapes; /* [LULL_TAPE_SHAPES]; NULL: there was no shaped call yet */
    struct lull_counter_reading *readings; /* of all COUNTERS in the present block */
    size_t readings_capacity, n_readings;
    struct tape_joining *joining; /* NULL: there are no samples, or they are not wanted */
    /* Of a location that is recorded while it is read; NULL: all of it was there when the run was
     * opened. */
    struct tape_live *live;
    enum lull_events_state state; /* of such a location, where no event was read */
};

/* Where decoding puts events; there is always room for the most that one record makes. */
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

/* The time of an event in ns. All arithmetic on times from a file is unsigned: garbage wraps
 * around, and is then found because it lies outside of the run. */
static inline int64_t tape_ns_of(struct tape_stream *stream, uint64_t ticks)
{
    uint64_t ns = ticks;
    if (stream->ticks)
        ns = (uint64_t)lull_tape_ns(stream->file->clock, ticks, &stream->segment);
    return (int64_t)(ns - (uint64_t)stream->data->origin);
}

/* The duration in ns of something that began at `ticks`, which is `begin` in ns, and lasted
 * `length` ticks. It is the difference of two converted times, so that the end is never later than
 * the converted begin of what follows. */
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

/* Fails with "FILE: offset N: <what> <value>" for the record at stream->at. */
lull_status lull_tape_bad_record(const struct tape_stream *stream, const char *what,
                                 unsigned long long value, struct lull_error *err);

/* Turns a peer, which is a process number or a rank in the communicator, into a process index;
 * wildcards are negative. */
lull_status lull_tape_process_of(const struct tape_stream *stream, int32_t peer, uint32_t comm,
                                 int32_t *ret_process, struct lull_error *err);

/* Decodes a CALL, CALL_SEND and so on. lull_tape_continue_wait gives the completions of a
 * CALL_WAIT. */
lull_status lull_tape_decode_call(struct tape_stream *stream, unsigned kind, unsigned extra,
                                  struct tape_out *out, struct lull_error *err);
/* The call that a CALL_LIKE with that id repeats; NULL: there is none. */
static inline const struct tape_shape *tape_shape_like(const struct tape_stream *stream,
                                                       uint32_t id)
{
    return id < LULL_TAPE_SHAPES && stream->shapes && stream->shapes[id].kind ? &stream->shapes[id]
                                                                              : NULL;
}

/* Remembers the region of a call of a shaped kind, for CALL_LIKE, where messages do not matter. */
lull_status lull_tape_keep_region(struct tape_stream *stream, const union lull_tape_slot *at,
                                  uint32_t region, struct lull_error *err);

/* Begins a COMPLETE: completions without a call, at `time`. lull_tape_continue_wait gives them. */
void lull_tape_begin_wait(struct tape_stream *stream, unsigned extra, int64_t time);
/* Writes the completions of the CALL_WAIT or COMPLETE in progress as far as they fit. */
lull_status lull_tape_continue_wait(struct tape_stream *stream, struct lull_event *events,
                                    size_t capacity, size_t *count, struct lull_error *err);

/* Opens the location's next request; request->number becomes its number. */
lull_status lull_tape_open_request(struct tape_stream *stream, struct tape_request *request,
                                   struct lull_error *err);

/* Decodes a MESSAGE or COLLECTIVE with two slots, of a file whose ids are those of the run, in the
 * fast way. Returns how many events it made; -1: the record must be decoded by
 * lull_tape_decode_other. */
int lull_tape_decode_operation(const struct tape_stream *stream, const union lull_tape_slot *at,
                               int64_t time, struct lull_event *event);

/* Decodes any record that is neither a region nor a call. */
lull_status lull_tape_decode_other(struct tape_stream *stream, unsigned kind, unsigned extra,
                                   struct tape_out *out, struct lull_error *err);

/* ---- common records -------------------------------------------------------------------------- */

/* Most records of a tape are regions, calls and operations. A loop of its own in tape_stream.c
 * decodes these common records. A table says, by the lowest ten bits of a record's head (kind and
 * extra), which event the record makes, that it is skipped, or that it is not a common one. At a
 * record that is not common the loop ends, the functions above decode that record, and the loop
 * begins again. */

/* What the loop has done with a record. DONE: made into events, or skipped; REGION: the event of a
 * region is still to be made; LEFT: it is not a common record; FAILED: see the status. */
enum fate { DONE, REGION, LEFT, FAILED };

#endif
