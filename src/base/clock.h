/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading clocks, inline and without state: raw ticks of the processor's counter, or nanoseconds of
 * a clock of the system. Which of the two the recorder reads, record/clock.h decides. */
#ifndef LULL_BASE_CLOCK_H
#define LULL_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Whether the processor has a counter that lull can read: the time stamp counter, or on 64-bit ARM
 * that of the generic timer. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define LULL_CLOCK_HAS_TSC 1
#else
#define LULL_CLOCK_HAS_TSC 0
#endif

static inline int64_t lull_clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The present: with `tsc` in ticks of the processor's counter, where there is one, else in ns of
 * CLOCK_MONOTONIC. */
static inline uint64_t lull_clock_now(bool tsc)
{
#if defined(__aarch64__)
    uint64_t ticks;
    if (__builtin_expect(tsc, 1)) {
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#elif LULL_CLOCK_HAS_TSC
    if (__builtin_expect(tsc, 1))
        return __builtin_ia32_rdtsc();
#endif
    (void)tsc;
    return (uint64_t)lull_clock_read(CLOCK_MONOTONIC);
}

/* Ticks and ns of one moment. The moment of `ns` lies at most `error_ticks` before or behind that of
 * `ticks`. */
struct lull_clock_point {
    uint64_t ticks;
    int64_t ns;
    uint64_t error_ticks;
};

/* Reads the processor's counter and a clock of the system at the same moment. The clock is read
 * between two readings of the counter, 16 times, and the time that took least is kept. */
static inline struct lull_clock_point lull_clock_pair_with(clockid_t clock)
{
    struct lull_clock_point best = {0, 0, UINT64_MAX};
    for (int i = 0; i < 16; i++) {
        const uint64_t before = lull_clock_now(true);
        const int64_t ns = lull_clock_read(clock);
        const uint64_t half = (lull_clock_now(true) - before + 1) / 2;
        if (half < best.error_ticks)
            best = (struct lull_clock_point){before + half, ns, half};
    }
    return best;
}

/* What lull_clock_now(tsc) and CLOCK_MONOTONIC say at the same moment. */
static inline struct lull_clock_point lull_clock_pair(bool tsc)
{
    if (tsc)
        return lull_clock_pair_with(CLOCK_MONOTONIC);
    const int64_t ns = lull_clock_read(CLOCK_MONOTONIC);
    return (struct lull_clock_point){(uint64_t)ns, ns, 0};
}

#endif
