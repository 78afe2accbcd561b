/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of a tape: the clock of each process, which turns ticks into ns of the run by straight
 * segments; when the run begins and ends; and the main part of each process. */
#include "tape/layout.h"
#include "tape/records.h"
#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/read/tape_sums.h"
#include "trace/format/tape/tape_data.h"
#include "trace/format/tape/tape_share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== clock =================================================================================== */

/* By how much two clocks can drift apart that were compared only once: a time server slews each of
 * them by at most 500 ppm (adjtimex(2)). */
#define MOST_DRIFT 1e-3

static int compare_points(const void *a, const void *b)
{
    const struct lull_tape_clock_point *x = a, *y = b;
    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct lull_tape_offset *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* From one time to another; exact where they are less than 2^53 ns (104 days) apart. Times that are
 * garbage wrap around. */
static double between(int64_t from, int64_t to)
{
    return (double)(int64_t)((uint64_t)to - (uint64_t)from);
}

/* A time of the process's clock as a time of the run's, by the line through the two measurements
 * around it, or else the nearest two. */
static int64_t moved(const struct lull_tape_scope *scope, int64_t ns)
{
    const struct lull_tape_offset *a = scope->offsets, *last = a + scope->n_offsets - 1;
    while (a + 1 < last && ns >= a[1].ns)
        a++;
    double delta = 0;
    if (a < last && a[1].ns > a->ns)
        delta = between(a->ns, ns) * (between(a->to_run, a[1].to_run) / between(a->ns, a[1].ns));
    if (!(fabs(delta) < 0x1p62))
        delta = 0;
    return (int64_t)((uint64_t)ns + (uint64_t)a->to_run + (uint64_t)(int64_t)delta);
}

/* Adds the error of a clock. The error between two clocks is the sum of their errors to the clock
 * of the run; the largest is that of the worst two. */
static void add_error(struct lull_trace *trace, double error)
{
    struct lull_tape_data *data = trace->format_data;
    double *worst = data->worst_clocks;
    if (error > worst[0]) {
        worst[1] = worst[0];
        worst[0] = error;
    } else if (error > worst[1]) {
        worst[1] = error;
    }
    trace->clock_error = fmax(trace->clock_error, worst[0] + worst[1]);
}

/* Turns the points of a clock into points of the run's clock; the errors add up. */
static void move_points(struct lull_trace *trace, struct lull_tape_scope *scope)
{
    if (scope->n_offsets == 0 || scope->n_points == 0)
        return;
    qsort(scope->offsets, scope->n_offsets, sizeof *scope->offsets, compare_offsets);
    double error = 0;
    for (size_t i = 0; i < scope->n_offsets; i++)
        error = fmax(error, scope->offsets[i].error);
    if (scope->n_offsets == 1)
        error += MOST_DRIFT *
                 fmax(fabs(between(scope->offsets->ns, scope->points[scope->n_points - 1].ns)),
                      fabs(between(scope->offsets->ns, scope->points->ns)));
    for (size_t i = 0; i < scope->n_points; i++)
        scope->points[i].ns = moved(scope, scope->points[i].ns);
    add_error(trace, scope->points_error + error);
}

static void set_segment(struct lull_tape_segment *segment, const struct lull_tape_clock_point *from,
                        double slope)
{
    int exponent;
    frexp(slope, &exponent);
    segment->base_ticks = from->ticks;
    segment->base_ns = from->ns;
    segment->shift = (unsigned)(62 - exponent);
    segment->multiplier = (uint64_t)ldexp(slope, 62 - exponent);
}

static bool is_rate(double slope)
{
    return slope > 1e-6 && slope < 1e6;
}

/* The clock of a process that died before its clock was read a second time: its rate is known
 * roughly. */
static lull_status make_one_segment(struct lull_trace *trace, const char *path,
                                    struct lull_tape_scope *scope, struct lull_error *err)
{
    if (!is_rate(scope->ns_per_tick))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: clock has one point and no rate, expected two points or more", path);
    scope->segments = lull_arena_zero(trace->arena, 1, sizeof *scope->segments);
    set_segment(scope->segments, scope->points, scope->ns_per_tick);
    scope->n_segments = 1;
    return LULL_OK;
}

static lull_status make_clock(struct lull_trace *trace, const char *path,
                              struct lull_tape_scope *scope, struct lull_error *err)
{
    size_t n = scope->n_points;
    if (n == 0)
        return LULL_OK;
    qsort(scope->points, n, sizeof *scope->points, compare_points);
    move_points(trace, scope);
    if (n == 1)
        return make_one_segment(trace, path, scope, err);
    scope->segments = lull_arena_zero(trace->arena, n - 1, sizeof *scope->segments);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct lull_tape_clock_point *a = &scope->points[i], *b = a + 1;
        double slope = (double)((uint64_t)b->ns - (uint64_t)a->ns) / (double)(b->ticks - a->ticks);
        if (b->ns <= a->ns || !is_rate(slope))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: clock does not run forward at %llu ticks",
                             path, (unsigned long long)a->ticks);
        set_segment(&scope->segments[i], a, slope);
    }
    scope->n_segments = n - 1;
    return LULL_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int compare_clocks(const void *a, const void *b)
{
    const struct lull_tape_scope *x = *(const struct lull_tape_scope *const *)a,
                                 *y = *(const struct lull_tape_scope *const *)b;
    if (x->clock != y->clock)
        return x->clock < y->clock ? -1 : 1;
    return (x->n_offsets < y->n_offsets) - (x->n_offsets > y->n_offsets);
}

/* One process of each node has compared the clock of the node with others: the other processes of
 * the node take the offsets that it has measured. */
static lull_status share_offsets(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_scope **sorted = malloc(sizeof(void *) * trace->n_processes);
    if (!sorted)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        sorted[p] = &data->scopes[p];
    qsort(sorted, trace->n_processes, sizeof *sorted, compare_clocks);
    const struct lull_tape_scope *first = NULL;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_tape_scope *scope = sorted[p];
        if (!first || scope->clock != first->clock)
            first = scope;
        if (scope->clock == 0 || scope->n_offsets > 0 || first->n_offsets == 0)
            continue;
        scope->offsets = lull_arena_zero(trace->arena, first->n_offsets, sizeof *scope->offsets);
        memcpy(scope->offsets, first->offsets, first->n_offsets * sizeof *scope->offsets);
        scope->n_offsets = first->n_offsets;
    }
    free(sorted);
    return LULL_OK;
}

/* Finds processes whose clock is another one than that of the first process, unless the clocks of
 * both were compared with the run's. */
static void judge_clocks(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t p = 1; p < trace->n_processes; p++) {
        const struct lull_tape_scope *scope = &data->scopes[p];
        if (scope->n_points == 0 || scope->clock == data->scopes[0].clock ||
            (scope->n_offsets > 0 && data->scopes[0].n_offsets > 0))
            continue;
        trace->clock_error = -1;
        lull_trace_add_quirk(trace,
                             "clocks of different nodes were not compared; times of one may be far"
                             " from those of another",
                             "%s", trace->processes[p].name);
    }
}

lull_status lull_tape_make_clocks(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    lull_status status = share_offsets(trace, err);
    char path[LULL_TAPE_PATH];
    snprintf(path, sizeof path, "%s/definitions", trace->path);
    if (status == LULL_OK)
        status = make_clock(trace, path, &data->run, err);
    for (uint32_t p = 0; status == LULL_OK && p < trace->n_processes; p++) {
        lull_tape_process_path(trace, data->process_numbers[p], path, sizeof path);
        status = make_clock(trace, path, &data->scopes[p], err);
    }
    if (status == LULL_OK)
        judge_clocks(trace);
    return status;
}

int64_t lull_tape_ns(const struct lull_tape_scope *scope, uint64_t ticks, size_t *segment)
{
    while (*segment + 1 < scope->n_segments && ticks >= scope->segments[*segment + 1].base_ticks)
        ++*segment;
    const struct lull_tape_segment *s = &scope->segments[*segment];
    if (ticks >= s->base_ticks)
        return (int64_t)((uint64_t)s->base_ns +
                         (uint64_t)((unsigned __int128)(ticks - s->base_ticks) * s->multiplier >>
                                    s->shift));
    return (int64_t)((uint64_t)s->base_ns -
                     (uint64_t)((unsigned __int128)(s->base_ticks - ticks) * s->multiplier >>
                                s->shift));
}

/* ==== length ================================================================================== */

/* How long a run was that does not say it itself: that of a recorded program. */

/* Looks for a CALL behind the committed records that has begun and not ended. Its fields may be
 * being written just now, so that anything else found there means nothing. */
static void find_open_call(struct lull_tape_file *file, const union lull_tape_slot *behind,
                           struct lull_tape_span *span)
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

/* Whether the recorder has written the ends of a location into its header when it ended. */
static bool is_told(const struct lull_tape_file *file)
{
    const struct lull_tape_told *header = &file->header;
    return header->flags & LULL_TAPE_CLOSED && file->lost == 0 &&
           header->ends.known & LULL_TAPE_KNOWN_SPAN;
}

/* Finds the ends in the records. The first chunk tells the begin. The last two chunks tell the end:
 * a long call may be followed by so many records of its messages. Behind a damage nothing is read,
 * here or later. */
static lull_status measure(const struct lull_trace *trace, const struct lull_tape_file *file,
                           union lull_tape_slot *slots, struct lull_tape_ends *ret_ends,
                           struct lull_error *err)
{
    struct lull_tape_ends ends = {.known = LULL_TAPE_KNOWN_SPAN};
    struct lull_tape_span span = LULL_TAPE_SPAN_EMPTY;
    uint64_t committed = file->header.committed;
    uint64_t chunks = (committed + LULL_TAPE_CHUNK - 1) / LULL_TAPE_CHUNK;
    size_t got = 0;
    bool sound = true;
    struct lull_tape_source source;
    lull_status status = lull_tape_open_records(trace, file, &source, err);
    if (status != LULL_OK)
        return status;
    lull_tape_source_sparse(&source);
    for (uint64_t c = 0; status == LULL_OK && sound && c < chunks; c++) {
        if (c > 0 && c + 2 < chunks)
            c = chunks - 2;
        uint64_t begin = c * LULL_TAPE_CHUNK, left = committed - begin;
        status = lull_tape_read_records_from(&source, file, begin,
                                             left < LULL_TAPE_CHUNK ? left : LULL_TAPE_CHUNK, slots,
                                             &got, err);
        if (status == LULL_OK)
            sound = lull_tape_span_chunk(slots, got / sizeof *slots, &span);
    }
    ends.first = span.first;
    ends.last = span.last;
    if (status == LULL_OK && sound) {
        ends.known |= LULL_TAPE_KNOWN_SOUND;
        status =
            lull_tape_read_records_from(&source, file, committed, sizeof *slots, slots, &got, err);
    }
    lull_tape_source_close(&source);
    if (status == LULL_OK && sound && got == sizeof *slots) {
        ends.known |= LULL_TAPE_KNOWN_BEHIND;
        memcpy(ends.behind, slots, sizeof ends.behind);
    }
    if (status == LULL_OK)
        *ret_ends = ends;
    return status;
}

lull_status lull_tape_measure_location(const struct lull_trace *trace,
                                       const struct lull_tape_file *file,
                                       union lull_tape_slot *slots, struct lull_tape_ends *ret_ends,
                                       struct lull_error *err)
{
    if (!is_told(file))
        return measure(trace, file, slots, ret_ends, err);
    *ret_ends = file->header.ends;
    return LULL_OK;
}

/* The ends that the packed file of a node tells of a location, or its header; NULL: neither
 * does. */
static const struct lull_tape_ends *told_ends(const struct lull_tape_file *file)
{
    if (file->known && file->known->ends.known & LULL_TAPE_KNOWN_SPAN)
        return &file->known->ends;
    return is_told(file) ? &file->header.ends : NULL;
}

static lull_status span_of_file(const struct lull_trace *trace, struct lull_tape_file *file,
                                union lull_tape_slot *slots, struct lull_tape_span *span,
                                struct lull_error *err)
{
    const struct lull_tape_ends *told = told_ends(file);
    struct lull_tape_ends ends;
    lull_status status = LULL_OK;
    if (told)
        ends = *told;
    else
        status = lull_tape_measure_location(trace, file, slots, &ends, err);
    if (status != LULL_OK)
        return status;
    *span = (struct lull_tape_span){ends.first, ends.last};
    if (ends.known & LULL_TAPE_KNOWN_BEHIND) {
        memcpy(slots, ends.behind, sizeof ends.behind);
        find_open_call(file, slots, span);
    }
    return LULL_OK;
}

lull_status lull_tape_find_open_call(const struct lull_trace *trace, struct lull_tape_file *file,
                                     struct lull_error *err)
{
    struct lull_tape_span span = LULL_TAPE_SPAN_EMPTY;
    union lull_tape_slot *slots = malloc(LULL_TAPE_CHUNK);
    const lull_status status =
        slots ? span_of_file(trace, file, slots, &span, err)
              : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    free(slots);
    return status;
}

enum { STOPPED = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_WRITE_FAILED };

/* Whether a location must be looked at to find the length of the run. Where the run tells its
 * length, a location that has ended in an orderly way cannot make it longer. */
static bool is_looked_at(const struct lull_tape_data *data, const struct lull_tape_file *file)
{
    const bool ended = (file->header.flags & (LULL_TAPE_CLOSED | STOPPED)) == LULL_TAPE_CLOSED;
    return !file->left_out && !(data->closed && ended);
}

/* What the records of a location, and its sums, say of its begin and end. */
struct location_life {
    uint64_t first, last;          /* ticks, of its records; first > last: there are none */
    uint64_t sums_begin, sums_end; /* ticks; both 0: not known, or not needed */
    uint64_t open_time;            /* as in struct lull_tape_file */
    uint32_t open_region, location;
};

/* Whether headers tell all of a location's life that is needed, so that every member knows it. */
static bool tells_life(const struct lull_tape_data *data, const struct lull_tape_file *file)
{
    const struct lull_tape_ends *told = told_ends(file);
    return !is_looked_at(data, file) ||
           (told && !(told->known & LULL_TAPE_KNOWN_BEHIND) && !lull_tape_sums_go_on(file));
}

static lull_status find_life(const struct lull_trace *trace, uint32_t location,
                             union lull_tape_slot *slots, struct location_life *ret_life,
                             struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_file *file = &data->files[location];
    struct lull_tape_span span = LULL_TAPE_SPAN_EMPTY;
    *ret_life = (struct location_life){.location = location};
    lull_status status = span_of_file(trace, file, slots, &span, err);
    if (status == LULL_OK && lull_tape_sums_go_on(file))
        status = lull_tape_sums_life(trace, file, &ret_life->sums_begin, &ret_life->sums_end, err);
    ret_life->first = span.first;
    ret_life->last = span.last;
    ret_life->open_region = file->open_region;
    ret_life->open_time = file->open_time;
    return status;
}

/* ---- lives that are told --------------------------------------------------------------------- */

/* The begin and end of locations whose headers do not tell them, as in killed programs. */

struct heard {
    const struct lull_trace *trace;
    struct location_life *lives; /* malloc'd */
    size_t count, capacity;
};

static lull_status tell_lives(const struct lull_trace *trace, union lull_tape_slot *slots,
                              struct lull_tape_words *words, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        const struct lull_tape_file *file = &data->files[l];
        struct location_life life;
        if (!lull_tape_is_own(trace, file->process) || tells_life(data, file))
            continue;
        status = lull_tape_need(trace, l, err);
        if (status == LULL_OK)
            status = find_life(trace, l, slots, &life, err);
        if (status == LULL_OK)
            lull_tape_say(words, &life, sizeof life);
    }
    return status;
}

static lull_status hear_lives(void *context, uint32_t index, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct heard *heard = context;
    const unsigned char *at = bytes;
    struct lull_tape_ear ear = {at, at + size, false};
    (void)index;
    while (ear.at < ear.end) {
        if (!lull_array_reserve(&heard->lives, &heard->capacity, heard->count + 1,
                                sizeof *heard->lives))
            return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", heard->trace->path);
        struct location_life *life = &heard->lives[heard->count++];
        if (!lull_tape_hear(&ear, life, sizeof *life) ||
            life->location >= heard->trace->n_locations)
            return lull_tape_other_run(heard->trace, err);
    }
    return LULL_OK;
}

static int compare_lives(const void *a, const void *b)
{
    const struct location_life *x = a, *y = b;
    return (x->location > y->location) - (x->location < y->location);
}

/* The lives that headers do not tell: the owner of each looks for it in the records and tells all
 * members. The list is ascending by location; the caller frees it. */
static lull_status share_lives(const struct lull_trace *trace, struct location_life **ret_lives,
                               size_t *ret_count, struct lull_error *err)
{
    struct lull_tape_words words = {0};
    struct heard heard = {.trace = trace};
    union lull_tape_slot *slots = malloc(LULL_TAPE_CHUNK);
    lull_status status = slots ? tell_lives(trace, slots, &words, err)
                               : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    free(slots);
    status = lull_tape_tell_all(trace, &words, status, hear_lives, &heard, err);
    if (heard.count > 0)
        qsort(heard.lives, heard.count, sizeof *heard.lives, compare_lives);
    *ret_lives = heard.lives;
    *ret_count = heard.count;
    return status;
}

/* ---- the length of the run ------------------------------------------------------------------- */

static int64_t file_ns(const struct lull_tape_file *file, uint64_t ticks)
{
    size_t segment = 0;
    return file->clock->n_segments > 0 ? lull_tape_ns(file->clock, ticks, &segment)
                                       : (int64_t)ticks;
}

/* Notes when the records of a ring begin. All locations have events from the latest of these begins
 * on. */
static void begin_after_lost(struct lull_trace *trace, struct lull_tape_file *file,
                             const struct lull_tape_span *span)
{
    const int64_t begin = file_ns(file, span->first);
    file->life_begin = span->first;
    trace->events_begin = begin > trace->events_begin ? begin : trace->events_begin;
}

/* Notes which events there are, and how far sums go on. The run has events of all locations up to
 * the first moment at which those of one end. */
static void see_sums(struct lull_trace *trace, struct lull_tape_file *file,
                     const struct location_life *life, struct lull_tape_span *span)
{
    const unsigned flags = file->header.flags;
    if (flags & LULL_TAPE_PROFILE)
        trace->events = LULL_EVENTS_NONE;
    else if (flags & STOPPED && trace->events != LULL_EVENTS_NONE)
        trace->events = LULL_EVENTS_FIRST;
    if (flags & STOPPED) {
        int64_t end = span->first > span->last ? INT64_MIN : file_ns(file, span->last);
        trace->events_end = end < trace->events_end ? end : trace->events_end;
    } else if (file->lost > 0 && trace->events == LULL_EVENTS_ALL)
        trace->events = LULL_EVENTS_LAST;
    const uint64_t begin = life->sums_begin, end = life->sums_end;
    if (begin == 0 && end == 0)
        return;
    if (file->lost > 0 && span->first > span->last) /* it died before it wrote another record */
        begin_after_lost(trace, file, &(struct lull_tape_span){end, end});
    file->life_begin = begin < file->life_begin ? begin : file->life_begin;
    span->first = begin < span->first ? begin : span->first;
    span->last = end > span->last ? end : span->last;
}

/* From when to when the locations have something, in ns of the run's clock. */
struct time_extent {
    int64_t first, last;
};

static void see_life(struct lull_trace *trace, struct time_extent *extent,
                     const struct location_life *life)
{
    struct lull_tape_data *data = trace->format_data;
    struct lull_tape_file *file = &data->files[life->location];
    struct lull_tape_span span = {life->first, life->last};
    file->open_region = life->open_region; /* another member may have found it */
    file->open_time = life->open_time;
    if (file->lost > 0 && span.first <= span.last)
        begin_after_lost(trace, file, &span);
    see_sums(trace, file, life, &span);
    if (span.first > span.last)
        return;
    const int64_t first = file_ns(file, span.first), last = file_ns(file, span.last);
    extent->first = first < extent->first ? first : extent->first;
    extent->last = last > extent->last ? last : extent->last;
}

/* Looks at the lives of all locations. `told`: the lives that members have told each other, where
 * several open the run. */
static lull_status see_lives(struct lull_trace *trace, const struct location_life *told,
                             size_t n_told, struct time_extent *extent, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    union lull_tape_slot *slots = malloc(LULL_TAPE_CHUNK);
    lull_status status =
        slots ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    size_t next = 0;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        struct location_life life;
        if (!is_looked_at(data, &data->files[l]))
            continue;
        const bool finds = !data->share || tells_life(data, &data->files[l]);
        if (finds)
            status = find_life(trace, l, slots, &life, err);
        else if (next < n_told && told[next].location == l)
            life = told[next++];
        else
            status = lull_tape_other_run(trace, err);
        if (status == LULL_OK)
            see_life(trace, extent, &life);
    }
    free(slots);
    return status;
}

lull_status lull_tape_measure_length(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_tape_data *data = trace->format_data;
    struct time_extent extent = {INT64_MAX, INT64_MIN};
    struct location_life *told = NULL;
    size_t n_told = 0;
    trace->events_end = INT64_MAX;
    trace->events_begin = INT64_MIN;
    lull_status status = LULL_OK;
    if (data->share)
        status = share_lives(trace, &told, &n_told, err);
    if (status == LULL_OK)
        status = see_lives(trace, told, n_told, &extent, err);
    free(told);
    const int64_t first = extent.first, last = extent.last;
    if (!data->closed)
        data->origin = first == INT64_MAX ? 0 : first;
    int64_t duration;
    if (last > data->origin && !__builtin_sub_overflow(last, data->origin, &duration) &&
        (!data->closed || duration > trace->duration))
        trace->duration = duration;
    if (trace->events_begin < data->origin ||
        __builtin_sub_overflow(trace->events_begin, data->origin, &trace->events_begin))
        trace->events_begin = 0;
    if (trace->events == LULL_EVENTS_LAST)
        trace->events_end = trace->duration;
    else if (trace->events != LULL_EVENTS_FIRST || trace->events_end < data->origin)
        trace->events_end = 0;
    else if (__builtin_sub_overflow(trace->events_end, data->origin, &trace->events_end))
        trace->events_end = trace->duration;
    return status;
}

/* ==== main part =============================================================================== */

/* Where the main part of each process begins and ends, as headers tell it. */

int64_t lull_tape_ns_of_file(const struct lull_tape_data *data, const struct lull_tape_file *file,
                             uint64_t ticks)
{
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

void lull_tape_find_main(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->processes[p].main_end = trace->duration;
    for (uint32_t l = 0; l < trace->n_locations; l++) { /* any thread may have called the two */
        const struct lull_tape_file *file = &data->files[l];
        struct lull_process *process = &trace->processes[trace->locations[l].process];
        if (file->header.main_begin != 0)
            set_begin(process, lull_tape_ns_of_file(data, file, file->header.main_begin));
        if (file->header.main_end != 0)
            set_end(trace, process, lull_tape_ns_of_file(data, file, file->header.main_end));
    }
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->has_main |= trace->processes[p].main_begin > 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A recorder that is killed while it thins its readings out leaves some that are not later than those
 * before them. The last one is taken behind the last record, which ends the run. */
static void place_readings_of(struct lull_process *process, const struct lull_tape_scope *clock,
                              int64_t origin, int64_t duration)
{
    size_t segment = 0;
    uint32_t kept = 0;
    int64_t last = -1;
    for (uint32_t i = 0; i < process->n_readings; i++) {
        struct lull_memory_reading reading = process->readings[i];
        const uint64_t ticks = (uint64_t)reading.time,
                       ns = clock->n_segments > 0 ? (uint64_t)lull_tape_ns(clock, ticks, &segment)
                                                  : ticks;
        reading.time = (int64_t)(ns - (uint64_t)origin);
        reading.time = reading.time < duration ? reading.time : duration;
        if (reading.time <= last)
            continue;
        last = reading.time;
        process->readings[kept++] = reading;
    }
    process->n_readings = kept;
}

void lull_tape_place_readings(struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_tape_scope *own = &data->scopes[p];
        place_readings_of(&trace->processes[p], own->n_segments > 0 ? own : &data->run,
                          data->origin, trace->duration);
    }
}
