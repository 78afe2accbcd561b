/* The queue against a sorted list: the order is (time, key), whatever is put in when. */
#include "sim/engine/queue.h"
#include "stats/random.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 3000 };

struct list {
    struct lull_entry entries[MOST];
    size_t n;
};

static struct lull_entry take_least(const struct lull_queue *queue, struct list *list)
{
    size_t least = 0;
    for (size_t i = 1; i < list->n; i++)
        if (lull_queue_less(queue, &list->entries[i], &list->entries[least]))
            least = i;
    struct lull_entry entry = list->entries[least];
    list->entries[least] = list->entries[--list->n];
    return entry;
}

static void put(struct lull_queue *queue, struct list *list, int64_t time, uint64_t seq)
{
    struct lull_entry entry = {time, seq << 3, (uint32_t)seq, 0};
    lull_queue_push(queue, &entry);
    list->entries[list->n++] = entry;
}

/* `spread`: how far ahead of the last one popped times are; `past`: per cent before it. */
static void check(uint64_t seed, int64_t spread, unsigned past)
{
    static struct list list;
    struct lull_queue queue;
    struct lull_random random;
    int64_t now = 0;
    uint64_t seq = 1000000;
    lull_random_seed(&random, seed);
    lull_queue_open(&queue, 0);
    list.n = 0;
    for (unsigned step = 0; step < 4 * MOST; step++) {
        size_t burst = lull_random_below(&random, 4) ? 1 : lull_random_below(&random, 200);
        for (size_t i = 0; i < burst && list.n < MOST && step < 2 * MOST; i++) {
            int64_t time = now + (int64_t)lull_random_below(&random, (uint64_t)spread);
            if (lull_random_below(&random, 100) < past)
                time = now - (int64_t)lull_random_below(&random, (uint64_t)now + 1);
            uint64_t old = 999999 - lull_random_below(&random, 1000) * 1000 - seq % 1000;
            put(&queue, &list, time, lull_random_below(&random, 5) ? seq : old);
            seq++;
        }
        struct lull_entry got, expected;
        if (!list.n) {
            assert_false(lull_queue_pop(&queue, &got));
            continue;
        }
        expected = take_least(&queue, &list);
        assert_true(lull_queue_pop(&queue, &got));
        fail_if(got.time != expected.time || got.key != expected.key,
                "seed %llu, step %u: %lld instead of %lld", (unsigned long long)seed, step,
                (long long)got.time, (long long)expected.time);
        now = got.time;
    }
    lull_queue_close(&queue);
}

static void order_is_that_of_a_sorted_list(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        check(seed, 1, 0); /* all at the same time */
        check(seed, 10, 0);
        check(seed, 100000, 0);
        check(seed, INT64_C(1) << 50, 0);
        check(seed, 1000, 5); /* some into the past */
    }
}

TEST_GROUP(test_queue)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_is_that_of_a_sorted_list)};
    return run_cases(tests, NULL, NULL);
}
