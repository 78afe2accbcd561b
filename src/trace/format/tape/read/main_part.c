/* Where the main part of each process begins and ends: a header tells it. Tapes of version 1 do
 * not: there MPI_Init stands near the begin of the records of a process's first thread, and
 * MPI_Finalize near their end. */
#include "trace/format/tape/share/share.h"
#include "trace/format/tape/tape.h"

#include <stdlib.h>
#include <string.h>

enum { NEAR = 16 }; /* chunks that are searched; further off the two are not looked for */

struct search {
    const struct lull_trace *trace;
    union lull_tape_slot *slots; /* a chunk */
    bool *init, *finalize;       /* [n_regions] */
};

static int64_t ns_since_origin(const struct lull_trace *trace, const struct lull_tape_file *file,
                               uint64_t ticks)
{
    const struct lull_tape_data *data = trace->format_data;
    size_t segment = 0;
    uint64_t ns =
        file->clock->n_segments > 0 ? (uint64_t)lull_tape_ns(file->clock, ticks, &segment) : ticks;
    return (int64_t)(ns - (uint64_t)data->origin);
}

static void set_begin(struct lull_process *process, int64_t begin)
{
    if (begin > 0 && begin <= process->main_end)
        process->main_begin = begin;
}

static void set_end(const struct lull_trace *trace, struct lull_process *process, int64_t end)
{
    if (end >= process->main_begin && end <= trace->duration)
        process->main_end = end;
}

/* ---- version 1 --------------------------------------------------------------------------------
 */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

static bool *mark_regions(const struct lull_trace *trace, const char *const *names)
{
    bool *marks = calloc(trace->n_regions + (size_t)1, sizeof *marks);
    for (uint32_t r = 0; marks && r < trace->n_regions; r++)
        marks[r] = is_one_of(trace->regions[r].name, names);
    return marks;
}

/* The first call of a marked region in `count` slots; NULL: there is none. */
static const union lull_tape_slot *find_call(const struct lull_tape_file *file,
                                             const union lull_tape_slot *slots, size_t count,
                                             const bool *marks)
{
    const struct lull_tape_ids *regions = &file->ids->maps[LULL_TAPE_MAP_REGION];
    for (size_t i = 0; i < count; i += 1 + lull_tape_extra_of(slots[i].record.head)) {
        uint32_t head = slots[i].record.head, id = lull_tape_id_of(head);
        if (lull_tape_kind_of(head) == LULL_TAPE_PAD ||
            lull_tape_kind_of(head) == LULL_TAPE_NOTHING)
            break;
        if (lull_tape_kind_of(head) == LULL_TAPE_CALL && i + lull_tape_extra_of(head) < count &&
            id < regions->count && regions->index[id] != LULL_NONE && marks[regions->index[id]])
            return &slots[i];
    }
    return NULL;
}

static lull_status search_chunk(const struct search *search, const struct lull_tape_file *file,
                                uint64_t chunk, const bool *marks,
                                const union lull_tape_slot **ret_call, struct lull_error *err)
{
    uint64_t begin = chunk * LULL_TAPE_CHUNK, left = file->header.committed - begin;
    size_t got = 0;
    lull_status status = lull_tape_read_records(search->trace, file, begin,
                                                left < LULL_TAPE_CHUNK ? left : LULL_TAPE_CHUNK,
                                                search->slots, &got, err);
    if (status == LULL_ERR_FORMAT) /* damaged, which who reads it all is told */
        return LULL_OK;
    if (status == LULL_OK)
        *ret_call = find_call(file, search->slots, got / sizeof *search->slots, marks);
    return status;
}

static lull_status find_main(const struct search *search, const struct lull_tape_file *file,
                             struct lull_process *process, struct lull_error *err)
{
    const uint64_t chunks = (file->header.committed + LULL_TAPE_CHUNK - 1) / LULL_TAPE_CHUNK;
    const union lull_tape_slot *call = NULL;
    lull_status status = LULL_OK;
    for (uint64_t c = 0; status == LULL_OK && !call && c < chunks && c < NEAR; c++)
        status = search_chunk(search, file, c, search->init, &call, err);
    if (status != LULL_OK || !call)
        return status;
    uint64_t length = lull_tape_extra_of(call->record.head) ? call[1].u64[0] : call->record.value;
    set_begin(process, ns_since_origin(search->trace, file, call->record.time + length));
    call = NULL;
    for (uint64_t c = chunks; status == LULL_OK && !call && c > 0 && c + NEAR > chunks; c--)
        status = search_chunk(search, file, c - 1, search->finalize, &call, err);
    if (status == LULL_OK && call)
        set_end(search->trace, process, ns_since_origin(search->trace, file, call->record.time));
    return status;
}

static lull_status search_all(struct lull_trace *trace, struct lull_error *err)
{
    static const char *const init[] = {"MPI_Init", "MPI_Init_thread", NULL};
    static const char *const finalize[] = {"MPI_Finalize", NULL};
    const struct lull_tape_data *data = trace->format_data;
    struct search search = {.trace = trace,
                            .slots = malloc(LULL_TAPE_CHUNK),
                            .init = mark_regions(trace, init),
                            .finalize = mark_regions(trace, finalize)};
    lull_status status = LULL_OK;
    if (!search.slots || !search.init || !search.finalize)
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++) {
        const uint32_t first = trace->processes[p].first_location;
        status = lull_tape_need(trace, first, err);
        if (status == LULL_OK)
            status = find_main(&search, &data->files[first], &trace->processes[p], err);
    }
    free(search.slots);
    free(search.init);
    free(search.finalize);
    return status;
}

/* ---- since version 2 --------------------------------------------------------------------------
 */

/* Any thread may have called the two. */
static void take_told(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_tape_file *file = &data->files[l];
        struct lull_process *process = &trace->processes[trace->locations[l].process];
        if (file->header.main_begin != 0)
            set_begin(process, ns_since_origin(trace, file, file->header.main_begin));
        if (file->header.main_end != 0)
            set_end(trace, process, ns_since_origin(trace, file, file->header.main_end));
    }
}

lull_status lull_tape_find_main(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->processes[p].main_end = trace->duration;
    bool tells = false;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        tells |= data->files[l].header.version > 1;
    if (tells)
        take_told(trace);
    else if (strncmp(trace->producer, "lull", 4) == 0)
        status = search_all(trace, err);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->has_main |= trace->processes[p].main_begin > 0;
    return status;
}
