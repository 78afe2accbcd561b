/* What tapes tell of devices: streams with their device, what was submitted to them, and by whom; the same when copied.
 * Two processes that use one device of a node have one device. */
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static union lull_tape_slot *number(struct tape_maker *tape, uint64_t time, unsigned what,
                                    uint64_t value)
{
    union lull_tape_slot *slot =
        tape_record(tape, time, LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID, what);
    slot[1].u64[0] = value;
    return slot;
}

static void begin_stream(struct tape_maker *tape, uint32_t process, uint32_t stream,
                         const char *device, const char *key)
{
    tape_begin(tape, process, LULL_TAPE_FIRST_STREAM + stream);
    tape->header.kind = 1;
    snprintf(tape->header.name, sizeof tape->header.name, "%u queue %u", process, stream);
    snprintf(tape->header.stream.runtime, sizeof tape->header.stream.runtime, "OpenCL");
    snprintf(tape->header.stream.device, sizeof tape->header.stream.device, "%s", device);
    snprintf(tape->header.stream.key, sizeof tape->header.stream.key, "%s", key);
    tape->header.stream.context = 3;
    tape->header.stream.in_order = stream == 0;
    tape->header.stream.lost = stream;
    tape->header.stream.clock_error = 12.5;
    tape->header.stream.has_priority = stream == 0;
    tape->header.stream.priority = (int16_t)-process;
}

/* A small operation may be one record with its call. */
static void ran(struct tape_maker *tape, uint64_t time, uint64_t length, uint64_t value,
                uint64_t bytes)
{
    if (bytes == 0) {
        union lull_tape_slot *slot =
            tape_record(tape, time, LULL_TAPE_CALL_OPERATION, 1, 8, (uint32_t)length);
        slot[1].u32[0] = (uint32_t)value;
        slot[1].u32[2] = 1;
        slot[1].u32[3] = 0;
        return;
    }
    tape_call(tape, time, 8, length);
    union lull_tape_slot *slot = tape_record(tape, time, LULL_TAPE_OPERATION, 1, 1, 0);
    slot[1].u64[0] = value;
    slot[1].u64[1] = bytes;
}

/* Each process has a thread and two streams, whose locations begin before a further thread's. */
static void write_processes(void)
{
    struct tape_maker tape;
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker maker;
        define_process(&maker, p, 2);
        definitions_add(&maker, LULL_TAPE_DEFINE_REGION, 8, "uuuuss", LULL_TAPE_PARADIGM_DEVICE,
                        LULL_TAPE_ROLE_KERNEL, 0, 0, "axpy", "");
        definitions_write(&maker, run.path);
        tape_begin(&tape, p, 0);
        tape_call(&tape, 10, 1, 4);
        number(&tape, 10, LULL_TAPE_NUMBER_SUBMIT, 1)[1].u32[2] = 1;
        tape_call(&tape, 20, 1, 4);
        number(&tape, 20, LULL_TAPE_NUMBER_SUBMIT, 2)[1].u32[2] = 0;
        number(&tape, 20, LULL_TAPE_NUMBER_DEPEND, 2)[1].u64[1] = 1;
        number(&tape, 20, LULL_TAPE_NUMBER_DEVICE_WAIT, 0)[1].u32[2] = 1;
        number(&tape, 25, LULL_TAPE_NUMBER_SUBMIT, 3)[1].u32[2] = LULL_TAPE_NO_LOCATION;
        tape_write(&tape, run.path, 0);
        begin_stream(&tape, p, 0, "a GPU", "pci:0000:01:00.0");
        ran(&tape, 30, 20, 2, 0);
        ran(&tape, 60, 30, 3, 4096);
        tape_write(&tape, run.path, 0);
        begin_stream(&tape, p, 1, "a GPU", p == 0 ? "pci:0000:01:00.0" : "pci:0000:02:00.0");
        tape_write(&tape, run.path, 0);
        tape_begin(&tape, p, 1);
        tape_call(&tape, 15, 1, 4);
        tape_write(&tape, run.path, 0);
    }
}

static void check_operation(const struct lull_event *event, unsigned kind, int64_t time,
                            uint64_t value, uint64_t second, uint32_t location)
{
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->time, time);
    assert_int_equal(event->operation.number, value);
    assert_int_equal(event->operation.bytes, second);
    assert_int_equal(event->operation.location, location);
}

/* Times of a run begin with its first record, at 10. */
static void check_run(void)
{
    assert_int_equal(run.trace->n_locations, 8);
    assert_int_equal(run.trace->n_devices, 2);
    assert_string_equal(run.trace->devices[0].name, "a GPU");
    assert_string_equal(run.trace->devices[0].runtime, "OpenCL");
    assert_string_equal(run.trace->devices[1].key, "pci:0000:02:00.0");
    for (uint32_t l = 0; l < 8; l++) {
        const struct lull_location *location = &run.trace->locations[l];
        const bool stream = l % 4 >= 2;
        assert_int_equal(location->kind, stream ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD);
        assert_int_equal(location->number, l % 2);
        assert_int_equal(location->stream != NULL, stream);
        if (!stream)
            continue;
        assert_int_equal(location->stream->device, l == 7);
        assert_int_equal(location->stream->context, 3);
        assert_int_equal(location->stream->in_order, l % 2 == 0);
        assert_int_equal(location->stream->lost, l % 2);
        assert_true(location->stream->clock_error == 12.5);
        assert_int_equal(location->stream->has_priority, l % 2 == 0);
        assert_int_equal(location->stream->priority, l == 6 ? -1 : 0);
    }
    struct same_sequence e = run_events(4);
    assert_int_equal(e.count, 7);
    check_operation(&e.events[1], LULL_EVENT_SUBMIT, 0, 1, 0, 7);
    check_operation(&e.events[3], LULL_EVENT_SUBMIT, 10, 2, 0, 6);
    check_operation(&e.events[4], LULL_EVENT_DEPEND, 10, 2, 1, LULL_NONE);
    check_operation(&e.events[5], LULL_EVENT_DEVICE_WAIT, 10, 0, 0, 7);
    check_operation(&e.events[6], LULL_EVENT_SUBMIT, 15, 3, 0, LULL_NONE);
    e = run_events(6);
    assert_int_equal(e.count, 4);
    check_event(&e, 0, LULL_EVENT_CALL, 20);
    assert_int_equal(e.events[0].duration, 20);
    check_operation(&e.events[1], LULL_EVENT_OPERATION, 20, 2, 0, 4);
    assert_string_equal(run.trace->regions[e.events[1].id].name, "MPI_Send");
    check_operation(&e.events[3], LULL_EVENT_OPERATION, 50, 3, 4096, 4);
}

static void test_streams(void **state)
{
    (void)state;
    write_processes();
    run_open(run.path);
    check_run();
    const char *copy = folder_path("copy");
    assert_int_equal(lull_convert(run.trace, copy, &lull_format_tape, false, NULL, NULL, &run.err),
                     LULL_OK);
    run_close();
    run_open(copy);
    check_run();
}

/* A stream whose number leaves a gap: one before it was lost. */
static void test_gap(void **state)
{
    struct tape_maker tape;
    (void)state;
    begin_process(&tape, 0, 1);
    tape_call(&tape, 10, 1, 4);
    tape_write(&tape, run.path, 0);
    begin_stream(&tape, 0, 1, "a GPU", "");
    tape_write(&tape, run.path, 0);
    assert_int_not_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    assert_non_null(strstr(run.err.text, "is missing, but there are later ones"));
    run.trace = NULL;
}

/* A header that is damaged: texts without an end, an error that is no number. */
static void test_odd_header(void **state)
{
    struct tape_maker tape;
    const uint64_t no_number = UINT64_C(0x7ff8000000000000);
    (void)state;
    begin_process(&tape, 0, 1);
    tape_call(&tape, 10, 1, 4);
    tape_write(&tape, run.path, 0);
    begin_stream(&tape, 0, 0, "", "");
    memset(tape.header.stream.device, 'x', sizeof tape.header.stream.device);
    memcpy(&tape.header.stream.clock_error, &no_number, sizeof no_number);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    assert_int_equal(strlen(run.trace->devices[0].name), sizeof tape.header.stream.device);
    assert_true(run.trace->locations[1].stream->clock_error == -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_devices)
{
    const struct CMUnitTest tests[] = {
        TEST(test_streams),
        TEST(test_gap),
        TEST(test_odd_header),
    };
    return run_cases(tests, NULL, NULL);
}
