/* Memory domains: computations that share bandwidth, each at the pace that its domain has. */
#include "sim/engine/run.h"
#include "sim/memory/memory.h"

#include <math.h>
#include <stdlib.h>

struct computation {
    uint32_t id; /* of its transfer */
    uint32_t path;
    int64_t start;
    double left; /* ns, at the pace of a full domain */
    int64_t noise, delay;
};

struct lull_domain {
    struct computation *computations; /* that have begun or will, in the order of their coming */
    size_t count, room;
    int64_t at;  /* until then `left` is true */
    int64_t due; /* of its latest event; other events are void */
};

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
    for (uint32_t d = 0; engine->domains && d < engine->n_domains; d++)
        free(engine->domains[d].computations);
    free(engine->domains);
}

void lull_domain_roots(struct lull_engine *engine)
{
    for (uint32_t d = 0; d < engine->n_domains; d++)
        for (size_t i = 0; i < engine->domains[d].count; i++)
            lull_path_root(engine->fabric.path, &engine->domains[d].computations[i].path);
}

static double pace_of(const struct lull_engine *engine, const struct lull_domain *domain)
{
    uint32_t running = 0;
    for (size_t i = 0; i < domain->count; i++)
        running += domain->computations[i].start <= domain->at;
    return engine->options->memory->pace[running];
}

/* What has been computed until now. Between two events of a domain nothing begins. */
static void go_on(const struct lull_engine *engine, struct lull_domain *domain)
{
    double done = (double)(engine->now - domain->at) * pace_of(engine, domain);
    for (size_t i = 0; i < domain->count; i++)
        if (domain->computations[i].start <= domain->at)
            domain->computations[i].left -= done;
    domain->at = engine->now;
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
    double pace = pace_of(engine, domain), least = INFINITY;
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < domain->count; i++) {
        const struct computation *computation = &domain->computations[i];
        if (computation->start <= domain->at)
            least = fmin(least, computation->left);
        else if (computation->start < due)
            due = computation->start;
    }
    if (isfinite(least)) {
        double span = is_over(least, pace) ? 0 : fmax(1, ceil(least / pace - 1e-6));
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
    if (!lull_run_grow((void **)&domain->computations, &domain->room, domain->count + 1,
                       sizeof *domain->computations)) {
        lull_run_out_of_memory(engine);
        return;
    }
    go_on(engine, domain);
    domain->computations[domain->count++] =
        (struct computation){id, start.path, start.time, (double)duration, noise, delay};
    plan(engine, number);
}

void lull_domain_event(struct lull_engine *engine, uint32_t number)
{
    struct lull_domain *domain = &engine->domains[number];
    if (engine->now != domain->due)
        return;
    domain->due = INT64_MAX;
    go_on(engine, domain);
    double pace = pace_of(engine, domain);
    size_t kept = 0;
    for (size_t i = 0; i < domain->count; i++) {
        const struct computation computation = domain->computations[i];
        bool over = computation.start <= engine->now && is_over(computation.left, pace);
        if (!over)
            domain->computations[kept++] = computation;
        else
            lull_computed(engine, computation.id,
                          (struct lull_moment){computation.start, computation.path},
                          engine->now - computation.start, computation.noise, computation.delay);
    }
    domain->count = kept;
    plan(engine, number);
}
