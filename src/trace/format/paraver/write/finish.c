#include "trace/format/paraver/write/writer.h"

#include "base/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- the end --------------------------------------------------------------------------------- */

/* What is known only at the end but belongs before lines already written, put in place on copying:
 * a last state, or a message that found no other half. */
struct late {
    int64_t time;
    uint32_t location, state;
    const struct lull_prv_waiting *message; /* NULL: a state */
};

struct final_copy {
    const struct lull_prv_writer *writer;
    gzFile gzip;
    FILE *file;
    struct late *late; /* sorted by time */
    size_t n_late, next_late;
    int failure; /* errno of the first write that failed */
};

static void put_bytes(struct final_copy *copy, const char *data, size_t length)
{
    if (!copy->gzip)
        fwrite(data, 1, length, copy->file);
    else if (!copy->failure && gzwrite(copy->gzip, data, (unsigned)length) != (int)length)
        copy->failure = errno;
}

static void put_string(void *context, const char *text)
{
    put_bytes(context, text, strlen(text));
}

static void put_late_state(struct final_copy *copy, const struct late *late)
{
    char line[192] = "1:";
    size_t length = 2;
    length += lull_prv_put_object(copy->writer, line + length, late->location);
    length += (size_t)snprintf(line + length, sizeof line - length, "%lld:%lld:%u\n",
                               (long long)late->time, (long long)copy->writer->end, late->state);
    put_bytes(copy, line, length);
}

static void put_late_message(struct final_copy *copy, const struct late *late)
{
    const struct lull_prv_waiting *half = late->message;
    uint64_t comm = lull_prv_comm_id(copy->writer, half->comm);
    char line[320] = "2:";
    size_t length = 2;
    length += lull_prv_put_object(copy->writer, line + length, late->location);
    length += (size_t)snprintf(
        line + length, sizeof line - length, "%lld:%d:1:%d:%llu:%d:%llu:%d:%u",
        (long long)late->time, half->send ? LULL_PRV_OWN_SEND : LULL_PRV_OWN_RECEIVE,
        LULL_PRV_RMA_SIZE, (unsigned long long)half->bytes, LULL_PRV_RMA_TARGET,
        (half->send ? half->destination : half->source) + 1ull, LULL_PRV_OWN_TAG,
        (uint32_t)half->tag);
    if (comm)
        length += (size_t)snprintf(line + length, sizeof line - length, ":%d:%llu",
                                   LULL_PRV_COMMUNICATOR, (unsigned long long)comm);
    line[length++] = '\n';
    put_bytes(copy, line, length);
}

static void put_late(struct final_copy *copy, int64_t until)
{
    for (; copy->next_late < copy->n_late; copy->next_late++) {
        const struct late *late = &copy->late[copy->next_late];
        if (late->time > until)
            break;
        if (late->message)
            put_late_message(copy, late);
        else
            put_late_state(copy, late);
    }
}

/* Time of a state or event line: the sixth field. */
static int64_t time_of_line(const char *line, size_t length)
{
    int colons = 0;
    for (size_t i = 0; i < length; i++)
        if (line[i] == ':' && ++colons == 5)
            return strtoll(line + i + 1, NULL, 10);
    return 0;
}

static void copy_line(void *context, const char *line, size_t length)
{
    struct final_copy *copy = context;
    if (copy->next_late < copy->n_late && line[0] != '3')
        put_late(copy, time_of_line(line, length));
    put_bytes(copy, line, length);
}

static int compare_late(const void *a, const void *b)
{
    const struct late *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->location < right->location ? -1 : left->location > right->location;
}

/* The last states: from the last event on a thread of the program is not there any more. */
static void end_states(struct lull_prv_writer *writer, struct final_copy *copy)
{
    for (uint32_t l = 0; !writer->trace->has_states && l < writer->trace->n_locations; l++) {
        struct lull_prv_writer_track *track = &writer->tracks[l];
        uint32_t state = lull_prv_state_now(writer, l, false);
        int64_t end = writer->end;
        if (state != track->state && track->last_time <= track->state_begin) {
            lull_prv_spool_patch(writer->spool, track->state_position + LULL_PRV_FIELD + 1, state);
        } else if (state != track->state && track->last_time < end) {
            end = track->last_time;
            copy->late[copy->n_late++] = (struct late){end, l, state, NULL};
        }
        lull_prv_spool_patch(writer->spool, track->state_position, (uint64_t)end);
    }
}

static void end_messages(const struct lull_prv_writer *writer, struct final_copy *copy)
{
    const struct lull_prv_matcher *matcher = &writer->matcher;
    for (size_t b = 0; b < matcher->n_buckets; b++)
        for (const struct lull_prv_waiting *half = matcher->buckets[b].first; half;
             half = half->next)
            copy->late[copy->n_late++] = (struct late){half->time, half->location, 0, half};
}

static lull_status copy_all(struct lull_prv_writer *writer, struct final_copy *copy,
                            struct lull_error *err)
{
    const char *path = lull_output_path(writer->prv);
    if (writer->gzip)
        copy->gzip = gzopen(path, "wb");
    else
        copy->file = lull_output_stream_open(path, &copy->failure);
    if (!copy->gzip && !copy->file)
        return lull_fail_errno(err, "%s: cannot write", path);
    lull_prv_write_header(writer->trace, writer->codes, writer->end, put_string, copy);
    lull_status status = lull_prv_spool_read(writer->spool, copy_line, copy, err);
    put_late(copy, INT64_MAX);
    if (!copy->gzip) {
        struct lull_error *told = status == LULL_OK ? err : NULL;
        lull_status closed = lull_output_stream_close(copy->file, &copy->failure, path, told);
        return status == LULL_OK ? closed : status;
    }
    if (gzclose(copy->gzip) != Z_OK && !copy->failure)
        copy->failure = errno;
    errno = copy->failure;
    return status == LULL_OK && copy->failure ? lull_fail_errno(err, "%s: cannot write", path)
                                              : status;
}

static lull_status write_final_files(struct lull_prv_writer *writer, struct lull_error *err)
{
    writer->end = writer->now > writer->trace->duration ? writer->now : writer->trace->duration;
    struct final_copy copy = {.writer = writer};
    copy.late = calloc(writer->trace->n_locations + writer->matcher.n_waiting, sizeof *copy.late);
    if (!copy.late || writer->out_of_memory) {
        free(copy.late);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_output_path(writer->prv));
    }
    end_states(writer, &copy);
    end_messages(writer, &copy);
    qsort(copy.late, copy.n_late, sizeof *copy.late, compare_late);
    lull_status status = copy_all(writer, &copy, err);
    free(copy.late);
    if (status == LULL_OK)
        status =
            lull_prv_write_pcf(writer->trace, writer->codes, lull_output_path(writer->pcf), err);
    if (status == LULL_OK)
        status =
            lull_prv_write_row(writer->trace, writer->codes, lull_output_path(writer->row), err);
    return status;
}

/* The .prv appears last: where it is, its companions are. */
static lull_status commit_all(struct lull_prv_writer *writer, struct lull_error *err)
{
    struct lull_output *const outputs[] = {writer->pcf, writer->row, writer->prv};
    writer->pcf = writer->row = writer->prv = NULL;
    return lull_output_commit_all(outputs, sizeof outputs / sizeof *outputs, err);
}

lull_status lull_prv_finish(struct lull_prv_writer *writer, struct lull_error *err)
{
    lull_status status = write_final_files(writer, err);
    return status == LULL_OK ? commit_all(writer, err) : status;
}
