/* SPDX-License-Identifier: BSD-3-Clause */
/* Made-up counters, each of which advances at a constant rate: NAME=RATE, in events per ns. They
 * are for tests of the whole way from a reading to the metrics, and show what counters look like
 * where a machine has none. The value depends on nothing but the time of the reading, so that the
 * count of a state must be its time multiplied by the rate. */
#include "record/counters/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *find_fake(const char *name, struct rec_counter *ret_counter)
{
    const char *equals = strchr(name, '=');
    char *end;
    if (!equals || equals == name || equals - name >= (ptrdiff_t)sizeof ret_counter->name)
        return "expected NAME=RATE";
    errno = 0;
    double rate = strtod(equals + 1, &end);
    if (end == equals + 1 || *end || errno != 0 || !(rate >= 0 && rate <= 1000))
        return "expected a rate of 0 to 1000 events per ns";
    ret_counter->name[equals - name] = '\0';
    ret_counter->rate = rate;
    return NULL;
}

static bool begin_fake(struct rec_counting *counting, const struct rec_counter *counters,
                       unsigned n)
{
    (void)counting, (void)counters, (void)n;
    return true;
}

static void read_fake(struct rec_counting *counting, const struct rec_counter *counters, unsigned n,
                      uint64_t now, uint64_t *values)
{
    (void)counting;
    for (unsigned i = 0; i < n; i++)
        values[i] = (uint64_t)((double)now * rec_process.ns_per_tick * counters[i].rate);
}

static void end_fake(struct rec_counting *counting, unsigned n)
{
    (void)counting, (void)n;
}

const struct rec_counter_backend rec_counters_fake = {
    .name = "fake", .find = find_fake, .begin = begin_fake, .read = read_fake, .end = end_fake};
