/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of PyTorch's and JAX's profilers: a file is a rank, a folder of files is a run of several ranks. */
#include "trace/format/kineto/kineto.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/sorted.h"
#include "trace/format.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ==== run ===================================================================================== */

/* What a call has submitted: the operations with its correlation. */
struct kineto_link {
    int64_t begin;        /* of the call, ns as in the file */
    uint32_t correlation; /* a process has its links in their order */
    uint32_t thread;      /* index of a location; LULL_NONE: no call is known */
    uint32_t region;      /* of the call */
    uint32_t stream;      /* index of the location of the first operation */
};

/* When an operation with a correlation ended. */
struct kineto_end {
    int64_t end; /* ns as in the file */
    uint32_t correlation;
};

struct kineto_process {
    struct kineto_file file;
    lull_status status; /* of reading it */
    struct lull_error err;
    int64_t shift;     /* to be added to times of the file */
    uint32_t *regions; /* [file.n_names] */
    uint32_t first_location;
    struct kineto_link *links; /* malloc'd */
    size_t n_links, links_capacity;
    struct kineto_end *ends; /* malloc'd: of all operations, by their ends */
    size_t n_ends, ends_capacity;
    uint8_t *waits; /* [file.n_names]: enum kineto_wait */
};

struct kineto_run {
    struct kineto_process *processes; /* [n_processes], in the order of the trace */
    uint32_t n_processes;
};

/* ---- files ----------------------------------------------------------------------------------- */

static bool has_file_name(const char *name)
{
    const size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".json") == 0) ||
           (length > 8 && strcmp(name + length - 8, ".json.gz") == 0);
}

/* Whether an object of JSON has one of the members that the profiler begins its files with. The first 4096 bytes do not
 * always reach the events: there may be many devices. */
static bool is_profile(const struct lull_candidate *candidate)
{
    static const char *const members[] = {"\"traceEvents\"", "\"deviceProperties\"",
                                          "\"distributedInfo\"", "\"schemaVersion\""};
    const char *head = (const char *)candidate->head;
    size_t at = 0;
    while (at < candidate->head_size && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    if (candidate->directory || at == candidate->head_size || head[at] != '{')
        return false;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (memmem(head, candidate->head_size, members[i], strlen(members[i])))
            return true;
    return false;
}

static bool is_profile_file(const char *path, const char *name)
{
    struct lull_head head;
    struct lull_candidate candidate;
    return has_file_name(name) && lull_candidate_read(path, &head, &candidate, NULL) == LULL_OK &&
           is_profile(&candidate);
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* The profiles of a folder in the order of their names; NULL: there are none. At most `most` are looked for. */
static const char **list_profiles(const char *folder, size_t most, struct lull_arena *arena,
                                  uint32_t *ret_count)
{
    const char **paths = NULL;
    size_t capacity = 0, count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && count < most && (entry = readdir(directory));) {
        const char *path = lull_arena_printf(arena, "%s/%s", folder, entry->d_name);
        if (!is_profile_file(path, entry->d_name))
            continue;
        paths = lull_arena_grow(arena, (void *)paths, &capacity, count + 1, sizeof *paths);
        paths[count++] = path;
    }
    if (directory)
        closedir(directory);
    if (count > 0)
        qsort((void *)paths, count, sizeof *paths, by_name);
    *ret_count = (uint32_t)count;
    return paths;
}

static bool recognise_kineto(const struct lull_candidate *candidate)
{
    if (!candidate->directory)
        return is_profile(candidate);
    struct lull_arena *arena = lull_arena_create(NULL);
    uint32_t count;
    const bool any = list_profiles(candidate->path, 1, arena, &count) != NULL;
    lull_arena_destroy(arena);
    return any;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct kineto_queue {
    const struct lull_trace *trace;
    struct kineto_run *run;
    atomic_uint next;
};

static void read_files(void *context, unsigned worker)
{
    struct kineto_queue *queue = context;
    (void)worker;
    for (uint32_t p; (p = atomic_fetch_add(&queue->next, 1)) < queue->run->n_processes;) {
        struct kineto_process *process = &queue->run->processes[p];
        process->status = lull_kineto_read(queue->trace, &process->file, &process->err);
    }
}

/* Several files at a time. What is wrong with the first of those that are wrong is told. */
static lull_status read_all_files(const struct lull_trace *trace, struct kineto_run *run,
                                  struct lull_error *err)
{
    struct kineto_queue queue = {.trace = trace, .run = run};
    const unsigned workers = lull_worker_count();
    lull_parallel_run(workers < run->n_processes ? workers : run->n_processes, read_files, &queue);
    for (uint32_t p = 0; p < run->n_processes; p++) {
        const struct kineto_process *process = &run->processes[p];
        if (process->status != LULL_OK)
            return lull_fail(err, process->status, "%s", process->err.text);
        if (process->file.n_places == 0)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: holds nothing that the profilers of PyTorch (categories cpu_op, "
                             "cuda_runtime, kernel ...) and JAX record",
                             process->file.path);
    }
    return LULL_OK;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const struct kineto_process *x = a, *y = b;
    if (x->file.rank != y->file.rank)
        return x->file.rank < y->file.rank ? -1 : 1;
    return strverscmp(x->file.path, y->file.path);
}

/* Files that do not tell their ranks get those of their places in the order of names, if none tells it. */
static lull_status find_ranks(const struct lull_trace *trace, struct kineto_run *run,
                              struct lull_error *err)
{
    uint32_t silent = 0;
    const char *first = NULL;
    for (uint32_t p = 0; p < run->n_processes; p++) {
        const struct kineto_file *file = &run->processes[p].file;
        silent += file->rank < 0;
        first = file->rank < 0 && !first ? file->path : first;
    }
    if (silent > 0 && silent < run->n_processes)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: does not tell its rank (distributedInfo), but other files do", first);
    if (silent > 1)
        lull_trace_add_quirk(
            trace, "files do not tell their ranks; they are numbered by their names", "%s", first);
    for (uint32_t p = 0; silent > 0 && p < run->n_processes; p++)
        run->processes[p].file.rank = p;
    qsort(run->processes, run->n_processes, sizeof *run->processes, by_rank);
    int64_t world = 0;
    for (uint32_t p = 0; p < run->n_processes; p++) {
        const struct kineto_file *file = &run->processes[p].file;
        world = file->world_size > world ? file->world_size : world;
        if (p > 0 && file->rank == run->processes[p - 1].file.rank)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: is of rank %lld, and so is %s", file->path,
                             (long long)file->rank, run->processes[p - 1].file.path);
    }
    if (world > run->n_processes)
        lull_trace_add_quirk(trace, "files of some ranks are missing", "%u of %lld ranks are there",
                             run->n_processes, (long long)world);
    return LULL_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* The origin of the run is the begin of the first span of all. */
static lull_status find_times(struct lull_trace *trace, struct kineto_run *run,
                              struct lull_error *err)
{
    int64_t origin = INT64_MAX, end = INT64_MIN;
    trace->clock_resolution = 1000;
    for (uint32_t p = 0; p < run->n_processes; p++) {
        const struct kineto_file *file = &run->processes[p].file;
        int64_t begins, ends;
        if (__builtin_add_overflow(file->begin, file->base, &begins) ||
            __builtin_add_overflow(file->end, file->base, &ends))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: times are beyond 64 bits of ns",
                             file->path);
        origin = begins < origin ? begins : origin;
        end = ends > end ? ends : end;
        if (!file->microseconds)
            trace->clock_resolution = 1;
    }
    bool good = !__builtin_sub_overflow(end, origin, &trace->duration);
    for (uint32_t p = 0; p < run->n_processes; p++)
        good &=
            !__builtin_sub_overflow(run->processes[p].file.base, origin, &run->processes[p].shift);
    if (!good)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: times of the run are beyond 64 bits of ns",
                         trace->path);
    trace->start_realtime = origin > 0 ? origin : 0;
    return LULL_OK;
}

/* ==== definitions ============================================================================= */

/* "train.py(42): step": a function of Python with its place. */
static void take_python_place(struct lull_trace *trace, struct lull_region *region)
{
    const char *open = strrchr(region->name, '('), *colon = open ? strstr(open, "): ") : NULL;
    char *end = NULL;
    const unsigned long line = colon && open > region->name ? strtoul(open + 1, &end, 10) : 0;
    if (line == 0 || line > UINT32_MAX || end != colon)
        return;
    region->file = lull_arena_strndup(trace->arena, region->name, (size_t)(open - region->name));
    region->line = (uint32_t)line;
    region->name = colon + 3;
}

static struct lull_region region_of_name(struct lull_trace *trace, const struct kineto_name *name)
{
    static const struct {
        uint8_t paradigm, role;
    } as[KINETO_SPANS] = {
        [KINETO_CODE] = {LULL_PARADIGM_USER, LULL_ROLE_FUNCTION},
        [KINETO_CALL] = {LULL_PARADIGM_DEVICE, LULL_ROLE_FUNCTION},
        [KINETO_KERNEL] = {LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL},
        [KINETO_COPY] = {LULL_PARADIGM_DEVICE, LULL_ROLE_DATA_TRANSFER},
    };
    struct lull_region region = {.name = name->text,
                                 .file = "",
                                 .site = "",
                                 .whole = LULL_NONE,
                                 .paradigm = as[name->kind].paradigm,
                                 .role = as[name->kind].role};
    if (name->kind == KINETO_CODE)
        take_python_place(trace, &region);
    return region;
}

/* Names of all files become regions, those that are the same one. */
static lull_status make_regions(struct lull_trace *trace, struct kineto_run *run,
                                struct lull_error *err)
{
    struct lull_hash known = {0};
    size_t capacity = 0;
    bool good = true, fresh;
    for (uint32_t p = 0; good && p < run->n_processes; p++) {
        struct kineto_process *process = &run->processes[p];
        process->regions = lull_arena_zero(trace->arena, process->file.n_names + (size_t)1,
                                           sizeof *process->regions);
        for (uint32_t n = 0; good && n < process->file.n_names; n++) {
            const struct kineto_name *name = &process->file.names[n];
            const char *key = lull_arena_printf(trace->arena, "%c%s", 'a' + name->kind, name->text);
            const uint64_t *index =
                lull_hash_add(&known, key, strlen(key), trace->n_regions, &fresh);
            good = index != NULL;
            if (!good)
                break;
            process->regions[n] = (uint32_t)*index;
            if (!fresh)
                continue;
            trace->regions = lull_arena_grow(trace->arena, trace->regions, &capacity,
                                             trace->n_regions + (size_t)1, sizeof *trace->regions);
            trace->regions[trace->n_regions++] = region_of_name(trace, name);
        }
    }
    lull_hash_free(&known);
    return good ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
}

static uint32_t find_node(struct lull_trace *trace, const char *host, size_t *capacity)
{
    if (!host)
        return LULL_NONE;
    for (uint32_t n = 0; n < trace->n_nodes; n++)
        if (strcmp(trace->nodes[n].name, host) == 0)
            return n;
    trace->nodes = lull_arena_grow(trace->arena, trace->nodes, capacity, trace->n_nodes + (size_t)1,
                                   sizeof *trace->nodes);
    trace->nodes[trace->n_nodes] =
        (struct lull_node){.name = host, .class_name = "node", .parent = LULL_NONE};
    return trace->n_nodes++;
}

/* Devices are numbered within a process, and nothing tells which of them are the same in several processes. */
static uint32_t add_device_of(struct lull_trace *trace, const struct kineto_process *process,
                              const struct kineto_place *place, uint32_t node, size_t *capacity)
{
    const struct kineto_file *file = &process->file;
    const char *key =
        lull_arena_printf(trace->arena, "rank %lld device %s", (long long)file->rank, place->pid);
    const char *name = place->device ? place->device : "";
    if (trace->n_devices > 0 && strcmp(trace->devices[trace->n_devices - 1].key, key) == 0)
        return trace->n_devices - 1;
    for (size_t d = 0; d < file->n_devices; d++) {
        const char *id = lull_arena_printf(trace->arena, "%lld", (long long)file->devices[d].id);
        if (strcmp(id, place->pid) == 0)
            name = file->devices[d].name;
    }
    trace->devices = lull_arena_grow(trace->arena, trace->devices, capacity,
                                     trace->n_devices + (size_t)1, sizeof *trace->devices);
    trace->devices[trace->n_devices] = (struct lull_device){
        .name = name, .runtime = file->hip ? "HIP" : "CUDA", .key = key, .node = node};
    return trace->n_devices++;
}

static const char *name_of_place(struct lull_trace *trace, const struct kineto_place *place)
{
    struct lull_arena *arena = trace->arena;
    const char *name = place->name;
    if (!name)
        name = lull_arena_printf(arena, "%s %s", place->stream ? "stream" : "thread", place->tid);
    return place->lane > 0 ? lull_arena_printf(arena, "%s (%u)", name, place->lane + 1) : name;
}

static lull_status make_locations(struct lull_trace *trace, struct kineto_run *run,
                                  struct lull_error *err)
{
    size_t n_locations = 0, nodes_capacity = 0, devices_capacity = 0;
    for (uint32_t p = 0; p < run->n_processes; p++)
        n_locations += run->processes[p].file.n_places;
    if (n_locations >= LULL_NONE)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has more threads than can be numbered",
                         trace->path);
    trace->processes = lull_arena_zero(trace->arena, run->n_processes, sizeof *trace->processes);
    trace->locations = lull_arena_zero(trace->arena, n_locations, sizeof *trace->locations);
    for (uint32_t p = 0; p < run->n_processes; p++) {
        struct kineto_process *process = &run->processes[p];
        const struct kineto_file *file = &process->file;
        const uint32_t node = find_node(trace, file->host, &nodes_capacity);
        uint32_t threads = 0, streams = 0;
        process->first_location = trace->n_locations;
        trace->processes[p] = (struct lull_process){
            .name = lull_arena_printf(trace->arena, "rank %lld", (long long)file->rank),
            .rank = (uint32_t)file->rank,
            .node = node};
        for (size_t i = 0; i < file->n_places; i++) {
            const struct kineto_place *place = &file->places[i];
            struct lull_location *location = &trace->locations[trace->n_locations++];
            *location = (struct lull_location){.name = name_of_place(trace, place),
                                               .source_id = (uint64_t)i,
                                               .process = p,
                                               .number = place->stream ? streams++ : threads++,
                                               .kind = place->stream ? LULL_LOCATION_DEVICE
                                                                     : LULL_LOCATION_THREAD};
            if (!place->stream)
                continue;
            location->stream = lull_arena_zero(trace->arena, 1, sizeof *location->stream);
            *location->stream = (struct lull_stream){
                .device = add_device_of(trace, process, place, node, &devices_capacity),
                .in_order = place->lane == 0,
                .is_default =
                    !file->jax && lull_is_default_stream(file->hip ? "HIP" : "CUDA", place->tid),
                .clock_error = -1};
        }
    }
    trace->n_processes = run->n_processes;
    return LULL_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static int by_correlation(const void *a, const void *b)
{
    const struct kineto_link *x = a, *y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

static int by_end_of_operation(const void *a, const void *b)
{
    const struct kineto_end *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static bool add_operations_of(struct kineto_process *process, uint32_t place)
{
    const struct kineto_place *stream = &process->file.places[place];
    if (!lull_array_reserve(&process->links, &process->links_capacity,
                            process->n_links + stream->n_spans, sizeof *process->links) ||
        !lull_array_reserve(&process->ends, &process->ends_capacity,
                            process->n_ends + stream->n_spans, sizeof *process->ends))
        return false;
    for (size_t i = 0; i < stream->n_spans; i++) {
        const struct kineto_span *span = &stream->spans[i];
        if (span->correlation == 0)
            continue;
        process->links[process->n_links++] =
            (struct kineto_link){.correlation = span->correlation,
                                 .thread = LULL_NONE,
                                 .stream = process->first_location + place};
        process->ends[process->n_ends++] =
            (struct kineto_end){span->begin + span->length, span->correlation};
    }
    return true;
}

static struct kineto_link *find_link(const struct kineto_process *process, uint32_t correlation)
{
    const size_t at =
        lull_sorted_first_u32(process->links, process->n_links, sizeof *process->links,
                              offsetof(struct kineto_link, correlation), correlation);
    return at < process->n_links && process->links[at].correlation == correlation
               ? &process->links[at]
               : NULL;
}

/* The outer one of two calls with a correlation is the one. */
static uint64_t link_calls_of(struct kineto_process *process, uint32_t place)
{
    const struct kineto_place *thread = &process->file.places[place];
    uint64_t twice = 0;
    for (size_t i = 0; i < thread->n_spans; i++) {
        const struct kineto_span *span = &thread->spans[i];
        struct kineto_link *link =
            span->correlation > 0 ? find_link(process, span->correlation) : NULL;
        if (!link)
            continue;
        if (link->thread != LULL_NONE) {
            twice++;
            continue;
        }
        link->thread = process->first_location + place;
        link->begin = span->begin;
        link->region = process->regions[span->name];
    }
    return twice;
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* The profiler does not tell what calls wait for, but which calls wait: those that synchronise, and copies that are not
 * asynchronous. One that synchronises a device waits for the last operation of each stream, as far as these have ended;
 * another one for the operation that ended last while the call waited. */
enum kineto_wait { WAITS_FOR_NOTHING, WAITS_FOR_DEVICE, WAITS_FOR_LAST, WAITS_FOR_ITS_OWN };

static uint8_t wait_of(const char *name)
{
    if (strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize"))
        return WAITS_FOR_DEVICE;
    if (strstr(name, "Synchronize"))
        return WAITS_FOR_LAST;
    return strstr(name, "Memcpy") && !strstr(name, "Async") ? WAITS_FOR_ITS_OWN : WAITS_FOR_NOTHING;
}

static bool was_submitted_before(const struct kineto_process *process, uint32_t correlation,
                                 const struct kineto_span *call)
{
    const struct kineto_link *link = correlation > 0 ? find_link(process, correlation) : NULL;
    return link && link->thread != LULL_NONE && link->begin < call->begin;
}

/* The operation that ended last within a call that waits, of those that had been submitted before it; for a copy, that
 * copy. 0: there is none, and the call did not wait. */
static uint32_t find_last(const struct kineto_process *process, const struct kineto_span *call)
{
    enum { MOST_LATER = 64 }; /* operations that were submitted meanwhile */
    const int64_t end = call->begin + call->length;
    const bool own = process->waits[call->name] == WAITS_FOR_ITS_OWN;
    size_t from = lull_sorted_first_i64(process->ends, process->n_ends, sizeof *process->ends,
                                        offsetof(struct kineto_end, end), end + 1);
    for (int tries = 0; from > 0 && tries < MOST_LATER; tries++) {
        const struct kineto_end *at = &process->ends[--from];
        if (at->end <= call->begin)
            break;
        if (own ? at->correlation == call->correlation
                : was_submitted_before(process, at->correlation, call))
            return at->correlation;
    }
    return 0;
}

/* The last operation of a stream that had been submitted before a call which synchronises the device; 0: there is none, or
 * it has not ended with the call, which then was for another device. */
static uint32_t find_last_of_stream(const struct kineto_process *process,
                                    const struct kineto_place *stream,
                                    const struct kineto_span *call)
{
    const int64_t end = call->begin + call->length;
    struct lull_bisection at = {.end = stream->n_spans};
    while (lull_bisect(&at))
        at.in_front = stream->spans[at.middle].begin + stream->spans[at.middle].length <= end;
    const size_t next = at.begin;
    const bool other = next < stream->n_spans &&
                       was_submitted_before(process, stream->spans[next].correlation, call);
    return next > 0 && !other &&
                   was_submitted_before(process, stream->spans[next - 1].correlation, call)
               ? stream->spans[next - 1].correlation
               : 0;
}

/* Finds the calls that have submitted operations. */
static lull_status make_links(const struct lull_trace *trace, struct kineto_process *process,
                              struct lull_error *err)
{
    const struct kineto_file *file = &process->file;
    uint64_t twice = 0, alone = 0;
    size_t kept = 0;
    for (uint32_t p = 0; p < file->n_places; p++)
        if (file->places[p].stream && !add_operations_of(process, p))
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", file->path);
    if (process->n_links > 0) {
        qsort(process->links, process->n_links, sizeof *process->links, by_correlation);
        qsort(process->ends, process->n_ends, sizeof *process->ends, by_end_of_operation);
    }
    process->waits = lull_arena_zero(trace->arena, file->n_names + (size_t)1, 1);
    for (uint32_t n = 0; n < file->n_names; n++)
        process->waits[n] = file->names[n].kind == KINETO_CALL ? wait_of(file->names[n].text) : 0;
    for (size_t i = 0; i < process->n_links; i++)
        if (kept == 0 || process->links[kept - 1].correlation != process->links[i].correlation)
            process->links[kept++] = process->links[i];
    process->n_links = kept;
    for (uint32_t p = 0; p < file->n_places; p++)
        twice += file->places[p].stream ? 0 : link_calls_of(process, p);
    for (size_t i = 0; i < kept; i++)
        alone += process->links[i].thread == LULL_NONE;
    if (twice > 0)
        lull_trace_add_quirk(
            trace, "several calls say that they have submitted the same; the first one counts",
            "%s: %llu calls", file->path, (unsigned long long)twice);
    if (alone > 0)
        lull_trace_add_quirk(trace, "calls that have submitted operations of devices are missing",
                             "%s: %llu of %zu", file->path, (unsigned long long)alone, kept);
    return LULL_OK;
}

/* ---- oddities -------------------------------------------------------------------------------- */

static void tell_oddities(const struct lull_trace *trace, const struct kineto_file *file)
{
    static const char *const kinds[KINETO_ODDITIES] = {
        [KINETO_UNKNOWN_CATEGORY] = "events of a category that is not known; left out",
        [KINETO_UNKNOWN_PHASE] = "events of which begin and end stand apart; left out",
        [KINETO_CUT_SPAN] = "calls end behind those around them; cut there",
        [KINETO_SEVERAL_LANES] =
            "operations of a stream overlap; those that begin meanwhile have a stream of their own",
    };
    for (int i = 0; i < KINETO_ODDITIES; i++)
        for (uint64_t n = 0; n < file->oddities[i]; n++)
            lull_trace_add_quirk(trace, kinds[i], "%s: %s", file->path, file->first[i]);
}

/* ==== events ================================================================================== */

struct kineto_open {
    int64_t end;
    uint32_t region;
};

struct kineto_stream {
    const struct kineto_process *process;
    const struct kineto_place *place;
    uint64_t mask;
    size_t next; /* span */
    uint32_t location;
    struct kineto_open *open; /* calls of a thread that have begun; malloc'd */
    size_t depth, capacity;
    const struct kineto_span *waiting; /* a call whose waits are not all told; NULL: none */
    uint32_t waits_next;               /* the place that is looked at next for it */
    bool lives;   /* a thread whose life has an event at its begin and its end */
    int64_t last; /* end of the last call that has ended */
};

enum { MOST_OF_A_SPAN = 4 }; /* events */

static lull_status open_spans(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                              void **ret_stream, struct lull_error *err)
{
    const struct kineto_run *run = trace->format_data;
    const struct kineto_process *process = &run->processes[trace->locations[location].process];
    struct kineto_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    const uint32_t place = location - process->first_location;
    *stream = (struct kineto_stream){.process = process,
                                     .place = &process->file.places[place],
                                     .mask = mask,
                                     .location = location,
                                     .lives = place > 0};
    *ret_stream = stream;
    return LULL_OK;
}

static void close_spans(void *context)
{
    struct kineto_stream *stream = context;
    free(stream->open);
    free(stream);
}

static void put(const struct kineto_stream *stream, struct lull_event *events, size_t *count,
                const struct lull_event *event)
{
    if (stream->mask & LULL_MASK(event->kind))
        events[(*count)++] = *event;
}

/* What the call that begins with the span has submitted. */
static void put_submission(const struct kineto_stream *stream, const struct kineto_span *span,
                           struct lull_event *events, size_t *count)
{
    const struct kineto_link *link =
        span->correlation > 0 ? find_link(stream->process, span->correlation) : NULL;
    if (!link || link->thread != stream->location || link->begin != span->begin ||
        link->region != stream->process->regions[span->name])
        return;
    const struct lull_event event = {.kind = LULL_EVENT_SUBMIT,
                                     .time = span->begin + stream->process->shift,
                                     .operation = {.number = span->correlation,
                                                   .sequence = LULL_NO_SEQUENCE,
                                                   .location = link->stream,
                                                   .peer = -1}};
    put(stream, events, count, &event);
}

static void put_wait(const struct kineto_stream *stream, const struct kineto_span *span,
                     uint32_t awaited, struct lull_event *events, size_t *count)
{
    const struct lull_event event = {
        .kind = LULL_EVENT_DEVICE_WAIT,
        .time = span->begin + stream->process->shift,
        .operation = {
            .number = awaited, .sequence = LULL_NO_SEQUENCE, .location = LULL_NONE, .peer = -1}};
    if (awaited > 0)
        put(stream, events, count, &event);
}

/* What the call that begins with the span waits for; of a device, the streams come one by one (put_of_thread). */
static void put_waits(struct kineto_stream *stream, const struct kineto_span *span,
                      struct lull_event *events, size_t *count)
{
    const uint8_t waits = stream->process->waits[span->name];
    if (waits == WAITS_FOR_LAST || waits == WAITS_FOR_ITS_OWN)
        put_wait(stream, span, find_last(stream->process, span), events, count);
    if (waits != WAITS_FOR_DEVICE)
        return;
    stream->waiting = span;
    stream->waits_next = 0;
}

/* The next stream that the last call waits for. */
static void put_next_wait(struct kineto_stream *stream, struct lull_event *events, size_t *count)
{
    const struct kineto_process *process = stream->process;
    const struct kineto_place *place = &process->file.places[stream->waits_next++];
    if (place->stream)
        put_wait(stream, stream->waiting, find_last_of_stream(process, place, stream->waiting),
                 events, count);
    if (stream->waits_next == process->file.n_places)
        stream->waiting = NULL;
}

/* Threads other than the main one are there from their first call to the end of their last one: nothing is known of
 * them before and after. */
static void put_life(const struct kineto_stream *stream, unsigned kind, int64_t time,
                     struct lull_event *events, size_t *count)
{
    if (stream->lives)
        put(stream, events, count,
            &(struct lull_event){.kind = (uint8_t)kind, .time = time + stream->process->shift});
}

/* Events up to the begin of the next call, or up to the end. *ret_more: there may be more. */
static bool put_of_thread(struct kineto_stream *stream, struct lull_event *events, size_t *count,
                          bool *ret_more)
{
    const struct kineto_place *place = stream->place;
    const int64_t shift = stream->process->shift;
    const struct kineto_span *span =
        stream->next < place->n_spans ? &place->spans[stream->next] : NULL;
    *ret_more = true;
    if (stream->waiting) {
        put_next_wait(stream, events, count);
        return true;
    }
    if (stream->depth > 0 && (!span || stream->open[stream->depth - 1].end <= span->begin)) {
        const struct kineto_open *open = &stream->open[--stream->depth];
        stream->last = open->end;
        put(stream, events, count,
            &(struct lull_event){
                .kind = LULL_EVENT_LEAVE, .time = open->end + shift, .id = open->region});
        return true;
    }
    *ret_more = span != NULL;
    if (!span) {
        if (stream->next > 0)
            put_life(stream, LULL_EVENT_THREAD_END, stream->last, events, count);
        stream->lives = false;
        return true;
    }
    if (stream->next == 0)
        put_life(stream, LULL_EVENT_THREAD_BEGIN, span->begin, events, count);
    const int64_t end = span->begin + span->length;
    const bool outer = stream->next + 1 < place->n_spans && span[1].begin < end;
    struct lull_event event = {.kind = outer ? LULL_EVENT_ENTER : LULL_EVENT_CALL,
                               .time = span->begin + shift,
                               .id = stream->process->regions[span->name]};
    if (!outer)
        event.duration = span->length;
    put(stream, events, count, &event);
    put_submission(stream, span, events, count);
    put_waits(stream, span, events, count);
    stream->next++;
    stream->last = end;
    if (!outer)
        return true;
    if (!lull_array_reserve(&stream->open, &stream->capacity, stream->depth + 1,
                            sizeof *stream->open))
        return false;
    stream->open[stream->depth++] = (struct kineto_open){end, event.id};
    return true;
}

static void put_of_stream(struct kineto_stream *stream, struct lull_event *events, size_t *count)
{
    const struct kineto_span *span = &stream->place->spans[stream->next++];
    const struct kineto_link *link =
        span->correlation > 0 ? find_link(stream->process, span->correlation) : NULL;
    const int64_t time = span->begin + stream->process->shift;
    put(stream, events, count,
        &(struct lull_event){.kind = LULL_EVENT_CALL,
                             .time = time,
                             .id = stream->process->regions[span->name],
                             .duration = span->length});
    put(stream, events, count,
        &(struct lull_event){.kind = LULL_EVENT_OPERATION,
                             .time = time,
                             .id = link && link->thread != LULL_NONE ? link->region : LULL_NONE,
                             .operation = {.number = span->correlation,
                                           .bytes = span->bytes,
                                           .sequence = LULL_NO_SEQUENCE,
                                           .location = link ? link->thread : LULL_NONE,
                                           .peer = -1}});
}

static lull_status read_spans(void *context, struct lull_event *events, size_t capacity,
                              size_t *ret_count, struct lull_error *err)
{
    struct kineto_stream *stream = context;
    const struct kineto_place *place = stream->place;
    size_t count = 0;
    bool more = true;
    while (more && count + MOST_OF_A_SPAN <= capacity) {
        if (!place->stream) {
            if (!put_of_thread(stream, events, &count, &more))
                return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory",
                                 stream->process->file.path);
        } else if (stream->next < place->n_spans) {
            put_of_stream(stream, events, &count);
        } else {
            more = false;
        }
    }
    *ret_count = count;
    return LULL_OK;
}

/* ==== kineto ================================================================================== */

static lull_status open_kineto(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_arena *arena = trace->arena;
    struct kineto_run *run = lull_arena_zero(arena, 1, sizeof *run);
    uint32_t count = 1;
    const char **paths = lull_is_directory(trace->path)
                             ? list_profiles(trace->path, LULL_NONE, arena, &count)
                             : &trace->path;
    run->processes = lull_arena_zero(arena, count + (size_t)1, sizeof *run->processes);
    run->n_processes = count;
    trace->format_data = run;
    for (uint32_t p = 0; p < count; p++)
        run->processes[p].file.path = paths[p];
    lull_status status = read_all_files(trace, run, err);
    if (status == LULL_OK)
        status = find_ranks(trace, run, err);
    if (status == LULL_OK)
        status = find_times(trace, run, err);
    if (status == LULL_OK)
        status = make_regions(trace, run, err);
    if (status == LULL_OK)
        status = make_locations(trace, run, err);
    for (uint32_t p = 0; status == LULL_OK && p < count; p++) {
        tell_oddities(trace, &run->processes[p].file);
        status = make_links(trace, &run->processes[p], err);
    }
    trace->producer =
        count > 0 && run->processes[0].file.jax ? "JAX's profiler" : "PyTorch's profiler (Kineto)";
    return status == LULL_OK ? lull_trace_complete(trace, err) : status;
}

static void close_kineto(struct lull_trace *trace)
{
    struct kineto_run *run = trace->format_data;
    for (uint32_t p = 0; run && p < run->n_processes; p++) {
        lull_kineto_close(&run->processes[p].file);
        free(run->processes[p].links);
        free(run->processes[p].ends);
    }
}

static const struct lull_reader reader_kineto = {
    .expected = "a trace of PyTorch's or JAX's profiler",
    .recognise = recognise_kineto,
    .open = open_kineto,
    .close = close_kineto,
    .stream_open = open_spans,
    .stream_read = read_spans,
    .stream_close = close_spans,
};

const struct lull_format lull_format_kineto = {
    .name = "kineto",
    .summary = "trace of PyTorch (Kineto) or JAX (.json, .json.gz, or a folder of them)",
    .reader = &reader_kineto,
};
