/* Streams of devices of which sums alone are kept: number, ticks and bytes of drawn operations by region, exact to the
 * tick, whether they overlap or not, and no records of single ones. */
#include "record/device/device.h"

#include "record/core.h"
#include "record/life_cycle.h"
#include "stats/random.h"
#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 2, OPERATIONS = 4000, KERNELS = 3, UNKNOWN = 5, MOST_LOCATIONS = 80 };

static const struct rec_device_interface *recorder;
static struct rec_stream *streams[STREAMS];
static uint32_t regions[KERNELS + 1]; /* the last one is a copy */

static struct by_region {
    uint64_t visits, ticks, bytes;
} expected[KERNELS + 1], found[KERNELS + 1];

static const struct rec_device_backend backend = {.name = "test"};
static struct rec_wait_function launch = {
    .name = "launch", .role = LULL_TAPE_ROLE_FUNCTION, .paradigm = LULL_TAPE_PARADIGM_DEVICE};

static void set_up(void)
{
    recorder = lull_record_device();
    assert_non_null(recorder);
    recorder->attach(&backend);
    for (unsigned s = 0; s < STREAMS; s++) {
        const struct lull_tape_stream what = {
            .runtime = "Test", .device = "a device", .key = "test:0", .in_order = s > 0};
        streams[s] = recorder->stream(&what, "queue");
        assert_non_null(streams[s]);
    }
    for (unsigned k = 0; k < KERNELS; k++) {
        char name[16];
        snprintf(name, sizeof name, "kernel %u", k);
        regions[k] = recorder->region(REC_DEVICE_KERNEL, name);
    }
    regions[KERNELS] = recorder->region(REC_DEVICE_COPY_FROM, NULL);
}

/* The call that submits it ends before it begins. */
static void submit(unsigned stream, struct rec_operation *operation)
{
    const struct rec_wait_place place = {REC_DEVICE_SITES + 0x700, REC_CALLER, REC_FRAME};
    struct rec_wait call;
    assert_true(recorder->begin(&call, &launch, &place));
    recorder->end(&call);
    recorder->submit(&call, streams[stream], operation);
    recorder->depend(&call, operation->number, 0);
    recorder->wait(&call, streams[stream], operation->number);
    recorder->leave(&call);
}

/* Operations of the first stream overlap, up to four of them. Returns when the last one ends. */
static uint64_t draw_all(void)
{
    struct lull_random random;
    uint64_t at = rec_now(), last = 0;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const unsigned s = (unsigned)lull_random_below(&random, STREAMS),
                       k = (unsigned)lull_random_below(&random, KERNELS + 1);
        const uint64_t length = lull_random_below(&random, 1000);
        struct rec_operation one = {.region = regions[k], .begin = at, .end = at + length};
        one.bytes = k == KERNELS ? lull_random_below(&random, 1 << 20) : 0;
        submit(s, &one);
        recorder->finish(streams[s], &one);
        expected[k].visits++;
        expected[k].ticks += length;
        expected[k].bytes += one.bytes;
        at += s == 0 ? length / 4 : length;
        last = one.end > last ? one.end : last;
    }
    for (unsigned i = 0; i < UNKNOWN; i++)
        recorder->finish(streams[0], &(struct rec_operation){.begin = at, .end = at});
    return last;
}

/* Reads a location's sums; returns when its life ends, 0: there is no such location. */
static uint64_t read_sums(uint32_t location, uint64_t *ret_lost)
{
    struct lull_tape_header head;
    struct lull_tape_sums_header sums;
    size_t head_size, size;
    unsigned char *bytes = recorded_part(LULL_TAPE_PART_HEAD, location, &head_size);
    if (head_size < sizeof head) {
        free(bytes);
        return 0;
    }
    memcpy(&head, bytes, sizeof head);
    free(bytes);
    assert_int_equal(head.stream.summary, 1);
    assert_int_equal(head.committed, 0);
    *ret_lost += head.stream.lost;
    bytes = recorded_part(LULL_TAPE_PART_SUMS, location, &size);
    assert_true(size >= sizeof sums);
    memcpy(&sums, bytes, sizeof sums);
    assert_int_equal(sums.has_bytes, 1);
    assert_int_equal(sums.n_counters, 0);
    assert_int_equal(sums.sum_size, 3 * sizeof(uint64_t));
    for (unsigned k = 0; k <= KERNELS; k++) {
        uint64_t sum[3] = {0};
        if (regions[k] < sums.regions)
            memcpy(sum, bytes + sums.header_size + 2 * (size_t)regions[k] * sums.sum_size,
                   sizeof sum);
        found[k].visits += sum[0];
        found[k].ticks += sum[1];
        found[k].bytes += sum[2];
    }
    free(bytes);
    return sums.end;
}

/* Whether such a record stands in a part of the thread that submits; the calls in it are counted. */
static void look_through(unsigned part, unsigned *calls)
{
    size_t size;
    unsigned char *bytes = recorded_part(part, 0, &size);
    const union lull_tape_slot *slots = (const void *)bytes;
    const size_t n = size / sizeof *slots;
    for (size_t i = 0; i < n; i++) {
        const unsigned kind = lull_tape_kind_of(slots[i].record.head);
        if (kind == LULL_TAPE_NOTHING || kind == LULL_TAPE_PAD) /* the rest of the chunk */
            i |= LULL_TAPE_CHUNK / sizeof *slots - 1;
        else
            i += lull_tape_extra_of(slots[i].record.head);
        *calls += kind == LULL_TAPE_CALL;
        assert_int_not_equal(kind, LULL_TAPE_OPERATION);
        assert_int_not_equal(kind, LULL_TAPE_CALL_OPERATION);
        if (kind == LULL_TAPE_NUMBER)
            assert_true(slots[i - 1].record.value < LULL_TAPE_NUMBER_SUBMIT);
    }
    free(bytes);
}

static void test_sums(void **state)
{
    (void)state;
    set_up();
    const uint64_t last = draw_all();
    rec_stop();
    uint64_t end = 0, lost = 0;
    unsigned locations = 0;
    for (uint32_t l = 0; l < MOST_LOCATIONS; l++) {
        const uint64_t ends = read_sums(LULL_TAPE_FIRST_STREAM + l, &lost);
        end = ends > end ? ends : end;
        locations += ends > 0;
    }
    assert_true(locations > STREAMS);
    assert_int_equal(lost, UNKNOWN);
    assert_int_equal(end, last);
    for (unsigned k = 0; k <= KERNELS; k++) {
        assert_int_equal(found[k].visits, expected[k].visits);
        assert_int_equal(found[k].ticks, expected[k].ticks);
        assert_int_equal(found[k].bytes, expected[k].bytes);
    }
    unsigned calls = 0;
    look_through(LULL_TAPE_PART_RECORDS, &calls);
    look_through(LULL_TAPE_PART_TAIL, &calls);
    assert_int_equal(calls, OPERATIONS);
}

static int tests(void)
{
    const struct CMUnitTest only[] = {cmocka_unit_test(test_sums)};
    return run_cases(only, NULL, NULL);
}

TEST_GROUP(test_device_summary)
{
    setenv("LULL_RECORD_DEVICE", "summary", 1);
    return recorded_main_both(tests);
}
