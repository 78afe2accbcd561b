/* The bytes of a tape that is written. Buffers are small and files are open only while a buffer is
 * written, so that the number of locations is not bounded by the number of files that may be
 * open. */
#include "base/array.h"
#include "trace/format/tape/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BUFFER = 4 * LULL_TAPE_CHUNK, FIRST_BUFFER = 1024, MOST_BUFFERED = 96 << 20 };

void lull_tape_output_path(const struct tape_writer *writer, uint32_t location, const char *ending,
                           char *path, size_t size)
{
    uint32_t process = writer->trace->locations[location].process;
    uint32_t number = location - writer->trace->processes[process].first_location;
    snprintf(path, size, "%s/%u/%u.%u.%s", lull_output_path(writer->output),
             process / LULL_TAPE_GROUP, process, number, ending);
}

static lull_status write_fully(int fd, const void *bytes, size_t size, uint64_t offset,
                               const char *path, struct lull_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lull_fail_errno(err, "%s: cannot write", path);
        done += (size_t)n;
    }
    return LULL_OK;
}

static lull_status make_group(const struct tape_writer *writer, uint32_t location,
                              struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%u", lull_output_path(writer->output),
             writer->trace->locations[location].process / LULL_TAPE_GROUP);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return lull_fail_errno(err, "%s: cannot create", path);
    return LULL_OK;
}

lull_status lull_tape_flush(struct tape_writer *writer, uint32_t location, const void *header,
                            struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    char path[4096];
    lull_tape_output_path(writer, location, "tape", path, sizeof path);
    lull_status status = out->created ? LULL_OK : make_group(writer, location, err);
    if (status != LULL_OK)
        return status;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot create", path);
    out->created = true;
    status =
        write_fully(fd, out->buffer, out->used, LULL_TAPE_HEADER_SIZE + out->flushed, path, err);
    if (status == LULL_OK && header)
        status = write_fully(fd, header, LULL_TAPE_HEADER_SIZE, 0, path, err);
    if (close(fd) != 0 && status == LULL_OK)
        status = lull_fail_errno(err, "%s: cannot write", path);
    out->flushed += out->used;
    out->used = 0;
    return status;
}

static lull_status flush_everything(struct tape_writer *writer, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < writer->trace->n_locations; l++) {
        struct tape_location *out = &writer->locations[l];
        if (out->used > 0)
            status = lull_tape_flush(writer, l, NULL, err);
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
        return lull_tape_flush(writer, location, NULL, err);
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

lull_status lull_tape_make_room_and_put(struct tape_writer *writer, uint32_t location,
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
