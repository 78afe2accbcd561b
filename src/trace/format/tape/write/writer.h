/* The state of a writer of tapes. writer.c opens and closes it, fold.c takes the events, events.c
 * makes records of them, requests.c of their requests, buffers.c gathers their bytes and writes the
 * files, sums.c those of sums. */
#ifndef LULL_TRACE_FORMAT_TAPE_WRITE_WRITER_H
#define LULL_TRACE_FORMAT_TAPE_WRITE_WRITER_H

#include "base/output_file.h"
#include "tape/encode.h"
#include "trace/format/tape/tape.h"
#include "trace/format/writer.h"

#include <string.h>

struct tape_numbers; /* requests.c */

struct tape_location {
    unsigned char *buffer;
    uint32_t used;
    size_t capacity;
    uint64_t flushed; /* bytes of records in the file */
    /* Held back, because the next event may fold into them: an ENTER, or a CALL, or a CALL and
     * its COLLECTIVE_BEGIN. */
    struct lull_event pending[2];
    uint8_t n_pending;
    bool created;
    struct lull_tape_shape *shapes; /* NULL until there is one; see lull_tape_shorten */
    struct tape_numbers *numbers;   /* NULL until a request has been opened */
};

struct tape_writer {
    const struct lull_trace *trace;
    struct lull_output *output;
    struct tape_location *locations;
    size_t buffered;   /* sum of capacities */
    uint32_t n_shapes; /* that each location has room for, a power of two */
};

/* As lull_tape_put, also where the buffer or the chunk is full. */
lull_status lull_tape_make_room_and_put(struct tape_writer *writer, uint32_t location,
                                        const union lull_tape_slot *slots, size_t count,
                                        struct lull_error *err);

/* Appends one record of a location; before one that would cross the end of a chunk, pads up to
 * there. */
static inline lull_status lull_tape_put(struct tape_writer *writer, uint32_t location,
                                        const union lull_tape_slot *slots, size_t count,
                                        struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    const size_t size = count * sizeof *slots;
    if (size > LULL_TAPE_CHUNK - (out->flushed + out->used) % LULL_TAPE_CHUNK ||
        out->used + size > out->capacity)
        return lull_tape_make_room_and_put(writer, location, slots, count, err);
    memcpy(out->buffer + out->used, slots, size);
    out->used += (uint32_t)size;
    return LULL_OK;
}

/* Writes what is buffered of a location, and a header of LULL_TAPE_HEADER_SIZE bytes unless it is
 * NULL. */
lull_status lull_tape_flush(struct tape_writer *writer, uint32_t location, const void *header,
                            struct lull_error *err);

/* The file of sums of a location of a run whose events do not tell all. */
lull_status lull_tape_write_sums(const struct tape_writer *writer, uint32_t location,
                                 struct lull_error *err);

/* The path of a file of a location; `ending` as "tape". */
void lull_tape_output_path(const struct tape_writer *writer, uint32_t location, const char *ending,
                           char *path, size_t size);

/* An event as a record of its own. */
lull_status lull_tape_put_event(struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err);

/* The next events of a location: each goes into what is held back, or is held back, or is put. */
lull_status lull_tape_take_events(struct tape_writer *writer, const struct lull_block *block,
                                  struct lull_error *err);
/* Makes a CALL_LIKE of a record of a shaped kind if it is like the location's last one of its
 * shape; sets how many slots it has. Shapes share places where there are fewer of these. */
lull_status lull_tape_shorten(struct tape_writer *writer, uint32_t location,
                              union lull_tape_slot *slots, size_t *count, struct lull_error *err);

/* Whether an event opens the request that a reader numbers next, and that it does so: the record of
 * that event is a CALL_* or has LULL_TAPE_NEXT_REQUEST. */
bool lull_tape_opens_next(const struct tape_location *out, const struct lull_event *event);
lull_status lull_tape_open_next(const struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err);
/* Holds back what completes such a request, with the call that does so or by itself; false: it
 * completes no such one, or other than a completion can say. */
bool lull_tape_complete(struct tape_writer *writer, uint32_t location,
                        const struct lull_event *event, lull_status *ret_status,
                        struct lull_error *err);
bool lull_tape_holds_completions(const struct tape_location *out);
/* Puts them, with their call. */
lull_status lull_tape_put_completions(struct tape_writer *writer, uint32_t location,
                                      struct lull_error *err);
void lull_tape_free_numbers(struct tape_location *out);

/* Puts what is held back. */
lull_status lull_tape_release_pending(struct tape_writer *writer, uint32_t location,
                                      struct lull_error *err);

#endif
