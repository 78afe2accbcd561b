/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a tape from events: for conversion, and for runs that lull itself makes. Definitions are
 * written once for the run, all else into the files of processes, as the recorder writes it. */
#include "base/array.h"
#include "base/output_file.h"
#include "tape/records.h"
#include "trace/format.h"
#include "trace/format/tape/tape_data.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tape_numbers;

/* The file of a process. Its header and tables are written last. */
struct tape_process {
    struct lull_tape_extent *extents;
    size_t n_extents, capacity;
    uint32_t pages; /* of the file that are in use; 0: there is no file yet */
};

/* A sample, and its number in the run that it comes from. */
struct written_sample {
    struct lull_tape_sample sample;
    uint64_t number;
};

struct tape_location {
    unsigned char *buffer;
    uint32_t used;
    uint32_t extent; /* index of the last extent with records of the location */
    size_t capacity;
    uint64_t flushed; /* bytes of records in the file */
    uint64_t room;    /* bytes of all extents for records */
    /* Events that are held back, because the next event may go into one record with them: an ENTER,
     * or a CALL, or a CALL and its COLLECTIVE_BEGIN. */
    struct lull_event pending[2];
    uint8_t n_pending;
    struct lull_tape_shape *shapes; /* NULL until there is one; see tape_shorten */
    struct tape_numbers *numbers;   /* NULL until a request has been opened */
    /* All of them, because the recorder has bounded their number. */
    struct written_sample *samples;
    size_t n_samples, samples_capacity;
};

struct tape_writer {
    const struct lull_trace *trace;
    struct lull_output *output;
    struct tape_location *locations;
    struct tape_process *processes;
    size_t buffered;   /* sum of the capacities of all buffers */
    uint32_t n_shapes; /* shapes for which each location has room, a power of two */
};

static lull_status tape_make_room_and_put(struct tape_writer *writer, uint32_t location,
                                          const union lull_tape_slot *slots, size_t count,
                                          struct lull_error *err);
static lull_status tape_release_pending(struct tape_writer *writer, uint32_t location,
                                        struct lull_error *err);

/* Appends one record of a location. Where the record would cross the end of a chunk, the chunk is
 * filled up with padding first. */
static inline lull_status tape_put(struct tape_writer *writer, uint32_t location,
                                   const union lull_tape_slot *slots, size_t count,
                                   struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    const size_t size = count * sizeof *slots;
    if (size > LULL_TAPE_CHUNK - (out->flushed + out->used) % LULL_TAPE_CHUNK ||
        out->used + size > out->capacity)
        return tape_make_room_and_put(writer, location, slots, count, err);
    memcpy(out->buffer + out->used, slots, size);
    out->used += (uint32_t)size;
    return LULL_OK;
}

/* ==== files =================================================================================== */

/* The files of processes, see struct lull_tape_process_header. A file is open only while something
 * is written, so that the number of processes is not bounded by the number of files that may be
 * open. */

struct process_file {
    struct tape_process *process;
    int fd;
    char path[4096];
};

static lull_status open_process_file(const struct tape_writer *writer, uint32_t process,
                                     struct process_file *ret_file, struct lull_error *err)
{
    const char *folder = lull_output_path(writer->output);
    char *path = ret_file->path;
    ret_file->process = &writer->processes[process];
    if (ret_file->process->pages == 0) {
        snprintf(path, sizeof ret_file->path, "%s/%u", folder, process / LULL_TAPE_GROUP);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return lull_fail_errno(err, "%s: cannot create", path);
        ret_file->process->pages = 1; /* of the header */
    }
    snprintf(path, sizeof ret_file->path, "%s/%u/%u.tape", folder, process / LULL_TAPE_GROUP,
             process);
    ret_file->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return ret_file->fd < 0 ? lull_fail_errno(err, "%s: cannot create", path) : LULL_OK;
}

static lull_status close_process_file(const struct process_file *file, lull_status status,
                                      struct lull_error *err)
{
    if (close(file->fd) != 0 && status == LULL_OK)
        return lull_fail_errno(err, "%s: cannot write", file->path);
    return status;
}

static lull_status write_fully(const struct process_file *file, const void *bytes, size_t size,
                               uint64_t offset, struct lull_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n =
            pwrite(file->fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lull_fail_errno(err, "%s: cannot write", file->path);
        done += (size_t)n;
    }
    return LULL_OK;
}

static uint64_t in_units(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit;
}

static lull_status give_pages(const struct process_file *file, uint64_t pages, uint32_t *ret_first,
                              struct lull_error *err)
{
    struct tape_process *process = file->process;
    if (pages > UINT32_MAX - process->pages)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: more than %u pages", file->path,
                         UINT32_MAX);
    *ret_first = process->pages;
    process->pages += (uint32_t)pages;
    return LULL_OK;
}

static lull_status add_file_part(const struct process_file *file, unsigned part, uint32_t location,
                                 uint64_t pages, struct lull_error *err)
{
    struct tape_process *process = file->process;
    struct lull_tape_extent extent = {.pages = (uint32_t)pages, .location = location, .part = part};
    const lull_status status = give_pages(file, pages, &extent.page, err);
    if (status != LULL_OK)
        return status;
    if (!lull_array_reserve(&process->extents, &process->capacity, process->n_extents + 1,
                            sizeof extent))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", file->path);
    process->extents[process->n_extents++] = extent;
    return LULL_OK;
}

static lull_status write_part(const struct process_file *file, unsigned part, uint32_t location,
                              const void *bytes, size_t size, struct lull_error *err)
{
    const struct tape_process *process = file->process;
    lull_status status = add_file_part(file, part, location, in_units(size, LULL_TAPE_PAGE), err);
    if (status != LULL_OK)
        return status;
    return write_fully(file, bytes, size,
                       process->extents[process->n_extents - 1].page * (uint64_t)LULL_TAPE_PAGE,
                       err);
}

/* Writes the header with the first entries, and the tables with the others. */
static lull_status write_process_tables(const struct process_file *file, uint32_t number,
                                        struct lull_error *err)
{
    const struct tape_process *process = file->process;
    union {
        struct lull_tape_process_header header;
        unsigned char page[LULL_TAPE_PAGE];
    } top = {.page = {0}};
    struct lull_tape_process_header *header = &top.header;
    const size_t size = sizeof *process->extents, n = process->n_extents;
    size_t done = n < LULL_TAPE_FIRST_EXTENTS ? n : LULL_TAPE_FIRST_EXTENTS;
    lull_status status = LULL_OK;
    memcpy(top.page + sizeof *header, process->extents, done * size);
    for (unsigned t = 0; status == LULL_OK && done < n; t++) {
        const size_t whole = (size_t)256 << t, part = n - done < whole ? n - done : whole;
        uint32_t page = 0;
        status = t < LULL_TAPE_TABLES
                     ? give_pages(file, whole * size / LULL_TAPE_PAGE, &page, err)
                     : lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: too many extents", file->path);
        if (status != LULL_OK)
            return status;
        header->tables[t] = page * (uint64_t)LULL_TAPE_PAGE;
        status = write_fully(file, process->extents + done, part * size, header->tables[t], err);
        done += part;
    }
    memcpy(header->magic, LULL_TAPE_PROCESS_MAGIC, sizeof header->magic);
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = sizeof *header;
    header->process = number;
    header->end = process->pages * (uint64_t)LULL_TAPE_PAGE;
    header->n_extents = (uint32_t)n;
    return status == LULL_OK ? write_fully(file, &top, sizeof top, 0, err) : status;
}

/* ==== buffers ================================================================================= */

/* The records of each location, of which little is in memory at a time. */

enum { MOST_BUFFER = 4 * LULL_TAPE_CHUNK, FIRST_BUFFER = 1024, MOST_BUFFERED = 96 << 20 };

static uint32_t number_of(const struct tape_writer *writer, uint32_t location)
{
    const uint32_t process = writer->trace->locations[location].process;
    return location - writer->trace->processes[process].first_location;
}

/* Makes room in the file for `size` more bytes of records: at the end of the location's last extent
 * if nothing stands behind it, else in a new extent. */
static lull_status make_records_room(const struct process_file *file, struct tape_location *out,
                                     uint32_t number, uint64_t size, struct lull_error *err)
{
    struct tape_process *process = file->process;
    struct lull_tape_extent *last = out->room > 0 ? &process->extents[out->extent] : NULL;
    const uint64_t pages = in_units(size, LULL_TAPE_PAGE);
    uint32_t page;
    lull_status status;
    if (last && last->page + last->pages == process->pages) {
        status = give_pages(file, pages, &page, err);
        last->pages = process->pages - last->page;
    } else {
        status = add_file_part(file, LULL_TAPE_PART_RECORDS, number, pages, err);
        out->extent = (uint32_t)process->n_extents - 1;
    }
    if (status == LULL_OK)
        out->room += pages * LULL_TAPE_PAGE;
    return status;
}

/* Writes what is buffered of a location. `last`: no more records come; without, room is made for
 * whole chunks. */
static lull_status write_records(const struct tape_writer *writer, const struct process_file *file,
                                 uint32_t location, bool last, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    const uint64_t unit = last ? LULL_TAPE_PAGE : LULL_TAPE_CHUNK, end = out->flushed + out->used;
    const unsigned char *bytes = out->buffer;
    lull_status status = LULL_OK;
    while (status == LULL_OK && out->flushed < end) {
        if (out->flushed == out->room)
            status = make_records_room(file, out, number_of(writer, location),
                                       in_units(end - out->room, unit) * unit, err);
        if (status != LULL_OK)
            return status;
        const struct lull_tape_extent *extent = &file->process->extents[out->extent];
        const uint64_t place = ((uint64_t)extent->page + extent->pages) * LULL_TAPE_PAGE;
        const uint64_t part = (end < out->room ? end : out->room) - out->flushed;
        status = write_fully(file, bytes, (size_t)part, place - (out->room - out->flushed), err);
        bytes += part;
        out->flushed += part;
    }
    out->used = 0;
    return status;
}

static lull_status tape_flush(const struct tape_writer *writer, uint32_t location,
                              struct lull_error *err)
{
    struct process_file file;
    lull_status status =
        open_process_file(writer, writer->trace->locations[location].process, &file, err);
    if (status == LULL_OK)
        status = close_process_file(&file, write_records(writer, &file, location, false, err), err);
    return status;
}

static lull_status flush_everything(struct tape_writer *writer, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < writer->trace->n_locations; l++) {
        struct tape_location *out = &writer->locations[l];
        if (out->used > 0)
            status = tape_flush(writer, l, err);
        free(out->buffer);
        out->buffer = NULL;
        out->capacity = 0;
    }
    writer->buffered = 0;
    return status;
}

static lull_status make_buffer_room(struct tape_writer *writer, uint32_t location, size_t size,
                                    struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    if (out->used + size <= out->capacity)
        return LULL_OK;
    if (out->capacity >= MOST_BUFFER)
        return tape_flush(writer, location, err);
    if (writer->buffered > MOST_BUFFERED) {
        lull_status status = flush_everything(writer, err);
        if (status != LULL_OK)
            return status;
    }
    size_t before = out->capacity, wanted = before ? before * 4 : FIRST_BUFFER;
    if (!lull_array_reserve(&out->buffer, &out->capacity, wanted, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    writer->buffered += out->capacity - before;
    return LULL_OK;
}

static lull_status append_slots(struct tape_writer *writer, uint32_t location,
                                const union lull_tape_slot *slots, size_t count,
                                struct lull_error *err)
{
    lull_status status = make_buffer_room(writer, location, count * sizeof *slots, err);
    if (status != LULL_OK)
        return status;
    struct tape_location *out = &writer->locations[location];
    memcpy(out->buffer + out->used, slots, count * sizeof *slots);
    out->used += (uint32_t)(count * sizeof *slots);
    return LULL_OK;
}

/* As tape_put, also where the buffer or the chunk is full. */
static lull_status tape_make_room_and_put(struct tape_writer *writer, uint32_t location,
                                          const union lull_tape_slot *slots, size_t count,
                                          struct lull_error *err)
{
    const struct tape_location *out = &writer->locations[location];
    size_t left = (LULL_TAPE_CHUNK - (out->flushed + out->used) % LULL_TAPE_CHUNK) / sizeof *slots;
    if (count > left) {
        static const union lull_tape_slot padding[LULL_TAPE_MOST_EXTRA + 1] = {
            {.record = {.head = LULL_TAPE_PAD}}};
        lull_status status = append_slots(writer, location, padding, left, err);
        if (status != LULL_OK)
            return status;
    }
    return append_slots(writer, location, slots, count, err);
}

/* ==== events ================================================================================== */

/* Events as records of a tape, one for one. All ids are those of the trace. */

/* The id of a record. Ids of definitions fit (see lull_tape_writer_open); others, as of windows,
 * are left out where they do not. */
static uint32_t id_or_none(uint32_t id)
{
    return id < LULL_TAPE_MOST_IDS ? id : LULL_TAPE_NO_ID;
}

static lull_status put_span(struct tape_writer *writer, uint32_t location, unsigned kind,
                            const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    unsigned extra = (uint64_t)event->duration >= LULL_TAPE_OPEN;
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(
        kind, extra, kind == LULL_TAPE_STATE ? id_or_none(event->id) : LULL_TAPE_NO_ID);
    slots[0].record.value = extra ? 0 : (uint32_t)event->duration;
    slots[1].u64[0] = (uint64_t)event->duration;
    return tape_put(writer, location, slots, 1 + extra, err);
}

static lull_status put_message_record(struct tape_writer *writer, uint32_t location, unsigned kind,
                                      const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[3] = {0};
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_MESSAGE, 2, id_or_none(event->id));
    slots[0].record.value = kind;
    slots[1].u64[0] = event->message.bytes;
    slots[1].u64[1] = event->message.request;
    slots[2].i32[0] = event->message.peer;
    slots[2].i32[1] = event->message.tag;
    slots[2].u32[2] = event->kind == LULL_EVENT_SEND ? event->op : 0;
    return tape_put(writer, location, slots, 3, err);
}

static lull_status put_collective(struct tape_writer *writer, uint32_t location,
                                  const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[3] = {0};
    bool end = event->kind == LULL_EVENT_COLLECTIVE_END;
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_COLLECTIVE, 2, id_or_none(event->id));
    slots[0].record.value = event->op | (uint32_t)end << 31;
    slots[1].u64[0] = event->collective.sent;
    slots[1].u64[1] = event->collective.received;
    slots[2].u64[0] = event->collective.request;
    slots[2].i32[2] = event->collective.root;
    return tape_put(writer, location, slots, 3, err);
}

static lull_status put_transfer(struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    bool rma = event->kind == LULL_EVENT_RMA;
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_TRANSFER, 1, id_or_none(event->id));
    slots[0].record.value = event->op | (uint32_t)rma << 31;
    slots[1].u64[0] = event->transfer.bytes;
    slots[1].i32[2] = event->transfer.target;
    return tape_put(writer, location, slots, 2, err);
}

/* The number of a location in its process, as records name it. */
static uint32_t told_number(const struct lull_trace *trace, uint32_t location)
{
    return location < trace->n_locations ? trace->locations[location].number
                                         : LULL_TAPE_NO_LOCATION;
}

static lull_status put_number_record(struct tape_writer *writer, uint32_t location, unsigned kind,
                                     const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, id_or_none(event->id));
    slots[0].record.value = kind;
    slots[1].u64[0] = event->number;
    if (event->kind == LULL_EVENT_THREAD_WAIT_BEGIN || event->kind == LULL_EVENT_THREAD_WAIT_END) {
        slots[1].u32[2] = told_number(writer->trace, event->meeting.location);
        slots[1].u32[3] = event->meeting.threads;
    }
    return tape_put(writer, location, slots, 2, err);
}

/* SUBMIT, DEPEND and DEVICE_WAIT of a thread, OPERATION of a device stream. */
static lull_status put_operation(struct tape_writer *writer, uint32_t location, unsigned kind,
                                 const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[3] = {0};
    const uint32_t other = told_number(writer->trace, event->operation.location);
    const bool ran = event->kind == LULL_EVENT_OPERATION;
    const bool exchange =
        ran && (event->operation.sequence != LULL_NO_SEQUENCE || event->operation.peer != LULL_ANY);
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head =
        lull_tape_head(ran ? LULL_TAPE_OPERATION : LULL_TAPE_NUMBER, exchange ? 2 : 1,
                       ran ? id_or_none(event->id) : LULL_TAPE_NO_ID);
    slots[0].record.value = ran ? other : kind;
    slots[1].u64[0] = event->operation.number;
    slots[1].u64[1] = event->operation.bytes;
    if (event->kind == LULL_EVENT_SUBMIT || event->kind == LULL_EVENT_DEVICE_WAIT)
        slots[1].u64[1] = other;
    slots[2].u64[0] = event->operation.sequence;
    slots[2].i32[2] = event->operation.peer;
    return tape_put(writer, location, slots, exchange ? 3 : 2, err);
}

static lull_status put_counter_record(struct tape_writer *writer, uint32_t location,
                                      const struct lull_event *event, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t first = 0; status == LULL_OK && first < event->readings.count;
         first += LULL_TAPE_MOST_EXTRA) {
        union lull_tape_slot slots[1 + LULL_TAPE_MOST_EXTRA] = {0};
        uint32_t count = event->readings.count - first;
        if (count > LULL_TAPE_MOST_EXTRA)
            count = LULL_TAPE_MOST_EXTRA;
        slots[0].record.time = (uint64_t)event->time;
        slots[0].record.head = lull_tape_head(LULL_TAPE_COUNTERS, count, LULL_TAPE_NO_ID);
        for (uint32_t i = 0; i < count; i++) {
            slots[1 + i].u64[0] = event->readings.values[first + i].value;
            slots[1 + i].u32[2] = event->readings.values[first + i].counter;
        }
        status = tape_put(writer, location, slots, 1 + count, err);
    }
    return status;
}

static lull_status put_region_record(struct tape_writer *writer, uint32_t location,
                                     const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    unsigned count = 1;
    if (event->kind == LULL_EVENT_CALL) {
        uint64_t more = lull_calls_of(event) - 1, duration = (uint64_t)event->duration;
        count = more ? lull_tape_put_calls(slots, (uint64_t)event->time, event->id, duration, more)
                     : lull_tape_put_call(slots, (uint64_t)event->time, event->id, duration);
    } else {
        unsigned kind = event->kind == LULL_EVENT_ENTER ? LULL_TAPE_ENTER : LULL_TAPE_LEAVE;
        slots[0].record.time = (uint64_t)event->time;
        slots[0].record.head = lull_tape_head(kind, 0, event->id);
    }
    return tape_put(writer, location, slots, count, err);
}

/* The sub-kind of the record for an event: LULL_TAPE_MESSAGE_* or LULL_TAPE_NUMBER_*. */
static const uint8_t sub_kinds[LULL_EVENT_KINDS] = {
    [LULL_EVENT_SEND] = LULL_TAPE_MESSAGE_SEND,
    [LULL_EVENT_SEND_DONE] = LULL_TAPE_MESSAGE_SEND_DONE,
    [LULL_EVENT_RECV_POST] = LULL_TAPE_MESSAGE_RECV_POST,
    [LULL_EVENT_RECV] = LULL_TAPE_MESSAGE_RECV,
    [LULL_EVENT_REQUEST_TEST] = LULL_TAPE_MESSAGE_TEST,
    [LULL_EVENT_REQUEST_CANCELLED] = LULL_TAPE_MESSAGE_CANCELLED,
    [LULL_EVENT_REQUEST_FREED] = LULL_TAPE_MESSAGE_FREED,
    [LULL_EVENT_FORK] = LULL_TAPE_NUMBER_FORK,
    [LULL_EVENT_JOIN] = LULL_TAPE_NUMBER_JOIN,
    [LULL_EVENT_TEAM_BEGIN] = LULL_TAPE_NUMBER_TEAM_BEGIN,
    [LULL_EVENT_TEAM_END] = LULL_TAPE_NUMBER_TEAM_END,
    [LULL_EVENT_THREAD_BEGIN] = LULL_TAPE_NUMBER_THREAD_BEGIN,
    [LULL_EVENT_THREAD_END] = LULL_TAPE_NUMBER_THREAD_END,
    [LULL_EVENT_THREAD_CREATE] = LULL_TAPE_NUMBER_THREAD_CREATE,
    [LULL_EVENT_THREAD_WAIT_BEGIN] = LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN,
    [LULL_EVENT_THREAD_WAIT_END] = LULL_TAPE_NUMBER_THREAD_WAIT_END,
    [LULL_EVENT_TASK_CREATE] = LULL_TAPE_NUMBER_TASK_CREATE,
    [LULL_EVENT_TASK_SWITCH] = LULL_TAPE_NUMBER_TASK_SWITCH,
    [LULL_EVENT_TASK_COMPLETE] = LULL_TAPE_NUMBER_TASK_COMPLETE,
    [LULL_EVENT_LOCK_ACQUIRE] = LULL_TAPE_NUMBER_LOCK_ACQUIRE,
    [LULL_EVENT_LOCK_RELEASE] = LULL_TAPE_NUMBER_LOCK_RELEASE,
    [LULL_EVENT_MEASURE_OFF] = LULL_TAPE_NUMBER_MEASURE_OFF,
    [LULL_EVENT_MEASURE_ON] = LULL_TAPE_NUMBER_MEASURE_ON,
    [LULL_EVENT_MARKER] = LULL_TAPE_NUMBER_MARKER,
    [LULL_EVENT_SUBMIT] = LULL_TAPE_NUMBER_SUBMIT,
    [LULL_EVENT_DEPEND] = LULL_TAPE_NUMBER_DEPEND,
    [LULL_EVENT_DEVICE_WAIT] = LULL_TAPE_NUMBER_DEVICE_WAIT,
};

/* Puts an event as a record of its own. */
static lull_status tape_put_event(struct tape_writer *writer, uint32_t location,
                                  const struct lull_event *event, struct lull_error *err)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
    case LULL_EVENT_CALL:
        return put_region_record(writer, location, event, err);
    case LULL_EVENT_STATE:
        return put_span(writer, location, LULL_TAPE_STATE, event, err);
    case LULL_EVENT_FLUSH:
        return put_span(writer, location, LULL_TAPE_FLUSH, event, err);
    case LULL_EVENT_SEND:
    case LULL_EVENT_SEND_DONE:
    case LULL_EVENT_RECV_POST:
    case LULL_EVENT_RECV:
    case LULL_EVENT_REQUEST_TEST:
    case LULL_EVENT_REQUEST_CANCELLED:
    case LULL_EVENT_REQUEST_FREED:
        return put_message_record(writer, location, sub_kinds[event->kind], event, err);
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        return put_collective(writer, location, event, err);
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        return put_transfer(writer, location, event, err);
    case LULL_EVENT_COUNTERS:
        return put_counter_record(writer, location, event, err);
    case LULL_EVENT_SUBMIT:
    case LULL_EVENT_DEPEND:
    case LULL_EVENT_DEVICE_WAIT:
    case LULL_EVENT_OPERATION:
        return put_operation(writer, location, sub_kinds[event->kind], event, err);
    default:
        return put_number_record(writer, location, sub_kinds[event->kind], event, err);
    }
}

/* ==== requests ================================================================================ */

/* Requests of a tape that is written. A reader of tapes numbers the requests of a location from 0
 * on, in the order in which they are opened. Where the requests of the trace have the same numbers,
 * the record that opens one needs no number, and one record can complete several. Other requests
 * have their numbers in general records. */

/* How many requests are remembered, from the oldest open one on. A request that is open for longer
 * is completed by a record with its number. */
enum { FIRST_KEPT = 16, MOST_KEPT = 1 << 16 };

/* A request as it was opened. */
struct tape_opened {
    struct lull_event event;
    bool open;
};

struct tape_numbers {
    struct tape_opened *ring; /* request n is at n % size */
    uint32_t size;
    uint64_t oldest, next; /* numbers of the requests that are remembered: oldest .. next - 1 */
    union lull_tape_slot slots[1 + LULL_TAPE_MOST_EXTRA]; /* slots[0] is for the record's head */
    unsigned n_slots;                                     /* slots of completions held back */
    bool holds_large;                                     /* the last completion has two slots */
    int64_t time;                                         /* of the completions */
};

static bool is_collective(const struct lull_event *event)
{
    return event->kind == LULL_EVENT_COLLECTIVE_BEGIN || event->kind == LULL_EVENT_COLLECTIVE_END;
}

static bool opens(const struct lull_event *event)
{
    return event->kind == LULL_EVENT_SEND || event->kind == LULL_EVENT_RECV_POST ||
           event->kind == LULL_EVENT_COLLECTIVE_BEGIN;
}

static bool completes(const struct lull_event *event)
{
    return event->kind == LULL_EVENT_SEND_DONE || event->kind == LULL_EVENT_RECV ||
           event->kind == LULL_EVENT_COLLECTIVE_END ||
           event->kind == LULL_EVENT_REQUEST_CANCELLED || event->kind == LULL_EVENT_REQUEST_FREED;
}

static uint64_t request_of(const struct lull_event *event)
{
    return is_collective(event) ? event->collective.request : event->message.request;
}

static void tape_free_numbers(struct tape_location *out)
{
    if (out->numbers)
        free(out->numbers->ring);
    free(out->numbers);
    out->numbers = NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Whether an event opens the request to which a reader gives the next number: its record is a
 * CALL_* or has LULL_TAPE_NEXT_REQUEST then. */
static bool tape_opens_next(const struct tape_location *out, const struct lull_event *event)
{
    return opens(event) && request_of(event) == (out->numbers ? out->numbers->next : 0);
}

static bool enlarge_ring(struct tape_numbers *numbers)
{
    const uint32_t size = numbers->size > 0 ? numbers->size * 2 : FIRST_KEPT;
    struct tape_opened *ring = calloc(size, sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t n = numbers->oldest; n < numbers->next; n++)
        ring[n % size] = numbers->ring[n % numbers->size];
    free(numbers->ring);
    numbers->ring = ring;
    numbers->size = size;
    return true;
}

static void forget_completed(struct tape_numbers *numbers)
{
    while (numbers->oldest < numbers->next && !numbers->ring[numbers->oldest % numbers->size].open)
        numbers->oldest++;
}

static lull_status tape_open_next(const struct tape_writer *writer, uint32_t location,
                                  const struct lull_event *event, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    if (!out->numbers)
        out->numbers = calloc(1, sizeof *out->numbers);
    struct tape_numbers *numbers = out->numbers;
    if (!numbers)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    if (numbers->next - numbers->oldest == MOST_KEPT) {
        numbers->ring[numbers->oldest % MOST_KEPT].open = false;
        forget_completed(numbers);
    }
    if (numbers->next - numbers->oldest == numbers->size && !enlarge_ring(numbers))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    numbers->ring[numbers->next++ % numbers->size] = (struct tape_opened){*event, true};
    return LULL_OK;
}

/* ---- completing ------------------------------------------------------------------------------ */

static bool same_collective(const struct lull_event *opened, const struct lull_event *done)
{
    return done->kind == LULL_EVENT_COLLECTIVE_END && done->op == opened->op &&
           done->collective.sent == opened->collective.sent &&
           done->collective.received == opened->collective.received &&
           done->collective.root == opened->collective.root;
}

/* Whether a message was completed as it was posted. One with MPI_PROC_NULL has no bytes when it is
 * complete, which a reader takes for granted. */
static bool same_message(const struct lull_event *opened, const struct lull_event *done)
{
    const uint64_t bytes = opened->message.peer == LULL_PROC_NULL ? 0 : opened->message.bytes;
    return done->message.bytes == bytes && done->message.peer == opened->message.peer &&
           done->message.tag == opened->message.tag;
}

/* Writes into `slot` what a completion says of its request; returns the number of slots, 0: slots
 * cannot say it. */
static unsigned completion_of(const struct lull_event *opened, const struct lull_event *done,
                              union lull_tape_slot *slot)
{
    const uint32_t number = (uint32_t)request_of(done);
    const bool matched =
        done->kind == (opened->kind == LULL_EVENT_SEND ? LULL_EVENT_SEND_DONE : LULL_EVENT_RECV);
    if (done->id != opened->id)
        return 0;
    slot[0] = (union lull_tape_slot){.u32 = {number, 1, 0, 0}};
    if (is_collective(opened))
        return same_collective(opened, done);
    if (done->kind == LULL_EVENT_COLLECTIVE_END || done->op != 0)
        return 0;
    if (same_message(opened, done)) {
        if (matched)
            return 1;
        slot->u32[3] =
            done->kind == LULL_EVENT_REQUEST_CANCELLED ? LULL_TAPE_CANCELLED : LULL_TAPE_FREED;
        return done->kind == LULL_EVENT_REQUEST_CANCELLED || done->kind == LULL_EVENT_REQUEST_FREED;
    }
    if (!matched || (done->message.peer == LULL_PROC_NULL && done->message.bytes != 0))
        return 0;
    const bool large = done->message.bytes >= LULL_TAPE_LARGE;
    slot[0].i32[1] = done->message.peer;
    slot[0].i32[2] = done->message.tag;
    slot[0].u32[3] = LULL_TAPE_MATCHED | (large ? LULL_TAPE_LARGE : (uint32_t)done->message.bytes);
    slot[1] = (union lull_tape_slot){.u64 = {done->message.bytes, 0}};
    return 1 + large;
}

static struct tape_opened *find_open_request(struct tape_numbers *numbers,
                                             const struct lull_event *event)
{
    if (!numbers || !completes(event))
        return NULL;
    const uint64_t number = request_of(event);
    if (number < numbers->oldest || number >= numbers->next)
        return NULL;
    struct tape_opened *opened = &numbers->ring[number % numbers->size];
    return opened->open ? opened : NULL;
}

/* Whether a completion at `time` goes into the record with the completions that are held back, or
 * else with the call that is held back. */
static bool belongs(const struct tape_location *out, int64_t time)
{
    const struct tape_numbers *numbers = out->numbers;
    const struct lull_event *call = &out->pending[0];
    if (numbers->n_slots > 0)
        return time == numbers->time;
    return out->n_pending == 1 && call->kind == LULL_EVENT_CALL && call->op != LULL_SEVERAL &&
           (uint64_t)call->duration < LULL_TAPE_OPEN && call->time + call->duration == time;
}

/* Adds a completion to the range of requests in the last slot: those that have completed as they
 * were posted, in the order of their numbers. False: it does not continue that range. */
static bool extend_range(struct tape_numbers *numbers, const union lull_tape_slot *slot)
{
    union lull_tape_slot *last = &numbers->slots[numbers->n_slots];
    if (numbers->n_slots == 0 || slot->u32[3] != 0 || last->u32[3] != 0 ||
        last->u32[0] + last->u32[1] != slot->u32[0] || numbers->holds_large)
        return false;
    last->u32[1]++;
    return true;
}

/* Holds back an event that completes a remembered request, with the call that does so or by itself.
 * False: the event completes no such request, or in a way that slots cannot say. */
static bool tape_complete(struct tape_writer *writer, uint32_t location,
                          const struct lull_event *event, lull_status *ret_status,
                          struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct tape_numbers *numbers = out->numbers;
    struct tape_opened *opened = find_open_request(numbers, event);
    union lull_tape_slot slots[2];
    const unsigned n = opened ? completion_of(&opened->event, event, slots) : 0;
    *ret_status = LULL_OK;
    if (n == 0)
        return false;
    opened->open = false;
    forget_completed(numbers);
    if (belongs(out, event->time) && extend_range(numbers, slots))
        return true;
    if (!belongs(out, event->time) || numbers->n_slots + n > LULL_TAPE_MOST_EXTRA)
        *ret_status = tape_release_pending(writer, location, err);
    memcpy(&numbers->slots[1 + numbers->n_slots], slots, n * sizeof *slots);
    numbers->n_slots += n;
    numbers->holds_large = n > 1;
    numbers->time = event->time;
    return true;
}

static bool tape_holds_completions(const struct tape_location *out)
{
    return out->numbers && out->numbers->n_slots > 0;
}

/* Puts the completions that are held back, with their call. */
static lull_status tape_put_completions(struct tape_writer *writer, uint32_t location,
                                        struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct tape_numbers *numbers = out->numbers;
    const struct lull_event *call = out->n_pending > 0 ? &out->pending[0] : NULL;
    struct lull_tape_record *record = &numbers->slots[0].record;
    const unsigned n = numbers->n_slots;
    record->time = (uint64_t)(call ? call->time : numbers->time);
    record->value = call ? (uint32_t)call->duration : 0;
    record->head = call ? lull_tape_head(LULL_TAPE_CALL_WAIT, n, call->id)
                        : lull_tape_head(LULL_TAPE_COMPLETE, n, LULL_TAPE_NO_ID);
    numbers->n_slots = 0;
    out->n_pending = 0;
    return tape_put(writer, location, numbers->slots, 1 + n, err);
}

/* ==== fold ==================================================================================== */

/* Several events in one record: ENTER and LEAVE of the same region with nothing in between become
 * one CALL; a CALL and the message or collective operation that has its times become one record. */

/* Whether a message or collective operation of a call fits into the slot of the call's record. */
static bool fits(const struct lull_event *call, uint32_t comm, uint64_t bytes)
{
    return call->op != LULL_SEVERAL && (uint64_t)call->duration < LULL_TAPE_OPEN &&
           comm < LULL_TAPE_NO_ROOT && bytes <= LULL_TAPE_BYTES_MASK;
}

/* The kind of the record for `call` and the message behind it; 0: they cannot be one record. A
 * message with a request opens the location's next request. */
static unsigned message_call_kind(const struct lull_event *call, const struct lull_event *message)
{
    const bool blocks = message->message.request == LULL_NO_REQUEST;
    if ((message->kind != LULL_EVENT_SEND &&
         message->kind != (blocks ? LULL_EVENT_RECV : LULL_EVENT_RECV_POST)) ||
        message->op != 0 || !fits(call, message->id, message->message.bytes))
        return 0;
    if (!blocks && message->time != call->time)
        return 0;
    if (!blocks)
        return message->kind == LULL_EVENT_SEND ? LULL_TAPE_CALL_ISEND : LULL_TAPE_CALL_IRECV;
    if (message->kind == LULL_EVENT_SEND)
        return message->time == call->time ? LULL_TAPE_CALL_SEND : 0;
    return message->time == call->time + call->duration ? LULL_TAPE_CALL_RECV : 0;
}

static bool begins_with(const struct lull_event *call, const struct lull_event *begin)
{
    return begin->kind == LULL_EVENT_COLLECTIVE_BEGIN && begin->time == call->time &&
           begin->collective.request == LULL_NO_REQUEST;
}

static bool has_root(const struct lull_event *event)
{
    const int32_t root = event->collective.root;
    return root >= LULL_ANY && (root < 0 || (uint32_t)root < LULL_TAPE_NO_ROOT);
}

static bool is_end_of_call(const struct lull_trace *trace, const struct lull_event *call,
                           const struct lull_event *begin, const struct lull_event *end)
{
    return end->kind == LULL_EVENT_COLLECTIVE_END && end->time == call->time + call->duration &&
           end->op == trace->regions[call->id].collective && end->op == begin->op &&
           end->id == begin->id && end->collective.request == LULL_NO_REQUEST &&
           end->collective.sent == begin->collective.sent &&
           end->collective.received == begin->collective.received &&
           end->collective.root == begin->collective.root && has_root(end) &&
           fits(call, end->id, end->collective.sent) &&
           end->collective.received <= LULL_TAPE_BYTES_MASK;
}

/* Puts what is held back. */
static lull_status tape_release_pending(struct tape_writer *writer, uint32_t location,
                                        struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    lull_status status = LULL_OK;
    if (tape_holds_completions(out))
        return tape_put_completions(writer, location, err);
    for (unsigned i = 0; status == LULL_OK && i < out->n_pending; i++)
        status = tape_put_event(writer, location, &out->pending[i], err);
    out->n_pending = 0;
    return status;
}

/* Makes a CALL_LIKE of a record of a shaped kind if it is like the location's last record of its
 * shape; sets how many slots the record has. Where a location has fewer places than there are
 * shapes, several shapes share a place. */
static lull_status tape_shorten(struct tape_writer *writer, uint32_t location,
                                union lull_tape_slot *slots, size_t *count, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    const uint32_t number = lull_tape_shape_of_record(slots);
    struct lull_tape_shape shape = {.head = slots->record.head};
    memcpy(shape.words, slots + 1, (*count - 1) * sizeof *slots);
    if (!out->shapes)
        out->shapes = calloc(writer->n_shapes, sizeof *out->shapes);
    if (!out->shapes)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    struct lull_tape_shape *known = &out->shapes[number & (writer->n_shapes - 1)];
    if (memcmp(known, &shape, sizeof shape) != 0) {
        *known = shape;
        return LULL_OK;
    }
    slots->record.head = lull_tape_head(LULL_TAPE_CALL_LIKE, 0, number);
    *count = 1;
    return LULL_OK;
}

static lull_status put_shaped(struct tape_writer *writer, uint32_t location,
                              union lull_tape_slot *slots, struct lull_error *err)
{
    size_t count = 2;
    const lull_status status = tape_shorten(writer, location, slots, &count, err);
    return status == LULL_OK ? tape_put(writer, location, slots, count, err) : status;
}

static void make_message_call(unsigned kind, const struct lull_event *call,
                              const struct lull_event *event, union lull_tape_slot *slots)
{
    lull_tape_put_message_call(slots, kind, (uint64_t)call->time, call->id,
                               (uint32_t)call->duration, event->message.peer, event->message.tag,
                               event->id, event->message.bytes);
}

static void make_collective_call(unsigned kind, const struct lull_event *call,
                                 const struct lull_event *event, union lull_tape_slot *slots)
{
    const uint32_t root =
        event->collective.root < 0 ? LULL_TAPE_NO_ROOT : (uint32_t)event->collective.root;
    lull_tape_put_collective_call(slots, kind, (uint64_t)call->time, call->id,
                                  (uint32_t)call->duration, event->id, root, event->collective.sent,
                                  event->collective.received);
}

/* Makes one record of the call that is held back and an event that opens a request. Returns its
 * number of slots, 2; 0: there is no such call, or the two cannot be one record. */
static unsigned fold_opening(const struct tape_writer *writer, const struct tape_location *out,
                             const struct lull_event *event, union lull_tape_slot *slots)
{
    const struct lull_event *call = &out->pending[0];
    if (out->n_pending != 1 || call->kind != LULL_EVENT_CALL || tape_holds_completions(out))
        return 0;
    if (event->kind != LULL_EVENT_COLLECTIVE_BEGIN) {
        const unsigned kind = message_call_kind(call, event);
        if (kind == 0)
            return 0;
        make_message_call(kind, call, event, slots);
        return 2;
    }
    if (event->time != call->time || event->op != writer->trace->regions[call->id].collective ||
        !has_root(event) || !fits(call, event->id, event->collective.sent) ||
        event->collective.received > LULL_TAPE_BYTES_MASK)
        return 0;
    make_collective_call(LULL_TAPE_CALL_ICOLLECTIVE, call, event, slots);
    return 2;
}

/* Takes an event that opens the location's next request. */
static lull_status take_opening(struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct lull_event unnumbered = *event;
    union lull_tape_slot slots[2];
    lull_status status = tape_open_next(writer, location, event, err);
    if (status != LULL_OK)
        return status;
    if (fold_opening(writer, out, event, slots) > 0) {
        out->n_pending = 0;
        return put_shaped(writer, location, slots, err);
    }
    if (event->kind == LULL_EVENT_COLLECTIVE_BEGIN)
        unnumbered.collective.request = LULL_TAPE_NEXT_REQUEST;
    else
        unnumbered.message.request = LULL_TAPE_NEXT_REQUEST;
    status = tape_release_pending(writer, location, err);
    return status == LULL_OK ? tape_put_event(writer, location, &unnumbered, err) : status;
}

/* Makes one record of an event and what is held back; false: that cannot be done. */
static bool fold(struct tape_writer *writer, uint32_t location, const struct lull_event *event,
                 lull_status *ret_status, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct lull_event *call = &out->pending[0];
    union lull_tape_slot slots[2];
    *ret_status = LULL_OK;
    if (out->n_pending == 0 || tape_holds_completions(out))
        return false;
    if (call->kind == LULL_EVENT_ENTER) {
        if (event->kind != LULL_EVENT_LEAVE || event->id != call->id)
            return false;
        call->kind = LULL_EVENT_CALL;
        call->duration = event->time - call->time;
        return true;
    }
    if (out->n_pending == 2) {
        if (!is_end_of_call(writer->trace, call, &out->pending[1], event))
            return false;
        make_collective_call(LULL_TAPE_CALL_COLLECTIVE, call, event, slots);
    } else if (begins_with(call, event)) {
        out->pending[out->n_pending++] = *event;
        return true;
    } else {
        const unsigned kind = message_call_kind(call, event);
        if (kind != LULL_TAPE_CALL_SEND && kind != LULL_TAPE_CALL_RECV)
            return false;
        make_message_call(kind, call, event, slots);
    }
    out->n_pending = 0;
    *ret_status = put_shaped(writer, location, slots, err);
    return true;
}

/* Keeps a sample until the location is finished. */
static lull_status take_sample(struct tape_writer *writer, uint32_t location,
                               const struct lull_event *event, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    const uint32_t object = event->id < LULL_TAPE_NO_OBJECT ? event->id : LULL_TAPE_NO_OBJECT;
    if (!lull_array_reserve(&out->samples, &out->samples_capacity, out->n_samples + 1,
                            sizeof *out->samples))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    out->samples[out->n_samples++] =
        (struct written_sample){.sample = {.time = (uint64_t)event->time,
                                           .place = lull_tape_place(object, event->sample.offset),
                                           .weight = event->sample.weight},
                                .number = event->sample.number};
    return LULL_OK;
}

static lull_status take_event(struct tape_writer *writer, uint32_t location,
                              const struct lull_event *event, struct lull_error *err)
{
    lull_status status;
    if (event->kind == LULL_EVENT_SAMPLE)
        return take_sample(writer, location, event, err);
    if (tape_opens_next(&writer->locations[location], event))
        return take_opening(writer, location, event, err);
    if (tape_complete(writer, location, event, &status, err))
        return status;
    if (fold(writer, location, event, &status, err))
        return status;
    status = tape_release_pending(writer, location, err);
    if (status != LULL_OK)
        return status;
    if (event->kind != LULL_EVENT_ENTER && event->kind != LULL_EVENT_CALL)
        return tape_put_event(writer, location, event, err);
    struct tape_location *out = &writer->locations[location];
    out->pending[0] = *event;
    out->n_pending = 1;
    return LULL_OK;
}

/* The next events of a location: each goes into what is held back, or is held back, or is put. */
static lull_status tape_take_events(struct tape_writer *writer, const struct lull_block *block,
                                    struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t i = 0; status == LULL_OK && i < block->count; i++)
        status = take_event(writer, block->location, &block->events[i], err);
    return status;
}

/* ==== sums ==================================================================================== */

/* Sums are copied as they were read: in ns, by the ids of the trace. */

/* The counters that a location has counted, as many as a file of sums holds. */
static uint32_t find_summed_counters(const struct lull_trace *trace, const struct lull_sums *sums,
                                     uint32_t *ret_counters)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < trace->n_counters && n < LULL_TAPE_MOST_COUNTERS; c++) {
        uint64_t any = sums->counts_outside[c];
        for (uint32_t r = 0; r < sums->n_regions; r++)
            any |= sums->regions[r].counts[0][c] | sums->regions[r].counts[1][c];
        if (any)
            ret_counters[n++] = c;
    }
    return n;
}

static struct lull_tape_sums_header make_header(const struct tape_writer *writer, uint32_t location,
                                                const struct lull_sums *sums)
{
    const struct lull_trace *trace = writer->trace;
    const struct lull_location *of = &trace->locations[location];
    struct lull_tape_sums_header header = {
        .version = LULL_TAPE_VERSION,
        .byte_order = LULL_TAPE_BYTE_ORDER,
        .header_size = sizeof header,
        .process = of->process,
        .number = number_of(writer, location),
        .regions = trace->n_regions,
        .begin = (uint64_t)sums->begin,
        .end = (uint64_t)sums->end,
        .paused = (uint64_t)sums->paused,
        .absent = (uint64_t)sums->absent,
        .flushing = {(uint64_t)sums->flush[0], (uint64_t)sums->flush[1]},
    };
    memcpy(header.magic, LULL_TAPE_SUMS_MAGIC, sizeof header.magic);
    header.n_counters = find_summed_counters(trace, sums, header.counters);
    header.has_bytes = of->kind == LULL_LOCATION_DEVICE;
    header.sum_size = (uint32_t)(sizeof(struct lull_tape_sum) +
                                 (header.n_counters + header.has_bytes) * sizeof(uint64_t));
    for (uint32_t c = 0; c < header.n_counters; c++)
        header.counted[c] = sums->counts_outside[header.counters[c]];
    return header;
}

static void put_region_sum(const struct lull_tape_sums_header *header,
                           const struct lull_region_sum *region, unsigned char *to)
{
    to += (size_t)region->region * 2 * header->sum_size;
    for (unsigned parallel = 0; parallel < 2; parallel++, to += header->sum_size) {
        const struct lull_tape_sum sum = {region->visits[parallel], (uint64_t)region->ns[parallel]};
        memcpy(to, &sum, sizeof sum);
        for (uint32_t c = 0; c < header->n_counters; c++)
            memcpy(to + sizeof sum + c * sizeof(uint64_t),
                   &region->counts[parallel][header->counters[c]], sizeof(uint64_t));
    }
    if (header->has_bytes) /* all of them outside of parallel regions */
        memcpy(to - header->sum_size - sizeof region->bytes, &region->bytes, sizeof region->bytes);
}

/* Writes the sums of a location, in a run whose events do not tell all. */
static lull_status tape_write_sums(const struct tape_writer *writer,
                                   const struct process_file *file, uint32_t location,
                                   struct lull_error *err)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct lull_sums sums;
    lull_status status = lull_trace_read_sums(writer->trace, location, scratch, &sums, err);
    if (status == LULL_OK) {
        const struct lull_tape_sums_header header = make_header(writer, location, &sums);
        const size_t size = sizeof header + 2 * (size_t)header.regions * header.sum_size;
        unsigned char *bytes = lull_arena_zero(scratch, size, 1);
        memcpy(bytes, &header, sizeof header);
        for (uint32_t r = 0; r < sums.n_regions; r++)
            put_region_sum(&header, &sums.regions[r], bytes + sizeof header);
        status = write_part(file, LULL_TAPE_PART_SUMS, header.number, bytes, size, err);
    }
    lull_arena_destroy(scratch);
    return status;
}

/* ==== samples ================================================================================= */

/* Writes what a sample has more behind it, into `size` bytes. */
static void write_detail(const struct lull_sample_detail *detail, uint64_t fields,
                         unsigned char *bytes, size_t size)
{
    if (fields & LULL_TAPE_SAMPLE_COUNTS) {
        const struct lull_tape_sample_counts counts = {detail->instructions, detail->cycles};
        memcpy(bytes, &counts, sizeof counts);
        bytes += sizeof counts;
        size -= sizeof counts;
    }
    for (uint32_t i = 0; fields & LULL_TAPE_SAMPLE_STACK && i < detail->n_stack &&
                         (i + 1) * sizeof(uint64_t) <= size;
         i++) {
        const struct lull_stack_word *word = &detail->stack[i];
        const uint64_t written = lull_tape_stack_word(
            word->slot, word->object == LULL_NONE ? LULL_TAPE_IN_STACK : word->object,
            word->offset);
        memcpy(bytes + i * sizeof written, &written, sizeof written);
    }
}

/* Which fields the samples of the location have, and how many words of stacks at most. */
static lull_status survey_details(const struct tape_writer *writer, const struct tape_location *out,
                                  struct lull_sample_details *details, uint64_t *ret_fields,
                                  size_t *ret_size, struct lull_error *err)
{
    uint32_t words = 0;
    bool counted = false;
    lull_status status = LULL_OK;
    for (size_t i = 0; details && status == LULL_OK && i < out->n_samples; i++) {
        struct lull_sample_detail detail;
        status =
            lull_trace_read_detail(writer->trace, details, out->samples[i].number, &detail, err);
        if (status != LULL_OK)
            break;
        counted |= detail.counted;
        words = detail.n_stack > words ? detail.n_stack : words;
    }
    *ret_fields =
        (counted ? LULL_TAPE_SAMPLE_COUNTS : 0U) | (words > 0 ? LULL_TAPE_SAMPLE_STACK : 0U);
    *ret_size = sizeof(struct lull_tape_sample) +
                (counted ? sizeof(struct lull_tape_sample_counts) : 0) + words * sizeof(uint64_t);
    return status;
}

/* Writes the samples of a location, and how they were taken. */
static lull_status tape_write_samples(const struct tape_writer *writer,
                                      const struct process_file *file, uint32_t location,
                                      struct lull_error *err)
{
    static const uint32_t sources[LULL_SAMPLES_WAYS] = {
        [LULL_SAMPLES_REFUSED] = LULL_TAPE_SAMPLES_REFUSED,
        [LULL_SAMPLES_PERF] = LULL_TAPE_SAMPLES_PERF,
        [LULL_SAMPLES_FAKE] = LULL_TAPE_SAMPLES_FAKE,
        [LULL_SAMPLES_TIMER] = LULL_TAPE_SAMPLES_TIMER};
    const struct tape_location *out = &writer->locations[location];
    struct lull_sampling sampling;
    lull_status status = lull_trace_read_sampling(writer->trace, location, &sampling, err);
    if (status != LULL_OK || sampling.way == LULL_SAMPLES_NONE)
        return status;
    struct lull_sample_details *details;
    uint64_t fields = 0;
    size_t sample_size = 0;
    status = lull_trace_details_open(writer->trace, location, &details, err);
    if (status == LULL_OK)
        status = survey_details(writer, out, details, &fields, &sample_size, err);
    const size_t n = out->n_samples, size = n * sample_size;
    struct lull_tape_samples_header *header = NULL;
    if (status == LULL_OK) {
        header = calloc(1, sizeof *header + size);
        if (!header)
            status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    }
    if (status != LULL_OK) {
        lull_trace_details_close(writer->trace, details);
        return status;
    }
    *header =
        (struct lull_tape_samples_header){.version = LULL_TAPE_VERSION,
                                          .byte_order = LULL_TAPE_BYTE_ORDER,
                                          .header_size = sizeof *header,
                                          .sample_size = (uint32_t)sample_size,
                                          .process = writer->trace->locations[location].process,
                                          .number = number_of(writer, location),
                                          .source = sources[sampling.way],
                                          .refused = sampling.refused,
                                          .interval = (uint64_t)sampling.interval,
                                          .last_interval = (uint64_t)sampling.last_interval,
                                          .room = n,
                                          .state = n,
                                          .taken = sampling.taken,
                                          .lost = sampling.lost,
                                          .fields = fields};
    memcpy(header->magic, LULL_TAPE_SAMPLES_MAGIC, sizeof header->magic);
    unsigned char *bytes = (unsigned char *)(header + 1);
    for (size_t i = 0; status == LULL_OK && i < n; i++, bytes += sample_size) {
        const struct written_sample *written = &out->samples[i];
        struct lull_sample_detail detail;
        memcpy(bytes, &written->sample, sizeof written->sample);
        if (fields != 0)
            status = lull_trace_read_detail(writer->trace, details, written->number, &detail, err);
        if (fields != 0 && status == LULL_OK)
            write_detail(&detail, fields, bytes + sizeof written->sample,
                         sample_size - sizeof written->sample);
    }
    if (status == LULL_OK)
        status = write_part(file, LULL_TAPE_PART_SAMPLES, header->number, header,
                            sizeof *header + size, err);
    lull_trace_details_close(writer->trace, details);
    free(header);
    return status;
}

/* ==== writer ================================================================================== */

static lull_status write_tape_block(void *state, const struct lull_block *block,
                                    struct lull_error *err)
{
    return tape_take_events(state, block, err);
}

static uint16_t flag_of_cut(const struct lull_location *location)
{
    static const uint16_t flags[LULL_CUTS] = {
        [LULL_CUT_BUDGET] = LULL_TAPE_BUDGET_REACHED, [LULL_CUT_DISK] = LULL_TAPE_WRITE_FAILED};
    return flags[location->cut];
}

/* The header of a process's first location tells when the main part of the process begins and
 * ends. */
static void put_main(const struct lull_trace *trace, uint32_t location,
                     struct lull_tape_header *header)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (process->first_location != location || process->main_begin <= 0)
        return;
    header->main_begin = (uint64_t)process->main_begin;
    header->main_end = (uint64_t)process->main_end;
}

static void put_stream(const struct lull_trace *trace, const struct lull_location *location,
                       struct lull_tape_stream *ret_stream)
{
    const struct lull_stream *stream = location->stream;
    if (!stream)
        return;
    const struct lull_device *device = &trace->devices[stream->device];
    snprintf(ret_stream->runtime, sizeof ret_stream->runtime, "%s", device->runtime);
    snprintf(ret_stream->device, sizeof ret_stream->device, "%s", device->name);
    snprintf(ret_stream->key, sizeof ret_stream->key, "%s", device->key);
    ret_stream->context = stream->context;
    ret_stream->in_order = stream->in_order;
    ret_stream->summary = stream->summary;
    ret_stream->has_priority = stream->has_priority;
    ret_stream->priority = stream->priority;
    ret_stream->lost = stream->lost;
    ret_stream->clock_error = stream->clock_error;
}

/* Whether sums tell what events do not. Then all locations have them. */
static bool needs_sums(const struct lull_trace *trace)
{
    bool needs = trace->events == LULL_EVENTS_FIRST;
    for (uint32_t l = 0; l < trace->n_locations && !needs; l++)
        needs = trace->locations[l].stream && trace->locations[l].stream->summary;
    return needs && trace->has_sums;
}

static lull_status finish_location(struct tape_writer *writer, const struct process_file *file,
                                   uint32_t location, struct lull_error *err)
{
    const struct lull_location *definition = &writer->trace->locations[location];
    const struct tape_location *out = &writer->locations[location];
    lull_status status = tape_release_pending(writer, location, err);
    if (status == LULL_OK)
        status = write_records(writer, file, location, true, err);
    if (status != LULL_OK)
        return status;
    union {
        struct lull_tape_header header;
        unsigned char page[LULL_TAPE_HEADER_SIZE];
    } top = {.page = {0}};
    memcpy(top.header.magic, LULL_TAPE_MAGIC, sizeof top.header.magic);
    top.header.version = LULL_TAPE_VERSION;
    top.header.byte_order = LULL_TAPE_BYTE_ORDER;
    top.header.header_size = LULL_TAPE_HEADER_SIZE;
    top.header.record_size = sizeof(struct lull_tape_record);
    top.header.process = definition->process;
    top.header.number = definition->number;
    top.header.kind = definition->kind == LULL_LOCATION_DEVICE;
    top.header.role = definition->role;
    top.header.flags = LULL_TAPE_SHARED_IDS | LULL_TAPE_CLOSED | flag_of_cut(definition);
    top.header.source_id = definition->source_id;
    top.header.committed = out->flushed;
    top.header.cores = (struct lull_tape_cores){.on = definition->cores.on,
                                                .off = definition->cores.off,
                                                .preempted = definition->cores.preempted,
                                                .migrated = definition->cores.migrated,
                                                .allowed = definition->cores.allowed,
                                                .there = definition->cores.there,
                                                .which = definition->cores.which};
    top.header.usage = (struct lull_tape_usage){.user = definition->usage.user,
                                                .system = definition->usage.system,
                                                .outside = definition->usage.outside,
                                                .minor = definition->usage.minor,
                                                .major = definition->usage.major,
                                                .voluntary = definition->usage.voluntary};
    if (definition->cores.set)
        memcpy(top.header.core_set, definition->cores.set, sizeof top.header.core_set);
    put_main(writer->trace, location, &top.header);
    put_stream(writer->trace, definition, &top.header.stream);
    snprintf(top.header.name, sizeof top.header.name, "%s", definition->name);
    status =
        write_part(file, LULL_TAPE_PART_HEAD, number_of(writer, location), &top, sizeof top, err);
    if (status == LULL_OK)
        status = tape_write_samples(writer, file, location, err);
    if (status != LULL_OK || !needs_sums(writer->trace))
        return status;
    return tape_write_sums(writer, file, location, err);
}

static lull_status finish_process(struct tape_writer *writer, uint32_t number,
                                  struct lull_error *err)
{
    const struct lull_process *process = &writer->trace->processes[number];
    struct process_file file;
    if (process->n_locations == 0)
        return LULL_OK;
    lull_status status = open_process_file(writer, number, &file, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t l = 0; status == LULL_OK && l < process->n_locations; l++)
        status = finish_location(writer, &file, process->first_location + l, err);
    if (status == LULL_OK)
        status = write_process_tables(&file, number, err);
    return close_process_file(&file, status, err);
}

static lull_status write_anchor(const struct tape_writer *writer, struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, lull_output_path(writer->output));
    FILE *out = fopen(path, "w");
    bool good = out && fputs(LULL_TAPE_ANCHOR, out) != EOF;
    if (out && fclose(out) != 0)
        good = false;
    return good ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

static lull_status close_tape_writer(void *state, bool commit, struct lull_error *err)
{
    struct tape_writer *writer = state;
    lull_status status = LULL_OK;
    for (uint32_t p = 0; commit && status == LULL_OK && p < writer->trace->n_processes; p++)
        status = finish_process(writer, p, err);
    if (commit && status == LULL_OK)
        status = lull_tape_write_definitions(writer->trace, lull_output_path(writer->output), err);
    if (commit && status == LULL_OK)
        status = write_anchor(writer, err);
    for (uint32_t l = 0; l < writer->trace->n_locations; l++) {
        free(writer->locations[l].buffer);
        free(writer->locations[l].shapes);
        free(writer->locations[l].samples);
        tape_free_numbers(&writer->locations[l]);
    }
    for (uint32_t p = 0; p < writer->trace->n_processes; p++)
        free(writer->processes[p].extents);
    free(writer->locations);
    free(writer->processes);
    if (commit && status == LULL_OK)
        status = lull_output_commit(writer->output, err);
    else
        lull_output_discard(writer->output);
    free(writer);
    return status;
}

/* How many shapes each location has room for: fewer in runs of many locations, so that all together
 * take at most most_bytes. */
static uint32_t shapes_for(uint32_t n_locations)
{
    const uint64_t most_bytes = 64 << 20;
    uint32_t n = LULL_TAPE_SHAPES;
    while (n > 1 && (uint64_t)n * sizeof(struct lull_tape_shape) * n_locations > most_bytes)
        n /= 2;
    return n;
}

lull_status lull_tape_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err)
{
    if (trace->n_nodes > LULL_TAPE_MOST_IDS || trace->n_regions > LULL_TAPE_MOST_IDS ||
        trace->n_states > LULL_TAPE_MOST_IDS || trace->n_comms > LULL_TAPE_MOST_IDS ||
        trace->n_counters > LULL_TAPE_MOST_IDS || trace->n_markers > LULL_TAPE_MOST_IDS ||
        trace->n_objects > LULL_TAPE_MOST_IDS)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: more than %u definitions of one kind",
                         trace->path, LULL_TAPE_MOST_IDS);
    struct tape_writer *writer = calloc(1, sizeof *writer);
    struct tape_location *locations = calloc(trace->n_locations, sizeof *locations);
    struct tape_process *processes = calloc(trace->n_processes, sizeof *processes);
    lull_status status = writer && locations && processes
                             ? LULL_OK
                             : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    if (status == LULL_OK) {
        *writer = (struct tape_writer){.trace = trace,
                                       .locations = locations,
                                       .processes = processes,
                                       .n_shapes = shapes_for(trace->n_locations)};
        status = lull_output_begin(path, true, replace, &writer->output, err);
    }
    if (status != LULL_OK) {
        free(writer);
        free(locations);
        free(processes);
        return status;
    }
    *ret_writer = (struct lull_writer){
        .state = writer, .block = write_tape_block, .close = close_tape_writer};
    return LULL_OK;
}
