/* Streams of devices, by a back-end of the test's own: what it delivers, in whatever order, is on the tapes of streams
 * to the tick, each operation once; what cannot be there is counted; sums go on beyond the budget. The files are read
 * here record by record. */
#include "record/device/device.h"

#include "record/core.h"
#include "record/life_cycle.h"
#include "record/thread/pause.h"
#include "stats/random.h"
#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 3, OPERATIONS = 12000, KERNELS = 5, BATCH = 40, MOST_LOCATIONS = 128 };

static const struct rec_device_interface *recorder;
static struct rec_stream *streams[STREAMS];
static uint32_t regions[KERNELS + 1]; /* the last one is a copy */

static struct drawn {
    struct rec_operation operation;
    unsigned stream;
    bool delivered, found;
} drawn[OPERATIONS + 1]; /* by number */
static unsigned n_drawn, n_delivered, n_drains;

static void count_drain(bool last)
{
    (void)last;
    __atomic_add_fetch(&n_drains, 1, __ATOMIC_RELAXED);
}

static const struct rec_device_backend backend = {.name = "test", .drain = count_drain};
static struct rec_wait_function launch = {
    .name = "launch", .role = LULL_TAPE_ROLE_FUNCTION, .paradigm = LULL_TAPE_PARADIGM_DEVICE};

static void set_up(void)
{
    recorder = lull_record_device();
    assert_non_null(recorder);
    assert_int_equal(recorder->version, REC_DEVICE_VERSION);
    recorder->attach(&backend);
    for (unsigned s = 0; s < STREAMS; s++) {
        const struct lull_tape_stream what = {.runtime = "Test",
                                              .device = "a device",
                                              .key = "test:0",
                                              .context = 1,
                                              .in_order = s > 0};
        char name[16];
        snprintf(name, sizeof name, "queue %u", s + 1);
        streams[s] = recorder->stream(&what, name);
        assert_non_null(streams[s]);
    }
    for (unsigned k = 0; k < KERNELS; k++) {
        char name[16];
        snprintf(name, sizeof name, "kernel %u", k);
        regions[k] = recorder->region(REC_DEVICE_KERNEL, name);
        assert_int_equal(recorder->region(REC_DEVICE_KERNEL, name), regions[k]);
    }
    regions[KERNELS] = recorder->region(REC_DEVICE_COPY_TO, NULL);
    assert_int_not_equal(regions[KERNELS], regions[0]);
}

/* A call of the host that submits an operation. */
static struct rec_operation submit(unsigned stream, uint32_t region, uint64_t bytes)
{
    const struct rec_wait_place place = {REC_DEVICE_SITES + 0x700, REC_CALLER, REC_FRAME};
    struct rec_operation operation = {.region = region, .bytes = bytes};
    struct rec_wait call;
    assert_true(recorder->begin(&call, &launch, &place));
    recorder->end(&call);
    recorder->submit(&call, streams[stream], &operation);
    recorder->leave(&call);
    return operation;
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct lull_tape_header head_of(uint32_t location)
{
    struct lull_tape_header header = {0};
    size_t size;
    unsigned char *bytes = recorded_part(LULL_TAPE_PART_HEAD, location, &size);
    if (size >= sizeof header)
        memcpy(&header, bytes, sizeof header);
    free(bytes);
    return header;
}

/* Full chunks, then the tail. */
static union lull_tape_slot *records_of(uint32_t location, const struct lull_tape_header *header)
{
    size_t full, rest;
    unsigned char *chunks = recorded_part(LULL_TAPE_PART_RECORDS, location, &full),
                  *tail = recorded_part(LULL_TAPE_PART_TAIL, location, &rest);
    const size_t size = header->committed, flushed = header->flushed;
    unsigned char *all = malloc(size + sizeof(union lull_tape_slot));
    assert_non_null(all);
    assert_true(flushed <= full && size - flushed <= rest);
    memcpy(all, chunks, flushed);
    memcpy(all + flushed, tail, size - flushed);
    free(chunks);
    free(tail);
    return (union lull_tape_slot *)(void *)all;
}

struct seen {
    unsigned operations, together, pauses, resumes;
};

struct told {
    uint64_t number, bytes, begin, length;
    uint32_t region, call, thread;
};

static void see_operation(const struct told *told)
{
    assert_true(told->number >= 1 && told->number <= n_drawn);
    struct drawn *one = &drawn[told->number];
    assert_false(one->found);
    one->found = true;
    assert_true(one->delivered);
    assert_int_equal(told->begin, one->operation.begin);
    assert_int_equal(told->length, one->operation.end - one->operation.begin);
    assert_int_equal(told->region, one->operation.region);
    assert_int_equal(told->call, one->operation.call);
    assert_int_equal(told->thread, one->operation.thread);
    assert_int_equal(told->bytes, one->operation.bytes);
}

static struct told told_by_one(const union lull_tape_slot *slots)
{
    return (struct told){.number = slots[1].u32[0],
                         .bytes = slots[1].u32[1],
                         .begin = slots->record.time,
                         .length = slots->record.value,
                         .region = lull_tape_id_of(slots->record.head),
                         .call = slots[1].u32[2],
                         .thread = slots[1].u32[3]};
}

static struct told told_by_two(const union lull_tape_slot *call, const union lull_tape_slot *what)
{
    assert_int_equal(what->record.time, call->record.time);
    return (struct told){.number = what[1].u64[0],
                         .bytes = what[1].u64[1],
                         .begin = call->record.time,
                         .length = lull_tape_extra_of(call->record.head) ? call[1].u64[0]
                                                                         : call->record.value,
                         .region = lull_tape_id_of(call->record.head),
                         .call = lull_tape_id_of(what->record.head),
                         .thread = what->record.value};
}

/* Times of a location do not decrease, no call begins before the one before has ended, and behind each
 * call stands what it was. */
static void see_location(uint32_t location, struct seen *seen)
{
    const struct lull_tape_header header = head_of(location);
    union lull_tape_slot *slots = records_of(location, &header);
    const union lull_tape_slot *call = NULL;
    uint64_t end = 0;
    const size_t n = header.committed / sizeof *slots, chunk = LULL_TAPE_CHUNK / sizeof *slots;
    assert_int_equal(header.kind, 1);
    assert_string_equal(header.stream.key, "test:0");
    for (size_t i = 0; i < n; i += 1 + lull_tape_extra_of(slots[i].record.head)) {
        const struct lull_tape_record *record = &slots[i].record;
        const unsigned kind = lull_tape_kind_of(record->head);
        if (kind == LULL_TAPE_PAD) {
            i += chunk - 1 - i % chunk;
            continue;
        }
        if (kind == LULL_TAPE_CALL) {
            assert_null(call);
            assert_true(record->time >= end);
            call = &slots[i];
            end = record->time +
                  (lull_tape_extra_of(record->head) ? slots[i + 1].u64[0] : record->value);
        } else if (kind == LULL_TAPE_OPERATION) {
            assert_non_null(call);
            const struct told told = told_by_two(call, &slots[i]);
            see_operation(&told);
            call = NULL;
            seen->operations++;
        } else if (kind == LULL_TAPE_CALL_OPERATION) {
            assert_null(call);
            assert_true(record->time >= end);
            end = record->time + record->value;
            const struct told told = told_by_one(&slots[i]);
            see_operation(&told);
            seen->operations++;
            seen->together++;
        } else {
            assert_int_equal(kind, LULL_TAPE_NUMBER);
            assert_true(record->time >= end);
            seen->pauses += record->value == LULL_TAPE_NUMBER_MEASURE_OFF;
            seen->resumes += record->value == LULL_TAPE_NUMBER_MEASURE_ON;
        }
    }
    free(slots);
}

/* Looks at the files as a reader would if the process died here. */
static struct seen see_all(unsigned *ret_locations, uint64_t *ret_lost)
{
    struct seen seen = {0};
    uint32_t l = 0;
    for (unsigned i = 1; i <= n_drawn; i++)
        drawn[i].found = false;
    *ret_lost = 0;
    for (; l < MOST_LOCATIONS; l++) {
        const struct lull_tape_header header = head_of(LULL_TAPE_FIRST_STREAM + l);
        if (header.magic[0] == '\0')
            break;
        *ret_lost += header.stream.lost;
        see_location(LULL_TAPE_FIRST_STREAM + l, &seen);
    }
    *ret_locations = l;
    return seen;
}

static uint64_t ticks_by_sums(void)
{
    uint64_t ticks = 0;
    for (uint32_t l = 0; l < MOST_LOCATIONS; l++) {
        size_t size;
        unsigned char *bytes =
            recorded_part(LULL_TAPE_PART_SUMS, LULL_TAPE_FIRST_STREAM + l, &size);
        if (size > 0) {
            struct lull_tape_sums_header header;
            memcpy(&header, bytes, sizeof header);
            for (uint64_t i = 0; i < 2 * header.regions; i++) {
                struct lull_tape_sum sum;
                memcpy(&sum, bytes + header.header_size + i * header.sum_size, sizeof sum);
                ticks += sum.ticks;
            }
        }
        free(bytes);
    }
    return ticks;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Operations of a batch run one after the other on each stream; on the first one up to eight run at a
 * time. Batches are delivered in any order within, and a few operations come one batch late. */
static void draw_batch(struct lull_random *random, uint64_t *at, bool with_long_ones)
{
    unsigned numbers[BATCH];
    for (unsigned i = 0; i < BATCH; i++) {
        const unsigned s = (unsigned)lull_random_below(random, STREAMS),
                       k = (unsigned)lull_random_below(random, KERNELS + 1);
        const uint64_t large = lull_random_below(random, 10) == 0 ? UINT64_C(1) << 32 : 0;
        struct rec_operation one =
            submit(s, regions[k], k == KERNELS ? large + lull_random_below(random, 1 << 20) : 0);
        const uint64_t length = with_long_ones && lull_random_below(random, 100) < 3
                                    ? (UINT64_C(1) << 32) + lull_random_below(random, 1000)
                                    : lull_random_below(random, 1000);
        one.begin = *at;
        one.end = *at + length;
        *at += s == 0 ? length / 8 : length + lull_random_below(random, 50);
        drawn[one.number] = (struct drawn){.operation = one, .stream = s};
        numbers[i] = (unsigned)one.number;
        n_drawn = (unsigned)one.number;
    }
    for (unsigned i = BATCH; i-- > 1;) {
        const unsigned other = (unsigned)lull_random_below(random, i + 1), kept = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = kept;
    }
    for (unsigned i = 0; i < BATCH; i++) {
        struct drawn *one = &drawn[numbers[i]];
        one->delivered = true;
        n_delivered++;
        recorder->deliver(streams[one->stream], &one->operation);
    }
}

static void test_all_is_there(void **state)
{
    (void)state;
    struct lull_random random;
    unsigned locations;
    uint64_t lost, at = rec_now(), ticks = 0;
    lull_random_seed(&random, lull_test_seed());
    set_up();
    while (n_drawn + BATCH <= OPERATIONS / 2)
        draw_batch(&random, &at, false);
    struct seen seen = see_all(&locations, &lost); /* as after a kill */
    assert_int_equal(seen.operations + lost, n_delivered);
    assert_true(locations > STREAMS && lost < n_delivered / 2);

    rec_pause(); /* of which streams take note with their first operation behind it */
    rec_resume();
    at = rec_now() > at ? rec_now() : at;
    while (n_drawn + 2 * BATCH <= OPERATIONS)
        draw_batch(&random, &at, true);
    rec_process.budget = rec_process.used;
    while (n_drawn + BATCH <= OPERATIONS)
        draw_batch(&random, &at, true);
    seen = see_all(&locations, &lost);
    for (unsigned i = 1; i <= n_drawn; i++)
        ticks += drawn[i].operation.end - drawn[i].operation.begin;
    rec_stop();
    assert_true(seen.together > seen.operations / 2 && seen.together < seen.operations);
    assert_true(__atomic_load_n(&n_drains, __ATOMIC_RELAXED) > 0);
    assert_false(recorder->is_on());
    assert_int_equal(seen.pauses, seen.resumes);
    assert_true(seen.pauses >= STREAMS);
    if (lost == 0)
        assert_int_equal(ticks_by_sums(), ticks);
    else
        assert_true(ticks_by_sums() < ticks);
    assert_true(head_of(LULL_TAPE_FIRST_STREAM).flags & LULL_TAPE_CLOSED);
}

static int tests(void)
{
    const struct CMUnitTest only[] = {cmocka_unit_test(test_all_is_there)};
    return run_cases(only, NULL, NULL);
}

TEST_GROUP(test_device)
{
    setenv("LULL_RECORD_DEVICE", "full", 1);
    return recorded_main_both(tests);
}
