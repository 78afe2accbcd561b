/* A ring against an array that keeps all that was ever pushed. */
#include "base/array.h"
#include "stats/random.h"
#include "support/test.h"

#include <stddef.h>

enum { STEPS = 2000 };

static void as_an_array(void **state)
{
    static uint64_t all[STEPS];
    struct lull_ring ring = {0};
    struct lull_random random;
    uint32_t first = 0, count = 0;
    (void)state;
    lull_random_seed(&random, 7);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (first < count && lull_random_below(&random, 5) < 2) {
            lull_ring_pop(&ring);
            first++;
        } else {
            uint64_t *pushed = lull_ring_push(&ring, sizeof *pushed);
            assert_non_null(pushed);
            *pushed = all[count++] = lull_random_below(&random, UINT32_MAX);
        }
        assert_int_equal(ring.count, count - first);
        for (uint32_t place = 0; place < ring.count; place++)
            assert_true(*(uint64_t *)lull_ring_at(&ring, sizeof *all, place) == all[first + place]);
    }
    lull_ring_free(&ring);
    assert_int_equal(ring.count, 0);
}

TEST_GROUP(test_ring)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_an_array)};
    return run_cases(tests, NULL, NULL);
}
