/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/by_file.h"

#include "base/sorted.h"
#include "metrics/windows.h"

#include <stdlib.h>
#include <string.h>

/* An operation of a location whose call has not ended: its time is known when the call ends. */
struct pending {
    int64_t time; /* NOTHING: there is none */
    uint32_t file;
};

#define NOTHING INT64_MIN

struct lull_file_reader {
    const struct lull_trace *trace;
    const struct lull_windows *windows;
    unsigned workers;
    bool *visits;               /* by region: those whose time is that of files */
    struct pending *pending;    /* by location */
    struct lull_file_use *uses; /* [workers][n_files + 1]: the last one is of no known file */
};

static bool is_inside(const struct lull_file_reader *reader, uint32_t process, int64_t time)
{
    if (!reader->windows)
        return true;
    const struct lull_interval *all = reader->windows->intervals[process];
    const size_t n = reader->windows->counts[process]; /* looks for the first that ends behind it */
    const size_t first =
        lull_sorted_first_i64(all, n, sizeof *all, offsetof(struct lull_interval, end), time + 1);
    return first < n && all[first].begin <= time;
}

static void add_operation(struct lull_file_use *use, const struct lull_step *step)
{
    switch (step->op) {
    case LULL_IO_OPEN:
        use->opens++;
        break;
    case LULL_IO_READ:
        use->reads++;
        use->bytes_read += step->transfer.bytes;
        break;
    case LULL_IO_WRITE:
        use->writes++;
        use->bytes_written += step->transfer.bytes;
        break;
    default:
        use->others++;
    }
}

/* An operation comes behind the begin of its call and before its end, with which the visit comes.
 * The operation of a call that took no time comes behind both, and has no time to add. */
static lull_status take_file_steps(void *context, unsigned worker, const struct lull_steps *steps,
                                   struct lull_error *err)
{
    const struct lull_file_reader *reader = context;
    const uint32_t n_files = reader->trace->n_files;
    struct lull_file_use *uses = &reader->uses[(size_t)worker * (n_files + 1)];
    struct pending *pending = &reader->pending[steps->location];
    const uint32_t process = reader->trace->locations[steps->location].process;
    (void)err;
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_IO) {
            *pending = (struct pending){step->time, step->file < n_files ? step->file : n_files};
            if (is_inside(reader, process, step->time))
                add_operation(&uses[pending->file], step);
        } else if (step->kind == LULL_STEP_VISIT && reader->visits[step->region] &&
                   step->time <= pending->time) {
            uses[pending->file].ns += step->visit.inclusive_ns;
            pending->time = NOTHING;
        }
    }
    return LULL_OK;
}

static void add_file_use(struct lull_file_use *sum, const struct lull_file_use *part)
{
    sum->opens += part->opens;
    sum->reads += part->reads;
    sum->writes += part->writes;
    sum->others += part->others;
    sum->bytes_read += part->bytes_read;
    sum->bytes_written += part->bytes_written;
    sum->ns += part->ns;
}

static int by_time(const void *left, const void *right)
{
    const struct lull_file_use *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

void lull_file_reader_conclude(const struct lull_file_reader *reader, struct lull_arena *arena,
                               struct lull_file_uses *ret_uses)
{
    const struct lull_trace *trace = reader->trace;
    const size_t n = (size_t)trace->n_files + 1;
    struct lull_file_use *all = lull_arena_zero(arena, n, sizeof *all);
    uint32_t count = 0;
    for (size_t f = 0; f < n; f++) {
        struct lull_file_use *use = &all[count];
        *use = (struct lull_file_use){.name = "", .kind = LULL_FILE_OTHER};
        if (f < trace->n_files) {
            use->name = trace->files[f].name;
            use->kind = trace->files[f].kind;
        }
        for (unsigned w = 0; w < reader->workers; w++)
            add_file_use(use, &reader->uses[w * n + f]);
        count += use->opens + use->reads + use->writes + use->others > 0;
    }
    if (count > 1)
        qsort(all, count, sizeof *all, by_time);
    *ret_uses = (struct lull_file_uses){all, count};
}

struct lull_file_reader *lull_file_reader_create(const struct lull_trace *trace,
                                                 const struct lull_windows *windows,
                                                 unsigned workers, struct lull_arena *arena)
{
    const size_t n_uses = workers * ((size_t)trace->n_files + 1);
    struct lull_file_reader *reader = lull_arena_zero(arena, 1, sizeof *reader);
    reader->trace = trace;
    reader->windows = windows;
    reader->workers = workers;
    reader->visits = lull_arena_zero(arena, (size_t)trace->n_regions + 1, sizeof *reader->visits);
    reader->pending =
        lull_arena_zero(arena, (size_t)trace->n_locations + 1, sizeof *reader->pending);
    reader->uses = lull_arena_zero(arena, n_uses, sizeof *reader->uses);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        reader->visits[r] =
            trace->regions[r].activity == LULL_IO || trace->regions[r].activity == LULL_MPI_IO;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        reader->pending[l].time = NOTHING;
    return reader;
}

struct lull_consumer lull_file_reader_consumer(struct lull_file_reader *reader)
{
    return (struct lull_consumer){.context = reader,
                                  .wants = LULL_STEP_MASK(LULL_STEP_IO) |
                                           LULL_STEP_MASK(LULL_STEP_VISIT),
                                  .steps = take_file_steps};
}

const bool *lull_file_reader_visits(const struct lull_file_reader *reader)
{
    return reader->visits;
}

/* The numbers of a use that are summed over the members of a team. */
enum { NUMBERS = 7 };

static void list_numbers(struct lull_file_use *use, uint64_t *ret_numbers[NUMBERS])
{
    uint64_t *const all[NUMBERS] = {&use->opens,         &use->reads,      &use->writes,
                                    &use->others,        &use->bytes_read, &use->bytes_written,
                                    (uint64_t *)&use->ns};
    memcpy(ret_numbers, all, sizeof all);
}

lull_status lull_file_reader_gather(struct lull_file_reader *reader, struct lull_team *team,
                                    struct lull_error *err)
{
    const size_t n = (size_t)reader->trace->n_files + 1;
    uint64_t *numbers[NUMBERS];
    if (lull_team_size(team) == 1)
        return LULL_OK;
    int64_t *sums = calloc(n * NUMBERS, sizeof *sums);
    lull_status status = sums
                             ? LULL_OK
                             : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u files",
                                         reader->trace->path, reader->trace->n_files);
    for (size_t f = 0; sums && f < n; f++) {
        for (unsigned w = 1; w < reader->workers; w++) {
            add_file_use(&reader->uses[f], &reader->uses[w * n + f]);
            reader->uses[w * n + f] = (struct lull_file_use){0};
        }
        list_numbers(&reader->uses[f], numbers);
        for (size_t i = 0; i < NUMBERS; i++)
            sums[f * NUMBERS + i] = (int64_t)*numbers[i];
    }
    status = lull_team_agree(team, status, err);
    if (status == LULL_OK)
        status = lull_team_sum(team, sums, n * NUMBERS, err);
    for (size_t f = 0; status == LULL_OK && f < n; f++) {
        list_numbers(&reader->uses[f], numbers);
        for (size_t i = 0; i < NUMBERS; i++)
            *numbers[i] = (uint64_t)sums[f * NUMBERS + i];
    }
    free(sums);
    return status;
}

lull_status lull_file_uses_read(const struct lull_trace *trace, const struct lull_reading *reading,
                                struct lull_arena *arena, struct lull_file_uses *ret_uses,
                                struct lull_error *err)
{
    struct lull_team *team = lull_division_team(reading->division);
    struct lull_pass_options options = {.reading = reading};
    struct lull_file_reader *reader =
        lull_file_reader_create(trace, reading->windows, lull_pass_workers(trace, &options), arena);
    const struct lull_consumer consumer = lull_file_reader_consumer(reader);
    options.visits = reader->visits;
    lull_status status =
        lull_team_agree(team, lull_pass_run(trace, &options, &consumer, 1, err), err);
    if (status == LULL_OK)
        status = lull_file_reader_gather(reader, team, err);
    if (status == LULL_OK)
        lull_file_reader_conclude(reader, arena, ret_uses);
    return status;
}
