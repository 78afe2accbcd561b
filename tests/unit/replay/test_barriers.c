/* Who came to barriers, told in any order and with some left out, against counts in a table. */
#include "replay/survey.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>

enum { PROCESSES = 2, BARRIERS = 3, MEETINGS = 40, THREADS = 4 };

struct arrival {
    uint32_t process, barrier, meeting;
};

static uint64_t number_of(uint32_t barrier, uint32_t meeting)
{
    return (uint64_t)(barrier + 1) << 32 | meeting;
}

static void shuffle(struct arrival *arrivals, uint32_t count, struct lull_random *random)
{
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t other = (uint32_t)lull_random_below(random, i);
        const struct arrival kept = arrivals[i - 1];
        arrivals[i - 1] = arrivals[other];
        arrivals[other] = kept;
    }
}

static void check_once(struct lull_random *random, uint32_t one_missing_in)
{
    static struct arrival arrivals[PROCESSES * BARRIERS * MEETINGS * THREADS];
    uint32_t came[PROCESSES][BARRIERS][MEETINGS] = {{{0}}}, count = 0;
    struct lull_barriers barriers = {.count = 0};
    for (uint32_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++) {
        const struct arrival arrival = {i % PROCESSES, i / PROCESSES % BARRIERS,
                                        i / PROCESSES / BARRIERS % MEETINGS};
        if (lull_random_below(random, one_missing_in) == 0)
            continue;
        arrivals[count++] = arrival;
        came[arrival.process][arrival.barrier][arrival.meeting]++;
    }
    shuffle(arrivals, count, random);
    for (uint32_t i = 0; i < count; i++)
        assert_true(lull_barriers_come(&barriers, arrivals[i].process,
                                       number_of(arrivals[i].barrier, arrivals[i].meeting),
                                       THREADS));
    for (uint32_t p = 0; p < PROCESSES; p++)
        for (uint32_t b = 0; b < BARRIERS; b++)
            for (uint32_t m = 0; m < MEETINGS; m++)
                assert_int_equal(lull_barriers_all_came(&barriers, p, number_of(b, m), THREADS),
                                 came[p][b][m] == THREADS);
    assert_false(lull_barriers_all_came(&barriers, 0, number_of(BARRIERS, 0), THREADS));
    assert_false(lull_barriers_all_came(&barriers, 0, number_of(0, MEETINGS), THREADS));
    lull_barriers_free(&barriers);
}

static void test_against_a_table(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int round = 0; round < 50; round++)
        check_once(&random, 1 + (uint32_t)lull_random_below(&random, 200));
}

/* A damaged number takes no memory. */
static void test_a_meeting_far_ahead(void **state)
{
    (void)state;
    struct lull_barriers barriers = {.count = 0};
    assert_true(lull_barriers_come(&barriers, 0, number_of(0, UINT32_MAX), 1));
    assert_false(lull_barriers_all_came(&barriers, 0, number_of(0, UINT32_MAX), 1));
    assert_true(lull_barriers_come(&barriers, 0, number_of(0, 0), 1));
    assert_true(lull_barriers_all_came(&barriers, 0, number_of(0, 0), 1));
    lull_barriers_free(&barriers);
}

TEST_GROUP(test_barriers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_table),
        cmocka_unit_test(test_a_meeting_far_ahead),
    };
    return run_cases(tests, NULL, NULL);
}
