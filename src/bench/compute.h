/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of arithmetic in registers: "peak.dp.fma.avx2.1", "divide.sp.sse.1". */
#ifndef LULL_BENCH_COMPUTE_H
#define LULL_BENCH_COMPUTE_H

#include "bench/benchmark.h"
#include "bench/kernel.h"

/* The `plan` of the benchmarks of arithmetic kernels: every width on one core, the widest on all
 * cores. */
lull_status lull_compute_plan(const struct lull_benchmark *self, struct lull_bench *bench,
                              struct lull_error *err);

#endif
