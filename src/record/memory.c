/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/memory.h"

#include "base/memory_limit.h"
#include "record/core.h"
#include "record/proc_file.h"
#include "record/readings.h"
#include "record/store/definitions.h"

#include <sys/sysinfo.h>

/* The system is asked at most once in READING_PERIOD_NS, and less often where asking would take
 * more than READING_SHARE of the time. What a reading takes is what the fastest one took: slower
 * ones were slow because others had the cores. */
#define READING_PERIOD_NS 100e6
#define READING_SHARE     0.0005

static struct lull_tape_memory *kept_memory; /* in the run; NULL: nowhere */
static uint64_t next_reading;                /* atomic; in ticks */
static uint64_t least_cost = UINT64_MAX;     /* ticks that a reading took, when it took least */

/* False: the system does not tell. */
static bool read_memory(struct lull_tape_memory *memory)
{
    struct rec_proc_number of[] = {{.word = "VmHWM"}, {.word = "VmRSS"}, {.word = "VmSwap"}};
    if (!rec_read_proc_numbers(REC_OWN_THREAD, "status", of, 3))
        return false;
    memory->peak = 1024 * of[0].value;
    memory->resident = 1024 * of[1].value;
    memory->swapped = 1024 * of[2].value;
    return memory->peak > 0;
}

void rec_raise_to(uint64_t *to, uint64_t value)
{
    uint64_t before = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (before < value && !__atomic_compare_exchange_n(to, &before, value, true,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

static void keep_memory_reading(bool last)
{
    struct lull_tape_memory now;
    const uint64_t begin = rec_now();
    if (!read_memory(&now))
        return;
    const uint64_t cost = rec_now() - begin;
    if (cost < __atomic_load_n(&least_cost, __ATOMIC_RELAXED))
        __atomic_store_n(&least_cost, cost, __ATOMIC_RELAXED);
    rec_raise_to(&kept_memory->peak, now.peak);
    rec_raise_to(&kept_memory->swapped, now.swapped);
    __atomic_store_n(&kept_memory->resident, now.resident, __ATOMIC_RELAXED);
    rec_readings_keep(now.resident + now.swapped, last);
}

static uint64_t reading_period(void)
{
    return (uint64_t)(READING_PERIOD_NS / rec_process.ns_per_tick);
}

static uint64_t time_of_next(void)
{
    const uint64_t cost = __atomic_load_n(&least_cost, __ATOMIC_RELAXED),
                   least = cost < UINT64_MAX ? (uint64_t)((double)cost / READING_SHARE) : 0;
    return rec_now() + (least > reading_period() ? least : reading_period());
}

void rec_memory_begin(void)
{
    struct lull_tape_memory memory = {.peak = 0};
    struct sysinfo system;
    if (!read_memory(&memory))
        return;
    if (sysinfo(&system) == 0)
        memory.node = (uint64_t)system.totalram * system.mem_unit;
    const struct lull_memory_limit limit = lull_memory_limit_find("");
    memory.limit = limit.bytes;
    memory.group = limit.group;
    next_reading = time_of_next();
    rec_readings_begin(reading_period());
    rec_readings_keep(memory.resident + memory.swapped, true);
    kept_memory = rec_define_memory(&memory);
}

void rec_memory_read(void)
{
    uint64_t next = __atomic_load_n(&next_reading, __ATOMIC_RELAXED);
    if (!kept_memory || rec_now() < next ||
        !__atomic_compare_exchange_n(&next_reading, &next, time_of_next(), false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    keep_memory_reading(false);
}

uint64_t rec_memory_mark(void)
{
    struct rec_proc_number of = {.word = "VmHWM"};
    if (!kept_memory || !rec_read_proc_numbers(REC_OWN_THREAD, "status", &of, 1))
        return 0;
    rec_raise_to(&kept_memory->peak, 1024 * of.value);
    return 1024 * of.value;
}

void rec_memory_end(void)
{
    if (kept_memory)
        keep_memory_reading(true);
}
