/* The lines that kernels of a solver load and store, because a cache has lost them since they were
 * used before, against a slow simulation: elements with time stamps, the oldest one leaves. */
#include "model/solver/solver.h"

#include "stats/random.h"
#include "support/branches.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARRAYS = 5, KERNELS = 5, HALF = 30, MOST = 2 * HALF, WARM = 3 };

enum { LOADS, STORES, KEPT, BACKWARD, BRANCHES };
static struct branch branches[BRANCHES] = {
    [LOADS] = {.what = "elements are loaded", .least = 300},
    [STORES] = {.what = "elements are stored", .least = 300},
    [KEPT] = {.what = "some are loaded and some are kept", .least = 200},
    [BACKWARD] = {.what = "a kernel goes backwards", .least = 300},
};

struct element {
    bool present, dirty;
    uint64_t used;
    size_t writer;
};

struct slow {
    struct element elements[ARRAYS][MOST];
    unsigned lengths[ARRAYS];
    size_t held, capacity;
    uint64_t now;
    double loads[KERNELS], stores[KERNELS];
};

static void slow_drop_oldest(struct slow *slow)
{
    struct element *oldest = NULL;
    for (size_t a = 0; a < ARRAYS; a++)
        for (unsigned i = 0; i < slow->lengths[a]; i++) {
            struct element *element = &slow->elements[a][i];
            if (element->present && (!oldest || element->used < oldest->used))
                oldest = element;
        }
    slow->stores[oldest->writer] += oldest->dirty;
    oldest->present = oldest->dirty = false;
    slow->held--;
}

static void slow_touch(struct slow *slow, size_t kernel, const struct lull_solver_use *use,
                       unsigned place)
{
    struct element *element = &slow->elements[use->array][place];
    if (!element->present) {
        slow->loads[kernel]++;
        slow->held++;
        element->present = true;
    }
    element->used = ++slow->now;
    if (use->written) {
        element->dirty = true;
        element->writer = kernel;
    }
    if (slow->held > slow->capacity)
        slow_drop_oldest(slow);
}

static void slow_iterate(struct slow *slow, const struct lull_solver *solver,
                         const struct lull_solver_walk *walks)
{
    for (size_t k = 0; k < solver->n_kernels; k++)
        for (unsigned number = 0; number < solver->kernels[k].count; number++)
            for (unsigned i = 0; i < solver->kernels[k].points; i++)
                for (size_t u = 0; u < walks[k].n_uses; u++)
                    slow_touch(slow, k, &walks[k].uses[u],
                               walks[k].backward ? (unsigned)solver->kernels[k].points - 1 - i : i);
}

/* ---- random solvers -------------------------------------------------------------------------- */

static unsigned below(struct lull_random *random, unsigned end)
{
    return (unsigned)(lull_random_below(random, end));
}

struct drawn {
    struct lull_solver solver;
    struct lull_solver_kernel kernels[KERNELS];
    struct lull_solver_walk walks[KERNELS];
    struct lull_solver_use uses[KERNELS][ARRAYS];
    double sizes[LULL_SOLVER_ARRAYS];
};

/* Arrays have one of two lengths, and a kernel uses those of one length. */
static void draw(struct lull_random *random, struct drawn *drawn, struct slow *slow)
{
    *drawn = (struct drawn){.solver = {.kernels = drawn->kernels}};
    *slow = (struct slow){.capacity = 0};
    for (size_t a = 0; a < ARRAYS; a++) {
        slow->lengths[a] = below(random, 3) ? MOST : HALF;
        drawn->sizes[a] = slow->lengths[a];
    }
    drawn->solver.n_kernels = 1 + below(random, KERNELS);
    for (size_t k = 0; k < drawn->solver.n_kernels; k++) {
        unsigned length = below(random, 3) ? MOST : HALF;
        struct lull_solver_walk *walk = &drawn->walks[k];
        drawn->kernels[k].points = length;
        drawn->kernels[k].count = below(random, 3) ? 1 : 2 + below(random, 2);
        *walk = (struct lull_solver_walk){drawn->uses[k], 0, below(random, 3) == 0};
        for (size_t a = 0; a < ARRAYS; a++)
            if (slow->lengths[a] == length && below(random, 2))
                drawn->uses[k][walk->n_uses++] =
                    (struct lull_solver_use){.array = a, .written = below(random, 2), .times = 1};
    }
    /* Away from whole and half arrays, where all elements leave or none. */
    slow->capacity = HALF * below(random, 2 * ARRAYS) + HALF / 4 + below(random, HALF / 2);
}

/* Elements at which a kernel stands are not counted as between two uses, so that the place from
 * which on elements leave is not exact. */
static void check(const char *what, unsigned round, size_t kernel, const struct drawn *drawn,
                  double per_line, double simulated)
{
    const struct lull_solver_kernel *k = &drawn->kernels[kernel];
    double lines = per_line * k->points * k->count;
    double within = 2.0 * (double)drawn->walks[kernel].n_uses * k->count;
    fail_if(!(fabs(lines - simulated) <= within), "round %u, kernel %zu: %g %s, simulated %g",
            round, kernel, lines, what, simulated);
}

static void test_random(void **state)
{
    (void)state;
    static struct drawn drawn;
    static struct slow slow;
    struct lull_random random;
    double all = 0, off = 0;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(2000);
    for (unsigned round = 0; round < rounds; round++) {
        draw(&random, &drawn, &slow);
        const struct lull_solver_cache cache = {1, 1, (double)slow.capacity};
        lull_solver_reuse(&drawn.solver, drawn.walks, drawn.sizes, 0, &cache);
        for (unsigned i = 0; i < WARM; i++)
            slow_iterate(&slow, &drawn.solver, drawn.walks);
        for (size_t k = 0; k < KERNELS; k++)
            slow.loads[k] = slow.stores[k] = 0;
        slow_iterate(&slow, &drawn.solver, drawn.walks);
        for (size_t k = 0; k < drawn.solver.n_kernels; k++) {
            const struct lull_ecm_lines *lines = &drawn.kernels[k].lines[0];
            double elements = drawn.kernels[k].points * drawn.kernels[k].count;
            check("loads", round, k, &drawn, lines->loads, slow.loads[k]);
            check("stores", round, k, &drawn, lines->stores, slow.stores[k]);
            off += fabs(lines->loads * elements - slow.loads[k]) +
                   fabs(lines->stores * elements - slow.stores[k]);
            all += slow.loads[k] + slow.stores[k];
            branch_reach(&branches[LOADS], slow.loads[k] > 0);
            branch_reach(&branches[STORES], slow.stores[k] > 0);
            branch_reach(&branches[KEPT],
                         slow.loads[k] > 0 && slow.loads[k] < elements * drawn.walks[k].n_uses);
            branch_reach(&branches[BACKWARD], drawn.walks[k].backward && drawn.walks[k].n_uses > 0);
        }
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
    print_message("elements moved: %.0f, differences %.0f\n", all, off);
    assert_true(off <= 0.01 * all);
}

TEST_GROUP(test_solver_reuse)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return run_cases(tests, NULL, NULL);
}
