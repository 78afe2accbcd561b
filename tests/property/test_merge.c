/* Merging the parts of a run gives the whole: parts by windows, by processes, by threads, merged
 * in any order and in any grouping. */
#include "metrics/breakdown.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/feed.h"
#include "support/random_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DURATION = 1500, PARTS = 8 };

enum { EMPTY, TORN, COUNTERS, PARALLELS, REGIONS, DEVICES, BRANCHES };
static struct branch branches[BRANCHES] = {
    [EMPTY] = {.what = "a part has no thread", .least = 100},
    [TORN] = {.what = "a process is in several parts", .least = 300},
    [COUNTERS] = {.what = "there are counters", .least = 300},
    [PARALLELS] = {.what = "there are parallel regions", .least = 500},
    [REGIONS] = {.what = "there are regions", .least = 500},
    [DEVICES] = {.what = "there are devices", .least = 100},
};

/* ---- comparing ----------------------------------------------------------------------------- */

static void compare_threads(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    assert_int_equal(a->n_threads, b->n_threads);
    assert_int_equal(a->n_counters, b->n_counters);
    for (uint32_t c = 0; c < a->n_counters; c++)
        assert_string_equal(a->counters[c].name, b->counters[c].name);
    for (uint32_t t = 0; t < a->n_threads; t++) {
        const struct lull_thread_breakdown *x = &a->threads[t], *y = &b->threads[t];
        assert_int_equal(x->process, y->process);
        assert_int_equal(x->number, y->number);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->master, y->master);
        assert_int_equal(x->disabled_ns, y->disabled_ns);
        assert_memory_equal(&x->times, &y->times, sizeof x->times);
        if (a->n_counters)
            assert_memory_equal(x->counters, y->counters,
                                a->n_counters * LULL_ACTIVITIES * sizeof *x->counters);
    }
}

static void compare_processes(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    assert_int_equal(a->n_processes, b->n_processes);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->runtime_ns, b->runtime_ns);
    assert_int_equal(a->duration_ns, b->duration_ns);
    for (uint32_t p = 0; p < a->n_processes; p++) {
        const struct lull_process_breakdown *x = &a->processes[p], *y = &b->processes[p];
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->node, y->node);
        assert_int_equal(x->first_thread, y->first_thread);
        assert_int_equal(x->n_threads, y->n_threads);
        assert_int_equal(x->n_cpu_threads, y->n_cpu_threads);
        assert_int_equal(x->window_ns, y->window_ns);
    }
}

/* All losses of a device. A single one depends on the windows: what comes after a window is "no work" within it. */
static int64_t all_lost(const struct lull_device_breakdown *device)
{
    int64_t sum = 0;
    for (int loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        sum += device->lost_ns[loss];
    return sum;
}

static void compare_sums(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    assert_int_equal(a->n_devices, b->n_devices);
    for (uint32_t i = 0; i < a->n_devices; i++) {
        const struct lull_device_breakdown *x = &a->devices[i], *y = &b->devices[i];
        assert_string_equal(x->id, y->id);
        assert_int_equal(x->n_streams, y->n_streams);
        assert_int_equal(x->n_processes, y->n_processes);
        assert_int_equal(x->kernel_ns, y->kernel_ns);
        assert_int_equal(x->busy_ns, y->busy_ns);
        assert_int_equal(x->copy_ns, y->copy_ns);
        assert_int_equal(x->copy_beside_ns, y->copy_beside_ns);
        if (!y->absent) /* as it is where the recorder was off in a whole part */
            assert_int_equal(all_lost(x), all_lost(y));
    }
    assert_int_equal(a->n_parallels, b->n_parallels);
    for (uint32_t i = 0; i < a->n_parallels; i++) {
        struct lull_parallel_breakdown x = a->parallels[i], y = b->parallels[i];
        assert_string_equal(x.name, y.name);
        x.name = y.name = NULL;
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_int_equal(a->n_regions, b->n_regions);
    for (uint32_t i = 0; i < a->n_regions; i++) {
        const struct lull_region_breakdown *x = &a->regions[i], *y = &b->regions[i];
        assert_string_equal(x->name, y->name);
        assert_string_equal(x->site, y->site);
        assert_int_equal(x->visits, y->visits);
        assert_int_equal(x->inclusive_ns, y->inclusive_ns);
        assert_int_equal(x->exclusive_ns, y->exclusive_ns);
        assert_int_equal(x->useful_ns, y->useful_ns);
    }
}

static void compare(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    compare_threads(a, b);
    compare_processes(a, b);
    compare_sums(a, b);
}

/* ---- parts --------------------------------------------------------------------------------- */

static struct lull_windows *one_window(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_windows *windows = lull_arena_zero(arena, 1, sizeof *windows);
    windows->n_processes = trace->n_processes;
    windows->counts = lull_arena_zero(arena, trace->n_processes, sizeof *windows->counts);
    windows->intervals = lull_arena_zero(arena, trace->n_processes, sizeof(void *));
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        windows->counts[p] = 1;
        windows->intervals[p] = lull_arena_zero(arena, 1, sizeof(struct lull_interval));
    }
    return windows;
}

/* A time outside the executions of the process: the largest useful time of an execution does not
 * add up over parts of it. */
static int64_t draw_cut(struct lull_random *random, const struct random_process *process)
{
    int64_t cut = (int64_t)lull_random_below(random, DURATION);
    for (uint32_t i = 0; i < process->count; i++) {
        if (process->executions[i].begin <= cut && cut <= process->executions[i].end)
            cut = process->executions[i].begin;
    }
    return cut;
}

/* [0, cut) and [cut, end) of each process, cut where it likes. */
static uint32_t split_windows(struct lull_random *random, const struct random_trace *made,
                              struct lull_arena *arena, struct lull_breakdown **parts)
{
    struct lull_windows *windows[2];
    for (int i = 0; i < 2; i++)
        windows[i] = one_window(made->trace, arena);
    for (uint32_t p = 0; p < made->trace->n_processes; p++) {
        int64_t cut = draw_cut(random, &made->processes[p]);
        *windows[0]->intervals[p] = (struct lull_interval){0, cut};
        *windows[1]->intervals[p] = (struct lull_interval){cut, DURATION};
    }
    for (int i = 0; i < 2; i++) {
        const struct lull_breakdown_options options = {
            .reading = &(const struct lull_reading){.windows = windows[i]}, .regions = true};
        parts[i] = feed_breakdown(random, made, &options, arena);
    }
    return 2;
}

/* A copy that keeps some threads. Sums that belong to no thread go with process 0's master, those
 * of a process with its master. */
static struct lull_breakdown *keep(const struct lull_breakdown *from, const unsigned *of_thread,
                                   unsigned part, struct lull_arena *arena)
{
    struct lull_breakdown *to = lull_arena_zero(arena, 1, sizeof *to);
    uint32_t *map = lull_arena_zero(arena, from->n_processes, sizeof *map);
    *to = *from;
    to->processes = lull_arena_zero(arena, from->n_processes, sizeof *to->processes);
    to->threads = lull_arena_zero(arena, from->n_threads, sizeof *to->threads);
    to->parallels = lull_arena_zero(arena, from->n_parallels, sizeof *to->parallels);
    to->n_processes = to->n_threads = to->n_parallels = 0;
    if (of_thread[0] != part)
        to->n_regions = to->n_devices = 0;
    for (uint32_t p = 0; p < from->n_processes; p++) {
        const struct lull_process_breakdown *process = &from->processes[p];
        bool any = false;
        map[p] = to->n_processes;
        for (uint32_t i = 0; i < process->n_threads; i++) {
            if (of_thread[process->first_thread + i] != part)
                continue;
            any = true;
            to->threads[to->n_threads] = from->threads[process->first_thread + i];
            to->threads[to->n_threads++].process = map[p];
        }
        if (any)
            to->processes[to->n_processes++] = *process;
    }
    for (uint32_t i = 0; i < from->n_parallels; i++) {
        uint32_t process = from->parallels[i].process;
        if (of_thread[from->processes[process].first_thread] != part)
            continue;
        to->parallels[to->n_parallels] = from->parallels[i];
        to->parallels[to->n_parallels++].process = map[process];
    }
    return to;
}

/* Deals a part's threads out to two. */
static uint32_t split_threads(struct lull_random *random, struct lull_breakdown *part,
                              bool by_process, struct lull_arena *arena,
                              struct lull_breakdown **ret_parts)
{
    unsigned *of_thread = lull_arena_zero(arena, part->n_threads, sizeof *of_thread);
    unsigned *of_process = lull_arena_zero(arena, part->n_processes, sizeof *of_process);
    for (uint32_t p = 0; p < part->n_processes; p++)
        of_process[p] = (unsigned)lull_random_below(random, 2);
    for (uint32_t t = 0; t < part->n_threads; t++)
        of_thread[t] = by_process ? of_process[part->threads[t].process]
                                  : (unsigned)lull_random_below(random, 2);
    for (unsigned i = 0; i < 2; i++)
        ret_parts[i] = keep(part, of_thread, i, arena);
    return 2;
}

/* Merges two random ones until one is left. */
static struct lull_breakdown *merge_all(struct lull_random *random, struct lull_breakdown **parts,
                                        uint32_t n, struct lull_arena *arena)
{
    struct lull_error err = {""};
    while (n > 1) {
        uint32_t a = (uint32_t)lull_random_below(random, n);
        struct lull_breakdown *whole = parts[a];
        parts[a] = parts[--n];
        uint32_t b = (uint32_t)lull_random_below(random, n);
        assert_int_equal(lull_breakdown_merge(whole, parts[b], arena, &err), LULL_OK);
        parts[b] = whole;
    }
    return parts[0];
}

static void test_parts_make_the_whole(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(300);
    for (unsigned i = 0; i < rounds; i++) {
        const struct random_trace_options options = {i & 1, i & 2, 4, 3, 1, DURATION};
        const struct lull_breakdown_options wanted = {.regions = true};
        struct random_trace made;
        random_trace_make(&random, &options, &made);
        struct lull_arena *arena = made.trace->arena;
        struct lull_breakdown *whole = feed_breakdown(&random, &made, &wanted, arena);

        struct lull_breakdown *by_window[2], *parts[PARTS];
        split_windows(&random, &made, arena, by_window);
        uint32_t n = split_threads(&random, by_window[0], i & 4, arena, parts);
        n += split_threads(&random, by_window[1], i & 8, arena, parts + n);
        uint32_t processes = 0;
        for (uint32_t p = 0; p < n; p++) {
            branch_reach(&branches[EMPTY], parts[p]->n_threads == 0);
            processes += parts[p]->n_processes;
        }
        branch_reach(&branches[TORN], processes > 2 * whole->n_processes);
        branch_reach(&branches[COUNTERS], whole->n_counters > 0);
        branch_reach(&branches[PARALLELS], whole->n_parallels > 0);
        branch_reach(&branches[REGIONS], whole->n_regions > 0);
        branch_reach(&branches[DEVICES], whole->n_devices > 0);
        compare(whole, merge_all(&random, parts, n, arena));
        random_trace_free(&made);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

static struct lull_breakdown *tiny(struct lull_arena *arena, uint8_t role, bool master)
{
    struct lull_breakdown *made = lull_arena_zero(arena, 1, sizeof *made);
    made->run = "tiny";
    made->duration_ns = INT64_MAX;
    made->processes = lull_arena_zero(arena, 1, sizeof *made->processes);
    made->processes[0].name = "process";
    made->n_processes = made->n_threads = made->n_counters = 1;
    made->threads = lull_arena_zero(arena, 1, sizeof *made->threads);
    made->threads[0].master = master;
    made->threads[0].times.ns[LULL_USEFUL][0] = 10;
    made->threads[0].counters = lull_arena_zero(arena, LULL_ACTIVITIES, sizeof(uint64_t));
    made->counters = lull_arena_zero(arena, 1, sizeof *made->counters);
    made->counters[0] = (struct lull_breakdown_counter){"PAPI_TOT_INS", role};
    return made;
}

static void test_contradictions_are_refused(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err = {""};
    struct lull_breakdown *whole = tiny(arena, LULL_COUNTER_INSTRUCTIONS, true);
    struct lull_breakdown *other = tiny(arena, LULL_COUNTER_CYCLES, true);
    assert_int_equal(lull_breakdown_merge(whole, other, arena, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "PAPI_TOT_INS"));
    other = tiny(arena, LULL_COUNTER_INSTRUCTIONS, false);
    assert_int_equal(lull_breakdown_merge(whole, other, arena, &err), LULL_ERR_RANGE);
    other = tiny(arena, LULL_COUNTER_INSTRUCTIONS, true);
    other->threads[0].times.ns[LULL_USEFUL][0] = INT64_MAX - 1;
    assert_int_equal(lull_breakdown_merge(whole, other, arena, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "292 years"));
    other->threads[0].times.ns[LULL_USEFUL][0] = 10;
    other->duration_ns = whole->duration_ns = 19;
    assert_int_equal(lull_breakdown_merge(whole, other, arena, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "part there twice"));
    assert_int_equal(whole->threads[0].times.ns[LULL_USEFUL][0], 10); /* left as it was */
    lull_arena_destroy(arena);
}

TEST_GROUP(test_merge)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_make_the_whole),
        cmocka_unit_test(test_contradictions_are_refused),
    };
    return run_cases(tests, NULL, NULL);
}
