#include "model/solver/reuse.h"

#include <math.h>

struct execution {
    size_t kernel;
    double number; /* among those of this kernel, which come in a row; from 0 */
};

struct reuse {
    const struct lull_solver *solver;
    const struct lull_solver_walk *walks;
    const double *sizes;
    const struct lull_solver_cache *cache;
    double bytes; /* of an instance that would hold as much of all arrays as one does of its part */
    double share; /* of all elements, those of the cores that are looked at */
};

static struct execution after(const struct reuse *reuse, struct execution execution)
{
    if (++execution.number < reuse->solver->kernels[execution.kernel].count)
        return execution;
    return (struct execution){(execution.kernel + 1) % reuse->solver->n_kernels, 0};
}

static const struct lull_solver_use *use_of(const struct lull_solver_walk *walk, size_t array)
{
    for (size_t i = 0; i < walk->n_uses; i++)
        if (walk->uses[i].array == array)
            return &walk->uses[i];
    return NULL;
}

/* Parts of an array that were touched between two uses of an element. */
enum { BELOW = 1, ABOVE = 2 }; /* elements before it in memory, and behind it */

/* Of the elements of an array, as far as their place in it goes (0 its begin, 1 its end), the parts
 * below `low` and above `high` have left a level. */
struct gone {
    double low, high;
};

static double share_gone(struct gone gone)
{
    return fmin(1, gone.low + 1 - gone.high);
}

/* Bytes touched between are a line over the place of the element: `begin` at 0, `end` at 1. */
static struct gone beyond(double begin, double end, double bytes)
{
    if (fmax(begin, end) <= bytes)
        return (struct gone){0, 1};
    if (fmin(begin, end) >= bytes)
        return (struct gone){1, 1};
    double place = (bytes - begin) / (end - begin);
    return begin > end ? (struct gone){place, 1} : (struct gone){0, place};
}

/* From an execution that uses an array to the next one that does: which of its elements leave the
 * level in the meantime. */
static struct gone wait_for_use(const struct reuse *reuse, struct execution from, size_t array,
                                struct execution *ret_next)
{
    unsigned char touched[LULL_SOLVER_ARRAYS] = {0};
    double begin = 0, end = 0;
    const struct lull_solver_walk *walk = &reuse->walks[from.kernel];
    struct execution next = from;
    bool reached = false;
    for (size_t i = 0; i < walk->n_uses; i++)
        touched[walk->uses[i].array] |= walk->backward ? BELOW : ABOVE;
    while (!reached) {
        next = after(reuse, next);
        walk = &reuse->walks[next.kernel];
        reached = use_of(walk, array) != NULL;
        for (size_t i = 0; i < walk->n_uses; i++)
            touched[walk->uses[i].array] |= !reached         ? BELOW | ABOVE
                                            : walk->backward ? ABOVE
                                                             : BELOW;
        if (!reached) /* further executions of the same kernel touch nothing new */
            next.number = reuse->solver->kernels[next.kernel].count;
    }
    for (size_t i = 0; i < LULL_SOLVER_ARRAYS; i++) {
        end += touched[i] & BELOW ? reuse->sizes[i] : 0;
        begin += touched[i] & ABOVE ? reuse->sizes[i] : 0;
    }
    *ret_next = next;
    return beyond(begin, end, reuse->bytes);
}

static bool splits_points(const struct reuse *reuse, struct execution execution)
{
    return reuse->solver->kernels[execution.kernel].wavefronts > 0;
}

/* What the next user of an array has to load: what has left, and what another core has. */
static double share_loaded(const struct reuse *reuse, struct execution from, struct execution next,
                           struct gone gone)
{
    double kept = 1 - share_gone(gone);
    if (splits_points(reuse, from) != splits_points(reuse, next))
        kept /= ceil((double)reuse->cache->cores / reuse->cache->sharers);
    return 1 - kept;
}

/* Times that a line is read again because the rows around it do not stay in a core's share. */
static double times_again(const struct reuse *reuse, struct execution execution,
                          const struct lull_solver_use *use)
{
    const struct lull_solver_cache *cache = reuse->cache;
    double around = use->layer_bytes / (splits_points(reuse, execution) ? cache->cores : 1);
    return reuse->bytes / cache->cores < around ? use->times - 1 : 0;
}

/* Adds what happens to an array from one use by a kernel on: the next user loads what has left. */
static void add_use(const struct reuse *reuse, struct execution from,
                    const struct lull_solver_use *use, size_t level)
{
    struct execution next;
    struct gone left = wait_for_use(reuse, from, use->array, &next);
    const struct lull_solver_use *user = use_of(&reuse->walks[next.kernel], use->array);
    struct lull_solver_kernel *kernels = reuse->solver->kernels;
    struct lull_solver_kernel *kernel = &kernels[next.kernel];
    double loaded = share_loaded(reuse, from, next, left);
    double again = times_again(reuse, next, user);
    kernel->lines[level].loads += reuse->share * (loaded + again) / kernel->count;
    if (!user->read)
        kernel->lines[level].allocates += reuse->share * loaded / kernel->count;
    if (!use->written)
        return;
    double stays = 1 - share_loaded(reuse, from, next, left);
    while (!user->written) {
        struct execution user_before = next;
        struct gone later = wait_for_use(reuse, next, use->array, &next);
        left = (struct gone){fmax(left.low, later.low), fmin(left.high, later.high)};
        stays = fmin(stays, 1 - share_loaded(reuse, user_before, next, left));
        user = use_of(&reuse->walks[next.kernel], use->array);
    }
    kernels[from.kernel].lines[level].stores +=
        reuse->share * (1 - stays) / kernels[from.kernel].count;
}

/* Of the cores that share instances with as many others. */
static void add_cores(const struct lull_solver *solver, const struct lull_solver_walk *walks,
                      const double *sizes, size_t level, const struct lull_solver_cache *cache,
                      unsigned sharers, unsigned cores)
{
    const struct reuse reuse = {solver,
                                walks,
                                sizes,
                                cache,
                                cache->bytes * cache->cores / sharers,
                                (double)cores / cache->cores};
    for (size_t k = 0; k < solver->n_kernels; k++)
        for (struct execution e = {k, 0}; e.number < solver->kernels[k].count; e.number++)
            for (size_t i = 0; i < walks[k].n_uses; i++)
                add_use(&reuse, e, &walks[k].uses[i], level);
}

void lull_solver_reuse(struct lull_solver *solver, const struct lull_solver_walk *walks,
                       const double *sizes, size_t level, const struct lull_solver_cache *cache)
{
    unsigned rest = cache->cores % cache->sharers, full = cache->cores - rest;
    for (size_t k = 0; k < solver->n_kernels; k++)
        solver->kernels[k].lines[level] = (struct lull_ecm_lines){0};
    if (full)
        add_cores(solver, walks, sizes, level, cache, cache->sharers, full);
    if (rest)
        add_cores(solver, walks, sizes, level, cache, rest, rest);
}
