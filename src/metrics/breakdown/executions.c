/* A queue of executions whose sums are not complete, and per worker a queue of spans that the
 * master has not reached. What the master runs through in a block waits in a queue of its own, so
 * that the lock is taken once per block. All are plain arrays with a head; what is left moves to
 * the front when a queue is appended to and full, so that appending costs constant time on
 * average. */
#include "metrics/breakdown/executions.h"

#include "base/array.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    /* touched by the thread's reader only, until it has ended; spans, or passages of a master */
    struct queue spans;
    int64_t until;
    int64_t settled; /* no span that begins earlier waits or will come */
    uint64_t next;   /* the execution, counted from the first of all, that its next span may meet */
};

struct lull_executions {
    pthread_mutex_t lock;
    uint32_t n_threads;
    struct queue open; /* struct execution with n_threads useful times behind it */
    uint64_t dropped;  /* number of executions that have left the queue */
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

/* The first execution that a span of the thread may meet: as the spans of a thread come in order,
 * those that end before one are behind the next as well. */
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

/* Over the executions from `first` on, by overlap. */
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
        add_times(execution, thread, span->ns); /* it meets no other, as nearly always */
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

/* Programs run their regions in the same order again and again: the one after the last is tried
 * first. NULL: no memory. */
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

/* No thread will add to executions that end before this. The queues themselves belong to their
 * readers and are not looked at. */
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

/* Takes over what the master has told. An execution that it has not left yet stays with it too. */
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

void lull_executions_adopt(struct lull_executions *executions, uint32_t n_sums,
                           struct lull_parallel_breakdown *sums, uint32_t *regions)
{
    free(executions->sums);
    free(executions->regions);
    executions->sums = sums;
    executions->regions = regions;
    executions->n_sums = n_sums;
    executions->sums_capacity = executions->regions_capacity = n_sums;
}
