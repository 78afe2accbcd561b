/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory domains: computations that share bandwidth, each at the pace that its domain has. */
#include "base/array.h"
#include "sim/engine/run.h"
#include "sim/memory.h"

#include <math.h>
#include <stdlib.h>

/* Work that a computation has had since its domain began, in ns at the pace of a full domain; the
 * part is below 1, so that sums stay exact however long a simulation is. */
struct work {
    int64_t whole;
    double part;
};

struct computation {
    struct work due;   /* waiting: the time of its start; running: the work at which it is over */
    uint64_t serial;   /* of its coming */
    uint32_t id, path; /* id: of its transfer */
    int64_t start, duration;
    int64_t noise, delay;
};

/* Binary heap, the first one due on top. */
struct computations {
    struct computation *items;
    size_t count, room;
};

/* All that run at once have the same pace: what each has had of it is one number. */
struct lull_domain {
    struct computations waiting, running;
    struct computations over; /* of the event at hand, no heap */
    uint64_t n_serials;
    struct work done;
    int64_t at;  /* until then `done` is true */
    int64_t due; /* of its latest event; other events are void */
};

/* ---- heaps ---------------------------------------------------------------------------------- */

static bool is_before(const struct computation *a, const struct computation *b)
{
    if (a->due.whole != b->due.whole)
        return a->due.whole < b->due.whole;
    return a->due.part < b->due.part || (a->due.part == b->due.part && a->serial < b->serial);
}

/* Room for one more; the engine has failed if there is none. */
static bool reserve_computation(struct lull_engine *engine, struct computations *heap)
{
    if (lull_array_reserve(&heap->items, &heap->room, heap->count + 1, sizeof *heap->items))
        return true;
    lull_run_out_of_memory(engine);
    return false;
}

static void push(struct lull_engine *engine, struct computations *heap,
                 const struct computation *computation)
{
    if (!reserve_computation(engine, heap))
        return;
    size_t at = heap->count++;
    for (; at > 0 && is_before(computation, &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = *computation;
}

/* Of a heap that is not empty. */
static struct computation pop(struct computations *heap)
{
    const struct computation first = heap->items[0], last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!is_before(&heap->items[child], &last))
            break;
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last;
    return first;
}

/* ---- a domain ------------------------------------------------------------------------------- */

lull_status lull_domain_open(struct lull_engine *engine)
{
    const struct lull_memory *memory = engine->options->memory;
    if (!memory)
        return LULL_OK;
    engine->n_domains = (engine->program->n_ranks - 1) / memory->ranks + 1;
    engine->domains = calloc(engine->n_domains, sizeof *engine->domains);
    if (!engine->domains)
        return lull_run_out_of_memory(engine);
    for (uint32_t d = 0; d < engine->n_domains; d++)
        engine->domains[d].due = INT64_MAX; /* nothing, and not what is due at 0 */
    return LULL_OK;
}

void lull_domain_close(struct lull_engine *engine)
{
    for (uint32_t d = 0; engine->domains && d < engine->n_domains; d++) {
        free(engine->domains[d].waiting.items);
        free(engine->domains[d].running.items);
        free(engine->domains[d].over.items);
    }
    free(engine->domains);
}

static void add_roots(struct lull_engine *engine, const struct computations *computations)
{
    for (size_t i = 0; i < computations->count; i++)
        lull_path_root(engine->fabric.path, &computations->items[i].path);
}

void lull_domain_roots(struct lull_engine *engine)
{
    for (uint32_t d = 0; d < engine->n_domains; d++) {
        add_roots(engine, &engine->domains[d].waiting);
        add_roots(engine, &engine->domains[d].running);
    }
}

static double pace_of(const struct lull_engine *engine, const struct lull_domain *domain)
{
    return engine->options->memory->pace[domain->running.count];
}

/* Counts from 0 again before numbers of ns are no longer such. */
static void count_again(struct lull_domain *domain)
{
    int64_t whole = domain->done.whole;
    if (whole < INT64_C(1) << 60)
        return;
    for (size_t i = 0; i < domain->running.count; i++)
        domain->running.items[i].due.whole -= whole;
    domain->done.whole = 0;
}

/* What has been computed until now. Between two events of a domain nothing begins. */
static void go_on(const struct lull_engine *engine, struct lull_domain *domain)
{
    double part = domain->done.part;
    if (domain->running.count > 0)
        part += (double)(engine->now - domain->at) * pace_of(engine, domain);
    domain->done.whole += (int64_t)floor(part);
    domain->done.part = part - floor(part);
    domain->at = engine->now;
    count_again(domain);
}

static void start_running(struct lull_engine *engine, struct lull_domain *domain,
                          struct computation *computation)
{
    computation->due = domain->done;
    computation->due.whole += computation->duration;
    push(engine, &domain->running, computation);
}

static double left_of(const struct lull_domain *domain, const struct computation *computation)
{
    return (double)(computation->due.whole - domain->done.whole) +
           (computation->due.part - domain->done.part);
}

/* Ends belong to their nanosecond, and sums of doubles are not exact. */
static bool is_over(double left, double pace)
{
    return left <= 1e-6 * pace;
}

/* The next moment at which a computation of the domain begins or ends. */
static void plan(struct lull_engine *engine, uint32_t number)
{
    struct lull_domain *domain = &engine->domains[number];
    int64_t due = domain->waiting.count > 0 ? domain->waiting.items[0].start : INT64_MAX;
    if (domain->running.count > 0) {
        double pace = pace_of(engine, domain), left = left_of(domain, &domain->running.items[0]);
        double span = is_over(left, pace) ? 0 : fmax(1, ceil(left / pace - 1e-6));
        int64_t end = span < (double)(LULL_TIME_MOST - domain->at) ? domain->at + (int64_t)span
                                                                   : LULL_TIME_MOST + 1;
        due = end < due ? end : due;
    }
    if (due == INT64_MAX || due == domain->due)
        return;
    domain->due = due;
    lull_push(engine, LULL_RUN_DOMAIN, due, number * engine->options->memory->ranks, number);
}

void lull_domain_compute(struct lull_engine *engine, uint32_t id, struct lull_moment start,
                         int64_t duration, int64_t noise, int64_t delay)
{
    uint32_t number = lull_transfer_at(engine, id)->source / engine->options->memory->ranks;
    struct lull_domain *domain = &engine->domains[number];
    struct computation computation = {.due.whole = start.time,
                                      .serial = domain->n_serials++,
                                      .id = id,
                                      .path = start.path,
                                      .start = start.time,
                                      .duration = duration,
                                      .noise = noise,
                                      .delay = delay};
    go_on(engine, domain);
    if (start.time <= domain->at)
        start_running(engine, domain, &computation);
    else
        push(engine, &domain->waiting, &computation);
    plan(engine, number);
}

static int compare_serials(const void *a, const void *b)
{
    const struct computation *x = a, *y = b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

/* Takes away what is over now, in the order of its coming. */
static void take_over(struct lull_engine *engine, struct lull_domain *domain)
{
    double pace = pace_of(engine, domain);
    domain->over.count = 0;
    while (domain->running.count > 0 && is_over(left_of(domain, &domain->running.items[0]), pace) &&
           reserve_computation(engine, &domain->over))
        domain->over.items[domain->over.count++] = pop(&domain->running);
    if (domain->over.count > 1)
        qsort(domain->over.items, domain->over.count, sizeof *domain->over.items, compare_serials);
}

void lull_domain_event(struct lull_engine *engine, uint32_t number)
{
    struct lull_domain *domain = &engine->domains[number];
    if (engine->now != domain->due)
        return;
    domain->due = INT64_MAX;
    go_on(engine, domain);
    while (domain->waiting.count > 0 && domain->waiting.items[0].start <= domain->at) {
        struct computation computation = pop(&domain->waiting);
        start_running(engine, domain, &computation);
    }
    take_over(engine, domain);
    for (size_t i = 0; i < domain->over.count; i++) {
        const struct computation *computation = &domain->over.items[i];
        lull_computed(engine, computation->id,
                      (struct lull_moment){computation->start, computation->path},
                      engine->now - computation->start, computation->noise, computation->delay);
    }
    plan(engine, number);
}
