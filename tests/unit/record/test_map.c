/* The map from handles to something, which is read without a lock while it grows. */
#include "record/site/map.h"

#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include "stats/random.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { KEYS = 5000, READERS = 3 };

/* Against an array: keys that lie close together, as handles do, and values that change. */
static void test_like_an_array(void **state)
{
    (void)state;
    static uintptr_t values[KEYS];
    struct rec_map map = {0};
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    assert_int_equal(rec_map_get(&map, 8), 0);
    for (int i = 0; i < 4 * KEYS; i++) {
        uintptr_t key = lull_random_below(&random, KEYS - 1) + 1;
        values[key] = lull_random_below(&random, 1000);
        assert_true(rec_map_put(&map, key * 8, values[key]));
        key = lull_random_below(&random, KEYS - 1) + 1;
        assert_int_equal(rec_map_get(&map, key * 8), values[key]);
    }
    for (uintptr_t key = 1; key < KEYS; key++) {
        assert_int_equal(rec_map_get(&map, key * 8), values[key]);
        assert_int_equal(rec_map_get(&map, key * 8 + 1), 0);
    }
}

/* Without memory nothing is lost that is there, and what can be put is put. */
static void test_without_memory(void **state)
{
    (void)state;
    struct rec_map map = {0};
    uintptr_t n = 0;
    recorded_refuse_memory(0);
    assert_false(rec_map_put(&map, 1, 1));
    assert_int_equal(rec_map_get(&map, 1), 0);
    recorded_refuse_memory(64 << 10);
    while (rec_map_put(&map, n + 1, n + 100))
        n++;
    assert_true(n > 100 && n < KEYS);
    for (uintptr_t i = 0; i < n; i++)
        assert_int_equal(rec_map_get(&map, i + 1), i + 100);
    assert_int_equal(rec_map_get(&map, n + 1), 0);
    recorded_refuse_memory(SIZE_MAX);
    assert_true(rec_map_put(&map, n + 1, 7));
    assert_int_equal(rec_map_get(&map, n + 1), 7);
    assert_int_equal(rec_map_get(&map, 1), 100);
}

static struct rec_map shared;
static uintptr_t published; /* atomic: keys below this are there */
static bool wrong;          /* atomic */
static pthread_barrier_t begin;

/* Thread 0 writes, the others read what it says is there, and never half of an entry. */
static void share(unsigned number)
{
    pthread_barrier_wait(&begin);
    if (number == 0) {
        for (uintptr_t key = 1; key <= KEYS; key++) {
            rec_map_put(&shared, key, key * 3);
            __atomic_store_n(&published, key, __ATOMIC_RELEASE);
        }
        return;
    }
    for (uintptr_t key = number, there = 0; there < KEYS; key = key % KEYS + 1) {
        there = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
        uintptr_t value = rec_map_get(&shared, key);
        if (value != key * 3 && (value != 0 || key <= there))
            __atomic_store_n(&wrong, true, __ATOMIC_RELAXED);
    }
}

static void test_readers(void **state)
{
    (void)state;
    pthread_barrier_init(&begin, NULL, 1 + READERS);
    recorded_threads(1 + READERS, share);
    pthread_barrier_destroy(&begin);
    assert_false(wrong);
}

TEST_GROUP(test_map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_an_array),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_readers),
    };
    return run_cases(tests, NULL, NULL);
}
