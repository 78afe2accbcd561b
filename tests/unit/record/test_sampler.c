/* Samples where there is no room for more: they are thinned, and their weights are those of all. */
#include "record/core.h"
#include "record/sample/sample.h"
#include "support/record/recorded.h"
#include "support/test.h"
#include "tape/layout.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INTERVAL 100000 /* ns, as the group asks for */

enum {
    MADE_UP = sizeof(struct lull_tape_sample) + sizeof(struct lull_tape_sample_counts),
    IN_A_PAGE = (LULL_TAPE_PAGE - sizeof(struct lull_tape_samples_header)) / MADE_UP
};

static void sleep_ms(unsigned ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static void keep_samples(void)
{
    struct rec_aside aside = rec_step_aside();
    rec_sample_keep(aside.self);
    rec_step_back(&aside);
}

static struct lull_tape_samples_header read_header(uint64_t *ret_weight)
{
    size_t size;
    unsigned char *bytes = recorded_part(LULL_TAPE_PART_SAMPLES, 0, &size);
    struct lull_tape_samples_header header = {.room = 0};
    *ret_weight = 0;
    if (bytes && size >= sizeof header)
        memcpy(&header, bytes, sizeof header);
    assert_true(header.state <= header.room);
    for (uint64_t i = 0; i < header.state; i++) {
        struct lull_tape_sample sample;
        memcpy(&sample, bytes + sizeof header + i * header.sample_size, sizeof sample);
        *ret_weight += sample.weight;
    }
    free(bytes);
    return header;
}

static void test_full_disk(void **state)
{
    (void)state;
    uint64_t weight, before = 0;
    struct lull_tape_samples_header header;
    rec_current();
    sleep_ms(1);
    keep_samples();
    header = read_header(&weight);
    /* a page; on a busy machine the sleep perhaps took so long that there are more */
    const uint64_t room = header.room;
    assert_true(room >= IN_A_PAGE);

    recorded_refuse_space(true);
    while (header.last_interval < 8 * INTERVAL) {
        sleep_ms(20);
        keep_samples();
        header = read_header(&weight);
        assert_int_equal(header.room, room);
        assert_true(weight >= before + 10 * INTERVAL);
        /* what waits for company is in no sample yet */
        assert_true(weight <= header.taken * header.last_interval);
        assert_in_range(header.state, room / 2 * (header.last_interval > INTERVAL), room);
        before = weight;
    }

    /* room that comes later is not asked for again */
    recorded_refuse_space(false);
    sleep_ms(20);
    keep_samples();
    assert_int_equal(read_header(&weight).room, room);
}

static int full_disk(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(test_full_disk)};
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_sampler)
{
    setenv("LULL_RECORD_SAMPLE", "fake:10000:65536", 1);
    return recorded_main(full_disk);
}
