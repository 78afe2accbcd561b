/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a counter of perf_event without a system call, from the page that the kernel keeps up to
 * date: the protocol of struct perf_event_mmap_page in <linux/perf_event.h>. A sequence number
 * tells whether the kernel wrote meanwhile. This is a header of its own, so that its test can
 * include it. */
#ifndef LULL_RECORD_COUNTERS_PERF_PAGE_H
#define LULL_RECORD_COUNTERS_PERF_PAGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What was counted, and for how many ns the counter was wanted (`enabled`) and had a register
 * (`running`). */
struct rec_perf_reading {
    uint64_t value, enabled, running;
};

/* The count, scaled to the whole time where counters share registers in turn. */
static inline uint64_t rec_perf_scaled(const struct rec_perf_reading *reading)
{
    if (reading->running >= reading->enabled)
        return reading->value;
    if (reading->running == 0)
        return 0;
    return (uint64_t)((unsigned __int128)reading->value * reading->enabled / reading->running);
}

/* The low `width` bits of a register as a signed number, which the kernel adds to its own count. */
static inline int64_t rec_perf_extend(uint64_t bits, unsigned width)
{
    unsigned shift = width > 0 && width < 64 ? 64 - width : 0;
    return (int64_t)(bits << shift) >> shift;
}

/* `read_register` and `read_clock` are the processor's rdpmc and rdtsc. False: the counter has no
 * register now, or may not be read here: ask the kernel. */
static inline bool rec_perf_read_page(const volatile struct perf_event_mmap_page *page,
                                      uint64_t (*read_register)(uint32_t),
                                      uint64_t (*read_clock)(void),
                                      struct rec_perf_reading *ret_reading)
{
    struct rec_perf_reading reading;
    uint32_t sequence, index;
    do {
        sequence = page->lock;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        reading.enabled = page->time_enabled;
        reading.running = page->time_running;
        index = page->index;
        if (!page->cap_user_rdpmc || index == 0)
            return false;
        if (page->cap_user_time && reading.enabled != reading.running) {
            uint64_t ticks = read_clock();
            unsigned shift = page->time_shift;
            uint64_t quotient = ticks >> shift, rest = ticks & ((UINT64_C(1) << shift) - 1);
            uint64_t since = page->time_offset + quotient * page->time_mult +
                             ((rest * page->time_mult) >> shift);
            reading.enabled += since;
            reading.running += since;
        }
        reading.value =
            (uint64_t)(page->offset + rec_perf_extend(read_register(index - 1), page->pmc_width));
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (page->lock != sequence);
    *ret_reading = reading;
    return true;
}

#endif
