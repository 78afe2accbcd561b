/* SPDX-License-Identifier: BSD-3-Clause */
/* The three steps of a run: plan, visit in rounds, finish. */
#include "bench/benchmark.h"

#include "bench/memory/memory.h"
#include "bench/memory/stream.h"
#include "bench/number.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Rounds in which every task is visited, by effort; so the visits to a number are spread over the
 * run. Tasks whose numbers are not sure enough then get more visits while there is time. */
static const unsigned rounds[LULL_EFFORTS] = {12, 12, 18};
enum { FEWEST_VISITS = 2, MOST_ROUNDS = 48 };
#define WARM_UP_SECONDS 0.2 /* before anything is measured: clocks rise */

/* ---- what benchmarks call -------------------------------------------------------------------- */

const char *lull_bench_text(struct lull_bench *bench, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lull_arena_strdup(bench->arena, text);
}

void lull_bench_skip(struct lull_bench *bench, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct lull_machine_provenance *provenance = &bench->machine->provenance;
    size_t count = provenance->n_remarks, capacity = count;
    provenance->remarks = lull_arena_grow(bench->arena, provenance->remarks, &capacity, count + 1,
                                          sizeof *provenance->remarks);
    provenance->remarks[count] = lull_arena_strdup(bench->arena, text);
    provenance->n_remarks = count + 1;
}

size_t lull_bench_probe(struct lull_bench *bench, const struct lull_probe *probe)
{
    bench->probes = lull_arena_grow(bench->arena, bench->probes, &bench->probe_capacity,
                                    bench->n_probes + 1, sizeof *bench->probes);
    bench->probes[bench->n_probes] = *probe;
    bench->probes[bench->n_probes].of = bench->planning;
    return bench->n_probes++;
}

size_t lull_bench_probe_for(struct lull_bench *bench, const struct lull_task *task,
                            const struct lull_probe *probe)
{
    for (size_t i = 0; i < bench->n_probes; i++)
        if (bench->probes[i].of == task->of && strcmp(bench->probes[i].name, probe->name) == 0)
            return i;
    size_t index = lull_bench_probe(bench, probe);
    bench->probes[index].of = task->of;
    return index;
}

const char *lull_bench_helper(const struct lull_bench *bench, const char *name)
{
    const char *const *folders = bench->settings.helper_folders;
    for (size_t i = 0; folders && folders[i]; i++) {
        const char *path = lull_arena_printf(bench->arena, "%s/%s", folders[i], name);
        if (access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

void lull_bench_task(struct lull_bench *bench, const struct lull_task *task)
{
    bench->tasks = lull_arena_grow(bench->arena, bench->tasks, &bench->task_capacity,
                                   bench->n_tasks + 1, sizeof *bench->tasks);
    bench->tasks[bench->n_tasks] = *task;
    bench->tasks[bench->n_tasks++].of = bench->planning;
}

void lull_bench_add_round(struct lull_bench *bench, size_t index, const struct lull_round *round)
{
    struct lull_probe *probe = &bench->probes[index];
    probe->rounds = lull_arena_grow(bench->arena, probe->rounds, &probe->capacity,
                                    probe->n_rounds + 1, sizeof *probe->rounds);
    probe->rounds[probe->n_rounds++] = *round;
}

lull_status lull_bench_time(struct lull_bench *bench, const struct lull_task *task,
                            const struct lull_timing *timing, struct lull_error *err)
{
    struct lull_timing wanted = *timing;
    struct lull_round round;
    wanted.quantile = LULL_BENCH_QUANTILE;
    wanted.precision = bench->settings.precision;
    lull_status status = lull_time_blocks(bench->topology, &wanted, &round, err);
    if (status == LULL_OK)
        lull_bench_add_round(bench, task->first_probe, &round);
    return status;
}

struct lull_series *lull_bench_series(struct lull_bench *bench)
{
    struct lull_machine *machine = bench->machine;
    size_t capacity = machine->n_series;
    machine->series = lull_arena_grow(bench->arena, machine->series, &capacity,
                                      machine->n_series + 1, sizeof *machine->series);
    return &machine->series[machine->n_series++];
}

size_t lull_bench_thread_counts(const struct lull_topology *topology, unsigned *counts, size_t most)
{
    unsigned all = (unsigned)topology->n_cores, domain = 1; /* that of core 0 */
    for (size_t i = 1; i < topology->n_cores; i++)
        domain += topology->cores[i].numa == topology->cores[0].numa;
    unsigned eighth = (domain + 7) / 8;
    size_t count = 0;
    for (unsigned threads = 1; threads < all && count + 1 < most; threads++)
        if (threads <= 8 || threads % domain == 0 || (threads < domain && threads % eighth == 0))
            counts[count++] = threads;
    counts[count++] = all;
    return count;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static bool is_wanted(const struct lull_bench_settings *settings,
                      const struct lull_benchmark *benchmark)
{
    for (size_t i = 0; settings->wanted && i < settings->n_wanted; i++)
        if (settings->wanted[i] == benchmark)
            return true;
    return !settings->wanted;
}

typedef lull_status step_function(const struct lull_benchmark *self, struct lull_bench *bench,
                                  struct lull_error *err);

/* One benchmark that cannot be planned or finished does not stop the others. */
static lull_status each_wanted(struct lull_bench *bench, bool finish)
{
    for (size_t i = 0; lull_benchmarks[i]; i++) {
        const struct lull_benchmark *benchmark = lull_benchmarks[i];
        step_function *step = finish ? benchmark->finish : benchmark->plan;
        if (!step || !is_wanted(&bench->settings, benchmark))
            continue;
        struct lull_error problem;
        bench->planning = benchmark;
        lull_status status = step(benchmark, bench, &problem);
        if (status == LULL_ERR_CANCELLED)
            return status;
        if (status != LULL_OK)
            lull_bench_skip(bench, "%s: %s", benchmark->name, problem.text);
    }
    return LULL_OK;
}

/* The more threads there are, the smaller are their regions: 1 + 1/2 + 1/3 ... of the first one
 * together, and latency has a region of its own. The limit for each thread count is so much smaller
 * that all regions are within the whole. */
static void find_memory_limit(struct lull_bench *bench)
{
    uint64_t limit = bench->settings.memory;
    if (limit == 0)
        limit = lull_bench_memory_free() / 2;
    bench->memory_limit = (uint64_t)((double)limit / (2 + log((double)bench->topology->n_cores)));
}

/* Opens a region for each thread, with room for its share of every working set and for the space
 * between arrays, and one for latency, where the cycles of all levels lie behind each other. Where
 * there is no address space for that, working sets in memory are made smaller. */
static lull_status open_memory(struct lull_bench *bench, struct lull_error *err)
{
    for (;; bench->memory_limit /= 2) {
        struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
        size_t count =
            lull_bench_find_levels(bench->topology, 1, bench->memory_limit, bench->arena, levels);
        uint64_t limit = bench->memory_limit, most = UINT64_C(1) << 30;
        most = (limit && limit < most ? limit : most) + (UINT64_C(1) << 20);
        for (size_t i = 0; i < count; i++)
            most += levels[i].bytes;
        lull_status status = lull_bench_memory_open(bench->topology->n_cores + 1, most,
                                                    bench->arena, &bench->memory, err);
        if (status != LULL_ERR_MEMORY || limit < UINT64_C(1) << 20)
            return status;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct progress {
    double begin, total; /* s */
};

static double spent_in(const struct lull_bench *bench, const char *group)
{
    double spent = 0;
    for (size_t i = 0; i < bench->n_tasks; i++)
        if (!group || strcmp(bench->tasks[i].of->group, group) == 0)
            spent += bench->tasks[i].spent;
    return spent;
}

static double share_of(const struct lull_task *task)
{
    return task->share > 0 ? task->share : 1;
}

static unsigned visits_of(const struct lull_bench *bench, const struct lull_task *task)
{
    unsigned all = rounds[bench->settings.effort];
    return task->visits && task->visits < all ? task->visits : all;
}

/* Seconds that one visit of a task may take: its part of its group's time, in equal visits. */
static double visit_seconds(const struct lull_bench *bench, const struct lull_task *task)
{
    const struct lull_bench_group *group = lull_bench_group_find(task->of->group);
    double shares = 0;
    for (size_t i = 0; i < bench->n_tasks; i++)
        if (strcmp(bench->tasks[i].of->group, group->name) == 0)
            shares += share_of(&bench->tasks[i]);
    return group->seconds[bench->settings.effort] * share_of(task) / shares /
           visits_of(bench, task);
}

static bool are_probes_sure(struct lull_bench *bench, const struct lull_task *task,
                            struct lull_arena *scratch)
{
    for (size_t i = 0; i < task->n_probes; i++) {
        const struct lull_probe *probe = &bench->probes[task->first_probe + i];
        struct lull_number number = lull_probe_number(probe, bench->settings.precision, scratch);
        if (number.verdict == LULL_VERDICT_NOT_CONVERGED)
            return false;
    }
    return true;
}

static void sample_clock(struct lull_bench *bench)
{
    bench->cycles = lull_arena_grow(bench->arena, bench->cycles, &bench->cycle_capacity,
                                    bench->n_cycles + 1, sizeof *bench->cycles);
    bench->cycles[bench->n_cycles++] = lull_bench_cycle();
}

/* A task that fails once is not tried again; what it has measured stands. */
static lull_status visit_task(struct lull_bench *bench, struct lull_task *task)
{
    struct lull_error problem;
    double begin = lull_bench_now();
    lull_status status = task->visit(bench, task, visit_seconds(bench, task), &problem);
    task->spent += lull_bench_now() - begin;
    task->visited++;
    sample_clock(bench);
    if (status != LULL_OK && status != LULL_ERR_CANCELLED) {
        lull_bench_skip(bench, "%s: %s", task->name, problem.text);
        task->given_up = true;
    }
    return status == LULL_ERR_CANCELLED ? status : LULL_OK;
}

static void tell(struct lull_bench *bench, const struct progress *progress, const char *what)
{
    double share = progress->total > 0 ? spent_in(bench, NULL) / progress->total : 1;
    if (bench->settings.progress)
        bench->settings.progress(bench->settings.progress_context, fmin(share, 1), what);
}

/* Whether a task is to be visited in this round. In the first rounds it always is; a task with a
 * number of visits of its own is visited in so many of them, at equal distances, unless other
 * programs use the cores so much that its group has had its time already. In later rounds it is
 * visited only when its numbers are not sure and its group has time left. */
static bool is_due(struct lull_bench *bench, const struct lull_task *task, unsigned round,
                   struct lull_arena *scratch)
{
    const struct lull_bench_group *group = lull_bench_group_find(task->of->group);
    double left = group->seconds[bench->settings.effort] - spent_in(bench, group->name);
    unsigned all = rounds[bench->settings.effort], wanted = visits_of(bench, task);
    if (task->given_up || (round < all && round * wanted % all >= wanted))
        return false;
    if (round < all)
        return task->visited < FEWEST_VISITS || left > 0;
    return !task->visits && left > visit_seconds(bench, task) &&
           !are_probes_sure(bench, task, scratch);
}

static lull_status visit_all(struct lull_bench *bench)
{
    struct progress progress = {lull_bench_now(), 0};
    for (size_t i = 0; i < bench->n_tasks; i++)
        progress.total +=
            visit_seconds(bench, &bench->tasks[i]) * visits_of(bench, &bench->tasks[i]);
    bool any = true;
    for (unsigned round = 0; round < MOST_ROUNDS && (any || round < rounds[bench->settings.effort]);
         round++) {
        struct lull_arena *scratch = lull_arena_create(NULL);
        lull_status status = LULL_OK;
        any = false;
        for (size_t i = 0; status == LULL_OK && i < bench->n_tasks; i++) {
            if (!is_due(bench, &bench->tasks[i], round, scratch))
                continue;
            any = true;
            tell(bench, &progress, bench->tasks[i].name);
            status = visit_task(bench, &bench->tasks[i]);
        }
        lull_arena_destroy(scratch);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static void warm_up_body(void *context, unsigned thread, uint64_t repetitions)
{
    (void)context;
    (void)thread;
    for (uint64_t i = 0; i < repetitions; i++)
        lull_keep((double)i);
}

static lull_status warm_up(const struct lull_bench *bench, struct lull_error *err)
{
    const struct lull_timing timing = {.body = warm_up_body,
                                       .threads = (unsigned)bench->topology->n_cores,
                                       .seconds = WARM_UP_SECONDS,
                                       .quantile = LULL_BENCH_QUANTILE};
    struct lull_round round;
    return lull_time_blocks(bench->topology, &timing, &round, err);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void describe_run(struct lull_bench *bench)
{
    static const char *const efforts[LULL_EFFORTS] = {"quick", "standard", "full"};
    struct lull_machine_provenance *provenance = &bench->machine->provenance;
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    provenance->kind = "measured";
    provenance->date = lull_bench_text(bench, "%s", date);
    provenance->lull = LULL_VERSION;
    provenance->effort = efforts[bench->settings.effort];
#if defined(__clang__)
    provenance->compiler = "clang " __clang_version__;
#else
    provenance->compiler = "gcc " __VERSION__;
#endif
#if defined(__OPTIMIZE__)
    provenance->flags = "optimised; kernels are written in instructions where there are any";
#else
    provenance->flags = "not optimised; kernels are written in instructions where there are any";
#endif
    provenance->clock_source = "CLOCK_MONOTONIC";
    provenance->pinning = "one thread per core, by hwloc";
    if (bench->topology->restricted)
        lull_bench_skip(bench, "only %zu of the system's cores may be used by this process",
                        bench->topology->n_cores);
    if (bench->topology->n_caches == 0)
        lull_bench_skip(bench, "the sizes of the caches are hidden");
}

static void collect_numbers(struct lull_bench *bench)
{
    for (size_t i = 0; i < bench->n_probes; i++) {
        const struct lull_probe *probe = &bench->probes[i];
        if (probe->point || probe->n_rounds == 0)
            continue;
        struct lull_number number =
            lull_probe_number(probe, bench->settings.precision, bench->arena);
        lull_machine_set(bench->machine, bench->arena, &number);
    }
    if (bench->memory)
        bench->machine->provenance.pages = lull_bench_memory_pages(bench->memory, bench->arena);
}

static void widen_numbers(struct lull_bench *bench)
{
    struct lull_number_list *numbers = &bench->machine->numbers;
    const struct lull_clock_range clock = lull_clock_range_of(bench->cycles, bench->n_cycles);
    for (size_t i = 0; i < numbers->count; i++)
        lull_number_widen(&numbers->items[i], &clock);
}

static lull_status run_tasks(struct lull_bench *bench, struct lull_error *err)
{
    lull_machine_describe_host(bench->machine, bench->topology, bench->arena);
    describe_run(bench);
    find_memory_limit(bench);
    lull_status status = open_memory(bench, err);
    if (status == LULL_OK)
        status = each_wanted(bench, false);
    if (status == LULL_OK)
        status = warm_up(bench, err);
    if (status == LULL_OK)
        status = visit_all(bench);
    if (status != LULL_OK)
        return status;
    collect_numbers(bench);
    status = each_wanted(bench, true);
    widen_numbers(bench);
    if (status == LULL_OK && bench->machine->numbers.count == 0 && bench->machine->n_series == 0)
        return lull_fail(
            err, LULL_ERR_RANGE, "nothing could be measured: %s",
            bench->machine->provenance.n_remarks
                ? bench->machine->provenance.remarks[bench->machine->provenance.n_remarks - 1]
                : "no benchmark fits this machine");
    return status;
}

lull_status lull_bench_run(const struct lull_bench_settings *settings,
                           struct lull_topology *topology, struct lull_arena *arena,
                           struct lull_machine **ret_machine, struct lull_error *err)
{
    struct lull_bench *bench = lull_arena_zero(arena, 1, sizeof *bench);
    bench->arena = arena;
    bench->settings = *settings;
    if (bench->settings.precision <= 0)
        bench->settings.precision = LULL_BENCH_PRECISION;
    bench->topology = topology;
    lull_status status = LULL_OK;
    if (!topology)
        status = lull_topology_open(arena, &bench->topology, err);
    if (status != LULL_OK)
        return status;
    bench->machine = lull_machine_create(arena);
    status = run_tasks(bench, err);
    if (status == LULL_OK)
        *ret_machine = bench->machine;
    lull_bench_memory_close(bench->memory);
    if (!topology)
        lull_topology_close(bench->topology);
    return status;
}
