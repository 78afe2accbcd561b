/* Communicators of a Paraver trace. */
#include "trace/format/paraver/read/header.h"

#include <stdlib.h>

static void add_comm_of_line(struct lull_prv_header *header, struct lull_prv_comms *comms,
                             const struct lull_comm *comm, uint32_t application, uint64_t id)
{
    struct lull_trace *trace = header->trace;
    struct lull_paraver *paraver = header->paraver;
    trace->comms = lull_arena_grow(trace->arena, trace->comms, &comms->comms_capacity,
                                   trace->n_comms + 1, sizeof *trace->comms);
    paraver->comm_ids = lull_arena_grow(trace->arena, paraver->comm_ids, &comms->ids_capacity,
                                        paraver->n_comm_ids + 1, sizeof *paraver->comm_ids);
    paraver->comm_ids[paraver->n_comm_ids++] =
        (struct lull_prv_comm_id){.application = application, .id = id, .comm = trace->n_comms};
    trace->comms[trace->n_comms++] = *comm;
}

/* c:<application>:<id>:<size>:<task>:... */
lull_status lull_prv_read_comm(struct lull_prv_header *header, struct lull_prv_comms *comms,
                               struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    struct lull_paraver *paraver = header->paraver;
    uint64_t app, id, size, task;
    header->at = header->lines->line + 1;
    if (!lull_prv_skip(header, ':') || !lull_prv_header_number(header, &app) ||
        !lull_prv_skip(header, ':') || !lull_prv_header_number(header, &id) ||
        !lull_prv_skip(header, ':') || !lull_prv_header_number(header, &size))
        return lull_prv_bad_header(header, err,
                                   "expected 'c:application:communicator:size:task:...'");
    if (app == 0 || app > paraver->n_applications)
        return lull_prv_bad_header(
            header, err, "the communicator belongs to an application that does not exist");
    const struct lull_prv_application *application = &paraver->applications[app - 1];
    if (size > header->lines->length)
        return lull_prv_bad_header(header, err,
                                   "the communicator has more members than the line lists");
    uint32_t *members = lull_arena_zero(trace->arena, size, sizeof *members);
    bool contiguous = true, exist = true;
    for (uint64_t r = 0; r < size; r++) {
        bool next = lull_prv_skip(header, ':'), nobody = next && lull_prv_skip(header, '-');
        if (!next || !lull_prv_header_number(header, &task))
            return lull_prv_bad_header(header, err,
                                       "expected ':' and the next member of the communicator");
        exist &= !nobody && task - 1 < application->n_processes;
        members[r] = application->first_process + (uint32_t)(task - 1);
        contiguous &= members[r] == members[0] + r;
    }
    if (!exist) { /* Extrae lists communicators of other applications under the first */
        lull_trace_add_quirk(trace,
                             "a communicator has members that its application lacks; ignored",
                             "line %llu", (unsigned long long)header->lines->number);
        return LULL_OK;
    }
    bool world = contiguous && size == application->n_processes && size > 0;
    struct lull_comm comm = {.name = world ? lull_arena_strdup(trace->arena, "world")
                                           : lull_arena_printf(trace->arena, "communicator %llu",
                                                               (unsigned long long)id),
                             .size = (uint32_t)size,
                             .members = contiguous ? NULL : members,
                             .first = size ? members[0] : 0,
                             .parent = LULL_NONE,
                             .remote = LULL_NONE,
                             .paradigm = LULL_PARADIGM_MPI};
    if (world && application->world == LULL_NONE)
        paraver->applications[app - 1].world = trace->n_comms;
    add_comm_of_line(header, comms, &comm, (uint32_t)app - 1, id);
    return LULL_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct lull_prv_comm_id *left = a, *right = b;
    if (left->application != right->application)
        return left->application < right->application ? -1 : 1;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->comm < right->comm ? -1 : left->comm > right->comm;
}

uint32_t lull_prv_comm_find(const struct lull_paraver *paraver, uint32_t application, uint64_t id)
{
    size_t low = 0, high = paraver->n_comm_ids;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct lull_prv_comm_id *entry = &paraver->comm_ids[middle];
        if (entry->application < application ||
            (entry->application == application && entry->id < id))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == paraver->n_comm_ids || paraver->comm_ids[low].application != application ||
        paraver->comm_ids[low].id != id)
        return LULL_NONE;
    return paraver->comm_ids[low].comm;
}

/* Messages carry no communicator: they belong to the application's world, listed or not. */
void lull_prv_complete_worlds(struct lull_prv_header *header, struct lull_prv_comms *comms)
{
    struct lull_paraver *paraver = header->paraver;
    for (uint32_t a = 0; a < paraver->n_applications; a++) {
        struct lull_prv_application *application = &paraver->applications[a];
        if (application->world != LULL_NONE)
            continue;
        struct lull_comm comm = {.name = "world",
                                 .size = application->n_processes,
                                 .first = application->first_process,
                                 .parent = LULL_NONE,
                                 .remote = LULL_NONE,
                                 .paradigm = LULL_PARADIGM_MPI};
        application->world = header->trace->n_comms;
        add_comm_of_line(header, comms, &comm, a, UINT64_MAX);
    }
    if (paraver->n_comm_ids > 0)
        qsort(paraver->comm_ids, paraver->n_comm_ids, sizeof *paraver->comm_ids, compare_ids);
}
