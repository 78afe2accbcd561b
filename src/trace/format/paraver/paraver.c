/* SPDX-License-Identifier: BSD-3-Clause */
/* Paraver traces (.prv, .prv.gz, with .pcf and .row): Extrae's and others'. */
#include "trace/format/paraver/paraver.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "trace/byte_source.h"
#include "trace/format.h"
#include "trace/stream_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct prv_lines {
    struct lull_byte_source *source;
    const char *path;
    uint8_t *memory; /* of the chunk at hand */
    size_t size, at;
    uint8_t *line; /* malloc'd, ends with NUL and padding */
    size_t length, capacity;
    uint64_t offset; /* of the line's first byte */
    uint64_t number; /* of the line, from 1 */
    bool ended;
};

struct prv_header {
    struct lull_trace *trace;
    struct lull_paraver *paraver;
    struct prv_lines *lines;
    const uint8_t *at;
    size_t processes_capacity;
    uint64_t n_nodes, n_threads, most_threads;
    uint32_t *threads; /* per process, malloc'd */
    size_t threads_capacity;
};

static inline bool prv_skip(struct prv_header *header, char expected)
{
    if (*header->at != expected)
        return false;
    header->at++;
    return true;
}

static inline bool prv_header_number(struct prv_header *header, uint64_t *ret_value)
{
    return lull_prv_number(&header->at, ret_value);
}

struct prv_comms {
    size_t comms_capacity, ids_capacity;
};

/* ==== lines =================================================================================== */

enum { LONGEST_LINE = 1 << 28 }; /* a header of ten million tasks takes about that */

static lull_status append_to_line(struct prv_lines *lines, const uint8_t *data, size_t size,
                                  struct lull_error *err)
{
    if (lines->length + size > LONGEST_LINE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: longer than %d MiB", lines->path,
                         (unsigned long long)lines->number, LONGEST_LINE >> 20);
    size_t need = lines->length + size + 2 * LULL_BYTE_SOURCE_PAD;
    if (!lull_array_reserve(&lines->line, &lines->capacity, need, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for line %llu", lines->path,
                         (unsigned long long)lines->number);
    if (size > 0)
        memcpy(lines->line + lines->length, data, size);
    lines->length += size;
    memset(lines->line + lines->length, 0, 2 * LULL_BYTE_SOURCE_PAD);
    return LULL_OK;
}

/* Reads the next line into lines->line; lines->ended is set behind the last one. */
static lull_status prv_next_line(struct prv_lines *lines, struct lull_error *err)
{
    lines->offset += lines->length;
    lines->length = 0;
    lines->number++;
    for (;;) {
        if (lines->at == lines->size) {
            lull_status status =
                lull_byte_source_next(lines->source, &lines->memory, &lines->size, err);
            if (status != LULL_OK)
                return status;
            lines->at = 0;
            if (lines->size == 0) {
                lines->ended = lines->length == 0;
                return append_to_line(lines, NULL, 0, err);
            }
        }
        const uint8_t *from = lines->memory + LULL_BYTE_SOURCE_HEAD + lines->at;
        const uint8_t *newline = memchr(from, '\n', lines->size - lines->at);
        size_t part = newline ? (size_t)(newline + 1 - from) : lines->size - lines->at;
        lull_status status = append_to_line(lines, from, part, err);
        if (status != LULL_OK)
            return status;
        lines->at += part;
        if (newline)
            return LULL_OK;
    }
}

/* ==== comms =================================================================================== */

static void add_comm_of_line(struct prv_header *header, struct prv_comms *comms,
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

static lull_status prv_bad_header(const struct prv_header *header, struct lull_error *err,
                                  const char *what);

/* Reads the line of a communicator, c:<application>:<id>:<size>:<task>:... */
static lull_status prv_read_comm(struct prv_header *header, struct prv_comms *comms,
                                 struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    struct lull_paraver *paraver = header->paraver;
    uint64_t app, id, size, task;
    header->at = header->lines->line + 1;
    if (!prv_skip(header, ':') || !prv_header_number(header, &app) || !prv_skip(header, ':') ||
        !prv_header_number(header, &id) || !prv_skip(header, ':') ||
        !prv_header_number(header, &size))
        return prv_bad_header(header, err, "expected 'c:application:communicator:size:task:...'");
    if (app == 0 || app > paraver->n_applications)
        return prv_bad_header(header, err,
                              "the communicator belongs to an application that does not exist");
    const struct lull_prv_application *application = &paraver->applications[app - 1];
    if (size > header->lines->length)
        return prv_bad_header(header, err, "the communicator has more members than the line lists");
    uint32_t *members = lull_arena_zero(trace->arena, size, sizeof *members);
    bool contiguous = true, exist = true;
    for (uint64_t r = 0; r < size; r++) {
        bool next = prv_skip(header, ':'), nobody = next && prv_skip(header, '-');
        if (!next || !prv_header_number(header, &task))
            return prv_bad_header(header, err,
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

/* To be called behind the last communicator. Adds the worlds that are not listed, and sorts the
 * communicators by application and number. Messages name no communicator: they belong to the
 * application's world, listed or not. */
static void prv_complete_worlds(struct prv_header *header, struct prv_comms *comms)
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

/* ==== sample ================================================================================== */

/* A look at the first records, which tells what types there are if there is no .pcf. */

enum { SAMPLE = 1 << 20, MOST_SAMPLED = 1024 /* types */ };

static void add_sampled_type(struct lull_prv_sample *sample, uint64_t type)
{
    for (size_t i = 0; i < sample->n_types; i++)
        if (sample->types[i] == type)
            return;
    /* A sample need not have all types. */
    if (sample->n_types == MOST_SAMPLED ||
        !lull_array_reserve(&sample->types, &sample->capacity, sample->n_types + 1,
                            sizeof *sample->types))
        return;
    sample->types[sample->n_types++] = type;
}

/* Adds the types of a line 2:cpu:application:task:thread:time:type:value:type:value... */
static void sample_types(struct lull_prv_sample *sample, const uint8_t *line)
{
    const uint8_t *at = line;
    uint64_t value;
    for (int field = 0; lull_prv_number(&at, &value); field++) {
        if (field >= 6 && field % 2 == 0)
            add_sampled_type(sample, value);
        if (*at != ':')
            return;
        at++;
    }
}

/* Finds which event types occur in the first megabyte of records, from the line at hand on. */
static lull_status prv_take_sample(struct prv_lines *lines, struct lull_prv_sample *sample,
                                   struct lull_error *err)
{
    uint64_t until = lines->offset + SAMPLE;
    while (!lines->ended && lines->offset < until) {
        if (lines->line[0] == '1')
            sample->states = true;
        else if (lines->line[0] == '2')
            sample_types(sample, lines->line);
        lull_status status = prv_next_line(lines, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* ==== header ================================================================================== */

/* The lines before the first record.
 *
 *   #Paraver (DD/MM/YYYY at HH:MM):<duration>[_ns]:<nodes>(<cpus>,...):<applications>:<list>
 *   list: <tasks>(<threads>:<node>,...)[,<communicators>], separated by ':' or ','
 *   The list of processors may be missing; a member of a communicator may be -1.
 *   c:<application>:<id>:<size>:<task>:...
 *
 * Numbers promised here decide allocations, so each must be borne out: nodes and tasks by the list
 * that follows, threads by the size of the file. */

enum {
    MOST_THREADS = 1 << 24,
    MOST_NODES = 1 << 20, /* the most that are believed without a list of them */
    DEFLATE_RATIO = 1032  /* deflate makes no data smaller than by this factor */
};

/* ---- the first line -------------------------------------------------------------------------- */

/* Fails and tells what is wrong at header->at. */
static lull_status prv_bad_header(const struct prv_header *header, struct lull_error *err,
                                  const char *what)
{
    size_t column = (size_t)(header->at - header->lines->line) + 1;
    return lull_fail(err, LULL_ERR_FORMAT, "%s: line %llu: column %zu: %s", header->trace->path,
                     (unsigned long long)header->lines->number, column, what);
}

static lull_status read_duration(struct prv_header *header, struct lull_error *err)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"_ns", 1}, {"_us", 1000}, {"_ms", 1000000}};
    const char *text = (const char *)header->lines->line;
    const char *behind_date = strchr(text, ')');
    if (strncmp(text, "#Paraver", 8) != 0 || !behind_date || behind_date[1] != ':') {
        header->at = header->lines->line;
        return prv_bad_header(header, err, "expected '#Paraver (date at time):'");
    }
    header->at = (const uint8_t *)behind_date + 2;
    uint64_t duration;
    if (!prv_header_number(header, &duration))
        return prv_bad_header(header, err, "expected the duration of the run");
    header->paraver->ticks_to_ns = 1000; /* old traces have no unit, which is us */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strncmp((const char *)header->at, units[i].unit, 3) == 0) {
            header->paraver->ticks_to_ns = units[i].ns;
            header->at += 3;
        }
    }
    if (duration > (uint64_t)INT64_MAX / 2 / header->paraver->ticks_to_ns)
        return prv_bad_header(header, err, "the run lasts longer than 146 years");
    header->trace->duration = (int64_t)(duration * header->paraver->ticks_to_ns);
    header->trace->clock_resolution = (double)header->paraver->ticks_to_ns;
    return prv_skip(header, ':')
               ? LULL_OK
               : prv_bad_header(header, err, "expected ':' and the number of nodes");
}

static lull_status read_nodes(struct prv_header *header, struct lull_error *err)
{
    uint64_t promised, listed = 0, cpus, total = 0;
    if (!prv_header_number(header, &promised))
        return prv_bad_header(header, err, "expected the number of nodes");
    if (*header->at == ':' && promised <= MOST_NODES)
        listed = promised;
    else if (prv_skip(header, '(') && !prv_skip(header, ')')) {
        do {
            if (!prv_header_number(header, &cpus))
                return prv_bad_header(header, err, "expected the number of processors of a node");
            listed++;
            total = total > UINT32_MAX || cpus > UINT32_MAX ? UINT64_MAX / 2 : total + cpus;
        } while (prv_skip(header, ','));
        if (!prv_skip(header, ')'))
            return prv_bad_header(header, err, "expected ')' behind the list of nodes");
    }
    if (listed != promised)
        return prv_bad_header(header, err, "the list of nodes is shorter or longer than announced");
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
    return prv_skip(header, ':')
               ? LULL_OK
               : prv_bad_header(header, err, "expected ':' and the number of applications");
}

static lull_status read_task(struct prv_header *header, uint32_t application, uint32_t rank,
                             struct lull_error *err)
{
    struct lull_trace *trace = header->trace;
    uint64_t threads, node = 0;
    if (!prv_header_number(header, &threads) || !prv_skip(header, ':') ||
        !prv_header_number(header, &node))
        return prv_bad_header(header, err, "expected 'threads:node' of a task");
    if (node > header->n_nodes && header->n_nodes > 0)
        return prv_bad_header(header, err, "the task is on a node that is not listed");
    if (threads == 0)
        return prv_bad_header(header, err, "the task has no thread");
    if (threads > header->most_threads - header->n_threads)
        return prv_bad_header(header, err,
                              "more threads are announced than a file of this size can describe");
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

static lull_status read_application(struct prv_header *header, uint32_t index,
                                    struct lull_error *err)
{
    uint64_t promised, communicators, listed = 0;
    struct lull_prv_application *application = &header->paraver->applications[index];
    application->first_process = header->trace->n_processes;
    application->world = LULL_NONE;
    if (!prv_header_number(header, &promised) || !prv_skip(header, '('))
        return prv_bad_header(header, err, "expected 'tasks(' of an application");
    do {
        lull_status status = read_task(header, index, (uint32_t)listed, err);
        if (status != LULL_OK)
            return status;
        listed++;
    } while (prv_skip(header, ','));
    if (!prv_skip(header, ')'))
        return prv_bad_header(header, err, "expected ')' behind the list of tasks");
    if (listed != promised)
        return prv_bad_header(header, err, "the list of tasks is shorter or longer than announced");
    application->n_processes = (uint32_t)listed;
    /* ',<n>' is a number of communicators, unless '(' follows: then the next application begins
     * there. */
    const uint8_t *before = header->at;
    if (prv_skip(header, ',') && (!prv_header_number(header, &communicators) || *header->at == '('))
        header->at = before;
    return LULL_OK;
}

static lull_status read_applications(struct prv_header *header, struct lull_error *err)
{
    struct lull_paraver *paraver = header->paraver;
    uint64_t promised;
    if (!prv_header_number(header, &promised) || promised == 0)
        return prv_bad_header(header, err, "expected the number of applications");
    if (promised > header->lines->length)
        return prv_bad_header(header, err,
                              "more applications are announced than the line can list");
    paraver->n_applications = (uint32_t)promised;
    paraver->applications =
        lull_arena_zero(header->trace->arena, promised, sizeof *paraver->applications);
    for (uint32_t a = 0; a < promised; a++) {
        if (!prv_skip(header, ':') && !(a > 0 && prv_skip(header, ',')))
            return prv_bad_header(header, err, "expected ':' and the next application");
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

static lull_status make_listed_locations(struct prv_header *header, struct lull_error *err)
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

/* The most threads that are believed. A record that speaks of a thread takes at least 16 bytes of
 * the file; 4096 more are allowed, because a short trace of a large machine need not speak of
 * all. */
static uint64_t most_threads(const struct lull_byte_source *source)
{
    uint64_t size = lull_byte_source_file_size(source);
    if (lull_byte_source_gzip(source))
        size = size > UINT64_MAX / DEFLATE_RATIO ? UINT64_MAX : size * DEFLATE_RATIO;
    uint64_t most = size / 16 + 4096;
    return most < MOST_THREADS ? most : MOST_THREADS;
}

static lull_status read_first_line(struct prv_header *header, struct lull_error *err)
{
    lull_status status = prv_next_line(header->lines, err);
    if (status != LULL_OK)
        return status;
    header->most_threads = most_threads(header->lines->source);
    header->paraver->file_size = lull_byte_source_file_size(header->lines->source);
    header->paraver->gzip = lull_byte_source_gzip(header->lines->source);
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

static bool is_record(const struct prv_lines *lines)
{
    return !lines->ended && lines->line[0] != 'c' && lines->line[0] != '#' &&
           lines->line[0] != '\n' && lines->line[0] != '\r';
}

static lull_status read_lines(struct prv_header *header, struct lull_prv_sample *sample,
                              struct lull_error *err)
{
    struct prv_comms comms = {0};
    lull_status status = read_first_line(header, err);
    if (status == LULL_OK)
        status = prv_next_line(header->lines, err);
    while (status == LULL_OK && !header->lines->ended && !is_record(header->lines)) {
        if (header->lines->line[0] == 'c')
            status = prv_read_comm(header, &comms, err);
        if (status == LULL_OK)
            status = prv_next_line(header->lines, err);
    }
    if (status != LULL_OK)
        return status;
    prv_complete_worlds(header, &comms);
    header->paraver->records_offset = header->lines->offset;
    header->paraver->records_line = header->lines->number;
    return prv_take_sample(header->lines, sample, err);
}

/* Reads the lines before the first record: processes, locations, nodes, communicators; then looks
 * at the first records. */
static lull_status prv_read_header(struct lull_trace *trace, struct lull_paraver *paraver,
                                   struct lull_prv_sample *sample, struct lull_error *err)
{
    struct prv_lines lines = {.path = trace->path, .memory = lull_byte_source_memory()};
    if (!lines.memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status = lull_byte_source_open(trace, trace->path, 0, true, &lines.source, err);
    if (status == LULL_OK) {
        struct prv_header header = {.trace = trace, .paraver = paraver, .lines = &lines};
        status = read_lines(&header, sample, err);
        lull_byte_source_close(lines.source);
    }
    free(lines.memory);
    free(lines.line);
    return status;
}

/* ==== labels ================================================================================== */

/* The companions of a .prv: names of states, event types and values (.pcf), of nodes and threads
 * (.row). Both are optional, and what they hold is taken as it comes. */

const char *lull_prv_sibling(const char *path, const char *suffix, struct lull_arena *arena)
{
    size_t length = strlen(path);
    if (length > 3 && strcasecmp(path + length - 3, ".gz") == 0)
        length -= 3;
    if (length > 4 && strncasecmp(path + length - 4, ".prv", 4) == 0)
        length -= 4;
    return lull_arena_printf(arena, "%.*s%s", (int)length, path, suffix);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct text {
    const char *at, *end;
};

static struct text text_of_mapping(const struct lull_mapping *mapping)
{
    const char *begin = mapping->size ? (const char *)mapping->data : "";
    return (struct text){begin, begin + mapping->size};
}

/* Gives the next line without white space at its ends; false at the end of the text. */
static bool next_line(struct text *text, const char **ret_line, size_t *ret_length)
{
    if (text->at == text->end)
        return false;
    const char *from = text->at;
    const char *to = memchr(from, '\n', (size_t)(text->end - from));
    text->at = to ? to + 1 : text->end;
    if (!to)
        to = text->end;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    *ret_line = from;
    *ret_length = (size_t)(to - from);
    return true;
}

/* Takes the number from "<number> <rest>"; false if the line does not begin with a number. */
static bool take_number(const char **line, size_t *length, uint64_t *ret_number)
{
    uint64_t value = 0;
    size_t digits = 0;
    while (digits < *length && isdigit((unsigned char)(*line)[digits])) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)((*line)[digits] - '0'), &value))
            return false;
        digits++;
    }
    if (digits == 0)
        return false;
    while (digits < *length && isspace((unsigned char)(*line)[digits]))
        digits++;
    *line += digits;
    *length -= digits;
    *ret_number = value;
    return true;
}

static bool is_word(const char *line, size_t length, const char *word)
{
    return length == strlen(word) && strncmp(line, word, length) == 0;
}

static lull_status open_companion(const struct lull_trace *trace, const char *suffix,
                                  struct lull_mapping *ret_mapping)
{
    const char *path = lull_prv_sibling(trace->path, suffix, trace->arena);
    struct lull_error err;
    if (access(path, F_OK) != 0) {
        lull_trace_add_quirk(trace,
                             strcmp(suffix, ".pcf") == 0
                                 ? "there is no .pcf file; event types are called by number"
                                 : "there is no .row file; threads are called by number",
                             "expected '%s'", path);
        return LULL_ERR_IO;
    }
    lull_status status = lull_map_file(path, ret_mapping, &err);
    if (status != LULL_OK)
        lull_trace_add_quirk(trace, "a file of names cannot be read; done without", "%s", err.text);
    return status;
}

/* ---- .pcf ------------------------------------------------------------------------------------ */

enum section { OTHER, STATES, EVENT_TYPES, VALUES };

struct pcf {
    const struct lull_trace *trace;
    struct lull_prv_labels *labels;
    enum section section;
    size_t block; /* index of the first type of the current EVENT_TYPE block */
    struct lull_prv_label *values;
    size_t n_values, values_capacity;
};

/* Ends a block: all its types share its values. */
static void end_block(struct pcf *pcf)
{
    for (size_t i = pcf->block; i < pcf->labels->n_types; i++) {
        pcf->labels->types[i].values = pcf->values;
        pcf->labels->types[i].n_values = pcf->n_values;
    }
    pcf->block = pcf->labels->n_types;
    pcf->values = NULL;
    pcf->n_values = pcf->values_capacity = 0;
}

static bool begin_section(struct pcf *pcf, const char *line, size_t length)
{
    if (is_word(line, length, "VALUES")) {
        pcf->section = VALUES;
        return true;
    }
    if (length == 0 || !isupper((unsigned char)line[0]))
        return false;
    end_block(pcf);
    pcf->section = is_word(line, length, "STATES")       ? STATES
                   : is_word(line, length, "EVENT_TYPE") ? EVENT_TYPES
                                                         : OTHER;
    return true;
}

static struct lull_prv_label make_label(const struct pcf *pcf, uint64_t number, const char *text,
                                        size_t length)
{
    return (struct lull_prv_label){number, lull_arena_strndup(pcf->trace->arena, text, length)};
}

static void read_pcf_line(struct pcf *pcf, const char *line, size_t length)
{
    struct lull_prv_labels *labels = pcf->labels;
    struct lull_arena *arena = pcf->trace->arena;
    uint64_t number, gradient;
    if (begin_section(pcf, line, length) || pcf->section == OTHER)
        return;
    if (!take_number(&line, &length, pcf->section == EVENT_TYPES ? &gradient : &number))
        return;
    if (pcf->section == EVENT_TYPES && !take_number(&line, &length, &number))
        return;
    struct lull_prv_label label = make_label(pcf, number, line, length);
    switch (pcf->section) {
    case STATES:
        labels->states = lull_arena_grow(arena, labels->states, &labels->states_capacity,
                                         labels->n_states + 1, sizeof *labels->states);
        labels->states[labels->n_states++] = label;
        break;
    case EVENT_TYPES:
        labels->types = lull_arena_grow(arena, labels->types, &labels->types_capacity,
                                        labels->n_types + 1, sizeof *labels->types);
        labels->types[labels->n_types++] =
            (struct lull_prv_label_type){.number = number, .text = label.text};
        break;
    default:
        pcf->values = lull_arena_grow(arena, pcf->values, &pcf->values_capacity, pcf->n_values + 1,
                                      sizeof *pcf->values);
        pcf->values[pcf->n_values++] = label;
    }
}

/* Reads the .pcf. Its strings live in trace->arena. A missing file is a quirk, and a line that
 * cannot be read is skipped. */
static void prv_read_pcf(const struct lull_trace *trace, struct lull_prv_labels *labels)
{
    struct lull_mapping mapping;
    if (open_companion(trace, ".pcf", &mapping) != LULL_OK)
        return;
    labels->found = true;
    struct text text = text_of_mapping(&mapping);
    struct pcf pcf = {.trace = trace, .labels = labels};
    const char *line;
    size_t length;
    while (next_line(&text, &line, &length))
        read_pcf_line(&pcf, line, length);
    end_block(&pcf);
    lull_unmap(&mapping);
}

/* ---- .row ------------------------------------------------------------------------------------ */

struct level {
    char word[16];
    uint32_t count; /* how many such objects the trace has */
    void (*rename)(struct lull_trace *trace, uint32_t index, const char *name);
};

static void rename_node(struct lull_trace *trace, uint32_t index, const char *name)
{
    trace->nodes[index].name = name;
}

static void rename_process(struct lull_trace *trace, uint32_t index, const char *name)
{
    trace->processes[index].name = name;
}

/* Whether a thread is a stream of a device, as Extrae names these: "CUDA-D1.S2-host", "HIP-D1.S1-host", "GPU-D1.S1-host",
 * "GPU_a2f80454.1". */
static bool is_stream_of_extrae(const char *name)
{
    static const char *const begins[] = {"CUDA-D", "HIP-D", "GPU-D", "GPU_"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static void rename_location(struct lull_trace *trace, uint32_t index, const char *name)
{
    struct lull_location *location = &trace->locations[index];
    bool stream = strncmp(name, LULL_PRV_STREAM, strlen(LULL_PRV_STREAM)) == 0;
    if (stream || is_stream_of_extrae(name))
        location->kind = LULL_LOCATION_DEVICE;
    location->name = stream ? name + strlen(LULL_PRV_STREAM) : name;
}

/* Finds the level of a line "LEVEL THREAD SIZE 8"; NULL: it is not known. */
static const struct level *find_level(const struct level *levels, size_t n, const char *line,
                                      size_t length)
{
    for (size_t i = 0; i < n; i++) {
        size_t word = strlen(levels[i].word);
        if (length > 6 + word && strncmp(line + 6, levels[i].word, word) == 0)
            return &levels[i];
    }
    return NULL;
}

/* Reads the .row: names of nodes, processes and locations. Names beyond the number of objects are
 * ignored. */
static void prv_read_row(struct lull_trace *trace)
{
    struct lull_mapping mapping;
    if (open_companion(trace, ".row", &mapping) != LULL_OK)
        return;
    const struct level levels[] = {{"NODE ", trace->n_nodes, rename_node},
                                   {"TASK ", trace->n_processes, rename_process},
                                   {"THREAD ", trace->n_locations, rename_location}};
    struct text text = text_of_mapping(&mapping);
    const struct level *level = NULL;
    uint32_t index = 0;
    const char *line;
    size_t length;
    while (next_line(&text, &line, &length)) {
        if (length > 6 && strncmp(line, "LEVEL ", 6) == 0) {
            level = find_level(levels, sizeof levels / sizeof *levels, line, length);
            index = 0;
        } else if (level && length > 0 && index < level->count) {
            level->rename(trace, index++, lull_arena_strndup(trace->arena, line, length));
        }
    }
    lull_unmap(&mapping);
}

/* Numbers the streams of each process, once the .row has told which locations are streams. */
static void number_streams(struct lull_trace *trace)
{
    uint32_t process = LULL_NONE, threads = 0, streams = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_location *location = &trace->locations[l];
        if (location->process != process)
            threads = streams = 0;
        process = location->process;
        location->number = location->kind == LULL_LOCATION_DEVICE ? streams++ : threads++;
    }
}

/* Reads what the .pcf says of streams, in traces that lull wrote. */
static void prv_describe_streams(struct lull_trace *trace, const struct lull_prv_labels *labels)
{
    size_t capacity = 0;
    for (size_t t = 0; t < labels->n_types; t++) {
        const struct lull_prv_label_type *type = &labels->types[t];
        for (size_t v = 0; type->number == LULL_PRV_OWN_STREAMS && v < type->n_values; v++)
            if (type->values[v].number - 1 < trace->n_locations)
                lull_stream_parse(trace, (uint32_t)(type->values[v].number - 1),
                                  type->values[v].text, &capacity);
    }
    lull_join_devices(trace);
}

/* ==== paraver ================================================================================= */

static bool recognise_paraver(const struct lull_candidate *candidate)
{
    return !candidate->directory && candidate->head_size >= 8 &&
           memcmp(candidate->head, "#Paraver", 8) == 0;
}

static lull_status open_trace(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_paraver *paraver = lull_arena_zero(trace->arena, 1, sizeof *paraver);
    struct lull_prv_sample sample = {0};
    struct lull_prv_labels labels = {0};
    trace->format_data = paraver;
    lull_status status = prv_read_header(trace, paraver, &sample, err);
    if (status == LULL_OK) {
        prv_read_pcf(trace, &labels);
        prv_read_row(trace);
        number_streams(trace);
        prv_describe_streams(trace, &labels);
        status = lull_prv_build_types(trace, paraver, &labels, &sample)
                     ? lull_trace_complete(trace, err)
                     : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
        if (status == LULL_OK)
            status = lull_prv_find_end(trace, err);
    }
    free(sample.types);
    return status;
}

static void close_trace(struct lull_trace *trace)
{
    struct lull_paraver *paraver = trace->format_data;
    if (paraver)
        lull_hash_free(&paraver->types.by_number);
}

static const struct lull_reader reader_paraver = {
    .expected = "a Paraver trace",
    .recognise = recognise_paraver,
    .open = open_trace,
    .close = close_trace,
    .drive = lull_prv_drive,
};

const struct lull_format lull_format_paraver = {
    .name = "paraver",
    .summary = "Paraver trace (.prv, .prv.gz, with .pcf and .row)",
    .reader = &reader_paraver,
    .writer_open = lull_prv_writer_open,
};
