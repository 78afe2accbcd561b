/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/submitters.h"

#include "base/array.h"
#include "base/sorted.h"
#include "team/division.h"
#include "team/team.h"
#include "trace/scan.h"

#include <stdlib.h>
#include <string.h>

/* From this number on a thread has submitted within the region, which was open within the one `around`, until the
 * next entry. LULL_NONE: there is none. */
struct change {
    uint64_t number;
    uint32_t region, around;
};

/* One for each location. Of a thread: regions that are open, and changes so far, by ascending
 * numbers. Of a stream: the region that began last, and how long it took, or, while it is open, when it began and which
 * operation it is. */
struct submitting {
    uint32_t *open;
    size_t n_open, most_open;
    struct change *changes;
    size_t n_changes, most_changes;
    uint32_t region;
    uint64_t ns;
    bool is_open, has_operation;
    int64_t begin;
    struct lull_event operation;
};

struct submitters_pass {
    const struct lull_trace *trace;
    struct submitting *locations;  /* [n_locations] */
    struct lull_submitter **parts; /* [workers] of [n_regions + 1] */
};

static lull_status note_change(struct submitting *thread, uint64_t number, struct lull_error *err)
{
    const size_t n = thread->n_changes, n_open = thread->n_open;
    const struct change now = {.number = number,
                               .region = n_open > 0 ? thread->open[n_open - 1] : LULL_NONE,
                               .around = n_open > 1 ? thread->open[n_open - 2] : LULL_NONE};
    if (n > 0 ? thread->changes[n - 1].region == now.region &&
                    thread->changes[n - 1].around == now.around
              : now.region == LULL_NONE)
        return LULL_OK;
    if (!lull_array_reserve(&thread->changes, &thread->most_changes, n + 1, sizeof(struct change)))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what regions submitted");
    thread->changes[thread->n_changes++] = now;
    return LULL_OK;
}

static lull_status see_thread(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *err)
{
    const struct submitters_pass *pass = context;
    struct submitting *thread = &pass->locations[block->location];
    lull_status status = LULL_OK;
    (void)worker;
    if (pass->trace->locations[block->location].kind == LULL_LOCATION_DEVICE)
        return LULL_OK;
    for (uint32_t i = 0; i < block->count && status == LULL_OK; i++) {
        const struct lull_event *event = &block->events[i];
        if (event->kind == LULL_EVENT_SUBMIT) {
            status = note_change(thread, event->operation.number, err);
        } else if (event->kind == LULL_EVENT_LEAVE && thread->n_open > 0) {
            thread->n_open--;
        } else if (event->kind == LULL_EVENT_ENTER) {
            if (!lull_array_reserve(&thread->open, &thread->most_open, thread->n_open + 1,
                                    sizeof *thread->open))
                return lull_fail(err, LULL_ERR_MEMORY,
                                 "not enough memory for what regions submitted");
            thread->open[thread->n_open++] = event->id;
        }
    }
    return status;
}

/* Some formats have a region for each place that a function is called from. */
static bool is_call_of(const struct lull_trace *trace, uint32_t region, uint32_t function)
{
    return region != LULL_NONE && function != LULL_NONE &&
           (region == function ||
            strcmp(trace->regions[region].name, trace->regions[function].name) == 0);
}

/* Within which region a thread has submitted an operation. The call that has submitted it is none: in some formats it
 * is entered and left as regions are. */
static uint32_t region_of_number(const struct lull_trace *trace, const struct submitting *thread,
                                 uint64_t number, uint32_t call)
{
    struct lull_bisection at = {.end = thread->n_changes};
    while (lull_bisect(&at))
        at.in_front = thread->changes[at.middle].number <= number;
    if (at.begin == 0)
        return LULL_NONE;
    const struct change *change = &thread->changes[at.begin - 1];
    return is_call_of(trace, change->region, call) ? change->around : change->region;
}

static void add_operation(const struct submitters_pass *pass, struct lull_submitter *regions,
                          const struct submitting *stream, const struct lull_event *event)
{
    const struct lull_trace *trace = pass->trace;
    const uint32_t thread = event->operation.location;
    const uint32_t within =
        thread < trace->n_locations && event->operation.number != 0
            ? region_of_number(trace, &pass->locations[thread], event->operation.number, event->id)
            : LULL_NONE;
    struct lull_submitter *sum = &regions[within == LULL_NONE ? trace->n_regions : within];
    const uint8_t activity =
        lull_activity_on(&trace->regions[stream->region], LULL_LOCATION_DEVICE);
    if (activity == LULL_USEFUL) {
        sum->kernels++;
        sum->kernel_ns += stream->ns;
    } else if (activity == LULL_DEVICE) {
        sum->moves++;
        sum->move_ns += stream->ns;
    }
    sum->bytes += event->operation.bytes;
}

static lull_status see_stream(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *err)
{
    const struct submitters_pass *pass = context;
    struct submitting *stream = &pass->locations[block->location];
    (void)err;
    if (pass->trace->locations[block->location].kind != LULL_LOCATION_DEVICE)
        return LULL_OK;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        if (event->kind == LULL_EVENT_CALL) {
            stream->region = event->id;
            stream->ns = (uint64_t)event->duration;
            stream->is_open = false;
        } else if (event->kind == LULL_EVENT_ENTER) {
            stream->region = event->id;
            stream->begin = event->time;
            stream->is_open = true;
            stream->has_operation = false;
        } else if (event->kind == LULL_EVENT_LEAVE && stream->is_open) {
            stream->ns = (uint64_t)(event->time - stream->begin);
            stream->is_open = false;
            if (stream->has_operation)
                add_operation(pass, pass->parts[worker], stream, &stream->operation);
        } else if (event->kind == LULL_EVENT_OPERATION && stream->is_open) {
            stream->operation = *event;
            stream->has_operation = true;
        } else if (event->kind == LULL_EVENT_OPERATION && stream->region != LULL_NONE) {
            add_operation(pass, pass->parts[worker], stream, event);
        }
    }
    return LULL_OK;
}

/* Threads first: what a stream has done is known by what they submitted. */
static lull_status read_both(struct submitters_pass *pass, const struct lull_reading *reading,
                             unsigned workers, struct lull_error *err)
{
    struct lull_scan_options options = {.mask = LULL_MASK(LULL_EVENT_ENTER) |
                                                LULL_MASK(LULL_EVENT_LEAVE) |
                                                LULL_MASK(LULL_EVENT_SUBMIT),
                                        .workers = workers,
                                        .application = reading->application,
                                        .range = reading->range,
                                        .unordered = true};
    const struct lull_visitor threads = {.context = pass, .block = see_thread},
                              streams = {.context = pass, .block = see_stream};
    const lull_status status = lull_scan(pass->trace, &options, &threads, err);
    if (status != LULL_OK)
        return status;
    options.mask = LULL_MASK(LULL_EVENT_CALL) | LULL_MASK(LULL_EVENT_ENTER) |
                   LULL_MASK(LULL_EVENT_LEAVE) | LULL_MASK(LULL_EVENT_OPERATION);
    return lull_scan(pass->trace, &options, &streams, err);
}

static bool has_streams(const struct lull_trace *trace)
{
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].stream)
            return true;
    return false;
}

lull_status lull_submitters_take(const struct lull_trace *trace, const struct lull_reading *reading,
                                 struct lull_arena *arena, struct lull_submitters **ret_submitters,
                                 struct lull_error *err)
{
    const struct lull_scan_options widest = {.workers = reading->workers,
                                             .application = reading->application,
                                             .range = reading->range,
                                             .unordered = true};
    const size_t n = trace->n_regions + (size_t)1, numbers = sizeof(struct lull_submitter) / 8;
    struct lull_team *team = lull_division_team(reading->division);
    *ret_submitters = NULL;
    if (!has_streams(trace))
        return LULL_OK;
    const unsigned workers = lull_scan_workers(trace, &widest);
    struct submitters_pass pass = {
        .trace = trace,
        .locations = lull_arena_zero(arena, trace->n_locations, sizeof *pass.locations),
        .parts = lull_arena_zero(arena, workers, sizeof *pass.parts)};
    for (unsigned w = 0; w < workers; w++)
        pass.parts[w] = lull_arena_zero(arena, n, sizeof **pass.parts);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        pass.locations[l].region = LULL_NONE;
    lull_status status = lull_team_agree(team, read_both(&pass, reading, workers, err), err);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        free(pass.locations[l].open);
        free(pass.locations[l].changes);
    }
    uint64_t *const sums = (uint64_t *)pass.parts[0];
    for (unsigned w = 1; w < workers; w++)
        for (size_t i = 0; i < n * numbers; i++)
            sums[i] += ((const uint64_t *)pass.parts[w])[i];
    if (status == LULL_OK)
        status = lull_team_sum(team, (int64_t *)sums, n * numbers, err);
    bool any = false;
    for (uint32_t r = 0; r < trace->n_regions && status == LULL_OK; r++)
        any = any || pass.parts[0][r].kernels + pass.parts[0][r].moves > 0;
    if (any) {
        *ret_submitters = lull_arena_zero(arena, 1, sizeof **ret_submitters);
        (*ret_submitters)->regions = pass.parts[0];
    }
    return status;
}
