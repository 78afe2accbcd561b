/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/readings.h"

#include "record/core.h"
#include "record/store/definitions.h"

/* A thread that finds another one at work here, or itself, which a signal has interrupted, leaves its
 * reading out. */
static struct {
    struct lull_tape_reading *all; /* in the run; NULL: nowhere */
    unsigned count;
    uint64_t apart; /* ticks */
    bool busy;      /* atomic */
} kept_readings;

/* The program may be killed at any instruction: a reading counts when its bytes are there. */
static void put_reading(struct lull_tape_reading *place, struct lull_tape_reading reading)
{
    __atomic_store_n(&place->bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&place->time, reading.time, __ATOMIC_RELEASE);
    __atomic_store_n(&place->bytes, reading.bytes, __ATOMIC_RELEASE);
}

/* Where the program is killed meanwhile, readers leave out the readings that are not later than those before
 * them. */
static void thin_readings(void)
{
    for (unsigned i = 1; i < LULL_TAPE_READINGS / 2; i++)
        put_reading(&kept_readings.all[i], kept_readings.all[2 * i]);
    for (unsigned i = LULL_TAPE_READINGS / 2; i < LULL_TAPE_READINGS; i++)
        __atomic_store_n(&kept_readings.all[i].bytes, 0, __ATOMIC_RELAXED);
    kept_readings.count = LULL_TAPE_READINGS / 2;
    kept_readings.apart *= 2;
}

void rec_readings_begin(uint64_t ticks)
{
    kept_readings.apart = ticks;
    kept_readings.count = 0;
    kept_readings.all = rec_define_readings();
}

void rec_readings_keep(uint64_t bytes, bool last)
{
    if (!kept_readings.all || __atomic_exchange_n(&kept_readings.busy, true, __ATOMIC_ACQUIRE))
        return;
    const uint64_t now = rec_now();
    const unsigned count = kept_readings.count;
    if (last || count == 0 || now - kept_readings.all[count - 1].time >= kept_readings.apart) {
        if (count == LULL_TAPE_READINGS)
            thin_readings();
        put_reading(&kept_readings.all[kept_readings.count++],
                    (struct lull_tape_reading){now, bytes});
    }
    __atomic_store_n(&kept_readings.busy, false, __ATOMIC_RELEASE);
}
