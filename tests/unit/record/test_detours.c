/* What the recorder adds to a computation that detours hit, against a slow reference: nanosecond by
 * nanosecond. */
#include "record/inject.h"

#include "support/seed.h"
#include "support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { MOST = 4, PERIOD = 60 };

static bool is_detour(const struct lull_tape_detour *detours, uint32_t n, int64_t at)
{
    for (uint32_t i = 0; i < n; i++)
        if (at >= detours[i].begin && at < detours[i].begin + detours[i].length)
            return true;
    return false;
}

static int64_t reference(const struct lull_tape_detour *detours, uint32_t n, int64_t at,
                         int64_t work)
{
    int64_t lost = 0;
    while (work > 0) {
        const bool away = is_detour(detours, n, at++ % PERIOD);
        lost += away;
        work -= !away;
    }
    return lost;
}

static void test_random(void **state)
{
    (void)state;
    const unsigned runs = lull_test_rounds(20000);
    unsigned with = 0, lost = 0;
    srand((unsigned)lull_test_seed());
    for (unsigned run = 0; run < runs; run++) {
        struct lull_tape_detour detours[MOST];
        uint32_t n = 0;
        for (int64_t at = rand() % 20; at < PERIOD - 8 && n < MOST; at += 1 + rand() % 20) {
            detours[n] = (struct lull_tape_detour){.begin = at, .length = 1 + rand() % 7};
            at += detours[n++].length;
        }
        const int64_t at = rand() % PERIOD, work = 1 + rand() % (3 * PERIOD);
        if (n == 0)
            continue;
        const int64_t expected = reference(detours, n, at, work);
        assert_int_equal(rec_lost_to_detours(detours, n, PERIOD, at, work), expected);
        with++;
        lost += expected > 0;
    }
    assert_reached("there is a detour", with, runs / 2, runs);
    assert_reached("time is lost to detours", lost, runs / 4, runs);
}

/* A detour of 10 at the begin of each 100: 90 of work fit before the next. */
static void test_by_hand(void **state)
{
    (void)state;
    const struct lull_tape_detour detour = {.length = 10};
    assert_int_equal(rec_lost_to_detours(&detour, 1, 100, 10, 90), 0);
    assert_int_equal(rec_lost_to_detours(&detour, 1, 100, 10, 91), 10);
    assert_int_equal(rec_lost_to_detours(&detour, 1, 100, 4, 1), 6);
    assert_int_equal(rec_lost_to_detours(&detour, 1, 100, 0, 271), 40);
}

TEST_GROUP(test_detours)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand),
                                       cmocka_unit_test(test_random)};
    return run_cases(tests, NULL, NULL);
}
