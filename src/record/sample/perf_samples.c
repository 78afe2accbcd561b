/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples by perf_event_open(2): the software task clock, which any machine has, and which also
 * containers and unprivileged users may use for their own threads (perf_event_paranoid up to 2). It
 * is driven by the kernel's high-resolution timer, so that its rate is not bounded by the kernel's
 * tick (CONFIG_HZ), as that of POSIX timers is.
 *
 * Times are those of CLOCK_MONOTONIC, which the kernel stamps itself (use_clockid). */
#include "record/sample/source.h"

#include "base/clock.h"
#include "base/mix.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A ring is a page for its ends, and a power of two of pages for records: one, or LARGE_RING_PAGES for
 * a thread that nobody else comes to. */
enum { LARGE_RING_PAGES = 64, PERF_SAMPLE_BYTES = 24 };

struct perf_sample {
    struct perf_event_header header;
    uint64_t address, ns;
};
struct perf_lost {
    struct perf_event_header header;
    uint64_t id, lost;
};

static int64_t perf_ring_lasts(int64_t interval)
{
    return REC_PAGE / PERF_SAMPLE_BYTES * interval;
}

/* Maps the ring, or a smaller one where the memory that may be locked does not suffice: all rings of a
 * user have perf_event_mlock_kb (516 KiB) for each processor, and then RLIMIT_MEMLOCK. The mapping
 * keeps the event when its descriptor is closed. */
static int map_perf_ring(struct rec_sample_ring *ring, int fd, size_t pages)
{
    for (; pages > 0; pages /= 2) {
        ring->size = (1 + pages) * REC_PAGE;
        ring->memory = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (ring->memory != MAP_FAILED)
            return 0;
    }
    ring->memory = NULL;
    return errno;
}

/* Threads with the same interval would be sampled in step with each other, and with loops of that
 * length. So each ring has an interval of its own, up to a tenth longer or shorter. */
static int64_t vary_interval(int64_t interval, pid_t thread)
{
    const uint64_t drawn = lull_mix((uint64_t)thread, (uint64_t)lull_clock_read(CLOCK_MONOTONIC));
    return interval + (int64_t)((double)interval * 0.2 * ((double)(drawn >> 11) * 0x1p-53 - 0.5));
}

static int begin_perf_samples(struct rec_sample_ring *ret_ring, pid_t thread, int64_t interval,
                              bool alone)
{
    interval = vary_interval(interval, thread);
    struct perf_event_attr wanted = {.type = PERF_TYPE_SOFTWARE,
                                     .size = sizeof wanted,
                                     .config = PERF_COUNT_SW_TASK_CLOCK,
                                     .sample_period = (uint64_t)interval,
                                     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
                                     .exclude_kernel = 1,
                                     .exclude_hv = 1,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC};
    struct rec_sample_ring ring = {.interval = interval};
    if (sysconf(_SC_PAGESIZE) != REC_PAGE)
        return ENOSYS;
    const int fd = (int)syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    const int reason = map_perf_ring(&ring, fd, alone ? LARGE_RING_PAGES : 1);
    close(fd);
    if (reason == 0)
        *ret_ring = ring;
    return reason;
}

/* Copies a record out of the ring, in which it may go round the end. */
static void copy_from_ring(const unsigned char *data, uint64_t size, uint64_t at, void *to,
                           size_t bytes)
{
    const size_t begin = (size_t)(at & (size - 1)), first = size - begin;
    memcpy(to, data + begin, bytes < first ? bytes : first);
    if (bytes > first)
        memcpy((unsigned char *)to + first, data, bytes - first);
}

static uint64_t take_perf_samples(struct rec_sample_ring *ring, rec_sample_taker *taker,
                                  void *context)
{
    struct perf_event_mmap_page *page = ring->memory;
    const unsigned char *data = (const unsigned char *)ring->memory + REC_PAGE;
    const uint64_t size = ring->size - REC_PAGE;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t lost = 0;
    for (uint64_t at = page->data_tail; at < head;) {
        union {
            struct perf_event_header header;
            struct perf_sample sample;
            struct perf_lost lost;
        } record;
        copy_from_ring(data, size, at, &record.header, sizeof record.header);
        const size_t bytes = record.header.size;
        if (bytes < sizeof record.header)
            break;
        copy_from_ring(data, size, at, &record, bytes < sizeof record ? bytes : sizeof record);
        if (record.header.type == PERF_RECORD_SAMPLE && bytes >= sizeof record.sample)
            taker(context, &(struct rec_raw_sample){(uintptr_t)record.sample.address,
                                                    (int64_t)record.sample.ns});
        else if (record.header.type == PERF_RECORD_LOST && bytes >= sizeof record.lost)
            lost += record.lost.lost;
        at += bytes;
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return lost;
}

static void end_perf_samples(struct rec_sample_ring *ring)
{
    if (ring->memory)
        munmap(ring->memory, ring->size);
    ring->memory = NULL;
}

const struct rec_sample_source rec_samples_perf = {.name = "perf_event",
                                                   .id = LULL_TAPE_SAMPLES_PERF,
                                                   .begin = begin_perf_samples,
                                                   .take = take_perf_samples,
                                                   .end = end_perf_samples,
                                                   .lasts = perf_ring_lasts};
