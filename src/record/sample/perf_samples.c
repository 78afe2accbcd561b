/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples by perf_event_open(2): the software task clock, which any machine has, and which also
 * containers and unprivileged users may use for their own threads (perf_event_paranoid up to 2). It
 * is driven by the kernel's high-resolution timer, so that its rate is not bounded by the kernel's
 * tick (CONFIG_HZ), as that of POSIX timers is.
 *
 * Times are those of CLOCK_MONOTONIC, which the kernel stamps itself (use_clockid).
 *
 * Where the processor has counters, each sample has also what cycles and instructions there were since
 * the one before: they are counted in one group with the clock, so that their ratio is that of the same
 * time, and each sample still stands for processor time, whatever the frequency. The kernel may give
 * the group a part of the time alone, when others use the counters, too; the weight of a sample is
 * then that of the whole time.
 *
 * A stack is what lies above the stack pointer, STACK_BYTES of it, as the kernel copies it. */
#include "record/sample/source.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#if defined __x86_64__ || defined __aarch64__
#include <asm/perf_regs.h>
#endif
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A ring is a page for its ends, and a power of two of pages for records: so many, and for a thread that
 * nobody else comes to LARGE_RING_PAGES. With stacks, STACK_TIMES as many. */
enum { RING_PAGES = 1, LARGE_RING_PAGES = 64, STACK_TIMES = 32 };
enum { STACK_BYTES = 2048, PERF_SAMPLE_BYTES = 24, PERF_STACK_BYTES = STACK_BYTES + 48 };

/* ==== begin =================================================================================== */

static size_t ring_pages(bool alone, bool stack)
{
    return (size_t)(alone ? LARGE_RING_PAGES : RING_PAGES) * (stack ? STACK_TIMES : 1);
}

static int64_t perf_ring_lasts(int64_t interval, bool stack)
{
    return (int64_t)ring_pages(false, stack) * REC_PAGE /
           (stack ? PERF_STACK_BYTES : PERF_SAMPLE_BYTES) * interval;
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

static int open_perf_event(struct perf_event_attr *wanted, pid_t thread, int leader)
{
    wanted->size = sizeof *wanted;
    wanted->exclude_kernel = 1;
    wanted->exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, wanted, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static int open_task_clock(const struct rec_sample_wish *wish, int64_t interval, bool counts)
{
    struct perf_event_attr wanted = {.type = PERF_TYPE_SOFTWARE,
                                     .config = PERF_COUNT_SW_TASK_CLOCK,
                                     .sample_period = (uint64_t)interval,
                                     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC};
    if (counts) {
        wanted.sample_type |= PERF_SAMPLE_READ;
        wanted.read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    }
    if (wish->stack) {
#if defined __x86_64__
        wanted.sample_regs_user = 1 << PERF_REG_X86_BP | 1 << PERF_REG_X86_SP;
#elif defined __aarch64__
        wanted.sample_regs_user =
            1 << PERF_REG_ARM64_X29 | 1 << PERF_REG_ARM64_LR | UINT64_C(1) << PERF_REG_ARM64_SP;
#endif
        wanted.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        wanted.sample_stack_user = STACK_BYTES;
    }
    return open_perf_event(&wanted, wish->thread, -1);
}

/* Cycles and instructions join the group of the clock. A page of each is mapped, which keeps it when its
 * descriptor is closed. */
static bool join_counters(struct rec_sample_ring *ring, pid_t thread, int leader)
{
    static const uint64_t counters[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS};
    unsigned n = 0;
    for (; n < sizeof counters / sizeof *counters; n++) {
        struct perf_event_attr wanted = {.type = PERF_TYPE_HARDWARE, .config = counters[n]};
        const int fd = open_perf_event(&wanted, thread, leader);
        void *page = fd < 0 ? MAP_FAILED : mmap(NULL, REC_PAGE, PROT_READ, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        if (page == MAP_FAILED)
            break;
        ring->pages[n] = page;
    }
    return n == sizeof counters / sizeof *counters;
}

static void end_perf_samples(struct rec_sample_ring *ring);

static int begin_perf_ring(struct rec_sample_ring *ret_ring, const struct rec_sample_wish *wish,
                           bool counts)
{
    struct rec_sample_ring ring = {.interval = rec_sample_vary(wish->interval, wish->thread),
                                   .fields = (counts ? LULL_TAPE_SAMPLE_COUNTS : 0) |
                                             (wish->stack ? LULL_TAPE_SAMPLE_STACK : 0)};
    const int fd = open_task_clock(wish, ring.interval, counts);
    if (fd < 0)
        return errno;
    int reason = map_perf_ring(&ring, fd, ring_pages(wish->alone, wish->stack));
    if (reason == 0 && counts && !join_counters(&ring, wish->thread, fd)) {
        end_perf_samples(&ring);
        reason = ENODEV;
    }
    close(fd);
    if (reason == 0)
        *ret_ring = ring;
    return reason;
}

/* Where there are no counters is found out once. Where the memory for their pages cannot be had, a thread
 * is sampled without. */
static int begin_perf_samples(struct rec_sample_ring *ret_ring, const struct rec_sample_wish *wish)
{
    static bool no_counters; /* atomic */
    if (sysconf(_SC_PAGESIZE) != REC_PAGE)
        return ENOSYS;
    if (!__atomic_load_n(&no_counters, __ATOMIC_RELAXED)) {
        if (begin_perf_ring(ret_ring, wish, true) == 0)
            return 0;
        struct perf_event_attr cycles = {.type = PERF_TYPE_HARDWARE,
                                         .config = PERF_COUNT_HW_CPU_CYCLES};
        const int fd = open_perf_event(&cycles, wish->thread, -1);
        if (fd >= 0)
            close(fd);
        else
            __atomic_store_n(&no_counters, true, __ATOMIC_RELAXED);
    }
    return begin_perf_ring(ret_ring, wish, false);
}

/* ==== taking ================================================================================== */

/* Where in the ring a record is read. */
struct perf_reading {
    const unsigned char *data;
    uint64_t mask, at, end; /* end: of the record */
};

/* The next 8 bytes of the record; 0: it has no more. Records begin and end at multiples of 8. */
static uint64_t next_word(struct perf_reading *reading)
{
    uint64_t word = 0;
    if (reading->at + sizeof word <= reading->end)
        memcpy(&word, reading->data + (reading->at & reading->mask), sizeof word);
    reading->at += sizeof word;
    return word;
}

/* The counts since the sample before, and how much longer the time was than the group counted. */
static void read_counts(struct rec_sample_ring *ring, struct perf_reading *reading,
                        struct rec_raw_sample *raw)
{
    const uint64_t n = next_word(reading);
    const uint64_t enabled = next_word(reading), running = next_word(reading);
    const uint64_t wanted = enabled - ring->enabled, counted = running - ring->running;
    uint64_t values[3] = {0}; /* the clock's, cycles, instructions */
    for (uint64_t i = 0; i < n && reading->at < reading->end; i++) {
        const uint64_t value = next_word(reading);
        if (i < 3)
            values[i] = value;
    }
    if (n != 3)
        return;
    if (counted > 0 && counted < wanted)
        raw->weight = (int64_t)((double)raw->weight * (double)wanted / (double)counted);
    raw->cycles = values[1] - ring->counted[0];
    raw->instructions = values[2] - ring->counted[1];
    ring->enabled = enabled;
    ring->running = running;
    ring->counted[0] = values[1];
    ring->counted[1] = values[2];
}

/* Registers in the order of their numbers, then the copy, of whose bytes some may be empty. */
static void read_stack(struct perf_reading *reading, struct rec_raw_stack *stack)
{
    const uint64_t has_registers = next_word(reading);
    if (has_registers != PERF_SAMPLE_REGS_ABI_NONE) {
        stack->frame = (uintptr_t)next_word(reading);
#if defined __aarch64__
        stack->link = (uintptr_t)next_word(reading);
#endif
        stack->pointer = (uintptr_t)next_word(reading);
    }
    const uint64_t room = next_word(reading);
    if (room == 0 || room > reading->end - reading->at)
        return;
    stack->ring = reading->data;
    stack->mask = reading->mask;
    stack->at = reading->at;
    reading->at += room;
    const uint64_t copied = next_word(reading);
    if (has_registers == PERF_SAMPLE_REGS_ABI_64 && stack->pointer % sizeof(uint64_t) == 0)
        stack->words = (uint32_t)((copied < room ? copied : room) / sizeof(uint64_t));
}

static void take_perf_record(struct rec_sample_ring *ring, struct perf_reading *reading,
                             rec_sample_taker *taker, void *context)
{
    struct rec_raw_sample raw = {.weight = ring->interval};
    raw.address = (uintptr_t)next_word(reading);
    raw.ns = (int64_t)next_word(reading);
    if (ring->fields & LULL_TAPE_SAMPLE_COUNTS)
        read_counts(ring, reading, &raw);
    if (ring->fields & LULL_TAPE_SAMPLE_STACK)
        read_stack(reading, &raw.stack);
    taker(context, &raw);
}

static uint64_t take_perf_samples(struct rec_sample_ring *ring, rec_sample_taker *taker,
                                  void *context)
{
    struct perf_event_mmap_page *page = ring->memory;
    struct perf_reading reading = {.data = (const unsigned char *)ring->memory + REC_PAGE,
                                   .mask = ring->size - REC_PAGE - 1};
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t lost = 0;
    for (uint64_t at = page->data_tail; at < head; at = reading.end) {
        struct perf_event_header header;
        reading.at = at;
        reading.end = at + sizeof header;
        const uint64_t word = next_word(&reading);
        memcpy(&header, &word, sizeof header);
        if (header.size < sizeof header || header.size > head - at)
            break;
        reading.end = at + header.size;
        if (header.type == PERF_RECORD_SAMPLE) {
            take_perf_record(ring, &reading, taker, context);
        } else if (header.type == PERF_RECORD_LOST) {
            next_word(&reading); /* its id */
            lost += next_word(&reading);
        }
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return lost;
}

static void end_perf_samples(struct rec_sample_ring *ring)
{
    for (unsigned i = 0; i < sizeof ring->pages / sizeof *ring->pages; i++)
        if (ring->pages[i])
            munmap(ring->pages[i], REC_PAGE);
    if (ring->memory)
        munmap(ring->memory, ring->size);
    *ring = (struct rec_sample_ring){.memory = NULL};
}

const struct rec_sample_source rec_samples_perf = {.name = "perf_event",
                                                   .id = LULL_TAPE_SAMPLES_PERF,
                                                   .begin = begin_perf_samples,
                                                   .take = take_perf_samples,
                                                   .end = end_perf_samples,
                                                   .lasts = perf_ring_lasts};
