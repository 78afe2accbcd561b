/* A sample keeps the items with the smallest hashes, however they come. The oracle sorts all of them. */
#include "replay/sample.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static int compare_items(const void *a, const void *b)
{
    const struct lull_sample_item *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->times[0] < y->times[0] ? -1 : x->times[0] > y->times[0];
}

/* Some hashes come several times, with other times. */
static struct lull_sample_item draw_item(struct lull_random *random, uint64_t hashes)
{
    return (struct lull_sample_item){.hash = lull_random_below(random, hashes),
                                     .times = {(int64_t)lull_random_below(random, 4)}};
}

static void test_smallest(void **state)
{
    enum { MOST = 40000 };
    struct lull_sample_item *all = malloc(MOST * sizeof *all);
    const unsigned rounds = lull_test_rounds(200);
    struct lull_random random;
    unsigned dropped = 0, refused = 0;
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned round = 0; round < rounds; round++) {
        const size_t count = 1 + lull_random_below(&random, MOST);
        const uint64_t hashes = round % 4 == 0 ? 1 + lull_random_below(&random, 5000) : UINT64_MAX;
        struct lull_sample *sample = NULL;
        for (size_t i = 0; i < count; i++) {
            all[i] = draw_item(&random, hashes);
            refused += !lull_sample_takes(sample, all[i].hash);
            assert_true(lull_sample_add(&sample, &all[i]));
        }
        lull_sample_settle(sample);
        qsort(all, count, sizeof *all, compare_items);
        assert_int_equal(sample->count, count < LULL_SAMPLE ? count : LULL_SAMPLE);
        assert_memory_equal(sample->items, all, sample->count * sizeof *all);
        dropped += count > 2 * LULL_SAMPLE;
        free(sample);
    }
    free(all);
    assert_reached("a sample drops items", dropped, 5, rounds);
    assert_true(refused > 0);
}

TEST_GROUP(test_sample)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_smallest)};
    return run_cases(tests, NULL, NULL);
}
