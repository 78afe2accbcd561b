/* The lines before the first record.
 *
 *   #Paraver (DD/MM/YYYY at HH:MM):<duration>[_ns]:<nodes>(<cpus>,...):<applications>:<list>
 *   list: <tasks>(<threads>:<node>,...)[,<communicators>], separated by ':' or ','
 *   The list of processors may be missing; a member of a communicator may be -1.
 *   c:<application>:<id>:<size>:<task>:...
 *
 * Numbers promised here decide allocations, so each must be borne out: nodes and tasks by the list
 * that follows, threads by the size of the file. */
#include "trace/format/paraver/read/header.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_THREADS = 1 << 24,
    MOST_NODES = 1 << 20, /* where no list bears them out */
    DEFLATE_RATIO = 1032  /* the best that deflate can do */
};

/* ---- the first line -------------------------------------------------------------------------- */

lull_status lull_prv_bad_header(const struct lull_prv_header *header, struct lull_error *err,
                                const char *what)
{
    size_t column = (size_t)(header->at - header->lines->line) + 1;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: column %zu: %s", header->trace->path,
                     (unsigned long long)header->lines->number, column, what);
}

static lull_status read_duration(struct lull_prv_header *header, struct lull_error *err)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"_ns", 1}, {"_us", 1000}, {"_ms", 1000000}};
    const char *text = (const char *)header->lines->line;
    const char *behind_date = strchr(text, ')');
    if (strncmp(text, "#Paraver", 8) != 0 || !behind_date || behind_date[1] != ':') {
        header->at = header->lines->line;
        return lull_prv_bad_header(header, err, "expected '#Paraver (date at time):'");
    }
    header->at = (const uint8_t *)behind_date + 2;
    uint64_t duration;
    if (!lull_prv_header_number(header, &duration))
        return lull_prv_bad_header(header, err, "expected the duration of the run");
    header->paraver->ticks_to_ns = 1000; /* the format's unit of old */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strncmp((const char *)header->at, units[i].unit, 3) == 0) {
            header->paraver->ticks_to_ns = units[i].ns;
            header->at += 3;
        }
    }
    if (duration > (uint64_t)INT64_MAX / 2 / header->paraver->ticks_to_ns)
        return lull_prv_bad_header(header, err, "the run lasts longer than 146 years");
    header->trace->duration = (int64_t)(duration * header->paraver->ticks_to_ns);
    header->trace->clock_resolution = (double)header->paraver->ticks_to_ns;
    return lull_prv_skip(header, ':')
               ? LULL_OK
               : lull_prv_bad_header(header, err, "expected ':' and the number of nodes");
}

static lull_status read_nodes(struct lull_prv_header *header, struct lull_error *err)
{
    uint64_t promised, listed = 0, cpus, total = 0;
    if (!lull_prv_header_number(header, &promised))
        return lull_prv_bad_header(header, err, "expected the number of nodes");
    if (*header->at == ':' && promised <= MOST_NODES)
        listed = promised;
    else if (lull_prv_skip(header, '(') && !lull_prv_skip(header, ')')) {
        do {
            if (!lull_prv_header_number(header, &cpus))
                return lull_prv_bad_header(header, err,
                                           "expected the number of processors of a node");
            listed++;
            total = total > UINT32_MAX || cpus > UINT32_MAX ? UINT64_MAX / 2 : total + cpus;
        } while (lull_prv_skip(header, ','));
        if (!lull_prv_skip(header, ')'))
            return lull_prv_bad_header(header, err, "expected ')' behind the list of nodes");
    }
    if (listed != promised)
        return lull_prv_bad_header(header, err,
                                   "the list of nodes is shorter or longer than announced");
    header->n_nodes = promised;
    header->paraver->n_cpus = total < UINT32_MAX ? (uint32_t)total : 0;
    struct lull_trace *trace = header->trace;
    trace->n_nodes = (uint32_t)promised;
    trace->nodes = lull_arena_zero(trace->arena, promised, sizeof *trace->nodes);
    for (uint32_t n = 0; n < promised; n++)
        trace->nodes[n] =
            (struct lull_node){.name = lull_arena_printf(trace->arena, "node %u", n + 1),
                               .class_name = "node",
                               .parent = LULL_NONE};
    return lull_prv_skip(header, ':')
               ? LULL_OK
               : lull_prv_bad_header(header, err, "expected ':' and the number of applications");
}

static lull_status read_task(struct lull_prv_header *header, uint32_t application, uint32_t rank,
                             struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    uint64_t threads, node = 0;
    if (!lull_prv_header_number(header, &threads) || !lull_prv_skip(header, ':') ||
        !lull_prv_header_number(header, &node))
        return lull_prv_bad_header(header, err, "expected 'threads:node' of a task");
    if (node > header->n_nodes && header->n_nodes > 0)
        return lull_prv_bad_header(header, err, "the task is on a node that is not listed");
    if (threads == 0)
        return lull_prv_bad_header(header, err, "the task has no thread");
    if (threads > header->most_threads - header->n_threads)
        return lull_prv_bad_header(
            header, err, "more threads are announced than a file of this size can describe");
    header->n_threads += threads;
    if (!lull_array_reserve(&header->threads, &header->threads_capacity,
                            (size_t)trace->n_processes + 1, sizeof *header->threads))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    trace->processes = lull_arena_grow(trace->arena, trace->processes, &header->processes_capacity,
                                       trace->n_processes + 1, sizeof *trace->processes);
    header->threads[trace->n_processes] = (uint32_t)threads;
    trace->processes[trace->n_processes++] =
        (struct lull_process){.application = application,
                              .rank = rank,
                              .node = node && header->n_nodes ? (uint32_t)node - 1 : LULL_NONE};
    return LULL_OK;
}

static lull_status read_application(struct lull_prv_header *header, uint32_t index,
                                    struct lull_error *err)
{
    uint64_t promised, communicators, listed = 0;
    struct lull_prv_application *application = &header->paraver->applications[index];
    application->first_process = header->trace->n_processes;
    application->world = LULL_NONE;
    if (!lull_prv_header_number(header, &promised) || !lull_prv_skip(header, '('))
        return lull_prv_bad_header(header, err, "expected 'tasks(' of an application");
    do {
        lull_status status = read_task(header, index, (uint32_t)listed, err);
        if (status != LULL_OK)
            return status;
        listed++;
    } while (lull_prv_skip(header, ','));
    if (!lull_prv_skip(header, ')'))
        return lull_prv_bad_header(header, err, "expected ')' behind the list of tasks");
    if (listed != promised)
        return lull_prv_bad_header(header, err,
                                   "the list of tasks is shorter or longer than announced");
    application->n_processes = (uint32_t)listed;
    /* ',<n>' is a number of communicators unless '(' follows: then it is the next application */
    const uint8_t *before = header->at;
    if (lull_prv_skip(header, ',') &&
        (!lull_prv_header_number(header, &communicators) || *header->at == '('))
        header->at = before;
    return LULL_OK;
}

static lull_status read_applications(struct lull_prv_header *header, struct lull_error *err)
{
    struct lull_paraver *paraver = header->paraver;
    uint64_t promised;
    if (!lull_prv_header_number(header, &promised) || promised == 0)
        return lull_prv_bad_header(header, err, "expected the number of applications");
    if (promised > header->lines->length)
        return lull_prv_bad_header(header, err,
                                   "more applications are announced than the line can list");
    paraver->n_applications = (uint32_t)promised;
    paraver->applications =
        lull_arena_zero(header->trace->arena, promised, sizeof *paraver->applications);
    for (uint32_t a = 0; a < promised; a++) {
        if (!lull_prv_skip(header, ':') && !(a > 0 && lull_prv_skip(header, ',')))
            return lull_prv_bad_header(header, err, "expected ':' and the next application");
        lull_status status = read_application(header, a, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* ---- processes and locations ----------------------------------------------------------------- */

static void name_process(struct lull_trace *trace, struct lull_process *process)
{
    process->name = process->application == 0
                        ? lull_arena_printf(trace->arena, "rank %u", process->rank)
                        : lull_arena_printf(trace->arena, "application %u rank %u",
                                            process->application + 1, process->rank);
}

static lull_status make_listed_locations(struct lull_prv_header *header, struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    trace->locations = lull_arena_try(trace->arena, header->n_threads, sizeof *trace->locations);
    if (!trace->locations)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %llu threads", trace->path,
                         (unsigned long long)header->n_threads);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_process *process = &trace->processes[p];
        name_process(trace, process);
        process->first_location = trace->n_locations;
        for (uint32_t t = 0; t < header->threads[p]; t++) {
            trace->locations[trace->n_locations] = (struct lull_location){
                .name = lull_arena_printf(trace->arena, "THREAD %u.%u.%u", process->application + 1,
                                          process->rank + 1, t + 1),
                .source_id = trace->n_locations,
                .process = p,
                .number = t,
                .kind = LULL_LOCATION_THREAD};
            trace->n_locations++;
        }
    }
    return LULL_OK;
}

/* A file of so many bytes can speak of a thread in 16 bytes at best; but a short trace of a large
 * machine is allowed to be silent about most. */
static uint64_t most_threads(const struct lull_prv_source *source)
{
    uint64_t size = lull_prv_source_file_size(source);
    if (lull_prv_source_gzip(source))
        size = size > UINT64_MAX / DEFLATE_RATIO ? UINT64_MAX : size * DEFLATE_RATIO;
    uint64_t most = size / 16 + 4096;
    return most < MOST_THREADS ? most : MOST_THREADS;
}

static lull_status read_first_line(struct lull_prv_header *header, struct lull_error *err)
{
    lull_status status = lull_prv_next_line(header->lines, err);
    if (status != LULL_OK)
        return status;
    header->most_threads = most_threads(header->lines->source);
    status = read_duration(header, err);
    if (status == LULL_OK)
        status = read_nodes(header, err);
    if (status == LULL_OK)
        status = read_applications(header, err);
    if (status == LULL_OK)
        status = make_listed_locations(header, err);
    free(header->threads);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_record(const struct lull_prv_lines *lines)
{
    return !lines->ended && lines->line[0] != 'c' && lines->line[0] != '#' &&
           lines->line[0] != '\n' && lines->line[0] != '\r';
}

static lull_status read_lines(struct lull_prv_header *header, struct lull_prv_sample *sample,
                              struct lull_error *err)
{
    struct lull_prv_comms comms = {0};
    lull_status status = read_first_line(header, err);
    if (status == LULL_OK)
        status = lull_prv_next_line(header->lines, err);
    while (status == LULL_OK && !header->lines->ended && !is_record(header->lines)) {
        if (header->lines->line[0] == 'c')
            status = lull_prv_read_comm(header, &comms, err);
        if (status == LULL_OK)
            status = lull_prv_next_line(header->lines, err);
    }
    if (status != LULL_OK)
        return status;
    lull_prv_complete_worlds(header, &comms);
    header->paraver->records_offset = header->lines->offset;
    header->paraver->records_line = header->lines->number;
    return lull_prv_take_sample(header->lines, sample, err);
}

lull_status lull_prv_read_header(struct lull_trace *trace, struct lull_paraver *paraver,
                                 struct lull_prv_sample *sample, struct lull_error *err)
{
    struct lull_prv_lines lines = {.path = trace->path, .memory = lull_prv_source_memory()};
    if (!lines.memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status = lull_prv_source_open(trace, 0, true, &lines.source, err);
    if (status == LULL_OK) {
        struct lull_prv_header header = {.trace = trace, .paraver = paraver, .lines = &lines};
        status = read_lines(&header, sample, err);
        lull_prv_source_close(lines.source);
    }
    free(lines.memory);
    free(lines.line);
    return status;
}
