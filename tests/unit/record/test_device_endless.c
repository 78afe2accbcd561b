/* A back-end that never ends to deliver, because other threads go on submitting: the end of the program comes all the
 * same, and its streams stay as where the program is killed. */
#include "record/device/device.h"

#include "record/core.h"
#include "support/record/recorded.h"
#include "support/test.h"

static const struct rec_device_interface *recorder;
static struct rec_stream *stream;
static uint32_t region;
static bool over; /* atomic */

static void deliver_for_ever(bool last)
{
    struct rec_operation one = {.region = region};
    while (last && !__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        one.begin = one.end = recorder->now();
        recorder->deliver(stream, &one);
    }
}

static const struct rec_device_backend backend = {.name = "test", .drain = deliver_for_ever};

static void test_endless(void **state)
{
    const struct lull_tape_stream what = {
        .runtime = "Test", .device = "a device", .key = "test:0", .in_order = true};
    (void)state;
    recorder = lull_record_device();
    assert_non_null(recorder);
    recorder->attach(&backend);
    stream = recorder->stream(&what, "queue");
    assert_non_null(stream);
    region = recorder->region(REC_DEVICE_KERNEL, "kernel");
    rec_device_stop();
    assert_false(rec_device_is_still());
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_endless)};
    return run_cases(tests, NULL, NULL);
}

TEST_GROUP(test_device_endless)
{
    return recorded_main(run);
}
