/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/store/sums.h"

#include "record/counters/counters.h"
#include "record/store/container.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Address space for the sums of as many regions as a program is expected to define; regions after
 * these have no sums. MOST_OF_LITTLE is taken where the program's address space is limited
 * (RLIMIT_AS). */
enum { FIRST_SUM_BYTES = 4096, MOST_SUM_BYTES = 4 << 20, MOST_OF_LITTLE = 256 << 10 };

size_t rec_sums_space(void)
{
    struct rlimit limit;
    bool little = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return little ? MOST_OF_LITTLE : MOST_SUM_BYTES;
}

static size_t size_of(const struct rec_thread *self, uint64_t regions)
{
    return sizeof(struct lull_tape_sums_header) + regions * 2 * self->sum_size;
}

/* Enlarges the mapping of the sums to `size`. The sums stand in several places of the file, and in
 * one place of the memory. */
static bool map_more_sums(struct rec_thread *self, size_t size)
{
    struct rec_sums *sums = &self->sums_file;
    struct rec_extent extent;
    size = (size + LULL_TAPE_PAGE - 1) / LULL_TAPE_PAGE * LULL_TAPE_PAGE;
    if (size > sums->reserved || sums->n_parts == REC_SUMS_PARTS ||
        rec_container_map(size - sums->size, (unsigned char *)sums->header + sums->size, &extent) ==
            MAP_FAILED)
        return false;
    sums->parts[sums->n_parts] = (uint32_t)(size - sums->size);
    __atomic_store_n(&sums->n_parts, sums->n_parts + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&sums->size, size, __ATOMIC_RELAXED);
    rec_container_enter(&extent, LULL_TAPE_PART_SUMS, self->number);
    return true;
}

static void set_count(struct rec_thread *self)
{
    struct rec_sums *sums = &self->sums_file;
    uint64_t regions = (sums->size - sizeof *sums->header) / (2 * (size_t)self->sum_size);
    self->sums = (unsigned char *)(sums->header + 1);
    sums->header->regions = regions;
    self->n_sums = (uint32_t)regions;
}

bool rec_sums_begin(struct rec_thread *self, void *space, size_t size)
{
    struct rec_sums *sums = &self->sums_file;
    const bool has_bytes = self->stream != NULL; /* and no counters: no thread lives there */
    const unsigned n_counters = has_bytes ? 0 : rec_counters_number();
    self->sum_size =
        (uint32_t)(sizeof(struct lull_tape_sum) + (n_counters + has_bytes) * sizeof(uint64_t));
    sums->header = space;
    sums->reserved = size;
    if (!map_more_sums(self, FIRST_SUM_BYTES))
        return false;
    struct lull_tape_sums_header *header = sums->header;
    memcpy(header->magic, LULL_TAPE_SUMS_MAGIC, sizeof header->magic);
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = sizeof *header;
    header->sum_size = self->sum_size;
    header->process = rec_process.number;
    header->number = self->number;
    header->n_counters = n_counters;
    header->has_bytes = has_bytes;
    for (unsigned i = 0; i < n_counters; i++)
        header->counters[i] = rec_counters_id(i);
    self->until = &header->end;
    set_count(self);
    return true;
}

bool rec_sums_grow(struct rec_thread *self, uint32_t region)
{
    struct rec_sums *sums = &self->sums_file;
    if (!sums->header || __atomic_load_n(&sums->full, __ATOMIC_RELAXED))
        return false;
    size_t size = sums->size * 2;
    while (size < size_of(self, (uint64_t)region + 1))
        size *= 2;
    const struct rec_aside aside = rec_step_aside();
    sums->full = !map_more_sums(self, size);
    rec_step_back(&aside);
    if (!sums->full)
        set_count(self);
    return !sums->full;
}

void rec_sums_move(struct rec_thread *self, uint32_t region, uint64_t bytes)
{
    if (region < self->n_sums)
        rec_place_of_sum(self, region, 0)->counts[0] += bytes;
}

void rec_sums_from(struct rec_thread *self, uint64_t now)
{
    struct lull_tape_sums_header *header = self->sums_file.header;
    if (header->begin == 0)
        header->begin = now;
    else
        header->absent += now - header->end;
    header->end = now;
}

static void add_to_frame(struct rec_thread *self, const struct rec_frame *frame, uint64_t ticks)
{
    struct lull_tape_sum *sum = rec_sum_of(self, frame->region, frame->parallel);
    if (sum)
        sum->ticks += ticks;
}

/* The time that each open region has spent by itself so far goes to its sum. From then on this time
 * counts as spent inside of the region, so that it is not counted again when the region is left. */
static void settle_frames(struct rec_thread *self, uint64_t now)
{
    uint64_t end = now, *inside = &self->inside;
    uint32_t n = self->n_frames < REC_MOST_FRAMES ? self->n_frames : REC_MOST_FRAMES;
    for (uint32_t i = n; i-- > 0;) {
        struct rec_frame *frame = &self->frames[i];
        uint64_t own = end - frame->begin - *inside;
        add_to_frame(self, frame, own);
        *inside += own;
        end = frame->begin;
        inside = &frame->inside;
    }
}

void rec_sums_until(struct rec_thread *self, uint64_t now)
{
    struct lull_tape_sums_header *header = self->sums_file.header;
    if (!header)
        return;
    header->end = now;
    if (self->paused)
        rec_sums_pause(self, now);
    settle_frames(self, now);
}

void rec_sums_pause(struct rec_thread *self, uint64_t now)
{
    uint64_t paused = now - self->paused_at;
    self->sums_file.header->end = now;
    self->sums_file.header->paused += paused;
    self->inside += paused;
    self->in_calls += paused;
    self->paused_at = now;
}

void rec_sums_flush(struct rec_thread *self, uint64_t ticks, uint64_t now)
{
    struct lull_tape_sums_header *header = self->sums_file.header;
    if (self->paused) {
        rec_sums_pause(self, now);
        return;
    }
    header->end = now;
    header->flushing[self->parallel] += ticks;
    self->inside += ticks;
    self->in_calls += ticks;
}

/* How many regions the sums have, without those behind the last region that was visited. */
static uint64_t used_regions(const struct rec_thread *self)
{
    uint32_t used = self->n_sums;
    static const unsigned char
        nothing[2 * (sizeof(struct lull_tape_sum) + REC_MOST_COUNTERS * sizeof(uint64_t))];
    const size_t size = 2 * (size_t)self->sum_size;
    while (used > 0 && memcmp(self->sums + (used - 1) * size, nothing, size) == 0)
        used--;
    return used;
}

void rec_sums_stop(struct rec_thread *self)
{
    __atomic_store_n(&self->sums_file.full, true, __ATOMIC_RELAXED);
}

void rec_sums_end(struct rec_thread *self)
{
    struct rec_sums *sums = &self->sums_file;
    if (!sums->header)
        return;
    sums->header->regions = used_regions(self);
    sums->header = NULL;
    self->n_sums = 0;
}
