/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/info_document.h"

#include "base/build.h"
#include "base/text.h"
#include "lull_features.h"
#include "model/kernel/kernel.h"
#include "study/circumstances.h"
#include "study/formats.h"
#include "trace/format.h"
#include "trace/resources.h"
#include "view/document_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct extent {
    uint32_t threads, streams, summaries, nodes;
};

static struct extent measure_trace(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct extent extent = {0};
    bool *used = lull_arena_zero(arena, trace->n_nodes + 1, sizeof(*used));
    for (uint32_t i = 0; i < trace->n_locations; i++) {
        if (trace->locations[i].kind == LULL_LOCATION_DEVICE)
            extent.streams++;
        else
            extent.threads++;
        extent.summaries += trace->locations[i].stream && trace->locations[i].stream->summary;
    }
    for (uint32_t i = 0; i < trace->n_processes; i++) {
        uint32_t node = trace->processes[i].node;
        if (node == LULL_NONE || used[node])
            continue;
        used[node] = true;
        extent.nodes++;
    }
    return extent;
}

static struct lull_cell when(int64_t ns, struct lull_arena *arena)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm parts;
    char text[64];
    if (ns <= 0 || !gmtime_r(&seconds, &parts) ||
        !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
        return lull_cell_absent("not recorded");
    return lull_cell_text(lull_arena_strdup(arena, text));
}

static void add_trace_facts(struct lull_document *document, const struct lull_trace *trace,
                            const char *path, struct lull_arena *arena)
{
    struct extent extent = measure_trace(trace, arena);
    lull_document_fact(document, "run", "Run", lull_cell_text(path));
    lull_document_fact(document, "format", "Format", lull_cell_text(trace->format->summary));
    lull_document_fact(document, "producer", "Producer",
                       *trace->producer ? lull_cell_text(trace->producer)
                                        : lull_cell_absent("not recorded"));
    lull_document_fact(document, "start", "Start", when(trace->start_realtime, arena));
    lull_document_fact(document, "duration", "Duration", lull_cell_time(trace->duration));
    if (trace->n_applications > 1)
        lull_document_fact(document, "applications", "Applications",
                           lull_cell_count(trace->n_applications));
    lull_document_fact(document, "nodes", "Nodes",
                       extent.nodes ? lull_cell_count(extent.nodes)
                                    : lull_cell_absent("not recorded"));
    lull_document_fact(document, "processes", "Processes", lull_cell_count(trace->n_processes));
    lull_document_fact(document, "threads", "Threads", lull_cell_count(extent.threads));
    if (extent.streams)
        lull_document_fact(document, "device_streams", "Device streams",
                           lull_cell_count(extent.streams));
    if (extent.summaries)
        lull_document_fact(document, "device_operations", "Operations of devices",
                           lull_cell_text("sums alone"));
    lull_document_fact(document, "clock_resolution", "Clock tick",
                       trace->clock_resolution > 0 ? lull_cell_text(lull_arena_printf(
                                                         arena, "%.6g ns", trace->clock_resolution))
                                                   : lull_cell_absent("not recorded"));
    lull_document_fact(document, "clock_error", "Clock error between locations",
                       trace->clock_error >= 0 ? lull_cell_text(lull_arena_printf(
                                                     arena, "up to %.6g ns", trace->clock_error))
                                               : lull_cell_absent("not known"));
}

static void add_main_part(struct lull_document *document, const struct lull_trace *trace,
                          struct lull_arena *arena)
{
    int64_t begin, end;
    char length[32], from[32], to[32];
    if (!lull_trace_main_part(trace, 0, &begin, &end))
        return;
    lull_format_time(end - begin, length, sizeof length);
    lull_format_time(begin, from, sizeof from);
    lull_format_time(end, to, sizeof to);
    lull_document_fact(
        document, "main_part", "From MPI_Init to MPI_Finalize",
        lull_cell_text(lull_arena_printf(arena, "%s (from %s to %s)", length, from,
                                         end == trace->duration ? "the end, as some process never "
                                                                  "came to MPI_Finalize"
                                                                : to)));
}

static void add_core_fact(struct lull_document *document, const struct lull_trace *trace,
                          struct lull_arena *arena)
{
    const char *text = lull_cores_describe(trace, arena);
    if (text)
        lull_document_fact(document, "cores", "Not alone", lull_cell_text(text));
}

/* Numbers of a damaged file may add up to more than there are. */
static int64_t whole_of(double ns)
{
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* What the system's kernel did for the threads, where the recorder has asked. */
static void add_usage_facts(struct lull_document *document, const struct lull_trace *trace,
                            struct lull_arena *arena)
{
    const struct lull_usage_sum sum = lull_usage_of(trace, LULL_NONE);
    char system[32], all[32], outside[32];
    if (sum.known == 0)
        return;
    lull_format_time(whole_of(sum.system), system, sizeof system);
    lull_format_time(whole_of(sum.user + sum.system), all, sizeof all);
    lull_format_time(whole_of(sum.outside), outside, sizeof outside);
    const char *text = lull_arena_printf(
        arena, "%s of %s of processor time (%.0f %%), %s or more of it outside of recorded calls",
        system, all, 100 * sum.system / (sum.user + sum.system), outside);
    if (sum.known > 1 && sum.most)
        text =
            lull_arena_printf(arena, "%s (%.0f %% of that in '%s')", text,
                              100 * (double)sum.most->usage.outside / sum.outside, sum.most->name);
    lull_document_fact(document, "kernel", "In the kernel", lull_cell_text(text));
    lull_document_fact(document, "page_faults", "Page faults",
                       lull_cell_count((uint64_t)whole_of(sum.minor + sum.major)));
    if (sum.major > 0)
        lull_document_fact(document, "page_faults_from_disk", "Page faults that read a disk",
                           lull_cell_count((uint64_t)whole_of(sum.major)));
}

static void add_memory_fact(struct lull_document *document, const struct lull_trace *trace,
                            struct lull_arena *arena)
{
    const char *text = lull_memory_describe(trace, arena);
    if (text)
        lull_document_fact(document, "memory", "Memory", lull_cell_text(text));
}

static void add_disturbed(struct lull_document *document, const struct lull_trace *trace,
                          struct lull_arena *arena)
{
    const char *text = lull_disturbed_describe(trace, arena);
    if (text)
        lull_document_fact(document, "disturbed", "Injected", lull_cell_text(text));
}

static void add_kept(struct lull_document *document, const struct lull_trace *trace,
                     struct lull_arena *arena)
{
    if (trace->events == LULL_EVENTS_NONE)
        lull_document_fact(document, "events_kept", "Events kept",
                           lull_cell_text("none, sums only (a profile)"));
    else if (trace->events == LULL_EVENTS_FIRST)
        lull_document_fact(document, "events_kept", "Events kept",
                           lull_cell_text(lull_arena_printf(arena, "until %.6g s",
                                                            1e-9 * (double)trace->events_end)));
    else if (trace->events == LULL_EVENTS_LAST)
        lull_document_fact(document, "events_kept", "Events kept",
                           lull_cell_text(lull_arena_printf(arena, "from %.6g s on",
                                                            1e-9 * (double)trace->events_begin)));
    if (trace->events != LULL_EVENTS_ALL)
        lull_document_fact(
            document, "sums", "Sums of the whole run",
            lull_cell_text(trace->has_sums ? "of all threads" : "not of all threads"));
}

static void add_events(struct lull_document *document, const struct lull_census *census)
{
    uint64_t total = 0;
    struct lull_table *table = lull_document_table(document, "events", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Events");
    lull_table_column(table, "count", "number");
    for (unsigned kind = 0; kind < LULL_EVENT_KINDS; kind++) {
        if (!census->events[kind])
            continue;
        const char *name = lull_event_kind_name(kind);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(census->events[kind]));
        total += census->events[kind];
    }
    uint32_t row = lull_table_row(table, "total", "total", LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_count(total));
}

static void add_transfer(struct lull_table *table, const char *id, const char *label,
                         uint64_t count, uint64_t bytes)
{
    if (!count)
        return;
    uint32_t row = lull_table_row(table, id, label, LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_count(count));
    lull_table_set(table, row, 1, lull_cell_bytes(bytes));
}

static void add_communication(struct lull_document *document, const struct lull_census *census,
                              struct lull_arena *arena)
{
    const uint64_t *events = census->events;
    if (!events[LULL_EVENT_SEND] && !events[LULL_EVENT_RECV] && !events[LULL_EVENT_RMA] &&
        !events[LULL_EVENT_IO] && !events[LULL_EVENT_COLLECTIVE_END])
        return;
    struct lull_table *table = lull_document_table(document, "communication", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Communication");
    lull_table_column(table, "count", "number");
    lull_table_column(table, "bytes", "bytes");
    add_transfer(table, "sent", "messages sent", census->sent, census->sent_bytes);
    if (census->received) {
        uint32_t row = lull_table_row(table, "received", "messages received", LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(census->received));
        lull_table_set(table, row, 1, lull_received_cell(census->received_bytes));
    }
    for (unsigned op = 0; op < LULL_COLLECTIVES; op++)
        add_transfer(
            table, lull_collective_name(op),
            lull_arena_printf(arena, "%s (calls of all processes)", lull_collective_name(op)),
            census->collectives[op], census->collective_bytes[op]);
    add_transfer(table, "rma", "one-sided transfers", events[LULL_EVENT_RMA], census->rma_bytes);
    add_transfer(table, "io", "input and output", events[LULL_EVENT_IO], census->io_bytes);
}

static void add_counter_table(struct lull_document *document, const struct lull_trace *trace,
                              const struct lull_census *census)
{
    static const char *const roles[] = {[LULL_COUNTER_OTHER] = "",
                                        [LULL_COUNTER_INSTRUCTIONS] = "instructions",
                                        [LULL_COUNTER_CYCLES] = "cycles",
                                        [LULL_COUNTER_PROCESSOR_TIME] = "processor time"};
    if (!trace->n_counters && strncmp(trace->producer, "lull", 4) == 0)
        lull_document_fact(document, "counters", "Counters",
                           lull_cell_absent("none; lull record --counters instructions,cycles "
                                            "says why they cannot be had"));
    if (!trace->n_counters)
        return;
    struct lull_table *table = lull_document_table(document, "counters", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Counters");
    lull_table_column(table, "readings", "readings");
    lull_table_column(table, "unit", "unit");
    lull_table_column(table, "role", "serves as");
    for (uint32_t i = 0; i < trace->n_counters; i++) {
        const struct lull_counter *counter = &trace->counters[i];
        uint32_t row = lull_table_row(table, counter->name, counter->name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(census->readings[i]));
        lull_table_set(table, row, 1, lull_cell_text(counter->unit));
        lull_table_set(table, row, 2, lull_cell_text(roles[counter->role]));
    }
}

static const char *describe_sampling(const struct lull_census_samples *samples,
                                     struct lull_arena *arena)
{
    char interval[32], last[32];
    uint64_t threads = 0;
    const char *how = "";
    for (unsigned way = LULL_SAMPLES_REFUSED + 1; way < LULL_SAMPLES_WAYS; way++) {
        threads += samples->ways[way];
        how = samples->ways[way] > 0 ? lull_samples_way_name(way) : how;
    }
    lull_format_time(whole_of((double)samples->interval), interval, sizeof interval);
    lull_format_time(whole_of((double)samples->last_interval), last, sizeof last);
    const char *text = lull_arena_printf(
        arena, "%s, one each %s of processor time%s; of %" PRIu64 " thread%s", how, interval,
        samples->ways[LULL_SAMPLES_TIMER] > 0 ? "" : " in the program", threads,
        threads == 1 ? "" : "s");
    if (samples->last_interval > samples->interval)
        text = lull_arena_printf(arena, "%s; in the end each stands for up to %s", text, last);
    if (samples->ways[LULL_SAMPLES_REFUSED] > 0)
        text =
            lull_arena_printf(arena, "%s; not of %" PRIu64 " more: %s", text,
                              samples->ways[LULL_SAMPLES_REFUSED], strerror((int)samples->refused));
    return text;
}

/* Samples: how many there are and how they were taken, or why there are none. */
static void add_sample_facts(struct lull_document *document, const struct lull_trace *trace,
                             const struct lull_census *census, struct lull_arena *arena)
{
    const struct lull_census_samples *samples = &census->samples;
    const uint64_t refused = samples->ways[LULL_SAMPLES_REFUSED];
    if (samples->kept == 0 && samples->lost == 0) {
        if (refused > 0)
            lull_document_fact(
                document, "samples", "Samples",
                lull_cell_absent(lull_arena_printf(arena, "none could be taken: %s",
                                                   strerror((int)samples->refused))));
        else if (strncmp(trace->producer, "lull", 4) == 0 && !lull_trace_is_simulated(trace))
            lull_document_fact(document, "samples", "Samples",
                               lull_cell_absent("none; " LULL_HOW_TO_SAMPLE));
        return;
    }
    lull_document_fact(document, "samples", "Samples", lull_cell_count(samples->kept));
    lull_document_fact(document, "sampling", "Sampled by",
                       lull_cell_text(describe_sampling(samples, arena)));
    if (samples->lost > 0)
        lull_document_fact(document, "samples_lost", "Samples lost",
                           lull_cell_count(samples->lost));
}

/* How many communicators have the name and size of this one; 0 if it is not the first of them.
 * Communicators without a name count as different. */
static uint64_t count_alike(const struct lull_trace *trace, uint32_t index)
{
    const struct lull_comm *one = &trace->comms[index];
    uint64_t count = 0;
    if (!*one->name)
        return 1;
    for (uint32_t i = 0; i < trace->n_comms; i++) {
        const struct lull_comm *other = &trace->comms[i];
        if (other->paradigm != LULL_PARADIGM_MPI || other->size != one->size ||
            strcmp(other->name, one->name) != 0)
            continue;
        if (i < index)
            return 0;
        count++;
    }
    return count;
}

/* Adds the communicators of MPI. Those of OpenMP are thread teams, of which there may be thousands,
 * and say nothing here. */
static void add_communicators(struct lull_document *document, const struct lull_trace *trace,
                              struct lull_arena *arena)
{
    struct lull_table *table = NULL;
    for (uint32_t i = 0; i < trace->n_comms; i++) {
        const struct lull_comm *comm = &trace->comms[i];
        if (comm->paradigm != LULL_PARADIGM_MPI)
            continue;
        uint64_t count = count_alike(trace, i);
        if (count == 0)
            continue;
        if (!table) {
            table = lull_document_table(document, "communicators", "", LULL_BY_COLUMN);
            lull_table_corner(table, "Communicators");
            lull_table_column(table, "size", "processes");
            lull_table_column(table, "count", "of them");
        }
        uint32_t row = lull_table_row(
            table, lull_arena_printf(arena, "%u", i),
            *comm->name ? comm->name : lull_arena_printf(arena, "(no name, number %u)", i),
            LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(comm->size));
        lull_table_set(table, row, 1, lull_cell_count(count));
    }
}

/* Adds a row for each application, with the number that --application takes. */
static void add_applications(struct lull_document *document, const struct lull_trace *trace,
                             struct lull_arena *arena)
{
    struct application {
        uint32_t processes, first;
    } *applications = lull_arena_zero(arena, trace->n_applications, sizeof *applications);
    if (trace->n_applications < 2)
        return;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct application *application = &applications[trace->processes[p].application];
        application->first = application->processes++ == 0 ? p : application->first;
    }
    struct lull_table *table =
        lull_document_table(document, "application_list", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Applications");
    lull_table_column(table, "processes", "processes");
    lull_table_column(table, "first", "the first of them");
    for (uint32_t a = 0; a < trace->n_applications; a++) {
        const char *number = lull_arena_printf(arena, "%u", a + 1);
        const uint32_t row = lull_table_row(table, number, number, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(applications[a].processes));
        lull_table_set(table, row, 1,
                       applications[a].processes > 0
                           ? lull_cell_text(trace->processes[applications[a].first].name)
                           : lull_cell_absent("none of its processes was recorded"));
    }
}

static void add_devices(struct lull_document *document, const struct lull_trace *trace,
                        struct lull_arena *arena)
{
    if (trace->n_devices == 0)
        return;
    uint32_t *streams = lull_arena_zero(arena, trace->n_devices, sizeof *streams);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].stream)
            streams[trace->locations[l].stream->device]++;
    struct lull_table *table = lull_document_table(document, "devices", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Devices");
    lull_table_column(table, "runtime", "runtime");
    lull_table_column(table, "node", "node");
    lull_table_column(table, "key", "there known as");
    lull_table_column(table, "streams", "streams");
    for (uint32_t d = 0; d < trace->n_devices; d++) {
        const struct lull_device *device = &trace->devices[d];
        const uint32_t row =
            lull_table_row(table, lull_arena_printf(arena, "%u", d),
                           *device->name ? device->name : "(no name)", LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(device->runtime));
        lull_table_set(table, row, 1,
                       device->node == LULL_NONE ? lull_cell_absent("not recorded")
                                                 : lull_cell_text(trace->nodes[device->node].name));
        lull_table_set(table, row, 2, lull_cell_text(device->key));
        lull_table_set(table, row, 3, lull_cell_count(streams[d]));
    }
}

/* What the tracer says of the quality of what it knows of a stream. */
static void set_stream_quality(struct lull_table *table, uint32_t row, unsigned column,
                               const struct lull_stream *stream)
{
    const bool has_error = stream && stream->clock_error >= 0;
    lull_table_set(table, row, column,
                   stream ? lull_cell_count(stream->lost) : lull_cell_absent("not recorded"));
    lull_table_set(table, row, column + 1,
                   has_error ? lull_cell_time(whole_of(stream->clock_error + 0.5))
                             : lull_cell_absent("not known"));
}

static bool knows_priorities(const struct lull_trace *trace)
{
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].stream && trace->locations[l].stream->has_priority)
            return true;
    return false;
}

static struct lull_cell priority_of(const struct lull_stream *stream)
{
    return stream && stream->has_priority ? lull_cell_number(stream->priority, 0)
                                          : lull_cell_absent("not known");
}

/* Device streams, the first of them. */
static void add_streams(struct lull_document *document, const struct lull_trace *trace,
                        const struct lull_census *census, struct lull_arena *arena)
{
    enum { MOST_STREAMS = 64 };
    if (census->n_streams == 0)
        return;
    struct lull_table *table = lull_document_table(document, "streams", "", LULL_BY_COLUMN);
    lull_table_corner(table, census->n_streams > MOST_STREAMS ? "The first device streams"
                                                              : "Device streams");
    lull_table_column(table, "kernels", "kernels");
    lull_table_column(table, "kernel_time", "time");
    lull_table_column(table, "moves", "copies");
    lull_table_column(table, "move_time", "time");
    lull_table_column(table, "bytes", "bytes");
    lull_table_column(table, "until", "known until");
    lull_table_column(table, "lost", "not known");
    lull_table_column(table, "clock_error", "clock error");
    const bool has_priorities = knows_priorities(trace);
    if (has_priorities)
        lull_table_column(table, "priority", "priority");
    uint32_t s = 0;
    for (uint32_t l = 0; l < trace->n_locations && s < MOST_STREAMS; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (location->kind != LULL_LOCATION_DEVICE)
            continue;
        const struct lull_census_stream *stream = &census->streams[s];
        const uint32_t row =
            lull_table_row(table, lull_arena_printf(arena, "%u", l), location->name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(stream->kernels));
        lull_table_set(table, row, 1, lull_cell_time((int64_t)stream->kernel_ns));
        lull_table_set(table, row, 2, lull_cell_count(stream->moves));
        lull_table_set(table, row, 3, lull_cell_time((int64_t)stream->move_ns));
        lull_table_set(table, row, 4,
                       location->stream ? lull_cell_bytes(stream->bytes)
                                        : lull_cell_absent("not recorded"));
        lull_table_set(table, row, 5, lull_cell_time((int64_t)census->streams_end[s]));
        set_stream_quality(table, row, 6, location->stream);
        if (has_priorities)
            lull_table_set(table, row, 8, priority_of(location->stream));
        s++;
    }
}

/* What the ranks of a communicator, which is a device, took part in. */
struct exchanges {
    uint64_t *counts, *hashes; /* [n_processes] */
};

/* Adds up the streams whose device has the same key, on whatever node. */
static void add_up_exchanges(const struct lull_trace *trace, const struct lull_census *census,
                             const struct lull_device *of, struct exchanges *sums)
{
    uint32_t s = 0;
    memset(sums->counts, 0, trace->n_processes * sizeof *sums->counts);
    memset(sums->hashes, 0, trace->n_processes * sizeof *sums->hashes);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (location->kind != LULL_LOCATION_DEVICE)
            continue;
        const struct lull_census_stream *stream = &census->streams[s++];
        if (!location->stream || strcmp(trace->devices[location->stream->device].key, of->key) != 0)
            continue;
        sums->counts[location->process] += stream->exchanges;
        sums->hashes[location->process] += stream->exchanges_hash;
    }
}

/* Returns how many ranks took part; 0: there is nothing to tell. */
static uint32_t compare_exchanges(const struct lull_trace *trace, const struct exchanges *sums,
                                  uint64_t *ret_least, uint64_t *ret_most, bool *ret_same)
{
    uint32_t ranks = 0, first = 0;
    *ret_least = UINT64_MAX;
    *ret_most = 0;
    *ret_same = true;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (sums->counts[p] == 0)
            continue;
        first = ranks++ == 0 ? p : first;
        *ret_least = sums->counts[p] < *ret_least ? sums->counts[p] : *ret_least;
        *ret_most = sums->counts[p] > *ret_most ? sums->counts[p] : *ret_most;
        *ret_same &=
            sums->counts[p] == sums->counts[first] && sums->hashes[p] == sums->hashes[first];
    }
    return ranks;
}

/* Whether an earlier device has this key: it is the same communicator on another node. */
static bool is_told(const struct lull_trace *trace, uint32_t device)
{
    for (uint32_t d = 0; d < device; d++)
        if (strcmp(trace->devices[d].key, trace->devices[device].key) == 0)
            return true;
    return false;
}

/* Operations that all ranks of a communicator take part in, for the first of them. */
static void add_exchanges(struct lull_document *document, const struct lull_trace *trace,
                          const struct lull_census *census, struct lull_arena *arena)
{
    enum { MOST_COMMUNICATORS = 64 };
    struct exchanges sums = {
        lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *sums.counts),
        lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *sums.hashes)};
    struct lull_table *table = NULL;
    uint64_t any = 0, least, most;
    for (uint32_t s = 0; s < census->n_streams; s++)
        any += census->streams[s].exchanges;
    for (uint32_t d = 0; any > 0 && d < trace->n_devices && d < MOST_COMMUNICATORS; d++) {
        const struct lull_device *device = &trace->devices[d];
        bool same;
        if (is_told(trace, d))
            continue;
        add_up_exchanges(trace, census, device, &sums);
        const uint32_t ranks = compare_exchanges(trace, &sums, &least, &most, &same);
        if (ranks == 0)
            continue;
        if (!table) {
            table = lull_document_table(document, "exchanges", "", LULL_BY_COLUMN);
            lull_table_corner(table, "Exchanges of devices");
            lull_table_column(table, "ranks", "ranks");
            lull_table_column(table, "operations", "operations");
            lull_table_column(table, "same", "the same at all ranks");
        }
        const uint32_t row = lull_table_row(table, device->key, device->name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(ranks));
        lull_table_set(table, row, 1, lull_cell_count(most));
        lull_table_set(table, row, 2,
                       lull_cell_text(same ? "yes"
                                      : least == most
                                          ? "no"
                                          : lull_arena_printf(arena, "no, %llu at least",
                                                              (unsigned long long)least)));
    }
}

static void add_left_out(struct lull_document *document, const struct lull_trace *trace,
                         struct lull_arena *arena)
{
    if (trace->n_left_out == 0)
        return;
    struct lull_table *table = lull_document_table(document, "left-out", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Functions left out");
    lull_table_column(table, "calls", "calls left out");
    lull_table_column(table, "mean", "mean before");
    for (uint32_t i = 0; i < trace->n_left_out; i++) {
        const struct lull_left_out *one = &trace->left_out[i];
        const uint32_t row = lull_table_row(table, lull_arena_printf(arena, "%u", i),
                                            trace->regions[one->region].name, LULL_NO_ROW);
        lull_table_set(table, row, 0,
                       one->at_least ? lull_cell_absent("a process died before it could count")
                                     : lull_cell_count(one->calls));
        lull_table_set(table, row, 1, lull_cell_time(one->ns));
    }
}

static void add_quirks(struct lull_document *document, const struct lull_trace *trace,
                       struct lull_arena *arena)
{
    struct lull_quirk *quirks;
    uint32_t count = lull_trace_quirks(trace, arena, &quirks);
    if (!count) {
        lull_document_note(document, LULL_NOTE_INFO, "No oddities were found in this trace.");
        return;
    }
    struct lull_table *table = lull_document_table(document, "quirks", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Oddities");
    lull_table_column(table, "count", "times");
    lull_table_column(table, "first", "first at");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row =
            lull_table_row(table, lull_arena_printf(arena, "%u", i), quirks[i].kind, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(quirks[i].count));
        lull_table_set(table, row, 1, lull_cell_text(quirks[i].first));
    }
}

static int compare_submitters(const void *a, const void *b)
{
    const struct lull_submitter *const *one = a, *const *other = b;
    const uint64_t ns = (*one)->kernel_ns + (*one)->move_ns,
                   other_ns = (*other)->kernel_ns + (*other)->move_ns;
    return ns != other_ns ? (ns < other_ns ? 1 : -1) : (*one < *other ? -1 : *one > *other);
}

/* Which regions of the host have kept devices busy, the longest first. */
static void add_submitters(struct lull_document *document, const struct lull_trace *trace,
                           const struct lull_submitters *submitters, struct lull_arena *arena)
{
    enum { MOST_SUBMITTERS = 64 };
    uint32_t n = 0;
    if (!submitters)
        return;
    const struct lull_submitter **sorted =
        lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *sorted);
    for (uint32_t r = 0; r <= trace->n_regions; r++)
        if (submitters->regions[r].kernels + submitters->regions[r].moves > 0)
            sorted[n++] = &submitters->regions[r];
    qsort(sorted, n, sizeof *sorted, compare_submitters);
    struct lull_table *table = lull_document_table(document, "submitters", "", LULL_BY_COLUMN);
    lull_table_corner(table, n > MOST_SUBMITTERS ? "Devices by region of the host, 64"
                                                 : "Devices by region of the host");
    lull_table_column(table, "kernels", "kernels");
    lull_table_column(table, "kernel_time", "time");
    lull_table_column(table, "moves", "copies");
    lull_table_column(table, "move_time", "time");
    lull_table_column(table, "bytes", "bytes");
    for (uint32_t i = 0; i < n && i < MOST_SUBMITTERS; i++) {
        const uint32_t region = (uint32_t)(sorted[i] - submitters->regions);
        const uint32_t row = lull_table_row(
            table, lull_arena_printf(arena, "%u", region),
            region < trace->n_regions ? trace->regions[region].name : "(no region)", LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(sorted[i]->kernels));
        lull_table_set(table, row, 1, lull_cell_time((int64_t)sorted[i]->kernel_ns));
        lull_table_set(table, row, 2, lull_cell_count(sorted[i]->moves));
        lull_table_set(table, row, 3, lull_cell_time((int64_t)sorted[i]->move_ns));
        lull_table_set(table, row, 4, lull_cell_bytes(sorted[i]->bytes));
    }
}

struct lull_document *lull_info_run(const struct lull_trace *trace,
                                    const struct lull_census *census,
                                    const struct lull_submitters *submitters, const char *path,
                                    struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-info/1", "");
    add_trace_facts(document, trace, path, arena);
    add_main_part(document, trace, arena);
    add_kept(document, trace, arena);
    add_disturbed(document, trace, arena);
    add_core_fact(document, trace, arena);
    add_usage_facts(document, trace, arena);
    add_memory_fact(document, trace, arena);
    add_sample_facts(document, trace, census, arena);
    lull_table_of_properties(
        document,
        &(const struct lull_property_column){.id = "value", .heading = "", .trace = trace}, 1,
        arena);
    add_applications(document, trace, arena);
    add_events(document, census);
    add_communication(document, census, arena);
    add_counter_table(document, trace, census);
    add_communicators(document, trace, arena);
    add_devices(document, trace, arena);
    add_streams(document, trace, census, arena);
    add_exchanges(document, trace, census, arena);
    add_submitters(document, trace, submitters, arena);
    add_left_out(document, trace, arena);
    add_quirks(document, trace, arena);
    return document;
}

/* A feature that was built in may still lack a library that lull opens when it needs it. */
static const char *missing_here(const struct lull_feature *feature, struct lull_error *err)
{
    const bool reads_c = strcmp(feature->name, "LIBCLANG") == 0 && feature->built;
    return reads_c && lull_kernel_find_reader(err) != LULL_OK ? err->text : NULL;
}

static void add_feature(struct lull_table *table, const struct lull_feature *feature)
{
    uint32_t row = lull_table_row(table, feature->name, feature->name, LULL_NO_ROW);
    struct lull_error err;
    const char *missing = missing_here(feature, &err);
    lull_table_set(table, row, 0, lull_cell_text(feature->built && !missing ? "yes" : "no"));
    lull_table_set(table, row, 1, lull_cell_text(feature->what));
    lull_table_set(table, row, 2, lull_cell_text(missing ? missing : feature->why_not));
}

static void add_features(struct lull_document *document)
{
    static const struct lull_feature features[] = {LULL_FEATURES};
    const bool cpp = lull_trace_demangles_cpp();
    const struct lull_feature demangling = {"CPP_NAMES", cpp,
                                            "show names of C++ functions as the source has them",
                                            cpp ? "" : "libstdc++.so.6 was not found"};
    struct lull_table *table = lull_document_table(document, "features", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Feature");
    lull_table_column(table, "built", "built in");
    lull_table_column(table, "purpose", "serves to");
    lull_table_column(table, "reason", "why not");
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        add_feature(table, &features[i]);
    add_feature(table, &demangling);
}

static void add_format(struct lull_table *table, const struct lull_format *format)
{
    const bool writes = format->writer_open || format->write;
    uint32_t row = lull_table_row(table, format->name, format->name, LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_text(format->reader ? "yes" : "no"));
    lull_table_set(table, row, 1, lull_cell_text(writes ? "yes" : "no"));
    lull_table_set(table, row, 2, lull_cell_text(format->summary));
}

static void add_formats(struct lull_document *document)
{
    struct lull_table *table = lull_document_table(document, "formats", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Trace format");
    lull_table_column(table, "reads", "reads");
    lull_table_column(table, "writes", "writes");
    lull_table_column(table, "summary", "");
    for (size_t i = 0; lull_formats[i]; i++)
        add_format(table, lull_formats[i]);
    for (size_t i = 0; lull_formats_of_steps[i]; i++)
        add_format(table, lull_formats_of_steps[i]);
}

/* What `lull record` records of devices, and by what that was tested (docs/record-reference.md has the
 * whole table). */
static void add_device_runtimes(struct lull_document *document)
{
    static const struct {
        const char *name, *tested;
    } runtimes[] = {{"OpenCL", "PoCL on processors"},
                    {"CUDA", "a mock of the driver and of CUPTI"},
                    {"ROCm", "a mock of HIP and of rocprofiler-sdk"},
                    {"OpenMP target", "clang's offloading to the host"},
                    {"NCCL", "a library that stands for NCCL"}};
    struct lull_table *table = lull_document_table(document, "devices", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Runtime of devices");
    lull_table_column(table, "tested", "recorded, tested with");
    lull_table_column(table, "hardware", "on hardware");
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        const uint32_t row = lull_table_row(table, runtimes[i].name, runtimes[i].name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(runtimes[i].tested));
        lull_table_set(table, row, 1, lull_cell_text("never run"));
    }
}

struct lull_document *lull_info_build(struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-build/1", "");
    lull_document_fact(document, "version", "lull", lull_cell_text(LULL_VERSION));
    if (*lull_build.commit)
        lull_document_fact(document, "commit", "Commit", lull_cell_text(lull_build.commit));
    lull_document_fact(document, "build", "Built", lull_cell_text(lull_build.how));
    add_features(document);
    add_formats(document);
    add_device_runtimes(document);
    return document;
}
