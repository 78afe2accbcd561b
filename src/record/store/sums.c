#include "record/store/sums.h"

#include "record/core.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Address space for the sums of all regions that a program is expected to define; what comes
 * after has no sums. Less is taken from a program that has little. */
enum { STEP = 16 << 10, FIRST_REGION = 128, MOST_BYTES = 4 << 20, MOST_OF_LITTLE = 256 << 10 };

static size_t space_to_reserve(void)
{
    struct rlimit limit;
    bool little = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return little ? MOST_OF_LITTLE : MOST_BYTES;
}

static size_t size_for(const struct rec_thread *self, uint64_t regions)
{
    size_t size = sizeof(struct lull_tape_sums_header) + regions * 2 * self->sum_size;
    return (size + STEP - 1) / STEP * STEP;
}

static void path_of(const struct rec_thread *self, char *path, size_t size)
{
    snprintf(path, size, "%s/%u.%u.sums", rec_process.folder, rec_process.number, self->number);
}

static bool map_more(struct rec_sums *sums, size_t size)
{
    if (size > sums->reserved || !rec_file_extend(&sums->file, size))
        return false;
    void *place = (unsigned char *)sums->header + sums->size;
    if (mmap(place, size - sums->size, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_POPULATE, sums->file.fd, (off_t)sums->size) == MAP_FAILED)
        return false;
    sums->size = size;
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

bool rec_sums_begin(struct rec_thread *self)
{
    struct rec_sums *sums = &self->sums_file;
    char path[4096];
    path_of(self, path, sizeof path);
    if (!rec_file_create(&sums->file, path))
        return false;
    sums->reserved = space_to_reserve();
    void *space =
        mmap(NULL, sums->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sums->header = space == MAP_FAILED ? NULL : space;
    const unsigned n_counters = rec_counters_number();
    self->sum_size = (uint32_t)(sizeof(struct lull_tape_sum) + n_counters * sizeof(uint64_t));
    bool good = sums->header && map_more(sums, size_for(self, FIRST_REGION));
    int reason = errno;
    rec_file_close(&sums->file);
    if (!good) {
        if (sums->header)
            munmap(space, sums->reserved);
        unlink(path);
        sums->header = NULL;
        errno = reason;
        return false;
    }
    struct lull_tape_sums_header *header = sums->header;
    memcpy(header->magic, LULL_TAPE_SUMS_MAGIC, sizeof header->magic);
    header->version = LULL_TAPE_VERSION;
    header->byte_order = LULL_TAPE_BYTE_ORDER;
    header->header_size = sizeof *header;
    header->sum_size = self->sum_size;
    header->process = rec_process.number;
    header->number = self->number;
    header->n_counters = n_counters;
    for (unsigned i = 0; i < n_counters; i++)
        header->counters[i] = rec_counters_id(i);
    self->until = &header->end;
    set_count(self);
    return true;
}

bool rec_sums_grow(struct rec_thread *self, uint32_t region)
{
    struct rec_sums *sums = &self->sums_file;
    if (!sums->header || sums->full)
        return false;
    char path[4096];
    path_of(self, path, sizeof path);
    sums->full =
        !rec_file_open(&sums->file, path) || !map_more(sums, size_for(self, (uint64_t)region + 1));
    rec_file_close(&sums->file);
    if (!sums->full)
        set_count(self);
    return !sums->full;
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

/* What a frame has spent by itself is added to what was inside of it, so that it is not counted
 * again when the region is left. */
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
    self->paused_inside = self->inside;
}

/* What was recorded meanwhile (a worker arrives at the end of its region) is no pause. */
void rec_sums_pause(struct rec_thread *self, uint64_t now)
{
    uint64_t span = now - self->paused_at, recorded = self->inside - self->paused_inside;
    uint64_t paused = span > recorded ? span - recorded : 0;
    self->sums_file.header->end = now;
    self->sums_file.header->paused += paused;
    self->inside += paused;
    self->paused_inside = self->inside;
    self->paused_at = now;
}

void rec_sums_flush(struct rec_thread *self, uint64_t ticks, uint64_t now)
{
    struct lull_tape_sums_header *header = self->sums_file.header;
    if (self->paused)
        return;
    header->end = now;
    header->flushing[self->parallel] += ticks;
    self->inside += ticks;
}

void rec_sums_end(struct rec_thread *self, bool running)
{
    struct rec_sums *sums = &self->sums_file;
    if (!sums->header)
        return;
    sums->full = true;
    if (running)
        rec_file_freeze(sums->header, sums->size);
    else
        munmap(sums->header, sums->reserved);
}
