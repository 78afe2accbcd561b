/* Opening a tape: which files there are, what they define, how long the run is. */
#include "trace/format/tape/tape.h"

#include "base/file.h"
#include "base/text.h"
#include "trace/format.h"
#include "trace/format/tape/read/sums.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static bool recognise(const struct lull_probe *probe)
{
    if (!probe->directory)
        return probe->head_size >= strlen(LULL_TAPE_ANCHOR) &&
               memcmp(probe->head, "lull-tape ", 10) == 0;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, probe->path);
    return access(path, F_OK) == 0;
}

const char *lull_tape_file_path(const struct lull_trace *trace, const struct lull_tape_file *file,
                                char *buffer, size_t size)
{
    snprintf(buffer, size, "%s/%u/%u.%u.tape", trace->path, file->process / LULL_TAPE_GROUP,
             file->process, file->number);
    return buffer;
}

uint32_t lull_tape_process_index(const struct lull_trace *trace, uint32_t number)
{
    const struct lull_tape_data *data = trace->format_data;
    if (number < trace->n_processes && data->process_numbers[number] == number)
        return number; /* as nearly always */
    uint32_t low = 0, high = trace->n_processes;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (data->process_numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->n_processes && data->process_numbers[low] == number ? low : LULL_NONE;
}

/* ---- finding the files ------------------------------------------------------------------------
 */

/* A number as we write it: "0" and "12", but not "00" or "012", which would name a file twice. */
static bool parse_number(const char *text, size_t length, uint64_t *ret_number)
{
    return lull_parse_u64(text, length, ret_number) == LULL_OK && (length == 1 || text[0] != '0');
}

/* "12.3.tape" -> 12 and 3 and "tape" */
static bool parse_file_name(const char *name, struct lull_tape_name *ret_name,
                            const char **ret_what)
{
    const char *dot = strchr(name, '.');
    const char *second = dot ? strchr(dot + 1, '.') : NULL;
    uint64_t process, number;
    if (!second || !parse_number(name, (size_t)(dot - name), &process) ||
        !parse_number(dot + 1, (size_t)(second - dot - 1), &number) || process >= UINT32_MAX ||
        number >= UINT32_MAX)
        return false;
    *ret_name = (struct lull_tape_name){(uint32_t)process, (uint32_t)number};
    *ret_what = second + 1;
    return true;
}

static void note_file(struct lull_trace *trace, struct lull_tape_name name, const char *what)
{
    struct lull_tape_data *data = trace->format_data;
    if (strcmp(what, "tape") == 0) {
        data->files = lull_arena_grow(trace->arena, data->files, &data->files_capacity,
                                      data->n_files + 1, sizeof *data->files);
        data->files[data->n_files++] = (struct lull_tape_file){
            .process = name.process, .number = name.number, .open_region = LULL_NONE};
    } else if (strcmp(what, "sums") == 0) {
        data->sums = lull_arena_grow(trace->arena, data->sums, &data->sums_capacity,
                                     data->n_sums + 1, sizeof *data->sums);
        data->sums[data->n_sums++] = name;
    }
}

static lull_status list_group(struct lull_trace *trace, uint32_t group, struct lull_error *err)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%u", trace->path, group);
    DIR *folder = opendir(path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct lull_tape_name name;
        const char *what;
        if (parse_file_name(entry->d_name, &name, &what) && name.process / LULL_TAPE_GROUP == group)
            note_file(trace, name, what);
    }
    closedir(folder);
    return LULL_OK;
}

static int compare_files(const void *a, const void *b)
{
    const struct lull_tape_file *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int compare_names(const void *a, const void *b)
{
    const struct lull_tape_name *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Which of the files, sorted, have sums beside them. */
static void match_sums(struct lull_trace *trace)
{
    struct lull_tape_data *data = trace->format_data;
    if (data->n_sums)
        qsort(data->sums, data->n_sums, sizeof *data->sums, compare_names);
    trace->has_sums = true;
    size_t s = 0;
    for (size_t f = 0; f < data->n_files; f++) {
        const struct lull_tape_name name = {data->files[f].process, data->files[f].number};
        while (s < data->n_sums && compare_names(&data->sums[s], &name) < 0)
            s++;
        data->files[f].has_sums = s < data->n_sums && compare_names(&data->sums[s], &name) == 0;
        trace->has_sums &= data->files[f].has_sums;
    }
}

static lull_status list_files(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    DIR *folder = opendir(trace->path);
    if (!folder)
        return lull_fail_errno(err, "%s: cannot open", trace->path);
    lull_status status = LULL_OK;
    for (struct dirent *entry; status == LULL_OK && (entry = readdir(folder));) {
        uint64_t group;
        if (parse_number(entry->d_name, strlen(entry->d_name), &group) &&
            group <= UINT32_MAX / LULL_TAPE_GROUP)
            status = list_group(trace, (uint32_t)group, err);
    }
    closedir(folder);
    if (status != LULL_OK)
        return status;
    if (data->n_files == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: holds no tape files, expected 0/0.0.tape",
                         trace->path);
    qsort(data->files, data->n_files, sizeof *data->files, compare_files);
    match_sums(trace);
    return LULL_OK;
}

/* ---- headers ----------------------------------------------------------------------------------
 */

/* The locations of a process are numbered without gaps: where one is, some file was lost. */
static lull_status missing_file(const struct lull_trace *trace, uint32_t process, uint32_t number,
                                struct lull_error *err)
{
    const struct lull_tape_file file = {.process = process, .number = number};
    char path[PATH_SIZE];
    return lull_fail(err, LULL_ERR_FORMAT, "%s: missing, but there are later ones of its process",
                     lull_tape_file_path(trace, &file, path, sizeof path));
}

static lull_status make_locations(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    if (data->n_files >= LULL_NONE)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: too many locations", trace->path);
    trace->n_locations = (uint32_t)data->n_files;
    trace->locations = lull_arena_zero(trace->arena, data->n_files, sizeof *trace->locations);
    data->process_numbers =
        lull_arena_zero(trace->arena, data->n_files, sizeof *data->process_numbers);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_tape_file *file = &data->files[l];
        lull_status status = lull_tape_read_header(trace, file, err);
        if (status != LULL_OK)
            return status;
        bool first = l == 0 || file->process != data->files[l - 1].process;
        if (file->number != (first ? 0 : data->files[l - 1].number + 1))
            return missing_file(trace, file->process, first ? 0 : data->files[l - 1].number + 1,
                                err);
        if (first)
            data->process_numbers[trace->n_processes++] = file->process;
        trace->locations[l] = (struct lull_location){
            .name = lull_arena_strdup(trace->arena, file->header.name),
            .source_id = file->header.source_id,
            .process = trace->n_processes - 1,
            .number = file->header.number,
            .kind = file->header.kind == 1 ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
            .role =
                file->header.role <= LULL_THREAD_FREE ? file->header.role : LULL_THREAD_UNKNOWN};
    }
    trace->processes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *trace->processes);
    for (uint32_t p = 0; p < trace->n_processes; p++) /* until a definition says it better */
        trace->processes[p] = (struct lull_process){
            .name = lull_arena_printf(trace->arena, "rank %u", data->process_numbers[p]),
            .rank = data->process_numbers[p],
            .node = LULL_NONE};
    return LULL_OK;
}

/* ---- definitions ------------------------------------------------------------------------------
 */

static lull_status read_all_definitions(struct lull_trace *trace, struct lull_tape_merge *merge,
                                        struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    char path[PATH_SIZE];
    bool found_run, found;
    snprintf(path, sizeof path, "%s/definitions", trace->path);
    lull_status status =
        lull_tape_read_definitions(merge, path, LULL_TAPE_WHOLE_RUN, &data->run, &found_run, err);
    data->scopes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *data->scopes);
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++) {
        uint32_t number = data->process_numbers[p];
        snprintf(path, sizeof path, "%s/%u/%u.definitions", trace->path, number / LULL_TAPE_GROUP,
                 number);
        status = lull_tape_read_definitions(merge, path, number, &data->scopes[p], &found, err);
        if (status == LULL_OK && !found && !found_run)
            status = lull_fail(err, LULL_ERR_FORMAT, "%s: missing, and there is no %s/definitions",
                               path, trace->path);
    }
    return status;
}

static int compare_u32(const void *a, const void *b)
{
    return (*(const uint32_t *)a > *(const uint32_t *)b) -
           (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* Spawns that failed, or started what could not be recorded, have used a number up. */
static lull_status number_applications(struct lull_trace *trace, struct lull_error *err)
{
    uint32_t *used = malloc(sizeof *used * trace->n_processes), n = 0;
    if (!used)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        used[p] = trace->processes[p].application;
    qsort(used, trace->n_processes, sizeof *used, compare_u32);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (n == 0 || used[p] != used[n - 1])
            used[n++] = used[p];
    for (uint32_t p = 0; n > 1 && p < trace->n_processes; p++) {
        const uint32_t *found =
            bsearch(&trace->processes[p].application, used, n, sizeof *used, compare_u32);
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
            lull_trace_add_quirk(trace,
                                 "recording could not write any more; later events are missing",
                                 "%s", trace->locations[l].name);
        if (file->header.flags & LULL_TAPE_BUDGET_REACHED)
            lull_trace_add_quirk(trace,
                                 "recording reached its size budget; later events are missing",
                                 "%s", trace->locations[l].name);
    }
}

/* Processes of other nodes than the first one's that were not compared with it. */
static void judge_clocks(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t p = 1; p < trace->n_processes; p++)
        if (trace->processes[p].node != trace->processes[0].node && data->scopes[p].n_points > 0 &&
            data->scopes[p].n_offsets == 0 && data->scopes[0].n_offsets == 0)
            trace->clock_error = -1;
}

/* ---- how a run ended that did not say it ------------------------------------------------------
 */

/* In ticks; empty: first > last. */
struct span {
    uint64_t first, last;
};

static uint64_t end_of(const union lull_tape_slot *slots, size_t count)
{
    const struct lull_tape_record *record = &slots->record;
    unsigned kind = lull_tape_kind_of(record->head);
    bool call = kind >= LULL_TAPE_CALL && kind <= LULL_TAPE_CALL_SENDRECV;
    bool span = kind == LULL_TAPE_STATE || kind == LULL_TAPE_FLUSH;
    unsigned extra = lull_tape_extra_of(record->head);
    if ((span || kind == LULL_TAPE_CALL) && extra > 0)
        return record->time + (count > 1 ? slots[1].u64[0] : 0);
    if (call && extra > 0 && record->value == LULL_TAPE_OPEN)
        return record->time + (count > extra ? slots[extra].u64[0] : 0);
    return record->time + (span || call ? record->value : 0);
}

/* Widens the span by the records in one chunk. */
static void span_chunk(const union lull_tape_slot *slots, size_t count, struct span *span)
{
    for (size_t i = 0; i < count; i += 1 + lull_tape_extra_of(slots[i].record.head)) {
        unsigned kind = lull_tape_kind_of(slots[i].record.head);
        if (kind == LULL_TAPE_PAD || kind == LULL_TAPE_NOTHING)
            break;
        uint64_t end = end_of(&slots[i], count - i);
        span->first = slots[i].record.time < span->first ? slots[i].record.time : span->first;
        span->last = end > span->last ? end : span->last;
    }
}

/* A CALL behind the committed records that has begun and not ended; its fields may be being
 * written just now, so that anything else found there means nothing. */
static void find_open_call(struct lull_tape_file *file, const union lull_tape_slot *behind,
                           struct span *span)
{
    const struct lull_tape_record *record = &behind->record;
    const struct lull_tape_ids *regions = &file->ids->maps[LULL_TAPE_MAP_REGION];
    uint32_t region = lull_tape_id_of(record->head);
    if (lull_tape_kind_of(record->head) != LULL_TAPE_CALL || record->value != LULL_TAPE_OPEN ||
        region >= regions->count || regions->index[region] == LULL_NONE ||
        record->time < span->last)
        return;
    file->open_region = regions->index[region];
    file->open_time = span->last = record->time;
    span->first = record->time < span->first ? record->time : span->first;
}

/* The first chunk tells the begin; the last two tell the end, as a long call may be followed by
 * the messages in it. */
static lull_status span_of_file(const struct lull_trace *trace, struct lull_tape_file *file,
                                union lull_tape_slot *slots, struct span *span,
                                struct lull_error *err)
{
    uint64_t committed = file->header.committed;
    uint64_t chunks = (committed + LULL_TAPE_CHUNK - 1) / LULL_TAPE_CHUNK;
    size_t got = 0;
    lull_status status = LULL_OK;
    for (uint64_t c = 0; status == LULL_OK && c < chunks; c++) {
        if (c > 0 && c + 2 < chunks)
            c = chunks - 2;
        uint64_t begin = c * LULL_TAPE_CHUNK, left = committed - begin;
        status = lull_tape_read_records(
            trace, file, begin, left < LULL_TAPE_CHUNK ? left : LULL_TAPE_CHUNK, slots, &got, err);
        if (status == LULL_OK)
            span_chunk(slots, got / sizeof *slots, span);
    }
    if (status == LULL_OK)
        status = lull_tape_read_records(trace, file, committed, sizeof *slots, slots, &got, err);
    if (status == LULL_OK && got == sizeof *slots)
        find_open_call(file, slots, span);
    return status;
}

static int64_t ns_of(const struct lull_tape_file *file, uint64_t ticks)
{
    size_t segment = 0;
    return file->clock->n_segments > 0 ? lull_tape_ns(file->clock, ticks, &segment)
                                       : (int64_t)ticks;
}

enum { STOPPED = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_WRITE_FAILED };

/* Sums go on where events do not. The events of all locations end with those that end first. */
static lull_status see_sums(struct lull_trace *trace, const struct lull_tape_file *file,
                            struct span *span, struct lull_error *err)
{
    const unsigned flags = file->header.flags;
    if (flags & LULL_TAPE_PROFILE)
        trace->events = LULL_EVENTS_NONE;
    else if (flags & STOPPED && trace->events == LULL_EVENTS_ALL)
        trace->events = LULL_EVENTS_FIRST;
    if (flags & STOPPED) {
        int64_t end = span->first > span->last ? INT64_MIN : ns_of(file, span->last);
        trace->events_end = end < trace->events_end ? end : trace->events_end;
    }
    if (!(flags & (STOPPED | LULL_TAPE_PROFILE)) || !file->has_sums)
        return LULL_OK;
    uint64_t begin, end;
    lull_status status = lull_tape_sums_life(trace, file, &begin, &end, err);
    if (status != LULL_OK || (begin == 0 && end == 0))
        return status;
    span->first = begin < span->first ? begin : span->first;
    span->last = end > span->last ? end : span->last;
    return LULL_OK;
}

/* Without a RUN definition the records say where the run begins and ends; with one, locations that
 * did not end in an orderly way may have gone on longer. */
static lull_status measure_length(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    union lull_tape_slot *slots = malloc(LULL_TAPE_CHUNK);
    if (!slots)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    int64_t first = INT64_MAX, last = INT64_MIN;
    trace->events_end = INT64_MAX;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        struct lull_tape_file *file = &data->files[l];
        struct span span = {UINT64_MAX, 0};
        if (data->closed && file->header.flags & LULL_TAPE_CLOSED)
            continue;
        status = span_of_file(trace, file, slots, &span, err);
        if (status == LULL_OK)
            status = see_sums(trace, file, &span, err);
        if (status != LULL_OK || span.first > span.last)
            continue;
        int64_t file_first = ns_of(file, span.first), file_last = ns_of(file, span.last);
        first = file_first < first ? file_first : first;
        last = file_last > last ? file_last : last;
    }
    free(slots);
    if (!data->closed)
        data->origin = first == INT64_MAX ? 0 : first;
    int64_t duration;
    if (last > data->origin && !__builtin_sub_overflow(last, data->origin, &duration) &&
        (!data->closed || duration > trace->duration))
        trace->duration = duration;
    if (trace->events != LULL_EVENTS_FIRST || trace->events_end < data->origin)
        trace->events_end = 0;
    else if (__builtin_sub_overflow(trace->events_end, data->origin, &trace->events_end))
        trace->events_end = trace->duration;
    return status;
}

static lull_status open_tape(struct lull_trace *trace, struct lull_error *err)
{
    if (!lull_is_directory(trace->path)) { /* the anchor was named: the tape is around it */
        const char *slash = strrchr(trace->path, '/');
        trace->path =
            slash ? lull_arena_strndup(trace->arena, trace->path,
                                       (size_t)(slash - trace->path) + (slash == trace->path))
                  : ".";
    }
    char path[PATH_SIZE], anchor[sizeof LULL_TAPE_ANCHOR];
    size_t got;
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, trace->path);
    lull_status status = lull_read_head(path, anchor, sizeof anchor, &got, err);
    if (status != LULL_OK)
        return status;
    if (got != strlen(LULL_TAPE_ANCHOR) || memcmp(anchor, LULL_TAPE_ANCHOR, got) != 0)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: expected '%.11s': no tape, or of a newer lull", path,
                         LULL_TAPE_ANCHOR);
    struct lull_tape_data *data = lull_arena_zero(trace->arena, 1, sizeof *data);
    trace->format_data = data;
    snprintf(path, sizeof path, "%s/" LULL_TAPE_SPAWNED_NAME, trace->path);
    data->spawns = access(path, F_OK) == 0;
    status = list_files(trace, err);
    if (status == LULL_OK)
        status = make_locations(trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_tape_merge *merge = lull_tape_merge_begin(trace);
    if (!merge)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    status = read_all_definitions(trace, merge, err);
    status = lull_tape_merge_end(merge, status, err);
    if (status == LULL_OK)
        status = number_applications(trace, err);
    if (status == LULL_OK)
        status = lull_tape_name_sites(trace, err);
    if (status != LULL_OK)
        return status;
    choose_scopes(trace);
    judge_clocks(trace);
    status = measure_length(trace, err);
    return status == LULL_OK ? lull_trace_complete(trace, err) : status;
}

static const struct lull_reader reader_tape = {
    .expected = "a lull tape",
    .recognise = recognise,
    .open = open_tape,
    .stream_open = lull_tape_stream_open,
    .stream_read = lull_tape_stream_read,
    .stream_close = lull_tape_stream_close,
    .read_sums = lull_tape_read_sums,
};

const struct lull_format lull_format_tape = {
    .name = "tape",
    .summary = "lull's own trace, a directory",
    .reader = &reader_tape,
    .writer_open = lull_tape_writer_open,
};
