/* The protocol by which a program reads its counters from the kernel's page, with pages and
 * registers made here. */
#include "record/counters/perf_page.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static struct perf_event_mmap_page page;
static uint64_t registers[4], ticks;
static unsigned writes; /* how often the kernel changes the page while it is read */

static uint64_t read_register(uint32_t index)
{
    assert_in_range(index, 0, 3);
    uint64_t value = registers[index];
    if (writes > 0) {
        writes--;
        page.lock++;
        page.offset += 1000;
        registers[index] = 7;
    }
    return value;
}

static uint64_t read_clock(void)
{
    return ticks;
}

static int set_up(void **state)
{
    (void)state;
    memset(&page, 0, sizeof page);
    page.cap_user_rdpmc = 1;
    page.index = 2;
    page.pmc_width = 48;
    page.offset = 5000;
    page.time_enabled = page.time_running = 100;
    registers[1] = 42;
    writes = 0;
    return 0;
}

static struct rec_perf_reading good_reading(void)
{
    struct rec_perf_reading reading = {0};
    assert_true(rec_perf_read_page(&page, read_register, read_clock, &reading));
    return reading;
}

static void test_offset_and_register(void **state)
{
    (void)state;
    assert_int_equal(good_reading().value, 5042);
    page.index = 1;
    registers[0] = UINT64_C(0xffffffffffff); /* -1 in 48 bits */
    assert_int_equal(good_reading().value, 4999);
}

static void test_again_when_the_kernel_wrote(void **state)
{
    (void)state;
    writes = 2;
    assert_int_equal(good_reading().value, 5000 + 2000 + 7);
    assert_int_equal(writes, 0);
}

static void test_the_kernel_is_asked(void **state)
{
    (void)state;
    struct rec_perf_reading reading;
    page.index = 0;
    assert_false(rec_perf_read_page(&page, read_register, read_clock, &reading));
    page.index = 2;
    page.cap_user_rdpmc = 0;
    assert_false(rec_perf_read_page(&page, read_register, read_clock, &reading));
}

/* Wanted for 300 ns, counted for 100 of them; then 50 more of both: ticks are 2 to a ns. */
static void test_time_since_the_kernel_wrote(void **state)
{
    (void)state;
    page.cap_user_time = 1;
    page.time_enabled = 300;
    page.time_running = 100;
    page.time_shift = 10;
    page.time_mult = 512;
    page.time_offset = (uint64_t)-500;
    ticks = 1100;
    struct rec_perf_reading reading = good_reading();
    assert_int_equal(reading.enabled, 350);
    assert_int_equal(reading.running, 150);
    assert_int_equal(rec_perf_scaled(&reading), 5042 * 350 / 150);
}

static void test_scaling(void **state)
{
    (void)state;
    assert_int_equal(rec_perf_scaled(&(struct rec_perf_reading){1000, 10, 10}), 1000);
    assert_int_equal(rec_perf_scaled(&(struct rec_perf_reading){1000, 40, 10}), 4000);
    assert_int_equal(rec_perf_scaled(&(struct rec_perf_reading){1000, 40, 0}), 0);
    assert_int_equal(
        rec_perf_scaled(&(struct rec_perf_reading){UINT64_C(1) << 60, 1000000000, 500000000}),
        UINT64_C(1) << 61);
    assert_int_equal(rec_perf_extend(UINT64_C(1) << 47, 48), -(INT64_C(1) << 47));
    assert_int_equal(rec_perf_extend(5, 64), 5);
}

TEST_GROUP(test_perf_page)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_offset_and_register, set_up),
        cmocka_unit_test_setup(test_again_when_the_kernel_wrote, set_up),
        cmocka_unit_test_setup(test_the_kernel_is_asked, set_up),
        cmocka_unit_test_setup(test_time_since_the_kernel_wrote, set_up),
        cmocka_unit_test_setup(test_scaling, set_up),
    };
    return run_cases(tests, NULL, NULL);
}
