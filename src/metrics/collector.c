/* SPDX-License-Identifier: BSD-3-Clause */
/* The consumer of steps behind a breakdown: the ledgers of threads, parallel regions by execution,
 * and the sums of recorders; gathering what the members of a team have; and running a breakdown by
 * itself. */
#include "metrics/collector.h"

#include "base/array.h"
#include "metrics/breakdown.h"
#include "metrics/devices.h"
#include "team/team.h"
#include "trace/trace.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== executions of parallel regions ========================================================== */

/* There is a queue of executions whose sums are not complete, and for each worker a queue of spans
 * that the master has not reached. What the master runs through in a block waits in a queue of its
 * own, so that the lock is taken once per block. All queues are plain arrays with a head. When a
 * queue is full and appended to, what is left in it moves to the front, so that appending costs
 * constant time on average. */

struct queue {
    unsigned char *items;
    size_t item_size, head, count, capacity;
};

/* What the master tells of an execution. */
struct passage {
    struct lull_span span; /* end: INT64_MAX until the master has left */
    uint32_t region;
    bool counted;
};

struct thread {
    /* only the thread's reader touches this, until the thread has ended; spans, or passages of a
     * master */
    struct queue spans;
    int64_t until;
    int64_t settled; /* no span that begins earlier waits or will come */
    uint64_t next;   /* number of the execution, counted from the first of all, that its next span
                        may meet */
};

struct lull_executions {
    pthread_mutex_t lock;
    uint32_t n_threads;
    struct queue open; /* struct execution with n_threads useful times behind it */
    uint64_t dropped;  /* how many executions have left the queue */
    bool inside;       /* the last one is there, but the master has not left it */
    struct lull_parallel_breakdown *sums;
    uint32_t *regions;
    size_t sums_capacity, regions_capacity;
    uint32_t n_sums;
    uint32_t last_sum;
    struct thread threads[];
};

struct execution {
    int64_t begin, end;      /* end: INT64_MAX until the master has left */
    int64_t duration;        /* on the master, inside the windows */
    int64_t ns[LULL_CAUSES]; /* sums over the threads */
    uint32_t region;
    bool counted;
    int64_t useful[]; /* [n_threads] */
};

static inline void *queue_at(const struct queue *queue, size_t index)
{
    return queue->items + (queue->head + index) * queue->item_size;
}

static lull_status out_of_memory(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY,
                     "not enough memory for the executions of parallel regions");
}

/* Returns a new item at the end, whatever it holds, or NULL. */
static inline void *queue_append(struct queue *queue)
{
    if (queue->head > 0 && queue->head >= queue->count) {
        memmove(queue->items, queue_at(queue, 0), queue->count * queue->item_size);
        queue->head = 0;
    }
    if (!lull_array_reserve(&queue->items, &queue->capacity, queue->head + queue->count + 1,
                            queue->item_size))
        return NULL;
    return queue_at(queue, queue->count++);
}

static inline void queue_drop_first(struct queue *queue)
{
    queue->head++;
    if (--queue->count == 0)
        queue->head = 0;
}

struct lull_executions *lull_executions_create(uint32_t n_threads)
{
    struct lull_executions *executions =
        calloc(1, sizeof *executions + n_threads * sizeof executions->threads[0]);
    if (!executions)
        return NULL;
    if (pthread_mutex_init(&executions->lock, NULL) != 0) {
        free(executions);
        return NULL;
    }
    executions->n_threads = n_threads;
    executions->open.item_size = sizeof(struct execution) + n_threads * sizeof(int64_t);
    for (uint32_t i = 0; i < n_threads; i++)
        executions->threads[i].spans.item_size =
            i ? sizeof(struct lull_span) : sizeof(struct passage);
    return executions;
}

void lull_executions_destroy(struct lull_executions *executions)
{
    if (!executions)
        return;
    for (uint32_t i = 0; i < executions->n_threads; i++)
        free(executions->threads[i].spans.items);
    free(executions->open.items);
    free(executions->sums);
    free(executions->regions);
    pthread_mutex_destroy(&executions->lock);
    free(executions);
}

static bool is_empty(const int64_t ns[LULL_CAUSES])
{
    for (int cause = 0; cause < LULL_CAUSES; cause++) {
        if (ns[cause])
            return false;
    }
    return true;
}

lull_status lull_executions_open(struct lull_executions *executions,
                                 const struct lull_forked *forked, struct lull_error *err)
{
    struct passage *passage = queue_append(&executions->threads[0].spans);
    if (!passage)
        return out_of_memory(err);
    *passage = (struct passage){.span = {.begin = forked->time, .end = INT64_MAX},
                                .region = LULL_NONE,
                                .counted = forked->inside};
    return LULL_OK;
}

void lull_executions_close(struct lull_executions *executions, const struct lull_span *span,
                           uint32_t region)
{
    struct queue *passages = &executions->threads[0].spans;
    assert(passages->count > 0);
    struct passage *passage = queue_at(passages, passages->count - 1);
    passage->span = *span;
    passage->region = region;
}

lull_status lull_executions_add(struct lull_executions *executions, uint32_t thread,
                                const struct lull_span *span, struct lull_error *err)
{
    assert(thread > 0 && thread < executions->n_threads);
    if (is_empty(span->ns))
        return LULL_OK;
    struct lull_span *item = queue_append(&executions->threads[thread].spans);
    if (!item)
        return out_of_memory(err);
    *item = *span;
    return LULL_OK;
}

static int64_t overlap(const struct execution *a, const struct lull_span *b)
{
    int64_t begin = a->begin > b->begin ? a->begin : b->begin;
    int64_t end = a->end < b->end ? a->end : b->end;
    return end > begin ? end - begin : 0;
}

/* value x part / whole, rounded to the nearest. Doubles are exact enough: what a rounding leaves
 * over is given to the last execution. */
static int64_t share(int64_t value, int64_t part, int64_t whole)
{
    if (part == whole)
        return value;
    return (int64_t)((double)value * ((double)part / (double)whole) + 0.5);
}

/* The first execution that a span of the thread may meet. The spans of a thread come in order, so
 * that executions which end before this span cannot meet the next one either. */
static size_t first_met(struct lull_executions *executions, uint32_t thread, int64_t begin)
{
    struct thread *of = &executions->threads[thread];
    size_t first = of->next > executions->dropped ? (size_t)(of->next - executions->dropped) : 0;
    while (first < executions->open.count) {
        const struct execution *execution = queue_at(&executions->open, first);
        if (execution->end > begin)
            break;
        first++;
    }
    of->next = executions->dropped + first;
    return first;
}

static inline void add_times(struct execution *execution, uint32_t thread,
                             const int64_t ns[LULL_CAUSES])
{
    for (int cause = 0; cause < LULL_CAUSES; cause++)
        execution->ns[cause] += ns[cause];
    execution->useful[thread] += ns[LULL_CAUSE_USEFUL];
}

/* Divides a span among the executions from `first` on, by overlap. */
static void deal_out(struct lull_executions *executions, uint32_t thread, size_t first,
                     const struct lull_span *span)
{
    const struct queue *open = &executions->open;
    size_t last = first;
    int64_t whole = 0;
    for (; last < open->count; last++) {
        const struct execution *execution = queue_at(open, last);
        if (execution->begin >= span->end)
            break;
        whole += overlap(execution, span);
    }
    int64_t left[LULL_CAUSES];
    memcpy(left, span->ns, sizeof left);
    for (size_t i = first; i < last && whole > 0; i++) {
        struct execution *execution = queue_at(open, i);
        int64_t part = overlap(execution, span), ns[LULL_CAUSES];
        for (int cause = 0; cause < LULL_CAUSES; cause++) {
            ns[cause] = share(left[cause], part, whole);
            left[cause] -= ns[cause];
        }
        add_times(execution, thread, ns);
        whole -= part;
    }
}

static void settle_span(struct lull_executions *executions, uint32_t thread,
                        const struct lull_span *span)
{
    size_t first = first_met(executions, thread, span->begin);
    if (first >= executions->open.count)
        return;
    struct execution *execution = queue_at(&executions->open, first);
    const struct execution *next = execution;
    if (first + 1 < executions->open.count)
        next = queue_at(&executions->open, first + 1);
    if (execution->begin < span->end && (next == execution || next->begin >= span->end))
        add_times(execution, thread, span->ns); /* the span meets only this one, as nearly always */
    else
        deal_out(executions, thread, first, span);
}

/* Gives the spans that the master has passed to their executions. */
static void settle_spans(struct lull_executions *executions, uint32_t thread)
{
    struct queue *spans = &executions->threads[thread].spans;
    int64_t horizon = executions->threads[0].until;
    while (spans->count > 0) {
        const struct lull_span *span = queue_at(spans, 0);
        if (span->end > horizon)
            break;
        settle_span(executions, thread, span);
        queue_drop_first(spans);
    }
    int64_t settled = executions->threads[thread].until;
    if (spans->count > 0) {
        const struct lull_span *span = queue_at(spans, 0);
        settled = span->begin < settled ? span->begin : settled;
    }
    executions->threads[thread].settled = settled;
}

/* The sum of a region. Programs run their regions in the same order again and again, so the sum
 * after the last one is tried first. NULL: no memory. */
static struct lull_parallel_breakdown *find_sum(struct lull_executions *executions, uint32_t region)
{
    for (uint32_t i = 0; i < executions->n_sums; i++) {
        uint32_t index = executions->last_sum + 1 + i;
        if (index >= executions->n_sums)
            index -= executions->n_sums;
        if (index < executions->n_sums && executions->regions[index] == region) {
            executions->last_sum = index;
            return &executions->sums[index];
        }
    }
    size_t need = executions->n_sums + (size_t)1;
    if (!lull_array_reserve(&executions->sums, &executions->sums_capacity, need,
                            sizeof *executions->sums) ||
        !lull_array_reserve(&executions->regions, &executions->regions_capacity, need,
                            sizeof *executions->regions))
        return NULL;
    uint32_t index = executions->n_sums++;
    executions->last_sum = index;
    executions->regions[index] = region;
    executions->sums[index] = (struct lull_parallel_breakdown){0};
    return &executions->sums[index];
}

static bool add_execution(struct lull_executions *executions, const struct execution *execution)
{
    const int64_t *ns = execution->ns;
    if (is_empty(ns) && !execution->counted)
        return true;
    struct lull_parallel_breakdown *sum = find_sum(executions, execution->region);
    if (!sum)
        return false;
    int64_t max = 0;
    for (uint32_t i = 0; i < executions->n_threads; i++)
        max = execution->useful[i] > max ? execution->useful[i] : max;
    sum->executions += execution->counted;
    sum->duration_ns += execution->duration;
    sum->max_useful_ns += max;
    sum->useful_ns += ns[LULL_CAUSE_USEFUL];
    sum->schedule_ns += ns[LULL_CAUSE_SCHEDULE];
    sum->lock_ns += ns[LULL_CAUSE_LOCK];
    sum->sync_ns += ns[LULL_CAUSE_SYNC];
    sum->mpi_ns += ns[LULL_CAUSE_MPI];
    sum->other_ns += ns[LULL_CAUSE_OTHER];
    return true;
}

/* The time before which all threads were read: no thread will add to executions that end earlier.
 * The queues themselves belong to their readers and are not looked at. */
static int64_t all_passed(const struct lull_executions *executions)
{
    int64_t passed = INT64_MAX;
    for (uint32_t i = 0; i < executions->n_threads; i++)
        passed = executions->threads[i].settled < passed ? executions->threads[i].settled : passed;
    return passed;
}

static bool settle_executions(struct lull_executions *executions)
{
    int64_t passed = all_passed(executions);
    while (executions->open.count > 0) {
        const struct execution *execution = queue_at(&executions->open, 0);
        if (execution->end > passed)
            return true;
        if (!add_execution(executions, execution))
            return false;
        queue_drop_first(&executions->open);
        executions->dropped++;
    }
    return true;
}

/* The execution that a passage tells of: a new one, unless it was open when the last block ended.
 * NULL: no memory. */
static struct execution *execution_of(struct lull_executions *executions)
{
    struct queue *open = &executions->open;
    if (executions->inside)
        return queue_at(open, open->count - 1);
    struct execution *execution = queue_append(open);
    if (execution)
        memset(execution, 0, open->item_size);
    return execution;
}

/* Takes over what the master has told. An execution that the master has not left yet also stays in
 * its queue. */
static bool take_passages(struct lull_executions *executions)
{
    struct queue *passages = &executions->threads[0].spans;
    while (passages->count > 0) {
        const struct passage *passage = queue_at(passages, 0);
        struct execution *execution = execution_of(executions);
        if (!execution)
            return false;
        execution->begin = passage->span.begin;
        execution->end = passage->span.end;
        execution->region = passage->region;
        execution->counted = passage->counted;
        executions->inside = passage->span.end == INT64_MAX;
        if (executions->inside)
            return true;
        for (int cause = 0; cause < LULL_CAUSES; cause++)
            execution->duration += passage->span.ns[cause];
        add_times(execution, 0, passage->span.ns);
        queue_drop_first(passages);
    }
    return true;
}

lull_status lull_executions_pass(struct lull_executions *executions, uint32_t thread, int64_t until,
                                 struct lull_error *err)
{
    assert(thread < executions->n_threads);
    pthread_mutex_lock(&executions->lock);
    executions->threads[thread].until = until;
    bool done = true;
    if (thread == 0) {
        done = take_passages(executions);
        executions->threads[0].settled = until;
    } else {
        settle_spans(executions, thread);
    }
    /* A worker that has ended takes no further part: the master does its rest. */
    for (uint32_t i = 1; thread == 0 && i < executions->n_threads; i++) {
        if (executions->threads[i].until == INT64_MAX)
            settle_spans(executions, i);
    }
    done = done && settle_executions(executions);
    pthread_mutex_unlock(&executions->lock);
    return done ? LULL_OK : out_of_memory(err);
}

uint32_t lull_executions_result(const struct lull_executions *executions,
                                const struct lull_parallel_breakdown **ret_sums,
                                const uint32_t **ret_regions)
{
    assert(executions->open.count == 0);
    *ret_sums = executions->sums;
    *ret_regions = executions->regions;
    return executions->n_sums;
}

/* Takes over the sums of executions that another process has read; there are none here so far. Both
 * arrays, which are malloc'd, become the callee's. */
static void executions_adopt(struct lull_executions *executions, uint32_t n_sums,
                             struct lull_parallel_breakdown *sums, uint32_t *regions)
{
    free(executions->sums);
    free(executions->regions);
    executions->sums = sums;
    executions->regions = regions;
    executions->n_sums = n_sums;
    executions->sums_capacity = executions->regions_capacity = n_sums;
}

/* ==== the result ============================================================================== */

/* From what a collector holds to a breakdown. */

static void fill_thread(const struct lull_collector *collector, const struct location *location,
                        struct lull_thread_breakdown *thread)
{
    const size_t n = (size_t)collector->trace->n_counters * LULL_ACTIVITIES;
    const int64_t *ns = location->ns;
    thread->disabled_ns =
        ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 0)] + ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 1)];
    if (location->counters)
        memcpy(thread->counters, location->counters, n * sizeof *thread->counters);
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        thread->times.ns[activity][0] = ns[LULL_SLOT(activity, 0)];
        thread->times.ns[activity][1] = ns[LULL_SLOT(activity, 1)];
    }
}

/* In the order of the outline. */
static void fill_threads(const struct lull_collector *collector, struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = collector->trace;
    uint32_t thread = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        for (uint32_t i = 0; i < trace->processes[p].n_locations; i++) {
            if (trace->processes[p].application != collector->reading->application)
                continue;
            uint32_t location = trace->processes[p].first_location + i;
            fill_thread(collector, &collector->locations[location], &breakdown->threads[thread++]);
        }
}

static struct lull_region_ledger sum_of_region(const struct lull_collector *collector,
                                               uint32_t region)
{
    struct lull_region_ledger sum = {0};
    for (unsigned worker = 0; worker < collector->workers; worker++) {
        const struct lull_region_ledger *part =
            &collector->regions[(size_t)worker * collector->trace->n_regions + region];
        sum.visits += part->visits;
        sum.inclusive_ns += part->inclusive_ns;
        sum.exclusive_ns += part->exclusive_ns;
        sum.useful_ns += part->useful_ns;
    }
    return sum;
}

/* What a region mostly counted as: functions of a device's paradigm are its runtime on the host,
 * and kernels on its streams. */
static uint8_t activity_of(const struct lull_region *region, const struct lull_region_ledger *sum)
{
    bool kernel = region->activity == LULL_DEVICE && 2 * sum->useful_ns > sum->exclusive_ns;
    return kernel ? LULL_USEFUL : region->activity;
}

static void fill_collected_regions(const struct lull_collector *collector, struct lull_arena *arena,
                                   struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = collector->trace;
    if (!collector->regions)
        return;
    breakdown->regions = lull_arena_zero(arena, trace->n_regions, sizeof *breakdown->regions);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        struct lull_region_ledger sum = sum_of_region(collector, i);
        if (sum.visits == 0 && sum.inclusive_ns == 0)
            continue;
        breakdown->regions[breakdown->n_regions++] = (struct lull_region_breakdown){
            .name = lull_arena_strdup(arena, region->name),
            .site = lull_arena_strdup(arena, region->site),
            .paradigm = region->paradigm,
            .role = region->role,
            .activity = activity_of(region, &sum),
            .visits = sum.visits,
            .inclusive_ns = sum.inclusive_ns,
            .exclusive_ns = sum.exclusive_ns,
            .useful_ns = sum.useful_ns,
        };
    }
}

static void fill_parallels(const struct lull_collector *collector, struct lull_arena *arena,
                           struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = collector->trace;
    size_t capacity = 0;
    uint32_t process = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != collector->reading->application)
            continue;
        const struct lull_parallel_breakdown *sums = NULL;
        const uint32_t *regions = NULL;
        uint32_t n = collector->executions[p]
                         ? lull_executions_result(collector->executions[p], &sums, &regions)
                         : 0;
        breakdown->parallels =
            lull_arena_grow(arena, breakdown->parallels, &capacity, breakdown->n_parallels + n,
                            sizeof *breakdown->parallels);
        for (uint32_t i = 0; i < n; i++) {
            struct lull_parallel_breakdown *to = &breakdown->parallels[breakdown->n_parallels++];
            *to = sums[i];
            to->process = process;
            to->name = regions[i] == LULL_NONE
                           ? "parallel region"
                           : lull_arena_strdup(arena, trace->regions[regions[i]].name);
        }
        process++;
    }
}

lull_status lull_collector_result(const struct lull_collector *collector, struct lull_arena *arena,
                                  struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    struct lull_breakdown *breakdown =
        lull_breakdown_outline(collector->trace, collector->reading->application, arena);
    fill_threads(collector, breakdown);
    fill_collected_regions(collector, arena, breakdown);
    fill_parallels(collector, arena, breakdown);
    lull_status status =
        lull_devices_fill(collector->devices, collector->options->operations, collector->trace,
                          collector->reading->application, arena, breakdown, err);
    const struct lull_breakdown filled = *breakdown;
    if (status == LULL_OK)
        status = lull_breakdown_join(breakdown, NULL, arena, breakdown, err);
    breakdown->operations = filled.operations;
    breakdown->n_operations = filled.n_operations;
    breakdown->device_waits = filled.device_waits;
    breakdown->n_device_waits = filled.n_device_waits;
    breakdown->streams = filled.streams;
    breakdown->n_streams = filled.n_streams;
    breakdown->stretches = filled.stretches;
    breakdown->n_stretches = filled.n_stretches;
    if (status == LULL_OK)
        *ret_breakdown = breakdown;
    return status;
}

/* ==== gathering from a team =================================================================== */

/* What the members of a team have collected, each from its own processes, comes to the first:
 * ledgers of locations and parallel regions of processes one behind the other, regions as sums. */

static size_t size_of_counters(const struct lull_collector *collector)
{
    return (size_t)collector->trace->n_counters * LULL_ACTIVITIES * sizeof(uint64_t);
}

static bool is_collected(const struct lull_collector *collector, uint32_t process)
{
    return collector->trace->processes[process].application == collector->reading->application;
}

/* ---- out ------------------------------------------------------------------------------------- */

static bool put_process(const struct lull_collector *collector, uint32_t p, struct lull_flow *flow)
{
    const struct lull_process *process = &collector->trace->processes[p];
    bool fits = true;
    for (uint32_t i = 0; fits && i < process->n_locations; i++) {
        const struct location *location = &collector->locations[process->first_location + i];
        fits = lull_flow_put(flow, location->ns, sizeof location->ns) &&
               lull_device_log_put(collector->devices, process->first_location + i, flow);
        if (fits && location->counters)
            fits = lull_flow_put(flow, location->counters, size_of_counters(collector));
    }
    const struct lull_parallel_breakdown *sums = NULL;
    const uint32_t *regions = NULL;
    const uint32_t n = collector->executions[p]
                           ? lull_executions_result(collector->executions[p], &sums, &regions)
                           : 0;
    return fits && lull_flow_put_items(flow, sums, n, sizeof *sums) &&
           lull_flow_put_items(flow, regions, n, sizeof *regions);
}

/* ---- in -------------------------------------------------------------------------------------- */

static bool get_parallels(struct lull_executions *executions, struct lull_flow *flow)
{
    size_t n, same = 0;
    struct lull_parallel_breakdown *sums = lull_flow_get_items(flow, sizeof *sums, &n);
    uint32_t *regions = sums ? lull_flow_get_items(flow, sizeof *regions, &same) : NULL;
    const bool good = regions && same == n && (executions || n == 0);
    if (good && n > 0) {
        executions_adopt(executions, (uint32_t)n, sums, regions);
        return true;
    }
    free(sums);
    free(regions);
    return good;
}

static bool get_process(const struct lull_collector *collector, uint32_t p, struct lull_flow *flow)
{
    const struct lull_process *process = &collector->trace->processes[p];
    bool good = true;
    for (uint32_t i = 0; good && i < process->n_locations; i++) {
        struct location *location = &collector->locations[process->first_location + i];
        good = lull_flow_get(flow, location->ns, sizeof location->ns) &&
               lull_device_log_get(collector->devices, process->first_location + i, flow);
        if (good && location->counters)
            good = lull_flow_get(flow, location->counters, size_of_counters(collector));
    }
    return good && get_parallels(collector->executions[p], flow);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Calls a function for each process of a member, until one fails. */
static bool go_over(const struct lull_collector *collector, uint32_t member, struct lull_flow *flow,
                    bool (*go)(const struct lull_collector *collector, uint32_t p,
                               struct lull_flow *flow))
{
    const uint32_t *cuts = collector->reading->division->cuts;
    bool good = true;
    for (uint32_t p = cuts[member]; good && p < cuts[member + 1]; p++)
        if (is_collected(collector, p))
            good = go(collector, p, flow);
    return good;
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct lull_collector *collector = context;
    return go_over(collector, lull_team_index(collector->reading->division->team), flow,
                   put_process);
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    return go_over(context, member, flow, get_process);
}

/* ---- regions --------------------------------------------------------------------------------- */

static_assert(sizeof(struct lull_region_ledger) == 4 * sizeof(int64_t), "summed as integers");

static lull_status sum_regions(struct lull_collector *collector, struct lull_error *err)
{
    const size_t n = (size_t)collector->trace->n_regions * 4;
    if (!collector->regions)
        return LULL_OK;
    int64_t *sums = calloc(n + 1, sizeof *sums), *part = calloc(n + 1, sizeof *part);
    lull_status status = LULL_OK;
    for (unsigned w = 0; sums && part && w < collector->workers; w++) {
        memcpy(part, collector->regions + w * (size_t)collector->trace->n_regions,
               n * sizeof *part);
        for (size_t i = 0; i < n; i++)
            sums[i] += part[i];
    }
    if (!sums || !part)
        status = lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a breakdown");
    status = lull_team_agree(collector->reading->division->team, status, err);
    if (status == LULL_OK)
        status = lull_team_sum(collector->reading->division->team, sums, n, err);
    if (status == LULL_OK) {
        memset(collector->regions, 0, collector->workers * n * sizeof *sums);
        memcpy(collector->regions, sums, n * sizeof *sums);
    }
    free(sums);
    free(part);
    return status;
}

/* ---- device streams of which sums alone were kept -------------------------------------------- */

static bool is_summary(const struct lull_location *location)
{
    return location->stream && location->stream->summary;
}

/* Sums tell nothing of a part of a stream's life. */
static bool is_whole_life(const struct lull_collector *collector, uint32_t process,
                          const struct lull_sums *sums)
{
    const struct lull_windows *windows = collector->reading->windows;
    if (!windows)
        return true;
    const struct lull_interval *only = windows->intervals[process];
    return windows->counts[process] == 1 && only->begin <= sums->begin && sums->end <= only->end;
}

/* By its events all of the stream's time is disabled. Its sums say what of that time was operations and
 * pauses; in the rest it had nothing to do. */
static void take_summary(const struct lull_collector *collector, const struct lull_sums *sums,
                         int64_t *ns)
{
    int64_t rest = ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 0)] - sums->paused;
    for (uint32_t i = 0; i < sums->n_regions; i++) {
        const struct lull_region_sum *sum = &sums->regions[i];
        const struct lull_region *region = &collector->trace->regions[sum->region];
        const uint8_t activity = lull_activity_on(region, LULL_LOCATION_DEVICE);
        const int64_t length = sum->ns[0] + sum->ns[1];
        if (activity == LULL_ACTIVITIES)
            continue;
        ns[LULL_SLOT(activity, 0)] += length;
        rest -= length;
        if (!collector->regions)
            continue;
        struct lull_region_ledger *ledger = &collector->regions[sum->region];
        ledger->visits += sum->visits[0] + sum->visits[1];
        ledger->inclusive_ns += length;
        ledger->exclusive_ns += length;
        ledger->useful_ns += activity == LULL_USEFUL ? length : 0;
    }
    ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 0)] = sums->paused;
    ns[LULL_SLOT(LULL_IDLE, 0)] += rest;
}

static lull_status take_summaries(const struct lull_collector *collector, struct lull_error *err)
{
    const struct lull_trace *trace = collector->trace;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        const uint32_t process = trace->locations[l].process;
        if (!is_summary(&trace->locations[l]) || !trace->has_sums ||
            trace->processes[process].application != collector->reading->application)
            continue;
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_sums sums;
        status = lull_trace_read_sums(trace, l, scratch, &sums, err);
        if (status == LULL_OK && is_whole_life(collector, process, &sums))
            take_summary(collector, &sums, collector->locations[l].ns);
        lull_arena_destroy(scratch);
    }
    return status;
}

lull_status lull_collector_gather(struct lull_collector *collector, struct lull_error *err)
{
    const struct lull_division *division = collector->reading->division;
    const struct lull_freight freight = {put, get, collector, "a breakdown"};
    lull_status status = LULL_OK;
    if (division)
        status = lull_team_bring(division->team, &freight, err);
    if (status == LULL_OK && division)
        status = sum_regions(collector, err);
    if (status == LULL_OK && lull_team_is_first(lull_division_team(division)))
        status = take_summaries(collector, err);
    return status;
}

/* ==== sums of a recorder ====================================================================== */

/* Makes a breakdown from the sums that a recorder kept. The rules are those of the activity room,
 * applied to regions instead of spans. What surrounds user code, sums do not tell; so user code
 * counts as useful, except on a worker outside of parallel regions, because a runtime calls user
 * code there only as a task, which is a region of its own. */

struct region_sum {
    uint64_t visits;
    int64_t exclusive_ns, useful_ns;
};

/* Whether the region surrounds the main part of a run (MPI_Init, MPI_Finalize). */
static bool surrounds(const struct lull_region *region)
{
    static const char *const names[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(region->name, names[i]) == 0)
            return true;
    return false;
}

struct taking {
    const struct lull_trace *trace;
    struct lull_breakdown *to;
    bool main_part;
    int64_t lasts;              /* what a thread's times add up to */
    struct region_sum *regions; /* [n_regions of the trace]; NULL: not wanted */
};

static uint8_t outside_activity(const struct lull_location *location)
{
    bool idle = location->kind == LULL_LOCATION_DEVICE || location->role == LULL_THREAD_WORKER;
    return idle ? LULL_IDLE : LULL_USEFUL;
}

static void add_counts(const struct taking *taking, struct lull_thread_breakdown *thread,
                       uint8_t activity, const uint64_t *counts)
{
    for (uint32_t c = 0; c < taking->trace->n_counters; c++)
        thread->counters[(size_t)c * LULL_ACTIVITIES + activity] += counts[c];
}

static void add_region(const struct taking *taking, const struct lull_location *location,
                       const struct lull_region_sum *sum, struct lull_thread_breakdown *thread)
{
    const struct lull_region *region = &taking->trace->regions[sum->region];
    for (unsigned parallel = 0; parallel < 2; parallel++) {
        uint8_t activity = lull_activity_on(region, location->kind);
        if (activity == LULL_ACTIVITIES)
            activity = parallel ? LULL_USEFUL : outside_activity(location);
        thread->times.ns[activity][parallel] += sum->ns[parallel];
        add_counts(taking, thread, activity, sum->counts[parallel]);
        if (!taking->regions)
            continue;
        struct region_sum *to = &taking->regions[sum->region];
        to->visits += sum->visits[parallel];
        to->exclusive_ns += sum->ns[parallel];
        to->useful_ns += activity == LULL_USEFUL ? sum->ns[parallel] : 0;
    }
}

static void add_location(const struct taking *taking, const struct lull_location *location,
                         const struct lull_sums *sums, struct lull_thread_breakdown *thread)
{
    const uint8_t outside = outside_activity(location);
    const uint8_t gone = outside == LULL_IDLE ? LULL_IDLE : LULL_OTHER;
    thread->disabled_ns = sums->paused;
    thread->times.ns[gone][0] += taking->lasts - (sums->end - sums->begin) + sums->absent;
    thread->times.ns[outside][0] += sums->outside;
    thread->times.ns[LULL_FLUSH][0] += sums->flush[0];
    thread->times.ns[LULL_FLUSH][1] += sums->flush[1];
    add_counts(taking, thread, outside, sums->counts_outside);
    for (uint32_t i = 0; i < sums->n_regions; i++)
        if (!taking->main_part || !surrounds(&taking->trace->regions[sums->regions[i].region]))
            add_region(taking, location, &sums->regions[i], thread);
}

static lull_status take_locations(const struct taking *taking,
                                  const struct lull_breakdown_options *options,
                                  struct lull_error *err)
{
    const struct lull_trace *trace = taking->trace;
    const struct lull_reading *reading = lull_reading_of(options->reading);
    uint32_t thread = 0;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (trace->processes[location->process].application != reading->application)
            continue;
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_sums sums;
        status = lull_trace_read_sums(trace, l, scratch, &sums, err);
        if (status == LULL_OK)
            add_location(taking, location, &sums, &taking->to->threads[thread++]);
        lull_arena_destroy(scratch);
        if (reading->progress)
            reading->progress(reading->progress_context, (double)(l + 1) / trace->n_locations);
    }
    return status;
}

static void fill_summed_regions(const struct taking *taking, struct lull_arena *arena)
{
    const struct lull_trace *trace = taking->trace;
    struct lull_breakdown *to = taking->to;
    to->regions = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *to->regions);
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        const struct region_sum *sum = &taking->regions[r];
        if (sum->visits == 0 && sum->exclusive_ns == 0)
            continue;
        to->regions[to->n_regions++] = (struct lull_region_breakdown){
            .name = lull_arena_strdup(arena, region->name),
            .site = lull_arena_strdup(arena, region->site),
            .paradigm = region->paradigm,
            .role = region->role,
            .activity = region->activity,
            .visits = sum->visits,
            .exclusive_ns = sum->exclusive_ns,
            .useful_ns = sum->useful_ns,
        };
    }
}

/* The breakdown for all locations of the application; windows cannot be told. */
static lull_status breakdown_of_sums(const struct lull_trace *trace,
                                     const struct lull_breakdown_options *options,
                                     struct lull_arena *arena,
                                     struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    struct lull_breakdown *breakdown =
        lull_breakdown_outline(trace, lull_reading_of(options->reading)->application, arena);
    breakdown->from_sums = true;
    struct taking taking = {.trace = trace,
                            .to = breakdown,
                            .main_part = options->main_part,
                            .lasts = options->life_ns ? options->life_ns : trace->duration};
    if (options->regions)
        taking.regions =
            lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *taking.regions);
    lull_status status = take_locations(&taking, options, err);
    if (status != LULL_OK)
        return status;
    if (options->regions)
        fill_summed_regions(&taking, arena);
    status = lull_devices_fill(NULL, false, trace, lull_reading_of(options->reading)->application,
                               arena, breakdown, err);
    if (status == LULL_OK)
        status = lull_breakdown_join(breakdown, NULL, arena, breakdown, err);
    if (status == LULL_OK)
        *ret_breakdown = breakdown;
    return status;
}

/* ==== collector =============================================================================== */

/* A worker's span of a parallel region is handed over in at most so many pieces; without them, what
 * waits for it would grow with its length. Spans are cut at times of the run's own, so that the
 * sums do not depend on how a format is read. */
enum { PIECES = 4096 };

#define KINDS                                                          \
    (LULL_STEP_MASK(LULL_STEP_JOIN) | LULL_STEP_MASK(LULL_STEP_TICK) | \
     LULL_STEP_MASK(LULL_STEP_END) | LULL_DEVICE_LOG_WANTS)

static const uint8_t cause_of[LULL_ACTIVITIES] = {
    [LULL_USEFUL] = LULL_CAUSE_USEFUL,      [LULL_MPI_P2P] = LULL_CAUSE_MPI,
    [LULL_MPI_COLLECTIVE] = LULL_CAUSE_MPI, [LULL_MPI_ONE_SIDED] = LULL_CAUSE_MPI,
    [LULL_MPI_IO] = LULL_CAUSE_MPI,         [LULL_MPI_OTHER] = LULL_CAUSE_MPI,
    [LULL_OMP_SYNC] = LULL_CAUSE_SYNC,      [LULL_OMP_SCHEDULE] = LULL_CAUSE_SCHEDULE,
    [LULL_OMP_LOCK] = LULL_CAUSE_LOCK,      [LULL_IDLE] = LULL_CAUSE_OTHER,
    [LULL_DEVICE] = LULL_CAUSE_OTHER,       [LULL_IO] = LULL_CAUSE_OTHER,
    [LULL_FLUSH] = LULL_CAUSE_OTHER,        [LULL_OTHER] = LULL_CAUSE_OTHER,
};

/* ---- steps ----------------------------------------------------------------------------------- */

/* Puts into the span what has gone into the parallel slots since the last one; they change only
 * inside of spans. */
static inline void end_span(struct location *location, const struct lull_step *step, int64_t begin,
                            struct lull_span *ret_span)
{
    int64_t sums[LULL_CAUSES] = {0};
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++)
        sums[cause_of[activity]] += step->parallel_ns[activity];
    ret_span->begin = begin;
    ret_span->end = step->time;
    for (int cause = 0; cause < LULL_CAUSES; cause++) {
        ret_span->ns[cause] = sums[cause] - location->handed_over[cause];
        location->handed_over[cause] = sums[cause];
    }
}

/* A worker's span ends, or a piece of it. */
static lull_status end_piece(struct location *location, const struct lull_step *step,
                             struct lull_error *err)
{
    struct lull_span span;
    end_span(location, step, location->told ? location->told_to : step->forked.time, &span);
    location->told = step->kind == LULL_STEP_TICK;
    location->told_to = step->time;
    return lull_executions_add(location->executions, location->thread, &span, err);
}

/* The master's execution ends. */
static lull_status end_execution(struct location *location, const struct lull_step *step,
                                 struct lull_error *err)
{
    struct lull_span span;
    lull_status status = LULL_OK;
    if (!location->told)
        status = lull_executions_open(location->executions, &step->forked, err);
    if (status != LULL_OK)
        return status;
    location->told = false;
    end_span(location, step, step->forked.time, &span);
    lull_executions_close(location->executions, &span, step->region);
    return LULL_OK;
}

static void end_location(const struct lull_collector *collector, struct location *location,
                         const struct lull_ledger *ledger)
{
    memcpy(location->ns, ledger->ns, sizeof location->ns);
    if (ledger->counters)
        memcpy(location->counters, ledger->counters,
               (size_t)collector->trace->n_counters * LULL_ACTIVITIES * sizeof *location->counters);
}

static lull_status take_step(const struct lull_collector *collector, struct location *location,
                             const struct lull_step *step, const struct lull_ledger *ledger,
                             struct lull_error *err)
{
    switch (step->kind) {
    case LULL_STEP_JOIN:
    case LULL_STEP_TICK:
        return location->thread > 0 ? end_piece(location, step, err)
                                    : end_execution(location, step, err);
    case LULL_STEP_END:
        end_location(collector, location, ledger);
        return LULL_OK;
    case LULL_STEP_PHASE:
    case LULL_STEP_SUBMIT:
    case LULL_STEP_DEPEND:
        return lull_device_log_take(collector->devices, (uint32_t)(location - collector->locations),
                                    step, err);
    default:
        return LULL_OK;
    }
}

/* The location has been read up to here. Of a parallel region that is still open, the others learn
 * from its master; what a worker's span holds comes later. */
static lull_status pass_on(struct location *location, const struct lull_ledger *ledger, bool ended,
                           struct lull_error *err)
{
    int64_t until = ended ? INT64_MAX : ledger->now;
    bool open = !ended && ledger->forked.time != LULL_NOT_FORKED;
    if (open && location->thread > 0) {
        until = location->told ? location->told_to : ledger->forked.time;
    } else if (open && !location->told) {
        lull_status status = lull_executions_open(location->executions, &ledger->forked, err);
        if (status != LULL_OK)
            return status;
        location->told = true;
    }
    return lull_executions_pass(location->executions, location->thread, until, err);
}

/* What is handed over is passed on at the end of a block. */
static lull_status take_breakdown_steps(void *context, unsigned worker,
                                        const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    const struct lull_collector *collector = context;
    struct location *location = &collector->locations[steps->location];
    for (uint32_t i = 0; i < steps->count; i++) {
        lull_status status = LULL_OK;
        if (KINDS >> steps->steps[i].kind & 1)
            status = take_step(collector, location, &steps->steps[i], steps->ledger, err);
        if (status != LULL_OK)
            return status;
    }
    unsigned last = steps->count ? steps->steps[steps->count - 1].kind : LULL_STEP_KINDS;
    if (!location->executions)
        return LULL_OK;
    return pass_on(location, steps->ledger, last == LULL_STEP_END, err);
}

struct lull_consumer lull_collector_consumer(struct lull_collector *collector)
{
    return (struct lull_consumer){.context = collector,
                                  .wants =
                                      collector->devices ? KINDS : KINDS & ~LULL_DEVICE_LOG_WANTS,
                                  .wants_ledger = true,
                                  .steps = take_breakdown_steps};
}

void lull_collector_prepare(const struct lull_collector *collector, struct lull_pass_options *pass)
{
    pass->tick = collector->trace->duration / PIECES + 1;
    pass->regions = collector->regions;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool add_process_ledgers(struct lull_collector *collector, uint32_t p)
{
    const struct lull_trace *trace = collector->trace;
    const struct lull_process *process = &trace->processes[p];
    if (process->n_threads &&
        !(collector->executions[p] = lull_executions_create(process->n_threads)))
        return false;
    for (uint32_t i = 0; i < process->n_locations; i++) {
        struct location *location = &collector->locations[process->first_location + i];
        location->thread = i;
        if (i < process->n_threads)
            location->executions = collector->executions[p];
        if (trace->n_counters &&
            !(location->counters =
                  calloc((size_t)trace->n_counters * LULL_ACTIVITIES, sizeof *location->counters)))
            return false;
    }
    return true;
}

static bool fill_collector(struct lull_collector *collector)
{
    const struct lull_trace *trace = collector->trace;
    collector->locations = calloc(trace->n_locations + (size_t)1, sizeof *collector->locations);
    collector->executions =
        calloc(trace->n_processes + (size_t)1, sizeof(struct lull_executions *));
    if (collector->options->regions)
        collector->regions =
            calloc((size_t)collector->workers * trace->n_regions + 1, sizeof *collector->regions);
    if (!collector->locations || !collector->executions ||
        (collector->options->regions && !collector->regions))
        return false;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == collector->reading->application &&
            !add_process_ledgers(collector, p))
            return false;
    return true;
}

lull_status lull_collector_create(const struct lull_trace *trace,
                                  const struct lull_breakdown_options *options, unsigned workers,
                                  struct lull_collector **ret_collector, struct lull_error *err)
{
    struct lull_collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a breakdown");
    collector->trace = trace;
    collector->options = options;
    collector->reading = lull_reading_of(options->reading);
    collector->workers = workers;
    if (!fill_collector(collector)) {
        lull_collector_destroy(collector);
        return lull_fail(err, LULL_ERR_MEMORY,
                         "%s: not enough memory for the breakdown of %u locations", trace->path,
                         trace->n_locations);
    }
    const unsigned keeps =
        LULL_DEVICE_LOG_PLACES | (options->operations ? LULL_DEVICE_LOG_NAMES : 0);
    const lull_status status = lull_device_log_create(trace, collector->reading->application, keeps,
                                                      &collector->devices, err);
    if (status != LULL_OK) {
        lull_collector_destroy(collector);
        return status;
    }
    *ret_collector = collector;
    return LULL_OK;
}

void lull_collector_destroy(struct lull_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t l = 0; collector->locations && l < collector->trace->n_locations; l++)
        free(collector->locations[l].counters);
    for (uint32_t p = 0; collector->executions && p < collector->trace->n_processes; p++)
        lull_executions_destroy(collector->executions[p]);
    free(collector->locations);
    free(collector->executions);
    free(collector->regions);
    lull_device_log_destroy(collector->devices);
    free(collector);
}

/* ==== a breakdown by itself =================================================================== */

static lull_status check_application(const struct lull_trace *trace, uint32_t application,
                                     struct lull_error *err)
{
    for (uint32_t i = 0; i < trace->n_processes; i++) {
        if (trace->processes[i].application == application)
            return LULL_OK;
    }
    return lull_fail(err, LULL_ERR_RANGE, "%s: there is no process of application %u", trace->path,
                     application);
}

static bool wants_sums(const struct lull_trace *trace, const struct lull_breakdown_options *options)
{
    if (options->source != LULL_FROM_ANY)
        return options->source == LULL_FROM_SUMS;
    return !lull_reading_of(options->reading)->windows && trace->events != LULL_EVENTS_ALL &&
           trace->has_sums;
}

static lull_status check_events(const struct lull_trace *trace,
                                const struct lull_breakdown_options *options,
                                struct lull_error *err)
{
    if (trace->events != LULL_EVENTS_NONE)
        return LULL_OK;
    if (lull_reading_of(options->reading)->windows)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: holds sums of the whole run and no events (a profile), which do not "
                         "tell a part of it",
                         trace->path);
    return lull_fail(err, LULL_ERR_RANGE,
                     "%s: holds no events (a profile), and not the sums of all threads",
                     trace->path);
}

lull_status lull_breakdown_find_source(const struct lull_trace *trace,
                                       const struct lull_breakdown_options *options,
                                       uint8_t *ret_source, struct lull_error *err)
{
    lull_status status =
        check_application(trace, lull_reading_of(options->reading)->application, err);
    if (status != LULL_OK)
        return status;
    bool sums = wants_sums(trace, options);
    status = sums ? LULL_OK : check_events(trace, options, err);
    if (status == LULL_OK)
        *ret_source = sums ? LULL_FROM_SUMS : LULL_FROM_EVENTS;
    return status;
}

static struct lull_team *team_of(const struct lull_breakdown_options *options)
{
    return lull_division_team(lull_reading_of(options->reading)->division);
}

static lull_status compute_from_events(const struct lull_trace *trace,
                                       const struct lull_breakdown_options *options,
                                       struct lull_arena *arena,
                                       struct lull_breakdown **ret_breakdown,
                                       struct lull_error *err)
{
    struct lull_pass_options pass = {.reading = options->reading};
    struct lull_collector *collector = NULL;
    lull_status status =
        lull_collector_create(trace, options, lull_pass_workers(trace, &pass), &collector, err);
    if (status == LULL_OK) {
        lull_collector_prepare(collector, &pass);
        const struct lull_consumer consumer = lull_collector_consumer(collector);
        status = lull_pass_run(trace, &pass, &consumer, 1, err);
    }
    status = lull_team_agree(team_of(options), status, err);
    if (status == LULL_OK)
        status = lull_collector_gather(collector, err);
    *ret_breakdown = NULL;
    if (status == LULL_OK && lull_team_is_first(team_of(options)))
        status = lull_collector_result(collector, arena, ret_breakdown, err);
    lull_collector_destroy(collector);
    return status;
}

lull_status lull_breakdown_compute(const struct lull_trace *trace,
                                   const struct lull_breakdown_options *options,
                                   struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                   struct lull_error *err)
{
    uint8_t source;
    lull_status status = lull_breakdown_find_source(trace, options, &source, err);
    if (status != LULL_OK)
        return status;
    if (source == LULL_FROM_SUMS && !lull_team_is_first(team_of(options))) {
        *ret_breakdown = NULL; /* sums are few, and the first member reads them */
        return LULL_OK;
    }
    return source == LULL_FROM_SUMS
               ? breakdown_of_sums(trace, options, arena, ret_breakdown, err)
               : compute_from_events(trace, options, arena, ret_breakdown, err);
}
