/* The lines before the first record.
 *
 *   #Paraver (DD/MM/YYYY at HH:MM):<duration>[_ns]:<nodes>(<cpus>,...):<applications>:<list>
 *   list: <tasks>(<threads>:<node>,...)[,<communicators>], separated by ':' or ','
 *   c:<application>:<id>:<size>:<task>:...
 *
 * Numbers promised here decide allocations, so each must be borne out: nodes and tasks by the list
 * that follows, threads by the size of the file. */
#include "base/array.h"
#include "trace/format/paraver/paraver.h"
#include "trace/format/paraver/read/number.h"

#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_LINE = 1 << 28, /* a header of ten million tasks */
    MOST_THREADS = 1 << 24,
    DEFLATE_RATIO = 1032, /* the best that deflate can do */
    SAMPLE = 1 << 20,
    MOST_SAMPLED = 1024 /* types */
};

/* ---- lines ----------------------------------------------------------------------------------- */

struct lines {
    struct lull_prv_source *source;
    const char *path;
    uint8_t *chunk;
    size_t size, at;
    uint8_t *line; /* malloc'd, ends with NUL and padding */
    size_t length, capacity;
    uint64_t offset; /* of the line's first byte */
    uint64_t number; /* of the line, from 1 */
    bool ended;
};

static lull_status append(struct lines *lines, const uint8_t *data, size_t size,
                          struct lull_error *err)
{
    if (lines->length + size > LONGEST_LINE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: longer than %d MiB", lines->path,
                         (unsigned long long)lines->number, LONGEST_LINE >> 20);
    size_t need = lines->length + size + 2 * LULL_PRV_PAD;
    if (!lull_array_reserve(&lines->line, &lines->capacity, need, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for line %llu", lines->path,
                         (unsigned long long)lines->number);
    if (size > 0)
        memcpy(lines->line + lines->length, data, size);
    lines->length += size;
    memset(lines->line + lines->length, 0, 2 * LULL_PRV_PAD);
    return LULL_OK;
}

static lull_status next_line(struct lines *lines, struct lull_error *err)
{
    lines->offset += lines->length;
    lines->length = 0;
    lines->number++;
    for (;;) {
        if (lines->at == lines->size) {
            lull_status status =
                lull_prv_source_next(lines->source, &lines->chunk, &lines->size, err);
            if (status != LULL_OK)
                return status;
            lines->at = 0;
            if (lines->size == 0) {
                lines->ended = lines->length == 0;
                return append(lines, NULL, 0, err);
            }
        }
        const uint8_t *from = lines->chunk + lines->at;
        const uint8_t *newline = memchr(from, '\n', lines->size - lines->at);
        size_t part = newline ? (size_t)(newline + 1 - from) : lines->size - lines->at;
        lull_status status = append(lines, from, part, err);
        if (status != LULL_OK)
            return status;
        lines->at += part;
        if (newline)
            return LULL_OK;
    }
}

/* ---- the first line -------------------------------------------------------------------------- */

struct header {
    struct lull_trace *trace;
    struct lull_paraver *paraver;
    struct lines *lines;
    const uint8_t *at;
    size_t processes_capacity;
    uint64_t n_nodes, n_threads, most_threads;
    uint32_t *threads; /* per process, malloc'd */
    size_t threads_capacity;
};

static lull_status bad(const struct header *header, struct lull_error *err, const char *what)
{
    size_t column = (size_t)(header->at - header->lines->line) + 1;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: column %zu: %s", header->trace->path,
                     (unsigned long long)header->lines->number, column, what);
}

static bool skip(struct header *header, char expected)
{
    if (*header->at != expected)
        return false;
    header->at++;
    return true;
}

static bool number(struct header *header, uint64_t *ret_value)
{
    return lull_prv_number(&header->at, ret_value);
}

static lull_status read_duration(struct header *header, struct lull_error *err)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"_ns", 1}, {"_us", 1000}, {"_ms", 1000000}};
    const char *text = (const char *)header->lines->line;
    const char *behind_date = strchr(text, ')');
    if (strncmp(text, "#Paraver", 8) != 0 || !behind_date || behind_date[1] != ':') {
        header->at = header->lines->line;
        return bad(header, err, "expected '#Paraver (date at time):'");
    }
    header->at = (const uint8_t *)behind_date + 2;
    uint64_t duration;
    if (!number(header, &duration))
        return bad(header, err, "expected the duration of the run");
    header->paraver->ticks_to_ns = 1000; /* the format's unit of old */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strncmp((const char *)header->at, units[i].unit, 3) == 0) {
            header->paraver->ticks_to_ns = units[i].ns;
            header->at += 3;
        }
    }
    if (duration > (uint64_t)INT64_MAX / 2 / header->paraver->ticks_to_ns)
        return bad(header, err, "the run lasts longer than 146 years");
    header->trace->duration = (int64_t)(duration * header->paraver->ticks_to_ns);
    header->trace->clock_resolution = (double)header->paraver->ticks_to_ns;
    return skip(header, ':') ? LULL_OK : bad(header, err, "expected ':' and the number of nodes");
}

static lull_status read_nodes(struct header *header, struct lull_error *err)
{
    uint64_t promised, listed = 0, cpus, total = 0;
    if (!number(header, &promised))
        return bad(header, err, "expected the number of nodes");
    if (skip(header, '(') && !skip(header, ')')) {
        do {
            if (!number(header, &cpus))
                return bad(header, err, "expected the number of processors of a node");
            listed++;
            total = total > UINT32_MAX || cpus > UINT32_MAX ? UINT64_MAX / 2 : total + cpus;
        } while (skip(header, ','));
        if (!skip(header, ')'))
            return bad(header, err, "expected ')' behind the list of nodes");
    }
    if (listed != promised)
        return bad(header, err, "the list of nodes is shorter or longer than announced");
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
    return skip(header, ':') ? LULL_OK
                             : bad(header, err, "expected ':' and the number of applications");
}

static lull_status read_task(struct header *header, uint32_t application, uint32_t rank,
                             struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    uint64_t threads, node = 0;
    if (!number(header, &threads) || !skip(header, ':') || !number(header, &node))
        return bad(header, err, "expected 'threads:node' of a task");
    if (node > header->n_nodes && header->n_nodes > 0)
        return bad(header, err, "the task is on a node that is not listed");
    if (threads == 0)
        return bad(header, err, "the task has no thread");
    if (threads > header->most_threads - header->n_threads)
        return bad(header, err, "more threads are announced than a file of this size can describe");
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

static lull_status read_application(struct header *header, uint32_t index, struct lull_error *err)
{
    uint64_t promised, communicators, listed = 0;
    struct lull_prv_application *application = &header->paraver->applications[index];
    application->first_process = header->trace->n_processes;
    application->world = LULL_NONE;
    if (!number(header, &promised) || !skip(header, '('))
        return bad(header, err, "expected 'tasks(' of an application");
    do {
        lull_status status = read_task(header, index, (uint32_t)listed, err);
        if (status != LULL_OK)
            return status;
        listed++;
    } while (skip(header, ','));
    if (!skip(header, ')'))
        return bad(header, err, "expected ')' behind the list of tasks");
    if (listed != promised)
        return bad(header, err, "the list of tasks is shorter or longer than announced");
    application->n_processes = (uint32_t)listed;
    /* ',<n>' is a number of communicators unless '(' follows: then it is the next application */
    const uint8_t *before = header->at;
    if (skip(header, ',') && (!number(header, &communicators) || *header->at == '('))
        header->at = before;
    return LULL_OK;
}

static lull_status read_applications(struct header *header, struct lull_error *err)
{
    struct lull_paraver *paraver = header->paraver;
    uint64_t promised;
    if (!number(header, &promised) || promised == 0)
        return bad(header, err, "expected the number of applications");
    if (promised > header->lines->length)
        return bad(header, err, "more applications are announced than the line can list");
    paraver->n_applications = (uint32_t)promised;
    paraver->applications =
        lull_arena_zero(header->trace->arena, promised, sizeof *paraver->applications);
    for (uint32_t a = 0; a < promised; a++) {
        if (!skip(header, ':') && !(a > 0 && skip(header, ',')))
            return bad(header, err, "expected ':' and the next application");
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

static lull_status make_locations(struct header *header, struct lull_error *err)
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

static lull_status read_first_line(struct header *header, struct lull_error *err)
{
    lull_status status = next_line(header->lines, err);
    if (status != LULL_OK)
        return status;
    header->most_threads = most_threads(header->lines->source);
    status = read_duration(header, err);
    if (status == LULL_OK)
        status = read_nodes(header, err);
    if (status == LULL_OK)
        status = read_applications(header, err);
    if (status == LULL_OK)
        status = make_locations(header, err);
    free(header->threads);
    return status;
}

/* ---- communicators --------------------------------------------------------------------------- */

struct comms {
    size_t comms_capacity, ids_capacity;
};

static void add_comm(struct header *header, struct comms *comms, const struct lull_comm *comm,
                     uint32_t application, uint64_t id)
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
static lull_status read_comm(struct header *header, struct comms *comms, struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    struct lull_paraver *paraver = header->paraver;
    uint64_t app, id, size, task;
    header->at = header->lines->line + 1;
    if (!skip(header, ':') || !number(header, &app) || !skip(header, ':') || !number(header, &id) ||
        !skip(header, ':') || !number(header, &size))
        return bad(header, err, "expected 'c:application:communicator:size:task:...'");
    if (app == 0 || app > paraver->n_applications)
        return bad(header, err, "the communicator belongs to an application that does not exist");
    const struct lull_prv_application *application = &paraver->applications[app - 1];
    if (size > header->lines->length)
        return bad(header, err, "the communicator has more members than the line lists");
    uint32_t *members = lull_arena_zero(trace->arena, size, sizeof *members);
    bool contiguous = true, exist = true;
    for (uint64_t r = 0; r < size; r++) {
        if (!skip(header, ':') || !number(header, &task))
            return bad(header, err, "expected ':' and the next member of the communicator");
        exist &= task - 1 < application->n_processes;
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
    add_comm(header, comms, &comm, (uint32_t)app - 1, id);
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
static void complete_worlds(struct header *header, struct comms *comms)
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
        add_comm(header, comms, &comm, a, UINT64_MAX);
    }
    if (paraver->n_comm_ids > 0)
        qsort(paraver->comm_ids, paraver->n_comm_ids, sizeof *paraver->comm_ids, compare_ids);
}

/* ---- the first records ----------------------------------------------------------------------- */

static void add_type(struct lull_prv_sample *sample, uint64_t type)
{
    for (size_t i = 0; i < sample->n_types; i++)
        if (sample->types[i] == type)
            return;
    /* A sample may miss some. */
    if (sample->n_types == MOST_SAMPLED ||
        !lull_array_reserve(&sample->types, &sample->capacity, sample->n_types + 1,
                            sizeof *sample->types))
        return;
    sample->types[sample->n_types++] = type;
}

/* 2:cpu:application:task:thread:time:type:value:type:value... */
static void sample_types(struct lull_prv_sample *sample, const uint8_t *line)
{
    const uint8_t *at = line;
    uint64_t value;
    for (int field = 0; lull_prv_number(&at, &value); field++) {
        if (field >= 6 && field % 2 == 0)
            add_type(sample, value);
        if (*at != ':')
            return;
        at++;
    }
}

static lull_status take_sample(struct lines *lines, struct lull_prv_sample *sample,
                               struct lull_error *err)
{
    uint64_t until = lines->offset + SAMPLE;
    while (!lines->ended && lines->offset < until) {
        if (lines->line[0] == '1')
            sample->states = true;
        else if (lines->line[0] == '2')
            sample_types(sample, lines->line);
        lull_status status = next_line(lines, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static bool is_record(const struct lines *lines)
{
    return !lines->ended && lines->line[0] != 'c' && lines->line[0] != '#' &&
           lines->line[0] != '\n' && lines->line[0] != '\r';
}

static lull_status read_lines(struct header *header, struct lull_prv_sample *sample,
                              struct lull_error *err)
{
    struct comms comms = {0};
    lull_status status = read_first_line(header, err);
    if (status == LULL_OK)
        status = next_line(header->lines, err);
    while (status == LULL_OK && !header->lines->ended && !is_record(header->lines)) {
        if (header->lines->line[0] == 'c')
            status = read_comm(header, &comms, err);
        if (status == LULL_OK)
            status = next_line(header->lines, err);
    }
    if (status != LULL_OK)
        return status;
    complete_worlds(header, &comms);
    header->paraver->records_offset = header->lines->offset;
    header->paraver->records_line = header->lines->number;
    return take_sample(header->lines, sample, err);
}

lull_status lull_prv_read_header(struct lull_trace *trace, struct lull_paraver *paraver,
                                 struct lull_prv_sample *sample, struct lull_error *err)
{
    struct lines lines = {.path = trace->path};
    lull_status status = lull_prv_source_open(trace, 0, true, &lines.source, err);
    if (status != LULL_OK)
        return status;
    struct header header = {.trace = trace, .paraver = paraver, .lines = &lines};
    status = read_lines(&header, sample, err);
    lull_prv_source_close(lines.source);
    free(lines.line);
    return status;
}
