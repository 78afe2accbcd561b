/* Samples of perf_event, by a kernel that is made up: what it is asked for, and what is made of what it puts
 * into a ring. A processor with counters is part of what is made up. The layout of records is that of
 * perf_event_open(2). */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

static long fake_syscall(long number, ...);
#define syscall          fake_syscall
#define rec_samples_perf tested_samples
#include "record/sample/perf_samples.c"
#undef syscall

#include "support/test.h"

#include <sys/mman.h>

enum { MOST_EVENTS = 8, MOST_TAKEN = 16, ROOM = 1 << 22 };

/* ---- the kernel ------------------------------------------------------------------------------ */

static struct {
    bool has_counters;
    struct {
        struct perf_event_attr attr;
        int fd, leader;
    } events[MOST_EVENTS];
    unsigned n, hardware;
} kernel;

static long fake_syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    const struct perf_event_attr *attr = va_arg(arguments, const struct perf_event_attr *);
    const pid_t thread = va_arg(arguments, pid_t);
    const int cpu = va_arg(arguments, int), leader = va_arg(arguments, int);
    va_end(arguments);
    assert_int_equal(number, SYS_perf_event_open);
    assert_int_equal(thread, 42);
    assert_int_equal(cpu, -1);
    assert_true(attr->exclude_kernel);
    kernel.hardware += attr->type == PERF_TYPE_HARDWARE;
    if (attr->type == PERF_TYPE_HARDWARE && !kernel.has_counters) {
        errno = ENOENT;
        return -1;
    }
    assert_true(kernel.n < MOST_EVENTS);
    const int fd = memfd_create("event", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, ROOM), 0);
    kernel.events[kernel.n].attr = *attr;
    kernel.events[kernel.n].fd = fd;
    kernel.events[kernel.n++].leader = leader;
    return fd;
}

static void put_bytes(struct rec_sample_ring *ring, const void *bytes, size_t size)
{
    struct perf_event_mmap_page *page = ring->memory;
    unsigned char *data = (unsigned char *)ring->memory + REC_PAGE;
    for (size_t i = 0; i < size; i++)
        data[(page->data_head + i) % (ring->size - REC_PAGE)] = ((const unsigned char *)bytes)[i];
    page->data_head += size;
}

/* A record of these words. */
static void put_record(struct rec_sample_ring *ring, uint32_t type, const uint64_t *words, size_t n)
{
    const struct perf_event_header header = {.type = type,
                                             .size = (uint16_t)(sizeof header + n * sizeof *words)};
    put_bytes(ring, &header, sizeof header);
    put_bytes(ring, words, n * sizeof *words);
}

/* ---- what is taken --------------------------------------------------------------------------- */

static struct {
    struct rec_raw_sample samples[MOST_TAKEN];
    uint64_t words[MOST_TAKEN][4]; /* of their stacks */
    unsigned n;
} taken;

static void take_one(void *context, const struct rec_raw_sample *sample)
{
    assert_ptr_equal(context, &taken);
    assert_true(taken.n < MOST_TAKEN);
    for (uint32_t i = 0; i < sample->stack.words && i < 4; i++)
        taken.words[taken.n][i] = rec_stack_word(&sample->stack, i);
    taken.samples[taken.n++] = *sample;
}

static uint64_t take_all(struct rec_sample_ring *ring)
{
    taken.n = 0;
    return tested_samples.take(ring, take_one, &taken);
}

static struct rec_sample_ring begin_ring(bool counters, bool stack)
{
    struct rec_sample_ring ring = {.memory = NULL};
    const struct rec_sample_wish wish = {.thread = 42, .interval = 10000, .stack = stack};
    memset(&kernel, 0, sizeof kernel);
    kernel.has_counters = counters;
    assert_int_equal(tested_samples.begin(&ring, &wish), 0);
    assert_in_range(ring.interval, 9000, 11000);
    return ring;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Cycles and instructions are counted in the group of the clock, and a sample has what there was more than
 * at the sample before. */
static void test_counters(void **state)
{
    (void)state;
    struct rec_sample_ring ring = begin_ring(true, false);
    assert_int_equal(kernel.n, 3);
    assert_int_equal(ring.fields, LULL_TAPE_SAMPLE_COUNTS);
    const struct perf_event_attr *clock = &kernel.events[0].attr;
    assert_int_equal(clock->type, PERF_TYPE_SOFTWARE);
    assert_int_equal(clock->config, PERF_COUNT_SW_TASK_CLOCK);
    assert_int_equal(clock->sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_READ);
    assert_int_equal(clock->sample_period, ring.interval);
    assert_int_equal(kernel.events[0].leader, -1);
    assert_int_equal(kernel.events[1].attr.config, PERF_COUNT_HW_CPU_CYCLES);
    assert_int_equal(kernel.events[2].attr.config, PERF_COUNT_HW_INSTRUCTIONS);
    for (unsigned i = 1; i < 3; i++)
        assert_int_equal(kernel.events[i].leader, kernel.events[0].fd);

    /* address, time, then of the group: members, ns wanted and ns counted, clock, cycles, instructions */
    const uint64_t first[] = {0x1111, 500, 3, 10000, 10000, 9, 20000, 50000};
    const uint64_t second[] = {0x2222, 600, 3, 30000, 15000, 9, 20100, 50300};
    put_record(&ring, PERF_RECORD_SAMPLE, first, 8);
    put_record(&ring, PERF_RECORD_SAMPLE, second, 8);
    assert_int_equal(take_all(&ring), 0);
    assert_int_equal(taken.n, 2);
    assert_int_equal(taken.samples[0].address, 0x1111);
    assert_int_equal(taken.samples[0].ns, 500);
    assert_int_equal(taken.samples[0].weight, ring.interval);
    assert_int_equal(taken.samples[0].cycles, 20000);
    assert_int_equal(taken.samples[0].instructions, 50000);
    /* the counters were others' for three quarters of the time since: it was four times as long */
    assert_int_equal(taken.samples[1].weight, 4 * ring.interval);
    assert_int_equal(taken.samples[1].cycles, 100);
    assert_int_equal(taken.samples[1].instructions, 300);
    tested_samples.end(&ring);
    assert_null(ring.memory);
}

static void test_counters_and_stack(void **state)
{
    (void)state;
    struct rec_sample_ring ring = begin_ring(true, true);
    assert_int_equal(ring.fields, LULL_TAPE_SAMPLE_COUNTS | LULL_TAPE_SAMPLE_STACK);
    /* the stack: which registers, rbp and rsp, 32 bytes of which 24 were copied */
    const uint64_t record[] = {0x1111, 500,    3,  1,  1,  9,  7,  8, 2,
                               0x7f20, 0x7f00, 32, 11, 12, 13, 14, 24};
    put_record(&ring, PERF_RECORD_SAMPLE, record, sizeof record / sizeof *record);
    assert_int_equal(take_all(&ring), 0);
    assert_int_equal(taken.n, 1);
    assert_int_equal(taken.samples[0].cycles, 7);
    assert_int_equal(taken.samples[0].instructions, 8);
    assert_int_equal(taken.samples[0].stack.frame, 0x7f20);
    assert_int_equal(taken.samples[0].stack.pointer, 0x7f00);
    assert_int_equal(taken.samples[0].stack.words, 3);
    assert_int_equal(taken.words[0][2], 13);
    tested_samples.end(&ring);
}

/* A processor without counters is asked for them once. */
static void test_no_counters(void **state)
{
    (void)state;
    struct rec_sample_ring ring = begin_ring(false, false);
    assert_true(kernel.hardware > 0);
    assert_int_equal(ring.fields, 0);
    tested_samples.end(&ring);
    ring = begin_ring(false, false);
    assert_int_equal(kernel.hardware, 0);
    assert_int_equal(kernel.n, 1);
    assert_int_equal(kernel.events[0].attr.sample_type, PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
    tested_samples.end(&ring);
}

/* Records go round the end of the ring, and what was lost is told. */
static void test_round_the_end(void **state)
{
    (void)state;
    struct rec_sample_ring ring = begin_ring(false, true);
    struct perf_event_mmap_page *page = ring.memory;
    const uint64_t size = ring.size - REC_PAGE, lost[] = {1, 5};
    unsigned crossed = 0;
    for (uint64_t round = 0; round < 3 * size / 96; round++) {
        const uint64_t record[] = {round, 2 * round, 2,         0x7f20, 0x7f00,
                                   16,    3 * round, 4 * round, 16};
        const uint64_t before = page->data_head;
        put_record(&ring, PERF_RECORD_SAMPLE, record, 9);
        put_record(&ring, PERF_RECORD_LOST, lost, 2);
        crossed += before / size != (page->data_head - 1) / size;
        assert_int_equal(take_all(&ring), 5);
        assert_int_equal(taken.n, 1);
        assert_int_equal(taken.samples[0].address, round);
        assert_int_equal(taken.samples[0].ns, 2 * round);
        assert_int_equal(taken.samples[0].stack.words, 2);
        assert_int_equal(taken.words[0][0], 3 * round);
        assert_int_equal(taken.words[0][1], 4 * round);
        assert_int_equal(page->data_tail, page->data_head);
    }
    assert_true(crossed >= 2);
    tested_samples.end(&ring);
}

/* A record that says it is longer than what is there is not read. */
static void test_damaged_record(void **state)
{
    (void)state;
    struct rec_sample_ring ring = begin_ring(false, false);
    const struct perf_event_header longer = {.type = PERF_RECORD_SAMPLE, .size = 4096},
                                   empty = {.type = PERF_RECORD_SAMPLE};
    put_bytes(&ring, &longer, sizeof longer);
    assert_int_equal(take_all(&ring), 0);
    assert_int_equal(taken.n, 0);
    put_bytes(&ring, &empty, sizeof empty);
    assert_int_equal(take_all(&ring), 0);
    assert_int_equal(taken.n, 0);
    tested_samples.end(&ring);
}

TEST_GROUP(test_perf_samples)
{
    /* in this order: that there are no counters is kept */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters), cmocka_unit_test(test_counters_and_stack),
        cmocka_unit_test(test_no_counters), cmocka_unit_test(test_round_the_end),
        cmocka_unit_test(test_damaged_record)};
    return run_cases(tests, NULL, NULL);
}
