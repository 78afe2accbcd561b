/* Units of a stream: whatever was put together on the way, they are the sums of so many bursts. */
#include "replay/what_if/cuts.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdlib.h>

struct burst {
    uint32_t epoch;
    int64_t ns;
};

/* Draws bursts of epochs, some of which have none; many of them take no time. */
static struct burst *draw(struct lull_random *random, size_t n, uint32_t per_epoch)
{
    struct burst *bursts = calloc(n, sizeof *bursts);
    uint32_t epoch = 0;
    assert_non_null(bursts);
    for (size_t i = 0; i < n; i++) {
        epoch += lull_random_below(random, per_epoch) == 0 ? 1 + (i % 7 == 0) : 0;
        bursts[i] = (struct burst){
            epoch, lull_random_below(random, 3) ? (int64_t)lull_random_below(random, 1000000) : 0};
    }
    return bursts;
}

/* The bursts [*at, end) of an epoch, up to the last that takes time. */
static size_t find_end(const struct burst *bursts, size_t n, size_t at, size_t *ret_next)
{
    size_t end = at;
    *ret_next = at;
    for (; *ret_next < n && bursts[*ret_next].epoch == bursts[at].epoch; ++*ret_next)
        end = bursts[*ret_next].ns > 0 ? *ret_next + 1 : end;
    return end;
}

static void check(const struct lull_units *units, const struct burst *bursts, size_t n)
{
    const size_t size = (size_t)1 << units->shift;
    for (size_t at = 0, next; at < n; at = next) {
        const size_t end = find_end(bursts, n, at, &next);
        const struct lull_units_epoch *epoch = &units->epochs[bursts[at].epoch];
        if (bursts[at].epoch >= units->n_epochs) {
            assert_int_equal(end, at);
            continue;
        }
        assert_int_equal(epoch->bursts, end - at);
        assert_int_equal(lull_units_in(units, bursts[at].epoch), (end - at + size - 1) / size);
        for (size_t i = at; i < end; i += size) {
            double sum = 0;
            for (size_t k = i; k < i + size && k < end; k++)
                sum += (double)bursts[k].ns;
            assert_true(units->values[epoch->first + (i - at) / size] == sum);
        }
    }
}

static void check_drawn(struct lull_random *random, size_t n, uint32_t per_epoch, bool merges)
{
    struct burst *bursts = draw(random, n, per_epoch);
    struct lull_units units = {0};
    for (size_t i = 0; i < n; i++)
        assert_true(lull_units_add(&units, bursts[i].epoch, bursts[i].ns));
    assert_int_equal(units.shift > 0, merges);
    assert_true(units.count <= LULL_UNITS_MOST || units.count <= 2 * units.n_epochs);
    check(&units, bursts, n);
    lull_units_merge(&units, units.shift + 2);
    check(&units, bursts, n);
    lull_units_free(&units);
    free(bursts);
}

static void test_drawn(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (uint32_t per_epoch = 1; per_epoch < 100; per_epoch += 9)
        check_drawn(&random, 1000, per_epoch, false);
    check_drawn(&random, 300000, 1000, true);
    check_drawn(&random, 300000, 300000, true);
    check_drawn(&random, 100000, 1, false); /* an epoch for each */
}

TEST_GROUP(test_units)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_drawn)};
    return run_cases(tests, NULL, NULL);
}
