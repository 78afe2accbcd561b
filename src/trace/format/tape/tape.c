/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a tape: its files become locations, what they define becomes one trace. */
#include "trace/format/tape/tape_data.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "tape/layout.h"
#include "trace/format.h"
#include "trace/format/tape/read/tape_definitions.h"
#include "trace/format/tape/read/tape_live.h"
#include "trace/format/tape/read/tape_samples.h"
#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/read/tape_sums.h"
#include "trace/format/tape/tape_share.h"
#include "trace/stream_text.h"
#include "trace/trace.h"

#include <assert.h>
#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* ==== tape ==================================================================================== */

static bool recognise_tape(const struct lull_candidate *candidate)
{
    if (!candidate->directory)
        return candidate->head_size >= strlen(LULL_TAPE_ANCHOR) &&
               memcmp(candidate->head, "lull-tape ", 10) == 0;
    char path[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, candidate->path);
    return access(path, F_OK) == 0;
}

/* ---- headers --------------------------------------------------------------------------------- */

/* The threads of a process are numbered without gaps, and so are its device streams: a missing
 * number means that a location was lost. */
static lull_status missing_location(const struct lull_trace *trace, uint32_t process,
                                    uint32_t number, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    return lull_fail(err, LULL_ERR_FORMAT, "%s: location %u is missing, but there are later ones",
                     lull_tape_process_path(trace, process, path, sizeof path), number);
}

static_assert((uint32_t)LULL_CORE_WORDS == (uint32_t)LULL_TAPE_CORE_WORDS, "sets of cores");

/* The set of cores that a header tells; threads that may use the same cores share one set, which is
 * found in `sets`. NULL: the set is not known. */
static const uint64_t *set_of(const struct lull_trace *trace, const struct lull_tape_header *header,
                              struct lull_hash *sets)
{
    static const uint64_t unknown[LULL_CORE_WORDS];
    const size_t size = sizeof header->core_set;
    if (memcmp(header->core_set, unknown, size) == 0)
        return NULL;
    const uint64_t *known = lull_hash_find(sets, header->core_set, size);
    if (known)
        return (const uint64_t *)(uintptr_t)*known;
    uint64_t *set = lull_arena_zero(trace->arena, 1, size);
    memcpy(set, header->core_set, size);
    lull_hash_add(sets, set, size, (uintptr_t)set, NULL); /* without memory it is not shared */
    return set;
}

static struct lull_cores cores_of(const struct lull_tape_header *header, const uint64_t *set)
{
    const struct lull_tape_cores *cores = &header->cores;
    return (struct lull_cores){.set = set,
                               .on = cores->on,
                               .off = cores->off,
                               .preempted = cores->preempted,
                               .migrated = cores->migrated,
                               .allowed = cores->allowed,
                               .there = cores->there,
                               .which = cores->which};
}

static struct lull_usage usage_of(const struct lull_tape_header *header)
{
    const struct lull_tape_usage *usage = &header->usage;
    return (struct lull_usage){.user = usage->user,
                               .system = usage->system,
                               .outside = usage->outside,
                               .minor = usage->minor,
                               .major = usage->major,
                               .voluntary = usage->voluntary};
}

/* A text of a header, which may be damaged. */
static const char *text_of_header(const struct lull_trace *trace, const char *text, size_t size)
{
    return lull_arena_strndup(trace->arena, text, strnlen(text, size));
}

/* What the header of a device stream tells, with a device of its own until all are known
 * (lull_join_devices). NULL: it is a thread, or nothing is told. */
static struct lull_stream *stream_of(struct lull_trace *trace,
                                     const struct lull_tape_header *header)
{
    const struct lull_tape_stream *told = &header->stream;
    struct lull_tape_data *data = trace->format_data;
    if (header->kind != 1 || told->runtime[0] == '\0')
        return NULL;
    struct lull_stream *stream = lull_arena_zero(trace->arena, 1, sizeof *stream);
    const char *runtime = text_of_header(trace, told->runtime, sizeof told->runtime);
    const bool is_numbered = strncmp(header->name, "stream ", 7) == 0;
    *stream = (struct lull_stream){.device = trace->n_devices,
                                   .context = told->context,
                                   .in_order = told->in_order != 0,
                                   .is_default = is_numbered &&
                                                 lull_is_default_stream(runtime, header->name + 7),
                                   .summary = told->summary != 0,
                                   .has_priority = told->has_priority != 0,
                                   .priority = told->has_priority ? told->priority : 0,
                                   .lost = told->lost,
                                   .clock_error = told->clock_error >= 0 ? told->clock_error : -1};
    trace->devices = lull_arena_grow(trace->arena, trace->devices, &data->devices_capacity,
                                     trace->n_devices + (size_t)1, sizeof *trace->devices);
    trace->devices[trace->n_devices++] =
        (struct lull_device){.name = text_of_header(trace, told->device, sizeof told->device),
                             .runtime = runtime,
                             .key = text_of_header(trace, told->key, sizeof told->key),
                             .node = LULL_NONE};
    return stream;
}

static lull_status read_location_header(const struct lull_trace *trace, uint32_t location,
                                        struct lull_tape_header *header, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_file *file = &data->files[location];
    lull_status status = data->share    ? lull_tape_told_header(trace, location, header, err)
                         : file->damage ? lull_fail(err, LULL_ERR_FORMAT, "%s", file->damage)
                                        : lull_tape_read_header(trace, file, header, err);
    if (status == LULL_OK)
        return LULL_OK;
    *header = (struct lull_tape_header){.process = file->process, .number = file->number};
    snprintf(header->name, sizeof header->name, "%u.%u", file->process, file->number);
    file->header = (struct lull_tape_told){0};
    file->tail = NULL;
    return lull_tape_leave_out_location(trace, location, status, err);
}

/* The number of a thread among the threads, of a device stream among the streams. */
static uint32_t own_number(const struct lull_tape_header *header)
{
    return header->kind == 1 && header->number >= LULL_TAPE_FIRST_STREAM
               ? header->number - LULL_TAPE_FIRST_STREAM
               : header->number;
}

static lull_status make_location(struct lull_trace *trace, uint32_t location,
                                 struct lull_hash *core_sets, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_file *file = &data->files[location];
    struct lull_tape_header header;
    lull_status status = read_location_header(trace, location, &header, err);
    if (status != LULL_OK)
        return status;
    const bool first = location == 0 || file->process != file[-1].process;
    const uint32_t expected = first ? 0 : file[-1].number + 1;
    const bool first_stream = file->number == LULL_TAPE_FIRST_STREAM && !first;
    if (file->number != expected && !first_stream)
        return missing_location(trace, file->process, expected, err);
    if (first)
        data->process_numbers[trace->n_processes++] = file->process;
    trace->locations[location] = (struct lull_location){
        .name = lull_arena_strdup(trace->arena, header.name),
        .source_id = header.source_id,
        .process = trace->n_processes - 1,
        .number = own_number(&header),
        .kind = header.kind == 1 ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
        .role = header.role <= LULL_THREAD_FREE ? header.role : LULL_THREAD_UNKNOWN,
        .cores = cores_of(&header, set_of(trace, &header, core_sets)),
        .usage = usage_of(&header),
        .stream = stream_of(trace, &header)};
    return LULL_OK;
}

static lull_status make_tape_locations(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    if (data->n_files >= LULL_NONE)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: too many locations", trace->path);
    trace->n_locations = (uint32_t)data->n_files;
    trace->locations = lull_arena_zero(trace->arena, data->n_files, sizeof *trace->locations);
    data->process_numbers =
        lull_arena_zero(trace->arena, data->n_files, sizeof *data->process_numbers);
    struct lull_hash core_sets = {0};
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
        status = make_location(trace, l, &core_sets, err);
    lull_hash_free(&core_sets);
    if (status != LULL_OK)
        return status;
    trace->processes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *trace->processes);
    for (uint32_t p = 0; p < trace->n_processes; p++) /* until a definition says it better */
        trace->processes[p] = (struct lull_process){
            .name = lull_arena_printf(trace->arena, "rank %u", data->process_numbers[p]),
            .rank = data->process_numbers[p],
            .node = LULL_NONE};
    return LULL_OK;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static int compare_process_numbers(const void *a, const void *b)
{
    return (*(const uint32_t *)a > *(const uint32_t *)b) -
           (*(const uint32_t *)a < *(const uint32_t *)b);
}

static lull_status read_all_definitions(struct lull_trace *trace, struct lull_tape_merge *merge,
                                        struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    data->scopes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *data->scopes);
    if (data->share)
        return lull_tape_share_definitions(trace, merge, err);
    char path[LULL_TAPE_PATH];
    bool found_run, found;
    snprintf(path, sizeof path, "%s/definitions", trace->path);
    lull_status status = lull_tape_read_definitions(merge, path, &data->run, &found_run, err);
    lull_tape_keep_ids(merge, &data->run);
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++) {
        uint32_t number = data->process_numbers[p];
        lull_tape_merge_process(merge, p);
        status = lull_tape_read_definitions_of(trace, merge, number, &data->scopes[p], path, &found,
                                               err);
        if (status == LULL_ERR_FORMAT) {
            status = lull_tape_leave_out_process(trace, p, err);
            found = true;
        }
        lull_tape_keep_ids(merge, &data->scopes[p]);
        if (status == LULL_OK && !found && !found_run)
            status = lull_tape_no_definitions(trace, number, err);
    }
    return status;
}

/* Numbers the applications without gaps. A gap is there where a spawn has taken a number and
 * failed, or has started what could not be recorded. */
static lull_status number_applications(struct lull_trace *trace, struct lull_error *err)
{
    uint32_t *used = malloc(sizeof *used * trace->n_processes), n = 0;
    if (!used)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        used[p] = trace->processes[p].application;
    qsort(used, trace->n_processes, sizeof *used, compare_process_numbers);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (n == 0 || used[p] != used[n - 1])
            used[n++] = used[p];
    for (uint32_t p = 0; n > 1 && p < trace->n_processes; p++) {
        const uint32_t *found = bsearch(&trace->processes[p].application, used, n, sizeof *used,
                                        compare_process_numbers);
        trace->processes[p].application = (uint32_t)(found - used);
    }
    free(used);
    return LULL_OK;
}

static void choose_scopes(struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_tape_file *file = &data->files[l];
        const struct lull_tape_scope *own = &data->scopes[trace->locations[l].process];
        file->ids = file->header.flags & LULL_TAPE_SHARED_IDS ? &data->run : own;
        file->clock = own->n_segments > 0 ? own : &data->run;
        if (file->header.flags & LULL_TAPE_WRITE_FAILED)
            trace->locations[l].cut = LULL_CUT_DISK;
        else if (file->header.flags & LULL_TAPE_BUDGET_REACHED)
            trace->locations[l].cut = LULL_CUT_BUDGET;
        else if (file->lost > 0)
            trace->locations[l].cut = LULL_CUT_RING;
        if (file->header.flags & LULL_TAPE_WRITE_FAILED)
            lull_trace_add_quirk(trace,
                                 "recording could not write any more; later events are missing",
                                 "%s", trace->locations[l].name);
        if (file->header.flags & LULL_TAPE_BUDGET_REACHED)
            lull_trace_add_quirk(trace,
                                 "recording reached its size budget; later events are missing",
                                 "%s", trace->locations[l].name);
    }
}

/* The version that the text of an anchor tells; 0: it is no anchor, or the version has more than
 * one digit. */
static uint32_t version_of_anchor(const char *text, size_t size)
{
    const size_t digit = strlen(LULL_TAPE_ANCHOR) - 2;
    const bool good = size == digit + 2 && memcmp(text, LULL_TAPE_ANCHOR, digit) == 0 &&
                      text[digit] > '0' && text[digit] <= '9' && text[digit + 1] == '\n';
    return good ? (uint32_t)(text[digit] - '0') : 0;
}

static lull_status tape_list_files(struct lull_trace *trace, struct lull_error *err);

/* Nobody knows yet how long a run will be that is being recorded. */
static lull_status begin_live(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (data->files[l].header.flags & LULL_TAPE_RING)
            return lull_fail(err, LULL_ERR_UNSUPPORTED,
                             "%s: keeps its newest events only, so that it cannot be read while it "
                             "is recorded",
                             trace->path);
    trace->duration = LULL_LIVE_DURATION;
    return lull_tape_lives_begin(trace)
               ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
}

/* What the locations did when the run was opened. */
static void tell_present(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_tape_file *file = &data->files[l];
        struct lull_location *location = &trace->locations[l];
        location->is_recorded =
            !file->left_out && !file->known && !(file->header.flags & LULL_TAPE_CLOSED);
        location->open_region = file->left_out ? LULL_NONE : file->open_region;
        if (location->open_region != LULL_NONE)
            location->open_since = lull_tape_ns_of_file(data, file, file->open_time);
    }
}

static lull_status open_whole(struct lull_trace *trace, struct lull_error *err)
{
    if (!lull_is_directory(trace->path)) { /* the user named the anchor: the tape is its folder */
        const char *slash = strrchr(trace->path, '/');
        trace->path =
            slash ? lull_arena_strndup(trace->arena, trace->path,
                                       (size_t)(slash - trace->path) + (slash == trace->path))
                  : ".";
    }
    char path[LULL_TAPE_PATH], anchor[sizeof LULL_TAPE_ANCHOR];
    size_t got;
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, trace->path);
    lull_status status = lull_read_head(path, anchor, sizeof anchor, &got, err);
    if (status != LULL_OK)
        return status;
    const uint32_t version = version_of_anchor(anchor, got);
    if (version == 0)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: expected '%.11s': no tape, or of a newer lull", path,
                         LULL_TAPE_ANCHOR);
    status = lull_tape_check_version(path, version, err);
    if (status == LULL_OK)
        status = lull_check_read(path, err);
    if (status != LULL_OK)
        return status;
    struct lull_tape_data *data = lull_arena_zero(trace->arena, 1, sizeof *data);
    trace->format_data = data;
    snprintf(path, sizeof path, "%s/" LULL_TAPE_SPAWNED_NAME, trace->path);
    data->spawns = access(path, F_OK) == 0;
    status = tape_list_files(trace, err);
    if (status == LULL_OK)
        status = make_tape_locations(trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_tape_merge *merge = lull_tape_merge_begin(trace);
    if (!merge)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_tape_read_about(merge);
    status = read_all_definitions(trace, merge, err);
    if (status == LULL_OK)
        lull_tape_complete_properties(merge);
    status = lull_tape_merge_end(merge, status, err);
    if (status == LULL_OK)
        status = lull_tape_make_clocks(trace, err);
    if (status == LULL_OK)
        lull_tape_divide_programs(trace);
    if (status == LULL_OK)
        status = number_applications(trace, err);
    if (status == LULL_OK)
        status = data->share ? lull_tape_share_names(trace, err) : lull_tape_name_sites(trace, err);
    if (status != LULL_OK)
        return status;
    lull_tape_tell_throttled(trace);
    lull_join_devices(trace);
    choose_scopes(trace);
    status = lull_tape_measure_length(trace, err);
    if (status == LULL_OK && trace->live)
        status = begin_live(trace, err);
    if (status == LULL_OK)
        status = lull_trace_complete(trace, err);
    if (status == LULL_OK) {
        tell_present(trace);
        lull_tape_find_main(trace);
        lull_tape_place_readings(trace);
    }
    lull_tape_nodes_opened(trace);
    return status;
}

/* Opens a tape. Where the file of a node is damaged, a later failure is probably due to that, so
 * the damage is told instead. */
static lull_status open_tape(struct lull_trace *trace, struct lull_error *err)
{
    lull_status status = open_whole(trace, err);
    const struct lull_tape_data *data = trace->format_data;
    if (status == LULL_ERR_FORMAT && data && data->damage[0] != '\0')
        return lull_fail(err, LULL_ERR_FORMAT, "%s", data->damage);
    return status;
}

static void close_tape(struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_containers_close(trace);
    lull_tape_nodes_close(trace);
    if (!data)
        return;
    lull_tape_lives_end(trace);
    if (data->share && data->share->merge)
        lull_tape_merge_free(data->share->merge);
    lull_tape_share_end(data->share);
    free(data->files);
    free(data->listed);
}

static enum lull_living living_tape(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_tape_data *data = trace->format_data;
    const struct lull_tape_life *life = &data->scopes[process].life;
    struct lull_tape_watch watch;
    lull_tape_watch_begin(&watch, life);
    const enum lull_tape_living living = watch.living;
    lull_tape_watch_end(&watch);
    if (living == LULL_TAPE_ELSEWHERE)
        return LULL_LIVING_UNKNOWN;
    if (living == LULL_TAPE_OVER)
        return LULL_LIVING_OVER;
    return lull_tape_is_stopped(life) ? LULL_LIVING_STOPPED : LULL_LIVING_RUNS;
}

/* Recorders tell their clocks in ns of CLOCK_MONOTONIC, which all processes of a node have in common.
 * Where nodes were compared, the run's clock may be another node's. */
static bool now_of_tape(const struct lull_trace *trace, int64_t *ret_now)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_tape_scope *scope = &data->scopes[p];
        if (!lull_tape_is_of_node(&scope->life) || scope->n_offsets > 0 || scope->n_segments == 0)
            return false;
    }
    *ret_now = lull_clock_read(CLOCK_MONOTONIC) - data->origin;
    return *ret_now >= 0;
}

static const struct lull_reader reader_tape = {
    .expected = "a lull tape",
    .leaves_out_damage = true,
    .recognise = recognise_tape,
    .open = open_tape,
    .close = close_tape,
    .stream_open = lull_tape_stream_open,
    .stream_read = lull_tape_stream_read,
    .stream_close = lull_tape_stream_close,
    .stream_state = lull_tape_stream_state,
    .living = living_tape,
    .now = now_of_tape,
    .read_sums = lull_tape_read_sums,
    .read_sampling = lull_tape_read_sampling,
    .details_open = lull_tape_details_open,
    .detail_read = lull_tape_detail_read,
    .details_close = lull_tape_details_close,
};

const struct lull_format lull_format_tape = {
    .name = "tape",
    .summary = "lull's own trace, a directory",
    .reader = &reader_tape,
    .writer_open = lull_tape_writer_open,
};

/* ==== files =================================================================================== */

/* Which files a tape has, by their names. */

/* Whether a name is of the form "12.3.tape", which older versions wrote. */
static bool is_old_name(const char *name)
{
    const char *dot = strchr(name, '.');
    uint64_t number;
    uint32_t location;
    return dot && lull_tape_parse_number(name, (size_t)(dot - name), &number) &&
           lull_tape_parse_name(dot + 1, &location);
}

static void note_process(struct lull_trace *trace, uint32_t number)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_make_room(trace, &data->listed, &data->listed_capacity, data->n_listed + 1,
                        sizeof *data->listed);
    data->listed[data->n_listed++] = (struct lull_tape_listed){.number = number};
}

static lull_status list_group(struct lull_trace *trace, uint32_t group, struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/%u", trace->path, group);
    DIR *folder = opendir(path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", path);
    lull_status status = LULL_OK;
    for (struct dirent *entry; status == LULL_OK && (entry = readdir(folder));) {
        uint32_t process;
        if (lull_tape_parse_name(entry->d_name, &process) && process / LULL_TAPE_GROUP == group)
            note_process(trace, process);
        else if (is_old_name(entry->d_name))
            status = lull_tape_old_form(
                lull_arena_printf(trace->arena, "%s/%s", path, entry->d_name), err);
    }
    closedir(folder);
    return status;
}

static int compare_listed(const void *a, const void *b)
{
    const struct lull_tape_listed *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Adds a process whose file is damaged: one location stands for all that it had. */
static void add_damaged(struct lull_trace *trace, uint32_t process, const struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_tape_make_room(trace, &data->files, &data->files_capacity, data->n_files + 1,
                        sizeof *data->files);
    data->files[data->n_files++] =
        (struct lull_tape_file){.process = process,
                                .open_region = LULL_NONE,
                                .damage = lull_arena_strdup(trace->arena, err->text)};
}

/* Fails, because a process is in a file of its own and in the file of a node. */
static lull_status process_twice(const struct lull_trace *trace, uint32_t process,
                                 struct lull_error *err)
{
    char path[LULL_TAPE_PATH];
    return lull_fail(err, LULL_ERR_FORMAT, "%s: there is a file of process %u, too",
                     lull_tape_process_path(trace, process, path, sizeof path), process);
}

static lull_status sort_processes(const struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    if (data->n_listed > 0)
        qsort(data->listed, data->n_listed, sizeof *data->listed, compare_listed);
    for (size_t p = 1; p < data->n_listed; p++)
        if (data->listed[p].number == data->listed[p - 1].number)
            return process_twice(trace, data->listed[p].number, err);
    return LULL_OK;
}

/* Reads the processes, without those that another member reads. */
static lull_status read_listed_processes(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (size_t p = 0; status == LULL_OK && p < data->n_listed; p++) {
        if (!lull_tape_is_own(trace, data->listed[p].number))
            continue;
        status = lull_tape_read_process(trace, &data->listed[p], err);
        if (status == LULL_ERR_FORMAT) {
            add_damaged(trace, data->listed[p].number, err);
            status = LULL_OK;
        }
    }
    return status;
}

static lull_status open_node(struct lull_trace *trace, const char *name, struct lull_error *err)
{
    lull_status status = lull_tape_node_open(trace, name, err);
    if (status != LULL_ERR_FORMAT)
        return status;
    struct lull_tape_data *data = trace->format_data;
    data->lacks_packed = true;
    lull_tape_note_damage(trace, err);
    return LULL_OK;
}

static bool is_node_name(const char *name)
{
    const size_t length = strlen(name), ending = strlen(LULL_TAPE_NODE_ENDING);
    return length > ending && strcmp(name + length - ending, LULL_TAPE_NODE_ENDING) == 0;
}

static lull_status note_packed(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = lull_tape_nodes_join(trace, err);
    for (size_t f = 0; status == LULL_OK && data->packed_run && f < data->packed_run->n_files;
         f++) {
        const struct lull_tape_packed_file *packed = &data->packed_run->files[f];
        const struct lull_tape_node_file *file = &packed->file;
        if (file->kind == LULL_TAPE_NODE_CONTAINER)
            lull_tape_container_note(trace, packed->node->path, -1, packed);
        else
            note_process(trace, file->process);
    }
    return status;
}

/* The processes in files of nodes. */
static lull_status note_contained(struct lull_trace *trace, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = lull_tape_containers_read(trace, err);
    for (size_t p = 0; status == LULL_OK && data->containers && p < data->containers->n_processes;
         p++)
        note_process(trace, data->containers->processes[p].process);
    return status;
}

/* Finds the processes and their locations, and sorts them; sets trace->has_sums. */
static lull_status tape_list_files(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    DIR *folder = opendir(trace->path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", trace->path);
    lull_status status = LULL_OK;
    for (struct dirent *entry; status == LULL_OK && (entry = readdir(folder));) {
        uint64_t group;
        if (lull_tape_parse_number(entry->d_name, strlen(entry->d_name), &group) &&
            group <= UINT32_MAX / LULL_TAPE_GROUP)
            status = list_group(trace, (uint32_t)group, err);
        else if (is_node_name(entry->d_name))
            status = open_node(trace, entry->d_name, err);
    }
    closedir(folder);
    if (status == LULL_OK)
        status = note_packed(trace, err);
    if (status == LULL_OK)
        status = note_contained(trace, err);
    if (status == LULL_OK)
        status = sort_processes(trace, err);
    if (status == LULL_OK)
        status = lull_tape_share_begin(trace, err);
    if (status != LULL_OK)
        return status;
    status = read_listed_processes(trace, err);
    if (status == LULL_OK)
        status = lull_tape_check_holdings(trace, err);
    if (data->share)
        status = lull_tape_share_heads(trace, status, err);
    if (status != LULL_OK)
        return status;
    if (data->n_files == 0 && data->damage[0] != '\0')
        return lull_fail(err, LULL_ERR_FORMAT, "%s", data->damage);
    if (data->n_files == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: holds no tape files, expected 0/0.tape",
                         trace->path);
    lull_tape_sort_files(data);
    lull_tape_sort_heads(trace);
    trace->has_sums = true;
    for (size_t f = 0; f < data->n_files; f++) {
        struct lull_tape_file *file = &data->files[f];
        file->known = lull_tape_packed_location(trace, file->process, file->number);
        trace->has_sums &= file->has_sums;
    }
    return LULL_OK;
}
