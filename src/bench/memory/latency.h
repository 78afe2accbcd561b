/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency of loads by level: "L2.latency.1". */
#ifndef LULL_BENCH_MEMORY_LATENCY_H
#define LULL_BENCH_MEMORY_LATENCY_H

#include "bench/benchmark.h"
#include "bench/kernel.h"

/* Writes one pointer into every line of 64 bytes, from the start of `memory`, so that they form one
 * cycle through all `lines`, a power of two. Line i points to line (a i + c) mod lines, which
 * visits all of them and keeps no stride (Hull and Dobell, SIAM Review 4, 1962). It is written in
 * order, which a shuffle of a GiB would not be. */
void lull_latency_make_cycle(void *memory, size_t lines);

#endif
