#include "trace/format/paraver/write/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages and collectives ---------------------------------------------------------------- */

static void put_message_line(struct lull_prv_writer *writer, const struct lull_prv_waiting *send,
                             const struct lull_prv_waiting *receive)
{
    char line[320] = "3:";
    size_t length = 2;
    length += lull_prv_put_object(writer, line + length, send->location);
    length += (size_t)snprintf(line + length, sizeof line - length,
                               "%lld:%lld:", (long long)send->time, (long long)send->time);
    length += lull_prv_put_object(writer, line + length, receive->location);
    length += (size_t)snprintf(line + length, sizeof line - length, "%lld:%lld:%llu:%d\n",
                               (long long)receive->time, (long long)receive->time,
                               (unsigned long long)receive->bytes, receive->tag);
    lull_prv_spool_add(writer->spool, line, length);
}

uint64_t lull_prv_comm_id(const struct lull_prv_writer *writer, uint32_t comm)
{
    return comm < writer->trace->n_comms ? writer->codes->comms[comm] : 0;
}

uint64_t lull_prv_target_of(int32_t process)
{
    return process == LULL_PROC_NULL ? LULL_PRV_NOBODY : (uint64_t)(process + INT64_C(1));
}

/* To or from nobody: no other half will come. */
static void lone_message(struct lull_prv_writer *writer, uint32_t location,
                         const struct lull_event *event)
{
    lull_prv_add_own_pair(writer, location,
                          event->kind == LULL_EVENT_SEND ? LULL_PRV_OWN_SEND : LULL_PRV_OWN_RECEIVE,
                          1);
    lull_prv_add_own_pair(writer, location, LULL_PRV_RMA_SIZE, event->message.bytes);
    lull_prv_add_own_pair(writer, location, LULL_PRV_RMA_TARGET,
                          lull_prv_target_of(event->message.peer));
    lull_prv_add_own_pair(writer, location, LULL_PRV_OWN_TAG, (uint32_t)event->message.tag);
    if (lull_prv_comm_id(writer, event->id))
        lull_prv_add_own_pair(writer, location, LULL_PRV_COMMUNICATOR,
                              lull_prv_comm_id(writer, event->id));
}

void lull_prv_add_message(struct lull_prv_writer *writer, uint32_t location,
                          const struct lull_event *event)
{
    bool send = event->kind == LULL_EVENT_SEND;
    uint32_t process = writer->trace->locations[location].process;
    if (event->message.peer < 0 || (uint32_t)event->message.peer >= writer->trace->n_processes) {
        lone_message(writer, location, event);
        return;
    }
    uint32_t peer = (uint32_t)event->message.peer;
    struct lull_prv_waiting half = {.comm = event->id,
                                    .source = send ? process : peer,
                                    .destination = send ? peer : process,
                                    .tag = event->message.tag,
                                    .send = send,
                                    .location = location,
                                    .time = event->time,
                                    .bytes = event->message.bytes};
    struct lull_prv_waiting *other;
    if (!lull_prv_match(&writer->matcher, &half, &other)) {
        writer->out_of_memory = true;
        return;
    }
    if (other)
        put_message_line(writer, send ? &half : other, send ? other : &half);
    free(other);
}

/* Whether the event can be told by Extrae's parameters: blocking, in a call of its kind. */
static bool is_standard(const struct lull_prv_writer *writer, uint32_t location,
                        const struct lull_event *event)
{
    const struct lull_prv_writer_track *track = &writer->tracks[location];
    if (event->collective.request != LULL_NO_REQUEST || track->depth == 0)
        return false;
    const struct lull_prv_frame *top = &track->stack[track->depth - 1];
    return writer->codes->regions[top->code].type == LULL_PRV_MPI_COLLECTIVE &&
           (event->op == writer->trace->regions[top->region].collective ||
            event->op == LULL_COLLECTIVE_UNKNOWN);
}

static const uint64_t collective_parameters[] = {LULL_PRV_SEND_SIZE, LULL_PRV_RECEIVE_SIZE,
                                                 LULL_PRV_IS_ROOT, LULL_PRV_COMMUNICATOR};
enum {
    N_PARAMETERS = sizeof collective_parameters / sizeof *collective_parameters,
    PARAMETER_WIDTH = 1 + 8 + 1 + LULL_PRV_FIELD /* ":50100001:" and the field */
};

/* The sizes stand on the line of the begin and are known at the end. */
void lull_prv_begin_collective(struct lull_prv_writer *writer, uint32_t location,
                               const struct lull_event *event)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (track->collective_at > 0 || track->collective_position != LULL_PRV_NO_POSITION ||
        !is_standard(writer, location, event)) {
        lull_prv_add_own_pair(writer, location, LULL_PRV_OWN_EVENTS + 12, event->op + UINT64_C(1));
        if (lull_prv_comm_id(writer, event->id))
            lull_prv_add_own_pair(writer, location, LULL_PRV_COMMUNICATOR,
                                  lull_prv_comm_id(writer, event->id));
        return;
    }
    lull_prv_open_line(writer, location);
    track->changes = true;
    track->collective_at = track->pairs.length + 1;
    for (int i = 0; i < N_PARAMETERS; i++) {
        char text[64];
        int length = snprintf(text, sizeof text, ":%llu:%0*d",
                              (unsigned long long)collective_parameters[i], LULL_PRV_FIELD, 0);
        lull_prv_append(writer, &track->pairs, text, (size_t)length);
    }
}

static void patch_collective(struct lull_prv_writer *writer, struct lull_prv_writer_track *track,
                             const uint64_t values[N_PARAMETERS])
{
    for (int i = 0; i < N_PARAMETERS; i++) {
        size_t field = (size_t)i * PARAMETER_WIDTH + PARAMETER_WIDTH - LULL_PRV_FIELD;
        if (track->collective_position != LULL_PRV_NO_POSITION) {
            lull_prv_spool_patch(writer->spool, track->collective_position + field, values[i]);
            continue;
        }
        char text[LULL_PRV_FIELD + 1];
        snprintf(text, sizeof text, "%0*llu", LULL_PRV_FIELD, (unsigned long long)values[i]);
        memcpy(track->pairs.data + track->collective_at - 1 + field, text, LULL_PRV_FIELD);
    }
    track->collective_at = 0;
    track->collective_position = LULL_PRV_NO_POSITION;
}

void lull_prv_end_collective(struct lull_prv_writer *writer, uint32_t location,
                             const struct lull_event *event)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    uint32_t process = writer->trace->locations[location].process;
    uint64_t comm = lull_prv_comm_id(writer, event->id);
    bool begun = track->collective_at > 0 || track->collective_position != LULL_PRV_NO_POSITION;
    if (begun && is_standard(writer, location, event)) {
        bool root = event->collective.root >= 0 && (uint32_t)event->collective.root == process;
        const uint64_t values[] = {event->collective.sent, event->collective.received, root, comm};
        patch_collective(writer, track, values);
        return;
    }
    lull_prv_add_own_pair(writer, location, LULL_PRV_OWN_EVENTS + 13, event->op + UINT64_C(1));
    lull_prv_add_own_pair(writer, location, LULL_PRV_SEND_SIZE, event->collective.sent);
    lull_prv_add_own_pair(writer, location, LULL_PRV_RECEIVE_SIZE, event->collective.received);
    if (comm)
        lull_prv_add_own_pair(writer, location, LULL_PRV_COMMUNICATOR, comm);
    if (event->collective.root >= 0)
        lull_prv_add_own_pair(writer, location, LULL_PRV_OWN_ROOT,
                              (uint64_t)event->collective.root + 1);
}
