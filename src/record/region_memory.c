/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/region_memory.h"

#include "record/core.h"
#include "record/memory.h"
#include "record/report.h"
#include "record/store/definitions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEASURING_SHARE 0.0005 /* of the time */

enum { MEASURED_REGIONS = 64 };

bool rec_region_memory_on;
static bool region_memory_wanted;

/* A region with its visits. Places are taken in their order, under `resetting`. */
struct measured_region {
    uint32_t region;                        /* atomic; 0: the place is free */
    uint32_t open;                          /* atomic: measured visits that have not ended */
    struct lull_tape_region_memory *memory; /* in the run; its numbers are atomic */
};

static struct {
    struct measured_region regions[MEASURED_REGIONS];
    bool resetting;  /* atomic: a thread is between reading and resetting the mark */
    uint64_t began;  /* ticks */
    uint64_t spent;  /* atomic: ticks that measuring has taken */
    uint64_t visits; /* atomic: for how many visits */
    bool refused;    /* atomic: the system did not reset the mark, and is not asked again */
} region_memory;

void rec_region_memory_prepare(void)
{
    const char *text = getenv("LULL_RECORD_REGION_MEMORY");
    region_memory_wanted = text && strcmp(text, "1") == 0;
}

/* 0, or an errno. */
static int reset_mark(void)
{
    const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    int reason = fd < 0 || write(fd, "5", 1) != 1 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return reason;
}

void rec_region_memory_begin(void)
{
    region_memory.began = rec_now();
    if (!region_memory_wanted)
        return;
    const int reason = rec_memory_mark() > 0 ? reset_mark() : ENOENT;
    rec_region_memory_on = reason == 0;
    if (reason != 0)
        rec_report_say("no memory of regions: /proc/self/clear_refs: %s", strerror(reason));
}

/* Takes a place for a region that has none. Two threads may look for the same region. */
static struct measured_region *take_region_place(uint32_t region)
{
    if (__atomic_exchange_n(&region_memory.resetting, true, __ATOMIC_ACQUIRE))
        return NULL;
    struct measured_region *place = region_memory.regions, *end = place + MEASURED_REGIONS;
    while (place < end && place->region != 0 && place->region != region)
        place++;
    if (place < end && place->region == 0 &&
        (place->memory = rec_define_region_memory(region)) != NULL)
        __atomic_store_n(&place->region, region, __ATOMIC_RELEASE);
    __atomic_store_n(&region_memory.resetting, false, __ATOMIC_RELEASE);
    return place < end && place->region == region ? place : NULL;
}

static struct measured_region *place_of_region(uint32_t region)
{
    for (struct measured_region *place = region_memory.regions;
         place < region_memory.regions + MEASURED_REGIONS; place++) {
        const uint32_t there = __atomic_load_n(&place->region, __ATOMIC_ACQUIRE);
        if (there == region)
            return place;
        if (there == 0)
            return take_region_place(region);
    }
    return NULL;
}

/* The first visit of a region can be afforded unless the system refuses. */
static bool can_afford(const struct measured_region *place)
{
    const uint64_t spent = __atomic_load_n(&region_memory.spent, __ATOMIC_RELAXED),
                   visits = __atomic_load_n(&region_memory.visits, __ATOMIC_RELAXED),
                   next = spent + (visits > 0 ? spent / visits : 0);
    if (__atomic_load_n(&region_memory.refused, __ATOMIC_RELAXED))
        return false;
    return __atomic_load_n(&place->memory->measured, __ATOMIC_RELAXED) == 0 ||
           (double)next <= MEASURING_SHARE * (double)(rec_now() - region_memory.began);
}

/* The open regions get the mark; then it begins anew. A region is opened here, before another thread may reset the mark
 * again. */
static bool open_region(struct measured_region *opened)
{
    if (__atomic_exchange_n(&region_memory.resetting, true, __ATOMIC_ACQUIRE))
        return false;
    const uint64_t mark = rec_memory_mark();
    for (struct measured_region *place = region_memory.regions;
         place < region_memory.regions + MEASURED_REGIONS && place->region != 0; place++)
        if (__atomic_load_n(&place->open, __ATOMIC_ACQUIRE) > 0)
            rec_raise_to(&place->memory->peak, mark);
    const bool good = mark > 0 && reset_mark() == 0;
    if (good)
        __atomic_add_fetch(&opened->open, 1, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&region_memory.refused, true, __ATOMIC_RELAXED);
    __atomic_store_n(&region_memory.resetting, false, __ATOMIC_RELEASE);
    return good;
}

uint32_t rec_region_memory_enter(uint32_t region)
{
    const struct rec_aside aside = rec_step_aside();
    struct measured_region *place = place_of_region(region);
    bool measured = false;
    if (place) {
        __atomic_add_fetch(&place->memory->visits, 1, __ATOMIC_RELAXED);
        if (can_afford(place)) {
            const uint64_t begin = rec_now();
            measured = open_region(place);
            __atomic_add_fetch(&region_memory.spent, rec_now() - begin, __ATOMIC_RELAXED);
        }
    }
    rec_step_back(&aside);
    return measured ? 1 + (uint32_t)(place - region_memory.regions) : 0;
}

/* The mark was reset when this visit began, or later, and then it was read before that. */
void rec_region_memory_leave(uint32_t measured)
{
    struct measured_region *place = &region_memory.regions[measured - 1];
    const struct rec_aside aside = rec_step_aside();
    const uint64_t begin = rec_now(), mark = rec_memory_mark();
    rec_raise_to(&place->memory->peak, mark);
    __atomic_add_fetch(&place->memory->measured, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&place->open, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&region_memory.visits, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&region_memory.spent, rec_now() - begin, __ATOMIC_RELAXED);
    rec_step_back(&aside);
}
