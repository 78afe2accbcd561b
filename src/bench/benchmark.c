/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/benchmark.h"

#include "bench/kernel.h"

#include <string.h>

extern const struct lull_benchmark lull_bench_clock, lull_bench_peak_dp_fma, lull_bench_peak_dp,
    lull_bench_peak_sp_fma, lull_bench_peak_sp, lull_bench_divide_dp, lull_bench_divide_sp,
    lull_bench_load, lull_bench_store, lull_bench_copy, lull_bench_update, lull_bench_daxpy,
    lull_bench_triad, lull_bench_add3, lull_bench_add8, lull_bench_sum8, lull_bench_ntstore,
    lull_bench_dot, lull_bench_beside, lull_bench_crossing, lull_bench_latency, lull_bench_sweep,
    lull_bench_openmp_gcc, lull_bench_openmp_clang, lull_bench_mpi, lull_bench_noise;

const struct lull_benchmark *const lull_benchmarks[] = {
    &lull_bench_clock,       &lull_bench_peak_dp_fma, &lull_bench_peak_dp,
    &lull_bench_peak_sp_fma, &lull_bench_peak_sp,     &lull_bench_divide_dp,
    &lull_bench_divide_sp,   &lull_bench_load,        &lull_bench_store,
    &lull_bench_copy,        &lull_bench_update,      &lull_bench_daxpy,
    &lull_bench_triad,       &lull_bench_add3,        &lull_bench_add8,
    &lull_bench_sum8,        &lull_bench_ntstore,     &lull_bench_dot,
    &lull_bench_beside,      &lull_bench_crossing,    &lull_bench_latency,
    &lull_bench_sweep,       &lull_bench_openmp_gcc,  &lull_bench_openmp_clang,
    &lull_bench_mpi,         &lull_bench_noise,       NULL,
};

/* With --quick everything together stays under a minute. */
const struct lull_bench_group lull_bench_groups[] = {
    {"compute", "Arithmetic on registers", {4, 10, 40}},
    {"bandwidth", "Bandwidth, explicit bytes", {14, 48, 240}},
    {"latency", "Latency of dependent loads", {3, 6, 20}},
    {"sweep", "Load bandwidth over the working set", {3, 10, 50}},
    {"openmp", "OpenMP", {8, 24, 100}},
    {"mpi", "MPI", {14, 40, 180}},
    {"noise", "Noise", {3.5, 12, 60}},
    {NULL, NULL, {0}},
};

const struct lull_benchmark *lull_benchmark_find(const char *name)
{
    for (size_t i = 0; lull_benchmarks[i]; i++)
        if (strcmp(lull_benchmarks[i]->name, name) == 0)
            return lull_benchmarks[i];
    return NULL;
}

const struct lull_bench_group *lull_bench_group_find(const char *name)
{
    for (size_t i = 0; lull_bench_groups[i].name; i++)
        if (strcmp(lull_bench_groups[i].name, name) == 0)
            return &lull_bench_groups[i];
    return NULL;
}

lull_status lull_benchmarks_choose(const char *const *names, struct lull_arena *arena,
                                   const struct lull_benchmark *const **ret_wanted,
                                   size_t *ret_count, struct lull_error *err)
{
    const struct lull_benchmark **wanted = NULL;
    size_t count = 0, capacity = 0;
    for (; *names; names++) {
        const struct lull_bench_group *group = lull_bench_group_find(*names);
        if (!group && !lull_benchmark_find(*names))
            return lull_fail(err, LULL_ERR_RANGE, "there is no benchmark '%s'; --list names them",
                             *names);
        for (size_t i = 0; lull_benchmarks[i]; i++) {
            const struct lull_benchmark *benchmark = lull_benchmarks[i];
            if (strcmp(group ? benchmark->group : benchmark->name, *names) != 0)
                continue;
            wanted = lull_arena_grow(arena, wanted, &capacity, count + 1, sizeof *wanted);
            wanted[count++] = benchmark;
        }
    }
    *ret_wanted = wanted;
    *ret_count = count;
    return LULL_OK;
}
